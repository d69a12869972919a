"""Task messages: what a program can ask them."""

import pytest

from claude_sync.protocol.parsing import parse
from claude_sync.task_messages import (
    BackgroundTasksChanged,
    Task,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskSummary,
    TaskUpdated,
)


def system(subtype, **fields):
    return parse({"type": "system", "subtype": subtype, **fields})


def test_a_task_begins():
    """The start of a task tells what runs, for whom and where."""
    task = system(
        "task_started",
        task_id="k1",
        run_id="r1",
        tool_use_id="t1",
        description="count",
        subagent_type="counter",
        task_type="local_agent",
        is_backgrounded=True,
        spawn_depth=1,
        prompt="count to ten",
    )
    assert task == TaskStarted(
        subtype="task_started",
        task_id="k1",
        run_id="r1",
        tool_use_id="t1",
        description="count",
        subagent_type="counter",
        task_type="local_agent",
        is_backgrounded=True,
        spawn_depth=1,
        prompt="count to ten",
        status="running",
    )


def test_a_task_goes_on():
    """Progress tells what was used and done so far; the task is running."""
    task = system(
        "task_progress", task_id="k1", usage={"tool_uses": 2}, last_tool_name="Read", summary="half"
    )
    assert isinstance(task, TaskProgress)
    assert (task.status, task.is_over) == ("running", False)
    assert (task.usage, task.last_tool_name, task.summary) == ({"tool_uses": 2}, "Read", "half")


def test_an_update_tells_only_what_changed():
    """The patch is read; a status it does not touch is None, not a guess."""
    ended = system("task_updated", task_id="k1", patch={"status": "killed", "error": "stopped"})
    assert isinstance(ended, TaskUpdated)
    assert (ended.task_id, ended.status, ended.error, ended.is_over) == (
        "k1",
        "killed",
        "stopped",
        True,
    )
    renamed = system("task_updated", task_id="k1", patch={"description": "sum"}, status="completed")
    assert (renamed.description, renamed.status, renamed.is_over) == ("sum", None, False)


@pytest.mark.parametrize(
    ("status", "over"),
    [("completed", True), ("failed", True), ("stopped", True), ("killed", True), ("paused", False)],
)
def test_a_task_tells_whether_it_is_over(status, over):
    """Every way a task can end counts as over, a pause does not."""
    task = system("task_notification", task_id="k1", status=status, output_file="out", summary="s")
    assert isinstance(task, TaskNotification)
    assert task.is_over is over


def test_messages_about_one_task_share_a_base():
    """A handler of tasks can rely on the fields of the base class."""
    for subtype in ("task_started", "task_progress", "task_updated", "task_notification"):
        task = system(subtype, task_id="k1")
        assert isinstance(task, Task)
        assert task.task_id == "k1"


def test_the_list_of_tasks_is_not_one_task():
    """Messages about all tasks have no task id and another class."""
    change = system("background_tasks_changed", tasks=[{"task_id": "k1"}, None])
    assert change == BackgroundTasksChanged("background_tasks_changed", tasks=({"task_id": "k1"},))
    assert not isinstance(change, Task)
    assert system("task_summary", detail="reads").detail == "reads"
    assert not isinstance(TaskSummary(), Task)
