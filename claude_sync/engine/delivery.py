"""
Who delivers what has arrived, and who waits for it.

With a dispatcher thread, waiting is waiting. With ``post="manual"`` and ``post="caller"`` there
is none: whoever waits, or calls ``process_events()``, delivers meanwhile. One thread delivers
at a time.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import AskTimeout, CalledFromHandler, ClientClosed, UsageError
from ..log import name_this_thread
from ..support.waiting import SLICE, Deadline, wait_for
from .inbox import InOrder, Routed

if TYPE_CHECKING:
    from ..messages.answer import Answer
    from .asked import Asked
    from .session import Session
    from .turn import Turn

__all__ = ["Delivery"]

# A thread that may not deliver now looks again after so long.
PAUSE = 0.05


class Delivery:
    """Who delivers what a session's inbox holds, and who waits for it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        post = session.options.post
        self._by_caller = post == "caller"
        # Without a dispatcher thread, whoever waits delivers.
        self.by_waiters = isinstance(post, str)
        self.thread: threading.Thread | None = None
        # Held by the one thread that delivers. Reentrant, because Ctrl-C may come between
        # taking it and the try: the same thread must be able to go on.
        self._delivering = threading.RLock()

    def start(self) -> None:
        """Start the dispatcher thread, unless there is none to be or it runs."""
        if not self.by_waiters and (self.thread is None or self.thread.ident is None):
            # Daemon: a program that forgets close() must still be able to exit.
            self.thread = threading.Thread(
                target=self._run, name=f"{self._session.name}-dispatcher", daemon=True
            )
            self.thread.start()

    def _run(self) -> None:
        name_this_thread(self._session.name)
        while not self._session.closer.is_over():
            self.deliver(None)
        # What close() had no time to wait for: on_close, at least.
        while self.deliver(0):
            pass

    # Waiting.

    def refuse_in_handler(self, method: str) -> None:
        """Refuse to wait for a turn on a thread that its handlers need."""
        dispatch = self._session.dispatch
        if dispatch.is_dispatching():
            raise CalledFromHandler(method)
        if dispatch.posting is not None and dispatch.posting.has_run_here():
            raise UsageError(
                f"{method}() would freeze this thread, which runs the handlers (it is the user "
                "interface's, probably). Call submit() and act in on_result."
            )

    def ask(self, turn: Turn[Any], show: Callable[[Any], object] | None = None) -> Answer[Any]:
        """Send a question and wait for its answer; meanwhile *show* gets the turn's events."""
        if not self.by_waiters:
            self._session.submit(turn)
            if show is None:
                turn.wait_until(turn.is_over, lambda condition: self._wait(turn, condition))
            else:
                show_all(turn, show)
            return turn.outcome()
        # Awaited from the first moment, so that its handlers run here and nowhere else.
        turn.count_caller(1)
        try:
            self._session.submit(turn)
            if show is not None:
                show_all(turn, show)
            return turn.result()
        finally:
            turn.count_caller(-1)

    def _wait(self, turn: Turn[Any], condition: Any) -> bool:
        while not turn.is_over():
            condition.wait(SLICE)
        return True

    def wait_for_turn(
        self,
        turn: Turn[Any],
        timeout: float | None,
        method: str,
        until: Callable[[], object] = lambda: False,
    ) -> None:
        """Wait until *turn* is done (or *until* holds); AskTimeout if it takes too long."""
        self._session.check_process()
        if turn.is_over():
            return
        self.refuse_in_handler(method)
        deadline = Deadline(timeout)

        def is_over() -> object:
            return turn.is_over() or until()

        if self.by_waiters:
            turn.count_caller(1)
            try:
                over = self._deliver_until(is_over, deadline, turn.asked)
            finally:
                turn.count_caller(-1)
        else:
            over = turn.wait_until(
                is_over, lambda condition: wait_for(condition, is_over, deadline)
            )
        if not over:
            assert timeout is not None
            raise AskTimeout(timeout, sent=turn.running(), answer=turn.asked.answer)

    def wait_idle(self, timeout: float | None) -> None:
        """Wait until nothing runs, is queued, or works in the background."""
        session = self._session
        session.check()
        self.refuse_in_handler("wait_idle")
        deadline = Deadline(timeout)
        connection = session.connection
        was_alive = connection is not None and not connection.has_ended
        if self.by_waiters:
            idle = self._deliver_until(self._is_idle, deadline, None)
        else:
            idle = session.changes.wait_for(self._is_idle, deadline)
        if not idle:
            assert timeout is not None
            raise AskTimeout(timeout, what="the session did not become idle")
        if session.closing:
            raise ClientClosed("the client was closed during this call")
        ended = was_alive and connection is not None and not connection.was_retired
        if ended and connection is not None and connection.error is not None:
            raise copy.copy(connection.error)

    def _is_idle(self) -> bool:
        session = self._session
        with session.lock:
            if session.closing:
                return True
            if session.queue and not session.starter.gave_up:
                return False
            connection = session.connection
            alive = connection is not None and not connection.has_ended
            if alive and connection is not None and not connection.exchange.is_idle():
                return False
        return session.inbox.is_drained()

    # Delivering.

    def deliver(self, timeout: float | None, asked: Asked | None = None) -> int:
        """Take a batch from the inbox and deliver it; how many items it had."""
        session = self._session
        batch = session.inbox.take(timeout)
        if batch is None:
            return 0
        waiting = len(batch)
        try:
            part = self._part_for(asked, batch) if self._by_caller else None
            with self._delivering:
                session.dispatch.process(batch, part)
        finally:
            session.changes.tell()
        return waiting - len(batch)

    def process(self, timeout: float | None) -> int:
        """Deliver what has arrived, on this thread; wait up to *timeout* seconds for a batch."""
        if not self._delivering.acquire(timeout=-1 if timeout is None else timeout):
            return 0
        try:
            if self._belongs_to_another(None):
                pause = PAUSE if timeout is None else min(PAUSE, timeout)
                self._session.changes.wait_for(
                    lambda: not self._belongs_to_another(None), Deadline(pause)
                )
            count = self.deliver(timeout)
            while count:
                more = self.deliver(0)
                if not more:
                    break
                count += more
            return count
        except BaseException:
            self._session.dispatch.leave_handlers()
            raise
        finally:
            self._delivering.release()

    def _deliver_until(
        self, is_over: Callable[[], object], deadline: Deadline, asked: Asked | None
    ) -> bool:
        while not is_over():
            if deadline.is_over():
                return False
            if self._belongs_to_another(asked) or not self._delivering.acquire(blocking=False):
                pause = Deadline(min(PAUSE, deadline.slice()))
                self._session.changes.wait_for(is_over, pause)
                continue
            try:
                self.deliver(deadline.slice(), asked)
            except BaseException:
                self._session.dispatch.leave_handlers()
                raise
            finally:
                self._delivering.release()
        return True

    # Under post="caller": each thread that waits runs the handlers of its own turn.

    def _belongs_to_another(self, asked: Asked | None) -> bool:
        """Whether another thread waits for what arrives now."""
        current = self._session.dispatch.asked
        return self._by_caller and is_awaited_elsewhere(current, asked)

    def _part_for(self, asked: Asked | None, batch: list[Any]) -> int | None:
        """How much of *batch* comes before a turn that another thread waits for; None: all."""
        for number, item in enumerate(batch):
            entry = item.entry if isinstance(item, (Routed, InOrder)) else None
            owner: Asked | None = entry.owner if entry is not None else None
            if is_awaited_elsewhere(owner, asked):
                if number == 0:
                    # From here on it is that turn's: its thread takes over.
                    self._session.dispatch.asked = owner
                return number
        return None

    def call_back(self, function: Callable[[Any], object], turn: Turn[Any]) -> None:
        """Call a done-callback as a handler is called: in order, guarded."""
        session = self._session
        if session.dispatch.is_dispatching() or session.closer.is_over():
            session.dispatch.call(function, turn)
        else:
            session.inbox.put([lambda: session.dispatch.call(function, turn)])


def show_all(turn: Turn[Any], show: Callable[[Any], object]) -> None:
    """Call *show* with each event of a turn, as it arrives."""
    for event in turn.events():
        show(event)


def is_awaited_elsewhere(owner: Asked | None, asked: Asked | None) -> bool:
    """Whether a thread waits for *owner*, which is not the one that waits for *asked*."""
    return owner is not None and owner is not asked and owner.callers > 0
