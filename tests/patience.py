"""To wait, in a test, for something that nothing announces."""

from __future__ import annotations

import threading
import time

LONGEST = 60.0
PAUSE = 0.01


def wait_until(check):
    """Wait, for a bounded time, until *check* holds."""
    pause, end = threading.Event(), time.monotonic() + LONGEST
    while not check():
        assert time.monotonic() < end, "it did not come to that"
        pause.wait(PAUSE)
