"""Made-up data of any form."""

from typing import List, Literal

import pytest

from claude_sync import Client
from claude_sync.testing import StandIn
from claude_sync.testing.offline import example_of


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 7}, 7),
        ({"type": "string", "default": "red"}, "red"),
        ({"enum": ["a", "b"]}, "a"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number"}, 1.5),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": ["string", "null"]}, "echo"),
        ({"type": "string", "minLength": 6}, "echo.."),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        ({"$ref": "#/$defs/X", "$defs": {"X": {"const": 3}}}, 3),
        ({"$ref": "#/nowhere"}, None),
        ({"oneOf": [{"type": "integer"}]}, 1),
        ({"type": "string", "pattern": "^[0-9.]+$"}, "1"),
        ({"type": "string", "pattern": "^never$"}, "echo"),
        ({"type": "string", "pattern": "(?<"}, "echo"),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1}),
    ],
)
def test_each_keyword(schema, expected):
    """What each keyword leads to."""
    assert example_of(schema) == expected


@pytest.mark.parametrize("style", ["old", "new"])
def test_the_offline_cli_fills_in_forms(style):
    """A program with typed answers can be tried offline."""
    with Client(cli=StandIn(style=style).command, returns=Literal["one", "two"]) as client:
        assert client.ask("which?").data == "one"
        assert client.ask("[[sleep 0]] which?").data == "one"
        assert client.ask("/cost").data is None
    with Client(cli=StandIn(style=style).command) as client:
        assert client.ask("which?").data is None
        assert client.ask("which?", returns=List[int]).data == [1]
        assert client.ask("which?").data is None
