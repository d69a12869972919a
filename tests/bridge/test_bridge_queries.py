"""query.call: the eight methods, the others, and what is refused."""

from __future__ import annotations

import json

import bridge_scripts as scripts
import pytest

from claude_sync import Client
from claude_sync.bridge.envelope import Refused
from claude_sync.bridge.options import Policy
from claude_sync.bridge.queries import METHODS, bound_query
from claude_sync.support.text import snake_case

UUID = "12345678-1234-4234-a234-123456789012"


@pytest.fixture
def session(front_end):
    """A front end, and a session of it."""
    front = front_end()
    return front, front.create()


def test_the_eight_methods_answer(session):
    """Each is answered with what the CLI has, under the id of the call."""
    front, session_id = session
    models = front.call(session_id, "supportedModels")
    assert models["success"]
    assert models["result"][0]["value"]
    commands = front.call(session_id, "supportedCommands")["result"]
    assert {"name", "description"} <= set(commands[0])
    assert front.call(session_id, "mcpServerStatus")["result"] == []
    assert isinstance(front.call(session_id, "accountInfo")["result"], dict)
    for method, value in (
        ("setModel", "opus"),
        ("setPermissionMode", "plan"),
        ("setMaxThinkingTokens", 1000),
    ):
        assert front.call(session_id, method, value) == {"success": True, "result": None}
    assert front.call(session_id, "setModel")["success"]
    rewound = front.call(session_id, "rewindFiles", UUID, {"dryRun": True})
    assert rewound["success"] is True


def test_a_change_keeps_its_place_among_the_messages(session):
    """A model that is set between two messages is that of the second."""
    front, session_id = session
    front.send("session.send", {"message": "one"}, session_id=session_id)
    payload = {"method": "setModel", "args": ["claude-other-1"]}
    id = front.send("query.call", payload, session_id=session_id)
    front.result(session_id)
    assert front.answer(id)["payload"]["success"]
    front.send("session.send", {"message": "two"}, session_id=session_id)
    front.result(session_id, 1)
    models = [said["model"] for said in front.said(session_id) if said.get("subtype") == "init"]
    assert models[-1] == "claude-other-1"


@pytest.mark.parametrize(
    "method", ["context_usage", "contextUsage", "get_settings", "usage_report"]
)
def test_other_methods_of_the_client_can_be_called(session, method):
    """In either spelling; the result is the CLI's own reply."""
    front, session_id = session
    told = front.call(session_id, method, timeout=30)
    assert told["success"]
    assert isinstance(told["result"], dict)


def test_compact_is_a_turn(session):
    """Its result has the text and the CLI's result."""
    front, session_id = session
    told = front.call(session_id, "compact")
    assert told["success"]
    assert told["result"]["result"]["type"] == "result"


def test_any_request_can_be_sent(session):
    """By control, with its fields; what the client's methods send needs no trust."""
    front, session_id = session
    told = front.call(session_id, "control", "set_model", {"model": "opus"})
    assert told["success"]


def test_a_method_that_fails_is_a_result_without_success(front_end):
    """The error is told, and its class and code."""
    front = front_end(scripts.refuses_controls)
    session_id = front.create()
    told = front.call(session_id, "setModel", "opus")
    assert told["success"] is False
    assert "not today" in told["error"]
    assert told["details"] == {
        "error": "ControlError",
        "code": "too_busy",
        "text": "not today",
    }


@pytest.mark.parametrize(
    ("payload", "about"),
    [
        ({}, "method must be a string"),
        ({"method": 5}, "method must be a string"),
        ({"method": "setModle"}, "Did you mean setModel"),
        ({"method": "close"}, "no method 'close'"),
        ({"method": "_control"}, "no method"),
        ({"method": "setModel", "args": {}}, "args must be a list"),
        ({"method": "setModel", "args": ["a", "b", "c"]}, "cannot be called so"),
        ({"method": "setPermissionMode", "args": []}, "cannot be called so"),
        ({"method": "setPermissionMode", "args": ["bypassPermissions"]}, "--trust-client"),
        ({"method": "apply_settings", "args": [{}]}, "--trust-client"),
        ({"method": "control", "args": ["read_file", {"path": "/etc/passwd"}]}, "--trust-client"),
        ({"method": "control", "args": ["apply_flag_settings", {}]}, "--trust-client"),
        (
            {"method": "control", "args": ["set_permission_mode", {"mode": "bypassPermissions"}]},
            "--trust-client",
        ),
        (
            {"method": "control", "kwargs": {"subtype": "mcp_call", "fields": {}}},
            "--trust-client",
        ),
    ],
    ids=json.dumps,
)
def test_a_call_that_cannot_be_is_an_error(payload, about):
    """QUERY_METHOD_FAILED tells what to write; nothing is sent."""
    client = Client()
    with pytest.raises(Refused) as caught:
        bound_query(client, payload, Policy())
    assert caught.value.code == "QUERY_METHOD_FAILED"
    assert about in caught.value.text
    assert client.state == "new"


def test_a_wrong_value_is_an_error_with_the_id(session):
    """What the client refuses before it is sent has been no call."""
    front, session_id = session
    payload = {"method": "setPermissionMode", "args": ["never"]}
    id = front.send("query.call", payload, session_id=session_id)
    told = front.error(id=id, session_id=session_id)
    assert told["code"] == "QUERY_METHOD_FAILED"
    assert "never" in told["message"]


@pytest.mark.parametrize("fields", [5, [], {"subtype": "x"}, {"timeout": 1}, {"self": 1}])
def test_the_fields_of_a_request_are_an_object(session, fields):
    """Nor can they say what is said elsewhere; nothing is sent."""
    front, session_id = session
    payload = {"method": "control", "args": ["get_settings", fields]}
    id = front.send("query.call", payload, session_id=session_id)
    told = front.error(id=id, session_id=session_id)
    assert told["code"] == "QUERY_METHOD_FAILED"
    assert "the fields of control" in told["message"]


def test_a_request_needs_no_fields(session):
    """null is as good as none."""
    front, session_id = session
    assert front.call(session_id, "control", "get_settings", None)["success"]


def test_trust_lets_everything_through():
    """Also what could undo the rules."""
    client = Client()
    for payload in (
        {"method": "setPermissionMode", "args": ["bypassPermissions"]},
        {"method": "control", "args": ["read_file", {"path": "x"}]},
        {"method": "apply_settings", "args": [{}]},
    ):
        assert bound_query(client, payload, Policy(trusted=True))


def test_names_have_two_spellings():
    """Every method can be called in camelCase."""
    assert snake_case("setMaxThinkingTokens") == "set_max_thinking_tokens"
    assert {snake_case(name) for name in METHODS} == set(METHODS)
