"""
What the CLI answers to the control methods of a client.

A reply holds the CLI's JSON object, and its fields read from that. Nothing that the CLI
answers makes a reply fail: a field that is missing, or of the wrong type, is the value for
"nothing" (None, empty, False). The requests are in ``engine/control.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from .fields import (
    flag_of,
    mapping_of,
    mappings_of,
    optional_flag_of,
    optional_integer_of,
    optional_mapping_of,
    optional_number_of,
    optional_text_of,
    problem_of,
    text_of,
    texts_of,
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

T = TypeVar("T")
R = TypeVar("R", bound="ControlReply")


class Field(Generic[T]):
    """A field of a reply: *key* (its own name by default) of the object *within*, converted."""

    def __init__(self, convert: Callable[[Any], T], key: str = "", within: str = "") -> None:
        self.convert = convert
        self.key = key
        self.within = within

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, reply: ControlReply | None, owner: type) -> T:
        if reply is None:
            return self  # type: ignore[return-value]  # of the class, for documentation
        raw = mapping_of(reply.raw.get(self.within)) if self.within else reply.raw
        return self.convert(raw.get(self.key))

    def __set__(self, reply: ControlReply, value: T) -> None:
        raise AttributeError("a reply cannot be changed")


class ControlReply:
    """
    A reply of the CLI; ``reply["key"]`` reads what has no attribute.

    Attributes:
        raw: The JSON object, as it came.

    """

    def __init__(self, raw: Any = None) -> None:
        self.raw: Mapping[str, Any] = mapping_of(raw)

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        names = [name for name, field in vars(type(self)).items() if isinstance(field, Field)]
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__name__}({shown})"


def each_of(part: type[R]) -> Callable[[Any], tuple[R, ...]]:
    """A converter: each JSON object of a list as a *part*."""
    return lambda value: tuple(map(part, mappings_of(value)))


class Acknowledgement(ControlReply):
    """The CLI has done what was requested, and says nothing more about it."""


# Model, mode, settings.


class ModelChange(ControlReply):
    """
    ``set_model()``.

    Attributes:
        model: The full name of the model from now on; None from CLIs that do not name it.

    """

    model = Field(optional_text_of)


class PermissionModeChange(ControlReply):
    """
    ``set_permission_mode()``.

    Attributes:
        mode: The mode from now on; ``manual`` is another name of ``default``.

    """

    mode = Field(optional_text_of)


class SettingsSource(ControlReply):
    """
    Settings from one place.

    Attributes:
        source: The place: ``userSettings``, ``projectSettings``, ``flagSettings``, ...
        settings: What is set there.

    """

    source = Field(text_of)
    settings = Field(mapping_of)


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

    effective = Field(mapping_of)
    sources = Field(each_of(SettingsSource))
    applied = Field(mapping_of)
    model = Field(optional_text_of, within="applied")
    effort = Field(optional_text_of, within="applied")


# MCP servers.


def once(value: Any) -> tuple[str, ...]:
    """The names of tools, each once: some CLIs repeat them."""
    return tuple(dict.fromkeys(texts_of(value)))


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

    name = Field(text_of)
    status = Field(text_of)
    error = Field(problem_of)
    server_name = Field(optional_text_of, "name", within="serverInfo")
    server_version = Field(optional_text_of, "version", within="serverInfo")
    scope = Field(optional_text_of)
    transport = Field(optional_text_of)
    tools = Field(once)


def servers_of(value: Any) -> tuple[McpServer, ...]:
    """The servers of a list, each once: some CLIs list a server twice."""
    by_name: dict[str, McpServer] = {}
    for server in each_of(McpServer)(value):
        by_name.setdefault(server.name, server)
    return tuple(by_name.values())


class McpStatus(ControlReply):
    """
    ``mcp_status()``.

    Attributes:
        servers: All servers of the CLI, that of the program's own tools among them.

    """

    servers = Field(servers_of, "mcpServers")

    def get(self, name: str) -> McpServer | None:
        """The server of that name, or None."""
        return next((server for server in self.servers if server.name == name), None)


def problems_of(value: Any) -> dict[str, str]:
    """Texts by name."""
    return {name: problem_of(each) or "" for name, each in mapping_of(value).items()}


class McpServersChange(ControlReply):
    """
    ``set_mcp_servers()``.

    Attributes:
        added, removed: Names of servers. One that could not be started is among those
            added, too.
        errors: Why, by the server's name.

    """

    added = Field(texts_of)
    removed = Field(texts_of)
    errors = Field(problems_of)


# Tokens and money.


class ContextCategory(ControlReply):
    """
    A part of the context window.

    Attributes:
        name: What it is, in words: ``System prompt``, ``Messages``, ``Free space``, ...
        id: The same for programs: ``system_prompt``, ...; or None.
        tokens: Its size.
        kind: ``used``, ``free``, ``buffer`` or ``deferred`` (loaded when needed); or None.

    """

    name = Field(text_of)
    id = Field(optional_text_of)
    tokens = Field(optional_integer_of)
    kind = Field(optional_text_of)


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

    total_tokens = Field(optional_integer_of, "totalTokens")
    max_tokens = Field(optional_integer_of, "maxTokens")
    percentage = Field(optional_number_of)
    model = Field(optional_text_of)
    categories = Field(each_of(ContextCategory))
    is_auto_compact_enabled = Field(optional_flag_of, "isAutoCompactEnabled")
    auto_compact_threshold = Field(optional_integer_of, "autoCompactThreshold")


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

    cost_usd = Field(optional_number_of, "total_cost_usd", within="session")
    api_duration_ms = Field(optional_integer_of, "total_api_duration_ms", within="session")
    duration_ms = Field(optional_integer_of, "total_duration_ms", within="session")
    lines_added = Field(optional_integer_of, "total_lines_added", within="session")
    lines_removed = Field(optional_integer_of, "total_lines_removed", within="session")
    model_usage = Field(mapping_of, within="session")
    subscription_type = Field(optional_text_of)
    rate_limits = Field(optional_mapping_of)


# Files, tasks, side questions.


class RewindReport(ControlReply):
    """
    ``rewind_files()``.

    Attributes:
        can_rewind: Whether the files could be restored; with ``dry_run`` whether they can.
        error: Why not, or None.
        files_changed: The files in question; CLIs list them for a ``dry_run`` only.
        insertions, deletions: How many lines; likewise, else None.

    """

    can_rewind = Field(flag_of, "canRewind")
    error = Field(problem_of)
    files_changed = Field(texts_of, "filesChanged")
    insertions = Field(optional_integer_of)
    deletions = Field(optional_integer_of)


class TasksMoved(ControlReply):
    """
    ``background_tasks()``.

    Attributes:
        backgrounded: Whether the tool that was named runs in the background now; None
            where none was named.

    """

    backgrounded = Field(optional_flag_of)


class SideAnswer(ControlReply):
    """
    ``side_question()``. As a string, it is its text.

    Attributes:
        text: The answer; empty if there is none.
        synthetic: Whether the CLI itself says so, and not the model.

    """

    text = Field(text_of, "response")
    synthetic = Field(flag_of)

    def __str__(self) -> str:
        return self.text


# What the CLI answered to the greeting.


class ModelInfo(ControlReply):
    """
    A model, in ``supported_models()``.

    Attributes:
        value: What ``model=`` and ``set_model()`` take.
        display_name, description: For people.
        resolved_model: The full name behind an alias, or None.
        effort_levels: The values of ``effort`` it knows; empty where the CLI names none.

    """

    value = Field(text_of)
    display_name = Field(text_of, "displayName")
    description = Field(text_of)
    resolved_model = Field(optional_text_of, "resolvedModel")
    effort_levels = Field(texts_of, "supportedEffortLevels")


class CommandInfo(ControlReply):
    """
    A slash command, in ``supported_commands()``.

    Attributes:
        name: Its name, without the slash.
        description: What it does.
        argument_hint: What may follow it; empty for nothing.
        aliases: Other names of it.

    """

    name = Field(text_of)
    description = Field(text_of)
    argument_hint = Field(text_of, "argumentHint")
    aliases = Field(texts_of)


class AccountInfo(ControlReply):
    """
    ``account_info()``: who pays, as far as the CLI says; None where it says nothing.

    Attributes:
        email, organization, subscription_type: Of the login.
        token_source, api_key_source: Where the credentials are from.
        api_provider: ``firstParty``, ``bedrock``, ``vertex``, ...

    """

    email = Field(optional_text_of)
    organization = Field(optional_text_of)
    subscription_type = Field(optional_text_of, "subscriptionType")
    token_source = Field(optional_text_of, "tokenSource")
    api_key_source = Field(optional_text_of, "apiKeySource")
    api_provider = Field(optional_text_of, "apiProvider")
