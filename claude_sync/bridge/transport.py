"""
A session behind a bridge, as a transport: to the client it is a CLI.

::

    client -> [transport] -> backend -> its CLI         a backend of this library: lines as they are
    client <- [transport] <- backend <- its CLI
                  ^
             translation                                any other one: words of the document

An example of how a transport is written, too: ``start`` joins what exists already,
``write`` never waits, ``read`` waits until there is something or the end, and every
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
from .envelope import encode_envelope, line_prefix
from .session_settings import create_payload
from .threads import Inbox
from .translation import Step, Translation

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from .backend import Backend

__all__ = ["SessionTransport"]

KILLED = -9
# How much of the time for closing the backend has for its CLI.
SHARE = 0.75
# How long the rest of a CLI may take that has ended, or does not listen.
CLEARING_TIME = 1.0
# So many bytes of the CLI may wait here; then the backend reads it no further.
CREDIT = 4 * 1024 * 1024
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
        self._ids = ""
        self._output = Inbox()
        self._errors = Inbox()
        # Bytes that were read, and that the backend does not know of yet. The reader's alone.
        self._taken = 0
        # Guards the translation and what is below; orders what is sent. Notified at the end.
        self._changed = threading.Condition(threading.Lock())
        self._translation: Optional[Translation] = None
        # What stands before each line of a raw session; empty while it is none.
        self._prefix = b""
        # Lines that wait until it is known how the backend wants them.
        self._held: List[bytes] = []
        self._input_ends = False
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
        if self._extensions:
            payload.update(raw=True, credit=CREDIT)
        # The secrets of the CLI there must not be shown here, either.
        variables = {name: value for name, value in (options.env or {}).items() if value}
        remember_secrets(variables)
        launch.environment.update(variables)
        launch.confidential.extend([options.mcp_servers, options.settings, options.agents])
        self._ids = backend.join(self)
        with self._changed:
            self._translation = Translation(self._ids, payload)
        self._backend = backend

    def write(self, data: bytes) -> None:
        """Send whole lines, or say in other words what is in them."""
        with self._changed:
            translation = self._translation
            if self._is_over or translation is None:
                raise BrokenPipeError("the session has ended")
            if self._prefix:
                self._send_raw_locked(data)
            elif translation.session_id is not None:
                self._translate_locked(data)
            else:
                self._held.append(data)
                message = decode(data.partition(b"\n")[0])
                if message is not None and len(self._held) == 1:
                    self._do_locked(translation.create(message))

    def read(self) -> bytes:
        """What a CLI would have printed."""
        data = self._output.take()
        self._taken += len(data)
        if self._prefix and self._taken >= CREDIT // 2:
            self._say("session.credit", {"bytes": self._taken})
            self._taken = 0
        return data

    def read_error(self) -> bytes:
        """What there is to say to people: about the end, mostly."""
        return self._errors.take()

    def end_input(self) -> None:
        """Tell a CLI of a raw session that nothing more comes."""
        with self._changed:
            self._input_ends = True
            if self._prefix:
                self._say("session.end_input", {})

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
        """UsageError for what only a backend of this library can do."""
        translation = self._translation
        if translation is not None and translation.session_id and not translation.is_raw:
            raise UsageError(PLAIN_BACKEND.format(method=method))

    # The backend's side. On the thread that reads for all sessions: nothing waits here.

    def receive_lines(self, lines: List[bytes]) -> None:
        """Take lines of the CLI of a raw session."""
        self._output.put(b"\n".join(lines) + b"\n")

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
                self._begin_locked(translation)
            self._do_locked(step)
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

    def _begin_locked(self, translation: Translation) -> None:
        """The session is there: say what was held back, in the form that the backend takes."""
        held, self._held = b"".join(self._held), []
        if self._is_over:
            return
        if translation.is_raw:
            self._prefix = line_prefix(translation.session_id or "")
            self._send_raw_locked(held)
            if self._input_ends:
                self._say("session.end_input", {})
        else:
            self._translate_locked(held.partition(b"\n")[2])  # without the greeting

    def _send_raw_locked(self, data: bytes) -> None:
        assert self._backend is not None
        between = b"}\n" + self._prefix
        self._backend.send(self._prefix + data[:-1].replace(b"\n", between) + b"}\n")

    def _translate_locked(self, data: bytes) -> None:
        assert self._translation is not None
        for line in data.split(b"\n"):
            message = decode(line)
            if message is not None:
                self._do_locked(self._translation.from_client(message))

    def _say(self, kind: str, payload: Mapping[str, Any]) -> None:
        if self._backend is not None and self._translation is not None:
            session_id = self._translation.session_id
            self._backend.send(encode_envelope(kind, payload, id=None, session_id=session_id))

    def _do_locked(self, step: Step) -> None:
        assert self._backend is not None
        for line in step.to_backend:
            self._backend.send(line)
        for line in step.to_client:
            self._output.put(line)
        for text in step.to_people:
            self._errors.put(f"{text}\n".encode("utf-8", "surrogateescape"))
        if step.end is not None:
            self._end_locked(step.end.lines, step.end.exit_code)
            # Some backends keep a session whose CLI is dead, or as good as dead.
            self._kill_locked(CLEARING_TIME)

    def _kill_locked(self, timeout: float) -> None:
        if self._translation is not None and self._backend is not None:
            for line in self._translation.kill(timeout).to_backend:
                self._backend.send(line)

    def _leave_locked(self) -> None:
        """Hear no more, if nothing more can come: a session that is being made is killed then."""
        translation, backend = self._translation, self._backend
        if backend is None or translation is None:
            return
        if self._is_free and not translation.is_known():
            backend.leave(self._ids, translation.session_id)

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
        self._output.end()
        self._changed.notify_all()
