"""Batches whose driver, CLIs or workers are killed: nothing is lost, nothing is done twice."""

import collections
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import batch_scripts
import pytest
from batch_executors import PATIENCE
from executables import ROOT

import claude_sync
from claude_sync.testing import StandIn

TESTS = str(Path(__file__).parent.parent)
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")

DRIVER = """
import sys
import batch_scripts
import claude_sync
from claude_sync.testing import StandIn

folder, checkpoint, count = sys.argv[1:]
cli = StandIn(batch_scripts.notes_each, folder=folder).command
prompts = (f"prompt{number}" for number in range(int(count)))
for item in claude_sync.map(prompts, workers=3, cli=cli, checkpoint=checkpoint):
    if not item.restored:
        print(item.index, flush=True)
print("done", flush=True)
"""

KILLS = 20


def start(folder, checkpoint, count=300):
    """A driver; what it prints can be read."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", DRIVER, str(folder), str(checkpoint), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), TESTS])},
    )


def finished_in(checkpoint):
    """The prompts that the file has answers to, in the order in which they were finished."""
    if not checkpoint.exists():
        return []
    query = "SELECT place FROM items WHERE error IS NULL ORDER BY rowid"
    with contextlib.closing(sqlite3.connect(checkpoint)) as database:
        has_tables = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'items'").fetchone()
        return [place for (place,) in database.execute(query)] if has_tables else []


@pytest.mark.timeout(300)
def test_a_driver_that_is_killed_repeats_nothing_that_was_finished(tmp_path):
    """Twenty times, at random moments; in the end each of 300 prompts is there, once."""
    folder, checkpoint = tmp_path / "asked", tmp_path / "run.jsonl"
    folder.mkdir()
    dice = random.Random(7)
    lost = 0
    finished = []
    for _ in range(KILLS):
        process = start(folder, checkpoint)
        # Some die while they start, some in mid-work, at a byte that nobody has chosen.
        for _ in range(dice.choice([0, 1, 5, 10, 20])):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        before, finished = finished, finished_in(checkpoint)
        assert before == finished[: len(before)]  # nothing that was there is gone
        lost += 3
    last = start(folder, checkpoint)
    said, _ = last.communicate(timeout=100)
    assert said.split()[-1] == b"done"
    assert sorted(finished_in(checkpoint)) == list(range(300))
    asked = collections.Counter(name.partition(".")[0] for name in os.listdir(folder))
    assert len(asked) == 300
    # Only what was open when the driver died was asked again: at most one for each worker.
    assert sum(asked.values()) - 300 <= lost
    restored = set(map(int, said.split()[:-1]))
    assert restored.isdisjoint(finished)


def test_ctrl_c_ends_a_loop_over_a_batch(tmp_path):
    """With its CLIs, soon, and in order; run again, it goes on."""
    folder, checkpoint = tmp_path / "asked", tmp_path / "run.jsonl"
    folder.mkdir()
    process = start(folder, checkpoint)
    for _ in range(5):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    finished = finished_in(checkpoint)
    assert 5 <= len(finished) < 300
    again = start(folder, checkpoint)
    said, errors = again.communicate(timeout=100)
    assert (said.split()[-1], errors) == (b"done", b"")
    assert set(map(int, said.split()[:-1])) == set(range(300)) - set(finished)


def test_clis_that_keep_dying_cost_no_item(tmp_path):
    """Each tenth question kills its CLI, once; every prompt is answered, none twice."""
    cli = StandIn(batch_scripts.dies_now_and_then, folder=str(tmp_path)).command
    prompts = [f"prompt{number}" for number in range(60)]
    items = claude_sync.map(prompts, workers=3, cli=cli, timeout=PATIENCE).results()
    assert [item.answer for item in items] == [f"ok {prompt}" for prompt in prompts]
    assert sum(item.attempts for item in items) == 66
