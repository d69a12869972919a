"""
Text and thinking as they arrive: strings that know where they belong.

``client.on_text(print)`` works because a :class:`Text` *is* the new piece of
text. What came before it, in the same block of the same message, is there for
the asking and costs nothing until it is asked for.
"""

from __future__ import annotations

from typing import Any, Type, TypeVar

__all__ = ["Piece", "Text", "Thinking"]

PieceType = TypeVar("PieceType", bound="Piece")


class Block:
    """One content block while it grows; shared by all pieces cut from it."""

    __slots__ = ("agent", "matched", "message_id", "parent_tool_use_id", "piece_class", "pieces")

    def __init__(self, piece_class: Type[Piece], *origin: str | None) -> None:
        self.piece_class = piece_class
        self.message_id, self.parent_tool_use_id, self.agent = origin
        self.pieces: list[str] = []
        # The complete message has brought this block too: never deliver it again.
        self.matched = False

    def grow(self, text: str) -> Piece:
        """The next piece. Called for every delta of a stream: keep it cheap."""
        pieces = self.pieces
        pieces.append(text)
        piece = str.__new__(self.piece_class, text)
        piece._block = self
        piece._end = len(pieces)
        return piece

    def text(self) -> str:
        """Everything so far."""
        return "".join(self.pieces)


class Piece(str):
    """
    A new piece of text. It behaves like any string and has, besides:

    Attributes:
        snapshot: The whole block so far, this piece included.
        message_id: The API message it belongs to.
        parent_tool_use_id: The tool use of the subagent that speaks, or None.
        agent: The type of that subagent, or None for the main conversation.

    """

    __slots__ = ("_block", "_end")

    _block: Block
    _end: int

    def __new__(cls: Type[PieceType], text: str = "") -> PieceType:
        """A piece that stands alone: for tests of handlers. The library uses Block.grow()."""
        piece = Block(cls, None, None, None).grow(text)
        assert isinstance(piece, cls)
        return piece

    @property
    def snapshot(self) -> str:
        """The whole block so far, this piece included."""
        return "".join(self._block.pieces[: self._end])

    @property
    def message_id(self) -> str | None:
        """The API message it belongs to."""
        return self._block.message_id

    @property
    def parent_tool_use_id(self) -> str | None:
        """The tool use that started the subagent that speaks; None in the main conversation."""
        return self._block.parent_tool_use_id

    @property
    def agent(self) -> str | None:
        """The type of the subagent that speaks; None in the main conversation."""
        return self._block.agent

    def __reduce__(self) -> tuple[Any, ...]:
        block = self._block
        origin = (block.message_id, block.parent_tool_use_id, block.agent)
        return rebuild, (type(self), self.snapshot[: -len(self) or None], str(self), *origin)


class Text(Piece):
    """A new piece of the text that Claude writes."""

    __slots__ = ()


class Thinking(Piece):
    """A new piece of what Claude thinks aloud."""

    __slots__ = ()


def rebuild(piece_class: Type[Piece], before: str, text: str, *origin: str | None) -> Piece:
    """A piece from its parts: for pickle, and for tests of handlers."""
    block = Block(piece_class, *origin)
    if before:
        block.grow(before)
    return block.grow(text)


def joined(first: Piece, then: Piece) -> Piece | None:
    """Two neighbouring pieces of one block as one; None if they are of two."""
    block = first._block
    if block is not then._block:
        return None
    piece = str.__new__(block.piece_class, first + then)
    piece._block, piece._end = block, then._end
    return piece


def kept_text(piece: Piece) -> str:
    """The text of a piece as its block keeps it: without a copy, and smaller than the piece."""
    return piece._block.pieces[piece._end - 1]
