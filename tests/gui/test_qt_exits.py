"""However a program with windows ends, it ends: no crash, no warning, no CLI that is left."""

import os
from pathlib import Path

import pytest
from qt_fixtures import BINDING, run_program

HERE = Path(__file__).resolve().parent
SCENES = [
    "quits_in_mid_turn",
    "closes_its_last_window",
    "quits_with_a_dialog_open",
    "quits_with_a_dialog_of_no_window",
    "never_runs_its_loop",
    "drops_everything",
    "runs_twice",
]


def is_gone(pid):
    """Whether no such process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("scene", SCENES)
def test_a_program_ends(scene, tmp_path):
    """Its exit code is 0, stderr is empty, and the CLI is gone."""
    program = str(HERE / "qt_programs.py")
    code, errors, printed = run_program(tmp_path, "-X", "dev", program, BINDING, scene)
    assert (code, errors) == (0, [])
    pids = [int(line) for line in printed.split()]
    assert pids
    assert all(map(is_gone, pids))
