"""Responders: a pool that grows with what is open at once and ends with the client."""

from __future__ import annotations

import queue
import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync.runtime.responders import Responders


@pytest.fixture
def responders():
    """The pool of a client called r."""
    made = Responders("r")
    yield made
    for thread in made.stop():
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_task_runs_on_a_thread_of_the_pool(responders):
    """Threads are daemons and carry the client's name."""
    heard = queue.Queue()
    responders.run(lambda: heard.put(threading.current_thread()))
    thread = heard.get(timeout=PATIENCE)
    assert (thread.name, thread.daemon) == ("r-responder-1", True)


def test_no_thread_without_a_task():
    """A client that was asked nothing has no responder."""
    assert Responders("r").stop() == []


def test_tasks_that_wait_do_not_hold_up_others(responders):
    """However many tasks wait for a person, the next one runs."""
    leave, entered = threading.Event(), queue.Queue()

    def wait():
        entered.put(1)
        assert leave.wait(PATIENCE)

    for _ in range(10):
        responders.run(wait)
    for _ in range(10):
        entered.get(timeout=PATIENCE)
    done = threading.Event()
    responders.run(done.set)
    assert done.wait(PATIENCE)
    leave.set()


def test_a_free_thread_is_used_again(responders):
    """One task after the other needs one thread."""
    heard = queue.Queue()
    responders.run(lambda: heard.put(threading.get_ident()))
    first = heard.get(timeout=PATIENCE)
    # The thread is free when the pool says so, a moment after its task is done.
    wait_until(lambda: responders._free == 1)
    responders.run(lambda: heard.put(threading.get_ident()))
    assert heard.get(timeout=PATIENCE) == first


def test_a_failing_task_is_logged_and_stops_nobody(responders, caplog):
    """The pool outlives a task that raises."""
    done = threading.Event()
    responders.run(lambda: 1 / 0)
    responders.run(done.set)
    assert done.wait(PATIENCE)
    wait_until(lambda: "a task failed" in caplog.text)


def test_stop_takes_no_more_tasks(responders):
    """After stop() tasks are dropped and the threads end."""
    ran = threading.Event()
    responders.run(ran.set)
    assert ran.wait(PATIENCE)
    late = threading.Event()
    threads = responders.stop()
    responders.run(late.set)
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert not late.is_set()


def test_a_task_may_add_a_task(responders):
    """No lock is held while a task runs."""
    done = threading.Event()
    responders.run(lambda: responders.run(done.set))
    assert done.wait(PATIENCE)
