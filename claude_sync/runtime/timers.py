"""
One thread for all deadlines of a client.

Callbacks run on that thread and must not block: they take locks, hand writes
to the responders, or end the process. The thread is started by the first
deadline and stopped with the client.
"""

from __future__ import annotations

import heapq
import threading
import time
from typing import Callable, List, Optional, Tuple

from ..log import logger

__all__ = ["Timer", "Timers"]


class Timer:
    """A callback that is due at some time, unless it is cancelled."""

    __slots__ = ("_callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Optional[Callable[[], None]] = callback

    def cancel(self) -> None:
        """Do not call it any more; harmless afterwards."""
        self._callback = None

    def fire(self) -> None:
        """Call it, once."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class Timers:
    """The deadlines of one client, soonest first."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        # Guards the heap; notified when a deadline is added or everything ends.
        self._changed = threading.Condition(threading.Lock())
        self._heap: List[Tuple[float, int, Timer]] = []
        self._count = 0
        self._thread: Optional[threading.Thread] = None
        self._stopped = False

    def after(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call *callback* in *delay* seconds, on the timer thread."""
        timer = Timer(callback)
        with self._changed:
            if self._stopped:
                return timer
            self._count += 1
            heapq.heappush(self._heap, (time.monotonic() + delay, self._count, timer))
            if self._thread is None:
                # Daemon: a program that forgets close() must still be able to exit.
                self._thread = threading.Thread(
                    target=self._run, name=f"{self._owner}-timer", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # the interpreter is shutting down
                    self._thread = None
            self._changed.notify()
        return timer

    def stop(self) -> Optional[threading.Thread]:
        """End the thread; return it for joining."""
        with self._changed:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()
            return self._thread

    def _run(self) -> None:
        while True:
            with self._changed:
                timer = self._next_due()
            if timer is None:
                return
            try:
                timer.fire()
            except Exception:
                logger.exception("! a deadline of %s failed", self._owner)

    def _next_due(self) -> Optional[Timer]:
        """Wait for the next deadline; None when everything ends."""
        while not self._stopped:
            if not self._heap:
                self._changed.wait()
                continue
            due = self._heap[0][0] - time.monotonic()
            if due <= 0:
                return heapq.heappop(self._heap)[2]
            self._changed.wait(due)
        return None
