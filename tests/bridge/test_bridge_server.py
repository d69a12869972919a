"""The backend as a front end sees it: every message, every field, every kind of mistake."""

from __future__ import annotations

import json
import os
import sys
import threading

import bridge_scripts as scripts
import pytest
from bridge_front_end import PATIENCE

from claude_sync.bridge import serve, server
from claude_sync.testing import StandIn

PERMISSION = '[[tool Bash {"command": "ls"}]]'


def test_a_session_answers(front_end):
    """A prompt in session.create is asked; the ids of both sides are told at once."""
    front = front_end()
    session_id = front.create("hello")
    created = front.read[0]
    assert created["type"] == "session.created"
    result = front.result(session_id)
    assert result["result"] == "echo: hello"
    assert created["payload"] == {"sdk_session_id": result["session_id"]}
    assert result["session_id"] != session_id


def test_what_the_cli_says_before_the_greeting_comes_after_the_session(front_end):
    """A front end hears nothing of sessions that it does not know yet."""
    front = front_end(scripts.speaks_early)
    session_id = front.create("go")
    front.result(session_id)
    assert front.read[0]["type"] == "session.created"
    assert front.said(session_id)[0]["subtype"] == "early"


def test_what_the_cli_says_comes_as_it_is(front_end):
    """Order of keys, unknown fields, numbers and odd characters are kept."""
    front = front_end(scripts.speaks_oddly)
    session_id = front.create("go")
    front.result(session_id)
    odd = next(said for said in front.said(session_id) if said["type"] == "odd")
    assert json.dumps(odd) == json.dumps(json.loads(scripts.ODD))


# Permissions.


def test_a_permission_is_asked_and_given(front_end):
    """callback.request tells what about; the answer reaches the CLI."""
    front = front_end()
    session_id = front.create(PERMISSION)
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert payload["callback_type"] == "can_use_tool"
    assert (payload["tool_name"], payload["tool_input"]) == ("Bash", {"command": "ls"})
    assert payload["suggestions"] == []
    assert payload["tool_use_id"].startswith("toolu_")
    answer = {"behavior": "allow", "updated_input": {"command": "ls -l"}}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    assert '{"command": "ls -l"}' in front.result(session_id)["result"]


def test_a_permission_has_all_its_fields(front_end):
    """Suggestions and the blocked path are told; updates that are sent back reach the CLI."""
    front = front_end(scripts.asks_with_everything)
    session_id = front.create("go")
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert payload["blocked_path"] == "/etc"
    assert payload["decision_reason"] == "outside"
    suggestions = payload["suggestions"]
    assert suggestions[0]["mode"] == "acceptEdits"
    answer = {"behavior": "allow", "updated_permissions": suggestions}
    front.send("callback.response", answer, id=asked["id"])
    reply = json.loads(front.result(session_id)["result"])
    assert reply["updatedPermissions"] == suggestions
    assert reply["updatedInput"] == {"file_path": "/etc/passwd"}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"behavior": "perhaps"},
        {"behavior": "allow", "updated_input": "ls"},
        {"behavior": "allow", "updated_permissions": {"type": "setMode"}},
        {"behavior": "allow", "updated_permissions": [{"mode": "bypassPermissions"}]},
        {"behavior": "allow", "updated_input": {"command": float("nan")}},
        {"behavior": "allow", "updated_input": {"command": json.loads("[" * 300 + "]" * 300)}},
        {"behavior": "allow", "updated_permissions": [{"type": "setMode", "mode": float("inf")}]},
        {"behavior": "allow", "updated_permissions": [{"mode": "plan"}]},
        {"behavior": "deny", "message": 5},
    ],
    ids=lambda wrong: json.dumps(wrong)[:60],
)
def test_an_answer_that_cannot_be_leaves_the_callback_open(front_end, wrong):
    """It is an INVALID_MESSAGE with the id of the callback; the right answer still counts."""
    front = front_end()
    session_id = front.create(PERMISSION)
    asked = front.callback(session_id)
    message = {"type": "callback.response", "id": asked["id"], "session_id": session_id}
    front.send_raw(json.dumps({**message, "payload": wrong}).encode() + b"\n")
    assert front.error(id=asked["id"])["code"] == "INVALID_MESSAGE"
    front.send("callback.response", {"behavior": "deny"}, session_id=session_id, id=asked["id"])
    assert front.result(session_id)["permission_denials"]


def test_an_answer_belongs_to_its_session(front_end):
    """That of another session is for no callback, and the right one still counts."""
    front = front_end()
    other, session_id = front.create(), front.create(PERMISSION)
    asked = front.callback(session_id)
    front.send("callback.response", {"behavior": "allow"}, session_id=other, id=asked["id"])
    front.error(code="CALLBACK_NOT_FOUND", id=asked["id"])
    front.send("callback.response", {"behavior": "deny"}, session_id=session_id, id=asked["id"])
    assert front.result(session_id)["permission_denials"]


def test_nobody_answers_in_time(front_end):
    """A permission is denied, the error is told, and a late answer finds no callback."""
    front = front_end(callback_timeout=0.2)
    session_id = front.create(PERMISSION)
    asked = front.callback(session_id)
    assert "0.2 s" in front.error(code="CALLBACK_TIMEOUT", id=asked["id"])["message"]
    front.result(session_id)
    assert "Permission request timed out" in json.dumps(front.said(session_id))
    front.send("callback.response", {"behavior": "allow"}, session_id=session_id, id=asked["id"])
    assert front.error(code="CALLBACK_NOT_FOUND")["message"].startswith("there is no open callback")


def test_an_interrupt_withdraws_a_permission(front_end):
    """session.interrupted answers, and the callback is over."""
    front = front_end()
    session_id = front.create(PERMISSION)
    asked = front.callback(session_id)
    id = front.send("session.interrupt", session_id=session_id)
    assert front.answer(id)["type"] == "session.interrupted"
    front.send("callback.response", {"behavior": "allow"}, session_id=session_id, id=asked["id"])
    front.error(code="CALLBACK_NOT_FOUND", id=asked["id"])
    front.send("session.send", {"message": "still there?"}, session_id=session_id)
    assert front.result(session_id, 1)["result"] == "echo: still there?"


# Ends.


def test_a_killed_session_is_gone(front_end):
    """session.killed answers; what is sent to it afterwards finds no session."""
    front = front_end()
    session_id = front.create("[[sleep 60]]")
    front.nth("sdk.message", session_id, 0, "system")
    assert front.answer(front.send("session.kill", session_id=session_id)) == {
        "type": "session.killed",
        "id": "request-2",
        "session_id": session_id,
        "payload": {},
    }
    for kind, payload in (
        ("session.send", {"message": "hello"}),
        ("session.interrupt", {}),
        ("session.kill", {}),
        ("query.call", {"method": "accountInfo"}),
    ):
        told = front.answer(front.send(kind, payload, session_id=session_id))
        assert (told["type"], told["session_id"]) == ("error", session_id)
        assert told["payload"]["code"] == "SESSION_NOT_FOUND"
    assert not [each for each in front.read if each["payload"].get("code") == "SDK_ERROR"]


def test_a_cli_that_dies_is_told_and_started_again(front_end):
    """SDK_ERROR answers the message that gets no result; the next one resumes the session."""
    front = front_end(scripts.dies_once)
    session_id = front.create()
    id = front.send("session.send", {"message": "one"}, session_id=session_id)
    told = front.error(code="SDK_ERROR", id=id, session_id=session_id)
    assert told["details"]["error"] == "CliExited"
    assert told["details"]["exit_code"] == 3
    assert "fatal: out of luck" in told["details"]["stderr_tail"]
    front.send("session.send", {"message": "two"}, session_id=session_id)
    assert front.result(session_id)["result"] == "resumed"


@pytest.mark.parametrize("prompt", [[], [1], [{"text": "no type"}]])
def test_a_prompt_that_cannot_be_is_no_session(front_end, prompt):
    """It is refused before a CLI is started, as a message would be."""
    front = front_end()
    message = {"type": "session.create", "id": "first", "payload": {"prompt": prompt}}
    front.send_raw(json.dumps(message).encode() + b"\n")
    assert "prompt" in front.error(id="first", code="INVALID_MESSAGE")["message"]


# Mistakes.


@pytest.mark.parametrize(
    ("line", "about"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (b'"hello"', "JSON object"),
        (b'{"type": "session.create", "id": "\xff"}', "UTF-8"),
        (b'{"payload": {}}', "no message of type null"),
        (b'{"type": "session.destroy"}', "session.destroy"),
        (b'{"type": ["session.create"]}', "no message of type"),
        (b'{"type": "session.create", "id": 5}', "id must be a string"),
        (b'{"type": "session.create", "payload": []}', "payload must be an object"),
        (b'{"type": "session.create", "payload": {"prompt": 5}}', "prompt must be"),
        (b'{"type": "session.create", "payload": {"cwd": 5}}', "cwd must be"),
        (b'{"type": "session.create", "payload": {"options": []}}', "options must be"),
        (b'{"type": "session.send", "payload": {"message": "x"}}', "session_id is missing"),
        (b'{"type": "callback.response", "payload": {}}', "id is missing"),
        (b"[" * 100_000, "not JSON"),
        (b"x" * (64 * 1024 * 1024), "not JSON"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else None,
)
def test_a_wrong_line_is_told_and_the_connection_lives(front_end, line, about):
    """Whatever comes, it is an INVALID_MESSAGE, and the next line is followed."""
    front = front_end()
    front.send_raw(line + b"\n")
    told = front.error(code="INVALID_MESSAGE")
    assert about in told["message"]
    assert len(told["message"]) < 500
    assert front.result(front.create("still there"))["result"] == "echo: still there"


def test_no_depth_of_a_line_ends_the_connection(front_end):
    """What can just be read may be too deep to be shown; that is told as well."""
    front = front_end()
    limit = sys.getrecursionlimit()
    depths = range(limit - 100, limit + 10)
    front.send_raw(b"".join(b"[" * depth + b"]" * depth + b"\n" for depth in depths))
    assert front.result(front.create("still there"))["result"] == "echo: still there"
    codes = [told["payload"].get("code") for told in front.read if told["type"] == "error"]
    assert codes == ["INVALID_MESSAGE"] * len(depths)


def test_a_line_nobody_has_foreseen_is_told_and_the_connection_lives(front_end, monkeypatch):
    """One line must not end the sessions of all."""
    front = front_end()
    with monkeypatch.context() as patch:
        patch.setattr(server.Envelope, "read", lambda _: 1 // 0)
        front.send_raw(b"{}\n")
        told = front.error(code="SDK_ERROR")
    assert "ZeroDivisionError" in told["message"]
    assert front.result(front.create("still there"))["result"] == "echo: still there"


@pytest.mark.parametrize(
    "payload",
    [{}, {"message": 5}, {"message": " "}, {"message": []}, {"message": [{"text": "no type"}]}],
    ids=json.dumps,
)
def test_a_message_that_cannot_be_sent_is_refused(front_end, payload):
    """It is an INVALID_MESSAGE with the id of the message, and the session lives."""
    front = front_end()
    session_id = front.create()
    message = {"type": "session.send", "id": "s", "session_id": session_id, "payload": payload}
    front.send_raw(json.dumps(message).encode() + b"\n")
    assert front.error(id="s", session_id=session_id)["code"] == "INVALID_MESSAGE"
    front.send("session.send", {"message": "right"}, session_id=session_id)
    assert front.result(session_id)["result"] == "echo: right"


def test_what_was_asked_before_the_end_is_answered(front_end):
    """A front end may say all it has to say, close its end, and read the answers."""
    front = front_end()
    sessions = [front.create() for _ in range(3)]
    asked = [
        front.send("query.call", {"method": "supportedModels"}, session_id=session_id)
        for session_id in sessions
    ]
    asked += [front.send("session.kill", session_id=session_id) for session_id in sessions[:2]]
    asked.append(front.send("session.interrupt", session_id="nobody"))
    front.end()
    answered = [message.get("id") for message in front.read]
    assert set(asked) <= set(answered)
    assert len(answered) == len(set(answered))


def test_a_line_beyond_the_bound_is_an_error(front_end, hurry):
    """It is told, its rest is dropped, and the connection lives."""
    hurry(LONGEST_LINE=100_000)
    front = front_end()
    session_id = front.create()
    front.send_raw(b'{"type": "' + b"x" * 3_000_000 + b'"}\n')
    assert "longer than 100000 bytes" in front.error(code="INVALID_MESSAGE")["message"]
    front.send("session.send", {"message": "hi"}, session_id=session_id)
    assert front.result(session_id)["result"] == "echo: hi"


def test_a_front_end_that_reads_no_answers_is_not_listened_to(front_end, hurry, until_still):
    """What it says waits on its own side, until it reads again."""
    hurry(ANSWERS_BOUND=1000)
    front = front_end()
    front.pause()
    written = []
    lines = (b'{"type": "nonsense", "x": "' + b"x" * 1000 + b'"}\n') * 20

    def write():
        for number in range(40):
            front.send_raw(lines)
            written.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    assert until_still(lambda: len(written)) < 40
    front.resume()
    writer.join(PATIENCE)
    front.wait(lambda _: len(front.read) == 800, "all answers")


def test_a_front_end_that_never_reads_can_leave(monkeypatch):
    """It sends, reads nothing, and closes its end: the backend ends, and leaves no thread."""
    monkeypatch.setattr("claude_sync.bridge.server.LAST_WORDS", 0.2)
    source, sink = os.pipe()
    unread, unwritable = os.pipe()
    cli = StandIn().command
    backend = threading.Thread(target=serve, args=(source, unwritable), kwargs={"cli": cli})
    backend.start()
    create = {"type": "session.create", "payload": {"prompt": "[[size 3000000]]"}}
    os.write(sink, json.dumps(create).encode() + b"\n")
    nonsense = b'{"type": "nonsense"}\n' * 1000
    for _ in range(20):
        os.write(sink, nonsense)
    os.close(sink)
    backend.join(PATIENCE)
    assert not backend.is_alive()
    for descriptor in (source, unread, unwritable):
        os.close(descriptor)


def test_secrets_in_pieces_are_not_logged(front_end, caplog):
    """Each piece by itself looks like nothing; so pieces are not shown."""
    caplog.set_level("DEBUG", "claude_sync")
    front = front_end(scripts.tells_secrets_in_pieces)
    options = {"include_partial_messages": True}
    session_id = front.create("go", options=options)
    assert front.result(session_id)["result"] == "".join(scripts.SECRET_PIECES)
    assert '> {"type":"sdk.message"' in caplog.text
    for secret in (*scripts.SECRET_PIECES[1:], scripts.SECRET_LINES[1]):
        assert secret not in caplog.text


@pytest.mark.parametrize("wrong", ["soon", -1, True])
def test_a_kill_may_have_little_time(front_end, wrong):
    """timeout is for the CLI to end in peace; what is no time is refused."""
    front = front_end(scripts.stays)
    session_id = front.create(raw=True)
    message = {"type": "session.kill", "id": "k", "session_id": session_id}
    front.send_raw(json.dumps({**message, "payload": {"timeout": wrong}}).encode() + b"\n")
    assert "timeout must be" in front.error(id="k", code="INVALID_MESSAGE")["message"]
    pid = front.read[0]["payload"]["pid"]
    front.answer(front.send("session.kill", {"timeout": 0}, session_id=session_id))
    assert not os.path.exists(f"/proc/{pid}")
