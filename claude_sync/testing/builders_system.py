"""
What the CLI tells about itself, and requests and replies both ways, as plain dicts.

The second half of :mod:`.builders`, which is where tests import all of it from.
"""

from __future__ import annotations

import itertools

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Mapping, Optional

    Wire = Dict[str, Any]

__all__ = [
    "ABSENT",
    "API_MESSAGE_ID",
    "CAPABILITIES",
    "MODEL",
    "SESSION_ID",
    "VERSIONS",
    "background_tasks_changed",
    "can_use_tool",
    "control_cancel",
    "control_error",
    "control_request",
    "control_response",
    "hook_callback",
    "init",
    "initialize_response",
    "lifecycle",
    "made",
    "mcp_message",
    "new_uuid",
    "session_state",
    "status",
    "system",
    "task_notification",
    "task_started",
    "task_updated",
]

SESSION_ID = "5e551011-0000-4000-8000-000000000001"
API_MESSAGE_ID = "msg_00000000000000000001"
MODEL = "claude-stand-in-1"
TOOLS = ("Task", "Bash", "Read", "Write", "Edit")
# What the two styles of the stand-ins call themselves.
VERSIONS = {"new": "2.1.325", "old": "2.1.29"}
CAPABILITIES = (
    "interrupt_receipt_v1",
    "interrupt_cancel_queued_v1",
    "msg_lifecycle_v1",
)


class Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()

_count = itertools.count(1)


def new_uuid() -> str:
    """An id that no other message of this process has; readable, because it only counts."""
    return f"00000000-0000-4000-8000-{next(_count):012x}"


def made(message: Wire, fields: Mapping[str, Any]) -> Wire:
    """*message* with *fields*, of the session and with an id unless they say otherwise."""
    message.setdefault("session_id", SESSION_ID)
    message.setdefault("uuid", None)
    message.update(fields)
    if message["uuid"] is None:
        message["uuid"] = new_uuid()
    return {key: value for key, value in message.items() if value is not ABSENT}


# What the CLI tells about itself.


def system(subtype: str, **fields: Any) -> Wire:
    """A message of type ``system``."""
    return made({"type": "system", "subtype": subtype}, fields)


def init(
    session_id: str = SESSION_ID, version: Optional[str] = VERSIONS["new"], **fields: Any
) -> Wire:
    """A turn begins. *version* None: a CLI so old that it does not tell."""
    message: Wire = {
        "cwd": "/home/user/project",
        "session_id": session_id,
        "tools": list(TOOLS),
        "mcp_servers": [],
        "model": MODEL,
        "permissionMode": "default",
        "slash_commands": ["compact", "cost", "clear"],
        "apiKeySource": "none",
        "output_style": "default",
        "agents": ["general-purpose"],
        "skills": [],
        "plugins": [],
    }
    if version is not None:
        message["claude_code_version"] = version
    if version == VERSIONS["new"]:
        message["capabilities"] = list(CAPABILITIES)
    message.update(fields)
    return system("init", **message)


def initialize_response(style: str = "new", **fields: Any) -> Wire:
    """The body of the answer to ``initialize``; only new CLIs tell their version."""
    body: Wire = {
        "commands": [
            {"name": "compact", "description": "Summarize the conversation", "argumentHint": ""},
            {"name": "cost", "description": "Show what this session cost", "argumentHint": ""},
        ],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [{"value": "default", "displayName": "Default", "description": "The stand-in"}],
        "account": {"tokenSource": "none", "apiKeySource": "none"},
    }
    if style == "new":
        body["commands"].append({"name": "clear", "description": "Begin anew", "argumentHint": ""})
        body["agents"] = [{"name": "general-purpose", "description": "Does anything"}]
        body["claude_code_version"] = VERSIONS["new"]
        body["current_permission_mode"] = "default"
        body["session_state"] = "idle"
        body["capabilities"] = []
    body.update(fields)
    return {key: value for key, value in body.items() if value is not ABSENT}


def status(status: Optional[str] = "requesting", **fields: Any) -> Wire:
    """What the CLI does right now."""
    return system("status", status=status, **fields)


def session_state(state: str, **fields: Any) -> Wire:
    """``running``, ``requires_action`` or ``idle``."""
    return system("session_state_changed", state=state, **fields)


def lifecycle(uuid: Optional[str], state: str, **fields: Any) -> Wire:
    """How far a new CLI is with the user message *uuid*: queued, started, completed, cancelled."""
    return made({"type": "command_lifecycle", "command_uuid": uuid, "state": state}, fields)


def task_started(task_id: str, description: str = "a task", **fields: Any) -> Wire:
    """A subagent (unless ``task_type`` says otherwise) begins to work in the background."""
    message: Wire = {
        "task_id": task_id,
        "description": description,
        "task_type": "local_agent",
        "is_backgrounded": True,
        **fields,
    }
    return system("task_started", **message)


def task_updated(task_id: str, status: str = "completed", **fields: Any) -> Wire:
    """Something about a task changed."""
    return system("task_updated", **{"task_id": task_id, "patch": {"status": status}, **fields})


def task_notification(
    task_id: str, status: str = "completed", summary: str = "done", **fields: Any
) -> Wire:
    """A task ended, and Claude is told."""
    message = {"task_id": task_id, "status": status, "summary": summary, **fields}
    return system("task_notification", **message)


def background_tasks_changed(task_ids: Iterable[str] = (), **fields: Any) -> Wire:
    """All background tasks that are alive: subagents, in this short form."""
    tasks = [{"task_id": task, "task_type": "local_agent"} for task in task_ids]
    return system("background_tasks_changed", **{"tasks": tasks, **fields})


# Requests and replies.


def control_request(subtype: str, request_id: Optional[str] = None, **fields: Any) -> Wire:
    """A request of the CLI to the client."""
    body = {"subtype": subtype, **fields}
    request = {key: value for key, value in body.items() if value is not ABSENT}
    return {
        "type": "control_request",
        "request_id": new_uuid() if request_id is None else request_id,
        "request": request,
    }


def can_use_tool(
    tool: str,
    input: Mapping[str, Any],
    tool_use_id: str = "toolu_01",
    request_id: Optional[str] = None,
    **fields: Any,
) -> Wire:
    """The CLI asks whether Claude may use a tool."""
    body: Wire = {
        "tool_name": tool,
        "input": dict(input),
        "tool_use_id": tool_use_id,
        "permission_suggestions": [],
        **fields,
    }
    return control_request("can_use_tool", request_id, **body)


def hook_callback(
    callback_id: str,
    event: str,
    input: Optional[Mapping[str, Any]] = None,
    tool_use_id: Optional[str] = None,
    request_id: Optional[str] = None,
    **fields: Any,
) -> Wire:
    """The CLI calls a hook; *input* is what it gets besides the usual."""
    body: Wire = {
        "session_id": SESSION_ID,
        "cwd": "/home/user/project",
        "permission_mode": "default",
        "hook_event_name": event,
        **(input or {}),
    }
    call = {"callback_id": callback_id, "input": body, "tool_use_id": tool_use_id, **fields}
    return control_request("hook_callback", request_id, **call)


def mcp_message(server: str, message: Mapping[str, Any], request_id: Optional[str] = None) -> Wire:
    """The CLI speaks to an MCP server inside the client's program."""
    return control_request("mcp_message", request_id, server_name=server, message=dict(message))


def control_cancel(request_id: str) -> Wire:
    """The CLI withdraws a request of its own."""
    return {"type": "control_cancel_request", "request_id": request_id}


def control_response(request_id: str, body: Optional[Mapping[str, Any]] = None) -> Wire:
    """The CLI's answer to a request of the client; old CLIs often send no body."""
    response: Wire = {"subtype": "success", "request_id": request_id}
    if body is not None:
        response["response"] = dict(body)
    return {"type": "control_response", "response": response}


def control_error(request_id: str, error: str, code: Optional[str] = None) -> Wire:
    """The CLI's refusal of a request of the client."""
    response = {"subtype": "error", "request_id": request_id, "error": error}
    if code is not None:
        response["error_code"] = code
    return {"type": "control_response", "response": response}
