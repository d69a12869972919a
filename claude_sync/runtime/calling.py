"""
Call handlers, here or where a client's calls are posted to, and report what fails.

::

    process -> lines -> messages -> dispatch -> [calls] -> handlers

A handler that raises is logged, told to ``on_error``, and stops nobody. Where the
calls go may change while the client lives: a window may be attached to it, and be
closed before it.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple, Union

from ..engine.handlers import HandlerRegistry, Handling, function_name
from ..errors import UsageError
from ..log import Failures, logger
from ..messages.events import HandlerError
from .posting import Posting

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..gui.frames import Frames
    from ..messages.stream_text import Piece
    from .engine import Engine

__all__ = ["Calling"]

NO_HANDLERS = HandlerRegistry()


class Calling:
    """The part of the dispatcher that calls what the program has registered."""

    def __init__(self, engine: Engine, post: Optional[Callable[[Callable[[], None]], object]]):
        self._engine = engine
        self.failures = Failures()
        self.posting: Union[Posting, Frames, None] = Posting(post) if post is not None else None
        # The same, if it is a window, which draws so many times a second and no more.
        self._frames: Optional[Frames] = None
        self._handlers = NO_HANDLERS
        # The turn to which what arrives now belongs; read by threads that wait.
        self.turn: Optional[Turn] = None
        # Set while a thread dispatches: it must not wait for a turn.
        self._dispatching = threading.local()
        # The client closes: nobody may be left who runs posted calls.
        self._released = False
        # What a handler raised that must reach the thread which delivers.
        self._leaving: Optional[BaseException] = None

    def post_through(self, frames: Optional[Frames]) -> None:
        """
        From now on handlers run in a window's frames; with None, on our threads again.

        The calling thread is the window's: it must not wait for a turn.
        """
        if frames is None:
            self._frames = self.posting = None
            return
        if self._engine.delivery.by_waiters or self.posting is not None:
            raise UsageError(
                "the handlers of this client run somewhere already: it was made with post=, or a "
                "window is attached to it. Make it without post=, and attach one window."
            )
        frames.threads.add(threading.current_thread())
        self.posting = self._frames = frames

    def hears_results(self) -> bool:
        """Whether anybody is told how turns end."""
        return bool(self._handlers.of["result"] or self._handlers.of["message"])

    def is_dispatching(self) -> bool:
        """Whether the calling thread is inside a handler."""
        return getattr(self._dispatching, "depth", 0) > 0

    def call(self, handler: Callable[[Any], object], event: Any) -> None:
        """Call a handler, or have it called; its failure is nobody else's."""
        if self.posting is None:
            try:
                handler(event)
            except Exception as error:
                self._failed(handler, event, error)
            except BaseException as error:  # sys.exit(), Ctrl-C
                if self._engine.delivery.by_waiters:
                    # Meant for the program's own thread; first let this item be complete.
                    self._leaving = error
                else:
                    self._failed(handler, event, error)
            return
        self._hand_over(handler, event)

    def leave_handlers(self) -> None:
        """
        This thread is in no handler: it is about to go on outside of all of them.

        Ctrl-C may have come just when it entered or left one.
        """
        self._dispatching.depth = 0

    def handling(self) -> Handling:
        """While something of the program's runs, this thread must not wait for a turn."""
        return Handling(self._dispatching)

    def call_with_piece(self, handlers: Tuple[Callable[[Any], object], ...], piece: Piece) -> None:
        """Call handlers of text; a window gets one piece for all that came since its last frame."""
        frames = self._frames
        if frames is None or self._engine.inbox.raw_wanted:
            for handler in handlers:
                self.call(handler, piece)
            return
        # As they are now; when the call runs, another turn may be going on.
        registry, turn = self._handlers, self.turn
        if not handlers or frames.grow(piece, handlers, turn):
            return

        def call_of(handler: Callable[[Any], object], merged: Piece) -> Callable[[], None]:
            return lambda: self._call_posted(handler, merged, registry, turn)

        def call(merged: Piece) -> None:
            first, *others = (call_of(handler, merged) for handler in handlers)
            frames.go_on_with(others)
            first()

        frames.begin(piece, handlers, turn, call)

    def post(self, function: Callable[[], None], instead: Callable[[], None]) -> None:
        """
        Have *function* called where calls are posted to; whatever that raises goes through.

        *instead* is called if the window is closed before it.
        """
        self._post_call(lambda _: function(), None, instead)

    def failed_elsewhere(
        self,
        handler: Callable[..., object],
        event: Any,
        error: BaseException,
        turn: Optional[Turn],
    ) -> None:
        """Something that is not called from here raised *error*: log it, and tell on_error."""
        if turn is not None and turn._handler_error is None:
            turn._handler_error = error
        with contextlib.suppress(Exception):  # the CLI still waits for an answer
            self._log(handler, event, error)
        report = HandlerError(error, handler, event)

        def tell() -> None:
            for reporter in self._handlers.of["error"]:
                self.call(reporter, report)

        # In order, and where handlers run.
        self._engine.inbox.put([tell])

    def release(self) -> None:
        """The client closes: wait for posted calls no longer."""
        self._released = True
        if self.posting is not None:
            self.posting.release()

    # Where handlers run.

    def _hand_over(self, handler: Callable[[Any], object], event: Any) -> None:
        """Post a call; a queue that takes no calls is the handler's failure."""
        try:
            self._post_call(handler, event)
        except BaseException as error:
            self._failed(handler, event, error, direct=True)

    def _post_call(
        self,
        handler: Callable[[Any], object],
        event: Any,
        instead: Optional[Callable[[], None]] = None,
    ) -> None:
        posting = self.posting
        # As they are now; when the call runs, another turn may be going on.
        registry, turn = self._handlers, self.turn

        def call() -> None:
            self._call_posted(handler, event, registry, turn)

        if posting is None:  # the window was detached a moment ago
            call()
        else:
            posting(call, instead)

    def _call_posted(
        self,
        handler: Callable[[Any], object],
        event: Any,
        registry: HandlerRegistry,
        turn: Optional[Turn],
    ) -> None:
        with self.handling():
            try:
                handler(event)
            except Exception as error:
                self._failed(handler, event, error, registry, turn)

    def _failed(
        self,
        handler: Callable[[Any], object],
        event: Any,
        error: BaseException,
        registry: Optional[HandlerRegistry] = None,
        turn: Optional[Turn] = None,
        *,
        direct: bool = False,
    ) -> None:
        self._log(handler, event, error)
        if registry is None:
            turn = self.turn
        if turn is not None and turn._handler_error is None:
            turn._handler_error = error
        # Never report a failure to report a failure: that would go on for ever.
        if isinstance(event, HandlerError):
            return
        report = HandlerError(error, handler, event)
        for reporter in (registry or self._handlers).of["error"]:
            try:
                if direct or registry is not None or self.posting is None:
                    reporter(report)
                else:
                    self._hand_over(reporter, report)
            except BaseException:  # sys.exit() included: this thread is everybody's
                name = function_name(reporter)
                logger.exception("the handler %s failed on a HandlerError", name)

    def _log(self, handler: Callable[..., object], event: Any, error: BaseException) -> None:
        name = function_name(handler)
        with self._engine.naming:
            self.failures.log(f"the handler {name} failed on {type(event).__name__}", error)

    def _then(self, call: Callable[[], None]) -> None:
        """Do something after every handler called so far has run."""
        # While closing, nobody may be left who runs posted calls.
        if self.posting is None or self._released:
            call()
        else:
            try:
                self._post_call(lambda _: call(), None, call)
            except BaseException as error:
                # Whoever waits for the turn must not wait for a queue that takes no calls.
                logger.warning("a call could not be posted: %s", error)
                call()
