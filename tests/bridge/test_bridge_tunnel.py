"""Raw sessions: lines that go both ways as they are, at the pace of whoever reads them."""

from __future__ import annotations

import json
import os
import sys

import bridge_scripts as scripts
import pytest
from patience import PATIENCE, process_is_gone, wait_until

from claude_sync import Options
from claude_sync.bridge.client import Backend
from claude_sync.bridge.transport import SessionTransport
from claude_sync.engine.launch.command import Launch
from claude_sync.testing import StandIn

GREETING = {"type": "control_request", "request_id": "g", "request": {"subtype": "initialize"}}
QUESTION = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}}
COMMAND = [sys.executable, "-m", "claude_sync.bridge", "--trust-client"]


@pytest.fixture
def tunnel():
    """Make sessions as a client has them: bytes in, bytes out."""
    backend = Backend(COMMAND)
    made = []

    def make(script, **settings):
        transport = SessionTransport(lambda: backend)
        options = Options(cli=StandIn(script).command, **settings)
        transport.start(Launch(("claude",), {}, None, {}, options=options))
        transport.write(json.dumps(GREETING).encode() + b"\n")
        made.append(transport)
        return transport

    yield make
    for transport in made:
        transport.close(PATIENCE)
        transport.free()
    backend.close(PATIENCE)


def everything(read):
    """What a session says until its end."""
    return b"".join(iter(read, b""))


def test_what_a_cli_prints_comes_as_it_is(tunnel):
    """Every byte, the line that has no end excepted, which gets one; then how it ended."""
    session = tunnel(scripts.prints_anything)
    assert everything(session.read) == b"".join(scripts.PRINTED) + b"\n"
    assert everything(session.read_error) == b"last words\n"
    assert session.wait(PATIENCE) == 7


def test_what_a_client_says_comes_as_it_is(tunnel):
    """Lines that were written before the session was there, too, in their order."""
    session = tunnel(scripts.repeats_its_input)
    said = [{**QUESTION, "n": number, "text": "\u2028\ud83d"} for number in range(3)]
    for number, message in enumerate(said):
        session.write(json.dumps(message).encode() * 1 + b"\n")
        if number == 1:
            wait_until(lambda: session.pid is not None)
    session.end_input()
    greeting, *repeated = map(json.loads, everything(session.read).splitlines())
    assert (greeting["request_id"], repeated) == ("g", said)
    assert session.exit_code == 0


def test_settings_that_are_no_flags_are_in_the_greeting(tunnel):
    """Those that the CLI takes there, of options that only the backend knows."""
    agents = {"helper": {"description": "helps", "prompt": "Help."}}
    session = tunnel(scripts.repeats_its_input, agents=agents, title="A title")
    session.end_input()
    greeting = json.loads(everything(session.read))
    assert greeting["request"]["title"] == "A title"


# A backend whose first session is there when nobody wants it any more.
LATE = """
import json, sys
create = json.loads(sys.stdin.readline())
sys.stdin.readline()
created = {"type": "session.created", "id": create["id"], "session_id": "late", "payload": {}}
print(json.dumps(created), flush=True)
with open(sys.argv[1], "w") as told:
    told.write(sys.stdin.readline())
sys.stdin.read()
"""


def test_a_session_that_comes_too_late_is_killed(tmp_path):
    """Nobody else would know of it."""
    told = tmp_path / "told"
    backend = Backend([sys.executable, "-c", LATE, str(told)])
    for _ in range(2):
        transport = SessionTransport(lambda: backend)
        transport.start(Launch(("claude",), {}, None, {}, options=Options()))
        transport.write(json.dumps(GREETING).encode() + b"\n")
        transport.kill()
        transport.free()
    killed = json.loads(wait_until(lambda: told.exists() and told.read_text()))
    assert (killed["type"], killed["session_id"]) == ("session.kill", "late")
    backend.close(PATIENCE)


def test_a_session_that_is_not_read_is_held_up_alone(front_end, tmp_path, until_still):
    """Its CLI is read as far as there is room; another one is read to its end."""
    front = front_end(scripts.floods, settings={"lines": 300, "patience": 120})
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    sessions = {}
    for folder, credit in ((slow, 1_000_000), (quick, 100_000_000)):
        folder.mkdir()
        sessions[folder] = front.create(cwd=folder, raw=True, credit=credit)
        front.line(sessions[folder], GREETING)
        front.line(sessions[folder], QUESTION)
    front.nth("session.line", sessions[quick], 0, "result")

    def noted():
        file = slow / "noted"
        return int(file.read_text() or 0) if file.exists() else 0

    # The room, and what pipes hold: not all of it.
    taken = until_still(noted)
    assert taken * 10_000 < 2_000_000
    # Less than what is on its way already: no room for more.
    front.send("session.credit", {"bytes": 1}, session_id=sessions[slow])
    assert until_still(noted) == taken
    front.send("session.credit", {"bytes": 100_000_000}, session_id=sessions[slow])
    front.nth("session.line", sessions[slow], 0, "result")
    floods = [
        message
        for message in front.read
        if message.get("session_id") == sessions[slow] and message["payload"].get("text")
    ]
    assert len(floods) == 300


def test_a_held_up_session_ends(front_end, tmp_path, until_still):
    """Nobody waits for room that nobody gives."""
    front = front_end(scripts.floods, settings={"lines": 300, "patience": 120})
    session_id = front.create(cwd=tmp_path, raw=True, credit=1)
    pid = front.nth("session.created", session_id)["payload"]["pid"]
    front.line(session_id, GREETING)
    front.line(session_id, QUESTION)
    file = tmp_path / "noted"
    until_still(lambda: int(file.read_text() or 0) if file.exists() else 0)
    killed = front.answer(front.send("session.kill", {"timeout": 0}, session_id=session_id))
    assert killed["type"] == "session.killed"
    assert process_is_gone(pid)
    # One portion may go beyond the room.
    assert not [m for m in front.read if m["payload"].get("type") == "result"]


@pytest.mark.parametrize(
    ("raw", "kind", "payload", "about"),
    [
        (True, "session.send", {"message": "hi"}, "is raw"),
        (True, "session.interrupt", {}, "is raw"),
        (True, "query.call", {"method": "accountInfo"}, "is raw"),
        (True, "session.credit", {"bytes": -1}, "bytes must be"),
        (True, "session.credit", {"bytes": True}, "bytes must be"),
        (False, "session.line", QUESTION, "not created with"),
        (False, "session.credit", {"bytes": 1}, "not created with"),
        (False, "session.end_input", {}, "not created with"),
    ],
)
def test_each_kind_of_session_has_its_words(front_end, raw, kind, payload, about):
    """The others are refused, and the session lives."""
    front = front_end()
    session_id = front.create(raw=raw)
    message = {"type": kind, "id": "x", "session_id": session_id, "payload": payload}
    front.send_raw(json.dumps(message).encode() + b"\n")
    assert about in front.error(id="x", code="INVALID_MESSAGE")["message"]
    front.answer(front.send("session.kill", session_id=session_id))


# A front end that is not trusted.


def replied(front, session_id, message):
    """What the CLI, or the backend in its place, answers to a request."""
    front.line(session_id, message)
    identity = message["request_id"]
    return front.wait(
        lambda each: (each["payload"].get("response") or {}).get("request_id") == identity
    )["payload"]["response"]


def test_requests_of_a_front_end_that_is_not_trusted(front_end):
    """One that is not for it is answered in place of the CLI; the others reach the CLI."""
    front = front_end()
    session_id = front.create(raw=True)
    assert replied(front, session_id, GREETING)["subtype"] == "success"
    for number, request in enumerate(
        [
            {"subtype": "set_permission_mode", "mode": "bypassPermissions"},
            {"subtype": "apply_flag_settings", "settings": {}},
            {"subtype": "unheard_of"},
        ]
    ):
        message = {"type": "control_request", "request_id": f"r{number}", "request": request}
        refused = replied(front, session_id, message)
        assert refused["subtype"] == "error"
        assert "--trust-client" in refused["error"]
    mode = {"subtype": "set_permission_mode", "mode": "plan"}
    message = {"type": "control_request", "request_id": "m", "request": mode}
    assert replied(front, session_id, message)["response"] == {"mode": "plan"}


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_folders_of_a_trusted_front_end_are_confined_too(front_end, tmp_path):
    """--allow-cwd holds for the answers of whoever may do everything else."""
    inside = tmp_path / "inside"
    inside.mkdir()
    front = front_end(scripts.asks_with_everything, allow_cwd=[str(inside)], trust_client=True)
    session_id = front.create(raw=True, cwd=inside)
    front.line(session_id, GREETING)
    front.line(session_id, QUESTION)
    asked = front.nth("session.line", session_id, 0, "control_request")["payload"]
    updates = [{"type": "addDirectories", "directories": [str(tmp_path)]}]
    answer = {"behavior": "allow", "updatedInput": {}, "updatedPermissions": updates}
    response = {"subtype": "success", "request_id": asked["request_id"], "response": answer}
    front.line(session_id, {"type": "control_response", "response": response})
    told = json.loads(front.nth("session.line", session_id, 0, "result")["payload"]["result"])
    assert told["behavior"] == "deny"
    assert "outside of the folders" in told["message"]
