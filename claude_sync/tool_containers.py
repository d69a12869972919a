"""
The shapes of arguments that hold others: lists, tuples, sets, dicts, and classes with fields.

An error inside says where: each container adds its own step to the path.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .tool_shapes import Definitions, Described, Mismatch, Schema, Shape, identity

__all__ = ["Array", "Field", "FixedArray", "Record", "Table", "item_of", "object_schema"]


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
        converted = [item_of(value, index, self.item, exact) for index in range(len(value))]
        if self.unique and len(set(map(identity, value))) < len(value):
            raise self.mismatch(value)
        return self._build(converted)


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
        return tuple(item_of(value, index, item, exact) for index, item in enumerate(self.items))


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
        table = {}
        for key in value:
            try:
                converted = self.key.convert(key, exact)
            except Mismatch as mismatch:
                raise Mismatch(f"a key is wrong: {mismatch}") from None
            table[converted] = item_of(value, key, self.item, exact)
        return table


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
        for name in value:
            if name not in self.fields:
                raise Mismatch(f"unexpected, expected {self.expected}", (name,))
        converted = {}
        for name, field in self.fields.items():
            if name in value:
                converted[name] = item_of(value, name, field.shape, exact)
            elif field.required:
                raise Mismatch(f"missing, expected {field.shape.expected}", (name,))
        try:
            return self._build(converted)
        except Exception as error:
            # The class has rules of its own; what it says about them is what helps.
            raise Mismatch(f"{type(error).__name__}: {error}") from error


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


def item_of(value: Any, step: Union[str, int], shape: Shape, exact: bool) -> Any:
    """``value[step]``, converted; an error says that it was there."""
    try:
        return shape.convert(value[step], exact)
    except Mismatch as mismatch:
        raise mismatch.within(step) from mismatch.__cause__
