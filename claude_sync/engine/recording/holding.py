"""
How much of a text that is still being written can be shown, whatever follows.

Decisions taken here and nowhere else:

* The last word is held, and whatever a secret may follow: a name such as ``password: ``,
  an open quote after it, a header, variables, the beginning of a private key or of a home,
  and the beginning of a secret that is known and has blanks in it.
* What is before that is looked at in the same way, until there is nothing more to hold.
* Each pattern is looked for from the left, and goes on behind what it has found: time is in
  proportion to the length of the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Iterable, NamedTuple, Optional, Pattern, Tuple

from ...support.private_keys import PEM_BEGIN, PEM_END, PEM_NAME, end_of_private_key
from ...support.redact import (
    AFTER_NAME,
    ALONE,
    BLANKS,
    COLOUR,
    HOLDER,
    HOLDERS,
    NAMES,
    QUOTED,
    SECRET,
    compiled,
)

__all__ = ["Hold", "safe_length", "start_of_word"]

BLANK = " \n\t"
# In a long text without blanks, no secret goes on behind one of these.
DENSE = BLANK + ",;{}()[]<>|"
# How often what is before a hold is looked at.
MOST_HOLDS = 4


class Hold(NamedTuple):
    """What is held: where it begins, and what to do if it gets too long."""

    place: int
    # What ends it; what follows the match can be shown.
    end: Pattern[str]
    # Whether it is nothing but a secret, perhaps; and whether the secret is still to come.
    is_word: bool = False
    is_before: bool = False
    is_key: bool = False


# A word that is complete.
WORD = r"\S(?=\s)"
# A place where a secret may follow, up to the end of the text. What ends it, when it is long.
PLACES = (
    # password, password: , "password": ", Authorization: Bearer , --password
    (
        NAMES,
        rf"{SECRET}{AFTER_NAME}(?:[=:]|\s|{COLOUR}|\\|[\"'\],]|[>|][+-]?)*(?:[bfru]{{1,2}}|Bearer|Basic)?"
        rf"{BLANKS}\\*",
        WORD,
    ),
    # password: str
    (NAMES, rf"{SECRET}\s*:\s*[A-Za-z_][\w.]{{0,40}}(?:\[[^\]\n\"']{{0,60}}\]?)?\s*", WORD),
    (("bearer", "basic"), rf"(?:Bearer|Basic)(?:%20)?{BLANKS}", WORD),
    (("-u", "--user"), r"(?<!\S)-(?:u|-user)[\s=]*", WORD),
    # Headers up to their end, and what is in a tag.
    (("authorization", "cookie"), r"(?:authorization|cookie)\s*[=:][^\"'\n]*", r"(?=[\"'\n])"),
    (NAMES, rf"<[\w:.-]{{0,40}}{SECRET}>[^<>\n]*", r"(?=[<>\n])"),
    # "env": {"A": "b
    (
        HOLDERS,
        rf"(?:{HOLDER}|[\"'](?:{'|'.join(HOLDERS)})\\*[\"']\s*:?\s*)",
        r"(?=})",
    ),
    # A home that has blanks in its name.
    (("users",), r"[A-Za-z]:(?:\\+|/)Users(?:\\+|/)[^\\/:*?\"<>|\n]{0,64}", WORD),
)
# An open quote after a name; what closes it is not part of these.
OPEN_QUOTES = tuple(
    rf"{SECRET}{AFTER_NAME}(?:={{1,3}}>?|:=?){BLANKS}[bfru]{{0,2}}{quoted}" for quoted in QUOTED
) + tuple(rf"""{ALONE}--[\w-]{{0,40}}{SECRET}\\*["']\s*,\s*{quoted}""" for quoted in QUOTED)

# The name of what begins is not complete, or is that of a private key.
KEY_BEGINS = re.compile(rf"{PEM_BEGIN}(?:[A-Z0-9 ]{{0,60}}-{{0,5}}\Z|{PEM_NAME})")


def safe_length(text: str, known: Iterable[str], is_dense: bool = False) -> Tuple[int, Hold]:
    """
    How much of *text* can be shown, whatever follows, and what is held of it.

    Args:
        text: The text so far.
        known: Secrets that are known and have blanks in them.
        is_dense: Words may end at more than blanks: for long texts without any.

    """
    breaks = DENSE if is_dense else BLANK
    end = start_of_word(text, len(text), breaks)
    hold = Hold(end, end_pattern(r"(?=\s)"), is_word=True)
    for _ in range(MOST_HOLDS):
        earlier = first_hold(text[:end], known)
        if earlier is None:
            return end, hold
        hold = earlier
        end = start_of_word(text, hold.place, breaks)
    return 0, hold


def first_hold(text: str, known: Iterable[str]) -> Optional[Hold]:
    """The first place in *text* from which on everything is to be held."""
    holds = [*open_places(text), *open_quotes(text), *open_keys(text), *begun(text, known)]
    return min(holds, key=lambda hold: hold.place) if holds else None


def open_places(text: str) -> Iterable[Hold]:
    """Where a secret follows a name."""
    lowered = text.lower()
    for words, pattern, end in PLACES:
        if any(word in lowered for word in words):
            for found in compiled(pattern).finditer(text):
                if found.end() == len(text):
                    yield Hold(found.start(), end_pattern(end), is_before=end == WORD)


def open_quotes(text: str) -> Iterable[Hold]:
    """Where a quote after a name is not closed."""
    lowered = text.lower()
    if not any(word in lowered for word in NAMES):
        return
    for pattern in OPEN_QUOTES:
        for found in compiled(pattern).finditer(text):
            if found.end() == len(text):
                quote = re.escape(found["quote"])
                yield Hold(found.start(), end_pattern(rf"(?=(?<!\\){quote}|\n)"))


def open_keys(text: str) -> Iterable[Hold]:
    """Where a private key begins that does not end."""
    found = KEY_BEGINS.search(text)
    while found is not None:
        end = end_of_private_key(text, found.start())
        if end < 0:
            yield Hold(found.start(), end_pattern(PEM_END), is_key=True)
            return
        found = KEY_BEGINS.search(text, end)


def begun(text: str, known: Iterable[str]) -> Iterable[Hold]:
    """Where a known secret begins that goes on behind the text."""
    for secret in known:
        place = max(0, len(text) - len(secret) + 1)
        place = text.find(secret[0], place)
        while place >= 0:
            if secret.startswith(text[place:]):
                yield Hold(place, end_pattern(r"(?=\n)"), is_word=True)
                break
            place = text.find(secret[0], place + 1)


@cache
def end_pattern(pattern: str) -> Pattern[str]:
    """What ends a hold."""
    return re.compile(pattern)


def start_of_word(text: str, place: int, breaks: str = BLANK) -> int:
    """Where the word begins in which *place* is, or that ends there."""
    return max(text.rfind(each, 0, place) for each in breaks) + 1
