"""
The benchmarks' batches of many prompts. Started by ``run.py``, or by hand::

    python benchmarks/with_batches.py rate 4 80        prompts a second, on stand-in CLIs
    python benchmarks/with_batches.py overhead 1 2000  seconds for each prompt
    python benchmarks/with_batches.py memory 4 100000  bytes after a tenth, and at the end

``rate`` asks real processes, each of which thinks for a tenth of a second. The others ask
CLIs in memory, one for each worker, which answer at once: what is left is the library's.
"""

from __future__ import annotations

import time

import tasks

import claude_sync
from claude_sync.testing import ScriptedCli, StandIn
from claude_sync.testing.offline import echo

THINKING = "[[sleep 0.1]]"


def rate(workers, count):
    """Prompts a second, from the first answer on: processes are started before."""
    workers = int(workers)
    prompts = (f"{THINKING} {number}" for number in range(count + workers))
    batch = claude_sync.map(prompts, workers=workers, cli=StandIn().command)
    for _ in range(workers):
        next(batch)
    begin = time.perf_counter()
    done = sum(item.ok for item in batch)
    return done / (time.perf_counter() - begin)


def overhead(workers, count):
    """Seconds for each prompt."""
    begin = time.perf_counter()
    done = sum(item.ok for item in in_memory(workers, count))
    return (time.perf_counter() - begin) / done


def memory(workers, count):
    """What the process has, after a tenth of the prompts and after all of them."""
    sizes = []
    for item in in_memory(workers, count):
        if item.index + 1 in (count // 10, count):
            sizes.append(tasks.memory("VmRSS"))
    return sizes


def in_memory(workers, count):
    """A batch on CLIs in memory."""
    prompts = (f"prompt {number}" for number in range(count))
    return claude_sync.map(prompts, workers=int(workers), transport=lambda: ScriptedCli(echo))


if __name__ == "__main__":
    tasks.main(globals())
