"""To wait, in a test, for something that nothing announces."""

from __future__ import annotations

import sys
import threading
import time

# Longer than anything takes on a loaded machine; only failures ever wait for it.
PATIENCE = 60.0
PAUSE = 0.005


def wait_until(check, patience=PATIENCE):
    """Wait, for a bounded time, until *check* holds; what it returned then."""
    pause, end = threading.Event(), time.monotonic() + patience
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, f"waited {patience} s in vain"
        pause.wait(PAUSE)


def is_held_up(thread):
    """Whether a thread waits at a condition, which does not hold."""
    frame = sys._current_frames().get(thread.ident)
    while frame is not None and frame.f_code is not threading.Condition.wait.__code__:
        frame = frame.f_back
    return frame is not None


def deadlines_pass(client, seconds):
    """Wait until a client has met all its deadlines of the next *seconds*: they come in order."""
    passed = threading.Event()
    client._session.timers.after(seconds, passed.set)
    assert passed.wait(PATIENCE)


def process_is_gone(pid):
    """Whether no process of that id runs; one that waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
