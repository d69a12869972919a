"""
What a hook can answer, in words that mean the same for every event.

::

    @client.on_hook("PreToolUse", matcher="Bash")
    def no_pushing(event):
        if "git push" in event.tool_input.get("command", ""):
            return hooks.block("pushing is not allowed here")

The wire has a form of its own for nearly every event; a handler need not know
them. ``None`` means nothing to say. Answers combine: ``hooks.allow() |
hooks.add_context("the tests are slow")``. A word that means nothing for an event is
a :exc:`UsageError`, since the CLI would ignore it.

A dict goes to the CLI as it is, after a check; see ``hook_outputs.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any, Dict, Mapping, Optional, Tuple, Union

from .errors import UsageError
from .hook_events import HOOK_EVENTS, HookEvent, parse_hook_event
from .hook_outputs import (
    CONTEXT_EVENTS,
    DECISION_EVENTS,
    PERMISSION_EVENTS,
    checked_output,
    is_known,
    listing,
)
from .hook_registrations import HookRegistration, hooks_of, make_hook
from .option_kinds import refuse
from .protocol.codec import plain_value

__all__ = [
    "BLOCKING_EVENTS",
    "HOOK_EVENTS",
    "HookDecision",
    "HookEvent",
    "HookRegistration",
    "add_context",
    "allow",
    "ask",
    "block",
    "combine",
    "failed_hook_output",
    "hook_output",
    "hooks_of",
    "make_hook",
    "parse_hook_event",
    "stop",
    "suppress_output",
    "system_message",
    "update_input",
]

#: Events before something happens: a hook of these that fails blocks it.
BLOCKING_EVENTS = ("PreToolUse", "PermissionRequest")

# From the mildest to the strictest.
VERDICTS = (None, "allow", "ask", "block")


@dataclasses.dataclass(frozen=True, repr=False)
class HookDecision:
    """
    What a hook wants; made by the functions of this module.

    Attributes:
        verdict: ``block``, ``ask``, ``allow`` or None.
        reason: Why; None where nobody said.
        updated_input: What the tool is to be called with instead, complete, or None.
        context: What Claude is to be told, or None.
        stop_reason: Why the turn is to end here; None: it goes on.
        system_message: What the user is to be told, or None.
        suppress_output: Whether the answer stays out of the transcript.

    """

    verdict: Optional[str] = None
    reason: Optional[str] = None
    updated_input: Optional[Mapping[str, Any]] = None
    context: Optional[str] = None
    stop_reason: Optional[str] = None
    system_message: Optional[str] = None
    suppress_output: bool = False

    def __post_init__(self) -> None:
        """Refuse what the CLI would ignore as a whole, a block included."""
        if self.verdict not in VERDICTS:
            raise refuse("the verdict of a HookDecision", self.verdict, "block, ask, allow or None")
        for name in ("reason", "context", "stop_reason", "system_message"):
            value = getattr(self, name)
            if value is not None:
                wanted_text(f"HookDecision({name}=...)", value)
        if self.verdict == "block" and self.reason is None:
            raise refuse("the reason of a block", None, "a str that is not blank")
        if self.updated_input is not None:
            wanted_input("HookDecision(updated_input=...)", self.updated_input)

    def __or__(self, other: HookDecision) -> HookDecision:
        """Both; of two verdicts the stricter one, with its reason."""
        if not isinstance(other, HookDecision):
            return NotImplemented
        stricter = max(self, other, key=lambda each: VERDICTS.index(each.verdict))
        reason = stricter.reason
        if self.verdict == other.verdict:
            reason = joined(self.reason, other.reason)
        return HookDecision(
            stricter.verdict,
            reason,
            one_input(self.updated_input, other.updated_input),
            joined(self.context, other.context),
            joined(self.stop_reason, other.stop_reason),
            joined(self.system_message, other.system_message),
            self.suppress_output or other.suppress_output,
        )

    def __repr__(self) -> str:
        parts = [self.verdict] if self.verdict else []
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if value is not None and value is not False:
                parts.append(f"{field.name}={value!r}")
        return f"<HookDecision {', '.join(parts) or 'nothing'}>"


def joined(one: Optional[str], other: Optional[str]) -> Optional[str]:
    """Both texts, the same one once."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return one + "\n" + other


def one_input(one: Any, other: Any) -> Any:
    """The input that either of two answers brings."""
    if one is not None and other is not None and one != other:
        raise UsageError(
            "two answers of hooks want different inputs for the same tool. Make one "
            "hooks.update_input(event, ...) with all changes."
        )
    return other if one is None else one


# What a handler returns.


def block(reason: str) -> HookDecision:
    """
    No. Claude is told *reason*.

    The tool does not run, the prompt is not put to Claude, the compaction does not
    happen (old CLIs, 2.1.29 and before, compact all the same). For Stop and SubagentStop:
    Claude goes on, with *reason* as its instruction. For what has happened already
    (PostToolUse): Claude learns *reason*.
    """
    return HookDecision("block", wanted_text("block(reason)", reason))


def allow(
    reason: Optional[str] = None, updated_input: Optional[Mapping[str, Any]] = None
) -> HookDecision:
    """
    Yes, without asking anybody; deny rules of the CLI still count.

    *updated_input* replaces the input of the tool as a whole. CLIs before 2.0 cannot do
    that: there the tool is blocked.
    """
    if reason is not None:
        wanted_text("allow(reason)", reason)
    if updated_input is not None:
        updated_input = wanted_input("allow(updated_input=...)", updated_input)
    return HookDecision("allow", reason, updated_input)


def ask(reason: Optional[str] = None) -> HookDecision:
    """
    Let the user decide, also where a rule of the CLI would allow it.

    Old CLIs (2.1.29 and before) do not ask where such a rule is: there only
    ``hooks.block()`` keeps the tool from running.
    """
    return HookDecision("ask", None if reason is None else wanted_text("ask(reason)", reason))


def update_input(base: Union[HookEvent, Mapping[str, Any]], /, **changes: Any) -> HookDecision:
    """
    Call the tool with another input; whether it may run is decided as usual.

    ``update_input(event, command="ls")`` keeps the rest of the event's input;
    ``update_input({"command": "ls"})`` replaces it as a whole. CLIs before 2.1 change the
    input only together with ``hooks.allow()``, and those before 2.0 not at all: there the
    tool is blocked, because it would run with the old input.
    """
    if isinstance(base, HookEvent):
        if not changes:
            raise UsageError(
                "hooks.update_input(event) changes nothing. Name what is to be changed, as in "
                "hooks.update_input(event, command='ls'), or pass the whole input as a dict."
            )
        base = base.tool_input
    return HookDecision(
        updated_input=wanted_input("update_input(...)", {**wanted_mapping(base), **changes})
    )


def add_context(text: str) -> HookDecision:
    """Tell Claude something, beside what happens anyway."""
    return HookDecision(context=wanted_text("add_context(text)", text))


def stop(reason: str) -> HookDecision:
    """
    End the turn here; *reason* is for the user. A tool that is about to run does not.

    Old CLIs (2.1.29 and before) do not end a turn before a tool: Claude is told that the
    tool is blocked, and why.
    """
    return HookDecision(stop_reason=wanted_text("stop(reason)", reason))


def system_message(text: str) -> HookDecision:
    """Tell the user something; Claude does not see it."""
    return HookDecision(system_message=wanted_text("system_message(text)", text))


def suppress_output() -> HookDecision:
    """Keep the answer of this hook out of the transcript."""
    return HookDecision(suppress_output=True)


def combine(*decisions: Optional[HookDecision]) -> HookDecision:
    """All of them in one; None counts as nothing. The same as ``|`` between them."""
    given = [decision for decision in decisions if decision is not None]
    for decision in given:
        if not isinstance(decision, HookDecision):
            raise refuse("each argument of hooks.combine()", decision, "an answer of hooks")
    return functools.reduce(HookDecision.__or__, given, HookDecision())


def wanted_text(what: str, value: Any) -> str:
    """*value*, if it is a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(f"the text in hooks.{what}", value, "a str that is not blank")
    return value


def wanted_mapping(value: Any) -> Mapping[str, Any]:
    """*value*, if it can be the input of a tool."""
    if not isinstance(value, Mapping):
        raise refuse(
            "hooks.update_input()",
            value,
            "called with the event and what is to be changed, or with the whole input as a dict",
        )
    return value


def wanted_input(what: str, value: Any) -> Mapping[str, Any]:
    """A copy of *value*, if it can be the input of a tool: later changes do not count."""
    if not isinstance(value, Mapping):
        raise refuse(f"the input in hooks.{what}", value, "a dict")
    copy: Mapping[str, Any] = plain_value(value, "updated_input", 0)
    return copy


# What goes over the wire.


def hook_output(event_name: str, returned: Any) -> Dict[str, Any]:
    """
    What the CLI is answered when the handler for *event_name* returned this.

    Raises:
        UsageError: It means nothing, or the CLI would ignore it.

    """
    if returned is None:
        return {}
    if isinstance(returned, HookDecision):
        return decision_output(event_name, returned)
    if isinstance(returned, Mapping):
        return checked_output(event_name, returned)
    if inspect.iscoroutine(returned):
        returned.close()  # or Python warns that nobody awaited it
    raise refuse(
        f"what the hook for {event_name} returns",
        returned,
        "None (nothing to say), one of hooks.block(), hooks.allow(), ..., or a dict",
    )


def failed_hook_output(event_name: str, text: str) -> Optional[Dict[str, Any]]:
    """The answer that blocks, for a hook that failed; None where the event has none."""
    if event_name not in BLOCKING_EVENTS:
        return None
    return decision_output(event_name, HookDecision("block", text or "a hook failed"))


def decision_output(event: str, decision: HookDecision) -> Dict[str, Any]:
    """A decision in the form that the CLI wants for this event."""
    output: Dict[str, Any] = {}
    specific: Dict[str, Any] = {}
    verdict, reason = decision.verdict, decision.reason
    stopping = decision.stop_reason is not None
    if stopping:
        output.update({"continue": False, "stopReason": decision.stop_reason})
        # By itself that ends the turn only after the tool has run.
        if event in BLOCKING_EVENTS and verdict != "block":
            verdict, reason = "block", decision.stop_reason
    if decision.system_message is not None:
        output["systemMessage"] = decision.system_message
    if decision.suppress_output:
        output["suppressOutput"] = True
    if decision.context is not None:
        if is_known(event) and event not in CONTEXT_EVENTS:
            raise meaningless("add_context", event, CONTEXT_EVENTS)
        specific["additionalContext"] = decision.context

    changed = decision.updated_input if verdict != "block" else None
    if changed is not None and event == "PermissionRequest" and verdict != "allow":
        raise UsageError(
            "hooks.update_input() alone means nothing for PermissionRequest. Return "
            "hooks.allow(updated_input=...), or change the input in a hook for PreToolUse."
        )
    if changed is not None and event not in BLOCKING_EVENTS:
        raise meaningless("update_input", event, BLOCKING_EVENTS)
    if event == "PermissionRequest":
        if verdict is not None:
            specific["decision"] = behavior_of(verdict, reason, changed, stopping)
    elif changed is not None:
        specific["updatedInput"] = dict(changed)

    if event in PERMISSION_EVENTS:
        if verdict is not None:
            specific["permissionDecision"] = "deny" if verdict == "block" else verdict
            if reason is not None:
                specific["permissionDecisionReason"] = reason
    elif event != "PermissionRequest" and verdict is not None:
        output.update(top_decision(event, verdict, reason))
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return output


def behavior_of(
    verdict: str, reason: Optional[str], changed: Optional[Mapping[str, Any]], stopping: bool
) -> Dict[str, Any]:
    """The answer to a request for permission."""
    if verdict == "ask":
        raise UsageError(
            "hooks.ask() means nothing for PermissionRequest, where the user is asked anyway. "
            "Return None."
        )
    if verdict == "allow":
        updated = {} if changed is None else {"updatedInput": dict(changed)}
        return {"behavior": "allow", **updated}
    interrupt = {"interrupt": True} if stopping else {}
    return {"behavior": "deny", "message": reason, **interrupt}


def top_decision(event: str, verdict: str, reason: Optional[str]) -> Dict[str, Any]:
    """The answer to an event that can only be blocked."""
    # An event of a later CLI is blocked in the way that most events are.
    if verdict == "block" and (event in DECISION_EVENTS or not is_known(event)):
        return {"decision": "block", "reason": reason}
    if verdict == "block":
        raise meaningless("block", event, ("PreToolUse", "PermissionRequest", *DECISION_EVENTS))
    events = PERMISSION_EVENTS if verdict == "ask" else (*PERMISSION_EVENTS, "PermissionRequest")
    raise meaningless(verdict, event, events)


def meaningless(helper: str, event: str, events: Tuple[str, ...]) -> UsageError:
    """The error for a word that the CLI has no use for."""
    return UsageError(
        f"hooks.{helper}() means nothing for the event {event}: it works for {listing(events)}. "
        "Return None where there is nothing to decide."
    )
