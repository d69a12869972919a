"""The CLI asks what nobody serves: it gets an answer, in kind, that lets nothing through."""

import logging

import pytest
from patience import PATIENCE

from claude_sync.testing import builders


@pytest.fixture
def in_turn(cli, client):
    """A turn that runs, and a way to end it."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    yield cli
    cli.end_turn(user, "went on")
    assert turn.result(PATIENCE) == "went on"


def test_unknown_request(in_turn):
    """A request of an unknown kind is refused by name."""
    request = in_turn.ask(builders.control_request("brand_new", x=1))
    reply = in_turn.expect("control_response")["response"]
    assert (reply["subtype"], reply["request_id"]) == ("error", request["request_id"])
    assert "brand_new" in reply["error"]


def test_permission_without_a_handler(in_turn):
    """A tool that nobody decides about is denied, with a reason."""
    request = in_turn.ask_permission("Bash", {"command": "ls"}, tool_use_id="toolu_7")
    decision = in_turn.expect_reply(request)
    assert decision["behavior"] == "deny"
    assert decision["message"]


def test_elicitation_is_declined(in_turn):
    """A form nobody can show is declined."""
    request = in_turn.ask(builders.control_request("elicitation", message="your name?"))
    assert in_turn.expect_reply(request)["action"] == "decline"


def test_message_to_a_server_that_does_not_exist(in_turn):
    """A call of a server the program does not have gets a JSON-RPC error with its id."""
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    answer = in_turn.expect_reply(in_turn.call_server("nowhere", call))["mcp_response"]
    assert answer["id"] == 5
    assert "error" in answer


def test_callback_is_answered_in_kind(in_turn):
    """The older form of asking gets its own form of answer."""
    in_turn.say(
        {
            "type": "callback.request",
            "id": "c1",
            "session_id": "s1",
            "payload": {"callback_type": "can_use_tool", "tool_name": "Bash", "input": {}},
        }
    )
    reply = in_turn.expect("callback.response", id="c1", session_id="s1")
    assert reply["payload"]["behavior"] == "deny"


def test_request_without_an_id(in_turn):
    """A request that cannot be answered is left alone."""
    in_turn.say({"type": "control_request", "request": {"subtype": "can_use_tool"}})
    in_turn.say({"type": "control_request", "request_id": 7, "request": {}})
    in_turn.say({"type": "control_request", "request_id": "r", "request": None})
    assert in_turn.expect("control_response")["response"]["request_id"] == "r"


def test_many_requests_at_once(in_turn):
    """Each of many requests that are open at once gets its own answer."""
    asked = {in_turn.ask_permission("Bash", {"n": n})["request_id"] for n in range(50)}
    answered = {in_turn.expect("control_response")["response"]["request_id"] for _ in asked}
    assert answered == asked


def test_denial_is_warned_about_once(in_turn, caplog):
    """The log tells once how to let Claude use tools."""
    caplog.set_level(logging.WARNING, "claude_sync")
    for _ in range(3):
        in_turn.expect_reply(in_turn.ask_permission("Bash", {"command": "ls"}))
    warnings = [each for each in caplog.records if "Denied" in each.getMessage()]
    assert len(warnings) == 1
    assert "allowed_tools" in warnings[0].getMessage()


def test_withdrawn_request(in_turn):
    """A request that is withdrawn at once does not disturb the turn."""
    request = in_turn.ask_permission("Bash", {"command": "ls"})
    in_turn.cancel(request)
    in_turn.cancel({"request_id": "unknown"})


def test_request_before_the_greeting_is_answered(cli):
    """Requests are served while start() still waits for the greeting."""
    from claude_sync import Client

    with Client(transport=cli) as client:
        turn = client.submit("hi")
        greeting = cli.expect("control_request", subtype="initialize")
        call = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
        cli.expect_reply(cli.call_server("mine", call))
        cli.say(cli.initialized(greeting))
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"
