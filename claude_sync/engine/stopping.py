"""
Stop turns: on request, when their time is up, and by force if need be; and wait no longer for
what never comes.

A turn is stopped by an interrupt and ends with its result like any other; only then is the next
question sent. Decisions taken here and nowhere else:

* An interrupt that reaches the CLI before its turn has begun is acknowledged and has no effect,
  so it is repeated while the turn runs.
* A turn that does not end is ended together with its process.
* Nothing here blocks: it runs on the timer thread. The writer thread writes.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import NO_ANSWER, AskTimeout, ClaudeError
from ..log import logger, shortened
from ..messages.events import InterruptReceipt
from ..protocol.exchange import IDLE, Exchange, Sent
from .connection import BeingReplaced, reply_of
from .inbox import Withdrawn

if TYPE_CHECKING:
    from ..messages.system import ApiRetry
    from .asked import Asked
    from .connection import Connection
    from .session import Session

__all__ = ["Retrying", "Stopper", "count_of", "what_happened"]

# What CLIs say where they have no word for it, as for any failure of the network.
NO_REASON = ("", "unknown")
# A turn that does not end so many seconds after its interrupt is ended by force.
STOP_PATIENCE = 5.0
# When to interrupt again.
INTERRUPT_AGAIN_AFTER = (0.5, 1.5, 3.0)
# A steered message that old CLIs neither echo nor answer within this time was consumed.
STEER_PATIENCE = 3.0
# A turn of the CLI's own that is silent for so long no longer holds up a question.
FOREIGN_PATIENCE = 30.0
# A CLI that says it is idle, and is silent for so long, does not begin what it was sent.
IDLE_PATIENCE = 10.0


class Stopper:
    """The deadlines of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # The last announcement of the CLI that it tries a request again: why nothing comes.
        self.retry: ApiRetry | None = None

    # Stopping a turn.

    def stop(self, asked: Asked, reason: Exception | None) -> bool:
        """Interrupt a turn; *reason* is raised when it has ended. False if it does not run."""
        session = self._session
        with session.lock:
            connection = session.connection
            if connection is None or connection.exchange.running() is not asked.sent:
                return False
            asked.interrupted = asked.sent.interrupted = True
            asked.stopping = asked.stopping or reason
            self._interrupt(connection)
        connection.outbox.flush_soon()
        session.inbox.look_again()
        self.watch_stop(asked)
        return True

    def _interrupt(self, connection: Connection) -> None:
        """Post an interrupt, under the lock: it hits what runs now, never the next question."""
        with contextlib.suppress(ClaudeError, BeingReplaced):  # it has ended meanwhile
            connection.post_interrupt()

    def interrupt(self, timeout: float, cancel_queued: bool = True) -> InterruptReceipt:
        """Interrupt whatever runs, for ``client.interrupt()``; wait for the CLI's word."""
        session = self._session
        session.check()
        connection = session.connection
        if session.cancel_waiting():
            # That was what ran; what is sent next must not be hit.
            return InterruptReceipt()
        if connection is None:
            return InterruptReceipt()
        with session.lock:
            if not connection.is_ready:  # only what is idle is replaced
                return InterruptReceipt()
            asked = session.running()
            if asked is not None and not asked.sent.is_open:
                asked = None
            if asked is not None:
                asked.interrupted = asked.sent.interrupted = True
            elif connection.exchange.is_working():
                self.watch_own_turn(connection)
            reply = connection.post_interrupt(cancel_queued)
        connection.written()
        if asked is not None:
            self.watch_stop(asked)
        if reply is None:  # there is no word to wait for
            return InterruptReceipt()
        body = reply_of(connection, reply, "interrupt", timeout).check("interrupt")
        return InterruptReceipt(
            tuple(body.get("still_queued") or ()), tuple(body.get("cancelled") or ()), body
        )

    def watch_stop(self, asked: Asked) -> None:
        """Interrupt again, because the first may have come too early; then end it by force."""
        entry = asked.sent  # it may be asked again, which is not to be stopped

        def again() -> None:
            with self._session.lock:
                connection = self._session.connection
                if connection is None or connection.exchange.running() is not entry:
                    return
                self._interrupt(connection)
            connection.outbox.flush_soon()

        after = self._session.timers.after
        asked.timers += [after(delay, again) for delay in INTERRUPT_AGAIN_AFTER]
        asked.timers.append(after(STOP_PATIENCE, lambda: self._force(asked, entry)))

    def _force(self, asked: Asked, entry: Sent) -> None:
        with self._session.lock:
            connection = self._session.connection
            runs = connection is not None and connection.exchange.running() is entry
        if connection is not None and runs:
            connection.kill(f"a turn did not end within {STOP_PATIENCE:g} s of its interrupt")
        elif asked.stopping is not None and not asked.is_over():
            # Its result is here, and its handlers have not run: posted to a thread, perhaps,
            # that waits for just this turn.
            self._session.endings.failed(asked, asked.stopping)

    # Timeouts.

    def begin_timeout(self, asked: Asked, timeout: float) -> None:
        """The clock of ``timeout`` runs from now on."""
        timer = self._session.timers.after(timeout, lambda: self.timed_out(asked, timeout))
        asked.timers.append(timer)

    def timed_out(self, asked: Asked, timeout: float) -> None:
        """The question's ``timeout`` is up."""
        session = self._session
        with session.lock:
            # From here on it is not asked again: either that sees this, or this finds it queued.
            asked.stopping = asked.stopping or self._timeout(timeout)
        if session.unqueue(asked):
            error = AskTimeout(timeout, sent=asked.was_tried, answer=asked.tried_answer)
            connection = session.connection
            if not asked.was_tried and connection is not None and not connection.is_ready:
                error = AskTimeout(timeout, sent=False, what="the CLI was not ready")
            asked.fail(error)
        elif not self.stop(asked, asked.stopping) and asked.sent.result is not None:
            # Only handlers are still at it: nothing to interrupt.
            # Perhaps they have not even come to the result.
            asked.fail(AskTimeout(timeout, answer=session.endings.answer_so_far(asked)))

    def _timeout(self, timeout: float, *, idle: bool = False) -> AskTimeout:
        """The error, with the last known cause."""
        what = NO_ANSWER
        if self.retry is not None:
            count = count_of(self.retry)
            tried = f", try {count}" if count else ""
            what += f" ({what_happened(self.retry)}{tried})"
        return AskTimeout(timeout, idle=idle, what=what)

    def watch_silence(self, asked: Asked, limit: float, since: float) -> None:
        """The clock of ``idle_timeout``: it stops while the CLI waits for us."""
        session = self._session

        def look() -> None:
            with session.lock:
                connection = session.connection
                if connection is None or connection.exchange.running() is not asked.sent:
                    return
                now = time.monotonic()
                waits_for_us = bool(connection.opened) or connection.paused
                heard = now if waits_for_us else max(connection.last_activity, since)
            if now - heard >= limit:
                self.stop(asked, self._timeout(limit, idle=True))
            else:
                self.watch_silence(asked, limit, heard)

        delay = max(0.0, since + limit - time.monotonic())
        asked.timers.append(session.timers.after(delay, look))

    # What never comes.

    def watch_steers(self) -> None:
        """A CLI that says nothing of steered messages, and nothing at all, has consumed them."""
        connection = self._session.connection

        def give_up(exchange: Exchange) -> None:
            if exchange.is_working():
                self.watch_steers()  # it may be just that message, without a word
                return
            exchange.give_up_steers()
            self._session.pump_elsewhere()

        self._after_silence(
            connection, STEER_PATIENCE, lambda exchange: exchange.awaited_steers(), give_up
        )

    def watch_foreign_turn(self, connection: Connection) -> None:
        """A turn of the CLI's own that fell silent no longer holds up our question."""

        def give_up(exchange: Exchange) -> None:
            exchange.foreign_turn = False
            self._session.pump_elsewhere()

        self._after_silence(
            connection, FOREIGN_PATIENCE, lambda exchange: exchange.foreign_turn, give_up
        )

    def watch_stalled(self, connection: Connection) -> None:
        """The CLI says that it is idle: a question that it never begins has no answer."""
        question = connection.exchange.running()

        def give_up(exchange: Exchange) -> None:
            if question is not None and exchange.withdraw(question, IDLE):
                self._session.inbox.put([Withdrawn(question)])

        self._after_silence(
            connection,
            IDLE_PATIENCE,
            lambda exchange: exchange.running() is question and exchange.is_stalled(),
            give_up,
        )

    def watch_own_turn(self, connection: Connection) -> None:
        """
        A turn of the CLI's own was interrupted: end a CLI that hangs since then.

        2.1.29 does, if the interrupt comes in the last moment. New CLIs say how the turn ended.
        """
        if connection.exchange.tells_lifecycle or self._session.options.on_crash != "resume":
            return
        connection.interrupted_own_turn = True
        self._after_silence(
            connection,
            STOP_PATIENCE,
            lambda exchange: connection.interrupted_own_turn and exchange.running() is None,
            lambda _: self._session.tasks.run(
                lambda: connection.kill("it did not go on after an interrupt")
            ),
        )

    def _after_silence(
        self,
        connection: Connection | None,
        patience: float,
        still: Callable[[Exchange], object],
        give_up: Callable[[Exchange], object],
    ) -> None:
        """Call *give_up*, under the lock, once the CLI was silent for so long and *still* holds."""
        if connection is None:
            return
        session = self._session

        def look() -> None:
            with session.lock:
                if connection is not session.connection or not still(connection.exchange):
                    return
                silent = time.monotonic() - connection.last_activity
                if silent >= patience:
                    give_up(connection.exchange)
                    return
            session.timers.after(patience - silent, look)

        session.timers.after(patience, look)


class Retrying:
    """The series of tries that a client hears of."""

    def __init__(self) -> None:
        # What has been told of the series that goes on: the status, and the kind of error.
        self._told: set[tuple[int | None, str | None]] = set()

    def see(self, retry: ApiRetry) -> None:
        """Log it, unless the same has been told of this series."""
        if retry.attempt == 1:
            self._told.clear()
        kind = (retry.error_status, retry.error)
        if kind in self._told:
            return
        self._told.add(kind)
        count = count_of(retry)
        logger.warning(
            "%s: the CLI retries%s",
            what_happened(retry, with_reason=True),
            f", {count}" if count else "",
        )


def what_happened(retry: ApiRetry, with_reason: bool = False) -> str:
    """Why it is tried again, in words on one line; with the CLI's word for it, too."""
    # The word may be anything: that of a proxy, say, which repeats what it was sent.
    reason = shortened(" ".join((retry.error or "").split()))
    known = reason not in NO_REASON
    if retry.error_status is not None:
        words = f"the service answered {retry.error_status}"
    elif known:
        words = "the service failed"  # in the middle of an answer that had begun well
    else:
        words = "the service could not be reached, or the connection broke"
    return f"{words} ({reason})" if with_reason and known else words


def count_of(retry: ApiRetry) -> str:
    """Which try follows: ``2 of 10``; empty where the CLI does not say."""
    if retry.attempt < 1:
        return ""
    if retry.max_retries < 1:
        return f"attempt {retry.attempt}"
    return f"{retry.attempt} of {retry.max_retries}"
