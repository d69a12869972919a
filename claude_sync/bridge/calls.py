"""
Requests to the CLI as ``query.call``, and what a call returned as the CLI's reply.

No thread, no file, no clock. The document has eight methods. Of a backend that knows
more, the methods of ``claude_sync.Client`` are called by their names, because they know
what the CLI there can do; what has no method goes as it is, by ``control``.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from ..engine.control import ROWS, Row
from ..errors import UsageError

__all__ = ["call_of", "reply_body", "reply_code", "reply_text"]

# A field that only says what need not be in the reply.
UNNEEDED = "skip_behaviors"
UNKNOWN_CODE = "unsupported_request"


def call_of(subtype: str, fields: Mapping[str, Any], extended: bool) -> Union[Dict[str, Any], str]:
    """The payload of the ``query.call`` for a request; a text if there is no word for it."""
    fields = {key: value for key, value in fields.items() if key != UNNEEDED}
    row = ROWS.get(subtype)
    arguments = {} if row is None else {field: name for name, (field, _) in row.fields.items()}
    if extended:
        if row is not None and set(fields) <= set(arguments) and takes_as_they_are(row, fields):
            named = {arguments[field]: value for field, value in fields.items()}
            return {"method": row.name, "args": [], "kwargs": named}
        return {"method": "control", "args": [subtype, fields]}
    if row is not None and row.documented:
        dry_run = fields.pop("dry_run", False)
        args = [fields.pop(field, None) for field in arguments if field != "dry_run"]
        if dry_run:
            args.append({"dryRun": True})
        if not fields:
            return {"method": row.documented, "args": args}
    return (
        f"the backend of this bridge has no word for the request {subtype!r}. Use a backend of "
        "claude_sync, or do without it"
    )


def takes_as_they_are(row: Row[Any], fields: Mapping[str, Any]) -> bool:
    """Whether the method of *row* leaves values of the wire alone: one may have another unit."""
    try:
        return all(
            check(name, fields[field]) == fields[field]
            for name, (field, check) in row.fields.items()
            if field in fields
        )
    except UsageError:
        return False


def reply_body(subtype: str, result: Any) -> Dict[str, Any]:
    """What a call returned, in the form of the CLI's reply to the request."""
    if isinstance(result, dict):
        return result
    if subtype == "mcp_status" and isinstance(result, list):
        return {"mcpServers": result}
    return {} if result is None else {"result": result}


def reply_text(payload: Mapping[str, Any]) -> str:
    """Why a call failed: in the CLI's own words, if the backend tells them."""
    details = payload.get("details")
    own = details.get("text") if isinstance(details, dict) else None
    return str(own or payload.get("error") or "the backend does not say why")


def reply_code(payload: Mapping[str, Any]) -> Optional[str]:
    """The CLI's code for a failure, as far as the backend tells it."""
    details = payload.get("details")
    if not isinstance(details, dict):
        return None
    if details.get("error") == "UnsupportedByCli":
        return UNKNOWN_CODE
    code = details.get("code")
    return code if isinstance(code, str) else None
