"""Errors: one tree; each has its data, advice, a sentence for people, and survives pickling."""

from __future__ import annotations

import copy
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
from claude_sync.testing import StandIn

ANSWER = Answer("so far")
RESETS_AT = time.time() + 3600
ENDED = {"reason": "no luck", "answer": ANSWER, "result": "r"}
FAILED = {"reason": "it broke", "exit_code": 3, "stderr_tail": ("oh",), "argv": ("claude",)}

# Every class with its data, what its problem shows of it, and a word of its advice.
EXAMPLES = [
    (errors.CliNotFound, {"searched": ("/a/claude", "PATH")}, "  - /a/claude\n  - PATH", "Install"),
    (errors.CliFailed, FAILED, "it broke (exit code 3). The end of its stderr:\n  | oh", "doctor"),
    (errors.CliDidNotStart, FAILED, "it broke", "doctor"),
    (errors.CliExited, FAILED, "it broke", "on_crash"),
    (errors.TurnError, ENDED, "no luck.", ".answer"),
    (errors.NotLoggedIn, {**ENDED, "cli": "/opt/claude"}, "no luck.", "Run /opt/claude in"),
    (errors.RateLimited, {**ENDED, "resets_at": RESETS_AT}, "no luck.", "Wait"),
    (errors.Overloaded, ENDED, "no luck.", "minute"),
    (errors.ApiError, {**ENDED, "status": 404}, "no luck.", "models"),
    (errors.MaxTurnsReached, ENDED, "no luck.", "max_turns"),
    (errors.BudgetExceeded, ENDED, "no luck.", "budget_usd"),
    (errors.PromptTooLong, ENDED, "no luck.", "/compact"),
    (errors.ReturnsError, {**ENDED, "problems": ("a: missing",)}, "luck:\n  - a: miss", "optional"),
    (errors.TurnInterrupted, ENDED, "no luck.", ".answer"),
    (errors.ExecutionError, ENDED, "no luck.", ".answer"),
    (errors.ControlError, {"subtype": "dance", "text": "no", "code": "x"}, "'dance' [x]", "values"),
    (errors.ControlTimeout, {"subtype": "dance", "timeout": 2.5}, "'dance' within 2.5 s", "longer"),
    (errors.UnsupportedByCli, {"feature": "dancing", "cli_version": "1.2"}, "CLI 1.2", "Update"),
    (
        errors.AskTimeout,
        {"timeout": 2.5, "sent": True, "answer": ANSWER, "idle": False, "what": "no word"},
        "no word within 2.5 s",
        "Raise timeout",
    ),
    (errors.WireError, {"reason": "no JSON"}, "no JSON.", "record"),
    (errors.UsageError, {"text": "no", "option": "o", "value": 5, "nearest": "p"}, "no.", ""),
    (errors.CalledFromHandler, {"method": "ask"}, "ask()", "submit"),
    (errors.ClientClosed, {"what": "it is closed"}, "it is closed.", "resume"),
    (errors.AlreadyAnswered, {"decision": "allow"}, "'allow'", "LATER"),
]


def drawn():
    """The classes of the drawing, each with the one that it stands under."""
    above = []
    for line in errors.__doc__.splitlines():
        name = line.lstrip(" │├└─").split(" ")[0]
        if name in errors.__all__:
            depth = (line.index(name) - 4) // 4
            above[depth:] = [name]
            yield name, above[depth - 1] if depth else "Exception"


def test_the_drawing_is_the_tree():
    """Each class stands under its base, is public, and has an example here."""
    bases = {name: getattr(errors, name).__bases__[0].__name__ for name in errors.__all__}
    assert dict(drawn()) == bases
    assert {kind.__name__ for kind, *_ in EXAMPLES} | {"ClaudeError"} == set(errors.__all__)
    assert all(getattr(claude_sync, name) is getattr(errors, name) for name in errors.__all__)


@each(("kind", "data", "shown", "advice"), EXAMPLES)
def test_an_error_carries_its_data(kind, data, shown, advice):
    """Passed in order or by name, pickled and copied; its texts have what people need."""
    for error in (kind(*data.values()), kind(**data)):
        assert error.args[0] == next(iter(data.values()))
        error.client = "claude-7"
        for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(same) is kind
            assert {name: getattr(same, name) for name in data} == data
            assert (same.client, str(same)) == ("claude-7", str(error))
        between = "\n" if "\n" in error.problem else " "
        assert str(error).startswith(f"{error.problem}{between}{error.advice}".strip())
        assert shown in str(error)
        assert advice in error.advice
        assert error.user_message.endswith(".")
        assert len(error.user_message) < 70
        assert not any(sign in error.user_message for sign in "=()_")


def test_data_has_its_names():
    """What is required is required, and what is misspelled is refused."""
    for wrong in ({}, {"subtype": "x"}, {"subtype": "x", "text": "y", "cod": "z"}):
        with pytest.raises(TypeError, match="subtype, text, code"):
            errors.ControlError(**wrong)
    error = errors.ControlError("x", "y")
    assert (error.code, error.client) == (None, None)
    assert "[" not in str(error)
    assert errors.CliFailed("no", None, ["a"]).stderr_tail == ("a",)
    assert [str(errors.ClaudeError(text)) for text in ("no", "no.", "no!")] == ["no.", "no.", "no!"]


def test_a_value_that_cannot_be_pickled_is_shown():
    """As a short repr; texts, numbers and None are kept."""
    for value in ("text", 5, 2.5, True, None):
        assert errors.UsageError("no", value=value).value is value
    error = pickle.loads(pickle.dumps(errors.UsageError("no", value=lambda: None)))
    assert error.value.startswith("<function")
    assert str(errors.UsageError(KeyError("no"))) == "'no'."


def test_the_end_of_stderr_is_quoted():
    """The last lines of it, and not what the reason says already; the attribute has all."""
    lines = [f"line {number}" for number in range(30)]
    error = errors.CliExited("line 29", 1, lines)
    assert error.stderr_tail == tuple(lines)
    assert str(error).count("  | ") == 12
    assert "  | line 28\n" in str(error)
    assert "  | " not in str(errors.CliExited("the CLI exited: oh", 1, ["oh"]))


@each(
    ("line", "option", "advice"),
    [
        ("No conversation found with session ID: x", "resume", "cwd"),
        ("Error: --resume requires a valid session ID", "resume", "session_id"),
        ("Error: Session ID x is already in use.", "session_id", "resume"),
        ("No message found with message.uuid of: x", "resume_at", "uuid"),
        ("error: unknown option '--effort'", None, "Update"),
        ("error: Invalid value for --effort", None, "values"),
        ("the backend of the bridge has ended", None, "Bridge"),
        ("Segmentation fault", None, "doctor"),
    ],
)
def test_the_option_that_the_cli_refused(line, option, advice):
    """The advice is about it, and so is the data; the CLI says it on stderr, or at once."""
    for error in (errors.CliFailed("it exited", 1, ["x", line]), errors.CliFailed(line)):
        assert error.option == option
        assert advice in error.advice


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
    error = errors.ApiError("API Error", status=status)
    assert words in error.advice
    assert message in error.user_message


@each(
    ("data", "problem", "advice"),
    [
        ({}, "no complete answer within", "Raise timeout, or ask again"),
        ({"sent": False}, "still queued after", "second client"),
        ({"sent": False, "what": "the CLI was not ready"}, "not ready after", "doctor"),
        ({"idle": True}, "silent for", "Raise idle_timeout"),
    ],
)
def test_a_timeout_says_which_limit(data, problem, advice):
    """And what else helps."""
    error = errors.AskTimeout(2.0, **data)
    assert f"{problem} 2 s" in error.problem
    assert advice in error.advice


@each(
    ("left", "dated"),
    [(0, False), (3600, False), (86399, False), (86400, True), (9e5, True), (-1, True)],
)
def test_when_a_limit_resets(left, dated, monkeypatch):
    """In local time; with the date if it is not within a day."""
    monkeypatch.setattr(time, "time", lambda: 1e9)
    error = errors.RateLimited("no", resets_at=1e9 + left)
    form = "%Y-%m-%d %H:%M" if dated else " %H:%M"
    shown = time.strftime(form, time.localtime(1e9 + left))
    assert shown in error.user_message
    assert shown in error.advice
    assert dated == ("-" in error.user_message)


# Errors as a client raises them.


def logged_out(cli):
    """A CLI without an account."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "Not logged in", is_error=True)


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
