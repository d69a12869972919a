"""Types, as parameters of tools: their JSON Schema, what JSON becomes, and what does not fit."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import (
    Any,
    Callable,
    ClassVar,
    Dict,
    FrozenSet,
    List,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import jsonschema
import pytest
from tables import each
from typing_extensions import (
    Annotated,
    Doc,
    NotRequired,
    ReadOnly,
    Required,
    TypeAliasType,
    TypedDict,
)

from claude_sync.errors import UsageError
from claude_sync.tools import ToolContext, make_tool

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
NULL = {"type": "null"}
UTC = datetime.timezone.utc


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Shade(enum.Enum):
    LIGHT = (255, 255)
    DARK = (0, 0)


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Empty(enum.Enum):
    pass


@dataclasses.dataclass
class Point:
    """
    A place.

    Attributes:
        x: To the right.

    """

    x: int
    y: float = 0.5
    origin: ClassVar[int] = 0
    distance: float = dataclasses.field(init=False, default=0.0)
    tags: List[str] = dataclasses.field(default_factory=list)


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


@dataclasses.dataclass
class Odd:
    run: Callable[[], int]


@dataclasses.dataclass
class Lost:
    x: no_such_name  # noqa: F821


class Base(TypedDict):
    kept: int


class Movie(Base, total=False):
    """A film."""

    name: Required[str]
    year: int
    seen: NotRequired[ReadOnly[bool]]


class Pair(NamedTuple):
    first: int
    second: str = "b"


City = NewType("City", str)
Tree = TypeAliasType("Tree", "Union[int, List[Tree]]")
TREE = {"anyOf": [WHOLE, {"type": "array", "items": {"$ref": "#/$defs/Tree"}}]}
NODE = {
    "type": "object",
    "properties": {
        "value": WHOLE,
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value"],
    "additionalProperties": False,
}


def recorder(hint, calls):
    """A tool of one parameter that is annotated with *hint*, which puts it into *calls*."""

    def function(x):
        calls.append(x)

    function.__annotations__ = {"x": hint}
    return make_tool(function)


def problem(hint, value):
    """What Claude is told about *value*."""
    calls = []
    result = recorder(hint, calls).run({"x": value})
    assert result["isError"] and not calls
    refused, *told = result["content"][0]["text"].splitlines()
    assert refused == "The tool was not called, because of its arguments:"
    return told


# An annotation, its schema, and what some values of JSON become.
TYPES = [
    (str, TEXT, [("a", "a")]),
    (int, WHOLE, [(3, 3), (3.0, 3)]),
    (float, {"type": "number"}, [(3, 3.0), (2.5, 2.5)]),
    (bool, {"type": "boolean"}, [(True, True)]),
    (None, NULL, [(None, None)]),
    (Any, {}, [({"a": [1]}, {"a": [1]})]),
    (object, {}, []),
    ("int | None", {"anyOf": [WHOLE, NULL]}, [(None, None), (3, 3)]),
    (List, {"type": "array"}, [([1, "a"], [1, "a"])]),
    ("list['float']", {"type": "array", "items": {"type": "number"}}, [([1, 2.5], [1.0, 2.5])]),
    (Sequence[int], {"type": "array", "items": WHOLE}, [([1.0], [1])]),
    (dict, {"type": "object"}, [({"a": 1}, {"a": 1})]),
    (Dict[Any, int], {"type": "object", "additionalProperties": WHOLE}, [({"a": 1.0}, {"a": 1})]),
    (Dict[Colour, int], {"type": "object", "additionalProperties": WHOLE,
      "propertyNames": {"type": "string", "enum": ["red", "blue"]}},
     [({"red": 1}, {Colour.RED: 1})]),
    (tuple, {"type": "array"}, [([1, "a"], (1, "a"))]),
    (Tuple[int, ...], {"type": "array", "items": WHOLE}, [([1, 2.0], (1, 2))]),
    (Tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}, [([], ())]),
    (Tuple[int, str], {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 2, "maxItems": 2},
     [([1, "a"], (1, "a"))]),
    (Set[int], {"type": "array", "items": WHOLE}, [([1, 2], {1, 2})]),
    (FrozenSet[str], {"type": "array", "items": TEXT}, [(["a"], frozenset({"a"}))]),
    (Union[int, str], {"anyOf": [WHOLE, TEXT]}, [("3", "3"), (3.0, 3)]),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, [("a", "a")]),
    (Literal[1, "a", None, True], {"enum": [1, "a", None, True]}, [(1.0, 1), (True, True)]),
    (Literal[Colour.RED, "red"], {"type": "string", "enum": ["red"]}, [("red", Colour.RED)]),
    (Colour, {"type": "string", "enum": ["red", "blue"]}, [("blue", Colour.BLUE)]),
    (Size, {"enum": [1, 2]}, [(2, Size.LARGE)]),
    (Shade, {"type": "string", "enum": ["LIGHT", "DARK"]}, [("DARK", Shade.DARK)]),
    (Access, {"type": "string", "enum": ["READ", "WRITE"]}, [("READ", Access.READ)]),
    (City, TEXT, [("Rome", "Rome")]),
    (Annotated[int, "How many."], {**WHOLE, "description": "How many."}, [(1, 1)]),
    (Annotated[int, 3, Doc("How many.")], {**WHOLE, "description": "How many."}, []),
    (List[Annotated[int, "A."]], {"type": "array", "items": {**WHOLE, "description": "A."}}, []),
    (datetime.datetime, {"type": "string", "format": "date-time"}, [
        ("2026-03-01T14:30:00Z", datetime.datetime(2026, 3, 1, 14, 30, tzinfo=UTC)),
        ("2026-03-01 14:30", datetime.datetime(2026, 3, 1, 14, 30)),
        ("2026-03-01T14:30:00.123456789+00:00",
         datetime.datetime(2026, 3, 1, 14, 30, 0, 123456, tzinfo=UTC)),
        ("2026-03-01t14:30:00.5z", datetime.datetime(2026, 3, 1, 14, 30, 0, 500000, tzinfo=UTC))]),
    (datetime.date, {"type": "string", "format": "date"},
     [("2026-03-01", datetime.date(2026, 3, 1))]),
    (datetime.time, {"type": "string", "format": "time"}, [("14:30", datetime.time(14, 30))]),
    (uuid.UUID, {"type": "string", "format": "uuid"}, [(str(uuid.UUID(int=1)), uuid.UUID(int=1))]),
    (pathlib.Path, {"type": "string", "format": "path"}, [("a/b", pathlib.Path("a/b"))]),
    (bytes, {"type": "string", "contentEncoding": "base64"}, [("aGk=", b"hi")]),
    (decimal.Decimal, {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?$"},
     [("-12.50", decimal.Decimal("-12.50"))]),
    (Point, {
        "type": "object",
        "description": "A place.",
        "properties": {"x": {**WHOLE, "description": "To the right."},
                       "y": {"type": "number", "default": 0.5},
                       "tags": {"type": "array", "items": TEXT}},
        "required": ["x"],
        "additionalProperties": False,
     }, [({"x": 1}, Point(1)), ({"x": 1, "y": 2}, Point(1, 2.0))]),
    (Movie, {
        "type": "object",
        "description": "A film.",
        "properties": {"kept": WHOLE, "name": TEXT, "year": WHOLE, "seen": {"type": "boolean"}},
        "required": ["kept", "name"],
        "additionalProperties": False,
     }, [({"kept": 1, "name": "M", "year": 1931.0}, {"kept": 1, "name": "M", "year": 1931})]),
    (Pair, {
        "type": "object",
        "properties": {"first": WHOLE, "second": {**TEXT, "default": "b"}},
        "required": ["first"],
        "additionalProperties": False,
     }, [({"first": 1}, Pair(1))]),
    (Node, {"$ref": "#/$defs/Node"},
     [({"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)]))]),
    (Tree, {"$ref": "#/$defs/Tree"}, [([1, [2.0]], [1, [2]])]),
    # Of several alternatives the first that fits: one that cannot be converted does not fit.
    (Union[datetime.date, str], None,
     [("2026-03-01", datetime.date(2026, 3, 1)), ("soon", "soon")]),
    (Union[bool, int], None, [(1, 1)]),
    (Union[Point, Dict[str, int]], None, [({"x": 1}, Point(1)), ({"z": 1}, {"z": 1})]),
]  # fmt: skip


@each(("hint", "schema", "values"), TYPES)
def test_each_type_has_its_schema_and_its_values(hint, schema, values):
    """The schema is valid and accepts what is converted; what comes has the type."""
    calls = []
    tool = recorder(hint, calls)
    found = dict(tool.schema)
    jsonschema.Draft202012Validator.check_schema(found)
    assert schema is None or found["properties"]["x"] == schema
    known = {"Node": NODE, "Tree": TREE}
    assert all(known[name] == each for name, each in found.get("$defs", {}).items())
    for value, expected in values:
        jsonschema.validate({"x": value}, found)
        result = tool.run({"x": value})
        assert not result["isError"], result
        made = calls.pop()
        assert (made, type(made)) == (expected, type(expected))


VALUES = [
    *(None, True, False, 0, 1, 2, 2**70, 1.0, 2.0, 2.5, "", "a", "1", "red", "RED", "DARK", "READ"),
    *("-2.5", "\u0661", "1\n", [], [1], [1, 1], [1, True], [1, "a"], ["a", 1], [1, 2, 3], [None]),
    *([[1], [2]], [{}], [[]], ["red"], ["a", "a"], [2.5, 2], {}, {"a": 1}, {"a": 1.5}, {"b": 1}),
    *({"x": 1}, {"x": 1.0, "y": 2}, {"x": True}, {"y": 1}, {"x": 1, "y": "a"}, {"x": 1, "z": 1}),
    *({"kept": 1, "name": "M"}, {"kept": 1, "name": "M", "year": "2"}, {"first": 1}, {"red": 1}),
    *({"first": 1, "second": None}, {"value": 1}, {"value": 1, "children": [1]}),
    *({"value": 1, "children": [{"value": 2}]}, {"value": 1, "children": [{}]}),
]


@each(
    "hint", [hint for hint, schema, _ in TYPES if "format" not in str(schema) and hint is not bytes]
)
def test_schema_and_conversion_agree(hint):
    """Each value is accepted by both, or by neither."""
    calls = []
    tool = recorder(hint, calls)
    validator = jsonschema.Draft202012Validator(tool.schema)
    judged = [
        (value, validator.is_valid({"x": value}), not tool.run({"x": value})["isError"])
        for value in VALUES
    ]
    assert [each for each in judged if each[1] is not each[2]] == []
    assert len(calls) == sum(accepted for _, accepted, _ in judged) > 0


@each(
    ("hint", "value", "place"),
    [
        *((int, each, "x") for each in ("two", True, 2.5, float("nan"))),
        *((float, each, "x") for each in ("1", 10**400)),
        *((str, None, "x"), (bool, 1, "x"), (None, 0, "x"), (Optional[int], "a", "x")),
        (List[int], [1, "a"], "x[1]"),
        (List[int], {}, "x"),
        (Dict[str, int], {"a": "b"}, "x.a"),
        (Dict[str, int], {"a b": "b"}, 'x["a b"]'),
        (Dict[Colour, int], {"x": 1}, "x"),
        (Tuple[int, str], [1], "x"),
        (Tuple[int, str], [1, 2], "x[1]"),
        (set, [[1]], "x"),
        *((Literal[1], True, "x"), (Colour, "RED", "x"), (Colour, {"a": 1}, "x")),
        *((Point, 3, "x"), (Point, {}, "x.x"), (Point, {"x": 1, "z": 2}, "x.z")),
        (Optional[Point], {"x": "a"}, "x.x"),
        (Node, {"value": 1, "children": [{"value": "a"}]}, "x.children[0].value"),
        (List[Even], [{"number": 3}], "x[0]"),
        (datetime.datetime, "2026-03-01", "x"),
        *((datetime.date, each, "x") for each in ("2026-02-30", "20260301")),
        (datetime.time, "25:00", "x"),
        (Union[datetime.date, uuid.UUID], "12", "x"),
        (bytes, "\u00e9", "x"),
        *((decimal.Decimal, each, "x") for each in ("1e5", "NaN", 1.5)),
    ],
)
def test_what_does_not_fit_is_told(hint, value, place):
    """Which argument, and where in it, in a length that helps."""
    (text,) = problem(hint, value)
    assert text.startswith(f"{place}: ") and len(text) < 150


def test_the_text_says_what_was_expected_and_what_came():
    """Also what a class itself says."""
    assert problem(int, "two") == ['x: expected an integer, got "two"']
    assert problem(Even, {"number": 3}) == ["x: ValueError: 3 is odd"]
    assert len(problem(int, "a" * 1000)[0]) < 120


def test_everything_wrong_is_told_at_once():
    """One line for each argument, but not thousands."""

    def function(city: str, days: int = 1, *, unit: Literal["C", "F"]):
        pytest.fail("it was called")

    result = make_tool(function).run({"days": "two", "colour": 1, "no name": 2})
    places = [line.partition(":")[0] for line in result["content"][0]["text"].splitlines()[1:]]
    assert sorted(places) == sorted(["city", "days", "unit", "colour", "no name"])
    assert len(problem(List[int], ["a"] * 1000)) == 20


# Parameters.


def test_parameters():
    """Those without a default are required; nothing else is accepted; the context is not shown."""

    def function(a, b: int, c: str = "x", *, d: Point, more: ToolContext, e: int = None):  # noqa: RUF013
        """Do.

        Args:
            a: First.
            d: Last.
            z: Nobody.
        """

    def typed(a: int, **more: float):
        pass

    assert make_tool(function).schema == {
        "type": "object",
        "properties": {
            "a": {"description": "First."},
            "b": WHOLE,
            "c": {"type": "string", "default": "x"},
            # The docstring of the function goes before that of the class.
            "d": {**recorder(Point, []).schema["properties"]["x"], "description": "Last."},
            "e": {"anyOf": [WHOLE, NULL], "default": None},
        },
        "required": ["a", "b", "d"],
        "additionalProperties": False,
    }
    assert make_tool(typed).schema["additionalProperties"] == {"type": "number"}


@each(
    ("hint", "default", "told"),
    [
        (Colour, Colour.BLUE, "blue"),
        (Shade, Shade.DARK, "DARK"),
        (datetime.date, datetime.date(2026, 3, 1), "2026-03-01"),
        (Tuple[int, int], (1, 2), [1, 2]),
        (Point, Point(1), None),
        (pathlib.Path, pathlib.PurePosixPath("a/b"), "a/b"),
        (float, float("nan"), None),
        (int, "wrong", None),
        (Any, object(), None),
    ],
)
def test_a_default_is_told_as_json(hint, default, told):
    """If it has a form that the schema itself accepts; otherwise it is just optional."""

    def function(x=default):
        pass

    function.__annotations__ = {"x": hint}
    schema = make_tool(function).schema
    assert "required" not in schema
    assert schema["properties"]["x"].get("default") == told


# Names.


def test_names_of_the_function_around_are_found():
    """Also in text, while that function runs."""

    @dataclasses.dataclass
    class Local:
        inner: Inner

    class Inner(TypedDict):
        again: Optional[Local]

    def function(x: Local, y: List[Inner]):
        pass

    schema = make_tool(function).schema
    local = {"$ref": "#/$defs/Local"}
    assert schema["properties"]["x"] == local
    inner = schema["properties"]["y"]["items"]
    assert inner == schema["$defs"]["Local"]["properties"]["inner"]
    assert inner["properties"]["again"] == {"anyOf": [local, NULL]}


def test_a_name_that_the_function_uses_is_found_later():
    """Its closure keeps it."""

    def make():
        class Local(TypedDict):
            a: int

        def function(x: Local):
            return Local

        return function

    assert make_tool(make()).schema["properties"]["x"]["required"] == ["a"]


def test_two_classes_of_one_name_have_two_definitions():
    """Neither is taken for the other."""

    def other():
        @dataclasses.dataclass
        class Node:
            text: str
            next: Optional[Node] = None

        return Node

    def function(a, b):
        pass

    function.__annotations__ = {"a": Node, "b": other()}
    schema = make_tool(function).schema
    assert schema["properties"] == {"a": {"$ref": "#/$defs/Node"}, "b": {"$ref": "#/$defs/Node2"}}
    assert "text" in schema["$defs"]["Node2"]["properties"]


@each(
    ("hint", "words"),
    [
        (Callable[[], int], "Callable"),
        (complex, "complex"),
        (List[complex], "complex"),
        (Odd, "field 'run' of Odd"),
        (Empty, "no members"),
        (Dict[int, str], "keys of JSON objects are str"),
        (Dict[Size, str], "keys of JSON objects are str"),
        (Literal[b"x"], "can be literals"),
        ("no.such.name", "cannot be resolved"),
        ("1 +", "cannot be resolved"),
        (3, "3"),
        ([int], "int"),
        (Lost, "no_such_name"),
    ],
)
def test_what_cannot_be_expressed_is_refused(hint, words):
    """At once, naming the parameter and what could be used."""
    with pytest.raises(UsageError) as caught:
        recorder(hint, [])
    text = str(caught.value)
    assert "'x'" in text and words.lower() in text.lower()
