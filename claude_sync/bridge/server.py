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
import functools
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Union

from ..errors import ClaudeError, UsageError
from ..log import logger
from ..support.checks import check_seconds
from ..support.waiting import SLICE, Deadline, take_from
from .envelopes import Envelope, Refused, log_envelope, raw_line
from .sessions import Callback, DocumentedSession, RawSession, Room, details_of
from .settings import DEFAULT_CALLBACK_TIMEOUT, DEFAULT_MAX_SESSIONS, Policy, plan_of
from .threads import Lane, thread_of

# In bytes. An attachment of 32 MB, the most that the API takes, is 43 MB in a message.
LONGEST_LINE = 128 * 1024 * 1024
AnySession = Union[RawSession, DocumentedSession]

# What a pipe of Linux holds; more would cost memory of the system with each read.
ONE_READ = 64 * 1024
# Bytes of a session that may wait to be written.
SESSION_BOUND = 4 * 1024 * 1024
# Bytes of answers that may wait before nothing more is asked.
ANSWERS_BOUND = 16 * 1024 * 1024
# How long a CLI may take to end, at most.
CLOSING_TIME = 10.0
# Longer than a client takes to close.
CLOSING = 15.0
# A front end may read what was said last as long as it reads at all.
LAST_WORDS = 5.0
# How long the thread that reads may take to end, if it does: it may be waiting for input.
JOINING = 0.5
TOO_LONG = (
    "a line is longer than {} bytes and was not read. Send large things in several messages, "
    "or as paths of files."
)


class Output:
    """
    What goes to the front end, written by one thread.

    A front end that reads slowly must lose nothing and must not make memory grow without
    bound. So each session has a room of its own: past it, whoever brings what the CLI of that
    session says waits here, its inbox fills up, and its CLI is no longer read. Other sessions go
    on. Answers and requests, which are small and for which somebody waits, never wait here; a
    front end that lets them pile up is not listened to until it reads again.

    Args:
        write: Writes all of what it is given, or raises OSError.
        broken: Called once if it does: nobody reads any more.

    """

    def __init__(self, write: Callable[[bytes], None], broken: Callable[[], None]) -> None:
        self._write = write
        self._tell_broken = broken
        self._lane = Lane("bridge-writer")
        self._lane.thread.start()
        # Guards the rooms and what is below; notified whenever there is more room.
        self._changed = threading.Condition(threading.Lock())
        self._answers = Room()
        self._written = 0
        self._is_broken = False

    def put(self, line: bytes, room: Room | None = None) -> None:
        """Write *line* when its turn comes."""
        room = room or self._answers
        with self._changed:
            room.waiting += len(line)
            self._lane.run(functools.partial(self._write_one, line, room))

    def put_in_time(self, line: bytes, room: Room, size: int) -> None:
        """Write a *line* that takes *size* bytes of credit, once there is room for more."""
        with self._changed:
            self._wait(room, lambda: room.credit > 0 and room.waiting <= SESSION_BOUND)
            room.credit -= size
        self.put(line, room)

    def wait_for_room(self) -> None:
        """Wait until the front end has read enough of what it was answered."""
        with self._changed:
            self._wait(self._answers, lambda: self._answers.waiting <= ANSWERS_BOUND)

    def add_credit(self, room: Room, count: int) -> None:
        """The front end has room for more."""
        with self._changed:
            room.credit += count
            self._changed.notify_all()

    def close_room(self, room: Room | None = None) -> None:
        """Whoever waits for that room goes on, and nobody waits for it again."""
        with self._changed:
            (room or self._answers).is_closed = True
            self._changed.notify_all()

    def end(self) -> None:
        """Wait until all is written, or the front end reads nothing for some time."""
        self._lane.stop()
        written = -1
        while self._lane.thread.is_alive() and written != self._written:
            written = self._written
            self._lane.thread.join(LAST_WORDS)

    def _wait(self, room: Room, has_room: Callable[[], bool]) -> None:
        self._changed.wait_for(lambda: room.is_closed or self._is_broken or has_room())

    def _write_one(self, line: bytes, room: Room) -> None:
        if self._is_broken:
            return
        log_envelope(">", line)
        try:
            self._write(line)
        except OSError as error:
            logger.info("the front end reads no more: %s", error)
            self._is_broken = True
            self._tell_broken()
        with self._changed:
            self._written += len(line)
            room.waiting -= len(line)
            self._changed.notify_all()


class Server:
    """
    See the module, and :func:`serve`.

    Attributes:
        callbacks: What the front end has to answer, by its id.

    """

    def __init__(self, source: int, sink: int, policy: Policy) -> None:
        self._source = source
        self._sink = sink
        self.policy = policy
        self.callbacks: dict[str, Callback] = {}
        # Something is put here when it is time to end. Signal handlers may use it.
        self._ending: SimpleQueue[str] = SimpleQueue()
        self.output = Output(self._write, lambda: self.stop("the front end reads no more"))
        # Guards what is below.
        self._lock = threading.Lock()
        # All that have a CLI, or may have: those that are being closed, too.
        self._sessions: dict[str, AnySession] = {}
        self._closings: list[threading.Thread] = []
        self._is_closing = False

    # Its life.

    def serve(self) -> None:
        """Serve until the input ends, or :meth:`stop` is called; then end everything."""
        reader = thread_of("bridge-reader", self._read_all)
        reader.start()
        while True:
            with contextlib.suppress(Empty):
                logger.info("the bridge ends: %s", take_from(self._ending, SLICE))
                break
        with self._lock:
            self._is_closing = True
            sessions = list(self._sessions.values())
        for session in sessions:
            self._end(session)
        # What was asked for before is answered, too: everything waits for a CLI, if for
        # anything, and those are being closed.
        deadline = Deadline(CLOSING)
        for thread in list(self._closings):
            thread.join(deadline.left())
        self.output.close_room()
        self.output.end()
        reader.join(JOINING)

    def stop(self, reason: str) -> None:
        """Let :meth:`serve` come to its end. Takes no lock: for signal handlers."""
        self._ending.put(reason)

    # What goes out.

    def send(self, envelope: Envelope) -> None:
        """Tell the front end something for which it waits."""
        self.output.put(envelope.line)

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
        self.send(Envelope("error", payload, id, session_id))

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._sink, view) :]

    # What comes in.

    def _read_all(self) -> None:
        reason = "its input ended"
        try:
            with open(self._source, "rb", ONE_READ, closefd=False) as file:
                while line := file.readline(LONGEST_LINE):
                    if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                        self.error("INVALID_MESSAGE", TOO_LONG.format(LONGEST_LINE))
                        while line and not line.endswith(b"\n"):
                            line = file.readline(ONE_READ)
                    elif not line.isspace():
                        self.receive(line.rstrip(b"\r\n"))
                    # A front end that does not read its answers is not listened to, either.
                    self.output.wait_for_room()
        except OSError as error:
            reason = f"its input cannot be read: {error}"
        finally:
            self.stop(reason)

    def receive(self, line: bytes) -> None:
        """Follow one line, or tell why not."""
        log_envelope("<", line)
        request = Envelope("a line", {})
        try:
            raw = raw_line(line)
            session = self._sessions.get(raw[0]) if raw is not None else None
            if raw is not None and isinstance(session, RawSession) and not session.is_ending:
                session.pass_on(raw[1])
                return
            request = Envelope.read(line)
            self._follow(request)
        except Refused as refused:
            about = {"id": request.id, "session_id": request.session_id, **refused.about}
            self.error(refused.code, str(refused), details=refused.details, **about)
        except Exception as error:  # a line nobody foresaw must not end the others' sessions
            logger.exception("%s failed", request.type)
            text = f"{request.type} failed: {type(error).__name__}: {error}"
            self.error("SDK_ERROR", text, request.id, request.session_id, details_of(error))

    def _follow(self, request: Envelope) -> None:
        if request.type == "session.create":
            self._create(request)
        elif request.type == "session.kill":
            self._kill(request)
        elif request.type == "callback.response":
            self._respond(request)
        else:
            self._session_of(request).follow(request)

    def _session_of(self, request: Envelope) -> AnySession:
        session = self._sessions.get(request.session_id or "")
        if session is None or session.is_ending:
            text = f"there is no session {request.session_id}. Create one with session.create."
            raise Refused("SESSION_NOT_FOUND", text)
        return session

    def _create(self, request: Envelope) -> None:
        plan = plan_of(request, self.policy)
        session: AnySession
        try:
            session = RawSession(self, plan) if plan.raw else DocumentedSession(self, plan)
        except (UsageError, TypeError) as error:
            details = details_of(error)
            raise Refused("SESSION_CREATE_FAILED", str(error), details) from None
        with self._lock:
            if self._is_closing:
                raise Refused("SESSION_CREATE_FAILED", "the backend is being closed.")
            if len(self._sessions) >= self.policy.max_sessions:
                text = (
                    f"there are {len(self._sessions)} sessions already, the most that are allowed. "
                    "Kill one first, and wait for session.killed."
                )
                raise Refused("SESSION_CREATE_FAILED", text)
            self._sessions[session.id] = session
        session.lane.thread.start()
        session.lane.run(lambda: self._start(session, request))

    def _start(self, session: AnySession, request: Envelope) -> None:
        try:
            session.start(request.id)
        except Exception as error:
            if not isinstance(error, (ClaudeError, OSError)):
                logger.exception("a session could not be created")
            text, details = str(error), details_of(error)

            def tell() -> None:
                self.error("SESSION_CREATE_FAILED", text, request.id, details=details)

            if not self._end(session, then=tell):
                tell()  # it is being killed

    def _kill(self, request: Envelope) -> None:
        session = self._session_of(request)
        given = request.payload.get("timeout")
        try:
            seconds = CLOSING_TIME if given is None else check_seconds("timeout", given, zero=True)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        killed = Envelope("session.killed", {}, request.id, session.id)
        self._end(session, min(seconds, CLOSING_TIME), lambda: self.send(killed))

    def _end(
        self,
        session: AnySession,
        timeout: float = CLOSING_TIME,
        then: Callable[[], None] = lambda: None,
    ) -> bool:
        """Close a session on a thread of its own, then call *then*; False if it is being closed."""

        def close() -> None:
            try:
                session.close(timeout)
            except Exception:
                logger.exception("a session did not close well")
            with self._lock:
                del self._sessions[session.id]
            then()

        with self._lock:
            if session.is_ending:
                return False
            session.is_ending = True
            thread = thread_of(f"{session.name}-closing", close)
            thread.start()
            self._closings = [each for each in self._closings if each.is_alive()] + [thread]
        return True

    def _respond(self, request: Envelope) -> None:
        if request.id is None:
            raise request.invalid("id is missing. Put in that of the callback.request.")
        session = None if request.session_id is None else self._session_of(request)
        callback = self.callbacks.get(request.id)
        if callback is None or session not in (None, callback.session):
            text = f"there is no open callback {request.id}: it was answered, or its time is up."
            raise Refused("CALLBACK_NOT_FOUND", text)
        callback.session.answer(callback, request)


def serve(
    source: int = 0,
    sink: int = 1,
    *,
    cli: Any = None,
    allow_cwd: Sequence[str] = (),
    max_sessions: int = DEFAULT_MAX_SESSIONS,
    trust_client: bool = False,
    callback_timeout: float = DEFAULT_CALLBACK_TIMEOUT,
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
        handle_signals: End in peace at SIGTERM, SIGINT and SIGHUP; on the main thread only.

    """
    for folder in allow_cwd:
        if not os.path.isdir(folder):
            raise UsageError(
                f"there is no folder {folder!r} for the sessions. Create it, or name another."
            )
    folders = tuple(map(os.path.realpath, allow_cwd))
    policy = Policy(trust_client, folders, cli, max_sessions, callback_timeout)
    server = Server(source, sink, policy)
    if handle_signals:
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            if hasattr(signal, name):  # Windows has not all of them
                signal.signal(getattr(signal, name), lambda *_, name=name: server.stop(name))
    server.serve()
