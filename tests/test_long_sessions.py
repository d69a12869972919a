"""What a client keeps does not grow with the number of its turns."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref

import pytest
from long_session_script import does_everything
from patience import PATIENCE, wait_until

from claude_sync import LATER, Client
from claude_sync.engine import timers
from claude_sync.messages.agents import AgentLog
from claude_sync.protocol import costs, streaming
from claude_sync.testing import ScriptedCli

# Turns until everything that has a limit has reached it, and as many again.
FIRST = MORE = 100

# Not part of a client: code, what is of the interpreter, and the scripted CLI. The list of
# subagents is meant to have many of them, and has an end of its own.
ELSEWHERE = (type, types.ModuleType, types.CodeType, types.FrameType, ScriptedCli, AgentLog)


def referents(value):
    """What *value* holds; of a function only what is its own, not the module it is in."""
    if isinstance(value, types.FunctionType):
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    return gc.get_referents(value)


def kept_by(*roots):
    """Everything that can be reached from *roots*, counted by type, and its size in bytes."""
    seen = {}
    left = list(roots)
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, ELSEWHERE):
            continue
        seen[id(value)] = value
        left.extend(referents(value))
    counts = {}
    for value in seen.values():
        name = type(value).__name__
        counts[name] = counts.get(name, 0) + 1
    return counts, sum(sys.getsizeof(value) for value in seen.values())


def settle(client):
    """Wait until nothing of the last turn is on its way any more."""
    client.wait_idle(PATIENCE)
    # What serves a request that was withdrawn may still be at it.
    wait_until(lambda: not client._session.tasks.threads())
    gc.collect()


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def low_limits(monkeypatch):
    """What has a limit reaches it soon."""
    monkeypatch.setattr(streaming, "AGENTS_REMEMBERED", 16)
    monkeypatch.setattr(streaming, "MESSAGES_REMEMBERED", 16)
    monkeypatch.setattr(timers, "FEW", 4)
    monkeypatch.setattr(costs, "USAGES_KEPT", 16)
    monkeypatch.setattr(costs, "RESULTS_REMEMBERED", 16)


@pytest.fixture
def style():
    """How the CLI speaks."""
    return "new"


@pytest.fixture
def client(style, tmp_path, low_limits):
    """A client with every kind of handler, and a recording."""
    cli = ScriptedCli(does_everything, style=style, patience=PATIENCE)
    heard = []
    client = Client(
        transport=cli, tools=[add], record=tmp_path / "wire.jsonl", permission_timeout=3600
    )
    for kind in ("text", "thinking", "tool_use", "tool_result", "message", "system", "task"):
        getattr(client, f"on_{kind}")(heard.append)
    for kind in ("result", "init", "status", "stderr", "error"):
        getattr(client, f"on_{kind}")(heard.append)
    client.on_text(heard.append, subagents=True)
    # The CLI withdraws some requests; those are never answered.
    client.on_permission(lambda request: LATER if request.tool == "Write" else request.allow())
    client.on_hook("PreToolUse")(lambda event: None)
    with client:
        client.heard = heard
        yield client
    cli.assert_done()


def run(client, count, way):
    """Ask *count* questions; what is heard is forgotten each time."""
    for _ in range(count):
        if way == "ask":
            client.ask("next", timeout=3600, idle_timeout=3600)
        elif way == "submit":
            client.submit("next", timeout=3600).result()
        else:
            with client.stream("next", timeout=3600) as turn:
                for _event in turn.events():
                    pass
        client.heard.clear()


@pytest.mark.parametrize(
    ("style", "way"),
    [
        ("new", "ask"),
        ("old", "submit"),
        ("new", "stream"),
        pytest.param("old", "ask", marks=pytest.mark.everything),
        pytest.param("new", "submit", marks=pytest.mark.everything),
        pytest.param("old", "stream", marks=pytest.mark.everything),
    ],
)
def test_a_client_keeps_nothing_of_its_turns(client, way):
    """After twice as many turns it holds as many objects, within what one turn needs."""
    run(client, FIRST, way)
    settle(client)
    counts, size = kept_by(client)
    run(client, MORE, way)
    settle(client)
    counts_after, size_after = kept_by(client)
    # One object that each turn left behind would make a hundred.
    grown = {
        name: count - counts.get(name, 0)
        for name, count in counts_after.items()
        if count - counts.get(name, 0) > MORE // 2
    }
    assert not grown
    assert size_after - size < 20_000


@pytest.mark.parametrize("style", ["new", "old"])
def test_an_answer_that_is_dropped_is_gone(client):
    """Neither the answer nor its turn is held by the client."""
    turn = client.submit("next")
    answer = turn.result(PATIENCE)
    references = [weakref.ref(turn), weakref.ref(answer), weakref.ref(answer.messages[0])]
    client.ask("next")
    client.heard.clear()
    settle(client)
    del turn, answer
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]


def test_an_answer_has_the_messages_of_its_turn_only(client):
    """However many came before."""
    first = client.ask("next")
    run(client, 5, "ask")
    last = client.ask("next")
    assert len(last.messages) <= len(first.messages)
    uuids = [message.raw.get("uuid") for message in first.messages]
    assert not set(uuids) & {message.raw.get("uuid") for message in last.messages}


def test_threads_do_not_grow_in_number(client):
    """As many as are needed at once, not one more for each turn."""
    run(client, 50, "ask")
    names = [thread.name for thread in threading.enumerate()]
    assert len([name for name in names if "responder" in name]) < 10
