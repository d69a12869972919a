"""
Calls that wait for the next frame of a window: what ``gui.tk`` and ``gui.qt`` build on.

::

    process -> lines -> messages -> dispatch -> [frames] -> handlers, on the window's thread

A window draws some sixty times a second, and whatever its thread does longer than
that is seen as a stutter. So a timer of the toolkit runs what waits once per frame (now and
then, while nothing runs), and:

* Text that came since the last frame is one call, whatever number of pieces it had;
  of very much text, what one frame can draw.
* A frame has an end: what does not fit into it waits for the next one.
* So many calls may wait and no more; then the dispatcher waits, and behind it the CLI.

Nothing is lost and the order is kept. When the window is gone, the calls of the
program's handlers are dropped, because what they would draw on is gone too, and what
others wait for (the end of a turn, the answer to a request) happens without it.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Iterable, List, Optional, Set

from ..messages.stream_text import Block

if TYPE_CHECKING:
    from ..client import Client
    from ..messages.stream_text import Piece

__all__ = ["ATTACHED", "Attachment", "Frames"]

# Milliseconds. A sixtieth of a second; what is left of it at least for drawing; and how often
# one looks while nothing runs.
FRAME = 16
DRAWING = 4
IDLE = 50

# How long a frame may run calls: half of a sixtieth of a second, the rest is for drawing.
FRAME_WORK = 0.008
# So many calls, and characters of text, may wait for a frame.
CALLS_AT_ONCE = 1000
TEXT_AT_ONCE = 1024 * 1024
# A frame brings so many characters of text: toolkits take milliseconds to lay out more.
TEXT_PER_FRAME = 16 * 1024


class Call:
    """A call that waits, and what to do instead if it is never made."""

    __slots__ = ("_call", "instead")

    size = 0  # characters of text

    def __init__(self, call: Callable[[], None], instead: Optional[Callable[[], None]]) -> None:
        self._call = call
        self.instead = instead

    def run(self) -> None:
        """Make it."""
        self._call()


class GrowingCall:
    """A call with text that grows while it waits."""

    __slots__ = ("_call", "_handlers", "_pieces", "_turn", "size")

    instead: Optional[Callable[[], None]] = None

    def __init__(
        self, piece: Piece, handlers: Any, turn: Any, call: Callable[[Piece], None]
    ) -> None:
        self._pieces: List[Piece] = [piece]
        self.size = len(piece)
        self._handlers = handlers
        self._turn = turn
        self._call = call

    def takes(self, piece: Piece, handlers: Any, turn: Any) -> bool:
        """Take a piece of the same block, turn and handlers, if it fits; whether it was."""
        last = self._pieces[-1]
        if (
            self.size + len(piece) > TEXT_PER_FRAME
            or last._block is not piece._block
            or last._end > piece._end
            or self._handlers is not handlers
            or self._turn is not turn
        ):
            return False
        self._pieces.append(piece)
        self.size += len(piece)
        return True

    def run(self) -> None:
        """Make it, with all of the text as one piece."""
        pieces = self._pieces
        last = pieces[-1]
        if len(pieces) > 1:
            merged = str.__new__(type(last), "".join(pieces))
            merged._block = last._block
            merged._end = last._end
            last = merged
        self._call(last)


class Frames:
    """What waits for a window; filled by the dispatcher, run by the window's thread."""

    def __init__(self) -> None:
        # Threads that ran posted calls, the window's among them.
        self.threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        # Guards everything below; notified when there may be room again.
        self._changed = threading.Condition(threading.Lock())
        self._waiting: Deque[Any] = deque()
        self._text = 0
        # Calls put before all others since the last one was made; of the window's thread.
        self._put_first = 0
        # The client closes: wait for room no longer.
        self._released = False
        self._stopped = False

    def __call__(
        self, call: Callable[[], None], instead: Optional[Callable[[], None]] = None
    ) -> None:
        """Have *call* made in one of the next frames, or *instead* at once if there is none."""
        if not self._add(Call(call, instead)) and instead is not None:
            instead()

    def grow(self, piece: Piece, handlers: Any, turn: Any) -> bool:
        """Add text to the last call that waits, if that is one for the same block."""
        with self._changed:
            if not self._waiting or self._text >= TEXT_AT_ONCE:
                return False
            last = self._waiting[-1]
            if type(last) is not GrowingCall or not last.takes(piece, handlers, turn):
                return False
            self._text += len(piece)
            return True

    def begin(self, piece: Piece, handlers: Any, turn: Any, call: Callable[[Piece], None]) -> None:
        """Have *call* made with *piece* and what is added to it until then."""
        for part in split(piece, TEXT_PER_FRAME) if len(piece) > TEXT_PER_FRAME else [piece]:
            self._add(GrowingCall(part, handlers, turn, call))

    def go_on_with(self, calls: Iterable[Callable[[], None]]) -> None:
        """
        From inside of a call: have these made next, before all that waits.

        Were they a part of that call, a loop that it runs would make later calls first.
        """
        with self._changed:
            if not self._stopped:
                before = [Call(call, None) for call in calls]
                self._waiting.extendleft(reversed(before))
                self._put_first += len(before)

    def has_run_here(self) -> bool:
        """Whether the calling thread is one that runs posted calls."""
        return threading.current_thread() in self.threads

    def run(self, windows: int = 1) -> bool:
        """
        On the window's thread, once per frame: make calls that wait; whether more do.

        So many share the time of a frame: a busy client must not keep the others waiting.

        A handler may run a loop of the window's own (a modal dialog), in which this is
        called again: the calls after it are made then. What ends programs goes through,
        and the frame with it; what waits is for the next one.
        """
        self.threads.add(threading.current_thread())
        end = time.monotonic() + FRAME_WORK / windows
        # What comes during this frame is for the next one.
        left, text = len(self._waiting), 0
        while left > 0 and text < TEXT_PER_FRAME:
            with self._changed:
                if not self._waiting:
                    break
                call = self._waiting.popleft()
                self._text -= call.size
                self._changed.notify_all()
            self._put_first = 0
            call.run()
            text += call.size
            left += self._put_first - 1
            if time.monotonic() >= end:
                break
        return bool(self._waiting)

    def release(self) -> None:
        """The client closes: make the dispatcher wait no longer."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def stop(self) -> None:
        """The window is gone: make no more calls. Twice is harmless."""
        with self._changed:
            self._stopped = True
            waiting, self._waiting = list(self._waiting), deque()
            self._text = 0
            self._changed.notify_all()
        for call in waiting:
            if call.instead is not None:
                call.instead()

    def _add(self, call: Any) -> bool:
        """Let a call wait; whether it can."""
        with self._changed:
            self._changed.wait_for(self._has_room)
            if self._stopped:
                return False
            self._waiting.append(call)
            self._text += call.size
        return True

    def _has_room(self) -> bool:
        return (
            self._stopped
            or self._released
            or (len(self._waiting) < CALLS_AT_ONCE and self._text < TEXT_AT_ONCE)
        )


def split(piece: Piece, size: int) -> List[Piece]:
    """A piece as several of at most *size* characters, each with the snapshot of its own end."""
    whole = piece._block
    block = Block(type(piece), whole.message_id, whole.parent_tool_use_id, whole.agent)
    block.pieces = whole.pieces[: piece._end - 1]
    return [block.grow(piece[start : start + size]) for start in range(0, len(piece), size)]


class Attachment:
    """
    What ``attach()`` returns: a client whose handlers run on a window's thread.

    The toolkits add a timer, and tell when the window is gone. The client is kept until it is
    closed.
    """

    def __init__(self, client: Client) -> None:
        self._reference = weakref.ref(client)
        self._kept: Optional[Client] = client
        self._frames = Frames()
        client._post_through(self._frames)
        ATTACHED.add(self)
        self._next(0)

    @property
    def client(self) -> Optional[Client]:
        """The client; None once the program has let go of one that is closed."""
        return self._reference()

    def detach(self) -> None:
        """
        Let go of the window: handlers run on the client's own threads again.

        Best called between two turns. What waits for the window is done before, and the
        client stays open. Twice is harmless.
        """
        client = self.client
        if self not in ATTACHED:
            return
        self._check_thread("detach()")
        while self._frames.run():
            pass
        if client is not None:
            client._post_through(None)
        while self._frames.run():  # what came in between
            pass
        self.stop()

    def post(self, call: Callable[[], None]) -> None:
        """From any thread: have *call* made on the window's."""
        self._frames(call)

    def close(self, *_: object) -> None:
        """The window is gone: close the client, without waiting."""
        client = self.client
        self.stop()
        if client is not None:
            client.close(wait=False)

    def stop(self) -> None:
        """Run no more handlers. Twice is harmless."""
        if self in ATTACHED:
            ATTACHED.discard(self)
            self._kept = None
            self._end_timer()
            self._frames.stop()
            # No handler runs here any more, so a thread may wait here for a turn to end.
            self._frames.threads.clear()

    def _frame(self) -> None:
        """Run what waits, and set the timer anew; what a program's code raises goes through."""
        client = self.client
        if client is None:
            self.stop()
            return
        state = client.state
        if state == "closed":
            self._kept = None
        # Before the calls, for a loop of the toolkit that one of them runs (a modal dialog).
        self._next(FRAME)
        begun = time.monotonic()
        more = True
        try:
            more = self._frames.run(len(ATTACHED))
        finally:
            if self in ATTACHED:  # a call may have ended everything
                spent = int((time.monotonic() - begun) * 1000)
                is_busy = more or state in ("busy", "starting")
                self._next(max(DRAWING, FRAME - spent) if is_busy else IDLE)

    # Of the toolkit.

    def _next(self, milliseconds: int) -> None:
        """Call :meth:`_frame` then, and not before."""
        raise NotImplementedError

    def _end_timer(self) -> None:
        """Call it no more, and hear no more of the window."""
        raise NotImplementedError

    def _check_thread(self, what: str) -> None:
        """Raise UsageError unless this is the window's thread."""
        raise NotImplementedError

    def __repr__(self) -> str:
        client = self.client
        name = client.name if client is not None else "a client that is gone"
        return f"<{name} attached to a window{'' if self in ATTACHED else ' (no more)'}>"


# What is attached, which keeps it alive.
ATTACHED: Set[Attachment] = set()
