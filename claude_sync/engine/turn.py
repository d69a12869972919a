"""
Turn: a question in flight.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

A :class:`Turn` is a future. The dispatcher collects into it what belongs to it
and completes it when every handler of the turn has run. Decisions taken here
and nowhere else: what the text of an answer is, and what belongs to it.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter, deque
from concurrent.futures import Future, InvalidStateError
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, RUNNING
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    cast,
)

from ..errors import UsageError
from ..log import logger, named
from ..messages.answer import Answer, T
from ..messages.display import Displayed, Timed
from ..messages.stream_text import Piece, Text, Thinking
from ..protocol.exchange import CONTEXT
from ..protocol.outcomes import INTERRUPTED_TEXT, command_output
from ..runtime.unseen import Watched
from ..support.checks import check_function, check_timeout
from ..support.text import short
from .marks import Marks

if TYPE_CHECKING:
    from ..messages.base import Result
    from ..messages.blocks import ToolResult, ToolUse
    from ..messages.usage import Charge
    from ..protocol.exchange import Sent
    from ..runtime.engine import Engine
    from ..runtime.timers import Timer
    from ..schema import Form

__all__ = ["FINISHED", "RUNNING", "Turn"]

# How the CLI reminds a model that has to give data and does not.
INSISTS = "MUST call the StructuredOutput tool"

# The states in which a future is done.
OVER = (FINISHED, CANCELLED, CANCELLED_AND_NOTIFIED)


class Turn(Timed, Displayed, Watched, Future[Answer[T]], Generic[T]):
    """
    A question in flight; its result is the :class:`Answer`.

    It is a ``concurrent.futures.Future``, so ``wait``, ``as_completed`` and
    ``asyncio.wrap_future`` work. Made by ``client.submit`` and ``client.stream``;
    only the latter buffers what arrives, for iterating::

        with client.stream("Tell me a story") as turn:
            for text in turn:
                print(text, end="")

    Attributes:
        prompt: What was asked.
        timeout, idle_timeout: As given.

    """

    _marks: Marks
    _entry: Optional[Sent] = None
    _data = b""
    # The same for a CLI that does not know verbatim messages, if it needs another form there.
    _older_data = b""
    _is_verbatim = False
    # The same, if it could not be written: the CLI had died. Empty once it was sent again.
    _unread: Optional[bytes] = None
    # Why it is being stopped: raised instead of TurnInterrupted when it ends.
    _stopping: Optional[Exception] = None
    _interrupted = False
    # By its own cancel(), which is promised to raise.
    _was_cancelled = False
    # The form of the answer, its JSON Schema, and how often another form was asked for.
    _form: Optional[Form] = None
    _schema: Optional[Mapping[str, Any]] = None
    _form_tries = 0
    # How often the CLI insisted on data; and that it was stopped because that had no end.
    _insisted = 0
    _off_form = False
    # For retries: the message, how often it was asked again, and how soon it may be.
    _message: Optional[Mapping[str, Any]] = None
    _tries = 0
    _not_before = 0.0
    _tried_answer: Optional[Answer[T]] = None
    # The results and the cost of the tries before.
    _earlier: Tuple[Mapping[str, Any], ...] = ()
    _spent_before = 0.0
    _first_uuid: Optional[str] = None
    # What each of its results added.
    _charges: Tuple[Charge, ...] = ()
    # How many threads wait for it, under post="caller".
    _callers = 0
    _handler_error: Optional[BaseException] = None
    _answer: Optional[Answer[T]] = None
    # The program iterates over text: other events need not be kept.
    _text_only = False

    def __init__(
        self,
        engine: Engine,
        prompt: Any,
        *,
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        raise_on_error: bool = True,
        buffered: bool = False,
    ) -> None:
        super().__init__()
        self._engine = engine
        self.prompt = prompt
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.raise_on_error = raise_on_error
        self._timers: List[Timer] = []
        self._buffer: Optional[Deque[Any]] = deque() if buffered else None
        self._marks = Marks(prompt)
        self._forget()

    # What a program calls.

    def result(self, timeout: Optional[float] = None) -> Answer[T]:
        """
        Wait for the answer.

        Raises what went wrong with the turn; after *timeout* seconds AskTimeout,
        without interrupting anything.
        """
        limit = check_timeout("timeout", timeout, zero=True)
        with self._engine.naming:
            self._engine.delivery.wait_for_turn(self, limit, "turn.result")
        return self._outcome()

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Wait as :meth:`result` does; return the error instead of raising it."""
        limit = check_timeout("timeout", timeout, zero=True)
        with self._engine.naming:
            self._engine.delivery.wait_for_turn(self, limit, "turn.exception")
        self._seen()
        return super().exception(0)

    def cancel(self) -> bool:
        """
        Stop it. Still queued: withdrawn, True. Running: interrupted, False, and
        ``result()`` raises TurnInterrupted. Finished: nothing happens, False.
        """
        return self._engine.cancel(self)

    def add_done_callback(self, function: Callable[[Turn[T]], object]) -> None:
        """Call *function* with this turn when it is done, as a handler is called."""
        check_function("the done callback", function, "done(turn)")
        self._is_watched()
        super().add_done_callback(lambda _: self._engine.delivery.call_back(function, self))

    def _is_command(self) -> bool:
        """Whether the CLI answers it itself, as it does ``/cost``."""
        is_text = isinstance(self.prompt, str)
        return is_text and not self._is_verbatim and self.prompt.startswith("/")

    @property
    def text(self) -> str:
        """The text of the turn so far; a blank line stands between its messages."""
        texts = list(self._texts)
        begins = sorted({0, *self._begins})
        ends = [*begins[1:], len(texts)]
        blocks = ["".join(texts[begin:end]) for begin, end in zip(begins, ends)]
        return "\n\n".join(filter(None, blocks))

    def __repr__(self) -> str:
        """The beginning of the question, how far it is, and what it cost."""
        if not self.done():
            state = "running" if self._marks.events else "waiting"
        elif self.cancelled():
            state = "withdrawn"
        elif self._exception is not None:
            state = f"failed with {type(self._exception).__name__}"
        else:
            state = "answered"
        cost = f", ${self._answer.cost_usd:.4f}" if self._answer is not None else ""
        return f"<Turn {short(self.prompt)} {state}{cost}>"

    def __enter__(self) -> Turn[T]:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Leaving the block early interrupts the turn."""
        if not self.done():
            self.cancel()

    def __iter__(self) -> Iterator[Text]:
        """The pieces of text, as they arrive, until the turn is done."""
        self._text_only = True
        self._engine.update_merging()
        for event in self.events():
            if isinstance(event, Text) and event.parent_tool_use_id is None:
                yield event

    def events(self) -> Iterator[Any]:
        """Everything that handlers would see of this turn, in order, until it is done."""
        buffer = self._buffer
        if buffer is None:
            raise UsageError(
                "this turn does not keep its events. Make it with client.stream(...) instead "
                "of submit() to iterate over it."
            )
        while True:
            while buffer:
                yield buffer.popleft()
            if self.done():
                # The last event is buffered before the turn is done: look once more.
                while buffer:
                    yield buffer.popleft()
                break
            self._engine.delivery.wait_for_turn(
                self, None, "iterating over a turn", until=buffer.__len__
            )
        if not self.cancelled():
            self._seen()
            error = super().exception(0)
            if error is not None:
                raise error

    def _is_over(self) -> bool:
        """As ``done()``, which takes a lock to read one attribute."""
        return self._state in OVER

    def _outcome(self) -> Answer[T]:
        """The answer of a turn that is over; or raise what went wrong."""
        answer: Answer[T]
        if self._state == FINISHED and self._exception is None:
            answer = cast("Answer[T]", self._result)  # nearly always, and without a lock
        else:
            self._seen()
            answer = super().result(0)
        return answer

    # What the dispatcher calls. Nothing below takes a lock: one thread at a time dispatches.

    @contextlib.contextmanager
    def _awaited(self) -> Iterator[None]:
        """Somebody waits for it; under post="caller", its handlers are for that thread."""
        with self._condition:
            self._callers += 1
        try:
            yield
        finally:
            with self._condition:
                self._callers -= 1

    def _forget(self) -> None:
        """What was collected belongs to another turn after all."""
        self._marks.forget()
        self._messages: List[Any] = []
        self._texts: List[str] = []
        # Where in it each block begins.
        self._begins: List[int] = []
        self._thinking: List[str] = []
        self._tool_uses: Dict[str, ToolUse] = {}
        self._tool_results: Dict[str, ToolResult] = {}
        self._last_text = ""
        self._assistant_error: Optional[str] = None
        self._command_output: Optional[str] = None

    def _begin_again(self, raw: Optional[Mapping[str, Any]]) -> None:
        """
        It is asked once more. What was said does not count; what was done, and paid, does.
        """
        self._tried_answer = self._answer
        if self._answer is not None:
            self._spent_before = self._answer.cost_usd
        if self._entry is not None:
            self._first_uuid = self._first_uuid or self._entry.uuid
        if raw is not None:
            self._earlier = (*self._earlier, raw)
        self._texts, self._begins, self._thinking, self._last_text = [], [], [], ""
        self._assistant_error = self._command_output = self._answer = None
        self._off_form = self._interrupted = False
        self._insisted = 0

    def _wants_raw(self) -> bool:
        """Whether the program may iterate over every raw event."""
        return self._buffer is not None and not self._text_only

    def _owns(self, parent_tool_use_id: Optional[str]) -> bool:
        """Whether a message below that tool use belongs here, and not to an older turn's agent."""
        return parent_tool_use_id is None or parent_tool_use_id in self._tool_uses

    def _piece(self, piece: Piece) -> None:
        """A piece of the main conversation. Its text is kept, not itself: that is smaller."""
        texts = self._thinking if isinstance(piece, Thinking) else self._texts
        if piece._end == 1 and texts is self._texts:
            self._begins.append(len(texts))
        texts.append(piece._block.pieces[piece._end - 1])

    def _collect(self, message: Any) -> None:
        """Keep a complete message, and what an answer needs of it."""
        from ..messages.base import Assistant, User  # not at the top: see the dispatcher

        if not self._owns(message.parent_tool_use_id):
            return
        self._messages.append(message)
        if isinstance(message, Assistant):
            if message.error:
                self._assistant_error = message.error
            if message.parent_tool_use_id is None and message.text:
                self._last_text = message.text
        elif isinstance(message, User) and message.parent_tool_use_id is None:
            text = message.text
            if text.startswith(INTERRUPTED_TEXT):
                self._interrupted = True
            elif self._form is not None and INSISTS in text:
                self._insisted += 1
            output = command_output(text) if text.startswith("<local-command") else None
            if output is not None:
                self._command_output = output

    def _event(self, event: Any) -> None:
        """Buffer an event for a program that iterates."""
        if self._buffer is not None and not (self._text_only and not isinstance(event, Text)):
            self._buffer.append(event)
            with self._condition:
                self._condition.notify_all()

    def _make_answer(
        self,
        raw: Optional[Mapping[str, Any]],
        cost_usd: float,
        total: float,
        result: Optional[Result] = None,
    ) -> Answer[T]:
        """The answer: complete with the *raw* result, as far as it got without one."""
        text = raw.get("result") if raw is not None else None
        if not text or not isinstance(text, str):
            # Slash commands of old CLIs; interrupted turns; results without a text.
            incomplete = self.text if raw is None else self._last_text
            text = self._command_output or incomplete or self.text
        answer: Answer[T] = Answer(text)
        answer.cost_usd = cost_usd
        if self._earlier:
            answer._earlier = self._earlier
            answer.cost_usd += self._spent_before
        answer.total_cost_usd = total
        answer._marks = self._marks.with_cost(answer.cost_usd, is_complete=raw is not None)
        answer.session_id = self._engine.session_id
        answer.user_message_id = self._first_uuid or (self._entry.uuid if self._entry else None)
        if self._messages:
            answer._before = tuple(self._messages)
        if self._tool_uses:
            answer.tool_uses = tuple(
                (use, self._tool_results.get(use_id))
                for use_id, use in list(self._tool_uses.items())
            )
        if self._thinking:
            answer.thinking = "".join(self._thinking)
        if raw is not None:
            answer._raw = raw
            answer._result = result
            if self._form is None:
                answer.data = cast("T", raw.get("structured_output"))
            session_id = raw.get("session_id")
            if session_id and isinstance(session_id, str):
                answer.session_id = session_id
        return answer

    def _make_charged_answer(
        self, raw: Mapping[str, Any], charge: Charge, result: Optional[Result]
    ) -> Answer[T]:
        """The answer with what its result, and those of the tries before, added."""
        answer = self._make_answer(raw, charge.usd, charge.total_usd, result)
        answer._charges = self._charges = (*self._charges, charge)
        return answer

    def _stop_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _succeed(self, answer: Answer[T]) -> None:
        """Complete it, unless it is: a timeout may come at the same moment."""
        if self._timers:
            self._stop_timers()
        try:
            self.set_result(answer)
        except InvalidStateError:
            return
        self._log_end()

    def _log_end(self, error: BaseException | None = None) -> None:
        """One line for each turn: how long, for how much, with which tools."""
        if not logger.isEnabledFor(logging.INFO) or (error is not None and self.done()):
            return
        if self._entry is not None and self._entry.kind == CONTEXT:
            return
        answer = self._answer
        cost = 0.0 if answer is None else answer.cost_usd
        tools = Counter(use.name for use in self._tool_uses.values())
        used = "".join(f", {name} {count}" for name, count in tools.items())
        how = "answered" if error is None else f"failed ({type(error).__name__})"
        with self._engine.naming:
            seconds = time.monotonic() - self._marks.made
            logger.info("turn %s after %.1f s, %.4f USD%s", how, seconds, cost, used)

    def _fail(self, error: BaseException) -> None:
        """Fail it, unless it is done."""
        self._marks.stop()
        self._stop_timers()
        error = named(error, self._engine.name)
        self._log_end(error)
        self._fail_watched(error)
