"""
Count what goes through a client's pipes; by the read and by the write, not by the message.

::

    process -> [lines] -> messages -> dispatch -> handlers -> turn

Each life of the CLI has a counter of its own, whose two directions are each counted by
one thread at a time, so that counting needs no lock.
"""

from __future__ import annotations

import threading
from typing import List

__all__ = ["Counter", "Traffic"]


class Counter:
    """
    What one CLI was told, and has said.

    Attributes:
        lines_received, bytes_received: From it; counted by the reader.
        lines_sent, bytes_sent: To it; counted under the lock for writing.

    """

    __slots__ = ("bytes_received", "bytes_sent", "lines_received", "lines_sent")

    def __init__(self) -> None:
        self.lines_received = self.bytes_received = 0
        self.lines_sent = self.bytes_sent = 0

    def add(self, other: Counter) -> None:
        """Count what *other* has counted, too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Traffic:
    """The counters of all lives of one client's CLI."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards everything below
        self._over = Counter()
        # Of the CLI that lives, and the one before it, which may still be read.
        self._counters: List[Counter] = []
        self._lives = 0

    @property
    def lives(self) -> int:
        """How often a CLI was started."""
        with self._lock:
            return self._lives

    def begin(self) -> Counter:
        """The counter of a CLI that is being started."""
        counter = Counter()
        with self._lock:
            self._lives += 1
            self._counters.append(counter)
            while len(self._counters) > 2:  # what is over is over: nothing here grows
                self._over.add(self._counters.pop(0))
        return counter

    def total(self) -> Counter:
        """What all of them have counted so far."""
        total = Counter()
        with self._lock:
            for counter in (self._over, *self._counters):
                total.add(counter)
        return total
