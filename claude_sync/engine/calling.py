"""
Call handlers, here or where a client's calls are posted to, and report what fails.

::

    process -> lines -> messages -> dispatch -> [calls] -> handlers

This is the one place that calls user code, always guarded and never under a lock. A handler
that raises is logged, told to ``on_error``, and stops nobody. One that is slow holds up all
the others: the log says which, and where it is. Where calls go may change while the client
lives: a window may be attached to it, and be closed before it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import UsageError
from ..log import Failures, logger
from ..messages.events import HandlerError
from .handlers import HandlerRegistry, Handling, function_name

if TYPE_CHECKING:
    from ..messages.stream_text import Piece
    from .asked import Asked
    from .session import Session

__all__ = ["NO_HANDLERS", "Calling", "Frames", "Posting"]

NO_HANDLERS = HandlerRegistry()

# A handler that is seen in the same call twice, so many seconds apart, is slow.
SLOW = 5.0

# So many posted calls may wait in somebody else's queue.
POSTED_AT_ONCE = 64

Handler = Callable[[Any], object]


class Frames(Protocol):
    """
    What waits for a window, which draws so many times a second and no more.

    Text that comes between two frames grows one call; ``gui/frames.py`` says the rest.
    """

    threads: weakref.WeakSet[threading.Thread]

    def __call__(self, call: Callable[[], None], instead: Callable[[], None] | None = None) -> None:
        """Have *call* made in one of the next frames; *instead* if there is none."""

    def grow(self, piece: Piece, handlers: Any, turn: Any) -> bool:
        """Add text to the call that waits last, if that is for the same block."""

    def begin(self, piece: Piece, handlers: Any, turn: Any, call: Callable[[Piece], None]) -> None:
        """Have *call* made with *piece* and what is added to it until then."""

    def go_on_with(self, calls: Iterable[Callable[[], None]]) -> None:
        """From inside of a call: have these made next."""

    def has_run_here(self) -> bool:
        """Whether the calling thread is one that runs posted calls."""

    def release(self) -> None:
        """The client closes: make nobody wait for room."""


class Calling:
    """The part of the dispatcher that calls what the program has registered."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.failures = Failures()
        post = session.options.post
        self.posting: Posting | Frames | None = Posting(post) if callable(post) else None
        # The same, if it is a window, which draws so many times a second and no more.
        self._frames: Frames | None = None
        self._handlers = NO_HANDLERS
        # The question to which what arrives now belongs; read by threads that wait.
        self.asked: Asked | None = None
        # Set while a thread dispatches: it must not wait for a turn.
        self._dispatching = threading.local()
        # The client closes: nobody may be left who runs posted calls.
        self._released = False
        # What a handler raised that must reach the thread which delivers.
        self._leaving: BaseException | None = None
        # The handler that runs on the dispatcher's thread, and its event; what was seen before.
        self._handler: Handler | None = None
        self._event: Any = None
        self._seen: tuple[Handler | None, Any] = (None, None)
        self._slow: set[str] = set()
        self._is_watched = False
        # How long delivering took, before what goes on now; since when that does.
        self._busy_seconds = 0.0
        self._since: float | None = None

    def post_through(self, frames: Frames | None) -> None:
        """
        From now on handlers run in a window's frames; with None, on our threads again.

        The calling thread is the window's: it must not wait for a turn.
        """
        if frames is None:
            self._frames = self.posting = None
            return
        if self._session.delivery.by_waiters or self.posting is not None:
            raise UsageError(
                "the handlers of this client already run somewhere else: it was made with post=, "
                "or a window is attached to it. Make it without post=, and attach one window."
            )
        frames.threads.add(threading.current_thread())
        self.posting = self._frames = frames

    def release(self) -> None:
        """The client closes: wait for posted calls no longer."""
        self._released = True
        if self.posting is not None:
            self.posting.release()

    # Who is in a handler.

    def is_dispatching(self) -> bool:
        """Whether the calling thread is inside a handler, or delivers."""
        return getattr(self._dispatching, "depth", 0) > 0

    def handling(self) -> Handling:
        """While something of the program's runs, this thread must not wait for a turn."""
        return Handling(self._dispatching)

    def leave_handlers(self) -> None:
        """
        This thread is in no handler: it is about to go on outside of all of them.

        Ctrl-C may have come just when it entered or left one.
        """
        self._dispatching.depth = 0

    # Calling.

    def call(self, handler: Handler, event: Any) -> None:
        """Call a handler, or have it called; its failure is nobody else's."""
        if self.posting is not None:
            self._hand_over(handler, event)
            return
        self._handler, self._event = handler, event
        try:
            handler(event)
        except Exception as error:
            self._failed(handler, event, error)
        except BaseException as error:  # sys.exit(), Ctrl-C
            if self._session.delivery.by_waiters:
                # Meant for the program's own thread; first let this item be complete.
                self._leaving = error
            else:
                self._failed(handler, event, error)
        self._handler = None

    def call_with_piece(self, handlers: tuple[Handler, ...], piece: Piece) -> None:
        """Call handlers of text; a window gets one piece for all that came since its last frame."""
        frames = self._frames
        if frames is None or self._session.inbox.raw_wanted:
            for handler in handlers:
                self.call(handler, piece)
            return
        # As they are now; when the call runs, another turn may be going on.
        registry, asked = self._handlers, self.asked
        if not handlers or frames.grow(piece, handlers, asked):
            return

        def call_of(handler: Handler, merged: Piece) -> Callable[[], None]:
            return lambda: self._call_posted(handler, merged, registry, asked)

        def call(merged: Piece) -> None:
            first, *others = (call_of(handler, merged) for handler in handlers)
            frames.go_on_with(others)
            first()

        frames.begin(piece, handlers, asked, call)

    def post(self, function: Callable[[], None], instead: Callable[[], None]) -> None:
        """
        Have *function* called where calls are posted to; whatever that raises goes through.

        *instead* is called if the window is closed before it.
        """
        self._post_call(lambda _: function(), None, instead)

    def call_elsewhere(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Call something of the program's on a thread of its own, or where calls are posted to."""

        def call() -> None:
            try:
                with self.handling():
                    function(*arguments)
            except BaseException as error:
                self.failed_elsewhere(function, arguments[0] if arguments else None, error, None)

        def run() -> None:
            posting = self.posting
            try:
                if posting is None:
                    call()
                else:
                    posting(call)
            except BaseException as error:  # a queue that takes no calls
                self.failed_elsewhere(function, None, error, None)

        self._session.tasks.run(run, users_code=True)

    def then(self, call: Callable[[], None]) -> None:
        """Do something after every handler called so far has run."""
        # While closing, nobody may be left who runs posted calls.
        if self.posting is None or self._released:
            call()
            return
        try:
            self._post_call(lambda _: call(), None, call)
        except BaseException as error:
            # Whoever waits for the turn must not wait for a queue that takes no calls.
            logger.warning("a call could not be posted: %s", error)
            call()

    # Where handlers run.

    def _hand_over(self, handler: Handler, event: Any) -> None:
        """Post a call; a queue that takes no calls is the handler's failure."""
        try:
            self._post_call(handler, event)
        except BaseException as error:
            self._failed(handler, event, error, direct=True)

    def _post_call(
        self, handler: Handler, event: Any, instead: Callable[[], None] | None = None
    ) -> None:
        posting = self.posting
        # As they are now; when the call runs, another turn may be going on.
        registry, asked = self._handlers, self.asked

        def call() -> None:
            self._call_posted(handler, event, registry, asked)

        if posting is None:  # the window was detached a moment ago
            call()
        else:
            posting(call, instead)

    def _call_posted(
        self, handler: Handler, event: Any, registry: HandlerRegistry, asked: Asked | None
    ) -> None:
        with self.handling():
            try:
                handler(event)
            except Exception as error:
                self._failed(handler, event, error, registry, asked)

    # What fails.

    def failed_elsewhere(
        self, handler: Callable[..., object], event: Any, error: BaseException, asked: Asked | None
    ) -> None:
        """Something that is not called from here raised *error*: log it, and tell on_error."""
        note_failure(asked, error)
        with contextlib.suppress(Exception):  # the CLI still waits for an answer
            self._log(handler, event, error)
        report = HandlerError(error, handler, event)

        def tell() -> None:
            for reporter in self._handlers.of["error"]:
                self.call(reporter, report)

        # In order, and where handlers run.
        self._session.inbox.put([tell])

    def _failed(
        self,
        handler: Handler,
        event: Any,
        error: BaseException,
        registry: HandlerRegistry | None = None,
        asked: Asked | None = None,
        *,
        direct: bool = False,
    ) -> None:
        self._log(handler, event, error)
        note_failure(self.asked if registry is None else asked, error)
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
        with self._session.naming:
            self.failures.log(f"the handler {name} failed on {type(event).__name__}", error)

    # What is slow.

    @property
    def busy_seconds(self) -> float:
        """How long delivering took so far, what goes on now included."""
        since = self._since
        return self._busy_seconds + (time.monotonic() - since if since is not None else 0.0)

    def _begin(self) -> None:
        """A batch is about to be delivered. Only the client's own thread is watched."""
        self._since = time.monotonic()
        if not self._is_watched and self._session.delivery.thread is not None:
            self._is_watched = True
            self._session.timers.after(SLOW, self._look)

    def _end(self) -> None:
        if self._since is not None:
            self._busy_seconds += time.monotonic() - self._since
            self._since = None
        self._event = None  # nothing of ours keeps what was delivered

    def _look(self) -> None:
        """On the timer thread: is the dispatcher in the same call as the last time?"""
        handler, event = now = self._handler, self._event
        before, self._seen = self._seen, now
        if self._since is None:
            self._is_watched = False  # the next batch is watched again
            self._seen = (None, None)
            return
        if handler is not None and handler is before[0] and event is before[1]:
            self._warn(handler)
        self._session.timers.after(SLOW, self._look)

    def _warn(self, handler: Handler) -> None:
        name = function_name(handler)
        thread = self._session.delivery.thread
        if name in self._slow or thread is None:
            return
        self._slow.add(name)
        frame = sys._current_frames().get(thread.ident or 0)
        where = "" if frame is None else f", at {frame.f_code.co_filename}:{frame.f_lineno}"
        logger.warning(
            "the handler %s has been running for more than %g s%s. Until it returns, no other "
            "handler is called and no turn ends. Move long work to a thread.",
            name,
            SLOW,
            where,
        )


class Posting:
    """Hands calls over, and knows on which threads they were made."""

    def __init__(self, post: Callable[[Callable[[], None]], object]) -> None:
        self._post = post
        # Threads that ran posted calls: typically the user interface's.
        self.threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
        self._changed = threading.Condition(threading.Lock())  # guards _waiting
        self._waiting = 0
        self._released = False

    def __call__(self, call: Callable[[], None], _instead: object = None) -> None:
        """
        Have *call* made. What the queue raises when it takes no calls goes through.

        What to do instead is for queues that know when they will make no more calls.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting < POSTED_AT_ONCE or self._released)
            self._waiting += 1

        def run() -> None:
            self.threads.add(threading.current_thread())
            try:
                call()
            finally:
                self._is_done()

        try:
            self._post(run)
        except BaseException:
            self._is_done()
            raise

    def has_run_here(self) -> bool:
        """Whether the calling thread is one that runs posted calls."""
        return threading.current_thread() in self.threads

    def release(self) -> None:
        """The client closes: wait for posted calls no longer."""
        with self._changed:
            self._released = True
            self._changed.notify_all()

    def _is_done(self) -> None:
        with self._changed:
            self._waiting -= 1
            self._changed.notify_all()


def note_failure(asked: Asked | None, error: BaseException) -> None:
    """With ``raise_handler_errors`` the running question raises the first failure."""
    if asked is not None and asked.handler_error is None:
        asked.handler_error = error
