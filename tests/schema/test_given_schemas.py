"""JSON Schemas that the program gave: what is refused, and what CLIs get."""

from __future__ import annotations

import copy
import re

import jsonschema
import pytest
from tables import each

from claude_sync.errors import UsageError
from claude_sync.schema import Mismatch, form_of

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def told_to_the_cli(schema):
    """What a CLI gets for a property with *schema*."""
    whole = {"type": "object", "properties": {"x": schema}}
    before = copy.deepcopy(whole)
    made = form_of(whole).schema
    assert whole == before
    # Without formats: the patterns of this library are Python's.
    jsonschema.Draft7Validator.check_schema(made, format_checker=None)
    jsonschema.Draft202012Validator.check_schema(made, format_checker=None)
    return made["properties"]["x"]


ORDER = 'The items are, in this order: {"type": "integer"}'


@each(
    ("schema", "expected"),
    [
        (TEXT, TEXT),
        # What no CLI knows goes without a word: it says nothing about the answer.
        ({"type": "string", "x-note": 1, "$schema": "s", "$id": "i"}, TEXT),
        ({"oneOf": [TEXT], "discriminator": {"propertyName": "k"}}, {"oneOf": [TEXT]}),
        # What says something is told: 2.1.29 refuses every format.
        (
            {"type": "string", "format": "email", "description": "Whose"},
            {"type": "string", "description": "Whose. Format: email."},
        ),
        ({"format": "email", "description": "Whose?"}, {"description": "Whose? Format: email."}),
        ({"type": "string", "nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"if": TEXT, "else": True}, {"description": 'If: {"type": "string"}. Else: true.'}),
        # Draft 7 has no prefixItems.
        (
            {"prefixItems": [WHOLE], "items": TEXT},
            {"items": {"anyOf": [WHOLE, TEXT]}, "description": f"{ORDER}."},
        ),
        (
            {"prefixItems": [WHOLE, TEXT], "items": False},
            {
                "maxItems": 2,
                "items": {"anyOf": [WHOLE, TEXT]},
                "description": f'{ORDER}, {{"type": "string"}}.',
            },
        ),
        (
            {"items": [WHOLE], "additionalItems": TEXT},
            {"items": {"anyOf": [WHOLE, TEXT]}, "description": f"{ORDER}."},
        ),
        (
            {"prefixItems": [WHOLE], "maxItems": 1},
            {"maxItems": 1, "items": {"anyOf": [WHOLE]}, "description": f"{ORDER}."},
        ),
        # Names by a pattern, which may also be those of properties: CLIs refuse that.
        (
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
            {"description": 'Patternproperties: {"^a": {"type": "integer"}}.'},
        ),
    ],
)
def test_only_what_clis_understand_is_left(schema, expected):
    """What had to go and says something is told in the description."""
    assert told_to_the_cli(schema) == expected


def test_schemas_inside_are_changed_too():
    """Wherever a schema can stand, and nowhere else."""
    odd = {"type": "string", "x-note": 1}
    for keyword in ("additionalProperties", "items", "not", "contains", "propertyNames"):
        assert told_to_the_cli({keyword: odd}) == {keyword: TEXT}
    for keyword in ("anyOf", "allOf", "oneOf"):
        assert told_to_the_cli({keyword: [odd, True]}) == {keyword: [TEXT, True]}
    for keyword in ("properties", "$defs", "definitions"):
        assert told_to_the_cli({keyword: {"format": odd}}) == {keyword: {"format": TEXT}}
    data = {"default": odd, "const": odd, "enum": [odd], "examples": [odd]}
    assert told_to_the_cli(data) == data


@each(
    ("pattern", "is_kept"),
    [
        *(("", True), ("abc", True), ("^[+-]?[0-9]+(\\.[0-9]+)?$", True)),
        *((r"^\d{4}-\d{2}$", True), (r"(?:a|b)+?x{2,}|[^a-z\d]", True)),
        *(("(?P<x>a)", False), (r"\Aa", False), ("(?i)a", False), (r"(a)\1", False)),
        *((r"\p{L}", False), ("a{,3}", False), ("]", False), ("a*+", False), ("(?>a)", False)),
        *(("[" + "a-" * 50_000, False), ("(" * 100_000 + "\\", False), ("a?" * 9_999 + "{", False)),
    ],
)
def test_patterns_that_javascript_may_read_otherwise_are_told(pattern, is_kept):
    """The CLI checks the others; to look at one is quick."""
    made = told_to_the_cli({"type": "string", "pattern": pattern})
    assert ("pattern" in made) == is_kept
    if is_kept:
        re.compile(pattern)
    else:
        assert made["description"] == f"Pattern: {pattern}."


@each(
    ("schema", "place"),
    [
        ({}, "keys (none)"),
        ({"name": TEXT}, "'name'"),
        ({"title": "Answer"}, "'title'"),
        ({"type": "object", "properties": {"a": int}}, "type is not JSON serializable"),
        ({"type": "number", "default": float("nan")}, "JSON compliant"),
        ({"type": "str"}, "type: expected one of"),
        ({"type": ["string", "int"]}, "type: expected one of"),
        ({"type": "object", "properties": ["a"]}, "properties: expected a dict"),
        ({"properties": {"a": "string"}}, "properties.a: expected a schema"),
        ({"type": "string", "required": True}, "required: expected a list"),
        ({"anyOf": TEXT}, "anyOf: expected a list"),
        ({"items": "string"}, "items: expected a schema"),
        ({"additionalProperties": "no"}, "additionalProperties: expected a schema"),
        ({"type": "string", "pattern": 1}, "pattern: expected a str"),
        ({"items": {"anyOf": [TEXT, {"type": "x"}]}}, "items.anyOf[1].type: "),
        ({"$ref": "#/$defs/A"}, "leads nowhere"),
        ({"$defs": {"B": TEXT}, "items": {"$ref": "#/$defs/A"}}, 'items["$ref"]: '),
        ({"properties": {"a": {"$ref": "other.json#/A"}}}, "leads nowhere"),
        ({"$ref": 1}, "$ref: expected a str"),
    ],
)
def test_what_is_not_a_json_schema_is_refused(schema, place):
    """Before a CLI is started: some would go on without a word. With its place and an example."""
    with pytest.raises(UsageError, match="not a JSON Schema") as caught:
        form_of(schema)
    assert place in str(caught.value) and '"required": ["name"]' in str(caught.value)
    assert caught.value.option == "returns"


def test_references_still_lead_somewhere_in_what_is_put_into_an_object():
    """Those to definitions; those to the whole only where it is an object."""
    tree = {"type": "array", "items": {"$ref": "#/$defs/A~1b"}, "$defs": {"A/b": WHOLE}}
    form = form_of(tree)
    validator = jsonschema.Draft7Validator(form.schema)
    assert validator.is_valid({"items": [2]}) and not validator.is_valid({"items": ["x"]})
    assert form.read({"items": [2]}) == [2]
    tree["items"] = {"$ref": "#"}
    with pytest.raises(UsageError, match="leads nowhere"):
        form_of(tree)
    inside = {"properties": {"again": {"$ref": "#"}}}
    assert form_of(inside).schema == {"type": "object", **inside}


@each("output", [None, [1], "x", {}, {"value": 1}, {"items": [1], "more": 2}])
def test_an_answer_by_a_schema_is_taken_from_its_place(output):
    """The CLI has checked the rest."""
    form = form_of({"type": "array", "items": WHOLE})
    assert form.read({"items": ["as it came"]}) == ["as it came"]
    with pytest.raises(Mismatch):
        form.read(output)
    with pytest.raises(Mismatch, match="no structured output"):
        form_of({"type": "object"}).read(None)
