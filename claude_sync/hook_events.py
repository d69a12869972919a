"""
What a hook is told: a class for every event the CLI is known to have.

All share the fields of :class:`HookEvent`; what an event brings beyond that is an
attribute of its class. An event this release does not know is a plain ``HookEvent``.
Nothing the CLI sends makes building one fail: fields of the wrong type take the value
for "nothing", and what was really sent is in ``raw``.
"""

# wire() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional, Tuple, Type

from .wire_fields import (
    Raw,
    anything_of,
    build,
    flag_of,
    mapping_of,
    mappings_of,
    optional_flag_of,
    optional_integer_of,
    optional_mapping_of,
    optional_number_of,
    optional_text_of,
    problem_of,
    raw_field,
    text_of,
    texts_of,
    wire,
)

__all__ = ["EVENT_CLASSES", "HOOK_EVENTS", "HookEvent", "parse_hook_event"]


def effort_of(value: Any) -> Optional[str]:
    """The level of effort, given as text or as an object with a level."""
    return optional_text_of(value.get("level") if isinstance(value, dict) else value)


@dataclasses.dataclass(frozen=True)
class HookEvent:
    """
    Something happens in the CLI, and a hook may have a say in it.

    Attributes:
        event: What happens, such as ``PreToolUse``.
        tool: The tool it is about, or None.
        tool_input: What the tool is called with; empty where no tool is meant.
        tool_use_id: The call of the tool, or None.
        session_id: The conversation.
        cwd: The folder the CLI works in.
        transcript_path: The file the CLI keeps the conversation in.
        permission_mode, effort: What is in force, or None.
        agent_id, agent_type: The subagent it happens in, or None: the main conversation.
        prompt_id: The question it belongs to, or None.
        raw: The complete JSON object.
        cancelled: A ``threading.Event``, set when the CLI no longer waits for an answer.

    """

    event: str = wire(text_of, "hook_event_name")
    tool: Optional[str] = wire(optional_text_of, "tool_name")
    tool_input: Raw = wire(mapping_of)
    tool_use_id: Optional[str] = wire(optional_text_of)
    session_id: str = wire(text_of)
    cwd: str = wire(text_of)
    transcript_path: str = wire(text_of)
    permission_mode: Optional[str] = wire(optional_text_of)
    agent_id: Optional[str] = wire(optional_text_of)
    agent_type: Optional[str] = wire(optional_text_of)
    prompt_id: Optional[str] = wire(optional_text_of)
    effort: Optional[str] = wire(effort_of)
    raw: Raw = raw_field()
    cancelled: Any = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class PreToolUse(HookEvent):
    """A tool is about to run; it can be blocked, allowed, or given another input."""

    mcp_server: Any = wire(anything_of)


@dataclasses.dataclass(frozen=True)
class PostToolUse(HookEvent):
    """A tool has run; ``tool_response`` is what it returned, in the form of that tool."""

    tool_response: Any = wire(anything_of)
    duration_ms: Optional[float] = wire(optional_number_of)
    mcp_server: Any = wire(anything_of)


@dataclasses.dataclass(frozen=True)
class PostToolUseFailure(HookEvent):
    """A tool has failed."""

    error: Optional[str] = wire(problem_of)
    is_interrupt: bool = wire(flag_of)
    duration_ms: Optional[float] = wire(optional_number_of)


@dataclasses.dataclass(frozen=True)
class PostToolBatch(HookEvent):
    """All tools of one reply have run; each call is an object with name, input and response."""

    tool_calls: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class PermissionRequest(HookEvent):
    """The CLI asks whether a tool may run, at the same time as it asks ``on_permission``."""

    permission_suggestions: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class PermissionDenied(HookEvent):
    """A tool was not allowed to run."""

    reason: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class UserPromptSubmit(HookEvent):
    """A question is about to be put to Claude."""

    prompt: str = wire(text_of)
    source: Optional[str] = wire(optional_text_of)
    session_title: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class UserPromptExpansion(HookEvent):
    """A slash command, or a prompt of an MCP server, is replaced by what it stands for."""

    expansion_type: Optional[str] = wire(optional_text_of)
    command_name: Optional[str] = wire(optional_text_of)
    command_args: Optional[str] = wire(optional_text_of)
    command_source: Optional[str] = wire(optional_text_of)
    prompt: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class Stop(HookEvent):
    """Claude is about to end its turn; blocking makes it go on."""

    # It goes on because of a hook already: one that blocks again may do so for ever.
    stop_hook_active: bool = wire(flag_of)
    last_assistant_message: Optional[str] = wire(problem_of)
    background_tasks: Tuple[Raw, ...] = wire(mappings_of)
    session_crons: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class SubagentStop(Stop):
    """A subagent is about to end; blocking makes it go on."""

    agent_transcript_path: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class StopFailure(HookEvent):
    """A turn ended with a failure."""

    error: Optional[str] = wire(problem_of)
    error_details: Any = wire(anything_of)
    last_assistant_message: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class SubagentStart(HookEvent):
    """A subagent begins; agent_id and agent_type are its own."""


@dataclasses.dataclass(frozen=True)
class SessionStart(HookEvent):
    """A conversation begins or goes on; ``source`` tells why."""

    source: Optional[str] = wire(optional_text_of)
    model: Optional[str] = wire(optional_text_of)
    session_title: Optional[str] = wire(optional_text_of)
    seconds_since_last_response: Optional[float] = wire(optional_number_of)
    context_tokens: Optional[int] = wire(optional_integer_of)


@dataclasses.dataclass(frozen=True)
class SessionEnd(HookEvent):
    """A conversation ends."""

    reason: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class Setup(HookEvent):
    """The CLI prepares a project; ``trigger`` is ``init`` or ``maintenance``."""

    trigger: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class PreCompact(HookEvent):
    """The conversation is about to be shortened; ``trigger`` is ``manual`` or ``auto``."""

    trigger: Optional[str] = wire(optional_text_of)
    custom_instructions: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class PostCompact(HookEvent):
    """The conversation was shortened."""

    trigger: Optional[str] = wire(optional_text_of)
    compact_summary: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class PreModelSwitch(HookEvent):
    """The session is about to go on with another model."""

    from_model: Optional[str] = wire(optional_text_of)
    to_model: Optional[str] = wire(optional_text_of)
    requested_model: Optional[str] = wire(optional_text_of)
    source: Optional[str] = wire(optional_text_of)
    context_tokens: Optional[int] = wire(optional_integer_of)
    prompt_cache_warm: Optional[bool] = wire(optional_flag_of)
    cache_ttl: Any = wire(anything_of)
    estimated_cache_write_usd: Optional[float] = wire(optional_number_of)
    pricing: Optional[Raw] = wire(optional_mapping_of)


@dataclasses.dataclass(frozen=True)
class PostModelSwitch(PreModelSwitch):
    """The session goes on with another model."""


@dataclasses.dataclass(frozen=True)
class Notification(HookEvent):
    """The CLI has something to tell the user."""

    message: str = wire(text_of)
    title: Optional[str] = wire(optional_text_of)
    notification_type: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class MessageDisplay(HookEvent):
    """A piece of an answer is about to be shown."""

    turn_id: Optional[str] = wire(optional_text_of)
    message_id: Optional[str] = wire(optional_text_of)
    index: Optional[int] = wire(optional_integer_of)
    final: bool = wire(flag_of)
    delta: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class Elicitation(HookEvent):
    """An MCP server asks the user for something."""

    mcp_server_name: Optional[str] = wire(optional_text_of)
    message: str = wire(text_of)
    mode: Optional[str] = wire(optional_text_of)
    url: Optional[str] = wire(optional_text_of)
    elicitation_id: Optional[str] = wire(optional_text_of)
    requested_schema: Optional[Raw] = wire(optional_mapping_of)


@dataclasses.dataclass(frozen=True)
class ElicitationResult(Elicitation):
    """The user has answered an MCP server; the answer has not gone out yet."""

    action: Optional[str] = wire(optional_text_of)
    content: Optional[Raw] = wire(optional_mapping_of)


@dataclasses.dataclass(frozen=True)
class TaskCreated(HookEvent):
    """A task is put on the list of a team."""

    task_id: Optional[str] = wire(optional_text_of)
    task_subject: Optional[str] = wire(optional_text_of)
    task_description: Optional[str] = wire(optional_text_of)
    teammate_name: Optional[str] = wire(optional_text_of)
    team_name: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class TaskCompleted(TaskCreated):
    """A task is about to be marked as done."""


@dataclasses.dataclass(frozen=True)
class TeammateIdle(HookEvent):
    """A teammate has nothing left to do."""

    teammate_name: Optional[str] = wire(optional_text_of)
    team_name: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class ConfigChange(HookEvent):
    """Settings have changed while the session runs."""

    source: Optional[str] = wire(optional_text_of)
    file_path: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class InstructionsLoaded(HookEvent):
    """A file of instructions, such as CLAUDE.md, was read."""

    file_path: Optional[str] = wire(optional_text_of)
    memory_type: Optional[str] = wire(optional_text_of)
    load_reason: Optional[str] = wire(optional_text_of)
    globs: Tuple[str, ...] = wire(texts_of)


@dataclasses.dataclass(frozen=True)
class WorktreeCreate(HookEvent):
    """A working tree is to be made; the hook answers with its path."""

    name: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class WorktreeRemove(HookEvent):
    """A working tree is to be removed."""

    worktree_path: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class CwdChanged(HookEvent):
    """The CLI works in another folder from now on."""

    old_cwd: Optional[str] = wire(optional_text_of)
    new_cwd: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class FileChanged(HookEvent):
    """A watched file has changed; how is in ``change``, which the wire calls ``event``."""

    file_path: Optional[str] = wire(optional_text_of)
    change: Optional[str] = wire(optional_text_of, "event")


@dataclasses.dataclass(frozen=True)
class DirectoryAdded(HookEvent):
    """The CLI may use one more folder."""

    directory: Optional[str] = wire(optional_text_of)
    source: Optional[str] = wire(optional_text_of)


CLASSES: Tuple[Type[HookEvent], ...] = (
    *(PreToolUse, PostToolUse, PostToolUseFailure, PostToolBatch),
    *(PermissionRequest, PermissionDenied),
    *(UserPromptSubmit, UserPromptExpansion, Stop, SubagentStop, StopFailure, SubagentStart),
    *(SessionStart, SessionEnd, Setup, PreCompact, PostCompact, PreModelSwitch, PostModelSwitch),
    *(Notification, MessageDisplay, Elicitation, ElicitationResult),
    *(TaskCreated, TaskCompleted, TeammateIdle, ConfigChange, InstructionsLoaded),
    *(WorktreeCreate, WorktreeRemove, CwdChanged, FileChanged, DirectoryAdded),
)

#: The classes by the names of their events; and all names this release knows.
EVENT_CLASSES: Dict[str, Type[HookEvent]] = {kind.__name__: kind for kind in CLASSES}
HOOK_EVENTS: Tuple[str, ...] = tuple(EVENT_CLASSES)


def parse_hook_event(
    raw_input: Mapping[str, Any],
    tool_use_id: Optional[str] = None,
    cancelled: Any = None,
    event: str = "",
) -> HookEvent:
    """
    What a handler gets for the ``input`` of a hook request; never raises.

    *tool_use_id* comes beside the input and goes before the one inside; where no tool is
    used it means nothing, and is left out. *event*, what the handler is registered for,
    counts only where the input does not name one.
    """
    raw: Raw = raw_input if isinstance(raw_input, dict) else {}
    name = text_of(raw.get("hook_event_name")) or event
    fields: Dict[str, Any] = {"event": name, "cancelled": cancelled}
    if isinstance(tool_use_id, str) and "tool_name" in raw:
        fields["tool_use_id"] = tool_use_id
    return build(EVENT_CLASSES.get(name, HookEvent), raw, **fields)
