"""Ends of all kinds, silence and rubbish, on either side of a bridge: nobody waits for ever."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bridge_clients import OWN, own_bridge, traffic_is_valid
from executables import ROOT
from patience import PATIENCE, process_is_gone, wait_until

import claude_sync
from claude_sync import AskTimeout, CliDidNotStart, CliExited
from claude_sync.bridge import Bridge
from claude_sync.testing import StandIn

ECHO = StandIn().command
TOOL = '[[tool Bash {"command": "ls"}]]'
GARBLING = [sys.executable, str(Path(__file__).with_name("garbling_backend.py")), "--trust-client"]
needs_signals = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


def wait_for_end(*pids):
    """Wait until none of these processes runs."""
    wait_until(lambda: all(map(process_is_gone, pids)))


def is_stopped(pid):
    """Whether all threads of a process have stopped, which takes them a moment."""
    states = [
        task.joinpath("stat").read_text().rpartition(")")[2].split()[0]
        for task in Path(f"/proc/{pid}/task").iterdir()
    ]
    return set(states) == {"T"}


@pytest.fixture
def valid_traffic(monkeypatch):
    """All that is said over bridges is what the schema allows."""
    with traffic_is_valid(monkeypatch):
        yield


class Undecided:
    """A permission handler that does not decide."""

    def __init__(self):
        self.asked = threading.Event()
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        self.asked.set()
        return claude_sync.LATER


def busy_clients(bridge, handler):
    """Three clients: one in mid-turn, one that waits for a permission, one idle; and two turns."""
    clients = [bridge.client(cli=ECHO) for _ in range(3)]
    clients[1].on_permission(handler)
    for client in clients:
        client.ask("hi", timeout=PATIENCE)
    turns = [clients[0].submit("[[sleep 100]]"), clients[1].submit(TOOL)]
    assert handler.asked.wait(PATIENCE)
    return clients, turns


# The backend.


@needs_signals
def test_a_backend_is_killed(valid_traffic):
    """Turns fail with the reason, a permission is withdrawn, idle CLIs end, another can be made."""
    handler = Undecided()
    with own_bridge() as bridge:
        clients, turns = busy_clients(bridge, handler)
        pids = [client.pid for client in clients]
        os.kill(bridge.pid, signal.SIGKILL)
        for turn in turns:
            with pytest.raises(CliExited, match=r"backend of the bridge has ended.*SIGKILL"):
                turn.result(PATIENCE)
        (request,) = handler.requests
        assert request.cancelled.wait(PATIENCE)
        request.allow()  # too late, and harmless
        for client in clients:
            with pytest.raises((CliExited, CliDidNotStart), match="backend of the bridge"):
                client.ask("are you there?", timeout=PATIENCE)
        assert bridge.state == "crashed"
        os.kill(pids.pop(0), signal.SIGKILL)  # it would go on to the end of its turn, as CLIs do
        wait_for_end(*pids)
        session_id = clients[2].session_id
    with own_bridge() as bridge, bridge.client(cli=ECHO, resume=session_id) as client:
        assert client.ask("again", timeout=PATIENCE) == "echo: again"


@needs_signals
def test_a_backend_that_is_stopped_keeps_nobody(valid_traffic, hurry):
    """A question has its time, and so has closing, although nothing comes and nothing ends."""
    hurry(GRACE=0.1, TERMINATION_GRACE=0.1, STOP_PATIENCE=0.1)
    with own_bridge() as bridge:
        client = bridge.client(cli=ECHO)
        client.ask("hi", timeout=PATIENCE)
        pid = client.pid
        os.kill(bridge.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(bridge.pid))
        with pytest.raises(AskTimeout):
            client.ask("are you there?", timeout=0.2)
        bridge.close(timeout=1)
        assert process_is_gone(bridge.pid)
    wait_for_end(pid)


def test_rubbish_among_the_lines_of_a_backend(caplog):
    """Answers, pieces, permissions, hooks, tools and requests come all the same."""

    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    with Bridge(GARBLING) as bridge, bridge.client(cli=ECHO, tools=[add]) as client:
        pieces, hooked = [], []
        client.on_text(pieces.append)
        client.on_hook("PreToolUse", matcher="Bash")(hooked.append)
        client.on_permission(lambda request: request.deny("not now"))
        assert client.ask("one two three", timeout=PATIENCE) == "echo: one two three"
        assert "".join(pieces) == "echo: one two three"
        assert "not now" in client.ask(TOOL, timeout=PATIENCE)
        assert len(hooked) == 1
        answer = client.ask('[[tool mcp__claude_sync__add {"a": 1, "b": 2}]]', timeout=PATIENCE)
        assert answer == "mcp__claude_sync__add: 3"
        assert client.set_model("opus").model == "opus"
        turn = client.submit("[[sleep 100]]")
        client.interrupt()
        with pytest.raises(claude_sync.TurnInterrupted):
            turn.result(PATIENCE)
        assert client.ask("last", timeout=PATIENCE) == "echo: last"
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def request_of(identity, request):
    """A line of the client."""
    return {"type": "control_request", "request_id": identity, "request": request}


# The front end.

FRONT_END = """
import json, sys, threading
import claude_sync
from claude_sync.bridge import Bridge
command, cli, tool = json.loads(sys.argv[1])
bridge = Bridge(command)
talking, asking, idle = [bridge.client(cli=cli) for _ in range(3)]
asked = threading.Event()
asking.on_permission(lambda request: (asked.set(), claude_sync.LATER)[1])
for client in (talking, asking, idle):
    client.ask("hi", timeout=60)
turns = [talking.submit("[[sleep 100]]"), asking.submit(tool)]
asked.wait(60)
print(json.dumps([bridge.pid, *[client.pid for client in (talking, asking, idle)]]), flush=True)
threading.Event().wait(100)
"""


@needs_signals
def test_a_front_end_is_killed():
    """The backend closes all CLIs, whatever they do, and ends."""
    words = [sys.executable, "-c", FRONT_END, json.dumps([OWN, ECHO, TOOL])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as front:
        pids = json.loads(front.stdout.readline())
        assert not any(map(process_is_gone, pids))
        front.kill()
    wait_for_end(*pids)


def test_a_front_end_that_does_not_read_any_more():
    """Its requests still come; but what nobody reads ends the backend, and its CLIs."""
    with subprocess.Popen(OWN, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as backend:

        def send(kind, payload, **ids):
            line = json.dumps({"type": kind, "payload": payload, **ids}).encode()
            backend.stdin.write(line + b"\n")
            backend.stdin.flush()

        def read(kind):
            return next(m for m in map(json.loads, backend.stdout) if m["type"] == kind)

        pids = []
        for number in ("1", "2"):
            send("session.create", {"raw": True, "options": {"cli": ECHO}}, id=number)
            created = read("session.created")
            pids.append(created["payload"]["pid"])
            greet = request_of("greeting", {"subtype": "initialize"})
            send("session.line", greet, session_id=created["session_id"])
            read("session.line")
        assert not any(map(process_is_gone, pids))
        backend.stdout.close()
        send("session.send", {"message": "hello"}, id="1", session_id="of nobody")
        # Its input is open all the time.
        assert backend.wait(PATIENCE) == 0
        wait_for_end(*pids)


# Callbacks.
