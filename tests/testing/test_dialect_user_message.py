"""The backend that takes user_message says what its document shows, and takes nothing else."""

from __future__ import annotations

import pytest
from backend_session import BackendSession
from claude_sync.testing.dialect_rules import NOT_IN_THE_DOCUMENT
from claude_sync.testing.dialect_user_message import speak

from claude_sync.testing import ScriptedCli

ARGV = (
    *("-p", "--verbose"),
    *("--output-format", "stream-json"),
    *("--input-format", "stream-json"),
    *("--include-partial-messages", "--replay-user-messages"),
)


@pytest.fixture
def session():
    """A backend that has introduced itself."""
    with BackendSession(ScriptedCli(speak), *ARGV) as session:
        assert session.read()["subtype"] == "init"
        yield session


def test_a_turn(session):
    """The events come in the order that is written down."""
    session.send(type="user_message", content="hi")
    messages = session.read_until("result")
    kinds = [
        message["event"]["type"] if message["type"] == "stream_event" else message["type"]
        for message in messages
    ]
    assert kinds == [
        "user",
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 2,
        "content_block_stop",
        "message_delta",
        "message_stop",
        "assistant",
        "result",
    ]
    assert "result" not in messages[-1]


def test_a_late_cancel_hits_nothing(session):
    """One that crossed the end of its turn is no mistake of anybody."""
    session.send(type="control_request", request={"subtype": "cancel"})
    session.send(type="user_message", content="hi")
    assert session.read_until("result")[-1]["subtype"] == "success"


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ([word for word in ARGV if word != "-p"], "without -p"),
        ([word for word in ARGV if word != "--verbose"], "without --verbose"),
        (ARGV[:-1], "without --replay-user-messages"),
        (ARGV[4:], "without --output-format stream-json"),
        ([*ARGV, "--model=opus"], "['--model=opus'] on the command line"),
    ],
)
def test_another_command_line(argv, complaint):
    """These words and no others."""
    with BackendSession(ScriptedCli(speak), *argv) as session:
        assert complaint in session.complaint()
    assert session.cli.exit_code == NOT_IN_THE_DOCUMENT


@pytest.mark.parametrize("words", [["--resume=s-1"], ["--resume=s-1", "--fork-session"]])
def test_a_conversation_can_be_named(words):
    """Two more words are known."""
    with BackendSession(ScriptedCli(speak), *ARGV, *words) as session:
        assert session.read()["subtype"] == "init"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "user", "message": {"role": "user", "content": "hi"}},
        {"type": "user_message", "content": "hi", "uuid": "u"},
        {"type": "control_request", "request": {"subtype": "initialize"}},
        {"type": "control_request", "request": {"subtype": "interrupt"}},
        {"type": "control_request", "request_id": "r", "request": {"subtype": "cancel"}},
        {"type": "control_request", "request": {"subtype": "compact", "instructions": "x"}},
    ],
)
def test_other_messages(session, message):
    """Three are known, as they are."""
    session.send(**message)
    assert "not in the document" in session.complaint()
