"""
Measure claude_sync side by side with the official SDK, and print one table.

::

    python benchmarks/run.py                    several minutes
    python benchmarks/run.py --quick            less work, fewer rounds
    python benchmarks/run.py --only streams     some of the rows; --help tells the names

Each side has a clean environment of its own, which pip makes at the first run and which is
kept in ``~/.cache/claude-sync/benchmarks``. The sides are measured in turns, each time in a
fresh interpreter. They talk to the same stand-in executable, which needs no account, or to
the same real CLI with a model on 127.0.0.1. The *floor* is what Python can do without a
library: ``readline``, ``ujson.loads`` and one ``queue.Queue`` to another thread.

Needs POSIX, pip 22.3 or newer, and no account. Rows that fail are left out of the table and named
at the end; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from operator import itemgetter
from pathlib import Path
from statistics import median, quantiles

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import session_list  # noqa: E402
from environments import PATIENCE, Failed, interpreter, requirement, run, variables  # noqa: E402
from stand_in_script import serve  # noqa: E402
from table import Row, print_table  # noqa: E402

from claude_sync.testing import LoopbackModel, StandIn  # noqa: E402

BOTH = ("ours", "theirs")
# What does a task, by environment.
OURS = {"ours": "with_claude_sync.py"}
ALL = {**OURS, "theirs": "with_official_sdk.py", "floor": "with_nothing.py"}
BATCHES = {"ours": "with_batches.py"}
TK = {"ours": "with_windows.py"}
QT = {"qt": "with_windows.py"}
PACKAGES = {"ours": "claude_sync", "theirs": "claude_agent_sdk"}
FIRST, SECOND = itemgetter(0), itemgetter(1)
LEGEND = """\
Medians, and half of the distance between the quartiles of the runs. *ratio*: above 1,
claude_sync is so many times better; *the same*: by less than 5 %, or the quartiles overlap.
*floor*: no library, only ``readline``, ``ujson.loads`` and a ``queue.Queue``."""

AFTER_IMPORT = """
import sys
import {package}
modules = len(sys.modules)
sys.path.insert(0, {here!r})
import tasks
print([modules, tasks.memory("VmRSS")])
"""

COLD = {
    "ours": """
import sys
import claude_sync
print(claude_sync.ask("Hello", cli=sys.argv[1]))
""",
    "theirs": """
import asyncio
import sys
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

async def main():
    options = ClaudeAgentOptions(cli_path=sys.argv[1])
    async for message in query(prompt="Hello", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)

asyncio.run(main())
""",
}


class Benchmark:
    """
    What measures; methods that yield give rows of the table.

    Attributes:
        errors: What did not work, one line each.

    """

    def __init__(self, folder, quick):
        self.folder = folder
        self.quick = quick
        self.errors = []
        # A file: the official SDK takes a path, not a list of words.
        self.cli = folder / "claude"
        command = shlex.join(StandIn(serve, lifetime=PATIENCE).command)
        self.cli.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        self.cli.chmod(0o755)

    def rows(self, plans):
        """The rows of all plans; one that fails does not keep the others away."""
        for name, measure in plans.items():
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                yield from measure(self)
            except Exception as error:  # whatever it is, the table comes without it
                told = str(error) if isinstance(error, Failed) else repr(error)
                self.errors.append(f"{name}: left out, {told}")

    # What is measured.

    def imports(self):
        """A fresh interpreter that imports it and ends, less one that only ends."""

        def seconds(side):
            times = []
            for statement in ("pass", f"import {PACKAGES[side]}"):
                begin = time.perf_counter()
                self.python(side, "-c", statement)
                times.append(time.perf_counter() - begin)
            return times[1] - times[0]

        def state(side):
            source = AFTER_IMPORT.format(here=str(HERE), package=PACKAGES[side])
            return json.loads(self.python(side, "-c", source))

        yield Row("import", "ms", self.in_turns(seconds, rounds=15, warm=True))
        states = self.in_turns(state, rounds=3)
        yield Row("modules loaded then", "", states, FIRST)
        yield Row("memory then", "MiB", states, SECOND)

    def session_lists(self):
        """A list of a thousand saved conversations."""
        count = 1000
        config = self.folder / "config"
        session_list.save(config, count)
        modules = {**PACKAGES, "ours": "claude_sync.sessions"}

        def seconds(side):
            source = session_list.LISTING.format(module=modules[side])
            taken, found = json.loads(self.python(side, "-c", source, CLAUDE_CONFIG_DIR=config))
            if found != count:
                raise Failed(f"{PACKAGES[side]} listed {found} sessions")
            return taken

        yield Row(f"list {count:,} saved sessions", "ms", self.in_turns(seconds))

    def cold_scripts(self):
        """A script from its start to its end, with the real CLI: import, one question, print."""
        cli = bundled_cli()
        home = self.folder / "home"
        home.mkdir()

        def seconds(side):
            begin = time.perf_counter()
            printed = self.python(side, "-c", COLD[side], cli, **model.environment(home))
            if printed != "Hello!\n":
                raise Failed(f"the script of {PACKAGES[side]} printed {printed!r}")
            return time.perf_counter() - begin

        with LoopbackModel() as model:
            model.default("Hello!")
            runs = self.in_turns(seconds, rounds=7, warm=True)
        yield Row("script with one question, real CLI", "ms", runs)

    # How it is measured.

    def size(self, count):
        """How much to do in a run."""
        return count // 4 if self.quick else count

    def in_turns(self, measure, sides=BOTH, rounds=5, warm=False):
        """
        What *measure* gives for each side, a list each; every second round goes backwards.

        *warm* does it once without looking at the clock: files are made, disks are cached.
        """
        sides = [side for side in sides if self.has(side)]
        runs = {side: [] for side in sides}
        for side in sides * warm:
            measure(side)
        for number in range(min(rounds, 3) if self.quick else rounds):
            for side in reversed(sides) if number % 2 else sides:
                runs[side].append(measure(side))
        return runs

    def has(self, side):
        """Whether there is an environment; a table without one of the others is still one."""
        try:
            interpreter(side)
        except Failed as error:
            if side in ("ours", "qt"):
                raise
            if (told := f"{side}: the column is left out, {error}") not in self.errors:
                self.errors.append(told)
            return False
        return True

    def python(self, environment, *words, **more):
        """What a fresh interpreter prints; it gets a folder of its own to work in."""
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        # Where there is no display, Tk gets one that nobody sees; Qt needs none.
        hidden = "tk" in words and not os.environ.get("DISPLAY") and shutil.which("xvfb-run")
        before = [hidden, "-a"] if hidden else []
        command = [*before, interpreter(environment), *map(str, words)]
        try:
            return run(command, cwd=work, env={**variables(), **more})
        except Failed as error:
            raise Failed(f"{environment}: {error}") from None


def task(name, count, *rows, programs=ALL, word=None, rounds=5):
    """
    Measure a task of ``tasks.py``; *programs*, by environment, can do it.

    *count* says how much to do, *word* where, if not with the stand-in. Each row has a title, a
    unit, and a function that makes its figure of what a run gives.
    """

    def measure(benchmark):
        size = benchmark.size(count)

        def once(environment):
            words = [HERE / programs[environment], name, word or benchmark.cli, size]
            return json.loads(benchmark.python(environment, *words))

        runs = benchmark.in_turns(once, programs, rounds)
        runs = {"ours" if side == "qt" else side: each for side, each in runs.items()}
        for title, unit, figure in rows:
            title = title.format(early=size // 10, all=size, mib=size >> 20)
            yield Row(title, unit, runs, figure)

    return measure


def slowest(seconds):
    """What 99 of 100 do not pass."""
    return quantiles(seconds, n=100)[98]


# The measurements by name, in the order of the table.
PLANS = {
    "imports": Benchmark.imports,
    "streams": task("stream", 200_000, ("stream events to a text handler", "1/s", float)),
    "raw_streams": task("raw_stream", 200_000, ("stream events, each one raw", "1/s", float)),
    "bridged_streams": task(
        "bridged_stream", 200_000, ("stream events over a bridge, raw", "1/s", float), programs=OURS
    ),
    "empty_turns": task("turns", 1000, ("empty turn", "ms", median)),
    "permission_requests": task(
        "permissions", 1000, ("permission asked, to the answer", "ms", median)
    ),
    "tool_requests": task("calls", 1000, ("tool called, to the answer", "ms", median)),
    "latencies": task(
        "latency",
        2000,
        ("delta to handler, median", "ms", median),
        ("delta to handler, 99 of 100", "ms", slowest),
    ),
    "tk_windows": task(
        "tk", 100_000, ("timer of a Tk window late, 99 of 100", "ms", slowest), programs=TK
    ),
    "qt_windows": task(
        "qt", 100_000, ("timer of a Qt window late, 99 of 100", "ms", slowest), programs=QT
    ),
    **{
        f"{kit}_{name}": task(
            f"{kit}_{name}",
            count,
            (f"timer of a {title} late, 99 of 100", "ms", slowest),
            programs=side,
        )
        for kit, side in (("tk", TK), ("qt", QT))
        for name, count, title in (
            ("chat", 100_000, f"{kit.title()} chat"),
            ("long_chat", 2000, f"{kit.title()} chat of {{all:,}} messages"),
        )
    },
    "large_messages": task(
        "large",
        64 * 2**20,
        ("message of {mib} MiB", "ms", FIRST),
        ("memory it takes at most", "MiB", SECOND),
    ),
    "long_sessions": task(
        "everyday",
        2000,
        ("memory after {early:,} turns", "MiB", FIRST),
        ("memory after {all:,} turns", "MiB", SECOND),
        rounds=3,
    ),
    "session_lists": Benchmark.session_lists,
    **{
        f"batches_of_{workers}": task(
            "rate",
            workers * 60,
            (f"batch, prompts of 0.1 s, {workers} worker{'s' * (workers > 1)}", "1/s", float),
            programs=BATCHES,
            word=workers,
        )
        for workers in (1, 2, 4, 8)
    },
    "cost_of_batches": task(
        "overhead", 2000, ("batch, time for each prompt", "ms", float), programs=BATCHES, word=1
    ),
    "memory_of_batches": task(
        "memory",
        20_000,
        ("memory after {early:,} prompts", "MiB", FIRST),
        ("memory after {all:,} prompts", "MiB", SECOND),
        programs=BATCHES,
        word=4,
        rounds=1,
    ),
    "cold_scripts": Benchmark.cold_scripts,
}


def bundled_cli():
    """The CLI inside the official SDK's package: both sides run this one."""
    packages = Path(interpreter("theirs")).parent.parent / "lib"
    found = [*packages.glob("python*/site-packages/claude_agent_sdk/_bundled/claude")]
    if not found:
        raise Failed("the official SDK has no CLI for this system")
    return str(found[0])


def machine(before):
    """Where this ran, and what else ran there."""
    try:
        version = run([bundled_cli(), "--version"]).strip()
    except Failed:
        version = "none"
    return (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs; {requirement('theirs')}; CLI {version}\n"
        f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    )


def main():
    """Measure and print."""
    names = ", ".join(PLANS)
    parser = argparse.ArgumentParser(
        description="Measure claude_sync side by side with the official SDK.",
        epilog=f"The names: {names}.",
    )
    parser.add_argument("--quick", action="store_true", help="less work, fewer rounds")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="only the measurements whose name has this"
    )
    options = parser.parse_args()
    plans = {name: plan for name, plan in PLANS.items() if options.only in name}
    if not plans:
        parser.error(f"no name has {options.only!r} in it. The names: {names}")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="claude-sync-benchmark-") as folder:
        benchmark = Benchmark(Path(folder), options.quick)
        rows = [*benchmark.rows(plans)]
    if rows:
        print_table(rows)
    print(f"\n{LEGEND}\n\n{machine(before)}", *benchmark.errors, sep="\n")
    return 1 if benchmark.errors else 0


if __name__ == "__main__":
    sys.exit(main())
