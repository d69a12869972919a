"""The other bindings of Qt: the same tests, in a process of its own for each."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from qt_fixtures import BINDING

HERE = Path(__file__).resolve().parent
FILES = ["frames", "dialogs", "client", "views", "binding", "exits"]
OTHERS = [name for name in ("PySide6", "PyQt6", "PyQt5") if name != BINDING]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("binding", OTHERS)
def test_everything_works_with_another_binding(binding):
    """What is tested with one of them holds for all."""
    if importlib.util.find_spec(binding) is None:
        missing = f"{binding} is not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    files = [str(HERE / f"test_qt_{name}.py") for name in FILES]
    environment = {**os.environ, "CLAUDE_SYNC_TEST_QT": binding}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        env=environment,
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=380,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert " skipped" not in done.stdout
