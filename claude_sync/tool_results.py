"""
From what a tool returned to what Claude gets: the result of an MCP call.

Texts go as they are, everything else as JSON text; an object also as structured
content. Values JSON has no form for are an error that says which, except numbers
that are none (NaN and the infinities), which become texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Dict, List, Optional

from .images import Image

__all__ = ["Image", "NoJsonForm", "enum_values", "error_result", "plain_value", "result_of"]

# What a function that returns nothing has to say. An empty text would be refused further on.
NOTHING_RETURNED = "Done."
BLANK_RETURNED = "(empty text)"

# The line to the CLI has a limit too; this leaves room for what is around the result.
DEEPEST = 150

# The keys and the blocks of a result that is written in the form of MCP itself.
RESULT_KEYS = frozenset({"content", "isError", "is_error", "structuredContent", "_meta"})
BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})


class NoJsonForm(Exception):
    """A value cannot be told to Claude; the text says which and why."""


def result_of(value: Any) -> Dict[str, Any]:
    """
    The MCP result that tells Claude *value*.

    Raises:
        NoJsonForm: Something in it has no JSON form.

    """
    if isinstance(value, Image):
        return success([value.block()])
    if isinstance(value, (list, tuple)) and any(isinstance(each, Image) for each in value):
        return success([block_of(each) for each in value])
    if is_mcp_result(value):
        return passed_through(value)
    if value is None:
        return success([text_block(NOTHING_RETURNED)])
    plain = plain_value(value)
    result = success([text_block(text_of(plain))])
    if isinstance(plain, dict):
        result["structuredContent"] = plain
    return result


def error_result(text: str) -> Dict[str, Any]:
    """The MCP result of a call that failed."""
    return {"content": [text_block(text)], "isError": True}


def success(content: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The MCP result with *content*."""
    return {"content": content, "isError": False}


def is_mcp_result(value: Any) -> bool:
    """Whether the program wrote the result in the form of MCP itself."""
    if not isinstance(value, dict) or not RESULT_KEYS.issuperset(value):
        return False
    content = value.get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") in BLOCK_TYPES for block in content
    )


def passed_through(value: Mapping[str, Any]) -> Dict[str, Any]:
    """A result in the form of MCP, as it is, once it is known to have a JSON form."""
    plain: Dict[str, Any] = plain_value(value)
    # Other libraries spell it like this.
    is_error = bool(plain.pop("is_error", False))
    plain["isError"] = bool(plain.get("isError", is_error))
    return plain


def block_of(value: Any) -> Dict[str, Any]:
    """One of several values as a content block."""
    return value.block() if isinstance(value, Image) else text_block(text_of(plain_value(value)))


def text_block(text: str) -> Dict[str, Any]:
    """A text as a content block."""
    return {"type": "text", "text": text if text.strip() else BLANK_RETURNED}


def text_of(plain: Any) -> str:
    """A plain value as the text Claude reads."""
    if isinstance(plain, str):
        return plain
    import json

    try:
        return json.dumps(plain, ensure_ascii=False)
    except ValueError as error:  # an integer beyond Python's limit on digits
        raise NoJsonForm(str(error)) from None


def plain_value(value: Any, strict: bool = False) -> Any:
    """
    *value*, made of dicts with text keys, lists, texts, numbers, bools and None only.

    With *strict*, numbers that JSON lacks and keys that are not texts are refused
    rather than turned into texts.
    """
    return plainly(value, strict, 0)


def plainly(value: Any, strict: bool, depth: int) -> Any:
    """What :func:`plain_value` does, *depth* levels inside."""
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if isinstance(value, float):
        return plain_number(value, strict)
    if depth > DEEPEST:
        raise NoJsonForm("it is nested too deeply, or contains itself")
    inside = depth + 1
    if isinstance(value, Mapping):
        return plain_object(value, strict, inside)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plainly(getattr(value, name), strict, inside) for name in value._fields}
    if isinstance(value, (list, tuple)):
        return [plainly(item, strict, inside) for item in value]
    if isinstance(value, (set, frozenset)):
        # In an order that does not change from one run to the next.
        return sorted((plainly(item, strict, inside) for item in value), key=repr)
    fields = dataclass_fields(value)
    if fields is not None:
        return {name: plainly(getattr(value, name), strict, inside) for name in fields}
    return plain_scalar(value, strict)


def plain_object(value: Mapping[Any, Any], strict: bool, depth: int) -> Dict[str, Any]:
    """A mapping with text keys."""
    plain: Dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else plainly(key, strict, depth)
        if not isinstance(name, str):
            if strict or not isinstance(name, (int, float, bool, type(None))):
                raise NoJsonForm(f"{key!r} cannot be a key of an object")
            name = text_of(name)
        if name in plain:
            raise NoJsonForm(f"two keys of an object are the same in JSON: {name!r}")
        plain[name] = plainly(item, strict, depth)
    return plain


def plain_scalar(value: Any, strict: bool) -> Any:
    """A value of one of the many types that are written as a text or number."""
    import datetime
    import decimal
    import enum
    import numbers
    import os
    import uuid

    if isinstance(value, enum.Enum):
        known = enum_values(type(value))
        return known[value.name] if value.name in known else plainly(value.value, strict, 0)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return plain_number(float(value), strict)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise NoJsonForm(f"{type(value).__name__} has no JSON form. {advice_for(value)}")


def plain_number(value: float, strict: bool) -> Any:
    """A float; those that JSON lacks become texts."""
    if value - value == 0.0:
        return float(value)
    if strict:
        raise NoJsonForm(f"JSON has no number {value!r}")
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def advice_for(value: Any) -> str:
    """What a program could return instead of *value*."""
    import inspect

    from .pictures import is_picture

    if inspect.iscoroutine(value):
        value.close()  # nobody will ever wait for it
        return "Make the function a plain one: 'def' instead of 'async def'."
    if inspect.isgenerator(value):
        return "Return list(...) of it."
    if isinstance(value, Image):
        return "Return it alone, or in a list with texts, not deeper inside."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "Return text, or claude_sync.Image(...) for an image."
    if is_picture(value):
        return "Return claude_sync.Image.open(...) of it."
    return "Return texts, numbers, lists, dicts, dataclasses or images."


def dataclass_fields(value: Any) -> Optional[List[str]]:
    """The names of the fields of a dataclass instance; None for everything else."""
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is None:
        return None
    import dataclasses

    return [field.name for field in dataclasses.fields(value)]


def enum_values(enum_class: Any) -> Dict[str, Any]:
    """What stands for each member in JSON: its value, or its name if any value has no such form."""
    import enum

    members = list(enum_class)
    by_value = not issubclass(enum_class, enum.Flag) and all(
        member.value is None
        or isinstance(member.value, (str, int))
        or (isinstance(member.value, float) and member.value - member.value == 0.0)
        for member in members
    )
    return {member.name: member.value if by_value else member.name for member in members}
