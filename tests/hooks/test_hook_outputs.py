"""What a hook may answer, and what of it goes out."""

from __future__ import annotations

import pickle
import types

import pytest
from tables import each

from claude_sync import UsageError, hooks
from claude_sync.hooks import BLOCKING_EVENTS, HOOK_EVENTS, failed_hook_output, hook_output

LATER_EVENT = "EventOfTomorrow"
BLOCKED_BY_DECISION = [
    *("UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "PostToolUseFailure"),
    *("PostToolBatch", "Stop", "SubagentStop", "PreCompact", "ConfigChange"),
    *("TaskCreated", "TaskCompleted", "TeammateIdle", LATER_EVENT),
]
WITH_CONTEXT = [
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"),
    *("UserPromptExpansion", "Stop", "SubagentStop", "SubagentStart", "SessionStart", "Setup"),
    *("PostModelSwitch", "Notification", LATER_EVENT),
]


def specific(event, **fields):
    """An output in the form that depends on the event."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def refusal(event, returned):
    """What is said about an output that cannot be."""
    with pytest.raises(UsageError) as caught:
        hook_output(event, returned)
    return str(caught.value)


# Verbs.


@each("event", (*HOOK_EVENTS, LATER_EVENT))
def test_what_every_event_takes(event):
    """No opinion, words for the user, a place outside the transcript, the end of the turn."""
    assert hook_output(event, None) == hook_output(event, {}) == {}
    assert hook_output(event, hooks.system_message("hello") | hooks.suppress_output()) == {
        "systemMessage": "hello",
        "suppressOutput": True,
    }
    stopped = hook_output(event, hooks.stop("enough"))
    assert (stopped["continue"], stopped["stopReason"]) == (False, "enough")
    assert ("hookSpecificOutput" in stopped) == (event in BLOCKING_EVENTS)


@pytest.mark.parametrize("event", ["PreToolUse", "PreModelSwitch"])
def test_a_permission_decision(event):
    """Block, allow and ask, before something happens."""
    assert hook_output(event, hooks.block("no")) == specific(
        event, permissionDecision="deny", permissionDecisionReason="no"
    )
    assert hook_output(event, hooks.allow()) == specific(event, permissionDecision="allow")
    assert hook_output(event, hooks.ask("sure?")) == specific(
        event, permissionDecision="ask", permissionDecisionReason="sure?"
    )


def test_the_answer_to_a_request_for_permission():
    """It has a behavior; the user is asked anyway, and an input alone changes nothing."""
    event = "PermissionRequest"
    assert hook_output(event, hooks.block("no")) == specific(
        event, decision={"behavior": "deny", "message": "no"}
    )
    assert hook_output(event, hooks.allow("yes", {"a": 1})) == specific(
        event, decision={"behavior": "allow", "updatedInput": {"a": 1}}
    )
    assert hook_output(event, hooks.allow()) == specific(event, decision={"behavior": "allow"})
    assert "hooks.ask()" in refusal(event, hooks.ask())
    assert "hooks.update_input()" in refusal(event, hooks.update_input({"a": 1}))


@each("event", (*HOOK_EVENTS, LATER_EVENT))
def test_blocks_and_context_go_where_they_mean_something(event):
    """Elsewhere the CLI would ignore them."""
    if event in BLOCKED_BY_DECISION:
        assert hook_output(event, hooks.block("no")) == {"decision": "block", "reason": "no"}
        assert "hooks.allow() has no effect" in refusal(event, hooks.allow())
        assert "hooks.ask() has no effect" in refusal(event, hooks.ask())
    elif event not in (*BLOCKING_EVENTS, "PreModelSwitch"):
        assert "hooks.block() has no effect" in refusal(event, hooks.block("no"))
    if event in WITH_CONTEXT:
        added = hook_output(event, hooks.add_context("note"))
        assert added == specific(event, additionalContext="note")
    else:
        assert "hooks.add_context() has no effect" in refusal(event, hooks.add_context("note"))


def test_the_input_is_changed():
    """Whether the tool may run is still decided as usual, unless it is allowed as well."""
    event = hooks.parse_hook_event({"tool_input": {"command": "rm x", "description": "d"}})
    whole = {"command": "ls", "description": "d"}
    for decision in (
        hooks.update_input(event, command="ls"),
        hooks.update_input(whole),
        hooks.update_input({"description": "d"}, command="ls"),
    ):
        assert hook_output("PreToolUse", decision) == specific("PreToolUse", updatedInput=whole)
        both = specific("PreToolUse", permissionDecision="allow", updatedInput=whole)
        assert hook_output("PreToolUse", decision | hooks.allow()) == both
        blocked = hook_output("PreToolUse", decision | hooks.block("no"))
        assert "updatedInput" not in blocked["hookSpecificOutput"]
        for other in ("PostToolUse", "PreModelSwitch", LATER_EVENT):
            assert "hooks.update_input() has no effect" in refusal(other, decision)
    assert event.tool_input["command"] == "rm x"
    # What the handler does to its dict later does not count.
    changes = {"list": [1]}
    decision = hooks.update_input(changes)
    changes["list"].append(2)
    assert hook_output("PreToolUse", decision) == specific("PreToolUse", updatedInput={"list": [1]})


def test_a_tool_does_not_run_when_the_turn_is_stopped():
    """The CLI alone would run it first."""
    assert hook_output("PreToolUse", hooks.stop("enough")) == {
        "continue": False,
        "stopReason": "enough",
        **specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="enough"),
    }
    denied = hook_output("PermissionRequest", hooks.stop("enough") | hooks.allow())
    decision = {"behavior": "deny", "message": "enough", "interrupt": True}
    assert denied["hookSpecificOutput"]["decision"] == decision
    both = hook_output("PreToolUse", hooks.stop("enough") | hooks.block("no"))
    assert both["hookSpecificOutput"]["permissionDecisionReason"] == "no"


@each(
    "call",
    [
        lambda: hooks.block(None),
        lambda: hooks.block("  "),
        lambda: hooks.add_context(None),
        lambda: hooks.add_context(b"x"),
        lambda: hooks.stop(""),
        lambda: hooks.stop(None),
        lambda: hooks.system_message(3),
        lambda: hooks.system_message(None),
        lambda: hooks.allow(3),
        lambda: hooks.ask(""),
        lambda: hooks.allow(updated_input="ls"),
        lambda: hooks.update_input("ls"),
        lambda: hooks.update_input({"a": object()}),
        lambda: hooks.update_input({"a": float("nan")}),
        lambda: hooks.update_input(hooks.HookEvent("PreToolUse")),
        lambda: hooks.HookDecision("deny"),
        lambda: hooks.HookDecision(context=3),
        lambda: hooks.update_input({"a": 1}) | hooks.update_input({"a": 2}),
    ],
)
def test_impossible_arguments_are_refused(call):
    """At the place where they are written."""
    with pytest.raises(UsageError):
        call()


def test_decisions_combine():
    """The stricter verdict wins with its own reason; texts are joined, each once."""
    for one, other in ((hooks.block("no"), hooks.allow("yes")), (hooks.allow(), hooks.block("no"))):
        assert ((one | other).verdict, (one | other).reason) == ("block", "no")
    assert (hooks.ask("a") | hooks.allow("b")).reason == "a"
    assert (hooks.allow() | hooks.add_context("c")).verdict == "allow"
    assert (hooks.add_context("a") | hooks.add_context("b") | hooks.stop("s")).context == "a\nb"
    assert (hooks.block("a") | hooks.block("a")).reason == "a"
    same = hooks.update_input({"a": 1}) | hooks.update_input({"a": 1})
    assert same.updated_input == {"a": 1}
    both = hooks.block("no") | hooks.suppress_output()
    assert pickle.loads(pickle.dumps(both)) == both
    with pytest.raises(TypeError):
        both | {}


def test_a_hook_that_fails_blocks():
    """Where something is about to happen; elsewhere there is nothing to block."""
    assert failed_hook_output("PreToolUse", "it raised") == specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason="it raised"
    )
    assert failed_hook_output("PermissionRequest", "")["hookSpecificOutput"]["decision"]["message"]
    for event in set(HOOK_EVENTS) - set(BLOCKING_EVENTS):
        assert failed_hook_output(event, "it raised") is None


# Dicts.


def test_a_dict_goes_out_complete():
    """With the name of the event filled in, keywords renamed, None left out, tuples as lists."""
    returned = {
        "continue_": True,
        "systemMessage": "m",
        "reason": None,
        "async_": True,
        "async_timeout": 5,
        "newThing": 1,
        "hookSpecificOutput": types.MappingProxyType(
            {"watchPaths": ("a", "b"), "additionalContext": None, "otherThing": 2}
        ),
    }
    assert hook_output("CwdChanged", types.MappingProxyType(returned)) == {
        "continue": True,
        "systemMessage": "m",
        "async": True,
        "asyncTimeout": 5,
        "newThing": 1,
        **specific("CwdChanged", watchPaths=["a", "b"], otherThing=2),
    }
    assert "continue_" in returned


def test_old_and_new_forms_of_a_decision_pass():
    """The CLI understands both."""
    blocked = {"decision": "block", "reason": "no"}
    for event in ("PreToolUse", "Stop", LATER_EVENT):
        assert hook_output(event, blocked) == blocked
    allowed = {"decision": {"behavior": "allow", "updatedPermissions": []}}
    assert hook_output("PermissionRequest", {"hookSpecificOutput": allowed}) == specific(
        "PermissionRequest", **allowed
    )
    denied = {"hookSpecificOutput": {"permissionDecision": "deny", "hookEventName": "PreToolUse"}}
    assert hook_output("PreToolUse", denied) == denied


@each(
    ("event", "returned", "named"),
    [
        # Misspelled, or in the wrong place: the CLI would ignore it, and with it a deny.
        ("PreToolUse", {"hook_specific_output": {}}, "hookSpecificOutput"),
        ("PreToolUse", {"decison": "block"}, "'decision'"),
        ("PreToolUse", {"hookSpecificOutput": {"permission_decision": "deny"}}, "permissionD"),
        ("PreToolUse", {"hookSpecificOutput": {"PermissionDecision": "deny"}}, "permissionD"),
        ("PreToolUse", {"hookSpecificOutput": {"updated_input": {}}}, "updatedInput"),
        ("PreToolUse", {"permissionDecision": "deny"}, "in hookSpecificOutput"),
        ("PreToolUse", {"behavior": "deny"}, "in hookSpecificOutput.decision"),
        ("PreToolUse", {"hookSpecificOutput": {"continue_": False}}, "in the output itself"),
        # Values that it refuses with the rest of the output.
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "Deny"}}, "deny"),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": True}}, "a str"),
        ("PreToolUse", {"hookSpecificOutput": {"hookEventName": "Stop"}}, "Stop"),
        ("PreToolUse", {"hookSpecificOutput": "deny"}, "a dict"),
        ("Stop", {"decision": "deny"}, "block, approve"),
        ("Stop", {"decision": "block", "reason": 3}, "a str"),
        ("Stop", {"continue": 0}, "a bool"),
        ("Stop", {"asyncTimeout": True}, "a number"),
        ("Stop", {"continue": True, "continue_": False}, "two spellings"),
        ("CwdChanged", {"hookSpecificOutput": {"watchPaths": "a"}}, "a list"),
        ("PermissionRequest", {"hookSpecificOutput": {"decision": "deny"}}, "a dict"),
        ("PermissionRequest", {"hookSpecificOutput": {"decision": {}}}, "behavior"),
        ("PermissionRequest", {"hookSpecificOutput": {"decision": {"behavior": "ask"}}}, "deny"),
        # Decisions in the form of another event.
        ("PermissionRequest", {"decision": "block", "reason": "no"}, "for this event"),
        ("Notification", {"decision": "block"}, "for this event"),
        ("Stop", {"hookSpecificOutput": {"permissionDecision": "deny"}}, "for this event"),
        ("PreToolUse", {"hookSpecificOutput": {"decision": {"behavior": "deny"}}}, "for this"),
        # Decisions for which it does not wait.
        ("PreToolUse", {"async": True, "decision": "block"}, "'async'"),
        ("PreToolUse", {"async_": True, "continue": False}, "'async'"),
        (
            "PreToolUse",
            {"async": True, "hookSpecificOutput": {"permissionDecision": "deny"}},
            "'async'",
        ),
        # What has no JSON form.
        ("PreToolUse", {"hookSpecificOutput": {"updatedInput": {1: 2}}}, "updatedInput"),
        ("PreToolUse", {"hookSpecificOutput": {"updatedInput": {"a": b"x"}}}, "updatedInput"),
    ],
)
def test_a_dict_that_the_cli_would_not_take_as_meant(event, returned, named):
    """What is wrong is named, with the right form."""
    assert named in refusal(event, returned)


def test_a_coroutine_is_refused_quietly():
    """Python would warn that it was never awaited, and warnings are errors here."""

    async def decide():
        return {}

    assert "coroutine" in refusal("PreToolUse", decide())
    for nonsense in (True, False, 0, "", "deny", [], b""):  # nor is it taken for no opinion
        assert "None" in refusal("PreToolUse", nonsense)
