"""What real CLIs make of the other dialects: one of them they understand."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync.testing.model import text, tool_use


@pytest.fixture(scope="module")
def chat_options():
    """Bare questions and another greeting; nothing is allowed beforehand."""
    return {"dialect": "callback"}


def test_bare_questions_are_answered_in_order(chat):
    """Without uuids the order decides, and every caller gets his own answer."""
    turns = [chat.submit(f"bare {number}") for number in range(4)]
    answers = [turn.result(PATIENCE) for turn in turns]
    assert answers == [f"echo: bare {number}" for number in range(4)]


def test_every_character_comes_once(chat, listen):
    """Streamed and complete, as in the dialect of their own."""
    heard = listen(chat, "text")
    assert chat.ask("bare words once", timeout=PATIENCE) == "".join(heard)


def test_permissions_come_as_control_requests(chat, model, tmp_path):
    """And are answered as such, whatever dialect was chosen."""
    path = tmp_path / "made"
    use = tool_use("Bash", {"command": f"touch {path}", "description": "make a file"})
    model.when("bare yes").reply([use]).then_reply("made it")
    model.when("bare no").reply([use]).then_reply("left it")
    decisions = {"bare yes": True, "bare no": False}
    seen = []

    def decide(request):
        seen.append(request.tool)
        return request.deny("no") if path.exists() else request.allow()

    chat.on_permission(decide)
    try:
        for prompt in decisions:
            answer = chat.ask(prompt, timeout=PATIENCE)
            [(_, result)] = answer.tool_uses
            assert result.is_error is not decisions[prompt]
            assert path.exists()
    finally:
        chat.off(decide)
    assert seen == ["Bash", "Bash"]


def test_an_interrupt_stops_a_turn(chat, model):
    """It is the same request, without a field that only new ones know."""
    model.when("bare and long").reply(text("half of it, no more", gate=threading.Event()))
    turn = chat.stream("bare and long")
    assert next(iter(turn))
    chat.interrupt(PATIENCE)
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result(PATIENCE)
    assert chat.ask("bare again", timeout=PATIENCE) == "echo: bare again"


def test_a_user_message_ends_the_old_cli(old_cli, client_of):
    """So that dialect is for backends that speak it; the newest says nothing at all to it."""
    with client_of(dialect="user-message", on_crash="raise") as client:
        with pytest.raises(claude_sync.CliExited) as caught:
            client.ask("hi", timeout=PATIENCE)
        assert caught.value.exit_code == 1
        assert "got 'user_message'" in caught.value.stderr_tail[-1]
