"""
What a docstring says about a function and its parameters.

Three styles are read: Google's (``Args:`` and indented lines), NumPy's
(``Parameters`` with a line of dashes below) and Sphinx's (``:param name: text``).
Whatever describes parameters or exceptions is taken out; the rest, for example
what is returned, stays in the description, since it tells Claude what to expect.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional

__all__ = ["Documentation", "documentation_of"]

ABOUT_PARAMETERS = frozenset(
    {
        *("args", "arguments", "parameters", "params", "other parameters", "attributes"),
        *("keyword args", "keyword arguments"),
    }
)
LEFT_OUT = frozenset({"raises", "raise", "warns", "exceptions"})

# "Args:", alone on its line.
GOOGLE_HEADER = re.compile(r"(\w+(?: \w+)?):\s*$")
# "name: text", "name (type): text", "*names: text".
GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)$")
# "name", "name : type", "one, two : type".
NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
UNDERLINE = re.compile(r"\s*-{3,}\s*$")
# ":param name: text", ":param int name: text", ":raises Error: text".
SPHINX_FIELD = re.compile(r":(\w+)(?:\s+([^:]*?))?\s*:(?:\s+(.*)|\s*)$")
SPHINX_PARAMETERS = frozenset(
    {"param", "parameter", "arg", "argument", "key", "keyword", "var", "ivar"}
)
SPHINX_RETURNS = frozenset({"return", "returns"})
SPHINX_LEFT_OUT = frozenset({"type", "rtype", "vartype", "raises", "raise", "except", "exception"})


class Documentation(NamedTuple):
    """
    A docstring, taken apart.

    Attributes:
        description: The text that is not about single parameters.
        parameters: What it says about each parameter.

    """

    description: str
    parameters: Dict[str, str]


def documentation_of(docstring: Optional[str]) -> Documentation:
    """What *docstring* says; nothing, if there is none."""
    import inspect

    lines = inspect.cleandoc(docstring or "").splitlines()
    kept: List[str] = []
    parameters: Dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index]
        header = GOOGLE_HEADER.match(line)
        field = SPHINX_FIELD.match(line)
        below = lines[index + 1] if index + 1 < len(lines) else ""
        if field and is_known_field(field.group(1)):
            end = end_of_indented(lines, index + 1)
            text = joined([field.group(3) or "", *lines[index + 1 : end]])
            read_field(field.group(1), field.group(2) or "", text, parameters, kept)
        elif header and is_section(header.group(1)):
            end = end_of_indented(lines, index + 1)
            if header.group(1).lower() in ABOUT_PARAMETERS:
                parameters.update(google_entries(lines[index + 1 : end]))
        elif UNDERLINE.match(below) and is_section(line.strip()):
            end = end_of_underlined(lines, index + 2)
            if line.strip().lower() in ABOUT_PARAMETERS:
                parameters.update(numpy_entries(lines[index + 2 : end]))
        else:
            kept.append(line)
            end = index + 1
        index = end
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Documentation(description, parameters)


def is_section(name: str) -> bool:
    """Whether the section *name* is taken out of the description."""
    return name.lower() in ABOUT_PARAMETERS | LEFT_OUT


def is_known_field(name: str) -> bool:
    """Whether ``:name ...:`` is a field, rather than a line that looks like one."""
    return name in SPHINX_PARAMETERS | SPHINX_RETURNS | SPHINX_LEFT_OUT


def read_field(
    kind: str, argument: str, text: str, parameters: Dict[str, str], kept: List[str]
) -> None:
    """Put a field of Sphinx's style where it belongs."""
    if kind in SPHINX_PARAMETERS and argument:
        parameters[argument.split()[-1].lstrip("*")] = text
    elif kind in SPHINX_RETURNS and text:
        kept.append(f"Returns: {text}")


def google_entries(lines: List[str]) -> Dict[str, str]:
    """The entries of an indented section; deeper lines go on with the entry above."""
    entries: Dict[str, List[str]] = {}
    texts: List[str] = []
    depth = min((indentation(line) for line in lines if line.strip()), default=0)
    for line in lines:
        entry = GOOGLE_ENTRY.match(line[depth:])
        if entry and indentation(line) == depth:
            texts = entries[entry.group(1)] = [entry.group(2)]
        else:
            texts.append(line)
    return {name: joined(texts) for name, texts in entries.items()}


def numpy_entries(lines: List[str]) -> Dict[str, str]:
    """The entries of an underlined section: names at the margin, texts indented."""
    entries: Dict[str, List[str]] = {}
    texts: List[str] = []
    for line in lines:
        entry = NUMPY_ENTRY.match(line)
        if entry and not line[:1].isspace():
            texts = []
            for name in entry.group(1).split(","):
                entries[name.strip().lstrip("*")] = texts
        else:
            texts.append(line)
    return {name: joined(texts) for name, texts in entries.items()}


def end_of_indented(lines: List[str], index: int) -> int:
    """Where the indented block ends that begins at *index*."""
    while index < len(lines) and (not lines[index].strip() or lines[index][0].isspace()):
        index += 1
    return index


def end_of_underlined(lines: List[str], index: int) -> int:
    """Where the next header with a line of dashes is, or the end."""
    while index < len(lines):
        if index + 1 < len(lines) and lines[index].strip() and UNDERLINE.match(lines[index + 1]):
            return index
        index += 1
    return index


def indentation(line: str) -> int:
    """How far a line is indented."""
    return len(line) - len(line.lstrip())


def joined(lines: List[str]) -> str:
    """Several lines as one text: line ends become spaces, empty lines stay."""
    paragraphs = "\n".join(line.strip() for line in lines).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
