"""
Which options exist, and which of them fit together.

Every refusal is a :exc:`UsageError` that says what to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from ..errors import UsageError
from ..support.checks import nearest

if TYPE_CHECKING:
    from .options import Options

# Names that people know from the official SDK, the API, the CLI and older clients.
KNOWN_ELSEWHERE = {
    "api_key": 'use env={"ANTHROPIC_API_KEY": ...}, or sign the CLI in',
    "append_prompt": "use append_system_prompt=",
    "auth_token": 'use env={"ANTHROPIC_AUTH_TOKEN": ...}',
    "base_url": 'use env={"ANTHROPIC_BASE_URL": ...}',
    "can_use_tool": "use permissions=policy, or register a handler with client.on_permission",
    "cli_path": "use cli=",
    "command": "use cli=, which takes a path or an argv list",
    "continue_session": "use continue_conversation=",
    "path_to_claude_code_executable": "use cli=",
    "dangerously_skip_permissions": "use permission_mode='bypassPermissions'",
    "debug_stderr": "register a handler with client.on_stderr",
    "stderr": "register a handler with client.on_stderr",
    "json_schema": "use returns=, which takes a JSON Schema or a type",
    "output_format": "use returns=, which takes a JSON Schema or a type",
    "schema": "use returns=",
    "load_timeout_ms": "use start_timeout=, in seconds",
    "max_buffer_size": "leave it out: lines of any size are read",
    "max_cost_usd": "use max_budget_usd=",
    "max_output_tokens": 'use env={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4000"}',
    "max_tokens": (
        "the CLI limits the tokens of an answer by a variable only: "
        'env={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4000"}. Limits of a question are '
        "max_turns= and max_budget_usd="
    ),
    "permission_prompt_tool_name": "leave it out: permissions come to client.on_permission",
    "prompt": "pass it to ask() or submit()",
    "resume_session_at": "use resume_at=",
    "session_store": "leave it out: see claude_sync.sessions for saved conversations",
    "system": "use system_prompt=",
    "temperature": "leave it out: the CLI chooses it",
    "timeout": "pass it to ask() or submit(); start_timeout= and control_timeout= exist too",
    "verbatim_prompts": "use verbatim=",
    "working_dir": "use cwd=",
    "working_directory": "use cwd=",
}


def check_option(name: str, known: Sequence[str]) -> None:
    """Raise UsageError, with the nearest right name, unless *name* is *known*."""
    if name in known:
        return
    advice, meant = KNOWN_ELSEWHERE.get(name), None
    if advice is None:
        meant = nearest(name, known)
        advice = f"did you mean {meant}?" if meant else "see help(claude_sync.Options)"
    raise UsageError(f"there is no option {name!r}: {advice}", option=name, nearest=meant)


def check_combinations(options: Options) -> None:
    """Raise UsageError if two options contradict each other."""
    prompt = options.system_prompt
    own_append = prompt.get("append") if isinstance(prompt, Mapping) else None
    fallbacks = [model.strip() for model in (options.fallback_model or "").split(",")]
    goes_on = options.resume is not None or options.continue_conversation
    new_id = options.session_id is not None and not options.fork_session
    for option, contradicts, advice in (
        (
            "resume",
            options.resume is not None and options.continue_conversation,
            "resume names a conversation and continue_conversation takes the last one: "
            "use one of them",
        ),
        (
            "fork_session",
            options.fork_session and not goes_on,
            "fork_session copies an older conversation: "
            "add resume=ID or continue_conversation=True to say which",
        ),
        (
            "session_id",
            new_id and goes_on,
            "session_id names a new conversation, but resume or continue_conversation goes on "
            "with an old one: leave session_id out, or add fork_session=True to go on in a copy",
        ),
        (
            "resume_at",
            options.resume_at is not None and options.resume is None,
            "resume_at is a message of an older conversation: add resume=ID",
        ),
        (
            "resume_drops_turn",
            options.resume_drops_turn is not None and options.resume_at is None,
            "resume_drops_turn works together with resume_at: add resume_at=ID",
        ),
        (
            "thinking",
            options.thinking is not None and options.max_thinking_tokens is not None,
            "thinking and max_thinking_tokens are two forms of one setting: use thinking="
            "{'type': 'enabled', 'budget_tokens': N}, or max_thinking_tokens=N alone",
        ),
        (
            "fallback_model",
            options.model is not None and options.model in fallbacks,
            f"fallback_model is the model itself ({options.model!r}): "
            "name another one, or leave fallback_model out",
        ),
        (
            "append_system_prompt",
            own_append is not None and options.append_system_prompt is not None,
            "append_system_prompt and the 'append' of system_prompt are the same setting: "
            "use one of them",
        ),
        (
            # The worst of both: everything passes a policy that was meant to decide.
            "permissions",
            options.permissions is not None and options.permission_mode == "bypassPermissions",
            "permission_mode='bypassPermissions' never asks, so the policy given as "
            "permissions= would decide nothing: leave one of them out",
        ),
        (
            "permissions",
            options.permissions is not None
            and "dangerously-skip-permissions" in (options.extra_args or {}),
            "with 'dangerously-skip-permissions' in extra_args the CLI never asks, so the policy "
            "given as permissions= would decide nothing: leave one of them out",
        ),
        (
            "retry_effects",
            options.retry_effects and not options.retries,
            "retry_effects has no effect without retries: add retries=1 or more",
        ),
    ):
        if contradicts:
            raise UsageError(advice, option=option)


def check_dialect(dialect: str, greeting: Mapping[str, Any]) -> None:
    """Raise UsageError for options that only the greeting of real CLIs has words for."""
    if dialect != "cli":
        from ..protocol.dialects import refuse_settings

        refuse_settings(dialect, [name for name, value in greeting.items() if value])
