"""
Threads that listen to a process which is not a CLI: its lines, and what it tells people.

Closing the pipe is what stops them; there is no flag to poll. What is done with a line is
decided elsewhere, and must not wait.
"""

from __future__ import annotations

import threading
from typing import Callable

from ..log import logger
from ..protocol.lines import LineSplitter

__all__ = ["Listener"]


class Listener(threading.Thread):
    """
    Read until the end; hand over each line, and then say that it is over, once.

    Args:
        read: Waits for more bytes; b"" at the end.
        hear: Takes a line.
        end: Called at the end, whatever happened.

    """

    def __init__(
        self,
        name: str,
        read: Callable[[], bytes],
        hear: Callable[[bytes], None],
        end: Callable[[], None] = lambda: None,
    ) -> None:
        # Daemon: a program that forgets to close must still be able to exit.
        super().__init__(name=name, daemon=True)
        self._read = read
        self._hear = hear
        self._end = end

    def run(self) -> None:
        """See the class."""
        splitter = LineSplitter()
        try:
            while True:
                chunk = self._read()
                for line in splitter.feed(chunk) if chunk else splitter.end():
                    self._hear_safely(line)
                if not chunk:
                    return
        except Exception:
            logger.exception("reading failed")
        finally:
            self._end()

    def _hear_safely(self, line: bytes) -> None:
        try:
            self._hear(line)
        except Exception:
            # A line that nobody foresaw must not end the conversations of others.
            logger.exception("a line could not be handled")
