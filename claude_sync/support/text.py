"""Small changes to texts: a short repr, control characters made visible, camelCase."""

from __future__ import annotations

import re

LONGEST = 80

# Categories of Unicode that a terminal obeys or that cannot be seen: control and format
# characters (also those that change the direction of text), lone surrogates, separators.
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def short(value: object, longest: int = LONGEST) -> str:
    """The repr of *value*, cut, for an error text."""
    try:
        text = repr(value)
    except Exception:  # a repr of the program's, or an int of more than 4,300 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= longest else text[: longest - 3] + "..."


def short_json(value: object, longest: int = LONGEST) -> str:
    """*value* as JSON, cut, for an error text."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return short(value, longest)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def visible(text: str, keep: str = "\n\t") -> str:
    """*text* with its invisible characters as escapes, except those in *keep*."""
    if text.isprintable():
        return text
    return "".join(each if each in keep else visible_character(each) for each in text)


def visible_character(character: str) -> str:
    """A character, or the escape of an invisible one."""
    import unicodedata  # seldom needed

    if unicodedata.category(character) not in INVISIBLE:
        return character
    return character.encode("unicode_escape").decode("ascii")


def camel_case(name: str) -> str:
    """``max_turns`` as ``maxTurns``; camelCase stays."""
    return re.sub(r"(?<=[A-Za-z0-9])_([a-z0-9])", lambda found: found.group(1).upper(), name)


def snake_case(name: str) -> str:
    """``maxTurns`` as ``max_turns``; snake_case stays."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found.group(1).lower(), name)
