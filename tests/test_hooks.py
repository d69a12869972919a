"""What a hook answers, and what the CLI gets to see of it."""

from __future__ import annotations

import pickle

import pytest
from hook_answers import refusal, specific

from claude_sync import hooks
from claude_sync.errors import UsageError
from claude_sync.hook_events import HOOK_EVENTS, parse_hook_event
from claude_sync.hooks import BLOCKING_EVENTS, HookDecision, failed_hook_output, hook_output

BLOCKED_BY_DECISION = [
    *("UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure"),
    *("PostToolBatch", "Stop", "SubagentStop", "PreCompact", "ConfigChange"),
    *("TaskCreated", "TaskCompleted", "TeammateIdle"),
]
WITH_CONTEXT = [
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"),
    *("UserPromptExpansion", "Stop", "SubagentStop", "SubagentStart", "SessionStart", "Setup"),
    *("PostModelSwitch", "Notification"),
]


def tool_event(**tool_input):
    """A tool is about to run."""
    return parse_hook_event({"hook_event_name": "PreToolUse", "tool_input": tool_input}, None, None)


# Words.


def test_nothing_to_say():
    """None lets things take their course."""
    assert hook_output("PreToolUse", None) == {}


@pytest.mark.parametrize("event", ["PreToolUse", "PreModelSwitch"])
def test_a_verdict_before_something_happens(event):
    """Block, allow and ask are permission decisions there."""
    assert hook_output(event, hooks.block("no")) == specific(
        event, permissionDecision="deny", permissionDecisionReason="no"
    )
    assert hook_output(event, hooks.allow()) == specific(event, permissionDecision="allow")
    assert hook_output(event, hooks.ask("sure?")) == specific(
        event, permissionDecision="ask", permissionDecisionReason="sure?"
    )


def test_a_verdict_on_a_request_for_permission():
    """It has a behavior there; to ask is what the CLI does anyway."""
    event = "PermissionRequest"
    assert hook_output(event, hooks.block("no")) == specific(
        event, decision={"behavior": "deny", "message": "no"}
    )
    assert hook_output(event, hooks.allow("yes", {"a": 1})) == specific(
        event, decision={"behavior": "allow", "updatedInput": {"a": 1}}
    )
    assert hook_output(event, hooks.allow()) == specific(event, decision={"behavior": "allow"})
    assert "Return None" in refusal(event, hooks.ask())
    assert "hooks.allow(updated_input=...)" in refusal(event, hooks.update_input({"a": 1}))


@pytest.mark.parametrize("event", [*BLOCKED_BY_DECISION, "EventOfTomorrow"])
def test_most_events_are_blocked_by_a_decision(event):
    """So are those of later CLIs."""
    assert hook_output(event, hooks.block("no")) == {"decision": "block", "reason": "no"}


@pytest.mark.parametrize(
    "event", sorted(set(HOOK_EVENTS) - {*BLOCKED_BY_DECISION, *BLOCKING_EVENTS, "PreModelSwitch"})
)
def test_what_cannot_be_blocked_says_so(event):
    """The CLI would ignore it; the events that can be blocked are named."""
    said = refusal(event, hooks.block("no"))
    assert f"means nothing for the event {event}" in said
    assert "UserPromptSubmit" in said


@pytest.mark.parametrize("decision", [hooks.allow(), hooks.ask()])
@pytest.mark.parametrize("event", ["Stop", "Notification", "EventOfTomorrow"])
def test_only_what_asks_can_be_allowed(event, decision):
    """Elsewhere there is nothing to allow."""
    assert "PreToolUse" in refusal(event, decision)


@pytest.mark.parametrize("event", [*WITH_CONTEXT, "EventOfTomorrow"])
def test_context_is_added_where_the_event_takes_it(event):
    """With the name of the event, without which the CLI refuses it."""
    assert hook_output(event, hooks.add_context("note")) == specific(
        event, additionalContext="note"
    )


@pytest.mark.parametrize("event", sorted(set(HOOK_EVENTS) - set(WITH_CONTEXT)))
def test_context_that_would_be_ignored_is_refused(event):
    """The events that take it are named."""
    assert "SessionStart" in refusal(event, hooks.add_context("note"))


def test_the_input_is_changed_without_allowing():
    """Whether the tool may run is still decided as usual."""
    event = tool_event(command="rm x", description="d")
    whole = {"command": "ls", "description": "d"}
    for decision in (
        hooks.update_input(event, command="ls"),
        hooks.update_input(whole),
        hooks.update_input({"description": "d"}, command="ls"),
    ):
        assert hook_output("PreToolUse", decision) == specific("PreToolUse", updatedInput=whole)
    assert event.tool_input["command"] == "rm x"


def test_the_input_is_changed_and_allowed():
    """Both in one answer."""
    expected = specific("PreToolUse", updatedInput={"a": 1}, permissionDecision="allow")
    assert hook_output("PreToolUse", hooks.allow(updated_input={"a": 1})) == expected
    assert hook_output("PreToolUse", hooks.update_input({"a": 1}) | hooks.allow()) == expected


@pytest.mark.parametrize("event", ["PostToolUse", "PreModelSwitch", "EventOfTomorrow"])
def test_only_tools_have_an_input(event):
    """Elsewhere there is none to change."""
    assert "PreToolUse and PermissionRequest" in refusal(event, hooks.update_input({"a": 1}))


def test_an_input_is_kept_as_it_was():
    """What the handler does to its dict later does not count."""
    given_input = {"list": [1]}
    decision = hooks.update_input(given_input)
    given_input["list"].append(2)
    assert hook_output("PreToolUse", decision) == specific("PreToolUse", updatedInput={"list": [1]})


@pytest.mark.parametrize("event", ["PostToolUse", "UserPromptSubmit", "Notification", "Tomorrow"])
def test_a_turn_is_stopped(event):
    """With the reason for the user."""
    assert hook_output(event, hooks.stop("enough")) == {"continue": False, "stopReason": "enough"}


def test_a_tool_does_not_run_when_the_turn_is_stopped():
    """The CLI alone would run it first."""
    assert hook_output("PreToolUse", hooks.stop("enough")) == {
        "continue": False,
        "stopReason": "enough",
        **specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="enough"),
    }
    assert hook_output("PermissionRequest", hooks.stop("enough") | hooks.allow()) == {
        "continue": False,
        "stopReason": "enough",
        **specific(
            "PermissionRequest",
            decision={"behavior": "deny", "message": "enough", "interrupt": True},
        ),
    }
    both = hook_output("PreToolUse", hooks.stop("enough") | hooks.block("no"))
    assert both["hookSpecificOutput"]["permissionDecisionReason"] == "no"


@pytest.mark.parametrize("event", [*HOOK_EVENTS, "EventOfTomorrow"])
def test_every_event_takes_words_for_the_user(event):
    """And can be kept out of the transcript."""
    assert hook_output(event, hooks.system_message("hello") | hooks.suppress_output()) == {
        "systemMessage": "hello",
        "suppressOutput": True,
    }


@pytest.mark.parametrize("make", [hooks.block, hooks.add_context, hooks.stop, hooks.system_message])
@pytest.mark.parametrize("text", [None, "", "  ", 3, b"x"])
def test_words_are_texts(make, text):
    """A reason that says nothing is none."""
    with pytest.raises(UsageError, match="not blank"):
        make(text)


def test_impossible_arguments_are_refused():
    """At the place where they are written."""
    for call in (
        lambda: hooks.allow(3),
        lambda: hooks.ask(""),
        lambda: hooks.allow(updated_input="ls"),
        lambda: hooks.update_input("ls"),
        lambda: hooks.update_input({"a": object()}),
        lambda: hooks.update_input({"a": float("nan")}),
        lambda: hooks.update_input(tool_event(command="ls")),
        lambda: hooks.combine(hooks.allow(), {}),
    ):
        with pytest.raises(UsageError):
            call()


# Combinations.


def test_the_stricter_verdict_wins():
    """Block before ask before allow, in any order, with its own reason."""
    for one, other in ((hooks.block("no"), hooks.allow("yes")), (hooks.allow(), hooks.block("no"))):
        assert (one | other).verdict == "block"
        assert (one | other).reason == "no"
    assert (hooks.ask("a") | hooks.allow("b")).reason == "a"
    assert (hooks.allow() | hooks.add_context("c")).verdict == "allow"


def test_texts_are_joined():
    """Each is said once."""
    both = hooks.add_context("a") | hooks.add_context("b") | hooks.add_context("a\nb")
    assert both.context == "a\nb"
    assert (hooks.block("a") | hooks.block("b")).reason == "a\nb"


def test_all_of_several():
    """combine() is the same as |, and takes None."""
    one, other = hooks.block("no"), hooks.system_message("x")
    assert hooks.combine(one, None, other) == one | other
    assert hook_output("Stop", hooks.combine()) == {}


def test_two_inputs_contradict_each_other():
    """The same one twice does not."""
    with pytest.raises(UsageError, match="different inputs"):
        hooks.update_input({"a": 1}) | hooks.update_input({"a": 2})
    same = hooks.update_input({"a": 1}) | hooks.update_input({"a": 1})
    assert same.updated_input == {"a": 1}


def test_a_blocked_tool_needs_no_input():
    """It does not run."""
    output = hook_output("PreToolUse", hooks.update_input({"a": 1}) | hooks.block("no"))
    assert "updatedInput" not in output["hookSpecificOutput"]


def test_a_decision_can_be_read():
    """Its repr shows what it is; it compares and pickles."""
    decision = hooks.block("no") | hooks.suppress_output()
    assert repr(decision) == "<HookDecision block, reason='no', suppress_output=True>"
    assert repr(HookDecision()) == "<HookDecision nothing>"
    assert pickle.loads(pickle.dumps(decision)) == decision
    with pytest.raises(TypeError):
        decision | {}


# Failures.


def test_a_hook_that_fails_blocks():
    """Where something is about to happen; elsewhere there is nothing to block."""
    assert failed_hook_output("PreToolUse", "it raised") == specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason="it raised"
    )
    assert failed_hook_output("PermissionRequest", "") == specific(
        "PermissionRequest", decision={"behavior": "deny", "message": "a hook failed"}
    )
    for event in set(HOOK_EVENTS) - set(BLOCKING_EVENTS):
        assert failed_hook_output(event, "it raised") is None
