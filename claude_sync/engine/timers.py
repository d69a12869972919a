"""
One thread for all deadlines of a client.

Callbacks run on that thread and must not block: they take locks, hand writes
to the responders, or end the process. The thread is started by the first
deadline and stopped with the client.
"""

from __future__ import annotations

import contextlib
import heapq
import threading
import time
from queue import Empty, SimpleQueue
from typing import Callable, List, Optional, Tuple

from ..log import logger, name_this_thread
from ..support.waiting import take_from

__all__ = ["Timer", "Timers"]

# Fewer than this are not worth a look at how many of them were cancelled.
FEW = 64
# More than anybody waits, and less than the system can be asked to.
LONGEST_DELAY = 1e7


class Timer:
    """A callback that is due at some time, unless it is cancelled."""

    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Optional[Callable[[], None]] = callback

    def cancel(self) -> None:
        """Do not call it any more; harmless afterwards."""
        self._callback = None

    def is_cancelled(self) -> bool:
        """Whether there is nothing to call any more."""
        return self._callback is None

    def fire(self) -> None:
        """Call it, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Timers:
    """The deadlines of one client, soonest first."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._lock = threading.Lock()  # guards everything but _urgent
        self._heap: List[Tuple[float, int, Timer]] = []
        # With so many deadlines, those that were cancelled are taken out.
        self._look_at = FEW
        self._count = 0
        self._thread: Optional[threading.Thread] = None
        self._stopped = False
        self._urgent: Optional[Callable[[], None]] = None
        # Wakes up the thread. Unlike a condition it may be used while the garbage
        # collector interrupts, on any thread, whatever locks that thread holds.
        self._woken: SimpleQueue[None] = SimpleQueue()

    def start(self) -> None:
        """Start the thread, so that :meth:`run_soon` finds one."""
        with self._lock:
            if self._thread is None and not self._stopped:
                # Daemon: a program that forgets close() must still be able to exit.
                self._thread = threading.Thread(
                    target=self._run, name=f"{self._owner}-timer", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # the interpreter is shutting down
                    self._thread = None

    def after(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call *callback* in *delay* seconds, on the timer thread."""
        timer = Timer(callback)
        with self._lock:
            if self._stopped:
                return timer
            self._count += 1
            due = time.monotonic() + min(delay, LONGEST_DELAY)
            heapq.heappush(self._heap, (due, self._count, timer))
            if len(self._heap) > self._look_at:
                self._forget_cancelled_locked()
        self.start()
        self._woken.put(None)
        return timer

    def run_soon(self, callback: Callable[[], None]) -> None:
        """Call *callback* on the timer thread at once. Takes no lock: for finalizers."""
        self._urgent = callback
        self._woken.put(None)

    def stop(self) -> Optional[threading.Thread]:
        """End the thread; return it for joining."""
        with self._lock:
            self._stopped = True
            self._heap.clear()
        self._woken.put(None)
        return self._thread

    def thread(self) -> Optional[threading.Thread]:
        """The thread, if it was started."""
        return self._thread

    def _forget_cancelled_locked(self) -> None:
        """
        A question with a timeout of an hour leaves a deadline behind that is an hour away.

        Looked at again when there are twice as many: each is looked at twice, on average.
        """
        self._heap = [entry for entry in self._heap if not entry[2].is_cancelled()]
        heapq.heapify(self._heap)
        self._look_at = max(FEW, 2 * len(self._heap))

    def _run(self) -> None:
        name_this_thread(self._owner)
        while not self._stopped:
            try:
                wait = self._fire_what_is_due()
            except Exception:
                logger.exception("a timer failed")
                continue
            with contextlib.suppress(Empty):
                take_from(self._woken, wait)

    def _fire_what_is_due(self) -> Optional[float]:
        """Call whatever is due; how long until the next, or None."""
        urgent, self._urgent = self._urgent, None
        if urgent is not None:
            urgent()
        while True:
            with self._lock:
                if not self._heap:
                    return None
                wait = self._heap[0][0] - time.monotonic()
                if wait > 0:
                    return wait
                timer = heapq.heappop(self._heap)[2]
            timer.fire()
