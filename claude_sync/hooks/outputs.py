"""
What a hook may answer: verbs that mean the same for every event, or a dict as the wire has it.

::

    return hooks.block("pushing is not allowed here")
    return hooks.allow() | hooks.add_context("the tests are slow")

The CLI checks the output of a hook as a whole. One value of the wrong type, a null included,
and it drops everything, a "deny" with it; a key it does not know, or does not expect for this
event, it ignores. Either way what was to be blocked goes through. So nothing doubtful is sent:
what is certain is repaired (missing event names, None, ``continue_`` and ``async_``), and the
rest is a :exc:`UsageError` that says how to write it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..protocol.codec import plain_value
from ..support.checks import check_name, nearest, refuse
from ..support.text import short
from .events import (
    BEHAVIOR,
    BLOCK,
    DECISIONS,
    HOOK_EVENTS,
    PERMISSION,
    WITH_CONTEXT,
    HookEvent,
)

__all__ = ["BLOCKING_EVENTS", "HookDecision", "add_context", "allow", "ask", "block"]
__all__ += ["failed_hook_output", "hook_output", "stop", "suppress_output", "system_message"]
__all__ += ["update_input"]

#: Events before a tool runs: a hook of these that fails blocks it.
BLOCKING_EVENTS = ("PreToolUse", "PermissionRequest")

# From the mildest to the strictest.
VERDICTS = (None, "allow", "ask", "block")
# The words for them in each way of deciding.
WORDS: dict[str | None, dict[str | None, str]] = {
    PERMISSION: {"block": "deny", "allow": "allow", "ask": "ask"},
    BEHAVIOR: {"block": "deny", "allow": "allow"},
    BLOCK: {"block": "block"},
    None: {},
}
CONSENT = (BEHAVIOR, "allow")


@dataclasses.dataclass(frozen=True)
class HookDecision:
    """
    What a hook answers; made by the functions of this module, combined with ``|``.

    Attributes:
        verdict: ``block``, ``ask``, ``allow`` or None.
        reason: Why, or None.
        updated_input: The whole input with which the tool runs instead, or None.
        context: What Claude reads besides, or None.
        stop_reason: Why the turn ends here, or None: it goes on.
        system_message: What the user reads, or None.
        suppress_output: Whether the output stays out of the transcript.

    """

    verdict: str | None = None
    reason: str | None = None
    updated_input: Mapping[str, Any] | None = None
    context: str | None = None
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False

    def __post_init__(self) -> None:
        """Refuse what the CLI would drop as a whole, a block included."""
        if self.verdict not in VERDICTS:
            raise refuse("the verdict of a hook", self.verdict, "block, ask, allow or None")
        for name in ("reason", "context", "stop_reason", "system_message"):
            if getattr(self, name) is not None:
                check_name(name, getattr(self, name))
        if self.verdict == "block":
            check_name("the reason of a block", self.reason)
        if self.updated_input is not None:
            if not isinstance(self.updated_input, Mapping):
                raise refuse("updated_input", self.updated_input, "the tool's whole input, a dict")
            # A copy: later changes do not count.
            copy = plain_value(self.updated_input, "updated_input", 0)
            object.__setattr__(self, "updated_input", copy)

    def __or__(self, other: HookDecision) -> HookDecision:
        """Both; of two verdicts the stricter one, with its reason."""
        if not isinstance(other, HookDecision):
            return NotImplemented
        inputs = [each for each in (self.updated_input, other.updated_input) if each is not None]
        if len(inputs) == 2 and inputs[0] != inputs[1]:
            raise UsageError(
                "two hook decisions give the same tool different inputs. Make one "
                "hooks.update_input(event, ...) with all changes."
            )
        stricter = max(self, other, key=lambda each: VERDICTS.index(each.verdict))
        same = self.verdict == other.verdict
        return HookDecision(
            stricter.verdict,
            joined(self.reason, other.reason) if same else stricter.reason,
            inputs[0] if inputs else None,
            joined(self.context, other.context),
            joined(self.stop_reason, other.stop_reason),
            joined(self.system_message, other.system_message),
            self.suppress_output or other.suppress_output,
        )


def joined(one: str | None, other: str | None) -> str | None:
    """Both texts; the same text once."""
    return "\n".join(dict.fromkeys(text for text in (one, other) if text is not None)) or None


# The verbs.


def block(reason: str) -> HookDecision:
    """
    No. Claude reads *reason*.

    The tool does not run, the prompt does not reach Claude, the compaction does not happen
    (2.1.29 compacts all the same). For Stop and SubagentStop: Claude goes on, with *reason* as
    its instruction. For what has happened already (PostToolUse): Claude reads *reason*.
    """
    return HookDecision("block", reason)


def allow(
    reason: str | None = None, updated_input: Mapping[str, Any] | None = None
) -> HookDecision:
    """
    Yes, without asking anybody; deny rules of the CLI's settings still count.

    *updated_input* replaces the tool's whole input.
    """
    return HookDecision("allow", reason, updated_input)


def ask(reason: str | None = None) -> HookDecision:
    """
    Let the user decide, even where a rule of the CLI's settings would allow it.

    2.1.29 does not ask where such a rule is: there only ``hooks.block()`` keeps the tool from
    running.
    """
    return HookDecision("ask", reason)


def update_input(base: HookEvent | Mapping[str, Any], /, **changes: Any) -> HookDecision:
    """
    Run the tool with another input; whether it may run is decided as usual.

    ``update_input(event, command="ls")`` keeps the rest of the event's input;
    ``update_input({"command": "ls"})`` replaces it as a whole.
    """
    if isinstance(base, HookEvent):
        if not changes:
            raise UsageError(
                "hooks.update_input(event) changes nothing. Name the changes, as in "
                "hooks.update_input(event, command='ls'), or pass the whole input as a dict."
            )
        base = base.tool_input
    if not isinstance(base, Mapping):
        raise refuse("the first argument of hooks.update_input()", base, "the event, or a dict")
    return HookDecision(updated_input={**base, **changes})


def add_context(text: str) -> HookDecision:
    """Add *text* to what Claude reads; otherwise things go on as usual."""
    return HookDecision(context=check_name("text", text))


def stop(reason: str) -> HookDecision:
    """
    End the turn here; *reason* is for the user. A tool that is about to run does not.

    2.1.29 does not end a turn before a tool: there Claude reads that the tool is blocked, and why.
    """
    return HookDecision(stop_reason=check_name("reason", reason))


def system_message(text: str) -> HookDecision:
    """Show *text* to the user; Claude does not see it."""
    return HookDecision(system_message=check_name("text", text))


def suppress_output() -> HookDecision:
    """Keep the output of this hook out of the transcript."""
    return HookDecision(suppress_output=True)


# What goes over the wire.


def hook_output(event: str, returned: Any) -> dict[str, Any]:
    """
    The output for the CLI, if the handler for *event* returned this.

    Raises:
        UsageError: It means nothing, or the CLI would ignore it.

    """
    if returned is None:
        return {}
    if isinstance(returned, HookDecision):
        return decision_output(event, returned)
    if isinstance(returned, Mapping):
        return checked_output(event, returned)
    if inspect.iscoroutine(returned):
        returned.close()  # or Python warns that it was never awaited
    raise refuse(
        f"the return value of the hook for {event}",
        returned,
        "None (no opinion), one of hooks.block(), hooks.allow(), ..., or a dict",
    )


def failed_hook_output(event: str, text: str) -> dict[str, Any] | None:
    """The output that blocks, for a hook that failed; None for events that do not wait for it."""
    if event not in BLOCKING_EVENTS:
        return None
    return decision_output(event, HookDecision("block", text or "a hook failed"))


def decision_output(event: str, decision: HookDecision) -> dict[str, Any]:
    """A decision in the form that the CLI wants for this event."""
    verdict, reason, changed = decision.verdict, decision.reason, decision.updated_input
    stops = decision.stop_reason is not None
    if stops and event in BLOCKING_EVENTS and verdict != "block":
        # Stopping alone ends the turn only after the tool has run.
        verdict, reason = "block", decision.stop_reason
    if verdict == "block":
        changed = None  # the tool does not run
    way = way_of(event)
    word = WORDS[way].get(verdict)
    takes_context = event in WITH_CONTEXT or event not in HOOK_EVENTS
    for verb, is_meant, is_taken in (
        (verdict, verdict is not None, word is not None),
        ("add_context", decision.context is not None, takes_context),
        # For a PermissionRequest the input is a part of the consent.
        ("update_input", changed is not None, event == "PreToolUse" or (way, word) == CONSENT),
    ):
        if is_meant and not is_taken:
            raise UsageError(
                f"hooks.{verb}() has no effect for the event {event}. Return None to let the "
                "action proceed."
            )
    output = without_none(
        stopReason=decision.stop_reason,
        systemMessage=decision.system_message,
        suppressOutput=decision.suppress_output or None,
        **({"continue": False} if stops else {}),
    )
    specific = without_none(additionalContext=decision.context)
    if way == BLOCK and word is not None:
        output.update(decision=word, reason=reason)
    elif way == PERMISSION:
        why = reason if word is not None else None
        specific |= without_none(
            permissionDecision=word, permissionDecisionReason=why, updatedInput=changed
        )
    elif way == BEHAVIOR and word is not None:
        message = reason if verdict == "block" else None
        specific["decision"] = without_none(
            behavior=word, message=message, updatedInput=changed, interrupt=stops or None
        )
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event, **specific}
    return output


def without_none(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def way_of(event: str) -> str | None:
    """How a hook decides about an event; None where the CLI asks for no decision."""
    return DECISIONS.get(event, None if event in HOOK_EVENTS else BLOCK)


# Dicts as the wire takes them.

# Keywords of Python get an underscore; the official SDK spells them so, too.
RENAMED = {"continue_": "continue", "async_": "async", "async_timeout": "asyncTimeout"}

# The three places of an output; the keys of each, with the types of their values.
TOP = "the output itself"
SPECIFIC = "hookSpecificOutput"
DECISION = "hookSpecificOutput.decision"
PLACES = {
    TOP: """
        continue:bool suppressOutput:bool async:bool asyncTimeout:number stopReason:str
        systemMessage:str decision:str reason:str terminalSequence:str hookSpecificOutput:dict
    """,
    SPECIFIC: """
        hookEventName:str permissionDecision:str permissionDecisionReason:str updatedInput:dict
        decision:dict additionalContext:str sessionTitle:str initialUserMessage:str action:str
        worktreePath:str displayContent:str content:dict watchPaths:list reloadSkills:bool
        suppressOriginalPrompt:bool retry:bool updatedToolOutput:value updatedMCPToolOutput:value
        classifierContext:value
    """,
    DECISION: "behavior:str message:str interrupt:bool updatedInput:dict updatedPermissions:list",
}
KINDS: dict[str, Any] = {each.__name__: each for each in (bool, str, dict, list)}
KINDS.update(number=(int, float), value=object)
TYPES = {place: dict(each.split(":") for each in keys.split()) for place, keys in PLACES.items()}
# The keys that decide: the way of deciding that each belongs to, and the values the CLI takes.
DECIDING = {
    (TOP, "decision"): (BLOCK, ("block", "approve")),
    (SPECIFIC, "permissionDecision"): (PERMISSION, ("allow", "deny", "ask", "defer")),
    (DECISION, "behavior"): (BEHAVIOR, ("allow", "deny")),
}


def checked_output(event: str, returned: Mapping[str, Any]) -> dict[str, Any]:
    """
    A dict that a handler returned, as it goes over the wire: a copy, complete and checked.

    Raises:
        UsageError: The CLI would ignore or refuse a part of it.

    """
    output = checked_place(event, TOP, plain_value(returned, "", 0))
    if SPECIFIC in output:
        specific = output[SPECIFIC] = checked_place(event, SPECIFIC, output[SPECIFIC])
        if specific.setdefault("hookEventName", event) != event:
            raise wrong(event, f"an output for {specific['hookEventName']}, which the CLI refuses")
        if "decision" in specific:
            specific["decision"] = checked_place(event, DECISION, specific["decision"])
            if "behavior" not in specific["decision"]:
                raise wrong(event, f"a {DECISION} without 'behavior', which the CLI refuses")
    inside = {"permissionDecision", "decision", "updatedInput"} & set(output.get(SPECIFIC, ()))
    decides = output.get("continue") is False or "decision" in output or inside
    if output.get("async") is True and decides:
        # Measured: a tool that it denies runs.
        raise wrong(event, "a decision with 'async', for which the CLI does not wait")
    return output


def checked_place(event: str, place: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What stands at one place of an output, in the wire's spelling and without None."""
    values: dict[str, Any] = {}
    for spelled, value in given.items():
        key = RENAMED.get(spelled, spelled)
        if key in values:
            raise wrong(event, f"{key!r} in two spellings")
        if key not in TYPES[place]:  # keys of later CLIs pass
            meant = nearest(key, [name for types in TYPES.values() for name in types], 0.85)
            if meant is not None:
                places = " or ".join(other for other, types in TYPES.items() if meant in types)
                raise wrong(event, f"{key!r}, which the CLI ignores: write {meant!r} in {places}")
        if value is not None:  # a null would make the CLI drop everything
            check_value(event, place, key, value)
            values[key] = value
    return values


def check_value(event: str, place: str, key: str, value: Any) -> None:
    """UsageError for a value that the CLI would refuse with the whole output, or not look at."""
    wanted = TYPES[place].get(key, "value")
    # True is an int to Python, and never a number that was meant.
    if not isinstance(value, KINDS[wanted]) or (wanted == "number" and isinstance(value, bool)):
        raise wrong(event, f"{key!r}: {short(value)}, which must be a {wanted}")
    way, choices = DECIDING.get((place, key), (None, (value,)))
    if value not in choices:
        raise wrong(event, f"{key!r}: {short(value)}, which must be one of {', '.join(choices)}")
    # PreToolUse understands the form of most events as well.
    fits = way in (None, way_of(event)) or (event == "PreToolUse" and way == BLOCK)
    if not fits and event in HOOK_EVENTS:
        raise wrong(event, f"{key!r} in {place}, which the CLI ignores for this event")


def wrong(event: str, what: str) -> UsageError:
    """The error for an output that the CLI would not take as it was meant."""
    return UsageError(
        f"the hook for {event} returned {what}. One of hooks.block(), hooks.allow(), ... has the "
        "right form for each event."
    )
