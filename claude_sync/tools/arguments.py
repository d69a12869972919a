"""
What a function takes, and the arguments of a call, checked before the function sees them.

All that is wrong is told at once, one line for each argument, so that Claude can put it right
with one more call.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING
from typing import Any, NamedTuple

from ..errors import UsageError
from ..schema.docstrings import Documentation, documentation_of
from ..schema.json_schema import Schema
from ..schema.types import UNIONS, Convert, Field, NoSchema, Shape, Types, enclosing_names, objects
from ..support.checks import fault_of_function
from .results import ToolContext


class Inputs(NamedTuple):
    """
    What a function takes.

    Attributes:
        schema: The JSON Schema of its arguments.
        convert: Makes the keywords of a call of them; raises Mismatch if they do not fit.
        contexts: The parameters that get the :class:`ToolContext`.
        filled_in: What a partial has filled in already; Claude cannot replace it.

    """

    schema: Schema
    convert: Convert
    contexts: list[str]
    filled_in: dict[str, Any]

    def keywords(self, arguments: Any, context: ToolContext) -> dict[str, Any]:
        """The keywords to call the function with."""
        given = self.convert(arguments)
        return {**given, **self.filled_in, **dict.fromkeys(self.contexts, context)}


def inputs_of(function: Callable[..., Any], name: str) -> Inputs:
    """
    What *function*, the tool *name*, takes.

    Raises:
        UsageError: It is of a kind that cannot be a tool, or an annotation has no schema.

    """
    plain = plain_function(function)
    fault = fault_of_function(plain)
    if inspect.isclass(plain):
        fault = "a class. Pass a function, or an object that can be called"
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        fault = "without known parameters. Wrap it into a function of your own, with annotations"
    if fault:
        raise UsageError(f"the tool {name!r} is {fault}.")
    made = Types(enclosing_names(plain), getattr(plain, "__globals__", None))
    filled_in = function.keywords if isinstance(function, functools.partial) else {}
    declared: list[Field] = []
    contexts: list[str] = []
    others: Shape | None = None
    try:
        # The object of a method comes later.
        for each in parameters[is_unbound(function) :]:
            if each.name in filled_in:
                continue
            hint = Any if each.annotation is each.empty else each.annotation
            required = each.default is each.empty
            with contextlib.suppress(NoSchema):  # is told below, with the parameter
                hint = made.resolved(hint)
            if is_context(hint):
                contexts.append(each.name)
            elif each.kind is each.VAR_KEYWORD:
                others = made.shape(hint)
            elif each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY):
                raise UsageError(
                    f"the tool {name!r} takes {each.name!r} by position only, but arguments are "
                    "given by name. Take a list instead of '*', and leave out the '/'."
                )
            else:
                declared.append((each.name, hint, MISSING if required else each.default, required))
        about = documentation(function).parameters
        whole = objects(made.fields(declared, about, "parameter {!r}"), others)
    except NoSchema as error:
        text = f"the tool {name!r} cannot be described to Claude because of {error.what}."
        raise UsageError(f"{text} {error.advice}") from error
    definitions = {"$defs": made.definitions} if made.definitions else {}
    return Inputs({**whole.schema, **definitions}, whole.convert, contexts, filled_in)


def plain_function(function: Any) -> Any:
    """The function that was written with ``def``, inside partials, methods and callables."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (types.MethodType, staticmethod, classmethod)):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isfunction(type(function).__call__):  # an object that can be called
            function = type(function).__call__
        else:
            return function


def name_of(function: Any) -> str:
    """The name of a function; of an object that can be called, that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    return str(getattr(function, "__name__", type(function).__name__))


def documentation(function: Any) -> Documentation:
    """What the docstring says; of an object that can be called, that of its class counts too."""
    text = getattr(plain_function(function), "__doc__", None)
    is_partial = isinstance(function, functools.partial)
    return documentation_of(text or (None if is_partial else getattr(function, "__doc__", None)))


def is_unbound(function: Any) -> bool:
    """Whether *function* is a method that still waits for its object."""
    if not inspect.isfunction(function):
        return False
    around = function.__qualname__.split(".")[:-1]
    first = next(iter(inspect.signature(function).parameters), "")
    return bool(around) and around[-1] != "<locals>" and first in ("self", "cls")


def is_context(hint: Any) -> bool:
    """Whether a parameter wants to know about its call."""
    if typing.get_origin(hint) in UNIONS:
        return any(map(is_context, typing.get_args(hint)))
    return isinstance(hint, type) and issubclass(hint, ToolContext)
