"""
What a hook may answer, as the wire has it: which keys, where, for which event.

The CLI checks the answer of a hook as a whole. One value of the wrong type, a
null included, and it drops everything, a "deny" with it; a key it does not know
it ignores. Either way what was to be blocked goes through. So nothing doubtful is
sent: :func:`checked_output` repairs what is certain (missing event names, None,
the Python spellings of ``continue`` and ``async``) and refuses the rest with a
:exc:`UsageError` that says how to write it.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple

from .errors import UsageError
from .hook_events import HOOK_EVENTS
from .option_kinds import nearest
from .protocol.codec import plain_value

__all__ = [
    "CONTEXT_EVENTS",
    "DECISION_EVENTS",
    "PERMISSION_EVENTS",
    "checked_output",
    "is_known",
    "listing",
    "near_miss",
]

# Events that take {"decision": "block"}; PostToolUse and what comes after the fact only
# tell Claude the reason.
DECISION_EVENTS = (
    *("UserPromptSubmit", "UserPromptExpansion"),
    *("PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("Stop", "SubagentStop", "PreCompact", "ConfigChange"),
    *("TaskCreated", "TaskCompleted", "TeammateIdle"),
)
# Events that take a permissionDecision.
PERMISSION_EVENTS = ("PreToolUse", "PreModelSwitch")
# Events that take additionalContext.
CONTEXT_EVENTS = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("UserPromptSubmit", "UserPromptExpansion", "Stop", "SubagentStart", "SubagentStop"),
    *("SessionStart", "Setup", "PostModelSwitch", "Notification"),
)

PERMISSION_DECISIONS = ("allow", "deny", "ask", "defer")
DECISIONS = ("block", "approve")
BEHAVIORS = ("allow", "deny")

# Keywords of Python get an underscore, as other libraries do it too.
RENAMED = {"continue_": "continue", "async_": "async", "async_timeout": "asyncTimeout"}

# The three places of an answer, the keys of each, and the types of their values.
TOP = "the answer itself"
SPECIFIC = "hookSpecificOutput"
DECISION = "hookSpecificOutput.decision"
ANYTHING = object
NUMBER = (int, float)
KEYS: Dict[str, Dict[str, Any]] = {
    TOP: {
        "continue": bool,
        "stopReason": str,
        "suppressOutput": bool,
        "systemMessage": str,
        "decision": str,
        "reason": str,
        "hookSpecificOutput": dict,
        "terminalSequence": str,
        "async": bool,
        "asyncTimeout": NUMBER,
    },
    SPECIFIC: {
        "hookEventName": str,
        "permissionDecision": str,
        "permissionDecisionReason": str,
        "updatedInput": dict,
        "additionalContext": str,
        "decision": dict,
        "updatedToolOutput": ANYTHING,
        "updatedMCPToolOutput": ANYTHING,
        "classifierContext": ANYTHING,
        "sessionTitle": str,
        "suppressOriginalPrompt": bool,
        "initialUserMessage": str,
        "watchPaths": list,
        "reloadSkills": bool,
        "retry": bool,
        "action": str,
        "content": dict,
        "worktreePath": str,
        "displayContent": str,
    },
    DECISION: {
        "behavior": str,
        "message": str,
        "interrupt": bool,
        "updatedInput": dict,
        "updatedPermissions": list,
    },
}
TYPE_NAMES = {
    bool: "True or False",
    str: "a str",
    dict: "a dict",
    list: "a list",
    NUMBER: "a number",
}


def is_known(event: str) -> bool:
    """Whether this release knows the event, and so what may be answered to it."""
    return event in HOOK_EVENTS


def listing(words: Tuple[str, ...]) -> str:
    """The words in a sentence."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def checked_output(event: str, returned: Mapping[str, Any]) -> Dict[str, Any]:
    """
    A dict that a handler returned, as it goes over the wire: a copy, complete and checked.

    Raises:
        UsageError: The CLI would ignore or refuse a part of it.

    """
    output = checked_place(event, TOP, plain_value(returned, "", 0))
    if "decision" in output:
        check_choice(event, "decision", output["decision"], DECISIONS)
        check_event(event, "decision", ("PreToolUse", *DECISION_EVENTS))
    if SPECIFIC in output:
        output[SPECIFIC] = checked_specific(event, output[SPECIFIC])
    return output


def checked_specific(event: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """The part of an answer that depends on the event."""
    specific = checked_place(event, SPECIFIC, given)
    if specific.setdefault("hookEventName", event) != event:
        raise UsageError(
            f"the hook for {event} returned an answer for {specific['hookEventName']!r}: the CLI "
            "refuses it. Leave 'hookEventName' out, it is filled in."
        )
    if "permissionDecision" in specific:
        choice = specific["permissionDecision"]
        check_choice(event, "permissionDecision", choice, PERMISSION_DECISIONS)
        check_event(event, "hookSpecificOutput.permissionDecision", PERMISSION_EVENTS)
    if "decision" in specific:
        decision = checked_place(event, DECISION, specific["decision"])
        check_choice(event, "behavior", decision.get("behavior"), BEHAVIORS)
        check_event(event, DECISION, ("PermissionRequest",))
        specific["decision"] = decision
    return specific


def checked_place(event: str, place: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """What is at one place of an answer, with the wire's spelling and without None."""
    values: Dict[str, Any] = {}
    for given_key, value in given.items():
        key = RENAMED.get(given_key, given_key)
        if key in values:
            raise UsageError(
                f"the hook for {event} returned both {key!r} and its other spelling. Give it once."
            )
        check_key(event, place, key)
        if value is None:  # as if it were not there; the CLI would refuse everything
            continue
        wanted = KEYS[place].get(key, ANYTHING)
        # True is an int to Python, and never a number that was meant.
        if not isinstance(value, wanted) or (wanted is NUMBER and isinstance(value, bool)):
            raise UsageError(
                f"the hook for {event} returned {key!r}: {shown(value)}, which the CLI refuses "
                f"together with the rest of the answer. It must be {TYPE_NAMES[wanted]}."
            )
        values[key] = value
    return values


def check_key(event: str, place: str, key: str) -> None:
    """Raise for a key that the CLI would ignore; keys of later CLIs pass."""
    if key in KEYS[place]:
        return
    for other, keys in KEYS.items():
        if key in keys:
            where = "beside hookSpecificOutput" if other == TOP else f"inside {other}"
            raise UsageError(
                f"the hook for {event} returned {key!r} in {place}, where the CLI ignores it. "
                f"It belongs {where}; or return one of hooks.block(), hooks.allow(), ..."
            )
    meant = near_miss(key, [known for keys in KEYS.values() for known in keys])
    if meant is not None:
        raise UsageError(
            f"the hook for {event} returned {key!r}, which the CLI ignores. Write {meant!r}; or "
            "return one of hooks.block(), hooks.allow(), ..."
        )


def near_miss(word: str, known: Sequence[str]) -> Optional[str]:
    """The one of *known* that *word* is another spelling of, or None: it is something else."""
    import difflib  # only needed where something is wrong

    squashed = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.replace("_", "").lower(), squashed, n=1, cutoff=0.85)
    return squashed[close[0]] if close else None


def check_choice(event: str, key: str, value: Any, choices: Tuple[str, ...]) -> None:
    """Raise unless *value* is one of *choices*."""
    if value not in choices:
        meant = nearest(value, choices) if isinstance(value, str) else None
        hint = f" Did you mean {meant!r}?" if meant else ""
        raise UsageError(
            f"the hook for {event} returned {key!r}: {shown(value)}, which the CLI refuses "
            f"together with the rest of the answer. It must be one of {', '.join(choices)}.{hint}"
        )


def check_event(event: str, key: str, events: Tuple[str, ...]) -> None:
    """Raise for a decision that the CLI does not look at for this event."""
    if is_known(event) and event not in events:
        raise UsageError(
            f"the hook for {event} returned {key!r}, which the CLI ignores for this event: it "
            f"is for {listing(events)}. Return one of hooks.block(), hooks.allow(), ..., which "
            "know the form of each event, or None."
        )


def shown(value: Any) -> str:
    """*value* for an error text."""
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
