"""The vocabulary of a scripted CLI: what a test can expect, and how turns look."""

import json
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from patience import PATIENCE

from claude_sync.testing import ScriptedCli, builders

SOON = 0.01

INITIALIZE = {
    "type": "control_request",
    "request_id": "req_1",
    "request": {"subtype": "initialize"},
}
QUESTION = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hi"}}


def send(cli, *messages):
    """What a client would write."""
    cli.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def read_all(cli):
    """All that was printed, as messages; the CLI must have ended."""
    return [json.loads(line) for line in b"".join(iter(cli.read, b"")).splitlines()]


def kinds(messages):
    """A short name for each message."""
    return [
        message.get("state")
        or message.get("subtype")
        or message.get("event", {}).get("type")
        or message["type"]
        for message in messages
    ]


def launch(*flags, **environment):
    """How a client would start a process."""
    return SimpleNamespace(argv=("claude", *flags), environment=environment, cwd=None)


# Hearing.


def test_expect_returns_what_the_client_sent():
    """expect() returns the client's next message whole."""
    cli = ScriptedCli()
    send(cli, QUESTION, INITIALIZE)
    assert cli.expect("user") == QUESTION
    assert cli.expect(type="control_request", subtype="initialize", request_id="req_1")


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        (QUESTION, {"text": "hi"}),
        (QUESTION, {"uuid": ..., "role": "user"}),
        ({"type": "user", "message": {"content": [builders.text("hi")]}}, {"text": "hi"}),
        (builders.control_response("r1", {"behavior": "allow"}), {"behavior": "allow"}),
    ],
)
def test_expect_finds_a_key_wherever_it_is(message, keys):
    """Keys inside the request, the response or the message need no path."""
    cli = ScriptedCli()
    send(cli, message)
    assert cli.expect(**keys) == message


@pytest.mark.parametrize("keys", [{"type": "user", "text": "ho"}, {"color": ...}])
def test_expect_tells_what_came_instead(keys):
    """A message that is not the expected one is an error that shows it."""
    cli = ScriptedCli()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match=r"expected .*; the client sent .*'content': 'hi'"):
        cli.expect(**keys)


def test_expect_tells_what_it_waited_for():
    """A client that sends nothing is an error that names what was missing."""
    cli = ScriptedCli(patience=SOON)
    with pytest.raises(AssertionError, match=r"waited 0\.01 s for .*interrupt.*sent nothing"):
        cli.expect("control_request", subtype="interrupt")


def test_expect_wakes_up_when_the_client_leaves():
    """A client that closes ends the wait at once."""
    cli = ScriptedCli()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cli.expect, "user", PATIENCE)
        cli.close(1)
        with pytest.raises(AssertionError, match="ended its side"):
            waiting.result(PATIENCE)


@pytest.mark.parametrize("line", [b"\n", b"{]\n", b"[1]\n"])
def test_a_line_that_is_no_object_is_an_error(line):
    """A blank or broken line, which would kill a real CLI, fails the test."""
    cli = ScriptedCli()
    cli.write(line)
    with pytest.raises(AssertionError, match="no JSON object"):
        cli.expect()


def test_expect_end_waits_for_the_client_to_leave():
    """expect_end() returns when the client closes, and fails if it says something instead."""
    cli = ScriptedCli()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match="but the client sent"):
        cli.expect_end()
    with pytest.raises(AssertionError, match="went by"):
        cli.expect_end(SOON)
    cli.close(1)
    cli.expect_end()
    assert cli.closed


def test_assert_done_shows_what_nobody_expected():
    """Lines that no expect() took fail assert_done()."""
    cli = ScriptedCli()
    cli.assert_done()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match="not expected") as caught:
        cli.assert_done()
    assert json.dumps(QUESTION) in str(caught.value).splitlines()[1]
    assert "expect()" in str(caught.value)
    cli.expect("user")
    cli.assert_done()
    cli.write(b"{")
    with pytest.raises(AssertionError, match="not expected"):
        cli.assert_done()


# Turns.


def test_accept_answers_initialize():
    """accept() answers the first request, in its style, and returns it."""
    cli = ScriptedCli()
    send(cli, INITIALIZE)
    assert cli.accept(account={"email": "a@example.com"}) == INITIALIZE
    response = json.loads(cli.read())["response"]
    assert response["request_id"] == "req_1"
    assert response["response"]["claude_code_version"] == cli.version
    assert response["response"]["account"] == {"email": "a@example.com"}
    old = ScriptedCli(style="old")
    send(old, INITIALIZE)
    old.accept()
    assert "claude_code_version" not in json.loads(old.read())["response"]["response"]


def test_a_turn_of_a_new_cli():
    """A new CLI reports the life of the question and lists it in the result."""
    cli = ScriptedCli(session_states=True)
    cli.start(launch("--include-partial-messages", "--replay-user-messages"))
    send(cli, QUESTION)
    assert cli.answer("Hello you", prompt="hi", total_cost_usd=0.5) == QUESTION
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages) == [
        "running",
        "queued",
        "started",
        "init",
        "user",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "assistant",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "success",
        "completed",
        "idle",
    ]
    result = messages[13]
    assert (result["result"], result["total_cost_usd"]) == ("Hello you", 0.5)
    assert result["user_message_uuids"] == ["u1"]
    assert messages[4]["uuid"] == "u1"
    assert {message["session_id"] for message in messages} == {cli.session_id}


def test_a_turn_of_an_old_cli():
    """An old CLI only repeats the question, after the first piece of the answer."""
    cli = ScriptedCli(style="old")
    send(cli, QUESTION)
    cli.answer(pieces=["Hel", "lo"])
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages)[:6] == [
        "init",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "user",
        "content_block_delta",
    ]
    assert messages[-1]["result"] == "Hello"
    assert "user_message_uuids" not in messages[-1]


def test_the_command_line_decides_what_is_told():
    """Without the flags, a CLI neither streams nor repeats; settings of the test win."""
    cli = ScriptedCli()
    cli.start(launch("--session-id=abc", "--model", "opus"))
    send(cli, QUESTION)
    cli.answer("Hello")
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages) == ["queued", "started", "init", "assistant", "success", "completed"]
    assert messages[2]["session_id"] == "abc"
    assert messages[2]["model"] == messages[3]["message"]["model"] == "opus"
    stubborn = ScriptedCli(partial=True, session_id="mine")
    stubborn.start(launch("--session-id=abc"))
    assert (stubborn.partial, stubborn.session_id) == (True, "mine")


def test_the_environment_asks_for_session_states():
    """Running and idle are told if the environment says so, and by new CLIs only."""
    asked = launch(CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1")
    for style, told in (("new", True), ("old", False)):
        cli = ScriptedCli(style=style)
        cli.start(asked)
        assert cli.session_states is told


def test_an_interrupted_turn_keeps_what_was_said():
    """An interrupted turn ends with the text so far, a note and a result without text."""
    cli = ScriptedCli(partial=False)
    cli.end_interrupted(QUESTION, "Hel")
    cli.hang_up()
    said, note, result, lifecycle = read_all(cli)
    assert said["message"]["content"][0]["text"] == "Hel"
    assert "interrupted by user" in note["message"]["content"][0]["text"]
    assert result["terminal_reason"] == "aborted_streaming"
    assert "result" not in result
    assert lifecycle["state"] == "cancelled"


def test_requests_and_their_replies_belong_together():
    """expect_reply() returns the body of the client's answer to that very request."""
    cli = ScriptedCli()
    request = cli.ask_permission("Bash", {"command": "ls"}, blocked_path="/etc")
    assert json.loads(cli.read()) == request
    assert request["request"]["blocked_path"] == "/etc"
    send(cli, builders.control_response(request["request_id"], {"behavior": "allow"}))
    assert cli.expect_reply(request) == {"behavior": "allow"}
    hook = cli.call_hook("hook_0", "PreToolUse", {"tool_name": "Bash"})
    send(cli, builders.control_error(hook["request_id"], "no"))
    with pytest.raises(AssertionError, match="subtype"):
        cli.expect_reply(hook)
    call = cli.call_server("tools", {"method": "tools/list"})
    cli.cancel(call)
    cli.reply(INITIALIZE, models=[])
    cli.refuse(INITIALIZE, "no", "invalid")
    cli.hang_up()
    *_, cancelled, accepted, refused = read_all(cli)
    assert cancelled["request_id"] == call["request_id"]
    assert accepted["response"]["response"] == {"models": []}
    assert refused["response"]["error_code"] == "invalid"
