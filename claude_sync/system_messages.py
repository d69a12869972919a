"""
The messages of type ``system``: what the CLI tells about itself.

One class for each subtype; those about tasks are in ``task_messages``. The set
is open: a subtype this release does not know is a plain ``messages.System``.
Attributes are named as on the wire, in lower case; which of them a CLI sends
depends on its version.
"""

# wire() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

from .messages import System
from .wire_fields import (
    Raw,
    anything_of,
    flag_of,
    integer_of,
    mapping_of,
    mappings_of,
    optional_integer_of,
    optional_mapping_of,
    optional_number_of,
    optional_text_of,
    optional_texts_of,
    problem_of,
    text_of,
    texts_of,
    wire,
)

__all__ = [
    "ApiRetry",
    "CodeChangePublished",
    "CommandsChanged",
    "CompactBoundary",
    "ControlRequestProgress",
    "ElicitationComplete",
    "FilesPersisted",
    "HookProgress",
    "HookResponse",
    "HookRun",
    "HookStarted",
    "Informational",
    "Init",
    "LocalCommandOutput",
    "MemoryRecall",
    "MirrorError",
    "ModelFallback",
    "ModelRefusalFallback",
    "ModelRefusalNoFallback",
    "Notification",
    "PermissionDenied",
    "PluginInstall",
    "PostTurnSummary",
    "SessionMetadata",
    "SessionStateChanged",
    "SessionWritesLost",
    "Status",
    "ThinkingTokens",
    "VcsStateChanged",
    "WorkerShuttingDown",
]


# The session.


@dataclasses.dataclass(frozen=True)
class Init(System):
    """A turn begins; what this session has. Comes again with every turn."""

    cwd: str = wire(text_of)
    model: str = wire(text_of)
    tools: Tuple[str, ...] = wire(texts_of)
    mcp_servers: Tuple[Raw, ...] = wire(mappings_of)
    permission_mode: Optional[str] = wire(optional_text_of, "permissionMode")
    slash_commands: Tuple[str, ...] = wire(texts_of)
    api_key_source: Optional[str] = wire(optional_text_of, "apiKeySource")
    cli_version: Optional[str] = wire(optional_text_of, "claude_code_version")
    output_style: Optional[str] = wire(optional_text_of)
    agents: Tuple[str, ...] = wire(texts_of)
    skills: Tuple[str, ...] = wire(texts_of)
    plugins: Tuple[Raw, ...] = wire(mappings_of)
    capabilities: Optional[Tuple[str, ...]] = wire(optional_texts_of)
    user_message_uuids: Tuple[str, ...] = wire(texts_of)


@dataclasses.dataclass(frozen=True)
class Status(System):
    """What the CLI does right now (``compacting``, ``requesting``, None), or a change of mode."""

    status: Optional[str] = wire(optional_text_of)
    message: Optional[str] = wire(optional_text_of)
    permission_mode: Optional[str] = wire(optional_text_of, "permissionMode")
    compact_result: Optional[str] = wire(optional_text_of)
    compact_error: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class CompactBoundary(System):
    """The conversation so far was replaced by a summary."""

    trigger: Optional[str] = wire(optional_text_of, within="compact_metadata")
    pre_tokens: Optional[int] = wire(optional_integer_of, within="compact_metadata")
    post_tokens: Optional[int] = wire(optional_integer_of, within="compact_metadata")
    compact_metadata: Raw = wire(mapping_of)
    summary: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class SessionStateChanged(System):
    """``running``, ``requires_action`` or ``idle``; sent only if the environment asks for it."""

    state: str = wire(text_of)
    sdk_host_only: bool = wire(flag_of)


@dataclasses.dataclass(frozen=True)
class ApiRetry(System):
    """A request to the service failed and is tried again."""

    attempt: int = wire(integer_of)
    max_retries: int = wire(integer_of)
    retry_delay_ms: Optional[float] = wire(optional_number_of)
    error_status: Optional[int] = wire(optional_integer_of)
    error: Optional[str] = wire(problem_of)
    no_response: Optional[Any] = wire(anything_of)


@dataclasses.dataclass(frozen=True)
class ThinkingTokens(System):
    """How much Claude has thought so far."""

    estimated_tokens: int = wire(integer_of)
    estimated_tokens_delta: int = wire(integer_of)


@dataclasses.dataclass(frozen=True)
class PermissionDenied(System):
    """A tool call was refused without asking anybody."""

    tool_name: str = wire(text_of)
    tool_use_id: str = wire(text_of)
    agent_id: Optional[str] = wire(optional_text_of)
    decision_reason_type: Optional[str] = wire(optional_text_of)
    decision_reason: Optional[str] = wire(optional_text_of)
    message: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class LocalCommandOutput(System):
    """What a slash command printed."""

    content: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class Informational(System):
    """A line for the user to read."""

    level: Optional[str] = wire(optional_text_of)
    content: str = wire(text_of)
    prevent_continuation: bool = wire(flag_of)


@dataclasses.dataclass(frozen=True)
class Notification(System):
    """Something the CLI would show beside its prompt."""

    key: str = wire(text_of)
    text: str = wire(text_of)
    priority: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class CommandsChanged(System):
    """The slash commands, all of them, after a change."""

    commands: Tuple[Raw, ...] = wire(mappings_of)


# Hooks that the CLI runs by itself.


@dataclasses.dataclass(frozen=True)
class HookRun(System):
    """The base of what is told about one run of a hook."""

    hook_id: str = wire(text_of)
    hook_name: str = wire(text_of)
    hook_event: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class HookStarted(HookRun):
    """A hook began."""


@dataclasses.dataclass(frozen=True)
class HookProgress(HookRun):
    """What a hook has printed so far."""

    stdout: str = wire(text_of)
    stderr: str = wire(text_of)
    output: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class HookResponse(HookProgress):
    """A hook ended: ``success``, ``error`` or ``cancelled``."""

    exit_code: Optional[int] = wire(optional_integer_of)
    outcome: Optional[str] = wire(optional_text_of)


# Rare ones.


@dataclasses.dataclass(frozen=True)
class ModelFallback(System):
    """Another model takes over, because the one asked for failed."""

    trigger: Optional[str] = wire(optional_text_of)
    original_model: Optional[str] = wire(optional_text_of)
    fallback_model: Optional[str] = wire(optional_text_of)
    content: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class ModelRefusalFallback(ModelFallback):
    """Another model takes over, because the one asked for refused; what it said is retracted."""

    direction: Optional[str] = wire(optional_text_of)
    scope: Optional[str] = wire(optional_text_of)
    retracted_message_uuids: Tuple[str, ...] = wire(texts_of)


@dataclasses.dataclass(frozen=True)
class ModelRefusalNoFallback(ModelFallback):
    """The model refused, and no other takes over."""

    api_refusal_category: Optional[str] = wire(optional_text_of)
    api_refusal_explanation: Optional[str] = wire(optional_text_of)
    refused_user_message_uuid: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class MemoryRecall(System):
    """Memories were added to the conversation."""

    mode: Optional[str] = wire(optional_text_of)
    memories: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class FilesPersisted(System):
    """Files were saved at the service."""

    files: Tuple[Raw, ...] = wire(mappings_of)
    failed: Tuple[Raw, ...] = wire(mappings_of)
    processed_at: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class PluginInstall(System):
    """How the installation of plugins goes."""

    status: Optional[str] = wire(optional_text_of)
    name: Optional[str] = wire(optional_text_of)
    error: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class ElicitationComplete(System):
    """What an MCP server asked the user to do in a browser is done."""

    mcp_server_name: str = wire(text_of)
    elicitation_id: str = wire(text_of)


@dataclasses.dataclass(frozen=True)
class ControlRequestProgress(System):
    """A control request of ours takes its time."""

    request_id: str = wire(text_of)
    status: Optional[str] = wire(optional_text_of)
    attempt: Optional[int] = wire(optional_integer_of)
    max_retries: Optional[int] = wire(optional_integer_of)
    retry_delay_ms: Optional[float] = wire(optional_number_of)
    error_status: Optional[int] = wire(optional_integer_of)


@dataclasses.dataclass(frozen=True)
class SessionWritesLost(System):
    """The disk is full: parts of the saved conversation are missing."""

    error_code: Optional[str] = wire(optional_text_of)
    lost: Tuple[str, ...] = wire(texts_of)
    transcript_session_ids: Tuple[str, ...] = wire(texts_of)


@dataclasses.dataclass(frozen=True)
class MirrorError(System):
    """A copy of the conversation could not be kept."""

    key: Optional[Raw] = wire(optional_mapping_of)
    error: Optional[str] = wire(problem_of)


@dataclasses.dataclass(frozen=True)
class WorkerShuttingDown(System):
    """The host of the session goes away."""

    reason: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class SessionMetadata(System):
    """What a host may want to keep with the session."""

    metadata: Raw = wire(mapping_of)


@dataclasses.dataclass(frozen=True)
class VcsStateChanged(System):
    """A command changed the repository: ``commit``, ``push``, ``merge``, ``rebase``."""

    kind: Optional[str] = wire(optional_text_of)
    cwd: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class CodeChangePublished(System):
    """A pull request, or what its provider calls it, was opened."""

    provider: Optional[str] = wire(optional_text_of)
    url: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class PostTurnSummary(System):
    """What a turn came to."""

    summarizes_uuid: Optional[str] = wire(optional_text_of)
    status_category: Optional[str] = wire(optional_text_of)
    status_detail: Optional[str] = wire(optional_text_of)
    needs_action: Optional[str] = wire(optional_text_of)
