"""
The benchmarks' batches of many prompts. Started by ``run.py``, or by hand::

    python benchmarks/with_batches.py rate 4 80        prompts a second, on stand-in CLIs
    python benchmarks/with_batches.py overhead 1 2000  seconds for each prompt
    python benchmarks/with_batches.py memory 4 100000  bytes after a tenth, and at the end
    python benchmarks/with_batches.py resume 4 100000  as memory, with a checkpoint; then seconds
                                                       of a second run, which has nothing to ask
    python benchmarks/with_batches.py ask 800 4000     seconds for each question to a pool

``rate`` asks real processes, each of which thinks for a tenth of a second. The others ask
CLIs in memory, one for each worker, which answer at once: what is left is the library's.
"""

from __future__ import annotations

import os
import tempfile
import threading
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


def resume(workers, count):
    """What the process has, after a tenth of the prompts and after all; how long to go on."""
    sizes = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.db")
        for item in in_memory(workers, count, checkpoint=path):
            if item.index + 1 in (count // 10, count):
                sizes.append(tasks.memory("VmRSS"))
        begin = time.perf_counter()
        assert all(item.restored for item in in_memory(workers, count, checkpoint=path))
        return [*sizes, time.perf_counter() - begin]


def ask(threads, count):
    """Seconds for each question of so many threads to a pool of four clients."""
    threads = int(threads)
    ready = threading.Barrier(threads + 1)
    with claude_sync.Pool(4, transport=lambda: ScriptedCli(echo)) as pool:
        pool.ask("Are you there?")

        def work():
            ready.wait()
            for _ in range(count // threads):
                pool.ask("And now?")

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for each in workers:
            each.start()
        ready.wait()
        begin = time.perf_counter()
        for each in workers:
            each.join()
        return (time.perf_counter() - begin) / count


def in_memory(workers, count, **settings):
    """A batch on CLIs in memory."""
    prompts = (f"prompt {number}" for number in range(count))
    transport = lambda: ScriptedCli(echo)  # noqa: E731
    return claude_sync.map(prompts, workers=int(workers), transport=transport, **settings)


if __name__ == "__main__":
    tasks.main(globals())
