"""The size of the context, and which messages are about subagents."""

from __future__ import annotations

import pytest

from claude_sync.protocol.costs import Tally

SESSION = {"type": "system", "subtype": "init", "session_id": "s1"}


def spoken(*counts, parent=None, model="opus", content=(), **others):
    """An assistant message with these counts of input, cache read and cache creation."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    usage = {**dict(zip(names, counts)), "output_tokens": 1, **others}
    return {
        "type": "assistant",
        "parent_tool_use_id": parent,
        "message": {"model": model, "usage": usage, "content": list(content)},
    }


def tally_of(*messages):
    """A tally that has seen them."""
    tally = Tally()
    for raw in messages:
        tally.see(raw)
    return tally


def test_the_context_is_what_the_last_request_read():
    """New, cached and newly cached tokens; the reply is not in it."""
    assert Tally().context_tokens is None
    assert tally_of(SESSION, spoken(10, 3000, 500), spoken(20, 3500, 7)).context_tokens == 3527
    assert tally_of(spoken(10)).context_tokens == 10


@pytest.mark.parametrize(
    "other",
    [
        spoken(7, parent="toolu_1"),
        spoken(7, model="<synthetic>"),
        {"type": "assistant", "message": None},
        {"type": "user", "message": {"usage": {"input_tokens": 7}}},
        {"type": "result", "usage": {"input_tokens": 7}},
        {"type": "system", "subtype": "status"},
        {"type": "system", "subtype": 3},
        SESSION,
        {},
    ],
)
def test_others_do_not_change_it(other):
    """Subagents have their own; the CLI's own words were not read by a model."""
    assert tally_of(SESSION, spoken(10, 5), other).context_tokens == 15


@pytest.mark.parametrize(
    "end",
    [
        {"type": "system", "subtype": "init", "session_id": "s2"},
        {"type": "system", "subtype": "compact_boundary"},
        {"type": "conversation_reset"},
    ],
)
def test_a_context_that_was_given_up_is_unknown(end):
    """Until the next reply."""
    tally = tally_of(SESSION, spoken(10, 5), end)
    assert tally.context_tokens is None
    tally.see(spoken(3))
    assert tally.context_tokens == 3


@pytest.mark.parametrize("junk", [None, "7", True, -1, 1.5, {}, float("nan")])
def test_junk_is_not_told(junk):
    """Without the one count that every reply has, nothing is known."""
    assert tally_of(spoken(junk, 5)).context_tokens is None
    assert tally_of(spoken(5, junk)).context_tokens == 5
    silent = {"type": "assistant", "message": {"usage": junk}}
    assert tally_of(spoken(5), silent).context_tokens is None


def test_subagents_are_noted():
    """From the call of the tool on; messages about other things are no agents."""
    call = {"type": "tool_use", "name": "Task", "id": "t1", "input": {"subagent_type": "mathy"}}
    result = {"type": "tool_result", "tool_use_id": "t1"}
    said = {"type": "user", "message": {"content": [result]}}
    tally = tally_of(said, spoken(1, content=["text", {"type": "text"}]))
    assert tally.agent_usage == ()
    tally.see(spoken(1, content=[call]))
    (agent,) = tally.agent_usage
    assert (agent.agent, agent.status) == ("mathy", "running")
    tally.see(said)
    assert tally.agent_usage[0].status == "completed"


def test_tasks_are_noted():
    """Also without the call of a tool."""
    started = {"type": "system", "subtype": "task_started", "task_id": "a1", "subagent_type": "x"}
    tally = tally_of(started, {"type": "system", "subtype": "task_progress", "task_id": "b2"})
    assert [agent.agent_id for agent in tally.agent_usage] == ["a1"]
