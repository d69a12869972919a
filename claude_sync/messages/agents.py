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
from typing import Any, Dict, Iterable, Mapping, Optional, Set, Tuple

from .usage import Usage, count_of

__all__ = ["AgentUsage"]

# The tool that starts a subagent; new CLIs show it under its second name.
AGENT_TOOLS = ("Task", "Agent")
COUNTS = ("total_tokens", "tool_uses", "duration_ms")
OVER = ("completed", "failed", "stopped", "killed")
# A session may go on for ever, and what is known of its agents must not.
AGENTS_KEPT = 1000


@dataclasses.dataclass(frozen=True)
class AgentUsage:
    """
    One subagent, and what it used; None is what the CLI does not report.

    The CLI does not report what an agent cost: its requests are part of ``cost_usd`` and
    ``model_usage``, and no part of ``usage``, of the turn in which they were made.

    Attributes:
        tool_use_id: The tool call that started it.
        agent_id: Its own id, which is also that of its task.
        agent: Its kind, such as ``general-purpose``.
        description: What it is to do, in a few words.
        status: ``running``, ``completed``, ``failed``, ``stopped`` or ``killed``.
        model: The model that it runs on.
        total_tokens: The size of its conversation at its last reply. Not all it used: each
            of its requests reads that conversation anew.
        tool_uses: How often it used a tool.
        duration_ms: How long it took.
        usage: Token counts of its last reply.
        parent_tool_use_id: The tool call that started the agent that started it.

    """

    tool_use_id: Optional[str] = None
    agent_id: Optional[str] = None
    agent: Optional[str] = None
    description: Optional[str] = None
    status: Optional[str] = None
    model: Optional[str] = None
    total_tokens: Optional[int] = None
    tool_uses: Optional[int] = None
    duration_ms: Optional[int] = None
    usage: Optional[Usage] = None
    parent_tool_use_id: Optional[str] = None


class AgentLog:
    """The last 1,000 subagents that messages mention, in order of their first mention."""

    def __init__(self, messages: Iterable[Mapping[str, Any]] = ()) -> None:
        # Under the id of the tool call where there is one, else of the task. Whole values
        # are replaced, so that other threads can look at any time.
        self._agents: Dict[str, AgentUsage] = {}
        self._names: Dict[str, str] = {}
        self._started: Set[str] = set()
        for raw in messages:
            self.see(raw)

    def all(self) -> Tuple[AgentUsage, ...]:
        """Every agent that was mentioned."""
        return tuple(self._agents.values())

    def started(self) -> Tuple[AgentUsage, ...]:
        """Those whose start was among the messages."""
        return tuple(agent for name, agent in self._agents.items() if name in self._started)

    def see(self, raw: Mapping[str, Any]) -> None:
        """Learn from a message of any type."""
        kind = raw.get("type")
        if kind == "assistant":
            self._assistant(raw)
        elif kind == "user":
            self._user(raw)
        elif kind == "system":
            self._task(raw)

    def _assistant(self, raw: Mapping[str, Any]) -> None:
        for block in blocks_of(raw):
            tool_use_id = text_of(block.get("id"))
            if tool_use_id is None or block.get("name") not in AGENT_TOOLS:
                continue
            asked = block.get("input")
            asked = asked if isinstance(asked, dict) else {}
            self._started.add(tool_use_id)
            self._note(
                tool_use_id,
                tool_use_id=tool_use_id,
                agent=text_of(asked.get("subagent_type")),
                description=text_of(asked.get("description")),
                status="running",
                parent_tool_use_id=text_of(raw.get("parent_tool_use_id")),
            )

    def _user(self, raw: Mapping[str, Any]) -> None:
        record = raw.get("tool_use_result")
        results = [block for block in blocks_of(raw) if block.get("type") == "tool_result"]
        for block in results:
            name = text_of(block.get("tool_use_id"))
            if name not in self._agents:
                continue
            assert name is not None
            if isinstance(record, dict) and len(results) == 1:
                self._record(name, record)
            else:
                self._note(name, status="failed" if block.get("is_error") is True else "completed")

    def _record(self, name: str, record: Mapping[str, Any]) -> None:
        """The CLI's record of the tool call, which is over, or has left the agent running."""
        usage = record.get("usage")
        status = text_of(record.get("status"))
        agent_id = text_of(record.get("agentId"))
        if agent_id is not None:
            self._names.setdefault(agent_id, name)
        self._note(
            name,
            agent_id=agent_id,
            agent=text_of(record.get("agentType")),
            status="running" if status == "async_launched" else status,
            model=text_of(record.get("resolvedModel")),
            total_tokens=count_of(record.get("totalTokens")),
            tool_uses=count_of(record.get("totalToolUseCount")),
            duration_ms=count_of(record.get("totalDurationMs")),
            usage=Usage() + usage if isinstance(usage, dict) else None,
        )

    def _task(self, raw: Mapping[str, Any]) -> None:
        agent_id = text_of(raw.get("task_id"))
        subtype = text_of(raw.get("subtype")) or ""
        if agent_id is None or not subtype.startswith("task_"):
            return
        agent = text_of(raw.get("subagent_type"))
        tool_use_id = text_of(raw.get("tool_use_id"))
        name = self._names.get(agent_id) or (tool_use_id if tool_use_id in self._agents else None)
        if name is None:
            if agent is None and "agent" not in str(raw.get("task_type")):
                return  # a shell, or a workflow
            name = tool_use_id or agent_id
        self._names[agent_id] = name
        if subtype == "task_started":
            self._started.add(name)
        self._note(
            name,
            tool_use_id=tool_use_id,
            agent_id=agent_id,
            agent=agent,
            # That of a progress report is what it does just now.
            description=text_of(raw.get("description")) if subtype == "task_started" else None,
            status=status_of(raw, subtype),
            **counts_of(raw.get("usage")),
        )

    def _note(self, name: str, **fields: Any) -> None:
        """Keep what is new; what is None stays as it was."""
        if name not in self._agents and len(self._agents) >= AGENTS_KEPT:
            self._forget_oldest()
        before = self._agents.get(name) or AgentUsage()
        news = {field: value for field, value in fields.items() if value is not None}
        if news.get("status") == "running" and before.status in OVER:
            del news["status"]  # a quick one is over before its start is reported
        self._agents[name] = dataclasses.replace(before, **news)

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._agents))
        agents = dict(self._agents)
        del agents[oldest]
        self._agents = agents  # a new one: others may be looking at the old
        self._started.discard(oldest)
        self._names = {agent: name for agent, name in self._names.items() if name != oldest}


def blocks_of(raw: Mapping[str, Any]) -> Tuple[Mapping[str, Any], ...]:
    """The content blocks of a message."""
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return ()
    return tuple(block for block in content if isinstance(block, dict))


def status_of(raw: Mapping[str, Any], subtype: str) -> Optional[str]:
    """What a message about a task says about its state."""
    patch = raw.get("patch")
    if isinstance(patch, dict):
        return text_of(patch.get("status"))
    return text_of(raw.get("status")) or ("running" if subtype != "task_updated" else None)


def counts_of(usage: Any) -> Dict[str, Optional[int]]:
    """The numbers in a message about a task."""
    if not isinstance(usage, dict):
        return {}
    return {name: count_of(usage.get(name)) for name in COUNTS}


def text_of(value: Any) -> Optional[str]:
    """A text with something in it, or None."""
    return value if isinstance(value, str) and value else None
