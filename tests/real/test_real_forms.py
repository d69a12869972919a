"""What real CLIs make of the schemas of typed answers."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any, Dict, List, Literal, Optional, Set, Tuple, Union

import pydantic
import pytest
from typing_extensions import Annotated, NotRequired, TypedDict

from claude_sync.schema import form_of
from claude_sync.testing.model import tool_use

OUTPUT = "StructuredOutput"
UTC = datetime.timezone.utc
NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=UTC)


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclasses.dataclass
class Node:
    value: int
    children: List[Node] = dataclasses.field(default_factory=list)


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int = pydantic.Field(ge=0, le=9)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    born: datetime.datetime
    tag: str = pydantic.Field(pattern=r"^x\-\d+$")


class Zoo(pydantic.BaseModel):
    pets: List[Annotated[Union[Cat, Dog], pydantic.Field(discriminator="kind")]]
    spot: Tuple[int, float]
    price: decimal.Decimal


@dataclasses.dataclass
class Everything:
    """One field of each kind."""

    whole: int
    part: float
    pairs: Tuple[int, str]
    numbers: Set[int]
    table: Dict[Literal["a", "b"], int]
    choice: Literal["x", 1, None]
    either: Union[int, List[str]]
    colour: Colour
    moment: datetime.datetime
    day: datetime.date
    time: datetime.time
    money: decimal.Decimal
    key: uuid.UUID
    path: pathlib.Path
    data: bytes
    tree: Node
    movie: Movie
    zoo: Zoo
    whatever: Any
    count: Annotated[int, "How many."] = 3
    maybe: Optional[str] = None
    nothing: Tuple[()] = ()


FILLED_IN = {
    "whole": 1,
    "part": 1.5,
    "pairs": [1, "a"],
    "numbers": [1, 2],
    "table": {"a": 1},
    "choice": None,
    "either": ["a"],
    "colour": 2,
    "moment": "2026-03-01T12:00:00Z",
    "day": "2026-03-01",
    "time": "12:00:00",
    "money": "12.50",
    "key": str(uuid.UUID(int=7)),
    "path": "a/b",
    "data": "YWI=",
    "tree": {"value": 1, "children": [{"value": 2}]},
    "movie": {"name": "M"},
    "zoo": {
        "pets": [
            {"kind": "cat", "lives": 9},
            {"kind": "dog", "born": "2026-03-01T12:00:00Z", "tag": "x-1"},
        ],
        "spot": [1, 2.5],
        "price": "1.5",
    },
    "whatever": {"a": [None]},
}
EVERYTHING = Everything(
    whole=1,
    part=1.5,
    pairs=(1, "a"),
    numbers={1, 2},
    table={"a": 1},
    choice=None,
    either=["a"],
    colour=Colour.BLUE,
    moment=NOON,
    day=NOON.date(),
    time=NOON.time(),
    money=decimal.Decimal("12.50"),
    key=uuid.UUID(int=7),
    path=pathlib.Path("a/b"),
    data=b"ab",
    tree=Node(1, [Node(2)]),
    movie={"name": "M"},
    zoo=Zoo(
        pets=[Cat(kind="cat", lives=9), Dog(kind="dog", born=NOON, tag="x-1")],
        spot=(1, 2.5),
        price=decimal.Decimal("1.5"),
    ),
    whatever={"a": [None]},
)
# A schema of a program, with much that CLIs do not understand.
GIVEN = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/answer",
    "type": "object",
    "x-note": 1,
    "examples": [{}],
    "properties": {
        "even": {"type": "integer", "multipleOf": 2, "exclusiveMinimum": 0},
        "name": {"type": "string", "pattern": r"^\w+\Z", "format": "hostname"},
        "list": {"type": "array", "items": [{"type": "integer"}], "additionalItems": False},
        "odd": {"if": {"type": "string"}},
        "names": {
            "type": "object",
            "properties": {"fx": {"type": "integer"}},
            "patternProperties": {"^f": {"type": "integer"}},
            "additionalProperties": False,
        },
        "empty": {"type": "string", "nullable": True},
        "other": {"$ref": "#/definitions/a~1b"},
        "again": {"$ref": "#"},
        "unicode": {"type": "string", "pattern": r"^\p{L}+$"},
    },
    "required": ["even"],
    "dependentRequired": {"even": ["name"]},
    "unevaluatedProperties": False,
    "definitions": {"a/b": {"type": ["integer", "null"]}},
}
GIVEN_FILLED_IN = {
    "even": 2,
    "name": "a",
    "list": [1],
    "odd": 1,
    "names": {"fx": 1, "fy": 2},
    "empty": None,
    "other": None,
    "again": {"even": 4},
    "unicode": "é",
}


@pytest.mark.parametrize(
    ("wanted", "filled_in", "value"),
    [
        pytest.param(Everything, FILLED_IN, EVERYTHING, id="everything"),
        pytest.param(
            List[Node],
            {"items": [{"value": 1}]},
            [Node(1)],
            id="list",
            marks=pytest.mark.everything,
        ),
        pytest.param(GIVEN, GIVEN_FILLED_IN, GIVEN_FILLED_IN, id="given"),
    ],
)
def test_clis_take_the_schemas(client_of, model, wanted, filled_in, value):
    """They offer the tool that fills it in, take what fits, and what came is read."""
    form = form_of(wanted)
    model.when("fill in the form").reply(tool_use(OUTPUT, filled_in)).then_reply("there you are")
    with client_of(returns=form.schema) as client:
        answer = client.ask("fill in the form", timeout=90)
    assert OUTPUT in model.wait_for_request("fill in the form").tools
    uses = [(use.name, result.is_error) for use, result in answer.tool_uses]
    assert uses == [(OUTPUT, False)]
    assert form.read(answer.data) == value
