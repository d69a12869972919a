"""
How fast a batch may go: how many questions at once, and not before when.

::

    told to wait -> half as many at once, and nobody before the time is over
    answered     -> a little more, until it is as many as at the beginning

One service serves all workers, so what one of them is told holds for all. The clock is the
caller's.
"""

from __future__ import annotations

__all__ = ["Pace"]


class Pace:
    """
    How many questions may be open at once; whoever uses it holds a lock.

    Args:
        workers: How many at most.

    """

    def __init__(self, workers: int) -> None:
        self._most = float(workers)
        self._window = float(workers)
        self._not_before = 0.0
        self._slowed_at = float("-inf")

    @property
    def window(self) -> int:
        """How many may be open now."""
        return max(1, int(self._window))

    def wait(self, now: float) -> float:
        """How many seconds nobody may ask."""
        return max(0.0, self._not_before - now)

    def slow_down(self, now: float, delay: float, begun: float) -> None:
        """
        Somebody was told to wait *delay* seconds, about a question that was *begun* then.

        Questions that were open together fail together: that is one reason to slow down,
        not several. And while everybody waits, nobody can be slower.
        """
        if begun >= self._slowed_at and now >= self._not_before:
            self._window = max(1.0, self._window / 2)
            self._slowed_at = now
        self._not_before = max(self._not_before, now + delay)

    def speed_up(self) -> None:
        """A question was answered: after a round of these, one more may be open."""
        self._window = min(self._most, self._window + 1.0 / self._window)
