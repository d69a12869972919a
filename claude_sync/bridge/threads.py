"""
The threads of a bridge: tasks one after the other, and a process with those that read from it.

Whoever gives a task, or lines for a process, never waits.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..log import logger

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from ..engine.launch.transport import Transport

Task = Callable[[], object]

# How long a process may take to exit after the end of its output, and its last words to come.
EXIT_PATIENCE = 2.0
# How long a thread may take whose process is gone.
JOINING_TIME = 5.0


def thread_of(name: str, task: Task) -> threading.Thread:
    """A thread of the bridge, to be started."""
    # Daemon: a program that forgets to close must still be able to exit.
    return threading.Thread(target=task, name=name, daemon=True)


class Lane:
    """Tasks that run one after the other on a thread of their own, in the order of their coming."""

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self.thread = thread_of(name, self._work)

    def run(self, task: Task) -> None:
        """Run *task* after those that came before."""
        self._tasks.put(task)

    def stop(self) -> None:
        """End the thread when all that came before is done."""
        self._tasks.put(None)

    def finish(self) -> None:
        """Wait until all that came before is done."""
        self.stop()
        if self.thread.ident:
            self.thread.join()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception:
                logger.exception("a task of the bridge failed")


class Child:
    """
    A process: lines go to it without waiting, and what it says goes to functions.

    Args:
        transport: The process, which is started at once; what it raises then is not caught.
        launch: How.
        name: For its threads.
        take: Gets what it prints, on the thread that reads; it may wait, and so holds it up.
        take_error: Gets what it tells people, on another thread, and b"" at the end.
        ended: Called with the exit code, if it is known, after all that was printed.

    """

    def __init__(
        self,
        transport: Transport,
        launch: Launch,
        name: str,
        take: Callable[[bytes], None],
        take_error: Callable[[bytes], None],
        ended: Callable[[int | None], None],
    ) -> None:
        self.transport = transport
        self._take = take
        self._take_error = take_error
        self._ended = ended
        self._writer = Lane(f"{name}-writer")
        self._errors = thread_of(f"{name}-stderr", self._read_errors)
        self._reader = thread_of(f"{name}-reader", self._read)
        # Held while it is closed: the second caller waits for the first.
        self._closing = threading.Lock()
        self._is_closed = False
        transport.start(launch)

    def begin(self) -> None:
        """Read, and write."""
        # The reader waits for the errors in the end, so they are started first.
        for thread in (self._writer.thread, self._errors, self._reader):
            thread.start()

    def send(self, data: bytes) -> None:
        """Write whole lines, some time."""
        self._writer.run(functools.partial(self._write, data))

    def end_input(self) -> None:
        """Close its input when all that waits is written."""
        self._writer.run(self.transport.end_input)

    def close(self, timeout: float) -> None:
        """End it within *timeout* seconds, politely first; wait for that. Twice is harmless."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            try:
                self.transport.close(timeout)
            finally:
                self._writer.stop()
                for thread in (self._reader, self._errors, self._writer.thread):
                    if thread.ident and thread is not threading.current_thread():
                        thread.join(JOINING_TIME)
                self.transport.free()

    def _write(self, data: bytes) -> None:
        try:
            self.transport.write(data)
        except OSError as error:
            # One that does not listen is ended: what is said to it would be lost.
            logger.debug("a process of the bridge reads no more: %s", error)
            self.transport.kill()

    def _read(self) -> None:
        try:
            while chunk := self.transport.read():
                self._take(chunk)
        except Exception:
            logger.exception("reading from a process of the bridge failed")
        self._errors.join(EXIT_PATIENCE)
        self._ended(self.transport.wait(EXIT_PATIENCE))

    def _read_errors(self) -> None:
        while chunk := self.transport.read_error():
            self._take_error(chunk)
        self._take_error(b"")
