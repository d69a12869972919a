"""The environment of the CLI; the whole of it is in test_command.py."""

from __future__ import annotations

import pytest

from claude_sync.engine.launch.environment import (
    NESTED_SESSION_VARIABLES,
    belongs_to_a_session,
    child_environment,
    variable,
)


def environment(inherited=None, changes=None, **keywords):
    """What a CLI would get."""
    settings = {"cwd": None, "variables": {}, "windows": False, **keywords}
    return child_environment(inherited or {}, changes or {}, **settings)


@pytest.mark.parametrize("name", [*NESTED_SESSION_VARIABLES, "CLAUDE_AGENT_SDK_VERSION"])
def test_traces_of_another_session_are_not_inherited(name):
    """A program inside a session starts a CLI that does not believe it is part of it."""
    assert belongs_to_a_session(name)
    assert environment({name: "trace"}).get(name) != "trace"


@pytest.mark.parametrize("name", ["PATH", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY"])
def test_everything_else_is_inherited(name):
    """Login, proxy and path are those of the program."""
    assert not belongs_to_a_session(name)
    assert environment({name: "kept"})[name] == "kept"


def test_the_inherited_environment_is_not_changed():
    """A mapping that was given is only read."""
    inherited = {"CLAUDECODE": "1", "A": "1"}
    environment(inherited, {"A": None})
    assert inherited == {"CLAUDECODE": "1", "A": "1"}


@pytest.mark.parametrize(
    ("windows", "name", "expected"),
    [(False, "PATH", "p"), (False, "Path", None), (True, "Path", "p"), (True, "EMPTY", None)],
)
def test_a_variable_is_found_as_the_system_would(windows, name, expected):
    """Case counts on POSIX only; an empty one counts as missing."""
    assert variable({"PATH": "p", "EMPTY": ""}, name, windows) == expected
