"""
What the loopback model says, as values, and how it looks on the wire.

::

    HTTP request -> Request -> rule -> [Reply] -> [frames] -> HTTP response

No thread, no socket, no clock: a stream is a generator of :data:`Frame`, which are bytes to
send, seconds to wait, or an event to wait for. The server does the waiting.
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
Answer = Union[Content, "Reply"]
Script = Union[Answer, Callable[[Request], Answer]]

# What the API says with each status.
ERRORS = {
    400: ("invalid_request_error", "the request is not valid"),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "the key may not use this resource"),
    404: ("not_found_error", "model: {model}"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed your account's rate limit."),
    500: ("api_error", "Internal server error"),
    529: ("overloaded_error", "Overloaded"),
}
# Blocks that are streamed: how they begin, the field that comes in pieces, and their name.
STREAMED: dict[str, tuple[Json, str, str]] = {
    "text": ({"text": ""}, "text", "text_delta"),
    "thinking": ({"thinking": "", "signature": ""}, "thinking", "thinking_delta"),
    "tool_use": ({"input": {}}, "partial_json", "input_json_delta"),
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

    @property
    def calls_a_tool(self) -> bool:
        """Whether it is a use of a tool."""
        return self.wire.get("type") == "tool_use"


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
    A message of the model, or an error.

    Attributes:
        content: A text, a block, or several of both; of an error, its message.
        gate: An event to wait for before anything is sent.
        delay: Seconds to wait before anything is sent.
        usage: Token counts that replace those of the model.
        stop_reason: By default ``"tool_use"`` if a tool is used, else ``"end_turn"``.
        headers: HTTP headers to add.
        ending: ``"complete"``; ``"cut"``: the connection drops after the content;
            ``"garbled"``: what follows the content is no JSON; or the kind of an error,
            as ``"overloaded_error"``, that the API reports in the middle of a stream.
        status: Of HTTP; from 400 on it is an error, whose kind is the *ending*.

    """

    content: Content
    gate: threading.Event | None = None
    delay: float = 0.0
    usage: Mapping[str, Any] | None = None
    stop_reason: str | None = None
    headers: Mapping[str, str] | None = None
    ending: str = "complete"
    status: int = 200

    def __post_init__(self) -> None:
        for part in parts_of(self.content):
            # A message of the CLI has blocks in its "message"; it is none.
            is_block = isinstance(part, Mapping) and "type" in part and "message" not in part
            if not (is_block or isinstance(part, (str, Block))):
                raise UsageError(
                    "a reply is a text, a block (text(), thinking() and tool_use() of "
                    "claude_sync.testing.model make them), a list of both, or a function that "
                    f"returns one of these; not {part!r}."
                )


def failure(
    status: int,
    message: str | None = None,
    *,
    kind: str | None = None,
    retry_after: float | None = None,
    headers: Mapping[str, str] | None = None,
    gate: threading.Event | None = None,
) -> Reply:
    """
    An HTTP error with the body the API would send; usable wherever a reply is.

    Each *status* has its usual *message* and *kind*. *retry_after* is for the header of
    that name.
    """
    if not isinstance(status, int) or not 400 <= status <= 599:
        raise UsageError(f"the status of an error is a number from 400 to 599, not {status!r}.")
    usual_kind, usual = ERRORS.get(status, ("api_error", f"HTTP {status}"))
    later = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return Reply(
        message or usual,
        gate,
        headers={**(headers or {}), **later},
        ending=kind or usual_kind,
        status=status,
    )


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


def as_reply(answer: Answer, **settings: Any) -> Reply:
    """*answer* as a reply with those settings; an error has none of them."""
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    return reply if reply.status != 200 else dataclasses.replace(reply, **settings)


def parts_of(content: Content) -> list[Any]:
    """The texts and blocks of *content*."""
    return list(content) if isinstance(content, (list, tuple)) else [content]


def blocks_of(reply: Reply) -> list[Block]:
    """The blocks of *reply*, each tool use with an id."""
    blocks: list[Block] = []
    for part in parts_of(reply.content):
        block = text(part) if isinstance(part, str) else part
        block = block if isinstance(block, Block) else Block(block)
        if block.calls_a_tool and not block.wire.get("id"):
            wire = {**block.wire, "id": f"toolu_loopback{next(NUMBERS):012d}"}
            block = dataclasses.replace(block, wire=wire)
        # The API has no empty text blocks, and CLIs drop or refuse them.
        if block.wire.get("type") != "text" or block.wire.get("text"):
            blocks.append(block)
    return blocks


# On the wire.


class Message:
    """One reply to one request, ready to be sent."""

    def __init__(self, request: Request, reply: Reply, usage: Mapping[str, Any]) -> None:
        self.request, self.reply = request, reply
        self.blocks = blocks_of(reply)
        self._usage = {**usage, **(reply.usage or {})}
        usual = "tool_use" if any(each.calls_a_tool for each in self.blocks) else "end_turn"
        self._reason = usual if reply.stop_reason is None else reply.stop_reason

    def whole(self) -> bytes:
        """The reply as one JSON object: an error, or for requests that do not stream."""
        if self.reply.status != 200:
            words = str(self.reply.content).replace("{model}", self.request.model)
            error = {"type": self.reply.ending, "message": words}
            identity = f"req_loopback{next(NUMBERS):012d}"
            return json.dumps({"type": "error", "error": error, "request_id": identity}).encode()
        content = [dict(block.wire) for block in self.blocks]
        message = self._message(self._usage, content=content, stop_reason=self._reason)
        return json.dumps(message).encode()

    def stream(self) -> Iterator[Frame]:
        """The reply as server-sent events, with the waits between them."""
        ending = self.reply.ending
        begun = {"output_tokens": min(1, int(self._usage.get("output_tokens", 0)))}
        yield event("message_start", message=self._message({**self._usage, **begun}))
        for index, block in enumerate(self.blocks):
            empty = STREAMED.get(str(block.wire.get("type")), ({}, "", ""))[0]
            yield event("content_block_start", index=index, content_block={**block.wire, **empty})
            if index == 0:
                yield event("ping")
            for number, delta in enumerate(deltas(block)):
                if number:
                    yield block.delay
                if number == 1 and block.gate is not None:
                    yield block.gate
                yield event("content_block_delta", index=index, delta=delta)
            # A cut comes in the middle: the last block stays open.
            if ending == "complete" or index < len(self.blocks) - 1:
                yield event("content_block_stop", index=index)
        if ending == "complete":
            reason = {"stop_reason": self._reason, "stop_sequence": None}
            yield event("message_delta", delta=reason, usage=self._usage)
            yield event("message_stop")
        elif ending == "garbled":
            yield b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n'
        elif ending != "cut":
            yield event("error", error={"type": ending, "message": "reported in mid-stream"})

    def _message(self, usage: Mapping[str, Any], **fields: Any) -> Json:
        return {
            "id": f"msg_loopback{next(NUMBERS):012d}",
            "type": "message",
            "role": "assistant",
            "model": self.request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, **usage},
            **fields,
        }


def event(name: str, **fields: Any) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n".encode()


def deltas(block: Block) -> Iterator[Json]:
    """The pieces of a block; other kinds than these three come whole at their start."""
    wire = block.wire
    if wire.get("type") not in STREAMED:
        return
    _, field, name = STREAMED[wire["type"]]
    words = json.dumps(wire.get("input", {})) if block.calls_a_tool else wire[field]
    pieces = max(1, min(block.pieces, len(words)))
    cuts = [len(words) * n // pieces for n in range(pieces + 1)]
    for begin, end in itertools.pairwise(cuts):
        yield {"type": name, field: words[begin:end]}
    if wire["type"] == "thinking":
        yield {"type": "signature_delta", "signature": wire.get("signature", "")}
