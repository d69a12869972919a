"""
The messages of type ``system`` about tasks: subagents, background shells, workflows.

Several of these with the same ``task_id`` report on one task.
"""

from __future__ import annotations

import dataclasses

from .base import System
from .fields import Raw, build, mapping_of, objects, optional_text_of
from .usage import Usage

OVER = ("completed", "failed", "stopped", "killed")


class Task(System, subtype="task_started task_progress task_updated task_notification"):
    """
    News of a task: it began, goes on, changed, or ended; ``subtype`` tells which.

    Other fields are attributes, too, where the CLI sends them: ``prompt``, ``output_file``, ...

    Attributes:
        task_id: The task.
        status: ``running``, ``completed``, ``failed``, ``stopped``, ``killed``, ...; None
            in an update that does not touch it.
        description: What the task is about, in a few words, or None.
        tool_use_id: The tool call that started it, or None.
        run_id: This run of it, or None.
        subagent_type: The kind of subagent that does it, or None.
        task_type: What kind of task it is, or None.
        is_backgrounded: Whether Claude goes on meanwhile, or None.
        usage: What it used so far.
        summary: What it did, or does, or None.
        error: What went wrong, or None.

    """

    task_id: str = ""
    status: str | None = "running"
    description: str | None = None
    tool_use_id: str | None = None
    run_id: str | None = None
    subagent_type: str | None = None
    task_type: str | None = None
    is_backgrounded: bool | None = None
    usage: Raw = objects()
    summary: str | None = None
    error: str | None = None

    @classmethod
    def _read(cls, raw: Raw) -> Task:
        if raw.get("subtype") != "task_updated":
            return build(cls, raw)
        patch = mapping_of(raw.get("patch"))
        status = optional_text_of(patch.get("status"))
        return build(cls, {**raw, **patch}, raw=raw, status=status)

    @property
    def is_over(self) -> bool:
        """Whether the task has ended, well or not."""
        return self.status in OVER


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

    tool_use_id: str | None = None
    agent_id: str | None = None
    agent: str | None = None
    description: str | None = None
    status: str | None = None
    model: str | None = None
    total_tokens: int | None = None
    tool_uses: int | None = None
    duration_ms: int | None = None
    usage: Usage | None = None
    parent_tool_use_id: str | None = None
