"""
Which settings exist and which of them fit together.

Two questions, asked before a process is started: does this name exist
(:func:`check_name`), and can these settings be had at once
(:func:`check_combinations`). Whether a single value is possible is asked in
``option_values.py``. Every refusal is a :exc:`UsageError` whose text tells what
to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, Sequence

from .errors import UsageError
from .option_kinds import nearest

if TYPE_CHECKING:
    from .options import Options

# Names people bring along from the official SDK, the CLI and older clients.
KNOWN_ELSEWHERE = {
    "append_prompt": "use append_system_prompt=",
    "can_use_tool": "use permissions=policy, or register a handler with client.on_permission",
    "cli_path": "use cli=",
    "command": "use cli=, which takes a path or an argv list",
    "continue_session": "use continue_conversation=",
    "path_to_claude_code_executable": "use cli=",
    "debug_stderr": "register a handler with client.on_stderr",
    "stderr": "register a handler with client.on_stderr",
    "json_schema": "use returns=, which takes a JSON Schema or a type",
    "output_format": "use returns=, which takes a JSON Schema or a type",
    "schema": "use returns=",
    "load_timeout_ms": "use start_timeout=, in seconds",
    "max_buffer_size": "leave it out: lines of any size are read",
    "max_cost_usd": "use max_budget_usd=",
    "permission_prompt_tool_name": "leave it out: permissions come to client.on_permission",
    "resume_session_at": "use resume_at=",
    "session_store": "leave it out: see claude_sync.sessions for saved conversations",
    "timeout": "pass it to ask() or submit(); start_timeout= and control_timeout= exist too",
    "user": "leave it out: run the program itself as that user",
    "verbatim_prompts": "leave it out",
    "working_dir": "use cwd=",
    "working_directory": "use cwd=",
}


def check_name(name: str, known: Sequence[str]) -> None:
    """Raise UsageError, naming the nearest right one, unless *name* is *known*."""
    if name in known:
        return
    advice = KNOWN_ELSEWHERE.get(name)
    if advice is None:
        meant = nearest(name, known)
        advice = f"did you mean {meant}?" if meant else "see help(claude_sync.Options)"
    raise UsageError(f"there is no option {name!r}: {advice}")


def check_combinations(options: Options) -> None:
    """Raise UsageError if two settings contradict each other."""
    check_conversation(options)
    if options.thinking is not None and options.max_thinking_tokens is not None:
        raise UsageError(
            "thinking and max_thinking_tokens say the same thing twice: use thinking="
            "{'type': 'enabled', 'budget_tokens': N}, or max_thinking_tokens=N alone"
        )
    fallbacks = [model.strip() for model in (options.fallback_model or "").split(",")]
    if options.model is not None and options.model in fallbacks:
        raise UsageError(
            f"fallback_model is the model itself ({options.model!r}): "
            "name another one, or leave fallback_model out"
        )
    prompt = options.system_prompt
    if (
        isinstance(prompt, Mapping)
        and prompt.get("append") is not None
        and options.append_system_prompt is not None
    ):
        raise UsageError(
            "append_system_prompt and the 'append' of system_prompt are the same setting: "
            "use one of them"
        )
    if options.permissions is not None and options.permission_mode == "bypassPermissions":
        # Silently running everything past a policy that was meant to decide
        # would be the worst of both.
        raise UsageError(
            "permission_mode='bypassPermissions' never asks, so the policy given as "
            "permissions= would decide nothing: leave one of them out"
        )
    if options.dialect != "cli":
        check_dialect(options)
    if options.retry_effects and not options.retries:
        raise UsageError("retry_effects has no effect without retries: add retries=1 or more")


def check_dialect(options: Options) -> None:
    """Raise UsageError for what only the greeting of real CLIs has words for."""
    from .protocol.dialects import refuse_settings

    asked_for = {
        "hooks": bool(options.hooks),
        "tools": bool(options.tools),
        "skills": options.skills is not None and not isinstance(options.skills, str),
        "forward_subagent_text": options.forward_subagent_text,
    }
    refuse_settings(options.dialect, [name for name, wanted in asked_for.items() if wanted])


def check_conversation(options: Options) -> None:
    """Raise UsageError unless it is clear which conversation to open."""
    goes_on = options.resume is not None or options.continue_conversation
    if options.resume is not None and options.continue_conversation:
        raise UsageError(
            "resume names a conversation and continue_conversation takes the last one: "
            "use one of them"
        )
    if options.fork_session and not goes_on:
        raise UsageError(
            "fork_session copies an older conversation: "
            "add resume=ID or continue_conversation=True to say which"
        )
    if options.session_id is not None and goes_on and not options.fork_session:
        raise UsageError(
            "session_id names a new conversation, but resume or continue_conversation goes on "
            "with an old one: leave session_id out, or add fork_session=True to go on in a copy"
        )
    if options.resume_at is not None and options.resume is None:
        raise UsageError("resume_at is a message of an older conversation: add resume=ID")
    if options.resume_drops_turn is not None and options.resume_at is None:
        raise UsageError("resume_drops_turn works together with resume_at: add resume_at=ID")
