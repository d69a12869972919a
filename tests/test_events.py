"""What handlers get that does not come from the CLI."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from claude_sync.events import Closed, HandlerError, Info, InterruptReceipt

EXAMPLES = [
    HandlerError(ValueError("oh"), print, "event"),
    Closed("closed by the program", 0),
    InterruptReceipt(("u1",), ("u2",), {"still_queued": ["u1"]}),
    Info(commands=({"name": "cost"},), raw={"commands": []}),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_events_are_frozen(event):
    """Handlers share events, so nobody can change one."""
    name = dataclasses.fields(event)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, name, None)


@pytest.mark.parametrize("event", EXAMPLES[1:], ids=lambda event: type(event).__name__)
def test_events_are_values(event):
    """Events compare by content and survive pickling."""
    assert pickle.loads(pickle.dumps(event)) == event


def test_a_handler_error_says_who_failed_on_what():
    """The exception, the handler and the event are kept as they are."""
    error = ValueError("oh")
    report = HandlerError(error, print, "event")
    assert report.exception is error
    assert report.handler is print
    assert report.event == "event"


def test_an_empty_receipt_says_that_nothing_was_stopped():
    """What a CLI does not tell is empty, never missing."""
    receipt = InterruptReceipt()
    assert (receipt.still_queued, receipt.cancelled, receipt.raw) == ((), (), {})


def test_what_a_cli_does_not_tell_is_none():
    """An Info of a silent CLI has None everywhere."""
    info = Info()
    names = [field.name for field in dataclasses.fields(Info) if field.name != "raw"]
    assert [getattr(info, name) for name in names] == [None] * len(names)
    assert info.raw == {}


@pytest.mark.parametrize("event", EXAMPLES[2:], ids=lambda event: type(event).__name__)
def test_the_raw_reply_stays_out_of_repr(event):
    """Printing an event does not print the whole reply."""
    assert "raw" not in repr(event)
