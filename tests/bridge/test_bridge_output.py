"""What goes to a front end that reads slowly, or not at all: nothing lost, nothing unbounded."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE

from claude_sync.bridge.output import ONE_WRITE, Output


class SlowReader:
    """Takes what is written only while it is let."""

    def __init__(self):
        self.taken = b""
        self.may_take = threading.Event()
        self.broken = []
        self.fails = False

    def write(self, data):
        """See :class:`Output`."""
        assert self.may_take.wait(PATIENCE)
        if self.fails:
            raise BrokenPipeError("nobody reads")
        self.taken += data

    def tell(self):
        """See :class:`Output`."""
        self.broken.append(True)


@pytest.fixture
def reader():
    """Somebody who reads when told to."""
    return SlowReader()


@pytest.fixture
def output(reader):
    """An output to it, with a bound of 100 bytes a session."""
    output = Output(reader.write, reader.tell, bound=100)
    thread = threading.Thread(target=output.write_all)
    thread.start()
    yield output
    reader.may_take.set()
    output.end()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def fill(output, session_id, count):
    """Put lines on a thread of its own; the thread, and what it has put so far."""
    put = []

    def run():
        for number in range(count):
            line = f"{session_id} {number:04d} {'x' * 30}\n".encode()
            output.put(line, session_id)
            put.append(line)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, put


def settled(output, session_id):
    """Wait until the session has reached its bound."""
    end = threading.Event()
    for _ in range(3000):
        if output.waits(session_id) > 100:
            return
        end.wait(0.01)
    pytest.fail("the bound is never reached")


def test_a_session_waits_at_its_bound_and_others_do_not(output, reader):
    """Each has its own bound; answers never wait; in the end everything has come, in order."""
    first, of_first = fill(output, "a", 50)
    settled(output, "a")
    second, of_second = fill(output, "b", 50)
    settled(output, "b")
    output.put(b"an answer\n")
    # A line more than the bound, at most, and what is in the pipe.
    assert len(of_first) < 6
    assert len(of_second) < 6
    reader.may_take.set()
    for thread in (first, second):
        thread.join(PATIENCE)
    assert output.flush(PATIENCE, PATIENCE)
    lines = reader.taken.splitlines(keepends=True)
    assert [line for line in lines if line.startswith(b"a ")] == of_first
    assert [line for line in lines if line.startswith(b"b ")] == of_second
    assert b"an answer\n" in lines
    assert len(lines) == 101
    assert output.waits("a") == output.waits("b") == 0


def test_a_session_that_ends_waits_no_more(output, reader):
    """What it has to say is kept all the same."""
    thread, _ = fill(output, "a", 50)
    settled(output, "a")
    output.release("a")
    thread.join(PATIENCE)
    assert not thread.is_alive()
    output.forget("a")
    reader.may_take.set()
    assert output.flush(PATIENCE, PATIENCE)
    assert reader.taken.count(b"\n") == 50


def test_nobody_waits_for_a_reader_that_has_left(output, reader):
    """Whoever waits goes on, what is put is dropped, and it is told once."""
    thread, _ = fill(output, "a", 50)
    settled(output, "a")
    reader.fails = True
    reader.may_take.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert output.is_broken
    output.put(b"for nobody\n")
    assert output.flush(0, 0)
    assert reader.broken == [True]
    assert reader.taken == b""


def test_a_flush_has_an_end(output):
    """A reader that takes nothing is not waited for."""
    output.put(b"line\n")
    assert not output.flush(0.05, PATIENCE)
    assert not output.flush(PATIENCE, 0.05)


def test_a_flush_goes_on_as_long_as_something_is_read():
    """A slow reader loses nothing: what counts is the time between two writes."""
    taken = []
    pause = threading.Event()

    def write(data):
        pause.wait(0.1)
        taken.append(data)

    slow = Output(write, lambda: None)
    for number in range(8):
        slow.put(bytes([number]) * ONE_WRITE)
    thread = threading.Thread(target=slow.write_all)
    thread.start()
    # Altogether it takes twice as long.
    assert slow.flush(0.4, PATIENCE)
    assert len(taken) == 8
    slow.end()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_whoever_does_not_read_is_not_listened_to(output, reader, monkeypatch):
    """Past the bound of answers, wait_for_room() waits until some are read."""
    monkeypatch.setattr("claude_sync.bridge.output.ANSWERS_BOUND", 10)
    output.wait_for_room()
    output.put(b"more than ten bytes\n")
    waited = threading.Thread(target=output.wait_for_room)
    waited.start()
    waited.join(0.1)
    assert waited.is_alive()
    reader.may_take.set()
    waited.join(PATIENCE)
    assert not waited.is_alive()


@pytest.mark.parametrize("how", ["ended", "broken"])
def test_the_end_is_room_enough(output, reader, monkeypatch, how):
    """Nobody waits for a front end that has left, or when everything ends."""
    monkeypatch.setattr("claude_sync.bridge.output.ANSWERS_BOUND", 10)
    output.put(b"more than ten bytes\n")
    waited = threading.Thread(target=output.wait_for_room)
    waited.start()
    reader.fails = True
    if how == "ended":
        output.end()
    else:
        reader.may_take.set()
    waited.join(PATIENCE)
    assert not waited.is_alive()
