"""
The form of typed answers: what Claude is told about it, and how an answer is read.

::

    returns=T -> [form] -> schema -> CLI -> Claude -> structured output -> [form] -> a T

:func:`form_of` makes a form of a type or a JSON Schema. Its schema goes to the CLI, which
has Claude fill it in and checks it; the form reads what came. What the schema cannot say
(a date exists, a class has rules of its own) is found out then, and told to Claude.

Claude fills in an object, always. What is no object is put into one, under ``items`` or
``value``, and taken out again.
"""

from __future__ import annotations

import enum
import json
import re
import types
import typing
from typing import Any, List, Mapping, Optional, Sequence

import typing_extensions

from .errors import UsageError
from .returns_portable import portable
from .returns_schemas import Given
from .tool_annotations import POSSIBLE, USABLE, Inexpressible, enclosing_names, shown_hint
from .tool_containers import Field, Record
from .tool_schemas import UNIONS, ShapeBuilder
from .tool_shapes import Definitions, Recursive, Schema, Shape, shown
from .tool_shapes import Mismatch as ShapeMismatch
from .tool_subschemas import target

__all__ = ["Form", "Mismatch", "form_of"]

KINDS = (
    "Pass a dataclass, a TypedDict, a Pydantic model, a type such as List[Invoice], "
    "or a JSON Schema as a dict."
)
# Keywords that the service does not accept at the top of a schema.
NOT_AT_THE_TOP = ("allOf", "anyOf", "oneOf")
# How many problems are told to Claude at once, and how much of what came.
PROBLEMS = 20
REPEATED = 2000


class Mismatch(Exception):
    """
    An answer does not have its form.

    Attributes:
        problems: What is wrong with it, one text for each place.

    """

    def __init__(self, problems: List[str]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "; ".join(self.problems)


class Form:
    """
    What answers look like.

    Attributes:
        name: What it is, for messages: "Invoice", "list of Invoice".
        schema: The JSON Schema for the CLI; equal for equal types.

    """

    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name
        self._shape = shape
        schema = schema_of(shape)
        if not is_object(schema):
            key = "items" if schema.get("type") == "array" else "value"
            self._shape = Record({key: Field(shape, True)}, lambda values: values[key])
            schema = schema_of(self._shape)
        self.schema: Schema = portable(schema)

    def __repr__(self) -> str:
        return f"<Form {self.name}>"

    def read(self, output: Any) -> Any:
        """
        The value that *output*, the structured output of a result, stands for.

        Raises:
            Mismatch: It does not have this form, or it is None: there was none.

        """
        if output is None:
            raise Mismatch([f"expected {self.name}, but no structured output came"])
        try:
            return self._shape.convert(output)
        except ShapeMismatch as mismatch:
            problems = [str(each) for each in mismatch.every()]
            raise Mismatch(problems) from mismatch.__cause__
        except RecursionError:
            raise Mismatch(["nested too deeply"]) from None

    def retry_prompt(self, problems: Sequence[str], got: Any) -> str:
        """What to tell Claude after an answer, *got*, that had *problems*; None: nothing came."""
        if got is None:
            return (
                "Your answer did not come in the required form. Give the complete answer again "
                "by calling the StructuredOutput tool."
            )
        told = [f"- {problem}" for problem in problems[:PROBLEMS]]
        if len(problems) > PROBLEMS:
            told.append(f"- and {len(problems) - PROBLEMS} more of this kind")
        return "\n".join(
            [
                "Your answer does not have the required form:",
                *told,
                f"This came: {shortened(got)}",
                "Give the complete answer again in the required form, by calling the "
                "StructuredOutput tool, with all of this put right.",
            ]
        )


def form_of(wanted: Any) -> Form:
    """
    The form of the answers that ``returns=wanted`` asks for.

    Raises:
        UsageError: Nothing can be made of it; the text says what to pass instead.

    """
    if isinstance(wanted, Mapping):
        return Form("the JSON Schema", Given(wanted))
    refuse_values(wanted)
    builder = ShapeBuilder({}, enclosing_names(wanted))
    try:
        shape = builder.shape(wanted)
    except Inexpressible as error:
        raise inexpressible(wanted, error) from error
    refuse_empty(wanted, shape)
    return Form(name_of(wanted), shape)


def schema_of(shape: Shape) -> Schema:
    """The JSON Schema of a shape, with its definitions; at the top no reference stands alone."""
    definitions = Definitions()
    schema = shape.schema(definitions)
    whole = {**schema, "$defs": definitions.schemas}
    seen: List[str] = []
    while "$ref" in whole and whole["$ref"] not in seen:
        seen.append(whole["$ref"])
        found = target(whole, whole.pop("$ref"))
        whole = {**found, **whole} if isinstance(found, dict) else whole
    if not definitions.schemas:
        del whole["$defs"]
    return whole


def is_object(schema: Schema) -> bool:
    """Whether the schema can be at the top: only objects, and told in a plain way."""
    return schema.get("type") == "object" and not any(key in schema for key in NOT_AT_THE_TOP)


def name_of(hint: Any) -> str:
    """What a type is called in messages."""
    origin = typing_extensions.get_origin(hint)
    arguments = [each for each in typing_extensions.get_args(hint) if each is not Ellipsis]
    if origin is typing_extensions.Annotated:
        return name_of(arguments[0])
    if origin in UNIONS:
        return " or ".join(map(name_of, arguments))
    if origin in (typing.Literal, typing_extensions.Literal):
        return " or ".join(map(shown_choice, arguments))
    if isinstance(origin, type) and arguments:
        # Of a dict the values count; its keys are texts.
        of_what = arguments[-1:] if issubclass(origin, Mapping) else arguments
        if origin.__module__ not in ("builtins", "collections", "collections.abc"):
            return f"{origin.__name__}[{', '.join(map(name_of, arguments))}]"
        return f"{origin.__name__.lower()} of {', '.join(map(name_of, of_what))}"
    if hint is type(None):
        return "None"
    name = getattr(hint, "__name__", None)
    return name if isinstance(name, str) else shown_hint(hint)


def shown_choice(value: Any) -> str:
    """A value of Literal."""
    return str(value) if isinstance(value, enum.Enum) else shown(value)


def refuse_values(wanted: Any) -> None:
    """Refuse what is no type at all, with what was probably meant."""
    if wanted is None:
        raise UsageError(f"returns=None asks for no form. {KINDS}")
    if isinstance(wanted, str):
        raise UsageError(f"returns={wanted!r} is a text. {KINDS} Pass the class, not its name.")
    if isinstance(wanted, (list, tuple, set)):
        inner = name_of(next(iter(wanted), "Invoice"))
        raise UsageError(
            f"returns={wanted!r} is a {type(wanted).__name__} of types, not a type. "
            f"For a list of them write List[{inner}]."
        )
    if isinstance(wanted, types.FunctionType) and not hasattr(wanted, "__supertype__"):
        raise UsageError(f"returns={wanted.__qualname__} is a function. {KINDS}")
    is_hint = typing_extensions.get_origin(wanted) is not None or isinstance(wanted, type)
    if not is_hint and hasattr(type(wanted), "__dataclass_fields__"):
        name = type(wanted).__name__
        raise UsageError(f"returns= got an object of {name}. Pass the class itself: {name}.")


def refuse_empty(wanted: Any, shape: Shape) -> None:
    """Refuse a class with no field that Claude could fill in."""
    inner: Optional[Shape] = shape.inner if isinstance(shape, Recursive) else shape
    if isinstance(inner, Record) and not inner.fields:
        raise UsageError(
            f"returns={shown_hint(wanted)} has no fields to fill in. Annotate them in the class: "
            "'total: float'."
        )


def inexpressible(wanted: Any, error: Inexpressible) -> UsageError:
    """The error for a type without a JSON Schema."""
    advice = f"{USABLE}; or Any, for whatever comes." if error.advice == POSSIBLE else error.advice
    shown_type = re.sub(r"[\w<>]+\.", "", shown_hint(wanted))
    if has_quotes(wanted):
        advice = "Write the class itself, not its name in quotes."
    if error.what == shown_hint(wanted):
        if isinstance(wanted, type):
            return UsageError(
                f"returns={shown_type} is a class of unknown fields. Make it a dataclass: "
                f"@dataclasses.dataclass above the class, and 'name: type' for each field. {KINDS}"
            )
        return UsageError(f"returns={shown_type} has no JSON Schema. {KINDS}")
    return UsageError(f"returns={shown_type} has no JSON Schema because of {error.what}. {advice}")


def has_quotes(hint: Any) -> bool:
    """Whether a type is given by a name in quotes, which nobody can look up here."""
    if isinstance(hint, (str, typing.ForwardRef)):
        return True
    is_literal = typing_extensions.get_origin(hint) in (typing.Literal, typing_extensions.Literal)
    return not is_literal and any(map(has_quotes, typing_extensions.get_args(hint)))


def shortened(got: Any) -> str:
    """What came, as JSON, not longer than Claude needs to know it again."""
    try:
        text = json.dumps(got, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(got)
    return text if len(text) <= REPEATED else text[: REPEATED - 3] + "..."
