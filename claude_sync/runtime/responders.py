"""
Threads for whatever may have to wait: answers to the CLI, large writes.

The reader must never write (the CLI may itself wait for the reader), and the
timer thread must never block. Both hand such work over to here. A thread is
started when no other is free, and ended by a sentinel when the client closes.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Callable, Deque, List, Optional, Set, Tuple

from ..log import logger, name_this_thread

__all__ = ["Responders"]

Task = Callable[[], None]


class Responders:
    """A pool that grows with the number of tasks that are open at once."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        # Guards everything below; notified when a task comes or everything ends.
        self._changed = threading.Condition(threading.Lock())
        self._tasks: Deque[Tuple[Task, bool]] = deque()
        # Threads on which something of the program's runs.
        self._lent: Set[threading.Thread] = set()
        self._free = 0
        self._threads: List[threading.Thread] = []
        self._stopped = False

    def run(self, task: Task, *, users_code: bool = False) -> None:
        """
        Run *task* on a thread of the pool; in order of arrival, several at once.

        *users_code*: it calls something of the program's, which may never return.
        """
        with self._changed:
            if self._stopped:
                return
            self._tasks.append((task, users_code))
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

    def lent(self) -> List[threading.Thread]:
        """The threads on which something of the program's runs now."""
        with self._changed:
            return list(self._lent)

    def stop(self) -> List[threading.Thread]:
        """Take no more tasks, finish what was taken; return the threads for joining."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            return list(self._threads)

    def _work(self) -> None:
        name_this_thread(self._owner)
        while True:
            task = self._next_task()
            if task is None:
                return
            try:
                task()
            except Exception:
                logger.exception("a task failed")
            # Not kept while this waits: it may hold what holds a client that was forgotten.
            task = None

    def _next_task(self) -> Optional[Task]:
        thread = threading.current_thread()
        with self._changed:
            self._lent.discard(thread)
            self._free += 1
            self._changed.wait_for(lambda: self._tasks or self._stopped)
            self._free -= 1
            if not self._tasks:
                return None
            task, users_code = self._tasks.popleft()
            if users_code:
                self._lent.add(thread)
            return task
