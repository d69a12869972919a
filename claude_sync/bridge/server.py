"""
The backend: lines of a front end in, sessions with a CLI each, lines out.

::

    stdin -> [server] -> sessions -> clients -> CLIs
    stdout <- output <---+

One thread reads and never waits for anything else: what may take time is done by
threads of its own, for each session in the order in which it was asked for. Whatever a
line is, it is answered, and the next one is read. The end of the input, and signals that
ask to end, close all CLIs in peace.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from logging import DEBUG
from queue import Empty, SimpleQueue
from typing import Any, Union

from ..errors import ClaudeError, UsageError
from ..log import logger, shortened
from ..support.checks import check_seconds
from ..support.waiting import SLICE, take_from
from .envelope import (
    CALLBACK_NOT_FOUND,
    DEFAULT_CALLBACK_TIMEOUT,
    DEFAULT_MAX_SESSIONS,
    INVALID_MESSAGE,
    QUERY_METHOD_FAILED,
    SDK_ERROR,
    SESSION_CREATE_FAILED,
    SESSION_NOT_FOUND,
    Envelope,
    Refused,
    is_piece,
    raw_line,
)
from .options import Policy, plan_of
from .output import SESSION_BOUND, Output
from .pipes import LONGEST_LINE, BoundedLines, Descriptors
from .sessions import Session, details_of
from .threads import Workers
from .tunnel import RawSession

__all__ = ["Server", "serve"]

AnySession = Union[Session, RawSession]

# How long a CLI may take to end, at most.
CLOSING_TIME = 10.0
# Longer than a client takes to close.
CLOSING = 15.0
# A front end may read what was said last as long as it reads at all; and not for ever.
LAST_WORDS = 5.0
ALL_LAST_WORDS = 60.0
JOINING = 1.0
# What a mistake is called that nobody has foreseen; an SDK_ERROR otherwise.
UNFORESEEN = {
    "a line": INVALID_MESSAGE,
    "session.create": SESSION_CREATE_FAILED,
    "query.call": QUERY_METHOD_FAILED,
}
TOO_LONG = (
    "a line is longer than {} bytes and was not read. Send large things in several messages, "
    "or as paths of files."
)
# What is said to a session of each kind, and to its method.
TO_SESSIONS = {
    "session.send": Session.send,
    "session.interrupt": Session.interrupt,
    "query.call": Session.call,
}
TO_RAW_SESSIONS = {
    "session.line": RawSession.message,
    "session.credit": RawSession.add_credit,
    "session.end_input": RawSession.end_input,
}


class Server:
    """
    See the module.

    Args:
        read: Returns the next bytes of the front end, b"" at the end.
        write: Writes all it is given; raises OSError if nobody reads.
        release: Makes both come back, for good.

    """

    def __init__(
        self,
        read: Callable[[], bytes],
        write: Callable[[bytes], None],
        policy: Policy | None = None,
        max_sessions: int = DEFAULT_MAX_SESSIONS,
        callback_timeout: float = DEFAULT_CALLBACK_TIMEOUT,
        bound: int = SESSION_BOUND,
        release: Callable[[], None] = lambda: None,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self._read = read
        self._release = release
        self._longest_line = longest_line
        self.policy = policy or Policy()
        self.callback_timeout = callback_timeout
        self._max_sessions = max_sessions
        self._workers = Workers("bridge")
        self._pipes = Workers("bridge-pipe")
        # Something is put here when it is time to end. Signal handlers may use it.
        self._ending: SimpleQueue[str] = SimpleQueue()
        self.output = Output(write, lambda: self.stop("the front end reads no more"), bound)
        # Guards the sessions, how many CLIs there are or may be, and whether it is closing.
        self._lock = threading.Lock()
        self._sessions: dict[str, AnySession] = {}
        self._count = 0
        self._closing = False

    # Its life.

    def serve(self) -> None:
        """Serve until the input ends, or :meth:`stop` is called; then end everything."""
        self._pipes.run(self.output.write_all)
        self._pipes.run(self._read_all)
        while True:
            with contextlib.suppress(Empty):
                logger.info("the bridge ends: %s", take_from(self._ending, SLICE))
                break
        self.close()

    def stop(self, reason: str) -> None:
        """Let :meth:`serve` come to its end. Takes no lock: for signal handlers."""
        self._ending.put(reason)

    def close(self) -> None:
        """End all sessions, and write what is still to be written."""
        with self._lock:
            self._closing = True
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            self.run(lambda session=session: self._close_session(session))  # type: ignore[misc]
        # What was asked for before is answered, too: everything waits for a CLI, if for
        # anything, and those are being closed.
        self._workers.join(CLOSING)
        self.output.flush(LAST_WORDS, ALL_LAST_WORDS)
        self.output.end()
        self._release()
        self._pipes.join(JOINING)

    def run(self, task: Callable[[], None]) -> None:
        """Run *task* on another thread."""
        self._workers.run(task)

    # What goes out.

    def line(
        self, kind: str, payload: Mapping[str, Any], id: str | None, session_id: str | None
    ) -> bytes:
        """A message for the front end."""
        line = Envelope(kind, payload, id, session_id).line
        if logger.isEnabledFor(DEBUG) and not is_piece(kind, payload):
            logger.debug("> %s", shortened(line))
        return line

    def error(
        self,
        code: str,
        text: str,
        id: str | None = None,
        session_id: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Tell the front end what went wrong."""
        payload: dict[str, Any] = {"code": code, "message": text}
        if details:
            payload["details"] = details
        self.output.put(self.line("error", payload, id, session_id))

    # What comes in.

    def _read_all(self) -> None:
        lines = BoundedLines(self._longest_line)
        reason = "its input ended"
        chunk = b"..."
        try:
            while chunk:
                # A front end that does not read its answers is not listened to, either.
                self.output.wait_for_room()
                chunk = self._read()
                for line in lines.feed(chunk) if chunk else lines.end():
                    if line is None:
                        self.error(INVALID_MESSAGE, TOO_LONG.format(self._longest_line))
                    else:
                        self.receive(line)
        except OSError as error:
            reason = f"its input cannot be read: {error}"
        finally:
            self.stop(reason)

    def receive(self, line: bytes) -> None:
        """Follow one line, or tell why not."""
        raw = raw_line(line)
        if raw is not None:
            with self._lock:
                session = self._sessions.get(raw[0])
            if isinstance(session, RawSession):
                session.line(raw[1])
                return
        if logger.isEnabledFor(DEBUG):
            logger.debug("< %s", shortened(line))
        request = Envelope("a line", {})
        try:
            request = Envelope.read(line)
            self._follow(request)
        except Refused as refused:
            about = {"id": request.id, "session_id": request.session_id, **refused.about}
            self.error(refused.code, refused.text, details=refused.details, **about)
        except Exception as error:  # a line nobody foresaw must not end the others' sessions
            logger.exception("%s failed", request.type)
            text = f"{request.type} failed: {type(error).__name__}: {error}"
            code = UNFORESEEN.get(request.type, SDK_ERROR)
            self.error(code, text, request.id, request.session_id, details_of(error))

    def _follow(self, request: Envelope) -> None:
        if request.type == "session.create":
            self._create(request)
        elif request.type == "session.kill":
            self._kill(request)
        elif request.type == "callback.response":
            self._respond(request)
        else:
            session = self._session_of(request)
            if isinstance(session, RawSession):
                if request.type not in TO_RAW_SESSIONS:
                    raise request.invalid("this session is raw. Send it session.line.")
                TO_RAW_SESSIONS[request.type](session, request)
            elif request.type in TO_SESSIONS:
                TO_SESSIONS[request.type](session, request)
            else:
                raise request.invalid('the session was not created with "raw": true.')

    def _session_of(self, request: Envelope) -> AnySession:
        with self._lock:
            session = self._sessions.get(request.session_id or "")
        if session is None:
            text = f"there is no session {request.session_id}. Create one with session.create."
            raise Refused(SESSION_NOT_FOUND, text)
        return session

    def _create(self, request: Envelope) -> None:
        plan = plan_of(request, self.policy)
        try:
            session = RawSession(self, plan) if plan.raw else Session(self, plan)
        except (UsageError, TypeError) as error:
            details = details_of(error)
            raise Refused(SESSION_CREATE_FAILED, str(error), details) from None
        with self._lock:
            if self._closing:
                raise Refused(SESSION_CREATE_FAILED, "the backend is being closed.")
            if self._count >= self._max_sessions:
                text = (
                    f"there are {self._count} sessions, which is all there may be. Kill one "
                    "first, and wait for session.killed."
                )
                raise Refused(SESSION_CREATE_FAILED, text)
            self._count += 1
            self._sessions[session.id] = session
        self.run(lambda: self._start(session, request))

    def _start(self, session: AnySession, request: Envelope) -> None:
        try:
            session.start(request.id)
        except Exception as error:
            if not isinstance(error, (ClaudeError, OSError)):
                logger.exception("a session could not be created")
            with self._lock:
                is_ours = self._sessions.pop(session.id, None) is not None
            if is_ours:  # else it is being killed
                self._close_session(session)
            self.error(SESSION_CREATE_FAILED, str(error), request.id, None, details_of(error))

    def _kill(self, request: Envelope) -> None:
        session = self._session_of(request)
        given = request.payload.get("timeout")
        try:
            seconds = CLOSING_TIME if given is None else check_seconds("timeout", given, zero=True)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        with self._lock:
            self._sessions.pop(session.id, None)

        def kill() -> None:
            self._close_session(session, min(seconds, CLOSING_TIME))
            self.output.put(self.line("session.killed", {}, request.id, session.id))

        self.run(kill)

    def _close_session(self, session: AnySession, timeout: float = CLOSING_TIME) -> None:
        try:
            session.close(timeout)
        except Exception:
            logger.exception("a session did not close well")
        finally:
            with self._lock:
                self._count -= 1

    def _respond(self, request: Envelope) -> None:
        if request.id is None:
            raise request.invalid("id is missing. Put in that of the callback.request.")
        with self._lock:
            sessions: list[AnySession] = list(self._sessions.values())
        if request.session_id is not None:
            sessions = [self._session_of(request)]
        known = [each for each in sessions if isinstance(each, Session)]
        if not any(session.respond(request) for session in known):
            text = f"there is no open callback {request.id}: it was answered, or its time is up."
            raise Refused(CALLBACK_NOT_FOUND, text)


def serve(
    source: int = 0,
    sink: int = 1,
    *,
    cli: Any = None,
    allow_cwd: Sequence[str] = (),
    max_sessions: int = DEFAULT_MAX_SESSIONS,
    trust_client: bool = False,
    callback_timeout: float = DEFAULT_CALLBACK_TIMEOUT,
    longest_line: int = LONGEST_LINE,
    handle_signals: bool = False,
) -> None:
    """
    Serve a front end until it closes its end.

    Args:
        source, sink: The descriptors to read from and to write to.
        cli: The CLI of all sessions; None: the one that is found.
        allow_cwd: The folders in which sessions may work; none: anywhere.
        max_sessions: How many there may be at once.
        trust_client: Let the front end choose programs and variables, and switch
            permissions off.
        callback_timeout: How many seconds the front end may take to answer a callback. Raw
            sessions have none: there the client asks, and waits as it is told to.
        longest_line: How many bytes a message of the front end may have.
        handle_signals: End in peace at SIGTERM, SIGINT and SIGHUP; on the main thread only.

    """
    for folder in allow_cwd:
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {folder!r} in which sessions could work.")
    policy = Policy(trust_client, tuple(map(os.path.realpath, allow_cwd)), cli)
    pipes = Descriptors(source, sink)
    server = Server(
        pipes.read,
        pipes.write,
        policy,
        max_sessions,
        callback_timeout,
        release=pipes.stop,
        longest_line=longest_line,
    )
    if handle_signals:
        stop_at_signals(server.stop)
    try:
        server.serve()
    finally:
        pipes.close()


def stop_at_signals(stop: Callable[[str], None]) -> None:
    """Have *stop* called when the process is asked to end."""
    import signal

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has not all of them
        if number is not None:
            signal.signal(number, lambda *_, name=name: stop(name))
