"""
Wait for turns, and deliver what arrives where no thread does that by itself.

With a dispatcher thread, waiting is waiting. With ``post="manual"`` and
``post="caller"`` there is none: whoever waits, or calls ``process_events()``,
delivers meanwhile. One thread delivers at a time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, List, Optional

from ..errors import AskTimeout, CalledFromHandler, ClientClosed, UsageError
from ..log import name_this_thread
from ..support.waiting import SLICE, Deadline, wait_for
from .items import Asked, Routed

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..messages.answer import Answer
    from .engine import Engine

__all__ = ["Delivery", "DispatcherThread"]


class Delivery:
    """Who delivers what an engine's inbox holds, and who waits for it."""

    def __init__(self, engine: Engine, post: Any) -> None:
        self._engine = engine
        self._by_caller = post == "caller"
        # Without a dispatcher thread, whoever waits delivers.
        self.by_waiters = isinstance(post, str)
        # Held by the one thread that delivers. Reentrant, because Ctrl-C may come between
        # taking it and the try: the same thread must be able to go on.
        self._turn_lock = threading.RLock()

    def refuse_in_handler(self, method: str) -> None:
        """Refuse to wait for a turn on a thread that its handlers need."""
        dispatcher = self._engine.dispatcher
        if dispatcher.is_dispatching():
            raise CalledFromHandler(method)
        if dispatcher.posting is not None and dispatcher.posting.has_run_here():
            raise UsageError(
                f"{method}() would freeze this thread, which runs the handlers (it is the user "
                "interface's, probably). Call submit() and act in on_result."
            )

    def ask(self, turn: Turn, message: Any) -> Answer:
        """Send a question and wait for its answer."""
        if self.by_waiters:
            # Awaited from the first moment, so that its handlers run here and nowhere else.
            with turn._awaited():
                self._engine.submit(turn, message)
                return turn.result()
        self._engine.submit(turn, message)
        with turn._condition:
            while not turn._is_over():
                turn._condition.wait(SLICE)
            return turn._outcome()

    def wait_for_turn(
        self,
        turn: Turn,
        timeout: Optional[float],
        method: str,
        until: Callable[[], object] = lambda: False,
    ) -> None:
        """Wait until *turn* is done (or *until* holds); AskTimeout if it takes too long."""
        self._engine.check_process()
        if turn._is_over():
            return
        self.refuse_in_handler(method)
        deadline = Deadline(timeout)

        def is_over() -> object:
            return turn._is_over() or until()

        if self.by_waiters:
            with turn._awaited():
                over = self._deliver_until(is_over, deadline, turn)
        else:
            condition = turn._condition
            with condition:
                over = wait_for(condition, is_over, deadline)
        if not over:
            assert timeout is not None
            raise AskTimeout(timeout, sent=turn.running(), answer=turn._answer)

    def wait_idle(self, timeout: Optional[float]) -> None:
        """Wait until nothing runs, is queued, or works in the background."""
        self._engine.check()
        self.refuse_in_handler("wait_idle")
        deadline = Deadline(timeout)
        connection = self._engine.lifecycle.connection
        alive = connection is not None and not connection.ended
        if self.by_waiters:
            idle = self._deliver_until(self._is_idle, deadline, None)
        else:
            idle = self._engine.changes.wait_for(self._is_idle, deadline)
        if not idle:
            assert timeout is not None
            raise AskTimeout(timeout, what="the session did not become idle")
        if self._engine.lifecycle.closing:
            raise ClientClosed("the client was closed during this call")
        ended = connection is not None and connection.ended and not connection.retiring
        if alive and ended and connection is not None and connection.error is not None:
            raise connection.error

    def _is_idle(self) -> bool:
        with self._engine.lock:
            if self._engine.lifecycle.closing:
                return True
            connection = self._engine.lifecycle.connection
            if self._engine.queue and not self._engine.lifecycle.gave_up:
                return False
            if (
                connection is not None
                and not connection.ended
                and not connection.exchange.is_idle()
            ):
                return False
        return self._engine.inbox.is_drained()

    def is_over(self) -> bool:
        """Whether the last batch has been worked off."""
        return self._engine.lifecycle.over.is_set()

    def process_batch(self, timeout: Optional[float], turn: Optional[Turn] = None) -> int:
        """Take a batch from the inbox and deliver it; how many items it had."""
        batch = self._engine.inbox.take(timeout)
        if batch is None:
            return 0
        waiting = len(batch)
        watch = self._engine.watch
        try:
            part = self._part_for(turn, batch) if self._by_caller else None
            with self._turn_lock:
                watch.begin()
                try:
                    self._engine.dispatcher.process(batch, part)
                finally:
                    watch.end()
        finally:
            self._engine.changes.tell()
        return waiting - len(batch)

    def put(self, items: List[Any], size: int) -> None:
        """
        Take what the reader has read: into the inbox, for whoever delivers.

        A client without handlers, as a plain script has it, has nothing of the program's
        to call. Then the reader completes the turn itself, which saves a change of threads.
        So does a request that comes alone, with nothing before it: a responder serves it.
        """
        engine = self._engine
        inbox, dispatcher = engine.inbox, engine.dispatcher
        if not items:
            return
        calls_nobody = not self.by_waiters and (
            dispatcher.is_unheard() or (type(items[0]) is Asked and dispatcher.only_hands_on(items))
        )
        if calls_nobody and self._turn_lock.acquire(blocking=False):
            try:
                # Looked at here: only now nobody else can begin to deliver something older.
                if inbox.is_drained():
                    dispatcher.process_unheard(items)
            finally:
                self._turn_lock.release()
            engine.changes.tell()
        if items:
            inbox.put(items, size)  # what is left: nearly always all of it, or nothing

    def process(self, timeout: Optional[float]) -> int:
        """Deliver what has arrived, on this thread; wait up to *timeout* for a first batch."""
        if not self._turn_lock.acquire(timeout=-1 if timeout is None else timeout):
            return 0
        try:
            if self._belongs_to_another(None):
                pause = 0.05 if timeout is None else min(0.05, timeout)
                self._engine.changes.wait_for(
                    lambda: not self._belongs_to_another(None), Deadline(pause)
                )
            count = self.process_batch(timeout)
            while count and not self.is_over():
                more = self.process_batch(0)
                if not more:
                    break
                count += more
            return count
        except BaseException:
            self._engine.dispatcher.leave_handlers()
            raise
        finally:
            self._turn_lock.release()

    def _deliver_until(
        self, is_over: Callable[[], object], deadline: Deadline, turn: Optional[Turn]
    ) -> bool:
        while not is_over():
            if deadline.is_over():
                return False
            if self._belongs_to_another(turn) or not self._turn_lock.acquire(blocking=False):
                self._engine.changes.wait_for(is_over, Deadline(min(0.05, deadline.slice())))
                continue
            try:
                self.process_batch(deadline.slice(), turn)
            except BaseException:
                self._engine.dispatcher.leave_handlers()
                raise
            finally:
                self._turn_lock.release()
        return True

    def _belongs_to_another(self, turn: Optional[Turn]) -> bool:
        """Under post="caller": whether another thread waits for what arrives now."""
        current = self._engine.dispatcher.turn
        return (
            self._by_caller and current is not None and current is not turn and current._callers > 0
        )

    def _part_for(self, turn: Optional[Turn], batch: List[Any]) -> Optional[int]:
        """How much of *batch* comes before a turn that another thread waits for; None: all."""
        for number, item in enumerate(batch):
            entry = item.entry if isinstance(item, (Routed, Asked)) else None
            owner = entry.owner if entry is not None else None
            if owner is not None and owner is not turn and getattr(owner, "_callers", 0) > 0:
                if number == 0:
                    # From here on it is that turn's: its thread takes over.
                    self._engine.dispatcher.turn = owner
                return number
        return None

    def call_back(self, function: Callable[[Turn], object], turn: Turn) -> None:
        """Call a done-callback as a handler is called: in order, guarded."""
        if self._engine.dispatcher.is_dispatching() or self.is_over():
            self._engine.dispatcher.call(function, turn)
        else:
            self._engine.inbox.put([lambda: self._engine.dispatcher.call(function, turn)])


class DispatcherThread(threading.Thread):
    """
    Work off the inbox, until the engine says that it was the last batch.

    Daemon: a program that forgets close() must still be able to exit.
    """

    def __init__(self, engine: Engine, owner: str) -> None:
        super().__init__(name=f"{owner}-dispatcher", daemon=True)
        self._engine = engine

    def run(self) -> None:
        """See the class."""
        engine = self._engine
        name_this_thread(engine.name)
        while not engine.delivery.is_over():
            engine.delivery.process_batch(None)
