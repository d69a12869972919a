"""
Which options exist, and which of them fit together.

Every refusal is a :exc:`UsageError` that says what to write instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Mapping, Sequence

from ..errors import UsageError
from ..support.checks import nearest

if TYPE_CHECKING:
    from .options import Options

# Names that people know from the official SDK, the API, the CLI and older clients, by what to
# write instead.
ADVICE = {
    'use env={"ANTHROPIC_API_KEY": ...}, or sign the CLI in': "api_key",
    'use env={"ANTHROPIC_AUTH_TOKEN": ...}': "auth_token",
    'use env={"ANTHROPIC_BASE_URL": ...}': "base_url",
    'use env={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "4000"}, the only limit of the tokens of an answer; '
    "limits of a question are max_turns= and max_budget_usd=": "max_tokens max_output_tokens",
    "use append_system_prompt=": "append_prompt",
    "use cli=, which takes a path or an argv list": (
        "cli_path command path_to_claude_code_executable"
    ),
    "use continue_conversation=": "continue_session",
    "use cwd=": "working_dir working_directory",
    "use max_budget_usd=": "max_cost_usd",
    "use permission_mode='bypassPermissions'": "dangerously_skip_permissions",
    "use resume_at=": "resume_session_at",
    "use returns=, which takes a JSON Schema or a type": "json_schema output_format schema",
    "use start_timeout=, in seconds": "load_timeout_ms",
    "use system_prompt=": "system",
    "use verbatim=": "verbatim_prompts",
    "use permissions=policy, or register a handler with client.on_permission": (
        "can_use_tool permission_prompt_tool_name"
    ),
    "register a handler with client.on_stderr": "stderr debug_stderr",
    "pass it to ask() or submit()": "prompt",
    "pass it to ask() or submit(); start_timeout= and control_timeout= exist too": "timeout",
    "leave it out: lines of any size are read": "max_buffer_size",
    "leave it out: see claude_sync.sessions for saved conversations": "session_store",
    "leave it out: the CLI chooses it": "temperature",
}
KNOWN_ELSEWHERE = {name: advice for advice, names in ADVICE.items() for name in names.split()}


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
    for option, advice in contradictions(options):
        raise UsageError(advice, option=option)


def contradictions(options: Options) -> Iterator[tuple[str, str]]:
    """Options that contradict others, each with what to write instead."""
    resumes, goes_on = options.resume is not None, options.continue_conversation
    if resumes and goes_on:
        yield "resume", "resume= and continue_conversation= each name a conversation: use one"
    if options.fork_session and not (resumes or goes_on):
        yield "fork_session", "fork_session copies a conversation: add resume=ID to say which"
    if options.session_id is not None and not options.fork_session and (resumes or goes_on):
        advice = "leave it out, or add fork_session=True to go on in a copy"
        yield "session_id", f"session_id= names a new conversation, but this one is old: {advice}"
    if options.resume_at is not None and not resumes:
        yield "resume_at", "resume_at= is a message of an older conversation: add resume=ID"
    if options.resume_drops_turn is not None and options.resume_at is None:
        yield "resume_drops_turn", "resume_drops_turn= needs resume_at=: add resume_at=ID"
    if options.thinking is not None and options.max_thinking_tokens is not None:
        instead = "thinking={'type': 'enabled', 'budget_tokens': N}"
        yield "thinking", f"thinking= and max_thinking_tokens= are one setting: use {instead}"
    fallbacks = [model.strip() for model in (options.fallback_model or "").split(",")]
    if options.model in fallbacks:
        yield "fallback_model", f"fallback_model={options.model!r} is the model itself: use another"
    prompt = options.system_prompt
    own_append = prompt.get("append") if isinstance(prompt, Mapping) else None
    if own_append is not None and options.append_system_prompt is not None:
        instead = "the 'append' of system_prompt= is the same setting: use one of them"
        yield "append_system_prompt", instead
    # The worst of both: everything passes a policy that was meant to decide.
    skips = "dangerously-skip-permissions" in (options.extra_args or {})
    never_asks = skips or options.permission_mode == "bypassPermissions"
    if never_asks and options.permissions is not None:
        advice = "the policy given as permissions= would decide nothing: leave one of them out"
        yield "permissions", f"by its mode or extra_args the CLI never asks, so {advice}"
    if options.retry_effects and not options.retries:
        yield "retry_effects", "retry_effects has no effect without retries: add retries=1 or more"
