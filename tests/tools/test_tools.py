"""Functions that Claude can call: what can be one, and what happens when it is called."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import threading
from typing import Optional

import pytest
from tables import each

from claude_sync.errors import UsageError
from claude_sync.protocol.mcp import McpServer, manifest
from claude_sync.tools import ToolContext, ToolError, make_tool, make_tools, tool


def weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Args:
        city: Name of the town.
        days: How many days ahead.
    """
    return f"{city} {days}"


class Station:
    """Has methods of every kind."""

    def __init__(self, place="Rome"):
        self.place = place

    def plain(self, days: int):
        """Look from here."""
        return f"{self.place} {days}"

    @tool(name="renamed", read_only=True)
    def marked(self, days: int):
        """Look from here."""
        return f"{self.place} {days}"

    @tool
    @classmethod
    def inner_class(cls, days: int):
        return f"{cls.__name__} {days}"

    @classmethod
    @tool
    def outer_class(cls, days: int):
        return f"{cls.__name__} {days}"

    @tool
    @staticmethod
    def inner_static(days: int):
        return f"static {days}"

    @staticmethod
    @tool
    def outer_static(days: int):
        return f"static {days}"

    def __call__(self, days: int):
        return f"called {self.place} {days}"


class Sub(Station):
    """Inherits everything."""


def text(result):
    """The one text of a result."""
    (block,) = result["content"]
    return block["text"]


def failing(error):
    """A tool that raises *error*."""

    def function():
        raise error

    return make_tool(function)


# What can be a tool.


def test_a_plain_function_is_enough():
    """Its name, docstring and annotations say everything."""
    made = make_tool(weather)
    assert (made.name, made.description, made.function) == ("weather", "Tell the weather.", weather)
    assert made.schema["required"] == ["city"]
    assert made.schema["properties"]["days"] == {
        "type": "integer",
        "description": "How many days ahead.",
        "default": 1,
    }
    assert (made.ask, made.title, made.annotations, made.max_result_chars) == (
        False,
        None,
        {},
        None,
    )


def test_a_decorated_function_is_called_as_before():
    """Nothing is checked then, and help() shows the function."""
    made = tool(weather)
    assert made("Rome", days=2) == "Rome 2"
    assert (made.__name__, made.__doc__) == ("weather", weather.__doc__)
    assert (made.__module__, made.__qualname__) == (__name__, "weather")
    assert inspect.signature(made) == inspect.signature(weather)
    assert repr(made) == "<Tool weather>"


def test_settings_are_told_to_the_cli():
    """Hints in the spelling of MCP; those that are not given are left out."""
    made = tool(
        name="w",
        description="Other words.",
        title="The weather",
        ask=True,
        read_only=True,
        destructive=False,
        idempotent=True,
        open_world=False,
        max_result_chars=9,
    )(weather)
    server = McpServer("mine", "1", {made.name: made})
    (listed,) = manifest(server)["toolsListResult"]["tools"]
    assert made.ask is True
    assert listed == {
        "name": "w",
        "title": "The weather",
        "description": "Other words.",
        "inputSchema": made.schema,
        "annotations": {
            "title": "The weather",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "_meta": {"anthropic/alwaysLoad": True, "anthropic/maxResultSizeChars": 9},
    }


STATION = Station()
BOUND = {
    "a bound method": (STATION.plain, "plain", "Rome 1"),
    "a marked method": (STATION.marked, "renamed", "Rome 1"),
    "a marked class method": (Station.inner_class, "inner_class", "Station 1"),
    "a marked class method of an object": (STATION.inner_class, "inner_class", "Station 1"),
    "a class method that is marked inside": (Station.outer_class, "outer_class", "Station 1"),
    "an inherited class method": (Sub.outer_class, "outer_class", "Sub 1"),
    "a marked static method": (Station.inner_static, "inner_static", "static 1"),
    "a marked static method of an object": (STATION.inner_static, "inner_static", "static 1"),
    "a static method that is marked inside": (STATION.outer_static, "outer_static", "static 1"),
    "an object that can be called": (STATION, "Station", "called Rome 1"),
    "one that inherited it": (Sub("Bonn"), "Sub", "called Bonn 1"),
    "a partial of a method": (functools.partial(STATION.plain), "plain", "Rome 1"),
}


@each("kind", BOUND)
def test_whatever_can_be_called_can_be_a_tool(kind):
    """Only what is left to give is in the schema."""
    source, name, said = BOUND[kind]
    made = make_tool(source)
    assert made.name == name
    assert list(made.schema["properties"]) == ["days"]
    assert text(made.run({"days": 1})) == said


def test_a_method_knows_the_names_around_its_class():
    """Also later, when they cannot be seen any more, and whatever is said about self."""

    def make():
        @dataclasses.dataclass
        class Town:
            name: str

        class Local:
            @tool
            def method(self: Local, town: Town, context: ToolContext):
                return town.name

        return Local()

    made = make_tool(make().method, name="m")
    assert list(made.schema["properties"]) == ["town"]
    assert text(made.run({"town": {"name": "Rome"}})) == "Rome"


def test_what_a_partial_has_filled_in_is_fixed():
    """Claude neither sees it nor can change it."""
    made = make_tool(functools.partial(weather, days=5))
    assert (made.name, made.description) == ("weather", "Tell the weather.")
    assert list(made.schema["properties"]) == ["city"]
    assert text(made.run({"city": "Rome"})) == "Rome 5"
    assert made.run({"city": "Rome", "days": 2})["isError"]
    positional = make_tool(functools.partial(weather, "Bonn"))
    assert text(positional.run({"days": 2})) == "Bonn 2"


def test_a_wrapped_function_keeps_its_parameters():
    """Those of the function inside count."""

    def twice(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return inner

    made = make_tool(twice(weather))
    assert list(made.schema["properties"]) == ["city", "days"]
    assert text(made.run({"city": "a"})) == "a 1a 1"


async def coroutine():
    """An asynchronous function."""


async def async_generator():
    """An asynchronous generator."""
    yield


def generator():
    """A generator."""
    yield


def many(*cities):
    """Takes any number."""


def first(city, /):
    """Takes one by position."""


@each(
    ("source", "words"),
    [
        (coroutine, "with 'def'"),
        (async_generator, "with 'def'"),
        (functools.partial(coroutine), "with 'def'"),
        (generator, "without 'yield'"),
        (many, "Take a list"),
        (first, "leave out the '/'"),
        (Station, "is a class"),
        (Station.plain, "tools=[thing.plain]"),
        (Station.marked, "tools=[thing.marked]"),
        (max, "Wrap it into a function"),
        (operator.itemgetter(1), ""),  # what it is missing depends on the Python
        (abs, "leave out the '/'"),
        (None, "cannot be called"),
        (3, "cannot be called"),
        ("weather", "tool(name='weather')"),
    ],
)
def test_what_cannot_be_a_tool_is_explained(source, words):
    """With what to do instead."""
    with pytest.raises(UsageError) as caught:
        make_tool(source)
    assert words in str(caught.value)


@each("name", ["", "a b", "a.b", "ä", "a" * 65, 3, "a\n"])
def test_a_name_has_to_be_one(name):
    """Letters, digits, _ and -, at most 64."""
    with pytest.raises(UsageError, match="letters, digits"):
        tool(name=name)(weather)
    assert tool(name="a-B_9" + "a" * 59)(weather)


@each(
    ("settings", "words"),
    [
        ({"ask": "yes"}, "ask of the tool 'weather' is True or False, not 'yes'"),
        ({"read_only": 1}, "read_only .* True or False"),
        ({"description": 3}, "description .* a text"),
        ({"title": b"x"}, "title .* a text"),
        ({"max_result_chars": 0}, "positive number"),
        ({"max_result_chars": True}, "positive number"),
        ({"readonly": True}, "no setting 'readonly'. There are: name, description"),
    ],
)
def test_settings_are_checked(settings, words):
    """Where they are written."""
    with pytest.raises(UsageError, match=words):
        tool(**settings)(weather)


def test_two_tools_cannot_have_one_name():
    """Claude could not tell them apart."""
    with pytest.raises(UsageError, match="two tools are named 'weather'") as caught:
        make_tools([weather, tool(weather)])
    assert caught.value.option == "tools"


# Calls.


class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such town"), "ValueError: no such town"),
        (ValueError(), "ValueError"),
        (KeyError("a"), "KeyError: 'a'"),
        (Mute(), "Mute"),
    ],
    ids=repr,
)
def test_an_exception_is_told_to_claude_and_logged(error, said, caplog):
    """Its text, not its traceback, which whoever wrote the function finds in the log."""
    result = failing(error).run({})
    assert (text(result), result["isError"]) == (said, True)
    assert "the tool function failed" in caplog.text
    assert "Traceback" not in text(result)


@pytest.mark.parametrize(
    ("error", "said"),
    [(ToolError("closed on Mondays"), "closed on Mondays"), (ToolError(), "ToolError")],
)
def test_a_tool_error_is_told_as_it_is(error, said, caplog):
    """It is meant for Claude, so nothing is logged."""
    result = failing(error).run({})
    assert (text(result), result["isError"]) == (said, True)
    assert not caplog.records


def test_a_result_without_a_json_form_is_an_error(caplog):
    """Claude learns that the function ran."""
    made = make_tool(lambda_object)
    result = made.run({})
    assert result["isError"]
    assert text(result).startswith("The tool ran, but what it returned cannot be shown: object")
    assert "lambda_object" in caplog.text


def lambda_object():
    """Something without a JSON form."""
    return object()


# The context.


def test_a_tool_can_know_about_its_call():
    """By a parameter that is annotated so; Claude does not see it."""
    reports = []

    def function(a: int, context: ToolContext, other: Optional[ToolContext] = None):
        assert context is other
        context.progress(1, 2, "half")
        context.progress(2)
        return [context.tool_use_id, context.session_id, context.cancelled.is_set()]

    cancelled = threading.Event()
    cancelled.set()
    context = ToolContext("t", "s", cancelled, lambda *report: reports.append(report))
    made = make_tool(function)
    assert list(made.schema["properties"]) == ["a"]
    assert text(made.run({"a": 1}, context)) == '["t", "s", true]'
    assert reports == [(1, 2, "half"), (2, None, None)]


def test_the_context_cannot_be_an_argument():
    """Also where further keywords are taken."""

    def function(context: ToolContext, **more):
        return more

    assert make_tool(function).run({"a": 1, "context": 1})["structuredContent"] == {"a": 1}
