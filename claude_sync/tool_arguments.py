"""
Check and convert the arguments of a call before the function sees them.

All that is wrong is told at once, one line for each argument, so that Claude can
put it right with one more call.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .tool_shapes import Mismatch, shown
from .tool_signatures import Inputs

__all__ = ["ArgumentsRefused", "bind"]

REFUSED = "The tool was not called, because of its arguments:"


class ArgumentsRefused(Exception):
    """
    The arguments do not fit; the text is for Claude.

    Attributes:
        problems: What is wrong, one text for each argument.

    """

    def __init__(self, problems: List[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join([REFUSED, *self.problems])


def bind(inputs: Inputs, arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """
    The keywords to call the function with.

    Raises:
        ArgumentsRefused: Something is missing, is too much, or has a wrong shape.

    """
    keywords: Dict[str, Any] = {}
    problems: List[str] = []
    for name, field in inputs.fields.items():
        if field.required and name not in arguments:
            problems.append(f"{name}: missing, expected {field.shape.expected}")
    for name, value in arguments.items():
        shape = inputs.fields[name].shape if name in inputs.fields else inputs.others
        if shape is None or name in inputs.reserved:
            known = ", ".join(inputs.fields) or "none"
            problems.append(f"{shown_name(name)}: unexpected, the arguments are: {known}")
            continue
        try:
            keywords[name] = shape.convert(value)
        except Mismatch as mismatch:
            problems.append(str(mismatch.within(name)))
        except RecursionError:
            problems.append(f"{name}: nested too deeply")
    if problems:
        raise ArgumentsRefused(problems)
    return keywords


def shown_name(name: str) -> str:
    """The name of an argument nobody asked for, which may be anything."""
    return name if name.isidentifier() else shown(name)
