"""What travels through the inbox."""

from __future__ import annotations

import pytest

from claude_sync.protocol.exchange import Sent
from claude_sync.runtime.items import EndOfStream, Routed, StderrLine, Withdrawn


def test_a_routed_message_belongs_to_nobody_unless_told():
    """Only what the reader found out is set."""
    raw = {"type": "result"}
    entry = Sent("u1")
    item = Routed(raw, entry)
    assert (item.raw, item.entry) == (raw, entry)
    assert (item.completes, item.bystander, item.withdrawn) == (None, None, None)


def test_a_routed_message_keeps_each_question_apart():
    """Whose it is, whom it completes, who stood by and who was dropped are four things."""
    entries = [Sent(f"u{number}") for number in range(4)]
    item = Routed({}, *entries)
    assert [item.entry, item.completes, item.bystander, item.withdrawn] == entries


@pytest.mark.parametrize(
    "item",
    [Routed({}, None), Withdrawn(Sent("u1")), StderrLine("oh"), EndOfStream(None, None)],
    ids=lambda item: type(item).__name__,
)
def test_items_are_small(item):
    """There are many of them: none has a dict of its own."""
    assert not hasattr(item, "__dict__")


def test_the_end_of_a_stream_knows_whose_and_why():
    """The connection and the error are kept as they are."""
    error = OSError("gone")
    item = EndOfStream("connection", error)
    assert (item.connection, item.error) == ("connection", error)
