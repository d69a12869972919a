"""
Notice handlers that are slow and requests that nobody answers, and say so once.

::

    process -> lines -> messages -> [dispatch] -> handlers -> turn

A handler that takes its time holds up all the others, and the answers of the turn. Decisions
taken here and nowhere else:

* Nothing is paid for this by the message: each batch is timed, and while one is worked off
  a deadline looks, every few seconds, in which call the dispatcher is. Twice the same call is
  a slow handler, and the log says which, and where it is.
* Only the client's own thread is watched. Handlers that owe an answer may wait for a person;
  what runs elsewhere is that thread's business.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Optional, Set, Tuple

from ..engine.handlers import function_name
from ..log import logger

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from .engine import Engine
    from .open_requests import OpenRequest

__all__ = ["SLOW", "UNANSWERED", "Watch"]

# A handler that is seen in the same call twice, so many seconds apart, is slow.
SLOW = 5.0
# Later than this nobody is going to answer a request, probably.
UNANSWERED = 60.0

Handler = Callable[[Any], object]


class Watch:
    """What keeps an eye on one client's dispatcher."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # How long batches took that are over; written by whoever delivers, one at a time.
        self.busy_seconds = 0.0
        self._since: Optional[float] = None
        self._is_armed = False
        # The call that was seen last: its handler and its event.
        self._seen: Optional[Tuple[Handler, Any]] = None
        self._warned: Set[str] = set()
        self._reminded = False

    # While a batch is worked off.

    def begin(self) -> None:
        """A batch is about to be delivered, on this thread."""
        self._since = time.monotonic()
        if not self._is_armed and self._engine.lifecycle.dispatcher_thread is not None:
            self._is_armed = True
            self._engine.timers.after(SLOW, self._look)

    def end(self) -> None:
        """It is delivered."""
        if self._since is not None:
            self.busy_seconds += time.monotonic() - self._since
            self._since = None

    @property
    def seconds(self) -> float:
        """How long delivering took so far, what goes on now included."""
        since = self._since
        return self.busy_seconds + (time.monotonic() - since if since is not None else 0.0)

    def _look(self) -> None:
        """On the timer thread: in which call is the dispatcher?"""
        self._seen, before = self._running_call(), self._seen
        if self._since is None:
            self._is_armed = False  # the next batch arms it again
            return
        if self._seen is not None and before is not None:
            handler, event = self._seen
            if handler is before[0] and event is before[1]:
                self._warn(handler)
        self._engine.timers.after(SLOW, self._look)

    def _running_call(self) -> Optional[Tuple[Handler, Any]]:
        frame = self._frame_of_call()
        if frame is None:
            return None
        return frame.f_locals["handler"], frame.f_locals["event"]

    def _frame_of_call(self) -> Optional[FrameType]:
        """The frame that calls a handler on the dispatcher's thread, if one does."""
        thread = self._engine.lifecycle.dispatcher_thread
        if thread is None or thread.ident is None:
            return None
        code = code_of_call()
        frame = sys._current_frames().get(thread.ident)
        while frame is not None and frame.f_code is not code:
            frame = frame.f_back
        return frame

    def _warn(self, handler: Handler) -> None:
        name = function_name(handler)
        if name in self._warned:
            return
        self._warned.add(name)
        logger.warning(
            "the handler %s has been running for more than %g s%s. Until it returns, no other "
            "handler is called and no turn ends. Move long work to a thread.",
            name,
            SLOW,
            self._where(),
        )

    def _where(self) -> str:
        """Where the dispatcher is at the moment, for people."""
        thread = self._engine.lifecycle.dispatcher_thread
        frame = sys._current_frames().get(thread.ident or 0) if thread is not None else None
        if frame is None:
            return ""
        return f", at {frame.f_code.co_filename}:{frame.f_lineno}"

    # Requests.

    def remind(self, request: OpenRequest) -> None:
        """A handler returned LATER: if nobody answers, say so; once for each client."""
        if request.timer is None and not self._reminded:
            request.timer = self._engine.timers.after(
                UNANSWERED, lambda: self._is_unanswered(request)
            )

    def _is_unanswered(self, request: OpenRequest) -> None:
        if request.is_decided() or self._reminded:
            return
        self._reminded = True
        logger.warning(
            "%s has waited %g s for an answer: a handler returned LATER, and request.allow() or "
            "request.deny() has not been called. permission_timeout= would deny it.",
            request.what(),
            UNANSWERED,
        )


def code_of_call() -> CodeType:
    """The one function that calls handlers on the dispatcher's thread."""
    from .calling import Calling

    return Calling.call.__code__
