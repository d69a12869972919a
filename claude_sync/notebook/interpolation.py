"""
Variables of the notebook in a question.

``{name}`` becomes the text of the variable, if the notebook has one of that name.
Everything else between braces stays as it is: JSON, code, format strings. Nothing
is evaluated: no attributes, no indexes, no calls, so a question that was pasted
from elsewhere can run nothing. ``{{name}}`` is ``{name}``, for variables that there
are.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping

from ..errors import UsageError

__all__ = ["interpolate", "variables_of"]

PLACE = re.compile(r"\{\{([^\W\d]\w*)\}\}|\{([^\W\d]\w*)\}")
# Results of cells, which the shell hides among its own names.
RESULTS = re.compile(r"_{1,3}|_\d+")
# Python's own: code in a question mentions them, and does not mean these.
MODULES_OWN = re.compile(r"__\w+__")


def interpolate(question: str, lookup: Callable[[str], Any]) -> str:
    """
    The question with the texts of its variables.

    *lookup* raises KeyError for a name that is no variable. What was put in is not
    looked at again.
    """

    def text_for(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        try:
            value = lookup(escaped or name)
        except KeyError:
            return found.group()
        return f"{{{escaped}}}" if escaped else text_of(name, value)

    return PLACE.sub(text_for, question)


def text_of(name: str, value: Any) -> str:
    """The value as a text; an error of the value's own says which one it was."""
    try:
        return str(value)
    except Exception as error:
        raise UsageError(
            f"the variable {name} cannot be put into the question: its text could not be made "
            f"({type(error).__name__}: {error}). Write {{{{{name}}}}} to mean the word itself."
        ) from error


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
