"""
Threads for whatever may have to wait: answers to the CLI, large writes.

The reader must never write (the CLI may itself wait for the reader), and the
timer thread must never block. Both hand such work over to here. A thread is
started when no other is free, and ended by a sentinel when the client closes.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable, Deque, List, Optional

from ..log import logger

__all__ = ["Responders"]

Task = Callable[[], None]


class Responders:
    """A pool that grows with the number of tasks that are open at once."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        # Guards everything below; notified when a task comes or everything ends.
        self._changed = threading.Condition(threading.Lock())
        self._tasks: Deque[Task] = deque()
        self._free = 0
        self._threads: List[threading.Thread] = []
        self._stopped = False

    def run(self, task: Task) -> None:
        """Run *task* on a thread of the pool; in order of arrival, several at once."""
        with self._changed:
            if self._stopped:
                return
            self._tasks.append(task)
            if self._free >= len(self._tasks):
                self._changed.notify()
                return
            thread = threading.Thread(
                target=self._work,
                name=f"{self._owner}-responder-{len(self._threads) + 1}",
                daemon=True,  # a program that forgets close() must still be able to exit
            )
            try:
                thread.start()
            except RuntimeError:  # the interpreter is shutting down
                self._changed.notify()
                return
            self._threads.append(thread)

    def threads(self) -> List[threading.Thread]:
        """The threads that were started."""
        with self._changed:
            return list(self._threads)

    def stop(self) -> List[threading.Thread]:
        """Take no more tasks; let the threads end; return them for joining."""
        with self._changed:
            self._stopped = True
            self._tasks.clear()
            self._changed.notify_all()
            return list(self._threads)

    def _work(self) -> None:
        while True:
            task = self._next_task()
            if task is None:
                return
            try:
                task()
            except Exception:
                logger.exception("! a task of %s failed", self._owner)

    def _next_task(self) -> Optional[Task]:
        with self._changed:
            self._free += 1
            self._changed.wait_for(lambda: self._tasks or self._stopped)
            self._free -= 1
            return self._tasks.popleft() if self._tasks else None
