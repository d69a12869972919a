"""
What is on its way to the CLI: written at once, or by a thread if the pipe is full.

Nobody who sends may ever wait for the CLI to read: it may itself be waiting for us
to read what it says, and a handler that steers, a user interface that asks and a
deadline that interrupts must all go on. So a line is written directly as far as
the pipe takes it, which is all of it nearly always; the rest is left to a thread
that is started when it is first needed. Order is kept.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Callable, Deque, Optional

from ..log import logger, name_this_thread

if TYPE_CHECKING:
    from ..engine.launch.transport import Transport
    from .traffic import Traffic

__all__ = ["Outgoing"]


class Outgoing:
    """The way to one CLI; *on_failure* is told once that it no longer listens."""

    def __init__(
        self,
        transport: Transport,
        owner: str,
        on_failure: Callable[[], None],
        traffic: Optional[Traffic] = None,
    ) -> None:
        self._transport = transport
        self._traffic = traffic
        self._owner = owner
        self._on_failure = on_failure
        # Guards everything below; never held while something blocks.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting: Deque[bytes] = deque()
        self._is_writing = False
        self._stopped = False
        self.thread: Optional[threading.Thread] = None

    def write(self, data: bytes) -> bool:
        """
        Send *data*, which is whole lines. Returns at once.

        False: the CLI listens no more, and has certainly not got the last line of it.
        """
        with self._lock:
            if self._stopped:
                return False
            if self._traffic is not None:
                self._traffic.sent(data)
            if not self._waiting and not self._is_writing:
                try:
                    taken = self._transport.write_now(data)
                except OSError as error:
                    self._failed(error)
                    return False
                if taken == len(data):
                    return True
                data = data[taken:]
            self._waiting.append(data)
            if self.thread is None:
                # Daemon: a program that forgets close() must still be able to exit.
                self.thread = threading.Thread(
                    target=self._run, name=f"{self._owner}-writer", daemon=True
                )
                self.thread.start()
            self._changed.notify()
            return True

    def stop(self) -> None:
        """Write no more; what waits is dropped."""
        with self._lock:
            self._stopped = True
            self._waiting.clear()
            self._changed.notify()

    def _run(self) -> None:
        name_this_thread(self._owner)
        while True:
            with self._lock:
                self._is_writing = False
                self._changed.wait_for(lambda: self._waiting or self._stopped)
                if self._stopped:
                    return
                data = self._waiting.popleft()
                self._is_writing = True
            try:
                self._transport.write(data)
            except OSError as error:
                with self._lock:
                    self._failed(error)
                return

    def _failed(self, error: OSError) -> None:
        logger.debug("writing to the CLI failed: %s", error)
        if not self._stopped:
            self._stopped = True
            self._waiting.clear()
            self._on_failure()
