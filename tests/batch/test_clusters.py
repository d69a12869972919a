"""Batches on clusters, for real on this machine: what dies takes nothing with it."""

from __future__ import annotations

import collections
import importlib.util
import os
import subprocess
import sys

import pytest
from executables import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

# What each program begins with. A process of its own: clusters leave much behind.
HEAD = """
import dataclasses, os, signal, subprocess, sys, time
import batch_scripts
import claude_sync
from claude_sync.testing import StandIn

FOLDER = sys.argv[1]
PROMPTS = [f"prompt{number}" for number in range(60)]
NOTES = StandIn(batch_scripts.notes_each, folder=FOLDER, cost=0.25).command


@dataclasses.dataclass
class Label:
    word: str


def plain(executor):
    cli = StandIn(cost=0.25).command
    batch = claude_sync.map(
        [f"prompt {number}" for number in range(20)],
        executor=executor, workers=2, cli=cli, returns=Label,
    )
    items = batch.results()
    assert [item.answer for item in items] == [f"echo: prompt {n}" for n in range(20)], items
    assert all(item.data == Label("echo") for item in items), items[0].data
    assert batch.cost_usd == 5.0


def dying(executor):
    cli = StandIn(batch_scripts.dies_now_and_then, folder=FOLDER).command
    items = claude_sync.map(PROMPTS, executor=executor, workers=2, cli=cli).results()
    assert [item.answer for item in items] == [f"ok {prompt}" for prompt in PROMPTS], items
    assert sum(item.attempts for item in items) == 66
    for name in os.listdir(FOLDER):
        if name.startswith("prompt"):
            os.unlink(os.path.join(FOLDER, name))


def asked(executor, kill):
    batch = claude_sync.map(PROMPTS, executor=executor, workers=2, cli=NOTES)
    for item in batch:
        assert item.answer == f"ok {item.prompt}", item
        if item.index == 10:
            kill()
    assert item.index == 59
    assert batch.cost_usd <= 64 * 0.25
"""

DASK = """
from distributed import Client, LocalCluster


def killed(client):
    pids = list(client.run(os.getpid).values())
    asked(client, lambda: os.kill(pids[0], signal.SIGKILL))


if __name__ == "__main__":
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
        local_directory=FOLDER,
    ) as cluster, Client(cluster) as client:
        plain(client.get_executor())
        print("plain", flush=True)
        dying(client)
        print("dying", flush=True)
        killed(client)
        print("killed", flush=True)
"""

# The scheduler is a process that is killed; then there is another one.
SCHEDULER = """
from distributed import Client


def cluster(name):
    file = os.path.join(FOLDER, name)
    module = [sys.executable, "-m"]
    settings = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([
        *module, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
        "--no-dashboard", "--scheduler-file", file,
    ], **settings)
    worker = subprocess.Popen([
        *module, "distributed.cli.dask_worker", "--host", "127.0.0.1", "--nthreads", "2",
        "--no-dashboard", "--no-nanny", "--scheduler-file", file, "--local-directory", FOLDER,
        "--death-timeout", "5",
    ], **settings)
    return scheduler, worker, Client(scheduler_file=file, timeout=60)


if __name__ == "__main__":
    path = os.path.join(FOLDER, "run.db")
    first = cluster("one.json")
    settings = {"workers": 2, "cli": NOTES, "checkpoint": path}
    finished = begun = 0
    try:
        for item in claude_sync.map(PROMPTS, executor=first[2], **settings):
            finished += item.ok
            if item.index == 10:
                first[0].kill()
                begun = time.monotonic()
    except claude_sync.ClaudeError as error:
        assert "scheduler is gone" in str(error), error
    assert begun and time.monotonic() - begun < 20, time.monotonic() - begun
    print("noticed", flush=True)
    second = cluster("two.json")
    batch = claude_sync.map(PROMPTS, executor=second[2], **settings)
    items = batch.results()
    assert all(item.ok for item in items)
    assert sum(item.restored for item in items) >= finished
    print("resumed", flush=True)
    second[2].close()
    for process in (*first[:2], *second[:2]):
        process.kill()
        process.wait()
    os._exit(0)  # the first client waits for its scheduler
"""

RAY = """
import ray


def killed():
    worker = ray.remote(lambda: os.getpid())
    asked(ray, lambda: os.kill(ray.get(worker.remote()), signal.SIGKILL))


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    plain(ray)
    print("plain", flush=True)
    killed()
    print("killed", flush=True)
    ray.shutdown()
"""


def run(tmp_path, program):
    """Run a program in a folder of its own; what it said, and the folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    file = tmp_path / "program.py"
    file.write_text(HEAD + program)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, str(file), str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"},
        timeout=110,
    )
    return done, folder


def times_asked(folder):
    """How often each prompt was asked."""
    names = [name for name in os.listdir(folder) if name.startswith("prompt")]
    return collections.Counter(name.partition(".")[0] for name in names)


def needs(module):
    """Skip, where it is not installed."""
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"needs {module}")


@needs("distributed")
def test_dask(tmp_path):
    """Answers and a class of the program's main file travel; a killed worker costs no item."""
    done, folder = run(tmp_path, DASK)
    assert done.stdout.split() == ["plain", "dying", "killed"], done.stderr
    asked = times_asked(folder)
    assert len(asked) == 60
    # What ran on the worker that died, and what it had done and not given out, run again.
    assert sum(asked.values()) <= 60 + 2 * 2


@needs("distributed")
@pytest.mark.everything
def test_a_scheduler_that_is_killed_is_noticed(tmp_path):
    """Within seconds; another cluster goes on from the checkpoint."""
    done, folder = run(tmp_path, SCHEDULER)
    assert done.stdout.split() == ["noticed", "resumed"], done.stderr
    asked = times_asked(folder)
    assert len(asked) == 60
    assert sum(asked.values()) <= 60 + 2 * 2


@needs("ray")
@pytest.mark.everything
def test_ray(tmp_path):
    """As on Dask; an attempt that was lost is made again by the batch."""
    done, folder = run(tmp_path, RAY)
    lines = [line for line in done.stdout.splitlines() if "raylet" not in line]  # it talks there
    assert [line for line in lines if line in ("plain", "killed")] == ["plain", "killed"], done
    asked = times_asked(folder)
    assert len(asked) == 60
    assert sum(asked.values()) <= 62
