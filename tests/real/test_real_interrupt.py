"""Stopping a turn: in its stream, in a tool, before it began, and when there is none."""

from __future__ import annotations

import threading

import pytest

import claude_sync
from claude_sync.testing.model import text, tool_use


def streaming(model, chat, words):
    """Ask something whose answer stops in the middle of its stream; its turn, once it does."""
    model.when(words).reply(text("half of it, the rest never comes", gate=threading.Event()))
    first = threading.Event()

    def heard(piece):
        first.set()

    chat.on_text(heard)
    turn = chat.submit(words, timeout=60)
    assert first.wait(60)
    chat.off(heard)
    return turn


def running_tool(model, chat, words, tmp_path):
    """Ask something that runs a tool for ever; its turn, once the tool runs."""
    mark = tmp_path / "running"
    command = f"touch '{mark}'; sleep 300"
    model.when(words).reply(tool_use("Bash", {"command": command}))
    turn = chat.submit(words, timeout=60)
    wait = threading.Event()
    for _ in range(1200):
        if mark.exists():
            return turn
        wait.wait(0.05)
    raise AssertionError("the tool did not run")


def test_an_interrupted_stream_keeps_its_text(chat, model):
    """interrupt() in mid-stream: TurnInterrupted with what there was; the next goes its way."""
    turn = streaming(model, chat, "stream and stop")
    receipt = chat.interrupt()
    assert receipt.still_queued == ()
    with pytest.raises(claude_sync.TurnInterrupted) as caught:
        turn.result()
    assert caught.value.answer.startswith("half of it")
    assert "the rest never" not in caught.value.answer
    assert "session stays usable" in str(caught.value)
    assert chat.ask("after the interrupt", timeout=60) == "echo: after the interrupt"


def test_cancel_interrupts_its_own_turn(chat, model):
    """turn.cancel() of a running turn: False, and result() raises TurnInterrupted."""
    turn = streaming(model, chat, "stream and cancel")
    assert turn.cancel() is False
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    assert not turn.cancelled()
    assert turn.cancel() is False
    assert chat.ask("after the cancel", timeout=60) == "echo: after the cancel"


def test_cancel_withdraws_what_is_queued(chat, model):
    """turn.cancel() of a queued question: True, nothing of it reaches the model."""
    gate = threading.Event()
    model.when("the running one").reply("it ran", gate=gate)
    running = chat.submit("the running one", timeout=60)
    model.wait_for_request("the running one")
    queued = chat.submit("the queued one", timeout=60)
    last = chat.submit("the last one", timeout=60)
    assert queued.cancel() is True
    assert queued.cancelled()
    gate.set()
    assert running.result() == "it ran"
    assert last.result() == "echo: the last one"
    assert not [request for request in model.conversation if "queued one" in request.text]


def test_an_interrupt_right_after_the_question(chat, model):
    """Interrupted before its turn began, a question ends all the same, and alone."""
    for number in range(3):
        model.when(f"too late {number}").reply("never said", gate=threading.Event())
        turn = chat.submit(f"too late {number}", timeout=60)
        chat.interrupt()
        with pytest.raises(claude_sync.TurnInterrupted):
            turn.result()
        assert chat.ask(f"on time {number}", timeout=60) == f"echo: on time {number}"


def test_an_interrupt_before_the_cli_is_ready(client_of, new_cli):
    """cancel() of a first question, while the CLI still starts, withdraws it."""
    client = client_of()
    turn = client.submit("never asked")
    assert turn.cancel() is True
    assert client.interrupt() == claude_sync.InterruptReceipt()
    assert client.ask("asked at last", timeout=90) == "echo: asked at last"


def test_an_interrupt_with_nothing_running_is_harmless(chat):
    """It is acknowledged, changes nothing, and spoils no later answer."""
    chat.ask("something", timeout=60)
    for _ in range(2):
        receipt = chat.interrupt()
        assert (receipt.still_queued, receipt.cancelled) == ((), ())
    assert chat.ask("still there?", timeout=60) == "echo: still there?"


def test_an_interrupt_ends_a_tool(chat, model, tmp_path):
    """interrupt() while a tool runs: the turn ends at once, its use has no good result."""
    turn = running_tool(model, chat, "run for ever", tmp_path)
    chat.interrupt()
    with pytest.raises(claude_sync.TurnInterrupted) as caught:
        turn.result()
    ((use, result),) = caught.value.answer.tool_uses
    assert use.name == "Bash"
    assert result is None or result.is_error or "sleep" not in result.text
    assert chat.ask("after the tool", timeout=60) == "echo: after the tool"


def test_an_interrupt_works_inside_a_handler(chat, model):
    """A handler may stop the turn that it hears."""
    model.when("stop when you hear").reply(text("a word and more", gate=threading.Event()))
    receipts = []

    def stop(piece):
        if not receipts:
            receipts.append(chat.interrupt())

    chat.on_text(stop)
    try:
        with pytest.raises(claude_sync.TurnInterrupted):
            chat.ask("stop when you hear", timeout=60)
    finally:
        chat.off(stop)
    assert len(receipts) == 1
    assert chat.ask("and on", timeout=60) == "echo: and on"


def test_the_queue_goes_on_after_an_interrupt(chat, model):
    """What waits behind an interrupted turn is asked next, and answered."""
    turn = streaming(model, chat, "the first in line")
    others = [chat.submit(f"in line {number}", timeout=60) for number in range(3)]
    chat.interrupt()
    assert isinstance(turn.exception(), claude_sync.TurnInterrupted)
    assert [other.result() for other in others] == [f"echo: in line {n}" for n in range(3)]
