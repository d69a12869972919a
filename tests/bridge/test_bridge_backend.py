"""The process behind a bridge: who gets which line, and how it ends."""

from __future__ import annotations

import json
import sys
import threading

import pytest
from patience import PATIENCE

from claude_sync import CliDidNotStart, CliExited, UsageError
from claude_sync.bridge.backend import Backend, checked_command

# Says back, as an envelope, what it is told; ends as it is told.
MIRROR = """
import sys
print("a banner")
print("ready", file=sys.stderr, flush=True)
for line in sys.stdin:
    if line.startswith("exit"):
        print("bye", file=sys.stderr, flush=True)
        sys.exit(int(line.split()[1]))
    if line.startswith("deaf"):
        sys.stdin.close()
        import os; os.close(0); print('{"type": "deaf", "id": "1-x"}', flush=True)
        import time; time.sleep(60)
    print(line, end="", flush=True)
"""


class Heard:
    """A session that notes what reaches it."""

    def __init__(self):
        self.envelopes = []
        self.end = None
        self.changed = threading.Condition()

    def receive(self, envelope):
        with self.changed:
            self.envelopes.append(envelope)
            self.changed.notify_all()

    def backend_ended(self, reason, last_words, exit_code):
        with self.changed:
            self.end = (reason, last_words, exit_code)
            self.changed.notify_all()

    def wait(self, check):
        with self.changed:
            assert self.changed.wait_for(lambda: check(self), PATIENCE)


@pytest.fixture
def backend():
    """The mirror."""
    made = Backend([sys.executable, "-c", MIRROR])
    made.start()
    yield made
    made.close(PATIENCE)


def send(backend, **envelope):
    """Have the mirror say *envelope*."""
    backend.send(json.dumps(envelope).encode() + b"\n")


def test_a_line_goes_to_whom_it_names(backend):
    """By the session; without one, by the id; nobody's goes nowhere."""
    one, two = Heard(), Heard()
    assert (backend.join(one), backend.join(two)) == ("1-", "2-")
    backend.name_session("s", two)
    send(backend, type="a", session_id="s", id="1-7")
    send(backend, type="b", session_id="unknown", id="1-8")
    send(backend, type="c", session_id=5, id=6)
    backend.send(b"[1]\n")
    send(backend, type="error", payload={"code": "INVALID_MESSAGE"})
    send(backend, type="d", id="2-1")
    two.wait(lambda heard: len(heard.envelopes) == 2)
    one.wait(lambda heard: len(heard.envelopes) == 1)
    assert [envelope["type"] for envelope in two.envelopes] == ["a", "d"]
    assert [envelope["type"] for envelope in one.envelopes] == ["b"]


def test_who_has_left_hears_nothing(backend):
    """Neither by the session nor by the id."""
    gone, there = Heard(), Heard()
    backend.join(gone)
    backend.join(there)
    backend.name_session("s", gone)
    backend.leave("1-", "s")
    send(backend, type="a", session_id="s", id="1-1")
    send(backend, type="b", id="2-1")
    there.wait(lambda heard: heard.envelopes)
    assert not gone.envelopes


def test_its_end_is_told_to_all(backend):
    """With the exit code and what it said to people; nobody can join any more."""
    sessions = [Heard(), Heard()]
    for session in sessions:
        backend.join(session)
    assert backend.error() is None
    backend.send(b"exit 4\n")
    for session in sessions:
        session.wait(lambda heard: heard.end)
        reason, last_words, exit_code = session.end
        assert reason == "the backend of the bridge has ended (exit code 4)"
        assert sorted(last_words) == ["a banner", "bye", "ready"]
        assert exit_code == 4
    with pytest.raises(CliExited, match="exit code 4"):
        backend.join(Heard())


def test_one_that_no_longer_listens_is_ended(backend):
    """What is said to it would be lost."""
    session = Heard()
    backend.join(session)
    backend.send(b"deaf\n")
    session.wait(lambda heard: heard.envelopes)
    send(backend, type="x")
    session.wait(lambda heard: heard.end)
    assert session.end[2] == -9


def test_closing_it_is_told_as_that(backend):
    """Its input ends, and it exits by itself."""
    session = Heard()
    backend.join(session)
    backend.close(PATIENCE)
    assert session.end == ("the bridge was closed (exit code 0)", [], 0)
    backend.close(PATIENCE)


def test_one_that_does_not_leave_is_ended_by_force():
    """Closing has an end."""
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print(); time.sleep(60)"
    backend = Backend([sys.executable, "-c", stubborn])
    backend.start()
    backend.close(3)
    assert backend.error().exit_code in (-9, -15)


def test_a_command_that_is_not_there():
    """It is the backend that is missing, and no CLI."""
    with pytest.raises(CliDidNotStart, match="no-such-thing"):
        Backend(["/no-such-thing"]).start()


def test_words():
    """A command is a list of them."""
    assert checked_command(["a", "b"]) == ("a", "b")
    with pytest.raises(UsageError, match="words of the command"):
        checked_command("a b")


def test_secrets_in_its_last_words_are_hidden(backend, caplog):
    """Also one that goes over several lines, and also in the log."""
    caplog.set_level("DEBUG", "claude_sync")
    key = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7bq",
        "-----END RSA PRIVATE KEY-----",
    ]
    for line in ["starting", *key, "ready"]:
        backend._hear_error(line.encode())
    assert "MIIEpAIBAAKCAQEA7bq" not in "\n".join(backend.last_words())
    assert backend.last_words()[-1] == "ready"
    assert "< bridge: starting" in caplog.text
    assert "MIIEpAIBAAKCAQEA7bq" not in caplog.text
