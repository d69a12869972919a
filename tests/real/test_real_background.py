"""
Agents in the background: results that nobody asked for, between those that somebody did.

New CLIs end the turn that starts an agent at once and report later, in a turn of
their own; old ones let the turn wait for the agent.
"""

from __future__ import annotations

import threading

import pytest

import claude_sync
from claude_sync.testing.model import tool_use


def script_agent(model, name, gate):
    """Let "start NAME" begin an agent that works until *gate* opens."""
    model.when(f"start {name}").reply(
        tool_use(
            "Task",
            {
                "description": "some work",
                "prompt": f"work of {name}",
                "subagent_type": "general-purpose",
            },
        )
    ).then_reply(f"{name} is started")
    model.when(f"work of {name}").reply(f"{name} has worked", gate=gate)


def script_notification(model, name, content, **settings):
    """What the model says when the agent reports."""
    return model.when(lambda request: name in request.text, kind="notification").reply(
        content, **settings
    )


def is_notification(result):
    """Whether a result ends a turn that an agent's report began."""
    return (result.raw.get("origin") or {}).get("kind") == "task-notification"


def test_answers_do_not_shift(chat, cli, model, listen):
    """Three questions around an agent: each gets its own answer, on_result sees the rest."""
    gate = threading.Event()
    script_agent(model, "ada", gate)
    script_notification(model, "ada has worked", "ada reported")
    results = listen(chat, "result")
    if not cli.is_new:
        gate.set()
    assert chat.ask("start ada", timeout=60) == "ada is started"
    if cli.is_new:
        # It still works, and a question is answered at once.
        assert chat.ask("question two", timeout=60) == "echo: question two"
        assert not gate.is_set()
        with pytest.raises(claude_sync.AskTimeout):
            chat.wait_idle(0.2)
        gate.set()
        chat.wait_idle(60)
        assert [result.result for result in results if is_notification(result)] == ["ada reported"]
    else:
        assert chat.ask("question two", timeout=60) == "echo: question two"
        chat.wait_idle(60)
    assert chat.ask("question three", timeout=60) == "echo: question three"
    own = [result.result for result in results if not is_notification(result)]
    assert own == ["ada is started", "echo: question two", "echo: question three"]


def test_questions_asked_while_agents_report_are_not_mixed_up(chat, model):
    """Three agents report whenever they like while questions are asked: no answer shifts."""
    gate = threading.Event()
    for name in ("eins", "zwei", "drei"):
        script_agent(model, name, gate)
    gate.set()
    asked = ["start eins", "start zwei", "a plain one", "start drei", *map(str, range(10, 18))]
    turns = [chat.submit(question, timeout=100) for question in asked]
    expected = {f"start {name}": f"{name} is started" for name in ("eins", "zwei", "drei")}
    assert [turn.result() for turn in turns] == [
        expected.get(question, f"echo: {question}") for question in asked
    ]
    chat.wait_idle(60)
    assert chat.ask("the last one", timeout=60) == "echo: the last one"


def test_a_question_waits_for_a_turn_the_cli_began(chat, new_cli, model, listen):
    """While the CLI runs a turn of its own, a question stays with us; then it is answered."""
    agent, note = threading.Event(), threading.Event()
    script_agent(model, "bob", agent)
    script_notification(model, "bob has worked", "bob reported", gate=note)
    assert chat.ask("start bob", timeout=60) == "bob is started"
    began = threading.Event()

    def begin(message):
        if message.subtype == "init":
            began.set()

    chat.on_system(begin)
    agent.set()
    assert began.wait(60)
    chat.off(begin)
    results = listen(chat, "result")
    turn = chat.submit("asked meanwhile", timeout=60)
    with pytest.raises(claude_sync.AskTimeout) as caught:
        turn.result(0.3)
    assert not caught.value.sent
    assert not turn.running()
    note.set()
    assert turn.result() == "echo: asked meanwhile"
    assert [result.result for result in results] == ["bob reported", "echo: asked meanwhile"]


def test_a_question_that_joins_a_turn_of_the_cli_gets_its_answer(
    client_of, new_cli, model, listen, tmp_path
):
    """A result with a foreign origin that lists our uuid is our answer: the uuid decides."""
    agent = threading.Event()
    script_agent(model, "eve", agent)
    go = tmp_path / "go"
    script_notification(
        model,
        "eve has worked",
        tool_use("Bash", {"command": "while [ ! -e go ]; do sleep 0.05; done; echo went"}),
    ).then_reply(lambda request: f"joined: {'join it' in str(request.messages)}")
    client = client_of(allowed_tools=["Bash"])
    results, used, queued = listen(client, "result"), threading.Event(), threading.Event()
    assert client.ask("start eve", timeout=60) == "eve is started"
    client.on_tool_use(lambda use: used.set())
    client.on_message(
        lambda message: queued.set() if message.raw.get("state") == "queued" else None
    )
    agent.set()
    assert used.wait(60)
    # The client would wait for the end of this turn. On a slower machine the question is
    # written before the CLI tells that a turn began; this is how to be that slow on purpose.
    engine = client._session
    with engine.lock:
        engine.connection.exchange.foreign_turn = False
    turn = client.submit("join it", timeout=60)
    assert queued.wait(60)
    go.touch()
    assert turn.result() == "joined: True"
    assert is_notification(turn.result().result)
    assert turn.asked.sent.uuid in results[-1].raw["user_message_uuids"]
    assert client.ask("and after that", timeout=60) == "echo: and after that"
    assert len(results) == 3
