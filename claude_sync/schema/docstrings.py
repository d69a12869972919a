"""
What a docstring says about a function and its parameters.

Three styles are read: Google's (``Args:`` and indented lines), NumPy's (``Parameters``
with a line of dashes below) and Sphinx's (``:param name: text``). What it says about
parameters and exceptions is taken out. The rest stays in the description, what is
returned too: it tells Claude what to expect.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

PARAMETERS = "args|arguments|parameters|params|other parameters|attributes|keyword arg(?:ument)?s"
ERRORS = "raises?|warns|exceptions"
INDENTED = r"(?:(?:[ \t].*)?(?:\n|\Z))"
UNDERLINED = r"[^\s].*\n[ \t]*-{3,}[ \t]*$"

# ":param int name: text", with the indented lines below.
FIELD = re.compile(rf"^:(\w+)(?:[ \t]+([^:\n]*?))?[ \t]*:(?:[ \t]+(.*))?$\n?({INDENTED}*)", re.M)
# "Args:" alone on its line, and an indented block.
GOOGLE = re.compile(rf"^(?:({PARAMETERS})|(?:{ERRORS})):[ \t]*$\n?({INDENTED}*)", re.M | re.I)
# "Parameters" above dashes, and all lines up to the next such header.
NUMPY = re.compile(
    rf"^(?:({PARAMETERS})|(?:{ERRORS}))[ \t]*\n[ \t]*-{{3,}}[ \t]*$\n?"
    rf"((?:(?!{UNDERLINED}).*(?:\n|\Z))*)",
    re.M | re.I,
)
# "name (type): text", with the deeper lines below.
GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(.*(?:\n(?:[ \t].*)?$)*)", re.M)
# "name, other : type", with the indented lines below.
NUMPY_ENTRY = re.compile(
    r"^((?:\*{0,2}\w+\s*,\s*)*\*{0,2}\w+)\s*(?::.*)?$((?:\n(?:[ \t].*)?$)*)", re.M
)

ABOUT_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword", "var", "ivar"}
LEFT_OUT = {"type", "rtype", "vartype", "raises", "raise", "except", "exception"}


class Documentation(NamedTuple):
    """
    A docstring, taken apart.

    Attributes:
        description: The text that is not about single parameters.
        parameters: What it says about each parameter.

    """

    description: str
    parameters: dict[str, str]


def documentation_of(docstring: str | None) -> Documentation:
    """Take *docstring* apart."""
    parameters: dict[str, str] = {}

    def field(found: re.Match[str]) -> str:
        kind, name = found[1], found[2] or ""
        text = joined(f"{found[3] or ''}\n{found[4]}")
        if kind in ABOUT_PARAMETERS and name:
            parameters[name.split()[-1].lstrip("*")] = text
        elif kind in ("return", "returns") and text:
            return f"Returns: {text}\n"
        elif kind not in ABOUT_PARAMETERS | LEFT_OUT | {"return", "returns"}:
            return found[0]
        return ""

    def google(found: re.Match[str]) -> str:
        if found[1]:
            for name, about in GOOGLE_ENTRY.findall(inspect.cleandoc(f"\n{found[2]}")):
                parameters[name] = joined(about)
        return ""

    def numpy(found: re.Match[str]) -> str:
        if found[1]:
            for names, about in NUMPY_ENTRY.findall(found[2]):
                for name in names.split(","):
                    parameters[name.strip().lstrip("*")] = joined(about)
        return ""

    text = inspect.cleandoc(docstring or "")
    for pattern, take in ((FIELD, field), (NUMPY, numpy), (GOOGLE, google)):
        text = pattern.sub(take, text)
    return Documentation(re.sub(r"\n{3,}", "\n\n", text).strip(), parameters)


def joined(text: str) -> str:
    """Join the lines of each paragraph."""
    return "\n\n".join(" ".join(each.split()) for each in re.split(r"\n\s*\n", text.strip()))
