"""
The form of typed answers: what Claude is told about it, and how an answer is read.

::

    returns=T -> [form] -> schema -> CLI -> Claude -> structured output -> [form] -> a T

The schema goes to the CLI, which has Claude fill it in and checks what comes. What the schema
cannot say (a date exists, a class has rules of its own) is found when the form reads it. An
answer by a JSON Schema of the program is taken as the CLI has checked it.

Claude always fills in an object. What is not an object is put into one, under ``items`` or
``value``, and taken out again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..support.text import short_json
from .json_schema import (
    DEFINITIONS,
    MOST_PROBLEMS,
    Mismatch,
    Schema,
    checked_schema,
    portable,
)
from .types import (
    Convert,
    NoSchema,
    Shape,
    Types,
    as_is,
    enclosing_names,
    objects,
    shown_hint,
)

KINDS = (
    "Pass a dataclass, a TypedDict, a Pydantic model, a type such as List[Invoice], "
    "or a JSON Schema as a dict."
)
# How much of what came is repeated to Claude.
LONGEST_REPEATED = 2000
# Keywords that the service does not accept at the top of a schema.
NOT_AT_THE_TOP = {"allOf", "anyOf", "oneOf"}
# What makes a schema without a type one of objects.
OF_OBJECTS = {"additionalProperties", "patternProperties", "properties", "required"}


class Form:
    """
    What answers look like.

    Attributes:
        name: What it is, for messages: "Invoice", "List[Invoice]".
        schema: The JSON Schema for the CLI; equal for equal types.

    """

    def __init__(self, name: str, schema: Schema, convert: Convert) -> None:
        self.name = name
        self._convert = convert
        self._key = ""
        first, _, name = str(schema.get("$ref", "")).removeprefix("#/").partition("/")
        if name in schema.get(first, {}):  # the service wants to see an object at the top
            schema = {**schema[first][name], **schema}
            del schema["$ref"]
        kind = schema.get("type")
        if kind != "object" or NOT_AT_THE_TOP & set(schema):
            self._key = "items" if kind == "array" else "value"
            definitions = {each: schema[each] for each in DEFINITIONS if each in schema}
            inner = {each: schema[each] for each in schema if each not in DEFINITIONS}
            whole = objects({self._key: Shape(inner, convert)})
            self._convert = whole.convert
            schema = {**whole.schema, **definitions}
        self.schema: Schema = portable(schema)

    def __repr__(self) -> str:
        return f"<Form {self.name}>"

    def read(self, output: Any) -> Any:
        """
        Make the value of *output*, the structured output of a result.

        Raises:
            Mismatch: It does not have this form, or it is None: there was none.

        """
        if not isinstance(output, dict):
            what = "no structured output" if output is None else short_json(output)
            raise Mismatch(((), f"expected {self.name}, but {what} came"))
        try:
            value = self._convert(output)
        except RecursionError:
            raise Mismatch(((), "nested too deeply")) from None
        return value[self._key] if self._key else value

    def retry_prompt(self, problems: Sequence[str], got: Any) -> str:
        """What to tell Claude after an answer, *got*, that had *problems*; None: nothing came."""
        again = "Give the complete answer again by calling the StructuredOutput tool"
        if got is None:
            return f"Your answer did not come in the required form. {again}."
        told = [f"- {problem}" for problem in problems[:MOST_PROBLEMS]]
        if len(problems) > MOST_PROBLEMS:
            told.append(f"- and {len(problems) - MOST_PROBLEMS} more of this kind")
        came = f"This came: {short_json(got, LONGEST_REPEATED)}"
        first = "Your answer does not have the required form:"
        return "\n".join([first, *told, came, f"{again}, with all of this put right."])


def form_of(wanted: Any) -> Form:
    """
    The form of the answers that ``returns=wanted`` asks for.

    Raises:
        UsageError: Nothing can be made of it; the text says what to pass instead.

    """
    if isinstance(wanted, Mapping):
        schema = checked_schema(wanted)
        if "type" not in schema and OF_OBJECTS & set(schema):
            schema = {"type": "object", **schema}
        return Form("what the JSON Schema says", schema, as_is)
    name = re.sub(r"[\w<>]+\.", "", shown_hint(wanted))
    if isinstance(wanted, (list, tuple)):
        raise refused(wanted, f"{name} is not a type. For a list write List[Invoice].")
    if wanted is None or isinstance(wanted, str):
        raise refused(wanted, f"{wanted!r} is not a type. {KINDS} Pass the class, not its name.")
    made = Types(enclosing_names(wanted))
    try:
        shape = made.shape(wanted)
    except NoSchema as error:
        why = "" if error.what == shown_hint(wanted) else f" because of {error.what}"
        text = f"{name} has no JSON Schema{why}. {KINDS} {error.advice}"
        raise refused(wanted, text) from error
    if shape.schema.get("properties") == {}:
        text = f"{name} has no fields to fill in. Annotate them in the class: 'total: float'."
        raise refused(wanted, text)
    schema = {**shape.schema, "$defs": made.definitions} if made.definitions else shape.schema
    return Form(name, schema, shape.convert)


def refused(wanted: Any, text: str) -> UsageError:
    """The error for something that cannot be a form."""
    return UsageError(f"returns={text}", option="returns", value=wanted)
