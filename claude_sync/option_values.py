"""
Which values a single setting can have.

:func:`check_values` asks each value whether it is possible and returns it in the
form :class:`~claude_sync.options.Options` keeps: sequences as tuples, mappings
as dicts. Every refusal is a :exc:`UsageError` whose text tells what to write
instead. Nothing here reads a file: whether a path exists is asked when the CLI
is started.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Dict, Mapping

from .errors import UsageError
from .option_kinds import (
    Checker,
    amount,
    choice,
    count,
    flag,
    function,
    list_of,
    mapping,
    path,
    refuse,
    text,
    uuid,
    word,
)

if TYPE_CHECKING:
    from .options import Options

PERMISSION_MODES = (
    "default",
    "acceptEdits",
    "plan",
    "bypassPermissions",
    "dontAsk",
    "auto",
    "manual",
)
EFFORTS = ("low", "medium", "high", "xhigh", "max")
SETTING_SOURCES = ("user", "project", "local")
THINKING_TYPES = ("adaptive", "enabled", "disabled")
THINKING_DISPLAYS = ("summarized", "omitted")
SYSTEM_PROMPT_TYPES = ("preset", "file", "custom")
DIALECTS = ("cli", "callback", "user-message")

FLAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*")

# Flags that options of their own stand for; given twice they would contradict
# each other, and a restart after a crash could not tell which one to repeat.
FLAGS_WITH_AN_OPTION = {
    "add-dir": "add_dirs",
    "agents": "agents",
    "allowedTools": "allowed_tools",
    "allowed-tools": "allowed_tools",
    "append-system-prompt": "append_system_prompt",
    "betas": "betas",
    "continue": "continue_conversation",
    "disallowedTools": "disallowed_tools",
    "disallowed-tools": "disallowed_tools",
    "effort": "effort",
    "fallback-model": "fallback_model",
    "fork-session": "fork_session",
    "include-hook-events": "include_hook_events",
    "include-partial-messages": "include_partial_messages",
    "json-schema": "returns",
    "max-budget-usd": "max_budget_usd",
    "max-thinking-tokens": "max_thinking_tokens",
    "max-turns": "max_turns",
    "mcp-config": "mcp_servers",
    "model": "model",
    "permission-mode": "permission_mode",
    "plugin-dir": "plugins",
    "resume": "resume",
    "resume-drops-turn": "resume_drops_turn",
    "resume-session-at": "resume_at",
    "session-id": "session_id",
    "setting-sources": "setting_sources",
    "settings": "settings",
    "strict-mcp-config": "strict_mcp_config",
    "system-prompt": "system_prompt",
    "task-budget": "task_budget",
    "thinking": "thinking",
    "tools": "builtin_tools",
}

# Flags on which the conversation with the CLI itself rests.
FLAGS_OF_THE_LIBRARY = (
    "help",
    "input-format",
    "output-format",
    "permission-prompt-tool",
    "print",
    "replay-user-messages",
    "verbose",
    "version",
)


def check_values(options: Options) -> Dict[str, Any]:
    """Every setting's value, checked and in its lasting form, by name."""
    return {name: check(name, getattr(options, name)) for name, check in CHECKERS.items()}


# Checks of single settings.


def system_prompt(name: str, value: Any) -> Any:
    """None, a text, or one of the three dict forms."""
    if value is None or isinstance(value, str):
        return value
    value = mapping(name, value)
    kind = choice(*SYSTEM_PROMPT_TYPES, optional=False)(f"{name}['type']", value.get("type"))
    if kind == "file" and path(f"{name}['path']", value.get("path")) is None:
        raise refuse(name, value, "{'type': 'file', 'path': PATH}")
    if kind == "custom" and text(f"{name}['prompt']", value.get("prompt")) is None:
        raise refuse(name, value, "{'type': 'custom', 'prompt': TEXT}")
    text(f"{name}['append']", value.get("append"))
    return value


def thinking(name: str, value: Any) -> Any:
    """None, a type of thinking, or a dict with one."""
    if value is None:
        return value
    if not isinstance(value, Mapping):
        return choice("adaptive", "disabled")(name, value)
    value = dict(value)
    kind = choice(*THINKING_TYPES, optional=False)(f"{name}['type']", value.get("type"))
    if kind == "enabled":
        count(1, optional=False)(f"{name}['budget_tokens']", value.get("budget_tokens"))
    choice(*THINKING_DISPLAYS)(f"{name}['display']", value.get("display"))
    return value


def task_budget(name: str, value: Any) -> Any:
    """None, a number of tokens, or {"total": tokens}."""
    if isinstance(value, Mapping):
        value = count(1, optional=False)(f"{name}['total']", value.get("total"))
    return count(1)(name, value)


def agents(name: str, value: Any) -> Any:
    """None, or subagents by name: dicts, or objects with such attributes."""
    value = mapping(name, value)
    for agent_name, agent in (value or {}).items():
        if not isinstance(agent, Mapping) and not hasattr(agent, "__dict__"):
            raise refuse(f"{name}[{agent_name!r}]", agent, "a dict")
        known = agent if isinstance(agent, Mapping) else vars(agent)
        for key in ("description", "prompt"):
            if not isinstance(known.get(key), str) or not known[key].strip():
                raise UsageError(
                    f"{name}[{agent_name!r}] needs a {key!r}, a str that is not blank: "
                    "the CLI leaves out an agent without it"
                )
    return value


def skills(name: str, value: Any) -> Any:
    """None, "all", or names that can stand inside a permission rule."""
    if value is None or value == "all":
        return value
    value = list_of(word, "['pdf'] or 'all'")(name, value)
    for skill in value:
        # The CLI cuts its list of rules at commas and parentheses, unescaped.
        if skill != skill.strip() or re.search(r"[(),*\\\x00-\x1f]|^/", skill):
            raise refuse(f"each item of {name}", skill, "the plain name of a skill")
    return value


def plugin(name: str, value: Any) -> Any:
    """A folder, or {"type": "local", "path": folder}."""
    if isinstance(value, Mapping):
        choice("local", optional=False)(f"{name}['type']", value.get("type"))
        value = value.get("path")
        if value is None:
            raise refuse(name, value, "a folder, or {'type': 'local', 'path': folder}")
    return path(name, value)


def builtin_tools(name: str, value: Any) -> Any:
    """None, "default", or names of tools."""
    if isinstance(value, Mapping) and value.get("type") == "preset":
        return "default"
    if value == "default":
        return value
    return list_of(word, "['Read', 'Grep']", optional=True)(name, value)


def tools(name: str, value: Any) -> Any:
    """Functions of the program; names of tools are another setting."""
    if isinstance(value, str) or any(
        isinstance(item, str) for item in (value if isinstance(value, (list, tuple)) else ())
    ):
        raise UsageError(
            f"{name} takes Python functions, got {value!r}; the CLI's own tools are chosen "
            "by name with builtin_tools=[...], and allowed by allowed_tools=[...]"
        )
    return list_of(function, "[my_function]")(name, value)


def policy(name: str, value: Any) -> Any:
    """None, or a function that decides about requests for permission."""
    if value is None:
        return value
    if not callable(value):
        raise UsageError(
            f"{name} takes a policy, got {value!r}: claude_sync.policies.ask_on_terminal, "
            "policies.allow_tools('Read', 'Bash(git *)'), policies.first_of(...), or a function "
            "of yours that takes the request"
        )
    if getattr(value, "__module__", "") == "claude_sync.policies":
        made = getattr(value, "__name__", "")
        if made in ("allow_tools", "deny_tools", "first_of"):
            raise UsageError(f"{name}=policies.{made} makes a policy: call it, {made}(...)")
    return value


def hooks(name: str, value: Any) -> Any:
    """None, or hooks by their events."""
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} takes a dict, {{'PreToolUse': function}}; got {value!r}")
    return mapping(name, value)


def mcp_servers(name: str, value: Any) -> Any:
    """None, the path of a file, or configurations by server name."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return path(name, value)
    value = mapping(name, value)
    if set(value) == {"mcpServers"}:
        raise UsageError(f"{name} takes what is inside 'mcpServers': {{name: config}}")
    for server, config in value.items():
        if not isinstance(config, Mapping):
            raise refuse(f"{name}[{server!r}]", config, "a dict")
        if server == "claude_sync":
            raise UsageError(
                f"{name}[{server!r}]: that is the name of the server with this program's own "
                "tools, which need no permission. Choose another name."
            )
        if config.get("type") == "sdk":
            raise UsageError(
                f"{name}[{server!r}] is an in-process server of another library; "
                "give its functions as tools=[...] instead"
            )
    return value


def settings(name: str, value: Any) -> Any:
    """None, the path of a file, or the settings themselves."""
    return mapping(name, value) if isinstance(value, Mapping) else path(name, value)


def environment(name: str, value: Any) -> Any:
    """None, or values by variable; a value None removes the variable."""
    if value is not None and not isinstance(value, Mapping):
        # Never with the value: it may hold a key.
        raise UsageError(f"{name} must be a dict of variables, got {type(value).__name__}")
    value = mapping(name, value)
    for variable, content in (value or {}).items():
        if "=" in variable or "\0" in variable:
            raise refuse(f"each key of {name}", variable, "the name of a variable")
        if content is not None and (not isinstance(content, str) or "\0" in content):
            # Never with the value: it may be a key.
            raise UsageError(
                f"{name}[{variable!r}] must be a str, or None to remove it, "
                f"got {type(content).__name__}"
            )
    return value


def cli(name: str, value: Any) -> Any:
    """None, a path or name, or the words that start the CLI."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise refuse(name, value, "a path, or a list that is not empty")
        list_of(path, "['node', 'cli.js']")(name, value)
        return tuple(os.fspath(item) for item in value)
    return path(name, value)


def extra_args(name: str, value: Any) -> Any:
    """None, or values by the name of a flag, without dashes; None for no value."""
    value = mapping(name, value)
    for flag_name, content in (value or {}).items():
        if not FLAG_NAME.fullmatch(flag_name):
            raise refuse(f"each key of {name}", flag_name, "a flag's name without its dashes")
        if flag_name in FLAGS_WITH_AN_OPTION:
            option = FLAGS_WITH_AN_OPTION[flag_name]
            raise UsageError(f"{name} cannot set {flag_name!r}: use the option {option}=")
        if flag_name in FLAGS_OF_THE_LIBRARY:
            raise UsageError(f"{name} cannot set {flag_name!r}: the library sets it itself")
        if isinstance(content, bool) or not isinstance(content, (str, int, float, type(None))):
            raise refuse(
                f"{name}[{flag_name!r}]", content, "a str or number, or None for a bare flag"
            )
    return value


def post(name: str, value: Any) -> Any:
    """None, a function, or one of the two named ways."""
    return value if callable(value) else choice("manual", "caller")(name, value)


def setting_sources(name: str, value: Any) -> Any:
    """None, or some of the known sources."""
    return list_of(choice(*SETTING_SOURCES), "['user', 'project']", optional=True)(name, value)


rules = list_of(word, "['Read', 'Bash(git *)']")

# returns and transport are not here: what uses them knows what they can be.
CHECKERS: Dict[str, Checker] = {
    "model": word,
    "fallback_model": word,
    "system_prompt": system_prompt,
    "append_system_prompt": text,
    "thinking": thinking,
    "max_thinking_tokens": count(0),
    "effort": choice(*EFFORTS),
    "betas": list_of(word, "['context-1m-2025-08-07']"),
    "agents": agents,
    "skills": skills,
    "plugins": list_of(plugin, "['path/of/plugin']"),
    "setting_sources": setting_sources,
    "settings": settings,
    "sandbox": mapping,
    "permission_mode": choice(*PERMISSION_MODES),
    "allowed_tools": rules,
    "disallowed_tools": rules,
    "builtin_tools": builtin_tools,
    "tools": tools,
    "mcp_servers": mcp_servers,
    "strict_mcp_config": flag,
    "permissions": policy,
    "permission_timeout": amount,
    "hooks": hooks,
    "add_dirs": list_of(path, "['../other']"),
    "max_turns": count(1),
    "max_budget_usd": amount,
    "budget_usd": amount,
    "task_budget": task_budget,
    "resume": word,
    "continue_conversation": flag,
    "fork_session": flag,
    "session_id": uuid,
    "resume_at": word,
    "resume_drops_turn": word,
    "include_partial_messages": flag,
    "include_hook_events": flag,
    "forward_subagent_text": flag,
    "enable_file_checkpointing": flag,
    "returns_retries": count(0, optional=False),
    "cwd": path,
    "env": environment,
    "cli": cli,
    "extra_args": extra_args,
    "start_timeout": amount,
    "control_timeout": amount,
    "on_crash": choice("resume", "raise", optional=False),
    "retries": count(0, optional=False),
    "retry_effects": flag,
    "name": word,
    "record": path,
    "post": post,
    "raise_handler_errors": flag,
    "dialect": choice(*DIALECTS, optional=False),
}
