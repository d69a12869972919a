r"""
Cut the byte stream of the CLI into complete lines.

First station of the pipeline::

    process -> [lines] -> codec -> parsing -> dispatch -> handlers -> turn

A :class:`LineSplitter` is fed whatever a ``read()`` returned and hands back
whole lines. It starts no thread, opens no file and reads no clock, so each of
its tests is a plain function call.

Four facts about the stream are decided here and nowhere else:

* a line ends at ``\n`` and only there: JSON text may hold U+2028, U+0085 and
  other characters at which ``str.splitlines`` would cut;
* one ``\r`` before the ``\n`` is dropped (Windows builds), and so is a
  byte-order mark at the very start;
* blank lines are skipped;
* a line may be of any length: a tool result can hold a whole file.

Each byte is looked at once, however the stream is chunked: a line of 64 MiB
arrives in a thousand reads, and its pieces are joined once. Short lines, the
common case of many in one read, cost no Python step each.
"""

from __future__ import annotations

from typing import List

__all__ = ["LineSplitter"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Every byte of a blank line sorts before this one; "{", which opens a message, after it.
FIRST_VISIBLE = b"!"


class LineSplitter:
    """Turn chunks of bytes into lines; keep the unfinished last line until it is complete."""

    def __init__(self) -> None:
        self._pieces: List[bytes] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> List[bytes]:
        """The lines that *chunk* completes, without their line ends."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._pieces:
                self._pieces.append(lines[0])
                lines[0] = self._joined()
            if self._at_start:
                self._at_start = False
                lines[0] = without_mark(lines[0])
            if b"\r" in chunk:
                lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
            elif lines[0].endswith(b"\r"):  # came with an earlier chunk
                lines[0] = lines[0][:-1]
            # One comparison in C for all lines; they are looked at only if one can be blank.
            if min(lines) < FIRST_VISIBLE:
                lines = [line for line in lines if line and not line.isspace()]
        if rest:
            self._pieces.append(rest)
        return lines

    def end(self) -> List[bytes]:
        """The last line if the stream ended without finishing it; otherwise nothing."""
        line = self._joined()
        if self._at_start:
            line = without_mark(line)
        if line.endswith(b"\r"):
            line = line[:-1]
        return [line] if line and not line.isspace() else []

    def _joined(self) -> bytes:
        """The pieces kept so far as one line; they are kept no longer."""
        line = b"".join(self._pieces)
        self._pieces.clear()
        return line


def without_mark(line: bytes) -> bytes:
    """*line* without the byte-order mark some Windows tools put before the first one."""
    return line[len(BYTE_ORDER_MARK) :] if line.startswith(BYTE_ORDER_MARK) else line
