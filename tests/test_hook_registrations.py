"""Which function is called for which event, checked when it is registered."""

from __future__ import annotations

import functools
import types

import pytest

from claude_sync.errors import UsageError
from claude_sync.hook_events import HOOK_EVENTS
from claude_sync.hooks import HookRegistration, hooks_of, make_hook


def check(event):
    """A hook."""


def test_a_hook_is_registered():
    """With what was said about it."""
    made = make_hook("PreToolUse", check, matcher="Bash", timeout=30, on_failure="continue")
    assert made == HookRegistration("PreToolUse", "Bash", check, 30, "continue")
    assert make_hook("Stop", check) == HookRegistration("Stop", None, check, None, "block")


@pytest.mark.parametrize("event", [None, "", "  ", 3])
def test_an_event_has_a_name(event):
    """Nothing else can be sent."""
    with pytest.raises(UsageError, match="PreToolUse"):
        make_hook(event, check)


@pytest.mark.parametrize("event", ["PreToolUze", "pretooluse", "pre_tool_use", " PreToolUse"])
def test_a_misspelled_event_is_accepted_with_a_warning(event):
    """The CLI may know it, but most likely does not."""
    with pytest.warns(UserWarning, match="did you mean 'PreToolUse'"):
        assert make_hook(event, check).event == event


@pytest.mark.parametrize("event", [*HOOK_EVENTS, "SomethingElseEntirely"])
def test_other_events_are_accepted_quietly(event):
    """Known ones, and those that are like none."""
    assert make_hook(event, check).event == event


@pytest.mark.parametrize("matcher", [None, "", "*", "Bash", "Edit|Write", "mcp__.*"])
def test_a_matcher_is_accepted(matcher):
    """As the CLI takes it."""
    assert make_hook("PreToolUse", check, matcher).matcher == matcher


def test_a_matcher_that_cannot_match_is_accepted_with_a_warning():
    """The CLI has another kind of regular expressions."""
    with pytest.warns(UserWarning, match="no regular expression"):
        assert make_hook("PreToolUse", check, "Bash(").matcher == "Bash("


@pytest.mark.parametrize(
    "settings",
    [
        {"matcher": 3},
        {"matcher": ["Bash"]},
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": "30"},
        {"timeout": True},
        {"timeout": float("inf")},
        {"on_failure": "allow"},
        {"on_failure": None},
    ],
)
def test_an_impossible_setting_is_refused(settings):
    """When the hook is registered, not when it is called."""
    (name,) = settings
    with pytest.raises(UsageError, match=name):
        make_hook("PreToolUse", check, **settings)


def test_a_function_that_would_not_run_is_refused():
    """Nothing here awaits; and nothing here passes three arguments."""

    async def later(event):
        return {}

    async def pieces(event):
        yield {}

    class Later:
        async def __call__(self, event):
            return {}

    for function in (later, pieces, Later(), functools.partial(later), Later().__call__):
        with pytest.raises(UsageError, match="Write it with 'def'"):
            make_hook("PreToolUse", function)
    for function in (lambda: None, lambda a, b, c: None):
        with pytest.raises(UsageError, match="one argument"):
            make_hook("PreToolUse", function)
    for function in (None, "check", 3):
        with pytest.raises(UsageError, match="function of one argument"):
            make_hook("PreToolUse", function)


def test_every_kind_of_function_is_accepted():
    """Methods, partial ones, classes, objects and builtins."""

    class Hook:
        def __call__(self, event):
            return None

        def method(self, event):
            return None

    for function in (Hook(), Hook().method, functools.partial(check), dict, print, [].append):
        assert make_hook("Stop", function).function == function


# The option.


def test_no_hooks():
    """None and an empty dict are none."""
    assert hooks_of(None) == ()
    assert hooks_of({}) == ()
    assert hooks_of({"Stop": []}) == ()


def test_the_forms_of_the_option():
    """Functions, lists of them, groups as dicts and as objects; in their order."""
    group = types.SimpleNamespace(matcher="Write", hooks=[check], timeout=None, on_failure=None)
    assert hooks_of(
        {
            "Stop": check,
            "PreToolUse": [
                print,
                {"matcher": "Bash", "hooks": [check, print], "timeout": 5},
                group,
            ],
            "PermissionRequest": {"hooks": check, "on_failure": "continue"},
        }
    ) == (
        HookRegistration("Stop", None, check),
        HookRegistration("PreToolUse", None, print),
        HookRegistration("PreToolUse", "Bash", check, 5),
        HookRegistration("PreToolUse", "Bash", print, 5),
        HookRegistration("PreToolUse", "Write", check),
        HookRegistration("PermissionRequest", None, check, None, "continue"),
    )


@pytest.mark.parametrize(
    "value",
    [
        check,
        [check],
        "PreToolUse",
        {"Stop": None},
        {"Stop": "check"},
        {"Stop": [3]},
        {"Stop": [{"matcher": "Bash"}]},
    ],
)
def test_another_form_is_refused(value):
    """The right one is shown."""
    with pytest.raises(UsageError, match="'hooks': \\[function\\]"):
        hooks_of(value)


def test_a_misspelled_setting_of_a_group_is_refused():
    """It would not count."""
    with pytest.raises(UsageError, match="did you mean 'matcher'"):
        hooks_of({"Stop": [{"macher": "Bash", "hooks": [check]}]})


def test_functions_of_the_option_are_checked():
    """As those of on_hook are."""

    async def later(event):
        return {}

    with pytest.raises(UsageError, match="Write it with 'def'"):
        hooks_of({"Stop": [{"hooks": [later]}]})
    with pytest.raises(UsageError, match="PreToolUse"):
        hooks_of({3: check})


@pytest.mark.parametrize("matcher", ["Bash(rm *)", "Read(src/**)", "Bash()"])
def test_a_rule_is_no_matcher(matcher):
    """It would match no tool, and the hook would never run."""
    with pytest.raises(UsageError, match="is a rule"):
        make_hook("PreToolUse", len, matcher=matcher)


def test_a_tool_in_the_wrong_case_is_told():
    """The CLI looks at the case."""
    with pytest.warns(UserWarning, match="did you mean 'Bash'"):
        make_hook("PreToolUse", len, matcher="bash")
