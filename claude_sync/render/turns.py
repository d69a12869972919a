"""
A turn while it runs, as a :class:`Chat`: what there is of it at this moment.

Read by any thread while another one adds to it: what is there is there, what is missing
comes next time. Nothing is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .chats import Chat, Step

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..messages.answer import Answer

__all__ = ["chat_of_turn", "outcome_of", "stamp_of"]


def so_far(turn: Turn) -> tuple[list[Any], str]:
    """The complete messages of a turn, and all of its text."""
    # In this order: a message that comes meanwhile brings no text that is not in the texts.
    messages = list(turn.asked.collected.messages)
    return messages, "".join(list(turn.asked.collected.texts))


def stamp_of(turn: Turn) -> tuple[object, ...]:
    """Something that is another one when there is more to show. Cheap."""
    return (
        turn.done(),
        turn.running(),
        len(turn.asked.collected.texts),
        len(turn.asked.collected.messages),
    )


def chat_of_turn(turn: Turn, decisions: Mapping[str, str] | None = None) -> Chat:
    """
    What was said and done in the turn, without its prompt.

    *decisions* has what was decided about uses of tools, by their ids.
    """
    messages, said = so_far(turn)
    chat = Chat()
    for tool_use_id, decision in dict(decisions or {}).items():
        chat.decided(tool_use_id, decision)
    complete: list[str] = []
    for message in messages:
        if message.type not in ("assistant", "user"):
            continue
        chat.add(message)
        if message.type == "assistant" and message.parent_tool_use_id is None:
            complete += [block.text for block in message.content if block.type == "text"]
    chat.steps = [step for step in chat.steps if step.kind != "user"]
    rest = unfinished(complete, said)
    if rest:
        chat.steps.append(Step("claude", rest))
    answer, _ = outcome_of(turn)
    if answer is not None and not any(step.kind == "claude" for step in chat.steps):
        # What commands print comes with the result only.
        chat.steps.append(Step("claude", answer.text))
    return chat


def unfinished(complete: list[str], said: str) -> str:
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


def outcome_of(turn: Turn) -> tuple[Answer | None, BaseException | None]:
    """The answer and the error of a turn: neither while it runs, and both where it failed late."""
    # Without the future's lock, which the thread that completes it holds.
    if turn._state != "FINISHED":
        return None, None
    error = turn._exception
    return (turn._result, None) if error is None else (getattr(error, "answer", None), error)
