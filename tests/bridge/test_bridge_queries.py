"""query.call: the eight methods, and what is refused."""

from __future__ import annotations

import json

import bridge_scripts as scripts
import pytest

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


def test_files_can_be_rewound_for_a_trial(front_end):
    """The options of the method reach the CLI, in both spellings."""
    front = front_end(scripts.repeats_requests)
    session_id = front.create()
    for options in ({"dryRun": True}, {"dry_run": True}):
        asked = front.call(session_id, "rewindFiles", UUID, options)["result"]["asked"]
        assert (asked["user_message_id"], asked["dry_run"]) == (UUID, True)
    asked = front.call(session_id, "rewindFiles", UUID)["result"]["asked"]
    assert not asked.get("dry_run")


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


def test_a_method_that_fails_is_a_result_without_success(front_end):
    """The error is told, and its class and code."""
    front = front_end(scripts.refuses_controls)
    told = front.call(front.create(), "setModel", "opus")
    assert told["success"] is False
    assert "not today" in told["error"]
    assert told["details"] == {"error": "ControlError", "code": "too_busy", "text": "not today"}


@pytest.mark.parametrize(
    ("payload", "about"),
    [
        ({}, "no method None"),
        ({"method": ["setModel"]}, "no method"),
        ({"method": "setModle"}, "Did you mean 'setModel'"),
        ({"method": "close"}, "no method 'close'"),
        ({"method": "setModel", "args": {}}, "args must be a list"),
        ({"method": "setModel", "args": ["a", "b", "c"]}, "cannot be called so"),
        ({"method": "setPermissionMode", "args": []}, "cannot be called so"),
        ({"method": "setPermissionMode", "args": ["never"]}, "never"),
        ({"method": "setPermissionMode", "args": ["bypassPermissions"]}, "--trust-client"),
    ],
    ids=json.dumps,
)
def test_a_call_that_cannot_be_is_an_error(session, payload, about):
    """QUERY_METHOD_FAILED tells what to write, and the session lives."""
    front, session_id = session
    message = {"type": "query.call", "id": "q", "session_id": session_id, "payload": payload}
    front.send_raw(json.dumps(message).encode() + b"\n")
    assert about in front.error(id="q", code="QUERY_METHOD_FAILED")["message"]
    assert front.call(session_id, "setModel", "opus")["success"]
