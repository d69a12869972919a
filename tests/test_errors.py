"""Errors: one tree, each with its data, its advice, and a life after pickling."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import claude_sync
from claude_sync import error_texts, errors
from claude_sync.answers import Answer

ANSWER = Answer("so far")

# Every class of the tree, made with all it takes, and a word of its advice.
EXAMPLES = [
    (errors.CliNotFound(["/a/claude: missing", "PATH"]), "Install it"),
    (errors.CliFailed("the CLI broke", 3, ["oh"], ["claude", "-p"]), "claude-sync doctor"),
    (errors.CliDidNotStart("the CLI stayed silent", None, ["oh"], ["claude"]), "doctor"),
    (errors.CliExited("the CLI exited", -9, ["a", "b"], ["claude"]), "starts it again"),
    (errors.TurnError("it failed", ANSWER, "result"), "see .answer"),
    (errors.NotLoggedIn("Not logged in", ANSWER, None), "/login"),
    (errors.RateLimited("limit reached", ANSWER, None), "Wait until"),
    (errors.Overloaded("overloaded", ANSWER, None), "Try again"),
    (errors.ApiError("API Error: 404", ANSWER, None, 404), "model's name"),
    (errors.MaxTurnsReached("too many", ANSWER, None), "Raise max_turns"),
    (errors.BudgetExceeded("nothing left", ANSWER, None), "Raise max_budget_usd"),
    (errors.PromptTooLong("too long", ANSWER, None), "open a new client"),
    (errors.ReturnsError("not JSON", ANSWER, None), "See .answer"),
    (errors.TurnInterrupted("interrupted", ANSWER, None), "stays usable"),
    (errors.ExecutionError("failed", ANSWER, None), "see .answer"),
    (errors.ControlError("set_model", "no such model", "invalid"), "Check the values"),
    (errors.ControlTimeout("set_model", 2.5), "longer timeout="),
    (errors.UnsupportedByCli("add_context()", "1.0.128"), "Update it"),
    (errors.AskTimeout(2.0, True, ANSWER, False, "no complete answer"), "Raise timeout"),
    (errors.AskTimeout(2.0, False), "second client"),
    (errors.AskTimeout(2.0, True, ANSWER, True), "Raise idle_timeout"),
    (errors.WireError("a line was no JSON"), "Make a recording"),
    (errors.UsageError("this cannot work. Do that."), "Do that"),
    (errors.CalledFromHandler("ask"), "Call submit()"),
    (errors.ClientClosed("the client is closed"), "Open a new Client"),
    (errors.AlreadyAnswered("allow"), "Answer each request once"),
]


def names(examples):
    """A readable id for each example."""
    return [type(error).__name__ for error, _ in examples]


def test_every_class_has_an_example_here():
    """Every public error but the base of all is made, shown and pickled by these tests."""
    made = {type(error).__name__ for error, _ in EXAMPLES}
    assert made | {"ClaudeError"} == set(errors.__all__)


def test_every_class_of_the_module_is_public():
    """No error is defined without being exported, here and by the package."""
    defined = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, BaseException)
    }
    assert defined == set(errors.__all__)
    assert all(getattr(claude_sync, name) is getattr(errors, name) for name in defined)


@pytest.mark.parametrize(("error", "advice"), EXAMPLES, ids=names(EXAMPLES))
def test_the_text_says_what_to_do(error, advice):
    """What happened comes first, advice last, and both are whole sentences."""
    assert advice in str(error)
    assert str(error).rstrip().endswith((".", ")"))


@pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
@pytest.mark.parametrize(("error", "advice"), EXAMPLES, ids=names(EXAMPLES))
def test_errors_survive_pickling(error, advice, copied):
    """A pickled or copied error has the same class, attributes and text."""
    again = copied(error)
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("error_class", "bases"),
    [
        (errors.CliNotFound, (errors.ClaudeError, FileNotFoundError)),
        (errors.CliDidNotStart, (errors.CliFailed,)),
        (errors.CliExited, (errors.CliFailed,)),
        (errors.CliFailed, (errors.ClaudeError,)),
        (errors.ControlTimeout, (errors.ClaudeError, TimeoutError)),
        (errors.AskTimeout, (errors.ClaudeError, TimeoutError)),
        (errors.ControlError, (errors.ClaudeError,)),
        (errors.UnsupportedByCli, (errors.ClaudeError,)),
        (errors.WireError, (errors.ClaudeError,)),
        (errors.TurnError, (errors.ClaudeError,)),
        (errors.CalledFromHandler, (errors.UsageError,)),
        (errors.ClientClosed, (errors.UsageError,)),
        (errors.AlreadyAnswered, (errors.UsageError,)),
        (errors.ClaudeError, (Exception,)),
    ],
)
def test_the_tree(error_class, bases):
    """Each class can be caught under the names that the drawing gives it."""
    assert error_class.__bases__ == bases


@pytest.mark.parametrize(
    "name",
    [
        "NotLoggedIn",
        "RateLimited",
        "Overloaded",
        "ApiError",
        "MaxTurnsReached",
        "BudgetExceeded",
        "PromptTooLong",
        "ReturnsError",
        "TurnInterrupted",
        "ExecutionError",
    ],
)
def test_ends_of_a_turn_carry_its_answer(name):
    """Every error about the end of a turn has the answer so far and the result."""
    error = getattr(errors, name)("why", ANSWER, "result")
    assert isinstance(error, errors.TurnError)
    assert (error.reason, error.answer, error.result) == ("why", ANSWER, "result")


def test_the_drawing_names_every_class():
    """The tree at the top of the module is complete."""
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_missing_cli_lists_where_it_was_looked_for():
    """Each place is on a line of its own."""
    error = errors.CliNotFound(["/a/claude", "/b/claude"])
    assert error.searched == ("/a/claude", "/b/claude")
    assert "  - /a/claude\n  - /b/claude\n" in str(error)


def test_only_the_end_of_stderr_is_shown():
    """Of a long stderr the text shows the last lines; the attribute has all."""
    lines = [f"line {number}" for number in range(30)]
    error = errors.CliExited("the CLI exited", 1, lines)
    assert error.stderr_tail == tuple(lines)
    assert "  | line 29" in str(error)
    assert "line 3\n" not in str(error)
    assert str(error).count("  | ") == error_texts.STDERR_LINES_SHOWN


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (-99, "signal 99")],
)
def test_an_exit_code_is_told_in_words(code, words):
    """A signal is told by its name."""
    assert words in str(errors.CliExited("the CLI exited", code))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "network connection"),
        (404, "model's name"),
        (401, "/login"),
        (403, "/login"),
        (500, "service failed"),
        (400, "Check what was sent"),
    ],
)
def test_the_status_decides_the_advice(status, words):
    """An API error's advice fits its HTTP status."""
    error = errors.ApiError("API Error", None, None, status)
    assert error.status == status
    assert words in str(error)


@pytest.mark.parametrize(
    ("text", "expected"), [("a", "a."), ("a. ", "a."), ("a!", "a!"), ("a?", "a?"), ("a:", "a:")]
)
def test_a_sentence_ends_once(text, expected):
    """A full stop is added where there is none."""
    assert errors.sentence(text) == expected


def test_every_argument_is_in_args():
    """What an error was made from can be seen in repr() and in a log."""
    assert errors.ApiError("a", None, None, 404).args == ("a", None, None, 404)
    assert errors.CliExited("a", 1, ["b"], ["c"]).args == ("a", 1, ("b",), ("c",))
    assert errors.ControlError("a", "b", "c").args == ("a", "b", "c")


def test_a_code_of_the_cli_is_shown():
    """A refusal shows the CLI's code, if it gave one."""
    assert "[invalid]" in str(errors.ControlError("x", "no", "invalid"))
    assert "[" not in str(errors.ControlError("x", "no"))
