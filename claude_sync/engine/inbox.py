"""
The queue between the reader and the dispatcher, and that to a program that iterates.

::

    process -> lines -> messages -> [inbox] -> dispatch -> handlers -> turn

What one read brought travels as one batch, so that at full speed there is one
hop between the threads for hundreds of messages. Decisions taken here and
nowhere else:

* When handlers are slower than the CLI, neighbouring deltas of one block are
  merged into one. Nothing is lost, order is kept, and memory holds the text
  itself instead of thousands of messages. Not while somebody wants the raw
  events.
* A program that iterates over a turn may be slower still, or may not look at all: where many
  events wait for it, neighbouring deltas of one block become one, raw events included.
* Past a high-water mark the reader pauses and so, by the full pipe, does the
  CLI. Never while a request of ours waits for its reply, which is behind the
  messages in the pipe.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from ..messages.stream_text import Piece, joined
from ..protocol.streaming import DELTA_FIELDS
from ..support.waiting import take_from

__all__ = [
    "Buffered",
    "EndOfStream",
    "InOrder",
    "Inbox",
    "MergedDelta",
    "Routed",
    "StderrLine",
    "Withdrawn",
]

if TYPE_CHECKING:
    from ..messages.usage import Charge
    from ..protocol.exchange import Sent
    from .connection import Connection

# A backlog of so many batches means that the handlers cannot keep up.
MERGE_FROM = 8
# Bytes of JSON that may wait; as Python objects they take about five times that.
HIGH_WATER = 16 * 1024 * 1024
# So many events may wait for a program that iterates before they are joined, up to so many
# characters each: without an end, every delta would copy all those before it.
MANY_EVENTS = 1000
LONGEST_EVENT = 4096

Item = Any


class Routed:
    """
    A message, with what the reader found out about it.

    Attributes:
        raw: The message.
        entry: The question it belongs to, or None.
        completes: For a result: the question it answers, or None.
        bystander: For a result of nobody: the question that was waiting meanwhile.
        withdrawn: The question that will get no result, as this message says; or None.
        charge: For a result: what was spent since the one before.
        at: When it arrived.

    """

    __slots__ = ("at", "bystander", "charge", "completes", "entry", "raw", "withdrawn")

    def __init__(
        self,
        raw: Mapping[str, Any],
        entry: Sent | None,
        completes: Sent | None = None,
        bystander: Sent | None = None,
        withdrawn: Sent | None = None,
        charge: Charge | None = None,
    ) -> None:
        self.raw = raw
        self.entry = entry
        self.completes = completes
        self.bystander = bystander
        self.withdrawn = withdrawn
        self.charge = charge
        self.at = monotonic()


class InOrder(NamedTuple):
    """A request of the CLI that keeps its place among the messages; *entry*: in whose turn."""

    entry: Sent | None
    serve: Callable[[], None]


class Withdrawn(NamedTuple):
    """The CLI dropped a question before it ran; no result will come."""

    entry: Sent


class StderrLine(NamedTuple):
    """A line that the CLI wrote for people."""

    text: str


class EndOfStream(NamedTuple):
    """The CLI says no more. The last item of its connection, always, and exactly one."""

    connection: Connection


class MergedDelta:
    """Several deltas of one block as one: their texts, in order."""

    __slots__ = ("delta_type", "index", "parent", "texts")

    def __init__(self, parent: str | None, index: Any, delta_type: str, text: str) -> None:
        self.parent = parent
        self.index = index
        self.delta_type = delta_type
        self.texts = [text]

    def continues(self, parent: str | None, index: Any, delta_type: str) -> bool:
        """Whether a delta belongs to the same block."""
        return (self.parent, self.index, self.delta_type) == (parent, index, delta_type)


class Inbox:
    """Batches of items, filled by the reader (and others), emptied by the dispatcher."""

    def __init__(self) -> None:
        # Guards everything below; notified when there may be room again.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        # Something is put here when the first batch comes: waking up whoever waits for it is
        # the one thing that every delta pays for, and this does it in C.
        self._arrived: SimpleQueue[None] = SimpleQueue()
        self._batches: deque[tuple[list[Item], int]] = deque()
        # The batch that is being worked off; empty when none is.
        self._taken: list[Item] = []
        self._size = 0
        self._released = False
        # Set by whoever wants every raw stream event: merging is off then.
        self.raw_wanted = False

    def put(self, items: list[Item], size: int = 0) -> None:
        """Add *items*, which took *size* bytes on the wire."""
        if not items:
            return
        with self._lock:
            if len(self._batches) >= MERGE_FROM and not self.raw_wanted:
                items, size = self._merge(items, size)
                if not items:
                    return
            if not self._batches:
                self._arrived.put(None)
            self._batches.append((items, size))
            self._size += size

    def take(self, timeout: float | None = None) -> list[Item] | None:
        """
        The oldest batch; None if none came in time.

        Whoever takes it removes from it what it has delivered. What is left in it comes
        again: Ctrl-C, at whatever moment, loses nothing.
        """
        end = None if timeout is None else monotonic() + timeout
        while True:
            with self._lock:
                if self._taken:
                    return self._taken
                if self._batches:
                    self._taken = self._batches[0][0]
                    self._size -= self._batches.popleft()[1]
                    self._changed.notify_all()
                    return self._taken
            try:
                # May tell of a batch that was taken already: so look, and wait again.
                take_from(self._arrived, None if end is None else end - monotonic())
            except Empty:
                return None

    def is_drained(self) -> bool:
        """Whether everything that was put is worked off."""
        with self._lock:
            return not self._batches and not self._taken

    def waiting(self) -> tuple[int, int]:
        """How many items wait, and how many bytes they took on the wire."""
        with self._lock:
            items = sum(len(items) for items, _ in self._batches)
            return items + len(self._taken), self._size

    def wait_for_room(self, must_read: Callable[[], object]) -> None:
        """Pause while too much waits; not while *must_read* says that a reply is due."""
        if self._size <= HIGH_WATER:
            return
        with self._lock:
            self._changed.wait_for(
                lambda: self._size <= HIGH_WATER or self._released or must_read()
            )

    def look_again(self) -> None:
        """Something changed that a pausing reader should know."""
        with self._lock:
            self._changed.notify_all()

    def release(self) -> None:
        """Never pause again: the client is closing."""
        with self._lock:
            self._released = True
            self._changed.notify_all()

    def _merge(self, items: list[Item], size: int) -> tuple[list[Item], int]:
        """Merge deltas into the last item that waits, or into each other."""
        last_batch = self._batches[-1][0]
        last = last_batch[-1]
        kept: list[Item] = []
        kept_size = 0
        added = 0
        per_item = size // len(items)
        for item in items:
            delta = delta_of(item)
            if delta is None:
                kept.append(item)
                kept_size += per_item
            elif isinstance(last, MergedDelta) and last.continues(*delta[:3]):
                last.texts.append(delta[3])
                added += len(delta[3])
                continue
            else:
                item = MergedDelta(*delta)
                kept.append(item)
                kept_size += len(delta[3])
            last = item
        if added:
            # Text that joined an item already waiting still takes room.
            waiting, waiting_size = self._batches[-1]
            self._batches[-1] = (waiting, waiting_size + added)
            self._size += added
        return kept, kept_size


class Buffered:
    """
    The events of one turn, for the thread that iterates over it.

    The thread that dispatches adds them, one at a time; the methods of a deque are atomic.
    """

    def __init__(self) -> None:
        self._waiting: deque[Any] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Any) -> None:
        """Add an event, or let it join one that waits."""
        if len(self._waiting) < MANY_EVENTS or not self._join(event):
            self._waiting.append(event)

    def take(self) -> Any:
        """Take the oldest event out."""
        return self._waiting.popleft()

    def _join(self, event: Any) -> bool:
        # Of a delta there is the raw event, and then its piece.
        with suppress(IndexError):  # what it could join was taken out just now
            for place in (-1, -2):
                both = joined_events(self._waiting[place], event)
                if both is not None:
                    self._waiting[place] = both
                    return True
        return False


def joined_events(first: Any, then: Any) -> Any:
    """Two deltas of one block as one; None if they are none, or too long."""
    if type(first) is not type(then):
        return None
    if isinstance(then, Piece):
        return joined(first, then) if len(first) < LONGEST_EVENT else None
    one, other = delta_of(getattr(first, "raw", None)), delta_of(getattr(then, "raw", None))
    if one is None or other is None or one[:3] != other[:3] or len(one[3]) >= LONGEST_EVENT:
        return None
    raw = first.raw
    delta = {**raw["event"]["delta"], DELTA_FIELDS[one[2]]: one[3] + other[3]}
    return type(first).read({**raw, "event": {**raw["event"], "delta": delta}})


def delta_of(item: Item) -> tuple[str | None, Any, str, str] | None:
    """Parent, index, type and text of a delta that can be merged; None for anything else."""
    if type(item) is not dict:
        return None
    event: dict[str, Any] = item.get("event") or {}
    try:
        delta = event["delta"]
        delta_type = delta["type"]
        text = delta[DELTA_FIELDS[delta_type]]
    except (KeyError, TypeError):
        return None
    if not isinstance(text, str) or event.get("type") != "content_block_delta":
        return None
    return item.get("parent_tool_use_id"), event.get("index"), delta_type, text
