"""A JSON Schema in the words that every CLI understands."""

from __future__ import annotations

import copy
import re

import jsonschema
import pytest

from claude_sync.returns_portable import is_portable_pattern, portable, python_pattern

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string"}),
        # What no CLI knows goes without a word: it says nothing about the answer.
        ({"type": "string", "x-note": 1, "$schema": "s", "$id": "i", "$anchor": "a"}, TEXT),
        ({"oneOf": [TEXT], "discriminator": {"propertyName": "k"}}, {"oneOf": [TEXT]}),
        # Formats are told in words.
        (
            {"type": "string", "format": "date"},
            {"type": "string", "description": "A date in ISO 8601, such as 2026-03-01."},
        ),
        (
            {"type": "string", "format": "email", "description": "Whose"},
            {"type": "string", "description": "Whose. Format: email."},
        ),
        (
            {"type": "string", "format": "email", "description": "Whose?"},
            {"type": "string", "description": "Whose? Format: email."},
        ),
        # Places of a list.
        (
            {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 2, "maxItems": 2},
            {
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": {"anyOf": [WHOLE, TEXT]},
                "description": 'The items are, in this order: {"type": "integer"}, '
                '{"type": "string"}.',
            },
        ),
        (
            {"prefixItems": [WHOLE, WHOLE], "items": False},
            {
                "maxItems": 2,
                "items": WHOLE,
                "description": 'The items are, in this order: {"type": "integer"}, '
                '{"type": "integer"}.',
            },
        ),
        (
            {"prefixItems": [WHOLE], "items": TEXT},
            {
                "items": {"anyOf": [WHOLE, TEXT]},
                "description": 'The items are, in this order: {"type": "integer"}.',
            },
        ),
        (
            {"prefixItems": [WHOLE]},
            {
                "items": True,
                "description": 'The items are, in this order: {"type": "integer"}.',
            },
        ),
        (
            {"items": [WHOLE], "additionalItems": False},
            {
                "maxItems": 1,
                "items": WHOLE,
                "description": 'The items are, in this order: {"type": "integer"}.',
            },
        ),
        (
            {"prefixItems": [False], "maxItems": 1},
            {"maxItems": 1, "items": False, "description": "The items are, in this order: false."},
        ),
        ({"items": []}, {}),
        # Patterns.
        ({"pattern": "^a+$"}, {"pattern": "^a+$"}),
        (
            {"pattern": r"\Aa"},
            {"description": r"Must match the regular expression \Aa"},
        ),
        ({"pattern": r"^\p{L}$"}, {"pattern": r"^\p{L}$"}),
        ({"pattern": "(?<year>a)"}, {"pattern": "(?<year>a)"}),
        (
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
        ),
        (
            {"patternProperties": {r"\Aa": WHOLE}, "additionalProperties": False},
            {"description": r"The names of properties matter: \Aa"},
        ),
        (
            {
                "properties": {"ab": WHOLE},
                "patternProperties": {"^a": WHOLE},
                "additionalProperties": False,
            },
            {"properties": {"ab": WHOLE}, "description": "The names of properties matter: ab, ^a"},
        ),
        # What only some drafts allow.
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": ["string", "null"], "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"if": TEXT}, {}),
        ({"then": TEXT}, {}),
        ({"if": TEXT, "else": WHOLE}, {"if": TEXT, "else": WHOLE}),
        ({"enum": [1, True, 1, 1.0, "a"]}, {"enum": [1, True, "a"]}),
        ({"required": ["a", "a"], "type": ["null", "null"]}, {"required": ["a"], "type": ["null"]}),
    ],
    ids=str,
)
def test_only_what_clis_understand_is_left(schema, expected):
    """What had to go is told in the description."""
    before = copy.deepcopy(schema)
    assert portable(schema) == expected
    assert schema == before
    # Without formats: the patterns of this library are Python's.
    jsonschema.Draft7Validator.check_schema(portable(schema), format_checker=None)
    jsonschema.Draft202012Validator.check_schema(portable(schema), format_checker=None)


def test_schemas_inside_are_changed_too():
    """Wherever a schema can stand, and nowhere else."""
    odd = {"type": "string", "x": 1}
    schema = {
        "properties": {"x": odd, "format": odd},
        "$defs": {"x": odd},
        "definitions": {"x": odd},
        "additionalProperties": odd,
        "items": odd,
        "anyOf": [odd, True],
        "allOf": [odd],
        "oneOf": [odd],
        "not": odd,
        "if": odd,
        "then": odd,
        "contains": odd,
        "propertyNames": odd,
        "patternProperties": {"^y": odd},
        "prefixItems": [],
        "dependencies": {"x": odd, "y": ["x"]},
        "default": {"x": 1, "format": "date"},
        "const": {"x": 1},
        "enum": [{"x": 1}],
        "examples": [{"x": 1}],
    }
    assert portable(schema) == {
        "properties": {"x": TEXT, "format": TEXT},
        "$defs": {"x": TEXT},
        "definitions": {"x": TEXT},
        "additionalProperties": TEXT,
        "items": TEXT,
        "anyOf": [TEXT, True],
        "allOf": [TEXT],
        "oneOf": [TEXT],
        "not": TEXT,
        "if": TEXT,
        "then": TEXT,
        "contains": TEXT,
        "propertyNames": TEXT,
        "patternProperties": {"^y": TEXT},
        "dependencies": {"x": TEXT, "y": ["x"]},
        "default": {"x": 1, "format": "date"},
        "const": {"x": 1},
        "enum": [{"x": 1}],
        "examples": [{"x": 1}],
    }


def test_a_long_schema_is_not_repeated_in_a_description():
    """Its type says enough."""
    long = {"type": "object", "properties": {f"name{index}": TEXT for index in range(50)}}
    told = portable({"prefixItems": [long], "maxItems": 1})["description"]
    assert told == 'The items are, in this order: {"type": "object"}.'


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "abc",
        "^[+-]?[0-9]+(\\.[0-9]+)?$",
        r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"[a-z_-]+?x{2,}|b{3}",
        r"^[^\]\\\-]*\/\$",
        r"\bword\B(?:x)(?<=y)(?<!z)(?=a)",
        r"é\u00e9\x41",
    ],
)
def test_patterns_that_mean_the_same_everywhere(pattern):
    """They can be given to a CLI."""
    re.compile(pattern)
    assert is_portable_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?P<x>a)", r"\Aa", r"a\Z", "(?i)a", "(?#x)a", r"(a)\1", "(?P<x>a)(?P=x)"),
        *(r"a\-b", r"\_", r"\'", "a{,3}", "{", "}", "]", "[]a]", "[]a[b]", "[^]]", "[a[]"),
    ],
)
def test_patterns_that_javascript_reads_otherwise(pattern):
    """Or not at all: they are kept from CLIs."""
    re.compile(pattern)
    assert not is_portable_pattern(pattern)


@pytest.mark.parametrize("pattern", ["a*+", "(?>a)", "a{2}+"])
def test_patterns_of_newer_pythons_are_not_portable(pattern):
    """Whether this Python understands them or not."""
    assert not is_portable_pattern(pattern)


def test_patterns_are_read_quickly():
    """Whatever they are: no pattern makes the check slow."""
    for pattern in ("[" + "a-" * 50_000, "(" * 100_000 + "\\", "[a" * 50_000, "a?" * 50_000 + "{"):
        assert not is_portable_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "spelled"),
    [
        ("a", "a"),
        ("(?<year>a)", "(?P<year>a)"),
        ("(?<=a)b", "(?<=a)b"),
        ("(?<!a)(?<x>b)", "(?<!a)(?P<x>b)"),
        ("(", None),
        (r"\p{L}", None),
    ],
)
def test_patterns_of_javascript_in_python(pattern, spelled):
    """Names of groups are spelled in another way; some things Python does not have."""
    assert python_pattern(pattern) == spelled
