"""What all commands share: exit codes, and words on stderr."""

from __future__ import annotations

import re
from pathlib import Path

import command_scripts
import pytest

import claude_sync
from claude_sync import errors
from claude_sync.cli.ask import ask
from claude_sync.cli.common import as_typed, complain, exit_code_of
from claude_sync.schema.json_schema import checked_schema
from claude_sync.testing import StandIn


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
    assert re.search(rf"^ +{code} ", ask.__doc__, re.MULTILINE)


def test_what_is_said_on_stderr_is_nothing_that_a_terminal_would_obey(capsys):
    """Errors carry texts of others."""
    complain("no such file: \x1b[2J\x07\nlook again")
    assert capsys.readouterr().err == "claude-sync: no such file: \\x1b[2J\\x07\nlook again\n"


# What speaks of a program to somebody who has none: keywords, attributes, handlers and calls.
PROGRAM = re.compile(
    r"\w=|\.answer|client\.|\w\(\)|returns_retries|budget_usd|policies\.|\bon_\w|Raise timeout"
)


def ended(*words):
    """The CLI ended with these words."""
    return errors.CliDidNotStart("the CLI exited before it was ready", 1, words)


def refused(function, *arguments, **more):
    """The error that this raises."""
    with pytest.raises(errors.UsageError) as caught:
        function(*arguments, **more)
    return caught.value


def over_budget():
    """The error of a prompt for which there is no money left."""
    command = StandIn(command_scripts.costs_a_dollar).command
    with claude_sync.map(["a", "b"], workers=1, budget_usd=0.5, cli=command) as batch:
        return batch.results()[1].error


@pytest.mark.parametrize(
    "make",
    [
        lambda: errors.CliNotFound(["PATH: missing"]),
        lambda: ended("No conversation found with session ID: x"),
        lambda: errors.AskTimeout(2),
        lambda: errors.AskTimeout(2, sent=False, what="the CLI was not ready"),
        lambda: errors.CliExited("the CLI ended during the turn"),
        lambda: errors.ExecutionError("it failed"),
        lambda: errors.ApiError("there is no such model", status=404),
        over_budget,
        lambda: errors.PromptTooLong("it is too long"),
        lambda: errors.ReturnsError("it has another form"),
        lambda: errors.WireError("that was no JSON"),
        lambda: refused(checked_schema, {"type": 3}),
        lambda: refused(claude_sync.ask, "a", cwd="/no/where", cli=StandIn().command),
        lambda: refused(claude_sync.ask, "a", attach=["/"], cli=StandIn().command),
        lambda: refused(claude_sync.sessions.restore_session, Path("/no/where")),
    ],
)
def test_errors_speak_of_what_was_typed(make):
    """Nothing of a program is left in what is printed of an error."""
    error = make()
    assert as_typed(error).startswith(error.problem)
    assert not PROGRAM.search(as_typed(error))


def test_whatever_is_printed_of_an_error_is_for_the_command_line(run, tmp_path):
    """By itself, as JSON, and for a prompt of several."""
    advice = "Raise --timeout, or ask again."
    words = ("--offline", "--timeout", "1")
    _, stdout, stderr = run("ask", *words, "[[sleep 60]]", "--json")
    assert advice in stdout
    assert advice in stderr
    (tmp_path / "prompts.jsonl").write_text('"[[sleep 60]]"')
    assert advice in run("batch", *words, "prompts.jsonl", "-o", "out.jsonl")[2]
