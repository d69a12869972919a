"""JSON Schemas that the program gave: what is none is refused, with advice."""

from __future__ import annotations

import collections
import decimal
import types
from typing import List

import pytest

from claude_sync.errors import UsageError
from claude_sync.returns_schemas import Given, checked_schema
from claude_sync.tool_shapes import Definitions, Mismatch

TEXT = {"type": "string"}


def refusal(schema):
    """What the program is told."""
    with pytest.raises(UsageError) as caught:
        checked_schema(schema)
    return str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": ["object", "null"]},
        {"properties": {"type": TEXT, "required": TEXT}},
        {"enum": [1]},
        {"const": None},
        {"anyOf": [TEXT, True]},
        {"$ref": "#/$defs/A", "$defs": {"A": True}},
        {"$ref": "#/definitions/A/items/0", "definitions": {"A": {"items": [TEXT]}}},
        {"$ref": "#/$defs/A%20b", "$defs": {"A b": {"$ref": "#"}}, "type": "object"},
        {"type": "object", "x-note": {"a": [1.5, None]}},
        {"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        {"type": "string", "pattern": r"^\p{L}$"},
        {"type": "string", "pattern": "(?<x>a)"},
        {"type": "object", "patternProperties": {r"^\p{L}": TEXT}},
        {"type": "number", "minimum": -1.5, "multipleOf": 0.5},
        {"type": "string", "minLength": 2.0},
    ],
    ids=str,
)
def test_a_json_schema_is_accepted_as_it_is(schema):
    """What is not known is left alone."""
    assert checked_schema(schema) == schema


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({}, ["it is empty", '"properties"']),
        ({"name": TEXT}, ["'name'", 'under "properties"', "dataclass"]),
        ({"name": "string"}, ["'name'", 'under "properties"']),
        ({"title": "Answer"}, ["'title'", '{"type": "object"']),
        ({"name": str}, ["at name", "the type str", '{"type": "object"']),
        ({"type": "object", "properties": {"a": int}}, ["at properties.a", "the type int"]),
        ({"name": List[int]}, ["at name", "List[int]"]),
        ({"type": "object", "default": decimal.Decimal(1)}, ["at default", "Decimal"]),
        ({"type": "number", "default": float("nan")}, ["at default", "nan"]),
        ({1: TEXT, "type": "object"}, ["key 1"]),
        ({"type": "str"}, ["at type", '"str"', 'did you mean "string"?']),
        ({"type": "Dict"}, ['did you mean "object"?']),
        ({"type": "sting"}, ['"sting"', "array, boolean, integer, null, number, object, string"]),
        ({"type": ["string", "int"]}, ['did you mean "integer"?']),
        ({"type": []}, ["at type", "[]"]),
        ({"type": TEXT}, ["at type", "a type is one of"]),
        ({"type": "json_schema", "schema": TEXT}, ["the schema itself", '"schema"']),
        ({"type": "object", "properties": ["a"]}, ["at properties", "dict of schemas"]),
        ({"properties": {"a": "string"}}, ["at properties.a", '"string"', "a schema is a dict"]),
        ({"type": "string", "required": True}, ["at required", "list of names"]),
        ({"required": [1]}, ["at required", "list of names"]),
        ({"enum": []}, ["at enum", "list of values"]),
        ({"anyOf": []}, ["at anyOf", "list of schemas"]),
        ({"anyOf": TEXT}, ["at anyOf", "list of schemas"]),
        ({"items": "string"}, ["at items", "a schema is a dict"]),
        ({"additionalProperties": "no"}, ["at additionalProperties"]),
        ({"type": "number", "exclusiveMinimum": True}, ["at exclusiveMinimum", "a number"]),
        ({"type": "number", "multipleOf": 0}, ["at multipleOf", "above 0"]),
        ({"type": "string", "minLength": -1}, ["at minLength", "from 0 on"]),
        ({"type": "string", "minLength": 1.5}, ["at minLength", "from 0 on"]),
        ({"type": "array", "uniqueItems": 1}, ["at uniqueItems", "true or false"]),
        ({"type": "string", "pattern": "("}, ["at pattern", '"("', "cannot be read"]),
        ({"type": "string", "pattern": 1}, ["at pattern", "regular expression"]),
        ({"patternProperties": {"(": TEXT}}, ["at patternProperties", '"("']),
        ({"type": "string", "description": 1}, ["at description", "a text"]),
        ({"items": {"anyOf": [TEXT, {"type": "x"}]}}, ["at items.anyOf[1].type"]),
        ({"$ref": "#/$defs/A"}, ["'#/$defs/A' leads nowhere", "#/$defs/Item"]),
        ({"$ref": "#/enum/x", "enum": [1]}, ["leads nowhere"]),
        ({"$ref": "#/enum/0", "enum": [1]}, ["leads nowhere"]),
        ({"$ref": "#/title/x", "title": "t"}, ["leads nowhere"]),
        ({"$ref": "other.json#/A"}, ["'other.json#/A' leads nowhere"]),
        ({"$ref": "#A"}, ["leads nowhere"]),
        ({"$ref": 1}, ["at $ref", "a text"]),
        ({"$ref": "#"}, ["leads to itself"]),
        (
            {
                "$ref": "#/$defs/A",
                "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}},
            },
            ["leads to itself"],
        ),
    ],
    ids=str,
)
def test_what_is_no_json_schema_is_refused(schema, told):
    """The text says where, what is wrong, and what to write."""
    text = refusal(schema)
    assert text.startswith("returns= got a dict that is no JSON Schema: ")
    assert [part for part in told if part not in text] == []


def test_a_dict_that_contains_itself_is_refused():
    """JSON has no such thing."""
    schema = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    assert "$ref" in refusal(schema)


def test_any_mapping_and_sequence_will_do():
    """They become plain ones."""
    given = types.MappingProxyType(
        collections.OrderedDict(type=("object", "null"), properties={"a": TEXT})
    )
    schema = checked_schema(given)
    assert schema == {"type": ["object", "null"], "properties": {"a": TEXT}}
    assert type(schema) is dict


def test_what_is_given_stays_as_it_came():
    """Nothing is converted."""
    value = {"a": 1.0}
    assert Given({"properties": {"a": {"type": "integer"}}}).convert(value) is value
    with pytest.raises(Mismatch, match="a: expected an integer"):
        Given({"properties": {"a": {"type": "integer"}}}).convert({"a": "x"})


@pytest.mark.parametrize(
    ("schema", "made", "definitions"),
    [
        ({"properties": {}}, {"properties": {}, "type": "object"}, {}),
        ({"enum": [1]}, {"enum": [1]}, {}),
        (
            {"items": {"$ref": "#/$defs/A"}, "$defs": {"A": TEXT}},
            {"items": {"$ref": "#/$defs/A"}},
            {"A": TEXT},
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#"}}},
            {"$ref": "#/$defs/Answer"},
            {"Answer": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Answer"}}}},
        ),
    ],
    ids=str,
)
def test_definitions_move_to_the_top(schema, made, definitions):
    """So that the schema can be a part of another one; the type of objects is added."""
    found = Definitions()
    assert Given(schema).schema(found) == made
    assert found.schemas == definitions
