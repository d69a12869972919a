"""From what a tool returned to what Claude gets."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import pathlib
import types
import uuid
from typing import NamedTuple

import numpy
import pandas
import pytest
from image_samples import JPEG, KINDS, PNG
from PIL import Image as Pillow
from tables import each

from claude_sync.schema.values import NoJsonForm
from claude_sync.support.images import received_image
from claude_sync.tools.results import Image, error_result, result_of


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.Enum):
    DARK = (0, 0)


class Level(enum.Enum):
    HIGH = float("inf")


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Pair(NamedTuple):
    first: int
    second: object


@dataclasses.dataclass
class Point:
    x: int
    when: object = None


def text(value):
    """The one text that Claude gets for *value*."""
    result = result_of(value)
    assert result["isError"] is False
    (block,) = result["content"]
    assert block["type"] == "text"
    return block["text"]


def refusal(value):
    """Why *value* cannot be told."""
    with pytest.raises(NoJsonForm) as caught:
        result_of(value)
    return str(caught.value)


@each(
    ("value", "expected"),
    [
        ("hello", "hello"),
        ("", "(empty text)"),
        (" \n", "(empty text)"),
        (None, "Done."),
        (3, "3"),
        (2.5, "2.5"),
        (True, "true"),
        (10**30, "1" + "0" * 30),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        ([], "[]"),
        ([1, "a", None], '[1, "a", null]'),
        ((1, 2), "[1, 2]"),
        (frozenset("ba"), '["a", "b"]'),
        (["\u00e9"], '["\u00e9"]'),
        ([float("nan")], '["NaN"]'),
        (Colour.RED, "red"),
        (Shade.DARK, "DARK"),
        (Level.HIGH, "HIGH"),
        (Access.READ, "READ"),
        (fractions.Fraction(1, 2), "0.5"),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.datetime(2026, 3, 1, 14, 30), "2026-03-01T14:30:00"),
        (datetime.date(2026, 3, 1), "2026-03-01"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
    ],
)
def test_each_value_has_its_text(value, expected):
    """Texts as they are, everything else as JSON; never an empty text."""
    assert text(value) == expected
    assert "structuredContent" not in result_of(value)


@each(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ({}, {}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (Point(1), {"x": 1, "when": None}),
        (Point(1, datetime.date(2026, 3, 1)), {"x": 1, "when": "2026-03-01"}),
        (Pair(1, {2}), {"first": 1, "second": [2]}),
        ({1: "a", None: "b", False: "c"}, {"1": "a", "null": "b", "false": "c"}),
        ({2.5: 1, float("nan"): 2}, {"2.5": 1, "NaN": 2}),
        ({Colour.RED: Point(2)}, {"red": {"x": 2, "when": None}}),
        ({"nan": float("nan")}, {"nan": "NaN"}),
        ({"content": "no list"}, {"content": "no list"}),
        ({"content": ["no block"]}, {"content": ["no block"]}),
        ({"content": [], "more": 1}, {"content": [], "more": 1}),
        ({"content": [{"type": "unknown"}]}, {"content": [{"type": "unknown"}]}),
    ],
)
def test_an_object_is_also_structured(value, expected):
    """The text and the structured content say the same."""
    result = result_of(value)
    assert result["structuredContent"] == expected
    assert json.loads(text(value)) == expected


# Images.


@each(("media_type", "data"), KINDS.items())
def test_an_image_is_a_block(media_type, data):
    """With its data in base64; one that came from another tool as well."""
    encoded = base64.b64encode(data).decode()
    for image in (Image(data), received_image("", encoded, None)):
        (block,) = result_of(image)["content"]
        assert block == {"type": "image", "data": encoded, "mimeType": media_type}


@pytest.mark.parametrize("kind", [list, tuple])
def test_images_and_texts_can_be_mixed(kind):
    """Each becomes a block, in the same order."""
    result = result_of(kind(["before", Image(PNG), {"a": 1}, 3, "", Image(JPEG)]))
    said = [block.get("text") or block["mimeType"] for block in result["content"]]
    assert said == ["before", "image/png", '{"a": 1}', "3", "(empty text)", "image/jpeg"]
    assert "structuredContent" not in result


# Results in the form of MCP.


def test_a_result_in_the_form_of_mcp_passes():
    """With all its fields."""
    value = {
        "content": [{"type": "text", "text": "a"}],
        "structuredContent": {"a": 1},
        "_meta": {"x": 1},
    }
    assert result_of(value) == {**value, "isError": False}


@pytest.mark.parametrize("spelling", ["isError", "is_error"])
def test_such_a_result_may_be_an_error(spelling):
    """In either spelling."""
    result = result_of({"content": [], spelling: True})
    assert result == {"content": [], "isError": True}


# What cannot be told.


@each(
    ("value", "words"),
    [
        (object(), "object has no JSON form"),
        ([1, {"a": object()}], "object has no JSON form"),
        (b"raw", "claude_sync.Image"),
        (Pillow.new("L", (1, 1)), "Return texts"),
        ((number for number in "ab"), "Return texts"),
        ({"image": Image(PNG)}, "alone or in a list"),
        ([[Image(PNG)]], "alone or in a list"),
        (1j, "complex has no JSON form"),
        (Point, "type has no JSON form"),
        (pandas.DataFrame({"a": [1]}), "DataFrame has no JSON form. Return table.to_csv()."),
        (pandas.Series([1]), "Return table.to_csv()"),
        (numpy.zeros(3), "Return array.tolist()"),
        (10**5000, "4300"),
    ],
)
def test_what_has_no_json_form_is_named(value, words):
    """With what to return instead."""
    assert words in refusal(value)


def test_a_value_that_contains_itself_is_refused():
    """Rather than followed for ever; 151 lists inside one another are not too many."""
    nested = 1
    for _ in range(152):
        nested, value = [nested], nested
    assert text(value) == "[" * 151 + "1" + "]" * 151
    assert "too deeply" in refusal(nested)
    value = []
    value.append(value)
    assert "contains itself" in refusal(value)
    mapping = {}
    mapping["a"] = mapping
    assert "contains itself" in refusal(mapping)


def test_an_error_is_marked():
    """And its text is never empty."""
    assert error_result("no") == {"content": [{"type": "text", "text": "no"}], "isError": True}
    assert error_result("")["content"][0]["text"]
