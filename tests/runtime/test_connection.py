"""One life of the CLI: requests and replies, routes, and its end."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE, wait_until

from claude_sync import CliDidNotStart, Client, CliExited, ControlError, ControlTimeout
from claude_sync.protocol.control import Reply
from claude_sync.runtime import last_words
from claude_sync.runtime.connection import PendingReply
from claude_sync.testing import builders


@pytest.fixture
def connection(client):
    """Its connection."""
    return client._engine.lifecycle.connection


# Requests of ours.


def test_a_pending_reply_wakes_its_waiter():
    """The reply settles it, for waiters before and after."""
    pending = PendingReply("x")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(pending.wait, PATIENCE)
        pending.settle(Reply({"subtype": "success", "response": {"a": 1}}))
        assert waiting.result(PATIENCE).body == {"a": 1}
    assert pending.wait(None).body == {"a": 1}


def test_a_pending_reply_that_never_comes():
    """The end of the CLI raises its reason, patience raises ControlTimeout."""
    pending = PendingReply("set_model")
    with pytest.raises(ControlTimeout, match="set_model") as caught:
        pending.wait(0.01)
    assert caught.value.timeout == 0.01
    pending.settle(CliExited("the CLI exited"))
    with pytest.raises(CliExited):
        pending.wait(None)


def test_replies_come_in_any_order(connection, cli):
    """Each reply goes to the request whose id it has."""
    first = connection.request("one", {"a": 1})
    second = connection.request("two", {})
    request_1 = cli.expect("control_request", subtype="one", a=1)
    request_2 = cli.expect("control_request", subtype="two")
    cli.reply(request_2, number=2)
    cli.reply(request_1, number=1)
    assert first.wait(PATIENCE).body == {"number": 1}
    assert second.wait(PATIENCE).body == {"number": 2}


def test_a_refusal_is_an_error_with_its_code(connection, cli):
    """What the CLI said is in the ControlError."""
    pending = connection.request("set_model", {})
    cli.refuse(cli.expect("control_request"), "no such model", "invalid")
    with pytest.raises(ControlError, match="no such model") as caught:
        pending.wait(PATIENCE).check("set_model")
    assert caught.value.code == "invalid"


@pytest.mark.parametrize(
    "reply",
    [
        builders.control_response("req_99", {}),
        {"type": "control_response"},
        {"type": "control_response", "response": "yes"},
        {"type": "control_response", "response": {"subtype": "success"}},
    ],
)
def test_a_reply_to_nobody_is_ignored(client, cli, reply):
    """Unknown ids and broken envelopes stop nothing."""
    cli.say(reply)
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_a_reply_does_not_wait_for_handlers(client, cli, connection):
    """Replies go past the inbox: a slow handler does not hold them up."""
    leave, entered = threading.Event(), threading.Event()

    @client.on_system
    def slow(message):
        entered.set()
        leave.wait(PATIENCE)

    cli.say(builders.system("notice"))
    assert entered.wait(PATIENCE)
    pending = connection.request("one", {})
    cli.reply(cli.expect("control_request"), a=1)
    assert pending.wait(PATIENCE).body == {"a": 1}
    leave.set()


def test_a_request_is_sent_only_if_it_still_makes_sense(connection, cli):
    """Where only_if says no, nothing is sent."""
    assert connection.request("interrupt", {}, only_if=lambda: False) is None
    cli.assert_done()


# Requests of the CLI.


def test_a_permission_that_nobody_decides_is_denied(client, cli, caplog):
    """The answer is no, and one warning tells how to decide."""
    for _ in range(2):
        request = cli.ask_permission("Bash", {"command": "ls"})
        reply = cli.expect_reply(request)
        assert reply["behavior"] == "deny"
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "Bash" in warnings[0].getMessage()
    assert "allowed_tools=[...]" in warnings[0].getMessage()


def test_a_request_nobody_knows_is_refused(client, cli):
    """An unanswered request would park the turn for ever."""
    request = builders.control_request("never_seen")
    cli.say(request)
    reply = cli.expect("control_response", request_id=request["request_id"])
    assert reply["response"]["subtype"] == "error"


def test_requests_are_answered_before_the_greeting_is(cli):
    """The CLI asks while it starts: it gets its answer."""
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        greeting = cli.expect("control_request", subtype="initialize")
        request = cli.call_server("tools", {"id": 1, "method": "initialize"})
        assert "mcp_response" in cli.expect_reply(request)
        cli.say(cli.initialized(greeting))
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"


# What is read.


def test_the_session_is_that_of_the_last_message(client, cli):
    """Whatever id the CLI tells is the client's."""
    turn = client.submit("hi")
    cli.session_id = "another"
    cli.answer("Hello")
    turn.result(PATIENCE)
    assert client.session_id == "another"


def test_messages_of_unexpected_shapes_stop_nothing(client, cli):
    """Wrong types in the places that are looked at are survived."""
    last = threading.Event()
    client.on_result(lambda result: result.result == "last" and last.set())
    cli.say(
        {"type": None},
        {"type": ["a"]},
        {},
        {"type": "result", "user_message_uuids": 3, "origin": 3, "errors": {}},
        {"type": "system", "subtype": 3, "session_id": 3},
        {"type": "system", "subtype": "init", "capabilities": 3, "claude_code_version": []},
        {"type": "system", "subtype": "session_state_changed", "state": {}},
        {"type": "system", "subtype": "background_tasks_changed", "tasks": [3, None]},
        {"type": "user", "uuid": {}},
        {"type": "command_lifecycle", "command_uuid": [], "state": []},
        {"type": "control_cancel_request"},
        {"type": "control_request"},
        {"type": "stream_event"},
        {"type": "assistant", "message": None},
        builders.result("last", origin={"kind": "task-notification"}),
    )
    assert last.wait(PATIENCE)
    turn = client.submit("hi")
    cli.answer("Hello", prompt="hi")
    assert turn.result(PATIENCE) == "Hello"


# Its end.


def test_the_end_fails_everything_that_waits(client, cli, connection):
    """A turn and a request fail at once, with the exit code and the last words."""
    turn = client.submit("hi")
    cli.expect("user")
    pending = connection.request("one", {})
    cli.print_error("out of memory")
    cli.hang_up(137)
    for wait in (lambda: pending.wait(PATIENCE), lambda: turn.result(PATIENCE)):
        with pytest.raises(CliExited) as caught:
            wait()
        assert caught.value.exit_code == 137
        assert caught.value.stderr_tail == ("out of memory",)
    wait_until(lambda: client.state == "crashed")
    with pytest.raises(CliExited):
        connection.request("two", {})


def test_before_it_is_ready_the_end_has_another_name(cli):
    """A CLI that exits before it answers the greeting did not start; noise is its last word."""
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.print_raw(b"error: unknown option\n")
        cli.hang_up(1)
        with pytest.raises(CliDidNotStart, match="unknown option") as caught:
            turn.result(PATIENCE)
        assert caught.value.exit_code == 1


def test_nobody_sees_an_end_without_its_reason(cli, monkeypatch):
    """Who waits for the start looks at both without a lock, at any moment."""
    make_error, seen = last_words.error_at_the_end, []

    def slowly(connection, *arguments):
        seen.append(connection.ended)
        return make_error(connection, *arguments)

    monkeypatch.setattr(last_words, "error_at_the_end", slowly)
    with Client(transport=cli, on_crash="raise") as client:
        cli.hang_up(exit_code=3)
        with pytest.raises(CliDidNotStart, match="exit code 3"):
            client.start(PATIENCE)
    assert seen == [False]


def test_secrets_are_not_in_the_error(client, cli):
    """What the CLI wrote to stderr is shown without credentials."""
    turn = client.submit("hi")
    cli.expect("user")
    cli.print_error("ANTHROPIC_API_KEY=hunter2 is wrong")
    cli.hang_up(1)
    error = turn.exception(PATIENCE)
    assert "hunter2" not in str(error)
    assert "is wrong" in str(error)


def test_a_cli_that_no_longer_listens_is_ended(client, cli, monkeypatch, caplog):
    """A write that fails leads to an end with a reason, not to a wait without one."""
    monkeypatch.setattr("claude_sync.runtime.connection.EXIT_PATIENCE", 0.05)

    def broken(data):
        raise BrokenPipeError("nobody reads")

    monkeypatch.setattr(cli, "write", broken)
    turn = client.submit("hi")
    with pytest.raises(CliExited, match="no longer read its input"):
        turn.result(PATIENCE)
