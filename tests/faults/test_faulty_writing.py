"""A CLI that does not read: nobody hangs in a write."""

import threading
import time

import pytest
import scripts
from patience import PATIENCE, process_is_gone

from claude_sync import AskTimeout, ClientClosed, CliExited, ControlTimeout


def opened_deaf(stand_in, **options):
    """A client whose CLI has closed its input."""
    closed = threading.Event()
    client = stand_in(scripts.closes_its_input, on_stderr=lambda _: closed.set(), **options)
    client.start()
    assert closed.wait(PATIENCE)
    return client


@pytest.mark.usefixtures("quick_end")
def test_broken_pipe(stand_in, gone):
    """Writing to a CLI that has closed its input fails the waiter, and ends the CLI."""
    # Otherwise it is asked again, of another one that may take it and then close its input.
    client = opened_deaf(stand_in, on_crash="raise")
    pid = client.pid
    with pytest.raises(CliExited):
        client.ask("hi", timeout=PATIENCE)
    gone(pid)


@pytest.mark.usefixtures("quick_end")
def test_broken_pipe_in_a_request(stand_in):
    """A control request that cannot be written fails, and long before a timeout."""
    client = opened_deaf(stand_in)
    with pytest.raises(CliExited):
        client.interrupt(timeout=PATIENCE)


@pytest.fixture
def stuck(stand_in, until):
    """A client whose CLI reads nothing, in the middle of writing a question of 10 MB."""
    client = stand_in(scripts.reads_nothing_more)
    client.start()
    began = time.monotonic()
    turn = client.submit("x" * 10_000_000)
    assert time.monotonic() - began < PATIENCE
    until(lambda: client.state == "busy")
    return client, turn


def test_large_prompt_is_not_read(stuck, hurry):
    """submit() of 10 MB returns at once, and close() is bounded."""
    hurry(GRACE=0.1, INTERRUPT_TIME=0.1, TURN_END_TIME=0.1)
    client, turn = stuck
    pid = client.pid
    began = time.monotonic()
    client.close(timeout=2)
    assert time.monotonic() - began < PATIENCE
    assert process_is_gone(pid)
    with pytest.raises(ClientClosed):
        turn.result(0)


def test_interrupt_while_a_write_is_stuck(stuck, hurry):
    """interrupt() keeps its timeout although the pipe is full."""
    hurry(GRACE=0.1, INTERRUPT_TIME=0.1)
    client, _ = stuck
    began = time.monotonic()
    with pytest.raises(ControlTimeout):
        client.interrupt(timeout=0.1)
    assert time.monotonic() - began < PATIENCE
    client.close(timeout=2)


def test_timeout_while_a_write_is_stuck(stand_in, quick_stop, hurry):
    """A question that is never read times out like any other."""
    hurry(GRACE=0.1)
    client = stand_in(scripts.reads_nothing_more)
    client.start()
    with pytest.raises(AskTimeout):
        client.ask("x" * 10_000_000, timeout=0.3)


def test_large_prompt_arrives(stand_in):
    """A question of 10 MB arrives complete at a CLI that reads."""
    client = stand_in()
    prompt = "0123456789" * 1_000_000
    assert client.ask(prompt) == "echo: " + prompt
