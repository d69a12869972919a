"""
Turn a line of the CLI into a JSON object, and an object of ours into a line.

Second station of the pipeline::

    process -> lines -> [codec] -> parsing -> dispatch -> handlers -> turn

Decisions taken here and nowhere else:

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

__all__ = ["decode", "encode", "encode_question"]

# Far below what the encoder and the stack can take; also ends values that hold themselves.
DEEPEST = 200

# From about so many bytes on, the standard library's parser is faster.
LONG = 64 * 1024

# How many characters of a value an error text shows.
SHOWN = 60


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
