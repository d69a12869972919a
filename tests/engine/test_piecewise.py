"""Secrets in pieces: whoever joins the deltas of a recording must not read them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.engine.recording import holding, piecewise
from claude_sync.engine.recording.piecewise import Piecewise
from claude_sync.support.conceal import Concealer
from claude_sync.testing import builders

LETTERS = "Ab3" * 14
KNOWN = "correct  horse battery of staple1"
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
    '{"env": {"A": "' + LETTERS + '", "B": "x ' + LETTERS + '"}}',
    '"headers" : {"X-A": "' + LETTERS + '"}',
    'password: "abc\\"def ' + LETTERS + '"',
    "password = \"it's a " + LETTERS + '"',
    "password: str = b'x " + LETTERS + "'",
    '["--password", "x ' + LETTERS + '"]',
    "<password>x " + LETTERS + "</password>",
    "password:" + " " * 300 + LETTERS,
    "Bearer" + " " * 300 + LETTERS,
    "Bearer\t" + LETTERS,
    "C:\\Users\\John " + LETTERS + "\\x",
    KNOWN,
    "\x1b[31msk-ant-" + LETTERS + "\x1b[m",
]


def new_pieces():
    """The blocks of one recording."""
    return Piecewise(Concealer({"MY_PASSPHRASE": KNOWN}))


@pytest.fixture
def pieces():
    """See :func:`new_pieces`."""
    return new_pieces()


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
def test_a_secret_in_pieces_is_hidden(size):
    """However it is cut, joined it says the same as if it had come at once."""
    wrong = []
    for secret in SECRETS:
        text = f"First {secret} then"
        joined = "".join(recorded(new_pieces(), cut(text, size)))
        if LETTERS[:9] in joined or joined != Concealer({"MY_PASSPHRASE": KNOWN}).text(text):
            wrong.append((secret, joined))
    assert not wrong


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_secret_in_the_arguments_of_a_tool(size):
    """They come as pieces of JSON, and are JSON afterwards."""
    wrong = []
    for secret in SECRETS:
        text = json.dumps({"command": f"x\n{secret}\ny", "b": 1})
        kind = {"kind": "input_json_delta", "field": "partial_json"}
        joined = "".join(recorded(new_pieces(), cut(text, size), **kind))
        if LETTERS[:9] in joined or json.loads(joined)["b"] != 1:
            wrong.append((secret, joined))
    assert not wrong


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a":"sk\\u002dant\\u002Dapi03-Ab3Ab3Ab3 x"}', '{"a":"<secret-1> x"}'),
        ('{"a":"me\\u0040example.com"}', '{"a":"<email-1>"}'),
        ('{"a":"password\\u003d \\u0041b3Ab3Ab3"}', '{"a":"password= <secret-1>"}'),
        ('{"a":"\\\\u0041 \\u0022 \\u005c \\u00e9"}', '{"a":"\\\\u0041 \\u0022 \\u005c \\u00e9"}'),
    ],
)
def test_escapes_in_the_arguments_of_a_tool(text, shown):
    """A character that is escaped without need is hidden like any other, however it is cut."""
    kind = {"kind": "input_json_delta", "field": "partial_json"}
    for size in (1, 2, 3, 7, 1000):
        assert "".join(recorded(new_pieces(), cut(text, size), **kind)) == shown, size


def test_escapes_in_a_text_are_texts(pieces):
    """Only JSON has escapes."""
    assert "".join(recorded(pieces, ["a\\u0040b"])) == "a\\u0040b"


# Too long to be held.


@pytest.fixture
def short(monkeypatch):
    """Little is held back."""
    monkeypatch.setattr(piecewise, "LONGEST_HELD", 100)


LONG = "Ab3 " * 60


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a " + "x" * 300 + " b", "a <secret-1> b"),
        ("a " + "x" * 300 + "=sk-ant-" + LETTERS + " b", "a <secret-1> b"),
        (f'a password = "{LONG}" b', 'a password = "<secret-1>" b'),
        (f'a password = "{LONG}\\" {LONG}" b', 'a password = "<secret-1>" b'),
        (f"a password = '{LONG}\nb", "a password = '<secret-1>\nb"),
        (f"a Cookie: a={LONG}\nb", "a Cookie: <secret-1>\nb"),
        (f"a <token>{LONG}</token> b", "a <token><secret-1></token> b"),
        ("a password:" + " " * 300 + "Ab3 b", "a password: <secret-1> b"),
        (
            f"a -----BEGIN PRIVATE KEY-----\n{LONG}\n-----END PRIVATE KEY----- b",
            "a <secret-1> b",
        ),
    ],
    ids=["word", "key", "quote", "escaped", "line", "header", "tag", "blanks", "PEM"],
)
def test_what_is_too_long_is_hidden_up_to_its_end(text, shown):
    """Memory has a limit, and beyond it nothing is told; behind it, everything is."""
    for size in (1, 7, 30, 60):
        joined = "".join(recorded(new_pieces(), cut(text, size)))
        assert "Ab3" not in joined, size
        assert re.sub(r"secret-\d", "secret-1", joined).split() == shown.split(), size


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("size", [1, 7, 30])
def test_a_long_text_without_blanks(pieces, size):
    """It is cut where no secret goes on, and stays what it is."""
    text = '{"a":"' + "b,c;" * 100 + "sk-ant-" + LETTERS + '"' + ',"d":"e"' * 50 + "}"
    kind = {"kind": "input_json_delta", "field": "partial_json"}
    parts = recorded(pieces, cut(text, size), **kind)
    assert "".join(parts) == text.replace("sk-ant-" + LETTERS, "<secret-1>")
    assert len(max(parts, key=len)) < 200


@pytest.mark.usefixtures("short")
def test_a_block_that_ends_in_what_is_too_long(pieces):
    """Nothing more of it is told."""
    parts = recorded(pieces, ["a ", 'token: "' + LONG, LONG])
    assert "".join(parts) == 'a token: "<secret-1>'


def test_what_is_held_is_not_looked_through_each_time(pieces, monkeypatch):
    """Each character a few times, however many pieces it comes in."""
    seen = []

    def safe_length(text, *arguments, **more):
        seen.append(len(text))
        return holding.safe_length(text, *arguments, **more)

    monkeypatch.setattr(piecewise, "safe_length", safe_length)
    text = 'token: "' + "some words " * 1200
    recorded(pieces, cut(text, 4))
    assert sum(seen) < 20 * len(text)
