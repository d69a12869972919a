"""
The shapes of arguments that hold others: lists, tuples, sets, dicts, and classes with fields.

An error inside says where: each container adds its own step to the path. All that is
wrong inside is told at once.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .tool_shapes import (
    Definitions,
    Described,
    Mismatch,
    Mismatches,
    Schema,
    Shape,
    identity,
)

__all__ = ["Array", "Field", "FixedArray", "Record", "Table", "items_of", "object_schema"]


class Array(Shape):
    """Lists of any length, for lists, tuples and sets."""

    expected = "a list"

    def __init__(self, item: Shape, build: Callable[[List[Any]], Any], unique: bool) -> None:
        self.item = item
        self._build = build
        self.unique = unique
        self.hashable = build in (tuple, frozenset) and item.hashable
        if unique:
            self.expected = "a list without duplicates"

    def schema(self, definitions: Definitions) -> Schema:
        schema: Schema = {"type": "array"}
        items = self.item.schema(definitions)
        if items:
            schema["items"] = items
        if self.unique:
            schema["uniqueItems"] = True
        return schema

    def convert(self, value: Any, exact: bool = False) -> Any:
        if not isinstance(value, list):
            raise self.mismatch(value)
        converted = items_of(value, dict.fromkeys(range(len(value)), self.item), exact)
        if self.unique and len(set(map(identity, value))) < len(value):
            raise self.mismatch(value)
        return self._build(list(converted.values()))


class FixedArray(Shape):
    """Lists with one shape for each place, for tuples."""

    def __init__(self, items: Sequence[Shape]) -> None:
        self.items = items
        self.expected = f"a list of {len(items)} values"
        self.hashable = all(item.hashable for item in items)

    def schema(self, definitions: Definitions) -> Schema:
        schema: Schema = {"type": "array"}
        if self.items:
            schema["prefixItems"] = [item.schema(definitions) for item in self.items]
        schema["minItems"] = schema["maxItems"] = len(self.items)
        return schema

    def convert(self, value: Any, exact: bool = False) -> Any:
        if not isinstance(value, list) or len(value) != len(self.items):
            raise self.mismatch(value)
        return tuple(items_of(value, dict(enumerate(self.items)), exact).values())


class Table(Shape):
    """Objects with any keys, for dicts."""

    expected = "an object"
    hashable = False

    def __init__(self, key: Shape, item: Shape) -> None:
        self.key = key
        self.item = item

    def schema(self, definitions: Definitions) -> Schema:
        schema: Schema = {"type": "object"}
        keys, items = self.key.schema(definitions), self.item.schema(definitions)
        if "enum" in keys:
            schema["propertyNames"] = keys
        if items:
            schema["additionalProperties"] = items
        return schema

    def convert(self, value: Any, exact: bool = False) -> Any:
        if not isinstance(value, dict):
            raise self.mismatch(value)
        keys = {}
        for key in value:
            try:
                keys[key] = self.key.convert(key, exact)
            except Mismatch as mismatch:
                raise Mismatch(f"a key is wrong: {mismatch}") from None
        items = items_of(value, dict.fromkeys(value, self.item), exact)
        return {keys[key]: item for key, item in items.items()}


class Field:
    """One named value of a :class:`Record`, or one parameter of a function."""

    def __init__(
        self, shape: Shape, required: bool, description: str = "", extra: Optional[Schema] = None
    ) -> None:
        self.shape = shape
        self.required = required
        self.description = description
        #: Further keywords, such as the default.
        self.extra = extra or {}

    def schema(self, definitions: Definitions) -> Schema:
        """The JSON Schema of the value, with what is known about it."""
        schema = self.shape.schema(definitions)
        # What the annotation itself says goes before the docstring; both before the class.
        if self.description and not isinstance(self.shape, Described):
            schema["description"] = self.description
        schema.update(self.extra)
        return schema


class Record(Shape):
    """Objects with known keys: dataclasses, typed dicts, named tuples."""

    def __init__(
        self,
        fields: Mapping[str, Field],
        build: Callable[[Dict[str, Any]], Any],
        description: str = "",
        hashable: bool = False,
    ) -> None:
        self.fields = fields
        self._build = build
        self.description = description
        self.hashable = hashable and all(field.shape.hashable for field in fields.values())
        names = ", ".join(fields)
        self.expected = f"an object with {names}" if names else "an empty object"

    def schema(self, definitions: Definitions) -> Schema:
        schema = object_schema(self.fields, definitions)
        if self.description:
            schema["description"] = self.description
        return schema

    def convert(self, value: Any, exact: bool = False) -> Any:
        if not isinstance(value, dict):
            raise self.mismatch(value)
        wrong = Mismatches()
        for name in value:
            if name not in self.fields and not wrong.is_full:
                wrong.add(Mismatch(f"unexpected, expected {self.expected}", (name,)))
        for name, field in self.fields.items():
            if field.required and name not in value:
                wrong.add(Mismatch(f"missing, expected {field.shape.expected}", (name,)))
        shapes = {name: field.shape for name, field in self.fields.items() if name in value}
        converted = items_of(value, shapes, exact, wrong)
        try:
            return self._build(converted)
        except Exception as error:
            from .tool_models import mismatch_of

            # The class has rules of its own; what it says about them is what helps.
            raise mismatch_of(error) from error


def object_schema(
    fields: Mapping[str, Field], definitions: Definitions, others: Union[bool, Schema] = False
) -> Schema:
    """The schema of an object with *fields*; *others* is the schema of further ones."""
    schema: Schema = {
        "type": "object",
        "properties": {name: field.schema(definitions) for name, field in fields.items()},
    }
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    return schema


def items_of(
    value: Any, shapes: Mapping[Any, Shape], exact: bool, wrong: Optional[Mismatches] = None
) -> Dict[Any, Any]:
    """Each ``value[step]``, converted; an error says where, after what is *wrong* already."""
    wrong = wrong or Mismatches()
    converted = {}
    for step, shape in shapes.items():
        try:
            converted[step] = shape.convert(value[step], exact)
        except Mismatch as mismatch:
            inside = mismatch.within(step)
            inside.__cause__ = mismatch.__cause__
            wrong.add(inside)
            if wrong.is_full:
                break
    wrong.check()
    return converted
