"""The CLI dies: who is told, and how the conversation goes on."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time

import pytest
from patience import wait_until

import claude_sync
from claude_sync.testing.model import text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


def kill_in_mid_turn(client, model, words, then=None):
    """Ask something, queue *then*, kill the CLI in the middle of the answer; the turn."""
    model.when(words).reply(text("this is cut off here", gate=threading.Event()))
    first = threading.Event()

    def heard(piece):
        first.set()

    client.on_text(heard)
    turn = client.submit(words, timeout=90)
    assert first.wait(90)
    client.off(heard)
    if then is not None:
        turn.then = client.submit(then, timeout=90)
    os.kill(client.pid, signal.SIGKILL)
    return turn


def test_a_killed_cli_goes_on_with_the_conversation(client_of, new_cli, model):
    """CliExited at once; what was queued is asked next: same id, earlier words known."""
    client = client_of()
    assert client.ask("remember the colour blue", timeout=90) == "echo: remember the colour blue"
    session, pid = client.session_id, client.pid
    turn = kill_in_mid_turn(client, model, "die here", then="which colour?")
    began = time.monotonic()
    with pytest.raises(claude_sync.CliExited) as caught:
        turn.result()
    assert time.monotonic() - began < 5
    assert caught.value.exit_code == -signal.SIGKILL
    assert "SIGKILL" in str(caught.value) and "next question" in str(caught.value)
    assert turn.then.result().endswith("which colour?")
    assert client.pid != pid
    assert client.session_id == session
    seen = str(model.wait_for_request("which colour?").messages)
    assert "remember the colour blue" in seen

    # Killed while idle, it is back at the next question, with all it knew.
    os.kill(client.pid, signal.SIGKILL)
    wait_until(lambda: client.state == "crashed")
    assert client.ask("which one was it?", timeout=90) == "echo: which one was it?"
    seen = str(model.wait_for_request("which one was it?").messages)
    assert "remember the colour blue" in seen and "which colour?" in seen
    assert client.session_id == session
    assert client.ask("all well?", timeout=60) == "echo: all well?"


def test_killed_in_its_first_turn_it_starts_afresh(client_of, cli, model, caplog):
    """A conversation that was never saved cannot be resumed: a new one begins, with a warning."""
    client = client_of()
    turn = kill_in_mid_turn(client, model, "die at once")
    assert isinstance(turn.exception(), claude_sync.CliExited)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert client.ask("once more", timeout=90).endswith("once more")
    assert "restarted the CLI" in caplog.text
    assert client.ask("and again", timeout=60) == "echo: and again"
    if not cli.is_new:
        assert "starting a new one" in caplog.text


@pytest.mark.everything
def test_a_crash_can_be_final(client_of, new_cli, model):
    """on_crash="raise": the error is raised now and at every later question."""
    closed = []
    client = client_of(on_crash="raise", on_close=closed.append)
    client.ask("a beginning", timeout=90)
    turn = kill_in_mid_turn(client, model, "die for good")
    assert isinstance(turn.exception(), claude_sync.CliExited)
    with pytest.raises(claude_sync.CliExited):
        client.ask("no more", timeout=60)
