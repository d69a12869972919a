"""What handlers get that the CLI did not send, and what notebooks look for."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

import claude_sync
from claude_sync import Closed, HandlerError, Info, InterruptReceipt
from claude_sync.messages.display import Displayed, Timed

LOADED = (
    "import sys, claude_sync; "
    "print(sorted(name for name in sys.modules if name.startswith(('claude_sync.markup', "
    "'claude_sync.render.timeline', 'claude_sync.render.repr'))))"
)


@pytest.mark.parametrize(
    "event",
    [
        Closed("closed by the program", 0),
        InterruptReceipt(("u1",), ("u2",), {"still_queued": ["u1"]}),
        Info(commands=({"name": "cost"},), raw={"commands": []}),
    ],
    ids=lambda event: type(event).__name__,
)
def test_events_are_frozen_values(event):
    """Handlers share events, so none can change one; raw replies are not printed."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, dataclasses.fields(event)[0].name, None)
    assert pickle.loads(pickle.dumps(event)) == event
    assert "raw" not in repr(event)


def test_a_handler_error_says_who_failed_on_what():
    """The exception, the handler and the event are kept as they are."""
    error = ValueError("oh")
    report = HandlerError(error, print, "event")
    assert (report.exception, report.handler, report.event) == (error, print, "event")


def test_what_a_cli_does_not_report_is_none_or_empty():
    """It is never missing."""
    assert InterruptReceipt() == InterruptReceipt((), (), {})
    names = [field.name for field in dataclasses.fields(Info) if field.name != "raw"]
    assert [getattr(Info(), name) for name in names] == [None] * len(names)


@pytest.mark.parametrize("name", ["Answer", "Turn", "PermissionRequest", "Questions", "Client"])
def test_what_shows_itself(name):
    """Each has the methods that notebooks look for; two have timelines."""
    kind = getattr(claude_sync, name)
    assert issubclass(kind, Displayed)
    assert issubclass(kind, Timed) is (name in ("Answer", "Turn"))


def test_nothing_of_it_is_loaded_before_it_is_needed():
    """To import the library does not load what makes pictures."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
