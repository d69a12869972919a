"""A thread that listens: every line, whatever happens, and one end."""

from __future__ import annotations

import pytest

from claude_sync.runtime.listening import Listener


def listen(*chunks, hear=None):
    """What a listener heard of *chunks*, the last word included; an exception is raised."""
    heard = []
    waiting = [*chunks, b""]

    def read():
        chunk = waiting.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def take(line):
        heard.append(line)
        if hear is not None:
            hear(line)

    listener = Listener("listener", read, take, lambda: heard.append("end"))
    listener.start()
    listener.join(10)
    assert not listener.is_alive()
    return heard


def test_lines_are_heard_in_order():
    """However they are cut; the last one needs no end of line."""
    assert listen(b"on", b"e\ntwo\n", b"thr", b"ee") == [b"one", b"two", b"three", "end"]


def test_a_line_that_makes_trouble_does_not_end_it(caplog):
    """It is told to the log, and the next one is heard."""

    def hear(line):
        if line == b"bad":
            raise ValueError("no use")

    assert listen(b"bad\ngood\n", hear=hear) == [b"bad", b"good", "end"]
    assert "no use" in caplog.text


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("odd")])
def test_a_pipe_that_cannot_be_read_is_the_end(error, caplog):
    """Whoever waits for the end hears of it."""
    assert listen(b"one\n", error) == [b"one", "end"]
    assert "reading failed" in caplog.text
