"""Words that are added to a turn while it runs, and words that ask for nothing."""

from __future__ import annotations

import threading

import pytest

import claude_sync
from claude_sync.testing.model import text, tool_use


def test_a_steer_joins_a_turn_in_a_tool_round(chat, model, tmp_path):
    """The model gets the steered words with the tool's result, in the same turn."""
    go = tmp_path / "go"
    command = f"while [ ! -e '{go}' ]; do sleep 0.05; done; echo went"
    model.when("use the tool").reply(tool_use("Bash", {"command": command})).then_reply(
        lambda request: "left" if "turn left" in str(request.messages) else "straight on"
    )
    # The old CLI sends it to the model as a message, the newest as a reminder.
    model.when("turn left").reply("left")
    used = threading.Event()

    def heard(use):
        used.set()

    chat.on_tool_use(heard)
    turn = chat.submit("use the tool", timeout=60)
    assert used.wait(60)
    chat.off(heard)
    chat.steer("turn left")
    # A request of its own behind it: once that is answered, the CLI has read the steer.
    chat._session.connection.request("set_permission_mode", {"mode": "default"}).result(30)
    go.touch()
    assert turn.result() == "left"
    assert chat.ask("after the steer", timeout=60) == "echo: after the steer"


def test_a_steer_without_a_tool_round_spoils_no_answer(chat, model):
    """Without a tool round it becomes a turn of its own, whose result is nobody's answer."""
    gate = threading.Event()
    model.when("just talk").reply(text("I was just talking", gate=gate))
    first = threading.Event()

    def heard(piece):
        first.set()

    chat.on_text(heard)
    turn = chat.submit("just talk", timeout=60)
    assert first.wait(60)
    chat.off(heard)
    chat.steer("say less")
    later = chat.submit("the next question", timeout=60)
    gate.set()
    assert turn.result() == "I was just talking"
    assert later.result() == "echo: the next question"
    assert chat.ask("and one more", timeout=60) == "echo: and one more"
    steered = model.wait_for_request("say less")
    assert steered.index < model.wait_for_request("the next question").index


def test_two_steers_in_one_turn(chat, model):
    """Several steers, no tool round: later questions still get their own answers."""
    gate = threading.Event()
    model.when("talk again").reply(text("still talking here", gate=gate))
    turn = chat.submit("talk again", timeout=60)
    model.wait_for_request("talk again")
    chat.steer("steer one")
    chat.steer("steer two")
    later = [chat.submit(f"later {number}", timeout=60) for number in range(3)]
    gate.set()
    assert turn.result() == "still talking here"
    assert [each.result() for each in later] == [f"echo: later {n}" for n in range(3)]


def test_a_steer_needs_a_turn(chat):
    """With nothing running there is nothing to steer."""
    chat.ask("something", timeout=60)
    with pytest.raises(claude_sync.UsageError, match="ask"):
        chat.steer("to the left")
    assert chat.ask("still fine", timeout=60) == "echo: still fine"


def test_context_is_seen_and_not_answered(chat, new_cli, model):
    """add_context() reaches the model with the next question, and has no answer."""
    chat.add_context("the sky is green")
    assert chat.ask("what colour is the sky?", timeout=60).endswith("what colour is the sky?")
    assert "the sky is green" in str(model.wait_for_request("what colour").messages)
    chat.add_context("the sea is red")
    chat.add_context("the sun is blue")
    chat.ask("and the sea?", timeout=60)
    seen = str(model.wait_for_request("and the sea").messages)
    assert "the sea is red" in seen and "the sun is blue" in seen
    assert chat.ask("last", timeout=60) == "echo: last"


def test_the_old_cli_gets_context_as_data(chat, old_cli, model):
    """It would answer it as a question; so it comes with the next one, and is not interpreted."""
    chat.add_context("the sky is green, see @/etc/hostname")
    assert chat.ask("a question", timeout=60).endswith("a question")
    seen = str(model.wait_for_request("a question").messages)
    assert "the sky is green, see @/etc/hostname" in seen
    assert "Called the Read tool" not in seen


@pytest.mark.everything
def test_context_may_come_first(client_of, new_cli, model):
    """add_context() starts the CLI like any question."""
    client = client_of()
    client.add_context("the grass is blue")
    assert client.ask("what about grass?", timeout=60).endswith("what about grass?")
    assert "the grass is blue" in str(model.wait_for_request("what about grass?").messages)
