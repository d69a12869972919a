"""Types of Pydantic, as arguments of tools and as forms of answers."""

from __future__ import annotations

import datetime
import subprocess
import sys
from typing import List

import jsonschema
import pydantic
import pytest
from typing_extensions import Annotated

from claude_sync.errors import UsageError
from claude_sync.schema import Mismatch, form_of
from claude_sync.tools import make_tool


class Part(pydantic.BaseModel):
    name: str
    count: int = pydantic.Field(default=1, gt=0)
    parts: List[Part] = []


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")

    day: datetime.date
    title: str = pydantic.Field(alias="Title")


class Even(pydantic.BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def check(cls, value):
        if value < 0:
            raise TypeError("never right")
        if value % 2:
            raise ValueError("is odd")
        return value


@pydantic.dataclasses.dataclass
class Checked:
    x: int = pydantic.Field(gt=0)


def recorder(hint, calls):
    """A tool that puts its argument into *calls*."""

    def function(x):
        calls.append(x)

    function.__annotations__ = {"x": hint}
    return make_tool(function)


def problems(wanted, output):
    """What is wrong with *output*."""
    with pytest.raises(Mismatch) as caught:
        form_of(wanted).read(output)
    return caught.value.problems


def test_a_tool_may_take_a_model():
    """Its definitions become those of the whole schema."""
    calls = []
    tool = recorder(List[Part], calls)
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.schema["properties"]["x"]["items"] == {"$ref": "#/$defs/Part"}
    assert set(tool.schema["$defs"]) == {"Part"}
    tool.run({"x": [{"name": "a", "parts": [{"name": "b"}]}]})
    assert calls == [[Part(name="a", parts=[Part(name="b")])]]
    assert "x[0].count: " in tool.run({"x": [{"name": "a", "count": 0}]})["content"][0]["text"]


def test_a_strict_model_takes_what_json_has():
    """A date comes as a text, under the name that the schema tells."""
    form = form_of(Strict)
    assert set(form.schema["properties"]) == {"day", "Title"}
    read = form.read({"day": "2026-03-01", "Title": "a"})
    assert (read.day, read.title) == (datetime.date(2026, 3, 1), "a")


def test_what_only_the_model_finds_is_told_with_its_place():
    """Item by item; any other exception too."""
    output = {"items": [{"x": 1}, {"x": 2}, {"x": 3}]}
    assert [text.partition(":")[0] for text in problems(List[Even], output)] == [
        "items[0].x",
        "items[2].x",
    ]
    assert "is odd" in problems(List[Even], output)[0]
    assert problems(Even, {"x": -1}) == ["TypeError: never right"]


def test_other_types_of_pydantic_are_left_to_it_too():
    """Its dataclasses, its own types, and limits in Annotated."""
    assert form_of(List[Checked]).read({"items": [{"x": 1}]}) == [Checked(1)]
    assert problems(List[Checked], {"items": [{"x": 1}, {"x": 0}]})[0].startswith("items[1].x: ")
    limited = Annotated[int, pydantic.Field(gt=2), "How many."]
    assert recorder(limited, []).schema["properties"]["x"]["exclusiveMinimum"] == 2
    assert recorder(limited, []).schema["properties"]["x"]["description"] == "How many."
    assert problems(pydantic.AnyUrl, {"value": "no url"})[0].startswith("value: ")


def test_models_of_one_name_have_two_definitions():
    """Neither is taken for the other, nor what refers to them; equal ones are told once."""

    def other():
        class Part(pydantic.BaseModel):
            size: int
            parts: List[Part] = []

        class Box(pydantic.BaseModel):
            part: Part

        return Box

    class Case(pydantic.BaseModel):
        part: Part

    box = other()

    def function(a, b, c):
        pass

    function.__annotations__ = {"a": Part, "b": box, "c": Case}
    schema = make_tool(function).schema
    validator = jsonschema.Draft202012Validator(schema)
    part = {"name": "a"}
    assert validator.is_valid({"a": part, "b": {"part": {"size": 1}}, "c": {"part": part}})
    assert not validator.is_valid({"a": part, "b": {"part": part}, "c": {"part": part}})
    assert len(schema["$defs"]) == 2


def test_a_model_without_a_schema_is_refused():
    """When the tool or the form is made, with what Pydantic says about it."""

    class Later(pydantic.BaseModel):
        x: Nowhere  # noqa: F821

    with pytest.raises(UsageError, match="Later, of which Pydantic makes no JSON Schema"):
        recorder(Later, [])
    with pytest.raises(UsageError, match=r"returns=.*Later.*Pydantic.*model_json_schema"):
        form_of(Later)


def test_pydantic_is_never_imported():
    """A program that does not use it does not pay for it, nor need it."""
    code = (
        "import sys, typing, claude_sync.schema as r\n"
        "r.form_of(typing.List[typing.NamedTuple('P', [('a', int)])])\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
