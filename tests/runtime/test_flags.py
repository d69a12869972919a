"""Single flags; whole commands are in test_command.py."""

from __future__ import annotations

import pytest

from claude_sync import BudgetExceeded, Options
from claude_sync.runtime import flags
from claude_sync.runtime.private_files import PrivateFiles


def test_nothing_set_gives_no_flags():
    """The CLI keeps its own defaults."""
    options, files = Options(include_partial_messages=False), PrivateFiles()
    assert flags.model_flags(options, None) == []
    assert flags.permission_flags(options, None) == []
    assert flags.limit_flags(options, None) == []
    assert flags.conversation_flags(options, None) == []
    assert flags.configuration_flags(options, files, None) == []
    assert flags.extra_flags(options) == []
    assert files.paths == []


def test_a_value_that_begins_with_a_dash_stays_a_value():
    """Each value is one word with its flag."""
    assert flags.model_flags(Options(model="-x"), None) == ["--model=-x"]


def test_empty_lists_of_tools_are_sent_where_they_mean_something():
    """No built-in tools at all is a setting; no allowed tools is not."""
    assert flags.permission_flags(Options(builtin_tools=[], allowed_tools=[]), None) == ["--tools="]


def test_skills_become_rules():
    """Names and "all" are permission rules of the CLI."""
    assert flags.permission_flags(Options(skills=["pdf"]), None) == ["--allowedTools=Skill(pdf)"]
    assert flags.permission_flags(Options(skills="all"), None) == ["--allowedTools=Skill"]


@pytest.mark.parametrize("left", [0.0, -0.1])
def test_a_budget_that_is_spent_is_told(left):
    """The CLI would only call the flag invalid."""
    with pytest.raises(BudgetExceeded):
        flags.limit_flags(Options(max_budget_usd=1), left)


def test_extra_flags_with_and_without_a_value():
    """None is a bare flag; 0 is a value."""
    options = Options(extra_args={"debug": None, "level": 0})
    assert flags.extra_flags(options) == ["--debug", "--level=0"]
