"""
A session behind a bridge, as a transport: to the client it is a CLI.

::

    client -> [transport] -> translation -> backend -> its CLI
    client <- [transport] <- backlog <- translation <- backend

An example of how a transport is written, too: ``start`` joins what exists already,
``write_now`` never waits, ``read`` waits until there is something or the end, and every
end (closed, killed, the session's, the backend's) is an end of what can be read.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence

from ..engine.launch.transport import Transport
from ..errors import UsageError
from ..log import logger
from ..protocol.codec import decode
from ..support.redact import remember_secrets
from ..support.waiting import Deadline, wait_for
from .backlog import Backlog
from .session_settings import create_payload
from .steps import Step
from .translation import Translation

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from .backend import Backend

__all__ = ["SessionTransport"]

KILLED = -9
# How much of the time for closing the backend has for its CLI.
SHARE = 0.75
# How long the rest of a CLI may take that has ended, or does not listen.
CLEARING_TIME = 1.0
PLAIN_BACKEND = (
    "the backend of this bridge knows no more than the document of the protocol, which has no "
    "words for {method}(). Use a backend of claude_sync."
)


class SessionTransport(Transport):
    """
    One session. It lives once.

    Args:
        backend: Returns the backend, started; raises if there is none any more.
        settings: What the options of the client do not say, by name.
        extensions: Whether to ask the backend for more than the document has.

    """

    def __init__(
        self, backend: Callable[[], Backend], settings: Mapping[str, Any], extensions: bool
    ) -> None:
        self._find_backend = backend
        self._settings = settings
        self._extensions = extensions
        self._backend: Optional[Backend] = None
        self._prefix = ""
        self._backlog = Backlog()
        self._errors = Backlog()
        # Guards the translation and what is below; orders what is sent. Notified at the end.
        self._changed = threading.Condition(threading.Lock())
        self._translation: Optional[Translation] = None
        self._is_over = False
        self._is_free = False
        # The backend has ended.
        self._is_alone = False
        self._exit_code: Optional[int] = None

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Join the backend. The session itself is made when the client greets."""
        assert launch.options is not None
        backend = self._find_backend()
        options = launch.options.replace(**self._settings)
        if options.resume is not None and not self._extensions:
            # The program's own wish was refused before: this is a restart.
            logger.warning("the backend cannot resume; starting a new conversation")
            options = options.replace(resume=None)
        payload = create_payload(options, self._extensions)
        # The secrets of the CLI there must not be shown here, either.
        variables = {name: value for name, value in (options.env or {}).items() if value}
        remember_secrets(variables)
        launch.environment.update(variables)
        launch.confidential.extend([options.mcp_servers, options.settings, options.agents])
        self._prefix = backend.join(self)
        with self._changed:
            self._translation = Translation(self._prefix, payload, self._extensions)
        self._backend = backend

    def write(self, data: bytes) -> None:
        """Translate whole lines, and send them."""
        for line in data.split(b"\n"):
            message = decode(line)
            if message is not None:
                with self._changed:
                    if self._is_over or self._translation is None:
                        raise BrokenPipeError("the session has ended")
                    self._do_locked(self._translation.from_client(message))

    def read(self) -> bytes:
        """What a CLI would have printed."""
        return self._backlog.take()

    def read_error(self) -> bytes:
        """What there is to say to people: about the end, mostly."""
        return self._errors.take()

    def close(self, timeout: float) -> None:
        """Have the session killed, which is polite; wait for that, and then no longer."""
        with self._changed:
            # The rest is for the way there and back.
            self._kill_locked(SHARE * timeout)
            # Also of a session that is over: of its CLI something may be left.
            wait_for(self._changed, lambda: not self._exists(), Deadline(timeout))
            self._end_locked((), self._exit_code)

    def kill(self) -> None:
        """Have the session killed, and do not wait for it."""
        with self._changed:
            self._kill_locked(0.0)
            self._end_locked((), KILLED)

    def free(self) -> None:
        """Let go of everything."""
        self._backlog.free()
        self._errors.free()
        with self._changed:
            self._is_free = True
            self._leave_locked()

    def abandon(self) -> None:
        """In a forked child: the pipes are the parent's."""
        if self._backend is not None:
            self._backend.abandon()

    def wait(self, timeout: float) -> Optional[int]:
        """Wait for the end; the exit code of the CLI, if the backend tells it."""
        with self._changed:
            wait_for(self._changed, lambda: self._is_over, Deadline(timeout))
            return self._exit_code

    @property
    def pid(self) -> Optional[int]:
        """The process id of the CLI, on the machine of the backend, if that tells it."""
        return self._translation.pid if self._translation is not None else None

    @property
    def exit_code(self) -> Optional[int]:
        """The exit code of the CLI, or of the backend that died."""
        return self._exit_code

    @property
    def argv(self) -> Sequence[str]:
        """The command of the backend."""
        return self._backend.argv if self._backend is not None else ()

    def check_carries(self, method: str) -> None:
        """UsageError for what only a backend that knows more than the document can do."""
        translation = self._translation
        if translation is not None and translation.session_id and not translation.extended:
            raise UsageError(PLAIN_BACKEND.format(method=method))

    # The backend's side. On the thread that reads for all sessions: nothing waits here.

    def receive(self, envelope: Dict[str, Any]) -> None:
        """Take an envelope for this session."""
        with self._changed:
            translation = self._translation
            if translation is None:
                return
            known = translation.session_id
            step = translation.from_backend(envelope)
            if known is None and translation.session_id is not None:
                assert self._backend is not None
                self._backend.name_session(translation.session_id, self)
            try:
                self._do_locked(step)
            except OSError as error:  # the disk is full, and nothing may be lost
                logger.error("what comes for a session cannot be kept: %s", error)
                self._kill_locked()
                self._end_locked([f"what came for the session could not be kept: {error}"], None)
            self._leave_locked()
            if not self._exists():
                self._changed.notify_all()

    def backend_ended(
        self, reason: str, last_words: Sequence[str], exit_code: Optional[int]
    ) -> None:
        """The process is gone, and this session with it."""
        with self._changed:
            self._is_alone = True
            self._end_locked([*last_words, reason], exit_code)
            self._changed.notify_all()

    # Inside.

    def _do_locked(self, step: Step) -> None:
        assert self._backend is not None
        for line in step.to_backend:
            self._backend.send(line)
        for line in step.to_client:
            self._backlog.put(line)
        for text in step.to_people:
            self._errors.put(f"{text}\n".encode("utf-8", "surrogateescape"))
        if step.end is not None:
            self._end_locked(step.end.lines, step.end.exit_code)
            # Some backends keep a session whose CLI is dead, or as good as dead.
            self._kill_locked(CLEARING_TIME)

    def _kill_locked(self, timeout: Optional[float] = None) -> None:
        if self._translation is not None and self._backend is not None:
            for line in self._translation.kill(timeout).to_backend:
                self._backend.send(line)

    def _leave_locked(self) -> None:
        """Hear no more, if nothing more can come: a session that is being made is killed then."""
        translation, backend = self._translation, self._backend
        if backend is None or translation is None:
            return
        if self._is_free and not translation.is_known():
            backend.leave(self._prefix, translation.session_id)

    def _exists(self) -> bool:
        translation = self._translation
        return not self._is_alone and translation is not None and translation.is_known()

    def _end_locked(self, lines: Sequence[str], exit_code: Optional[int]) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._exit_code = exit_code
        told: List[str] = [line for text in lines for line in text.splitlines()]
        self._errors.put("".join(f"{line}\n" for line in told).encode("utf-8", "replace"))
        self._errors.end()
        self._backlog.end()
        self._changed.notify_all()
