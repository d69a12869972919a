"""The other bindings of Qt: what touches a binding, in a process of its own for each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from qt_fixtures import BINDING

HERE = Path(__file__).resolve().parent
FILES = ["frames", "binding", "views", "dialogs", "chat"]
OTHERS = [name for name in ("PySide6", "PyQt6", "PyQt5") if name != BINDING]


def run(binding, *words):
    """Run Python with a binding."""
    environment = {**os.environ, "CLAUDE_SYNC_TEST_QT": binding}
    # The second names the binding of this process, once it has loaded one.
    for name in ("PYTEST_ADDOPTS", "QT_API"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, *words],
        env=environment,
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.everything
@pytest.mark.parametrize("binding", OTHERS)
def test_everything_works_with_another_binding(binding):
    """What is tested with one of them holds for all."""
    # It may be installed, and lack a library of the system's.
    if run(binding, "-c", f"import {binding}.QtWidgets").returncode != 0:
        pytest.skip(f"needs {binding}")
    files = [str(HERE / f"test_qt_{name}.py") for name in FILES]
    done = run(binding, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    if "needs fonts" in done.stdout:
        pytest.skip("needs fonts")
    assert " skipped" not in done.stdout
