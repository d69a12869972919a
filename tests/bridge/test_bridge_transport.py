"""A session as a transport: what it sends, what can be read, and every kind of end."""

from __future__ import annotations

import json
import threading

import pytest
from patience import PATIENCE

from claude_sync import Options, UsageError
from claude_sync.bridge.transport import SessionTransport
from claude_sync.engine.launch.command import Launch
from claude_sync.support.redact import redact_text


class Recorder:
    """A backend that notes what it is told; the test says what it says."""

    argv = ("backend",)

    def __init__(self):
        self.sent = []
        self.named = []
        self.left = []
        self.killed = threading.Event()

    def join(self, transport):
        return "1-"

    def name_session(self, session_id, transport):
        self.named.append(session_id)

    def leave(self, prefix, session_id):
        self.left.append((prefix, session_id))

    def send(self, line):
        self.sent += map(json.loads, line.splitlines())
        if self.sent[-1]["type"] == "session.kill":
            self.killed.set()

    def kinds(self):
        """The types of what it was told."""
        return [envelope["type"] for envelope in self.sent]


@pytest.fixture
def backend():
    """A backend of the test's own."""
    return Recorder()


@pytest.fixture
def transport(backend):
    """A session that is started and not made."""
    made = SessionTransport(lambda: backend, {"effort": "high"}, True)
    made.start(Launch(("claude",), {}, None, {}, options=Options(model="opus")))
    yield made
    made.kill()
    made.free()


def line(**message):
    """A line of the client."""
    return json.dumps(message).encode() + b"\n"


GREETING = line(type="control_request", request_id="req_1", request={"subtype": "initialize"})
QUESTION = line(type="user", uuid="u", message={"role": "user", "content": "hi"})


ID = "12345678-1234-4234-a234-123456789012"


def created(raw=True):
    """What a backend says of a new session."""
    payload = {"sdk_session_id": None, "raw": True} if raw else {"sdk_session_id": "x"}
    return {"type": "session.created", "id": "1-1", "session_id": ID, "payload": payload}


def test_the_session_is_made_when_the_client_greets(transport, backend):
    """With the settings of both sides; what was said before it is there is said then."""
    assert not backend.sent
    transport.write(GREETING)
    transport.write(QUESTION)
    options = backend.sent[0]["payload"]["options"]
    assert (options["model"], options["effort"]) == ("opus", "high")
    transport.receive(created())
    assert backend.named == [ID]
    assert transport.write_now(QUESTION + QUESTION) == 2 * len(QUESTION)
    assert backend.kinds() == ["session.create", *["session.line"] * 4]
    said = [json.loads(GREETING), *[json.loads(QUESTION)] * 3]
    assert [envelope["payload"] for envelope in backend.sent[1:]] == said
    assert transport.argv == ("backend",)


def test_a_plain_backend_is_spoken_to_in_its_words(transport, backend):
    """Also about what was said before that was known."""
    transport.write(GREETING + QUESTION)
    transport.receive(created(raw=False))
    assert backend.kinds() == ["session.create", "session.send", *["query.call"] * 3]


def test_the_backend_hears_how_much_was_read(transport, backend, monkeypatch):
    """Once half of the room was used, so that it can go on before all of it is."""
    monkeypatch.setattr("claude_sync.bridge.transport.CREDIT", 1000)
    transport.write(GREETING)
    transport.receive(created())
    transport.receive_lines([b"x" * 399])
    assert transport.read() == b"x" * 399 + b"\n"
    assert backend.kinds()[-1] == "session.line"
    transport.receive_lines([b"x" * 98, b""])
    assert len(transport.read()) == 100
    assert backend.sent[-1]["payload"] == {"bytes": 500}


def test_what_a_plain_backend_cannot_do(transport):
    """It is told once that is known."""
    transport.check_carries("steer")
    transport.write(GREETING)
    transport.receive(created(raw=False))
    with pytest.raises(UsageError, match=r"steer\(\)"):
        transport.check_carries("steer")


def test_closing_waits_for_the_session_to_be_killed(transport, backend):
    """What was said before can be read, then comes the end."""
    transport.write(GREETING)
    transport.receive(created())
    transport.receive_lines([b'{"type": "last"}'])
    closer = threading.Thread(target=transport.close, args=(PATIENCE,))
    closer.start()
    assert backend.killed.wait(PATIENCE)
    transport.receive({"type": "session.killed", "session_id": ID, "id": "x", "payload": {}})
    closer.join(PATIENCE)
    assert not closer.is_alive()
    assert backend.kinds()[-1] == "session.kill"
    assert json.loads(transport.read()) == {"type": "last"}
    assert transport.read() == b""
    assert transport.read_error() == b""
    assert transport.exit_code == 0


def test_closing_what_was_never_made_is_quick(transport, backend):
    """There is nothing to wait for, and nothing is sent."""
    transport.close(10_000)
    assert transport.read() == b""
    assert not backend.sent
    with pytest.raises(BrokenPipeError):
        transport.write(GREETING)


def test_closing_has_an_end(transport):
    """A backend that never answers is not waited for."""
    transport.write(GREETING)
    transport.close(0.05)
    assert transport.read() == b""
    assert transport.exit_code is None


def test_a_session_that_is_made_too_late_is_killed_and_then_forgotten(transport, backend):
    """Nothing stays behind in the backend, nor here."""
    transport.write(GREETING)
    transport.kill()
    assert transport.exit_code == -9
    transport.free()
    assert not backend.left
    transport.receive(created())
    assert backend.kinds() == ["session.create", "session.kill"]
    transport.receive({"type": "session.killed", "session_id": ID, "id": "1-2", "payload": {}})
    assert backend.left == [("1-", ID)]


def ended(exit_code):
    """What a backend says of a CLI that has ended."""
    return {"type": "session.ended", "session_id": ID, "payload": {"exit_code": exit_code}}


def test_the_end_of_the_cli_is_the_end_of_the_session(transport, backend):
    """Its last words and exit code are told, and the backend may forget it."""
    transport.write(GREETING)
    transport.receive(created())
    words = {"type": "session.stderr", "session_id": ID, "payload": {"line": "out of luck"}}
    transport.receive(words)
    transport.receive(ended(5))
    assert transport.read_error() == b"out of luck\n"
    assert transport.read() == b""
    assert transport.wait(0) == 5
    assert backend.kinds()[-1] == "session.kill"
    with pytest.raises(BrokenPipeError):
        transport.write(QUESTION)


def test_the_end_of_the_backend_is_the_end_of_the_session(transport):
    """Whoever reads hears why."""
    transport.write(GREETING)
    transport.backend_ended("the backend has ended", ["no more memory"], 137)
    assert transport.read() == b""
    assert transport.read_error() == b"no more memory\nthe backend has ended\n"
    assert transport.exit_code == 137


def test_without_a_word_for_resuming_a_new_conversation_begins(backend, caplog):
    """A backend that is strict is not told what it does not know."""
    transport = SessionTransport(lambda: backend, {}, False)
    transport.start(Launch(("claude",), {}, None, {}, options=Options(resume="x")))
    transport.write(GREETING)
    assert "resume" not in backend.sent[0]["payload"]["options"]
    assert "the backend cannot resume" in caplog.text


def test_secrets_of_the_cli_there_are_known_here(backend):
    """Variables and settings that only the backend uses: recordings must not show them."""
    settings = {
        "env": {"MY_TOKEN": "open sesame", "GONE": None},
        "mcp_servers": {"a": {"command": "x"}},
    }
    made = SessionTransport(lambda: backend, settings, True)
    launch = Launch(("claude",), {}, None, {}, options=Options())
    made.start(launch)
    assert launch.environment == {"MY_TOKEN": "open sesame"}
    assert {"a": {"command": "x"}} in launch.confidential
    assert "open sesame" not in redact_text("it was open sesame")
    made.kill()
    made.free()


def test_closing_waits_for_what_is_left_of_a_dead_cli(transport, backend):
    """The session is over, and is killed all the same; nobody waits for a backend that is gone."""
    transport.write(GREETING)
    transport.receive(created())
    transport.receive(ended(1))
    assert backend.kinds()[-1] == "session.kill"
    closing = threading.Thread(target=transport.close, args=(PATIENCE,))
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    transport.receive({"type": "session.killed", "session_id": ID, "payload": {}})
    closing.join(PATIENCE)
    assert not closing.is_alive()
