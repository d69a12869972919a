"""The schema of all messages: itself right, and wrong messages are wrong by it."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest
from bridge_front_end import SCHEMA

from claude_sync.bridge import envelopes
from claude_sync.bridge.command import schema

WHOLE = jsonschema.Draft202012Validator(SCHEMA)

BAD = [
    {"type": "session.destroy", "payload": {}},
    {"type": "session.create", "payload": {"options": {"modle": "x"}}},
    {"type": "session.create", "payload": {"prompt": 5}},
    {"type": "session.create", "id": 5, "payload": {}},
    {"type": "session.send", "payload": {"message": "x"}},
    {"type": "session.send", "session_id": "s", "payload": {}},
    {"type": "callback.response", "payload": {"behavior": "allow"}},
    {"type": "callback.response", "id": "1", "payload": {"behavior": "perhaps"}},
    {"type": "sdk.message", "session_id": "s", "payload": []},
    {"type": "sdk.message", "session_id": "s", "id": "1", "payload": {}},
    {"type": "query.result", "session_id": "s", "payload": {"success": False}},
    {"type": "error", "payload": {"code": "OOPS", "message": "x"}},
    {"type": "callback.request", "id": "1", "session_id": "s", "payload": {"callback_type": "x"}},
]


def test_the_schema_is_one():
    """By the rules of JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("message", BAD, ids=json.dumps)
def test_what_may_not_be_said_does_not(message):
    """A schema that takes everything would be none."""
    assert not WHOLE.is_valid(message)


def test_all_requests_are_in_it():
    """It says the same as the code."""
    listed = {each["$ref"] for each in SCHEMA["$defs"]["from_front_end"]["oneOf"]}
    assert listed == {f"#/$defs/{name}" for name in envelopes.REQUESTS}


def test_the_command_prints_it():
    """--schema prints JSON, and nothing else."""
    words = [sys.executable, "-m", "claude_sync.bridge", "--schema"]
    printed = subprocess.run(words, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    assert json.loads(printed.stdout) == schema()
    assert printed.stderr == b""
