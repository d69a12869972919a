"""
JSON Schemas that the program gave as a dict: are they any, and what do they say?

Decided here and nowhere else: what is refused as no JSON Schema. Whatever a CLI would
refuse is refused before a CLI is started, because some would go on without a word.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, Tuple

from .errors import UsageError
from .returns_checks import TYPES, problems_of
from .returns_portable import python_pattern
from .tool_annotations import shown_hint
from .tool_shapes import Definitions, Mismatch, Mismatches, Schema, Shape, shown
from .tool_subschemas import adopted, references, subschemas, target

__all__ = ["Given", "checked_schema"]

EXAMPLE = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
ADVICE = f"Write for example {EXAMPLE}, or pass a dataclass or a TypedDict."
# A schema says something only with one of these.
TELLING = frozenset(
    {
        *("$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "if", "items"),
        *("not", "oneOf", "patternProperties", "prefixItems", "properties", "required", "type"),
    }
)
# What makes a schema without a type one of objects.
OF_OBJECTS = frozenset({"additionalProperties", "patternProperties", "properties", "required"})
# Other names of JSON's types.
MEANT = {
    "bool": "boolean",
    "dict": "object",
    "float": "number",
    "int": "integer",
    "list": "array",
    "none": "null",
    "str": "string",
    "text": "string",
    "tuple": "array",
}

Path = Tuple[Any, ...]


class Given(Shape):
    """The values that fit a JSON Schema of the program; they are left as they came."""

    hashable = False
    expected = "what the JSON Schema says"

    def __init__(self, given: Mapping[Any, Any]) -> None:
        self.root = checked_schema(given)

    def schema(self, definitions: Definitions) -> Schema:
        schema = dict(self.root)
        if "type" not in schema and OF_OBJECTS & set(schema):
            schema["type"] = "object"
        return adopted(schema, "Answer", definitions)

    def convert(self, value: Any, exact: bool = False) -> Any:  # noqa: ARG002
        wrong = Mismatches()
        for problem in problems_of(self.root, self.root, value):
            if not wrong.is_full:
                wrong.add(problem)
        wrong.check()
        return value


def checked_schema(given: Mapping[Any, Any]) -> Schema:
    """
    A copy of *given*, which is a JSON Schema.

    Raises:
        UsageError: It is not.

    """
    try:
        schema: Schema = plain_copy(given, ())
        if not TELLING & set(schema):
            raise refused((), not_telling(schema), ADVICE)
        check(schema, ())
        for reference in references(schema):
            check_reference(schema, reference)
    except RecursionError:
        raise refused((), "it contains itself", 'Use "$defs" and "$ref".') from None
    return schema


def refused(path: Path, what: str, advice: str) -> UsageError:
    """The error for something in a schema."""
    where = f"at {str(Mismatch('', path))[:-2]} " if path else ""
    return UsageError(f"returns= got a dict that is no JSON Schema: {where}{what}. {advice}")


def not_telling(schema: Schema) -> str:
    """What is wrong with a dict without a keyword of JSON Schema."""
    if not schema:
        return "it is empty"
    names = ", ".join(repr(name) for name in list(schema)[:5])
    return f'its keys ({names}) are no keywords; names of fields stand under "properties"'


def plain_copy(value: Any, path: Path) -> Any:
    """*value* as JSON has it, so that later changes of the program do not matter."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise refused(path, f"there is the key {key!r}, which is no text", ADVICE)
        return {key: plain_copy(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_copy(inner, (*path, index)) for index, inner in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    what = f"the type {shown_hint(value)}" if isinstance(value, type) else repr(value)
    raise refused(path, f"there is {what}, which is no JSON", ADVICE)


def check(schema: Any, path: Path) -> None:
    """Refuse what is no schema, here and inside."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise refused(path, f"there is {shown(schema)}, but a schema is a dict", ADVICE)
    for keyword, value in schema.items():
        rule = RULES.get(keyword)
        problem = rule(value) if rule is not None else ""
        if problem:
            what = f"there is {shown(value)}, but {problem}"
            raise refused((*path, keyword), what, "Correct it there.")
    for pattern in schema.get("patternProperties", {}):
        if wrong_pattern(pattern):
            what = f"there is {shown(pattern)}, which is no regular expression"
            raise refused((*path, "patternProperties"), what, "Correct it there.")
    for steps, inner in subschemas(schema):
        # Names of properties that need others; not a schema.
        if not (steps[0] == "dependencies" and isinstance(inner, list)):
            check(inner, (*path, *steps))


def check_reference(root: Schema, reference: str) -> None:
    """Refuse a reference that leads nowhere."""
    seen: List[str] = []
    while reference not in seen:
        seen.append(reference)
        try:
            found = target(root, reference)
        except (LookupError, TypeError, ValueError):
            found = None
        if not isinstance(found, (dict, bool)):
            raise refused(
                (),
                f"the reference {reference!r} leads nowhere",
                'References are to places inside the schema, such as "#/$defs/Item".',
            )
        if not isinstance(found, dict) or set(found) != {"$ref"}:
            return
        reference = found["$ref"]
    raise refused((), f"the reference {reference!r} leads to itself", "Define what it means.")


def wrong_type(value: Any) -> str:
    """``type``."""
    names = value if isinstance(value, list) and value else [value]
    for name in names:
        if name == "json_schema":
            return 'the schema itself is to be passed, what is under "schema" or "json_schema"'
        if not isinstance(name, str) or name not in TYPES:
            meant = MEANT.get(str(name).lower())
            hint = f' (did you mean "{meant}"?)' if meant else ""
            return f"a type is one of {', '.join(TYPES)}{hint}"
    return ""


def wrong_names(value: Any) -> str:
    """``required``."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ""
    return 'it is a list of names, next to "properties"'


def wrong_pattern(value: Any) -> str:
    """``pattern``."""
    if not isinstance(value, str):
        return "it is a regular expression"
    if python_pattern(value) is None and not any(mark in value for mark in (r"\p", r"\P", r"\u{")):
        return "it is a regular expression, and this one cannot be read"
    return ""


def must_be(fits: Callable[[Any], bool], what: str) -> Callable[[Any], str]:
    """A rule about the value of a keyword."""
    return lambda value: "" if fits(value) else f"it is {what}"


def is_number(value: Any) -> bool:
    """A number; in Python True is one, in JSON it is not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_count(value: Any) -> bool:
    """A whole number from 0 on."""
    return is_number(value) and value >= 0 and value == int(value)


RULES: Dict[str, Callable[[Any], str]] = {
    "type": wrong_type,
    "required": wrong_names,
    "pattern": wrong_pattern,
    "multipleOf": must_be(lambda value: is_number(value) and value > 0, "a number above 0"),
    "uniqueItems": must_be(lambda value: isinstance(value, bool), "true or false"),
    **dict.fromkeys(
        ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
        must_be(lambda value: isinstance(value, dict), "a dict of schemas by name"),
    ),
    **dict.fromkeys(
        ("allOf", "anyOf", "oneOf", "prefixItems"),
        must_be(lambda value: isinstance(value, list) and bool(value), "a list of schemas"),
    ),
    "enum": must_be(lambda value: isinstance(value, list) and bool(value), "a list of values"),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        must_be(is_number, "a number"),
    ),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        must_be(is_count, "a whole number from 0 on"),
    ),
    **dict.fromkeys(
        ("$ref", "title", "description"), must_be(lambda value: isinstance(value, str), "a text")
    ),
}
