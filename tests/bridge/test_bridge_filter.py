"""What a front end that is not trusted may say to a CLI."""

from __future__ import annotations

import json

import pytest

from claude_sync.bridge.settings import Filter, Policy

AGENT = {"description": "helps", "prompt": "Help."}
MODE = {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}


def check(message, **policy):
    """What passes, and what is answered."""
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    return Filter(Policy(**policy), "/").check(line)


def request(**body):
    """A request of a client."""
    return {"type": "control_request", "request_id": "r", "request": body}


def answer(body):
    """An answer of a client."""
    response = {"subtype": "success", "request_id": "r", "response": body}
    return {"type": "control_response", "response": response}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}},
        {"type": "control_cancel_request", "request_id": "r"},
        request(subtype="initialize", hooks={}, sdkMcpServers=["a"], agents={"a": AGENT}),
        request(subtype="interrupt", cancel_queued=True),
        request(subtype="mcp_message", server_name="a", message={}),
        request(subtype="set_model", model="opus"),
        request(subtype="set_permission_mode", mode="acceptEdits"),
        request(subtype="mcp_set_servers", servers={"a": {"command": "x"}}),
        answer({"behavior": "allow", "updatedPermissions": [{**MODE, "mode": "plan"}]}),
        answer({"mcp_response": {"result": {"content": [{"type": "text", "text": "x"}]}}}),
        answer({"hookSpecificOutput": {"permissionDecision": "allow"}}),
    ],
    ids=json.dumps,
)
def test_what_passes(message):
    """It is what it was, and nothing is answered."""
    assert check(message) == (message, None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"subtype": 5},
        {"subtype": "unheard_of"},
        {"subtype": "apply_flag_settings", "settings": {}},
        {"subtype": "read_file", "path": "/etc/passwd"},
        {"subtype": "update_settings", "settings": {}},
        {"subtype": "set_permission_mode", "mode": "bypassPermissions"},
        {"subtype": "initialize", "settings": {"permissions": {}}},
        {"subtype": "initialize", "agents": {"a": {**AGENT, "permissionMode": MODE["mode"]}}},
        {"subtype": "initialize", "agents": {"a": {**AGENT, "hooks": {"Stop": []}, "x": 1}}}
        | {"agents": {"a": {**AGENT, "hooks": {"Stop": [{"hooks": []}]}}}},
    ],
    ids=json.dumps,
)
def test_requests_that_do_not_pass(body):
    """They are answered in place of the CLI, with advice; a trusted front end may send them."""
    passed, told = check(request(**body))
    assert passed is None
    assert told["response"]["request_id"] == "r"
    assert "--trust-client" in told["response"]["error"]
    assert check(request(**body), trusted=True) == (request(**body), None)


@pytest.mark.parametrize(
    "body",
    [
        {"behavior": "allow", "updatedPermissions": [MODE]},
        {"behavior": "allow", "updatedPermissions": MODE},
        {"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedPermissions": [MODE]}}},
        {"a": [[{"updatedPermissions": [MODE]}]]},
    ],
    ids=json.dumps,
)
def test_answers_that_give_too_much_become_a_no(body):
    """Wherever it stands: for a permission, and for a hook."""
    passed, told = check(answer(body))
    assert told is None
    response = passed["response"]["response"]
    assert passed["response"]["request_id"] == "r"
    assert (response["behavior"], response["decision"]) == ("deny", "block")
    assert MODE["mode"] in response["message"] or "list" in response["message"]


@pytest.mark.parametrize(
    "line",
    [b"", b"no JSON", b"[]", b'{"type": "update_environment_variables"}', b'{"type": ["user"]}'],
)
def test_anything_else_is_left_out(line, caplog):
    """And logged, without what is in it."""
    assert check(line) == (None, None)
    assert "not for the CLI" in caplog.text


def test_unknown_fields_of_a_question_are_left_out():
    """Some of them may be settings, one day."""
    message = {"type": "user", "message": {"role": "user", "content": "hi"}}
    assert check({**message, "permissionMode": MODE["mode"]}) == (message, None)


def test_the_last_of_two_keys_is_what_was_looked_at():
    """The CLI gets what was parsed, and not the line."""
    line = b'{"type":"keep_alive","type":"user","message":{"role":"user","content":"hi"}}'
    passed, _ = check(line)
    assert passed["type"] == "user"


def test_folders_that_are_added_are_inside(tmp_path):
    """Relative ones begin in the folder of the session."""
    policy = Policy(folders=(str(tmp_path.resolve()),))
    filter = Filter(policy, str(tmp_path))
    updates = [{"type": "addDirectories", "directories": ["sub"]}]
    message = answer({"behavior": "allow", "updatedPermissions": updates})
    passed, _ = filter.check(json.dumps(message).encode())
    (update,) = passed["response"]["response"]["updatedPermissions"]
    assert update["directories"] == [str(tmp_path.resolve() / "sub")]
    updates[0]["directories"] = [".."]
    passed, _ = filter.check(json.dumps(message).encode())
    assert passed["response"]["response"]["behavior"] == "deny"
