"""
The keyword arguments of ``Client``, ``ask``, ``Pool`` and ``map``, for type checkers alone.

They take the settings of :class:`Options` by name, and handlers; at run time these are checked,
with advice, by ``options.py``. Here the names are told once more, so that an editor can offer
them and a checker knows a misspelled one before the program runs. Nothing imports this module
when a program runs, and a test compares it with Options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from .blocks import ToolResult, ToolUse
    from .events import Closed, HandlerError
    from .messages import Message, RateLimit, Result, StreamEvent, System
    from .options import PathLike
    from .permissions import PermissionAnswer, PermissionRequest, Questions, QuestionsAnswer
    from .pieces import Text, Thinking
    from .system_messages import Init, Status
    from .task_messages import Task

__all__ = ["AskKeywords", "BatchKeywords", "ClientKeywords", "Handlers", "OptionKeywords"]


class Handlers(TypedDict, total=False):
    """Handlers by name; None is none."""

    on_text: Optional[Callable[[Text], object]]
    on_thinking: Optional[Callable[[Thinking], object]]
    on_tool_use: Optional[Callable[[ToolUse], object]]
    on_tool_result: Optional[Callable[[ToolResult], object]]
    on_permission: Optional[Callable[[PermissionRequest], PermissionAnswer]]
    on_question: Optional[Callable[[Questions], QuestionsAnswer]]
    on_result: Optional[Callable[[Result], object]]
    on_message: Optional[Callable[[Message], object]]
    on_system: Optional[Callable[[System], object]]
    on_init: Optional[Callable[[Init], object]]
    on_status: Optional[Callable[[Status], object]]
    on_task: Optional[Callable[[Task], object]]
    on_rate_limit: Optional[Callable[[RateLimit], object]]
    on_stream_event: Optional[Callable[[StreamEvent], object]]
    on_stderr: Optional[Callable[[str], object]]
    on_error: Optional[Callable[[HandlerError], object]]
    on_close: Optional[Callable[[Closed], object]]


class SharedKeywords(TypedDict, total=False):
    """Every setting but those which ``map`` names itself."""

    # What Claude is.
    model: Optional[str]
    fallback_model: Optional[str]
    system_prompt: Union[str, Mapping[str, Any], None]
    append_system_prompt: Optional[str]
    thinking: Union[str, Mapping[str, Any], None]
    max_thinking_tokens: Optional[int]
    effort: Optional[str]
    betas: Sequence[str]
    agents: Optional[Mapping[str, Any]]
    skills: Union[str, Sequence[str], None]
    plugins: Sequence[Union[PathLike, Mapping[str, Any]]]
    setting_sources: Optional[Sequence[str]]
    settings: Union[PathLike, Mapping[str, Any], None]
    sandbox: Optional[Mapping[str, Any]]

    # What Claude may do.
    permission_mode: Optional[str]
    allowed_tools: Sequence[str]
    disallowed_tools: Sequence[str]
    builtin_tools: Union[str, Sequence[str], None]
    tools: Sequence[Callable[..., Any]]
    mcp_servers: Union[PathLike, Mapping[str, Any], None]
    strict_mcp_config: bool
    permissions: Optional[Callable[..., Any]]
    permission_timeout: Optional[float]
    hooks: Optional[Mapping[str, Any]]
    add_dirs: Sequence[PathLike]

    # How much it may take.
    max_turns: Optional[int]
    max_budget_usd: Optional[float]
    task_budget: Union[int, Mapping[str, Any], None]

    # Which conversation.
    resume: Optional[str]
    continue_conversation: bool
    fork_session: bool
    session_id: Optional[str]
    resume_at: Optional[str]
    resume_drops_turn: Optional[str]

    # What is reported.
    include_partial_messages: bool
    include_hook_events: bool
    forward_subagent_text: bool
    enable_file_checkpointing: bool
    returns_retries: int

    # How the CLI runs.
    cwd: Optional[PathLike]
    env: Optional[Mapping[str, Optional[str]]]
    cli: Union[PathLike, Sequence[str], None]
    extra_args: Optional[Mapping[str, Union[str, int, float, None]]]
    start_timeout: Optional[float]
    control_timeout: Optional[float]
    on_crash: str
    retry_effects: bool

    # This client.
    name: Optional[str]
    record: Optional[PathLike]
    post: Union[str, Callable[..., Any], None]
    raise_handler_errors: bool
    transport: Any
    dialect: str


class OptionKeywords(SharedKeywords, total=False):
    """Every setting of :class:`Options`."""

    budget_usd: Optional[float]
    returns: Any
    retries: int


class ClientKeywords(OptionKeywords, Handlers, total=False):
    """What a client takes."""


class BatchKeywords(SharedKeywords, Handlers, total=False):
    """What ``map`` passes on to its clients."""


class AskKeywords(ClientKeywords, total=False):
    """What ``ask`` takes: what a client takes, and its questions."""

    attach: Any
    timeout: Optional[float]
    idle_timeout: Optional[float]
    raise_on_error: bool
