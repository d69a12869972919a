"""However a program with windows ends, it ends: no crash, no warning, no CLI that is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from executables import clean_environment
from qt_fixtures import BINDING, needs

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
# What the platform without a screen has to say for itself.
KNOWN = ("propagateSizeHints", "XDG_RUNTIME_DIR")


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
    needs(BINDING)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", str(HERE / "qt_programs.py"), BINDING, scene],
        env={
            **clean_environment(tmp_path, QT_QPA_PLATFORM="offscreen"),
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    errors = [line for line in done.stderr.splitlines() if not any(word in line for word in KNOWN)]
    assert (done.returncode, errors) == (0, [])
    pids = [int(line) for line in done.stdout.split()]
    assert pids
    assert all(map(is_gone, pids))
