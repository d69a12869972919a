"""
Find private keys in texts: many lines, of which only the first and the last are known.

Decisions taken here and nowhere else:

* A key goes on to its end, whatever stands between its lines: line numbers, quotes of
  programs and of mails, names of files. Without an end, as in a text that was cut, it goes
  on to the end of the string in which it is, or of the text.
* Time is in proportion to the length of the text, whatever is in it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Callable, Pattern

__all__ = [
    "PEM_BEGIN",
    "PEM_END",
    "PEM_NAME",
    "PEM_WORD",
    "begins_private_key",
    "end_of_private_key",
    "hide_private_keys",
]

# What is there, in small letters, if there is a key.
PEM_WORD = "-----begin"
PEM_BEGIN = "-----BEGIN "
PEM_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = rf"-----END {PEM_NAME}"
# The end of the string in which a key is, unless the next string is more of it.
CLOSING = r"""(?<!\\)\\*["'`]\s*(?:[,)\]}:]|\Z)(?!\s*\\*["'`][A-Za-z0-9+/=\\]{20})"""
# A key that has no end is not longer.
LONGEST = 64 * 1024


@cache
def compiled(pattern: str) -> Pattern[str]:
    """A pattern, when it is needed: this module is loaded by every client."""
    return re.compile(pattern)


def hide_private_keys(text: str, hide: Callable[[str], str]) -> str:
    """*text*, each private key in it replaced by what *hide* makes of it."""
    parts = []
    done = 0
    may_end = True
    for found in compiled(PEM_BEGIN + PEM_NAME).finditer(text):
        if found.start() < done:
            continue
        stop = end_of_private_key(text, found.end()) if may_end else -1
        if stop < 0:
            may_end = False  # not looked for again
            limit = min(found.end() + LONGEST, len(text))
            closing = compiled(CLOSING).search(text, found.end(), limit)
            stop = closing.start() if closing is not None else limit
        parts += [text[done : found.start()], hide(text[found.start() : stop])]
        done = stop
    return "".join([*parts, text[done:]])


def begins_private_key(text: str) -> bool:
    """Whether a key begins in *text*, and does not end in it."""
    if PEM_BEGIN not in text:
        return False
    last = None
    for last in compiled(PEM_BEGIN + PEM_NAME).finditer(text):  # noqa: B007 - the last one counts
        pass
    return last is not None and end_of_private_key(text, last.end()) < 0


def end_of_private_key(text: str, begin: int) -> int:
    """Where the key ends whose first line is before *begin*; -1 if it does not."""
    found = compiled(PEM_END).search(text, begin)
    return found.end() if found is not None else -1
