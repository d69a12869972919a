r"""
Turn the bytes of the CLI into lines, a line into a JSON object, and an object of ours into a line.

::

    process -> [codec] -> messages -> dispatch -> handlers -> turn

A :class:`LineSplitter` is fed whatever a ``read()`` returned and hands back whole lines. Decisions
taken here and nowhere else:

* a line ends at ``\n`` and only there: JSON text may hold U+2028, U+0085 and other characters at
  which ``str.splitlines`` would cut; one ``\r`` before it is dropped (Windows builds), and so is a
  byte-order mark at the very start; blank lines are skipped;
* a line may be of any length, as a tool result can hold a whole file. Each byte is looked at once,
  however the stream is chunked: a line of 64 MiB arrives in a thousand reads, and its pieces are
  joined once. Short lines, of which there are many in one read, cost no Python step each;
* reading forgives: what is not a JSON object is *noise*, for which
  :func:`decode` returns None; bytes that are not UTF-8 are replaced, and what
  the fast parser refuses (very deep nesting, NUL bytes) the standard
  library's parser gets to see;
* long lines go to that one at once: they are long because of a long text, for
  which it is the faster one and takes half the memory;
* writing does not: one wrong line on its stdin ends the CLI, so
  :func:`encode` names the value that has no JSON form instead of guessing one;
* what is written is ASCII on exactly one line; a lone surrogate, as found in
  the name of an undecodable file, travels as its escape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, Optional, Union

import ujson

from ..errors import UsageError

__all__ = ["LineSplitter", "decode", "encode", "encode_question"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Every byte of a blank line sorts before this one; "{", which opens a message, after it.
FIRST_VISIBLE = b"!"

# Far below what the encoder and the stack can take; also ends values that hold themselves.
DEEPEST = 200

# From about so many bytes on, the standard library's parser is faster.
LONG = 64 * 1024

# How many characters of a value an error text shows.
SHOWN = 60


class LineSplitter:
    """Turn chunks of bytes into lines; keep the unfinished last line until it is complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes]:
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

    def end(self) -> list[bytes]:
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


def decode(line: bytes) -> Optional[Dict[str, Any]]:
    """The JSON object in *line*, or None if it holds anything else."""
    try:
        value = ujson.loads(line) if len(line) < LONG else decode_carefully(line)
    except ValueError:
        value = decode_carefully(line)
    return value if type(value) is dict else None


def decode_carefully(line: bytes) -> Any:
    """What the standard library makes of *line*; None if that is nothing."""
    # Imported here because most programs never come here.
    import json

    try:
        return json.loads(line.decode("utf-8", "replace"), strict=False, parse_int=integer)
    except (ValueError, RecursionError):
        return None


def integer(digits: str) -> Union[int, float]:
    """An integer of any length; beyond Python's limit on digits, infinity."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def encode(message: Mapping[str, Any]) -> bytes:
    """
    *message* as one line of JSON, with its line end.

    Raises:
        UsageError: A value in it has no JSON form; the text says which and where.

    """
    if not isinstance(message, (dict, Mapping)):
        raise unsendable(message, "the message", "a message is a dict")
    plain = plain_value(message, "", 0)
    try:
        text = ujson.dumps(plain, ensure_ascii=True, escape_forward_slashes=False)
    except ValueError as error:  # an integer beyond Python's limit on digits
        raise UsageError(f"this cannot be sent to the CLI: {error}. Send it as text.") from None
    return text.encode("ascii") + b"\n"


def encode_question(message: Mapping[str, Any], uuid: str) -> bytes:
    """A user message with its uuid, as a line. Quick for a plain text, as most are."""
    content = message["message"]["content"]
    if type(content) is not str or len(message) != FIELDS:
        return encode({**message, "uuid": uuid})
    text = ujson.dumps(content, ensure_ascii=True, escape_forward_slashes=False)
    return (BEFORE_UUID + uuid + BEFORE_CONTENT + text + AFTER_CONTENT).encode("ascii")


# The parts of such a line, and how many fields its message has; must say the same as
# user_message() in prompts/__init__.py.
BEFORE_UUID = '{"type":"user","uuid":"'
BEFORE_CONTENT = '","message":{"role":"user","content":'
FIELDS = 4
AFTER_CONTENT = '},"parent_tool_use_id":null,"session_id":""}\n'


def plain_value(value: Any, where: str, depth: int) -> Any:
    """*value* made of dicts, lists and scalars only; *where* is its place in the message."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        if value - value != 0.0:  # true of nan and the infinities only
            raise unsendable(value, where, "JSON has no such number")
        return value
    if depth >= DEEPEST:
        raise unsendable(type(value), where, "it is nested too deeply, or holds itself")
    if isinstance(value, (dict, Mapping)):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise unsendable(key, where or "the message", "keys must be str")
            copy[key] = plain_value(item, f"{where}.{key}" if where else key, depth + 1)
        return copy
    if isinstance(value, (list, tuple)):
        return [
            plain_value(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)
        ]
    raise unsendable(value, where, f"{type(value).__name__} has no JSON form")


def unsendable(value: object, where: str, reason: str) -> UsageError:
    """The error for *value* at *where*."""
    if len(where) > SHOWN:
        where = where[: SHOWN - 3] + "..."
    shown = repr(value)
    if len(shown) > SHOWN:
        shown = shown[: SHOWN - 3] + "..."
    return UsageError(
        f"this cannot be sent to the CLI: {shown} in {where}: {reason}. "
        "Use str, int, float, bool, None, and lists and dicts of them."
    )
