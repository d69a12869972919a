"""Callbacks in the forms of both sides: permissions and hooks."""

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
    assert made.hooks(hooks)["PreToolUse"] == [{}, {"matcher": "Bash"}]
    return made


def hook(tool="Bash", event="PreToolUse", **more):
    """A hook that is called."""
    about = {"tool_name": tool, "tool_input": {}}
    return {"callback_type": "hook", "hook_event": event, "hook_input": about, **more}


def success(body):
    """A success of the client."""
    return {"subtype": "success", "response": body}


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
    assert forms.answer("cb", success(body)) == (
        {
            "continue": False,
            "system_message": "m",
            "hook_specific_output": {"hookEventName": "x"},
        },
        False,
    )
    forms.request("cb", hook())
    assert forms.answer("cb", {"subtype": "error", "error": "failed"}) == ({}, False)


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
    assert forms.answer("cb", success(yes))[0] == {
        "behavior": "allow",
        "updated_input": {"a": 1},
        "updated_permissions": [{"type": "x"}],
    }
    forms.request("cb", payload)
    assert forms.answer("cb", success(None))[0]["behavior"] == "deny"
    assert forms.answer("cb", success(yes)) is None


def test_safe_answers_let_nothing_through(forms):
    """For each kind there is one, once, and only for what was answered."""
    forms.request("a", {"callback_type": "can_use_tool", "tool_name": "Bash"})
    forms.request("c", hook())
    forms.request("d", hook(event="Stop"))
    assert forms.safe_answer("a", "bad") is None
    for identity in "acd":
        forms.answer(identity, success({}))
    assert forms.safe_answer("a", "bad")["behavior"] == "deny"
    blocked = forms.safe_answer("c", "bad")["hook_specific_output"]
    assert blocked["permissionDecision"] == "deny"
    assert forms.safe_answer("d", "bad") == {}
    assert forms.safe_answer("d", "bad") is None


def test_only_so_many_answers_are_remembered(forms):
    """A long session keeps nothing that grows."""
    for number in range(REMEMBERED + 5):
        forms.request(str(number), {"callback_type": "can_use_tool", "tool_name": "Bash"})
        forms.answer(str(number), success({}))
    assert len(forms.answered) == REMEMBERED


def test_a_withdrawn_callback_is_open_no_more(forms):
    """It is withdrawn once."""
    forms.request("cb", hook())
    assert forms.withdraw("cb")
    assert not forms.withdraw("cb")
