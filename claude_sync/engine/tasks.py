"""
Threads for whatever may have to wait: answers to the CLI, and what must not hold up another.

The reader must never write (the CLI may itself wait for the reader), and the timer thread must
never block. Both hand such work over to here. Each task has a thread of its own, which ends
with it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ..log import logger, name_this_thread

__all__ = ["Tasks"]

# How soon a task is tried again for which there was no thread.
AGAIN = 0.5


class Tasks:
    """The tasks of one client that run now."""

    def __init__(
        self, owner: str, later: Callable[[float, Callable[[], None]], object] | None = None
    ) -> None:
        self._owner = owner
        # Calls a function after so many seconds: for a system that has no thread left.
        self._later = later
        self._lock = threading.Lock()  # guards everything below
        # The threads, and whether something of the program's runs there, which may never return.
        self._threads: dict[threading.Thread, bool] = {}
        self._count = 0
        self._stopped = False

    def run(self, task: Callable[[], object], *, users_code: bool = False) -> None:
        """Run *task* on a thread of its own. *users_code*: it calls something of the program's."""
        with self._lock:
            if self._stopped:
                return
            self._count += 1
            # Daemon: a program that forgets close() must still be able to exit.
            thread = threading.Thread(
                target=self._run,
                args=(task,),
                name=f"{self._owner}-responder-{self._count}",
                daemon=True,
            )
            self._threads[thread] = users_code
            try:
                thread.start()
            except RuntimeError as error:
                del self._threads[thread]
                if self._later is None or sys.is_finalizing():
                    return
                logger.error("no thread could be started, trying again: %s", error)
                self._later(AGAIN, lambda: self.run(task, users_code=users_code))

    def threads(self) -> list[threading.Thread]:
        """The threads of the tasks that run."""
        with self._lock:
            return list(self._threads)

    def lent(self) -> list[threading.Thread]:
        """Those on which something of the program's runs."""
        with self._lock:
            return [thread for thread, users_code in self._threads.items() if users_code]

    def stop(self) -> list[threading.Thread]:
        """Take no more tasks; the threads of those that run, for joining."""
        with self._lock:
            self._stopped = True
            return list(self._threads)

    def _run(self, task: Callable[[], object]) -> None:
        name_this_thread(self._owner)
        try:
            task()
        except Exception:
            logger.exception("a task failed")
        finally:
            with self._lock:
                self._threads.pop(threading.current_thread(), None)
