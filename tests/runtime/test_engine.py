"""The way of a question: queued, sent, stopped, ended."""

from __future__ import annotations

import os
import re
import threading

import pytest
from patience import PATIENCE

from claude_sync import AskTimeout, Client, ClientClosed, ExecutionError, UsageError
from claude_sync.errors import TurnInterrupted
from claude_sync.runtime import engine as engine_module
from claude_sync.runtime.endings import with_answer
from claude_sync.runtime.engine import new_uuid
from claude_sync.testing import ScriptedCli, builders

pytestmark = pytest.mark.usefixtures("all_was_expected")


def test_what_cannot_be_sent_is_refused_before_it_is_queued(client, cli):
    """A value without a JSON form is a UsageError at the call, and nothing is queued."""
    with pytest.raises(UsageError):
        client.submit([{"type": "text", "text": object()}])
    assert not client._engine.queue
    assert not client._engine.open_turns


def test_a_turn_without_a_result_is_an_error(client, cli):
    """A CLI that goes idle without a result for the question does not leave it waiting."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(
        builders.lifecycle(user["uuid"], "completed"),
        builders.session_state("idle"),
    )
    with pytest.raises(ExecutionError, match="without a result"):
        turn.result(PATIENCE)
    again = client.submit("again")
    cli.answer("Hello", prompt="again")
    assert again.result(PATIENCE) == "Hello"


def test_a_silent_turn_of_the_cli_does_not_hold_up_questions_for_ever(client, cli, monkeypatch):
    """After its patience a question is sent although the foreign turn never ended."""
    monkeypatch.setattr(engine_module, "FOREIGN_PATIENCE", 0.05)
    seen = threading.Event()
    client.on_system(lambda message: seen.set())
    cli.say(cli.init())
    assert seen.wait(PATIENCE)
    turn = client.submit("hi")
    cli.answer("Hello", prompt="hi")
    assert turn.result(PATIENCE) == "Hello"


def test_a_steer_that_is_never_mentioned_is_forgotten(monkeypatch):
    """Old CLIs may swallow a steered message without a word; the next question goes out."""
    monkeypatch.setattr(engine_module, "STEER_PATIENCE", 0.05)
    cli = ScriptedCli(style="old")
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        client.steer("and more")
        cli.expect("user", text="and more")
        cli.end_turn(user, "Hello")
        assert turn.result(PATIENCE) == "Hello"
        later = client.submit("later")
        cli.answer("here", prompt="later")
        assert later.result(PATIENCE) == "here"
    cli.assert_done()


def test_a_client_belongs_to_its_process(client, monkeypatch):
    """After fork() every use in the child is a UsageError that says what to do."""
    pid = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(engine_module.os, "getpid", lambda: pid + 1)
        for call in (lambda: client.submit("hi"), client.start, client.interrupt):
            with pytest.raises(UsageError, match="Make a new Client in the child"):
                call()


def test_every_open_turn_is_known_until_it_is_done(client, cli):
    """What is open fails at close(); what is done is not kept."""
    turns = [client.submit("one"), client.submit("two")]
    assert client._engine.open_turns == set(turns)
    cli.answer("1", prompt="one")
    cli.answer("2", prompt="two")
    for turn in turns:
        turn.result(PATIENCE)
    assert client._engine.open_turns == set()


def test_a_cancelled_turn_is_not_kept(client, cli):
    """A withdrawn question leaves the queue and the list of open turns."""
    first, second = client.submit("one"), client.submit("two", timeout=PATIENCE)
    user = cli.expect("user")
    second.cancel()
    assert client._engine.open_turns == {first}
    assert second._timers == []
    cli.answer("1", to=user)
    first.result(PATIENCE)


def test_a_question_to_a_closed_client_is_not_kept(cli):
    """submit() on a closed client raises and leaves nothing behind."""
    client = Client(transport=cli)
    client.close()
    with pytest.raises(ClientClosed):
        client.submit("hi")
    assert not client._engine.queue
    assert not client._engine.open_turns


def test_ids_are_random_uuids():
    """What goes over the wire looks like a UUID of version 4 and does not repeat."""
    ids = {new_uuid() for _ in range(1000)}
    assert len(ids) == 1000
    form = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert all(re.fullmatch(form, each) for each in ids)


def test_a_timeout_gets_the_answer_so_far():
    """with_answer() keeps everything else; other errors stay as they are."""
    error = with_answer(AskTimeout(2, False, None, True), "so far")
    assert (error.timeout, error.sent, error.answer, error.idle) == (2, False, "so far", True)
    other = TurnInterrupted("stopped")
    assert with_answer(other, "so far") is other
