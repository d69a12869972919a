"""
Read the files of conversations, whatever state they are in.

Each line is a JSON object. A CLI may be writing the file right now, or was killed
while it did; a disk may have been full. So what is no JSON object is left out,
and a line without an end is only taken if it is complete. Lines have no greatest length:
one picture makes megabytes.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO, Dict, Iterator, Mapping, Optional

from .errors import UsageError
from .log import logger
from .protocol.codec import decode

Line = Dict[str, Any]

# Where to look for how a conversation began: so far, but a line that was begun is finished.
OPENING = 512 * 1024
# No prompt is that long; a file without line ends might be.
LONGEST_OPENING_LINE = 16 * 1024 * 1024


def opening_lines(file: BinaryIO) -> Iterator[Line]:
    """The JSON objects at the beginning of a file."""
    taken = 0
    while taken < OPENING:
        line = file.readline(LONGEST_OPENING_LINE)
        if not line:
            return
        taken += len(line)
        found = decode(line)
        if found is not None:
            yield found


def last_bytes(file: BinaryIO, size: int, wanted: int) -> bytes:
    """The end of a file: *wanted* bytes, or all there are."""
    file.seek(max(0, size - wanted))
    return file.read(wanted)


def last_line_of_type(data: bytes, kind: str) -> Optional[Line]:
    """The last JSON object in *data* whose type is *kind*, found without reading the others."""
    # Inside of a text the closing quote would be escaped, so only keys and values are found.
    needle = b'"%b"' % kind.encode()
    if needle not in data:  # which is the rule, and found out faster than by rfind()
        return None
    end = len(data)
    while True:
        place = data.rfind(needle, 0, end)
        if place < 0:
            return None
        begin = data.rfind(b"\n", 0, place) + 1
        stop = data.find(b"\n", place)
        found = decode(data[begin:] if stop < 0 else data[begin:stop])
        if found is not None and found.get("type") == kind:
            return found
        end = begin


def read_lines(path: Path, containing: bytes = b"") -> Iterator[Line]:
    """
    The JSON objects of a file, in order; those without the bytes *containing* are passed over.

    Raises:
        UsageError: The file cannot be read; the text says why.

    """
    damaged = 0
    try:
        with path.open("rb") as file:
            for line in file:
                if containing not in line:
                    continue
                found = decode(line)
                if found is not None:
                    yield found
                elif line.endswith(b"\n") and line.strip():
                    damaged += 1
    except OSError as exc:
        raise UsageError(
            f"the session file {os.fspath(path)} cannot be read: {exc}. "
            "Check that it exists and that this user may read it."
        ) from exc
    if damaged:
        logger.warning("%s: %d damaged lines were left out", path, damaged)


def text_at(line: Mapping[str, Any], key: str) -> Optional[str]:
    """A text of a line, or None."""
    value = line.get(key)
    return value if isinstance(value, str) and value else None


def whole_letters(text: str) -> str:
    """*text* with a replacement for halves of letters, which cannot be printed or sent."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def time_at(line: Mapping[str, Any], key: str = "timestamp") -> Optional[datetime]:
    """A time of a line, or None."""
    text = text_at(line, key)
    if text is None:
        return None
    try:
        # Before 3.11 the letter for UTC is not understood.
        found = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
