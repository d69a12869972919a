"""
What every test may rely on: it starts clean, and it must end clean.

A test that leaves a thread, a child process or a descriptor behind fails, even
if everything it asserted was true.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import pytest
from hypothesis import settings

# Our own tests use what the tests of other people's programs use.
pytest_plugins = ("_claude_sync_pytest",)

# Examples are not timed: a loaded machine is no bug. They are the same in every run.
settings.register_profile("tests", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("tests")

# A shell lets its background jobs ignore Ctrl-C, and they let their children: then no test of
# it could pass. A handler, unlike that, is not handed on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Longer than anything takes on a loaded machine; only failures ever wait for it.
PATIENCE = 30.0


def open_descriptors():
    """The descriptors of this process, with what each one is."""
    found = {}
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:  # not Linux
        return found
    for name in names:
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the one that listed the folder
            continue
    return found


def child_processes():
    """The ids of our children that live, or were not waited for."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            listed = file.read().split()
    except OSError:
        return set()
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                listed += file.read().split()
        except OSError:
            continue
    return {int(pid) for pid in listed}


def eventually(check):
    """What *check* still reports once things had time to end by themselves."""
    left = check()
    if not left:
        return left
    gc.collect()  # what is only waiting to be collected is not left behind
    end = time.monotonic() + 5
    while left and time.monotonic() < end:
        threading.Event().wait(0.01)
        left = check()
    return left


@pytest.fixture(autouse=True)
def nothing_outlives_its_test():
    """Every test ends with the threads, children and descriptors it began with."""
    threads = set(threading.enumerate())
    children = child_processes()
    descriptors = open_descriptors()
    yield
    leaked = eventually(lambda: [t.name for t in threading.enumerate() if t not in threads])
    assert not leaked, f"threads still running: {leaked}"
    leaked = eventually(lambda: child_processes() - children)
    assert not leaked, f"child processes left: {leaked}"

    def new_descriptors():
        return {
            number: what
            for number, what in open_descriptors().items()
            if descriptors.get(number) != what and not what.startswith("/")
        }

    leaked = eventually(new_descriptors)
    assert not leaked, f"descriptors left open: {leaked}"


@pytest.fixture(autouse=True)
def no_nested_session(monkeypatch):
    """Tests see no Claude variables of whoever runs them."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC")) and not name.startswith("CLAUDE_SYNC_TEST"):
            monkeypatch.delenv(name)
