"""Envelopes both ways, and answers that let nothing through."""

from __future__ import annotations

import pytest

from claude_sync.errors import ControlError
from claude_sync.protocol import control


def asked(subtype, request_id="r", **fields):
    """A request of the CLI."""
    return {
        "type": "control_request",
        "request_id": request_id,
        "request": {"subtype": subtype, **fields},
    }


def test_ids_are_unique():
    """Every request has an id of its own."""
    ids = control.RequestIds()
    assert len({ids.next() for _ in range(1000)}) == 1000


def test_a_request_carries_its_fields():
    """The subtype and the fields are in the request, the id beside it."""
    assert control.control_request("r", "set_model", {"model": "opus"}) == {
        "type": "control_request",
        "request_id": "r",
        "request": {"subtype": "set_model", "model": "opus"},
    }


def test_a_success_is_read():
    """The body of a reply is what the caller gets."""
    reply = control.parse_reply(
        {"response": {"subtype": "success", "request_id": "r", "response": {"x": 1}}}
    )
    assert reply.request_id == "r"
    assert reply.check("anything") == {"x": 1}


def test_a_success_without_a_body_is_empty():
    """Old CLIs send none."""
    reply = control.parse_reply({"response": {"subtype": "success", "request_id": "r"}})
    assert reply.check("anything") == {}


@pytest.mark.parametrize(
    ("fields", "text", "code"),
    [
        ({"error": "no", "error_code": "unsupported_request"}, "no", "unsupported_request"),
        ({"error": "no"}, "no", None),
        ({"error": {"a": 1}, "error_code": 3}, "{'a': 1}", None),
    ],
)
def test_a_refusal_is_raised(fields, text, code):
    """With the CLI's own text, and its code where it gives one."""
    reply = control.parse_reply({"response": {"subtype": "error", "request_id": "r", **fields}})
    with pytest.raises(ControlError) as caught:
        reply.check("set_model")
    assert (caught.value.subtype, caught.value.text, caught.value.code) == ("set_model", text, code)


def test_a_reply_of_no_use_is_none():
    """A response that is no object cannot be bound to anything."""
    assert control.parse_reply({"response": "junk"}) is None


def test_a_permission_is_denied():
    """Nobody decides: no. The tool use is named where there is one."""
    reply = control.safe_reply(asked("can_use_tool", tool_use_id="t", tool_name="Bash"))
    body = reply["response"]["response"]
    assert (body["behavior"], body["toolUseID"]) == ("deny", "t")
    assert "the answer is no" in body["message"]
    without = control.safe_reply(asked("can_use_tool", tool_use_id=None))
    assert "toolUseID" not in without["response"]["response"]


def test_the_older_form_is_answered_in_kind():
    """A callback request gets a callback response, with its id and session."""
    raw = {
        "type": "callback.request",
        "id": "cb",
        "session_id": "s",
        "payload": {"callback_type": "can_use_tool", "tool_name": "Bash"},
    }
    reply = control.safe_reply(raw)
    assert (reply["type"], reply["id"], reply["session_id"]) == ("callback.response", "cb", "s")
    assert reply["payload"]["behavior"] == "deny"


def test_an_older_hook_is_answered_with_nothing():
    """Nothing is allowed and nothing is changed."""
    raw = {"type": "callback.request", "id": "cb", "payload": {"callback_type": "hook"}}
    assert control.safe_reply(raw) == {"type": "callback.response", "id": "cb", "payload": {}}


@pytest.mark.parametrize(
    ("subtype", "body"),
    [
        ("elicitation", {"action": "decline"}),
        ("request_user_dialog", {"behavior": "cancelled"}),
    ],
)
def test_questions_for_a_person_are_declined(subtype, body):
    """There is no person yet."""
    assert control.safe_reply(asked(subtype))["response"]["response"] == body


@pytest.mark.parametrize(("message", "identity"), [({"id": 3}, 3), ("junk", None)])
def test_a_message_to_an_unknown_server_is_an_error_there(message, identity):
    """The protocol inside has errors of its own."""
    reply = control.safe_reply(asked("mcp_message", server_name="x", message=message))
    inner = reply["response"]["response"]["mcp_response"]
    assert (inner["id"], inner["error"]["code"]) == (identity, -32601)


@pytest.mark.parametrize("subtype", ["hook_callback", "something_new", ""])
def test_an_unknown_request_is_refused(subtype):
    """An unanswered one would park the turn for ever."""
    response = control.safe_reply(asked(subtype))["response"]
    assert (response["subtype"], response["error_code"]) == ("error", "unsupported_request")


@pytest.mark.parametrize(
    "raw", [asked("remote_tool_call"), asked("can_use_tool", request_id=None), {}, {"request": 3}]
)
def test_some_must_stay_unanswered(raw):
    """Requests for another host, and those without an id to answer to."""
    assert control.safe_reply(raw) is None


def test_a_callback_request_of_a_wrong_shape_is_answered():
    """A payload that is no object is no reason to stay silent."""
    raw = {"type": "callback.request", "id": "cb", "payload": 3}
    assert control.safe_reply(raw) == {"type": "callback.response", "id": "cb", "payload": {}}


def test_a_plain_refusal_has_no_code():
    """The code is there only where there is one."""
    assert "error_code" not in control.error_reply("r", "no")["response"]


# Answers to requests for permission.


def test_a_yes_has_the_input_the_changes_and_the_use():
    """Whatever may be missing is left out: null is refused."""
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": None}, "junk"],
        "behavior": "allow",
        "destination": None,
    }
    raw = asked("can_use_tool", tool_use_id="t", input={"a": 1})
    reply = control.allow_reply(raw, {"a": 2}, [update])["response"]
    assert reply["response"] == {
        "behavior": "allow",
        "updatedInput": {"a": 2},
        "updatedPermissions": [
            {"type": "addRules", "rules": [{"toolName": "Bash"}, "junk"], "behavior": "allow"}
        ],
        "toolUseID": "t",
    }
    bare = control.allow_reply(asked("can_use_tool"), {})["response"]["response"]
    assert bare == {"behavior": "allow", "updatedInput": {}}


def test_a_change_without_rules_goes_as_it_is():
    """A change of the mode has none."""
    mode = {"type": "setMode", "mode": "plan", "destination": "session"}
    reply = control.allow_reply(asked("can_use_tool"), {}, [mode])
    assert reply["response"]["response"]["updatedPermissions"] == [mode]


def test_a_no_says_why_and_whether_to_stop():
    """``interrupt`` is sent only where it is meant."""
    reply = control.deny_reply(asked("can_use_tool"), "because", interrupt=True)
    assert reply["response"]["response"] == {
        "behavior": "deny",
        "message": "because",
        "interrupt": True,
    }
    assert "interrupt" not in control.deny_reply(asked("can_use_tool"), "x")["response"]["response"]


def test_the_older_form_has_its_own_spelling():
    """A callback gets snake_case, and a list of changes even if there are none."""
    raw = {"type": "callback.request", "id": "cb", "payload": {"callback_type": "can_use_tool"}}
    assert control.allow_reply(raw, {"a": 1})["payload"] == {
        "behavior": "allow",
        "updated_input": {"a": 1},
        "updated_permissions": [],
    }
    assert control.deny_reply(raw, "no")["payload"] == {"behavior": "deny", "message": "no"}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"subtype": "can_use_tool"}, ("behavior", "deny")),
        (
            {"subtype": "hook_callback", "input": {"hook_event_name": "PreToolUse"}},
            ("hookSpecificOutput", "permissionDecision", "deny"),
        ),
        (
            {"subtype": "hook_callback", "input": {"hook_event_name": "PermissionRequest"}},
            ("hookSpecificOutput", "decision", "behavior", "deny"),
        ),
    ],
)
def test_what_we_fail_to_serve_lets_nothing_through(fields, told):
    """An error would count as consent, so the answer is a no in the right form."""
    answer = control.failed_reply({"type": "control_request", "request": fields}, "r")["response"]
    value = answer["response"]
    for key in told[:-1]:
        value = value[key]
    assert (answer["subtype"], value) == ("success", told[-1])


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "hook_callback", "input": {"hook_event_name": "Stop"}},
        {"subtype": "hook_callback", "input": 3},
        {"subtype": "mcp_message"},
    ],
)
def test_what_decides_nothing_is_answered_with_an_error(fields):
    """There is nothing that it would let through."""
    answer = control.failed_reply({"type": "control_request", "request": fields}, "r")["response"]
    assert (answer["subtype"], answer["request_id"]) == ("error", "r")


def test_what_we_fail_to_serve_in_the_older_form_is_answered_in_kind():
    """With nothing, where there is nothing to decide."""
    raw = {"type": "callback.request", "id": "cb", "payload": {"callback_type": "x"}}
    assert control.failed_reply(raw, "cb")["payload"] == {}


def test_the_older_form_has_no_word_for_stopping_the_turn():
    """So the answer does not say it; whoever answers has to stop the turn."""
    raw = {"type": "callback.request", "id": "cb", "payload": {"callback_type": "can_use_tool"}}
    assert control.deny_reply(raw, "no", True)["payload"] == {"behavior": "deny", "message": "no"}
    reply = control.deny_reply(asked("can_use_tool"), "no", True)
    assert reply["response"]["response"]["interrupt"] is True
