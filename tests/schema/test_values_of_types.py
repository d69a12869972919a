"""Arguments are checked and converted before the function is called."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import (
    Any,
    Dict,
    FrozenSet,
    List,
    Literal,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import jsonschema
import pytest
from tables import each
from typing_extensions import Annotated, NotRequired, TypedDict

from claude_sync.tools import make_tool

UTC = datetime.timezone.utc


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Shade(enum.Enum):
    LIGHT = (255, 255)
    DARK = (0, 0)


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.5


@dataclasses.dataclass
class Node:
    value: int
    children: List[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Even:
    number: int

    def __post_init__(self):
        if self.number % 2:
            raise ValueError(f"{self.number} is odd")


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Pair(NamedTuple):
    first: int
    second: str = "b"


def converted(hint, value):
    """What the function gets for *value*."""
    calls = []
    result = recorder(hint, calls).run({"x": value})
    assert not result["isError"], result
    return calls.pop()


def problem(hint, value):
    """What Claude is told about *value*."""
    calls = []
    result = recorder(hint, calls).run({"x": value})
    assert result["isError"] and not calls
    refused, *told = result["content"][0]["text"].splitlines()
    assert refused == "The tool was not called, because of its arguments:"
    return told


def recorder(hint, calls):
    """A tool that puts its argument into *calls*."""

    def function(x):
        calls.append(x)

    function.__annotations__ = {"x": hint}
    return make_tool(function)


def moment(*parts):
    """A time in UTC."""
    return datetime.datetime(*parts, tzinfo=UTC)


@each(
    ("hint", "value", "expected"),
    [
        (str, "a", "a"),
        (int, 3, 3),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (float, 2.5, 2.5),
        (bool, True, True),
        (None, None, None),
        (Any, {"a": [1]}, {"a": [1]}),
        (List[float], [1, 2.5], [1.0, 2.5]),
        (Sequence[int], [1.0], [1]),
        (Dict[str, int], {"a": 1.0}, {"a": 1}),
        (Dict[Colour, int], {"red": 1}, {Colour.RED: 1}),
        (tuple, [1, "a"], (1, "a")),
        (Tuple[int, ...], [1, 2.0], (1, 2)),
        (Tuple[int, str], [1, "a"], (1, "a")),
        (Tuple[()], [], ()),
        (Set[int], [1, 2], {1, 2}),
        (FrozenSet[str], ["a"], frozenset({"a"})),
        (Set[Tuple[int, int]], [[1, 2], [2, 1]], {(1, 2), (2, 1)}),
        (Set[Point], [{"x": 1}], {Point(1)}),
        (set, [1, "a", None], {1, "a", None}),
        (Optional[int], None, None),
        (Optional[int], 3, 3),
        (Literal["a", 1], "a", "a"),
        (Literal[1], 1.0, 1),
        (Literal[Colour.RED], "red", Colour.RED),
        (Colour, "blue", Colour.BLUE),
        (Shade, "DARK", Shade.DARK),
        (Size, 2, Size.LARGE),
        (Point, {"x": 1}, Point(1)),
        (Point, {"x": 1, "y": 2}, Point(1, 2.0)),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
        (Movie, {"name": "M"}, {"name": "M"}),
        (Movie, {"name": "M", "year": 1931.0}, {"name": "M", "year": 1931}),
        (Pair, {"first": 1}, Pair(1)),
        (Annotated[int, "text"], 1, 1),
        (Even, {"number": 2}, Even(2)),
        (datetime.datetime, "2026-03-01T14:30:00Z", moment(2026, 3, 1, 14, 30)),
        (datetime.datetime, "2026-03-01 14:30", datetime.datetime(2026, 3, 1, 14, 30)),
        (datetime.datetime, "2026-03-01t14:30:00.5z", moment(2026, 3, 1, 14, 30, 0, 500000)),
        (datetime.datetime, "2026-03-01T16:30:00.123456789+02:00",
         moment(2026, 3, 1, 14, 30, 0, 123456)),
        (datetime.date, "2026-03-01", datetime.date(2026, 3, 1)),
        (datetime.time, "14:30", datetime.time(14, 30)),
        (datetime.time, "14:30:05Z", datetime.time(14, 30, 5, tzinfo=UTC)),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678",
         uuid.UUID("12345678123456781234567812345678")),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (decimal.Decimal, "-12.50", decimal.Decimal("-12.50")),
        (bytes, "aGk=", b"hi"),
    ],
)  # fmt: skip
def test_arguments_become_what_the_function_wants(hint, value, expected):
    """Equal, and of the same type."""
    found = converted(hint, value)
    assert found == expected
    assert type(found) is type(expected)


@each(
    ("hint", "value", "expected"),
    [
        (Union[int, str], "3", "3"),
        (Union[str, int], 3, 3),
        (Union[int, str], 3.0, 3),
        (Union[bool, int], 1, 1),
        (Union[int, bool], True, True),
        (Union[List[int], List[float]], [1, 2.5], [1.0, 2.5]),
        (Union[str, datetime.date], "2026-03-01", "2026-03-01"),
        (Union[datetime.date, str], "2026-03-01", datetime.date(2026, 3, 1)),
        (Union[datetime.date, str], "soon", "soon"),
        (Union[Point, Movie], {"name": "M"}, {"name": "M"}),
        (Union[Point, Dict[str, int]], {"x": 1}, Point(1)),
    ],
)
def test_the_first_alternative_that_fits_is_taken(hint, value, expected):
    """One that the schema takes and that cannot be converted does not fit."""
    found = converted(hint, value)
    assert found == expected
    assert type(found) is type(expected)


@each(
    ("hint", "value", "place"),
    [
        (int, "two", "x"),
        (int, True, "x"),
        (int, 2.5, "x"),
        (int, float("nan"), "x"),
        (float, "1", "x"),
        (float, 10**400, "x"),
        (str, None, "x"),
        (bool, 1, "x"),
        (None, 0, "x"),
        (List[int], [1, "a"], "x[1]"),
        (Dict[str, int], {"a": "b"}, "x.a"),
        (Dict[str, int], {"a b": "b"}, 'x["a b"]'),
        (Dict[Colour, int], {"x": 1}, "x"),
        (Tuple[int, str], [1], "x"),
        (Tuple[int, str], [1, 2], "x[1]"),
        (Set[Tuple[Any, int]], [[[], 1]], "x"),
        (set, [[1]], "x"),
        (Set[List[int]], [[1]], "x"),
        (Optional[int], "a", "x"),
        (Literal[1], True, "x"),
        (Colour, "RED", "x"),
        (Colour, {"a": 1}, "x"),
        (Point, 3, "x"),
        (Point, {}, "x.x"),
        (Point, {"x": 1, "z": 2}, "x.z"),
        (Optional[Point], {"x": "a"}, "x.x"),
        (Node, {"value": 1, "children": [{"value": "a"}]}, "x.children[0].value"),
        (List[Even], [{"number": 3}], "x[0]"),
        (datetime.datetime, "tomorrow", "x"),
        (datetime.date, "2026-02-30", "x"),
        (datetime.date, "20260301", "x"),
        (datetime.time, "25:00", "x"),
        (Union[datetime.date, uuid.UUID], "12", "x"),
        (bytes, "\u00e9", "x"),
        (decimal.Decimal, "1e5", "x"),
        (decimal.Decimal, 1.5, "x"),
    ],
)
def test_what_does_not_fit_is_told(hint, value, place):
    """Which argument, and where in it."""
    (text,) = problem(hint, value)
    assert text.startswith(f"{place}: ")


def test_the_text_says_what_was_expected_and_what_came():
    """In a length that helps."""
    assert problem(int, "two") == ['x: expected an integer, got "two"']
    assert problem(Even, {"number": 3}) == ["x: ValueError: 3 is odd"]
    assert problem(datetime.date, "x")[0].endswith('a date like 2026-03-01, got "x"')
    assert len(problem(int, "a" * 1000)[0]) < 120


def test_everything_wrong_is_told_at_once():
    """One line each."""

    def function(city: str, days: int = 1, *, unit: Literal["C", "F"]):
        pytest.fail("it was called")

    result = make_tool(function).run({"days": "two", "colour": 1, "no name": 2})
    assert result["isError"]
    told = result["content"][0]["text"].splitlines()[1:]
    assert sorted(line.partition(":")[0] for line in told) == [
        *("city", "colour", "days", "no name", "unit")
    ]


def test_further_keywords_are_converted():
    """And refused where they do not fit."""
    calls = []

    def function(a: int, **more: float):
        calls.append((a, more))

    assert not make_tool(function).run({"a": 1, "b": 2})["isError"]
    assert make_tool(function).run({"a": 1, "b": "x"})["isError"]
    assert calls == [(1, {"b": 2.0})]
    assert type(calls[0][1]["b"]) is float


def test_nesting_that_is_too_deep_is_refused():
    """Rather than ending the thread."""
    value = {"value": 1}
    for _ in range(5000):
        value = {"value": 1, "children": [value]}
    assert problem(Node, value) == ["nested too deeply"]


# Schema and conversion agree.

EVERY_HINT = [
    *(Any, str, int, float, bool, None, Literal["a", 1, None, True], Colour, Shade, Size, Node),
    *(decimal.Decimal, pathlib.Path),
    *(List[int], Dict[str, int], Dict[Literal["a"], Any], tuple, Tuple[int, ...], Tuple[int, str]),
    *(Tuple[()], Set[int], Set[float], FrozenSet[Literal[1, True]], Set[Tuple[int, ...]]),
    *(Optional[int], Union[float, int], Union[int, List[int]], Union[Point, Movie]),
    *(Point, Movie, Pair, Optional[Node], Annotated[int, "text"]),
]
EVERY_VALUE = [
    *(None, True, False, 0, 1, -1, 2, 2**70, 1.0, 2.0, 2.5, -0.0, 1e300),
    *("", "a", "b", "1", "red", "RED", "DARK", "LIGHT", "-2.5", "\u0661", "1\n"),
    *([], [1], [1, 1], [1, 1.0], [1, True], [True, 1.0], [1, "a"], ["a", 1], [1, 2, 3], [None]),
    *([[1], [1]], [[1], [1.0]], [[1], [2]], [{}], [[]], ["red"], ["a", "a"], [2.5, 2]),
    *({}, {"a": 1}, {"a": 1.5}, {"b": 1}, {"x": 1}, {"x": 1.0, "y": 2}, {"x": True}, {"y": 1}),
    *({"x": 1, "y": "a"}, {"x": 1, "z": 1}, {"name": "M"}, {"name": "M", "year": 2.0}),
    *({"name": "M", "year": "2"}, {"year": 1}, {"first": 1}, {"first": 1, "second": "c"}),
    *({"first": 1, "second": None}, {"value": 1}, {"value": "a"}, {"value": 1, "children": [1]}),
    *({"value": 1, "children": [{"value": 2}]}, {"value": 1, "children": [{}]}),
]


@each("hint", EVERY_HINT)
def test_no_value_is_judged_differently(hint):
    """Each value is accepted by the schema and by the conversion, or by neither."""
    calls = []
    tool = recorder(hint, calls)
    validator = jsonschema.Draft202012Validator(tool.schema)
    judged = [
        (value, validator.is_valid({"x": value}), not tool.run({"x": value})["isError"])
        for value in EVERY_VALUE
    ]
    assert [each for each in judged if each[1] is not each[2]] == []
    assert len(calls) == sum(accepted for _, accepted, _ in judged) > 0
