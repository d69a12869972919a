"""A failure that nobody looks at is logged, and no other one."""

from __future__ import annotations

import gc
import logging
import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync import Client, CliExited, TurnError
from claude_sync.testing import ScriptedCli, builders

WARNING = "its error was never retrieved"


class Talk:
    """A client whose CLI is played by the test."""

    def __init__(self, **handlers):
        self.cli = ScriptedCli(patience=PATIENCE)
        self.client = Client(transport=self.cli, **handlers)

    def ask(self):
        """Ask something; the CLI begins to answer."""
        turn = self.client.submit("hi")
        if self.client.state != "idle":
            self.cli.accept()
        self.user = self.cli.expect("user")
        self.cli.begin_turn(self.user)
        return turn

    def die(self):
        """The CLI dies; afterwards everything about its turn is done."""
        self.cli.hang_up(exit_code=3)
        over = threading.Event()
        self.client.on_close(lambda _: over.set())
        self.client.close()
        assert over.wait(PATIENCE)

    def refuse(self):
        """The turn ends with an error of the service's."""
        uuids = [self.user["uuid"]]
        self.cli.say(builders.result("no", uuids, is_error=True, api_error_status=500))


@pytest.fixture
def talk():
    """Make talks; their clients are closed."""
    talks = []

    def start(**handlers):
        talks.append(Talk(**handlers))
        return talks[-1]

    yield start
    for each in talks:
        each.client.close()


@pytest.fixture
def told(caplog):
    """The warnings so far."""
    caplog.set_level(logging.WARNING, "claude_sync")

    def messages(words=WARNING):
        gc.collect()
        return [each.getMessage() for each in caplog.records if words in each.getMessage()]

    return messages


def done(turn):
    """Wait for the end of a turn without looking at it."""
    over = threading.Event()
    super(type(turn), turn).add_done_callback(lambda _: over.set())
    assert over.wait(PATIENCE)


def test_a_failure_that_nobody_looks_at_is_told(talk, told):
    """With what happened, and what to do."""
    each = talk()
    turn = each.ask()
    each.cli.hang_up(exit_code=3)
    done(turn)
    assert told() == []  # somebody may still look
    del turn
    each.die()
    (message,) = told()
    assert "CliExited" in message
    assert "exit code 3" in message
    assert "add_done_callback()" in message


def test_context_that_is_lost_is_told_as_that(talk, told):
    """Whoever added it got nothing to look at."""
    each = talk()
    turn = each.ask()
    each.cli.say(builders.result("yes", [each.user["uuid"]]))
    assert turn.result(PATIENCE) == "yes"
    each.client.add_context("The build is red.")
    each.cli.expect("user")
    each.cli.hang_up(exit_code=3)
    wait_until(lambda: each.client.state == "crashed")
    each.client.close()
    (message,) = told("add_context()")
    assert "add_context() did not reach" in message
    assert "exit code 3" in message
    assert told() == []


@pytest.mark.parametrize("look", ["result", "exception", "callback", "early callback"])
def test_whoever_looks_has_seen_it(talk, told, look):
    """By each way there is."""
    each, seen = talk(), []
    turn = each.ask()
    if look == "early callback":
        turn.add_done_callback(seen.append)
    each.cli.hang_up(exit_code=3)
    done(turn)
    if look == "result":
        with pytest.raises(CliExited):
            turn.result()
    elif look == "exception":
        assert turn.exception() is not None
    elif look == "callback":
        turn.add_done_callback(seen.append)
    del turn
    each.die()
    seen.clear()
    assert told() == []


def test_a_stream_that_is_read_is_seen(talk, told):
    """Iterating raises."""
    each = talk()
    with each.client.stream("hi") as turn:
        each.cli.accept()
        each.cli.begin_turn(each.cli.expect("user"))
        each.cli.hang_up(exit_code=3)
        with pytest.raises(CliExited):
            list(turn)
    del turn
    each.die()
    assert told() == []


@pytest.mark.usefixtures("quick_close")
def test_what_was_stopped_on_purpose_is_no_failure(talk, told):
    """Cancelled, or closed."""
    each = talk()
    first, second = each.ask(), each.client.submit("two")
    assert second.cancel()
    del first, second
    each.client.close()
    assert told() == []


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_handler_of_results_has_seen_it(talk, told, is_heard):
    """An error that came as a result is in on_result."""
    each = talk(**({"on_result": lambda result: None} if is_heard else {}))
    turn = each.ask()
    each.refuse()
    done(turn)
    del turn
    each.client.close()
    assert [WARNING in message for message in told()] == ([] if is_heard else [True])


def test_asking_looks(talk, told):
    """ask() raises it."""
    each = talk()
    errors = []

    def ask():
        try:
            each.client.ask("hi")
        except TurnError as error:
            errors.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    each.cli.accept()
    each.user = each.cli.expect("user")
    each.cli.begin_turn(each.user)
    each.refuse()
    asking.join(PATIENCE)
    assert len(errors) == 1
    each.client.close()
    assert told() == []
