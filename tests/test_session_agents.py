"""Subagents of saved conversations, as each kind of CLI saves them."""

from __future__ import annotations

import json
import logging

import pytest
from saved_sessions import Saved, texts

from claude_sync.session_agents import read_with_agents

LOOK = {"prompt": "look around", "subagent_type": "Explore"}


@pytest.fixture
def saved(tmp_path):
    """A conversation in which a subagent was started."""
    saved = Saved(tmp_path / "config")
    saved.user("use an agent")
    saved.calls("t1", "Task", dict(LOOK), reply="m1")
    return saved


def agent_of(saved, name="a1", beside=False, prompt="look around"):
    """A subagent in a file of its own: in the session's folder, or *beside* the session."""
    agent = Saved(saved.config, session_id=saved.session_id)
    agent.user(prompt, isSidechain=True, agentId=name)
    agent.says("looked", isSidechain=True, agentId=name)
    if not beside:
        agent.folder = saved.path.with_suffix("") / "subagents"
    agent.path = agent.folder / f"agent-{name}.jsonl"
    return agent


def ended(saved, **fields):
    """The rest of the conversation."""
    saved.result("t1", "it looked", **fields)
    saved.says("agent done", reply="m2")
    return saved.save()


WITH_AGENT = ["use an agent", "Assistant", "look around", "looked", "User", "agent done"]


def check(saved, kind="Explore"):
    """The subagent is in its place, and its messages say whose they are."""
    messages = read_with_agents(saved.path)
    assert texts(messages) == WITH_AGENT
    assert [m.parent_tool_use_id for m in messages] == [None, None, "t1", "t1", None, None]
    assert [m.agent for m in messages] == [None, None, kind, kind, None, None]


def test_notes_beside_it_tell_where_it_belongs(saved):
    """As new CLIs write them."""
    agent = agent_of(saved).save()
    notes = {"toolUseId": "t1", "agentType": "general-purpose"}
    agent.path.with_suffix(".meta.json").write_text(json.dumps(notes))
    saved.lines[1]["message"]["content"][0]["input"]["prompt"] = "changed by a hook"
    check(ended(saved), "general-purpose")


@pytest.mark.parametrize("beside", [False, True])
def test_the_result_tells_where_it_belongs(saved, beside):
    """As CLIs do that write no notes; the prompt may be another."""
    agent = agent_of(saved, beside=beside)
    agent.lines[0]["message"]["content"] = "look around"
    agent.save()
    agent_of(saved, "warm", beside, "Warmup").save()
    saved.lines[1]["message"]["content"][0]["input"]["prompt"] = "changed by a hook"
    check(ended(saved, toolUseResult={"agentId": "a1"}))


def test_the_prompt_tells_where_it_belongs(saved):
    """Where it never ended, its prompt is that of the call; each call has one agent."""
    agent_of(saved).save()
    agent_of(saved, "a2").save()
    saved.save()
    messages = read_with_agents(saved.path)
    assert texts(messages) == WITH_AGENT[:4]
    assert messages[-1].raw["agentId"] == "a1"


def test_a_subagent_between_the_lines(saved):
    """As the oldest CLIs save it: no id, no file."""
    call = saved.last
    saved.user("look around", parent=None, isSidechain=True)
    saved.says("looked", isSidechain=True)
    saved.user("Warmup", parent=None, isSidechain=True)
    saved.last = call
    check(ended(saved))


def test_a_subagent_of_a_subagent(saved):
    """It follows the call in the middle of the other one."""
    outer = agent_of(saved)
    outer.lines.pop()
    outer.last = outer.lines[0]["uuid"]
    outer.calls("t2", "Task", {"prompt": "look deeper"}, reply="m5", isSidechain=True)
    outer.says("looked", reply="m6", isSidechain=True)
    outer.save()
    agent_of(saved, "a2", prompt="look deeper").save()
    messages = read_with_agents(ended(saved).path)
    assert texts(messages) == [
        *("use an agent", "Assistant", "look around", "Assistant"),
        *("look deeper", "looked", "looked", "User", "agent done"),
    ]
    assert [m.parent_tool_use_id for m in messages][2:7] == ["t1", "t1", "t2", "t2", "t1"]


def test_damage_costs_one_subagent_at_most(saved, caplog, monkeypatch):
    """Files that cannot be read, broken notes and calls of other forms are passed over."""
    agent = agent_of(saved)
    agent.save(ending=b"\0\n")
    agent.path.with_suffix(".meta.json").write_text("broken")
    (agent.folder / "agent-closed.jsonl").mkdir()
    (agent.folder / "agent-empty.jsonl").touch()
    saved.reply([{"type": "tool_use", "id": 7, "input": 7}, 7], reply="m3")
    saved.calls("t3", "Task", {"prompt": 7}, reply="m4")
    saved.result("t3", toolUseResult="text")
    saved.save()
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert texts(read_with_agents(saved.path))[:4] == WITH_AGENT[:4]
    assert "agent-closed.jsonl cannot be read" in caplog.text


def test_without_subagents_it_is_the_conversation(saved):
    """Nothing is added, nothing is lost."""
    messages = read_with_agents(ended(saved).path)
    assert texts(messages) == ["use an agent", "Assistant", "User", "agent done"]
