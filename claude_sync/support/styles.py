"""Styles of a terminal: which there are, and how wide a text is on it."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import Any

from .text import visible

ZERO_WIDTH_JOINER = "\u200d"  # emoji are made with it, and it moves nothing
EMOJI_STYLE = "\ufe0f"  # makes a narrow sign an emoji, which is wide
OWN = re.compile(r"\x1b\[[0-9;]*m")


class Palette(dict):  # type: ignore[type-arg]
    """Escape sequences by what they are for; empty where there are no colours."""

    def __missing__(self, name: str) -> str:
        return ""

    def paint(self, name: str, text: str) -> str:
        """*text* in a style."""
        style = self[name]
        return f"{style}{text}{self['off']}" if style and text else text


STYLES = Palette(
    faint="\x1b[2m",
    wrong="\x1b[31m",
    user="\x1b[1;34m",
    off="\x1b[0m",
)
PLAIN = Palette()


def is_terminal(stream: Any) -> bool:
    """Whether somebody looks at what is written there."""
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def palette(stream: Any = None) -> Palette:
    """The styles for *stream*: none where it is no terminal, is dumb, or NO_COLOR is set."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return STYLES if wanted and is_terminal(sys.stdout if stream is None else stream) else PLAIN


def safe(text: str) -> str:
    """*text* with its control characters as escapes; joined emoji stay joined."""
    return visible(text, keep="\n\t" + ZERO_WIDTH_JOINER)


def columns(text: str) -> int:
    """How wide a text is on a terminal; escape sequences of ours do not count."""
    return sum(map(width_of, OWN.sub("", text)))


def width_of(character: str) -> int:
    """0, 1 or 2 columns."""
    if character == ZERO_WIDTH_JOINER:
        return 0
    if unicodedata.category(character) in ("Mn", "Me"):
        return int(character == EMOJI_STYLE)
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
