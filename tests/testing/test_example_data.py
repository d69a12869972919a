"""Made-up data of any form."""

import dataclasses
import datetime
import enum
from typing import Dict, List, Optional, Tuple, Union

import pytest

from claude_sync import Client
from claude_sync.schema import form_of
from claude_sync.testing import StandIn
from claude_sync.testing.echo_turns import example_of


class Kind(enum.Enum):
    """One of two."""

    ONE = "one"
    TWO = "two"


@dataclasses.dataclass
class Inner:
    """A part."""

    when: datetime.datetime
    day: datetime.date
    rest: Optional["Inner"] = None


@dataclasses.dataclass
class Outer:
    """The whole."""

    name: str
    count: int
    share: float
    good: bool
    kind: Kind
    inner: Inner
    both: Union[int, str]
    parts: List[Inner] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize(
    "wanted", [Outer, List[Outer], str, int, Dict[str, int], Optional[int], List[Tuple[int, int]]]
)
def test_it_can_be_read(wanted):
    """What is made up for a form has that form."""
    form = form_of(wanted)
    form.read(example_of(form.schema))


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
    with Client(cli=StandIn(style=style).command, returns=Kind) as client:
        assert client.ask("which?").data is Kind.ONE
        assert client.ask("[[sleep 0]] which?").data is Kind.ONE
        assert client.ask("/cost").data is None
    with Client(cli=StandIn(style=style).command) as client:
        assert client.ask("which?").data is None
        assert client.ask("which?", returns=List[int]).data == [1]
        assert client.ask("which?").data is None
