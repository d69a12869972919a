"""JSON Schemas that the program gave: what is refused, what CLIs get, and what fits."""

from __future__ import annotations

import copy
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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


def wrong(schema, value):
    """What is wrong with *value*, the only property of an answer."""
    try:
        form_of({"type": "object", "properties": {"x": schema}}).read({"x": value})
    except Mismatch as error:
        return error.problems
    return []


@each(
    ("schema", "expected"),
    [
        (TEXT, TEXT),
        # What no CLI knows goes without a word: it says nothing about the answer.
        ({"type": "string", "x-note": 1, "$schema": "s", "$id": "i"}, TEXT),
        ({"oneOf": [TEXT], "discriminator": {"propertyName": "k"}}, {"oneOf": [TEXT]}),
        # 2.1.29 refuses every format.
        (
            {"type": "string", "format": "email", "description": "Whose"},
            {"type": "string", "description": "Whose. Format: email."},
        ),
        (
            {"type": "string", "format": "email", "description": "Whose?"},
            {"type": "string", "description": "Whose? Format: email."},
        ),
        # Draft 7 has no prefixItems, and the service no list of items.
        (
            {"prefixItems": [WHOLE], "items": TEXT},
            {
                "items": {"anyOf": [WHOLE, TEXT]},
                "description": 'The items are, in this order: {"type": "integer"}.',
            },
        ),
        (
            {"prefixItems": [WHOLE, TEXT], "items": False},
            {
                "maxItems": 2,
                "items": {"anyOf": [WHOLE, TEXT]},
                "description": 'The items are, in this order: {"type": "integer"}, '
                '{"type": "string"}.',
            },
        ),
        (
            {"items": [WHOLE], "additionalItems": False},
            {
                "maxItems": 1,
                "items": {"anyOf": [WHOLE]},
                "description": 'The items are, in this order: {"type": "integer"}.',
            },
        ),
        # Patterns that JavaScript reads otherwise, and those that match a property.
        ({"pattern": "^a+$"}, {"pattern": "^a+$"}),
        ({"pattern": r"\Aa"}, {"description": r"Must match the regular expression \Aa"}),
        (
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
        ),
        (
            {"patternProperties": {r"\Aa": WHOLE}, "additionalProperties": False},
            {"description": r"The names of properties matter: \Aa"},
        ),
        # No regular expression at all: the CLI says so.
        (
            {"properties": {"b": WHOLE}, "patternProperties": {"(": WHOLE}},
            {"properties": {"b": WHOLE}, "description": "The names of properties matter: b, ("},
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
        ({"type": "string", "nullable": True}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"type": "string", "nullable": False}, TEXT),
        ({"enum": [1, True, 1, "a"]}, {"enum": [1, True, "a"]}),
        ({"required": ["a", "a"], "type": ["null", "null"]}, {"required": ["a"], "type": ["null"]}),
        ({"type": "string", "if": TEXT}, TEXT),
        ({"type": "string", "then": TEXT}, TEXT),
        ({"if": TEXT, "else": WHOLE}, {"if": TEXT, "else": WHOLE}),
    ],
)
def test_only_what_clis_understand_is_left(schema, expected):
    """What had to go is told in the description."""
    assert told_to_the_cli(schema) == expected


def test_schemas_inside_are_changed_too():
    """Wherever a schema can stand, and nowhere else."""
    odd = {"type": "string", "x-note": 1}
    places = {
        **dict.fromkeys(("additionalProperties", "items", "not", "contains", "propertyNames"), 0),
        **dict.fromkeys(("anyOf", "allOf", "oneOf"), 1),
        **dict.fromkeys(("properties", "$defs", "definitions", "patternProperties"), 2),
    }
    made = {0: lambda inner: inner, 1: lambda inner: [inner, True], 2: lambda inner: {"y": inner}}
    for keyword, kind in places.items():
        # Not both: a property may not match a pattern.
        assert told_to_the_cli({keyword: made[kind](odd)}) == {keyword: made[kind](TEXT)}
    data = {"default": odd, "const": odd, "enum": [odd], "examples": [odd]}
    assert told_to_the_cli(data) == data


def test_a_long_schema_is_not_repeated_in_a_description():
    """Its type says enough."""
    long = {"type": "object", "properties": {f"name{index}": TEXT for index in range(50)}}
    told = told_to_the_cli({"prefixItems": [long], "maxItems": 1})["description"]
    assert told == 'The items are, in this order: {"type": "object"}.'


@each(
    "pattern",
    [
        *("", "abc", "^[+-]?[0-9]+(\\.[0-9]+)?$", r"^\d{4}-\d{2}$", r"[a-z_-]+?x{2,}|b{3}"),
        *(r"^[^\]\\\-]*\/\$", r"\bword\B(?:x)(?<=y)(?<!z)(?=a)", r"é\u00e9\x41"),
    ],
)
def test_patterns_that_mean_the_same_everywhere_are_kept(pattern):
    """The CLI checks them."""
    re.compile(pattern)
    assert told_to_the_cli({"type": "string", "pattern": pattern})["pattern"] == pattern


@each(
    "pattern",
    [
        *("(?P<x>a)", r"\Aa", r"a\Z", "(?i)a", "(?#x)a", r"(a)\1", "(?P<x>a)(?P=x)", r"\p{L}"),
        *(r"a\-b", r"\_", r"\'", "a{,3}", "{", "}", "]", "[]a]", "[a[]", "a*+", "(?>a)", "(?<y>a)"),
        *("[" + "a-" * 50_000, "(" * 100_000 + "\\", "a?" * 50_000 + "{"),
    ],
)
def test_patterns_that_javascript_reads_otherwise_are_kept_from_clis(pattern):
    """Those that are wrong everywhere too; and it is quick."""
    made = told_to_the_cli({"type": "string", "pattern": pattern})
    assert "pattern" not in made
    assert pattern in made["description"]


@each(
    "schema",
    [
        {},
        {"name": TEXT},
        {"name": "string"},
        {"title": "Answer"},
        {"type": "object", "properties": {"a": int}},
        {"type": "number", "default": float("nan")},
        {1: TEXT, "type": "object"},
        {"type": "str"},
        {"type": ["string", "int"]},
        {"type": []},
        {"type": "json_schema", "schema": TEXT},
        {"type": "object", "properties": ["a"]},
        {"properties": {"a": "string"}},
        {"type": "string", "required": True},
        {"required": [1]},
        {"enum": []},
        {"anyOf": []},
        {"anyOf": TEXT},
        {"items": "string"},
        {"additionalProperties": "no"},
        {"type": "number", "exclusiveMinimum": True},
        {"type": "number", "multipleOf": 0},
        {"type": "string", "minLength": -1},
        {"type": "string", "maxItems": 1.5},
        {"type": "array", "uniqueItems": 1},
        {"type": "string", "pattern": 1},
        {"type": "string", "description": 1},
        {"items": {"anyOf": [TEXT, {"type": "x"}]}},
        {"$ref": "#/$defs/A"},
        {"$ref": "#/enum/x", "enum": [1]},
        {"$ref": "#/enum/0", "enum": [1]},
        {"$ref": "#/title/x", "title": "t"},
        {"properties": {"a": {"$ref": "other.json#/A"}}},
        {"$ref": "#A"},
        {"$ref": 1},
    ],
)
def test_what_is_not_a_json_schema_is_refused(schema):
    """Before a CLI is started: some would go on without a word."""
    with pytest.raises(UsageError, match="not a JSON Schema"):
        form_of(schema)


def test_the_refusal_says_where_and_what_is_right():
    """With an example."""
    with pytest.raises(UsageError) as caught:
        form_of({"type": "array", "items": {"anyOf": [TEXT, {"type": "int"}]}})
    assert "items.anyOf[1].type" in str(caught.value) and '"integer"' in str(caught.value)
    with pytest.raises(UsageError, match=r"'name'.*under \"properties\".*dataclass"):
        form_of({"name": TEXT})


def test_a_dict_that_contains_itself_is_refused():
    """JSON has no such thing."""
    schema = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    with pytest.raises(UsageError, match="contains itself"):
        form_of(schema)


def test_a_schema_of_the_program_may_change_later():
    """The form has its own copy."""
    schema = {"type": "object", "properties": {"a": {"type": "integer", "format": "int32"}}}
    form = form_of(schema)
    schema["properties"]["a"]["type"] = "string"
    assert form.read({"a": 1}) == {"a": 1}


def test_references_still_lead_somewhere_in_what_is_put_into_an_object():
    """Those to definitions, and those to other places."""
    tree = {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/A~1b"}]},
        "$defs": {"A/b": {"anyOf": [WHOLE, {"$ref": "#/$defs/A~1b/anyOf/0"}]}},
    }
    form = form_of(tree)
    jsonschema.Draft7Validator(form.schema).validate({"items": [[1], 2]})
    assert form.read({"items": [[1], 2]}) == [[1], 2]
    with pytest.raises(Mismatch):
        form.read({"items": [["x"]]})


@each(
    ("schema", "fitting", "not_fitting"),
    [
        ({"type": "number"}, 1, True),
        ({"type": "integer"}, 3.0, 3.5),
        ({"type": ["string", "null"]}, None, 1),
        ({"type": "string", "nullable": True, "enum": ["a"]}, None, "b"),
        ({"enum": [1, "a"]}, 1.0, True),
        ({"const": {"a": 1}}, {"a": 1.0}, {}),
        ({"minimum": 2}, 2, 1),
        ({"maximum": 2}, "x", 3),
        ({"exclusiveMinimum": 2}, 2.1, 2),
        ({"exclusiveMaximum": 2}, True, 2),
        ({"minimum": 0}, 10**400, -1),
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 1}, 123, "ab"),
        ({"minItems": 1}, [1], []),
        ({"maxItems": 1}, "ab", [1, 2]),
        ({"pattern": r"\Aa"}, "ab", "ba"),
        ({"required": ["a"]}, {"a": 1}, {"b": 1}),
        ({"additionalProperties": WHOLE, "properties": {"a": TEXT}}, {"a": "x"}, {"b": "x"}),
        (
            {"patternProperties": {"^a": WHOLE}, "additionalProperties": False},
            {"ab": 1},
            {"ab": "x"},
        ),
        ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
        ({"items": False}, [], [1]),
        ({"prefixItems": [WHOLE], "items": TEXT}, [1, "a"], [1, 2]),
        ({"items": [WHOLE], "additionalItems": False}, [1], [1, 2]),
        ({"uniqueItems": True}, [1, True], [1, 1.0]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 1, 3),
        ({"anyOf": [WHOLE, TEXT]}, "a", None),
        ({"oneOf": [WHOLE, TEXT]}, "a", None),
    ],
)
def test_each_keyword_is_looked_at(schema, fitting, not_fitting):
    """What fits has no problems; what does not has one, with its place."""
    assert wrong(schema, fitting) == []
    (problem,) = wrong(schema, not_fitting)
    assert problem.startswith("x")


def test_a_pattern_that_only_the_cli_can_read_says_nothing():
    """It is the CLI's affair."""
    assert wrong({"pattern": r"^\p{L}$"}, "1") == []


def test_the_problem_of_the_nearest_form_is_told():
    """Where only one was right from the outside."""
    schema = {"anyOf": [WHOLE, {"properties": {"a": TEXT}}]}
    (problem,) = wrong(schema, {"a": 1})
    assert problem.startswith("x.a: ")


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
    """Schemas of a few keywords, with schemas inside."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": NAMES,
            "const": JSON_VALUES,
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b|c"]), inner, max_size=2),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "propertyNames": st.just({"enum": ["a", "b"]}),
            "items": st.booleans() | inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "uniqueItems": st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "minimum": st.integers(-1, 1),
            "exclusiveMaximum": st.integers(0, 2),
            "minLength": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
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
    root = {"$defs": {"Shared": {"type": shared}}, "type": "object", "properties": {"x": schema}}
    try:
        form_of(root).read({"x": value})
        fits = True
    except Mismatch:
        fits = False
    assert fits == jsonschema.Draft202012Validator(root).is_valid({"x": value})
