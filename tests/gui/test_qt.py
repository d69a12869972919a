"""``claude_sync.gui.qt``: what it has, and that nothing of Qt is loaded before it is used."""

import os
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment
from qt_fixtures import BINDING

LOADED = "print([n for n in sys.modules if n.split('.')[0] in ('PySide6', 'PyQt6', 'PyQt5')])"


def printed_by(source, tmp_path):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        env={
            **clean_environment(tmp_path, QT_QPA_PLATFORM="offscreen", QT_API=BINDING),
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
        },
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["claude_sync", "claude_sync.gui", "claude_sync.gui.qt"])
def test_an_import_loads_nothing_of_qt(module, tmp_path):
    """The toolkit is loaded with the first use of a name."""
    assert printed_by(f"import {module}, sys\n{LOADED}", tmp_path) == "[]"


def test_every_name_is_there_and_listed(tmp_path):
    """dir() shows what can be had, and anything else is an AttributeError."""
    source = """
from claude_sync.gui import qt
assert set(qt.__all__) <= set(dir(qt))
print(sorted(getattr(qt, name).__name__ for name in qt.__all__))
try:
    qt.QtClientt
except AttributeError as error:
    print(error)
"""
    names, error = printed_by(source, tmp_path).splitlines()
    assert names == str(["Attachment", "PermissionDialog", "QtClient", "QuestionDialog", "attach"])
    assert "QtClientt" in error


def test_the_modules_are_part_of_the_package():
    """Each file of the toolkit has a test of its name."""
    modules = {path.stem for path in (ROOT / "claude_sync" / "gui").glob("qt*.py")}
    tests = {path.stem[5:] for path in (ROOT / "tests" / "gui").glob("test_qt*.py")}
    assert modules <= tests
