"""
Take what arrived from the inbox, call handlers, complete turns.

::

    process -> lines -> messages -> [dispatch] -> handlers -> turn

Where it runs is the client's choice: on a thread of its own (the default), in calls that are
posted to somebody else's thread, or on whichever thread waits or calls ``process_events``. One
thread dispatches at a time; it alone owns the growing blocks. Decisions taken here and nowhere
else:

* ``on_init`` fires when the conversation's id is new: the CLI repeats the message at every turn.
* Messages after a turn's result belong to nobody, and so does what was collected before a
  result that turns out to be nobody's.
* What the CLI says about a failure is not Claude's text: the turn's error has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..messages.events import Closed
from ..messages.stream_text import Piece, Thinking
from ..messages.usage import SYNTHETIC
from ..protocol.streaming import Assembler
from .calling import NO_HANDLERS, Calling
from .inbox import EndOfStream, InOrder, MergedDelta, Routed, StderrLine, Withdrawn

# The classes of messages are imported where they are looked at: they take longer than all
# the rest, and the reader has loaded them before the first message comes.
if TYPE_CHECKING:
    from ..messages.base import Assistant, Message, User
    from .asked import Asked
    from .session import Session
    from .stopping import Retrying

__all__ = ["Dispatch"]

# How often the CLI may remind a model of the form of its answer in one turn.
INSISTS_AT_MOST = 3


class Dispatch(Calling):
    """The state of delivery: the growing blocks, and whose turn it is."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        # Loaded with the first batch.
        self._parse: Any = None
        self._assembler = Assembler()
        self._session_id: str | None = None
        # Made when the CLI first tries something again.
        self._retrying: Retrying | None = None

    def hears(self, kind: str) -> bool:
        """Whether there is a handler for that kind of event."""
        registry = self._session.registry()
        return registry is not None and bool(registry.of[kind])

    def hears_results(self) -> bool:
        """Whether a handler sees how each turn ends."""
        return self.hears("result") or self.hears("message")

    def process(self, batch: list[Any], count: int | None = None) -> None:
        """
        Deliver the first *count* items of a batch, and take them out of it.

        A piece of a stream counts as delivered when it is looked at, anything else when its
        handlers have run: what Ctrl-C interrupts comes again.
        """
        local = self._dispatching
        local.depth = getattr(local, "depth", 0) + 1
        # A snapshot would miss handlers added by handlers: the registry is looked at live,
        # and held only for the length of a batch, so that its client can be collected.
        self._handlers = self._session.registry() or NO_HANDLERS
        self._begin()
        try:
            self._process(batch, count)
        finally:
            self._end()
            self._handlers = NO_HANDLERS
            local.depth -= 1
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            raise leaving

    def _process(self, batch: list[Any], count: int | None) -> None:
        if self._parse is None:
            from ..messages.parsing import parse

            self._parse = parse
        delivered = 0
        try:
            for item in batch if count is None else batch[:count]:
                if type(item) is dict:
                    delivered += 1
                    self._stream_event(item)
                else:
                    try:
                        if type(item) is Routed:
                            self._routed(item)
                        else:
                            self._item(item)
                    except Exception as error:
                        # A bug of ours must not end the thread that everybody depends on.
                        self._session.endings.could_not_deliver(item, error)
                    delivered += 1
                if self._leaving is not None:
                    break
        finally:
            del batch[:delivered]

    # What is delivered.

    def _stream_event(self, raw: Any) -> None:
        """The hot path: hundreds of thousands of these a second."""
        piece = self._assembler.stream_event(raw)
        asked = self.asked
        if self._handlers.of["stream_event"] or (asked is not None and asked.buffer is not None):
            self._raw_event(raw)
        if piece is not None:
            self._piece(piece)

    def _raw_event(self, raw: Any) -> None:
        event = self._parse(raw)
        for handler in self._handlers.of["stream_event"]:
            self.call(handler, event)
        asked = self.asked
        if asked is not None and asked.collected.owns(event.parent_tool_use_id):
            asked.buffer_event(event)

    def _piece(self, piece: Piece) -> None:
        """As hot."""
        parent = piece.parent_tool_use_id
        asked = self.asked
        if asked is not None:
            if parent is None:
                asked.collected.add_piece(piece)
            if asked.buffer is not None and asked.collected.owns(parent):
                asked.buffer_event(piece)
        hearing = self._handlers.of if parent is None else self._handlers.of_subagents
        handlers = hearing["thinking" if isinstance(piece, Thinking) else "text"]
        if self._frames is None:
            for handler in handlers:
                self.call(handler, piece)
        else:
            self.call_with_piece(handlers, piece)

    def _item(self, item: Any) -> None:
        if isinstance(item, MergedDelta):
            piece = self._assembler.delta(
                item.parent, item.index, item.delta_type, "".join(item.texts)
            )
            if piece is not None:
                self._piece(piece)
        elif isinstance(item, StderrLine):
            for handler in self._handlers.of["stderr"]:
                self.call(handler, item.text)
        elif isinstance(item, InOrder):
            self._serve(item)
        elif isinstance(item, Withdrawn):
            self.then(lambda: self._session.endings.withdrawn(item.entry))
        elif isinstance(item, EndOfStream):
            self._assembler = Assembler()
            self.asked = None
            self.then(lambda: self._session.starter.ended(item.connection))
        elif isinstance(item, Closed):
            self.close(item)
        else:
            item()  # a call of the session's own that keeps its place in the order

    def close(self, closed: Closed) -> None:
        """Call the handlers of the end."""
        registry = self._session.registry()
        for handler in registry.of["close"] if registry is not None else ():
            self.call(handler, closed)
        if registry is not None:
            registry.is_over = True

    def _routed(self, item: Routed) -> None:
        asked = self.asked = item.entry.owner if item.entry is not None else None
        # By the name on the wire, from which the class follows.
        kind = item.raw.get("type")
        handlers = self._handlers
        if asked is not None:
            asked.marks.see(item.raw, item.at)
        if kind == "result":
            self._result(item, asked)
            return
        self._session.tally.see(item.raw)
        message = self._parse(item.raw)
        if asked is not None:
            asked.collect(message)
            asked.buffer_event(message)
        for handler in handlers.of["message"]:
            self.call(handler, message)
        if kind == "assistant":
            self._assistant(message, asked)
        elif kind == "user":
            self._user(message, asked)
        elif kind == "system":
            self._system(message)
        elif kind == "rate_limit_event":
            limit = item.raw.get("rate_limit_info")
            self._session.endings.limit = limit if isinstance(limit, dict) else None
            for handler in handlers.of["rate_limit"]:
                self.call(handler, message)
        elif kind == "prompt_suggestion":
            for handler in handlers.of[kind]:
                self.call(handler, message)
        entry = item.withdrawn
        if entry is not None:
            self.then(lambda: self._session.endings.withdrawn(entry))
        elif makes_way(item):
            self._session.pump()

    def _serve(self, item: InOrder) -> None:
        try:
            item.serve()
        except BaseException as error:
            if isinstance(error, Exception) or not self._session.delivery.by_waiters:
                raise
            self._leaving = error  # Ctrl-C at a prompt: it reaches whoever waits

    def _assistant(self, message: Assistant, asked: Asked | None) -> None:
        from ..messages.blocks import ToolUse

        if not (message.error and message.model == SYNTHETIC):
            for piece in self._assembler.complete(message.raw):
                self._piece(piece)
        for use in message.content:
            if not isinstance(use, ToolUse):
                continue
            agent = use.input.get("subagent_type")
            if isinstance(agent, str):
                self._assembler.name_agent(use.id, agent)
            if asked is not None and asked.collected.owns(use.parent_tool_use_id):
                asked.collected.tool_uses[use.id] = use
                asked.buffer_event(use)
            for handler in self._handlers.of["tool_use"]:
                self.call(handler, use)

    def _user(self, message: User, asked: Asked | None) -> None:
        from ..messages.blocks import ToolResult

        if asked is not None and asked.collected.insisted > INSISTS_AT_MOST and not asked.off_form:
            # Some CLIs would go on like this for ever.
            asked.off_form = True
            self._session.stopper.stop(asked, None)
        for result in message.content:
            if not isinstance(result, ToolResult):
                continue
            if asked is not None and result.tool_use_id in asked.collected.tool_uses:
                asked.collected.tool_results[result.tool_use_id] = result
                asked.buffer_event(result)
            for handler in self._handlers.of["tool_result"]:
                self.call(handler, result)

    def _system(self, message: Message) -> None:
        from ..messages.system import ApiRetry, Init, Status
        from ..messages.tasks import Task

        of = self._handlers.of
        for handler in of["system"]:
            self.call(handler, message)
        kind = ""
        if isinstance(message, Init):
            if message.session_id != self._session_id:
                self._session_id = message.session_id
                kind = "init"
        elif isinstance(message, Status):
            kind = "status"
        elif isinstance(message, Task):
            kind = "task"
        elif isinstance(message, ApiRetry):
            self._api_retry(message)
        for handler in of[kind] if kind else ():
            self.call(handler, message)

    def _api_retry(self, message: Any) -> None:
        if self._retrying is None:
            from .stopping import Retrying

            self._retrying = Retrying()
        # After its handlers: a screen has made room for the line by then.
        self._retrying.see(message)
        self._session.stopper.retry = message

    def _result(self, item: Routed, asked: Asked | None) -> None:
        entry, raw, of = item.completes, item.raw, self._handlers.of
        self._session.stopper.retry = None
        message = None
        if of["message"] or of["result"] or (asked is not None and asked.buffer is not None):
            from ..messages.base import Result

            # Otherwise it is made when the program looks at it.
            message = Result.read(raw, item.charge.usd if item.charge is not None else None)
        if entry is not None and asked is not None and item.charge is not None:
            # Known before the handlers run: a timeout while they do can still give it out.
            self._session.endings.charge(asked, raw, item.charge, message)
        if message is not None:
            if entry is not None and asked is not None:
                asked.buffer_event(message)
            for handler in (*of["message"], *of["result"]):
                self.call(handler, message)
        if entry is not None:
            self.asked = None
            if self.posting is None:
                self._session.endings.ended(entry, raw)
            else:
                self.then(lambda: self._session.endings.ended(entry, raw))
            return
        waiting = item.bystander.owner if item.bystander is not None else None
        if waiting is not None:
            waiting.forget()
        self._session.pump()  # this may be what a question waited for


def makes_way(item: Routed) -> bool:
    """Whether a question may be waiting for this: the end of what was not a turn of ours."""
    kind, subtype = item.raw.get("type"), item.raw.get("subtype")
    if kind == "system" and isinstance(subtype, str):
        return subtype == "session_state_changed" or "task" in subtype
    return kind == "command_lifecycle"
