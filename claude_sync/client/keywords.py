"""
The keyword arguments of ``Client``, ``ask``, ``Pool`` and ``map``, for type checkers alone.

They take the settings of :class:`Options` by name, and handlers; at run time these are checked,
with advice, by ``options/``. Here the names stand once more, so that an editor can offer
them and a checker knows a misspelled one before the program runs. Nothing imports this module
when a program runs, and a test compares it with Options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from typing_extensions import TypedDict

from ..options.keywords import SharedKeywords

if TYPE_CHECKING:
    from ..messages.base import Message, PromptSuggestion, RateLimit, Result, StreamEvent, System
    from ..messages.blocks import ToolResult, ToolUse
    from ..messages.events import Closed, HandlerError
    from ..messages.stream_text import Text, Thinking
    from ..messages.system import Init, Status
    from ..messages.tasks import Task
    from ..permissions.request import (
        PermissionAnswer,
        PermissionRequest,
        Questions,
        QuestionsAnswer,
    )

__all__ = [
    "AskKeywords",
    "AskingKeywords",
    "BatchKeywords",
    "ClientKeywords",
    "EchoKeywords",
    "Handlers",
    "MapKeywords",
    "QuestionKeywords",
]


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
    on_prompt_suggestion: Optional[Callable[[PromptSuggestion], object]]
    on_stream_event: Optional[Callable[[StreamEvent], object]]
    on_stderr: Optional[Callable[[str], object]]
    on_error: Optional[Callable[[HandlerError], object]]
    on_close: Optional[Callable[[Closed], object]]


class ClientKeywords(SharedKeywords, Handlers, total=False):
    """What a client takes, but for ``returns``, which the type of its answers depends on."""

    budget_usd: Optional[float]
    retries: int


class BatchKeywords(SharedKeywords, Handlers, total=False):
    """What ``map`` passes on to its clients."""


class MapKeywords(BatchKeywords, total=False):
    """What ``map`` takes, but for what the type of its items depends on."""

    prompt: Optional[str]
    workers: int
    executor: Any
    budget_usd: Optional[float]
    retries: int
    timeout: Optional[float]
    idle_timeout: Optional[float]
    requests_per_minute: Optional[float]
    tokens_per_minute: Optional[float]
    checkpoint: Any
    on_change: str
    id: Optional[str | Callable[[Any], Any]]
    shard: Optional[tuple[int, int]]
    ordered: bool
    progress: bool


class AskingKeywords(TypedDict, total=False):
    """What belongs to a question alone."""

    attach: Any
    data: Any
    timeout: Optional[float]
    idle_timeout: Optional[float]
    raise_on_error: bool


class QuestionKeywords(AskingKeywords, total=False):
    """What a question takes, but for ``returns``; None is the client's own."""

    verbatim: Optional[bool]


class EchoKeywords(QuestionKeywords, total=False):
    """What ``Client.ask`` takes."""

    echo: bool


class AskKeywords(ClientKeywords, AskingKeywords, total=False):
    """What ``ask`` takes: what a client takes, and its questions."""
