"""Executors and prompts that tests of batches share."""

from __future__ import annotations

import importlib
from concurrent.futures import Executor, Future

import pytest
from patience import PATIENCE  # noqa: F401 - tests of faults take it from here

from claude_sync import Answer
from claude_sync.batch.items import Outcome


def needed(name):
    """A module of the extra ``test``; without it a test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return pytest.skip(f"needs {name}")


class InlineExecutor(Executor):
    """
    Answers at once, in the thread that asks; what comes of each attempt is the test's.

    Args:
        outcome: Called with the task; returns an Outcome, or raises what a worker would.

    """

    def __init__(self, outcome=None):
        self.outcome = outcome or answered
        self.tasks = []

    def submit(self, function, /, *arguments, **keywords):
        """Make the outcome; *function* is that of real workers."""
        task = arguments[1]
        self.tasks.append((task.index, task.attempts))
        future = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(self.outcome(task))
        except BaseException as error:
            future.set_exception(error)
        return future


class HandDriven(Executor):
    """Keeps what it was given, until the test finishes it."""

    def __init__(self):
        self.open = []

    def submit(self, function, /, *arguments, **keywords):
        """Keep it; ``self.open`` has the task and its future."""
        future = Future()
        self.open.append((arguments[1], future))
        return future


def answered(task, cost_usd=0.0):
    """The outcome of a question that is answered with itself."""
    answer = Answer(f"echo: {task.prompt}")
    answer.cost_usd = cost_usd
    return Outcome(answer, cost_usd=cost_usd, seconds=0.5)
