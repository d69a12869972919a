"""
What a function takes: its parameters as shapes, and the JSON Schema of them all.

::

    [function -> parameters] -> annotations -> shapes -> JSON Schema, conversion
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional

import typing_extensions

from .errors import UsageError
from .tool_annotations import Inexpressible, enclosing_names
from .tool_containers import Field, object_schema
from .tool_context import ToolContext
from .tool_docstrings import Documentation, documentation_of
from .tool_schemas import NO_DEFAULT, UNIONS, ShapeBuilder, field_of
from .tool_shapes import Anything, Definitions, Shape

__all__ = [
    "Inputs",
    "bound_inputs",
    "documentation",
    "inputs_of",
    "is_unbound",
    "name_of",
    "plain_function",
]


class Inputs(NamedTuple):
    """
    What a function takes.

    Attributes:
        fields: Its parameters, by name.
        others: The shape of further keyword arguments, or None: there are none.
        contexts: The parameters that get the :class:`ToolContext`.
        reserved: The names that arguments cannot have, because something else fills them.
        schema: The JSON Schema of all of it.

    """

    fields: Dict[str, Field]
    others: Optional[Shape]
    contexts: List[str]
    reserved: FrozenSet[str]
    schema: Dict[str, Any]


def inputs_of(function: Callable[..., Any], name: str) -> Inputs:
    """
    What *function*, the tool *name*, takes.

    Raises:
        UsageError: It is of a kind that cannot be a tool, or an annotation has no schema.

    """
    plain = plain_function(function)
    check_kind(plain, name)
    signature = signature_of(function, name)
    builder = ShapeBuilder(getattr(plain, "__globals__", {}), enclosing_names(plain))
    about = documentation(function).parameters
    # What functools.partial has filled in is not for Claude to change.
    fixed = set(function.keywords) if isinstance(function, functools.partial) else set()
    fields: Dict[str, Field] = {}
    others: Optional[Shape] = None
    contexts: List[str] = []
    # A method in the making: its object comes later, whatever the annotation says.
    awaited = next(iter(signature.parameters)) if is_unbound(function) else None
    for parameter in signature.parameters.values():
        if parameter.name in fixed:
            continue
        hint = Any if parameter.name == awaited else hint_of(parameter, builder, name)
        if is_context(hint):
            contexts.append(parameter.name)
            continue
        shape = shape_of(parameter, hint, builder, name)
        if parameter.kind is parameter.VAR_KEYWORD:
            others = shape
            continue
        check_parameter(parameter, name)
        required = parameter.default is parameter.empty
        default = NO_DEFAULT if required else parameter.default
        fields[parameter.name] = field_of(shape, required, default, about.get(parameter.name, ""))
    reserved = frozenset({*fixed, *contexts})
    schema = schema_of(fields, others)
    return Inputs(fields, others, contexts, reserved, schema)


def bound_inputs(inputs: Inputs) -> Inputs:
    """What a method takes once it is bound: all but the first."""
    fields = dict(list(inputs.fields.items())[1:])
    return inputs._replace(fields=fields, schema=schema_of(fields, inputs.others))


def schema_of(fields: Dict[str, Field], others: Optional[Shape]) -> Dict[str, Any]:
    """The JSON Schema of all parameters."""
    definitions = Definitions()
    allowed: Any = False if others is None else others.schema(definitions) or True
    schema = object_schema(fields, definitions, allowed)
    if definitions.schemas:
        schema["$defs"] = definitions.schemas
    return schema


def plain_function(function: Any) -> Any:
    """The function that was written with ``def``, inside partials, methods and callables."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (types.MethodType, staticmethod, classmethod)):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.isroutine(function) or inspect.isclass(function):
            return function
        else:
            called = type(function).__call__
            if not inspect.isfunction(called):
                return function
            function = called


def name_of(function: Any) -> str:
    """The name of a function; of an object that can be called, that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        name = getattr(getattr(function, "__func__", None), "__name__", type(function).__name__)
    return str(name)


def documentation(function: Any) -> Documentation:
    """What the docstring says; of an object that can be called, that of its class counts too."""
    while isinstance(function, functools.partial):
        function = function.func
    found = documentation_of(getattr(plain_function(function), "__doc__", None))
    if found.description or inspect.isroutine(function):
        return found
    own = getattr(function, "__doc__", None)
    return documentation_of(own)._replace(
        parameters={**documentation_of(own).parameters, **found.parameters}
    )


def is_unbound(function: Any) -> bool:
    """Whether *function* is a method that still waits for its object."""
    if not inspect.isfunction(function):
        return False
    around = function.__qualname__.split(".")[:-1]
    first = next(iter(inspect.signature(function).parameters), "")
    return bool(around) and around[-1] != "<locals>" and first in ("self", "cls")


def check_kind(plain: Any, name: str) -> None:
    """Refuse functions that do not return when they are called."""
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise UsageError(
            f"the tool {name!r} is asynchronous. Write it with a plain 'def': tools run on threads "
            "of their own and may wait; call asyncio.run(...) inside if it has to be."
        )
    if inspect.isgeneratorfunction(plain):
        raise UsageError(
            f"the tool {name!r} is a generator, so calling it runs nothing. Return a list instead "
            "of 'yield', and tell how far it is with ToolContext.progress()."
        )
    if inspect.isclass(plain):
        raise UsageError(
            f"the tool {name!r} is a class. Pass a function, or an object that can be called."
        )


def signature_of(function: Any, name: str) -> inspect.Signature:
    """The signature, without what is bound already."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(
            f"the parameters of the tool {name!r} cannot be found. Wrap it into a function of "
            "your own, with annotations."
        ) from None


def check_parameter(parameter: inspect.Parameter, name: str) -> None:
    """Refuse parameters that cannot be given by name."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise UsageError(
            f"the tool {name!r} takes *{parameter.name}, but arguments are given by name. "
            f"Take a list instead, for example {parameter.name}: List[str]."
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise UsageError(
            f"the tool {name!r} takes {parameter.name!r} by position only, but arguments are "
            "given by name. Remove the '/' from its parameters, or wrap it into another function."
        )


def hint_of(parameter: inspect.Parameter, builder: ShapeBuilder, name: str) -> Any:
    """The annotation of a parameter, with all names in it looked up."""
    if parameter.annotation is parameter.empty:
        return Any
    try:
        return builder.resolved(parameter.annotation)
    except Inexpressible as error:
        raise inexpressible(parameter, error, name) from error


def shape_of(parameter: inspect.Parameter, hint: Any, builder: ShapeBuilder, name: str) -> Shape:
    """The shape that the annotation of a parameter stands for."""
    if hint is Any:
        return Anything()
    try:
        return builder.shape(hint)
    except Inexpressible as error:
        raise inexpressible(parameter, error, name) from error


def inexpressible(parameter: inspect.Parameter, error: Inexpressible, name: str) -> UsageError:
    """The error for a parameter whose annotation has no JSON Schema."""
    return UsageError(
        f"the tool {name!r} cannot be described to Claude: its parameter {parameter.name!r} is "
        f"annotated with {error.what}. {error.advice}"
    )


def is_context(hint: Any) -> bool:
    """Whether a parameter wants to know about its call."""
    origin = typing_extensions.get_origin(hint)
    if origin in UNIONS:
        return any(is_context(each) for each in typing_extensions.get_args(hint))
    return origin is None and isinstance(hint, type) and issubclass(hint, ToolContext)
