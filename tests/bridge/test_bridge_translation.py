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
    """A session of a backend that knows the document, and no more."""

    def __init__(self, raw=False, **initialize):
        payload = {"prompt": "", "cwd": "/x", "options": {"model": "sonnet"}}
        if raw:
            payload["raw"] = True
        self.translation = Translation("7-", payload)
        step = self.translation.create(request("initialize", "req_0", **initialize))
        (self.create,) = envelopes(step) or [None]
        self.refused = lines(step)
        if self.create is not None:
            told = {"sdk_session_id": "cli-id"}
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
    """Such a session."""
    return Talk()


def test_the_greeting_makes_an_idle_session():
    """initialize becomes session.create with an empty prompt and the settings."""
    talk = Talk()
    payload = {"prompt": "", "cwd": "/x", "options": {"model": "sonnet"}}
    assert talk.create == {"type": "session.create", "id": "7-1", "payload": payload}


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
    options = Talk(hooks=hooks, jsonSchema={"type": "object"}).create["payload"]["options"]
    assert options["hooks"] == {"PreToolUse": [{"matcher": "Bash"}]}
    assert options["output_format"] == {"type": "json_schema", "schema": {"type": "object"}}


TOOLS = {"sdkMcpServers": ["claude_sync"]}


def test_functions_are_refused_where_there_is_no_word_for_them():
    """Nothing is sent; a backend that turns out to know no raw sessions is refused."""
    talk = Talk(**TOOLS)
    assert talk.create is None
    assert "tools" in talk.refused[0]["response"]["error"]
    (reply,) = lines(Talk(raw=True, **TOOLS).created)
    assert reply["response"]["subtype"] == "error"
    assert "tools" in reply["response"]["error"]


def test_a_session_that_is_refused_refuses_the_greeting():
    """SESSION_CREATE_FAILED is the error of initialize."""
    talk = Talk.__new__(Talk)
    talk.translation = Translation("1-", {"options": {}})
    (create,) = envelopes(talk.translation.create(request("initialize", "req_0")))
    error = {"code": "SESSION_CREATE_FAILED", "message": "no such folder"}
    (reply,) = lines(talk.hear("error", error, id=create["id"]))
    assert reply["response"]["error"] == "no such folder"
    assert not talk.translation.is_known()


def test_a_question_is_sent(plain):
    """A user message becomes session.send; its uuid is not understood there."""
    (sent,) = plain.say(question([{"type": "text", "text": "hi"}]))
    assert sent["type"] == "session.send"
    assert sent["session_id"] == "s"
    assert sent["payload"] == {"message": [{"type": "text", "text": "hi"}]}


def test_messages_of_the_cli_come_as_they_are(plain):
    """Order of keys, unknown fields and large numbers survive."""
    message = '{"zeta":1,"type":"odd","n":123456789012345678901234567890,"a":{"y":null}}'
    (line,) = plain.hear("sdk.message", json.loads(message)).to_client
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


def test_a_request_is_a_call(plain):
    """It is called, and what it returned is the reply; a failure is an error."""
    (sent,) = plain.say(request("set_model", model="opus"))
    assert sent["payload"] == {"method": "setModel", "args": ["opus"]}
    (reply,) = lines(plain.hear("query.result", {"success": True}, id=sent["id"]))
    assert reply["response"]["response"] == {}
    (sent,) = plain.say(request("mcp_status"))
    failed = {"success": False, "error": "sk-ant-secretsecretsecret1 is out", "details": {}}
    (reply,) = lines(plain.hear("query.result", failed, id=sent["id"]))
    assert reply["response"]["error"] == "*** is out"
    (sent,) = plain.say(request("mcp_status"))
    (reply,) = lines(plain.hear("query.result", {"success": True, "result": [1]}, id=sent["id"]))
    assert reply["response"]["response"] == {"mcpServers": [1]}


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


def test_a_no_that_ends_the_turn(plain):
    """The document has no word for it in the answer: an interrupt follows."""
    payload = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    no = answer("cb", {"behavior": "deny", "message": "no", "interrupt": True})
    plain.hear("callback.request", payload, id="cb")
    sent = plain.say(no)
    assert [each["type"] for each in sent] == ["callback.response", "session.interrupt"]
    assert not plain.hear("session.interrupted", {}, id=sent[1]["id"]).to_client


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("callback.cancelled", {}),
        ("error", {"code": "CALLBACK_TIMEOUT", "message": "late"}),
    ],
)
def test_a_callback_that_is_over_is_withdrawn(plain, kind, payload):
    """The client hears that no answer is wanted; what it answers later is not sent."""
    asked = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    plain.hear("callback.request", asked, id="cb")
    expected = {"type": "control_cancel_request", "request_id": "cb"}
    assert lines(plain.hear(kind, payload, id="cb")) == [expected]
    assert not plain.say(answer("cb", {"behavior": "allow", "updatedInput": {}}))


def test_an_answer_that_is_refused_becomes_a_no(plain):
    """The callback is still open there, and must not stay so."""
    asked = {"callback_type": "can_use_tool", "tool_name": "Bash", "tool_input": {}}
    plain.hear("callback.request", asked, id="cb")
    plain.say(answer("cb", {"behavior": "allow", "updatedInput": {}}))
    error = {"code": "INVALID_MESSAGE", "message": "not so"}
    (sent,) = envelopes(plain.hear("error", error, id="cb"))
    assert sent["id"] == "cb"
    assert sent["payload"]["behavior"] == "deny"
    assert not plain.hear("error", error, id="cb").to_backend


def test_a_callback_of_an_unknown_kind_is_answered(plain):
    """Nobody waits for ever for something that nobody knows."""
    step = plain.hear("callback.request", {"callback_type": "dream"}, id="cb")
    assert not step.to_client
    assert [each["payload"] for each in envelopes(step)] == [{}]


def test_a_message_that_is_refused_gets_a_result(plain):
    """The turn ends with the reason."""
    (sent,) = plain.say(question())
    error = {"code": "INVALID_MESSAGE", "message": "not this"}
    (result,) = lines(plain.hear("error", error, id=sent["id"]))
    assert result["type"] == "result"
    assert result["errors"] == ["not this"]


def test_a_cli_that_did_not_start_has_said_why():
    """Its own last words are told, not the backend's text about them."""
    translation = Translation("1-", {"options": {}})
    (create,) = envelopes(translation.create(request("initialize")))
    details = {"error": "CliDidNotStart", "exit_code": 2, "stderr_tail": ["bad flag"]}
    payload = {"code": "SESSION_CREATE_FAILED", "message": "long", "details": details}
    step = translation.from_backend({"type": "error", "id": create["id"], "payload": payload})
    assert step.end == (("bad flag",), 2)
    assert not step.to_client


def test_an_error_of_a_session_ends_it(plain):
    """SDK_ERROR that answers nothing is the end of it; its words may quote a secret."""
    error = {"code": "SDK_ERROR", "message": "sk-ant-secretsecretsecret1 fell over"}
    assert plain.hear("error", error).end == (("*** fell over",), None)


def test_a_session_that_is_not_there_has_ended(plain):
    """SESSION_NOT_FOUND to anything that was sent ends it."""
    (sent,) = plain.say(question())
    error = {"code": "SESSION_NOT_FOUND", "message": "gone"}
    assert plain.hear("error", error, id=sent["id"]).end == (("gone",), None)
    assert not plain.translation.is_known()


def test_killing(plain):
    """session.kill is sent once; session.killed is the end."""
    (sent,) = envelopes(plain.translation.kill(1))
    assert (sent["type"], sent["session_id"]) == ("session.kill", "s")
    assert not plain.translation.kill(1).to_backend
    assert plain.hear("session.killed", {}, id=sent["id"]).end == ((), 0)
    assert not plain.translation.is_known()


def test_a_session_that_comes_too_late_is_killed():
    """One that was given up while it was being made does not stay."""
    translation = Translation("1-", {"options": {}})
    (create,) = envelopes(translation.create(request("initialize")))
    assert translation.is_known()
    assert not translation.kill(1).to_backend
    created = {"type": "session.created", "id": create["id"], "session_id": "s", "payload": {}}
    step = translation.from_backend(created)
    assert [each["type"] for each in envelopes(step)] == ["session.kill"]
    assert not step.to_client


def test_what_means_nothing_is_ignored(plain):
    """Unknown envelopes, replies to nothing, and lines that have no place."""
    for kind in ("session.created", "query.result", "session.dreamt", "callback.cancelled"):
        step = plain.hear(kind, None, id="x")
        assert not step.to_client
        assert not step.to_backend
    assert not plain.say({"type": "keep_alive"})
    assert not plain.say(request("mcp_message", server_name="claude_sync", message={}))


@pytest.mark.parametrize("subtype", ["mcp_status", "interrupt"])
def test_a_request_to_a_session_that_is_gone_ends_it(plain, subtype):
    """It is no refusal: whoever waits hears of the end."""
    (sent,) = plain.say(request(subtype))
    error = {"code": "SESSION_NOT_FOUND", "message": "gone", "details": {"exit_code": 3}}
    step = plain.hear("error", error, id=sent["id"])
    assert step.end == (("gone",), 3)
    assert not step.to_client


def test_messages_are_not_remembered_for_ever(plain):
    """Nothing is heard of one that was taken; what they hold (pictures) is let go of."""
    for number in range(1000):
        plain.say(question("hi" * number))
    assert len(plain.translation._asked) <= 110
    (last,) = plain.say(question("last"))
    error = {"code": "SDK_ERROR", "message": "no", "details": {"error": "ClaudeError"}}
    assert lines(plain.hear("error", error, id=last["id"]))[0]["errors"] == ["no"]
