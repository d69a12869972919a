"""
Have calls made on somebody else's thread: the ``post=`` of a client.

A user interface takes calls into a queue of its own. So many may wait there and no
more; then whoever posts waits, and text that arrives meanwhile is merged.
"""

from __future__ import annotations

import threading
import weakref
from typing import Callable

__all__ = ["Posting"]

# So many posted calls may wait in somebody else's queue.
POSTED_AT_ONCE = 64


class Posting:
    """Hands calls over, and knows on which threads they were made."""

    def __init__(self, post: Callable[[Callable[[], None]], object]) -> None:
        self._post = post
        # Threads that ran posted calls: typically the user interface's.
        self.threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._changed = threading.Condition(threading.Lock())  # guards _waiting
        self._waiting = 0
        self._released = False

    def __call__(self, call: Callable[[], None], _instead: object = None) -> None:
        """
        Have *call* made. What the queue raises when it takes no calls goes through.

        What to do instead is for queues that know when they will make no more calls.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting < POSTED_AT_ONCE or self._released)
            self._waiting += 1

        def run() -> None:
            self.threads.add(threading.current_thread())
            try:
                call()
            finally:
                self._is_done()

        try:
            self._post(run)
        except BaseException:
            self._is_done()
            raise

    def has_run_here(self) -> bool:
        """Whether the calling thread is one that runs posted calls."""
        return threading.current_thread() in self.threads

    def release(self) -> None:
        """The client closes: wait for posted calls no longer."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def _is_done(self) -> None:
        with self._changed:
            self._waiting -= 1
            self._changed.notify_all()
