"""Waiting for answers: with limits, in the background, piece by piece."""

from __future__ import annotations

import concurrent.futures
import threading

import pytest

import claude_sync
from claude_sync.testing.model import text, tool_use


def test_a_timeout_interrupts_the_turn_and_no_more(chat, model):
    """ask(timeout=) of a running turn: AskTimeout with the text so far; the session goes on."""
    model.when("too slow").reply(text("a beginning without an end", gate=threading.Event()))
    with pytest.raises(claude_sync.AskTimeout) as caught:
        chat.ask("too slow", timeout=1)
    assert caught.value.sent
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.answer.startswith("a beginning")
    assert "timeout" in str(caught.value)
    assert chat.ask("fast enough", timeout=60) == "echo: fast enough"


def test_a_queued_question_times_out_alone(chat, model):
    """Still queued, it is withdrawn unsent, and the turn that runs is not touched."""
    gate = threading.Event()
    model.when("takes its time").reply("took its time", gate=gate)
    running = chat.submit("takes its time", timeout=60)
    model.wait_for_request("takes its time")
    with pytest.raises(claude_sync.AskTimeout) as caught:
        chat.ask("never sent", timeout=0.2)
    assert not caught.value.sent
    assert "withdrawn" in str(caught.value)
    gate.set()
    assert running.result() == "took its time"
    assert chat.ask("sent", timeout=60) == "echo: sent"
    assert not [request for request in model.conversation if "never sent" in request.text]


def test_silence_has_its_own_limit(chat, model):
    """idle_timeout ends a turn whose CLI says nothing; one that works is let be."""
    model.when("say nothing").reply("", gate=threading.Event())
    with pytest.raises(claude_sync.AskTimeout) as caught:
        chat.ask("say nothing", idle_timeout=0.8)
    assert caught.value.idle
    assert "idle_timeout" in str(caught.value)
    model.when("say it slowly").reply(text("word " * 8, pieces=8, delay=0.15))
    assert chat.ask("say it slowly", idle_timeout=0.8).split() == ["word"] * 8


def test_looking_does_not_interrupt(chat, model):
    """turn.result(timeout) gives up waiting; the turn goes on and has its answer."""
    gate = threading.Event()
    model.when("look twice").reply("seen", gate=gate)
    turn = chat.submit("look twice", timeout=60)
    with pytest.raises(claude_sync.AskTimeout) as caught:
        turn.result(0.1)
    assert caught.value.timeout == 0.1
    gate.set()
    assert turn.result(60) == "seen"
    assert turn.exception() is None


def test_turns_are_futures(chat):
    """as_completed(), wait() and done callbacks work, in the order of the questions."""
    done = []
    turns = [chat.submit(f"future {number}", timeout=60) for number in range(5)]
    for turn in turns:
        turn.add_done_callback(done.append)
    finished = list(concurrent.futures.as_completed(turns, timeout=60))
    assert {turn.result() for turn in finished} == {f"echo: future {n}" for n in range(5)}
    waited = concurrent.futures.wait(turns, timeout=60)
    assert waited.done == set(turns) and not waited.not_done
    chat.wait_idle(60)
    assert done == turns


def test_a_stream_is_iterated(chat, model):
    """stream() gives the text as it comes, and the answer at its end."""
    gate = threading.Event()
    model.when("piece by piece").reply(text("abcdefghij", pieces=5, gate=gate))
    pieces = []
    with chat.stream("piece by piece", timeout=60) as turn:
        for piece in turn:
            pieces.append(piece)
            gate.set()
    assert "".join(pieces) == "abcdefghij"
    assert pieces[0] != "abcdefghij"
    assert turn.result() == "abcdefghij"


def test_a_stream_that_is_left_early_is_interrupted(chat, model):
    """Leaving the block ends the turn; the next question has its own answer."""
    model.when("leave me").reply(text("do not go", gate=threading.Event()))
    with chat.stream("leave me", timeout=60) as turn:
        for _ in turn:
            break
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    assert chat.ask("gone", timeout=60) == "echo: gone"


def test_events_of_a_turn(chat, model):
    """turn.events() gives all that handlers would see of the turn, and nothing of others."""
    model.when("all events").reply(["Look: ", tool_use("Bash", {"command": "echo e"})]).then_reply(
        "seen"
    )
    chat.ask("not this", timeout=60)
    turn = chat.stream("all events", timeout=60)
    after = chat.submit("nor this", timeout=60)
    events = list(turn.events())
    assert after.result() == "echo: nor this"
    texts = [str(event) for event in events if isinstance(event, claude_sync.Text)]
    assert "".join(texts) == "Look: seen"
    kinds = [type(event).__name__ for event in events]
    assert kinds.count("ToolUse") == kinds.count("ToolResult") == 1
    assert kinds.index("ToolUse") < kinds.index("ToolResult")
    assert isinstance(events[-1], claude_sync.Result)
    assert "StreamEvent" in kinds


def test_a_failed_turn_raises_from_its_events(chat, model):
    """The error of the turn ends the iteration."""
    model.when("fail in a stream").fail(400, "no good")
    turn = chat.stream("fail in a stream", timeout=60)
    with pytest.raises(claude_sync.ApiError, match="no good"):
        list(turn)


def test_ask_is_refused_in_a_handler(chat, listen):
    """It would wait for itself; submit() is the remedy, and works."""
    caught, turns = [], []

    def ask_back(result):
        if turns:
            return
        turns.append(chat.submit("asked by a handler", timeout=60))
        with pytest.raises(claude_sync.CalledFromHandler, match="submit"):
            chat.ask("no")
        caught.append(True)

    chat.on_result(ask_back)
    try:
        chat.ask("set it off", timeout=60)
    finally:
        chat.off(ask_back)
    assert caught == [True]
    assert turns[0].result() == "echo: asked by a handler"
