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

from .builders_system import (
    ABSENT,
    API_MESSAGE_ID,
    CAPABILITIES,
    MODEL,
    SESSION_ID,
    VERSIONS,
    background_tasks_changed,
    can_use_tool,
    control_cancel,
    control_error,
    control_request,
    control_response,
    hook_callback,
    init,
    initialize_response,
    lifecycle,
    made,
    mcp_message,
    new_uuid,
    session_state,
    status,
    system,
    task_notification,
    task_started,
    task_updated,
)

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

    Wire = Dict[str, Any]
    Content = Union[str, Dict[str, Any], List[Dict[str, Any]]]

__all__ = [
    "ABSENT",
    "API_MESSAGE_ID",
    "CAPABILITIES",
    "MODEL",
    "SESSION_ID",
    "VERSIONS",
    "assistant",
    "background_tasks_changed",
    "block_start",
    "block_stop",
    "can_use_tool",
    "control_cancel",
    "control_error",
    "control_request",
    "control_response",
    "hook_callback",
    "init",
    "initialize_response",
    "input_json_delta",
    "interrupted_result",
    "lifecycle",
    "mcp_message",
    "message_delta",
    "message_start",
    "message_stop",
    "new_uuid",
    "replay",
    "result",
    "session_state",
    "status",
    "stream_event",
    "stream_of",
    "system",
    "task_notification",
    "task_started",
    "task_updated",
    "text",
    "text_delta",
    "thinking",
    "thinking_delta",
    "tool_result",
    "tool_use",
    "user",
]

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


def blocks_of(content: Content) -> List[Wire]:
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
    parent: Optional[str] = None,
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


def user(content: Any, parent: Optional[str] = None, **fields: Any) -> Wire:
    """A user message the CLI tells of: tool results, or text it put in itself."""
    if isinstance(content, dict):
        content = [dict(content)]
    body = {"role": "user", "content": content}
    return made({"type": "user", "message": body, "parent_tool_use_id": parent}, fields)


def replay(message: Mapping[str, Any], **fields: Any) -> Wire:
    """The echo of a user message that the client sent."""
    echoed = {
        "type": "user",
        "message": message.get("message"),
        "parent_tool_use_id": None,
        "uuid": message.get("uuid"),
        "isReplay": True,
    }
    return made(echoed, fields)


def result(text: Optional[str] = "", uuids: Iterable[Optional[str]] = (), **fields: Any) -> Wire:
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


def interrupted_result(
    uuids: Iterable[Optional[str]] = (), style: str = "new", **fields: Any
) -> Wire:
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
    parent: Optional[str] = None,
    **fields: Any,
) -> Wire:
    """An event of the Messages API, passed on by the CLI."""
    message = {
        "type": "stream_event",
        "event": dict(event),
        "session_id": SESSION_ID,
        "parent_tool_use_id": parent,
        "uuid": None,
        "api_message_id": message_id,
    }
    return made(message, fields)


def message_start(
    message_id: str = API_MESSAGE_ID,
    parent: Optional[str] = None,
    model: str = MODEL,
    **fields: Any,
) -> Wire:
    """Claude begins a message."""
    message = assistant([], message_id, model=model)["message"]
    return stream_event({"type": "message_start", "message": message}, message_id, parent, **fields)


def block_start(block: Optional[Mapping[str, Any]] = None, index: int = 0, **fields: Any) -> Wire:
    """Claude begins a block: text, unless *block* says otherwise."""
    begun = text("") if block is None else dict(block)
    event = {"type": "content_block_start", "index": index, "content_block": begun}
    return stream_event(event, **fields)


def text_delta(text: str, index: int = 0, parent: Optional[str] = None, **fields: Any) -> Wire:
    """A piece of text."""
    return delta({"type": "text_delta", "text": text}, index, parent=parent, **fields)


def thinking_delta(
    thinking: str, index: int = 0, parent: Optional[str] = None, **fields: Any
) -> Wire:
    """A piece of thinking."""
    return delta({"type": "thinking_delta", "thinking": thinking}, index, parent=parent, **fields)


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


def message_delta(stop_reason: Optional[str] = "end_turn", **fields: Any) -> Wire:
    """How the message ends."""
    event = {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": 7},
    }
    return stream_event(event, **fields)


def message_stop(**fields: Any) -> Wire:
    """The message is complete."""
    return stream_event({"type": "message_stop"}, **fields)


def stream_of(
    text_pieces: Iterable[str],
    message_id: str = API_MESSAGE_ID,
    parent: Optional[str] = None,
    complete: bool = False,
    **fields: Any,
) -> List[Wire]:
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
