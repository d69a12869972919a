"""A terminal that somebody sits at, for tests: tmux, with a server of its own."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
import uuid

import pytest
from patience import PATIENCE


class Terminal:
    """
    A program in a terminal. It is typed to, and looked at; use it as a context manager.

    When the program ends, ``[exit code N]`` is shown.
    """

    def __init__(self, command, environment, cwd, width=100, height=50):
        if shutil.which("tmux") is None:
            pytest.skip("needs tmux")
        self._server = f"claude-sync-{uuid.uuid4().hex[:12]}"
        self._command, self._cwd = command, str(cwd)
        self._size = (str(width), str(height))
        self._environment = {**environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}

    def __enter__(self):
        words = [f"{name}={value}" for name, value in self._environment.items()]
        # The shell is in the same group: Ctrl-C must not end it with the program.
        script = 'trap : INT; "$@"; printf "\\n[exit code %s]\\n" $?; exec sleep 1000'
        width, height = self._size
        self._tmux(
            *("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height, "-c", self._cwd),
            *("env", "-i", *words, "sh", "-c", script, "sh", *self._command),
        )
        return self

    def __exit__(self, *exc_info):
        self._tmux("kill-server")

    def _tmux(self, *words):
        done = subprocess.run(
            ["tmux", "-u", "-L", self._server, *words], capture_output=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def type(self, text, enter=True):
        """Type *text*, and the enter key."""
        self._tmux("send-keys", "-l", text)
        if enter:
            self.press("Enter")

    def press(self, *keys):
        """Press keys by their names: ``C-c``, ``Up``, ``Tab``."""
        self._tmux("send-keys", *keys)

    def screen(self, colours=False):
        """All that is on it, with what has scrolled away."""
        flags = ["-e"] if colours else []
        return self._tmux("capture-pane", "-p", "-J", "-S", "-", *flags)

    def until(self, text, times=1):
        """Wait until *text* is on the screen so often; the screen."""
        return self.until_true(lambda shown: shown.count(text) >= times, f"{text!r}")

    def until_true(self, check, what):
        """Wait until *check* of the screen is true; the screen."""
        end = time.monotonic() + PATIENCE
        while True:
            shown = self.screen()
            if check(shown):
                return shown
            assert time.monotonic() < end, f"{what} is not on the screen:\n{shown}"
            threading.Event().wait(0.05)
