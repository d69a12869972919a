"""
The settings of a client, as ``session.create`` asks for them: what goes to the backend.

No thread, no file, no clock. Decided here and nowhere else:

* A backend of this library gets settings by their names in ``claude_sync.Options``. For any
  other one the names of the document are used; what has none there is refused before anything
  is started.
* Paths go as they are: they are paths of the machine on which the CLI runs.
* What is decided on this side (handlers, policies, retries, ``budget_usd``, ...) stays
  here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..options import SETTINGS, Options, settings_of
from ..options.fields import agents_on_the_wire
from ..support.text import snake_case

__all__ = ["document_payload", "raw_payload", "shared_out"]

# What the backend gets; the rest this side does, or says in another place.
SENT = tuple(name for name, setting in SETTINGS.items() if setting.kept == "cli")
# Of these, what no restart changes: this side does not need it for itself.
ELSEWHERE = tuple(name for name in SENT if SETTINGS[name].scope == "client")
DEFAULTS: dict[str, Any] = {name: setting.default for name, setting in SETTINGS.items()}
# Where the names of settings in the document and of the CLI differ.
SANDBOX_KEYS = frozenset(
    {
        *("autoAllowBashIfSandboxed", "excludedCommands", "allowUnsandboxedCommands"),
        *("allowLocalBinding", "allowUnixSockets", "allowAllUnixSockets", "ignoreViolations"),
    }
)


def shared_out(options: Options) -> tuple[Options, dict[str, Any]]:
    """What the client itself is made with, and the other settings, by name."""
    given = settings_of(options)
    elsewhere = {
        name: given[name] for name in ELSEWHERE if name in given and given[name] != DEFAULTS[name]
    }
    return options.replace(**{name: DEFAULTS[name] for name in elsewhere}), elsewhere


def raw_payload(options: Options) -> dict[str, Any]:
    """The payload of ``session.create`` for a backend of this library."""
    if options.dialect != "cli":
        raise UsageError(
            f"dialect={options.dialect!r} is how a CLI is spoken to, and over a bridge that is "
            "the backend's business. Leave it out."
        )
    given: dict[str, Any] = {"include_partial_messages": options.include_partial_messages}
    for name in SENT:
        value = getattr(options, name)
        if value != DEFAULTS[name]:
            given[name] = plain(agents_on_the_wire(value) if name == "agents" else value)
    if "returns" in given:
        # A type, which only this side understands, was made a schema before.
        form = given.pop("returns")
        schema = form if isinstance(form, dict) else {}
        given["output_format"] = {"type": "json_schema", "schema": schema}
    cwd = "" if options.cwd is None else os.fspath(options.cwd)
    return {"prompt": "", "cwd": cwd, "options": given}


def document_payload(options: Options) -> dict[str, Any]:
    """
    The same in the words of the document.

    Raises:
        UsageError: There is no word for a setting.

    """
    if options.tools:
        raise UsageError(
            "tools= are functions of this program, and the document of the bridge has no words "
            "for them. Use a backend of this library, and Bridge(extensions=True)."
        )
    payload = raw_payload(options)
    given = payload["options"]
    merge_prompts(given)
    if "sandbox" in given:
        given["sandbox"] = documented_sandbox(given["sandbox"])
    settings = {"output_format": "output_format"}
    settings.update((name, SETTINGS[name].bridge or "") for name in given if name in SETTINGS)
    unknown = sorted(name for name in given if not settings[name])
    if unknown:
        raise UsageError(
            f"the document of the bridge has no words for {', '.join(unknown)}. Leave that out, "
            "or use a backend of this library, and Bridge(extensions=True)."
        )
    return {**payload, "options": {settings[name]: value for name, value in given.items()}}


def merge_prompts(given: dict[str, Any]) -> None:
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


def plain(value: Any) -> Any:
    """Tuples as lists, and paths as texts, at whatever depth."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def documented_sandbox(value: Any) -> Any:
    """The CLI's spelling of the keys that the document has, in the document's."""
    if not isinstance(value, dict):
        return value
    return {
        snake_case(key) if key in SANDBOX_KEYS else key: documented_sandbox(item)
        for key, item in value.items()
    }
