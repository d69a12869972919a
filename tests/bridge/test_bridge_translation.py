"""One session as envelopes: what each line of a client becomes, and each envelope of a backend."""

from __future__ import annotations

import json

import pytest

from claude_sync.bridge.translation import Translation

UUID = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


def envelopes(step):
    """What goes to the backend."""
    return [json.loads(line) for line in step.to_backend]


def lines(step):
    """What the client reads."""
    return [json.loads(line) for line in step.to_client]


def request(subtype, request_id="req_1", **fields):
    """A request of the client."""
    body = {"subtype": subtype, **fields}
    return {"type": "control_request", "request_id": request_id, "request": body}


def question(content="hi", uuid=UUID, **more):
    """A user message of the client."""
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **more}


def answer(identity, body=None, **response):
    """An answer of the client to a request."""
    told = {"subtype": "success", "request_id": identity, "response": body, **response}
    return {"type": "control_response", "response": told}


def said(payload, session_id="s"):
    """A message of the CLI."""
    return {"type": "sdk.message", "session_id": session_id, "payload": payload}


class Talk:
    """A session that is there: plain, or of a backend that knows more."""

    def __init__(self, greeting=None, extensions=True, **initialize):
        payload = {"prompt": "", "cwd": "/x", "options": {"model": "sonnet"}}
        self.translation = Translation("7-", payload, extensions)
        step = self.translation.from_client(request("initialize", "req_0", **initialize))
        (self.create,) = envelopes(step) or [None]
        self.refused = lines(step)
        if self.create is None:
            return
        told = {"sdk_session_id": "cli-id"}
        if greeting is not None:
            told["greeting"] = greeting
        self.created = self.hear("session.created", told, id=self.create["id"])

    def hear(self, kind, payload, **about):
        """What follows from an envelope."""
        envelope = {"type": kind, "session_id": "s", "payload": payload, **about}
        return self.translation.from_backend(envelope)

    def say(self, message):
        """The envelopes that follow from a line."""
        return envelopes(self.translation.from_client(message))


@pytest.fixture
def plain():
    """A session of a backend that knows the document."""
    return Talk(extensions=False)


@pytest.fixture
def full():
    """A session of a backend that knows more."""
    return Talk(greeting={"models": []})


def test_the_greeting_makes_an_idle_session():
    """initialize becomes session.create with an empty prompt and the settings."""
    talk = Talk(extensions=False)
    payload = {"prompt": "", "cwd": "/x", "options": {"model": "sonnet"}}
    assert talk.create == {"type": "session.create", "id": "7-1", "payload": payload}


def test_a_backend_that_knows_more_is_asked_for_it():
    """extensions is said where it may be said."""
    assert Talk().create["payload"]["extensions"] is True


def test_what_the_backend_tells_of_the_cli_is_the_reply_to_the_greeting(full):
    """The greeting of session.created is passed on, and nothing is asked for."""
    assert not full.created.to_backend
    (reply,) = lines(full.created)
    assert reply["response"] == {
        "subtype": "success",
        "request_id": "req_0",
        "response": {"models": []},
    }


def test_the_process_is_known_if_the_backend_tells_it(full):
    """Its id is that of the CLI, on its machine."""
    assert full.translation.pid is None
    told = {"sdk_session_id": "x", "greeting": {}, "pid": 42}
    talk = Talk(greeting={})
    translation = Translation("1-", {"options": {}})
    (create,) = envelopes(translation.from_client(request("initialize")))
    translation.from_backend(
        {"type": "session.created", "id": create["id"], "session_id": "s", "payload": told}
    )
    assert translation.pid == 42
    assert talk.translation.pid is None


def test_a_plain_backend_is_asked_what_the_reply_to_the_greeting_needs(plain):
    """Three query.call collect it; one that fails leaves its part out; then the reply comes."""
    assert not plain.created.to_client
    calls = envelopes(plain.created)
    assert [call["payload"]["method"] for call in calls] == [
        "supportedCommands",
        "supportedModels",
        "accountInfo",
    ]
    commands, models, account = [call["id"] for call in calls]
    found = {"success": True, "result": [{"name": "compact"}]}
    assert not plain.hear("query.result", found, id=commands).to_client
    failed = {"success": False, "error": "no"}
    assert not plain.hear("query.result", failed, id=models).to_client
    error = {"code": "QUERY_METHOD_FAILED", "message": "no"}
    (reply,) = lines(plain.hear("error", error, id=account))
    assert reply["response"]["response"] == {"commands": [{"name": "compact"}]}


def test_the_form_of_answers_and_the_hooks_are_part_of_the_session():
    """jsonSchema and hooks of the greeting are options of session.create."""
    hooks = {"PreToolUse": [{"hookCallbackIds": ["hook_0"], "timeout": 70, "matcher": "Bash"}]}
    options = Talk(extensions=False, hooks=hooks, jsonSchema={"type": "object"}).create["payload"][
        "options"
    ]
    assert options["hooks"] == {"PreToolUse": [{"matcher": "Bash"}]}
    assert options["output_format"] == {"type": "json_schema", "schema": {"type": "object"}}


MANIFEST = {
    "claude_sync": {
        "toolsListResult": {
            "tools": [{"name": "add", "description": "Add.", "inputSchema": {"type": "object"}}]
        }
    }
}
TOOLS = {"sdkMcpServers": ["claude_sync"], "sdkMcpServerManifests": MANIFEST}


def test_functions_are_told_to_a_backend_that_knows_them():
    """The tools of the greeting are options.tools."""
    tools = Talk(greeting={}, **TOOLS).create["payload"]["options"]["tools"]
    assert tools == [
        {"name": "add", "description": "Add.", "input_schema": {"type": "object"}, "ask": True}
    ]


def test_functions_are_refused_where_there_is_no_word_for_them():
    """Without extensions nothing is sent; a backend that turns out to be plain is refused."""
    talk = Talk(extensions=False, **TOOLS)
    assert talk.create is None
    assert "tools" in talk.refused[0]["response"]["error"]
    (reply,) = lines(Talk(**TOOLS).created)
    assert reply["response"]["subtype"] == "error"
    assert "tools" in reply["response"]["error"]


def test_a_session_that_is_refused_refuses_the_greeting():
    """SESSION_CREATE_FAILED is the error of initialize."""
    talk = Talk.__new__(Talk)
    talk.translation = Translation("1-", {"options": {}}, False)
    (create,) = talk.say(request("initialize", "req_0"))
    error = {"code": "SESSION_CREATE_FAILED", "message": "no such folder"}
    (reply,) = lines(talk.hear("error", error, id=create["id"]))
    assert reply["response"]["error"] == "no such folder"
    assert not talk.translation.is_known()


def test_a_question_is_sent(plain, full):
    """A user message becomes session.send; its uuid goes where it is understood."""
    (sent,) = plain.say(question([{"type": "text", "text": "hi"}]))
    assert sent["type"] == "session.send"
    assert sent["session_id"] == "s"
    assert sent["payload"] == {"message": [{"type": "text", "text": "hi"}]}
    (sent,) = full.say(question())
    assert sent["payload"] == {"message": "hi", "uuid": UUID}


def test_what_is_said_while_a_question_runs_is_steered(full):
    """A second message is marked, until the result of the first is there."""
    full.say(question())
    (sent,) = full.say(question("more", OTHER))
    assert sent["payload"]["steer"] is True
    full.hear("sdk.message", {"type": "result", "user_message_uuids": [UUID, OTHER]})
    (sent,) = full.say(question("next", "33333333-3333-4333-8333-333333333333"))
    assert "steer" not in sent["payload"]


def test_context_is_marked(full):
    """A message that asks for no answer says so."""
    (sent,) = full.say(question(shouldQuery=False))
    assert sent["payload"]["should_query"] is False


def test_messages_of_the_cli_come_as_they_are(full):
    """Order of keys, unknown fields and large numbers survive."""
    message = '{"zeta":1,"type":"odd","n":123456789012345678901234567890,"a":{"y":null}}'
    (line,) = full.hear("sdk.message", json.loads(message)).to_client
    assert json.dumps(json.loads(line), separators=(",", ":")) == message


def test_uuids_of_a_plain_backend_are_taken_out(plain):
    """They are none of ours, and the running question's result is the next one."""
    plain.say(question())
    news = {"type": "command_lifecycle", "command_uuid": OTHER, "state": "started"}
    assert not plain.hear("sdk.message", news).to_client
    result = {"type": "result", "user_message_uuids": [OTHER], "origin": {"kind": "peer"}}
    assert lines(plain.hear("sdk.message", result)) == [{"type": "result"}]


def test_an_interrupt_is_answered(plain):
    """session.interrupted is the reply, whatever it tells."""
    (sent,) = plain.say(request("interrupt", cancel_queued=True))
    assert (sent["type"], sent["payload"]) == ("session.interrupt", {})
    (reply,) = lines(plain.hear("session.interrupted", {"cancelled": []}, id=sent["id"]))
    assert reply["response"]["response"] == {"cancelled": []}
    assert not plain.hear("session.interrupted", {}, id=sent["id"]).to_client


def test_a_request_is_a_call(plain, full):
    """It is called, and what it returned is the reply; a failure is an error."""
    (sent,) = plain.say(request("set_model", model="opus"))
    assert sent["payload"] == {"method": "setModel", "args": ["opus"]}
    (reply,) = lines(plain.hear("query.result", {"success": True}, id=sent["id"]))
    assert reply["response"]["response"] == {}
    (sent,) = full.say(request("get_usage"))
    details = {"error": "UnsupportedByCli"}
    failed = {"success": False, "error": "too old", "details": details}
    (reply,) = lines(full.hear("query.result", failed, id=sent["id"]))
    assert reply["response"]["error"] == "too old"
    assert reply["response"]["error_code"] == "unsupported_request"


def test_a_request_without_a_word_is_refused_at_once(plain):
    """Nothing is sent, and the error says what to do."""
    step = plain.translation.from_client(request("get_settings"))
    assert not step.to_backend
    assert "get_settings" in lines(step)[0]["response"]["error"]


def test_a_permission_is_asked_for_and_answered(plain):
    """callback.request is a request of the CLI; the answer goes back under the same id."""
    payload = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {"a": 1}}
    (asked,) = lines(plain.hear("callback.request", payload, id="cb"))
    assert asked["request_id"] == "cb"
    assert asked["request"]["subtype"] == "can_use_tool"
    assert asked["request"]["input"] == {"a": 1}
    (sent,) = plain.say(answer("cb", {"behavior": "allow", "updatedInput": {"a": 2}}))
    assert sent == {
        "type": "callback.response",
        "id": "cb",
        "session_id": "s",
        "payload": {"behavior": "allow", "updated_input": {"a": 2}},
    }
    assert not plain.say(answer("cb", {"behavior": "deny"}))


def test_a_no_that_ends_the_turn(plain, full):
    """A plain backend is told by an interrupt, one that knows more in the answer."""
    payload = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    no = answer("cb", {"behavior": "deny", "message": "no", "interrupt": True})
    plain.hear("callback.request", payload, id="cb")
    sent = plain.say(no)
    assert [each["type"] for each in sent] == ["callback.response", "session.interrupt"]
    assert not plain.hear("session.interrupted", {}, id=sent[1]["id"]).to_client
    full.hear("callback.request", payload, id="cb")
    (sent,) = full.say(no)
    assert sent["payload"]["interrupt"] is True


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("callback.cancelled", {}),
        ("error", {"code": "CALLBACK_TIMEOUT", "message": "late"}),
    ],
)
def test_a_callback_that_is_over_is_withdrawn(full, kind, payload):
    """The client hears that no answer is wanted; what it answers later is not sent."""
    asked = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    full.hear("callback.request", asked, id="cb")
    expected = {"type": "control_cancel_request", "request_id": "cb"}
    assert lines(full.hear(kind, payload, id="cb")) == [expected]
    assert not full.say(answer("cb", {"behavior": "allow", "updatedInput": {}}))


def test_an_answer_that_is_refused_becomes_a_no(full):
    """The callback is still open there, and must not stay so."""
    asked = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    full.hear("callback.request", asked, id="cb")
    full.say(answer("cb", {"behavior": "allow", "updatedInput": {}}))
    error = {"code": "INVALID_MESSAGE", "message": "not so"}
    (sent,) = envelopes(full.hear("error", error, id="cb"))
    assert sent["id"] == "cb"
    assert sent["payload"]["behavior"] == "deny"
    assert not full.hear("error", error, id="cb").to_backend


def test_a_callback_of_an_unknown_kind_is_answered(full):
    """Nobody waits for ever for something that nobody knows."""
    step = full.hear("callback.request", {"callback_type": "dream"}, id="cb")
    assert not step.to_client
    assert [each["payload"] for each in envelopes(step)] == [{}]


def test_a_message_that_is_refused_gets_a_result(full):
    """The turn ends with the reason; which one it is, is said if the CLI says such things."""
    (sent,) = full.say(question())
    error = {"code": "INVALID_MESSAGE", "message": "not this"}
    (result,) = lines(full.hear("error", error, id=sent["id"]))
    assert result["type"] == "result"
    assert result["errors"] == ["not this"]
    assert "user_message_uuids" not in result
    full.hear("sdk.message", {"type": "result", "user_message_uuids": [OTHER]})
    (sent,) = full.say(question())
    (result,) = lines(full.hear("error", {**error, "code": "SDK_ERROR"}, id=sent["id"]))
    assert result["user_message_uuids"] == [UUID]


def test_what_nobody_waits_for_is_logged_if_it_is_lost(full, caplog):
    """A steered message that came too late is nobody's error, but must not vanish unseen."""
    full.say(question())
    (sent,) = full.say(question("more", OTHER))
    error = {"code": "SDK_ERROR", "message": "out of order"}
    full.hear("error", error, id=sent["id"])
    assert "out of order" in caplog.text


def test_what_comes_too_late_to_be_steered_is_a_question(full):
    """As without a bridge: it runs by itself, under its own uuid."""
    full.say(question())
    (sent,) = full.say(question("more", OTHER))
    details = {"error": "UsageError"}
    error = {"code": "SDK_ERROR", "message": "no turn is running", "details": details}
    step = full.hear("error", error, id=sent["id"])
    (again,) = envelopes(step)
    assert again["payload"] == {"message": "more", "uuid": OTHER}
    assert not step.to_client
    refused = full.hear("error", error, id=again["id"])
    assert lines(refused)[0]["type"] == "result"


def test_an_interrupt_may_leave_queued_messages_alone(full, plain):
    """The document has no word for that; the receipt comes as the CLI gave it."""
    (sent,) = full.say(request("interrupt", cancel_queued=True))
    assert sent["payload"] == {}
    (sent,) = full.say(request("interrupt"))
    assert sent["payload"] == {"cancel_queued": False}
    (told,) = lines(full.hear("session.interrupted", {"still_queued": [UUID]}, id=sent["id"]))
    assert told["response"]["response"] == {"still_queued": [UUID]}
    (sent,) = plain.say(request("interrupt"))
    assert sent["payload"] == {}


def test_the_progress_of_a_function_is_told_while_it_is_wanted(full):
    """With the id of the callback; not before it, and not after."""
    params = {"progressToken": "cb", "progress": 1, "total": 2}
    message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    news = request("mcp_message", server_name="claude_sync", message=message)
    assert not full.say(news)
    payload = {"callback_type": "tool", "tool_name": "add", "tool_input": {}}
    full.hear("callback.request", payload, id="cb")
    (sent,) = full.say(news)
    assert (sent["type"], sent["id"]) == ("callback.progress", "cb")
    assert sent["payload"] == {"progress": 1, "total": 2}
    full.hear("callback.cancelled", {}, id="cb")
    assert not full.say(news)


def test_a_cli_that_did_not_start_has_said_why():
    """Its own last words are told, not the backend's text about them."""
    translation = Translation("1-", {"options": {}}, True)
    (create,) = envelopes(translation.from_client(request("initialize")))
    details = {"error": "CliDidNotStart", "exit_code": 2, "stderr_tail": ["bad flag"]}
    payload = {"code": "SESSION_CREATE_FAILED", "message": "long", "details": details}
    step = translation.from_backend({"type": "error", "id": create["id"], "payload": payload})
    assert step.end == (("bad flag",), 2)
    assert not step.to_client


def test_an_id_that_is_known_later_is_taken_over(full):
    """It is that of results which this side has to make up."""
    full.hear("session.updated", {"sdk_session_id": "new"})
    (sent,) = full.say(question())
    error = {"code": "INVALID_MESSAGE", "message": "not this"}
    (result,) = lines(full.hear("error", error, id=sent["id"]))
    assert result["session_id"] == "new"


def test_an_idle_cli_that_died_ends_the_session(full):
    """It answers nothing, and says so at once."""
    details = {"error": "CliExited", "exit_code": 1, "stderr_tail": ["oh"]}
    error = {"code": "SDK_ERROR", "message": "the CLI exited.", "details": details}
    assert full.hear("error", error).end == (("oh",), 1)


def test_a_cli_that_died_ends_the_session(full):
    """What it said last and its exit code are told."""
    details = {"error": "CliExited", "exit_code": 3, "stderr_tail": ["out of luck"]}
    (sent,) = full.say(question())
    error = {"code": "SDK_ERROR", "message": "the CLI exited.", "details": details}
    assert full.hear("error", error, id=sent["id"]).end == (("out of luck",), 3)


def test_an_error_of_a_plain_session_ends_it(plain, full):
    """SDK_ERROR that answers nothing is the end of it; one that knows more would say so."""
    error = {"code": "SDK_ERROR", "message": "fell over"}
    assert plain.hear("error", error).end == (("fell over",), None)
    assert full.hear("error", error).end is None


def test_a_session_that_is_not_there_has_ended(full):
    """SESSION_NOT_FOUND to anything that was sent ends it."""
    (sent,) = full.say(question())
    error = {"code": "SESSION_NOT_FOUND", "message": "gone"}
    assert full.hear("error", error, id=sent["id"]).end == (("gone",), None)
    assert not full.translation.is_known()


def test_killing(full):
    """session.kill is sent once; session.killed is the end."""
    (sent,) = envelopes(full.translation.kill())
    assert (sent["type"], sent["session_id"]) == ("session.kill", "s")
    assert not full.translation.kill().to_backend
    assert full.hear("session.killed", {}, id=sent["id"]).end == ((), 0)
    assert not full.translation.is_known()


def test_a_session_that_comes_too_late_is_killed():
    """One that was given up while it was being made does not stay."""
    translation = Translation("1-", {"options": {}}, False)
    (create,) = envelopes(translation.from_client(request("initialize")))
    assert translation.is_known()
    assert not translation.kill().to_backend
    created = {"type": "session.created", "id": create["id"], "session_id": "s", "payload": {}}
    step = translation.from_backend(created)
    assert [each["type"] for each in envelopes(step)] == ["session.kill"]
    assert not step.to_client


def test_what_means_nothing_is_ignored(full):
    """Unknown envelopes, replies to nothing, and lines that have no place."""
    for kind in ("session.created", "query.result", "session.dreamt", "callback.cancelled"):
        step = full.hear(kind, None, id="x")
        assert not step.to_client
        assert not step.to_backend
    assert not full.say({"type": "keep_alive"})
    assert not full.say(request("mcp_message", server_name="claude_sync", message={}))


@pytest.mark.parametrize("kind", ["call", "interrupt"])
@pytest.mark.parametrize("code", ["SESSION_NOT_FOUND", "SDK_ERROR"])
def test_a_request_to_a_session_that_is_gone_ends_it(full, kind, code):
    """It is no refusal: whoever waits hears of the end."""
    (sent,) = full.say(request("interrupt" if kind == "interrupt" else "get_settings"))
    error = {"code": code, "message": "gone", "details": {"error": "CliExited", "exit_code": 3}}
    step = full.hear("error", error, id=sent["id"])
    assert step.end == (("gone",), 3)
    assert not step.to_client


def test_a_call_that_failed_because_the_cli_died_ends_the_session(full):
    """Although the backend answers it."""
    (sent,) = full.say(request("get_settings"))
    details = {"error": "CliExited", "exit_code": 3, "stderr_tail": ["oh"]}
    payload = {"success": False, "error": "the CLI exited", "details": details}
    step = full.hear("query.result", payload, id=sent["id"])
    assert step.end == (("oh",), 3)
    assert not step.to_client


def test_what_was_told_to_people_is_not_told_again(full):
    """Lines come as they come; the last of them are not repeated at the end."""
    assert full.hear("session.stderr", {"line": "oh"}).to_people == ["oh"]
    details = {"error": "CliExited", "exit_code": 1, "stderr_tail": ["oh"]}
    error = {"code": "SDK_ERROR", "message": "the CLI exited.", "details": details}
    assert full.hear("error", error).end == ((), 1)


def test_a_kill_has_its_time(full, plain):
    """The document has no word for it."""
    (sent,) = envelopes(full.translation.kill(1.5))
    assert sent["payload"] == {"timeout": 1.5}
    (sent,) = envelopes(plain.translation.kill(1.5))
    assert sent["payload"] == {}


def test_messages_are_not_remembered_for_ever(full):
    """Nothing is heard of one that was taken; what they hold (pictures) is let go of."""
    for number in range(1000):
        full.say(question("hi" * number))
    assert len(full.translation._asked) <= 100
    (last,) = full.say(question("last"))
    error = {"code": "SDK_ERROR", "message": "no", "details": {"error": "ClaudeError"}}
    assert lines(full.hear("error", error, id=last["id"]))[0]["errors"] == ["no"]
