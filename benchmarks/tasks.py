"""
What the programs that ``run.py`` measures have in common.

Each measurement is in an interpreter of its own::

    python with_claude_sync.py stream EXECUTABLE 200000

which prints what the function of that name returns, as JSON.
"""

from __future__ import annotations

import json
import sys
import time

# What each delta of a stream says; its line is then about as long as that of a real one.
PIECE = "Nine words of text, as a model would write. "
# The MCP server with the tool that is called; the name that claude_sync gives to its own.
SERVER = "claude_sync"


def main(functions):
    """Do the task that the command line names, and print its figures."""
    task, word, count = sys.argv[1:]
    print(json.dumps(functions[task](word, int(count))))


def check_received(characters, count):
    """Refuse to report the speed of a stream that lost something."""
    if characters != count * len(PIECE):
        raise AssertionError(f"{characters} characters of {count * len(PIECE)} arrived")


def seconds_since(sent):
    """How long ago the stand-in wrote *sent*: its clock and ours are the same one."""
    return (time.monotonic_ns() - int(sent)) / 1e9


def durations(act, count):
    """Seconds of each of *count* acts."""
    seconds = []
    for number in range(count):
        begin = time.perf_counter()
        act(number)
        seconds.append(time.perf_counter() - begin)
    return seconds


def growth(act, count):
    """Memory after a tenth of *count* acts, when everything is warm, and after all."""
    sizes = []
    for number in range(count):
        act(number)
        if number + 1 in (count // 10, count):
            sizes.append(memory("VmRSS"))
    return sizes


def memory(field):
    """VmRSS (now) or VmHWM (at most, so far) of this process, in bytes; 0 if unknown."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:  # not Linux
        pass
    return 0
