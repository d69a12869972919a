"""Count what goes through a client's pipes, over all lives of its CLI."""

from __future__ import annotations

import threading

__all__ = ["Traffic"]


class Traffic:
    """
    The counts of one client; by the read and by the write, not by the message.

    Attributes:
        starts: How often a CLI was started.
        lines_received, bytes_received: What the CLI has written.
        lines_sent, bytes_sent: What was written to it.

    """

    def __init__(self) -> None:
        # The readers of a CLI and of its successor may count at the same time.
        self._lock = threading.Lock()
        self.starts = 0
        self.lines_received = self.bytes_received = 0
        self.lines_sent = self.bytes_sent = 0

    def started(self) -> None:
        """Count a start of the CLI."""
        with self._lock:
            self.starts += 1

    def received(self, size: int, lines: int) -> None:
        """Count a read."""
        with self._lock:
            self.bytes_received += size
            self.lines_received += lines

    def sent(self, data: bytes) -> None:
        """Count a write."""
        with self._lock:
            self.bytes_sent += len(data)
            self.lines_sent += data.count(b"\n")
