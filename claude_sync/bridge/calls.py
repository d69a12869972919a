"""
Requests to the CLI as ``query.call``, and what a call returned as the CLI's reply.

No thread, no file, no clock. The document has eight methods. Of a backend that knows
more, the methods of ``claude_sync.Client`` are called by their names, because they know
what the CLI there can do; what has no method goes as it is, by ``control``.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Union

__all__ = ["call_of", "reply_body", "reply_code", "reply_text"]

# Request -> the document's method, and the fields that are its arguments.
DOCUMENTED: Dict[str, Tuple[str, Tuple[str, ...]]] = {
    "set_model": ("setModel", ("model",)),
    "set_permission_mode": ("setPermissionMode", ("mode",)),
    "set_max_thinking_tokens": ("setMaxThinkingTokens", ("max_thinking_tokens",)),
    "mcp_status": ("mcpServerStatus", ()),
    "rewind_files": ("rewindFiles", ("user_message_id",)),
}
# Request -> a client's method, and the name there of each field.
METHODS: Dict[str, Tuple[str, Dict[str, str]]] = {
    "set_model": ("set_model", {"model": "model"}),
    "set_permission_mode": ("set_permission_mode", {"mode": "mode"}),
    "set_max_thinking_tokens": ("set_max_thinking_tokens", {"max_thinking_tokens": "tokens"}),
    "mcp_status": ("mcp_status", {}),
    "rewind_files": (
        "rewind_files",
        {"user_message_id": "user_message_id", "dry_run": "dry_run"},
    ),
    "mcp_reconnect": ("mcp_reconnect", {"serverName": "name"}),
    "mcp_toggle": ("mcp_toggle", {"serverName": "name", "enabled": "enabled"}),
    "mcp_set_servers": ("set_mcp_servers", {"servers": "servers"}),
    "apply_flag_settings": ("apply_settings", {"settings": "settings"}),
    "get_settings": ("get_settings", {}),
    "get_context_usage": ("context_usage", {}),
    "get_usage": ("usage_report", {}),
    "stop_task": ("stop_task", {"task_id": "task_id"}),
    "background_tasks": ("background_tasks", {"tool_use_id": "tool_use_id"}),
    "side_question": ("side_question", {"question": "question"}),
    "rename_session": ("rename", {"title": "title"}),
}
# A field that only says what need not be in the reply.
UNNEEDED = "skip_behaviors"
UNKNOWN_CODE = "unsupported_request"


def call_of(subtype: str, fields: Mapping[str, Any], extended: bool) -> Union[Dict[str, Any], str]:
    """The payload of the ``query.call`` for a request; a text if there is no word for it."""
    fields = {key: value for key, value in fields.items() if key != UNNEEDED}
    if extended:
        method, renamed = METHODS.get(subtype, ("", {}))
        if method and set(fields) <= set(renamed):
            named = {renamed[key]: value for key, value in fields.items()}
            return {"method": method, "args": [], "kwargs": named}
        return {"method": "control", "args": [subtype, fields]}
    if subtype in DOCUMENTED:
        method, names = DOCUMENTED[subtype]
        args = [fields.pop(name, None) for name in names]
        if fields.pop("dry_run", False):
            args.append({"dryRun": True})
        if not fields:
            return {"method": method, "args": args}
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
    if not isinstance(details, dict):
        return None
    if details.get("error") == "UnsupportedByCli":
        return UNKNOWN_CODE
    code = details.get("code")
    return code if isinstance(code, str) else None
