"""Schemas inside schemas, and what they refer to."""

from __future__ import annotations

import pytest

from claude_sync.tool_shapes import Definitions
from claude_sync.tool_subschemas import (
    adopted,
    references,
    subschemas,
    target,
    with_subschemas,
)

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def test_schemas_are_found_where_they_can_stand():
    """With the steps to them; data that looks like a schema is none."""
    schema = {
        "properties": {"a": TEXT, "items": WHOLE},
        "items": [TEXT],
        "anyOf": [WHOLE],
        "not": TEXT,
        "default": {"items": TEXT},
        "enum": [TEXT],
    }
    assert list(subschemas(schema)) == [
        (("properties", "a"), TEXT),
        (("properties", "items"), WHOLE),
        (("items", 0), TEXT),
        (("anyOf", 0), WHOLE),
        (("not",), TEXT),
    ]


def test_a_changed_copy_leaves_the_original_alone():
    """At every depth that was changed."""
    schema = {"properties": {"a": TEXT}, "items": WHOLE, "anyOf": [TEXT, True], "default": {"a": 1}}
    changed = with_subschemas(schema, lambda inner: {**inner, "x": 1})
    assert changed == {
        "properties": {"a": {**TEXT, "x": 1}},
        "items": {**WHOLE, "x": 1},
        "anyOf": [{**TEXT, "x": 1}, True],
        "default": {"a": 1},
    }
    assert schema == {
        "properties": {"a": TEXT},
        "items": WHOLE,
        "anyOf": [TEXT, True],
        "default": {"a": 1},
    }


def test_references_are_found_at_every_depth():
    """Those of schemas, not those of data."""
    schema = {
        "$ref": "#/a",
        "properties": {"$ref": {"items": {"$ref": "#/b"}}},
        "default": {"$ref": "#/c"},
    }
    assert list(references(schema)) == ["#/a", "#/b"]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/$defs/A", TEXT),
        ("#/$defs/A~1b~0c", WHOLE),
        ("#/$defs/a%20b", WHOLE),
        ("#/anyOf/1", WHOLE),
    ],
)
def test_a_reference_leads_to_its_target(reference, found):
    """Names are escaped in two ways."""
    root = {"$defs": {"A": TEXT, "A/b~c": WHOLE, "a b": WHOLE}, "anyOf": [TEXT, WHOLE]}
    assert target(root, reference) == found
    assert target(root, "#") is root


@pytest.mark.parametrize("reference", ["#/$defs/B", "#/anyOf/7", "x.json", "#A", ""])
def test_a_reference_may_lead_nowhere(reference):
    """That is a LookupError."""
    with pytest.raises(LookupError):
        target({"$defs": {"A": TEXT}, "anyOf": [TEXT]}, reference)


def test_definitions_are_adopted():
    """Of either keyword; references follow, also those into a definition."""
    definitions = Definitions()
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/definitions/A"},
            "c": {"$ref": "#/definitions/A/properties/x~1y"},
            "d": {"$ref": "#/$defs/odd~1name"},
            "e": {"$ref": "#/$defs/Yes"},
            "f": {"$ref": "#/$defs/No"},
        },
        "$defs": {
            "A": {"items": {"$ref": "#/$defs/A"}},
            "odd/name": TEXT,
            "Yes": True,
            "No": False,
        },
        "definitions": {"A": {"properties": {"x/y": TEXT}}},
    }
    assert adopted(schema, "Whole", definitions) == {
        "properties": {
            "a": {"$ref": "#/$defs/A"},
            "b": {"$ref": "#/$defs/A2"},
            "c": {"$ref": "#/$defs/A2/properties/x~1y"},
            "d": {"$ref": "#/$defs/odd_name"},
            "e": {"$ref": "#/$defs/Yes"},
            "f": {"$ref": "#/$defs/No"},
        }
    }
    assert definitions.schemas == {
        "A": {"items": {"$ref": "#/$defs/A"}},
        "A2": {"properties": {"x/y": TEXT}},
        "odd_name": TEXT,
        "Yes": {},
        "No": {"not": {}},
    }


def test_one_that_refers_to_itself_gets_a_name():
    """It cannot stand where it stood."""
    definitions = Definitions()
    schema = {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/a"}}}
    assert adopted(schema, "Whole", definitions) == {"$ref": "#/$defs/Whole"}
    assert definitions.schemas == {
        "Whole": {
            "properties": {
                "a": {"$ref": "#/$defs/Whole"},
                "b": {"$ref": "#/$defs/Whole/properties/a"},
            }
        }
    }


def test_the_same_definition_is_adopted_once():
    """What only looks the same has another name: it refers to something else."""
    definitions = Definitions()
    needing = {"items": {"$ref": "#/$defs/B"}}
    first = {"$ref": "#/$defs/A", "$defs": {"A": needing, "B": TEXT}}
    second = {"$ref": "#/$defs/A", "$defs": {"A": needing, "B": WHOLE}}
    assert adopted(first, "X", definitions) == {"$ref": "#/$defs/A"}
    assert adopted(first, "X", definitions) == {"$ref": "#/$defs/A"}
    assert adopted(second, "X", definitions) == {"$ref": "#/$defs/A2"}
    assert definitions.schemas == {
        "A": {"items": {"$ref": "#/$defs/B"}},
        "B": TEXT,
        "A2": {"items": {"$ref": "#/$defs/B2"}},
        "B2": WHOLE,
    }
