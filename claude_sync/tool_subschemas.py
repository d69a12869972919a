"""
Where schemas stand inside a JSON Schema, and what they refer to.

Only what stands in the place of a schema is looked at: a property that happens to be
called ``format``, or a default that has a key ``$ref``, is left alone.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from .tool_shapes import Definitions, Schema

__all__ = ["DEFINITIONS", "adopted", "references", "subschemas", "target", "with_subschemas"]

# Keywords whose value is a schema, a list of schemas, or schemas by name.
ONE = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if"),
        *("items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
SEVERAL = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
DEFINITIONS = ("$defs", "definitions")
NAMED = frozenset(
    {*DEFINITIONS, "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

Step = Tuple[Any, ...]


def subschemas(schema: Schema) -> Iterator[Tuple[Step, Any]]:
    """What stands directly in *schema* in the place of a schema, and the steps to it."""
    for keyword, value in schema.items():
        if keyword in SEVERAL and isinstance(value, list):
            for index, inner in enumerate(value):
                yield (keyword, index), inner
        elif keyword in NAMED and isinstance(value, dict):
            for name, inner in value.items():
                yield (keyword, name), inner
        elif keyword in ONE:
            yield (keyword,), value


def with_subschemas(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """A copy of *schema* in which each schema directly inside is what *change* makes of it."""
    copy: Schema = {}
    for keyword, value in schema.items():
        if isinstance(value, list):
            copy[keyword] = list(value)
        else:
            copy[keyword] = dict(value) if isinstance(value, dict) else value
    for steps, inner in subschemas(schema):
        if not isinstance(inner, dict):
            continue
        if len(steps) == 1:
            copy[steps[0]] = change(inner)
        else:
            copy[steps[0]][steps[1]] = change(inner)
    return copy


def references(schema: Schema) -> Iterator[str]:
    """Every ``$ref`` in *schema*, at any depth."""
    if isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for _, inner in subschemas(schema):
        if isinstance(inner, dict):
            yield from references(inner)


def target(root: Schema, reference: str) -> Any:
    """
    What *reference*, such as ``#/$defs/Item``, means in *root*.

    Raises:
        LookupError: There is nothing, or it is not inside *root*.

    """
    found: Any = root
    for step in steps_of(reference):
        found = found[int(step)] if isinstance(found, list) and step.isdigit() else found[step]
    return found


def steps_of(reference: str) -> List[str]:
    """The steps of a reference from the root to its target."""
    from urllib.parse import unquote

    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(reference)
    steps = unquote(reference).split("/")[1:]
    return [step.replace("~1", "/").replace("~0", "~") for step in steps]


def adopted(schema: Schema, name: str, definitions: Definitions) -> Schema:
    """
    *schema*, made elsewhere, as a part of another one.

    What it defines moves to *definitions*, and references follow. One that refers to
    itself becomes a definition called *name*.
    """
    own: Dict[Tuple[str, ...], Tuple[str, Schema]] = {}
    for keyword in DEFINITIONS:
        for key, inner in schema.get(keyword, {}).items():
            own[(keyword, key)] = (key, as_dict(inner))
    rest = {key: value for key, value in schema.items() if key not in DEFINITIONS}
    if any(tuple(steps_of(reference)[:2]) not in own for reference in references(schema)):
        own[()] = (name, rest)
    names: Dict[Tuple[str, ...], str] = {}
    for place, (wanted, inner) in own.items():
        meaning = reachable(inner, own, {})
        names[place] = definitions.name_for(re.sub(r"[^\w.-]", "_", wanted), (inner, meaning))
    for place, (_, inner) in own.items():
        definitions.schemas[names[place]] = retargeted(inner, names)
    return {"$ref": f"#/$defs/{names[()]}"} if () in own else retargeted(rest, names)


def as_dict(schema: Any) -> Schema:
    """*schema*, which may be true or false: anything, or nothing."""
    if isinstance(schema, dict):
        return schema
    return {} if schema else {"not": {}}


def reachable(
    schema: Schema,
    own: Mapping[Tuple[str, ...], Tuple[str, Schema]],
    found: Dict[Tuple[str, ...], Schema],
) -> Dict[Tuple[str, ...], Schema]:
    """The definitions that *schema* needs; those that are in *found* are done."""
    for reference in references(schema):
        place = tuple(steps_of(reference)[:2])
        place = place if place in own else ()
        if place not in found:
            found[place] = own[place][1]
            reachable(found[place], own, found)
    return found


def retargeted(schema: Schema, names: Mapping[Tuple[str, ...], str]) -> Schema:
    """*schema* with each reference to a place among *names* as one to that definition."""
    changed = with_subschemas(schema, lambda inner: retargeted(inner, names))
    if isinstance(changed.get("$ref"), str):
        steps = steps_of(changed["$ref"])
        place = tuple(steps[:2]) if tuple(steps[:2]) in names else ()
        further = [step.replace("~", "~0").replace("/", "~1") for step in steps[len(place) :]]
        changed["$ref"] = "/".join([f"#/$defs/{names[place]}", *further])
    return changed
