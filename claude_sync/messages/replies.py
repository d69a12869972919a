"""
What the CLI answers to the control methods of a client.

A reply is the CLI's JSON object, with the fields that programs use as attributes;
``reply["key"]`` reads any. Nothing that the CLI answers makes a reply fail: a field that is
missing, or of the wrong type, is the value for "nothing" (None, empty, False). The requests are
in ``engine/control.py``.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from .fields import Raw, at, build, mapping_of, mappings_of, objects, problem_of, texts_of

R = TypeVar("R", bound="ControlReply")


@dataclasses.dataclass(init=False, frozen=True)
class ControlReply:
    """
    A reply of the CLI, which is read and never changed.

    Attributes:
        raw: The JSON object, as it came.

    """

    raw: Raw = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def __init_subclass__(cls) -> None:
        dataclasses.dataclass(init=False, frozen=True)(cls)

    def __init__(self, raw: Any = None) -> None:
        vars(self).update(vars(build(type(self), mapping_of(raw))))

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]


def _each_of(part: type[R]) -> Any:
    """A field with each JSON object of a list as a *part*."""
    return at(default=(), convert=lambda value: tuple(map(part, mappings_of(value))))


class Acknowledgement(ControlReply):
    """The CLI has done what was requested, and says nothing more about it."""


# Model, mode, settings.


class ModelChange(ControlReply):
    """
    ``set_model()``.

    Attributes:
        model: The full name of the model from now on; None from CLIs that do not name it.

    """

    model: str | None = None


class PermissionModeChange(ControlReply):
    """
    ``set_permission_mode()``.

    Attributes:
        mode: The mode from now on; ``manual`` is another name of ``default``.

    """

    mode: str | None = None


class SettingsSource(ControlReply):
    """
    Settings from one place.

    Attributes:
        source: The place: ``userSettings``, ``projectSettings``, ``flagSettings``, ...
        settings: What is set there.

    """

    source: str = ""
    settings: Raw = objects()


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

    effective: Raw = objects()
    sources: tuple[SettingsSource, ...] = _each_of(SettingsSource)
    applied: Raw = objects()
    model: str | None = at(within="applied")
    effort: str | None = at(within="applied")


# MCP servers.


def _once(value: Any) -> tuple[str, ...]:
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

    name: str = ""
    status: str = ""
    error: str | None = None
    server_name: str | None = at("name", within="serverInfo")
    server_version: str | None = at("version", within="serverInfo")
    scope: str | None = None
    transport: str | None = None
    tools: tuple[str, ...] = at(default=(), convert=_once)


def _servers_of(value: Any) -> tuple[McpServer, ...]:
    """The servers of a list, each once: some CLIs list a server twice."""
    by_name: dict[str, McpServer] = {}
    for server in map(McpServer, mappings_of(value)):
        by_name.setdefault(server.name, server)
    return tuple(by_name.values())


class McpStatus(ControlReply):
    """
    ``mcp_status()``.

    Attributes:
        servers: All servers of the CLI, that of the program's own tools among them.

    """

    servers: tuple[McpServer, ...] = at("mcpServers", default=(), convert=_servers_of)

    def get(self, name: str) -> McpServer | None:
        """The server of that name, or None."""
        return next((server for server in self.servers if server.name == name), None)


def _problems_of(value: Any) -> dict[str, str]:
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

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    errors: dict[str, str] = at(default=dict, convert=_problems_of)


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

    name: str = ""
    id: str | None = None
    tokens: int | None = None
    kind: str | None = None


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

    total_tokens: int | None = None
    max_tokens: int | None = None
    percentage: float | None = None
    model: str | None = None
    categories: tuple[ContextCategory, ...] = _each_of(ContextCategory)
    is_auto_compact_enabled: bool | None = None
    auto_compact_threshold: int | None = None


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

    cost_usd: float | None = at("total_cost_usd", within="session")
    api_duration_ms: int | None = at("total_api_duration_ms", within="session")
    duration_ms: int | None = at("total_duration_ms", within="session")
    lines_added: int | None = at("total_lines_added", within="session")
    lines_removed: int | None = at("total_lines_removed", within="session")
    model_usage: Raw = at(within="session", default=dict)
    subscription_type: str | None = None
    rate_limits: Raw | None = None


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

    can_rewind: bool = False
    error: str | None = None
    files_changed: tuple[str, ...] = ()
    insertions: int | None = None
    deletions: int | None = None


class TasksMoved(ControlReply):
    """
    ``background_tasks()``.

    Attributes:
        backgrounded: Whether the tool that was named runs in the background now; None
            where none was named.

    """

    backgrounded: bool | None = None


class SideAnswer(ControlReply):
    """
    ``side_question()``. As a string, it is its text.

    Attributes:
        text: The answer; empty if there is none.
        synthetic: Whether the CLI itself says so, and not the model.

    """

    text: str = at("response", default="")
    synthetic: bool = False

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

    value: str = ""
    display_name: str = ""
    description: str = ""
    resolved_model: str | None = None
    effort_levels: tuple[str, ...] = at("supportedEffortLevels", default=())


class CommandInfo(ControlReply):
    """
    A slash command, in ``supported_commands()``.

    Attributes:
        name: Its name, without the slash.
        description: What it does.
        argument_hint: What may follow it; empty for nothing.
        aliases: Other names of it.

    """

    name: str = ""
    description: str = ""
    argument_hint: str = ""
    aliases: tuple[str, ...] = ()


class AccountInfo(ControlReply):
    """
    ``account_info()``: who pays, as far as the CLI says; None where it says nothing.

    Attributes:
        email, organization, subscription_type: Of the login.
        token_source, api_key_source: Where the credentials are from.
        api_provider: ``firstParty``, ``bedrock``, ``vertex``, ...

    """

    email: str | None = None
    organization: str | None = None
    subscription_type: str | None = None
    token_source: str | None = None
    api_key_source: str | None = None
    api_provider: str | None = None
