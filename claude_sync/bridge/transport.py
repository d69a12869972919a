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

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..engine.launch.transport import Transport
from ..errors import UsageError
from ..log import logger
from ..options import SETTINGS, Options
from ..options.fields import agents_on_the_wire
from ..protocol.codec import decode
from ..protocol.control import error_reply
from ..support.redact import redact_text
from ..support.waiting import Deadline, wait_for
from .envelopes import PAYLOAD_BEGINS, Envelope, json_line, line_prefix, raw_line

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from .client import Backend

__all__ = ["RawTransport", "SessionTransport", "raw_payload"]

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

    """

    def __init__(self, backend: Callable[[], Backend]) -> None:
        self._find_backend = backend
        self._payload: dict[str, Any] = {}
        self._output: SimpleQueue[bytes] = SimpleQueue()
        self._errors: SimpleQueue[bytes] = SimpleQueue()
        # Guards what is below; orders what is sent. Notified of every change.
        self._changed = threading.Condition(threading.Lock())
        self._backend: Backend | None = None
        # What the ids of our envelopes begin with, and how many there were.
        self._ids = ""
        self._count = 0
        # The id of the greeting.
        self._greeting = ""
        # The id of ``session.create``, until it is answered; then that of the session.
        self._creating: str | None = None
        self._session_id: str | None = None
        # Lines of the client, while the session is being made; the greeting is the first one.
        self._held = b""
        self._pid: int | None = None
        self._is_unwanted = False
        self._is_over = False
        self._exit_code: int | None = None

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Join the backend."""
        assert launch.options is not None
        self._payload = self._payload_of(launch.options)
        self._backend = self._find_backend()
        self._ids = self._backend.join(self)

    def write(self, data: bytes) -> None:
        """Send whole lines, in the form that the backend wants; the first one is the greeting."""
        with self._changed:
            if self._is_over:
                raise BrokenPipeError("the session has ended")
            if self._session_id is not None:
                self._write_locked(data)
                return
            if not self._greeting:
                greeting = decode(data.partition(b"\n")[0]) or {}
                self._greeting = str(greeting.get("request_id"))
                self._create_locked(greeting.get("request") or {})
            self._held += data

    def read(self) -> bytes:
        """What a CLI would have printed."""
        return self._output.get()

    def read_error(self) -> bytes:
        """What there is to say to people: about the end, mostly."""
        return self._errors.get()

    def close(self, timeout: float) -> None:
        """Have the session killed, which is polite; wait for that, and then no longer."""
        with self._changed:
            # The rest is for the way there and back.
            self._kill_locked(SHARE * timeout)
            # Also of a session that is over: of its CLI something may be left.
            wait_for(self._changed, self._is_gone, Deadline(timeout))
            self._end_locked((), self._exit_code)

    def kill(self) -> None:
        """Have the session killed, and do not wait for it."""
        with self._changed:
            self._kill_locked(0.0)
            self._end_locked((), KILLED)

    def free(self) -> None:
        """Let go of everything."""
        if self._backend is not None:
            self._backend.leave(self)

    def abandon(self) -> None:
        """In a forked child: the pipes are the parent's."""
        if self._backend is not None:
            self._backend.process.abandon()

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
        kind, id, payload = envelope.get("type"), envelope.get("id"), envelope.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        with self._changed:
            if kind == "session.created":
                if self._creating is not None and id == self._creating:
                    self._created_locked(str(envelope.get("session_id")), payload)
            elif kind == "session.killed":
                self._session_id = None
                told = () if self._is_unwanted else ("the backend ended the session",)
                self._end_locked(told, 0)
            elif kind == "error":
                self._failed_locked(id, payload)
            else:
                self._hear_locked(str(kind), str(id), payload)
            self._changed.notify_all()

    def backend_ended(self, last_words: Sequence[str], exit_code: int | None) -> None:
        """The process is gone, and this session with it."""
        with self._changed:
            self._session_id = self._creating = None
            self._end_locked(last_words, exit_code)
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

    def _hear_locked(self, kind: str, id: str, payload: Wire) -> None:
        """An envelope for this session."""
        raise NotImplementedError

    def _refused_locked(self, id: str, code: Any, text: str, payload: Wire) -> None:  # noqa: ARG002
        """An error that ends nothing."""
        logger.warning("the backend of the bridge says: %s", text)

    # Inside.

    def _is_gone(self) -> bool:
        """Whether the backend has no session to be killed, nor will have."""
        return self._session_id is None and self._creating is None

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
        if code == "SESSION_NOT_FOUND":
            self._session_id = None
            self._fail_locked(text, details)
        elif self._creating is None or id != self._creating:
            self._refused_locked(str(id), code, text, payload)
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
        if not self._is_over:
            self._output.put(json_line(message))

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

    def _end_locked(self, told: Sequence[str], exit_code: int | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._exit_code = exit_code
            for text in told:
                self._tell_people(text)
            self._errors.put(b"")
            self._output.put(b"")
            self._changed.notify_all()

    def _tell_people(self, text: str) -> None:
        told = "".join(f"{line}\n" for line in text.splitlines())
        if told:
            self._errors.put(told.encode("utf-8", "surrogateescape"))


class RawTransport(SessionTransport):
    """A session of a backend of this library: lines of the CLI as they are, both ways."""

    def __init__(self, backend: Callable[[], Backend]) -> None:
        super().__init__(backend)
        # What stands before each line.
        self._prefix = b""
        self._input_ends = False
        # Bytes that were read, and that the backend does not know of yet. The reader's alone.
        self._taken = 0

    def read(self) -> bytes:
        """What the CLI has printed; the backend is told that there is room for more."""
        data = super().read()
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
            if self._session_id is not None:
                self._send_locked("session.end_input", {})

    def _payload_of(self, options: Options) -> dict[str, Any]:
        return {**raw_payload(options), "raw": True, "credit": CREDIT}

    def _farewell(self, timeout: float) -> dict[str, Any]:
        return {"timeout": timeout}

    def _write_locked(self, data: bytes) -> None:
        if self._backend is not None and self._prefix:
            between = b"}\n" + self._prefix
            self._backend.send(self._prefix + data[:-1].replace(b"\n", between) + b"}\n")

    def _begin_locked(self, payload: Wire) -> None:
        session_id = self._session_id or ""
        prefix = line_prefix(session_id if session_id.isascii() else "")
        # The id is part of what stands before each line, whose length is known.
        if payload.get("raw") is not True or len(prefix) != PAYLOAD_BEGINS or not raw_line(prefix):
            self._refuse_greeting_locked(NOT_RAW, "INVALID_MESSAGE")
            return
        self._prefix = prefix
        self._write_locked(self._held)
        if self._input_ends:
            self._send_locked("session.end_input", {})

    def _refuse_greeting_locked(self, text: str, code: str | None = None) -> None:
        advice = ADVICE if code == "INVALID_MESSAGE" else ""
        super()._refuse_greeting_locked(text + advice, code)

    def _hear_locked(self, kind: str, id: str, payload: Wire) -> None:  # noqa: ARG002
        if kind == "session.stderr":
            self._tell_people(str(payload.get("line")))
        elif kind == "session.ended":
            exit_code = payload.get("exit_code")
            self._end_locked((), exit_code if isinstance(exit_code, int) else None)
            self._kill_locked(CLEARING_TIME)


def raw_payload(options: Options) -> dict[str, Any]:
    """The payload of ``session.create`` for a backend of this library."""
    if options.dialect != "cli":
        raise UsageError(
            f"dialect={options.dialect!r} is how a CLI is spoken to, and over a bridge that is "
            "the backend's business. Leave it out."
        )
    given: dict[str, Any] = {"include_partial_messages": options.include_partial_messages}
    for name, setting in SETTINGS.items():
        value = getattr(options, name)
        if setting.kept == "cli" and value != setting.default:
            given[name] = plain(agents_on_the_wire(value) if name == "agents" else value)
    if "returns" in given:
        # A type, which only this side understands, was made a schema before.
        form = given.pop("returns")
        schema = form if isinstance(form, dict) else {}
        given["output_format"] = {"type": "json_schema", "schema": schema}
    cwd = "" if options.cwd is None else os.fspath(options.cwd)
    return {"prompt": "", "cwd": cwd, "options": given}


def plain(value: Any) -> Any:
    """Tuples as lists, and paths as texts, at whatever depth."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
