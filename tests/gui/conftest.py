"""What the tests of windows share: a display, windows, and a client whose CLI the test plays."""

from __future__ import annotations

import threading

import pytest
from window_fixtures import (  # noqa: F401  (fixtures)
    PATIENCE,
    display,
    new_root,
    root,
    tkinter,
    until,
)

from claude_sync import Client
from claude_sync.testing import ScriptedCli


class Talk:
    """A client whose CLI is played by the test, and a turn of it."""

    def __init__(self, **options):
        self.cli = ScriptedCli(patience=PATIENCE)
        self.client = Client(transport=self.cli, **options)
        self.client.__enter__()
        self.turn = self.user = None

    def greet(self):
        """Play the beginning of the session."""
        starting = threading.Thread(target=self.client.start, daemon=True)
        starting.start()
        self.cli.accept()
        starting.join(PATIENCE)
        assert not starting.is_alive()

    def begin(self, words="hi"):
        """Ask something; the CLI begins to answer."""
        self.turn = self.client.submit(words)
        self.user = self.cli.expect("user", text=words)
        self.cli.begin_turn(self.user)
        return self.turn

    def end(self, words="done"):
        """The CLI ends the turn."""
        self.cli.end_turn(self.user, words)

    def ask(self, tool="Bash", input=None, **fields):
        """The CLI asks for permission."""
        return self.cli.ask_permission(tool, input or {"command": "make"}, **fields)


@pytest.fixture
def talk(monkeypatch):
    """Open talks; their clients are closed after the test."""
    # Turns that are left running are not ended by anybody here.
    monkeypatch.setattr("claude_sync.engine.closing.TURN_END_TIME", 0.01)
    talks = []

    def start(**options):
        talks.append(Talk(**options))
        talks[-1].greet()
        return talks[-1]

    yield start
    for each in talks:
        each.client.close()
