"""
What messages other than results tell about tokens: the context, and the subagents.

::

    process -> lines -> messages -> [tally] -> dispatch

The size of the context is what the last request of the main conversation had the
model read: ``input_tokens``, and those read from and put into the cache. That is
the CLI's own definition, in its status line and in ``get_context_usage``; the
reply itself is not in it yet. Replies of subagents have contexts of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Tuple

from ..messages.usage import context_of, is_of_the_main_thread

if TYPE_CHECKING:
    from ..messages.agents import AgentLog, AgentUsage

__all__ = ["Tally"]


class Tally:
    """What is known of one client's conversation; fed by one thread, asked by any."""

    def __init__(self) -> None:
        self._spoken: Optional[Mapping[str, Any]] = None
        self._session_id: Any = None
        self._agents: Optional[AgentLog] = None

    @property
    def context_tokens(self) -> Optional[int]:
        """The size of the context; None before it is told, and after it was given up."""
        return None if self._spoken is None else context_of(self._spoken)

    @property
    def agent_usage(self) -> Tuple[AgentUsage, ...]:
        """The subagents so far: the last 1,000 of them."""
        return () if self._agents is None else self._agents.all()

    def see(self, raw: Mapping[str, Any]) -> None:
        """A complete message came. Every one does, so this does little."""
        kind = raw.get("type")
        if kind == "assistant":
            if is_of_the_main_thread(raw):
                self._spoken = raw
            if mentions_agents(raw):
                self._see_agents(raw)
        elif kind == "user":
            if self._agents is not None:
                self._agents.see(raw)
        elif kind == "system":
            self._system(raw)
        elif kind == "conversation_reset":
            self._spoken = None

    def _system(self, raw: Mapping[str, Any]) -> None:
        subtype = raw.get("subtype")
        if subtype == "init":
            session_id = raw.get("session_id")
            if session_id != self._session_id:
                # Another conversation than before: /clear, or one that was lost.
                self._session_id, self._spoken = session_id, None
        elif subtype == "compact_boundary":
            self._spoken = None
        elif isinstance(subtype, str) and subtype.startswith("task_"):
            self._see_agents(raw)

    def _see_agents(self, raw: Mapping[str, Any]) -> None:
        if self._agents is None:
            from ..messages.agents import AgentLog

            self._agents = AgentLog()
        self._agents.see(raw)


def mentions_agents(raw: Mapping[str, Any]) -> bool:
    """Whether an ``assistant`` message starts a subagent."""
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    # The two names of the tool.
    return any(isinstance(b, dict) and b.get("name") in ("Task", "Agent") for b in content)
