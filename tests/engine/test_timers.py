"""Deadlines: each fires once, in time order, on one thread that ends with the client."""

from __future__ import annotations

import queue
import threading

import pytest
from patience import PATIENCE

from claude_sync.engine.timers import FEW, Timer, Timers

NEVER = 3600


@pytest.fixture
def timers():
    """The deadlines of a client called t."""
    made = Timers("t")
    yield made
    thread = made.stop()
    if thread is not None:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_deadline_fires_on_the_timer_thread(timers):
    """The callback runs on a daemon thread that carries the client's name."""
    heard = queue.Queue()
    timers.after(0, lambda: heard.put(threading.current_thread()))
    thread = heard.get(timeout=PATIENCE)
    assert (thread.name, thread.daemon) == ("t-timer", True)


def test_no_thread_without_a_deadline():
    """A client without timeouts has no timer thread."""
    assert Timers("t").stop() is None


def test_the_soonest_fires_first(timers):
    """The order is that of the deadlines, not of the calls."""
    heard = queue.Queue()
    timers.after(NEVER, lambda: heard.put("never"))
    timers.after(0.05, lambda: heard.put("second"))
    timers.after(0, lambda: heard.put("first"))
    assert [heard.get(timeout=PATIENCE) for _ in range(2)] == ["first", "second"]
    assert heard.empty()


def test_deadlines_of_the_same_moment_keep_their_order(timers):
    """Equal deadlines fire in the order in which they were set."""
    heard = queue.Queue()
    for number in range(20):
        timers.after(0, lambda number=number: heard.put(number))
    assert [heard.get(timeout=PATIENCE) for _ in range(20)] == list(range(20))


def test_a_cancelled_deadline_does_not_fire(timers):
    """After cancel() the callback is not called; cancelling again is harmless."""
    heard = queue.Queue()
    timer = timers.after(0.02, lambda: heard.put("cancelled"))
    timer.cancel()
    timer.cancel()
    timers.after(0.05, lambda: heard.put("later"))
    assert heard.get(timeout=PATIENCE) == "later"


def test_a_timer_fires_once():
    """Whoever fires it again calls nothing."""
    calls = []
    timer = Timer(lambda: calls.append(1))
    timer.fire()
    timer.fire()
    timer.cancel()
    assert calls == [1]


def test_a_failing_callback_is_logged_and_stops_nobody(timers, caplog):
    """The thread outlives a callback that raises."""
    heard = queue.Queue()
    timers.after(0, lambda: 1 / 0)
    timers.after(0, lambda: heard.put("next"))
    assert heard.get(timeout=PATIENCE) == "next"
    assert "a timer failed" in caplog.text


def test_stop_ends_the_thread_before_its_deadlines(timers):
    """stop() forgets what is not due yet, and later deadlines never fire."""
    fired = threading.Event()
    timers.after(NEVER, fired.set)
    thread = timers.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    timers.after(0, fired.set)
    assert timers.stop() is thread
    assert not fired.is_set()


def test_a_callback_may_set_the_next_deadline(timers):
    """No lock is held while a callback runs."""
    heard = queue.Queue()
    timers.after(0, lambda: timers.after(0, lambda: heard.put("second")))
    assert heard.get(timeout=PATIENCE) == "second"


def test_cancelled_deadlines_do_not_pile_up(timers):
    """Thousands of questions with a timeout of an hour leave next to nothing behind."""
    for _ in range(1000):
        timers.after(NEVER, lambda: None).cancel()
    assert len(timers._heap) <= FEW + 1


def test_deadlines_that_stand_are_kept(timers):
    """However many others are cancelled, each that is not is there, the next one first."""
    heard = queue.Queue()
    standing = [timers.after(NEVER, lambda: None) for _ in range(3 * FEW)]
    for _ in range(10 * FEW):
        timers.after(NEVER, lambda: None).cancel()
    assert len(timers._heap) <= 2 * len(standing) + 1
    assert {entry[2] for entry in timers._heap} >= set(standing)
    timers.after(0, lambda: heard.put("due"))
    assert heard.get(timeout=PATIENCE) == "due"
