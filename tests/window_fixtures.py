"""
A display that nobody sees, and windows of Tk on it, for the tests of windows.

Where there is no display, a virtual one is started, once per process. A test waits for what
it claims by running the window's own loop, never for time to pass.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from patience import PATIENCE

# Tk's interpreters must not be collected on another thread; see the library's own.
KEPT = []

# The display is nobody's child: other tests look for children that are left. Its first line
# is its process id, the second the number of the display.
START = """
import os, sys
if os.fork() == 0:
    os.setsid()
    os.write(int(sys.argv[1]), b"%d\\n" % os.getpid())
    os.execvp(sys.argv[2], sys.argv[2:])
"""


class Display:
    """A virtual display, or the one that is there."""

    def __init__(self):
        self._process_id = None

    def open(self):
        """Make sure that there is one; whether there is."""
        if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY"):
            return True
        program = shutil.which("Xvfb")
        if program is None:
            return False
        reading, writing = os.pipe()
        command = [program, "-displayfd", str(writing), "-screen", "0", "1280x1024x24"]
        subprocess.run(
            # It ends with its last client, whatever becomes of the tests.
            [sys.executable, "-c", START, str(writing), *command, "-nolisten", "tcp", "-terminate"],
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        os.close(writing)
        with open(reading, encoding="ascii") as file:
            self._process_id = int(file.readline())
            number = file.readline().strip()
        if number:
            os.environ["DISPLAY"] = f":{number}"
        return bool(number)

    def close(self):
        """End it, if it is ours."""
        if self._process_id is not None:
            os.environ.pop("DISPLAY", None)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process_id, signal.SIGTERM)


@pytest.fixture(scope="session")
def display():
    """A display for windows."""
    display = Display()
    if not display.open():
        pytest.skip("needs Xvfb or a display")
    yield os.environ.get("DISPLAY")
    display.close()


@pytest.fixture(scope="session")
def tkinter(display):
    """The module, where it works."""
    try:
        import tkinter
    except ImportError:
        pytest.skip("needs tkinter")
    try:
        root = tkinter.Tk()
    except tkinter.TclError:
        pytest.skip("needs Xvfb or a display")
    KEPT.append(root.tk)
    try:
        # Tk opens windows without any font, but it writes nothing in them.
        for font in ("TkDefaultFont", "TkFixedFont"):
            tkinter.Label(root, text="letters", font=font)
    except tkinter.TclError:
        root.destroy()
        pytest.skip("needs fonts")
    # Who tests windows knows what they ask before they do.
    from claude_sync.permissions import forms

    forms.SETTLING = 0
    # What Tk opens once and keeps is there before a test looks.
    root.after(1, root.quit)
    root.mainloop()
    root.destroy()
    return tkinter


@pytest.fixture
def new_root(tkinter):
    """Make main windows; those that are left are destroyed after the test."""
    roots = []

    def make():
        root = tkinter.Tk()
        root.geometry("500x400+50+50")
        root.errors = []
        KEPT.append(root.tk)
        # What a callback of Tk's raises must not be lost on stderr.
        root.report_callback_exception = lambda kind, error, trace: root.errors.append(error)
        roots.append(root)
        return root

    yield make
    errors = [error for root in roots for error in root.errors]
    for root in roots:
        with contextlib.suppress(tkinter.TclError):  # destroyed already
            root.destroy()
    assert errors == []


@pytest.fixture
def root(new_root):
    """A main window."""
    return new_root()


class Failures(logging.Handler):
    """Keeps what was raised, as far as the library logs it."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.raised = []

    def emit(self, record):
        """Something was logged."""
        if record.exc_info:
            self.raised.append(record.exc_info[1])


@pytest.fixture
def until(request):
    """
    Run a window's loop until something holds; fail if it never does.

    What failed will not bring it about, so nobody waits after an error of a handler or of a
    callback. Tests that take ``caplog`` are about errors, and wait.
    """
    failures, logger = Failures(), logging.getLogger("claude_sync")

    def run(root, condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            failed = [*failures.raised, *getattr(root, "errors", ())]
            if failed:
                raise failed[0]
            assert time.monotonic() < end, f"waited {patience} s in vain"
            # An event to wait for, where the condition brings none.
            wake_up = root.tk.createtimerhandler(10, nothing)
            root.tk.dooneevent(0)
            wake_up.deletetimerhandler()

    if "caplog" not in request.fixturenames:
        logger.addHandler(failures)
    yield run
    logger.removeHandler(failures)


def nothing():
    """Do nothing."""
