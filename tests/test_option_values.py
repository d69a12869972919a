"""What single settings can be; every setting is in test_options.py."""

from __future__ import annotations

import dataclasses

import pytest

from claude_sync import Options, UsageError, policies
from claude_sync.option_values import (
    CHECKERS,
    FLAGS_OF_THE_LIBRARY,
    FLAGS_WITH_AN_OPTION,
    check_values,
)

NAMES = {field.name for field in dataclasses.fields(Options)}


def test_every_checker_is_for_a_setting():
    """No check is left over from a setting that is gone."""
    assert set(CHECKERS) <= NAMES


def test_the_defaults_pass_and_stay():
    """Checking checked values changes nothing."""
    options = Options()
    assert check_values(options) == {name: getattr(options, name) for name in CHECKERS}


@pytest.mark.parametrize(("flag", "option"), sorted(FLAGS_WITH_AN_OPTION.items()))
def test_a_flag_with_an_option_cannot_be_given_twice(flag, option):
    """extra_args refuses it and names the option, which exists."""
    assert option in NAMES
    with pytest.raises(UsageError, match=f"use the option {option}="):
        Options(extra_args={flag: "x"})


@pytest.mark.parametrize("flag", FLAGS_OF_THE_LIBRARY)
def test_flags_of_the_library_cannot_be_changed(flag):
    """The conversation with the CLI rests on them."""
    with pytest.raises(UsageError, match="the library sets it itself"):
        Options(extra_args={flag: None})


@pytest.mark.parametrize("post", [None, "manual", "caller", print])
def test_where_handlers_can_run(post):
    """The dispatcher, the program's calls, the waiting thread, or a function."""
    assert Options(post=post).post is post


def test_another_place_for_handlers_is_refused():
    """A misspelled way is told the right one."""
    with pytest.raises(UsageError, match="did you mean 'manual'"):
        Options(post="manuel")


@pytest.mark.parametrize("value", ["ask", ["Bash"], 5])
def test_what_is_no_policy_is_told_what_there_is(value):
    """The text names the ready-made ones."""
    with pytest.raises(UsageError, match="ask_on_terminal"):
        Options(permissions=value)


@pytest.mark.parametrize("name", ["allow_tools", "deny_tools", "first_of"])
def test_a_maker_of_policies_must_be_called(name):
    """It would fail at every request."""
    with pytest.raises(UsageError, match="call it"):
        Options(permissions=getattr(policies, name))


def test_hooks_are_given_by_event():
    """A list says nothing about when to call them."""
    with pytest.raises(UsageError, match="'PreToolUse': function"):
        Options(hooks=[print])


def test_the_name_of_our_own_server_is_taken():
    """Its tools run without permission, so nobody else may have it."""
    with pytest.raises(UsageError, match="own tools"):
        Options(mcp_servers={"claude_sync": {"command": "x"}})
