"""
Turn a JSON object of the CLI into a typed message.

Third station of the pipeline::

    process -> lines -> codec -> [parsing] -> dispatch -> handlers -> turn

:func:`parse` takes any JSON object and always returns a message: nothing the
CLI sends makes it raise, and the object itself is the message's ``raw``.

Decisions taken here and nowhere else:

* which class a type and subtype become; the rest is ``Unknown`` or ``System``;
* where a fact has had several places over the years, in which order they are
  looked at;
* the structured record of a tool call goes to its result only where the
  message holds a single result: the wire does not say whose it is otherwise.

This runs once for each line of the CLI, so the types that come by the hundred
are read by hand; the others are filled from their declaration.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Type

from .. import system_messages as about
from .. import task_messages as tasks
from ..messages import (
    Assistant,
    AuthStatus,
    CommandLifecycle,
    ConversationReset,
    ErrorMessage,
    KeepAlive,
    Message,
    PromptSuggestion,
    RateLimit,
    Result,
    StreamEvent,
    System,
    ToolProgress,
    ToolUseSummary,
    TranscriptMirror,
    Unknown,
    User,
)
from ..wire_fields import (
    Raw,
    build,
    flag_of,
    mapping_of,
    optional_flag_of,
    optional_mapping_of,
    optional_text_of,
    problem_of,
    text_of,
    texts_of,
)
from .block_parsing import Carrier, parse_blocks

__all__ = ["SYSTEM_MESSAGES", "parse", "parse_blocks"]


def parse(raw: Raw) -> Message:
    """The message that *raw* is."""
    kind = raw.get("type")
    parser = PARSERS.get(kind) if isinstance(kind, str) else None
    return unfamiliar(text_of(kind), raw) if parser is None else parser(raw)


def unfamiliar(kind: str, raw: Raw) -> Message:
    """A message in an envelope, whose types have a dot in them; or Unknown."""
    if "." in kind:
        # No CLI sends them, so they are loaded when one comes.
        from ..envelope_messages import ENVELOPES, SdkMessage

        envelope = ENVELOPES.get(kind)
        if envelope is SdkMessage:
            return build(SdkMessage, raw, message=unwrapped(raw.get("payload")))
        if envelope is not None:
            return build(envelope, raw)
    return Unknown(kind, raw)


def unwrapped(payload: Any) -> Message:
    """The message in an envelope; an envelope in an envelope is none, however deep they go."""
    inner = mapping_of(payload)
    kind = inner.get("type")
    return Unknown(text_of(kind), inner) if kind == "sdk.message" else parse(inner)


def stream_event(raw: Raw) -> Message:
    """One piece of a reply in the making; comes more often than all the others together."""
    event = raw.get("event")
    return StreamEvent(event if isinstance(event, dict) else {}, raw)


def content_of(raw: Raw, message: Any) -> Any:
    """The content of a message: inside *message*, or *message* itself, or beside it."""
    if isinstance(message, dict):
        return message.get("content")
    return raw.get("content") if message is None else message


def agent_of(raw: Raw) -> Optional[str]:
    """The subagent a message comes from: its kind, or else its id."""
    return optional_text_of(raw.get("subagent_type")) or optional_text_of(raw.get("agent_id"))


def assistant(raw: Raw) -> Message:
    """Claude speaks."""
    message = raw.get("message")
    fields = mapping_of(message)
    parent = optional_text_of(raw.get("parent_tool_use_id"))
    agent = agent_of(raw)
    return Assistant(
        text_of(fields.get("id")),
        text_of(fields.get("model")),
        parse_blocks(content_of(raw, message), Carrier(parent, agent)),
        optional_text_of(fields.get("stop_reason")),
        optional_mapping_of(fields.get("usage")),
        problem_of(raw.get("error")),
        parent,
        agent,
        raw,
    )


def user(raw: Raw) -> Message:
    """Claude is spoken to."""
    content = content_of(raw, raw.get("message"))
    parent = optional_text_of(raw.get("parent_tool_use_id"))
    agent = agent_of(raw)
    record = raw.get("tool_use_result")
    carrier = Carrier(parent, agent, record if is_single(content) else None)
    return User(
        parse_blocks(content, carrier),
        parent,
        agent,
        flag_of(raw.get("isReplay")),
        flag_of(raw.get("isSynthetic")) or flag_of(raw.get("isMeta")),
        optional_mapping_of(raw.get("origin")),
        record,
        raw,
    )


def is_single(content: Any) -> bool:
    """Whether *content* holds no more than one tool result."""
    if not isinstance(content, list) or len(content) == 1:
        return True
    kinds = [item.get("type") for item in content if isinstance(item, dict)]
    return kinds.count("tool_result") <= 1


def result(raw: Raw) -> Message:
    """A turn ended."""
    fields: Dict[str, Any] = {}
    problem = problem_of(raw.get("error"))
    if problem is not None and not raw.get("errors"):
        fields["errors"] = (problem,)
    if not raw.get("user_message_uuids"):
        fields["user_message_uuids"] = texts_of(raw.get("user_message_uuid"))
    if optional_flag_of(raw.get("is_error")) is None:
        fields["is_error"] = problem is not None or text_of(raw.get("subtype")).startswith("error")
    return build(Result, raw, **fields)


def error(raw: Raw) -> Message:
    """A failure outside of any turn: an error object, a text, or a payload with a code."""
    details = mapping_of(raw.get("error")) or mapping_of(raw.get("payload"))
    text = problem_of(raw.get("error")) or problem_of(details) or problem_of(raw)
    kind = optional_text_of(details.get("type")) or optional_text_of(details.get("code"))
    return ErrorMessage(text or "", kind, raw)


def system(raw: Raw) -> Message:
    """The CLI speaks of itself."""
    subtype = raw.get("subtype")
    known = SYSTEM_MESSAGES.get(subtype) if isinstance(subtype, str) else None
    return build(known or System, raw)


def declared(message_class: Type[Message]) -> Callable[[Raw], Message]:
    """The parser of a class whose declaration says everything."""

    def parser(raw: Raw) -> Message:
        return build(message_class, raw)

    return parser


PARSERS: Dict[str, Callable[[Raw], Message]] = {
    "assistant": assistant,
    "auth_status": declared(AuthStatus),
    "command_lifecycle": declared(CommandLifecycle),
    "conversation_reset": declared(ConversationReset),
    "error": error,
    "keep_alive": declared(KeepAlive),
    "prompt_suggestion": declared(PromptSuggestion),
    "rate_limit_event": declared(RateLimit),
    "result": result,
    "stream_event": stream_event,
    "system": system,
    "tool_progress": declared(ToolProgress),
    "tool_use_summary": declared(ToolUseSummary),
    "transcript_mirror": declared(TranscriptMirror),
    "user": user,
    "user_message": user,
}

#: The class of each subtype of ``system``.
SYSTEM_MESSAGES: Dict[str, Type[System]] = {
    "api_retry": about.ApiRetry,
    "background_tasks_changed": tasks.BackgroundTasksChanged,
    "code_change_published": about.CodeChangePublished,
    "commands_changed": about.CommandsChanged,
    "compact_boundary": about.CompactBoundary,
    "control_request_progress": about.ControlRequestProgress,
    "elicitation_complete": about.ElicitationComplete,
    "files_persisted": about.FilesPersisted,
    "hook_progress": about.HookProgress,
    "hook_response": about.HookResponse,
    "hook_started": about.HookStarted,
    "informational": about.Informational,
    "init": about.Init,
    "local_command_output": about.LocalCommandOutput,
    "memory_recall": about.MemoryRecall,
    "mirror_error": about.MirrorError,
    "model_fallback": about.ModelFallback,
    "model_refusal_fallback": about.ModelRefusalFallback,
    "model_refusal_no_fallback": about.ModelRefusalNoFallback,
    "notification": about.Notification,
    "permission_denied": about.PermissionDenied,
    "plugin_install": about.PluginInstall,
    "post_turn_summary": about.PostTurnSummary,
    "session_metadata": about.SessionMetadata,
    "session_state_changed": about.SessionStateChanged,
    "session_writes_lost": about.SessionWritesLost,
    "status": about.Status,
    "task_notification": tasks.TaskNotification,
    "task_progress": tasks.TaskProgress,
    "task_started": tasks.TaskStarted,
    "task_summary": tasks.TaskSummary,
    "task_updated": tasks.TaskUpdated,
    "thinking_tokens": about.ThinkingTokens,
    "vcs_state_changed": about.VcsStateChanged,
    "worker_shutting_down": about.WorkerShuttingDown,
}
