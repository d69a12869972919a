"""Hooks and functions of a front end: what it is told, and what its answers do."""

from __future__ import annotations

import json
import threading

import bridge_scripts as scripts
import pytest
from stand_in_requests import StandInRequest

from claude_sync.bridge.callbacks import (
    Callbacks,
    HookCallback,
    PermissionCallback,
    ToolCallback,
)
from claude_sync.bridge.options import Policy, check_updates
from claude_sync.errors import UsageError
from claude_sync.tools import ToolContext

HOOKS = {"PreToolUse": [{"matcher": "Bash", "id": "mine"}, {"matcher": "Write|Edit"}]}
CALL = '[[tool mcp__claude_sync__weather {"city": "Oslo"}]]'
WEATHER = {
    "name": "weather",
    "description": "Tells the weather.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def check(updates):
    """What a front end that is not trusted may change of the rules."""
    return check_updates(updates, Policy())


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
    assert (payload["tool_use_id"], payload["hook_id"]) == ("toolu_7", "mine")
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


def test_a_hook_blocks_with_a_decision(front_end):
    """decision and reason are what the CLI reads; the second hook has no id."""
    front = front_end(scripts.calls_hooks, settings={"hook": "hook_1"})
    session_id = front.create("go", options={"hooks": HOOKS})
    asked = front.callback(session_id)
    assert "hook_id" not in asked["payload"]
    answer = {"decision": "block", "reason": "no"}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    assert hook_reply(front, session_id)["reply"] == answer


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


@pytest.mark.parametrize("name", ["updatedPermissions", "updated_permissions"])
def test_a_hook_cannot_allow_what_options_may_not(name):
    """A hook about permissions may change the rules, as far as any answer may."""

    def answer(mode):
        callback = HookCallback("a", {}, threading.Event(), "PermissionRequest", check)
        updates = [{"type": "setMode", "mode": mode, "destination": "session"}]
        decision = {"behavior": "allow", name: updates}
        callback.read({"hook_specific_output": {"decision": decision}})()
        return callback.wait()["hookSpecificOutput"]["decision"]["updatedPermissions"]

    assert answer("acceptEdits")[0]["mode"] == "acceptEdits"
    with pytest.raises(UsageError, match="--trust-client"):
        answer("bypassPermissions")


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


def test_a_hook_may_have_less_time(front_end):
    """Its own timeout counts, if it is shorter than that of all callbacks."""
    front = front_end(scripts.calls_hooks)
    hooks = {"PreToolUse": [{"timeout": 0.2}]}
    session_id = front.create("go", options={"hooks": hooks})
    assert "0.2 s" in front.error(code="CALLBACK_TIMEOUT")["message"]
    assert hook_reply(front, session_id)["reply"] == {}


def test_a_hook_that_the_cli_withdraws_is_cancelled(front_end):
    """With extensions that is told; the answer then finds no callback."""
    front = front_end(scripts.calls_hooks, settings={"cancel": True})
    session_id = front.create("go", options={"hooks": HOOKS}, extensions=True)
    asked = front.callback(session_id)
    front.send("session.interrupt", session_id=session_id)
    cancelled = front.nth("callback.cancelled", session_id)
    assert cancelled["id"] == asked["id"]
    front.send("callback.response", {}, session_id=session_id, id=asked["id"])
    front.error(code="CALLBACK_NOT_FOUND", id=asked["id"])


def test_a_session_with_an_open_hook_can_be_killed(front_end):
    """Nobody waits for an answer that nobody wants."""
    front = front_end(scripts.calls_hooks)
    session_id = front.create("go", options={"hooks": HOOKS})
    front.callback(session_id)
    assert front.answer(front.send("session.kill", session_id=session_id))["type"] == (
        "session.killed"
    )


def test_a_function_of_the_front_end_is_called(front_end):
    """Claude calls it as any tool; what the front end answers is its result."""
    front = front_end()
    session_id = front.create(CALL, options={"tools": [WEATHER]})
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert (payload["callback_type"], payload["tool_name"]) == ("tool", "weather")
    assert payload["tool_input"] == {"city": "Oslo"}
    answer = {"content": "snow and more snow"}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    front.result(session_id)
    assert "snow and more snow" in json.dumps(front.said(session_id))


def test_a_function_can_fail(front_end):
    """Claude reads what went wrong."""
    front = front_end()
    session_id = front.create(CALL, options={"tools": [WEATHER]})
    asked = front.callback(session_id)
    answer = {"content": [{"type": "text", "text": "no such city"}], "is_error": True}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    front.result(session_id)
    assert "no such city" in json.dumps(front.said(session_id))


def test_a_function_that_never_answers_has_failed(front_end):
    """Claude reads that; the front end is told."""
    front = front_end(callback_timeout=0.2)
    session_id = front.create(CALL, options={"tools": [WEATHER]})
    asked = front.callback(session_id)
    front.error(code="CALLBACK_TIMEOUT", id=asked["id"])
    front.result(session_id)
    assert "did not answer in time" in json.dumps(front.said(session_id))


# Without a session.


def test_a_callback_is_closed_once():
    """Whoever is first has it; then there is none of that id."""
    callbacks = Callbacks()
    callback = ToolCallback("a", {}, ToolContext())
    callbacks.add(callback)
    assert callbacks.get("a") is callback
    assert callbacks.all() == [callback]
    assert callbacks.close(callback)
    assert not callbacks.close(callback)
    assert callbacks.get("a") is callbacks.get(None) is None


def test_reading_an_answer_gives_nothing_away():
    """Only what read() returned does: an answer may come too late."""
    request = StandInRequest("Bash", {"command": "ls"})
    callback = PermissionCallback("a", {}, request, check)
    give = callback.read({"behavior": "allow"})
    assert request.decision is None
    give()
    assert request.decision == ("allow",)


@pytest.mark.parametrize("content", [None, 5, ["text"], {}])
def test_the_result_of_a_function_is_a_text_or_blocks(content):
    """Anything else is refused."""
    callback = ToolCallback("a", {}, ToolContext())
    with pytest.raises(UsageError, match="content must be"):
        callback.read({"content": content})


def test_a_withdrawn_callback_has_no_answer():
    """The thread that waits for it goes on with None."""
    cancelled = threading.Event()
    callback = HookCallback("a", {}, cancelled, "Stop", check)
    cancelled.set()
    assert callback.wait() is None


def test_structured_content_is_an_object():
    """It goes to the CLI as it is; anything else is refused."""
    callback = ToolCallback("a", {}, ToolContext())
    with pytest.raises(UsageError, match="structured_content must be"):
        callback.read({"content": "x", "structured_content": [1]})
    callback.read({"content": "x", "structured_content": {"a": 1}})()
    assert callback.wait()["structuredContent"] == {"a": 1}


@pytest.mark.parametrize(
    "wrong",
    [{}, {"progress": True}, {"progress": 1, "total": "2"}, {"progress": 1, "message": 5}],
    ids=json.dumps,
)
def test_progress_is_a_number(wrong):
    """Anything else is refused, and so is the progress of what is no tool."""
    with pytest.raises(UsageError, match="must be a"):
        ToolCallback("a", {}, ToolContext()).read_progress(wrong)
    with pytest.raises(UsageError, match="only a tool"):
        HookCallback("a", {}, threading.Event(), "Stop", check).read_progress({"progress": 1})


def test_the_progress_of_a_tool_reaches_the_cli(front_end):
    """In order, and before the result; what comes after that, or for nobody, is no error."""
    front = front_end(scripts.follows_a_tool)
    session_id = front.create("go", options={"tools": [WEATHER]})
    asked = front.callback(session_id)
    about = {"session_id": session_id, "id": asked["id"]}
    front.send("callback.progress", {"progress": 1}, **about)
    front.send("callback.progress", {"progress": 2, "total": 2, "message": "nearly"}, **about)
    front.send("callback.response", {"content": "snow"}, **about)
    front.send("callback.progress", {"progress": 3}, **about)
    front.send("callback.progress", {"progress": 3}, id="nobody")
    told = json.loads(front.result(session_id)["result"])
    assert told == [
        {"progressToken": "p-1", "progress": 1},
        {"progressToken": "p-1", "progress": 2, "total": 2, "message": "nearly"},
        {"content": [{"type": "text", "text": "snow"}], "isError": False},
    ]
    assert front.call(session_id, "supportedModels")["success"]
    assert not [message for message in front.read if message["type"] == "error"]


def test_what_is_no_progress_is_refused(front_end):
    """An INVALID_MESSAGE, and the callback stays open."""
    front = front_end()
    session_id = front.create(CALL, options={"tools": [WEATHER]})
    asked = front.callback(session_id)
    message = {"type": "callback.progress", "id": asked["id"], "payload": {"progress": "half"}}
    front.send_raw(json.dumps(message).encode() + b"\n")
    assert "progress must be" in front.error(id=asked["id"], code="INVALID_MESSAGE")["message"]
    front.send("callback.response", {"content": "snow"}, session_id=session_id, id=asked["id"])
    assert "snow" in front.result(session_id)["result"]


def test_the_cli_hears_what_a_tool_is_like(front_end):
    """Hints, title and limit are in the list of tools."""
    front = front_end(scripts.tells_how_it_was_started)
    tool = {
        **WEATHER,
        "title": "Weather",
        "annotations": {"readOnlyHint": True},
        "max_result_chars": 1000,
    }
    session_id = front.create("go", options={"tools": [tool]})
    greeting = json.loads(front.result(session_id)["result"])["greeting"]
    (listed,) = greeting["sdkMcpServerManifests"]["claude_sync"]["toolsListResult"]["tools"]
    assert listed["annotations"] == {"readOnlyHint": True, "title": "Weather"}
    assert listed["title"] == "Weather"
    assert listed["_meta"]["anthropic/maxResultSizeChars"] == 1000
