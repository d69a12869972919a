"""Which functions are accepted as hooks, and what the CLI learns of them."""

from __future__ import annotations

import types
import warnings

import pytest
from tables import each

from claude_sync import Client, UsageError
from claude_sync.hooks import (
    HOOK_EVENTS,
    HookRegistration,
    hooks_of,
    hooks_on_the_wire,
    make_hook,
    number_of,
)
from claude_sync.testing import ScriptedCli

NEVER_CALLED = ("SessionStart", "SessionEnd")


def check(event):
    """A hook."""


@pytest.fixture
def client():
    """A client that nobody starts."""
    with Client(transport=ScriptedCli()) as client:
        yield client


@pytest.fixture(autouse=True)
def no_doubts():
    """A warning fails the test that does not expect it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def registered(client):
    """The hooks of a client."""
    return client._registry.hooks


def test_on_hook_is_a_decorator_and_a_call(client):
    """Both register the same, and return the function."""
    assert client.on_hook("PreToolUse", matcher="Bash", timeout=3)(check) is check
    assert client.on_hook("PreToolUse", "Bash", timeout=3)(check) is check
    assert client.on_hook("PreToolUse", check, matcher="Bash", timeout=3) is check
    assert client.on_hook("PreToolUse", check, "Bash", timeout=3) is check
    assert set(registered(client)) == {HookRegistration("PreToolUse", "Bash", check, 3)}
    assert client.on_hook("Stop", check, on_failure="continue") is check
    assert registered(client)[4:] == (HookRegistration("Stop", None, check, None, "continue"),)


def test_on_hook_without_an_event_or_with_two_matchers_is_refused(client):
    """The first mistake that people make with it."""
    for wrong in (
        lambda: client.on_hook(check),
        lambda: client.on_hook("PreToolUse", "Bash", "Read"),
        lambda: client.on_hook("PreToolUse")("Bash"),
        lambda: client.on_hook("PreToolUse", timeout=0),
    ):
        with pytest.raises(UsageError):
            wrong()
    assert registered(client) == ()


def test_what_is_right_is_accepted_quietly():
    """Also an event that only later CLIs know, and what may be a tool of a server."""
    for event in (*sorted(set(HOOK_EVENTS) - set(NEVER_CALLED)), "SomethingNew", "pre-commit"):
        assert make_hook(event, check).event == event
    for matcher in (None, "", "*", "Bash", "Edit|Write", "mcp__.*", "mytool"):
        assert make_hook("PreToolUse", check, matcher).matcher == matcher


@each(
    ("event", "meant"),
    [("PreToolUs", "PreToolUse"), ("pretooluse", "PreToolUse"), ("pre_tool_use", "PreToolUse")],
)
def test_a_misspelled_event_is_accepted_with_a_warning(event, meant):
    """It may be one that a later CLI knows."""
    with pytest.warns(UserWarning, match=f"did you mean '{meant}'"):
        assert make_hook(event, check).event == event


@pytest.mark.parametrize("event", NEVER_CALLED)
def test_an_event_for_which_no_program_is_called(event, client):
    """The warning says so once, at the line that registers it."""
    for register in (
        lambda: client.on_hook(event)(check),
        lambda: client.on_hook(event, check),
    ):
        with pytest.warns(UserWarning, match="no CLI calls") as caught:
            register()
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match="no CLI calls"):
        hooks_of({event: check})


@each("matcher", ["bash", "BASH", "Bash(", "*.py"])
def test_a_matcher_that_matches_no_tool_is_accepted_with_a_warning(matcher):
    """The CLI looks at the case, and takes it for a regular expression."""
    with pytest.warns(UserWarning, match=r"did you mean 'Bash'|regular expression"):
        assert make_hook("PreToolUse", check, matcher).matcher == matcher


@each(
    ("name", "value"),
    [
        ("event", None),
        ("event", " "),
        ("matcher", 3),
        ("matcher", ["Bash"]),
        ("matcher", "Bash(rm *)"),
        ("timeout", 0),
        ("timeout", "30"),
        ("timeout", True),
        ("timeout", float("nan")),
        ("on_failure", "allow"),
        ("on_failure", None),
    ],
)
def test_an_impossible_setting_is_refused(name, value):
    """When the hook is registered, not when it is called."""
    with pytest.raises(UsageError, match=name):
        make_hook(**{"event": "PreToolUse", "function": check, name: value})


def test_the_forms_of_the_option():
    """Functions, lists of them, groups as dicts and as objects; in their order."""
    group = types.SimpleNamespace(matcher="Write", hooks=[check], timeout=None, on_failure=None)
    grouped = {"matcher": "Bash", "hooks": [check, print], "timeout": 5}
    assert hooks_of(
        {
            "Stop": check,
            "PreToolUse": [print, grouped, group],
            "PermissionRequest": {"hooks": check, "on_failure": "continue"},
            "NewEvent": [],
        }
    ) == (
        HookRegistration("Stop", None, check),
        HookRegistration("PreToolUse", None, print),
        HookRegistration("PreToolUse", "Bash", check, 5),
        HookRegistration("PreToolUse", "Bash", print, 5),
        HookRegistration("PreToolUse", "Write", check),
        HookRegistration("PermissionRequest", None, check, None, "continue"),
    )
    assert hooks_of(None) == hooks_of({}) == ()
    assert "hooks" in grouped


@each(
    "value",
    [
        *(check, [check], "PreToolUse", {3: check}),
        *({"Stop": None}, {"Stop": "check"}, {"Stop": [3]}, {"Stop": [{"matcher": "Bash"}]}),
        {"Stop": [{"macher": "Bash", "hooks": [check]}]},
        {"Stop": [{"hooks": [lambda: None]}]},
    ],
)
def test_another_form_of_the_option_is_refused(value):
    """As one of its functions is."""
    with pytest.raises(UsageError):
        hooks_of(value)


def test_the_cli_waits_longer_than_any_hook_takes():
    """It takes a late answer for consent; so ours is the only clock."""
    given = [
        make_hook("PreToolUse", check, "Bash", timeout=0.5),
        make_hook("Stop", check),
        make_hook("PreToolUse", check, timeout=1e12),
    ]
    assert hooks_on_the_wire(given) == {
        "PreToolUse": [
            {"hookCallbackIds": ["hook_0"], "timeout": 2_000_000, "matcher": "Bash"},
            {"hookCallbackIds": ["hook_2"], "timeout": 2_000_000},
        ],
        "Stop": [{"hookCallbackIds": ["hook_1"], "timeout": 2_000_000}],
    }
    assert [number_of(each) for each in ("hook_0", "hook_12")] == [0, 12]
    for other in ("hook_", "hook_x", "x", 3, None, "hook_-1", "hook_\u0663", "hook_" + "9" * 30):
        assert number_of(other) is None
