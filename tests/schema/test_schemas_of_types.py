"""From annotations, defaults and docstrings to JSON Schema."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from typing import (
    Any,
    Callable,
    ClassVar,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Literal,
    Mapping,
    NamedTuple,
    NewType,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
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
from claude_sync.schema.docstrings import documentation_of
from claude_sync.tools import ToolContext, make_tool

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


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
    y: int = 0
    origin: ClassVar[int] = 0
    distance: float = dataclasses.field(init=False, default=0.0)
    tags: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Node:
    value: int
    children: List[Node] = dataclasses.field(default_factory=list)


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
Free = TypeVar("Free")
Bound = TypeVar("Bound", bound=int)
Tree = TypeAliasType("Tree", "Union[int, List[Tree]]")
Alias = TypeAliasType("Alias", List[int])


def schema_of(function):
    """The schema of a function, which is a schema."""
    schema = make_tool(function).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def schema_for(hint, **definitions):
    """The schema of one parameter that is annotated with *hint*."""

    def function(x):
        pass

    function.__annotations__ = {"x": hint}
    schema = schema_of(function)
    assert schema.get("$defs", {}) == definitions
    return schema["properties"]["x"]


POINT = {
    "type": "object",
    "description": "A place.",
    "properties": {
        "x": {"type": "integer", "description": "To the right."},
        "y": {"type": "integer", "default": 0},
        "tags": {"type": "array", "items": TEXT},
    },
    "required": ["x"],
    "additionalProperties": False,
}


@each(
    ("hint", "schema"),
    [
        (str, TEXT),
        (int, WHOLE),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        ("int | None", {"anyOf": [WHOLE, {"type": "null"}]}),
        (
            "dict[str, list[int]]",
            {"type": "object", "additionalProperties": {"type": "array", "items": WHOLE}},
        ),
        (List, {"type": "array"}),
        (List[int], {"type": "array", "items": WHOLE}),
        (Sequence[int], {"type": "array", "items": WHOLE}),
        (Iterable[str], {"type": "array", "items": TEXT}),
        (dict, {"type": "object"}),
        (Dict[str, Any], {"type": "object"}),
        (Dict[Any, int], {"type": "object", "additionalProperties": WHOLE}),
        (Mapping[str, int], {"type": "object", "additionalProperties": WHOLE}),
        (
            Dict[Literal["a", "b"], int],
            {
                "type": "object",
                "propertyNames": {"type": "string", "enum": ["a", "b"]},
                "additionalProperties": WHOLE,
            },
        ),
        (Tuple, {"type": "array"}),
        (Tuple[int, ...], {"type": "array", "items": WHOLE}),
        (Tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
        (
            Tuple[int, str],
            {"type": "array", "prefixItems": [WHOLE, TEXT], "minItems": 2, "maxItems": 2},
        ),
        (Set[int], {"type": "array", "items": WHOLE}),
        (FrozenSet[int], {"type": "array", "items": WHOLE}),
        (set, {"type": "array"}),
        (Optional[int], {"anyOf": [WHOLE, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [WHOLE, TEXT]}),
        ("Union[int, List['str']]", {"anyOf": [WHOLE, {"type": "array", "items": TEXT}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "a", None, True], {"enum": [1, "a", None, True]}),
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (Literal[Colour.RED, "red"], {"type": "string", "enum": ["red"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"enum": [1, 2]}),
        (Shade, {"type": "string", "enum": ["LIGHT", "DARK"]}),
        (Access, {"type": "string", "enum": ["READ", "WRITE"]}),
        (City, TEXT),
        (Free, {}),
        (Bound, WHOLE),
        (Alias, {"type": "array", "items": WHOLE}),
        (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
        (Annotated[int, 3, Doc("How many.")], {"type": "integer", "description": "How many."}),
        (Annotated[int, 3], WHOLE),
        (List[Annotated[int, "A."]], {"type": "array", "items": {**WHOLE, "description": "A."}}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.time, {"type": "string", "format": "time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (decimal.Decimal, {"type": "string", "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?$"}),
        (Point, POINT),
        (
            Movie,
            {
                "type": "object",
                "description": "A film.",
                "properties": {
                    "kept": WHOLE,
                    "name": TEXT,
                    "year": WHOLE,
                    "seen": {"type": "boolean"},
                },
                "required": ["kept", "name"],
                "additionalProperties": False,
            },
        ),
        (
            Pair,
            {
                "type": "object",
                "properties": {"first": WHOLE, "second": {"type": "string", "default": "b"}},
                "required": ["first"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_each_annotation_has_its_schema(hint, schema):
    """Which is valid by the meta-schema, and complete."""
    assert schema_for(hint) == schema


def test_a_class_that_contains_itself_has_a_name():
    """It is defined once and referred to."""
    node = {
        "type": "object",
        "properties": {
            "value": WHOLE,
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
        "required": ["value"],
        "additionalProperties": False,
    }
    assert schema_for(Node, Node=node) == {"$ref": "#/$defs/Node"}
    assert schema_for(List[Node], Node=node)["items"] == {"$ref": "#/$defs/Node"}


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
    schema = schema_of(function)
    assert schema["properties"] == {
        "a": {"$ref": "#/$defs/Node"},
        "b": {"$ref": "#/$defs/Node2"},
    }
    assert "text" in schema["$defs"]["Node2"]["properties"]


# Parameters.


def test_parameters_without_a_default_are_required():
    """Nothing else is accepted, and defaults are told."""

    def function(a, b: int, c: str = "x", *, d: float = 1.5, e: bool):
        pass

    assert schema_of(function) == {
        "type": "object",
        "properties": {
            "a": {},
            "b": WHOLE,
            "c": {"type": "string", "default": "x"},
            "d": {"type": "number", "default": 1.5},
            "e": {"type": "boolean"},
        },
        "required": ["a", "b", "e"],
        "additionalProperties": False,
    }


@each(
    ("hint", "default", "told"),
    [
        (Colour, Colour.BLUE, "blue"),
        (Shade, Shade.DARK, "DARK"),
        (datetime.date, datetime.date(2026, 3, 1), "2026-03-01"),
        (Tuple[int, int], (1, 2), [1, 2]),
        (Point, Point(1), None),
        (Pair, Pair(1), {"first": 1, "second": "b"}),
        (pathlib.Path, pathlib.PurePosixPath("a/b"), "a/b"),
        (Any, {"a": [1, None]}, {"a": [1, None]}),
        (float, float("nan"), None),
        (int, "wrong", None),
        (Any, object(), None),
        (Dict[Any, int], {1: 2}, None),
    ],
)
def test_a_default_is_told_as_json(hint, default, told):
    """If it has a form that the schema itself accepts; otherwise it is just optional."""

    def function(x=default):
        pass

    function.__annotations__ = {"x": hint}
    schema = schema_of(function)
    assert "required" not in schema
    assert schema["properties"]["x"].get("default") == told


def test_none_as_default_makes_null_possible():
    """That is what the author of x: int = None meant."""

    def function(x: int = None, y: Optional[str] = None):  # noqa: RUF013
        pass

    properties = schema_of(function)["properties"]
    null = {"type": "null"}
    assert properties["x"] == {"anyOf": [WHOLE, null], "default": None}
    assert properties["y"] == {"anyOf": [TEXT, null], "default": None}


def test_further_keywords_are_further_properties():
    """Of the annotated type, or of any."""

    def typed(a: int, **more: float):
        pass

    def untyped(**more):
        pass

    assert schema_of(typed)["additionalProperties"] == {"type": "number"}
    assert schema_of(untyped)["additionalProperties"] is True


def test_the_context_is_no_parameter():
    """The library fills it in."""

    def function(a: int, context: ToolContext, other: Optional[ToolContext] = None):
        pass

    assert list(schema_of(function)["properties"]) == ["a"]


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

    schema = schema_of(function)
    local = {"$ref": "#/$defs/Local"}
    assert schema["properties"]["x"] == local
    inner = schema["properties"]["y"]["items"]
    assert inner == schema["$defs"]["Local"]["properties"]["inner"]
    assert inner["properties"]["again"] == {"anyOf": [local, {"type": "null"}]}


def test_a_name_that_the_function_uses_is_found_later():
    """Its closure keeps it."""

    def make():
        class Local(TypedDict):
            a: int

        def function(x: Local):
            return Local

        return function

    assert schema_of(make())["properties"]["x"]["required"] == ["a"]


def test_a_name_that_is_not_there_is_explained():
    """With the parameter, and what to do."""

    def make():
        class Local(TypedDict):
            a: int

        def function(x: Local):
            pass

        return function

    with pytest.raises(UsageError, match=r"'function'.*'x'.*Local.*must exist"):
        make_tool(make())


@each(
    ("hint", "words"),
    [
        (Callable[[], int], "Callable"),
        (complex, "complex"),
        (type, "type"),
        (List[complex], "complex"),
        (Odd, "field 'run' of Odd"),
        (Empty, "no members"),
        (Dict[int, str], "keys of JSON objects are str"),
        (Dict[Size, str], "keys of JSON objects are str"),
        (Literal[b"x"], "can be literals"),
        (typing.Type[int], "Type"),
        ("no.such.name", "cannot be resolved"),
        ("1 +", "cannot be resolved"),
        ([int], "int"),
        (3, "3"),
        (Lost, "no_such_name"),
    ],
)
def test_what_cannot_be_expressed_is_refused(hint, words):
    """At once, naming the parameter and what could be used."""
    with pytest.raises(UsageError) as caught:
        schema_for(hint)
    text = str(caught.value)
    assert "'x'" in text
    assert words.lower() in text.lower()


# Docstrings.

GOOGLE = """Tell the weather.

    For any town.

    Args:
        city (str): Name of the town,
            or of a village.
        days: How many days: at most seven.
        *rest: More.

    Raises:
        ValueError: Never.

    Returns:
        A text.
    """

NUMPY = """Tell the weather.

    For any town.

    Parameters
    ----------
    city : str
        Name of the town,
        or of a village.
    days, hours : int, optional
        How long.
    bare
        Nothing known.

    Raises
    ------
    ValueError
        Never.

    Returns
    -------
    str
        A text.
    """

SPHINX = """Tell the weather.

    For any town.

    :param city: Name of the town,
        or of a village.
    :param int days: How many days.
    :type city: str
    :raises ValueError: Never.
    :returns: A text.
    :rtype: str
    """


def test_googles_style_is_read():
    """Entries, types in parentheses and lines that go on."""
    found = documentation_of(GOOGLE)
    assert found.description == ("Tell the weather.\n\nFor any town.\n\nReturns:\n    A text.")
    assert found.parameters == {
        "city": "Name of the town, or of a village.",
        "days": "How many days: at most seven.",
        "rest": "More.",
    }


def test_numpys_style_is_read():
    """Names at the margin, several at once too."""
    found = documentation_of(NUMPY)
    assert found.description.startswith("Tell the weather.\n\nFor any town.\n\nReturns\n---")
    assert "Never" not in found.description
    assert found.parameters == {
        "city": "Name of the town, or of a village.",
        "days": "How long.",
        "hours": "How long.",
        "bare": "Nothing known.",
    }


def test_sphinxs_style_is_read():
    """Fields, with the type inside too."""
    found = documentation_of(SPHINX)
    assert found.description == "Tell the weather.\n\nFor any town.\n\nReturns: A text."
    assert found.parameters == {
        "city": "Name of the town, or of a village.",
        "days": "How many days.",
    }


@each(
    ("text", "description"),
    [
        (None, ""),
        ("", ""),
        ("One line.", "One line."),
        (
            "Note: this is text.\n\nExample:\n    x = 1",
            "Note: this is text.\n\nExample:\n    x = 1",
        ),
        (":mod: is kept, as is a line of ----", ":mod: is kept, as is a line of ----"),
        ("Do.\n\nArgs:\n    loose words\n", "Do."),
        ("Args:\n", ""),
        (":param:", ""),
        (":return:", ""),
        ("Parameters\n----------\n    loose words", ""),
    ],
)
def test_other_docstrings_are_kept_as_they_are(text, description):
    """Only what is understood is taken out."""
    found = documentation_of(text)
    assert found.description == description
    assert found.parameters == {}


def test_descriptions_reach_the_schema():
    """The annotation goes before the docstring, and that before the class."""

    def function(a: int, b: Annotated[int, "Annotated."], p: Point, q: Point, n: Node):
        """Do.

        Args:
            a: First.
            b: Second.
            p: Third.
            n: Fourth.
            z: Nobody.
        """

    properties = schema_of(function)["properties"]
    found = {name: schema.get("description") for name, schema in properties.items()}
    assert found == {
        "a": "First.",
        "b": "Annotated.",
        "p": "Third.",
        "q": "A place.",
        "n": "Fourth.",
    }
