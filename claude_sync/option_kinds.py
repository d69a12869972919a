"""
The kinds of values settings have: flags, texts, counts, amounts, paths, lists.

A checker takes the name of a setting and its value, raises :exc:`UsageError`
for a value that cannot be, and returns it in the form to keep: sequences as
tuples, mappings as dicts. ``option_values.py`` says which setting is of which kind.
"""

from __future__ import annotations

import math
import os
import re
from typing import Any, Callable, Mapping, Optional, Sequence

from .errors import UsageError

Checker = Callable[[str, Any], Any]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

# An error text is read by a person: a prompt of a megabyte is not repeated in it.
LONGEST_SHOWN = 100


def nearest(word: str, words: Sequence[str]) -> Optional[str]:
    """The one of *words* that *word* was probably meant to be, or None."""
    import difflib  # only needed for the text of an error

    by_lower = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def refuse(name: str, value: object, wanted: str) -> UsageError:
    """The error for an impossible value."""
    shown = repr(value)
    if len(shown) > LONGEST_SHOWN:
        shown = shown[:LONGEST_SHOWN] + "..."
    return UsageError(f"{name} must be {wanted}, got {shown}")


# Checks of the simple kinds. Each returns the value to keep.


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise refuse(name, value, "True or False")
    return value


def text(name: str, value: Any) -> Any:
    """None or any str, an empty one included."""
    if value is not None and not isinstance(value, str):
        raise refuse(name, value, "a str")
    return value


def word(name: str, value: Any) -> Any:
    """None or a str that is not blank."""
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise refuse(name, value, "a str that is not blank (leave it out for the default)")
    return value


def uuid(name: str, value: Any) -> Any:
    """None or a UUID as a str."""
    if value is not None and not (isinstance(value, str) and UUID.fullmatch(value)):
        raise refuse(name, value, "a UUID as a str; str(uuid.uuid4()) makes one")
    return value


def choice(*choices: str, optional: bool = True) -> Checker:
    """One of *choices*."""

    def check(name: str, value: Any) -> Any:
        if (value is None and optional) or (isinstance(value, str) and value in choices):
            return value
        meant = nearest(value, choices) if isinstance(value, str) else None
        hint = f" (did you mean {meant!r}?)" if meant else ""
        raise refuse(name, value, "one of " + ", ".join(map(repr, choices)) + hint)

    return check


def count(least: int, optional: bool = True) -> Checker:
    """An int, at least *least*."""

    def check(name: str, value: Any) -> Any:
        if value is None and optional:
            return value
        # True is an int to Python, and never what was meant.
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise refuse(name, value, f"an int of at least {least}")
        return value

    return check


def amount(name: str, value: Any) -> Any:
    """None or a finite number above zero."""
    if value is None:
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise refuse(name, value, "a number above 0 (or None)")
    return value


def path(name: str, value: Any) -> Any:
    """None or a path that is not blank."""
    if value is None:
        return value
    if not isinstance(value, (str, os.PathLike)) or not str(value).strip():
        raise refuse(name, value, "a path (str or pathlib.Path)")
    return value


def function(name: str, value: Any) -> Any:
    """None or something that can be called."""
    if value is not None and not callable(value):
        raise refuse(name, value, "a function")
    return value


def list_of(check_item: Checker, example: str, optional: bool = False) -> Checker:
    """A list or tuple of things that *check_item* accepts; kept as a tuple."""

    def check(name: str, value: Any) -> Any:
        if value is None and optional:
            return value
        # A str is a sequence of its letters, and a set has no order to repeat.
        if not isinstance(value, (list, tuple)):
            raise refuse(name, value, f"a list: {name}={example}")
        for item in value:
            if item is None:
                raise refuse(f"each item of {name}", item, f"set, as in {name}={example}")
            check_item(f"each item of {name}", item)
        return tuple(value)

    return check


def mapping(name: str, value: Any) -> Any:
    """None or a mapping with str keys that are not blank; kept as a dict."""
    if value is None:
        return value
    if not isinstance(value, Mapping):
        raise refuse(name, value, "a dict")
    for key in value:
        if not isinstance(key, str) or not key.strip():
            raise refuse(f"each key of {name}", key, "a str that is not blank")
    return dict(value)
