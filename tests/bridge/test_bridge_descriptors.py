"""The pipes of the backend: whoever waits for them can be let go."""

from __future__ import annotations

import contextlib
import os
import threading

import pytest
from patience import PATIENCE

from claude_sync.bridge.descriptors import Descriptors


@pytest.fixture
def ends():
    """Two pipes: source, what fills it, what is read of the sink, sink."""
    source, filler = os.pipe()
    taker, sink = os.pipe()
    yield source, filler, taker, sink
    for descriptor in (source, filler, taker, sink):
        with contextlib.suppress(OSError):
            os.close(descriptor)


@pytest.fixture
def pipes(ends):
    """Both of them, as the backend has them."""
    made = Descriptors(ends[0], ends[3])
    yield made
    made.close()


class Call(threading.Thread):
    """Something that waits, and what came of it."""

    def __init__(self, function, *arguments):
        super().__init__()
        self._call = (function, arguments)
        self.result = None
        self.start()

    def run(self):
        """See the class."""
        function, arguments = self._call
        try:
            self.result = function(*arguments)
        except OSError as error:
            self.result = error


def test_what_is_written_is_read(pipes, ends):
    """Both ways; the end of the input is an end."""
    os.write(ends[1], b"in")
    assert pipes.read() == b"in"
    writing = Call(pipes.write, b"x" * 300_000)
    read = b""
    while len(read) < 300_000:
        read += os.read(ends[2], 65536)
    writing.join(PATIENCE)
    assert (read, writing.result) == (b"x" * 300_000, None)
    os.close(ends[1])
    assert pipes.read() == b""


def test_a_front_end_that_does_nothing_is_let_go(pipes):
    """Reading ends as at the end; writing says that nobody reads."""
    reading = Call(pipes.read)
    writing = Call(pipes.write, b"x" * 1_000_000)
    for call in (reading, writing):
        call.join(0.05)
        assert call.is_alive()
    pipes.stop()
    for call in (reading, writing):
        call.join(PATIENCE)
        assert not call.is_alive()
    assert reading.result == b""
    assert isinstance(writing.result, BrokenPipeError)
    assert pipes.read() == b""


def test_a_front_end_that_has_left_is_noticed(pipes, ends):
    """As an error, at once."""
    os.close(ends[2])
    with pytest.raises(BrokenPipeError):
        pipes.write(b"anybody?")


def test_the_descriptors_stay_as_they_are(pipes, ends):
    """Others may share them: they are neither closed nor changed."""
    pipes.stop()
    pipes.close()
    assert os.get_blocking(ends[0])
    assert os.get_blocking(ends[3])
