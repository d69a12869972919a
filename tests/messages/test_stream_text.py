"""Pieces of text: strings that know where they belong."""

from __future__ import annotations

import pickle

import pytest

from claude_sync.messages.stream_text import Block, Text, Thinking, rebuild


@pytest.fixture
def block():
    """A block of a subagent that has not begun yet."""
    return Block(Text, "msg_1", "toolu_1", "researcher")


def test_the_snapshot_is_what_was_there_then(block):
    """Each piece has the block up to itself, however much comes later."""
    pieces = [block.grow(text) for text in ("Hel", "lo ", "you")]
    assert [piece.snapshot for piece in pieces] == ["Hel", "Hello ", "Hello you"]
    assert block.text() == "Hello you"


@pytest.mark.parametrize("text", ["lo", ""])
def test_pieces_survive_pickling(block, text):
    """A pickled piece has the same class, text, snapshot and origin."""
    block.grow("Hel")
    piece = block.grow(text)
    block.grow("never mind")
    again = pickle.loads(pickle.dumps(piece))
    assert type(again) is Text
    assert again == piece
    assert again.snapshot == "Hel" + text
    assert (again.message_id, again.parent_tool_use_id, again.agent) == (
        "msg_1",
        "toolu_1",
        "researcher",
    )


def test_a_piece_can_be_made_for_a_test():
    """Text("...") stands alone, so handlers can be tested without a CLI; rebuild() has parts."""
    for piece_class in (Text, Thinking):
        piece = piece_class("Hello")
        assert type(piece) is piece_class
        assert (piece, piece.snapshot, piece.message_id) == ("Hello", "Hello", None)
        assert not hasattr(piece, "__dict__")
    assert Text() == ""
    piece = rebuild(Thinking, "before ", "now", "msg_1", None, None)
    assert (type(piece), piece, piece.snapshot) == (Thinking, "now", "before now")
