"""
Variables of the notebook in a question.

``{name}`` becomes the text of the variable, if the notebook has one of that name: a table goes
whole, as CSV, up to a limit, and pictures and figures are attached. Everything else between
braces stays as it is: JSON, code, format strings. Nothing is evaluated: no attributes, no
indexes, no calls, so a question that was pasted from elsewhere can run nothing; where that
looks like an expression of the notebook, a line says so. ``{{name}}`` is ``{name}``, for
variables that there are.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError
from ..support.files import is_picture
from ..support.images import Image

__all__ = ["Question", "interpolate", "variables_of"]

PLACE = re.compile(r"\{\{([^\W\d]\w*)\}\}|\{([^\W\d]\w*)\}")
# What somebody may have meant to be evaluated: {table.head()}, {cities[0]}.
EXPRESSION = re.compile(r"(?<!\{)\{([^\W\d]\w*)[.\[(][^{}\n]{0,200}\}(?!\})")
# Results of cells, which the shell hides among its own names.
RESULTS = re.compile(r"_{1,3}|_\d+")
# Python's own: code in a question mentions them, and does not mean these.
MODULES_OWN = re.compile(r"__\w+__")
# Of a table, so many characters are sent. A question has to fit into the model's context.
LONGEST_TABLE = 200_000


@dataclasses.dataclass
class Question:
    """
    A question with the variables of the notebook put in.

    Attributes:
        text: The question.
        attach: Pictures and figures among the variables.
        notes: What the person should know: lines of tables that were left out, and the like.

    """

    text: str = ""
    attach: list[Any] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def interpolate(question: str, lookup: Callable[[str], Any]) -> Question:
    """
    The question with the texts of its variables.

    *lookup* raises KeyError for a name that is no variable. What was put in is not
    looked at again.
    """
    found = Question()

    def text_for(place: re.Match[str]) -> str:
        escaped, name = place.groups()
        try:
            value = lookup(escaped or name)
        except KeyError:
            return place.group()
        return f"{{{escaped}}}" if escaped else put_in(name, value, found)

    for place in EXPRESSION.finditer(question):
        try:
            lookup(place.group(1))
        except KeyError:
            continue
        found.notes.append(
            f"{place.group()} was sent as it is: only names of variables are put in. "
            "Assign it to a variable first."
        )
    found.text = PLACE.sub(text_for, question)
    return found


def put_in(name: str, value: Any, question: Question) -> str:
    """The text for a variable; what else it takes is noted in the question."""
    if isinstance(value, Image) or is_picture(value):
        question.attach.append(value)
        return f"(the attached picture {name})"
    try:
        if callable(getattr(value, "to_csv", None)) and hasattr(value, "shape"):
            return table_text(name, value, question)
        return str(value)
    except Exception as error:
        raise UsageError(
            f"the variable {name} cannot be put into the question: its text could not be made "
            f"({type(error).__name__}: {error}). Write {{{{{name}}}}} to mean the word itself."
        ) from error


def table_text(name: str, table: Any, question: Question) -> str:
    """A table as CSV: all of it, or as many of its first rows as fit."""
    rows = int(table.shape[0])
    text = str(table.to_csv())
    if len(text) <= LONGEST_TABLE:
        return f"\n{text}"
    kept = max(1, rows * LONGEST_TABLE // len(text))
    text = str(table.iloc[:kept].to_csv())[:LONGEST_TABLE]
    question.notes.append(
        f"{name} has {rows:,} rows, and the first {kept:,} were sent. "
        "Choose rows or columns, or write it to a file that Claude may read."
    )
    return f"\n{text}\n({kept:,} of {rows:,} rows)\n"


def variables_of(shell: Any) -> Callable[[str], Any]:
    """A lookup of the variables that the user of an IPython shell has made."""
    names: Mapping[str, Any] = shell.user_ns
    hidden: Mapping[str, Any] = getattr(shell, "user_ns_hidden", {})

    def lookup(name: str) -> Any:
        value = names[name]
        if MODULES_OWN.fullmatch(name):
            raise KeyError(name)
        # In, Out, exit, get_ipython and the like are not the user's until he changes them.
        if name in hidden and hidden[name] is value and not RESULTS.fullmatch(name):
            raise KeyError(name)
        return value

    return lookup
