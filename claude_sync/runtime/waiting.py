"""
Waiting with an end: deadlines spread over steps, and waits that Ctrl-C can break.

On Windows a wait without a timeout cannot be interrupted, so long waits are cut
into slices everywhere; a slice costs a wake-up four times a second while a
caller waits, and nothing otherwise.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional

__all__ = ["SLICE", "Deadline", "wait_for"]

SLICE = 0.25


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
