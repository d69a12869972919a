"""
A session behind a bridge, as a transport: to the client it is a CLI.

::

    client -> [transport] -> backend -> its CLI
    client <- [transport] <- backend <- its CLI

A backend of this library carries the CLI's own lines, see :class:`RawTransport`; any other one
is spoken to in the words of the document, see ``documented``.

An example of how a transport is written, too: ``start`` joins what exists already,
``write`` never waits, ``read`` waits until there is something or the end, and every
end (closed, killed, the session's, the backend's) is an end of what can be read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..engine.launch.transport import Transport
from ..log import logger
from ..options import Options
from ..protocol.codec import decode
from ..protocol.control import error_reply
from ..support.redact import redact_text, remember_secrets
from ..support.waiting import Deadline, wait_for
from .envelope import (
    INVALID_MESSAGE,
    SESSION_NOT_FOUND,
    UUID_LENGTH,
    Envelope,
    encode_json,
    line_prefix,
)
from .session_settings import raw_payload
from .threads import Inbox

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from .backend import Backend

__all__ = ["RawTransport", "SessionTransport"]

Wire = Mapping[str, Any]

KILLED = -9
# How much of the time for closing the backend has for its CLI.
SHARE = 0.75
# How long the rest of a CLI may take that has ended, or does not listen.
CLEARING_TIME = 1.0
# So many bytes of the CLI may wait here; then the backend reads it no further.
CREDIT = 4 * 1024 * 1024
# The errors of a CLI that was there and has ended by itself: its own words say why.
NOT_STARTED = ("CliExited", "CliDidNotStart")
NOT_RAW = "the backend of this bridge knows no raw sessions"
ADVICE = ". Speak to a backend of another make with Bridge(command, extensions=False)"


class SessionTransport(Transport):
    """
    One session. It lives once. The session is made when the client greets its CLI.

    Args:
        backend: Returns the backend, started; raises if there is none any more.
        settings: What the options of the client do not say, by name.

    """

    def __init__(self, backend: Callable[[], Backend], settings: Wire) -> None:
        self._find_backend = backend
        self._settings = settings
        self._payload: dict[str, Any] = {}
        self._output = Inbox()
        self._errors = Inbox()
        # Guards what is below; orders what is sent. Notified at the end.
        self._changed = threading.Condition(threading.Lock())
        self._backend: Backend | None = None
        # What the ids of our envelopes begin with, and how many there were.
        self._ids = ""
        self._count = 0
        self._greeting = ""
        # The id of ``session.create``, until it is answered; then that of the session.
        self._creating: str | None = None
        self._session_id: str | None = None
        self._pid: int | None = None
        # The session was killed, or is to be as soon as it is there.
        self._is_unwanted = False
        self._is_over = False
        self._is_free = False
        self._exit_code: int | None = None

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Join the backend."""
        assert launch.options is not None
        backend = self._find_backend()
        options = launch.options.replace(**self._settings)
        self._payload = self._payload_of(options)
        # The secrets of the CLI there must not be shown here, either.
        variables = {name: value for name, value in (options.env or {}).items() if value}
        remember_secrets(variables)
        launch.environment.update(variables)
        launch.confidential.extend([options.mcp_servers, options.settings, options.agents])
        self._ids = backend.join(self)
        self._backend = backend

    def write(self, data: bytes) -> None:
        """Send whole lines, in the form that the backend wants; the first one is the greeting."""
        with self._changed:
            if self._is_over or self._backend is None:
                raise BrokenPipeError("the session has ended")
            if not self._greeting:
                greeting = decode(data.partition(b"\n")[0]) or {}
                self._greeting = str(greeting.get("request_id"))
                self._create_locked(greeting.get("request") or {})
            self._write_locked(data)

    def read(self) -> bytes:
        """What a CLI would have printed."""
        return self._output.take()

    def read_error(self) -> bytes:
        """What there is to say to people: about the end, mostly."""
        return self._errors.take()

    def close(self, timeout: float) -> None:
        """Have the session killed, which is polite; wait for that, and then no longer."""
        with self._changed:
            # The rest is for the way there and back.
            self._kill_locked(SHARE * timeout)
            # Also of a session that is over: of its CLI something may be left.
            wait_for(self._changed, lambda: not self._exists, Deadline(timeout))
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

    def wait(self, timeout: float) -> int | None:
        """Wait for the end; the exit code of the CLI, if the backend tells it."""
        with self._changed:
            wait_for(self._changed, lambda: self._is_over, Deadline(timeout))
            return self._exit_code

    @property
    def pid(self) -> int | None:
        """The process id of the CLI, on the machine of the backend, if that tells it."""
        return self._pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of the CLI, or of the backend that died."""
        return self._exit_code

    @property
    def argv(self) -> Sequence[str]:
        """The command of the backend."""
        return self._backend.argv if self._backend is not None else ()

    # The backend's side. On the thread that reads for all sessions: nothing waits here.

    def receive_lines(self, lines: list[bytes]) -> None:
        """Take lines of the CLI of a raw session."""
        self._output.put(b"\n".join(lines) + b"\n")

    def receive(self, envelope: Wire) -> None:
        """Take an envelope for this session."""
        kind, payload = envelope.get("type"), envelope.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        with self._changed:
            if kind == "session.created":
                if self._creating is not None and envelope.get("id") == self._creating:
                    self._created_locked(str(envelope.get("session_id")), payload)
            elif kind == "session.killed":
                self._session_id = None
                told = () if self._is_unwanted else ("the backend ended the session",)
                self._end_locked(told, 0)
            elif kind == "error":
                self._failed_locked(envelope.get("id"), payload)
            else:
                self._hear_locked(str(kind), envelope.get("id"), payload)
            self._leave_locked()
            self._changed.notify_all()

    def backend_ended(self, reason: str, last_words: Sequence[str], exit_code: int | None) -> None:
        """The process is gone, and this session with it."""
        with self._changed:
            self._session_id = self._creating = None
            self._end_locked([*last_words, reason], exit_code)
            self._changed.notify_all()

    # What the two kinds of backends are told, and tell, in their own ways.

    def _payload_of(self, options: Options) -> dict[str, Any]:
        """What ``session.create`` says of the settings."""
        raise NotImplementedError

    def _write_locked(self, data: bytes) -> None:
        """Send lines of the client."""
        raise NotImplementedError

    def _begin_locked(self, payload: Wire) -> None:
        """The session is there: say what was held back."""
        raise NotImplementedError

    def _hear_locked(self, kind: str, id: Any, payload: Wire) -> None:
        """An envelope for this session."""
        raise NotImplementedError

    def _refused_locked(self, id: Any, code: Any, text: str, payload: Wire) -> None:  # noqa: ARG002
        """An error that ends nothing."""
        logger.warning("the backend of the bridge says: %s", text)

    # Inside.

    @property
    def _exists(self) -> bool:
        """Whether the backend has, or is about to have, a session to be killed."""
        return self._session_id is not None or self._creating is not None

    def _create_locked(self, greeting: Wire) -> None:  # noqa: ARG002
        """Have the session made that a greeting of the client begins."""
        self._creating = self._send_locked("session.create", self._payload)

    def _created_locked(self, session_id: str, payload: Wire) -> None:
        assert self._backend is not None
        self._creating, self._session_id = None, session_id
        pid = payload.get("pid")
        self._pid = pid if isinstance(pid, int) else None
        self._backend.name_session(session_id, self)
        if self._is_unwanted:
            # It was no longer wanted before it was there.
            self._send_locked("session.kill", {})
        else:
            self._begin_locked(payload)

    def _failed_locked(self, id: Any, payload: Wire) -> None:
        code = payload.get("code")
        text = redact_text(str(payload.get("message") or code))
        details = payload.get("details")
        details = details if isinstance(details, dict) else {}
        if code == SESSION_NOT_FOUND:
            self._session_id = None
            self._fail_locked(text, details)
        elif self._creating is None or id != self._creating:
            self._refused_locked(id, code, text, payload)
        else:
            self._creating = None
            if details.get("error") in NOT_STARTED:
                self._fail_locked(text, details)
            else:
                self._refuse_greeting_locked(text, str(code))

    def _fail_locked(self, text: str, details: Wire) -> None:
        tail, exit_code = details.get("stderr_tail"), details.get("exit_code")
        # A backend that tells them has the rest of its text from them.
        lines = [redact_text(str(line)) for line in tail] if isinstance(tail, list) else [text]
        self._end_locked(lines, exit_code if isinstance(exit_code, int) else None)
        # Some backends keep a session whose CLI is dead, or as good as dead.
        self._kill_locked(CLEARING_TIME)

    def _refuse_greeting_locked(self, text: str, code: str | None = None) -> None:
        self._say(error_reply(self._greeting, text, code))

    def _say(self, message: Wire) -> None:
        """Let the client read *message*."""
        self._output.put(encode_json(message))

    def _send_locked(self, kind: str, payload: Wire, id: str | None = None) -> str:
        """Say something to the backend; its id."""
        assert self._backend is not None
        self._count += 1
        id = id or f"{self._ids}{self._count}"
        self._backend.send(Envelope(kind, payload, id, self._session_id).line)
        return id

    def _kill_locked(self, timeout: float) -> None:
        """Have the session killed; at once if it exists, else when it does."""
        if not self._is_unwanted:
            self._is_unwanted = True
            if self._session_id is not None:
                self._send_locked("session.kill", self._farewell(timeout))

    def _farewell(self, timeout: float) -> dict[str, Any]:  # noqa: ARG002
        """What ``session.kill`` says."""
        return {}

    def _leave_locked(self) -> None:
        """Hear no more, if nothing more can come: a session that is being made is killed then."""
        if self._backend is not None and self._is_free and not self._exists:
            self._backend.leave(self)

    def _end_locked(self, lines: Sequence[str], exit_code: int | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._exit_code = exit_code
            self._tell_people(line for text in lines for line in text.splitlines())
            self._errors.end()
            self._output.end()
            self._changed.notify_all()

    def _tell_people(self, lines: Any) -> None:
        told = "".join(f"{line}\n" for line in lines)
        self._errors.put(told.encode("utf-8", "surrogateescape"))


class RawTransport(SessionTransport):
    """A session of a backend of this library: lines of the CLI as they are, both ways."""

    def __init__(self, backend: Callable[[], Backend], settings: Wire) -> None:
        super().__init__(backend, settings)
        # What stands before each line; empty until the session is there.
        self._prefix = b""
        self._held: list[bytes] = []
        self._input_ends = False
        # Bytes that were read, and that the backend does not know of yet. The reader's alone.
        self._taken = 0

    def read(self) -> bytes:
        """What the CLI has printed; the backend is told that there is room for more."""
        data = self._output.take()
        self._taken += len(data)
        if self._taken >= CREDIT // 2:
            with self._changed:
                if self._session_id is not None:
                    self._send_locked("session.credit", {"bytes": self._taken})
            self._taken = 0
        return data

    def end_input(self) -> None:
        """Tell the CLI that nothing more comes."""
        with self._changed:
            self._input_ends = True
            if self._prefix and self._session_id is not None:
                self._send_locked("session.end_input", {})

    def _payload_of(self, options: Options) -> dict[str, Any]:
        return {**raw_payload(options), "raw": True, "credit": CREDIT}

    def _farewell(self, timeout: float) -> dict[str, Any]:
        return {"timeout": timeout}

    def _write_locked(self, data: bytes) -> None:
        if not self._prefix:
            self._held.append(data)
            return
        assert self._backend is not None
        between = b"}\n" + self._prefix
        self._backend.send(self._prefix + data[:-1].replace(b"\n", between) + b"}\n")

    def _begin_locked(self, payload: Wire) -> None:
        session_id = self._session_id or ""
        # The id is part of what stands before each line, whose length is known.
        is_uuid = session_id.isascii() and len(session_id) == UUID_LENGTH
        if payload.get("raw") is not True or not is_uuid:
            self._refuse_greeting_locked(NOT_RAW, INVALID_MESSAGE)
            return
        self._prefix = line_prefix(session_id)
        held, self._held = b"".join(self._held), []
        self._write_locked(held)
        if self._input_ends:
            self._send_locked("session.end_input", {})

    def _refuse_greeting_locked(self, text: str, code: str | None = None) -> None:
        advice = ADVICE if code == INVALID_MESSAGE else ""
        super()._refuse_greeting_locked(text + advice, code)

    def _hear_locked(self, kind: str, id: Any, payload: Wire) -> None:  # noqa: ARG002
        if kind == "session.stderr":
            self._tell_people([payload.get("line")])
        elif kind == "session.ended":
            exit_code = payload.get("exit_code")
            self._end_locked((), exit_code if isinstance(exit_code, int) else None)
            self._kill_locked(CLEARING_TIME)
