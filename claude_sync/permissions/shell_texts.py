"""Two questions about texts inside a command line, for ``shell_reader``."""

from __future__ import annotations

import re
from typing import List

__all__ = ["survives_substitution", "unescaped"]

ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))",
    re.DOTALL,
)


def survives_substitution(lines: List[str], delimiter: str) -> bool:
    """Whether every shell finds the same end of a here-document inside a substitution."""
    depth = 0
    for line in lines:
        if line.lstrip("\t").startswith(delimiter):
            return False  # "EOF)" ends both for some
        for character in line:
            depth += (character == "(") - (character == ")")
            if depth < 0:
                return False  # it ends the substitution for shells that only count
    return True


def unescaped(text: str) -> str:
    """What stands between ``$'`` and ``'``, as the shell takes it."""
    return ESCAPE.sub(unescaped_character, text)


def unescaped_character(found: re.Match[str]) -> str:
    """What a backslash and the characters behind it stand for."""
    two, four, eight, octal, other = found.groups()
    if other is not None:
        return str(other)
    number = int(octal, 8) if octal else int(two or four or eight, 16)
    return chr(number) if 0 < number < 0x110000 else ""
