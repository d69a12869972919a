"""
The settings of a client, as ``session.create`` asks for them: what goes to the backend.

No thread, no file, no clock. Decided here and nowhere else:

* Where the document has a name for a setting, that name is used, so that any backend
  understands it. The others go by their names in ``claude_sync.Options``, and only to a
  backend that is known to take them; else they are refused before anything is started.
* Paths go as they are: they are paths of the machine on which the CLI runs.
* What is decided on this side (handlers, policies, retries, ``budget_usd``, ...) stays
  here.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Tuple

from ..errors import UsageError
from ..options import SETTINGS, Options, names_of, settings_of
from ..options.fields import agents_on_the_wire
from ..support.text import snake_case

__all__ = ["create_payload", "shared_out"]

# What the backend never gets: this side does it, or says it in another place.
NOT_SENT = frozenset(name for name, setting in SETTINGS.items() if setting.kept != "cli")
# What this side needs for itself, and what a restart may change.
KEPT = NOT_SENT.union(name for name, setting in SETTINGS.items() if setting.scope != "client")
# The names that the document has, beside those that are the same.
RENAMED = {name: setting.bridge or name for name, setting in SETTINGS.items()}
DOCUMENTED = frozenset(setting.bridge for setting in SETTINGS.values() if setting.bridge)
DEFAULTS: Dict[str, Any] = {name: setting.default for name, setting in SETTINGS.items()}
# Where the names of settings in the document and of the CLI differ.
SANDBOX_KEYS = frozenset(
    {
        *("autoAllowBashIfSandboxed", "excludedCommands", "allowUnsandboxedCommands"),
        *("allowLocalBinding", "allowUnixSockets", "allowAllUnixSockets", "ignoreViolations"),
    }
)


def shared_out(options: Options) -> Tuple[Options, Dict[str, Any]]:
    """What the client itself is made with, and the other settings, by name."""
    elsewhere = {
        name: value
        for name, value in settings_of(options).items()
        if name not in KEPT and value != DEFAULTS[name]
    }
    return options.replace(**{name: DEFAULTS[name] for name in elsewhere}), elsewhere


def create_payload(options: Options, extensions: bool) -> Dict[str, Any]:
    """
    The payload of ``session.create`` for an idle session, as far as *options* tell.

    Raises:
        UsageError: There is no word for a setting, or its value cannot be sent.

    """
    if options.dialect != "cli":
        raise UsageError(
            f"dialect={options.dialect!r} is how a CLI is spoken to, and over a bridge that is "
            "the backend's business. Leave it out."
        )
    if options.tools and not extensions:
        raise UsageError(
            "tools= are functions of this program, and the document of the bridge has no words "
            "for them. Use a backend of this library, and Bridge(extensions=True)."
        )
    given: Dict[str, Any] = {"include_partial_messages": options.include_partial_messages}
    for name in names_of(Options):
        value = getattr(options, name)
        if name not in NOT_SENT and value != DEFAULTS[name]:
            given[RENAMED[name]] = SENT.get(name, plain)(value)
    merge_prompts(given)
    if not extensions:
        refuse_undocumented(given)
    payload: Dict[str, Any] = {"prompt": "", "options": given}
    payload["cwd"] = "" if options.cwd is None else os.fspath(options.cwd)
    return payload


def refuse_undocumented(given: Mapping[str, Any]) -> None:
    """UsageError for settings that only backends of this library take."""
    unknown = sorted(set(given) - DOCUMENTED)
    if unknown:
        raise UsageError(
            f"the document of the bridge has no words for {', '.join(unknown)}. Leave that out, "
            "or use a backend of this library, and Bridge(extensions=True)."
        )


def merge_prompts(given: Dict[str, Any]) -> None:
    """Say the two settings of the prompt in the one form of the document, where it has one."""
    prompt, append = given.get("system_prompt"), given.get("append_system_prompt")
    if isinstance(prompt, dict) and prompt.get("type") == "custom":
        given["system_prompt"] = prompt["prompt"]
        if prompt.get("append") is not None:
            given["append_system_prompt"] = prompt["append"]
    elif append is not None and (prompt is None or is_preset(prompt)):
        given["system_prompt"] = {"append": append}
        del given["append_system_prompt"]
    if is_preset(given.get("system_prompt")):
        preset = {"type": "preset", "preset": "claude_code", **given["system_prompt"]}
        given["system_prompt"] = preset


def is_preset(prompt: Any) -> bool:
    """Whether a prompt is the CLI's own with something added."""
    return isinstance(prompt, dict) and prompt.get("type", "preset") == "preset"


# Values in the form in which they are sent.


def plain(value: Any) -> Any:
    """Tuples as lists, and paths as texts, at whatever depth."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def agents(value: Mapping[str, Any]) -> Any:
    """Subagents, of which the document has four keys that are the CLI's own."""
    return plain(agents_on_the_wire(value))


def sandbox(value: Any) -> Any:
    """The CLI's spelling of the keys that the document has, in the document's."""
    if not isinstance(value, Mapping):
        return plain(value)
    return {
        snake_case(key) if key in SANDBOX_KEYS else key: sandbox(item)
        for key, item in value.items()
    }


def output_format(value: Any) -> Any:
    """A JSON Schema. A type, which only this side understands, was made one before."""
    if not isinstance(value, Mapping):
        return {"type": "json_schema", "schema": {}}
    return {"type": "json_schema", "schema": plain(value)}


SENT = {"agents": agents, "sandbox": sandbox, "returns": output_format}
