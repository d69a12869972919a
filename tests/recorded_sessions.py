"""Recordings as the recorder writes them, made by hand; and made with the offline CLI."""

from __future__ import annotations

import json

from claude_sync import Client
from claude_sync.testing import ScriptedCli, builders
from claude_sync.testing.offline import echo

SESSION = "5e551000-0000-4000-8000-000000000001"
GREETING = builders.control_request("initialize", request_id="req_1")


def line(direction, message, run="abc-1", **fields):
    """A record."""
    return {"dir": direction, "t": 0.0, "run": run, "msg": message, **fields}


def greeted(run="abc-1"):
    """How every session begins."""
    return [
        line("in", GREETING, run),
        line("out", builders.control_response("req_1", {"commands": []}), run),
    ]


def question(text, uuid, run="abc-1"):
    """A question."""
    message = {"role": "user", "content": text}
    return line("in", {"type": "user", "uuid": uuid, "message": message, "session_id": ""}, run)


def answer(text, uuid, run="abc-1"):
    """What is said to a question, briefly."""
    said = [
        builders.init(session_id=SESSION),
        builders.assistant(text, session_id=SESSION),
        builders.result(text, session_id=SESSION, user_message_uuids=[uuid]),
    ]
    return [line("out", message, run) for message in said]


def write(path, *records):
    """Write them."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def one_answer(path):
    """A session with one question and its answer."""
    return write(
        path,
        line("argv", ["claude", "--verbose"], client="first"),
        *greeted(),
        question("hi", "then-1"),
        *answer("hello", "then-1"),
        line("exit", 0),
    )


def record_echo(path, program, **options):
    """Record *program*, which is called with a client of the offline CLI; what it returns."""
    with Client(transport=lambda: ScriptedCli(echo), record=path, **options) as client:
        return program(client)
