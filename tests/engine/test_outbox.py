"""The way to the CLI: at once where the pipe takes it, by a thread where it does not."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync.engine.launch.transport import Transport
from claude_sync.engine.outbox import Outbox


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
    """Makes an Outbox over a pipe; stopped at the end."""
    made = []

    def make(pipe):
        made.append((Outbox(pipe, "c", lambda: failures.append(1)), pipe))
        return made[-1][0]

    yield make
    for outbox, pipe in made:
        outbox.stop()
        pipe.read.set()
        if outbox.writer is not None:
            outbox.writer.join(PATIENCE)


def send(outbox, data):
    """Post it and write what the pipe takes."""
    outbox.post(data)
    outbox.flush()


def test_what_fits_is_written_at_once(way):
    """Without a thread, on the thread that sends."""
    pipe = Pipe(100)
    outbox = way(pipe)
    send(outbox, b"one\n")
    send(outbox, b"two\n")
    assert pipe.taken == b"one\ntwo\n"
    assert outbox.writer is None


def test_a_full_pipe_holds_up_nobody(way):
    """The sender goes on, and everything arrives in order once the CLI reads."""
    pipe = Pipe(6)
    outbox = way(pipe)
    for line in (b"one\n", b"two\n", b"three\n", b"end\n"):
        send(outbox, line)
    assert pipe.taken == b"one\ntw"
    assert outbox.writer.name == "c-writer"
    pipe.read.set()
    assert pipe.all.wait(PATIENCE)
    assert pipe.taken == b"one\ntwo\nthree\nend\n"


def test_nothing_overtakes_what_is_being_written(way):
    """While the thread writes, even what would fit waits its turn."""
    pipe = Pipe(2)
    outbox = way(pipe)
    send(outbox, b"one\n")
    pipe.room = 100
    send(outbox, b"end\n")
    pipe.read.set()
    wait_until(lambda: pipe.taken == b"one\nend\n")


def test_a_cli_that_no_longer_reads_is_told_about_once(way, failures):
    """On the sender's thread or on the other, the failure is reported and raises nothing."""
    pipe = Pipe(100)
    pipe.error = BrokenPipeError()
    outbox = way(pipe)
    send(outbox, b"one\n")
    send(outbox, b"two\n")
    assert failures == [1]


def test_a_failure_of_the_thread_is_told_too(way, failures):
    """A pipe that breaks while somebody waits for room is noticed."""
    pipe = Pipe(0)
    outbox = way(pipe)
    send(outbox, b"one\n")
    pipe.error = BrokenPipeError()
    pipe.read.set()
    outbox.writer.join(PATIENCE)
    assert failures == [1]


def test_stopped_it_writes_no_more(way):
    """What waits is dropped, and the thread ends."""
    pipe = Pipe(0)
    outbox = way(pipe)
    send(outbox, b"one\n")
    send(outbox, b"two\n")
    outbox.stop()
    pipe.read.set()
    outbox.writer.join(PATIENCE)
    send(outbox, b"three\n")
    assert b"two" not in pipe.taken
    assert b"three" not in pipe.taken


def test_what_is_sent_is_counted(way):
    """Lines and bytes, whether the pipe takes them at once or not; not after the end."""
    pipe = Pipe(room=3)
    outbox = way(pipe)
    send(outbox, b"one\n")
    send(outbox, b"end\n")
    pipe.read.set()
    assert pipe.all.wait(PATIENCE)
    wait_until(lambda: (outbox.lines_sent, outbox.bytes_sent) == (2, 8))
    outbox.stop()
    send(outbox, b"late\n")
    assert (outbox.lines_sent, outbox.bytes_sent) == (2, 8)


@pytest.mark.parametrize("when", ["while it is written", "before", "after the end"])
def test_whoever_sent_what_was_lost_is_told(way, when):
    """A question that the CLI cannot have read is asked again."""
    pipe, lost = Pipe(100), []
    outbox = way(pipe)
    if when == "after the end":
        outbox.stop()
    outbox.post(b"one\n", lambda: lost.append(1))
    if when == "before":
        outbox.stop()
    pipe.error = BrokenPipeError()
    outbox.flush()
    assert lost == [1]


def test_posting_writes_nothing(way):
    """It may be done under a lock."""
    pipe = Pipe(100)
    outbox = way(pipe)
    outbox.post(b"one\n")
    assert pipe.taken == b""
    outbox.flush_soon()
    pipe.read.set()
    wait_until(lambda: pipe.taken == b"one\n")
