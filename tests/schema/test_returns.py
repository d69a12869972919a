"""Forms of typed answers: what Claude is told, and how an answer is read."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import json
import pickle
from typing import (
    Callable,
    Dict,
    Generic,
    List,
    Literal,
    Optional,
    Tuple,
    TypeVar,
)

import jsonschema
import pytest
from tables import each
from typing_extensions import Self

from claude_sync.errors import UsageError
from claude_sync.schema import Mismatch, form_of

T = TypeVar("T")


@dataclasses.dataclass
class Line:
    """
    One line of an invoice.

    Attributes:
        price: Without tax.

    """

    text: str
    price: float


@dataclasses.dataclass
class Invoice:
    """An invoice."""

    number: str
    date: datetime.date
    total: decimal.Decimal
    paid: bool = False
    lines: List[Line] = dataclasses.field(default_factory=list)
    note: Optional[str] = None


@dataclasses.dataclass
class Node:
    value: int
    children: List[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Page(Generic[T]):
    entries: List[T]


@dataclasses.dataclass
class Folder:
    name: str
    inner: List[Self] = dataclasses.field(default_factory=list)


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
class Empty:
    pass


class Plain:
    pass


def problems(wanted, output):
    """What is wrong with *output*."""
    with pytest.raises(Mismatch) as caught:
        form_of(wanted).read(output)
    return caught.value.problems


def refusal(wanted):
    """What the program is told about a type that cannot be a form."""
    with pytest.raises(UsageError) as caught:
        form_of(wanted)
    assert caught.value.option == "returns"
    return str(caught.value)


LINE = {"text": "a", "price": 1}

VALUES = [
    (Line, LINE, Line("a", 1.0)),
    (
        Invoice,
        {"number": "7", "date": "2026-03-01", "total": "12.50", "lines": [LINE]},
        Invoice("7", datetime.date(2026, 3, 1), decimal.Decimal("12.50"), lines=[Line("a", 1.0)]),
    ),
    (List[Line], {"items": [LINE, LINE]}, [Line("a", 1.0), Line("a", 1.0)]),
    (Tuple[int, str], {"items": [1, "a"]}, (1, "a")),
    (Dict[str, Line], {"first": LINE}, {"first": Line("a", 1.0)}),
    (float, {"value": 3}, 3.0),
    (Optional[Line], {"value": None}, None),
    (Literal["yes", 1, None], {"value": 1}, 1),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (List[Node], {"items": [{"value": 2}]}, [Node(2)]),
    (Optional[Node], {"value": {"value": 2}}, Node(2)),
    (Folder, {"name": "a", "inner": [{"name": "b"}]}, Folder("a", [Folder("b")])),
    ({"properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 1}),
    ({"type": "array", "items": {"type": "integer"}}, {"items": [1]}, [1]),
    ({"enum": ["a", "b"]}, {"value": "a"}, "a"),
    ({"type": "object", "anyOf": [{"required": ["a"]}]}, {"value": {"a": 1}}, {"a": 1}),
    ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, {"a": 1}, {"a": 1}),
]


@each(("wanted", "output", "value"), VALUES)
def test_an_answer_is_read_as_its_type(wanted, output, value):
    """What Claude filled in becomes a value of the type; the schema accepts what is read."""
    form = form_of(wanted)
    read = form.read(output)
    assert read == value
    assert type(read) is type(value)
    jsonschema.Draft7Validator(form.schema).validate(output)
    jsonschema.Draft202012Validator(form.schema).validate(output)


@each("wanted", [each[0] for each in VALUES])
def test_every_cli_understands_the_schema(wanted):
    """An object at the top, valid by both drafts; always the same."""
    schema = form_of(wanted).schema
    assert schema["type"] == "object"
    assert not {"anyOf", "allOf", "oneOf", "$ref"} & set(schema)
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert form_of(wanted).schema == schema
    json.dumps(schema)
    # As a schema of the program it is taken as it is.
    assert form_of(schema).schema == schema


# What is wrong with an answer.


@each(
    ("wanted", "output", "places"),
    [
        (List[Line], {"items": [LINE, {"text": 1, "price": "x"}]},
         ["items[1].text", "items[1].price"]),
        (Line, {"text": "a", "prize": 1}, ["price", "prize"]),
        (int, {"value": "x"}, ["value"]),
        (int, {}, ["value"]),
        (int, {"value": 1, "more": 2}, ["more"]),
        (List[Even], {"items": [{"number": 3}, {"number": 2}, {"number": 1}]},
         ["items[0]", "items[2]"]),
        (datetime.date, {"value": "2026-02-30"}, ["value"]),
        (Dict[str, int], {"a": "x", "b": 1, "c": None}, ["a", "c"]),
        (Optional[Line], {"value": {"text": "a"}}, ["value.price"]),
        ({"type": "array"}, {"more": 2}, ["items", "more"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_is_told_with_its_place(wanted, output, places):
    """One text for each place."""
    assert [text.partition(": ")[0] for text in problems(wanted, output)] == places


def test_what_is_nested_without_end_is_told():
    """Python's own limit is no reason to fail in another way."""
    output = {"value": 1}
    for _ in range(100_000):
        output = {"value": 1, "children": [output]}
    assert problems(Node, output) == ["nested too deeply"]


def test_a_mismatch_is_a_text_and_can_be_sent():
    """It may travel in a ReturnsError."""
    mismatch = pickle.loads(pickle.dumps(Mismatch((("a", 0, "b c"), "missing"), ((), "wrong"))))
    assert mismatch.problems == ['a[0]["b c"]: missing', "wrong"]
    assert str(mismatch) == 'a[0]["b c"]: missing; wrong'


def test_claude_is_told_what_to_put_right():
    """What was wrong, item by item, what came, and that all of it is needed again."""
    form = form_of(List[Line])
    text = form.retry_prompt(["items[0].price: missing", "items[1]: wrong"], {"items": []})
    assert "\n- items[0].price: missing\n- items[1]: wrong\n" in text
    assert '{"items": []}' in text
    for said in (text, form.retry_prompt([], None)):
        assert "complete answer again" in said and "StructuredOutput" in said


def test_claude_is_not_told_too_much():
    """Neither a thousand problems nor a huge answer is repeated."""
    text = form_of(Line).retry_prompt([f"p{index}: wrong" for index in range(1000)], "x" * 100_000)
    assert "p19: wrong" in text and "p20: wrong" not in text and "980 more" in text
    assert len(text) < 4000
    assert "object object" in form_of(Line).retry_prompt(["a"], object())


# What cannot be a form.


@each(
    ("wanted", "told"),
    [
        (Plain, ["returns=Plain", "dataclass"]),
        (Empty, ["returns=Empty", "no fields"]),
        (List[Odd], ["returns=List[Odd]", "field 'run' of Odd", "Use str, int"]),
        (List["Nobody"], ["Nobody", "must exist"]),  # noqa: F821
        (Page[int], ["Page[int]", "without type variables"]),
        (None, ["returns=None", "Pass a dataclass"]),
        ("Invoice", ["'Invoice'", "Pass the class"]),
        ([Invoice], ["List[Invoice]"]),
        (Line("a", 1.0), ["Pass a dataclass"]),
        (len, ["Pass a dataclass"]),
        (3, ["3", "Pass a dataclass"]),
        ({}, ['"properties"']),
    ],
)
def test_what_cannot_be_a_form_is_refused_at_once(wanted, told):
    """The text names what is wrong and what to pass instead."""
    text = refusal(wanted)
    assert [part for part in told if part not in text] == []
