"""The backend that asks by callbacks says what its document shows, and takes nothing else."""

from __future__ import annotations

import pytest
from backend_session import BackendSession
from claude_sync.testing.dialect_callback import speak
from claude_sync.testing.dialect_rules import NOT_IN_THE_DOCUMENT

from claude_sync.testing import ScriptedCli

ARGV = (
    *("--output-format", "stream-json"),
    *("--input-format", "stream-json"),
    *("--permission-prompt-tool", "stdio"),
)
PROMPT = {"type": "preset", "preset": "claude_code"}
GREETING = {
    "subtype": "initialize",
    "system_prompt": PROMPT,
    "mcp_servers": {},
    "agents": {},
    "hooks": {},
}


@pytest.fixture
def session():
    """A backend that was not greeted yet."""
    with BackendSession(ScriptedCli(speak), *ARGV) as session:
        yield session


@pytest.fixture
def greeted(session):
    """One that was."""
    session.send(type="control_request", request_id="r", request=GREETING)
    reply = session.read()
    assert reply["response"]["request_id"] == "r"
    assert reply["response"]["response"]["models"]
    return session


def ask(session, content):
    """Send a question."""
    session.send(type="user", message={"role": "user", "content": content}, parent_tool_use_id=None)


def test_a_turn(greeted):
    """Init once, deltas with nothing around them, the message, the result."""
    ask(greeted, "hi")
    kinds = [message["type"] for message in greeted.read_until("result")]
    assert kinds[0] == "system"
    assert kinds[-2:] == ["assistant", "result"]
    assert set(kinds[1:-2]) == {"stream_event"}
    ask(greeted, "hi")
    assert "system" not in [message["type"] for message in greeted.read_until("result")]


def test_a_permission(greeted):
    """The request has the fields of the document; the answer must have its id."""
    ask(greeted, "tool ls")
    request = greeted.read_until("callback.request")[-1]
    assert set(request) == {"type", "id", "session_id", "payload"}
    assert request["payload"]["callback_type"] == "can_use_tool"
    greeted.send(
        type="callback.response",
        id="another",
        session_id=request["session_id"],
        payload={"behavior": "deny", "message": "no"},
    )
    assert "the message.id is 'another'" in greeted.complaint()


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_command_line_that_lacks_something(place):
    """All three settings are needed."""
    argv = ARGV[:place] + ARGV[place + 2 :]
    with BackendSession(ScriptedCli(speak), *argv) as session:
        assert f"a command line without {ARGV[place]}" in session.complaint()
    assert session.cli.exit_code == NOT_IN_THE_DOCUMENT


@pytest.mark.parametrize(
    "request_body",
    [
        {"subtype": "initialize"},
        {**GREETING, "sdkMcpServers": []},
        {**GREETING, "system_prompt": "text"},
        {"subtype": "interrupt"},
    ],
)
def test_another_greeting(session, request_body):
    """It must be this one."""
    session.send(type="control_request", request_id="r", request=request_body)
    assert "not in the document" in session.complaint()


def test_a_second_greeting(greeted):
    """There is one."""
    greeted.send(type="control_request", request_id="r", request=GREETING)
    assert "not in the document" in greeted.complaint()


@pytest.mark.parametrize(
    "request_body",
    [
        {"subtype": "interrupt", "cancel_queued": True},
        {"subtype": "set_model"},
        {"subtype": "set_permission_mode", "mode": "bogus"},
        {"subtype": "get_usage"},
    ],
)
def test_other_requests(greeted, request_body):
    """Three are known, as they are."""
    greeted.send(type="control_request", request_id="r", request=request_body)
    assert "not in the document" in greeted.complaint()
