"""Lines and messages of the bridge, without anything behind them."""

from __future__ import annotations

import json

import pytest

from claude_sync.bridge.envelope import Refused, encode_envelope, read_request


def test_a_request_is_read():
    """Whatever may be left out is None, or empty."""
    request = read_request(b'{"type": "session.create"}')
    assert (request.type, request.id, request.session_id, request.payload) == (
        "session.create",
        None,
        None,
        {},
    )
    line = '{"type":"session.kill","id":"ä","session_id":"s","payload":null,"more":1}'
    request = read_request(line.encode())
    assert (request.id, request.session_id, request.payload) == ("ä", "s", {})


def test_a_refusal_has_the_ids_of_the_message():
    """As far as they are texts."""
    with pytest.raises(Refused) as caught:
        read_request(b'{"type": "x", "id": "a", "session_id": 5}')
    assert caught.value.about == {"id": "a"}


def test_a_message_is_one_line_of_ascii():
    """Ids that are not there are left out; surrogates and line separators are escaped."""
    text = "a\u2028b\n\ud800ä"
    line = encode_envelope("error", {"message": text}, id=None, session_id="s")
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"type": "error", "session_id": "s", "payload": {"message": text}}
    line.decode("ascii")


@pytest.mark.parametrize("number", [0.1, 1e-7, 1e300, 2**63, 2**200, -0.5, 3, True, None])
def test_numbers_are_kept(number):
    """Of any size that JSON can have."""
    line = encode_envelope("sdk.message", {"n": [number]}, id="1", session_id=None)
    assert json.loads(line)["payload"]["n"] == [number]


def test_what_is_no_number_becomes_null():
    """JSON has no infinity, and a message must not be lost for it."""
    payload = {"n": [float("inf"), float("-inf"), float("nan"), 1.5], "deep": {"x": float("inf")}}
    line = encode_envelope("sdk.message", payload, id=None, session_id=None)
    assert json.loads(line)["payload"] == {"n": [None, None, None, 1.5], "deep": {"x": None}}


def test_texts_of_errors_are_short():
    """However long the value is that was wrong."""
    with pytest.raises(Refused) as caught:
        read_request(json.dumps({"type": "x" * 10_000}).encode())
    assert len(caught.value.text) < 300
