"""
Run the handlers of a client in the event loop of Qt.

::

    process -> lines -> messages -> dispatch -> frames -> [event loop] -> handlers

A signal, which Qt queues, wakes the event loop when something waits; then a timer sees
to it that handlers run once in a frame of some sixty a second. An idle loop is not woken
at all, and what comes to it is delivered at once.

Decisions taken here and nowhere else:

* When the parent is destroyed or the application quits, the client is closed, without
  waiting for that.
* Objects of Qt belong to the thread of the user interface, and must be destroyed there.
  So nothing that another thread might hold last refers to one, except under a lock.
* Nothing here keeps a forgotten client alive.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from typing import Any, Optional, Set

from ..client import Client
from ..errors import UsageError
from .frames import Frames
from .qt_binding import QtCore, Signal, Slot, check_application, is_valid

__all__ = ["Attachment"]

# Milliseconds from one frame to the next, and those that the loop has to itself at least.
FRAME = 16
BREATH = 8

# What is attached, so that it lives, and so that the end of the interpreter finds it.
ATTACHED: Set[Attachment] = set()


class Pump(QtCore.QObject):  # type: ignore[misc]
    """The part of an attachment that Qt knows: woken by other threads, ticks on its own."""

    woken = Signal()
    abandoned = Signal()

    def __init__(self, attachment: Attachment, application: Any) -> None:
        super().__init__(application)  # which owns it, whoever lets go of it last
        self._attachment = weakref.ref(attachment)
        self._is_due = False
        self._depth = 0
        self._timer = QtCore.QTimer(self)
        self._timer.setTimerType(QtCore.Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.on_tick)
        # Queued, also from this thread: a wake-up must return at once.
        queued = QtCore.Qt.ConnectionType.QueuedConnection
        self.woken.connect(self.on_woken, queued)
        self.abandoned.connect(self.on_abandoned, queued)

    @Slot()  # type: ignore[untyped-decorator]
    def on_woken(self) -> None:
        """Something waits: now, unless a frame was run a moment ago."""
        if self._timer.isActive():
            self._is_due = True
        else:
            self._frame()

    @Slot()  # type: ignore[untyped-decorator]
    def on_tick(self) -> None:
        """The next frame, if something waits for it."""
        # A handler that runs a loop of its own, for a dialog, gets no wake-ups.
        if self._is_due or self._depth:
            self._frame()
        else:
            self._timer.stop()

    @Slot()  # type: ignore[untyped-decorator]
    def on_abandoned(self) -> None:
        """The client is gone, and so is everything that could wait."""
        attachment = self._attachment()
        if attachment is not None:
            attachment.stop()

    def _frame(self) -> None:
        attachment = self._attachment()
        frames = attachment.frames() if attachment is not None else None
        if frames is None:
            self._timer.stop()
            return
        self._is_due = False
        # Before the calls, for loops that are run by one of them.
        self._timer.start(FRAME)
        begin = time.monotonic()
        self._depth += 1
        more = True  # unless we hear otherwise: Ctrl-C in a handler ends a frame, not the loop
        try:
            more = frames.run()
        finally:
            self._depth -= 1
            if is_valid(self):  # a handler may have ended everything
                self._is_due = more or self._is_due
                spent = int((time.monotonic() - begin) * 1000)
                self._timer.start(max(BREATH, FRAME - spent))

    def end(self) -> None:
        """No more frames; the object is destroyed when nothing of it runs any more."""
        self._timer.stop()
        self.deleteLater()


class Waker:
    """What other threads hold of a pump: they can wake it, as long as there is one."""

    def __init__(self) -> None:
        # Guards the pump, which is let go of and destroyed on its own thread. A signal that
        # Qt queues is emitted under it, which waits for nobody.
        self._lock = threading.Lock()
        self._pump: Optional[Pump] = None

    def serve(self, pump: Optional[Pump]) -> None:
        """From now on this is the pump to wake; None for none."""
        with self._lock:
            self._pump = pump

    def wake(self) -> None:
        """Something waits."""
        with self._lock:
            if self._pump is not None:
                self._pump.woken.emit()

    def abandon(self) -> None:
        """Nothing will ever wait again."""
        # A finalizer, which may run anywhere, this thread's wake() included.
        if self._lock.acquire(blocking=False):
            try:
                if self._pump is not None:
                    self._pump.abandoned.emit()
            finally:
                self._lock.release()


class Attachment:
    """
    A client whose handlers run in the event loop; what ``attach()`` returns.

    Attributes:
        frames: What waits for the loop; held by the client's engine alone, so that this
            knows when that is gone.

    """

    def __init__(self, client: Client, parent: Any) -> None:
        if not isinstance(client, Client):
            raise UsageError(
                f"attach(client, parent): the client is a claude_sync.Client, not {client!r}."
            )
        application = check_application("attach()")
        if parent is not None and not isinstance(parent, QtCore.QObject):
            raise UsageError(
                "the parent is a window, or any other QObject, with whose end the client is to "
                f"be closed; not {parent!r}."
            )
        waker = Waker()
        frames = Frames(waker.wake)
        client._post_through(frames)
        self._client = weakref.ref(client)
        self.frames = weakref.ref(frames)
        weakref.finalize(frames, waker.abandon).atexit = False
        self._waker = waker
        self._pump: Optional[Pump] = Pump(self, application)
        waker.serve(self._pump)
        # Not kept: who destroys the parent is none of our business.
        ends = [application.aboutToQuit, application.destroyed]
        if parent is not None and parent is not application:
            ends.append(parent.destroyed)
        self._connections = [signal.connect(self.close) for signal in ends]
        ATTACHED.add(self)

    @property
    def client(self) -> Optional[Client]:
        """The client; None if the program has let go of it."""
        return self._client()

    def detach(self) -> None:
        """
        Let go of the event loop: handlers run on the client's own threads again.

        Best called between two turns. What waits for the loop is done before, and the client
        stays open. Twice is harmless.
        """
        frames, client = self.frames(), self._client()
        if self._pump is None:
            return
        check_application("detach()")
        if client is not None and frames is not None:
            while frames.run():
                pass
            client._post_through(None)
            while frames.run():  # what came in between
                pass
        self.stop()

    def __repr__(self) -> str:
        state = "" if self._pump is not None else " (no more)"
        return f"<{self.client!r} in the event loop of Qt{state}>"

    def close(self, *_: object) -> None:
        """The window is gone, or all of them are: close the client, without waiting."""
        client = self._client()
        self.stop()
        if client is not None:
            client.close(wait=False)

    def stop(self) -> None:
        """Run no more handlers. Twice is harmless."""
        pump, self._pump = self._pump, None
        if pump is None:
            return
        ATTACHED.discard(self)
        self._waker.serve(None)
        frames = self.frames()
        if frames is not None:
            frames.stop()
        for connection in self._connections:
            QtCore.QObject.disconnect(connection)
        if is_valid(pump):
            pump.end()


def stop_all() -> None:
    """The interpreter ends, and no event loop will run again: let go before Qt does."""
    for attachment in list(ATTACHED):
        attachment.close()


# After the binding's own, which was loaded before: so this is called before that.
atexit.register(stop_all)
