"""
Turn: what a program holds of a question in flight.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

A :class:`Turn` is a future. What the library knows of the question is in
:class:`~claude_sync.engine.asked.Asked`. A failure that nobody looks at is a line in the log:
a program that calls ``submit()`` and drops the turn would otherwise not learn of it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, RUNNING
from typing import TYPE_CHECKING, Any, Generic, cast

from ..errors import ClientClosed, TurnError, TurnInterrupted, UsageError
from ..log import Naming, logger, named
from ..messages.answer import Answer, T
from ..messages.display import Displayed, Timed
from ..messages.stream_text import Text
from ..support.checks import check_function, check_timeout
from ..support.text import short
from .asked import Asked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .marks import Marks
    from .session import Session

__all__ = ["Turn"]

# The states in which a future is done.
OVER = (FINISHED, CANCELLED, CANCELLED_AND_NOTIFIED)

UNSEEN = "a turn failed and its error was never retrieved (by result() or add_done_callback())"
# Nobody could have looked at it.
LOST_CONTEXT = "the text of add_context() did not reach the conversation"


class Turn(Timed, Displayed, Future[Answer[T]], Generic[T]):
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

    """

    _unseen: Unseen | None = None
    # A done-callback was added: its failure is going to be looked at.
    _has_callback = False

    def __init__(
        self, session: Session, prompt: Any, message: Mapping[str, Any], **asking: Any
    ) -> None:
        super().__init__()
        self._session = session
        self.prompt = prompt
        self.asked = Asked(self, message, **asking)

    # What a program calls.

    def result(self, timeout: float | None = None) -> Answer[T]:
        """
        Wait for the answer.

        Raises what went wrong with the turn; after *timeout* seconds AskTimeout,
        without interrupting anything.
        """
        self._wait(timeout, "turn.result")
        return self.outcome()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait as :meth:`result` does; return the error instead of raising it."""
        self._wait(timeout, "turn.exception")
        self._seen()
        return super().exception(0)

    def cancel(self) -> bool:
        """
        Stop it. Still queued: withdrawn, True. Running: interrupted, False, and
        ``result()`` raises TurnInterrupted. Finished: nothing happens, False.
        """
        return self._session.cancel(self.asked)

    def add_done_callback(self, function: Callable[[Turn[T]], object]) -> None:
        """Call *function* with this turn when it is done, as a handler is called."""
        check_function("the done callback", function, "done(turn)")
        self._has_callback = True
        self._seen()
        super().add_done_callback(lambda _: self._session.delivery.call_back(function, self))

    @property
    def timeout(self) -> float | None:
        """Seconds after which it is interrupted, as given."""
        return self.asked.timeout

    @property
    def idle_timeout(self) -> float | None:
        """For how many seconds the CLI may say nothing, as given."""
        return self.asked.idle_timeout

    @property
    def raise_on_error(self) -> bool:
        """Whether a failed turn raises, as given."""
        return self.asked.raise_on_error

    @property
    def text(self) -> str:
        """The text of the turn so far; a blank line stands between its messages."""
        return self.asked.collected.text

    @property
    def marks(self) -> Marks:
        """When what happened in it."""
        return self.asked.marks

    _marks = marks  # as of an answer

    def __repr__(self) -> str:
        """The beginning of the question, how far it is, and what it cost."""
        if not self.done():
            state = "running" if self.marks.events else "waiting"
        elif self.cancelled():
            state = "withdrawn"
        elif self._exception is not None:
            state = f"failed with {type(self._exception).__name__}"
        else:
            state = "answered"
        answer = self.asked.answer
        cost = f", ${answer.cost_usd:.4f}" if answer is not None else ""
        return f"<Turn {short(self.prompt)} {state}{cost}>"

    def __enter__(self) -> Turn[T]:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Leaving the block early interrupts the turn."""
        if not self.done():
            self.cancel()

    def __iter__(self) -> Iterator[Text]:
        """The pieces of text, as they arrive, until the turn is done."""
        self.asked.text_only = True
        self._session.update_merging()
        for event in self.events():
            if isinstance(event, Text) and event.parent_tool_use_id is None:
                yield event

    def events(self) -> Iterator[Any]:
        """Everything that handlers would see of this turn, in order, until it is done."""
        buffer = self.asked.buffer
        if buffer is None:
            raise UsageError(
                "this turn does not keep its events. Make it with client.stream(...) instead "
                "of submit() to iterate over it."
            )
        while True:
            while buffer:
                yield buffer.take()
            if self.done():
                # The last event is buffered before the turn is done: look once more.
                while buffer:
                    yield buffer.take()
                break
            self._session.delivery.wait_for_turn(
                self, None, "iterating over a turn", until=buffer.__len__
            )
        if not self.cancelled():
            self._seen()
            error = super().exception(0)
            if error is not None:
                raise error

    # What the session calls.

    def is_open(self) -> bool:
        """Whether it was queued or sent, and is not done."""
        return self.asked in self._session.open

    def is_over(self) -> bool:
        """As ``done()``, which takes a lock to read one attribute."""
        return self._state in OVER

    def outcome(self) -> Answer[T]:
        """The answer of a turn that is over; or raise what went wrong."""
        answer: Answer[T]
        if self._state == FINISHED and self._exception is None:
            answer = cast("Answer[T]", self._result)  # nearly always, and without a lock
        else:
            self._seen()
            answer = super().result(0)
        return answer

    def wait_until(self, check: Callable[[], object], wait: Callable[[Any], bool]) -> bool:
        """Have *wait* wait at the future's condition, which is told of every event."""
        with self._condition:
            return check() is True or wait(self._condition)

    def set_sent(self) -> None:
        """It runs now. Only cancel() could come between, which takes it out of the queue first."""
        self._state = RUNNING

    def look_again(self) -> None:
        """Something changed that a thread which iterates wants to know."""
        with self._condition:
            self._condition.notify_all()

    def count_caller(self, change: int) -> None:
        """One more thread, or one less, waits for it under ``post="caller"``."""
        with self._condition:
            self.asked.callers += change

    def withdraw(self) -> None:
        """It was never sent and never will be."""
        super().cancel()
        self.set_running_or_notify_cancel()

    def succeed(self, answer: Answer[T]) -> None:
        """Complete it, unless it is: a timeout may come at the same moment."""
        if self.asked.timers:
            self.asked.stop_timers()
        try:
            self.set_result(answer)
        except InvalidStateError:
            return
        self._log_end()

    def fail(self, error: BaseException) -> None:
        """Fail it, unless it is done."""
        self.marks.stop()
        self.asked.stop_timers()
        error = named(error, self._session.name)
        self._log_end(error)
        unseen = None
        if self._unseen is None and self._is_news(error):
            # Before it fails: whoever waits for that looks at once.
            what = UNSEEN if self.asked.is_question else LOST_CONTEXT
            unseen = self._unseen = Unseen(error, what)
        try:
            self.set_exception(error)
        except InvalidStateError:
            if unseen is not None:
                unseen.error = None

    def _wait(self, timeout: float | None, method: str) -> None:
        limit = check_timeout("timeout", timeout, zero=True)
        with self._session.naming:
            self._session.delivery.wait_for_turn(self, limit, method)

    def _is_news(self, error: BaseException) -> bool:
        """Whether nobody has asked for this failure, or is told of it anyway."""
        if self.asked.was_cancelled or isinstance(error, (TurnInterrupted, ClientClosed)):
            return False
        was_told = isinstance(error, TurnError) and error.result is not None
        return not (self._has_callback or (was_told and self._session.dispatch.hears_results()))

    def _seen(self) -> None:
        """Somebody looks at how it ended."""
        if self._unseen is not None:
            self._unseen.error = None

    def _log_end(self, error: BaseException | None = None) -> None:
        """One line for each turn: how long, for how much, with which tools."""
        if not logger.isEnabledFor(logging.INFO) or (error is not None and self.done()):
            return
        if not self.asked.is_question:
            return
        answer = self.asked.answer
        cost = 0.0 if answer is None else answer.cost_usd
        tools = Counter(use.name for use in self.asked.collected.tool_uses.values())
        used = "".join(f", {name} {count}" for name, count in tools.items())
        how = "answered" if error is None else f"failed ({type(error).__name__})"
        with self._session.naming:
            seconds = time.monotonic() - self.marks.made
            logger.info("turn %s after %.1f s, %.4f USD%s", how, seconds, cost, used)


class Unseen:
    """A failure; it is logged when this is forgotten, unless :attr:`error` was taken away."""

    __slots__ = ("_what", "error")

    def __init__(self, error: BaseException, what: str) -> None:
        self.error: BaseException | None = error
        self._what = what

    def __del__(self) -> None:
        error = self.error
        if error is None or sys.is_finalizing():
            return
        from ..support.redact import redact_text

        what, text = self._what, redact_text(str(error))
        with Naming(getattr(error, "client", None)):
            logger.warning("%s. %s: %s", what, type(error).__name__, text)
