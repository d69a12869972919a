"""Waiting with an end."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import pytest
from patience import PATIENCE

from claude_sync.support import waiting
from claude_sync.support.waiting import SLICE, Deadline, take_from, wait_for


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [100.0]
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])
    return now


def test_a_deadline_counts_down_to_zero(clock):
    """What is left gets less and never below zero."""
    deadline = Deadline(3)
    assert (deadline.left(), deadline.is_over()) == (3, False)
    clock[0] += 2
    assert (deadline.left(), deadline.is_over()) == (1, False)
    clock[0] += 2
    assert (deadline.left(), deadline.is_over()) == (0, True)


def test_no_timeout_never_ends(clock):
    """None waits for ever, slice by slice."""
    deadline = Deadline(None)
    clock[0] += 1e9
    assert deadline.left() is None
    assert not deadline.is_over()
    assert deadline.slice() == SLICE


def test_a_slice_is_short(clock):
    """No single wait is longer than a slice, nor goes past the deadline."""
    assert Deadline(3600).slice() == SLICE
    assert Deadline(0.1).slice() == pytest.approx(0.1)
    assert Deadline(0).slice() == 0


def test_wait_for_returns_when_it_holds():
    """A notified waiter looks at its predicate and returns True."""
    condition, flag = threading.Condition(), []

    def wait():
        with condition:
            return wait_for(condition, lambda: flag, Deadline(PATIENCE))

    with ThreadPoolExecutor(1) as pool:
        waiting_for_it = pool.submit(wait)
        with condition:
            flag.append(1)
            condition.notify_all()
        assert waiting_for_it.result(PATIENCE) is True


def test_wait_for_gives_up_in_time():
    """When the time is up first, it returns False."""
    condition = threading.Condition()
    with condition:
        assert wait_for(condition, lambda: False, Deadline(0.01)) is False


@pytest.mark.parametrize(
    ("timeout", "times"), [(-1.0, 100), (0, 50_000), (1e-6, 50_000), (1e-5, 50_000), (0.001, 500)]
)
def test_a_short_wait_for_a_queue_ends(timeout, times):
    """Also after items that nobody waited for, which some Pythons cannot do by themselves."""
    ended = threading.Event()

    def look():
        queue = SimpleQueue()
        for number in range(times):
            queue.put(number)
            assert take_from(queue, timeout) == number
            with contextlib.suppress(Empty):
                take_from(queue, timeout)
        ended.set()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    assert ended.wait(6 * PATIENCE)
    thread.join(PATIENCE)


def test_an_item_that_comes_later_is_waited_for():
    """With a timeout, and without one."""
    queue = SimpleQueue()
    with ThreadPoolExecutor(2) as pool:
        taken = [pool.submit(take_from, queue, timeout) for timeout in (PATIENCE, None)]
        queue.put(1)
        queue.put(2)
        assert sorted(each.result(PATIENCE) for each in taken) == [1, 2]
