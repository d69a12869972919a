"""Callbacks in the forms of both sides: permissions, hooks and functions."""

from __future__ import annotations

import pytest

from claude_sync.bridge.callback_forms import REMEMBERED, CallbackForms, matches


@pytest.fixture
def forms():
    """Those of a session with three hooks."""
    made = CallbackForms()
    entry = {"timeout": 70}
    hooks = {
        "PreToolUse": [
            {**entry, "hookCallbackIds": ["hook_0"]},
            {**entry, "hookCallbackIds": ["hook_1"], "matcher": "Bash"},
        ],
        "Stop": [{**entry, "hookCallbackIds": ["hook_2"]}],
    }
    assert made.hooks(hooks, extensions=True)["PreToolUse"] == [
        {"id": "hook_0", "timeout": 70},
        {"matcher": "Bash", "id": "hook_1", "timeout": 70},
    ]
    return made


def hook(tool="Bash", event="PreToolUse", **more):
    """A hook that is called."""
    about = {"tool_name": tool, "tool_input": {}}
    return {"callback_type": "hook", "hook_event": event, "hook_input": about, **more}


def success(body):
    """A success of the client."""
    return {"subtype": "success", "response": body}


def test_a_backend_that_says_which_hook_is_believed(forms):
    """hook_id is the id that the hook was told with."""
    request = forms.request("cb", hook(hook_id="hook_1", tool_use_id="toolu_1"))
    assert request == {
        "subtype": "hook_callback",
        "callback_id": "hook_1",
        "input": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}},
        "tool_use_id": "toolu_1",
    }


def test_without_that_the_matchers_decide(forms):
    """A call that matches two hooks comes twice, and each of them gets it once."""
    assert forms.request("a", hook("Read"))["callback_id"] == "hook_0"
    assert forms.request("b", hook("Bash", tool_use_id="x"))["callback_id"] == "hook_0"
    assert forms.request("c", hook("Bash", tool_use_id="x"))["callback_id"] == "hook_1"
    assert forms.request("d", hook("Bash", tool_use_id="y"))["callback_id"] == "hook_0"
    assert forms.request("e", hook(event="Stop"))["callback_id"] == "hook_2"
    assert forms.request("f", hook(event="SessionStart")) is None


@pytest.mark.parametrize(
    ("matcher", "subject", "expected"),
    [
        (None, "Bash", True),
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", None, True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Write|Edit", "Edit", True),
        ("mcp__.*", "mcp__a__b", True),
        ("mcp__.*", "Bash", False),
        ("(", "Bash", False),
    ],
)
def test_matchers(matcher, subject, expected):
    """Names are whole names; anything else is a pattern."""
    assert matches(matcher, subject) is expected


def test_the_answer_of_a_hook(forms):
    """Its keys in the document's spelling; an error is no answer."""
    forms.request("cb", hook())
    body = {"continue": False, "systemMessage": "m", "hookSpecificOutput": {"hookEventName": "x"}}
    assert forms.answer("cb", success(body), True) == (
        {
            "continue": False,
            "system_message": "m",
            "hook_specific_output": {"hookEventName": "x"},
        },
        False,
    )
    forms.request("cb", hook())
    assert forms.answer("cb", {"subtype": "error", "error": "failed"}, True) == ({}, False)


def test_a_permission_with_the_clis_own_words(forms):
    """What the CLI said itself is passed on, where the backend tells it."""
    own = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "display_name": "Shell"}
    payload = {"callback_type": "can_use_tool", "tool_name": "Bash", "request": own}
    assert forms.request("cb", payload) is own


def test_a_permission_in_the_documents_words(forms):
    """They are the CLI's, two of them by other names; nothing is dropped."""
    payload = {
        "callback_type": "can_use_tool",
        "tool_name": "Write",
        "tool_input": {"file_path": "/x"},
        "suggestions": [{"type": "setMode"}],
        "blocked_path": "/x",
        "agent_id": None,
    }
    assert forms.request("cb", payload) == {
        "subtype": "can_use_tool",
        "tool_name": "Write",
        "input": {"file_path": "/x"},
        "permission_suggestions": [{"type": "setMode"}],
        "blocked_path": "/x",
    }


def test_the_answer_to_a_permission(forms):
    """Yes with its changes, no with its reason; anything else is a no."""
    payload = {"callback_type": "can_use_tool", "tool_name": "Bash"}
    yes = {"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": [{"type": "x"}]}
    forms.request("cb", payload)
    assert forms.answer("cb", success(yes), False)[0] == {
        "behavior": "allow",
        "updated_input": {"a": 1},
        "updated_permissions": [{"type": "x"}],
    }
    forms.request("cb", payload)
    assert forms.answer("cb", success(None), False)[0]["behavior"] == "deny"
    assert forms.answer("cb", success(yes), False) is None


def test_a_function_is_called_as_the_cli_calls_it(forms):
    """A JSON-RPC message to the server of this program."""
    payload = {"callback_type": "tool", "tool_name": "add", "tool_input": {"a": 1}}
    request = forms.request("cb", {**payload, "tool_use_id": "toolu_1"})
    assert request["subtype"] == "mcp_message"
    assert request["server_name"] == "claude_sync"
    assert request["message"]["method"] == "tools/call"
    assert request["message"]["params"] == {
        "name": "add",
        "arguments": {"a": 1},
        "_meta": {"claudecode/toolUseId": "toolu_1", "progressToken": "cb"},
    }


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            {"result": {"content": [{"type": "text", "text": "3"}], "isError": False}},
            {"content": [{"type": "text", "text": "3"}]},
        ),
        (
            {"result": {"content": [], "isError": True}},
            {"content": [], "is_error": True},
        ),
        ({"error": {"message": "no tool"}}, {"content": "no tool", "is_error": True}),
        (None, {"content": "the tool failed", "is_error": True}),
    ],
)
def test_what_a_function_returned(forms, reply, expected):
    """Its content; a failure is told as one."""
    forms.request("cb", {"callback_type": "tool", "tool_name": "add", "tool_use_id": None})
    assert forms.answer("cb", success({"mcp_response": reply}), True) == (expected, False)


def test_safe_answers_let_nothing_through(forms):
    """For each kind there is one, once, and only for what was answered."""
    forms.request("a", {"callback_type": "can_use_tool", "tool_name": "Bash"})
    forms.request("b", {"callback_type": "tool", "tool_name": "add"})
    forms.request("c", hook())
    forms.request("d", hook(event="Stop"))
    assert forms.safe_answer("a", "bad") is None
    for identity in "abcd":
        forms.answer(identity, success({}), True)
    assert forms.safe_answer("a", "bad")["behavior"] == "deny"
    assert forms.safe_answer("b", "bad")["is_error"] is True
    blocked = forms.safe_answer("c", "bad")["hook_specific_output"]
    assert blocked["permissionDecision"] == "deny"
    assert forms.safe_answer("d", "bad") == {}
    assert forms.safe_answer("d", "bad") is None


def test_only_so_many_answers_are_remembered(forms):
    """A long session keeps nothing that grows."""
    for number in range(REMEMBERED + 5):
        forms.request(str(number), {"callback_type": "tool", "tool_name": "add"})
        forms.answer(str(number), success({}), True)
    assert len(forms.answered) == REMEMBERED


def test_a_withdrawn_callback_is_open_no_more(forms):
    """It is withdrawn once."""
    forms.request("cb", hook())
    assert forms.withdraw("cb")
    assert not forms.withdraw("cb")


def test_functions_that_are_allowed_need_no_permission(forms):
    """The others are asked for."""
    listed = [{"name": "add", "inputSchema": {}}, {"name": "sub", "inputSchema": {}}]
    manifests = {"claude_sync": {"toolsListResult": {"tools": listed}}}
    told = forms.tools(manifests, ("mcp__claude_sync__add",))
    assert [tool["ask"] for tool in told] == [False, True]
