"""
What the CLI answers to the control methods of a client, as frozen dataclasses.

Every reply keeps the JSON object it was made of in ``raw``. Nothing the CLI answers
makes building one fail: what is missing, or of the wrong type, takes the value for
"nothing" (None, empty, False). Which CLI answers what is in ``runtime/versions``.
"""

# wire() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, TypeVar

from .wire_fields import (
    Raw,
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

__all__ = [
    "AccountInfo",
    "Acknowledgement",
    "CommandInfo",
    "ContextCategory",
    "ContextUsage",
    "ControlReply",
    "McpServer",
    "McpServersChange",
    "McpStatus",
    "ModelChange",
    "ModelInfo",
    "PermissionModeChange",
    "RewindReport",
    "SettingsReport",
    "SettingsSource",
    "SideAnswer",
    "TasksMoved",
    "UsageReport",
]

R = TypeVar("R")


def each_of(part: Type[R]) -> Callable[[Any], Tuple[R, ...]]:
    """A converter: each JSON object of a list as a *part*."""
    return lambda value: tuple(build(part, item) for item in mappings_of(value))


def problems_of(value: Any) -> Mapping[str, str]:
    """Texts by name; what has no text is told as an empty one."""
    return {str(name): problem_of(item) or "" for name, item in mapping_of(value).items()}


class ControlReply:
    """The base of all replies: the JSON object."""

    raw: Raw


@dataclasses.dataclass(frozen=True)
class Acknowledgement(ControlReply):
    """The CLI has done what it was asked to, and has nothing more to say about it."""

    raw: Raw = raw_field()


# Model, mode, settings.


@dataclasses.dataclass(frozen=True)
class ModelChange(ControlReply):
    """
    ``set_model()``.

    Attributes:
        model: The full name of the model from now on; None from CLIs that do not tell.

    """

    model: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class PermissionModeChange(ControlReply):
    """
    ``set_permission_mode()``.

    Attributes:
        mode: The mode from now on; ``manual`` is another name of ``default``.

    """

    mode: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class SettingsSource(ControlReply):
    """
    Settings from one place.

    Attributes:
        source: The place: ``userSettings``, ``projectSettings``, ``flagSettings``, ...
        settings: What is set there.

    """

    source: str = wire(text_of)
    settings: Raw = wire(mapping_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class SettingsReport(ControlReply):
    """
    ``get_settings()``.

    Attributes:
        effective: All settings, merged.
        sources: Where they come from, from the weakest to the strongest.
        applied: What became of them, as the CLI names it.
        model: The model in use, or None.
        effort: The effort in use; None for a model that has none.

    """

    effective: Raw = wire(mapping_of)
    sources: Tuple[SettingsSource, ...] = wire(each_of(SettingsSource))
    applied: Raw = wire(mapping_of)
    model: Optional[str] = wire(optional_text_of, within="applied")
    effort: Optional[str] = wire(optional_text_of, within="applied")
    raw: Raw = raw_field()


# MCP servers.


def tool_names_of(value: Any) -> Tuple[str, ...]:
    """The names of tools, each once: some CLIs repeat them."""
    return tuple(dict.fromkeys(texts_of(value)))


@dataclasses.dataclass(frozen=True)
class McpServer(ControlReply):
    """
    One MCP server.

    Attributes:
        name: Its name in the configuration.
        status: ``connected``, ``failed``, ``needs-auth``, ``pending`` or ``disabled``.
        error: Why it failed, or None.
        server_name, server_version: What it says about itself, or None.
        scope: Where it is configured: ``user``, ``project``, ``dynamic``, ...; or None.
        transport: ``stdio``, ``http``, ``sse``, ``sdk``; or None.
        tools: The names of its tools, as the server calls them.

    """

    name: str = wire(text_of)
    status: str = wire(text_of)
    error: Optional[str] = wire(problem_of)
    server_name: Optional[str] = wire(optional_text_of, "name", within="serverInfo")
    server_version: Optional[str] = wire(optional_text_of, "version", within="serverInfo")
    scope: Optional[str] = wire(optional_text_of)
    transport: Optional[str] = wire(optional_text_of)
    tools: Tuple[str, ...] = wire(tool_names_of)
    raw: Raw = raw_field()


def servers_of(value: Any) -> Tuple[McpServer, ...]:
    """The servers of a list, each once: some CLIs list a server twice."""
    by_name: Dict[str, McpServer] = {}
    for server in each_of(McpServer)(value):
        by_name.setdefault(server.name, server)
    return tuple(by_name.values())


@dataclasses.dataclass(frozen=True)
class McpStatus(ControlReply):
    """
    ``mcp_status()``.

    Attributes:
        servers: All servers the CLI has, the program's own tools among them.

    """

    servers: Tuple[McpServer, ...] = wire(servers_of, "mcpServers")
    raw: Raw = raw_field()

    def get(self, name: str) -> Optional[McpServer]:
        """The server of that name, or None."""
        return next((server for server in self.servers if server.name == name), None)


@dataclasses.dataclass(frozen=True)
class McpServersChange(ControlReply):
    """
    ``set_mcp_servers()``.

    Attributes:
        added, removed: Names of servers. One that could not be started is among those
            added, too.
        errors: Why, by the server's name.

    """

    added: Tuple[str, ...] = wire(texts_of)
    removed: Tuple[str, ...] = wire(texts_of)
    errors: Mapping[str, str] = wire(problems_of)
    raw: Raw = raw_field()


# Tokens and money.


@dataclasses.dataclass(frozen=True)
class ContextCategory(ControlReply):
    """
    A part of the context window.

    Attributes:
        name: What it is, in words: ``System prompt``, ``Messages``, ``Free space``, ...
        id: The same for programs: ``system_prompt``, ...; or None.
        tokens: Its size.
        kind: ``used``, ``free``, ``buffer`` or ``deferred`` (loaded when needed); or None.

    """

    name: str = wire(text_of)
    id: Optional[str] = wire(optional_text_of)
    tokens: Optional[int] = wire(optional_integer_of)
    kind: Optional[str] = wire(optional_text_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ContextUsage(ControlReply):
    """
    ``context_usage()``: how full the context window is.

    Attributes:
        total_tokens: The tokens in use.
        max_tokens: How many there can be.
        percentage: The one of the other.
        model: Whose window it is.
        categories: What takes up the room.
        is_auto_compact_enabled: Whether the CLI compacts by itself when it is full.
        auto_compact_threshold: At how many tokens; or None.

    """

    total_tokens: Optional[int] = wire(optional_integer_of, "totalTokens")
    max_tokens: Optional[int] = wire(optional_integer_of, "maxTokens")
    percentage: Optional[float] = wire(optional_number_of)
    model: Optional[str] = wire(optional_text_of)
    categories: Tuple[ContextCategory, ...] = wire(each_of(ContextCategory))
    is_auto_compact_enabled: Optional[bool] = wire(optional_flag_of, "isAutoCompactEnabled")
    auto_compact_threshold: Optional[int] = wire(optional_integer_of, "autoCompactThreshold")
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class UsageReport(ControlReply):
    """
    ``usage_report()``: what the session has used, as the CLI counts it.

    The CLI counts what no answer contains, side questions for example, and on new CLIs
    what was spent before a resume. ``client.cost_usd`` is the sum over this client's turns.

    Attributes:
        cost_usd: What it cost.
        api_duration_ms, duration_ms: How long the model took, and how long it lasted.
        lines_added, lines_removed: Changes to files.
        model_usage: Tokens and cost by model, as the CLI names them.
        subscription_type: The account's plan; None with an API key.
        rate_limits: The plan's limits, as the CLI names them; None where there are none.

    """

    cost_usd: Optional[float] = wire(optional_number_of, "total_cost_usd", "session")
    api_duration_ms: Optional[int] = wire(optional_integer_of, "total_api_duration_ms", "session")
    duration_ms: Optional[int] = wire(optional_integer_of, "total_duration_ms", "session")
    lines_added: Optional[int] = wire(optional_integer_of, "total_lines_added", "session")
    lines_removed: Optional[int] = wire(optional_integer_of, "total_lines_removed", "session")
    model_usage: Raw = wire(mapping_of, within="session")
    subscription_type: Optional[str] = wire(optional_text_of)
    rate_limits: Optional[Raw] = wire(optional_mapping_of)
    raw: Raw = raw_field()


# Files, tasks, side questions.


@dataclasses.dataclass(frozen=True)
class RewindReport(ControlReply):
    """
    ``rewind_files()``.

    Attributes:
        can_rewind: Whether the files could be restored; with ``dry_run`` whether they can.
        error: Why not, or None.
        files_changed: The files it is about; CLIs tell them for a ``dry_run`` only.
        insertions, deletions: How many lines; likewise, else None.

    """

    can_rewind: bool = wire(flag_of, "canRewind")
    error: Optional[str] = wire(problem_of)
    files_changed: Tuple[str, ...] = wire(texts_of, "filesChanged")
    insertions: Optional[int] = wire(optional_integer_of)
    deletions: Optional[int] = wire(optional_integer_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class TasksMoved(ControlReply):
    """
    ``background_tasks()``.

    Attributes:
        backgrounded: Whether the tool that was named runs in the background now; None
            where none was named.

    """

    backgrounded: Optional[bool] = wire(optional_flag_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class SideAnswer(ControlReply):
    """
    ``side_question()``. As a string, it is its text.

    Attributes:
        text: The answer; empty if there is none.
        synthetic: Whether the CLI itself says so, and not the model.

    """

    text: str = wire(text_of, "response")
    synthetic: bool = wire(flag_of)
    raw: Raw = raw_field()

    def __str__(self) -> str:
        return self.text


# What the CLI told when it was greeted.


@dataclasses.dataclass(frozen=True)
class ModelInfo(ControlReply):
    """
    A model, in ``supported_models()``.

    Attributes:
        value: What ``model=`` and ``set_model()`` take.
        display_name, description: For people.
        resolved_model: The full name behind an alias, or None.
        effort_levels: The values of ``effort`` it knows; empty where the CLI tells none.

    """

    value: str = wire(text_of)
    display_name: str = wire(text_of, "displayName")
    description: str = wire(text_of)
    resolved_model: Optional[str] = wire(optional_text_of, "resolvedModel")
    effort_levels: Tuple[str, ...] = wire(texts_of, "supportedEffortLevels")
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class CommandInfo(ControlReply):
    """
    A slash command, in ``supported_commands()``.

    Attributes:
        name: Its name, without the slash.
        description: What it does.
        argument_hint: What may follow it; empty for nothing.
        aliases: Other names of it.

    """

    name: str = wire(text_of)
    description: str = wire(text_of)
    argument_hint: str = wire(text_of, "argumentHint")
    aliases: Tuple[str, ...] = wire(texts_of)
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class AccountInfo(ControlReply):
    """
    ``account_info()``: who pays, as far as the CLI tells; None is what it does not.

    Attributes:
        email, organization, subscription_type: Of the login.
        token_source, api_key_source: Where the credentials are from.
        api_provider: ``firstParty``, ``bedrock``, ``vertex``, ...

    """

    email: Optional[str] = wire(optional_text_of)
    organization: Optional[str] = wire(optional_text_of)
    subscription_type: Optional[str] = wire(optional_text_of, "subscriptionType")
    token_source: Optional[str] = wire(optional_text_of, "tokenSource")
    api_key_source: Optional[str] = wire(optional_text_of, "apiKeySource")
    api_provider: Optional[str] = wire(optional_text_of, "apiProvider")
    raw: Raw = raw_field()
