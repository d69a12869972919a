"""
What is on its way to the CLI, in order.

Nobody who sends may ever wait for the CLI to read: it may itself be waiting for us to read what
it says, and a handler that steers, a user interface that asks and a deadline that interrupts
must all go on. So sending has two steps. :meth:`Outbox.post` only appends, and may be called
under the session's lock: order on the wire is the order of what was decided under it.
:meth:`Outbox.flush` writes as far as the pipe takes it, which is all of it nearly always. A
thread that is started when it is first needed writes the rest.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..log import logger, name_this_thread

if TYPE_CHECKING:
    from .launch.transport import Transport

__all__ = ["Outbox"]

Lost = Callable[[], None]


class Outbox:
    """
    The way to one CLI.

    Args:
        transport: What the lines are written to.
        owner: The client's name, for the thread.
        on_failure: Called once, when the CLI no longer listens.

    """

    def __init__(self, transport: Transport, owner: str, on_failure: Callable[[], None]) -> None:
        self._transport = transport
        self._owner = owner
        self._on_failure = on_failure
        # Changed by deque's own atomic methods, and looked at again after each write.
        self._waiting: deque[tuple[bytes, Lost | None]] = deque()
        # Held while something is taken out and written without waiting. Set: the writer thread
        # is in a write that may wait.
        self._writing = threading.Lock()
        self._busy = False
        self._lock = threading.Lock()  # guards the start of the writer thread
        self._wanted = threading.Semaphore(0)
        self._taken: tuple[bytes, Lost | None] = (b"", None)
        self._stopped = False
        self.writer: threading.Thread | None = None
        self.lines_sent = self.bytes_sent = 0

    def post(self, data: bytes, lost: Lost | None = None) -> None:
        """Append *data*, whole lines. *lost* is called if the CLI certainly did not get it."""
        if self._stopped:
            if lost is not None:
                lost()
            return
        self._waiting.append((data, lost))
        if self._stopped:  # just now: nobody is going to look at it any more
            self._drop()

    def flush(self) -> None:
        """Write what the pipe takes now. Never waits."""
        while self._waiting:
            with self._writing:
                if self._busy:
                    return  # the writer thread goes on with what waits
                all_written = self._write_some()
            if not all_written:
                self.flush_soon()
                return

    def flush_soon(self) -> None:
        """Have it written by the writer thread: for threads that must not write."""
        with self._lock:
            if self.writer is None and not self._stopped:
                # Daemon: a program that forgets close() must still be able to exit.
                writer = threading.Thread(
                    target=self._run, name=f"{self._owner}-writer", daemon=True
                )
                writer.start()
                self.writer = writer
        self._wanted.release()

    def stop(self) -> None:
        """Write no more; what waits is dropped."""
        self._stopped = True
        self._drop()
        self._wanted.release()

    def _write_some(self) -> bool:
        """Write until nothing waits: True; or until the pipe is full. ``_writing`` is held."""
        while self._waiting and not self._stopped:
            data, lost = self._waiting.popleft()
            try:
                taken = self._transport.write_now(data)
            except OSError as error:
                self._failed(error, lost)
                return True
            self.bytes_sent += taken
            if taken < len(data):
                self._waiting.appendleft((data[taken:], lost))
                return False
            self.lines_sent += data.count(b"\n")
        return True

    def _run(self) -> None:
        name_this_thread(self._owner)
        while not self._stopped:
            self._wanted.acquire()
            while self._take():
                data, lost = self._taken
                try:
                    self._transport.write(data)
                except OSError as error:
                    self._failed(error, lost)
                else:
                    self.bytes_sent += len(data)
                    self.lines_sent += data.count(b"\n")

    def _take(self) -> bool:
        """On the writer thread: take what comes next; False if nothing waits."""
        with self._writing:
            self._busy = bool(self._waiting) and not self._stopped
            if self._busy:
                self._taken = self._waiting.popleft()
            return self._busy

    def _failed(self, error: OSError, lost: Lost | None) -> None:
        logger.debug("writing to the CLI failed: %s", error)
        if lost is not None:
            lost()
        if not self._stopped:
            self.stop()
            self._on_failure()

    def _drop(self) -> None:
        while self._waiting:
            try:
                _, lost = self._waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            if lost is not None:
                lost()
