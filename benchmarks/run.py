"""
Measure claude_sync side by side with the official SDK, and print one table.

::

    python benchmarks/run.py            several minutes
    python benchmarks/run.py --quick    fewer repetitions

Both libraries are measured in the same run, in turns, each time in a fresh
interpreter; the table shows medians. They talk to the same stand-in executable,
which needs no account, or to the real CLI with a model on 127.0.0.1. The *floor*
is what Python can do without a library: ``readline``, ``ujson.loads`` and one
``queue.Queue`` to another thread.

Needs POSIX, the extra ``dev``, and no account.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import session_list  # noqa: E402
from stand_in_script import serve  # noqa: E402
from table import Row, print_table  # noqa: E402

from claude_sync.testing import LoopbackModel, StandIn  # noqa: E402

PROGRAMS = {"ours": "with_claude_sync.py", "theirs": "with_official_sdk.py"}
FLOOR = {"floor": "with_nothing.py"}
PACKAGES = {"ours": "claude_sync", "theirs": "claude_agent_sdk"}
# Toolkits, and what must be there to measure them.
WINDOWS = {"Tk": "tkinter", "Qt": "PySide6"}
LEGEND = """\
Medians of one run, both measured in turns. *ratio*: above 1, claude_sync is so many times
better. *floor*: no library, only ``readline``, ``ujson.loads`` and a ``queue.Queue``."""
# Longer than anything takes; a measurement that hangs is ended.
PATIENCE = 300

AFTER_IMPORT = """
import sys
sys.path.insert(0, {here!r})
{statement}
modules = len(sys.modules)
import tasks
print(modules, tasks.memory("VmRSS"))
"""

COLD = {
    "ours": """
import claude_sync
print(claude_sync.ask("Hello"))
""",
    "theirs": """
import asyncio
from claude_agent_sdk import ResultMessage, query

async def main():
    async for message in query(prompt="Hello"):
        if isinstance(message, ResultMessage):
            print(message.result)

asyncio.run(main())
""",
}


class Benchmark:
    """
    The measurements, each a method that gives rows of the table.

    Attributes:
        sides: Who is measured: ``ours``, and ``theirs`` if it is installed.

    """

    def __init__(self, folder, quick, only=""):
        self.folder = folder
        self.quick = quick
        self.only = only
        installed = importlib.util.find_spec(PACKAGES["theirs"]) is not None
        self.sides = ["ours", "theirs"] if installed else ["ours"]
        self.environment = clean_environment(folder)
        self.cli = executable(folder / "claude", StandIn(serve, lifetime=PATIENCE).command)

    def rows(self):
        """All of them, in the order of the table."""
        for measure in (
            self.imports,
            self.streams,
            self.raw_streams,
            self.bridged_streams,
            self.empty_turns,
            self.requests,
            self.latencies,
            self.windows,
            self.large_messages,
            self.long_sessions,
            self.session_lists,
            self.batches,
            self.cold_scripts,
        ):
            if self.only in measure.__name__:
                print(f"{measure.__name__} ...", file=sys.stderr, flush=True)
                yield from measure()

    def repetitions(self, many, few):
        """How often to measure something."""
        return range(few if self.quick else many)

    # What an import costs.

    def imports(self):
        """A fresh interpreter that imports it and ends, less one that only ends."""
        statements = {side: f"import {PACKAGES[side]}" for side in self.sides}
        statements["bare"] = "pass"
        seconds = {side: [] for side in statements}
        for statement in statements.values():
            self.python("-c", statement)  # compiles it, and warms the disk's cache
        for _ in self.repetitions(15, 5):
            for side, statement in statements.items():
                begin = time.perf_counter()
                self.python("-c", statement)
                seconds[side].append(time.perf_counter() - begin)
        bare = statistics.median(seconds.pop("bare"))
        times = {side: statistics.median(each) - bare for side, each in seconds.items()}
        yield Row("import", "ms", times, 1e3)
        counts = {}
        sizes = {}
        for side in self.sides:
            source = AFTER_IMPORT.format(here=str(HERE), statement=statements[side])
            counts[side], sizes[side] = map(int, self.python("-c", source).split())
        yield Row("modules loaded then", "", counts)
        yield Row("memory then", "MiB", sizes, 1 / 2**20)

    # What the stand-in measures.

    def streams(self):
        """Deltas as fast as possible, to a text handler."""
        yield self.stream_row("stream", "stream events to a text handler")

    def raw_streams(self):
        """Deltas as fast as possible, every one as it came."""
        yield self.stream_row("raw_stream", "stream events, each one raw")

    def stream_row(self, task, title):
        """Events per second."""
        count = 100_000 if self.quick else 200_000
        figures = self.all_sides(task, count, self.repetitions(5, 3))
        rates = {side: count / statistics.median(each) for side, each in figures.items()}
        return Row(title, "1/s", rates, 1, higher_is_better=True)

    def bridged_streams(self):
        """Raw deltas that come through a bridge, and how much of the direct rate that is."""
        count = 100_000 if self.quick else 200_000
        seconds = {"raw_stream": [], "bridged_stream": []}
        for _ in self.repetitions(5, 3):
            for task, each in seconds.items():
                printed = self.python(str(HERE / PROGRAMS["ours"]), task, self.cli, str(count))
                each.append(json.loads(printed))
        direct, bridged = map(statistics.median, seconds.values())
        rate = {"ours": count / bridged}
        yield Row("stream events over a bridge, raw", "1/s", rate, 1, higher_is_better=True)
        yield Row("their part of the direct rate", "%", {"ours": direct / bridged}, 100)

    def empty_turns(self):
        """Question to answer, when the CLI says nothing but that it is done."""
        figures = self.all_sides("turns", 300 if self.quick else 1000, self.repetitions(5, 3))
        yield Row("empty turn", "ms", joined(figures, statistics.median), 1e3)

    def requests(self):
        """The CLI asks, the program answers."""
        for task, title in (("permissions", "permission asked"), ("calls", "tool called")):
            figures = self.all_sides(task, 300 if self.quick else 1000, self.repetitions(5, 3))
            yield Row(f"{title}, to the answer", "ms", joined(figures, statistics.median), 1e3)

    def latencies(self):
        """From the CLI's write to the handler."""
        figures = self.all_sides("latency", 500 if self.quick else 2000, self.repetitions(3, 1))
        yield Row("delta to handler, median", "ms", joined(figures, statistics.median), 1e3)
        slowest = joined(figures, lambda delays: statistics.quantiles(delays, n=100)[98])
        yield Row("delta to handler, 99 of 100", "ms", slowest, 1e3)

    def windows(self):
        """How late the timer of a window is while deltas are drawn in it."""
        for toolkit, module in WINDOWS.items():
            if importlib.util.find_spec(module) is None:
                continue
            runs = []
            for _ in self.repetitions(3, 1):
                program = str(HERE / f"with_{toolkit.lower()}.py")
                printed = self.python(program, "lateness", self.cli, "100000", windows=True)
                runs.append(json.loads(printed))
            figures = {"ours": runs}
            title = f"timer of a {toolkit} window late"
            slowest = joined(figures, lambda delays: statistics.quantiles(delays, n=100)[98])
            yield Row(f"{title}, 99 of 100", "ms", slowest, 1e3)

    def large_messages(self):
        """One message of 64 MiB."""
        figures = self.all_sides("large", 64 * 2**20, self.repetitions(3, 1))
        for place, title, unit, scale in (
            (0, "message of 64 MiB", "ms", 1e3),
            (1, "memory it takes at most", "MiB", 1 / 2**20),
        ):
            values = {
                side: statistics.median([figure[place] for figure in each])
                for side, each in figures.items()
            }
            yield Row(title, unit, values, scale)

    def long_sessions(self):
        """The memory of a session that goes on: early, and after ten times as many turns."""
        count = 500 if self.quick else 2000
        figures = self.all_sides("everyday", count, self.repetitions(3, 1))
        for place, turns in enumerate([count // 10, count]):
            values = {
                side: statistics.median([figure[place] for figure in each])
                for side, each in figures.items()
            }
            yield Row(f"memory after {turns:,} turns", "MiB", values, 1 / 2**20)

    def all_sides(self, task, count, repetitions):
        """The figures of each side, measured in turns."""
        programs = {side: PROGRAMS[side] for side in self.sides}
        programs.update(FLOOR)
        figures = {side: [] for side in programs}
        for _ in repetitions:
            for side, program in programs.items():
                printed = self.python(str(HERE / program), task, self.cli, str(count))
                figures[side].append(json.loads(printed))
        return figures

    def batches(self):
        """Many prompts: how the rate grows with the workers, and what a prompt costs itself."""
        for workers in (1, 2, 4, 8):
            rates = self.batch("rate", workers, workers * (20 if self.quick else 60))
            title = f"batch, prompts of 0.1 s, {workers} worker{'s' * (workers > 1)}"
            yield Row(title, "1/s", {"ours": rates}, 1, higher_is_better=True)
        seconds = self.batch("overhead", 1, 500 if self.quick else 2000)
        yield Row("batch, time for each prompt", "ms", {"ours": seconds}, 1e3)
        count = 2_000 if self.quick else 20_000
        program = str(HERE / "with_batches.py")
        sizes = json.loads(self.python(program, "memory", "4", str(count)))
        for done, size in zip((count // 10, count), sizes):
            yield Row(f"memory after {done:,} prompts", "MiB", {"ours": size}, 1 / 2**20)

    def batch(self, task, workers, count):
        """The median of a figure of batches."""
        words = [str(HERE / "with_batches.py"), task, str(workers), str(count)]
        runs = [json.loads(self.python(*words)) for _ in self.repetitions(3, 1)]
        return statistics.median(runs)

    # What needs no CLI.

    def session_lists(self):
        """A list of a thousand saved conversations."""
        count = 1000
        config = self.folder / "config"
        session_list.save(config, count)
        environment = {**self.environment, "CLAUDE_CONFIG_DIR": str(config)}
        seconds = {side: [] for side in self.sides}
        for _ in self.repetitions(7, 3):
            for side in self.sides:
                source = session_list.LISTING[side]
                printed = self.python("-c", source, environment=environment).split()
                if int(printed[1]) != count:
                    raise AssertionError(f"{PACKAGES[side]} listed {printed[1]} sessions")
                seconds[side].append(float(printed[0]))
        medians = {side: statistics.median(each) for side, each in seconds.items()}
        yield Row(f"list {count:,} saved sessions", "ms", medians, 1e3)

    # What the real CLI measures.

    def cold_scripts(self):
        """A script from its start to its end: import, one question, print."""
        cli = bundled_cli()
        if cli is None:
            return
        seconds = {side: [] for side in self.sides}
        with LoopbackModel() as model:
            model.default("Hello!")
            home = self.folder / "home"
            home.mkdir()
            environment = {
                **self.environment,
                **model.environment(home),
                "CLAUDE_CODE_PATH": cli,
            }
            for side in self.sides:
                self.cold_script(side, environment)  # lets the CLI make its files
            for _ in self.repetitions(7, 3):
                for side in self.sides:
                    begin = time.perf_counter()
                    self.cold_script(side, environment)
                    seconds[side].append(time.perf_counter() - begin)
        medians = {side: statistics.median(each) for side, each in seconds.items()}
        yield Row("script with one question, real CLI", "ms", medians, 1e3)

    def cold_script(self, side, environment):
        """Run one."""
        printed = self.python("-c", COLD[side], environment=environment).strip()
        if printed != "Hello!":
            raise AssertionError(f"the script of {PACKAGES[side]} printed {printed!r}")

    def python(self, *words, environment=None, windows=False):
        """What a fresh interpreter prints; it gets a folder of its own to work in."""
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        # Where there is no display, one that nobody sees.
        hidden = ["xvfb-run", "-a"] if windows and not os.environ.get("DISPLAY") else []
        finished = subprocess.run(
            [*hidden, sys.executable, *words],
            env=environment or self.environment,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=PATIENCE,
            check=True,
            text=True,
        )
        return finished.stdout


def joined(figures, summary):
    """One figure for each side: the median over its runs of what *summary* makes of a run."""
    return {side: statistics.median(map(summary, runs)) for side, runs in figures.items()}


def clean_environment(folder):
    """Ours, without what concerns Claude; bytecode is kept, as it is for installed packages."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CLAUDE", "ANTHROPIC", "PYTHON"))
    }
    environment["PYTHONPATH"] = str(HERE.parent)
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    return environment


def executable(path, command):
    """A file that runs *command*: the official SDK takes a path, not a list of words."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return str(path)


def bundled_cli():
    """The CLI inside the official SDK's package, so that both run the same; None without."""
    found = importlib.util.find_spec(PACKAGES["theirs"])
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "_bundled" / "claude"
    return str(path) if path.exists() else None


def machine():
    """One line about where this ran."""
    cli = bundled_cli()
    version = "none"
    if cli is not None:
        version = subprocess.run([cli, "--version"], capture_output=True, text=True).stdout.strip()
    theirs = importlib.util.find_spec(PACKAGES["theirs"])
    official = "not installed"
    if theirs is not None:
        from importlib.metadata import version as version_of

        official = version_of("claude-agent-sdk")
    return (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs; official SDK {official}; CLI {version}"
    )


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", default="", help="only the measurements whose name has this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="claude-sync-benchmark-") as folder:
        print_table(Benchmark(Path(folder), options.quick, options.only).rows())
    print(f"\n{LEGEND}\n\n{machine()}")


if __name__ == "__main__":
    main()
