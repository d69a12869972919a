"""
Requests to the CLI as ``query.call``, and what a call returned as the CLI's reply.

No thread, no file, no clock. The document has eight methods; for what else a client
requests there is no word.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Union

from ..engine.control import ROWS

__all__ = ["call_of", "reply_body", "reply_code", "reply_text"]

# A field that only says what need not be in the reply.
UNNEEDED = "skip_behaviors"


def call_of(subtype: str, fields: Mapping[str, Any]) -> Union[Dict[str, Any], str]:
    """The payload of the ``query.call`` for a request; a text if there is no word for it."""
    left = {key: value for key, value in fields.items() if key != UNNEEDED}
    row = ROWS.get(subtype)
    if row is not None and row.documented:
        dry_run = left.pop("dry_run", False)
        named = [field for field, _ in row.fields.values() if field != "dry_run"]
        args = [left.pop(field, None) for field in named]
        if dry_run:
            args.append({"dryRun": True})
        if not left:
            return {"method": row.documented, "args": args}
    return (
        f"the backend of this bridge has no word for the request {subtype!r}. Use a backend of "
        "claude_sync, or do without it"
    )


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
    code = details.get("code") if isinstance(details, dict) else None
    return code if isinstance(code, str) else None
