"""Checks of values: what is refused, and what an error says and carries."""

from __future__ import annotations

import functools
from datetime import timedelta
from pathlib import Path

import pytest
from tables import each

from claude_sync import UsageError
from claude_sync.support.checks import (
    LONGEST,
    check_function,
    check_name,
    check_path,
    check_seconds,
    check_timeout,
    did_you_mean,
    nearest,
    suggests_arguments,
)


@each("value", [0, -1, -0.5, "5", True, float("nan"), [5], timedelta(seconds=5)])
def test_what_is_not_a_number_of_seconds(value):
    """It is refused by name; the text says how to get them out of a timedelta."""
    for check in (check_seconds, check_timeout):
        with pytest.raises(UsageError, match="patience must be a number of seconds") as caught:
            check("patience", value)
        assert caught.value.option == "patience"
        assert ("total_seconds()" in str(caught.value)) is isinstance(value, timedelta)


def test_a_number_of_seconds():
    """A float; zero is to look without waiting, None is no limit, and nothing overflows."""
    assert isinstance(check_seconds("timeout", 5), float)
    assert check_timeout("timeout", 0.5) == 0.5
    assert check_seconds("t", 0, zero=True) == check_timeout("t", 0, zero=True) == 0.0
    assert check_timeout("timeout", None) is None
    for endless in (float("inf"), 1e300, 10**400):
        assert check_timeout("timeout", endless) is None
        assert check_seconds("timeout", endless) == LONGEST
    for value, zero in ((None, False), (-1, True), (None, True)):
        with pytest.raises(UsageError, match="0 or more" if zero else "above 0"):
            check_seconds("timeout", value, zero=zero)


class Broken:
    """A function whose signature cannot be read."""

    @property
    def __signature__(self):
        raise RuntimeError("no")

    def __call__(self, event):
        """Do nothing."""


@each(
    "function",
    [
        *(print, [].append, str, functools.partial(max, 1), Broken()),
        *(lambda event: None, lambda *events: None, lambda event=None: None),
    ],
)
def test_what_can_be_called(function):
    """Also builtins, and objects that do not say what they take."""
    assert check_function("on_text", function) is function


def test_names_and_paths():
    """Names are texts that are not blank; paths are texts, or path objects, that can be opened."""
    assert (check_name("title", "x"), check_path("cwd", Path("x"))) == ("x", Path("x"))
    for value in ("", " ", None, 5, b"x"):
        with pytest.raises(UsageError, match="title must be"):
            check_name("title", value)
    for value in ("", " ", "a\0b", b"x", 5, None):
        with pytest.raises(UsageError, match="cwd must be"):
            check_path("cwd", value)


class Asker:
    """Something with a method of keyword arguments."""

    @suggests_arguments
    def ask(self, prompt, *, timeout=None, attach=()):
        """Return what was passed."""
        return prompt, timeout, attach


def test_a_misspelled_argument_is_named():
    """With the right one, or all there are; other mistakes are Python's to tell."""
    assert Asker().ask("hi", timeout=5) == ("hi", 5, ())
    with pytest.raises(UsageError, match=r"ask\(\) has no argument 'tmeout'.*'timeout'") as caught:
        Asker().ask("hi", timeout=5, tmeout=5)
    assert (caught.value.option, caught.value.nearest) == ("tmeout", "timeout")
    with pytest.raises(UsageError, match="It has: prompt, timeout, attach"):
        Asker().ask("hi", zebra=5)
    with pytest.raises(TypeError, match="prompt"):
        Asker().ask()


@each(
    ("word", "meant"),
    [
        ("tmeout", "timeout"),
        ("idleTimeout", "idle_timeout"),
        ("IDLE-TIMEOUT", "idle_timeout"),
        ("colour", None),
        ("t" * 100_000, None),
        (5, None),
    ],
)
def test_the_nearest_word(word, meant):
    """Typing mistakes, other cases and other separators find it."""
    words = ("timeout", "idle_timeout", "attach")
    assert nearest(word, words) == meant
    assert did_you_mean(word, words) == (f" Did you mean {meant!r}?" if meant else "")
