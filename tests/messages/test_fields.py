"""Converters: the documented type out of whatever came."""

# wire() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import math

from tables import each

from claude_sync.messages import fields
from claude_sync.messages.base import SUBTYPES, TYPES
from claude_sync.messages.fields import (
    Raw,
    at,
    build,
    flag_of,
    integer_of,
    mapping_of,
    mappings_of,
    number_of,
    objects,
    optional_flag_of,
    optional_integer_of,
    optional_mapping_of,
    optional_number_of,
    optional_text_of,
    optional_texts_of,
    plan_of,
    problem_of,
    raw_field,
    text_of,
    texts_of,
)


@each(
    ("convert", "value", "expected"),
    [
        (text_of, "a", "a"),
        (text_of, None, ""),
        (text_of, 5, "5"),
        (text_of, 1.5, "1.5"),
        (text_of, True, ""),
        (text_of, ["a"], ""),
        (text_of, {"text": "a"}, ""),
        (optional_text_of, "", ""),
        (optional_text_of, None, None),
        (optional_text_of, False, None),
        (optional_text_of, 10**6000, None),
        (problem_of, "a", "a"),
        (problem_of, {"type": "t", "message": "a"}, "a"),
        (problem_of, {"message": None, "text": "a"}, "a"),
        (problem_of, {"name": "a"}, "a"),
        (problem_of, {"code": 1}, None),
        (problem_of, [], None),
        (number_of, "1.5", 1.5),
        (number_of, 2, 2.0),
        (number_of, "x", 0.0),
        (optional_number_of, True, None),
        (optional_number_of, {}, None),
        (optional_number_of, 10**400, None),
        (optional_number_of, None, None),
        (integer_of, 7, 7),
        (integer_of, 7.9, 7),
        (integer_of, "7", 7),
        (integer_of, None, 0),
        (integer_of, -1, -1),
        (optional_integer_of, math.nan, None),
        (optional_integer_of, math.inf, None),
        (optional_integer_of, True, None),
        (optional_integer_of, "seven", None),
        (optional_integer_of, 2**70, 2**70),
        (flag_of, True, True),
        (flag_of, None, False),
        (flag_of, 1, True),
        (flag_of, "True", True),
        (flag_of, "false", False),
        (flag_of, "maybe", False),
        (flag_of, [1], False),
        (optional_flag_of, False, False),
        (optional_flag_of, 0, False),
        (optional_flag_of, "maybe", None),
        (optional_flag_of, {}, None),
        (mapping_of, {"a": 1}, {"a": 1}),
        (mapping_of, [("a", 1)], {}),
        (optional_mapping_of, "a", None),
        (optional_mapping_of, {}, {}),
        (mappings_of, [{"a": 1}, 2, None, {}], ({"a": 1}, {})),
        (mappings_of, {"a": 1}, ()),
        (texts_of, ["a", "b"], ("a", "b")),
        (texts_of, ["a", 5, None, {"name": "n"}, {"message": "m"}, []], ("a", "5", "n", "m")),
        (texts_of, [], ()),
        (texts_of, "a", ("a",)),
        (texts_of, 5, ()),
        (optional_texts_of, [], ()),
        (optional_texts_of, None, None),
        (optional_texts_of, ["a"], ("a",)),
    ],
)
def test_a_converter_gives_its_type_or_nothing(convert, value, expected):
    """Each converter returns a value of its type for good and for bad input."""
    converted = convert(value)
    assert converted == expected
    assert type(converted) is type(expected)


@dataclasses.dataclass(frozen=True)
class Sample:
    name: str
    camel_case: int = at("camelCase", default=0)
    inner: str = at("deep", within="nested", default="")
    usage: Raw = objects()
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] | None = None
    error: str | None = at(convert=problem_of)
    opaque: object = 5
    old: Raw = objects("older")
    raw: Raw = raw_field()


def test_a_message_is_filled_from_its_declaration():
    """Fields come from their key, in their object, as the type they are declared with."""
    raw = {
        "name": 3,
        "camelCase": "3",
        "nested": {"deep": "d"},
        "usage": {"a": 1},
        "tags": ["t", 1],
        "capabilities": [],
        "error": {"message": "e"},
        "opaque": 9,
        "older": {"b": 2},
    }
    sample = Sample("3", 3, "d", {"a": 1}, ("t", "1"), (), "e", 5, {"b": 2})
    assert build(Sample, raw) == sample
    assert build(Sample, raw).raw is raw
    assert build(Sample, raw, name="m", opaque=6) == dataclasses.replace(sample, name="m", opaque=6)


def test_an_empty_object_gives_the_defaults():
    """Objects of no fields are equal, and two do not hold the same dict."""
    assert build(Sample, {}) == Sample("")
    assert build(Sample, {"nested": 5, "usage": None}) == Sample("")
    assert build(Sample, {}).usage is not build(Sample, {}).usage
    assert Sample("").old is not Sample("").old
    assert Sample("", raw={"a": 1}) == Sample("", raw={"b": 2})
    assert "raw" not in repr(Sample("", raw={"a": 1}))


def test_every_type_of_a_field_has_a_converter():
    """A field whose type has none would never be read."""
    for message_class in {*TYPES.values(), *SUBTYPES.values()}:
        read = {name for name, *_ in plan_of(message_class)[0]}
        fields = {field.name for field in dataclasses.fields(message_class)}
        assert fields - read <= {"raw", "content"}, message_class


def test_a_declaration_is_read_once(monkeypatch):
    """The second message of a class does not inspect the class again, fields or none."""

    @dataclasses.dataclass(frozen=True)
    class Bare:
        raw: dict = raw_field()

    build(Bare, {})
    build(Sample, {})
    monkeypatch.setattr(fields, "plan_of", None)
    assert build(Bare, {}) == Bare()
    assert build(Sample, {}) == Sample("")
