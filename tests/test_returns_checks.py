"""Answers are checked against the JSON Schema of the program."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_sync.returns_checks import problems_of

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def told(schema, value):
    """What is wrong, as texts."""
    return [str(problem) for problem in problems_of(schema, schema, value)]


@pytest.mark.parametrize(
    ("schema", "fitting", "wrong", "text"),
    [
        (TEXT, "a", 1, "expected a string, got 1"),
        (WHOLE, 3.0, 3.5, "expected an integer, got 3.5"),
        (WHOLE, 3, True, "expected an integer, got true"),
        ({"type": "number"}, 1, "1", 'expected a number, got "1"'),
        ({"type": "boolean"}, True, 1, "expected true or false, got 1"),
        ({"type": "null"}, None, 0, "expected null, got 0"),
        ({"type": "array"}, [], {}, "expected a list, got {}"),
        ({"type": "object"}, {}, [], "expected an object, got []"),
        ({"type": ["string", "null"]}, None, 1, "expected a string or null, got 1"),
        ({"type": "string", "nullable": True}, None, 1, "expected a string or null, got 1"),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            None,
            "b",
            'expected "a", got "b"',
        ),
        ({"enum": [1, "a"]}, 1.0, True, 'expected one of 1, "a", got true'),
        ({"const": {"a": 1}}, {"a": 1.0}, {}, 'expected {"a": 1}, got {}'),
        ({"minimum": 2}, 2, 1, "expected a number of at least 2, got 1"),
        ({"maximum": 2}, "x", 3, "expected a number of at most 2, got 3"),
        ({"exclusiveMinimum": 2}, 2.1, 2, "expected a number above 2, got 2"),
        ({"exclusiveMaximum": 2}, True, 2, "expected a number below 2, got 2"),
        ({"multipleOf": 0.1}, 0.3, 0.35, "expected a multiple of 0.1, got 0.35"),
        ({"minLength": 2}, "ab", "a", "expected at least 2 characters, got 1"),
        ({"maxLength": 1}, 123, "ab", "expected at most 1 characters, got 2"),
        ({"minItems": 1}, [1], [], "expected at least 1 items, got 0"),
        ({"maxItems": 1}, "ab", [1, 2], "expected at most 1 items, got 2"),
        ({"minProperties": 1}, {"a": 1}, {}, "expected at least 1 properties, got 0"),
        ({"maxProperties": 0}, [1], {"a": 1}, "expected at most 0 properties, got 1"),
        ({"pattern": "^a"}, "ab", "ba", 'expected a text that matches ^a, got "ba"'),
        ({"pattern": "(?<x>a)"}, "a", "b", 'expected a text that matches (?<x>a), got "b"'),
        ({"required": ["a"]}, {"a": 1}, {"b": 1}, "a: missing"),
        ({"properties": {"a": TEXT}}, {"b": 1}, {"a": 1}, "a: expected a string, got 1"),
        (
            {"properties": {"a": TEXT}, "additionalProperties": False},
            {},
            {"b": 1},
            "b: unexpected, the properties are: a",
        ),
        (
            {"additionalProperties": WHOLE, "properties": {"a": TEXT}},
            {"a": "x", "b": 1},
            {"b": "x"},
            'b: expected an integer, got "x"',
        ),
        (
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
            {"ab": 1},
            {"ab": "x"},
            'ab: expected an integer, got "x"',
        ),
        ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}, "a key is wrong: expected at"),
        ({"items": WHOLE}, [1], [1, "x"], '[1]: expected an integer, got "x"'),
        ({"items": False}, [], [1], "[0]: unexpected: 1"),
        (
            {"prefixItems": [WHOLE], "items": TEXT},
            [1, "a"],
            [1, 2],
            "[1]: expected a string, got 2",
        ),
        (
            {"items": [WHOLE], "additionalItems": False},
            [1],
            [1, 2],
            "[1]: unexpected: 2",
        ),
        ({"uniqueItems": True}, [1, True], [1, 1.0], "expected a list without duplicates"),
        ({"contains": WHOLE}, ["a", 1], ["a"], "expected an item that fits"),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 1, 3, "expected a number of at most 2"),
        (
            {"anyOf": [WHOLE, TEXT]},
            "a",
            None,
            "fits none of 2 forms: expected an integer, got null; expected a string, got null",
        ),
        (
            {"anyOf": [WHOLE, {"properties": {"a": TEXT}}]},
            {"a": "x"},
            {"a": 1},
            "a: expected a string, got 1",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"maximum": 2}]},
            3,
            1,
            "expected exactly one of 2 forms, but 1 fits 2",
        ),
        ({"not": WHOLE}, "a", 1, "1 is what the schema excludes (not)"),
        ({"if": WHOLE, "then": {"minimum": 1}}, "a", 0, "expected a number of at least 1"),
        ({"if": WHOLE, "else": TEXT}, 1, None, "expected a string, got null"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": WHOLE}},
            1,
            "x",
            'expected an integer, got "x"',
        ),
        (
            {"$ref": "#/definitions/A~1b", "definitions": {"A/b": WHOLE}, "minimum": 2},
            2,
            1,
            "expected a number of at least 2, got 1",
        ),
        (
            {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
            {"a": {"a": {}}},
            {"a": {"b": 1}},
            "a.b: unexpected, the properties are: a",
        ),
    ],
    ids=str,
)
def test_each_keyword_is_looked_at(schema, fitting, wrong, text):
    """What fits has no problems; what does not has one that says why."""
    assert told(schema, fitting) == []
    (problem,) = told(schema, wrong)
    assert problem.startswith(text)


def test_all_problems_are_told():
    """In every place."""
    schema = {"items": {"properties": {"a": WHOLE}, "required": ["b"]}}
    assert told(schema, [{"a": "x"}, {"b": 1}, {}]) == [
        "[0].b: missing",
        '[0].a: expected an integer, got "x"',
        "[2].b: missing",
    ]


def test_what_is_not_known_says_nothing():
    """Neither keywords nor formats; nor patterns that only the CLI can read."""
    assert told({"x-note": 1, "format": "date", "pattern": r"^\p{L}$"}, "1") == []


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0]), st.sampled_from("ab")
)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "array", "object", ["integer", "null"]]
)


def keyword_strategies(inner):
    """Schemas of one or two keywords, with schemas inside."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": NAMES,
            "enum": st.lists(JSON_VALUES, min_size=1, max_size=3),
            "const": JSON_VALUES,
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "propertyNames": st.just({"enum": ["a", "b"]}),
            "items": st.booleans() | inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "uniqueItems": st.booleans(),
            "contains": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "minimum": st.integers(-1, 1),
            "exclusiveMaximum": st.integers(0, 2),
            "multipleOf": st.sampled_from([1, 0.5, 2]),
            "minLength": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "minProperties": st.integers(0, 2),
            "pattern": st.sampled_from(["a", "^b$"]),
            "$ref": st.just("#/$defs/Shared"),
        },
    )


SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": NAMES}), keyword_strategies, max_leaves=6
)


@settings(max_examples=150, deadline=None)
@given(schema=SCHEMAS, shared=NAMES, value=JSON_VALUES)
def test_what_fits_is_what_the_standard_says(schema, shared, value):
    """Whatever the schema and the value are."""
    root = {"$defs": {"Shared": {"type": shared}}, "allOf": [schema]}
    expected = jsonschema.Draft202012Validator(root).is_valid(value)
    assert (told(root, value) == []) == expected
