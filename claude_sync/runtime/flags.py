"""
The flags of the CLI, by topic: each function returns words of the command line.

Every value is given as ``--flag=value``, so that one that begins with a dash stays
a value. Of the CLIs tried (1.0.128, 2.0.30, 2.1.29, 2.1.325) each takes
this form for each flag it knows; an unknown flag ends it with exit code 1.
"""

from __future__ import annotations

import os
from typing import List, Mapping, Optional, Sequence, Union

from ..errors import BudgetExceeded
from ..options import Options
from .private_files import PrivateFiles
from .wire_values import json_text, merged_settings, thinking_flags


def model_flags(options: Options, model: Optional[str]) -> List[str]:
    """Which model, and how it thinks."""
    flags = []
    model = options.model if model is None else model
    if model is not None:
        flags.append(f"--model={model}")
    # After set_model() the fallback may have become the model; the CLI refuses that.
    if options.fallback_model is not None and options.fallback_model != model:
        flags.append(f"--fallback-model={options.fallback_model}")
    flags.extend(thinking_flags(options))
    if options.effort is not None:
        flags.append(f"--effort={options.effort}")
    if options.betas:
        flags.append("--betas=" + ",".join(options.betas))
    return flags


def permission_flags(
    options: Options, permission_mode: Optional[str], own_tools: Sequence[str] = ()
) -> List[str]:
    """What Claude may do."""
    flags = []
    mode = options.permission_mode if permission_mode is None else permission_mode
    if mode is not None:
        flags.append(f"--permission-mode={mode}")
    allowed = [*options.allowed_tools, *own_tools]
    if options.skills == "all":
        allowed.append("Skill")
    else:
        allowed.extend(f"Skill({name})" for name in options.skills or ())
    if allowed:
        flags.append("--allowedTools=" + ",".join(allowed))
    if options.disallowed_tools:
        flags.append("--disallowedTools=" + ",".join(options.disallowed_tools))
    if isinstance(options.builtin_tools, str):
        flags.append(f"--tools={options.builtin_tools}")
    elif options.builtin_tools is not None:
        flags.append("--tools=" + ",".join(options.builtin_tools))
    flags.extend(f"--add-dir={os.fspath(folder)}" for folder in options.add_dirs)
    return flags


def limit_flags(options: Options, budget_left: Optional[float]) -> List[str]:
    """How much it may take."""
    flags = []
    if options.max_turns is not None:
        flags.append(f"--max-turns={options.max_turns}")
    budget = options.max_budget_usd if budget_left is None else budget_left
    if budget is not None:
        if budget <= 0:  # the CLI would only call it an invalid argument
            raise BudgetExceeded("nothing is left of max_budget_usd")
        flags.append(f"--max-budget-usd={budget}")
    if options.task_budget is not None:
        flags.append(f"--task-budget={options.task_budget}")
    return flags


def conversation_flags(options: Options, resume: Optional[str]) -> List[str]:
    """Which conversation, and what is reported of it."""
    flags = []
    if resume is not None:
        flags.append(f"--resume={resume}")
    else:
        if options.resume is not None:
            flags.append(f"--resume={options.resume}")
        if options.continue_conversation:
            flags.append("--continue")
        if options.fork_session:
            flags.append("--fork-session")
        if options.session_id is not None:
            flags.append(f"--session-id={options.session_id}")
        if options.resume_at is not None:
            flags.append(f"--resume-session-at={options.resume_at}")
        if options.resume_drops_turn is not None:
            flags.append(f"--resume-drops-turn={options.resume_drops_turn}")
    if options.include_partial_messages:
        flags.append("--include-partial-messages")
    if options.include_hook_events:
        flags.append("--include-hook-events")
    return flags


def configuration_flags(options: Options, files: PrivateFiles, cwd: Optional[str]) -> List[str]:
    """Servers, settings and plugins."""
    flags = []
    servers = options.mcp_servers
    if isinstance(servers, Mapping):
        text = json_text("mcp_servers", {"mcpServers": servers})
        flags.append("--mcp-config=" + files.write("mcp.json", text))
    elif servers is not None:
        flags.append("--mcp-config=" + path_or_file(servers, "mcp.json", files))
    if options.strict_mcp_config:
        flags.append("--strict-mcp-config")
    settings = merged_settings(options, cwd)
    if isinstance(settings, Mapping):
        text = json_text("settings", settings)
        flags.append("--settings=" + files.write("settings.json", text))
    elif settings is not None:
        flags.append("--settings=" + path_or_file(settings, "settings.json", files))
    if options.setting_sources is not None:
        flags.append("--setting-sources=" + ",".join(options.setting_sources))
    for plugin in options.plugins:
        folder = plugin["path"] if isinstance(plugin, Mapping) else plugin
        flags.append(f"--plugin-dir={os.fspath(folder)}")
    return flags


def path_or_file(value: Union[str, os.PathLike[str]], name: str, files: PrivateFiles) -> str:
    """A path as it is; JSON that was given in its place, as a private file."""
    text = os.fspath(value)
    return files.write(name, text) if text.lstrip().startswith("{") else text


def extra_flags(options: Options) -> List[str]:
    """The flags this library has no option for."""
    return [
        f"--{name}" if value is None else f"--{name}={value}"
        for name, value in (options.extra_args or {}).items()
    ]
