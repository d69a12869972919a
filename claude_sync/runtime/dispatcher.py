"""
Take what arrived from the inbox, call handlers, complete turns.

::

    process -> lines -> messages -> [dispatch] -> handlers -> turn

This is the one place that calls user code (requests that owe the CLI an answer
excepted), always through :meth:`Calling.call`, never under a lock. Where it
runs is the client's choice: on a thread of its own (the default), in calls that
are posted to somebody else's thread, or on whichever thread waits or calls
``process_events``. One thread dispatches at a time.

Decisions taken here and nowhere else:

* ``on_init`` fires when the conversation's id is new: the CLI repeats the
  message at every turn.
* Messages after a turn's result belong to nobody, and so does what was
  collected before a result that turns out to be nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional

from ..engine.turn import Turn
from ..messages.events import Closed
from ..messages.stream_text import Piece, Thinking
from ..messages.usage import SYNTHETIC
from ..protocol.streaming import Assembler
from .calling import NO_HANDLERS, Calling
from .inbox import MergedDelta
from .items import Asked, EndOfStream, Routed, StderrLine, Withdrawn

# The classes of messages are imported where they are looked at: they take longer than all
# the rest, and the reader has loaded them before the first message comes.
if TYPE_CHECKING:
    from ..messages.base import Assistant, Message, User
    from ..messages.system import ApiRetry
    from .engine import Engine
    from .retrying import Retrying

__all__ = ["Dispatcher"]

# How often the CLI may remind a model of the form of its answer in one turn.
INSISTS_AT_MOST = 3


class Dispatcher(Calling):
    """The state of delivery: the growing blocks, and whose turn it is."""

    def __init__(self, engine: Engine, post: Optional[Callable[[Callable[[], None]], object]]):
        super().__init__(engine, post)
        # Loaded with the first batch.
        self._parse: Any = None
        self._assembler = Assembler()
        self._session_id: Optional[str] = None
        # Made when the CLI first tries something again.
        self._retrying: Optional[Retrying] = None

    def is_unheard(self) -> bool:
        """Whether there is no handler at all, and nowhere else that calls are posted to."""
        registry = self._engine.registry()
        return self.posting is None and (registry is None or registry.is_empty)

    def only_hands_on(self, items: List[Any]) -> bool:
        """Whether these are requests only, which responders serve."""
        return self.posting is None and all(type(item) is Asked for item in items)

    def process(self, batch: List[Any], count: Optional[int] = None) -> None:
        """
        Deliver the first *count* items of a batch, and take them out of it.

        One thread at a time. A piece of a stream counts as delivered when it is looked
        at, anything else when its handlers have run: what Ctrl-C interrupts comes again.
        """
        local = self._dispatching
        local.depth = getattr(local, "depth", 0) + 1
        # A snapshot would miss handlers added by handlers: the registry is looked at live,
        # and held only for the length of a batch, so that its client can be collected.
        self._handlers = self._engine.registry() or NO_HANDLERS
        try:
            self._process(batch, count)
        finally:
            self._handlers = NO_HANDLERS
            local.depth -= 1
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            raise leaving

    def process_unheard(self, batch: List[Any]) -> None:
        """
        Deliver a batch of a client that has no handlers: nothing of the program's is called.

        A done-callback of a turn is no exception: it is put into the inbox, because this
        thread does not count as one that dispatches.
        """
        self._handlers = NO_HANDLERS
        self._process(batch, None)

    def _process(self, batch: List[Any], count: Optional[int]) -> None:
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
                        self._engine.endings.could_not_deliver(item, error)
                    delivered += 1
                if self._leaving is not None:
                    break
        finally:
            del batch[:delivered]

    # What is delivered.

    def _stream_event(self, raw: Any) -> None:
        """The hot path: hundreds of thousands of these a second."""
        piece = self._assembler.stream_event(raw)
        turn = self.turn
        if self._handlers.of["stream_event"] or (turn is not None and turn._buffer is not None):
            self._raw_event(raw)
        if piece is not None:
            self._piece(piece)

    def _raw_event(self, raw: Any) -> None:
        event = self._parse(raw)
        for handler in self._handlers.of["stream_event"]:
            self.call(handler, event)
        turn = self.turn
        if turn is not None and turn._buffer is not None and turn._owns(event.parent_tool_use_id):
            turn._event(event)

    def _piece(self, piece: Piece) -> None:
        """As hot."""
        parent = piece._block.parent_tool_use_id
        turn = self.turn
        if turn is not None:
            if parent is None:
                turn._piece(piece)
            if turn._buffer is not None and turn._owns(parent):
                turn._event(piece)
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
        elif isinstance(item, Asked):
            self._serve(item)
        elif isinstance(item, Withdrawn):
            self._then(lambda: self._engine.endings.withdrawn(item.entry))
        elif isinstance(item, EndOfStream):
            self._assembler = Assembler()
            self.turn = None
            self._then(lambda: self._engine.connection_ended(item))
        elif isinstance(item, Closed):
            for handler in self._handlers.of["close"]:
                self.call(handler, item)
        else:
            item()  # a call of the engine's own that keeps its place in the order

    def _routed(self, item: Routed) -> None:
        owner = item.entry.owner if item.entry is not None else None
        turn = self.turn = owner if isinstance(owner, Turn) else None
        # By the name on the wire, from which the class follows.
        kind = item.raw.get("type")
        handlers = self._handlers
        if turn is not None:
            turn._marks.see(item.raw, item.at)
        if kind == "result":
            self._result(item, turn)
            return
        self._engine.tally.see(item.raw)
        message = self._parse(item.raw)
        if turn is not None:
            turn._collect(message)
            turn._event(message)
        for handler in handlers.of["message"]:
            self.call(handler, message)
        if kind == "assistant":
            self._assistant(message, turn)
        elif kind == "user":
            self._user(message, turn)
        elif kind == "system":
            self._system(message)
        elif kind == "rate_limit_event":
            limit = item.raw.get("rate_limit_info")
            self._engine.endings.limit = limit if isinstance(limit, dict) else None
            for handler in handlers.of["rate_limit"]:
                self.call(handler, message)
        entry = item.withdrawn
        if entry is not None:
            self._then(lambda: self._engine.endings.withdrawn(entry))
        elif makes_way(item):
            self._engine.send_next()

    def _serve(self, item: Asked) -> None:
        try:
            item.serve()
        except BaseException as error:
            if isinstance(error, Exception) or not self._engine.delivery.by_waiters:
                raise
            self._leaving = error  # Ctrl-C at a prompt: it reaches whoever waits

    def _assistant(self, message: Assistant, turn: Optional[Turn]) -> None:
        from ..messages.blocks import ToolUse

        # Claude did not write what the CLI says about a failure; the turn's error has it.
        if not (message.error and message.model == SYNTHETIC):
            for piece in self._assembler.complete(message.raw):
                self._piece(piece)
        for use in message.content:
            if not isinstance(use, ToolUse):
                continue
            agent = use.input.get("subagent_type")
            if isinstance(agent, str):
                self._assembler.name_agent(use.id, agent)
            if turn is not None and turn._owns(use.parent_tool_use_id):
                turn._tool_uses[use.id] = use
                turn._event(use)
            for handler in self._handlers.of["tool_use"]:
                self.call(handler, use)

    def _user(self, message: User, turn: Optional[Turn]) -> None:
        from ..messages.blocks import ToolResult

        if turn is not None and turn._insisted > INSISTS_AT_MOST and not turn._off_form:
            # Some CLIs would go on like this for ever.
            turn._off_form = True
            self._engine.stopper.stop(turn, None)
        for result in message.content:
            if not isinstance(result, ToolResult):
                continue
            if turn is not None and result.tool_use_id in turn._tool_uses:
                turn._tool_results[result.tool_use_id] = result
                turn._event(result)
            for handler in self._handlers.of["tool_result"]:
                self.call(handler, result)

    def _system(self, message: Message) -> None:
        from ..messages.system import ApiRetry, Init, Status
        from ..messages.tasks import Task

        of = self._handlers.of
        for handler in of["system"]:
            self.call(handler, message)
        if isinstance(message, Init):
            if message.session_id != self._session_id:
                self._session_id = message.session_id
                for handler in of["init"]:
                    self.call(handler, message)
        elif isinstance(message, Status):
            for handler in of["status"]:
                self.call(handler, message)
        elif isinstance(message, Task):
            for handler in of["task"]:
                self.call(handler, message)
        elif isinstance(message, ApiRetry):
            self._api_retry(message)

    def _api_retry(self, message: ApiRetry) -> None:
        if self._retrying is None:
            from .retrying import Retrying

            self._retrying = Retrying()
        # After its handlers: a screen has made room for the line by then.
        self._retrying.see(message)

    def _result(self, item: Routed, turn: Optional[Turn]) -> None:
        entry, raw, of = item.completes, item.raw, self._handlers.of
        message = None
        if of["message"] or of["result"] or (turn is not None and turn._buffer is not None):
            from ..messages.base import Result

            # Otherwise it is made when the program looks at it.
            message = Result.read(raw, item.charge.usd if item.charge is not None else None)
        if entry is not None and turn is not None and item.charge is not None:
            # Known before the handlers run: a timeout while they do can still give it out.
            turn._answer = turn._make_charged_answer(raw, item.charge, message)
        if message is not None:
            if entry is not None and turn is not None:
                turn._event(message)
            for handler in (*of["message"], *of["result"]):
                self.call(handler, message)
        if entry is not None:
            self.turn = None
            if self.posting is None:
                self._engine.endings.ended(entry, raw)
            else:
                self._then(lambda: self._engine.endings.ended(entry, raw))
            return
        waiting = item.bystander.owner if item.bystander is not None else None
        if isinstance(waiting, Turn):
            waiting._forget()
        self._engine.send_next()  # this may be what a question waited for


def makes_way(item: Routed) -> bool:
    """Whether a question may be waiting for this: the end of what was not a turn of ours."""
    kind, subtype = item.raw.get("type"), item.raw.get("subtype")
    if kind == "system" and isinstance(subtype, str):
        return subtype == "session_state_changed" or "task" in subtype
    return kind == "command_lifecycle"
