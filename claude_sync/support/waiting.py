"""
Waiting with an end: deadlines spread over steps, and waits that Ctrl-C can break.

On Windows a wait without a timeout cannot be interrupted, and elsewhere Ctrl-C is
missed by a wait that begins at that very moment. So long waits are cut into slices
everywhere; a slice costs a wake-up four times a second while a caller waits, and
nothing otherwise.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import Callable, Optional, TypeVar

SLICE = 0.25

# Not worth a wait.
SHORTEST = 0.001

T = TypeVar("T")


class Deadline:
    """One timeout, spread over several steps. None never ends."""

    __slots__ = ("_end",)

    def __init__(self, timeout: Optional[float]) -> None:
        # More than the system can wait for is for ever.
        endless = timeout is None or timeout > threading.TIMEOUT_MAX / 2
        self._end = None if timeout is None or endless else time.monotonic() + timeout

    def left(self) -> Optional[float]:
        """Seconds until the end, never below zero; None without an end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def slice(self) -> float:
        """How long to wait in one go."""
        left = self.left()
        return SLICE if left is None else min(SLICE, left)

    def within(self, longest: Optional[float]) -> Optional[float]:
        """How long to wait in one go, at most *longest*; None: as long as it takes."""
        left = self.left()
        if left is None or longest is None:
            return longest if left is None else left
        return min(longest, left)

    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end


def wait_for(
    condition: threading.Condition, predicate: Callable[[], object], deadline: Deadline
) -> bool:
    """Wait, holding *condition*, until *predicate* holds: True; False if time is up first."""
    while not predicate():
        if deadline.is_over():
            return False
        condition.wait(deadline.slice())
    return True


def take_from(queue: SimpleQueue[T], timeout: Optional[float]) -> T:
    """
    The next item of *queue*; raises Empty if none comes in time.

    As ``queue.get(timeout=...)``, which on Python 3.9 and 3.10 may wait for ever: after an
    item that nobody waited for, the wait begins twice, and what is left of a short timeout
    the second time may be less than nothing. A look without a wait makes that the first time.
    """
    if timeout is None:
        return queue.get()
    try:
        return queue.get(block=False)
    except Empty:
        if timeout < SHORTEST:
            raise
    return queue.get(timeout=timeout)


class Changes:
    """
    Where threads wait for something to change, and others tell that something has.

    To tell costs nothing while nobody waits: whoever waits is counted before it looks,
    and whoever changes something looks at the count afterwards.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._condition = threading.Condition(self.lock)
        self._waiting = 0

    def tell(self) -> None:
        """Something has changed."""
        if self._waiting:
            with self.lock:
                self._condition.notify_all()

    def wait_for(self, predicate: Callable[[], object], deadline: Deadline) -> bool:
        """Wait until *predicate* holds: True; False if time is up first."""
        with self.lock:
            self._waiting += 1
            try:
                return wait_for(self._condition, predicate, deadline)
            finally:
                self._waiting -= 1
