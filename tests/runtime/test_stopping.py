"""Stopping turns: on request, in time, and by force if need be."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from patience import PATIENCE, wait_until

from claude_sync import LATER, AskTimeout, Client, TurnInterrupted
from claude_sync.runtime import reader, stopping
from claude_sync.testing import ScriptedCli, builders

pytestmark = pytest.mark.usefixtures("all_was_expected")


def begin(client, cli, **keywords):
    """A turn that runs, and its question."""
    turn = client.submit("hi", **keywords)
    user = cli.expect("user")
    cli.begin_turn(user)
    return turn, user


def test_an_interrupt_is_repeated_while_the_turn_runs(client, cli, monkeypatch):
    """One that came before the turn began has no effect, so there is another."""
    monkeypatch.setattr(stopping, "INTERRUPT_AGAIN_AFTER", (0.01, 0.02))
    turn, user = begin(client, cli)
    turn.cancel()
    for _ in range(3):
        cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=[])
    cli.end_interrupted(user)
    assert isinstance(turn.exception(PATIENCE), TurnInterrupted)


def test_no_interrupt_follows_the_end_of_a_turn(client, cli):
    """Once the turn has ended, its repeated interrupts and its deadline are off."""
    turn, user = begin(client, cli)
    turn.cancel()
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    turn.exception(PATIENCE)
    assert turn._timers == []


def test_an_interrupt_never_hits_the_next_question(client, cli):
    """A turn that ended by itself just before its interrupt is not followed by one."""
    turn, user = begin(client, cli)
    cli.end_turn(user, "Hello")
    assert turn.result(PATIENCE) == "Hello"
    again = client.submit("again")
    user = cli.expect("user", text="again")
    client._engine.stopper._send_interrupt(turn)  # the late one
    cli.answer("still here", to=user)
    assert again.result(PATIENCE) == "still here"


def test_a_turn_that_does_not_end_is_ended_by_force(monkeypatch, caplog):
    """After its patience the CLI is killed, and the turn fails as interrupted."""
    monkeypatch.setattr(stopping, "STOP_PATIENCE", 0.05)
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        turn.cancel()
        error = turn.exception(PATIENCE)
        assert isinstance(error, TurnInterrupted)
        assert cli.exit_code == -9
    assert "did not end within" in caplog.text


def test_a_timed_out_turn_that_does_not_end_is_ended_by_force(monkeypatch, caplog):
    """The error is the timeout's, with the text so far."""
    monkeypatch.setattr(stopping, "STOP_PATIENCE", 0.05)
    cli, heard = ScriptedCli(), threading.Event()
    with Client(transport=cli, on_text=lambda text: heard.set()) as client:
        turn = client.submit("hi", timeout=10 * PATIENCE)
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.say(builders.assistant("Once upon"))
        assert heard.wait(PATIENCE)
        client._engine.stopper.timed_out(turn)  # its time is up now
        error = turn.exception(PATIENCE)
        assert isinstance(error, AskTimeout)
        assert (error.sent, error.answer) == (True, "Once upon")


def test_a_result_in_spite_of_the_interrupt_is_an_answer(client, cli):
    """A turn that was done before the interrupt reached it succeeds."""
    turn, user = begin(client, cli)
    turn.cancel()
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_turn(user, "Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_a_question_that_the_cli_withdraws_is_interrupted(client, cli):
    """An interrupt that lists our message as cancelled ends the turn: no result will come."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.say(builders.lifecycle(user["uuid"], "queued"))
    turn.cancel()
    request = cli.expect("control_request", subtype="interrupt")
    cli.reply(request, still_queued=[], cancelled=[user["uuid"]])
    assert isinstance(turn.exception(PATIENCE), TurnInterrupted)
    again = client.submit("again")
    cli.answer("Hello", prompt="again")
    assert again.result(PATIENCE) == "Hello"


def test_a_timeout_in_the_handlers_builds_the_answer_that_is_to_come(client, cli):
    """A slow handler of text does not hide that the result is here already."""
    leave, entered = threading.Event(), Future()

    @client.on_text
    def slow(text):
        entered.set_result(None)
        leave.wait(PATIENCE)

    turn = client.submit("hi", timeout=10 * PATIENCE)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant("Hello"))
    entered.result(PATIENCE)
    cli.end_turn(user, "Hello", num_turns=4)
    wait_until(lambda: client._engine.lifecycle.connection.exchange.running() is None)
    client._engine.stopper.timed_out(turn)  # its time is up now
    error = turn.exception(PATIENCE / 2)
    leave.set()
    assert isinstance(error, AskTimeout)
    assert (error.answer, error.answer.num_turns) == ("Hello", 4)
    client.wait_idle(PATIENCE)
    assert client.state == "idle"


class Silence:
    """The clock of idle_timeout in the test's hand: it looks when the test lets time pass."""

    LIMIT = 1000.0

    def __init__(self, client, monkeypatch):
        self._ahead, self._looks = 0.0, []
        clock = SimpleNamespace(monotonic=self.now)
        for module in (stopping, reader):
            monkeypatch.setattr(module, "time", clock)
        timers, after = client._engine.timers, client._engine.timers.after

        def hold(delay, callback):
            if 0 < delay <= self.LIMIT and callback.__name__ == "look":
                self._looks.append(callback)
            return after(delay, callback)

        monkeypatch.setattr(timers, "after", hold)

    def now(self):
        """The time, of which so much has passed as the test wants."""
        return time.monotonic() + self._ahead

    def pass_time(self, seconds):
        """Go on by *seconds*, without a look."""
        self._ahead += seconds

    def look(self):
        """Do what is done when the limit has passed since the last look."""
        (look,) = self._looks
        self._looks.clear()
        look()


def test_silence_does_not_count_while_the_cli_waits_for_us(client, cli, monkeypatch):
    """The clock of idle_timeout stops while a request of the CLI is open."""
    silence, asked = Silence(client, monkeypatch), []
    client.on_permission(lambda request: asked.append(request) or LATER)
    turn, user = begin(client, cli, idle_timeout=Silence.LIMIT)
    request = cli.ask_permission("Bash", {"command": "ls"})
    wait_until(lambda: asked)
    for _ in range(3):
        silence.pass_time(2 * Silence.LIMIT)
        silence.look()
    cli.assert_done()
    asked[0].deny()
    assert cli.expect_reply(request)["behavior"] == "deny"
    silence.pass_time(2 * Silence.LIMIT)
    silence.look()
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    assert turn.exception(PATIENCE).idle


def test_every_line_restarts_the_clock_of_silence(client, cli, monkeypatch):
    """A CLI that says something now and then is not interrupted."""
    silence = Silence(client, monkeypatch)
    turn, user = begin(client, cli, idle_timeout=Silence.LIMIT)
    connection = client._engine.lifecycle.connection
    for _ in range(6):
        silence.pass_time(0.6 * Silence.LIMIT)
        heard = silence.now()
        cli.say({"type": "keep_alive"})
        wait_until(lambda heard=heard: connection.last_activity >= heard)
        silence.look()
    cli.end_turn(user, "Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_handlers_do_not_count_as_silence(client, cli, monkeypatch):
    """idle_timeout is about the CLI: a slow handler is not interrupted for it."""
    silence, go_on = Silence(client, monkeypatch), threading.Event()
    client.on_text(lambda text: go_on.wait(PATIENCE))
    turn, user = begin(client, cli, idle_timeout=Silence.LIMIT)
    cli.speak("one two")
    cli.end_turn(user, "one two")
    wait_until(lambda: client._engine.lifecycle.connection.exchange.running() is None)
    silence.pass_time(2 * Silence.LIMIT)
    silence.look()
    go_on.set()
    assert turn.result(PATIENCE) == "one two"
