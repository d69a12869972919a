"""
Stop turns: on request, when their time is up, and by force if need be.

A turn is stopped by an interrupt and ends with its result like any other; only
then is the next question sent. Decisions taken here and nowhere else:

* An interrupt that reaches the CLI before its turn has begun is acknowledged and
  has no effect, so it is repeated while the turn runs.
* A turn that does not end is ended together with its process.
* Nothing here blocks: it runs on the timer thread. Writing is left to responders.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Optional

from ..errors import AskTimeout, ClaudeError

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..protocol.exchange import Sent
    from .engine import Engine

__all__ = ["Stopper"]

# A turn that does not end so many seconds after its interrupt is ended by force.
STOP_PATIENCE = 5.0
# When to interrupt again.
INTERRUPT_AGAIN_AFTER = (0.5, 1.5, 3.0)


class Stopper:
    """The deadlines of an engine's turns."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def stop(self, turn: Turn, reason: Optional[Exception]) -> bool:
        """Interrupt a turn; *reason* is raised when it has ended. False if it does not run."""
        with self._engine.lock:
            connection = self._engine.lifecycle.connection
            if connection is None or turn._entry is None:
                return False
            if connection.exchange.running() is not turn._entry:
                return False
            turn._interrupted = turn._entry.interrupted = True
            turn._stopping = turn._stopping or reason
            entry = turn._entry
        self._engine.responders.run(lambda: self._send_interrupt(entry))
        self.watch_stop(turn)
        return True

    def _send_interrupt(self, entry: Optional[Sent]) -> None:
        connection = self._engine.lifecycle.connection
        if connection is not None and not connection.ended:
            # Decided when it is its turn to be written: it must never hit the next question.
            with contextlib.suppress(ClaudeError):  # it has ended meanwhile
                connection.interrupt(lambda: connection.exchange.running() is entry)

    def watch_stop(self, turn: Turn) -> None:
        """Interrupt again, because the first may have come too early; then end it by force."""
        entry = turn._entry  # it may be asked again, which is not to be stopped
        for delay in INTERRUPT_AGAIN_AFTER:
            again = self._engine.timers.after(
                delay, lambda: self._engine.responders.run(lambda: self._send_interrupt(entry))
            )
            turn._timers.append(again)
        turn._timers.append(
            self._engine.timers.after(STOP_PATIENCE, lambda: self._force(turn, entry))
        )

    def _force(self, turn: Turn, entry: Optional[Sent]) -> None:
        with self._engine.lock:
            connection = self._engine.lifecycle.connection
            ended = connection is None or connection.exchange.running() is not entry
        if connection is None or ended:
            # Its result is here, and its handlers have not run: posted to a thread, perhaps,
            # that waits for just this turn.
            if turn._stopping is not None and not turn._is_over():
                self._engine.endings.failed(turn, turn._stopping)
            return
        connection.kill(f"a turn did not end within {STOP_PATIENCE:g} s of its interrupt")

    def timed_out(self, turn: Turn) -> None:
        """The turn's ``timeout`` is up."""
        assert turn.timeout is not None
        with self._engine.lock:
            # From here on it is not asked again: either that sees this, or this finds it queued.
            turn._stopping = turn._stopping or AskTimeout(turn.timeout)
        if self._engine.unqueue(turn):
            # Sent, if it waits to be asked again.
            tried = bool(turn._tries or turn._form_tries)
            error = AskTimeout(turn.timeout, sent=tried, answer=turn._tried_answer)
            connection = self._engine.lifecycle.connection
            if not tried and connection is not None and not connection.ready:
                error = AskTimeout(turn.timeout, sent=False, what="the CLI was not ready")
            turn._fail(error)
        elif not self.stop(turn, AskTimeout(turn.timeout)):
            entry = turn._entry
            if entry is not None and entry.result is not None:
                # Only handlers are still at it: nothing to interrupt.
                # Perhaps they have not even come to the result.
                answer = turn._answer or turn._make_answer(entry.result, 0.0, self._engine.cost_usd)
                turn._fail(AskTimeout(turn.timeout, answer=answer))

    def watch_silence(self, turn: Turn, limit: float, since: float) -> None:
        """The clock of ``idle_timeout``: it stops while the CLI waits for us."""

        def look() -> None:
            with self._engine.lock:
                connection = self._engine.lifecycle.connection
                if connection is None or connection.exchange.running() is not turn._entry:
                    return
                now = time.monotonic()
                waiting = bool(connection.open_requests) or connection.paused
                heard = now if waiting else max(connection.last_activity, since)
            if now - heard >= limit:
                self.stop(turn, AskTimeout(limit, idle=True))
            else:
                self.watch_silence(turn, limit, heard)

        delay = max(0.0, since + limit - time.monotonic())
        turn._timers.append(self._engine.timers.after(delay, look))
