"""
The pipes of the backend: reading and writing that can be ended from outside, and bounded lines.

A thread that waits inside ``read`` or ``write`` comes back only when the other side does
something. A front end that neither reads nor leaves never does. So each waits in a poll,
together with a pipe of our own that wakes both up; where there is no poll (Windows),
they wait as they are, on daemon threads.

What a CLI says may be of any length, because it is trusted and has to be read; a front end
that never ends its line would fill the memory of all sessions. Such a line is dropped as it
comes, up to its end, and the next one is read.
"""

from __future__ import annotations

import os
from typing import Any

from ..engine.launch.process import WINDOWS, Waker
from ..protocol.lines import LineSplitter

__all__ = ["LONGEST_LINE", "BoundedLines", "Descriptors"]

# What a pipe of Linux holds; more would cost memory of the system with each read.
ONE_READ = 64 * 1024
# What a pipe that has room at all takes without waiting.
ONE_WRITE = 4096
# In bytes. An attachment of 32 MB, the most that the API takes, is 43 MB in a message.
LONGEST_LINE = 128 * 1024 * 1024


class Descriptors:
    """
    A pair of descriptors, which stay the caller's: they are not closed here, nor changed.

    One thread reads and one writes; :meth:`stop` may be called by any.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._waker = Waker()
        self._is_stopped = False

    def read(self) -> bytes:
        """The next bytes; b"" at the end, and when it is stopped."""
        if not self._is_ready(self._source, "POLLIN"):
            return b""
        return os.read(self._source, ONE_READ)

    def write(self, data: bytes) -> None:
        """
        Write all of *data*.

        Raises:
            OSError: Nobody reads, or it was stopped.

        """
        view = memoryview(data)
        while view:
            if not self._is_ready(self._sink, "POLLOUT"):
                raise BrokenPipeError("the front end did not read in time")
            portion = view if WINDOWS else view[:ONE_WRITE]
            view = view[os.write(self._sink, portion) :]

    def stop(self) -> None:
        """End what waits, and what will be called."""
        self._is_stopped = True
        self._waker.wake()

    def close(self) -> None:
        """Let go of the pipe of our own; when nobody reads or writes any more."""
        self._waker.close()

    def _is_ready(self, descriptor: int, event: str) -> bool:
        """Wait until something can be done; False if it was stopped."""
        if not WINDOWS:
            import select

            poll: Any = select.poll()
            poll.register(descriptor, getattr(select, event))
            poll.register(self._waker.receiver, select.POLLIN)
            poll.poll()
        return not self._is_stopped


class BoundedLines:
    """Chunks of bytes in; lines out, and None for each one that is too long."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._splitter = LineSplitter()
        # Bytes of the line that has not ended yet.
        self._size = 0
        self._is_dropping = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """What *chunk* completes; a line that is longer by less than a chunk passes, too."""
        if self._is_dropping:
            end = chunk.find(b"\n")
            if end < 0:
                return []
            self._is_dropping = False
            chunk = chunk[end + 1 :]
        lines: list[bytes | None] = list(self._splitter.feed(chunk))
        last_end = chunk.rfind(b"\n")
        self._size = (self._size if last_end < 0 else 0) + len(chunk) - last_end - 1
        if self._size > self._longest:
            self._splitter = LineSplitter()
            self._size = 0
            self._is_dropping = True
            lines.append(None)
        return lines

    def end(self) -> list[bytes | None]:
        """The last line, if the stream ended without finishing it."""
        return list(self._splitter.end())
