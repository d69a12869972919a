"""
Failures that nobody looks at: a line in the log, when the turn is forgotten.

A program that calls ``submit()`` and drops the turn would otherwise wait for an answer that
never comes, and not learn why. Whoever looks at the turn (``result()``, ``exception()``,
iterating, a done-callback) has seen it; so has a handler of results, if there was one.
"""

from __future__ import annotations

import sys
from concurrent.futures import InvalidStateError
from typing import TYPE_CHECKING, Optional, cast

from ..errors import ClientClosed, TurnError, TurnInterrupted
from ..log import Naming, logger
from ..protocol.exchange import CONTEXT

if TYPE_CHECKING:
    from ..engine.turn import Turn

__all__ = ["Unseen", "Watched"]

TURN = "a turn failed and its error was never retrieved (by result() or add_done_callback())"
# Nobody could have looked at it.
LOST_CONTEXT = "the text of add_context() did not reach the conversation"


class Unseen:
    """A failure; it is logged when this is forgotten, unless :attr:`error` was taken away."""

    __slots__ = ("_what", "error")

    def __init__(self, error: BaseException, what: str) -> None:
        self.error: Optional[BaseException] = error
        self._what = what

    def __del__(self) -> None:
        error = self.error
        if error is None or sys.is_finalizing():
            return
        from ..support.redact import redact_text

        what, text = self._what, redact_text(str(error))
        with Naming(getattr(error, "client", None)):
            logger.warning("%s. %s: %s", what, type(error).__name__, text)


class Watched:
    """The part of a turn that notes whether anybody looks at its failure."""

    _unseen: Optional[Unseen] = None
    # A done-callback was added: it is going to be looked at.
    _has_callback = False

    def _fail_watched(self, error: BaseException) -> None:
        """Fail it, unless it is done; and if nobody knows of it then, somebody should."""
        turn = cast("Turn", self)
        unseen = None
        if self._unseen is None and self._is_news(error, turn):
            entry = turn._entry
            is_context = entry is not None and entry.kind == CONTEXT
            # Before it fails: whoever waits for that looks at once.
            unseen = self._unseen = Unseen(error, LOST_CONTEXT if is_context else TURN)
        try:
            turn.set_exception(error)
        except InvalidStateError:
            if unseen is not None:
                unseen.error = None

    def _is_news(self, error: BaseException, turn: Turn) -> bool:
        """Whether nobody has asked for this failure, or is told of it anyway."""
        if turn._was_cancelled or isinstance(error, (TurnInterrupted, ClientClosed)):
            return False
        was_told = isinstance(error, TurnError) and error.result is not None
        return not (self._has_callback or (was_told and turn._engine.dispatcher.hears_results()))

    def _is_watched(self) -> None:
        """Somebody is going to be told."""
        self._has_callback = True
        self._seen()

    def _seen(self) -> None:
        """Somebody looks at how it ended."""
        if self._unseen is not None:
            self._unseen.error = None
