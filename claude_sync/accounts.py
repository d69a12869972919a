"""
What an answer knows about tokens: of the turn, of each model, of each subagent.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

The money is noted when the result comes. Everything else is worked out here when
somebody asks for it, from what was kept: most programs want the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple

from .protocol.costs import Charge, ModelUsage, Usage, models_of
from .protocol.tally import context_of, is_of_the_main_thread

if TYPE_CHECKING:
    from .protocol.agent_usage import AgentUsage

__all__ = ["Account"]


class Account:
    """The part of an :class:`Answer` that counts."""

    # The result as it came; those of the tries before; every other message of the turn.
    _raw: Optional[Mapping[str, Any]] = None
    _earlier: Tuple[Mapping[str, Any], ...] = ()
    _before: Tuple[Any, ...] = ()
    # What the results of the turn added, one for each try.
    _charges: Tuple[Charge, ...] = ()

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
    def model_usage(self) -> Dict[str, ModelUsage]:
        """
        What each model was used for in this turn, subagents and the CLI's own helpers included.

        Where the CLI does not tell enough to know, it is empty.
        """
        return models_of(self._charges)

    @property
    def agent_usage(self) -> Tuple[AgentUsage, ...]:
        """The subagents that this turn started, as they were when it ended."""
        from .protocol.agent_usage import AgentLog

        return AgentLog(message.raw for message in self._before).started()

    @property
    def context_tokens(self) -> Optional[int]:
        """How many tokens the last request of this turn had the model read; None: not told."""
        for message in reversed(self._before):
            raw = message.raw
            if raw.get("type") == "assistant" and is_of_the_main_thread(raw):
                return context_of(raw)
            if raw.get("subtype") == "compact_boundary":
                return None
        return None
