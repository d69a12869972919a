"""
Messages as the CLI writes them, one plain function for each.

A test says what matters to it and gets a dict of the shape real CLIs send::

    cli.say(builders.assistant("Hello"), builders.result("Hello", uuids=[user["uuid"]]))

Every function takes further fields by name, which are added to the message or
replace what it has; a field that is given as :data:`ABSENT` is left out.

This module imports nothing but the standard library: the stand-in CLI, which is
started for every test that needs a process, uses it too.
"""

from __future__ import annotations

import itertools

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    Wire = dict[str, Any]
    Content = Union[str, dict[str, Any], list[dict[str, Any]]]

SESSION_ID = "5e551011-0000-4000-8000-000000000001"
API_MESSAGE_ID = "msg_00000000000000000001"
MODEL = "claude-stand-in-1"
TOOLS = ("Task", "Bash", "Read", "Write", "Edit")
# What the two styles of the stand-ins call themselves.
VERSIONS = {"new": "2.1.325", "old": "2.1.29"}
CAPABILITIES = ("interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1")


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
    whole = {"session_id": SESSION_ID, "uuid": None, **message, **fields}
    if whole["uuid"] is None:
        whole["uuid"] = new_uuid()
    return {key: value for key, value in whole.items() if value is not ABSENT}


# Blocks: what is inside assistant and user messages.


def text(words: str) -> Wire:
    """A block of text."""
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2lnbmVk") -> Wire:
    """A block of thinking."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(name: str, input: Mapping[str, Any], id: str = "toolu_01") -> Wire:
    """A block in which Claude calls a tool."""
    return {"type": "tool_use", "id": id, "name": name, "input": dict(input)}


def tool_result(id: str, content: Any, is_error: bool = False) -> Wire:
    """A block with what the tool call *id* gave; goes into a :func:`user` message."""
    return {"tool_use_id": id, "type": "tool_result", "content": content, "is_error": is_error}


def blocks_of(content: Content) -> list[Wire]:
    """*content* as a list of blocks."""
    if isinstance(content, str):
        return [text(content)]
    if isinstance(content, dict):
        return [dict(content)]
    return [dict(block) for block in content]


# The conversation.


def assistant(
    content: Content,
    message_id: str = API_MESSAGE_ID,
    parent: str | None = None,
    model: str = MODEL,
    **fields: Any,
) -> Wire:
    """A finished block, or several, of what Claude says."""
    body = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks_of(content),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage(),
    }
    return made({"type": "assistant", "message": body, "parent_tool_use_id": parent}, fields)


def user(content: Any, parent: str | None = None, **fields: Any) -> Wire:
    """A user message the CLI tells of: tool results, or text it put in itself."""
    if isinstance(content, dict):
        content = [dict(content)]
    body = {"role": "user", "content": content}
    return made({"type": "user", "message": body, "parent_tool_use_id": parent}, fields)


def replay(message: Mapping[str, Any], **fields: Any) -> Wire:
    """The echo of a user message that the client sent."""
    same = {name: message.get(name) for name in ("message", "uuid")}
    return made({"type": "user", **same, "parent_tool_use_id": None, "isReplay": True}, fields)


def result(text: str | None = "", uuids: Iterable[str | None] = (), **fields: Any) -> Wire:
    """The end of a turn; *uuids* are the user messages it answers, as new CLIs tell."""
    message: Wire = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 12,
        "duration_api_ms": 8,
        "num_turns": 1,
        "result": text,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.0,
        "usage": usage(output_tokens=7),
        "modelUsage": {},
        "permission_denials": [],
    }
    known = [uuid for uuid in uuids if uuid]
    if known:
        message["user_message_uuid"] = known[0]
        message["user_message_uuids"] = known
    return made(message, fields)


# All that the client reads of a result.
RESULT_FIELDS = frozenset(
    (
        *("type", "subtype", "session_id", "uuid", "is_error", "result", "errors", "error"),
        *("duration_ms", "duration_api_ms", "ttft_ms", "num_turns", "total_cost_usd", "usage"),
        *("modelUsage", "permission_denials", "structured_output", "stop_reason", "origin"),
        *("terminal_reason", "api_error_status", "user_message_uuid", "user_message_uuids"),
        "local_command",
    )
)


def interrupted_result(uuids: Iterable[str | None] = (), style: str = "new", **fields: Any) -> Wire:
    """The end of a turn that was interrupted; only new CLIs call it an error."""
    ending: Wire = {
        "subtype": "error_during_execution",
        "is_error": style == "new",
        "result": ABSENT,
        "stop_reason": None,
        "usage": usage(input_tokens=0),
        "errors": [],
    }
    if style == "new":
        ending["terminal_reason"] = "aborted_streaming"
    ending.update(fields)
    return result(None, uuids, **ending)


def usage(input_tokens: int = 12, output_tokens: int = 0) -> Wire:
    """A count of tokens."""
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


# The stream of pieces (only with --include-partial-messages).


def stream_event(
    event: Mapping[str, Any],
    message_id: str = API_MESSAGE_ID,
    parent: str | None = None,
    **fields: Any,
) -> Wire:
    """An event of the Messages API, passed on by the CLI."""
    message = {"type": "stream_event", "event": dict(event), "parent_tool_use_id": parent}
    return made({**message, "api_message_id": message_id}, fields)


def message_start(message_id: str = API_MESSAGE_ID, model: str = MODEL, **fields: Any) -> Wire:
    """Claude begins a message."""
    message = assistant([], message_id, model=model)["message"]
    return stream_event({"type": "message_start", "message": message}, message_id, **fields)


def block_start(block: Mapping[str, Any] | None = None, index: int = 0, **fields: Any) -> Wire:
    """Claude begins a block: text, unless *block* says otherwise."""
    begun = text("") if block is None else dict(block)
    event = {"type": "content_block_start", "index": index, "content_block": begun}
    return stream_event(event, **fields)


def text_delta(text: str, index: int = 0, **fields: Any) -> Wire:
    """A piece of text."""
    return delta({"type": "text_delta", "text": text}, index, **fields)


def thinking_delta(thinking: str, index: int = 0, **fields: Any) -> Wire:
    """A piece of thinking."""
    return delta({"type": "thinking_delta", "thinking": thinking}, index, **fields)


def input_json_delta(partial_json: str, index: int = 0, **fields: Any) -> Wire:
    """A piece of the JSON a tool is called with."""
    return delta({"type": "input_json_delta", "partial_json": partial_json}, index, **fields)


def delta(piece: Mapping[str, Any], index: int, **fields: Any) -> Wire:
    """A piece of the block *index*."""
    event = {"type": "content_block_delta", "index": index, "delta": dict(piece)}
    return stream_event(event, **fields)


def block_stop(index: int = 0, **fields: Any) -> Wire:
    """The block is complete."""
    return stream_event({"type": "content_block_stop", "index": index}, **fields)


def message_delta(stop_reason: str | None = "end_turn", **fields: Any) -> Wire:
    """How the message ends."""
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    event = {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 7}}
    return stream_event(event, **fields)


def message_stop(**fields: Any) -> Wire:
    """The message is complete."""
    return stream_event({"type": "message_stop"}, **fields)


def stream_of(
    text_pieces: Iterable[str],
    message_id: str = API_MESSAGE_ID,
    parent: str | None = None,
    complete: bool = False,
    **fields: Any,
) -> list[Wire]:
    """
    A whole message of one block of text, as events.

    With *complete* the finished ``assistant`` message is among them, where CLIs put
    it: just before the block stops.
    """
    pieces = list(text_pieces)
    common: Wire = {"message_id": message_id, "parent": parent, **fields}
    messages = [message_start(**common), block_start(**common)]
    messages += [text_delta(piece, **common) for piece in pieces]
    if complete:
        messages.append(assistant("".join(pieces), **common))
    return [*messages, block_stop(**common), message_delta(**common), message_stop(**common)]


# What the CLI tells about itself.


def system(subtype: str, **fields: Any) -> Wire:
    """A message of type ``system``."""
    return made({"type": "system", "subtype": subtype}, fields)


def init(
    session_id: str = SESSION_ID, version: str | None = VERSIONS["new"], **fields: Any
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


def status(status: str | None = "requesting", **fields: Any) -> Wire:
    """What the CLI does right now."""
    return system("status", status=status, **fields)


def session_state(state: str, **fields: Any) -> Wire:
    """``running``, ``requires_action`` or ``idle``."""
    return system("session_state_changed", state=state, **fields)


def lifecycle(uuid: str | None, state: str, **fields: Any) -> Wire:
    """How far a new CLI is with the user message *uuid*: queued, started, completed, cancelled."""
    return made({"type": "command_lifecycle", "command_uuid": uuid, "state": state}, fields)


def task_started(task_id: str, description: str = "a task", **fields: Any) -> Wire:
    """A subagent (unless ``task_type`` says otherwise) begins to work in the background."""
    about: Wire = {"task_id": task_id, "description": description, "is_backgrounded": True}
    return system("task_started", **{**about, "task_type": "local_agent", **fields})


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


def control_request(subtype: str, request_id: str | None = None, **fields: Any) -> Wire:
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
    request_id: str | None = None,
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
    input: Mapping[str, Any] | None = None,
    tool_use_id: str | None = None,
    request_id: str | None = None,
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


def mcp_message(server: str, message: Mapping[str, Any], request_id: str | None = None) -> Wire:
    """The CLI speaks to an MCP server inside the client's program."""
    return control_request("mcp_message", request_id, server_name=server, message=dict(message))


def control_cancel(request_id: str) -> Wire:
    """The CLI withdraws a request of its own."""
    return {"type": "control_cancel_request", "request_id": request_id}


def control_response(request_id: str, body: Mapping[str, Any] | None = None) -> Wire:
    """The CLI's answer to a request of the client; old CLIs often send no body."""
    response: Wire = {"subtype": "success", "request_id": request_id}
    if body is not None:
        response["response"] = dict(body)
    return {"type": "control_response", "response": response}


def control_error(request_id: str, error: str, code: str | None = None) -> Wire:
    """The CLI's refusal of a request of the client."""
    response = {"subtype": "error", "request_id": request_id, "error": error}
    if code is not None:
        response["error_code"] = code
    return {"type": "control_response", "response": response}
