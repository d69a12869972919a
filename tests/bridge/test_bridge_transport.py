"""A session as a transport: what it sends, what can be read, and every kind of end."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claude_sync import Options
from claude_sync.bridge.transport import DocumentedTransport, SessionTransport
from claude_sync.engine.launch.command import Launch

ID = "12345678-1234-4234-a234-123456789012"


class Recorder:
    """A backend that notes what it is told; the test says what it says."""

    process = SimpleNamespace(argv=("backend",))

    def __init__(self):
        self.sent = []
        self.named = []
        self.killed = threading.Event()

    def join(self, transport):
        return "1-"

    def name_session(self, session_id, transport):
        self.named.append(session_id)

    def leave(self, transport):
        pass

    def send(self, line):
        self.sent += map(json.loads, line.splitlines())
        if self.sent[-1]["type"] == "session.kill":
            self.killed.set()

    def kinds(self):
        """The types of what it was told."""
        return [envelope["type"] for envelope in self.sent]


def started(kind, backend, **options):
    """A session that is started and not made."""
    made = kind(lambda: backend)
    made.start(Launch(("claude",), {}, None, {}, options=Options(**options)))
    return made


@pytest.fixture
def backend():
    """A backend of the test's own."""
    return Recorder()


@pytest.fixture
def transport(backend):
    """A raw session that is started and not made."""
    made = started(SessionTransport, backend, effort="high", model="opus")
    yield made
    made.kill()
    made.free()


def line(**message):
    """A line of the client."""
    return json.dumps(message).encode() + b"\n"


def request(identity, **body):
    """A request of the client."""
    return line(type="control_request", request_id=identity, request=body)


def reply(identity, body):
    """An answer of the client."""
    response = {"subtype": "success", "request_id": identity, "response": body}
    return line(type="control_response", response=response)


GREETING = request("req_1", subtype="initialize")
QUESTION = line(type="user", uuid="u", message={"role": "user", "content": "hi"})


def envelope(kind, payload, **ids):
    """What a backend says of the session."""
    return {"type": kind, "session_id": ID, "payload": payload, **ids}


CREATED = envelope("session.created", {"sdk_session_id": None, "raw": True}, id="1-1")


def test_the_backend_hears_how_much_was_read(transport, backend, monkeypatch):
    """Once half of the room was used, so that it can go on before all of it is."""
    monkeypatch.setattr("claude_sync.bridge.transport.CREDIT", 1000)
    transport.write(GREETING)
    transport.receive(CREATED)
    transport.receive_lines([b"x" * 399])
    assert transport.read() == b"x" * 399 + b"\n"
    assert backend.kinds()[-1] == "session.line"
    transport.receive_lines([b"x" * 98, b""])
    assert len(transport.read()) == 100
    assert backend.sent[-1]["payload"] == {"bytes": 500}


def test_a_session_that_is_made_too_late_is_killed(transport, backend):
    """Nothing stays behind in the backend."""
    transport.write(GREETING)
    transport.kill()
    assert transport.exit_code == -9
    transport.receive(CREATED)
    assert backend.kinds() == ["session.create", "session.kill"]


# In the words of the document.


@pytest.fixture
def documented(backend):
    """A session of a backend of another make, which has been made."""
    made = started(DocumentedTransport, backend)
    hook = {"matcher": "Bash", "hookCallbackIds": ["hook_0"], "timeout": 60}
    greeting = request("req_1", subtype="initialize", hooks={"PreToolUse": [hook]})
    made.write(greeting + QUESTION)
    made.receive(CREATED)
    return made


def heard(transport):
    """What the client reads."""
    return [json.loads(each) for each in transport.read().splitlines()]


def ask_permission(transport):
    """The backend asks; the client hears it."""
    about = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    transport.receive(envelope("callback.request", {**about, "suggestions": []}, id="cb"))
    (asked,) = heard(transport)
    assert asked["request"]["input"] == {"command": "ls"}


def test_without_a_word_for_resuming_a_new_conversation_begins(backend, caplog):
    """A backend that is strict is not told what it does not know."""
    started(DocumentedTransport, backend, resume="x").write(GREETING)
    assert "resume" not in backend.sent[0]["payload"]["options"]
    assert "the backend cannot resume" in caplog.text


def test_a_message_that_is_refused_gets_a_result(documented, backend):
    """The turn ends that never began."""
    refused = {"code": "INVALID_MESSAGE", "message": "not so"}
    documented.receive(envelope("error", refused, id=backend.sent[-1]["id"]))
    (result,) = heard(documented)
    assert (result["type"], result["is_error"], result["errors"]) == ("result", True, ["not so"])


def test_a_permission_that_nobody_waits_for_is_withdrawn(documented, backend):
    """And its answer, which comes too late, is not sent."""
    ask_permission(documented)
    documented.receive(envelope("error", {"code": "CALLBACK_TIMEOUT", "message": "x"}, id="cb"))
    assert heard(documented) == [{"type": "control_cancel_request", "request_id": "cb"}]
    before = len(backend.sent)
    documented.write(reply("cb", {"behavior": "allow"}))
    assert len(backend.sent) == before


def test_a_no_that_ends_the_turn_is_an_interrupt_too(documented, backend):
    """The document has no word for it in the answer."""
    ask_permission(documented)
    documented.write(reply("cb", {"behavior": "deny", "message": "no", "interrupt": True}))
    assert backend.kinds()[-2:] == ["callback.response", "session.interrupt"]
    assert backend.sent[-2]["payload"] == {"behavior": "deny", "message": "no"}


def test_a_callback_that_nobody_knows_is_answered(documented, backend):
    """It must not wait for ever."""
    documented.receive(envelope("callback.request", {"callback_type": "fly"}, id="cb"))
    assert (backend.sent[-1]["id"], backend.sent[-1]["payload"]) == ("cb", {})


def test_a_session_that_is_gone_has_ended(documented):
    """Whatever was sent to it; what it said last is told."""
    documented.write(request("r", subtype="interrupt"))
    error = {"code": "SESSION_NOT_FOUND", "message": "no such session"}
    documented.receive(envelope("error", error, id="1-6"))
    assert documented.read() == b""
    assert documented.read_error() == b"no such session\n"


ODD = [None, True, 5, 1.5, "text", [], [5], ["text", {}], {}, {"text": []}]
CODES = ["SDK_ERROR", "SESSION_NOT_FOUND", "CALLBACK_TIMEOUT", "CALLBACK_NOT_FOUND"]
# What each kind of message can have in its payload, and what is right there beside what is odd.
FIELDS = {
    "session.created": {"sdk_session_id": [], "raw": [True], "pid": []},
    "sdk.message": {
        "type": ["result", "command_lifecycle"],
        "user_message_uuid": ["u"],
        "user_message_uuids": [["u"], ["v"]],
        "origin": [{"kind": "task-notification"}, {"kind": []}],
    },
    "callback.request": {
        "callback_type": ["can_use_tool", "hook"],
        "hook_event": ["PreToolUse"],
        "hook_input": [{"tool_name": "Bash"}, {"tool_name": []}],
        "tool_name": ["Bash"],
    },
    "query.result": {"success": [], "result": [], "error": [], "details": [{"code": []}]},
    "session.interrupted": {},
    "session.stderr": {"line": ["oh"]},
    "session.ended": {"exit_code": [0]},
    "session.killed": {},
    "error": {
        "code": CODES,
        "message": [],
        "details": [{"error": "CliExited", "stderr_tail": 5, "exit_code": "x"}, {"error": {}}],
    },
    "fly": {},
}


def odd_payloads(kind):
    """Payloads of a kind of message, each field missing, right or odd; or no payload at all."""
    fields = {name: st.sampled_from([*right, *ODD]) for name, right in FIELDS[kind].items()}
    return st.fixed_dictionaries({}, optional=fields) | st.sampled_from(ODD)


IDS = st.sampled_from([*[f"1-{number}" for number in range(1, 9)], "callback", *ODD])
ENVELOPES = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"type": st.just(kind)},
        optional={"id": IDS, "session_id": st.sampled_from(ODD), "payload": odd_payloads(kind)},
    )
)


@settings(max_examples=300)
@given(envelopes=st.lists(ENVELOPES, max_size=6), kind=st.sampled_from([0, 1]))
def test_no_envelope_is_too_odd(envelopes, kind):
    """Whatever a backend says, and whatever it answers, it is read without an exception."""
    made = started([SessionTransport, DocumentedTransport][kind], Recorder())
    made.write(GREETING + QUESTION)
    for each in envelopes[:1]:
        made.receive(each)
    made.receive(CREATED)
    for each in envelopes[1:]:
        made.receive(each)
