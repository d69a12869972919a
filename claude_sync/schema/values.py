"""What values of Python are in JSON."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import math
import numbers
import os
import uuid
from collections.abc import Mapping
from typing import Any

from ..support.files import is_table
from ..support.images import Image

# The CLI's line may be nested to some depth only; this leaves room for what is around a value.
DEEPEST = 150


class NoJsonForm(Exception):
    """A value has no form in JSON; the text says which value, and what to do."""


def plain_value(value: Any, depth: int = 0) -> Any:
    """
    Make *value* of dicts with text keys, lists, texts, numbers, bools and None only.

    NaN, the infinities and keys that are not texts become texts.

    Raises:
        NoJsonForm: Something in *value* has no form in JSON.

    """
    if value is None or type(value) in (str, int, bool):
        return value
    if depth > DEEPEST:
        raise NoJsonForm("it is nested too deeply, or contains itself")

    def inner(each: Any) -> Any:
        return plain_value(each, depth + 1)

    if isinstance(value, enum.Enum):
        known = enum_values(type(value))
        return known[value.name] if value.name in known else inner(value.value)
    if isinstance(value, Mapping):
        return {as_text(inner(key)): inner(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: inner(getattr(value, name)) for name in value._fields}
    if isinstance(value, (list, tuple)):
        return [inner(each) for each in value]
    if isinstance(value, (set, frozenset)):
        # In an order that does not change from one run to the next.
        return sorted((inner(each) for each in value), key=repr)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Image)):
        return {each.name: inner(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if hasattr(type(value), "model_dump"):  # a Pydantic model
        return inner(value.model_dump(mode="json"))
    return plain_scalar(value)


def plain_scalar(value: Any) -> Any:
    """The text or number for a value of one of many small types."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isfinite(number):
            return number
        return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, (datetime.date, datetime.time, decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    advice = "Return texts, numbers, lists, dicts, dataclasses or images."
    if inspect.iscoroutine(value):
        value.close()  # Python warns of coroutines that nothing waited for
        advice = "Make the function a plain one: 'def' instead of 'async def'."
    elif isinstance(value, (bytes, bytearray, memoryview, Image)):
        advice = "Return text, or claude_sync.Image(...), alone or in a list."
    elif is_table(value):
        advice = "Return table.to_csv()."
    elif hasattr(value, "tolist"):  # an array of numpy
        advice = "Return array.tolist()."
    raise NoJsonForm(f"{type(value).__name__} has no JSON form. {advice}")


def as_text(plain: Any) -> str:
    """A plain value as the text that Claude reads: texts as they are, the rest as JSON."""
    if isinstance(plain, str):
        return plain
    try:
        return json.dumps(plain, ensure_ascii=False)
    except ValueError as error:  # an integer with more digits than Python writes
        raise NoJsonForm(str(error)) from None


def enum_values(enum_class: Any) -> dict[str, Any]:
    """What stands for each member in JSON: its value, or its name if one value has no such form."""
    members = list(enum_class)
    by_value = not issubclass(enum_class, enum.Flag) and all(
        isinstance(each.value, (str, int, type(None)))
        or (isinstance(each.value, float) and math.isfinite(each.value))
        for each in members
    )
    return {each.name: each.value if by_value else each.name for each in members}


def identity(value: Any) -> Any:
    """Something hashable that is equal for values that are equal in JSON."""
    if isinstance(value, list):
        return ("list", tuple(map(identity, value)))
    if isinstance(value, dict):
        return ("dict", frozenset((key, identity(each)) for key, each in value.items()))
    # In Python True equals 1, in JSON it does not.
    return (isinstance(value, bool), value)
