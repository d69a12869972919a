"""Which CLI knows what, and which one runs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from claude_sync.runtime import versions
from claude_sync.runtime.process import ProcessTransport
from claude_sync.runtime.transport import Transport
from claude_sync.runtime.versions import ask_version, first_with, numbers_of, program_of

SAYS = "import sys; print(sys.argv[1:]); print('2.0.30 (Claude Code)')"


@pytest.fixture
def connection():
    """Make what is needed of a connection: a command line, and how it is run."""
    transports = []

    def make(*program, transport=None):
        if transport is None:
            transports.append(ProcessTransport())
        argv = (*program, "--output-format", "stream-json")
        return SimpleNamespace(
            transport=transport or transports[-1],
            launch=SimpleNamespace(argv=argv, cwd=None, environment={}),
            dialect=SimpleNamespace(flags=("--output-format", "stream-json")),
        )

    yield make
    for transport in transports:
        transport.close(1)
        transport.free()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.1.325", (2, 1, 325)),
        ("1.0.128 (Claude Code)", (1, 0, 128)),
        ("claude 2.0.30-beta.1\n", (2, 0, 30)),
        ("2.1", ()),
        ("", ()),
        (None, ()),
    ],
)
def test_the_numbers_of_a_version(text, numbers):
    """They are found wherever they are."""
    assert numbers_of(text) == numbers


@pytest.mark.parametrize(
    ("subtype", "mode", "first"),
    [
        ("set_model", None, ()),
        ("mcp_status", None, ()),
        ("set_permission_mode", "plan", ()),
        ("set_permission_mode", "dontAsk", (2, 0, 44)),
        ("set_permission_mode", "auto", (2, 1, 71)),
        ("set_max_thinking_tokens", None, (2, 0, 22)),
        ("rewind_files", None, (2, 0, 64)),
        ("mcp_toggle", None, (2, 1, 15)),
        ("get_context_usage", None, (2, 1, 40)),
    ],
)
def test_the_first_version_with_a_request(subtype, mode, first):
    """What is not in the table is only sent to a CLI that answers everything."""
    assert first_with(subtype, mode) == first


def test_a_version_is_asked_for(connection):
    """The program is run with one flag, and without those of the conversation."""
    assert ask_version(connection(sys.executable, "-c", SAYS), lambda: False) == "2.0.30"
    assert program_of(("node", "cli.js", "--verbose", "-x"), "--verbose") == ["node", "cli.js"]


@pytest.mark.parametrize(
    "program", [("/nonexistent/claude",), (sys.executable, "-c", "raise SystemExit(1)")]
)
def test_a_version_that_is_not_told(connection, program):
    """A program that cannot be run, or says nothing, has none."""
    assert ask_version(connection(*program), lambda: False) is None


def test_nobody_is_asked_where_no_process_runs(connection):
    """Another transport has no program to run."""
    program = (sys.executable, "-c", SAYS)
    assert ask_version(connection(*program, transport=Transport()), lambda: False) is None


def test_a_program_that_takes_too_long(connection, monkeypatch):
    """It is ended when its time is up, and when nobody wants to know any more."""
    monkeypatch.setattr(versions, "VERSION_PATIENCE", 0.05)
    silent = connection(sys.executable, "-c", "import time; time.sleep(300)")
    assert ask_version(silent, lambda: False) is None
    monkeypatch.setattr(versions, "VERSION_PATIENCE", 300)
    assert ask_version(silent, lambda: True) is None
