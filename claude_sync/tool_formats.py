"""
Arguments of tools that are written as text and mean something else: dates, paths, bytes.

What is read does not depend on the version of Python, whose own readers accept
more from release to release.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Dict, Mapping

from .tool_shapes import Formatted, Shape

__all__ = ["formatted_shapes"]

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})?"
DECIMAL = r"^[+-]?[0-9]+(\.[0-9]+)?$"


@functools.cache
def formatted_shapes() -> Mapping[Any, Shape]:
    """The shape of each type that is written as text."""
    import base64
    import datetime
    import decimal
    import pathlib
    import uuid

    path = Formatted({"format": "path"}, "a path", pathlib.Path)
    shapes: Dict[Any, Shape] = {
        datetime.datetime: Formatted(
            {"format": "date-time"},
            'a date and time such as "2026-03-01T14:30:00Z"',
            lambda text: datetime.datetime.fromisoformat(iso(f"{DATE}[Tt ]{TIME}", text)),
        ),
        datetime.date: Formatted(
            {"format": "date"},
            'a date such as "2026-03-01"',
            lambda text: datetime.date.fromisoformat(iso(DATE, text)),
        ),
        datetime.time: Formatted(
            {"format": "time"},
            'a time such as "14:30:00"',
            lambda text: datetime.time.fromisoformat(iso(TIME, text)),
        ),
        uuid.UUID: Formatted({"format": "uuid"}, "a UUID", uuid.UUID),
        decimal.Decimal: Formatted(
            {"pattern": DECIMAL},
            'a decimal number as a string, such as "12.50"',
            lambda text: decimal.Decimal(matching(DECIMAL, text)),
        ),
        bytes: Formatted(
            {"contentEncoding": "base64"},
            "bytes in base64",
            lambda text: base64.b64decode(text.encode("ascii"), validate=True),
        ),
        pathlib.Path: path,
        pathlib.PurePath: path,
    }
    return shapes


def matching(pattern: str, text: str) -> str:
    """*text*, if the schema's *pattern* is in it."""
    if not re.search(pattern, text):
        raise ValueError(text)
    return text


def iso(pattern: str, text: str) -> str:
    """*text* in the one spelling that every version of Python reads."""
    if not re.fullmatch(pattern, text):
        raise ValueError(text)
    text = re.sub(r"[Zz]$", "+00:00", text)
    # Exactly six digits after the point.
    return re.sub(r"\.([0-9]+)", lambda found: "." + found.group(1)[:6].ljust(6, "0"), text)
