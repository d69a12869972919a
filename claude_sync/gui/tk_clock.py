"""
The frames of a Tk application: when the calls that wait for it are made.

::

    handlers' calls -> frames -> [clock] -> made on Tk's thread

Tk may be touched on its own thread only, so other threads cannot tell it anything. They
write a byte into a pipe which Tk watches together with its windows. An application that
has nothing to do sleeps, and what arrives is drawn at once; while more arrives, at most
every sixtieth of a second. Where Tk cannot watch a pipe (on Windows), it looks by itself:
as often while something runs, and now and then otherwise.

Decisions taken here and nowhere else:

* Timers are Tk's own and not commands with a name: those that are left over when the
  application ends would be reported as errors.
* The next frame is set before this one runs, because a handler may open a dialog that
  runs Tk's loop inside of it.
* Between two frames there is time to draw, however long the calls of one took.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import tkinter
import weakref
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional

from .frames import FRAME_WORK, Frames
from .tk_windows import nothing, refuse_other_threads, when_destroyed

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["Attachment", "Clock", "clock_of"]

# Milliseconds. A sixtieth of a second; what is left of it at least for drawing; and how
# often one looks, without a pipe, while nothing runs.
FRAME = 16
DRAWING = 4
IDLE = 50


class Bell:
    """Rings on any thread; the thread of Tk hears it through a pipe. Knows nothing else."""

    def __init__(self) -> None:
        self.output, self._input = os.pipe()
        os.set_blocking(self.output, False)
        os.set_blocking(self._input, False)
        self._lock = threading.Lock()  # guards against a ring on a closed descriptor
        self._is_open = True

    def ring(self) -> None:
        """Tell that something waits. Harmless after :meth:`close`."""
        with self._lock:
            if self._is_open:
                with contextlib.suppress(BlockingIOError):  # it has rung often enough
                    os.write(self._input, b"\0")

    def hear(self) -> None:
        """Take in what has rung."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.output, 4096)

    def close(self) -> None:
        """Ring no more."""
        with self._lock:
            self._is_open = False
            os.close(self.output)
            os.close(self._input)


class Entry(NamedTuple):
    """A client, what waits of it, and how to let go of it."""

    frames: Frames
    client: Client
    let_go: Callable[[], object]


class Clock:
    """
    Makes the calls of all clients of one Tk application. Used on Tk's thread only.

    It runs from the first client that is attached until the last one is gone.
    """

    def __init__(self, root: tkinter.Misc) -> None:
        self._tk = root.tk  # and not the window, by which the clock is found while it lives
        self._bell: Optional[Bell] = None
        self._entries: List[Entry] = []
        self._timer: Any = None
        self._ended = 0.0  # when the last frame did
        # Whose turn it is to be first: a busy client must not keep the others waiting.
        self._first = 0

    def add(self, client: Client, let_go: Callable[[], object]) -> Frames:
        """Make the calls of *client* from now on; *let_go* is called when it is of no use."""
        for entry in list(self._entries):
            if entry.client.state == "closed" and not entry.frames.run():
                entry.let_go()
        if not self._entries:
            self._start()
        frames = Frames(wake=self._bell.ring if self._bell is not None else None)
        self._entries.append(Entry(frames, client, let_go))
        try:
            client._post_through(frames)
        except BaseException:
            self.remove(frames)
            raise
        return frames

    def remove(self, frames: Frames) -> None:
        """Make its calls no more; twice is harmless."""
        self._entries = [entry for entry in self._entries if entry.frames is not frames]
        if not self._entries:
            self._stop()

    # Inside.

    def _start(self) -> None:
        if can_watch(self._tk):
            self._bell = Bell()
            self._tk.createfilehandler(self._bell.output, tkinter.READABLE, self._rung)
        else:
            self._next(IDLE)

    def _stop(self) -> None:
        self._cancel()
        if self._bell is not None:
            self._tk.deletefilehandler(self._bell.output)
            self._bell.close()
            self._bell = None

    def _rung(self, *_: object) -> None:
        """Something waits: a frame follows, as soon as the last one is long enough ago."""
        if self._bell is not None:
            self._bell.hear()
        if self._timer is None and self._entries:
            since = int((time.monotonic() - self._ended) * 1000)
            self._next(max(0, FRAME - since))

    def _frame(self) -> None:
        """Make what waits. What a program's code raises here, ``sys.exit()``, ends mainloop."""
        self._timer = None
        self._next(FRAME)
        begun = time.monotonic()
        more = True
        try:
            more = self._run(begun + FRAME_WORK)
        finally:
            self._ended = time.monotonic()
            self._cancel()
            if more and self._entries:
                spent = int((self._ended - begun) * 1000)
                self._next(max(DRAWING, FRAME - spent))
            elif self._entries and self._bell is None:
                busy = any(each.client.state in ("busy", "starting") for each in self._entries)
                self._next(FRAME if busy else IDLE)

    def _run(self, end: float) -> bool:
        """Run frames of each client until *end*; whether more waits."""
        entries = self._entries
        start = self._first % len(entries) if entries else 0
        self._first = start + 1
        more = False
        for entry in entries[start:] + entries[:start]:
            if time.monotonic() >= end:
                return True
            more = entry.frames.run() or more
        return more

    def _next(self, milliseconds: int) -> None:
        self._timer = self._tk.createtimerhandler(milliseconds, self._frame)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.deletetimerhandler()
            self._timer = None


# Tk's interpreters that clients were attached to. One that is collected on another thread
# than its own ends the process, and the garbage collector may run on any of ours. So they
# are never collected; a program has few.
KEPT: List[Any] = []

# One for each application, found by its main window.
CLOCKS: weakref.WeakKeyDictionary[tkinter.Misc, Clock] = weakref.WeakKeyDictionary()


def clock_of(widget: tkinter.Misc) -> Clock:
    """The clock of the application that *widget* belongs to."""
    root = widget.nametowidget(".")
    clock = CLOCKS.get(root)
    if clock is None:
        KEPT.append(root.tk)
        clock = CLOCKS[root] = Clock(root)
    return clock


def can_watch(tk: Any) -> bool:
    """Whether Tk can watch a pipe."""
    return hasattr(tk, "createfilehandler")


class Attachment:
    """
    What ``attach()`` returns: a client whose handlers run on Tk's thread.

    Attributes:
        client: The client.
        widget: The widget it is attached to.

    """

    def __init__(self, client: Client, widget: tkinter.Misc, closes: bool = True) -> None:
        self.client = client
        self.widget = widget
        self._is_attached = True
        self._clock = clock_of(widget)
        self._frames = self._clock.add(client, self._let_go)
        # A widget that does not own the client detaches it when it is destroyed.
        self._forget = when_destroyed(widget, self._destroyed) if closes else nothing

    def detach(self) -> None:
        """
        Let go of the window: handlers run on the client's own threads again.

        Best called between two turns. What waits for the window is done before, and the
        client stays open. Twice is harmless.
        """
        if not self._is_attached:
            return
        refuse_other_threads(self.widget, "detach()")
        while self._frames.run():
            pass
        self.client._post_through(None)
        while self._frames.run():
            pass
        self._let_go()

    def post(self, call: Callable[[], None]) -> None:
        """From any thread: have *call* made on that of Tk."""
        self._frames(call)

    def _destroyed(self) -> None:
        """The window is gone: end what belongs to it, without waiting."""
        self._let_go()
        self.client.close(wait=False)

    def _let_go(self) -> None:
        self._is_attached = False
        self._forget()
        self._clock.remove(self._frames)
        self._frames.stop()
        # No handler runs here any more, so whoever is left may wait for a turn to end.
        self._frames.threads.clear()

    def __repr__(self) -> str:
        state = "" if self._is_attached else " (no more)"
        return f"<{self.client.name} attached to {self.widget}{state}>"
