"""The other dialects, with backends that end themselves at the first word they do not know."""

from __future__ import annotations

import base64
import contextlib
import threading

import pytest
from dialects import dialect_callback, dialect_user_message
from patience import PATIENCE

import claude_sync
from claude_sync import Client, UsageError
from claude_sync.testing import ScriptedCli, StandIn

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
SCRIPTS = {"callback": dialect_callback.speak, "user-message": dialect_user_message.speak}
MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture(params=["memory", pytest.param("process", marks=pytest.mark.everything)])
def carrier(request):
    """How the backend is run; by default one test of each dialect starts a process."""
    return request.param


@pytest.fixture(params=list(SCRIPTS))
def dialect(request):
    """Which dialect is spoken."""
    return request.param


@pytest.fixture
def open_client(carrier):
    """Open clients of a strict backend; nothing they said was wrong."""
    with contextlib.ExitStack() as stack:

        def make(dialect, **options):
            if carrier == "process":
                options["cli"] = StandIn(SCRIPTS[dialect]).command
            else:
                cli = options["transport"] = ScriptedCli(SCRIPTS[dialect])
                stack.callback(cli.assert_done)
            return stack.enter_context(Client(dialect=dialect, on_crash="raise", **options))

        yield make


@pytest.fixture
def client(open_client, dialect):
    """A client of each dialect."""
    return open_client(dialect)


@pytest.fixture
def callback(open_client):
    """A client of the dialect that asks for permission by callbacks."""
    return open_client("callback")


@pytest.fixture
def plain(open_client):
    """A client of the dialect whose questions are user_message."""
    return open_client("user-message")


def echo(dialect, prompt):
    """What the backend answers."""
    return f"echo: {prompt}" + (f" ({MODEL}, default)" if dialect == "callback" else "")


# Asking.


@pytest.mark.parametrize("carrier", ["memory", "process"])
def test_a_question_is_answered(client, dialect):
    """And the answer knows what it cost, and whose conversation it is."""
    answer = client.ask("hi", timeout=PATIENCE)
    assert answer == echo(dialect, "hi")
    assert answer.cost_usd == pytest.approx(0.01)
    assert answer.usage.output_tokens == 4
    assert answer.session_id == client.session_id is not None
    second = client.ask("again", timeout=PATIENCE)
    assert second.cost_usd == pytest.approx(0.01)
    assert client.cost_usd == pytest.approx(0.02)


def test_every_character_comes_once(client, dialect):
    """Streamed, and complete after that; two turns, so that nothing is left of the first."""
    heard = []
    client.on_text(heard.append)
    for prompt in ("one two three", "one two three"):
        heard.clear()
        answer = client.ask(prompt, timeout=PATIENCE)
        assert "".join(heard) == answer == echo(dialect, prompt)
        assert heard[-1].snapshot == answer


def test_a_stream_is_iterated(client, dialect):
    """Text as it arrives."""
    with client.stream("one two", timeout=PATIENCE) as turn:
        pieces = list(turn)
    assert "".join(pieces) == echo(dialect, "one two")
    assert len(pieces) > 1


def test_without_partial_messages(open_client):
    """The complete message alone brings the text; its flag is left out."""
    client = open_client("user-message", include_partial_messages=False)
    heard = []
    client.on_text(heard.append)
    assert client.ask("one two", timeout=PATIENCE) == "echo: one two"
    assert heard == ["echo: one two"]


def test_images_are_attached(client, dialect):
    """As content blocks, which both dialects have."""
    answer = client.ask("what is it?", attach=[PNG], timeout=PATIENCE)
    assert answer == echo(dialect, "image + what is it?")


def test_many_threads_each_get_their_own_answer(client, dialect):
    """There are no ids: one question at a time is what makes it right."""
    answers = {}

    def ask(number):
        answers[number] = client.ask(f"number {number}", timeout=PATIENCE)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert answers == {number: echo(dialect, f"number {number}") for number in range(12)}


def test_a_failed_turn_is_raised(client, dialect):
    """With the error its text tells; the session stays usable."""
    expected = claude_sync.ExecutionError if dialect == "callback" else claude_sync.RateLimited
    with pytest.raises(expected) as caught:
        client.ask("fail", timeout=PATIENCE)
    assert caught.value.result.errors == (
        ("Connection timeout",) if dialect == "callback" else ("Rate limit exceeded",)
    )
    assert client.ask("hi", timeout=PATIENCE) == echo(dialect, "hi")


def test_an_error_outside_of_the_result_is_heard(callback):
    """It does not end the turn: the result does."""
    seen = []
    callback.on_message(seen.append)
    answer = callback.ask("fail", timeout=PATIENCE, raise_on_error=False)
    errors = [message for message in seen if isinstance(message, claude_sync.ErrorMessage)]
    assert [(error.kind, error.error) for error in errors] == [
        ("overloaded_error", "Service is temporarily overloaded")
    ]
    assert answer.is_error


def test_the_end_of_the_backend_fails_the_turn(client):
    """At once, with its exit code."""
    with pytest.raises(claude_sync.CliExited) as caught:
        client.ask("die", timeout=PATIENCE)
    assert caught.value.exit_code == 3


# Stopping.


def test_a_turn_is_cancelled(client, dialect):
    """It ends by itself, and what there was of it is kept."""
    turn = client.stream("wait")
    assert next(iter(turn)) == "Well, "
    assert turn.cancel() is False
    with pytest.raises(claude_sync.TurnInterrupted) as caught:
        turn.result(PATIENCE)
    assert caught.value.result.subtype == "error"
    assert client.ask("hi", timeout=PATIENCE) == echo(dialect, "hi")


def test_an_interrupt_stops_what_runs(client, dialect):
    """Where a reply comes it is awaited, where none comes it is not."""
    turn = client.stream("wait")
    next(iter(turn))
    assert client.interrupt(PATIENCE).still_queued == ()
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result(PATIENCE)
    assert client.ask("hi", timeout=PATIENCE) == echo(dialect, "hi")


def test_an_interrupt_with_nothing_running_is_harmless(client, dialect):
    """Also before anything was asked."""
    client.start(PATIENCE)
    client.interrupt(PATIENCE)
    assert client.ask("hi", timeout=PATIENCE) == echo(dialect, "hi")


def test_a_timeout_stops_the_turn(client, dialect):
    """And the next question is not hit by it."""
    client.start(PATIENCE)
    with pytest.raises(claude_sync.AskTimeout) as caught:
        client.ask("wait", timeout=0.2)
    assert caught.value.sent
    assert client.ask("hi", timeout=PATIENCE) == echo(dialect, "hi")


def test_queued_questions_outlive_a_cancelled_one(client, dialect):
    """Only the turn that runs is stopped."""
    turn = client.stream("wait")
    queued = client.submit("next")
    next(iter(turn))
    turn.cancel()
    assert queued.result(PATIENCE) == echo(dialect, "next")


def test_closing_stops_the_turn(client):
    """Whoever waits is told that the client was closed."""
    turn = client.stream("wait")
    next(iter(turn))
    client.close()
    with pytest.raises(claude_sync.ClientClosed):
        turn.result(PATIENCE)


# Callbacks.


def test_a_tool_is_allowed(callback):
    """The handler sees what would happen, and the input goes back as it came."""
    seen = []

    @callback.on_permission
    def decide(request):
        seen.append((request.tool, request.input, request.tool_use_id, request.blocked_path))
        return request.allow()

    answer = callback.ask("tool ls -l", timeout=PATIENCE)
    assert answer == "ran ls -l, 0 rules"
    assert seen == [("Bash", {"command": "ls -l"}, "toolu_1", "/tmp/test")]
    [(use, result)] = answer.tool_uses
    assert (use.name, result.is_error) == ("Bash", False)


def test_a_tool_runs_with_another_input(callback):
    """updated_input is the whole input."""
    callback.on_permission(lambda request: request.allow({"command": "ls -a"}))
    assert callback.ask("tool ls -l", timeout=PATIENCE) == "ran ls -a, 0 rules"


def test_a_tool_is_always_allowed(callback):
    """The suggested rules go back as updated_permissions."""
    callback.on_permission(lambda request: request.allow_always())
    assert callback.ask("tool git log", timeout=PATIENCE) == "ran git log, 1 rules"


def test_a_tool_is_denied(callback):
    """Claude reads the message."""
    callback.on_permission(lambda request: request.deny("not here"))
    answer = callback.ask("tool rm x", timeout=PATIENCE)
    assert answer == "denied: not here"
    assert answer.tool_uses[0][1].is_error


def test_a_tool_is_denied_and_the_turn_stopped(callback):
    """The answer has no word for that, so an interrupt follows it."""
    callback.on_permission(lambda request: request.deny("stop it", interrupt=True))
    with pytest.raises(claude_sync.TurnInterrupted) as caught:
        callback.ask("stubborn rm x", timeout=PATIENCE)
    [(_, result)] = caught.value.answer.tool_uses
    assert result.text == "stop it"
    assert callback.ask("hi", timeout=PATIENCE) == echo("callback", "hi")


def test_nobody_decides_and_the_answer_is_no(callback):
    """As in every dialect."""
    assert callback.ask("tool rm x", timeout=PATIENCE).startswith("denied: Permission denied")


def test_a_button_answers_later(callback):
    """From another thread, when the handler has long returned."""
    asked = []
    arrived = threading.Event()

    @callback.on_permission
    def decide(request):
        asked.append(request)
        arrived.set()
        return claude_sync.LATER

    turn = callback.submit("tool ls")
    assert arrived.wait(PATIENCE)
    asked[0].allow()
    assert turn.result(PATIENCE) == "ran ls, 0 rules"


def test_an_interrupt_while_a_permission_is_open(callback):
    """The request is withdrawn with its turn."""
    arrived = threading.Event()
    requests = []

    @callback.on_permission
    def decide(request):
        requests.append(request)
        arrived.set()
        return claude_sync.LATER

    turn = callback.submit("tool ls")
    assert arrived.wait(PATIENCE)
    callback.interrupt(PATIENCE)
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result(PATIENCE)
    assert requests[0].cancelled.wait(PATIENCE)
    assert callback.ask("hi", timeout=PATIENCE) == echo("callback", "hi")


def test_a_question_of_claude_is_answered(callback):
    """The answers are in the input, by the text of their question."""
    callback.on_question(lambda asked: asked.answer("Detailed"))
    assert callback.ask("question", timeout=PATIENCE) == "Detailed"


def test_what_the_greeting_told(callback):
    """The reply has the same fields as that of real CLIs."""
    callback.start(PATIENCE)
    assert callback.info.account == {"email": "user@example.com"}
    assert callback.info.cli_version is None


def test_requests_of_the_document_are_answered(callback):
    """Its model and its mode can be changed; a reply without a body is empty."""
    assert callback.control("set_model", model="opus", timeout=PATIENCE) == {}
    assert callback.control("set_permission_mode", mode="plan", timeout=PATIENCE) == {}
    assert callback.ask("hi", timeout=PATIENCE) == "echo: hi (opus, plan)"


# Questions as user_message.


def test_nothing_waits_for_a_greeting(plain):
    """There is none, so a client is ready when its backend runs."""
    plain.start(PATIENCE)
    assert plain.state == "idle"
    assert plain.info.models is None


def test_its_introduction_does_not_hold_up_a_question(open_client):
    """It comes before anything was asked and is no turn."""
    introduced = threading.Event()
    plain = open_client("user-message", on_init=lambda message: introduced.set())
    assert introduced.wait(PATIENCE)
    plain.start(PATIENCE)
    assert plain.state == "idle"
    assert plain.ask("hi", timeout=PATIENCE) == "echo: hi"


def test_tools_run_unasked(plain):
    """Their uses and results are seen all the same; the text is that of the last message."""
    answer = plain.ask("tool ls", timeout=PATIENCE)
    assert answer == "ran ls"
    [(use, result)] = answer.tool_uses
    assert (use.input, result.text) == ({"command": "ls"}, "done")


@pytest.mark.parametrize(
    ("prompt", "what"), [("/compact", "everything"), ("/compact the tests", "the tests")]
)
def test_the_conversation_is_compacted(plain, prompt, what):
    """By a request of its own, which ends with a result as a turn does."""
    assert plain.ask(prompt, timeout=PATIENCE) == f"compacted: {what}"
    assert plain.ask("hi", timeout=PATIENCE) == "echo: hi"


def test_compact_is_the_same_in_every_dialect(client, dialect):
    """A request where there is one, and the slash command elsewhere."""
    answer = client.compact("the tests", timeout=PATIENCE)
    expected = {
        "callback": echo("callback", "/compact the tests"),
        "user-message": "compacted: the tests",
    }
    assert answer == expected[dialect]


def test_a_running_turn_is_steered(plain):
    """By one more user_message."""
    turn = plain.stream("wait")
    next(iter(turn))
    plain.steer("stay calm")
    assert turn.result(PATIENCE) == "Well, stay calm"


def test_other_requests_are_refused(plain):
    """No reply to them would ever come."""
    with pytest.raises(UsageError, match="no request 'set_model' that would be answered"):
        plain.control("set_model", model="opus", timeout=PATIENCE)
    assert plain.ask("hi", timeout=PATIENCE) == "echo: hi"


def test_a_cancel_is_not_sent_into_nothing():
    """It would hit whatever comes next."""
    cli = ScriptedCli()
    with Client(transport=cli, dialect="user-message") as client:
        client.start(PATIENCE)
        assert client.interrupt(PATIENCE) == claude_sync.InterruptReceipt()
        cli.assert_done()


# What there are no words for.


def test_context_is_refused(client):
    """Both would take it for a question."""
    with pytest.raises(claude_sync.UnsupportedByCli):
        client.add_context("The build is red.")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("hooks", {"Stop": print}),
        ("tools", [print]),
        ("skills", ["a"]),
        ("forward_subagent_text", True),
    ],
)
def test_settings_that_cannot_be_said_are_refused(dialect, setting, value):
    """Before anything is started."""
    with pytest.raises(UsageError, match=rf"dialect='{dialect}' has no words for {setting}"):
        Client(dialect=dialect, **{setting: value})


def test_a_hook_that_is_added_later_is_refused(client):
    """At the first question, instead of never being called."""
    client.on_hook("Stop")(lambda event: None)
    with pytest.raises(UsageError, match="no words for hooks"):
        client.ask("hi", timeout=PATIENCE)


def test_a_tool_that_is_added_later_is_refused(client):
    """The same for tools."""

    @client.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    with pytest.raises(UsageError, match="no words for tools"):
        client.ask("hi", timeout=PATIENCE)
