"""
The lines that arrive on the stand-in's stdin, with a limit on how long to wait.

On POSIX the one thread of the program waits for the pipe itself: a second thread
inside ``read()`` would keep the pipe open after ``close()``. Windows cannot wait for
a pipe, so there a thread reads it.
"""

from __future__ import annotations

import collections
import os
import time

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Deque, List, Optional, Union

__all__ = ["LineReader"]

PORTION = 1 << 16


class LineReader:
    """
    Whole lines from a descriptor.

    Each byte is looked at once, however the input is cut: an attachment is one line
    of many megabytes.
    """

    def __init__(self, descriptor: int) -> None:
        self._source: Union[PipeSource, ThreadedSource]
        self._source = ThreadedSource(descriptor) if os.name == "nt" else PipeSource(descriptor)
        self._lines: Deque[bytes] = collections.deque()
        self._begun: List[bytes] = []
        self._ended = False

    def next(self, patience: Optional[float]) -> Optional[bytes]:
        """The next line that is not blank; b"" at the end; None if *patience* ran out."""
        deadline = None if patience is None else time.monotonic() + patience
        while True:
            while self._lines:
                line = self._lines.popleft().strip()
                if line:
                    return line
            if self._ended:
                return b""
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            data = self._source.read(left)
            if data is None:
                return None
            self._feed(data)

    def close(self) -> None:
        """Read no more; the writer's next write breaks."""
        self._ended = True
        self._source.close()

    def _feed(self, data: bytes) -> None:
        if not data:
            self._ended = True
            self._lines.append(b"".join(self._begun))
            return
        first, *others = data.split(b"\n")
        self._begun.append(first)
        if others:
            self._lines.append(b"".join(self._begun))
            self._lines.extend(others[:-1])
            self._begun = others[-1:]


class PipeSource:
    """Portions of a pipe that the system can wait for."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self, patience: Optional[float]) -> Optional[bytes]:
        """What has arrived; b"" at the end; None if *patience* seconds brought nothing."""
        if patience is not None:
            import select

            if not select.select([self._descriptor], [], [], patience)[0]:
                return None
        return os.read(self._descriptor, PORTION)

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._descriptor)


class ThreadedSource:
    """The same where the system cannot wait for a pipe."""

    def __init__(self, descriptor: int) -> None:
        import queue
        import threading

        self._descriptor = descriptor
        self._portions: queue.Queue[bytes] = queue.Queue()
        # A daemon: nothing else could end it, for it waits for the client.
        threading.Thread(target=self._carry, name="stand-in-input", daemon=True).start()

    def read(self, patience: Optional[float]) -> Optional[bytes]:
        """As :meth:`PipeSource.read`."""
        import queue

        try:
            return self._portions.get(patience is None or patience > 0, patience)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Close the pipe, as far as the thread that reads it allows."""
        os.close(self._descriptor)

    def _carry(self) -> None:
        data = b"..."
        while data:
            try:
                data = os.read(self._descriptor, PORTION)
            except OSError:
                data = b""
            self._portions.put(data)
