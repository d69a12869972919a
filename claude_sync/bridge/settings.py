"""
What a front end may have: the settings that ``session.create`` asks for, and lines of raw sessions.

No thread, no clock. Decided here and nowhere else:

* The documented names are translated; any other name is that of a setting of
  ``claude_sync.Options``, or is refused. Nothing that was asked for is dropped.
* A front end is not trusted unless the backend was started so: it cannot choose the CLI,
  its variables and flags, and cannot switch permissions off. Servers of ``mcp_servers`` are
  programs, too; but so is what it may let Claude run.
* Where folders are confined, the folder that is used is the one that was looked at:
  symbolic links are resolved, and the resolved path is what the CLI gets. Before a CLI is
  started there, it is looked at again.
* A line for the CLI of a raw session is parsed, looked at and written anew, so that the CLI
  reads what was looked at. Only messages, requests and fields that are known pass. A request
  that must not be sent is answered with an error, in place of the CLI. An answer that gives too
  much becomes a no. Anything else is left out, and logged.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..engine.control import ROWS
from ..errors import UsageError
from ..log import logger
from ..options import SETTINGS, Options
from ..options.fields import agents_on_the_wire
from ..options.rules import check_option
from ..prompts import user_message
from ..protocol.codec import decode
from ..protocol.control import error_reply, success_reply
from ..support.text import camel_case
from ..support.text import short_json as shown
from .envelopes import Envelope, Refused

# The documented names that settings have otherwise.
RENAMED = {
    setting.bridge: name
    for name, setting in SETTINGS.items()
    if setting.bridge is not None and setting.bridge != name
}
# The names that a front end can use, without those of settings that have a meaning in one program
# only. A form of answers comes under its documented name.
OPTIONS = (
    *(name for name, each in SETTINGS.items() if each.kept != "program" and name != "returns"),
    *RENAMED,
)
BYPASS = "bypassPermissions"
# How long a front end may take for an answer, in seconds, and how many sessions it may have;
# unless whoever runs the backend says otherwise.
DEFAULT_CALLBACK_TIMEOUT = 300.0
DEFAULT_MAX_SESSIONS = 100
# So many bytes of a raw session may be on their way.
DEFAULT_CREDIT = 1024 * 1024
ADVICE = "Start the backend with --trust-client if the front end may do that."
# The fields of a question.
QUESTION = frozenset(
    [
        *("type", "uuid", "message", "parent_tool_use_id", "session_id", "shouldQuery"),
        *("client_composed", "priority", "timestamp"),
    ]
)
# The fields of a greeting: settings that any front end may choose, and what comes with handlers.
GREETING = frozenset(
    [
        *("subtype", "sdkMcpServerManifests", "excludeDynamicSections", "systemPromptSnapshot"),
        *(each.key for each in SETTINGS.values() if each.key and not each.trust),
    ]
)

Wire = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Policy:
    """
    What front ends may do.

    Attributes:
        trusted: Everything.
        folders: Where sessions may work, resolved; nowhere given: anywhere.
        cli: The CLI of sessions that name none; None: the one that is found.
        max_sessions: How many they may have at once.
        callback_timeout: How many seconds they may take for an answer.

    """

    trusted: bool = False
    folders: tuple[str, ...] = ()
    cli: Any = None
    max_sessions: int = DEFAULT_MAX_SESSIONS
    callback_timeout: float = DEFAULT_CALLBACK_TIMEOUT

    def require_trust(self, what: str) -> None:
        """UsageError unless the front end is trusted."""
        if not self.trusted:
            raise UsageError(f"{what} is only for trusted front ends. {ADVICE}")

    def check_mode(self, mode: Any, of: str = "") -> None:
        """UsageError for the permission mode that is only for trusted front ends."""
        if mode == BYPASS:
            self.require_trust(f"the permission mode {BYPASS}{of}")

    def folder(self, name: str, path: str) -> str:
        """*path*, or where it leads to, if sessions may work there."""
        if not self.folders:
            return path
        if "\0" in path:  # not every Python refuses it
            raise UsageError(
                f"{name} is {path!r}, and a path cannot contain a NUL character. Remove it."
            )
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

    def inside(self, name: str, folders: Any, cwd: str) -> Any:
        """Where *folders* lead to; relative ones begin in *cwd*, as those of the CLI do."""
        if not self.folders:
            return folders
        if not isinstance(folders, list) or not all(isinstance(each, str) for each in folders):
            raise UsageError(f"{name} must be a list of paths, not {shown(folders)}")
        return [self.folder(name, os.path.join(cwd, each)) for each in folders]

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
        hooks: Of the front end: the event, and the matcher.
        raw: Whether the front end wants the CLI's own lines, and nothing else.
        credit: For how many bytes of these it has room.

    """

    prompt: Any
    settings: dict[str, Any]
    hooks: tuple[tuple[str, str | None], ...] = ()
    raw: bool = False
    credit: int = DEFAULT_CREDIT

    @property
    def cwd(self) -> str:
        """The folder in which relative paths of the session begin."""
        return self.settings["cwd"] or ""


def plan_of(request: Envelope, policy: Policy) -> Plan:
    """
    The session that a ``session.create`` asks for.

    Raises:
        Refused: The message has another form, or what it asks for cannot be, or must not.

    """
    payload = request.payload
    prompt, cwd, options = payload.get("prompt"), payload.get("cwd"), payload.get("options")
    credit, raw = payload.get("credit", DEFAULT_CREDIT), payload.get("raw") is True
    if cwd is not None and not isinstance(cwd, str):
        raise request.invalid(f"cwd must be a string, not {shown(cwd)}.")
    if options is not None and not isinstance(options, dict):
        raise request.invalid(f"options must be an object, not {shown(options)}.")
    if type(credit) is not int or credit < 0:
        raise request.invalid(f"credit must be a number of bytes, not {shown(credit)}.")
    if isinstance(prompt, str) and not prompt.strip():
        prompt = None
    if prompt is not None:
        if raw:
            raise request.invalid("a raw session has no prompt. Send it session.line.")
        check_prompt(request, "prompt", prompt)
    try:
        given = dict(options or {})
        hooks = hooks_of(given.pop("hooks", None))
        settings = settings_of(given, cwd or None, policy)
        Options(**settings)
    except (UsageError, TypeError) as error:
        details = {"error": type(error).__name__}
        raise Refused("SESSION_CREATE_FAILED", str(error), details) from None
    return Plan(prompt, settings, hooks, raw, credit)


def check_prompt(request: Envelope, name: str, prompt: Any) -> None:
    """Refuse what no CLI could be asked."""
    if not isinstance(prompt, (str, list)):
        raise request.invalid(f"{name} must be a string, or a list of content blocks.")
    try:
        user_message(prompt)
    except UsageError as error:
        raise request.invalid(str(error)) from None


def settings_of(given: Mapping[str, Any], cwd: str | None, policy: Policy) -> dict[str, Any]:
    """The settings of the client, checked against *policy*."""
    settings: dict[str, Any] = {
        "include_partial_messages": False,
        "returns_retries": 0,  # what the CLI says is for the front end to judge
        "cli": policy.cli,
        "cwd": policy.folder("cwd", cwd or os.getcwd()) if policy.folders else cwd,
    }
    for name, value in given.items():
        check_option(name, OPTIONS)
        if value is None:
            continue
        name = RENAMED.get(name, name)
        if SETTINGS[name].trust:
            policy.require_trust(f"the option {name}")
        settings[name] = TRANSLATED.get(name, lambda value: value)(value)
    check_settings(settings, policy)
    return settings


def check_settings(settings: dict[str, Any], policy: Policy) -> None:
    """Refuse values that are not for every front end; resolve folders."""
    policy.check_mode(settings.get("permission_mode"))
    if isinstance(settings.get("mcp_servers"), str):
        policy.require_trust("a file of MCP servers")
    prompt = settings.get("system_prompt")
    if isinstance(prompt, dict) and prompt.get("type") == "file":
        policy.require_trust("a file as the system prompt")
    if names_a_file(settings.get("resume")):
        policy.require_trust("a file as the conversation to resume")
    check_agents(settings.get("agents"), policy)
    if isinstance(settings.get("add_dirs"), list):
        folders, cwd = settings["add_dirs"], settings["cwd"]
        settings["add_dirs"] = policy.inside("additional_directories", folders, cwd)


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
        policy.check_mode(agent.get("permissionMode"), " of a subagent")
        if agent.get("hooks"):
            policy.require_trust("a subagent with hooks of its own, which are commands,")


def check_updates(updates: Any, policy: Policy, cwd: str = "") -> list[Mapping[str, Any]]:
    """Permission updates that come with a yes: they must not do what options may not."""
    if not isinstance(updates, list) or not all(isinstance(each, dict) for each in updates):
        raise UsageError("updated_permissions must be a list of objects, such as suggestions.")
    checked = []
    for each in updates:
        policy.check_mode(each.get("mode"))
        if each.get("directories") is not None:
            folders = policy.inside("directories", each["directories"], cwd)
            each = {**each, "directories": folders}
        checked.append(each)
    return checked


def hooks_of(value: Any) -> tuple[tuple[str, str | None], ...]:
    """The hooks of ``options.hooks``: ``{event: [{"matcher": ...}, ...]}``."""
    groups = {} if value is None else value
    if not isinstance(groups, dict) or not all(map(are_hooks, groups.values())):
        form = 'an object, {event: [{"matcher": "..."}]}, with or without the matcher'
        raise UsageError(f"hooks must be {form}; not {shown(value)}")
    return tuple((event, each.get("matcher")) for event in groups for each in groups[event])


def are_hooks(value: Any) -> bool:
    """Whether they are hooks of one event, and nothing beside their matchers was asked for."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return False
    matchers = [each.get("matcher") for each in value]
    known = all(isinstance(each, (str, type(None))) for each in matchers)
    return known and not any(set(each) - {"matcher"} for each in value)


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


TRANSLATED: dict[str, Callable[[Any], Any]] = {"returns": schema_of, "sandbox": camel_keys}


# Lines of raw sessions.


class Filter:
    """
    What a front end that is not trusted may say to the CLI of a raw session.

    Args:
        policy: What the front end may do.
        cwd: The folder of the CLI, in which relative paths begin.

    """

    def __init__(self, policy: Policy, cwd: str) -> None:
        self._policy = policy
        self._cwd = cwd

    def check(self, line: bytes) -> tuple[Wire | None, Wire | None]:
        """What the CLI may read of *line*, and what is answered in its place; None: nothing."""
        message = decode(line) or {}
        kind = message.get("type")
        if kind == "control_cancel_request":
            return message, None
        if kind == "user":
            return {key: value for key, value in message.items() if key in QUESTION}, None
        if kind == "control_request":
            return self._request(message)
        if kind == "control_response":
            return self._response(message), None
        logger.warning("a line of the front end is not for the CLI: its type is %r", kind)
        return None, None

    def _request(self, message: Wire) -> tuple[Wire | None, Wire | None]:
        request = message.get("request")
        request = request if isinstance(request, dict) else {}
        subtype = request.get("subtype")
        try:
            if subtype == "initialize":
                for name in set(request) - GREETING:
                    self._policy.require_trust(f"{name} in a greeting")
                check_agents(request.get("agents"), self._policy)
            elif subtype not in ("interrupt", "mcp_message"):
                row = ROWS.get(subtype) if isinstance(subtype, str) else None
                if row is None or row.trusted:
                    self._policy.require_trust(f"the request {subtype}")
                for value in request.values():
                    self._policy.check_mode(value)
        except UsageError as error:
            return None, error_reply(str(message.get("request_id")), str(error), "not_allowed")
        return message, None

    def _response(self, message: Wire) -> Wire:
        response = message.get("response")
        response = response if isinstance(response, dict) else {}
        try:
            return {"type": "control_response", "response": self._answer(response)}
        except UsageError as error:
            logger.warning("an answer of the front end was turned into a denial: %s", error)
            no = {"behavior": "deny", "message": f"The answer could not be used: {error}"}
            blocked = {"continue": False, "decision": "block", "reason": str(error)}
            return success_reply(str(response.get("request_id")), {**no, **blocked})

    def _answer(self, value: Any, key: str = "") -> Any:
        """An answer whose permission updates are allowed, at whatever depth they stand."""
        if key == "updatedPermissions" and value is not None:
            return check_updates(value, self._policy, self._cwd)
        if isinstance(value, dict):
            return {key: self._answer(part, key) for key, part in value.items()}
        return [self._answer(each) for each in value] if isinstance(value, list) else value
