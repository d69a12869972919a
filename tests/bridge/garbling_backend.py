"""
A backend among whose lines there is rubbish: what it says comes, and much beside it.

Its words are those of ``python -m claude_sync.bridge``, whose lines it passes on.
"""

from __future__ import annotations

import json
import subprocess
import sys

RUBBISH = [
    b"",
    b"   ",
    b"Last login: Mon Nov 16 from a friend",
    b"\xff\xfe\x00 not text \x80",
    b'{"type": "sdk.message", "payl',
    b"[" * 10_000,
    b"null",
    b"5",
    b'"text"',
    b"[1, 2]",
    b"{}",
    b'{"type": 5, "id": [], "session_id": {}}',
    b'{"type": "sdk.message", "session_id": "of nobody", "payload": {"type": "result"}}',
    b'{"type": "callback.request", "session_id": "of nobody", "id": "x", "payload": {}}',
    b'{"type": "x", "padding": "' + b"x" * 2_000_000 + b'"}',
]
# To these the name of a session is added.
ABOUT_A_SESSION = [
    {},
    {"type": "session.fly", "payload": {}},
    {"type": "sdk.message"},
    {"type": "sdk.message", "payload": None},
    {"type": "sdk.message", "payload": ["result"]},
    {"type": "sdk.message", "payload": {"type": 7}},
    {"type": "sdk.message", "payload": {"type": "assistant", "message": []}},
    {"type": "sdk.message", "payload": {"type": "stream_event", "event": 5}},
    {"type": "sdk.message", "payload": {"type": "command_lifecycle", "command_uuid": {}}},
    {"type": "callback.request", "id": "no-kind", "payload": {}},
    {"type": "callback.request", "id": "no-hook", "payload": {"callback_type": "hook"}},
    {"type": "callback.cancelled", "id": []},
    {"type": "query.result", "id": "of-nobody", "payload": {"success": 5}},
    {"type": "session.created", "id": "1-1", "payload": {"greeting": 5}},
    {"type": "session.interrupted", "id": "of-nobody", "payload": {"cancelled": 5}},
    {"type": "error", "id": "of-nobody", "payload": "text"},
    {"type": "error", "id": {"a": 1}, "payload": {"code": ["SDK_ERROR"], "details": 5}},
]


def rubbish_about(line):
    """What comes after a line."""
    message = json.loads(line)
    # What is said about our own rubbish is not answered with more of it.
    if message["type"] == "error" or "session_id" not in message:
        return b""
    about = [{**each, "session_id": message["session_id"]} for each in ABOUT_A_SESSION]
    lines = [*RUBBISH, *[json.dumps(each).encode() for each in about]]
    return b"".join(each + b"\n" for each in lines)


def main():
    """Pass on what the backend says."""
    command = [sys.executable, "-m", "claude_sync.bridge", *sys.argv[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as backend:
        for line in backend.stdout:
            sys.stdout.buffer.write(line + rubbish_about(line))
            sys.stdout.buffer.flush()
    return backend.returncode


if __name__ == "__main__":
    sys.exit(main())
