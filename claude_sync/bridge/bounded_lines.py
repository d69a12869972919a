"""
Lines of a front end, of which none may be longer than a bound.

No thread, no file, no clock. What a CLI says may be of any length, because it is trusted
and has to be read; a front end that never ends its line would fill the memory of all
sessions. Such a line is dropped as it comes, up to its end, and the next one is read.
"""

from __future__ import annotations

from typing import List, Optional

from ..protocol.lines import LineSplitter

__all__ = ["LONGEST_LINE", "BoundedLines"]

# In bytes. An attachment of 32 MB, the most that the API takes, is 43 MB in a message.
LONGEST_LINE = 128 * 1024 * 1024


class BoundedLines:
    """Chunks of bytes in; lines out, and None for each one that is too long."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._splitter = LineSplitter()
        # Bytes of the line that has not ended yet.
        self._size = 0
        self._is_dropping = False

    def feed(self, chunk: bytes) -> List[Optional[bytes]]:
        """What *chunk* completes; a line that is longer by less than a chunk passes, too."""
        if self._is_dropping:
            end = chunk.find(b"\n")
            if end < 0:
                return []
            self._is_dropping = False
            chunk = chunk[end + 1 :]
        lines: List[Optional[bytes]] = list(self._splitter.feed(chunk))
        last_end = chunk.rfind(b"\n")
        self._size = (self._size if last_end < 0 else 0) + len(chunk) - last_end - 1
        if self._size > self._longest:
            self._splitter = LineSplitter()
            self._size = 0
            self._is_dropping = True
            lines.append(None)
        return lines

    def end(self) -> List[Optional[bytes]]:
        """The last line, if the stream ended without finishing it."""
        return list(self._splitter.end())
