"""
What ``session.create`` asks for, as settings of a client; and what of it is allowed.

Decided here and nowhere else:

* The documented names are translated; any other name is that of a setting of
  ``claude_sync.Options``, or is refused. Nothing that was asked for is dropped.
* A front end is not trusted unless the backend was started so: it cannot choose the CLI,
  its variables and flags, and cannot switch permissions off. Servers of ``mcp_servers`` are
  programs, too; but so is what it may let Claude run.
* Where folders are confined, the folder that is used is the one that was looked at:
  symbolic links are resolved, and the resolved path is what the CLI gets. Before a CLI is
  started there, it is looked at again.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import UsageError
from ..options import SETTINGS, Options, names_of
from ..options.fields import agents_on_the_wire
from ..options.rules import check_option
from ..prompts import user_message
from ..support.text import camel_case
from ..support.text import short_json as shown
from .envelope import SESSION_CREATE_FAILED, Envelope, Refused

__all__ = ["DEFAULT_CREDIT", "Plan", "Policy", "camel_keys", "check_updates", "plan_of"]

# The documented names that settings have otherwise.
RENAMED = {
    setting.bridge: name
    for name, setting in SETTINGS.items()
    if setting.bridge is not None and setting.bridge != name
}
# What has a meaning in one program only. A form of answers comes under its documented name.
NOT_HERE = (*(name for name, setting in SETTINGS.items() if setting.kept == "program"), "returns")
# Settings by which a front end could run, or read, anything.
NEEDS_TRUST = tuple(name for name, setting in SETTINGS.items() if setting.trust)
BYPASS = "bypassPermissions"
# The event, and the matcher.
Hook = tuple[str, str | None]
# So many bytes of a raw session may be on their way.
DEFAULT_CREDIT = 1024 * 1024
ADVICE = "Start the backend with --trust-client if the front end may do that."


@dataclasses.dataclass(frozen=True)
class Policy:
    """
    What front ends may do.

    Attributes:
        trusted: Everything.
        folders: Where sessions may work, resolved; nowhere given: anywhere.
        cli: The CLI of sessions that name none; None: the one that is found.

    """

    trusted: bool = False
    folders: tuple[str, ...] = ()
    cli: Any = None

    def require_trust(self, what: str) -> None:
        """UsageError unless the front end is trusted."""
        if not self.trusted:
            raise UsageError(f"{what} is not for every front end. {ADVICE}")

    def folder(self, name: str, path: str) -> str:
        """*path*, or where it leads to, if sessions may work there."""
        if not self.folders:
            return path
        if "\0" in path:  # not every Python refuses it
            raise UsageError(f"{name} is {path!r}, and no path has a NUL character. Remove it.")
        try:
            resolved = os.path.realpath(os.fsdecode(os.fsencode(path)))
        except ValueError as error:
            raise UsageError(f"{name} cannot be a path: {error}") from None
        for folder in self.folders:
            if resolved == folder or resolved.startswith(folder.rstrip(os.sep) + os.sep):
                return resolved
        raise UsageError(
            f"{name} is {path!r}, which is outside of the folders of this backend. "
            f"Choose one inside {', '.join(self.folders)}."
        )

    def check_again(self, settings: Mapping[str, Any]) -> None:
        """UsageError if what was a folder of *settings* has become a way out of where it is."""
        if not self.folders:
            return
        for path in (settings["cwd"], *settings.get("add_dirs", ())):
            if os.path.realpath(path) != path:
                raise UsageError(
                    f"the folder {path!r} has become a symbolic link since the session was "
                    "created. Create another session."
                )


@dataclasses.dataclass(frozen=True)
class Plan:
    """
    A session that is asked for.

    Attributes:
        prompt: What to ask first, or None.
        settings: Of the client, by name.
        hooks: Of the front end.
        raw: Whether the front end wants the CLI's own lines, and nothing else.
        credit: For how many bytes of these it has room.

    """

    prompt: Any
    settings: dict[str, Any]
    hooks: tuple[Hook, ...] = ()
    raw: bool = False
    credit: int = DEFAULT_CREDIT


def plan_of(request: Envelope, policy: Policy) -> Plan:
    """
    The session that a ``session.create`` asks for.

    Raises:
        Refused: The message has another form, or what it asks for cannot be, or must not.

    """
    payload = request.payload
    prompt = payload.get("prompt")
    cwd, options = payload.get("cwd"), payload.get("options")
    credit, raw = payload.get("credit", DEFAULT_CREDIT), payload.get("raw") is True
    if not isinstance(prompt, (str, list, type(None))):
        raise request.invalid("prompt must be a string, or a list of content blocks.")
    if cwd is not None and not isinstance(cwd, str):
        raise request.invalid(f"cwd must be a string, not {shown(cwd)}.")
    if options is not None and not isinstance(options, dict):
        raise request.invalid(f"options must be an object, not {shown(options)}.")
    if isinstance(credit, bool) or not isinstance(credit, int) or credit < 0:
        raise request.invalid(f"credit must be a number of bytes, not {shown(credit)}.")
    if isinstance(prompt, str) and not prompt.strip():
        prompt = None
    if raw and prompt is not None:
        raise request.invalid("a raw session has no prompt. Send it session.line.")
    try:
        if prompt is not None:
            user_message(prompt)
    except UsageError as error:
        raise request.invalid(str(error)) from None
    try:
        given = dict(options or {})
        hooks = hooks_of(given.pop("hooks", None))
        settings = settings_of(given, cwd or None, policy)
        Options(**settings)
    except (UsageError, TypeError) as error:
        raise Refused(SESSION_CREATE_FAILED, str(error), {"error": type(error).__name__}) from None
    return Plan(prompt, settings, hooks, raw, credit)


def settings_of(given: Mapping[str, Any], cwd: str | None, policy: Policy) -> dict[str, Any]:
    """The settings of the client, checked against *policy*."""
    settings: dict[str, Any] = {
        "include_partial_messages": False,
        "returns_retries": 0,  # what the CLI says is for the front end to judge
        "cli": policy.cli,
        "cwd": policy.folder("cwd", cwd or os.getcwd()) if policy.folders else cwd,
    }
    known = [name for name in names_of(Options) if name not in NOT_HERE]
    for name, value in given.items():
        if name not in RENAMED:
            check_option(name, [*known, *RENAMED])
        if value is None:
            continue
        if name in NEEDS_TRUST:
            policy.require_trust(f"the option {name}")
        settings[RENAMED.get(name, name)] = TRANSLATED.get(name, lambda value: value)(value)
    check_settings(settings, policy)
    return settings


def check_settings(settings: dict[str, Any], policy: Policy) -> None:
    """Refuse values that are not for every front end; resolve folders."""
    if settings.get("permission_mode") == BYPASS:
        policy.require_trust(f"the permission mode {BYPASS}")
    if isinstance(settings.get("mcp_servers"), str):
        policy.require_trust("a file of MCP servers")
    prompt = settings.get("system_prompt")
    if isinstance(prompt, dict) and prompt.get("type") == "file":
        policy.require_trust("a file as the system prompt")
    if names_a_file(settings.get("resume")):
        policy.require_trust("a file as the conversation to resume")
    check_agents(settings.get("agents"), policy)
    folders = settings.get("add_dirs")
    if policy.folders and isinstance(folders, list):
        settings["add_dirs"] = inside("additional_directories", folders, policy, settings["cwd"])


def names_a_file(conversation: Any) -> bool:
    """Whether the CLI may take what is to be resumed for a file, or an address."""
    if not isinstance(conversation, str):
        return False
    return conversation.lower().endswith(".jsonl") or bool(re.search(r"[/\\]", conversation))


def check_agents(agents: Any, policy: Policy) -> None:
    """Subagents must not do what options may not; what has another form is refused later."""
    agents = agents if isinstance(agents, dict) else {}
    known = {name: agent for name, agent in agents.items() if isinstance(agent, dict)}
    for agent in agents_on_the_wire(known).values():
        if agent.get("permissionMode") == BYPASS:
            policy.require_trust(f"the permission mode {BYPASS} of a subagent")
        if agent.get("hooks"):
            policy.require_trust("a subagent with hooks of its own, which are commands,")


def check_updates(updates: Any, policy: Policy, cwd: str = "") -> list[Mapping[str, Any]]:
    """Permission updates that come with a yes: they must not do what options may not."""
    if not isinstance(updates, list) or not all(isinstance(each, dict) for each in updates):
        raise UsageError("updated_permissions must be a list of objects, such as suggestions.")
    checked = []
    for each in updates:
        if each.get("mode") == BYPASS:
            policy.require_trust(f"the permission mode {BYPASS}")
        folders = each.get("directories")
        if policy.folders and folders is not None:
            each = {**each, "directories": inside("directories", folders, policy, cwd)}
        checked.append(each)
    return checked


def inside(name: str, folders: Any, policy: Policy, cwd: str) -> list[str]:
    """Where *folders* lead to; relative ones begin in *cwd*, as those of the CLI do."""
    if not isinstance(folders, list) or not all(isinstance(each, str) for each in folders):
        raise UsageError(f"{name} must be a list of paths, not {shown(folders)}")
    return [policy.folder(name, os.path.join(cwd, each)) for each in folders]


def hooks_of(value: Any) -> tuple[Hook, ...]:
    """The hooks of ``options.hooks``: ``{event: [{"matcher": ...}, ...]}``."""
    hooks = []
    groups = {} if value is None else value
    if not isinstance(groups, dict):
        raise UsageError(f"hooks must be an object, {{event: [config]}}; not {shown(value)}")
    for event, configs in groups.items():
        for config in configs if isinstance(configs, list) else [None]:
            fields = config if isinstance(config, dict) else {"not": "an object"}
            matcher = fields.get("matcher")
            if set(fields) - {"matcher"} or not isinstance(matcher, (str, type(None))):
                raise UsageError(
                    f'hooks[{event!r}] must be a list of {{"matcher": "..."}}, with or without '
                    f"the matcher; not {shown(configs)}"
                )
            hooks.append((event, matcher))
    return tuple(hooks)


def schema_of(value: Any) -> Any:
    """The JSON Schema of an ``output_format``."""
    if not isinstance(value, dict) or not isinstance(value.get("schema"), dict):
        raise UsageError(
            'output_format must be {"type": "json_schema", "schema": {...}}, '
            f"not {shown(value)}"
        )
    return value["schema"]


def camel_keys(value: Any) -> Any:
    """*value* with all keys of objects in camelCase, as the CLI has them in its settings."""
    if isinstance(value, dict):
        return {camel_case(key): camel_keys(item) for key, item in value.items()}
    return [camel_keys(item) for item in value] if isinstance(value, list) else value


TRANSLATED: dict[str, Callable[[Any], Any]] = {"output_format": schema_of, "sandbox": camel_keys}
