"""What a hook may return as a dict, and what of it goes out."""

from __future__ import annotations

import json
import types
import warnings

import pytest
from hook_answers import refusal, specific
from hypothesis import given
from hypothesis import strategies as st

from claude_sync import hooks
from claude_sync.errors import UsageError
from claude_sync.hook_events import HOOK_EVENTS
from claude_sync.hooks import hook_output


def test_a_dict_goes_out_as_it_is():
    """With the name of the event filled in, keywords renamed, and None left out."""
    returned = {
        "continue_": True,
        "systemMessage": "m",
        "reason": None,
        "hookSpecificOutput": {"permissionDecision": "deny", "additionalContext": None},
    }
    assert hook_output("PreToolUse", returned) == {
        "continue": True,
        "systemMessage": "m",
        **specific("PreToolUse", permissionDecision="deny"),
    }
    assert "continue_" in returned


def test_work_in_the_background_is_announced():
    """Both spellings of async."""
    wanted = {"async": True, "asyncTimeout": 5}
    assert hook_output("PostToolUse", {"async_": True, "async_timeout": 5}) == wanted
    assert hook_output("PostToolUse", wanted) == wanted


def test_any_mapping_will_do():
    """Also one that cannot be changed; tuples become lists."""
    output = {"hookSpecificOutput": types.MappingProxyType({"watchPaths": ("a", "b")})}
    assert hook_output("CwdChanged", types.MappingProxyType(output)) == specific(
        "CwdChanged", watchPaths=["a", "b"]
    )


def test_keys_of_later_clis_pass():
    """What is no known key, nor like one, may be one that comes."""
    returned = {"newThing": 1, "hookSpecificOutput": {"otherThing": 2}}
    assert hook_output("Stop", returned) == {"newThing": 1, **specific("Stop", otherThing=2)}


@pytest.mark.parametrize(
    ("returned", "right"),
    [
        ({"hook_specific_output": {}}, "hookSpecificOutput"),
        ({"system_message": "x"}, "systemMessage"),
        ({"suppress_output": True}, "suppressOutput"),
        ({"stop_reason": "x"}, "stopReason"),
        ({"decison": "block"}, "decision"),
        ({"hookSpecificOutput": {"permission_decision": "deny"}}, "permissionDecision"),
        ({"hookSpecificOutput": {"permissionDecison": "deny"}}, "permissionDecision"),
        ({"hookSpecificOutput": {"PermissionDecision": "deny"}}, "permissionDecision"),
        ({"hookSpecificOutput": {"additional_context": "x"}}, "additionalContext"),
        ({"hookSpecificOutput": {"updated_input": {}}}, "updatedInput"),
        ({"hookSpecificOutput": {"hook_event_name": "x"}}, "hookEventName"),
    ],
)
def test_a_misspelled_key_is_refused(returned, right):
    """The CLI ignores it, and with it a deny."""
    assert f"Write {right!r}" in refusal("PreToolUse", returned)


@pytest.mark.parametrize(
    ("returned", "where"),
    [
        ({"permissionDecision": "deny"}, "inside hookSpecificOutput"),
        ({"additionalContext": "x"}, "inside hookSpecificOutput"),
        ({"behavior": "deny"}, "inside hookSpecificOutput.decision"),
        ({"hookSpecificOutput": {"continue_": False}}, "beside hookSpecificOutput"),
        ({"hookSpecificOutput": {"systemMessage": "x"}}, "beside hookSpecificOutput"),
    ],
)
def test_a_key_in_the_wrong_place_is_refused(returned, where):
    """The CLI ignores it there."""
    assert f"It belongs {where}" in refusal("PreToolUse", returned)


@pytest.mark.parametrize(
    ("event", "returned", "part"),
    [
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "Deny"}}, "mean 'deny'"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "block"}}, "allow, deny"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": True}}, "a str"),
        ("PreToolUse", {"hookSpecificOutput": {"hookEventName": "PostToolUse"}}, "Leave"),
        ("PreToolUse", {"hookSpecificOutput": "deny"}, "a dict"),
        ("Stop", {"decision": "deny"}, "block, approve"),
        ("Stop", {"decision": "block", "reason": 3}, "a str"),
        ("Stop", {"continue": "no"}, "True or False"),
        ("Stop", {"continue": 0}, "True or False"),
        ("Stop", {"asyncTimeout": True}, "a number"),
        ("Stop", {"continue": True, "continue_": False}, "Give it once"),
        ("CwdChanged", {"hookSpecificOutput": {"watchPaths": "a"}}, "a list"),
        ("PermissionRequest", {"hookSpecificOutput": {"decision": "deny"}}, "a dict"),
        ("PermissionRequest", {"hookSpecificOutput": {"decision": {}}}, "allow, deny"),
        (
            "PermissionRequest",
            {"hookSpecificOutput": {"decision": {"behavior": "allow", "updated_input": {}}}},
            "updatedInput",
        ),
    ],
)
def test_a_value_that_the_cli_refuses_is_refused_here(event, returned, part):
    """There it would take the rest of the answer with it."""
    assert part in refusal(event, returned)


@pytest.mark.parametrize(
    ("event", "returned"),
    [
        ("PermissionRequest", {"decision": "block", "reason": "no"}),
        ("Notification", {"decision": "block"}),
        ("UserPromptSubmit", {"hookSpecificOutput": {"permissionDecision": "deny"}}),
        ("PreToolUse", {"hookSpecificOutput": {"decision": {"behavior": "deny"}}}),
    ],
)
def test_a_decision_in_the_form_of_another_event_is_refused(event, returned):
    """The CLI does not look at it."""
    assert "ignores for this event" in refusal(event, returned)


def test_old_and_new_forms_of_a_decision_pass():
    """Both are understood by the CLI."""
    blocked = {"decision": "block", "reason": "no"}
    assert hook_output("PreToolUse", blocked) == blocked
    assert hook_output("Tomorrow", blocked) == blocked
    allowed = {"decision": {"behavior": "allow", "updatedPermissions": []}}
    assert hook_output("PermissionRequest", {"hookSpecificOutput": allowed}) == specific(
        "PermissionRequest", **allowed
    )


@pytest.mark.parametrize(
    "returned", [True, False, 0, 1, "", "deny", "block", [], (), b"", object(), hooks, 1.5]
)
def test_nonsense_is_not_taken_for_nothing(returned):
    """What is no answer is an error, and so a block where it matters."""
    assert "must be None" in refusal("PreToolUse", returned)


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), b"x", {1: 2}])
def test_what_has_no_json_form_is_refused(value):
    """The place is named."""
    assert "updatedInput" in refusal("PreToolUse", {"hookSpecificOutput": {"updatedInput": value}})


def test_a_dict_that_holds_itself_is_refused():
    """It has no end."""
    returned = {}
    returned["x"] = returned
    assert "nested too deeply" in refusal("PreToolUse", returned)


def test_a_coroutine_is_refused_quietly():
    """It is closed: nobody will await it."""

    async def answer():
        return {}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "must be None" in refusal("PreToolUse", answer())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
WORDS = st.sampled_from(
    [
        *("decision", "continue_", "reason", "behavior", "permissionDecision", "hookEventName"),
        *("hookSpecificOutput", "updatedInput", "permission_decision", "x"),
    ]
)
CHOICES = st.sampled_from(["allow", "deny", "block", "approve", "PreToolUse"]) | JSON
ANSWERS = st.dictionaries(WORDS, CHOICES | st.dictionaries(WORDS, CHOICES, max_size=4), max_size=4)


@given(st.sampled_from([*HOOK_EVENTS, "Tomorrow"]), ANSWERS | JSON)
def test_any_answer_is_sent_or_refused(event, returned):
    """There is nothing between JSON and a UsageError."""
    try:
        output = hook_output(event, returned)
    except UsageError as error:
        assert event in str(error) or "cannot be sent" in str(error)
    else:
        json.dumps(output, allow_nan=False)
        assert output.get("hookSpecificOutput", {}).get("hookEventName", event) == event


@given(st.sampled_from(["deny", "Deny", "no", None, 3]), st.booleans())
def test_a_deny_goes_out_or_is_an_error(value, is_nested):
    """It never vanishes: a word that is not a decision does not pass for silence."""
    inner = {"permissionDecision": value}
    returned = {"hookSpecificOutput": inner} if is_nested else inner
    try:
        output = hook_output("PreToolUse", returned)
    except UsageError:
        return
    assert value is None or output["hookSpecificOutput"]["permissionDecision"] == "deny"
