"""
Data of any form, made up: what the offline CLI gives where a model would fill in a form.

It imports nothing that starts slowly: the stand-in is a process of its own.
"""

from __future__ import annotations

import re

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    Schema = Dict[str, Any]

__all__ = ["example_of"]

# Tried one after the other where a pattern is given.
TEXTS = ("echo", "1", "1.50", "2026-03-01", "ECHO", "echo@example.org")

# Optional parts that hold themselves would never end.
DEEPEST = 8
# What the description of a text says of it: "Format: date."
FORMAT = re.compile(r"\bFormat: ([\w-]+)")
SAMPLES = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T14:30:00Z",
    "decimal": "1.50",
    "time": "14:30:00",
    "uuid": "7d444840-9dc0-41d1-b245-5ffdce74fad2",
}


def example_of(schema: Schema) -> Any:
    """A small value that has the form of a JSON Schema, as far as that can be guessed."""
    return example(schema, schema, 0)


def example(schema: Any, root: Schema, depth: int) -> Any:
    """The same for a part of *root*."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None
    if "$ref" in schema:
        return example(referred(schema["$ref"], root), root, depth + 1)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return example(schema[choice][0], root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" or "properties" in schema:
        return an_object(schema, root, depth)
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [example(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    return a_scalar(schema, kind)


def an_object(schema: Schema, root: Schema, depth: int) -> Schema:
    """An object with what it must have; near the top, with all it can have."""
    required = schema.get("required", ())
    return {
        name: example(part, root, depth + 1)
        for name, part in schema.get("properties", {}).items()
        if name in required or depth == 0
    }


def a_scalar(schema: Schema, kind: object) -> Any:
    """A text, a number, a truth value, or nothing."""
    if kind == "integer":
        return max(1, int(schema.get("minimum", 1)))
    if kind == "number":
        return max(1.5, schema.get("minimum", 1.5))
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    described = FORMAT.search(str(schema.get("description", "")))
    sample = SAMPLES.get(described.group(1)) if described else None
    for text in (*filter(None, [sample]), *TEXTS):
        if matches(schema.get("pattern"), text):
            return text.ljust(int(schema.get("minLength", 0)), ".")
    return TEXTS[0]


def matches(pattern: object, text: str) -> bool:
    """Whether *text* will do; a pattern that Python does not understand is not looked at."""
    try:
        return not isinstance(pattern, str) or re.search(pattern, text) is not None
    except re.error:
        return True


def referred(reference: object, root: Schema) -> Any:
    """What ``#/$defs/Name`` stands for."""
    place: Any = root
    for name in str(reference).split("/")[1:]:
        place = place.get(name) if isinstance(place, dict) else None
    return place
