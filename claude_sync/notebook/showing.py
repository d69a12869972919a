"""
Show a turn of any client while it runs, without waiting for it.

The display belongs to the cell that calls :func:`show`, and goes on after that cell
has ended. It is brought up to date from threads of the client's own: nothing of the
notebook has to run for it.
"""

from __future__ import annotations

import threading
from typing import Any

from ..engine.turn import Turn
from ..errors import UsageError
from .buttons import board_of
from .rendering import Shown
from .views import REFRESH, View, current_shell, is_kernel, view_for
from .watching import watch

__all__ = ["show"]


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
    board = board_of(turn._session)
    view = view_for(shell, Shown(decisions=board.decisions))
    if turn._session.delivery.by_waiters or not is_kernel(shell):
        watch(turn, view)
        return
    Follower(turn, view).start()
    board.open(shell)


class Follower:
    """Keeps a view up to date until its turn is over, on threads of the turn's client."""

    def __init__(self, turn: Turn, view: View) -> None:
        self._turn = turn
        self._view = view
        self._lock = threading.Lock()  # one look at a time; none after the last
        self._over = False

    def start(self) -> None:
        """Show it, for the first time on this thread: that decides where."""
        self._view.update(self._turn)
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
            self._view.update(self._turn)
        # A request may have been answered by code in another cell.
        board_of(self._turn._session).tidy_up()
        self._look_again()

    def _end(self, turn: Turn) -> None:
        with self._lock:
            self._over = True
            self._view.finish(turn)
