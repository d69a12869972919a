"""
What the CLI says, as frozen dataclasses.

Every message keeps the complete JSON object it was made of in ``raw``, so a
field this release has no name for is still there; a type it does not know is
an :class:`Unknown`. Nothing the CLI sends makes building a message fail:
fields of the wrong type take the value for "nothing".

The subtypes of ``system`` are in ``system_messages`` and ``task_messages``, the
pieces of assistant and user messages in ``blocks``.
"""

# wire() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Optional, Tuple

from .blocks import Block, ToolResult, ToolUse, join_texts
from .wire_fields import (
    Raw,
    anything_of,
    flag_of,
    integer_of,
    mapping_of,
    mappings_of,
    number_of,
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

__all__ = [
    "Assistant",
    "AuthStatus",
    "CommandLifecycle",
    "ConversationReset",
    "ErrorMessage",
    "KeepAlive",
    "Message",
    "PromptSuggestion",
    "RateLimit",
    "Result",
    "StreamEvent",
    "System",
    "ToolProgress",
    "ToolUseSummary",
    "TranscriptMirror",
    "Unknown",
    "User",
]


class Message:
    """The base of everything the CLI says: the JSON object, and whose it is."""

    raw: Raw

    @property
    def type(self) -> str:
        """The type of message, as the wire names it."""
        return text_of(self.raw.get("type"))

    @property
    def uuid(self) -> Optional[str]:
        """The message's own id."""
        return optional_text_of(self.raw.get("uuid"))

    @property
    def session_id(self) -> Optional[str]:
        """The conversation it belongs to."""
        return optional_text_of(self.raw.get("session_id"))

    @property
    def parent_tool_use_id(self) -> Optional[str]:
        """The tool call that started the subagent it comes from; None: the main conversation."""
        return optional_text_of(self.raw.get("parent_tool_use_id"))


# The conversation.


@dataclasses.dataclass(frozen=True)
class Assistant(Message):
    """
    Claude speaks or calls tools.

    One reply arrives as several of these, one for each block, with the same
    ``message_id``; their usage is not final, that of the :class:`Result` is.

    Attributes:
        message_id: The reply it is a part of.
        model: Who speaks; ``<synthetic>`` where the CLI itself does.
        content: The blocks.
        stop_reason: Why the reply ended; None while it goes on.
        usage: Tokens so far, or None.
        error: The kind of failure this message reports, such as ``rate_limit``, or None.
        parent_tool_use_id: The tool call that started the subagent that speaks, or None.
        agent: The kind (or else the id) of that subagent, or None.

    """

    message_id: str = ""
    model: str = ""
    content: Tuple[Block, ...] = ()
    stop_reason: Optional[str] = None
    usage: Optional[Raw] = None
    error: Optional[str] = None
    parent_tool_use_id: Optional[str] = None
    agent: Optional[str] = None
    raw: Raw = raw_field()

    @property
    def text(self) -> str:
        """The text in it."""
        return join_texts(self.content, "")

    @property
    def tool_uses(self) -> Tuple[ToolUse, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))


@dataclasses.dataclass(frozen=True)
class User(Message):
    """
    What is said to Claude: a prompt, or the results of its tool calls.

    Attributes:
        content: The blocks; a plain text is one block.
        parent_tool_use_id: The tool call that started the subagent that is spoken to, or None.
        agent: The kind (or else the id) of that subagent, or None.
        is_replay: Whether this repeats a message of ours.
        is_synthetic: Whether the CLI made it up; nobody typed it.
        origin: Who it comes from, or None.
        tool_use_result: The CLI's structured record of a tool call, of any JSON type, or None.

    """

    content: Tuple[Block, ...] = ()
    parent_tool_use_id: Optional[str] = None
    agent: Optional[str] = None
    is_replay: bool = False
    is_synthetic: bool = False
    origin: Optional[Raw] = None
    tool_use_result: Any = None
    raw: Raw = raw_field()

    @property
    def text(self) -> str:
        """The text in it; several texts are joined by line ends."""
        return join_texts(self.content, "\n")

    @property
    def tool_results(self) -> Tuple[ToolResult, ...]:
        """The tool results in it."""
        return tuple(block for block in self.content if isinstance(block, ToolResult))


@dataclasses.dataclass(frozen=True)
class Result(Message):
    """
    A turn ended.

    Attributes:
        subtype: ``success``, ``error_during_execution``, ``error_max_turns``, ...
        is_error: Whether it failed. It may have, with subtype ``success``; and some CLIs
            say False to ``error_max_budget_usd`` or an interrupt.
        result: The final text, or None.
        errors: What went wrong.
        duration_ms: How long the turn took.
        duration_api_ms: How much of it was spent waiting for the service.
        num_turns: How many steps it took; 0 or -1 for a slash command.
        total_cost_usd: Cost of the process so far, not of this turn; None where not told.
        cost_usd: Cost of this turn alone, told by very few CLIs, or None.
        usage: Tokens of this turn.
        model_usage: Tokens and cost of each model, of the process so far.
        permission_denials: The tool calls that were refused.
        structured_output: The object that matches the JSON Schema asked for, or None.
        stop_reason: Why the last reply ended, or None.
        terminal_reason: Why the turn ended, such as ``max_turns``, or None.
        api_error_status: The HTTP status of a failed request, or None.
        origin: Who began the turn, or None; see ``origin_kind``.
        user_message_uuids: The user messages this turn answered, where the CLI tells.
        local_command: The slash command this is the end of, or None.

    """

    subtype: str = wire(text_of)
    is_error: bool = wire(flag_of)
    result: Optional[str] = wire(optional_text_of)
    errors: Tuple[str, ...] = wire(texts_of)
    duration_ms: int = wire(integer_of)
    duration_api_ms: int = wire(integer_of)
    num_turns: int = wire(integer_of)
    total_cost_usd: Optional[float] = wire(optional_number_of)
    cost_usd: Optional[float] = wire(optional_number_of)
    usage: Raw = wire(mapping_of)
    model_usage: Raw = wire(mapping_of, "modelUsage")
    permission_denials: Tuple[Raw, ...] = wire(mappings_of)
    structured_output: Any = wire(anything_of)
    stop_reason: Optional[str] = wire(optional_text_of)
    terminal_reason: Optional[str] = wire(optional_text_of)
    api_error_status: Optional[int] = wire(optional_integer_of)
    origin: Optional[Raw] = wire(optional_mapping_of)
    user_message_uuids: Tuple[str, ...] = wire(texts_of)
    local_command: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()

    @property
    def text(self) -> str:
        """The final text, or what went wrong."""
        return "\n".join(self.errors) if self.result is None else self.result

    @property
    def origin_kind(self) -> Optional[str]:
        """Who began the turn: ``task-notification``, ``human``, ...; None: a question of ours."""
        return optional_text_of(self.origin.get("kind")) if self.origin else None


@dataclasses.dataclass(frozen=True)
class StreamEvent(Message):
    """
    A reply in the making: one event of the Messages API's stream.

    Attributes:
        event: The event.

    """

    event: Raw
    raw: Raw = raw_field()

    @property
    def event_type(self) -> str:
        """``content_block_delta``, ``message_start``, ..."""
        return text_of(self.event.get("type") or self.raw.get("event_type"))


# Around the conversation.


@dataclasses.dataclass(frozen=True)
class System(Message):
    """A message of the CLI about itself; also every one of a subtype not known here."""

    subtype: str = wire(text_of)
    raw: Raw = raw_field()


rate_limit_field = functools.partial(wire, within="rate_limit_info")


@dataclasses.dataclass(frozen=True)
class RateLimit(Message):
    """
    How much of the account's limit is used.

    Attributes:
        status: ``allowed``, ``allowed_warning`` or ``rejected``.
        resets_at: When it starts anew, in seconds since 1970, or None.
        kind: Which limit, such as ``five_hour``, or None.
        utilization: How much of it is used, or None.
        overage_status: The same as ``status`` for paid overage, or None.
        overage_resets_at: When that starts anew, in seconds since 1970, or None.
        overage_disabled_reason: Why there is no overage, or None.
        is_using_overage: Whether overage is in use, or None.

    """

    status: str = rate_limit_field(text_of)
    resets_at: Optional[float] = rate_limit_field(optional_number_of, "resetsAt")
    kind: Optional[str] = rate_limit_field(optional_text_of, "rateLimitType")
    utilization: Optional[float] = rate_limit_field(optional_number_of)
    overage_status: Optional[str] = rate_limit_field(optional_text_of, "overageStatus")
    overage_resets_at: Optional[float] = rate_limit_field(optional_number_of, "overageResetsAt")
    overage_disabled_reason: Optional[str] = rate_limit_field(
        optional_text_of, "overageDisabledReason"
    )
    is_using_overage: Optional[bool] = rate_limit_field(optional_flag_of, "isUsingOverage")
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ToolProgress(Message):
    """A tool is still running."""

    tool_use_id: str = wire(text_of)
    tool_name: str = wire(text_of)
    elapsed_time_seconds: float = wire(number_of)
    task_id: Optional[str] = wire(optional_text_of)
    heartbeat: bool = wire(flag_of)
    subagent_type: Optional[str] = wire(optional_text_of)
    subagent_retry: Optional[Raw] = wire(optional_mapping_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ToolUseSummary(Message):
    """What a row of tool calls did, in one line."""

    summary: str = wire(text_of)
    preceding_tool_use_ids: Tuple[str, ...] = wire(texts_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class AuthStatus(Message):
    """How a login goes."""

    is_authenticating: bool = wire(flag_of, "isAuthenticating")
    output: Tuple[str, ...] = wire(texts_of)
    error: Optional[str] = wire(problem_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class PromptSuggestion(Message):
    """What the user may want to ask next; comes after the result."""

    suggestion: str = wire(text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ConversationReset(Message):
    """The conversation was given up for a new one, as ``/clear`` does."""

    new_conversation_id: str = wire(text_of)
    trigger: Optional[str] = wire(optional_text_of)
    user_message_uuid: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class CommandLifecycle(Message):
    """
    How far the CLI is with a user message of ours.

    Attributes:
        command_uuid: The uuid that message was sent with.
        state: ``queued``, ``started``, ``completed``, ...

    """

    command_uuid: str = wire(text_of)
    state: str = wire(text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class TranscriptMirror(Message):
    """A copy of what the CLI wrote to the file of the conversation."""

    file_path: str = wire(text_of, "filePath")
    entries: Tuple[Raw, ...] = wire(mappings_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class KeepAlive(Message):
    """A sign of life."""

    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ErrorMessage(Message):
    """
    Something failed outside of any turn. Today's CLIs do not send it.

    Attributes:
        error: What happened.
        kind: The kind of error, such as ``overloaded_error``, or None.

    """

    error: str
    kind: Optional[str] = None
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class Unknown(Message):
    """A type of message this release does not know; everything is in ``raw``."""

    # Declared here, where the base class reads it from raw, so that repr() shows it.
    type: str = ""
    raw: Raw = raw_field()
