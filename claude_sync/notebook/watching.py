"""
Wait for a turn and show it meanwhile, on the thread that waits.

This is what a cell does while it runs. Under ``post="caller"`` the handlers of the
turn run here, too: prompts by ``input()``, tools, everything.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING

from ..client import stop_own_turn
from ..errors import AskTimeout
from .views import REFRESH, View

if TYPE_CHECKING:
    from ..engine.turn import Turn

__all__ = ["watch"]


def watch(turn: Turn, view: View) -> None:
    """
    Show *turn* in *view* until it is over, however it ends; that is not raised here.

    A kernel's interrupt, as Ctrl-C, stops the turn: its end is awaited and shown, the
    conversation can go on, and KeyboardInterrupt is raised.
    """
    try:
        while not turn.done():
            view.update(turn)
            # Not over within that time is no news; a turn that fails returns its error here.
            with contextlib.suppress(AskTimeout, CancelledError):
                turn.exception(REFRESH)
        view.finish(turn)
    except KeyboardInterrupt:
        try:
            stop_own_turn(turn)
        finally:
            view.finish(turn)
        raise
