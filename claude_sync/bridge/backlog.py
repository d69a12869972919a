"""
What has come for a session and was not read yet: nothing is lost, and nobody waits.

All sessions of a backend come through one pipe. If one of them is slow (its handlers
wait for a person, or for a disk), the pipe must be read on all the same, for the others.
So what comes for it is kept: in memory up to a bound, and beyond that in a temporary file,
which is gone when it has been read.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import IO, Deque, Optional

__all__ = ["Backlog"]

# Bytes that wait in memory. The client's own queue holds some more.
IN_MEMORY = 4 * 1024 * 1024
ONE_READ = 256 * 1024


class Backlog:
    """Bytes in, bytes out, in order. Any thread may put; one takes."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._bound = in_memory
        # Guards everything below; notified of every change.
        self._changed = threading.Condition(threading.Lock())
        self._waiting: Deque[bytes] = deque()
        self._size = 0
        # What is newer than all that waits in memory; and how much of it was read.
        self._file: Optional[IO[bytes]] = None
        self._read_up_to = 0
        self._ended = False

    def put(self, data: bytes) -> None:
        """Add *data*; after the end, nobody wants it."""
        with self._changed:
            if self._ended or not data:
                return
            has_room = not self._waiting or self._size + len(data) <= self._bound
            if self._file is None and has_room:
                self._waiting.append(data)
                self._size += len(data)
            else:
                self._put_into_file_locked(data)
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing more comes: what waits can be taken, then :meth:`take` returns b""."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self) -> bytes:
        """Wait for what is next; b"" at the end."""
        with self._changed:
            while not self._waiting:
                if self._file is not None:
                    return self._take_from_file_locked()
                if self._ended:
                    return b""
                self._changed.wait()
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            return data

    def free(self) -> None:
        """Let go of the file, if there is one."""
        with self._changed:
            self._ended = True
            self._waiting.clear()
            self._drop_file_locked()
            self._changed.notify_all()

    @property
    def is_on_disk(self) -> bool:
        """Whether something waits in a file."""
        with self._changed:
            return self._file is not None

    def _put_into_file_locked(self, data: bytes) -> None:
        if self._file is None:
            import tempfile

            self._file = tempfile.TemporaryFile(prefix="claude-sync-")  # noqa: SIM115
            self._read_up_to = 0
        self._file.seek(0, 2)
        self._file.write(data)

    def _take_from_file_locked(self) -> bytes:
        assert self._file is not None
        self._file.seek(self._read_up_to)
        data = self._file.read(ONE_READ)
        self._read_up_to += len(data)
        if not self._file.read(1):
            self._drop_file_locked()
        return data

    def _drop_file_locked(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
