"""close() is bounded, may come at any time from anywhere, and leaves nothing behind."""

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import warnings

import pytest
import scripts
from patience import PATIENCE, process_is_gone
from stand_ins import Background

from claude_sync import Client, ClientClosed
from claude_sync.testing import ScriptedCli, StandIn

FOR_EVER = 1000.0


def test_cli_ignores_the_end_of_its_input(stand_in, hurry):
    """A CLI that stays after the end of its input is asked to terminate, and is gone."""
    hurry(GRACE=0.2)
    client = stand_in(scripts.ignores_the_end_of_its_input)
    assert client.ask("hi") == "still here"
    pid = client.pid
    client.close()
    assert process_is_gone(pid)
    assert client.state == "closed"


@pytest.mark.parametrize(("timeout", "grace"), [(0.2, FOR_EVER), (FOR_EVER, 0.1)])
def test_cli_ignores_termination(stand_in, hurry, timeout, grace):
    """Only a kill ends the CLI: when its grace is over, or the time for closing before that."""
    hurry(GRACE=grace, TERMINATION_GRACE=grace)
    client = stand_in(scripts.ignores_termination)
    assert client.ask("hi") == "still here"
    pid = client.pid
    began = time.monotonic()
    client.close(timeout)
    assert time.monotonic() - began < PATIENCE
    assert process_is_gone(pid)


class SlowToStart(ScriptedCli):
    """Its start takes until the test goes on with it."""

    def __init__(self):
        super().__init__(patience=PATIENCE)
        self.starting, self.go_on = threading.Event(), threading.Event()

    def start(self, launch):
        """Wait for the test."""
        self.starting.set()
        assert self.go_on.wait(PATIENCE)
        super().start(launch)


def test_close_has_no_time_to_wait_for_a_start(background):
    """Whoever starts the CLI ends it, too."""
    cli = SlowToStart()
    client = Client(transport=cli)
    starting = background(client.start)
    assert cli.starting.wait(PATIENCE)
    client.close(timeout=0)
    cli.go_on.set()
    with pytest.raises(ClientClosed):
        starting.result()
    cli.expect_end(PATIENCE)
    assert cli.closed


@pytest.mark.parametrize("post", [None, "manual"])
def test_on_close_comes_after_a_handler_that_close_did_not_wait_for(post, background):
    """It is the last thing that is delivered, however little time close() had."""
    cli, go_on = ScriptedCli(patience=PATIENCE), threading.Event()
    heard, closed = threading.Event(), threading.Event()

    def hear(text):
        heard.set()
        assert go_on.wait(PATIENCE)

    with Client(transport=cli, post=post, on_text=hear, on_close=lambda _: closed.set()) as client:
        client.submit("hi")
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.speak("Hello")
        delivering = background(client.process_events, PATIENCE) if post else None
        assert heard.wait(PATIENCE)
        client.close(timeout=0)
        go_on.set()
        if delivering is not None:
            delivering.result()
        assert closed.wait(PATIENCE)


def test_two_closes_at_once(stand_in, hurry, background):
    """Every caller of close() returns when all is over, the second not before the first."""
    hurry(GRACE=0.3)
    client = stand_in(scripts.ignores_the_end_of_its_input)
    client.start()
    pid = client.pid
    closing = [background(close_and_look, client, pid) for _ in range(5)]
    assert [each.result() for each in closing] == [(True, [])] * 5


def close_and_look(client, pid):
    """Close; whether the process is gone, and which threads of the client still run."""
    client.close()
    return process_is_gone(pid), own_threads(client)


def own_threads(client):
    """The names of the client's threads that run."""
    return [each.name for each in threading.enumerate() if each.name.startswith(client.name + "-")]


def test_close_after_close_without_waiting(stand_in, hurry):
    """close() after close(wait=False) waits for the end of it."""
    hurry(GRACE=0.3)
    client = stand_in(scripts.ignores_the_end_of_its_input)
    client.start()
    pid = client.pid
    client.close(wait=False)
    assert close_and_look(client, pid) == (True, [])


def test_close_without_waiting(stand_in, hurry, gone, until):
    """close(wait=False) returns at once; what is left is done in the background."""
    hurry(GRACE=FOR_EVER)
    client = stand_in(scripts.ignores_the_end_of_its_input)
    client.start()
    pid = client.pid
    client.close(wait=False, timeout=FOR_EVER)
    assert client.state == "closing"
    assert not process_is_gone(pid)
    with pytest.raises(ClientClosed):
        client.ask("hi")
    os.kill(pid, signal.SIGTERM)
    gone(pid)
    until(lambda: client.state == "closed")


def test_close_inside_a_handler(cli, client, until, hurry):
    """close() in a handler returns at once, and the client is closed."""
    hurry(TURN_END_TIME=0.1)
    states, closed = [], threading.Event()

    def close(_):
        client.close()
        states.append(client.state)

    client.on_text(close)
    client.on_close(lambda _: closed.set())
    turn = client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    cli.speak("so far")
    with pytest.raises(ClientClosed):
        turn.result(PATIENCE)
    assert states[0] in ("closing", "closed")
    assert closed.wait(PATIENCE)
    until(lambda: client.state == "closed")
    assert cli.closed


def test_close_while_another_thread_asks(stand_in, background, until):
    """Whoever waits in ask() gets ClientClosed when the client is closed."""
    client = stand_in()
    client.start()
    asking = [background(client.ask, f"{number} [[sleep 60]]") for number in range(3)]
    until(lambda: client.state == "busy")
    client.close()
    for each in asking:
        with pytest.raises(ClientClosed):
            each.result()


def test_close_while_start_waits(stand_in, background, until):
    """start() gets ClientClosed when the client is closed meanwhile."""
    client = stand_in(scripts.never_answers_the_greeting)
    starting = background(client.start)
    until(lambda: client.state == "starting")
    client.close(timeout=1.2)  # one second is kept for the threads
    with pytest.raises(ClientClosed):
        starting.result()


def test_close_while_a_request_waits(cli, client, background):
    """A control request that waits when the client is closed fails at once."""
    call = background(client.interrupt, timeout=PATIENCE)
    cli.expect("control_request", subtype="interrupt")
    client.close()
    with pytest.raises(ClientClosed):
        call.result()


def test_close_interrupts_the_running_turn(cli, client, background, hurry):
    """A running turn is interrupted before the input ends, so that no tool runs on."""
    hurry(TURN_END_TIME=0.1)
    turn = client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    closing = background(client.close)
    cli.expect("control_request", subtype="interrupt")
    closing.result()
    with pytest.raises(ClientClosed):
        turn.result(PATIENCE)


def test_close_while_a_handler_does_not_return(stand_in, caplog):
    """A handler that hangs cannot hold up close() beyond its timeout."""
    inside, go_on = threading.Event(), threading.Event()

    def hang(_):
        inside.set()
        go_on.wait(PATIENCE)

    client = stand_in(on_text=hang)
    turn = client.submit("hi")
    assert inside.wait(PATIENCE)
    pid = client.pid
    began = time.monotonic()
    client.close(timeout=0.4)
    assert time.monotonic() - began < PATIENCE / 2
    assert process_is_gone(pid)
    with pytest.raises(ClientClosed):
        turn.result(0)
    assert "did not end in time" in caplog.text
    go_on.set()


def test_close_of_a_client_that_was_never_opened():
    """close() of a new client does nothing, and it stays closed."""
    client = Client(cli=["does-not-exist"])
    client.close()
    with pytest.raises(ClientClosed):
        client.ask("hi")
    client.close()


def test_close_after_a_crash(cli, client):
    """A client whose CLI is gone closes like any other, and calls on_close once."""
    closed = []
    client.on_close(closed.append)
    turn = client.submit("hi")
    cli.expect("user")
    cli.hang_up(3)
    assert turn.exception(PATIENCE).exit_code == 3
    client.close()
    client.close()
    assert [each.exit_code for each in closed] == [3]


def test_on_close_is_the_last_thing(stand_in):
    """on_close comes after every other event and exactly once."""
    events = []
    client = stand_in(on_message=events.append, on_close=events.append)
    client.ask("hi")
    client.close()
    names = [type(each).__name__ for each in events]
    assert names.count("Closed") == 1
    assert names[-1] == "Closed"


def test_nothing_works_after_close(client):
    """Every method that needs the CLI raises ClientClosed after close()."""
    client.close()
    for call in (
        lambda: client.ask("x"),
        lambda: client.submit("x"),
        lambda: client.stream("x"),
        lambda: client.steer("x"),
        lambda: client.add_context("x"),
        client.wait_idle,
        client.interrupt,
        client.start,
        client.__enter__,
    ):
        with pytest.raises(ClientClosed):
            call()


# Clients that nobody closes.


@pytest.mark.parametrize("mentions_its_client", [False, True])
def test_dropped_client(gone, mentions_its_client):
    """A client that is dropped warns, and is closed, even if its own handler mentions it."""
    client = Client(cli=StandIn().command)
    let_handler_mention(client if mentions_its_client else None, client)
    client.ask("hi")
    pid = client.pid
    with pytest.warns(ResourceWarning, match="was not closed"):
        del client
        gc.collect()
    gone(pid)


def let_handler_mention(what, client):
    """Register a handler that holds *what*."""
    client.on_text(lambda _: repr(what))


def test_dropped_client_with_warnings_as_errors(gone, monkeypatch):
    """A dropped client is closed even where the warning is made an error."""
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: errors.append(error.exc_type))
    client = Client(cli=StandIn().command)
    client.start()
    pid = client.pid
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del client
        gc.collect()
    assert errors == [ResourceWarning]
    gone(pid)


def test_dropped_in_mid_turn(gone):
    """A client that is dropped while its turn runs is closed all the same."""
    client = Client(cli=StandIn().command)
    turn = client.submit("hi [[sleep 60]]")
    pid = client.pid
    with pytest.warns(ResourceWarning):
        del client
        gc.collect()
    with pytest.raises(ClientClosed):
        turn.result(PATIENCE)
    gone(pid)


def test_dropped_but_never_opened():
    """A client that never started anything can be dropped without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Client(cli=["does-not-exist"])
        gc.collect()


# Many.


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.everything)])
def test_many_clients_one_after_another(count):
    """They leave no thread, no descriptor, no process behind."""
    for number in range(count):
        with Client(cli=StandIn().command) as client:
            assert client.ask(str(number)) == f"echo: {number}"


def test_twenty_clients_at_once():
    """Twenty clients at the same time do not disturb one another."""

    def one(number):
        with Client(cli=StandIn().command) as client:
            return [client.ask(f"{number}.{each}") for each in range(5)]

    running = [Background(one, number) for number in range(20)]
    for number, each in enumerate(running):
        assert each.result() == [f"echo: {number}.{turn}" for turn in range(5)]


def test_open_and_close_at_the_same_moment():
    """A client that is closed while it is being opened ends cleanly."""
    for _ in range(20):
        client = Client(cli=StandIn().command)
        opening = Background(client.start)
        client.close()
        with contextlib.suppress(ClientClosed):
            opening.result()
        assert client.state == "closed"


def test_transport_is_closed_once():
    """The transport's close() and free() are each called once, in this order."""
    calls = []

    class Watched(ScriptedCli):
        def close(self, timeout):
            calls.append("close")
            super().close(timeout)

        def free(self):
            calls.append("free")

    def script(cli):
        cli.accept()
        cli.answer("Hello")
        cli.expect_end(PATIENCE)

    with Client(transport=Watched(script)) as client:
        client.ask("hi")
    assert calls == ["close", "free"]
