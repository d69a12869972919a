"""What the tests of the bridge share: front ends that are ended after the test."""

from __future__ import annotations

import threading

import pytest
from bridge_front_end import InProcess, OfProcess

from claude_sync.testing import StandIn


@pytest.fixture
def front_end():
    """Make front ends of backends in this process; the CLI is the stand-in."""
    made = []

    def make(script=None, *, settings=None, **more):
        more.setdefault("cli", StandIn(script, **(settings or {})).command)
        made.append(InProcess(**more))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def front_end_of_process():
    """Make front ends of backends that are processes of their own."""
    made = []

    def make(*words, **more):
        made.append(OfProcess(*words, **more))
        return made[-1]

    yield make
    for each in made:
        each.end()


@pytest.fixture
def until_still():
    """Wait until a number that grows has stopped growing; the number."""

    def wait(number_now):
        pause = threading.Event()
        last, still = number_now(), 0
        for _ in range(1200):
            pause.wait(0.05)
            now = number_now()
            still = still + 1 if now == last and now else 0
            last = now
            if still == 10:
                return last
        raise AssertionError(f"it still grows, or never began: {last}")

    return wait
