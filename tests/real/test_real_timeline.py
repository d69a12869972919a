"""Where the time of real turns went: spans in order, and no second for two things."""

from __future__ import annotations

import pickle
import threading
import time
from xml.etree import ElementTree

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync.testing.model import text, tool_use

# What the model, a command and a person take, at least, so that there is something to see.
THOUGHT, WORK, DECISION = 0.3, 0.4, 0.5


@pytest.fixture(scope="module")
def chat_options(asking):
    """A client that asks before it runs a command."""
    return asking


@pytest.fixture
def person(chat):
    """Somebody who takes a while to say yes, and who is asked how long."""
    taken = []

    def decide(request):
        began = time.monotonic()
        threading.Event().wait(DECISION)
        taken.append(time.monotonic() - began)
        return request.allow()

    chat.on_permission(decide)
    yield taken
    chat.off(decide)


def bash(command):
    """A use of Bash for which every CLI asks."""
    return tool_use("Bash", {"command": f"{command}; touch made"})


def inside(span, outer):
    """Whether a span lies within another."""
    return outer.start <= span.start <= span.end <= outer.end


def test_a_turn_with_a_command_that_somebody_allows(chat, model, person):
    """The model, the wait, the command, the model: each as long as it took at least."""
    model.when("run it slowly").reply(bash(f"sleep {WORK}"), delay=THOUGHT).then_reply(
        "it ran", delay=THOUGHT
    )
    answer = chat.ask("run it slowly", timeout=PATIENCE)
    timeline = answer.timeline()
    (turn,) = timeline.turns
    (tool,) = timeline.of("tool")
    (wait,) = timeline.of("permission")
    before, after = timeline.of("model")
    assert (turn.name, turn.error, turn.finished) == ("run it slowly", False, True)
    # In order, and inside of each other.
    assert before.start <= before.end == tool.start <= wait.start
    assert wait.end <= tool.end == after.start <= after.end <= turn.end
    assert all(inside(span, turn) for span in timeline.spans)
    assert inside(wait, tool)
    # The wait is about that use, and lasted as long as the person took.
    assert (tool.name, wait.name, wait.tool_use_id) == ("Bash", "Bash", tool.tool_use_id)
    assert wait.seconds >= person[0]
    assert tool.seconds - wait.seconds >= WORK
    assert min(before.seconds, after.seconds) >= THOUGHT
    assert before.first is not None
    assert before.start + THOUGHT <= before.first
    # No second is counted twice.
    parts = timeline.model_seconds + timeline.tool_seconds + timeline.waiting_seconds
    assert parts <= timeline.seconds
    assert timeline.cost_usd == answer.cost_usd
    assert ElementTree.fromstring(timeline.svg) is not None
    assert pickle.loads(pickle.dumps(answer)).timeline().spans == timeline.spans


def test_tools_at_once_have_spans_of_their_own(chat, model, person):
    """Two commands in one message; the second waits, too."""
    model.when("run both").reply([bash("true"), bash("false")]).then_reply("both ran")
    timeline = chat.ask("run both", timeout=PATIENCE).timeline()
    tools = timeline.of("tool")
    assert [tool.name for tool in tools] == ["Bash", "Bash"]
    assert len({tool.tool_use_id for tool in tools}) == 2
    assert len(timeline.of("permission")) == 2
    assert timeline.waiting_seconds >= max(person)
    assert all(tool.finished for tool in tools)


def test_an_error_of_a_tool_is_one(chat, model, person):
    """A command that fails, in a turn that does not."""
    model.when("run a bad one").reply(bash("exit 3 #")).then_reply("it failed")
    timeline = chat.ask("run a bad one", timeout=PATIENCE).timeline()
    assert [tool.error for tool in timeline.of("tool")] == [True]
    assert not timeline.turns[0].error


def test_an_interrupted_turn(chat, model):
    """The tool is not finished, or failed; the wait ends with it; the turn failed."""
    asked = threading.Event()

    def never(request):
        asked.set()
        return claude_sync.LATER

    model.when("run it never").reply([text("I will."), bash("true")]).then_reply("no")
    chat.on_permission(never)
    try:
        turn = chat.submit("run it never", timeout=PATIENCE)
        assert asked.wait(PATIENCE)
        turn.cancel()
        with pytest.raises(claude_sync.TurnInterrupted):
            turn.result(PATIENCE)
    finally:
        chat.off(never)
    timeline = turn.timeline()
    whole = timeline.turns[0]
    assert whole.error
    (tool,) = timeline.of("tool")
    assert tool.error or not tool.finished
    (wait,) = timeline.of("permission")
    assert inside(wait, whole)
    assert ElementTree.fromstring(timeline.svg) is not None


def test_a_subagent_holds_its_tools(chat, model, person):
    """It runs inside of the turn, and what it uses inside of it."""
    task = {
        "description": "count",
        "prompt": "count the goats",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }
    model.when("delegate the goats").reply(tool_use("Task", task)).then_reply("delegated")
    model.when("count the goats").reply(bash("echo 7")).then_reply("seven goats")
    answer = chat.ask("delegate the goats", timeout=PATIENCE)
    chat.wait_idle(PATIENCE)
    timeline = answer.timeline()
    (agent,) = timeline.of("agent")
    assert agent.name in ("Task", "Agent")
    (tool,) = timeline.of("tool")
    (wait,) = timeline.of("permission")
    assert tool.parent_tool_use_id == agent.tool_use_id
    assert wait.tool_use_id == tool.tool_use_id
    assert inside(tool, agent)
    assert inside(wait, tool)


def test_a_clients_timeline_has_every_turn(chat):
    """Also those that failed, in the order in which they were asked."""
    count = len(chat.timeline().turns)
    for word in ("one", "two"):
        chat.ask(f"say {word}", timeout=PATIENCE)
    timeline = chat.timeline()
    assert [turn.name for turn in timeline.turns][count:] == ["say one", "say two"]
    starts = [turn.start for turn in timeline.turns]
    assert starts == sorted(starts)
    for turn in timeline.turns:
        spans = [span for span in timeline.spans if span.turn == turn.turn]
        assert all(inside(span, turn) for span in spans)
    assert ElementTree.fromstring(timeline.svg) is not None
