"""What CLIs tell about subagents, put together from wherever they tell it."""

from __future__ import annotations

import dataclasses

import pytest

from claude_sync.messages.agents import AgentLog, AgentUsage

CALL = {
    "type": "assistant",
    "parent_tool_use_id": None,
    "message": {
        "content": [
            "a text where blocks should be",
            {"type": "text", "text": "I delegate."},
            {
                "type": "tool_use",
                "id": "t1",
                "name": "Task",
                "input": {"subagent_type": "mathy", "description": "sum", "prompt": "2+2?"},
            },
        ]
    },
}
STARTED = {
    "type": "system",
    "subtype": "task_started",
    "task_id": "a1",
    "tool_use_id": "t1",
    "description": "sum",
    "subagent_type": "mathy",
    "task_type": "local_agent",
}


def ended(told, is_error=False, tool_use_id="t1"):
    """The result of the tool call, with the CLI's record of it."""
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "is_error": is_error}
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": told}


def task(subtype, **fields):
    """A message about the task."""
    return {"type": "system", "subtype": subtype, "task_id": "a1", **fields}


def only(*messages):
    """The one agent that these messages tell of."""
    (agent,) = AgentLog(messages).all()
    return agent


RUNNING = AgentUsage(tool_use_id="t1", agent="mathy", description="sum", status="running")


def test_the_call_of_the_tool_tells_who_and_what_for():
    """Its numbers are not known yet, and not made up."""
    assert AgentLog([CALL]).started() == AgentLog([CALL]).all() == (RUNNING,)
    assert only({**CALL, "parent_tool_use_id": "t0"}).parent_tool_use_id == "t0"
    with pytest.raises(dataclasses.FrozenInstanceError):
        only(CALL).status = "completed"


def test_the_record_of_the_call_tells_the_numbers():
    """As CLIs do that wait for the agent."""
    told = {
        "status": "completed",
        "agentId": "a1",
        "agentType": "mathy",
        "resolvedModel": "opus",
        "totalDurationMs": 518,
        "totalTokens": 4505,
        "totalToolUseCount": 1,
        "usage": {"input_tokens": 1004, "service_tier": None},
    }
    assert only(CALL, ended(told)) == AgentUsage(
        tool_use_id="t1",
        agent_id="a1",
        agent="mathy",
        description="sum",
        status="completed",
        model="opus",
        total_tokens=4505,
        tool_uses=1,
        duration_ms=518,
        usage={"input_tokens": 1004},
    )


def test_a_background_agent_is_told_of_by_its_task():
    """It runs on after the call; its numbers grow, and the last ones stay."""
    launched = ended({"status": "async_launched", "agentId": "a1"})
    assert only(CALL, launched, task("task_updated", patch={"status": "failed"})).status == "failed"
    log = AgentLog([CALL, STARTED, launched])
    assert log.all()[0].status == "running"
    usage = {"total_tokens": 10, "tool_uses": 1, "duration_ms": 5}
    log.see(task("task_progress", tool_use_id="t1", description="Running ls", usage=usage))
    agent = log.all()[0]
    assert (agent.total_tokens, agent.tool_uses, agent.duration_ms) == (10, 1, 5)
    assert agent.description == "sum"
    log.see(task("task_updated", patch={"status": "completed"}))
    assert log.all()[0].status == "completed"
    log.see(task("task_notification", status="completed", usage={**usage, "total_tokens": 20}))
    assert log.all() == log.started()
    assert log.all()[0].total_tokens == 20
    assert log.all()[0].agent_id == "a1"


def test_news_of_an_agent_that_is_over_do_not_revive_it():
    """A quick one ends before the call that started it returns."""
    over = task("task_notification", status="completed", tool_use_id="t1")
    assert only(CALL, over, ended({"status": "async_launched"})).status == "completed"


def test_a_task_alone_is_an_agent_too():
    """With or without the id of a tool call."""
    assert only(STARTED) == AgentUsage(
        tool_use_id="t1", agent_id="a1", agent="mathy", description="sum", status="running"
    )
    # The call and its task are one agent, whichever is mentioned first.
    assert only(STARTED, CALL, ended(None)).status == "completed"
    assert only(task("task_updated", subagent_type="x")).status is None
    agent = only(task("task_started", task_type="remote_agent"), task("task_updated"))
    assert (agent.agent_id, agent.tool_use_id, agent.status) == ("a1", None, "running")


@pytest.mark.parametrize(
    "raw",
    [
        task("task_started", task_type="local_bash"),
        task("task_notification", status="completed"),
        task("session_state_changed", subagent_type="x"),
        {"type": "system", "subtype": "task_started", "subagent_type": "x"},
        {"type": "system"},
        {"type": "result"},
        {"type": "assistant", "message": "text"},
        {"type": "assistant", "message": {"content": "text"}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Task"}]}},
        {"type": "assistant", "message": {"content": [{"id": "t1", "name": "Bash"}]}},
        ended({"agentId": "a1", "totalTokens": 5}),
        {},
    ],
)
def test_what_is_no_agent_is_not_listed(raw):
    """Shells, other tools, broken messages, results of calls that nobody saw."""
    assert AgentLog([raw]).all() == ()


@pytest.mark.parametrize("junk", [None, True, -1, 2.5, [], float("nan")])
def test_junk_is_not_told(junk):
    """What is no count is None, and does not replace what was told before."""
    told = {"status": junk, "agentId": junk, "totalTokens": junk, "usage": junk}
    agent = only(CALL, ended(told))
    assert (agent.status, agent.total_tokens, agent.usage) == ("running", None, None)
    progress = [task("task_progress", usage={"total_tokens": each}) for each in (7, junk)]
    assert only(STARTED, *progress, task("task_progress", usage=junk)).total_tokens == 7


def test_what_is_known_of_agents_has_an_end(monkeypatch):
    """The oldest are forgotten, with their names, and count as unknown from then on."""
    monkeypatch.setattr("claude_sync.messages.agents.AGENTS_KEPT", 3)
    log = AgentLog()
    for number in range(10):
        task = {"type": "system", "task_id": f"task{number}", "subagent_type": "helper"}
        log.see({**task, "subtype": "task_started", "tool_use_id": f"use{number}"})
        log.see({**task, "subtype": "task_notification", "status": "completed"})
    assert [agent.agent_id for agent in log.all()] == ["task7", "task8", "task9"]
    assert [agent.status for agent in log.started()] == ["completed"] * 3
    assert len(log._names) == len(log._started) == 3
