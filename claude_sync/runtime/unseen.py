"""
Failures that nobody looks at: a line in the log, when the turn is forgotten.

A program that calls ``submit()`` and drops the turn would otherwise wait for an answer that
never comes, and not learn why. Whoever looks at the turn (``result()``, ``exception()``,
iterating, a done-callback) has seen it; so has a handler of results, if there was one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Optional, cast

from ..errors import ClientClosed, TurnError, TurnInterrupted
from ..log import logger

if TYPE_CHECKING:
    from ..answers import Turn

__all__ = ["Unseen", "Watched"]


class Unseen:
    """A failure; it is logged when this is forgotten, unless :attr:`error` was taken away."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error: Optional[BaseException] = error

    def __del__(self) -> None:
        error = self.error
        if error is None or sys.is_finalizing():
            return
        from .redaction import redact_text

        logger.warning(
            "! a turn failed, and nobody looked at it (call its result(), or use "
            "add_done_callback()). %s: %s",
            type(error).__name__,
            redact_text(str(error)),
        )


class Watched:
    """The part of a turn that notes whether anybody looks at its failure."""

    _unseen: Optional[Unseen] = None
    # A done-callback was added: it is going to be looked at.
    _has_callback = False

    def _failed_with(self, error: BaseException) -> None:
        """It is about to fail: unless somebody knows, somebody should."""
        turn = cast("Turn", self)
        if turn._was_cancelled or isinstance(error, (TurnInterrupted, ClientClosed)):
            return
        was_told = isinstance(error, TurnError) and error.result is not None
        if was_told and turn._engine.dispatcher.hears_results():
            return
        if self._unseen is None and not self._has_callback and not turn._is_over():
            self._unseen = Unseen(error)

    def _is_watched(self) -> None:
        """Somebody is going to be told."""
        self._has_callback = True
        self._seen()

    def _seen(self) -> None:
        """Somebody looks at how it ended."""
        if self._unseen is not None:
            self._unseen.error = None
