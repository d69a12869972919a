"""Envelopes both ways, and answers that let nothing through."""

from __future__ import annotations

import pytest
from tables import each

from claude_sync.errors import ControlError
from claude_sync.protocol import control

CALLBACK = {"type": "callback.request", "id": "cb", "payload": {"callback_type": "can_use_tool"}}


def asked(subtype, request_id="r", **fields):
    """A request of the CLI."""
    request = {"subtype": subtype, **fields}
    return {"type": "control_request", "request_id": request_id, "request": request}


def reply_of(**response):
    """The CLI's reply to a request of ours."""
    return control.parse_reply({"response": {"request_id": "r", **response}})


def body_of(answer):
    """What an answer of ours says, in either form."""
    return answer["payload"] if "payload" in answer else answer["response"]["response"]


# Our requests.


def test_requests_have_their_fields_and_unique_ids():
    """The subtype and the fields are in the request, the id beside it."""
    ids = control.RequestIds()
    assert len({ids.next() for _ in range(1000)}) == 1000
    expected = asked("set_model", model="opus")
    assert control.control_request("r", "set_model", {"model": "opus"}) == expected


@each(
    ("response", "body"),
    [({"response": {"x": 1}}, {"x": 1}), ({}, {}), ({"response": [1]}, {})],
)
def test_a_success_is_read(response, body):
    """Some CLIs send no body."""
    reply = reply_of(subtype="success", **response)
    assert (reply.request_id, reply.check("anything")) == ("r", body)


@each(
    ("fields", "text", "code"),
    [
        ({"error": "no", "error_code": "unsupported_request"}, "no", "unsupported_request"),
        ({"error": "no"}, "no", None),
        ({"error": {"a": 1}, "error_code": 3}, "{'a': 1}", None),
    ],
)
def test_a_refusal_is_raised(fields, text, code):
    """With the CLI's own text, and its code where it gives one."""
    with pytest.raises(ControlError) as caught:
        reply_of(subtype="error", **fields).check("set_model")
    assert (caught.value.subtype, caught.value.text, caught.value.code) == ("set_model", text, code)


def test_a_reply_of_no_use_is_none():
    """A response that is no object cannot be bound to anything."""
    assert control.parse_reply({"response": "junk"}) is None


# Requests that nobody serves.


@each(
    ("raw", "key", "value"),
    [
        (asked("can_use_tool", tool_use_id="t"), "behavior", "deny"),
        (asked("can_use_tool", tool_use_id="t"), "toolUseID", "t"),
        (CALLBACK, "behavior", "deny"),
        (asked("elicitation"), "action", "decline"),
        (asked("request_user_dialog"), "behavior", "cancelled"),
    ],
)
def test_what_nobody_serves_is_declined(raw, key, value):
    """In the form in which it came."""
    assert body_of(control.safe_reply(raw))[key] == value


def test_a_permission_without_an_id_of_its_tool():
    """null is refused, so the key is left out."""
    assert "toolUseID" not in body_of(control.safe_reply(asked("can_use_tool", tool_use_id=None)))


@each("payload", [{"callback_type": "hook"}, 3])
def test_an_older_hook_is_answered_with_nothing(payload):
    """Nothing is allowed or changed, with the id and the session of the request."""
    raw = {"type": "callback.request", "id": "cb", "session_id": "s", "payload": payload}
    expected = {"type": "callback.response", "id": "cb", "session_id": "s", "payload": {}}
    assert control.safe_reply(raw) == expected


@each(("message", "identity"), [({"id": 3}, 3), ("junk", None)])
def test_a_message_to_an_unknown_server_is_an_error_there(message, identity):
    """The protocol inside has errors of its own."""
    reply = control.safe_reply(asked("mcp_message", server_name="x", message=message))
    inner = body_of(reply)["mcp_response"]
    assert (inner["id"], inner["error"]["code"]) == (identity, -32601)


@each("subtype", ["hook_callback", "something_new", ""])
def test_an_unknown_request_is_refused(subtype):
    """An unanswered one would park the turn for ever."""
    response = control.safe_reply(asked(subtype))["response"]
    assert (response["subtype"], response["error_code"]) == ("error", "unsupported_request")


@each(
    "raw",
    [
        *(asked(subtype) for subtype in control.LEFT_OPEN),
        asked("can_use_tool", request_id=None),
        {},
        {"request": 3},
    ],
)
def test_some_must_stay_unanswered(raw):
    """Requests for another host, and those without an id to answer to."""
    assert control.safe_reply(raw) is None


# Answers to requests for permission.


def test_a_yes_has_the_input_the_changes_and_the_use():
    """Whatever may be missing is left out: null is refused."""
    rules = [{"toolName": "Bash", "ruleContent": None}, "junk"]
    update = {"type": "addRules", "rules": rules, "destination": None}
    raw = asked("can_use_tool", tool_use_id="t", input={"a": 1})
    assert body_of(control.allow_reply(raw, {"a": 2}, [update])) == {
        "behavior": "allow",
        "updatedInput": {"a": 2},
        "updatedPermissions": [{"type": "addRules", "rules": [{"toolName": "Bash"}, "junk"]}],
        "toolUseID": "t",
    }
    bare = body_of(control.allow_reply(asked("can_use_tool"), {}))
    assert bare == {"behavior": "allow", "updatedInput": {}}


@each("interrupt", [True, False])
def test_a_no_says_why_and_whether_to_stop(interrupt):
    """The older form has no word for stopping; there the turn is interrupted by a request."""
    plain = {"behavior": "deny", "message": "because"}
    told = {**plain, "interrupt": True} if interrupt else plain
    assert body_of(control.deny_reply(asked("can_use_tool"), "because", interrupt)) == told
    assert body_of(control.deny_reply(CALLBACK, "because", interrupt)) == plain


def test_the_older_form_has_its_own_spelling():
    """A callback gets snake_case, and a list of changes even if there are none."""
    assert body_of(control.allow_reply(CALLBACK, {"a": 1})) == {
        "behavior": "allow",
        "updated_input": {"a": 1},
        "updated_permissions": [],
    }


# Requests that we fail to serve.


def hook(event):
    """A hook that the CLI calls."""
    return asked("hook_callback", input={"hook_event_name": event})


@each(
    ("raw", "keys"),
    [
        (asked("can_use_tool"), ["behavior"]),
        (CALLBACK, ["behavior"]),
        (hook("PreToolUse"), ["hookSpecificOutput", "permissionDecision"]),
        (hook("PermissionRequest"), ["hookSpecificOutput", "decision", "behavior"]),
    ],
)
def test_what_we_fail_to_serve_lets_nothing_through(raw, keys):
    """An error would count as consent, so the answer is a no in the right form."""
    value = body_of(control.failed_reply(raw, "r"))
    for key in keys:
        value = value[key]
    assert value == "deny"


@each("raw", [hook("Stop"), asked("hook_callback", input=3), asked("mcp_message")])
def test_what_decides_nothing_is_answered_with_an_error(raw):
    """There is nothing that it would let through."""
    answer = control.failed_reply(raw, "r")["response"]
    assert (answer["subtype"], answer["request_id"]) == ("error", "r")
    assert "error_code" not in answer


def test_what_we_fail_to_serve_in_the_older_form_is_answered_in_kind():
    """With nothing, where there is nothing to decide."""
    raw = {**CALLBACK, "payload": {"callback_type": "x"}}
    assert body_of(control.failed_reply(raw, "cb")) == {}
