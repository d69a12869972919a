"""The other dialects when things go wrong: strict backends, crashes, silence, strange orders."""

import logging

import pytest
from dialects import dialect_callback, dialect_user_message
from dialects.dialect_rules import NOT_IN_THE_DOCUMENT
from patience import PATIENCE

import claude_sync
from claude_sync import Client
from claude_sync.protocol.codec import encode
from claude_sync.testing import ScriptedCli, builders

SCRIPTS = {"callback": dialect_callback.speak, "user-message": dialect_user_message.speak}


@pytest.fixture(params=list(SCRIPTS))
def dialect(request):
    """Which dialect is spoken."""
    return request.param


# The backends are strict, so that the tests with them mean something.


@pytest.mark.parametrize(
    ("spoken", "complaint"),
    [("cli", "a command line without -p"), ("callback", "a command line without -p")],
)
def test_other_words_end_a_user_message_backend(stand_in, spoken, complaint):
    """What it does not know it says, and exits."""
    client = stand_in(SCRIPTS["user-message"], dialect=spoken, on_crash="raise")
    with pytest.raises(claude_sync.CliDidNotStart) as caught:
        client.start(PATIENCE)
    assert caught.value.exit_code == NOT_IN_THE_DOCUMENT
    assert complaint in caught.value.stderr_tail[-1]


def test_other_words_end_a_callback_backend(stand_in):
    """The greeting of real CLIs is another."""
    client = stand_in(SCRIPTS["callback"], on_crash="raise")
    with pytest.raises(claude_sync.CliDidNotStart) as caught:
        client.start(PATIENCE)
    assert caught.value.exit_code == NOT_IN_THE_DOCUMENT
    assert "has no 'mcp_servers'" in caught.value.stderr_tail[-1]


@pytest.mark.parametrize(
    ("spoken", "message", "complaint"),
    [
        ("callback", {"type": "user", "message": {}, "uuid": "u"}, "has no 'role'"),
        (
            "callback",
            {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u"},
            "has 'uuid'",
        ),
        ("callback", {"type": "user_message", "content": "hi"}, "has no 'message'"),
        ("user-message", {"type": "user_message", "content": "hi", "uuid": "u"}, "has 'uuid'"),
        (
            "user-message",
            {"type": "control_request", "request_id": "r", "request": {"subtype": "cancel"}},
            "has 'request_id'",
        ),
        (
            "user-message",
            {"type": "user_message", "content": [{"type": "x"}]},
            "content is [{'type': 'x'}]",
        ),
    ],
)
def test_one_word_too_many_ends_a_backend(stand_in, until, spoken, message, complaint):
    """Each of these is nearly right."""
    client = stand_in(SCRIPTS[spoken], dialect=spoken, on_crash="raise")
    client.start(PATIENCE)
    connection = client._session.connection
    connection.send(encode(message))
    until(lambda: connection.has_ended)
    assert connection.transport.exit_code == NOT_IN_THE_DOCUMENT
    assert complaint in connection.stderr_tail[-1]


# Lives and deaths.


def test_a_crash_is_survived(stand_in, dialect, caplog):
    """The next question starts the backend again, with --resume, which both know."""
    client = stand_in(SCRIPTS[dialect], dialect=dialect)
    first = client.ask("hi", timeout=PATIENCE)
    with pytest.raises(claude_sync.CliExited):
        client.ask("die", timeout=PATIENCE)
    second = client.ask("hi", timeout=PATIENCE)
    assert second == first
    assert second.session_id == first.session_id
    assert f"to resume {first.session_id}" in caplog.text


def test_what_is_queued_outlives_a_crash(stand_in, dialect):
    """It was not sent, so it is asked again in the next life."""
    client = stand_in(SCRIPTS[dialect], dialect=dialect)
    dying = client.submit("die")
    queued = client.submit("hi")
    with pytest.raises(claude_sync.CliExited):
        dying.result(PATIENCE)
    assert queued.result(PATIENCE).startswith("echo: hi")


def test_a_backend_that_exits_at_once(stand_in):
    """Without a greeting nobody waited for it; the question tells."""
    client = stand_in(exits_at_once, dialect="user-message")
    with pytest.raises(claude_sync.CliFailed) as caught:
        client.ask("hi", timeout=PATIENCE)
    assert caught.value.exit_code == 7
    assert "not today" in str(caught.value)


def exits_at_once(cli):
    """It has a reason."""
    cli.print_error("not today")
    cli.exit(7)


def test_a_greeting_that_is_not_answered():
    """The callback dialect has one, and start_timeout limits it."""
    cli = ScriptedCli()
    with (
        Client(transport=cli, dialect="callback", start_timeout=0.1, on_crash="raise") as client,
        pytest.raises(claude_sync.CliDidNotStart, match="start_timeout"),
    ):
        client.start(PATIENCE)


def test_closing_in_mid_turn_ends_the_process(stand_in, dialect, gone):
    """The turn is stopped in the words of the dialect; the process is gone after that."""
    client = stand_in(SCRIPTS[dialect], dialect=dialect)
    turn = client.stream("wait")
    next(iter(turn))
    pid = client.pid
    client.close()
    gone(pid)
    assert client._session.connection.transport.exit_code == 0


def test_a_turn_that_does_not_end_is_ended_by_force(quick_stop):
    """A cancel gets no reply, so only the result tells; none comes."""
    cli = ScriptedCli()
    with Client(transport=cli, dialect="user-message") as client:
        turn = client.submit("hi")
        cli.expect("user_message")
        turn.cancel()
        cancel = cli.expect("control_request", subtype="cancel")
        assert cancel == {"type": "control_request", "request": {"subtype": "cancel"}}
        with pytest.raises(claude_sync.TurnInterrupted):
            turn.result(PATIENCE)
        assert client.state == "crashed"


def test_a_cancel_is_repeated_while_the_turn_runs(hurry):
    """The first may have come before it began."""
    hurry(INTERRUPT_AGAIN_AFTER=(0.02, 0.04))
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect="user-message") as client:
        turn = client.submit("hi")
        cli.expect("user_message")
        turn.cancel()
        cli.expect("control_request", subtype="cancel")
        cli.expect("control_request", subtype="cancel")
        cli.say(type="result", subtype="error", error="Request cancelled", is_error=True)
        with pytest.raises(claude_sync.TurnInterrupted):
            turn.result(PATIENCE)


# Strange orders.


def test_a_result_of_nobody_before_the_first_question(dialect, heard_results):
    """There are no ids, but a result before a question is not its answer."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect=dialect) as client:
        begin(cli, client, dialect)
        results = heard_results(client)
        cli.say(builders.result("of nobody"))
        results(1)
        turn = client.submit("hi")
        cli.expect("user" if dialect == "callback" else "user_message")
        cli.say(builders.result("mine"))
        assert turn.result(PATIENCE) == "mine"


def test_an_introduction_between_turns_holds_up_nothing(dialect, until):
    """Nobody here begins turns by itself, so there is nothing to wait for."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect=dialect) as client:
        begin(cli, client, dialect)
        kind = "user" if dialect == "callback" else "user_message"
        for number in range(3):
            seen = len(client_systems(client))
            cli.say(builders.init())
            until(lambda seen=seen: len(client_systems(client)) > seen)
            turn = client.submit("hi")
            assert turn not in client._session.queue
            cli.expect(kind)
            cli.say(builders.result(str(number)))
            assert turn.result(PATIENCE) == str(number)


def client_systems(client):
    """The messages of type system that a client has heard, from the first call on."""
    if not hasattr(client, "_heard_systems"):
        client._heard_systems = []
        client.on_system(client._heard_systems.append)
    return client._heard_systems


@pytest.mark.parametrize("spoken", ["cli", "callback", "user-message"])
@pytest.mark.parametrize("form", ["control", "callback"])
def test_a_request_is_answered_in_its_own_form(spoken, form):
    """Whatever the dialect: the other side knows best how it wants to be answered."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect=spoken) as client:
        begin(cli, client, spoken)
        client.on_permission(lambda request: request.allow({"command": "ls -a"}))
        turn = client.submit("hi")
        user = cli.expect("user_message" if spoken == "user-message" else "user")
        if form == "control":
            request = cli.ask_permission("Bash", {"command": "ls"})
            assert cli.expect_reply(request)["updatedInput"] == {"command": "ls -a"}
        else:
            payload = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
            cli.say(type="callback.request", id="cb", session_id="s", payload=payload)
            assert cli.expect("callback.response") == {
                "type": "callback.response",
                "id": "cb",
                "session_id": "s",
                "payload": {
                    "behavior": "allow",
                    "updated_input": {"command": "ls -a"},
                    "updated_permissions": [],
                },
            }
        if spoken == "cli":
            cli.end_turn(user, "done")
        else:
            cli.say(builders.result("done"))
        assert turn.result(PATIENCE) == "done"


def begin(cli, client, dialect):
    """Get a client ready."""
    if dialect != "user-message":
        client._session.starter.ensure_begun()
        cli.accept()
    client.start(PATIENCE)


@pytest.fixture
def heard_results(until):
    """Collect what on_result hears of a client."""

    def collect(client):
        heard = []
        client.on_result(heard.append)

        def wait(count):
            until(lambda: len(heard) >= count)
            return heard

        return wait

    return collect


def test_an_envelope_reaches_nobody_but_on_message(caplog):
    """Envelopes are understood and not served: that takes a bridge."""
    caplog.set_level(logging.WARNING, "claude_sync")
    cli = ScriptedCli(patience=PATIENCE)
    seen = []
    with Client(transport=cli, dialect="user-message", on_message=seen.append) as client:
        turn = client.submit("hi")
        cli.expect("user_message")
        inner = builders.result("of another session")
        cli.say(type="sdk.message", session_id="s", payload=inner)
        cli.say(builders.result("mine"))
        assert turn.result(PATIENCE) == "mine"
    envelope = seen[0]
    assert isinstance(envelope, claude_sync.Envelope)
    assert envelope.message.result == "of another session"
    assert not caplog.records


# A backend that tells more than its document says is still spoken to in its words.


def test_a_version_that_is_told_promises_nothing():
    """Real CLIs of that version would take context; here it has no words."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect="callback") as client:
        begin(cli, client, "callback")
        assert client.info.cli_version is not None
        with pytest.raises(claude_sync.UnsupportedByCli):
            client.add_context("The build is red.")
        cli.assert_done()


def test_a_resumed_backend_is_not_asked_what_it_has_cost():
    """That request is one of real CLIs; the first question goes out at once."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect="callback", resume="s-1") as client:
        begin(cli, client, "callback")
        turn = client.submit("hi")
        cli.expect("user")
        cli.say(builders.result("Hello"))
        assert turn.result(PATIENCE) == "Hello"
