"""
What the threads of a bridge share: tasks, lines on their way out, bytes on their way in.

Whoever puts something in never waits; only a thread that has nothing else to do does.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..log import logger
from ..support.waiting import Deadline

if TYPE_CHECKING:
    from ..engine.launch.transport import Transport

__all__ = ["Inbox", "Lane", "Sender", "Workers", "thread_of"]

Task = Callable[[], None]


def thread_of(name: str, task: Task) -> threading.Thread:
    """A thread of the bridge, to be started."""
    # Daemon: a program that forgets to close must still be able to exit.
    return threading.Thread(target=task, name=name, daemon=True)


class Workers:
    """A thread for each task that runs at the same time as others."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()  # guards the threads
        self._threads: set[threading.Thread] = set()

    def run(self, task: Task) -> None:
        """Run *task* on a thread of its own."""

        def work() -> None:
            try:
                task()
            except Exception:
                logger.exception("a task of the bridge failed")
            finally:
                with self._lock:
                    self._threads.discard(threading.current_thread())

        thread = thread_of(f"{self._name}-worker", work)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def join(self, timeout: float) -> None:
        """Wait for all tasks, those that they start included, for at most *timeout* seconds."""
        deadline = Deadline(timeout)
        while not deadline.is_over():
            with self._lock:
                thread = next((each for each in self._threads if each.ident), None)
            if thread is None:
                return
            thread.join(deadline.left())


class Lane:
    """Tasks that run one after the other, on whichever threads *run* has."""

    def __init__(self, run: Callable[[Task], None]) -> None:
        self._run = run
        self._lock = threading.Lock()  # guards the tasks; the first one is being done
        self._tasks: deque[Task] = deque()

    def run(self, task: Task) -> None:
        """Run *task* after those that came before; it must not raise."""
        with self._lock:
            self._tasks.append(task)
            is_first = len(self._tasks) == 1
        if is_first:
            self._run(self._work)

    def _work(self) -> None:
        more = True
        while more:
            self._tasks[0]()
            with self._lock:
                self._tasks.popleft()
                more = bool(self._tasks)


class Sender:
    """
    Lines for a process, written by a thread of its own: it may read them late, or never.

    Args:
        failed: Called once when the process no longer reads. It must take no lock.

    """

    def __init__(self, transport: Transport, name: str, failed: Callable[[], None]) -> None:
        self._transport = transport
        self._failed = failed
        # b"" closes the input of the process, None ends the thread.
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._has_ended = False
        self.thread = thread_of(f"{name}-writer", self._work)
        self.thread.start()

    def send(self, data: bytes) -> None:
        """Write *data* without waiting; after the end nobody wants it."""
        if not self._has_ended:
            self._lines.put(data)

    def end_input(self) -> None:
        """Close the input of the process when all that waits is written."""
        self.send(b"")

    def stop(self) -> None:
        """Write no more; what waits is dropped."""
        self._has_ended = True
        self._lines.put(None)

    def _work(self) -> None:
        while True:
            data = self._lines.get()
            if data is None or self._has_ended:
                return
            try:
                if data:
                    self._transport.write(data)
                    continue
                self._transport.end_input()
            except OSError as error:
                logger.debug("a process of the bridge reads no more: %s", error)
                if not self._has_ended:
                    self._failed()
            self._has_ended = True
            return


class Inbox:
    """Bytes in, bytes out, in order: any thread puts, one takes."""

    def __init__(self) -> None:
        # Guards the two below; notified of every change.
        self._changed = threading.Condition(threading.Lock())
        self._waiting: deque[bytes] = deque()
        self._ended = False

    def put(self, data: bytes) -> None:
        """Add *data*; after the end nobody wants it."""
        with self._changed:
            if data and not self._ended:
                self._waiting.append(data)
                self._changed.notify_all()

    def end(self) -> None:
        """Nothing more comes: what waits can be taken, and then b""."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self) -> bytes:
        """Wait for what is next; b"" at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            data = b"".join(self._waiting)
            self._waiting.clear()
            return data
