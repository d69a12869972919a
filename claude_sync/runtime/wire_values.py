"""
Settings that are not a plain text, in the form the CLI takes them.

Pure functions from values of Options to flags and JSON; only
:func:`merged_settings` may have to read the settings file it adds to.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Union

from ..errors import UsageError
from ..options import Options


@dataclass(frozen=True)
class SystemPrompt:
    """What becomes of the two prompt settings; None: not set."""

    text: Optional[str] = None
    file: Optional[str] = None
    append: Optional[str] = None
    initialize: Dict[str, Any] = field(default_factory=dict)


def system_prompt_of(options: Options) -> SystemPrompt:
    """The prompt, from a text or one of the dict forms."""
    prompt = options.system_prompt
    append = options.append_system_prompt
    if not isinstance(prompt, Mapping):
        return SystemPrompt(text=prompt, append=append)
    append = prompt.get("append") if append is None else append
    initialize = {
        key: prompt[name]
        for name, key in (
            ("exclude_dynamic_sections", "excludeDynamicSections"),
            ("snapshot", "systemPromptSnapshot"),
        )
        if prompt.get(name) is not None
    }
    file = os.fspath(prompt["path"]) if prompt["type"] == "file" else None
    text = prompt["prompt"] if prompt["type"] == "custom" else None
    return SystemPrompt(text, file, append, initialize)


def thinking_flags(options: Options) -> List[str]:
    """The flags for ``thinking`` and ``max_thinking_tokens``, of which one is set at most."""
    thinking = options.thinking
    if isinstance(thinking, str):
        return [f"--thinking={thinking}"]
    flags = []
    if thinking is not None:
        if thinking["type"] == "enabled":
            flags.append(f"--max-thinking-tokens={thinking['budget_tokens']}")
        else:
            flags.append(f"--thinking={thinking['type']}")
        if thinking.get("display") is not None:
            flags.append(f"--thinking-display={thinking['display']}")
    elif options.max_thinking_tokens is not None:
        flags.append(f"--max-thinking-tokens={options.max_thinking_tokens}")
    return flags


def agents_on_the_wire(agents: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
    """Subagents with the CLI's key names, and without keys that are None."""
    return {
        name: {
            camel_case(key): value
            for key, value in (agent if isinstance(agent, Mapping) else vars(agent)).items()
            if value is not None
        }
        for name, agent in agents.items()
    }


def camel_case(name: str) -> str:
    """``max_turns`` -> ``maxTurns``; names that are so already stay."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name)


def json_text(option: str, value: Any) -> str:
    """*value* as JSON, or a UsageError that names the option."""
    try:
        return json.dumps(value, allow_nan=False, default=path_as_text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{option} cannot be written as JSON: {error}") from error


def path_as_text(value: object) -> str:
    """Paths are the one thing people put into settings that JSON does not know."""
    if isinstance(value, os.PathLike):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")


def merged_settings(
    options: Options, cwd: Optional[str]
) -> Union[str, os.PathLike[str], Mapping[str, Any], None]:
    """The settings with the sandbox in them; without a sandbox, what was given."""
    settings = options.settings
    if options.sandbox is None:
        return settings
    if settings is None:
        loaded: Mapping[str, Any] = {}
    elif isinstance(settings, Mapping):
        loaded = settings
    else:
        loaded = read_settings(os.fspath(settings), cwd)
    return {**loaded, "sandbox": options.sandbox}


def read_settings(given: str, cwd: Optional[str]) -> Mapping[str, Any]:
    """The settings in a file, or in a text that is JSON itself."""
    try:
        if given.lstrip().startswith("{"):
            content = given
        else:
            # Relative to the folder of the CLI, which would have read it from there.
            with open(os.path.join(cwd or "", given), encoding="utf-8") as file:
                content = file.read()
        loaded = json.loads(content)
    except (OSError, ValueError) as error:
        raise UsageError(f"settings cannot be read, to add the sandbox to them: {error}") from error
    if not isinstance(loaded, dict):
        raise UsageError("settings must be a JSON object, to add the sandbox to them")
    return loaded
