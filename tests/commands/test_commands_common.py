"""What all commands share: exit codes, and words on stderr."""

from __future__ import annotations

import argparse

import pytest

import claude_sync
from claude_sync import errors
from claude_sync.commands.common import EXIT_CODES, complain, exit_code_of, seconds


def some(name):
    """An error of a class, however it is made."""
    found = getattr(errors, name)
    return found.__new__(found)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("RateLimited", "Overloaded", "ApiError", "MaxTurnsReached", "PromptTooLong"), 1),
        (("TurnInterrupted", "ExecutionError", "CliExited", "ControlError", "WireError"), 1),
        (("UsageError", "ClientClosed"), 2),
        (("CliNotFound", "CliDidNotStart", "NotLoggedIn"), 3),
        (("AskTimeout",), 4),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(names, code):
    """And the list of them is complete."""
    for name in names:
        assert exit_code_of(some(name)) == code, name
    assert f"\n  {code} " in EXIT_CODES


def test_what_is_said_on_stderr_is_nothing_that_a_terminal_would_obey(capsys):
    """Errors carry texts of others."""
    complain("no such file: \x1b[2J\x07\nlook again")
    assert capsys.readouterr().err == "claude-sync: no such file: \\x1b[2J\\x07\nlook again\n"


@pytest.mark.parametrize("word", ["0", "-1", "inf", "nan", "soon"])
def test_what_is_no_time_is_refused(word):
    """Zero would never do, and for ever is the default."""
    with pytest.raises(argparse.ArgumentTypeError, match="no number of seconds"):
        seconds(word)
    assert seconds("1.5") == 1.5


def test_the_commands_load_nothing_for_a_program():
    """Only the command line needs them."""
    import subprocess
    import sys

    program = "import claude_sync, sys; print([n for n in sys.modules if 'commands' in n])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n"
    assert claude_sync.export.__module__ == "claude_sync.exports"
