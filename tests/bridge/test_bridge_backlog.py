"""What waits for a slow session: in order, complete, and bounded in memory."""

from __future__ import annotations

import threading

from claude_sync.bridge.backlog import Backlog


def test_what_is_put_is_taken_in_order():
    """All of it at once, then the end."""
    backlog = Backlog()
    backlog.put(b"one\n")
    backlog.put(b"")
    backlog.put(b"two\n")
    backlog.end()
    backlog.put(b"late\n")
    assert backlog.take() == b"one\ntwo\n"
    assert backlog.take() == b""
    assert backlog.take() == b""


def test_whoever_takes_waits():
    """A thread that waits gets what comes later."""
    backlog = Backlog()
    taken = []
    thread = threading.Thread(target=lambda: taken.extend(iter(backlog.take, b"")))
    thread.start()
    backlog.put(b"x")
    backlog.end()
    thread.join(10)
    assert b"".join(taken) == b"x"


def test_beyond_the_bound_it_waits_on_disk():
    """Memory holds so much, a file the rest; order is kept, and then there is no file."""
    backlog = Backlog(in_memory=10)
    pieces = [b"%d\n" % number for number in range(100_000)]
    for piece in pieces:
        backlog.put(piece)
    assert backlog.is_on_disk
    taken = [backlog.take()]
    assert len(taken[0]) <= 10
    backlog.put(b"newest\n")
    while backlog.is_on_disk:
        taken.append(backlog.take())
    backlog.put(b"in memory again\n")
    assert not backlog.is_on_disk
    backlog.end()
    taken.append(backlog.take())
    assert b"".join(taken) == b"".join(pieces) + b"newest\nin memory again\n"


def test_one_large_piece_needs_no_disk():
    """What comes alone is taken at once, whatever its size."""
    backlog = Backlog(in_memory=10)
    backlog.put(b"x" * 1000)
    assert not backlog.is_on_disk
    assert backlog.take() == b"x" * 1000


def test_freeing_lets_go_of_everything():
    """Also of a file that nobody has read; whoever waits comes back."""
    backlog = Backlog(in_memory=1)
    backlog.put(b"aa")
    backlog.put(b"bb")
    assert backlog.is_on_disk
    backlog.free()
    assert not backlog.is_on_disk
    assert backlog.take() == b""
