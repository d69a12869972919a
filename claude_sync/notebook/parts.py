"""
What a turn consists of, in the order in which it happened: text and uses of tools.

Read from a :class:`Turn` at any moment, by any thread, while another one adds to
it: what is there is there, what is missing comes next time. Nothing is waited for.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..messages.answer import Answer
    from ..messages.blocks import ToolResult, ToolUse

__all__ = ["Part", "Use", "Words", "outcome_of", "parts_of", "stamp_of"]


@dataclasses.dataclass(frozen=True)
class Words:
    """Text of Claude's, Markdown."""

    text: str


@dataclasses.dataclass(frozen=True)
class Use:
    """The use of a tool; ``result`` is None while it runs."""

    use: ToolUse
    result: Optional[ToolResult] = None


Part = Union[Words, Use]


def stamp_of(turn: Turn) -> Tuple[object, ...]:
    """Something that is another one when there is more to show. Cheap."""
    return (
        turn.done(),
        turn.running(),
        len(turn._texts),
        len(turn._messages),
        len(turn._tool_uses),
        len(turn._tool_results),
    )


def parts_of(turn: Turn) -> Tuple[Part, ...]:
    """The parts of the main conversation so far; uses of tools by subagents included."""
    # In this order: a message that comes meanwhile brings no text that is not in the texts.
    messages = list(turn._messages)
    said = "".join(list(turn._texts))
    results = dict(turn._tool_results)
    parts: List[Part] = []
    complete: List[str] = []
    for message in messages:
        if message.type != "assistant":
            continue
        of_subagent = message.parent_tool_use_id is not None
        for block in getattr(message, "content", ()):
            if block.type == "text" and not of_subagent:
                add_words(parts, block.text)
                complete.append(block.text)
            elif is_use(block):
                parts.append(Use(block, results.get(block.id)))
    add_words(parts, unfinished(complete, said))
    if turn.done() and not any(isinstance(part, Words) for part in parts):
        # What commands print comes with the result only.
        answer, _ = outcome_of(turn)
        add_words(parts, "" if answer is None else answer.text)
    return tuple(parts)


def unfinished(complete: List[str], said: str) -> str:
    """
    What of the text that was said is not in the *complete* blocks yet.

    Normally these are its beginning. A turn that is asked again has forgotten what was
    said the first time; then the first blocks do not count.
    """
    for first in range(len(complete) + 1):
        beginning = "".join(complete[first:])
        if said.startswith(beginning):
            return said[len(beginning) :]
    return said


def add_words(parts: List[Part], text: str) -> None:
    """Add text, to the text before it if there is some: blocks of one message go together."""
    if not text:
        return
    if parts and isinstance(parts[-1], Words):
        parts[-1] = Words(parts[-1].text + text)
    else:
        parts.append(Words(text))


def is_use(block: Any) -> bool:
    """Whether a block is a use of a tool."""
    from ..messages.blocks import ToolUse

    return isinstance(block, ToolUse)


def outcome_of(turn: Turn) -> Tuple[Optional[Answer], Optional[BaseException]]:
    """The answer and the error of a turn: neither while it runs, and both where it failed late."""
    if not turn.done():
        return None, None
    if turn.cancelled():
        return None, None
    error = turn.exception(0)
    if error is None:
        return turn.result(0), None
    return getattr(error, "answer", None), error
