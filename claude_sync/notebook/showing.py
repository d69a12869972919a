"""
Show a turn while it runs: one display that is updated, or plain text.

A cell that waits shows its turn on its own thread (:func:`watch`); :func:`show` waits for
nothing: its display belongs to the cell that calls it, and is brought up to date from threads
of the client's own after that cell has ended.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from ..client import stop_own_turn
from ..engine.turn import Turn
from ..errors import AskTimeout, UsageError
from ..render.turns import stamp_of
from ..support.text import visible
from .buttons import board_of
from .rendering import Shown, bundle_of, turn_text
from .shells import current_shell, is_kernel, write_out

__all__ = ["REFRESH", "Display", "show", "watch"]

# How often to look at a turn that runs.
REFRESH = 0.1
# How often a display tells how long it has taken, if nothing else is new.
TICK = 1.0
# Notebook servers drop what is more than a megabyte a second; this stays well below.
BYTES_A_SECOND = 200_000


class Display:
    """
    One display of a notebook, updated in place, as often as there is something new.

    Each update carries the whole turn, so a long one is updated less often than a short one.

    Args:
        publish: ``shell.display_pub.publish``, or what takes the same arguments.
        shown: What it shows besides the turn.
        clock: Tells seconds.

    """

    def __init__(
        self,
        publish: Callable[..., object],
        shown: Shown | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish = publish
        self._beside = shown or Shown()
        self._clock = clock
        self._id = f"claude-sync-{uuid.uuid4().hex}"
        self._shown = False
        self._stamp: tuple[object, ...] = ()
        self._began = self._not_before = clock()

    def update(self, turn: Turn, now: bool = False) -> None:
        """Show what is new, unless that was done a moment ago; with *now* even then."""
        time_now = self._clock()
        second = int((time_now - self._began) / TICK)
        stamp = (*stamp_of(turn), tuple(self._beside.decisions.values()), second)
        if stamp == self._stamp or (time_now < self._not_before and not now):
            return
        self._stamp = stamp
        size = self.finish(turn)
        took = self._clock() - time_now
        # What takes long to make and to send is made less often: at most a tenth of the time.
        self._not_before = time_now + max(REFRESH, 10 * took, size / BYTES_A_SECOND)

    def finish(self, turn: Turn) -> int:
        """Show the turn as it is now; how much that was."""
        self._beside.seconds = self._clock() - self._began
        bundle = bundle_of(turn, self._beside)
        # Known before it is sent: the kernel's interrupt may come while it is, and what is shown
        # after that must not be a second display, below one that is at work for ever.
        update, self._shown = self._shown, True
        transient = {"display_id": self._id}
        self._publish(data=dict(bundle), metadata={}, transient=transient, update=update)
        return sum(map(len, bundle.values()))


def watch(turn: Turn, display: Any = None) -> None:
    """
    Show *turn* until it is over, however it ends; that is not raised here.

    A kernel's interrupt, as Ctrl-C, stops the turn: its end is awaited and shown, the
    conversation can go on, and KeyboardInterrupt is raised.

    Args:
        turn: The turn.
        display: Where; None for a terminal, which is told at the end.

    """
    try:
        while not turn.done():
            if display is not None:
                display.update(turn)
            # Not over within that time is no news; a turn that fails returns its error here.
            with contextlib.suppress(AskTimeout, CancelledError):
                turn.exception(REFRESH)
    except KeyboardInterrupt:
        stop_own_turn(turn)
        raise
    finally:
        if display is not None:
            display.finish(turn)
        else:
            write_out(f"{visible(turn_text(turn))}\n")


def show(turn: Any) -> None:
    """
    Show a turn here while it runs: its text, uses of tools, cost, or what went wrong.

    In a notebook this returns at once, and the display goes on by itself::

        turn = client.submit("Tell me a story.")
        show(turn)

    Where that is not possible it waits for the turn: outside of notebooks, and for
    clients with ``post="caller"`` or ``"manual"``, whose handlers run in whoever waits
    (the client of ``%claude`` is one). How the turn ended is not raised here;
    ``turn.result()`` is the answer.
    """
    if not isinstance(turn, Turn):
        raise UsageError(
            f"show() takes a turn, not {type(turn).__name__}. Write show(client.submit(...)); "
            "an answer shows itself."
        )
    shell = current_shell()
    if not is_kernel(shell):
        watch(turn)
        return
    board = board_of(turn._session)
    display = Display(shell.display_pub.publish, Shown(decisions=board.decisions))
    if turn._session.delivery.by_waiters:
        watch(turn, display)
        return
    Follower(turn, display).start()
    board.open(shell)


class Follower:
    """Keeps a display up to date until its turn is over, on threads of the turn's client."""

    def __init__(self, turn: Turn, display: Display) -> None:
        self._turn = turn
        self._display = display
        self._lock = threading.Lock()  # one look at a time; none after the last
        self._over = False

    def start(self) -> None:
        """Show it, for the first time on this thread: that decides where."""
        self._display.update(self._turn)
        self._turn.add_done_callback(self._end)
        self._look_again()

    def _look_again(self) -> None:
        session = self._turn._session
        # The timer's thread must not be kept; a responder's may.
        session.timers.after(REFRESH, lambda: session.tasks.run(self._look))

    def _look(self) -> None:
        with self._lock:
            if self._over:
                return
            self._display.update(self._turn)
        # A request may have been answered by code in another cell.
        board_of(self._turn._session).tidy_up()
        self._look_again()

    def _end(self, turn: Turn) -> None:
        with self._lock:
            self._over = True
            self._display.finish(turn)
