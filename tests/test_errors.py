"""Errors: one tree; each has its data, advice, a sentence for people, and survives pickling."""

from __future__ import annotations

import copy
import inspect
import pickle
import shlex
import time

import pytest
from patience import PATIENCE
from stand_ins import Background
from tables import each

import claude_sync
from claude_sync import errors
from claude_sync.messages.answer import Answer
from claude_sync.testing import ScriptedCli, StandIn

ANSWER = Answer("so far")
RESETS_AT = time.time() + 3600

# Every class of the tree, made with all it takes.
EXAMPLES = [
    errors.CliNotFound(["/a/claude: missing", "PATH"]),
    errors.CliFailed("the CLI broke", 3, ["oh"], ["claude", "-p"]),
    errors.CliDidNotStart("the CLI stayed silent", None, ["oh"], ["claude"]),
    errors.CliExited("the CLI exited", -9, ["a", "b"], ["claude"]),
    errors.TurnError("it failed", ANSWER, "result"),
    errors.NotLoggedIn("Not logged in", ANSWER, None, "/opt/claude"),
    errors.RateLimited("limit reached", ANSWER, None, RESETS_AT),
    errors.RateLimited("limit reached", ANSWER, None),
    errors.Overloaded("overloaded", ANSWER, None),
    errors.ApiError("API Error: 404", ANSWER, None, 404),
    errors.MaxTurnsReached("too many", ANSWER, None),
    errors.BudgetExceeded("nothing left", ANSWER, None),
    errors.PromptTooLong("too long", ANSWER, None),
    errors.ReturnsError("not JSON", ANSWER, None, ["a: missing"]),
    errors.TurnInterrupted("interrupted", ANSWER, None),
    errors.ExecutionError("failed", ANSWER, None),
    errors.ControlError("set_model", "no such model", "invalid"),
    errors.ControlTimeout("set_model", 2.5),
    errors.UnsupportedByCli("add_context()", "1.0.128"),
    errors.AskTimeout(2.0, True, ANSWER, False, "no complete answer"),
    errors.AskTimeout(2.0, False),
    errors.AskTimeout(2.0, False, what="the CLI was not ready"),
    errors.AskTimeout(2.0, True, ANSWER, True),
    errors.WireError("a line was no JSON"),
    errors.UsageError("effort is wrong", option="effort", value="hihg", nearest="high"),
    errors.CalledFromHandler("ask"),
    errors.ClientClosed("the client is closed"),
    errors.AlreadyAnswered("allow"),
]
TURN_ERRORS = [error for error in EXAMPLES if isinstance(error, errors.TurnError)]


def test_every_class_has_an_example_here():
    """Every public error but the base of all is made, shown and pickled by these tests."""
    made = {type(error).__name__ for error in EXAMPLES}
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


def drawn():
    """The classes of the drawing, each with the one that it stands under."""
    above = []
    for line in errors.__doc__.splitlines():
        name = line.lstrip(" │├└─").split(" ")[0]
        if name not in errors.__all__:
            continue
        depth = (line.index(name) - 4) // 4
        above[depth:] = [name]
        yield name, above[depth - 1] if depth else None


def test_the_drawing_is_the_tree():
    """Each class stands under its base."""
    bases = {name: getattr(errors, name).__bases__[0].__name__ for name in errors.__all__}
    bases["ClaudeError"] = None
    assert dict(drawn()) == bases


def test_errors_of_python_catch_them_too():
    """What a program that knows only Python would catch."""
    assert issubclass(errors.CliNotFound, FileNotFoundError)
    assert issubclass(errors.AskTimeout, TimeoutError)
    assert issubclass(errors.ControlTimeout, TimeoutError)


@each("error", EXAMPLES)
def test_the_texts(error):
    """The problem, then advice, in whole sentences; and a short one for people, without code."""
    assert str(error).startswith(error.problem)
    assert str(error).endswith(error.advice)
    assert str(error).endswith((".", ")"))
    assert error.user_message.endswith(".")
    assert len(error.user_message) < 70
    assert not any(sign in error.user_message for sign in "=()_")


@each("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
@each("error", EXAMPLES)
def test_errors_survive_pickling(error, copied):
    """A pickled or copied error has the same class, attributes and text."""
    error.client = "claude-7"
    again = copied(error)
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert again.client == "claude-7"
    assert str(again) == str(error)
    assert again.user_message == error.user_message


@each("error", TURN_ERRORS)
def test_ends_of_a_turn_carry_its_answer(error):
    """And what happened, in the words of the CLI."""
    assert error.answer == ANSWER
    assert error.reason in str(error)


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
    assert "  | line 29\n" in str(error)
    assert str(error).count("  | ") == errors.STDERR_LINES_SHOWN


def test_what_the_reason_says_is_not_quoted_again():
    """A CLI that prints why it does not start has said it."""
    error = errors.CliDidNotStart("the CLI did not start: bad file", 1, ["bad file"])
    assert str(error).count("bad file") == 1


@each(
    ("code", "words"),
    [(0, "exit code 0"), (3, "exit code 3"), (-9, "killed by SIGKILL"), (-250, "signal 250")],
)
def test_an_exit_code_in_words(code, words):
    """A signal by its name, if it has one."""
    assert words in str(errors.CliExited("the CLI exited", code))


@each(
    ("line", "option"),
    [
        ("No conversation found with session ID: x", "resume"),
        ("Error: --resume requires a valid session ID", "resume"),
        ("Error: Session ID x is already in use.", "session_id"),
        ("error: unknown option '--effort'", None),
        ("Segmentation fault", None),
    ],
)
def test_the_option_that_the_cli_refused(line, option):
    """The advice is about it, and so is the data."""
    error = errors.CliDidNotStart("the CLI exited before it was ready", 1, ["x", line])
    assert error.option == option
    assert option is None or option in error.advice


@each(
    ("status", "words", "message"),
    [
        (None, "network", "cannot be reached"),
        (404, "model", "model"),
        (401, "/login", "not signed in"),
        (403, "/login", "not signed in"),
        (500, "minute", "busy"),
        (400, "what was sent", "read the request"),
    ],
)
def test_the_status_decides_the_advice(status, words, message):
    """For programmers and for people."""
    error = errors.ApiError("API Error", None, None, status)
    assert error.status == status
    assert words in error.advice
    assert message in error.user_message


@each(
    ("sent", "idle", "what", "words"),
    [
        (True, False, errors.NO_ANSWER, "Raise timeout"),
        (False, False, errors.NO_ANSWER, "second client"),
        (False, False, "the CLI was not ready", "doctor"),
        (True, True, errors.NO_ANSWER, "Raise idle_timeout"),
    ],
)
def test_the_advice_of_a_timeout(sent, idle, what, words):
    """It says which limit, and what else helps."""
    assert words in errors.AskTimeout(2.0, sent, None, idle, what).advice


def test_who_logs_in_where():
    """The advice names the CLI that was found, which may not be on PATH."""
    assert "/opt/claude" in errors.NotLoggedIn("no", cli="/opt/claude").advice
    assert "doctor" in errors.NotLoggedIn("no").advice


@each("moment", [RESETS_AT, RESETS_AT + 9e5, 0.0])
def test_when_a_limit_resets(moment):
    """In local time; with the date if it is not within a day."""
    error = errors.RateLimited("limit reached", resets_at=moment)
    assert error.resets_at == moment
    assert time.strftime("%H:%M", time.localtime(moment)) in error.user_message
    dated = time.strftime("%Y-%m-%d", time.localtime(moment)) in error.user_message
    assert dated == (moment != RESETS_AT)


@each("moment", [1e300, float("inf"), float("nan")])
def test_a_moment_that_no_clock_has(moment):
    """An error can always be printed."""
    assert errors.RateLimited("limit reached", resets_at=moment).user_message


def test_a_code_of_the_cli_is_shown():
    """A refusal shows the CLI's code, if it gave one."""
    assert "[invalid]" in str(errors.ControlError("x", "no", "invalid"))
    assert "[" not in str(errors.ControlError("x", "no"))


@each(("text", "expected"), [("a", "a."), ("a. ", "a."), ("a!", "a!"), ("a?", "a?"), ("a:", "a:")])
def test_a_sentence_ends_once(text, expected):
    """A full stop is added where there is none."""
    assert errors.sentence(text) == expected


def test_advice_is_for_what_exists():
    """Packages that can be installed, and no distribution that is on no index."""
    for error in EXAMPLES:
        assert "claude-sync[" not in str(error)


# Errors as a client raises them.


def limit_reached(cli):
    """A CLI whose account has reached its limit."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    info = {"status": "rejected", "resetsAt": RESETS_AT, "rateLimitType": "five_hour"}
    cli.say({"type": "rate_limit_event", "rate_limit_info": info})
    cli.end_turn(user, "API Error: 429 limit", is_error=True, api_error_status=429)


def logged_out(cli):
    """A CLI without an account."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "Not logged in", is_error=True)


def test_a_used_up_limit_says_when_it_resets():
    """By the CLI's last message about limits."""
    with claude_sync.Client(transport=ScriptedCli(limit_reached)) as client:
        error = client.submit("hi").exception(PATIENCE)
    assert isinstance(error, errors.RateLimited)
    assert error.resets_at == RESETS_AT


def test_who_is_not_logged_in_learns_which_cli_that_is():
    """It may be a binary that nobody finds."""
    command = StandIn(logged_out).command
    with claude_sync.Client(cli=command) as client:
        error = client.submit("hi").exception(PATIENCE)
    assert isinstance(error, errors.NotLoggedIn)
    assert error.cli == shlex.join(command)


def test_errors_of_a_client_have_its_name(cli, greet):
    """Of turns, of requests, of waits, and of a client that is closed."""
    with claude_sync.Client(transport=cli, name="weather") as client:
        greet(client, cli)
        turn = client.submit("hi")
        user = cli.expect("user")
        found = [raised(turn.result, 0), raised(client.wait_idle, 0)]
        cli.begin_turn(user)
        cli.end_turn(user, "overloaded", is_error=True, api_error_status=529)
        found.append(turn.exception(PATIENCE))
        asking = Background(client.control, "dance")
        cli.refuse(cli.expect("control_request", subtype="dance"), "no")
        found.append(raised(asking.result))
    found += [
        raised(client.ask, "again"),
        raised(client.submit, "again"),
        raised(client.mcp_status),
    ]
    assert [type(error).__name__ for error in found] == [
        *("AskTimeout", "AskTimeout", "Overloaded", "ControlError"),
        *("ClientClosed", "ClientClosed", "ClientClosed"),
    ]
    assert {error.client for error in found} == {"weather"}


def raised(function, *arguments):
    """The error that a call raises."""
    with pytest.raises(errors.ClaudeError) as caught:
        function(*arguments)
    return caught.value
