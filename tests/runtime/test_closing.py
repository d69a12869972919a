"""Closing: in order, in time, once, from anywhere."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync import Client, ClientClosed
from claude_sync.runtime import closing
from claude_sync.runtime.closing import LIVE, close_all
from claude_sync.testing import builders


def threads_of(client):
    """The client's threads that live."""
    return [each.name for each in threading.enumerate() if each.name.startswith(client.name + "-")]


def test_nothing_is_left(client, cli):
    """After close() there is no thread, and the engine is forgotten."""
    assert threads_of(client)
    assert client._engine in LIVE
    client.close()
    assert threads_of(client) == []
    assert client._engine not in LIVE
    assert cli.closed
    assert client.state == "closed"


def test_closing_twice_is_harmless(client):
    """Also from several threads at once: each returns when it is closed."""
    with ThreadPoolExecutor(4) as pool:
        closings = [pool.submit(client.close) for _ in range(4)]
        for each in closings:
            each.result(PATIENCE)
            assert client.state == "closed"


@pytest.mark.usefixtures("quick_close")
def test_waiters_fail_with_client_closed(client, cli):
    """A turn that runs and one that is queued both end, and nobody waits for ever."""
    running, queued = client.submit("running"), client.submit("queued")
    cli.begin_turn(cli.expect("user"))
    client.close()
    for turn in (running, queued):
        with pytest.raises(ClientClosed):
            turn.result(PATIENCE)


@pytest.mark.usefixtures("quick_close")
def test_a_running_turn_is_interrupted_first(client, cli):
    """A CLI whose input only ends would run its turn, and the tools in it, to the end."""
    client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    client.close()
    cli.expect("control_request", subtype="interrupt")
    cli.assert_done()


def test_an_idle_client_just_ends(client, cli):
    """Without a turn nothing is sent."""
    client.close()
    cli.assert_done()


def test_close_without_waiting_returns_at_once(client, cli):
    """wait=False closes in the background; a later close() waits for it."""
    leave = threading.Event()
    client.on_close(lambda closed: leave.wait(PATIENCE))
    client.close(wait=False)
    assert client.state == "closing"
    leave.set()
    client.close()
    assert client.state == "closed"


@pytest.mark.usefixtures("quick_close")
def test_a_handler_may_close_its_client(client, cli):
    """It returns at once instead of waiting for itself."""
    returned = Future()

    @client.on_text
    def handler(text):
        client.close()
        returned.set_result(client.state)

    turn = client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    cli.say(builders.assistant("Hello"))
    assert returned.result(PATIENCE) == "closing"
    with pytest.raises(ClientClosed):
        turn.result(PATIENCE)
    client.close()
    assert client.state == "closed"


@pytest.mark.usefixtures("quick_close")
def test_on_close_is_called_once_and_last(client, cli):
    """Everything that had arrived is delivered before it."""
    events = []
    client.on_text(lambda text: events.append(str(text)))
    client.on_close(lambda closed: events.append(closed.reason))
    client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    cli.say(builders.assistant("Hello"))
    client.close()
    client.close()
    assert events == ["Hello", "closed by the program"]


def test_a_handler_that_never_returns_does_not_hold_up_closing(client, cli, caplog):
    """close(timeout) keeps its word, and the log names the thread."""
    leave, entered = threading.Event(), threading.Event()

    @client.on_text
    def stuck(text):
        entered.set()
        leave.wait(PATIENCE)

    turn = client.submit("hi")
    cli.begin_turn(cli.expect("user"))
    cli.say(builders.assistant("Hello"))
    assert entered.wait(PATIENCE)
    start = time.monotonic()
    client.close(timeout=0.3)
    assert time.monotonic() - start < PATIENCE / 2
    assert isinstance(turn.exception(PATIENCE), ClientClosed)
    assert f"{client.name}-dispatcher did not end in time" in caplog.text
    leave.set()


def test_a_client_that_never_started_can_be_closed():
    """close() without a CLI is quick, calls on_close where there is a thread for it, and ends."""
    client = Client()
    client.close()
    assert client.state == "closed"
    assert threads_of(client) == []


def test_the_end_of_the_program_closes_what_is_open(client, cli):
    """close_all(), which runs at exit, closes live clients and tells why."""
    reasons = []
    client.on_close(lambda closed: reasons.append(closed.reason))
    close_all()
    assert client.state == "closed"
    assert reasons == ["the program ended"]


def test_a_client_of_another_process_is_not_closed(client, cli, monkeypatch):
    """What was inherited by fork belongs to the parent."""
    with monkeypatch.context() as patch:
        patch.setattr(client._engine, "process_id", -1)
        close_all()
    assert not cli.closed


def test_a_forked_child_lets_go(client, cli, monkeypatch):
    """The transport is abandoned, without a lock, and nothing is remembered."""
    abandoned = []
    with monkeypatch.context() as patch:
        patch.setattr(cli, "abandon", lambda: abandoned.append(1))
        patch.setattr(closing, "LIVE", {client._engine})
        closing.forget_all()
        assert set() == closing.LIVE
    assert abandoned == [1]
