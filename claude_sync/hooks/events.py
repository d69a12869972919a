"""
What the handler of a hook gets, and what is known about each event of the CLI.

One table has the events: their own fields, and what the output of a hook may say about them.
An event that is not in it works all the same.
"""

# at() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import threading
from typing import Any, Literal, Mapping, NamedTuple

from ..messages.fields import Raw, at, build, objects, optional_text_of, text_of

__all__ = ["EVENTS", "HOOK_EVENTS", "HookEvent", "parse_hook_event"]

# What type checkers know. At run time any name is accepted.
ToolEvent = Literal["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"]
PermissionEvent = Literal["PermissionRequest", "PermissionDenied"]
PromptEvent = Literal["UserPromptSubmit", "UserPromptExpansion", "MessageDisplay", "Notification"]
StopEvent = Literal["Stop", "SubagentStop", "StopFailure", "SubagentStart"]
SessionEvent = Literal["SessionStart", "SessionEnd", "Setup", "PreCompact", "PostCompact"]
ModelEvent = Literal["PreModelSwitch", "PostModelSwitch", "Elicitation", "ElicitationResult"]
TaskEvent = Literal["TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange"]
FileEvent = Literal["CwdChanged", "FileChanged", "DirectoryAdded", "InstructionsLoaded"]
TreeEvent = Literal["WorktreeCreate", "WorktreeRemove"]
AgentEvent = Literal[PromptEvent, StopEvent, SessionEvent, ModelEvent, TaskEvent]
#: The names of the events that this release knows.
EventName = Literal[ToolEvent, PermissionEvent, AgentEvent, FileEvent, TreeEvent]

# How a hook decides about an event, by the key of its output.
PERMISSION = "permissionDecision"  # in hookSpecificOutput: allow, deny, ask
BEHAVIOR = "behavior"  # in hookSpecificOutput.decision: allow, deny
BLOCK = "decision"  # in the output itself: block


class Known(NamedTuple):
    """
    What is known about an event.

    Attributes:
        fields: The names of its own fields, beside those that all events share.
        decision: How a hook decides about it; None where the CLI asks for no decision.
        takes_context: Whether a hook may add context for Claude.

    """

    fields: str = ""
    decision: str | None = None
    takes_context: bool = False


STOP = "stop_hook_active last_assistant_message background_tasks session_crons"
MODEL_SWITCH = (
    "from_model to_model requested_model source context_tokens prompt_cache_warm cache_ttl "
    "estimated_cache_write_usd pricing"
)
ELICITATION = "mcp_server_name message mode url elicitation_id requested_schema"
TASK = "task_id task_subject task_description teammate_name team_name"

EVENTS: dict[str, Known] = {
    "PreToolUse": Known("mcp_server", PERMISSION, True),
    # After the fact a block only tells Claude the reason.
    "PostToolUse": Known("tool_response duration_ms mcp_server", BLOCK, True),
    "PostToolUseFailure": Known("error is_interrupt duration_ms", BLOCK, True),
    "PostToolBatch": Known("tool_calls", BLOCK, True),
    # Called at the same time as on_permission.
    "PermissionRequest": Known("permission_suggestions", BEHAVIOR),
    "PermissionDenied": Known("reason"),
    "UserPromptSubmit": Known("prompt source session_title", BLOCK, True),
    "UserPromptExpansion": Known(
        "expansion_type command_name command_args command_source prompt", BLOCK, True
    ),
    # Blocked, Claude goes on; with stop_hook_active it does so because of a hook already, and a
    # hook that blocks again may do so for ever.
    "Stop": Known(STOP, BLOCK, True),
    "SubagentStop": Known(f"{STOP} agent_transcript_path", BLOCK, True),
    "StopFailure": Known("error error_details last_assistant_message"),
    "SubagentStart": Known(takes_context=True),
    "SessionStart": Known(
        "source model session_title seconds_since_last_response context_tokens",
        takes_context=True,
    ),
    "SessionEnd": Known("reason"),
    "Setup": Known("trigger", takes_context=True),
    "PreCompact": Known("trigger custom_instructions", BLOCK),
    "PostCompact": Known("trigger compact_summary"),
    "PreModelSwitch": Known(MODEL_SWITCH, PERMISSION),
    "PostModelSwitch": Known(MODEL_SWITCH, takes_context=True),
    "Notification": Known("message title notification_type", takes_context=True),
    "MessageDisplay": Known("turn_id message_id index final delta"),
    "Elicitation": Known(ELICITATION),
    "ElicitationResult": Known(f"{ELICITATION} action content"),
    "TaskCreated": Known(TASK, BLOCK),
    "TaskCompleted": Known(TASK, BLOCK),
    "TeammateIdle": Known("teammate_name team_name", BLOCK),
    "ConfigChange": Known("source file_path", BLOCK),
    "InstructionsLoaded": Known("file_path memory_type load_reason globs"),
    "WorktreeCreate": Known("name"),
    "WorktreeRemove": Known("worktree_path"),
    "CwdChanged": Known("old_cwd new_cwd"),
    "FileChanged": Known("file_path change"),
    "DirectoryAdded": Known("directory source"),
}

#: The names of the events that this release knows.
HOOK_EVENTS: tuple[str, ...] = tuple(EVENTS)

# Fields whose name on the wire is taken: ``event`` is the name of the event itself.
RENAMED = {"change": "event"}


# What is taken for granted of an event of a later CLI.
OF_LATER_CLIS = Known("", BLOCK, True)


def effort_of(value: Any) -> str | None:
    """The level of effort, which the CLI sends as a text or as an object with a level."""
    return optional_text_of(value.get("level") if isinstance(value, dict) else value)


@dataclasses.dataclass(frozen=True, repr=False)
class HookEvent:
    """
    Something that happens in the CLI, as the handler of a hook gets it.

    What an event brings beyond these attributes is an attribute, too, under its name on the
    wire and as the CLI sent it: ``event.prompt``, ``event.tool_response``. A field that the CLI
    left out is None; a name that is no field of the event is an AttributeError.

    Attributes:
        event: The name of the event, such as ``PreToolUse``.
        tool: The tool it is about, or None.
        tool_input: The tool's input; empty for events without a tool.
        tool_use_id: The id of the tool use, or None.
        session_id: The conversation.
        cwd: The folder the CLI works in.
        transcript_path: The file the CLI keeps the conversation in.
        permission_mode, effort: The session's, or None.
        agent_id, agent_type: The subagent it happens in; None in the main conversation.
        prompt_id: The question it belongs to, or None.
        raw: The complete JSON object.
        cancelled: A ``threading.Event``, set when the CLI no longer waits for the output.

    """

    event: str = at("hook_event_name", default="")
    tool: str | None = at("tool_name")
    tool_input: Raw = objects()
    tool_use_id: str | None = None
    session_id: str = ""
    cwd: str = ""
    transcript_path: str = ""
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    prompt_id: str | None = None
    effort: str | None = at(convert=effort_of)
    raw: Raw = dataclasses.field(default_factory=dict)
    cancelled: threading.Event = dataclasses.field(default_factory=threading.Event, compare=False)

    def __getattr__(self, name: str) -> Any:
        """A field that only some events have."""
        # A copy that is being made has neither yet.
        raw, event = self.__dict__.get("raw", {}), self.__dict__.get("event", "")
        key = RENAMED.get(name, name)
        if key in raw and not name.startswith("__"):
            return raw[key]
        fields = EVENTS.get(event, OF_LATER_CLIS).fields.split()
        if name in fields:
            return None
        own = f" Its own fields: {', '.join(fields)}." if fields else ""
        raise AttributeError(
            f"the event {event or 'without a name'} has no field {name!r}.{own} All that the CLI "
            "sent is in event.raw."
        )

    def __dir__(self) -> list[str]:
        fields = EVENTS.get(self.event, OF_LATER_CLIS).fields.split()
        return sorted({*super().__dir__(), *fields, *self.raw})

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.raw.items() if key != "hook_event_name"}
        fields = "".join(f", {key}={value!r}" for key, value in shown.items())
        return f"HookEvent({self.event!r}{fields})"


def parse_hook_event(
    raw_input: Mapping[str, Any],
    tool_use_id: str | None = None,
    cancelled: threading.Event | None = None,
    event: str = "",
) -> HookEvent:
    """
    The event in the ``input`` of a hook request. Never raises: wrong types count as missing.

    *tool_use_id* is the one beside the input, which goes before the one inside; the CLI also
    makes one up for events without a tool. *event*, for which the handler is registered, counts
    where the input names none.
    """
    raw: Raw = raw_input if isinstance(raw_input, dict) else {}
    fields: dict[str, Any] = {
        "event": text_of(raw.get("hook_event_name")) or event,
        "cancelled": cancelled or threading.Event(),
    }
    if isinstance(tool_use_id, str) and "tool_name" in raw:
        fields["tool_use_id"] = tool_use_id
    return build(HookEvent, raw, **fields)
