"""
The backend: lines of a front end in, sessions with a CLI each, lines out.

::

    stdin -> [server] -> sessions -> clients -> CLIs
    stdout <- output <---+

One thread reads and never waits for anything else: what may take time is done by the
threads of a pool, for each session in the order in which it was asked for. Whatever a
line is, it is answered, and the next one is read. The end of the input, and signals that
ask to end, close all CLIs in peace.
"""

from __future__ import annotations

import contextlib
import os
import threading
from logging import DEBUG
from queue import Empty, SimpleQueue
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Union

from ..errors import ClaudeError, UsageError
from ..log import logger, shortened
from ..support.checks import check_seconds
from ..support.waiting import SLICE, take_from
from .bounded_lines import LONGEST_LINE, BoundedLines
from .descriptors import Descriptors
from .envelope import (
    CALLBACK_NOT_FOUND,
    DEFAULT_CALLBACK_TIMEOUT,
    DEFAULT_MAX_SESSIONS,
    INVALID_MESSAGE,
    QUERY_METHOD_FAILED,
    SDK_ERROR,
    SESSION_CREATE_FAILED,
    SESSION_NOT_FOUND,
    Refused,
    Request,
    encode_envelope,
    is_piece,
    raw_line,
    read_request,
)
from .options import Policy, plan_of
from .output import SESSION_BOUND, Output
from .sessions import Session, details_of
from .threads import Workers
from .tunnel import RawSession

__all__ = ["Server", "main", "serve"]

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
UNFORESEEN = {"session.create": SESSION_CREATE_FAILED, "query.call": QUERY_METHOD_FAILED}
TOO_LONG = (
    "a line is longer than {} bytes and was not read. Send large things in several messages, "
    "or as paths of files."
)


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
        policy: Optional[Policy] = None,
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
        # Guards the sessions, and whether it is closing.
        self._lock = threading.Lock()
        self._sessions: Dict[str, AnySession] = {}
        self._closing = False
        # One for each CLI that there may be; those that are being closed count, too.
        self._places = threading.BoundedSemaphore(max_sessions)
        self._placed: Set[str] = set()
        self._handlers: Dict[str, Callable[[Request], None]] = {
            "session.create": self._create,
            "session.send": lambda request: self._session_of(request).send(request),
            "session.interrupt": lambda request: self._session_of(request).interrupt(request),
            "session.kill": self._kill,
            "callback.response": self._respond,
            "query.call": lambda request: self._session_of(request).call(request),
            "session.line": lambda request: self._raw_of(request).message(request),
            "session.credit": lambda request: self._raw_of(request).add_credit(request),
            "session.end_input": lambda request: self._raw_of(request).end_input(),
        }

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
        self, kind: str, payload: Mapping[str, Any], id: Optional[str], session_id: Optional[str]
    ) -> bytes:
        """A message for the front end."""
        line = encode_envelope(kind, payload, id=id, session_id=session_id)
        if logger.isEnabledFor(DEBUG) and not is_piece(kind, payload):
            logger.debug("> %s", shortened(line))
        return line

    def error(
        self,
        code: str,
        text: str,
        id: Optional[str] = None,
        session_id: Optional[str] = None,
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Tell the front end what went wrong."""
        payload: Dict[str, Any] = {"code": code, "message": text}
        if details:
            payload["details"] = details
        self.output.put(self.line("error", payload, id, session_id))

    # What comes in.

    def _read_all(self) -> None:
        lines = BoundedLines(self._longest_line)
        reason = "its input ended"
        try:
            while True:
                # A front end that does not read its answers is not listened to, either.
                self.output.wait_for_room()
                chunk = self._read()
                for line in lines.feed(chunk) if chunk else lines.end():
                    if line is None:
                        self.error(INVALID_MESSAGE, TOO_LONG.format(self._longest_line))
                    else:
                        self.receive(line)
                if not chunk:
                    return
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
        try:
            request = read_request(line)
        except Refused as refused:
            self.error(refused.code, refused.text, details=refused.details, **refused.about)
            return
        except Exception as error:  # a line nobody foresaw must not end the others' sessions
            logger.exception("a line could not be read")
            text = f"a line could not be read: {type(error).__name__}: {error}"
            self.error(INVALID_MESSAGE, text)
            return
        try:
            self._handlers[request.type](request)
        except Refused as refused:
            code, details = refused.code, refused.details
            self.error(code, refused.text, request.id, request.session_id, details)
        except Exception as error:  # nor must a message
            logger.exception("%s failed", request.type)
            text = f"{request.type} failed: {type(error).__name__}: {error}"
            code = UNFORESEEN.get(request.type, SDK_ERROR)
            self.error(code, text, request.id, request.session_id, details_of(error))

    def _session_of(self, request: Request) -> AnySession:
        with self._lock:
            session = self._sessions.get(request.session_id or "")
        if session is None:
            text = f"there is no session {request.session_id}. Create one with session.create."
            raise Refused(SESSION_NOT_FOUND, text)
        return session

    def _raw_of(self, request: Request) -> RawSession:
        session = self._session_of(request)
        if not isinstance(session, RawSession):
            raise request.invalid('the session was not created with "raw": true.')
        return session

    def _create(self, request: Request) -> None:
        plan = plan_of(request, self.policy)
        try:
            session = RawSession(self, plan) if plan.raw else Session(self, plan)
        except (UsageError, TypeError) as error:
            details = details_of(error)
            raise Refused(SESSION_CREATE_FAILED, str(error), details) from None
        with self._lock:
            count = len(self._sessions)
            is_full = count >= self._max_sessions
            if self._closing:
                raise Refused(SESSION_CREATE_FAILED, "the backend is being closed.")
            if not is_full:
                self._sessions[session.id] = session
        if is_full:
            text = f"there are {count} sessions, which is all there may be. Kill one first."
            raise Refused(SESSION_CREATE_FAILED, text)
        self.run(lambda: self._start(session, request))

    def _start(self, session: AnySession, request: Request) -> None:
        try:
            self._take_place(session)
            session.start(request.id)
        except Exception as error:
            with self._lock:
                self._sessions.pop(session.id, None)
            if not isinstance(error, (ClaudeError, OSError)):
                logger.exception("a session could not be created")
            self.error(SESSION_CREATE_FAILED, str(error), request.id, None, details_of(error))
            self._close_session(session)

    def _take_place(self, session: AnySession) -> None:
        """Wait for the end of a CLI, if there are too many: those of sessions that were killed."""
        if not self._places.acquire(timeout=CLOSING):
            raise UsageError("the CLIs of sessions that were killed do not end. Try again later.")
        with self._lock:
            self._placed.add(session.id)

    def _kill(self, request: Request) -> None:
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
                has_place = session.id in self._placed
                self._placed.discard(session.id)
            if has_place:
                self._places.release()

    def _respond(self, request: Request) -> None:
        if not any(session.respond(request) for session in self._sessions_of(request)):
            text = f"there is no open callback {request.id}: it was answered, or its time is up."
            raise Refused(CALLBACK_NOT_FOUND, text)

    def _sessions_of(self, request: Request) -> List[AnySession]:
        """Those that may have the callback that is meant."""
        if request.id is None:
            raise request.invalid("id is missing. Put in that of the callback.request.")
        if request.session_id is not None:
            return [self._session_of(request)]
        with self._lock:
            return list(self._sessions.values())


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
        callback_timeout: How many seconds the front end may take for an answer.
        longest_line: How many bytes a message of the front end may have.
        handle_signals: End in peace at SIGTERM, SIGINT and SIGHUP; on the main thread only.

    """
    folders = []
    for folder in allow_cwd:
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {folder!r} in which sessions could work.")
        folders.append(os.path.realpath(folder))
    policy = Policy(trust_client, tuple(folders), cli)
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


def main(argv: Optional[Sequence[str]] = None) -> int:
    """``python -m claude_sync.bridge``; see :mod:`.command`."""
    from .command import main as run

    return run(argv)
