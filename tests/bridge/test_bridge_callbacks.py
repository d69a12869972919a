"""Hooks of a front end: what it is told, and what its answers do."""

from __future__ import annotations

import json

import bridge_scripts as scripts

HOOKS = {"PreToolUse": [{"matcher": "Bash"}, {"matcher": "Write|Edit"}]}


def hook_reply(front, session_id):
    """What the CLI was answered."""
    return json.loads(front.result(session_id)["result"])


def test_a_hook_is_called_and_answered(front_end):
    """callback.request has the event and its input; the answer goes over in the CLI's spelling."""
    front = front_end(scripts.calls_hooks)
    session_id = front.create("go", options={"hooks": HOOKS})
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert payload["callback_type"] == "hook"
    assert payload["hook_event"] == "PreToolUse"
    assert payload["hook_input"]["tool_input"] == {"command": "ls"}
    assert payload["tool_use_id"] == "toolu_7"
    answer = {
        "continue": True,
        "system_message": "careful",
        "hook_specific_output": {
            "hook_event_name": "PreToolUse",
            "permission_decision": "deny",
            "permissionDecisionReason": "no",
        },
    }
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    told = hook_reply(front, session_id)
    assert told["reply"] == {
        "continue": True,
        "systemMessage": "careful",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "no",
        },
    }
    matchers = [group.get("matcher") for group in told["hooks"]["PreToolUse"]]
    assert matchers == ["Bash", "Write|Edit"]
    # The CLI waits longer than this backend does.
    assert all(group["timeout"] > 300 for group in told["hooks"]["PreToolUse"])


def test_an_answer_that_the_cli_would_ignore_is_refused(front_end):
    """It would let through what was to be blocked; the callback stays open."""
    front = front_end(scripts.calls_hooks)
    session_id = front.create("go", options={"hooks": HOOKS})
    asked = front.callback(session_id)
    wrong = {"decision": "block", "hook_specific_output": {"permission_decision": "never"}}
    front.send("callback.response", wrong, session_id=session_id, id=asked["id"])
    told = front.error(code="INVALID_MESSAGE", id=asked["id"])
    assert "permissionDecision" in told["message"]
    front.send("callback.response", {}, session_id=session_id, id=asked["id"])
    assert hook_reply(front, session_id)["reply"] == {}


def test_the_answers_of_a_session_are_held_against_its_policy(front_end, tmp_path):
    """Of hooks as of permissions; folders that are not absolute begin in that of the session."""
    hooks = {"PermissionRequest": [{}]}
    front = front_end(scripts.asks_with_hooks, allow_cwd=[str(tmp_path)])
    session_id = front.create("go", cwd=tmp_path, options={"hooks": hooks})
    for number in (0, 1):
        asked = front.callback(session_id, number)
        kind = asked["payload"]["callback_type"]

        def answered(folder, kind=kind, asked=asked):
            updates = [{"type": "addDirectories", "directories": [folder]}]
            decision = {"behavior": "allow", "updatedPermissions": updates}
            of_hook = {"hook_specific_output": {"decision": decision}}
            of_permission = {"behavior": "allow", "updated_permissions": updates}
            answer = of_hook if kind == "hook" else of_permission
            front.send("callback.response", answer, session_id=session_id, id=asked["id"])

        answered("..")
        refused = front.error(id=asked["id"], code="INVALID_MESSAGE")
        assert "outside of the folders" in refused["message"]
        answered(".")
    told = front.result(session_id)["result"]
    assert told.count(json.dumps(str(tmp_path.resolve()))) == 2


def test_a_hook_that_nobody_answers_says_nothing(front_end):
    """After the time is up the CLI gets {}, and the front end is told."""
    front = front_end(scripts.calls_hooks, callback_timeout=0.2)
    session_id = front.create("go", options={"hooks": HOOKS})
    asked = front.callback(session_id)
    assert "hook" in front.error(code="CALLBACK_TIMEOUT", id=asked["id"])["message"]
    assert hook_reply(front, session_id)["reply"] == {}


# Without a session.
