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
# What the CLI's record of a tool call has under other names.
RECORDED = {
    "agent_id": "agentId",
    "agent": "agentType",
    "status": "status",
    "model": "resolvedModel",
    "total_tokens": "totalTokens",
    "tool_uses": "totalToolUseCount",
    "duration_ms": "totalDurationMs",
    "usage": "usage",
}
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
                name = word_of(block.get("id"))
                if name is not None and block.get("name") in AGENT_TOOLS:
                    self._see_call(name, mapping_of(block.get("input")), raw)
        elif kind == "user":
            results = [block for block in blocks if block.get("type") == "tool_result"]
            # Of several results none has the record: the wire does not say which.
            record = raw.get("tool_use_result") if len(results) == 1 else None
            for block in results:
                name = word_of(block.get("tool_use_id"))
                if name in self._agents:
                    self._see_result(name, block, record)
        elif kind == "system":
            self._see_task(raw)

    def _see_call(self, name: str, call: Raw, raw: Raw) -> None:
        self._started.add(name)
        self._note(
            name,
            tool_use_id=name,
            agent=call.get("subagent_type"),
            description=call.get("description"),
            status="running",
            parent_tool_use_id=raw.get("parent_tool_use_id"),
        )

    def _see_result(self, name: str, block: Raw, record: Any) -> None:
        """The tool call is over, or has left the agent running."""
        if not isinstance(record, dict):
            self._note(name, status="failed" if block.get("is_error") is True else "completed")
            return
        fields = {field: record.get(key) for field, key in RECORDED.items()}
        if fields["status"] == "async_launched":
            fields["status"] = "running"
        self._note(name, **fields)

    def _see_task(self, raw: Raw) -> None:
        agent_id, subtype = word_of(raw.get("task_id")), word_of(raw.get("subtype")) or ""
        if agent_id is None or not subtype.startswith("task_"):
            return
        tool_use_id = word_of(raw.get("tool_use_id"))
        is_agent = raw.get("subagent_type") or "agent" in str(raw.get("task_type"))
        if agent_id not in self._names and tool_use_id not in self._agents and not is_agent:
            return  # a shell, or a workflow
        name = self._names.get(agent_id) or tool_use_id or agent_id
        starts = subtype == "task_started"
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
            status=status or (None if subtype == "task_updated" else "running"),
            **{count: usage.get(count) for count in COUNTS},
        )

    def _note(self, name: str, **fields: Any) -> None:
        """Keep what is new; what is missing, or of a wrong type, stays as it was."""
        if name not in self._agents and len(self._agents) >= AGENTS_KEPT:
            self._forget_oldest()
        before = self._agents.get(name) or AgentUsage()
        read = {field: value_of(field, value) for field, value in fields.items()}
        news = {field: value for field, value in read.items() if value is not None}
        if news.get("status") == "running" and before.status in OVER:
            del news["status"]  # a quick one is over before its start is reported
        now = self._agents[name] = dataclasses.replace(before, **news)
        if now.agent_id is not None:
            self._names.setdefault(now.agent_id, name)

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._agents))
        # A new one: others may be looking at the old.
        self._agents = {name: agent for name, agent in self._agents.items() if name != oldest}
        self._started.discard(oldest)
        self._names = {agent: name for agent, name in self._names.items() if name != oldest}


def value_of(field: str, value: Any) -> Any:
    """The value of a field; None where the CLI sent something else, or nothing."""
    if field == "usage":
        return Usage() + value if isinstance(value, dict) else None
    return count_of(value) if field in COUNTS else word_of(value)


def word_of(value: Any) -> str | None:
    """A text with something in it, or None."""
    return value if isinstance(value, str) and value else None
