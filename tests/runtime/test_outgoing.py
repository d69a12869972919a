"""The way to the CLI: at once where the pipe takes it, by a thread where it does not."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE

from claude_sync.engine.launch.transport import Transport
from claude_sync.runtime.outgoing import Outgoing
from claude_sync.runtime.traffic import Traffic


class Pipe(Transport):
    """Takes so many bytes at once; the rest when it is told to."""

    def __init__(self, room):
        self.room = room
        self.read = threading.Event()
        self.taken = b""
        self.all = threading.Event()
        self.error = None

    def write_now(self, data):
        if self.error is not None:
            raise self.error
        portion = data[: self.room]
        self.room -= len(portion)
        self.taken += portion
        return len(portion)

    def write(self, data):
        assert self.read.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        self.taken += data
        if self.taken.endswith(b"end\n"):
            self.all.set()


@pytest.fixture
def failures():
    """How often the CLI was said to listen no more."""
    return []


@pytest.fixture
def way(failures):
    """Makes an Outgoing over a pipe; stopped at the end."""
    made = []

    def make(pipe):
        made.append((Outgoing(pipe, "c", lambda: failures.append(1)), pipe))
        return made[-1][0]

    yield make
    for outgoing, pipe in made:
        outgoing.stop()
        pipe.read.set()
        if outgoing.thread is not None:
            outgoing.thread.join(PATIENCE)


def test_what_fits_is_written_at_once(way):
    """Without a thread, on the thread that sends."""
    pipe = Pipe(100)
    outgoing = way(pipe)
    outgoing.write(b"one\n")
    outgoing.write(b"two\n")
    assert pipe.taken == b"one\ntwo\n"
    assert outgoing.thread is None


def test_a_full_pipe_holds_up_nobody(way):
    """The sender goes on, and everything arrives in order once the CLI reads."""
    pipe = Pipe(6)
    outgoing = way(pipe)
    for line in (b"one\n", b"two\n", b"three\n", b"end\n"):
        outgoing.write(line)
    assert pipe.taken == b"one\ntw"
    assert outgoing.thread.name == "c-writer"
    pipe.read.set()
    assert pipe.all.wait(PATIENCE)
    assert pipe.taken == b"one\ntwo\nthree\nend\n"


def test_nothing_overtakes_what_is_being_written(way):
    """While the thread writes, even what would fit waits its turn."""
    pipe = Pipe(2)
    outgoing = way(pipe)
    outgoing.write(b"one\n")
    pipe.room = 100
    outgoing.write(b"end\n")
    pipe.read.set()
    assert pipe.all.wait(PATIENCE)
    assert pipe.taken == b"one\nend\n"


def test_a_cli_that_no_longer_reads_is_told_about_once(way, failures):
    """On the sender's thread or on the other, the failure is reported and raises nothing."""
    pipe = Pipe(100)
    pipe.error = BrokenPipeError()
    outgoing = way(pipe)
    outgoing.write(b"one\n")
    outgoing.write(b"two\n")
    assert failures == [1]


def test_a_failure_of_the_thread_is_told_too(way, failures):
    """A pipe that breaks while somebody waits for room is noticed."""
    pipe = Pipe(0)
    outgoing = way(pipe)
    outgoing.write(b"one\n")
    pipe.error = BrokenPipeError()
    pipe.read.set()
    outgoing.thread.join(PATIENCE)
    assert failures == [1]


def test_stopped_it_writes_no_more(way):
    """What waits is dropped, and the thread ends."""
    pipe = Pipe(0)
    outgoing = way(pipe)
    outgoing.write(b"one\n")
    outgoing.write(b"two\n")
    outgoing.stop()
    pipe.read.set()
    outgoing.thread.join(PATIENCE)
    outgoing.write(b"three\n")
    assert b"two" not in pipe.taken
    assert b"three" not in pipe.taken


def test_what_is_sent_is_counted(failures):
    """Lines and bytes, whether the pipe takes them at once or not; not after the end."""
    pipe, counter = Pipe(room=3), Traffic()
    outgoing = Outgoing(pipe, "test", lambda: failures.append(1), counter)
    outgoing.write(b"one\n")
    outgoing.write(b"two\nend\n")
    assert (counter.lines_sent, counter.bytes_sent) == (3, 12)
    pipe.read.set()
    assert pipe.all.wait(PATIENCE)
    outgoing.stop()
    outgoing.thread.join(PATIENCE)
    outgoing.write(b"late\n")
    assert (counter.lines_sent, counter.bytes_sent) == (3, 12)
    assert failures == []
