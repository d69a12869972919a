"""
What the handler of a hook gets, and what is known about each event of the CLI.

An event that is not known here works all the same.
"""

# at() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any, Literal, get_args

from ..messages.fields import Raw, at, build, objects, optional_text_of, text_of

__all__ = ["HOOK_EVENTS", "HookEvent", "parse_hook_event"]

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

#: The names of the events that this release knows.
HOOK_EVENTS: tuple[str, ...] = get_args(EventName)

# How a hook decides about an event, by the key of its output.
PERMISSION = "permissionDecision"  # in hookSpecificOutput: allow, deny, ask
BEHAVIOR = "behavior"  # in hookSpecificOutput.decision: allow, deny
BLOCK = "decision"  # in the output itself: block

# After the fact (PostToolUse) a block only tells Claude the reason. Blocked at Stop, Claude goes
# on; with stop_hook_active it does so because of a hook already, and a hook that blocks again may
# do so for ever. A PermissionRequest is called at the same time as on_permission.
DECISIONS: dict[str, str] = {
    **dict.fromkeys(("PreToolUse", "PreModelSwitch"), PERMISSION),
    "PermissionRequest": BEHAVIOR,
    **dict.fromkeys(("PostToolUse", "PostToolUseFailure", "PostToolBatch"), BLOCK),
    **dict.fromkeys(("UserPromptSubmit", "UserPromptExpansion", "Stop", "SubagentStop"), BLOCK),
    **dict.fromkeys(("PreCompact", "TaskCreated", "TaskCompleted", "TeammateIdle"), BLOCK),
    "ConfigChange": BLOCK,
}
# Where a hook may add context for Claude.
WITH_CONTEXT = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"),
    *("UserPromptExpansion", "Stop", "SubagentStop", "SubagentStart", "SessionStart", "Setup"),
    *("PostModelSwitch", "Notification"),
)

# The fields that only some events have; of these a CLI may leave out any.
OWN = """
    action agent_transcript_path background_tasks cache_ttl change command_args command_name
    command_source compact_summary content context_tokens custom_instructions delta duration_ms
    elicitation_id error error_details estimated_cache_write_usd expansion_type file_path final
    from_model globs index is_interrupt last_assistant_message load_reason mcp_server
    mcp_server_name memory_type message message_id mode model name new_cwd notification_type
    old_cwd permission_suggestions pricing prompt prompt_cache_warm reason requested_model
    requested_schema seconds_since_last_response session_crons session_title source
    stop_hook_active task_description task_id task_subject team_name teammate_name title
    to_model tool_calls tool_response trigger turn_id url worktree_path
"""
OWN_FIELDS = frozenset(OWN.split())


def effort_of(value: Any) -> str | None:
    """The level of effort, which the CLI sends as a text or as an object with a level."""
    return optional_text_of(value.get("level") if isinstance(value, dict) else value)


@dataclasses.dataclass(frozen=True, repr=False)
class HookEvent:
    """
    Something that happens in the CLI, as the handler of a hook gets it.

    What an event brings beyond these attributes is an attribute, too, under its name on the
    wire and as the CLI sent it: ``event.prompt``, ``event.tool_response``. A field that the CLI
    left out is None; a name that is no field of any event is an AttributeError.

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
        raw = self.__dict__.get("raw", {})  # a copy that is being made has none yet
        key = "event" if name == "change" else name  # ``event`` is the name of the event itself
        if not name.startswith("_") and (key in raw or name in OWN_FIELDS):
            return raw.get(key)
        raise AttributeError(
            f"the event has no field {name!r}. All that the CLI sent is in event.raw."
        )

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.raw})

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
