"""
Checks an answer against a JSON Schema that the program gave.

The CLI has done so before, with a schema in the words it understands; see
``returns_portable``. Formats are not looked at, and keywords that are not known say
nothing, as the standard has it.
"""

from __future__ import annotations

import operator
import re
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .returns_portable import python_pattern
from .tool_shapes import Mismatch, Schema, identity, shown
from .tool_subschemas import target

__all__ = ["TYPES", "problems_of"]

Rule = Callable[[Schema, Schema, Any], Iterator[Mismatch]]

NUMBERS = (int, float)
# What each type of JSON is in words, and in Python.
TYPES: Dict[str, Tuple[str, Tuple[type, ...]]] = {
    "array": ("a list", (list,)),
    "boolean": ("true or false", (bool,)),
    "integer": ("an integer", (int,)),
    "null": ("null", (type(None),)),
    "number": ("a number", NUMBERS),
    "object": ("an object", (dict,)),
    "string": ("a string", (str,)),
}
# Keyword: for which values, what of them is compared, how, and the text if it fails.
LIMITS: Dict[str, Tuple[Tuple[type, ...], Any, Callable[[Any, Any], bool], str]] = {
    "exclusiveMaximum": (NUMBERS, None, operator.lt, "expected a number below {}"),
    "exclusiveMinimum": (NUMBERS, None, operator.gt, "expected a number above {}"),
    "maxItems": ((list,), len, operator.le, "expected at most {} items"),
    "maxLength": ((str,), len, operator.le, "expected at most {} characters"),
    "maxProperties": ((dict,), len, operator.le, "expected at most {} properties"),
    "maximum": (NUMBERS, None, operator.le, "expected a number of at most {}"),
    "minItems": ((list,), len, operator.ge, "expected at least {} items"),
    "minLength": ((str,), len, operator.ge, "expected at least {} characters"),
    "minProperties": ((dict,), len, operator.ge, "expected at least {} properties"),
    "minimum": (NUMBERS, None, operator.ge, "expected a number of at least {}"),
    "multipleOf": (
        NUMBERS,
        None,
        lambda value, step: is_multiple(value, step),
        "expected a multiple of {}",
    ),
}


def problems_of(root: Schema, schema: Any, value: Any) -> List[Mismatch]:
    """What is wrong with *value* by *schema*, a part of *root*."""
    if isinstance(schema, bool):
        return [] if schema else [Mismatch(f"unexpected: {shown(value)}")]
    found = list(wrong_type(schema, value))
    if found:
        # The other keywords would say the same in other words.
        return found
    if "$ref" in schema:
        found.extend(problems_of(root, target(root, schema["$ref"]), value))
    for keyword, limit in schema.items():
        if keyword in LIMITS:
            found.extend(beyond(keyword, limit, value))
    for rule in RULES:
        found.extend(rule(root, schema, value))
    return found


def inside(root: Schema, schema: Any, value: Any, step: Any) -> Iterator[Mismatch]:
    """What is wrong with ``value[step]``."""
    for problem in problems_of(root, schema, value[step]):
        yield problem.within(step)


def wrong_type(schema: Schema, value: Any) -> Iterator[Mismatch]:
    """The keyword ``type``."""
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if schema.get("nullable") is True and names:
        names = [*names, "null"]
    if names and not any(has_type(name, value) for name in names):
        expected = " or ".join(TYPES[name][0] for name in names)
        yield Mismatch(f"expected {expected}, got {shown(value)}")


def has_type(name: str, value: Any) -> bool:
    """Whether *value* has a type of JSON."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name][1])


def beyond(keyword: str, limit: Any, value: Any) -> Iterator[Mismatch]:
    """The keywords that limit something."""
    kinds, measure, fits, text = LIMITS[keyword]
    if not isinstance(value, kinds) or isinstance(value, bool):
        return
    if not fits(measure(value) if measure else value, limit):
        got = measure(value) if measure else shown(value)
        yield Mismatch(f"{text.format(shown(limit))}, got {got}")


def is_multiple(value: Any, step: Any) -> bool:
    """Whether *value* is a multiple of *step*, by their digits: 0.3 is one of 0.1."""
    from fractions import Fraction

    return Fraction(str(value)) % Fraction(str(step)) == 0


def wrong_choice(root: Schema, schema: Schema, value: Any) -> Iterator[Mismatch]:  # noqa: ARG001
    """``enum`` and ``const``."""
    for keyword in ("enum", "const"):
        if keyword in schema:
            choices = schema[keyword] if keyword == "enum" else [schema[keyword]]
            if schema.get("nullable") is True and value is None:
                continue
            if identity(value) not in set(map(identity, choices)):
                told = ", ".join(shown(choice) for choice in choices)
                expected = told if len(choices) == 1 else f"one of {told}"
                yield Mismatch(f"expected {expected}, got {shown(value)}")


def wrong_alternatives(root: Schema, schema: Schema, value: Any) -> Iterator[Mismatch]:
    """``allOf``, ``anyOf``, ``oneOf``, ``not`` and ``if``."""
    for each in schema.get("allOf", ()):
        yield from problems_of(root, each, value)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            tried = [problems_of(root, each, value) for each in schema[keyword]]
            fitting = sum(not problems for problems in tried)
            if not fitting:
                yield from nearest(tried)
            elif fitting > 1 and keyword == "oneOf":
                yield Mismatch(
                    f"expected exactly one of {len(tried)} forms, but {shown(value)} fits {fitting}"
                )
    if "not" in schema and not problems_of(root, schema["not"], value):
        yield Mismatch(f"{shown(value)} is what the schema excludes (not)")
    if "if" in schema:
        branch = "else" if problems_of(root, schema["if"], value) else "then"
        yield from problems_of(root, schema.get(branch, True), value)


def nearest(tried: List[List[Mismatch]]) -> List[Mismatch]:
    """What to tell when nothing fits: where only one was right from the outside, its inside."""
    inner = [problems for problems in tried if all(problem.path for problem in problems)]
    if len(inner) == 1:
        return inner[0]
    told = list(dict.fromkeys(str(problem) for problems in tried for problem in problems[:1]))
    return [Mismatch(f"fits none of {len(tried)} forms: {'; '.join(told)}")]


def wrong_properties(root: Schema, schema: Schema, value: Any) -> Iterator[Mismatch]:
    """What is about objects."""
    if not isinstance(value, dict):
        return
    for name in schema.get("required", ()):
        if name not in value:
            yield Mismatch("missing", (name,))
    for name in value:
        known = [schema["properties"][name]] if name in schema.get("properties", {}) else []
        for pattern, inner in schema.get("patternProperties", {}).items():
            if is_found(pattern, name):
                known.append(inner)
        others = schema.get("additionalProperties", True)
        if not known and others is False:
            expected = ", ".join(schema.get("properties", {})) or "none"
            yield Mismatch(f"unexpected, the properties are: {expected}", (name,))
            continue
        for inner in known or [others]:
            yield from inside(root, inner, value, name)
        for problem in problems_of(root, schema.get("propertyNames", True), name):
            yield Mismatch(f"a key is wrong: {problem}")


def wrong_items(root: Schema, schema: Schema, value: Any) -> Iterator[Mismatch]:
    """What is about lists."""
    if not isinstance(value, list):
        return
    places, rest = schema.get("prefixItems", []), schema.get("items", True)
    if isinstance(rest, list):
        places, rest = rest, schema.get("additionalItems", True)
    for index in range(len(value)):
        inner = places[index] if index < len(places) else rest
        yield from inside(root, inner, value, index)
    if schema.get("uniqueItems") is True and len(set(map(identity, value))) < len(value):
        yield Mismatch(f"expected a list without duplicates, got {shown(value)}")
    contained = schema.get("contains")
    if contained is not None and all(problems_of(root, contained, each) for each in value):
        yield Mismatch(f"expected an item that fits {shown(contained)}, got {shown(value)}")


def wrong_text(root: Schema, schema: Schema, value: Any) -> Iterator[Mismatch]:  # noqa: ARG001
    """``pattern``."""
    pattern = schema.get("pattern")
    if isinstance(value, str) and pattern is not None and not is_found(pattern, value, True):
        yield Mismatch(f"expected a text that matches {pattern}, got {shown(value)}")


def is_found(pattern: str, text: str, unknown: bool = False) -> bool:
    """Whether *pattern* is in *text*; *unknown*, if only the CLI understands it."""
    spelled: Optional[str] = python_pattern(pattern)
    return unknown if spelled is None else re.search(spelled, text) is not None


RULES: Tuple[Rule, ...] = (
    wrong_choice,
    wrong_alternatives,
    wrong_properties,
    wrong_items,
    wrong_text,
)
