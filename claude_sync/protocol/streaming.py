"""
Turn streamed and complete messages into pieces of text, each character once.

::

    process -> lines -> messages -> [streaming] -> dispatch -> handlers -> answer

With partial messages on, a text arrives twice: in deltas, and again in the
complete ``assistant`` line. Without them, and for messages the CLI makes up
itself, it arrives once, complete. An :class:`Assembler` sees both and gives
every character out exactly once.

Decisions taken here and nowhere else:

* Deltas are collected by (subagent, block index); the message id is the one of
  the last ``message_start`` of that subagent. What ``message_start`` itself
  carries as content is ignored: old CLIs put the first delta there as well.
* A stream without ``message_start`` says nowhere whose it is: its blocks are those of
  the complete message that follows.
* A complete block carries no index, so it is matched by its text: of the streamed and
  not yet matched blocks of the same message, the one that is most like it. One that has
  brought nothing yet begins like every text, so it comes last.
  What the stream did not bring of a block is delivered then.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type

from ..messages.stream_text import Block, Piece, Text, Thinking

__all__ = ["DELTA_FIELDS", "Assembler"]

# Kinds of delta that carry text for a person, and the field it is in.
DELTA_FIELDS = {"text_delta": "text", "thinking_delta": "thinking"}
PIECE_CLASSES: Dict[str, Type[Piece]] = {
    "text": Text,
    "text_delta": Text,
    "thinking": Thinking,
    "thinking_delta": Thinking,
}

# A complete message follows its stream closely; older ones are not needed any more.
MESSAGES_REMEMBERED = 64
# A session may have any number of subagents, of which few are alive at once.
AGENTS_REMEMBERED = 256

NOT_ALIKE = (0, 0)

Key = Tuple[Optional[str], Any]


class Assembler:
    """The blocks that are growing, and the ones that were streamed already."""

    def __init__(self) -> None:
        self._message_ids: Dict[Optional[str], Optional[str]] = {}
        self._open: Dict[Key, Block] = {}
        # Blocks by message, in the order they began; oldest messages first.
        self._streamed: Dict[Tuple[Optional[str], Optional[str]], List[Block]] = {}
        self._agents: Dict[str, str] = {}
        # The block of the last delta: most deltas go where the one before went.
        self._last_parent: Any = None
        self._last_index: Any = None
        self._last_block: Optional[Block] = None

    def name_agent(self, tool_use_id: str, agent: str) -> None:
        """Messages below *tool_use_id* are those of *agent*."""
        # Out and in again: those that were mentioned last are the last to be forgotten.
        self._agents.pop(tool_use_id, None)
        self._agents[tool_use_id] = agent
        if len(self._agents) > AGENTS_REMEMBERED:
            del self._agents[next(iter(self._agents))]

    def stream_event(self, raw: Mapping[str, Any]) -> Optional[Piece]:
        """The new piece that a stream event brings, or None."""
        try:
            event = raw["event"]
            kind = event["type"]
            if kind == "content_block_delta":
                delta = event["delta"]
                field = DELTA_FIELDS.get(delta["type"])
                if field is None:
                    return None
                return self.delta(
                    raw.get("parent_tool_use_id"), event.get("index"), delta["type"], delta[field]
                )
            if kind == "content_block_start":
                return self._block_start(raw, event)
            if kind == "message_start":
                parent = text_or_none(raw.get("parent_tool_use_id"))
                self._message_start(parent, text_or_none(event["message"].get("id")))
            elif kind == "content_block_stop":
                self._close(key_of(raw.get("parent_tool_use_id"), event.get("index")))
        except (KeyError, TypeError, AttributeError):
            pass  # a shape this release does not know; on_stream_event still sees it
        return None

    def delta(
        self, parent: Optional[str], index: Any, delta_type: str, text: Any
    ) -> Optional[Piece]:
        """The piece for *text*, which continues block *index* of what *parent* says."""
        if not text or not isinstance(text, str):
            return None
        block = self._last_block
        if block is None or index != self._last_index or parent != self._last_parent:
            key = parent, index = key_of(parent, index)
            block = self._open.get(key)
            if block is None:
                block = self._begin(key, PIECE_CLASSES[delta_type])
            self._last_parent, self._last_index, self._last_block = parent, index, block
        return block.grow(text)

    def complete(self, raw: Mapping[str, Any]) -> List[Piece]:
        """The pieces of a complete ``assistant`` message that were not streamed."""
        message = raw.get("message")
        content = message.get("content") if isinstance(message, dict) else raw.get("content")
        parent = text_or_none(raw.get("parent_tool_use_id"))
        message_id = text_or_none(message.get("id")) if isinstance(message, dict) else None
        agent = raw.get("subagent_type")
        if parent is not None and isinstance(agent, str):
            self.name_agent(parent, agent)
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        pieces = []
        for block in content if isinstance(content, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if kind not in ("text", "thinking"):
                continue
            piece = self._rest_of(parent, message_id, PIECE_CLASSES[kind], block.get(kind))
            if piece is not None:
                pieces.append(piece)
        if (parent, None) in self._streamed:
            self._close_nameless(parent)
        return pieces

    def _close_nameless(self, parent: Optional[str]) -> None:
        """Without a ``message_start``, the complete message is what ends its blocks."""
        blocks = self._streamed.pop((parent, None))
        for key in [key for key, block in self._open.items() if block in blocks and block.matched]:
            self._close(key)
        left = [block for block in blocks if not block.matched]
        if left:
            self._streamed[(parent, None)] = left

    def _message_start(self, parent: Optional[str], message_id: Optional[str]) -> None:
        self._message_ids.pop(parent, None)
        self._message_ids[parent] = message_id
        self._close_all(parent)
        if len(self._message_ids) > AGENTS_REMEMBERED:
            oldest = next(each for each in self._message_ids if each is not None)
            del self._message_ids[oldest]
            self._close_all(oldest)

    def _close_all(self, parent: Optional[str]) -> None:
        for key in [key for key in self._open if key[0] == parent]:
            self._close(key)

    def _block_start(self, raw: Mapping[str, Any], event: Mapping[str, Any]) -> Optional[Piece]:
        start = event["content_block"]
        piece_class = PIECE_CLASSES.get(start["type"])
        key = key_of(raw.get("parent_tool_use_id"), event.get("index"))
        self._close(key)
        if piece_class is None:
            return None
        block = self._begin(key, piece_class)
        text = start.get("text" if piece_class is Text else "thinking")
        return block.grow(text) if text and isinstance(text, str) else None

    def _begin(self, key: Key, piece_class: Type[Piece]) -> Block:
        parent = key[0]
        message_id = self._message_ids.get(parent)
        agent = self._agents.get(parent) if parent is not None else None
        block = Block(piece_class, message_id, parent, agent)
        self._open[key] = block
        self._streamed.setdefault((parent, message_id), []).append(block)
        if len(self._streamed) > MESSAGES_REMEMBERED:
            del self._streamed[next(iter(self._streamed))]
        if len(self._open) > AGENTS_REMEMBERED:
            self._close(next(iter(self._open)))
        return block

    def _close(self, key: Key) -> None:
        block = self._open.pop(key, None)
        if block is self._last_block:
            self._last_block = None

    def _rest_of(
        self,
        parent: Optional[str],
        message_id: Optional[str],
        piece_class: Type[Piece],
        text: Any,
    ) -> Optional[Piece]:
        """What the stream has not brought yet of a complete block."""
        if not isinstance(text, str) or not text:
            return None
        streamed_blocks = self._streamed.get((parent, message_id))
        if streamed_blocks is None:  # perhaps by somebody who does not say whose they are
            streamed_blocks = self._streamed.get((parent, None), [])
        found, streamed = most_like(text, piece_class, streamed_blocks)
        if found is None:
            agent = self._agents.get(parent) if parent is not None else None
            return Block(piece_class, message_id, parent, agent).grow(text)
        found.matched = True
        if not text.startswith(streamed):
            return None
        rest = text[len(streamed) :]
        return found.grow(rest) if rest else None


def most_like(
    text: str, piece_class: Type[Piece], blocks: List[Block]
) -> Tuple[Optional[Block], str]:
    """The streamed block that *text* completes, and what it has brought; None if there is none."""
    best, best_streamed, best_likeness = None, "", NOT_ALIKE
    for block in blocks:
        if block.matched or block.piece_class is not piece_class:
            continue
        streamed = block.text()
        found = likeness(text, streamed)
        if found > best_likeness:
            best, best_streamed, best_likeness = block, streamed, found
    return best, best_streamed


def likeness(text: str, streamed: str) -> Tuple[int, int]:
    """How well a streamed text fits a complete one; greater is better, NOT_ALIKE not at all."""
    if text == streamed:
        return (5, 0)
    if not streamed:
        return (1, 0)
    # The CLI may trim what it streamed, or cut it short when interrupted.
    if text.strip() == streamed.strip():
        return (4, 0)
    if text.startswith(streamed):
        return (3, len(streamed))
    return (2, 0) if streamed.startswith(text) else NOT_ALIKE


def key_of(parent: object, index: object) -> Key:
    """What a block is found by; an index that is no number or text counts as none."""
    return text_or_none(parent), index if isinstance(index, (int, float, str)) else None


def text_or_none(value: object) -> Optional[str]:
    """*value* if it can be the id of something."""
    return value if isinstance(value, str) else None
