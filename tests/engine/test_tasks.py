"""Threads for what may have to wait."""

import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync.engine import tasks as module
from claude_sync.engine.tasks import Tasks


def test_each_task_has_a_thread_of_its_own():
    """They run at once, and the threads end with them."""
    tasks, both = Tasks("c"), threading.Barrier(2)
    for _ in range(2):
        tasks.run(lambda: both.wait(PATIENCE), users_code=True)
    wait_until(lambda: not tasks.threads())
    assert tasks.lent() == []


def test_a_task_that_fails_is_logged(caplog):
    """And stops nobody."""
    tasks = Tasks("c")
    tasks.run(lambda: 1 / 0)
    wait_until(lambda: not tasks.threads())
    assert "a task failed" in caplog.text


def test_stopped_it_takes_no_more():
    """What runs goes on."""
    tasks = Tasks("c")
    tasks.stop()
    tasks.run(pytest.fail)
    assert tasks.threads() == []


def test_without_a_thread_it_is_tried_again(monkeypatch, caplog):
    """A request of the CLI that nobody answers would park its turn."""
    later, done = [], threading.Event()
    tasks = Tasks("c", lambda delay, function: later.append((delay, function)))
    start = threading.Thread.start

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    tasks.run(done.set)
    monkeypatch.setattr(threading.Thread, "start", start)
    ((delay, again),) = later
    assert delay == module.AGAIN
    assert "no thread could be started" in caplog.text
    again()
    assert done.wait(PATIENCE)
    wait_until(lambda: not tasks.threads())
