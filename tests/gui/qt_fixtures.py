"""
What the tests of Qt share: one application, windows, and time that passes in its loop.

A process can have one binding only. ``CLAUDE_SYNC_TEST_QT`` names it, PySide6 by default;
``test_qt_bindings`` runs the same files again for the others, each in a process of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import subprocess
import sys
import threading

import pytest
from executables import clean_environment
from window_fixtures import PATIENCE

from claude_sync import Client
from claude_sync.permissions import forms
from claude_sync.testing import ScriptedCli

# No screen is needed. Before anything of Qt is loaded.
os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_LOGGING_RULES"] = "qt.qpa.*=false"

BINDING = os.environ.get("CLAUDE_SYNC_TEST_QT", "PySide6")
# Milliseconds between two looks at a condition.
LOOK = 5
# Who tests dialogs knows what they ask before they do.
forms.SETTLING = 0
# What the platform without a screen has to say for itself.
KNOWN = ("propagateSizeHints", "XDG_RUNTIME_DIR")


def needs(binding):
    """Skip where a binding is missing."""
    try:
        # It may be installed, and lack a library of the system's.
        importlib.import_module(f"{binding}.QtWidgets")
    except ImportError:
        pytest.skip(f"needs {binding}", allow_module_level=True)


needs(BINDING)
QtCore = importlib.import_module(f"{BINDING}.QtCore")
QtGui = importlib.import_module(f"{BINDING}.QtGui")
QtTest = importlib.import_module(f"{BINDING}.QtTest")
QtWidgets = importlib.import_module(f"{BINDING}.QtWidgets")


@pytest.fixture(scope="session")
def application():
    """The application, of which a process has one."""
    return QtWidgets.QApplication.instance() or QtWidgets.QApplication(["tests"])


def pipes_and_sockets():
    """The descriptors that a client might leave open; Qt has others, which come and go."""
    found = {}
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with contextlib.suppress(OSError):  # the one that listed the folder
            found[name] = os.readlink(f"/proc/self/fd/{name}")
    return {name: what for name, what in found.items() if what.startswith(("pipe:", "socket:"))}


@pytest.fixture(autouse=True)
def nothing_outlives_its_test(application):
    """As in all tests: the threads and descriptors of clients end with them."""
    threads, descriptors = set(threading.enumerate()), pipes_and_sockets()
    yield

    def left():
        alive = [each.name for each in threading.enumerate() if each not in threads]
        opened = {*pipes_and_sockets().items()} - {*descriptors.items()}
        return alive, opened

    gc.collect()
    run_until(lambda: left() == ([], set()))


def run_until(condition, patience=PATIENCE):
    """Let the event loop run until *condition* holds; fail if it never does."""
    loop = QtCore.QEventLoop()
    looking = QtCore.QTimer()
    late = QtCore.QTimer()
    late.setSingleShot(True)
    outcome = []

    def look():
        try:
            if condition():
                outcome.append(None)
        except BaseException as error:  # raised below: Qt swallows it, or ends the program
            outcome.append(error)
        if outcome:
            loop.quit()

    looking.timeout.connect(look)
    late.timeout.connect(loop.quit)
    looking.start(LOOK)
    late.start(int(patience * 1000))
    (loop.exec if hasattr(loop, "exec") else loop.exec_)()
    looking.stop()
    late.stop()
    if outcome and outcome[0] is not None:
        raise outcome[0]
    assert outcome, f"waited {patience} s in vain"


@pytest.fixture
def until(application):
    """See :func:`run_until`."""
    return run_until


@pytest.fixture
def window(application):
    """A window; destroyed after the test."""
    made = QtWidgets.QMainWindow()
    made.resize(600, 400)
    made.show()
    yield made
    destroy(made)


def destroy(item):
    """Destroy an object of Qt now, as the end of its parent would."""
    from claude_sync.gui.qt_binding import is_valid

    if not is_valid(item):
        return
    gone = []
    item.destroyed.connect(lambda *_: gone.append(True))
    item.deleteLater()
    run_until(lambda: gone)


@pytest.fixture
def cli():
    """A CLI in memory that the test drives."""
    return ScriptedCli(patience=PATIENCE)


@pytest.fixture
def client(application, cli, monkeypatch):
    """A client of it, with a turn to come; closed after the test."""
    # Turns that are left running are not ended by anybody here.
    monkeypatch.setattr("claude_sync.engine.closing.TURN_END_TIME", 0.01)
    client = Client(transport=cli)
    yield client
    client.close()


def begin(client, cli, prompt="hi", ask=None):
    """Ask, and let the CLI begin the turn: the turn, and the question as the CLI got it."""
    turn = (ask or client.submit)(prompt)
    if client.state in ("open", "starting", "new"):
        cli.accept()
    user = cli.expect("user", text=prompt)
    cli.begin_turn(user)
    return turn, user


def click(button):
    """Click a button, with the mouse, near its left end: the rest may be empty."""
    QtWidgets.QApplication.processEvents()  # a dialog that appears can be answered after that
    place = QtCore.QPoint(8, button.height() // 2)
    keys = QtCore.Qt.KeyboardModifier.NoModifier
    QtTest.QTest.mouseClick(button, QtCore.Qt.MouseButton.LeftButton, keys, place)


def run_program(folder, *words, given="", **variables):
    """Run a program with windows to its end: its exit code, its errors, and what it printed."""
    environment = {
        # Qt tells on stderr when a locale has no UTF-8.
        **clean_environment(folder, QT_QPA_PLATFORM="offscreen", LC_ALL="C.UTF-8"),
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        input=given,
        env=environment,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    errors = [line for line in done.stderr.splitlines() if not any(word in line for word in KNOWN)]
    return done.returncode, errors, done.stdout
