"""
What the loopback model says, as values, and how it looks on the wire.

::

    HTTP request -> Request -> rule -> [Reply or Failure] -> [frames] -> HTTP response

No thread, no socket, no clock: a reply is a generator of :data:`Frame`, which are bytes to
send, seconds to wait, or an event to wait for. Whoever owns the socket does the waiting.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from ..errors import UsageError
from .model_requests import Request

Json = dict[str, Any]
# Bytes to send, seconds to wait, or an event to wait for.
Frame = Union[bytes, float, threading.Event]
# What a rule may say; a function is asked with the Request and returns one of the others.
Content = Union[str, "Block", Mapping[str, Any], Sequence[Union[str, "Block", Mapping[str, Any]]]]
Answer = Union[Content, "Reply", "Failure"]
Script = Union[Answer, Callable[[Request], Answer]]

ERROR_KINDS = {
    400: ("invalid_request_error", "the request is not valid"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "the key may not use this resource"),
    404: ("not_found_error", "model: {model}"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
# Blocks that are streamed: the field that comes in pieces, and their name.
STREAMED = {
    "text": ("text", "text_delta"),
    "thinking": ("thinking", "thinking_delta"),
    "tool_use": ("partial_json", "input_json_delta"),
}

NUMBERS = itertools.count(1)  # next() on it is atomic, so ids are unique across threads


@dataclasses.dataclass(frozen=True)
class Block:
    """
    One content block of a reply; made by :func:`text`, :func:`thinking`, :func:`tool_use`.

    Attributes:
        wire: The block as the API would give it, complete.
        pieces: In how many pieces it is streamed.
        delay: Seconds between two pieces.
        gate: An event to wait for after the first piece: a reply that is certainly in the
            middle of its stream.

    """

    wire: Mapping[str, Any]
    pieces: int = 2
    delay: float = 0.0
    gate: threading.Event | None = None


def text(words: str, **settings: Any) -> Block:
    """A text block; *settings* are those of :class:`Block`."""
    return Block({"type": "text", "text": words}, **settings)


def thinking(words: str, *, signature: str = "c2lnbmVk", **settings: Any) -> Block:
    """A block of thinking with its signature; *settings* are those of :class:`Block`."""
    return Block({"type": "thinking", "thinking": words, "signature": signature}, **settings)


def tool_use(
    name: str, input: Mapping[str, Any], *, id: str | None = None, **settings: Any
) -> Block:
    """A call of a tool; without *id* each time it is sent it gets a new one."""
    identity = {} if id is None else {"id": id}
    return Block({"type": "tool_use", "name": name, "input": dict(input), **identity}, **settings)


@dataclasses.dataclass(frozen=True)
class Reply:
    """
    A message of the model.

    Attributes:
        content: A text, a block, or several of both.
        gate: An event to wait for before anything is sent.
        delay: Seconds to wait before anything is sent.
        usage: Token counts that replace those of the model.
        stop_reason: By default ``"tool_use"`` if a tool is used, else ``"end_turn"``.
        headers: HTTP headers to add.
        ending: ``"complete"``; ``"cut"``: the connection drops after the content;
            ``"garbled"``: what follows the content is no JSON; or the kind of an error,
            as ``"overloaded_error"``, that the API reports in the middle of a stream.

    """

    content: Content
    gate: threading.Event | None = None
    delay: float = 0.0
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    headers: Mapping[str, str] | None = None
    ending: str = "complete"

    def __post_init__(self) -> None:
        check_content(self.content)


@dataclasses.dataclass(frozen=True)
class Failure:
    """
    An HTTP error with the body the API would send; usable wherever a reply is.

    Attributes:
        status: The HTTP status.
        message: What the API says; each status has a usual text.
        kind: The API's name for the error; each status has its own.
        retry_after: Seconds, for the header of that name.
        headers: HTTP headers to add.
        gate: An event to wait for before anything is sent.

    """

    status: int
    message: str | None = None
    kind: str | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] | None = None
    gate: threading.Event | None = None

    def __post_init__(self) -> None:
        status = self.status
        if not isinstance(status, int) or not 400 <= status <= 599:
            raise UsageError(f"the status of an error is a number from 400 to 599, not {status!r}.")


failure = Failure


def cut(content: Content = "", *, error: str | None = None) -> Reply:
    """
    A reply whose connection drops after *content*.

    With *error* (``"overloaded_error"``, say) the API reports that error in the
    stream before it ends.
    """
    return Reply(content, ending=error or "cut")


def garbled(content: Content = "") -> Reply:
    """A reply that turns into something that is no JSON after *content*."""
    return Reply(content, ending="garbled")


# On the wire.


def parts_of(content: Content) -> list[Any]:
    """The texts and blocks of *content*."""
    return list(content) if isinstance(content, (list, tuple)) else [content]


def check_content(content: Content) -> None:
    """UsageError unless this can be sent."""
    for part in parts_of(content):
        # A message of the CLI has blocks in its "message"; it is none.
        is_block = isinstance(part, Mapping) and "type" in part and "message" not in part
        if not (is_block or isinstance(part, (str, Block))):
            raise UsageError(
                "a reply is a text, a block (text(), thinking() and tool_use() of "
                "claude_sync.testing.model make them), a list of both, or a function that returns "
                f"one of these; not {part!r}."
            )


def prepare(content: Content) -> list[Block]:
    """The blocks of *content*, each tool use with an id."""
    blocks: list[Block] = []
    for part in parts_of(content):
        block = text(part) if isinstance(part, str) else part
        block = block if isinstance(block, Block) else Block(block)
        if is_tool_use(block) and not block.wire.get("id"):
            wire = {**block.wire, "id": f"toolu_loopback{next(NUMBERS):012d}"}
            block = dataclasses.replace(block, wire=wire)
        # The API has no empty text blocks, and CLIs drop or refuse them.
        if not (block.wire.get("type") == "text" and not block.wire.get("text")):
            blocks.append(block)
    return blocks


def is_tool_use(block: Block) -> bool:
    """Whether a block calls a tool."""
    return block.wire.get("type") == "tool_use"


def message_of(request: Request, usage: Mapping[str, Any], **fields: Any) -> Json:
    """A message; without *fields* as ``message_start`` brings it, which is empty."""
    empty = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    begun = {"output_tokens": min(1, int(usage.get("output_tokens", 0)))}
    return {
        "id": f"msg_loopback{next(NUMBERS):012d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**empty, **usage, **({} if fields else begun)},
        **fields,
    }


def stop_reason_of(reply: Reply, blocks: Sequence[Block]) -> str:
    """Why the model stopped, unless the reply says otherwise."""
    usual = "tool_use" if any(map(is_tool_use, blocks)) else "end_turn"
    return usual if reply.stop_reason is None else reply.stop_reason


def whole(
    request: Request, reply: Reply, blocks: Sequence[Block], usage: Mapping[str, Any]
) -> bytes:
    """The reply as one JSON object, for requests that do not stream."""
    content = [dict(block.wire) for block in blocks]
    reason = stop_reason_of(reply, blocks)
    return json.dumps(message_of(request, usage, content=content, stop_reason=reason)).encode()


def event(name: str, **fields: Any) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def stream(
    request: Request, reply: Reply, blocks: Sequence[Block], usage: Mapping[str, Any]
) -> Iterator[Frame]:
    """The reply as server-sent events, with the waits between them."""
    yield event("message_start", message=message_of(request, usage))
    for index, block in enumerate(blocks):
        yield event("content_block_start", index=index, content_block=opening(block.wire))
        if index == 0:
            yield event("ping")
        for number, delta in enumerate(deltas(block)):
            if number:
                yield block.delay
            if number == 1 and block.gate is not None:
                yield block.gate
            yield event("content_block_delta", index=index, delta=delta)
        # A cut comes in the middle: the last block stays open.
        if reply.ending == "complete" or index < len(blocks) - 1:
            yield event("content_block_stop", index=index)
    if reply.ending == "garbled":
        yield b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n'
    elif reply.ending == "complete":
        reason = {"stop_reason": stop_reason_of(reply, blocks), "stop_sequence": None}
        yield event("message_delta", delta=reason, usage=dict(usage))
        yield event("message_stop")
    elif reply.ending != "cut":
        yield event("error", error={"type": reply.ending, "message": "reported in mid-stream"})


def opening(wire: Mapping[str, Any]) -> Json:
    """A block as ``content_block_start`` brings it: still empty."""
    empty: dict[str, Json] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return {**wire, **empty.get(str(wire.get("type")), {})}


def deltas(block: Block) -> Iterator[Json]:
    """The pieces of a block; other kinds than these three come whole at their start."""
    wire = block.wire
    if wire.get("type") not in STREAMED:
        return
    field, name = STREAMED[wire["type"]]
    words = json.dumps(wire.get("input", {})) if is_tool_use(block) else wire[field]
    pieces = max(1, min(block.pieces, len(words)))
    cuts = [len(words) * n // pieces for n in range(pieces + 1)]
    for begin, end in itertools.pairwise(cuts):
        yield {"type": name, field: words[begin:end]}
    if wire["type"] == "thinking":
        yield {"type": "signature_delta", "signature": wire.get("signature", "")}


def error_body(request: Request, failed: Failure) -> bytes:
    """The body of an HTTP error."""
    kind, message = ERROR_KINDS.get(failed.status, ("api_error", f"HTTP {failed.status}"))
    told = failed.message or message.format(model=request.model)
    error = {"type": failed.kind or kind, "message": told}
    identity = f"req_loopback{next(NUMBERS):012d}"
    return json.dumps({"type": "error", "error": error, "request_id": identity}).encode()
