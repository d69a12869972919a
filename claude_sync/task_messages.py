"""
The messages of type ``system`` about tasks: subagents, background shells, workflows.

A task is told of by several of these with the same ``task_id``.
"""

# wire() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
from typing import Any, Optional, Tuple

from .messages import System
from .wire_fields import (
    Raw,
    flag_of,
    mapping_of,
    mappings_of,
    optional_flag_of,
    optional_integer_of,
    optional_number_of,
    optional_text_of,
    problem_of,
    text_of,
    wire,
)

__all__ = [
    "BackgroundTasksChanged",
    "Task",
    "TaskNotification",
    "TaskProgress",
    "TaskStarted",
    "TaskSummary",
    "TaskUpdated",
]


def running_of(value: Any) -> str:
    """The status of a task; one that does not tell is running."""
    return optional_text_of(value) or "running"


@dataclasses.dataclass(frozen=True)
class Task(System):
    """
    The base of what is told about one task.

    Attributes:
        task_id: The task.
        status: ``running``, ``completed``, ``failed``, ``stopped``, ``killed``, ...; None
            in an update that does not touch it.
        description: What the task is about, in a few words, or None.
        tool_use_id: The tool call that started it, or None.
        run_id: This run of it, or None.
        subagent_type: The kind of subagent that does it, or None.

    """

    task_id: str = wire(text_of)
    status: Optional[str] = wire(running_of)
    description: Optional[str] = wire(optional_text_of)
    tool_use_id: Optional[str] = wire(optional_text_of)
    run_id: Optional[str] = wire(optional_text_of)
    subagent_type: Optional[str] = wire(optional_text_of)

    @property
    def is_over(self) -> bool:
        """Whether the task has ended, well or not."""
        return self.status in ("completed", "failed", "stopped", "killed")


@dataclasses.dataclass(frozen=True)
class TaskStarted(Task):
    """A task began."""

    task_type: Optional[str] = wire(optional_text_of)
    is_backgrounded: Optional[bool] = wire(optional_flag_of)
    spawn_depth: Optional[int] = wire(optional_integer_of)
    parent_task_id: Optional[str] = wire(optional_text_of)
    workflow_name: Optional[str] = wire(optional_text_of)
    prompt: Optional[str] = wire(optional_text_of)
    skip_transcript: bool = wire(flag_of)
    ambient: bool = wire(flag_of)


@dataclasses.dataclass(frozen=True)
class TaskProgress(Task):
    """A task goes on."""

    usage: Raw = wire(mapping_of)
    last_tool_name: Optional[str] = wire(optional_text_of)
    summary: Optional[str] = wire(optional_text_of)


@dataclasses.dataclass(frozen=True)
class TaskUpdated(Task):
    """Something about a task changed; the end of a task may be told only here."""

    status: Optional[str] = wire(optional_text_of, within="patch")
    description: Optional[str] = wire(optional_text_of, within="patch")
    error: Optional[str] = wire(problem_of, within="patch")
    is_backgrounded: Optional[bool] = wire(optional_flag_of, within="patch")
    end_time: Optional[float] = wire(optional_number_of, within="patch")
    patch: Raw = wire(mapping_of)


@dataclasses.dataclass(frozen=True)
class TaskNotification(Task):
    """A task ended, and Claude is told."""

    output_file: Optional[str] = wire(optional_text_of)
    summary: Optional[str] = wire(optional_text_of)
    usage: Raw = wire(mapping_of)
    reason: Optional[str] = wire(optional_text_of)
    resource_links: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class BackgroundTasksChanged(System):
    """The background tasks that are alive: all of them, not only the new ones."""

    tasks: Tuple[Raw, ...] = wire(mappings_of)


@dataclasses.dataclass(frozen=True)
class TaskSummary(System):
    """What the running turn is at, in a few words; None when it is over."""

    detail: Optional[str] = wire(optional_text_of)
