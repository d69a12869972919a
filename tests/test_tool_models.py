"""Pydantic models, old and new, as arguments of tools and as forms of answers."""

from __future__ import annotations

import datetime
import subprocess
import sys
from typing import List, Optional

import jsonschema
import pydantic
import pydantic.v1
import pytest

from claude_sync.errors import UsageError
from claude_sync.returns import Mismatch, form_of
from claude_sync.tool_arguments import ArgumentsRefused, bind
from claude_sync.tool_models import is_model, mismatch_of
from claude_sync.tool_signatures import inputs_of
from claude_sync.tools import make_tool


class Part(pydantic.BaseModel):
    name: str
    count: int = pydantic.Field(default=1, gt=0)
    parts: List[Part] = []


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")

    day: datetime.date
    title: str = pydantic.Field(alias="Title")


class Failing(pydantic.BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def check(cls, value):
        raise TypeError("never right")


class OldPart(pydantic.v1.BaseModel):
    name: str
    inner: Optional[OldPart] = None

    @pydantic.v1.root_validator
    @classmethod
    def check(cls, values):
        if values.get("name") == "bad":
            raise ValueError("a bad name")
        return values


OldPart.update_forward_refs()


@pydantic.dataclasses.dataclass
class Checked:
    x: int = pydantic.Field(gt=0)


def taking(hint):
    """A function with one parameter that is annotated with *hint*."""

    def function(x):
        return None

    function.__annotations__ = {"x": hint}
    return function


def test_models_are_known_by_what_they_can_do():
    """Those of both versions, and nothing else."""
    assert is_model(Part) and is_model(OldPart)
    assert not any(map(is_model, (Part(name="a"), Checked, str, List[Part], None)))


def test_a_tool_may_take_a_model():
    """Its definitions become those of the whole schema."""
    schema = make_tool(taking(List[Part])).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["x"]["items"] == {"$ref": "#/$defs/Part"}
    assert set(schema["$defs"]) == {"Part"}
    inputs = inputs_of(taking(List[Part]), "f")
    assert bind(inputs, {"x": [{"name": "a"}]}) == {"x": [Part(name="a")]}
    with pytest.raises(ArgumentsRefused, match=r"x\[0\].count: Input should be greater than 0"):
        bind(inputs, {"x": [{"name": "a", "count": 0}]})


def test_a_strict_model_takes_what_json_has():
    """A date comes as a text, under the name that the schema tells."""
    form = form_of(Strict)
    assert set(form.schema["properties"]) == {"day", "Title"}
    read = form.read({"day": "2026-03-01", "Title": "a"})
    assert (read.day, read.title) == (datetime.date(2026, 3, 1), "a")
    with pytest.raises(Mismatch) as caught:
        form.read({"day": "2026-03-01", "Title": 1, "more": {"a": 1}})
    title, more = sorted(caught.value.problems)
    assert title.startswith("Title: ") and title.endswith(", got 1")
    assert more == "more: Extra inputs are not permitted"


def test_a_model_of_the_older_kind_works():
    """Under its other names."""
    form = form_of(List[OldPart])
    assert form.schema["properties"]["items"]["items"] == {"$ref": "#/$defs/OldPart"}
    value = {"items": [{"name": "a", "inner": {"name": "b"}}]}
    jsonschema.Draft7Validator(form.schema).validate(value)
    assert form.read(value) == [OldPart(name="a", inner=OldPart(name="b"))]
    with pytest.raises(Mismatch) as caught:
        form.read({"items": [{"name": "a", "inner": {}}]})
    assert caught.value.problems == ["items[0].inner.name: field required"]
    with pytest.raises(Mismatch) as caught:
        form.read({"items": [{"name": "bad"}]})
    assert caught.value.problems == ["items[0]: a bad name"]


def test_a_dataclass_of_pydantic_tells_its_problems_one_by_one():
    """Although the class is called, not validated."""
    with pytest.raises(Mismatch) as caught:
        form_of(List[Checked]).read({"items": [{"x": 1}, {"x": 0}]})
    assert caught.value.problems == ["items[1].x: Input should be greater than 0, got 0"]


def test_any_exception_of_a_model_is_told():
    """Not only those that Pydantic makes."""
    with pytest.raises(Mismatch) as caught:
        form_of(Failing).read({"x": 1})
    assert caught.value.problems == ["TypeError: never right"]
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("errors", [None, "many", lambda: 1 / 0, lambda: "x", lambda: [{"a": 1}]])
def test_an_exception_may_only_look_like_one_of_pydantic(errors):
    """Then its text is what is told."""
    error = ValueError("odd")
    error.errors = errors
    assert str(mismatch_of(error)) == "ValueError: odd"


def test_a_model_without_a_schema_is_refused():
    """When the tool or the form is made, with what Pydantic says about it."""

    class Later(pydantic.BaseModel):
        x: Nowhere  # noqa: F821

    with pytest.raises(UsageError, match="Later, of which Pydantic makes no JSON Schema"):
        make_tool(taking(Later))
    with pytest.raises(UsageError, match=r"returns=.*Later.*Pydantic.*model_json_schema"):
        form_of(Later)


def test_pydantic_is_never_imported():
    """A program that does not use it does not pay for it, nor need it."""
    code = (
        "import sys, typing, claude_sync.returns as r\n"
        "r.form_of(typing.List[int])\n"
        "sys.exit('pydantic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
