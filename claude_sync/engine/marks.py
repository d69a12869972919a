"""
When what happened in a turn: times of arrival, taken at rare events.

::

    process -> lines -> [messages] -> dispatch -> handlers -> turn

The reader stamps each complete message when it arrives, and each request of the
CLI; the dispatcher notes in the turn's :class:`Marks` what they say. So a slow
handler changes nothing, and the pieces of a stream, of which there may be
hundreds of thousands, cost nothing: only the first one is looked for.

Marks are small, and there is an end to their number. What they mean is worked
out when somebody asks for a timeline: see ``claude_sync/render/timeline.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

__all__ = ["DONE", "ENDED", "SAID", "SENT", "TURNS_KEPT", "USED", "Marks", "Wait"]

# Of how many turns a client can draw a timeline.
TURNS_KEPT = 100
# A turn with more than this had thousands of tool calls, of which nobody sees each one.
MOST_MARKS = 5_000
LONGEST_NAME = 100
LONGEST_PROMPT = 80

# What a mark is of; its other fields:
SENT = "sent"  # the question was sent, once more if it was asked again
SAID = "said"  # a complete message of the model: (parent,)
USED = "used"  # a tool use: (parent, id, name)
DONE = "done"  # its result: (parent, id, is_error)
ENDED = "ended"  # the turn's result: (None, subtype, is_error)


class Wait:
    """
    A request of the CLI for which the turn waited, or may have.

    Attributes:
        kind: ``permission``, ``question`` or ``hook``.
        name: The tool; of a hook, the event.
        tool_use_id: The use of the tool it is about, where told.
        start, end: When it came, and when it was answered or withdrawn; None: not yet.

    """

    def __init__(self, kind: str, name: str, tool_use_id: str | None) -> None:
        self.kind = kind
        self.name = name
        self.tool_use_id = tool_use_id
        self.start = monotonic()
        self.end: float | None = None

    def over(self) -> None:
        """It was answered, or nobody wants the answer any more."""
        if self.end is None:
            self.end = monotonic()


class Marks:
    """
    What a turn remembers of its times.

    Lists only grow, one item at a time, so any thread may look at them without a lock.

    Attributes:
        prompt: The beginning of the question.
        made: When it was asked of us.
        first: When the first piece of a streamed answer came; None: none did yet.
        cut: When it ended without a result, if it did.
        events: Tuples of a time, what it is of, and its other fields; see above.
        waits: Requests of the CLI.
        left_out: How many there were beyond the limit.
        cost_usd: What the turn cost.

    """

    def __init__(self, prompt: Any = "") -> None:
        self.prompt = prompt[:LONGEST_PROMPT] if isinstance(prompt, str) else ""
        self.made = monotonic()
        self.first: float | None = None
        self.cut: float | None = None
        self.events: list[tuple[Any, ...]] = []
        self.waits: list[Wait] = []
        self.left_out = 0
        self.cost_usd = 0.0

    def sent(self) -> bool:
        """The question goes out now; whether that is for the first time."""
        is_first = not self.events
        self.events.append((monotonic(), SENT, None))
        return is_first

    def with_cost(self, cost_usd: float, is_complete: bool) -> Marks:
        """There is an answer, as far as it got; these marks are its."""
        self.cost_usd = cost_usd
        if not is_complete:
            self.stop()
        return self

    def stop(self) -> None:
        """It ended without a result, or at least nobody waits for one."""
        self.cut = monotonic()

    def forget(self) -> None:
        """What came since it was sent belongs to another turn."""
        self.events = [event for event in self.events if event[1] == SENT]
        self.waits = []
        self.first = None

    def first_piece(self, items: list[Any]) -> None:
        """Look whether a stream has begun among what the reader just read."""
        for item in items:
            if type(item) is dict and item.get("parent_tool_use_id") is None:
                event = item.get("event")
                if isinstance(event, dict) and event.get("type") == "content_block_delta":
                    self.first = monotonic()
                    return

    def see(self, raw: Mapping[str, Any], at: float) -> None:
        """A complete message of the turn, and when it arrived."""
        kind = raw.get("type")
        if kind == "result":
            self.events.append((at, ENDED, None, raw.get("subtype"), bool(raw.get("is_error"))))
        elif kind == "assistant" or kind == "user":
            parent = raw.get("parent_tool_use_id")
            parent = parent if isinstance(parent, str) else None
            message = raw.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            if kind == "assistant":
                self._said(at, parent)
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict):
                    self._block(block, at, parent)

    def _said(self, at: float, parent: str | None) -> None:
        events = self.events
        if events and events[-1][1] == SAID and events[-1][2] == parent:
            events[-1] = (at, SAID, parent)  # of its many blocks, the last one counts
        else:
            self._add((at, SAID, parent))

    def _block(self, block: Mapping[str, Any], at: float, parent: str | None) -> None:
        kind = block.get("type")
        if kind == "tool_use":
            use_id, name = block.get("id"), block.get("name")
            if isinstance(use_id, str):
                self._add((at, USED, parent, use_id, text_of(name)))
        elif kind == "tool_result":
            use_id = block.get("tool_use_id")
            if isinstance(use_id, str):
                self._add((at, DONE, parent, use_id, bool(block.get("is_error"))))

    def _add(self, event: tuple[Any, ...]) -> None:
        if len(self.events) < MOST_MARKS:
            self.events.append(event)
        else:
            self.left_out += 1

    def asked(self, subtype: str, body: Mapping[str, Any]) -> Wait | None:
        """A request of the CLI came; what is to be told of its end, if it counts."""
        if subtype == "can_use_tool":
            name = text_of(body.get("tool_name"))
            kind = "question" if name == "AskUserQuestion" else "permission"
        elif subtype == "hook_callback":
            event = body.get("input")
            name = text_of(event.get("hook_event_name") if isinstance(event, dict) else None)
            kind = "hook"
        else:
            return None
        if len(self.waits) >= MOST_MARKS:
            self.left_out += 1
            return None
        use_id = body.get("tool_use_id")
        wait = Wait(kind, name, use_id if isinstance(use_id, str) else None)
        self.waits.append(wait)
        return wait


def text_of(name: Any) -> str:
    """A name of the wire, which may be anything."""
    return name[:LONGEST_NAME] if isinstance(name, str) and name else "?"
