"""Calls that are made on somebody else's thread."""

import threading

import pytest
from patience import PATIENCE, is_held_up, wait_until

from claude_sync.engine.calling import POSTED_AT_ONCE, Posting


def test_a_call_is_made_where_it_is_posted_to():
    """And the thread that made it is known from then on."""
    calls, made = [], []
    posting = Posting(calls.append)
    posting(lambda: made.append(threading.current_thread()))
    assert (made, posting.has_run_here()) == ([], False)
    calls.pop()()
    assert made == [threading.current_thread()]
    assert posting.has_run_here()


def test_a_queue_that_takes_no_calls():
    """What it raises goes through, and the call does not count as waiting."""

    def full(call):
        raise RuntimeError("full")

    posting = Posting(full)
    for _ in range(POSTED_AT_ONCE + 1):
        with pytest.raises(RuntimeError):
            posting(print)


@pytest.mark.parametrize("way", ["made", "released"])
def test_so_many_calls_may_wait_and_no_more(way):
    """Then whoever posts waits, until one is made or the client closes."""
    calls, posted = [], threading.Event()
    posting = Posting(calls.append)
    for _ in range(POSTED_AT_ONCE):
        posting(lambda: None)
    thread = threading.Thread(target=lambda: (posting(lambda: None), posted.set()))
    thread.start()
    wait_until(lambda: is_held_up(thread))
    assert not posted.is_set()
    if way == "made":
        calls[0]()
    else:
        posting.release()
    assert posted.wait(PATIENCE)
    thread.join(PATIENCE)


def test_a_call_that_raises_makes_room():
    """It was made, all the same."""
    calls = []
    posting = Posting(calls.append)
    for _ in range(POSTED_AT_ONCE + 1):
        posting(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            calls.pop()()
