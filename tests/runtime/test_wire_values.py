"""Settings in the form the CLI takes them; whole commands are in test_command.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from claude_sync import Options, UsageError
from claude_sync.runtime import wire_values


@pytest.mark.parametrize(
    ("name", "expected"),
    [("max_turns", "maxTurns"), ("maxTurns", "maxTurns"), ("a", "a"), ("a_b_c", "aBC")],
)
def test_camel_case(name, expected):
    """Names of Python become names of the wire; others stay."""
    assert wire_values.camel_case(name) == expected


def test_agents_may_be_dicts_or_objects():
    """Both give the same, without what is None."""
    as_dict = {"a": {"description": "d", "prompt": "p", "max_turns": 3, "tools": None}}
    as_object = {"a": SimpleNamespace(**as_dict["a"])}
    expected = {"a": {"description": "d", "prompt": "p", "maxTurns": 3}}
    assert wire_values.agents_on_the_wire(as_dict) == expected
    assert wire_values.agents_on_the_wire(as_object) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"thinking": "adaptive"}, ["--thinking=adaptive"]),
        ({"thinking": {"type": "disabled"}}, ["--thinking=disabled"]),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 9, "display": "omitted"}},
            ["--max-thinking-tokens=9", "--thinking-display=omitted"],
        ),
        ({"max_thinking_tokens": 0}, ["--max-thinking-tokens=0"]),
    ],
)
def test_thinking(settings, expected):
    """Each form of the setting has its flags; 0 is sent."""
    assert wire_values.thinking_flags(Options(**settings)) == expected


def test_a_system_prompt_has_four_forms():
    """A text, a file, a text in a dict, and the CLI's own with something added."""
    of = lambda prompt, **more: wire_values.system_prompt_of(  # noqa: E731
        Options(system_prompt=prompt, **more)
    )
    assert of("").text == ""
    assert of({"type": "custom", "prompt": "p"}).text == "p"
    assert of({"type": "file", "path": Path("p.txt")}).file == "p.txt"
    assert of({"type": "preset", "append": "more"}).append == "more"
    assert of(None, append_system_prompt="more").append == "more"


@pytest.mark.parametrize("value", [object(), float("nan"), {1: {2}}])
def test_what_is_no_json_is_told_with_its_setting(value):
    """The error names the option."""
    with pytest.raises(UsageError, match="settings cannot be written as JSON"):
        wire_values.json_text("settings", value)


def test_a_value_that_holds_itself_is_told():
    """A circle is an error, not a hang."""
    circle = {}
    circle["self"] = circle
    with pytest.raises(UsageError, match="hooks cannot"):
        wire_values.json_text("hooks", circle)
