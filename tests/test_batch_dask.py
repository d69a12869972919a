"""Batches on Dask: a real scheduler and worker processes on 127.0.0.1."""

from __future__ import annotations

import collections
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from executables import ROOT

TESTS = str(Path(__file__).parent)

if importlib.util.find_spec("distributed") is None:
    pytest.skip("needs Dask", allow_module_level=True)

PROGRAM = """
import dataclasses
import os
import signal
import sys

import batch_scripts
import claude_sync
from claude_sync.testing import StandIn


@dataclasses.dataclass
class Label:
    word: str


def plain(executor, client, folder):
    cli = StandIn(cost=0.25).command
    prompts = [f"prompt {number}" for number in range(20)]
    batch = claude_sync.map(prompts, executor=executor, workers=2, cli=cli, returns=Label)
    items = batch.results()
    assert [item.answer for item in items] == [f"echo: {prompt}" for prompt in prompts], items
    assert all(item.data == Label("echo") for item in items), items[0].data
    assert batch.cost_usd == 5.0


def killed(executor, client, folder):
    cli = StandIn(batch_scripts.notes_each, folder=folder).command
    prompts = [f"prompt{number}" for number in range(60)]
    pids = list(client.run(os.getpid).values())
    for item in claude_sync.map(prompts, executor=executor, workers=2, cli=cli):
        assert item.answer == f"ok {item.prompt}", item
        if item.index == 10:
            os.kill(pids[0], signal.SIGKILL)
    assert item.index == 59


if __name__ == "__main__":
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
        local_directory=sys.argv[1],
    ) as cluster, Client(cluster) as client:
        for part in (plain, killed):
            part(client.get_executor(), client, sys.argv[1])
            print(part.__name__, flush=True)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """What the program said, and its folder. In a process of its own: it leaves much behind."""
    tmp_path = tmp_path_factory.mktemp("dask")
    folder = tmp_path / "work"
    folder.mkdir()
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    path = os.pathsep.join([str(ROOT), TESTS])
    done = subprocess.run(
        [sys.executable, str(file), str(folder)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        timeout=100,
    )
    return done, folder


def test_a_batch_runs_on_dask(program):
    """Options, answers and a class of the program's main file travel; all is counted."""
    done, _ = program
    assert "plain" in done.stdout.split(), done.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_worker_that_is_killed_costs_no_item(program):
    """Dask runs again what ran on it, and nothing else."""
    done, folder = program
    assert done.stdout.split() == ["plain", "killed"], done.stderr
    asked = collections.Counter(
        name.partition(".")[0] for name in os.listdir(folder) if name.startswith("prompt")
    )
    assert len(asked) == 60
    assert sum(asked.values()) <= 61
