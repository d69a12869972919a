"""
What each subagent used, as far as the CLI reports it.

::

    process -> lines -> messages -> [agent usage] -> answer

CLIs report it in several places: the tool call that starts the agent, the
structured record of that call's result, and, new ones, messages about the task.
They are put together here by the id of the tool call, or else of the task. What
a CLI does not report is None; old ones report hardly more than that there was an
agent. Nothing is estimated.

Loaded when a CLI first mentions a subagent: most sessions have none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from .fields import Raw, mapping_of, mappings_of
from .tasks import OVER
from .tasks import AgentUsage as AgentUsage
from .usage import Usage, count_of

# The tool that starts a subagent; new CLIs show it under its second name.
AGENT_TOOLS = ("Task", "Agent")
COUNTS = ("total_tokens", "tool_uses", "duration_ms")
# A session may go on for ever, and what is known of its agents must not.
AGENTS_KEPT = 1000


class AgentLog:
    """The last 1,000 subagents that messages mention, in order of their first mention."""

    def __init__(self, messages: Iterable[Raw] = ()) -> None:
        # Under the id of the tool call where there is one, else of the task. Whole values
        # are replaced, so that other threads can look at any time.
        self._agents: dict[str, AgentUsage] = {}
        self._names: dict[str, str] = {}
        self._started: set[str] = set()
        for raw in messages:
            self.see(raw)

    def all(self) -> tuple[AgentUsage, ...]:
        """Every agent that was mentioned."""
        return tuple(self._agents.values())

    def started(self) -> tuple[AgentUsage, ...]:
        """Those whose start was among the messages."""
        return tuple(agent for name, agent in self._agents.items() if name in self._started)

    def see(self, raw: Raw) -> None:
        """Learn from a message of any type."""
        kind = raw.get("type")
        blocks = mappings_of(mapping_of(raw.get("message")).get("content"))
        if kind == "assistant":
            for block in blocks:
                self._see_call(block, raw)
        elif kind == "user":
            results = [block for block in blocks if block.get("type") == "tool_result"]
            record = raw.get("tool_use_result") if len(results) == 1 else None
            for block in results:
                self._see_result(block, record)
        elif kind == "system":
            self._see_task(raw)

    def _see_call(self, block: Raw, raw: Raw) -> None:
        name = word_of(block.get("id"))
        if name is not None and block.get("name") in AGENT_TOOLS:
            call = mapping_of(block.get("input"))
            self._started.add(name)
            self._note(
                name,
                tool_use_id=name,
                agent=call.get("subagent_type"),
                description=call.get("description"),
                status="running",
                parent_tool_use_id=raw.get("parent_tool_use_id"),
            )

    def _see_result(self, block: Raw, record: Any) -> None:
        name = word_of(block.get("tool_use_id"))
        if name is not None and name in self._agents:
            if isinstance(record, dict):
                self._see_record(name, record)
            else:
                self._note(name, status="failed" if block.get("is_error") is True else "completed")

    def _see_record(self, name: str, record: Raw) -> None:
        """The CLI's record of the tool call, which is over, or has left the agent running."""
        agent_id, status = word_of(record.get("agentId")), record.get("status")
        if agent_id is not None:
            self._names.setdefault(agent_id, name)
        self._note(
            name,
            agent_id=agent_id,
            agent=record.get("agentType"),
            status="running" if status == "async_launched" else status,
            model=record.get("resolvedModel"),
            total_tokens=record.get("totalTokens"),
            tool_uses=record.get("totalToolUseCount"),
            duration_ms=record.get("totalDurationMs"),
            usage=record.get("usage"),
        )

    def _see_task(self, raw: Raw) -> None:
        agent_id, subtype = word_of(raw.get("task_id")), word_of(raw.get("subtype")) or ""
        if agent_id is None or not subtype.startswith("task_"):
            return
        tool_use_id = word_of(raw.get("tool_use_id"))
        name = self._names.get(agent_id) or (tool_use_id if tool_use_id in self._agents else None)
        if name is None:
            is_agent = raw.get("subagent_type") or "agent" in str(raw.get("task_type"))
            if not is_agent:
                return  # a shell, or a workflow
            name = tool_use_id or agent_id
        self._names[agent_id] = name
        starts, goes_on = subtype == "task_started", subtype != "task_updated"
        if starts:
            self._started.add(name)
        usage, patch = mapping_of(raw.get("usage")), raw.get("patch")
        status = word_of((patch if isinstance(patch, dict) else raw).get("status"))
        self._note(
            name,
            tool_use_id=tool_use_id,
            agent_id=agent_id,
            agent=raw.get("subagent_type"),
            # That of a progress report is what it does just now.
            description=raw.get("description") if starts else None,
            status=status or ("running" if goes_on else None),
            **{count: usage.get(count) for count in COUNTS},
        )

    def _note(self, name: str, **fields: Any) -> None:
        """Keep what is new; what is missing, or of a wrong type, stays as it was."""
        if name not in self._agents and len(self._agents) >= AGENTS_KEPT:
            self._forget_oldest()
        before = self._agents.get(name) or AgentUsage()
        news: dict[str, Any] = {}
        for field, value in fields.items():
            if field == "usage":
                value = Usage() + value if isinstance(value, dict) else None
            else:
                value = count_of(value) if field in COUNTS else word_of(value)
            if value is not None:
                news[field] = value
        if news.get("status") == "running" and before.status in OVER:
            del news["status"]  # a quick one is over before its start is reported
        self._agents[name] = dataclasses.replace(before, **news)

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._agents))
        # A new one: others may be looking at the old.
        self._agents = {name: agent for name, agent in self._agents.items() if name != oldest}
        self._started.discard(oldest)
        self._names = {agent: name for agent, name in self._names.items() if name != oldest}


def word_of(value: Any) -> str | None:
    """A text with something in it, or None."""
    return value if isinstance(value, str) and value else None
