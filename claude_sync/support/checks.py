"""
Check the values that programs pass: seconds, names, paths, functions.

A check takes the name of the setting or argument, for the error's text and its data, and the
value. It returns the value in the form to work with, or raises UsageError.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from typing import Any, Callable, Iterable, Sequence, TypeVar, cast

from ..errors import UsageError
from .text import short

# More seconds than a lock can wait for raise OverflowError: 292 years on Linux, 49 days on Windows.
LONGEST = threading.TIMEOUT_MAX / 2

# Options whose values do not appear in errors.
MAY_HOLD_SECRETS = ("env", "headers", "mcp_servers", "servers", "settings")


def refuse(name: str, value: object, wanted: str, nearest: str | None = None) -> UsageError:
    """The error for the value of *name*: it must be *wanted*."""
    secret = any(part in MAY_HOLD_SECRETS for part in re.split(r"\W+", name))
    shown = f"a value of the type {type(value).__name__}" if secret else short(value)
    meant = f" Did you mean {nearest!r}?" if nearest else ""
    text = f"{name} must be {wanted}, not {shown}.{meant}"
    option = re.sub(r"^each \w+ of |[\[.].*$", "", name)  # each item of x['y'].z: x
    return UsageError(text, option=option, value=None if secret else value, nearest=nearest)


def check_seconds(name: str, value: Any, *, zero: bool = False) -> float:
    """Check a number of seconds; *zero* is allowed or not. At most :data:`LONGEST` is returned."""
    wanted = "a number of seconds, 0 or more" if zero else "a number of seconds above 0"
    if hasattr(value, "total_seconds"):
        raise refuse(name, value, f"{wanted} (pass .total_seconds() of a timedelta)")
    # True is an int to Python, and never meant as a second. Nan fails every comparison.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not (value > 0 or (zero and value == 0)):
        raise refuse(name, value, wanted)
    # An int may be too large for a float; to compare it is safe.
    return LONGEST if value > LONGEST else float(value)


def check_timeout(name: str, value: Any, *, zero: bool = False) -> float | None:
    """Check a timeout in seconds. None, and more than :data:`LONGEST`, mean no limit: None."""
    if value is None:
        return None
    checked = check_seconds(name, value, zero=zero)
    return None if checked >= LONGEST else checked


def check_name(name: str, value: Any) -> str:
    """Check a name: a str that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(name, value, "a str that is not blank")
    return value


def check_path(name: str, value: Any) -> Any:
    """Check a path: a str or ``os.PathLike`` that is not blank and has no NUL character."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise refuse(name, value, "a path (str or pathlib.Path)")
    return value


def check_function(name: str, function: Any, example: str = "function(event)") -> Any:
    """Check a function of one argument that the library calls and does not await."""
    import inspect

    if not callable(function):
        raise refuse(name, function, f"a function of one argument, {example}")
    problem = fault_of_function(function)
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        wanted = f"Write 'def {example}', or pass a bound method"
        problem = problem or f"not callable with one argument ({error}). {wanted}"
    except Exception:  # some functions of C have no signature, and code of the program may raise
        pass
    if problem:
        raise UsageError(f"{name} is {problem}.", option=name, value=function)
    return function


def fault_of_function(function: Any) -> str:
    """Why calling a function would run nothing; nothing if it runs."""
    import inspect

    for each in (function, getattr(type(function), "__call__", None)):  # noqa: B004
        if inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each):
            return (
                "an async function, which nothing awaits: it would never run. Write it with 'def'. "
                "It may wait; asyncio.run(...) inside it works"
            )
        if inspect.isgeneratorfunction(each):
            return "a generator function: calling it would run nothing. Write it without 'yield'"
    return ""


# The nearest right name.


F = TypeVar("F", bound=Callable[..., Any])


def suggests_arguments(method: F) -> F:
    """Decorate a method: for a misspelled keyword argument it suggests the right one."""
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(method)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return method(*arguments, **keywords)
        except TypeError:
            for name in keywords:
                if name not in names:
                    raise unknown_argument(f"{method.__name__}()", name, names) from None
            raise

    return cast("F", call)


def check_keywords(
    function: str, given: Iterable[str], own: Sequence[str], options: Sequence[str]
) -> None:
    """Refuse a misspelled argument of a function that also takes *options* by name."""
    for name in given:
        known = name in own or name in options or name.startswith("on_")
        if not known and nearest(name, own, 0.85):
            raise unknown_argument(function, name, own)


def unknown_argument(function: str, name: str, known: Sequence[str]) -> UsageError:
    """The error for an argument that *function* does not have."""
    meant = nearest(name, known)
    advice = f"Did you mean {meant!r}?" if meant else f"It has: {', '.join(known)}."
    text = f"{function} has no argument {name!r}. {advice}"
    return UsageError(text, option=name, nearest=meant)


def nearest(value: object, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The one of *words* that *value* was probably meant to be, or None; case does not count."""
    if not isinstance(value, str) or len(value) > 200:  # the search is slow for long texts
        return None
    import difflib  # slow to load, and only needed for the text of an error

    known = {re.sub("[-_]", "", word).lower(): word for word in words}
    wanted = re.sub("[-_]", "", value).lower()
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=cutoff)
    return known[close[0]] if close else None


def did_you_mean(value: object, words: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` for the end of a sentence, or nothing."""
    meant = nearest(value, words)
    return f" Did you mean {meant!r}?" if meant else ""
