"""Secrets in pieces: whoever joins the deltas of a recording must not read them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.runtime import piecewise
from claude_sync.runtime.concealing import Concealer
from claude_sync.runtime.piecewise import Piecewise
from claude_sync.testing import builders

LETTERS = "Ab3" * 14
SECRETS = [
    "sk-ant-api03-" + LETTERS,
    "API_KEY=" + LETTERS,
    "Password: " + LETTERS,
    "password = '" + LETTERS + " " + LETTERS + "'",
    '{"token": "' + LETTERS + '"}',
    "Authorization: Bearer " + LETTERS,
    "Authorization: Token of " + LETTERS + "\n",
    "Cookie: a=b; c=" + LETTERS,
    "Bearer " + LETTERS,
    "--password " + LETTERS,
    "curl -u me:" + LETTERS,
    "https://me:" + LETTERS + "@host/",
    "eyJhbGciOi9." + LETTERS + "." + LETTERS,
    "-----BEGIN PRIVATE KEY-----\nMII\n" + LETTERS + "\n" + LETTERS + "\n-----END PRIVATE KEY-----",
    LETTERS + "@example.com",
    "/home/" + LETTERS + "/project",
    "~/.claude/projects/-home-" + LETTERS + "-project",
]


@pytest.fixture
def pieces():
    """The blocks of one recording."""
    return Piecewise(Concealer())


def stop(index=0):
    """The end of a block."""
    return {"type": "stream_event", "event": {"type": "content_block_stop", "index": index}}


def delta(text, index=0, parent=None, kind="text_delta", field="text"):
    """A piece of a block."""
    event = {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: text}}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": parent, "uuid": "u"}


def texts(messages, field="text"):
    """The texts of deltas."""
    events = [message["event"] for message in messages]
    return [event["delta"][field] for event in events if "delta" in event]


def recorded(pieces, parts, **fields):
    """What is recorded of a block that comes in these parts: the texts of its deltas."""
    messages = []
    for part in parts:
        messages += pieces.record(delta(part, **fields))
    messages += pieces.record(stop(fields.get("index", 0))) or [stop()]
    assert messages[-1]["event"]["type"] == "content_block_stop"
    return texts(messages, fields.get("field", "text"))


def cut(text, size):
    """*text* in parts."""
    return [text[place : place + size] for place in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 21, 34, 1000])
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:12])
def test_a_secret_in_pieces_is_hidden(pieces, secret, size):
    """However it is cut, joined it says the same as if it had come at once."""
    text = f"First {secret} then"
    joined = "".join(recorded(pieces, cut(text, size)))
    assert LETTERS[:9] not in joined
    assert joined == Concealer().text(text)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:12])
def test_a_secret_in_the_arguments_of_a_tool(pieces, secret, size):
    """They come as pieces of JSON, and are JSON afterwards."""
    text = json.dumps({"command": f"x\n{secret}\ny", "b": 1})
    parts = cut(text, size)
    kind = {"kind": "input_json_delta", "field": "partial_json"}
    joined = "".join(recorded(pieces, parts, **kind))
    assert LETTERS[:9] not in joined
    assert json.loads(joined)["b"] == 1


@given(st.lists(st.text(alphabet=st.sampled_from("ab \n.,-"), max_size=9), max_size=9))
def test_a_text_without_secrets_is_recorded_whole(parts):
    """Nothing is lost and nothing comes twice, wherever it is cut."""
    assert "".join(recorded(Piecewise(Concealer()), parts)) == "".join(parts)


def test_a_delta_stays_a_delta(pieces):
    """Each is recorded when it comes, with all but the word that may go on."""
    assert texts(pieces.record(delta("One tw"))) == ["One "]
    assert texts(pieces.record(delta("o thr"))) == ["two "]
    (first,) = pieces.record(delta(""))
    assert first == delta("")
    last, end = pieces.record(stop())
    assert last == delta("thr")
    assert end == stop()


def test_what_was_received_is_not_changed(pieces):
    """The message that is recorded is a copy; the session works with the other."""
    message = delta("One tw")
    assert texts(pieces.record(message)) == ["One "]
    assert message == delta("One tw")


def test_blocks_do_not_mix(pieces):
    """Blocks, and subagents, are told apart."""
    assert texts(pieces.record(delta("a", 0))) == [""]
    assert texts(pieces.record(delta("b", 1))) == [""]
    assert texts(pieces.record(delta("c", 0, "agent"))) == [""]
    assert texts(pieces.record(delta("d ", 0))) == ["ad "]
    assert texts(pieces.record(stop(1))) == ["b"]
    assert pieces.record(stop(0)) is None
    assert texts(pieces.flush()) == ["c"]
    assert pieces.flush() == []


@pytest.mark.parametrize(
    "message",
    [
        {"type": "stream_event", "event": {"type": "message_start"}},
        {"type": "stream_event", "event": {"type": "message_stop"}, "parent_tool_use_id": None},
        {"type": "assistant", "message": {"content": []}, "parent_tool_use_id": None},
        {"type": "result"},
    ],
    ids=["start", "stop", "assistant", "result"],
)
def test_a_message_that_ends_ends_its_blocks(pieces, message):
    """A complete text comes before the end of its stream; of an interrupted turn, none comes."""
    pieces.record(delta("a"))
    pieces.record(delta("b", 1))
    pieces.record(delta("c", 0, "agent"))
    *rest, last = pieces.record(message)
    assert texts(rest) == ["a", "b"]
    assert last == message
    assert pieces.record(message) is None
    assert texts(pieces.flush()) == ["c"]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "stream_event"},
        {"type": "stream_event", "event": []},
        {"type": "stream_event", "event": {"type": "content_block_delta"}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": []}}},
        delta(5),
        delta("x", kind="signature_delta", field="signature"),
        {"type": "stream_event", "event": {"type": "ping"}},
        stop(),
        stop([1]),
        *builders.stream_of((), session_id="s")[:1],
    ],
    ids=lambda message: str(message)[:60],
)
def test_anything_else_is_not_for_here(pieces, message):
    """Events without a text, of any shape, are recorded as every message is."""
    assert pieces.record(message) is None


def test_other_fields_are_hidden_too(pieces):
    """A delta may carry more than its text."""
    message = {**delta("a "), "account": {"email": "x"}}
    (shown,) = pieces.record(message)
    assert shown["account"] == {"email": "<account-1>"}
    (shown,) = pieces.record(delta("b "), harmless=True)
    assert shown == delta("b ")


def test_a_certificate_is_not_held_back(pieces):
    """It begins like a private key, and is none."""
    pieces.record(delta("-----BEGIN CERTIFICATE-----\n"))
    assert texts(pieces.record(delta("MIIabc\n"))) == ["MIIabc\n"]


def test_not_everything_is_held_back(pieces, monkeypatch):
    """A very long word is recorded before it ends: memory has a limit."""
    monkeypatch.setattr(piecewise, "LONGEST_HELD", 100)
    parts = ["x" * 60] * 5
    assert [len(text) for text in recorded(pieces, parts)] == [0, 120, 0, 120, 0, 60]
