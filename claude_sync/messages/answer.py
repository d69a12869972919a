"""
Answer: what Claude answered, a string with more to it.

The money is noted when the result comes. Everything else is worked out when
a program asks for it, from what was kept: most programs want the text, and every
turn pays for what is done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Mapping, cast

from .display import Displayed, Timed
from .usage import Charge, ModelUsage, Usage, context_of, is_of_the_main_thread, models_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .agents import AgentUsage
    from .base import Message, PermissionDenial, Result
    from .blocks import ToolResult, ToolUse

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


class Answer(Timed, Displayed, str, Generic[T]):
    """
    What Claude answered. It prints, splits and compares like any string.

    Attributes:
        text: The same as the string itself, as a plain ``str``.
        data: The typed answer, where ``returns=`` asked for one; else None.
        result: The CLI's :class:`Result` message; None for an incomplete answer.
        messages: Every message of the turn, complete ones only, in order.
        tool_uses: Pairs of each :class:`ToolUse` and its :class:`ToolResult` (or None).
        thinking: What Claude thought aloud.
        cost_usd: What this turn cost, as the CLI reports it.
        total_cost_usd: What this client has cost so far.
        usage, model_usage, agent_usage: Tokens of this turn; by model; by subagent.
        context_tokens: How full the context was at the last request; None if not reported.
        duration_ms, num_turns, session_id, stop_reason, permission_denials: As reported.
        stopped_by: What ended the turn early, such as ``max_turns``; else None.
        time_to_first_token_ms: None where the CLI does not report it.
        user_message_id: The id of the question, for ``rewind_files()``.
        is_error: Whether the turn failed, for calls with ``raise_on_error=False``.

    """

    data: T = cast(Any, None)
    tool_uses: tuple[tuple[ToolUse, ToolResult | None], ...] = ()
    thinking: str = ""
    cost_usd: float = 0.0
    total_cost_usd: float = 0.0
    session_id: str | None = None
    user_message_id: str | None = None
    is_error: bool = False
    # The result as it came; those of the tries before; every other message of the turn.
    _raw: Mapping[str, Any] | None = None
    _earlier: tuple[Mapping[str, Any], ...] = ()
    _before: tuple[Message, ...] = ()
    # What the results of the turn added, one for each try.
    _charges: tuple[Charge, ...] = ()
    # The result as a message, once a program has asked for it.
    _result: Result | None = None

    @property
    def text(self) -> str:
        """The answer as a plain string."""
        return str.__str__(self)

    @property
    def result(self) -> Result | None:
        """The CLI's message that ended the turn; None for an incomplete answer."""
        if self._result is None and self._raw is not None:
            from .base import Result

            self._result = Result.read(self._raw, self._charges[-1].usd if self._charges else None)
        return self._result

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message of the turn, complete ones only, in order; the result is the last."""
        result = self.result
        return self._before if result is None else (*self._before, result)

    @property
    def _end(self) -> Result:
        """The result; an empty one for an incomplete answer."""
        from .base import Result

        return self.result or Result()

    @property
    def duration_ms(self) -> int:
        """How long the turn took, as the CLI reports it."""
        return self._end.duration_ms

    @property
    def num_turns(self) -> int:
        """How often the model was asked."""
        return self._end.num_turns

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped."""
        return self._end.stop_reason

    @property
    def stopped_by(self) -> str | None:
        """
        What ended the turn before Claude was done, as the CLI names it.

        Such as ``max_turns``, ``aborted_streaming`` or, of older CLIs, ``error_max_turns``;
        None where nothing did.
        """
        subtype = self._end.subtype if self._end.subtype.startswith("error") else None
        reason = self._end.terminal_reason or subtype
        return None if reason == "completed" else reason

    @property
    def time_to_first_token_ms(self) -> float | None:
        """Milliseconds to the first token of the answer; None where the CLI does not report it."""
        return self._end.ttft_ms

    @property
    def permission_denials(self) -> tuple[PermissionDenial, ...]:
        """The tool calls that were refused."""
        return self._end.permission_denials

    @property
    def usage(self) -> Usage:
        """Token counts of this turn, without those of its subagents."""
        total = Usage()
        for raw in (*self._earlier, self._raw):
            usage = raw.get("usage") if raw is not None else None
            if isinstance(usage, dict):
                total.count(usage)
        return total

    @property
    def model_usage(self) -> dict[str, ModelUsage]:
        """
        What each model was used for in this turn, subagents and the CLI's own helpers included.

        Where the CLI does not report enough, it is empty.
        """
        return models_of(self._charges)

    @property
    def agent_usage(self) -> tuple[AgentUsage, ...]:
        """The subagents that this turn started, as they were when it ended."""
        from .agents import AgentLog

        return AgentLog(message.raw for message in self._before).started()

    @property
    def context_tokens(self) -> int | None:
        """How many tokens the last request of this turn had the model read; None: not reported."""
        for message in reversed(self._before):
            raw = message.raw
            if raw.get("type") == "assistant" and is_of_the_main_thread(raw):
                return context_of(raw)
            if raw.get("subtype") == "compact_boundary":
                return None
        return None


def remember(
    answer: Answer[Any],
    raw: Mapping[str, Any] | None,
    result: Result | None = None,
    *,
    earlier: tuple[Mapping[str, Any], ...] = (),
    before: tuple[Message, ...] = (),
    charges: tuple[Charge, ...] = (),
    marks: Any = None,
) -> None:
    """What an answer knows beside its fields: see the comments there; *marks*: its times."""
    answer._raw, answer._result = raw, result
    answer._earlier, answer._before = earlier, before
    answer._charges, answer._marks = charges, marks
