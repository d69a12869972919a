"""The methods that notebooks look for: there from the start, loaded when somebody looks."""

from __future__ import annotations

import subprocess
import sys

import pytest

import claude_sync
from claude_sync.displayed import Displayed, Timed

LOADED = (
    "import sys, claude_sync; "
    "print(sorted(name for name in sys.modules if name.startswith(('claude_sync.markup', "
    "'claude_sync.timeline', 'claude_sync.displays'))))"
)


@pytest.mark.parametrize("name", ["Answer", "Turn", "PermissionRequest", "Questions", "Client"])
def test_what_shows_itself(name):
    """Each has the three methods, and none of its own."""
    kind = getattr(claude_sync, name)
    assert issubclass(kind, Displayed)
    for method in ("_repr_html_", "_repr_markdown_", "_repr_mimebundle_"):
        assert getattr(kind, method) is getattr(Displayed, method)


@pytest.mark.parametrize("name", ["Answer", "Turn"])
def test_what_has_a_timeline(name):
    """And a client has one of its own."""
    assert issubclass(getattr(claude_sync, name), Timed)
    assert callable(claude_sync.Client.timeline)


def test_nothing_of_it_is_loaded_before_it_is_needed():
    """To import the library does not load what makes pictures."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
