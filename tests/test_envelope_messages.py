"""Messages in envelopes: which class, which values, and never an exception."""

from __future__ import annotations

import inspect

import pytest

from claude_sync import envelope_messages
from claude_sync.envelope_messages import ENVELOPES, Envelope, SdkMessage
from claude_sync.messages import Assistant, ErrorMessage, Unknown
from claude_sync.protocol.parsing import parse


def test_every_class_is_found_by_its_type():
    """But the base of them all."""
    classes = {
        value
        for value in vars(envelope_messages).values()
        if inspect.isclass(value) and issubclass(value, Envelope)
    }
    assert classes - set(ENVELOPES.values()) == {Envelope}


@pytest.mark.parametrize("kind", sorted(ENVELOPES))
def test_an_envelope_is_typed(kind):
    """With its id, its session and its payload."""
    raw = {"type": kind, "id": "1", "session_id": "s", "payload": {"x": 1}}
    message = parse(raw)
    assert type(message) is ENVELOPES[kind]
    assert (message.type, message.id, message.session_id, message.payload) == (
        kind,
        "1",
        "s",
        {"x": 1},
    )
    assert message.raw is raw


@pytest.mark.parametrize("payload", [None, 3, "text", [], [{}], {"type": 3}, {"message": []}])
@pytest.mark.parametrize("kind", sorted(ENVELOPES))
def test_no_payload_is_an_error(kind, payload):
    """Whatever stands in its place; every attribute can be read."""
    message = parse({"type": kind, "id": 3, "payload": payload})
    assert type(message) is ENVELOPES[kind]
    assert message.id == "3"
    assert repr(message)


def test_what_the_cli_said_is_unwrapped():
    """It is the message it was, unknown ones included."""
    inner = {"type": "assistant", "message": {"content": "Hello"}}
    message = parse({"type": "sdk.message", "payload": inner})
    assert isinstance(message.message, Assistant)
    assert message.message.text == "Hello"
    assert message.message.raw is inner
    assert isinstance(parse({"type": "sdk.message"}).message, Unknown)
    assert isinstance(SdkMessage().message, Unknown)


def test_envelopes_are_not_opened_for_ever():
    """However deep they are nested: the second is not opened."""
    raw = {"type": "x"}
    for _ in range(10_000):
        raw = {"type": "sdk.message", "payload": raw}
    inner = parse(raw).message
    assert isinstance(inner, Unknown)
    assert inner.type == "sdk.message"


def test_an_unknown_envelope_is_unknown():
    """So is every other type with a dot in it."""
    message = parse({"type": "session.nonsense", "payload": {}})
    assert isinstance(message, Unknown)
    assert message.type == "session.nonsense"


def test_an_error_in_an_envelope():
    """Its code is its kind."""
    message = parse({"type": "error", "payload": {"code": "SDK_ERROR", "message": "no"}})
    assert message == ErrorMessage("no", "SDK_ERROR")
