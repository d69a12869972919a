"""
The front end of a bridge: clients whose CLIs run behind another process.

::

    with Bridge(["ssh", "host", "claude-sync", "bridge"]) as bridge:
        with bridge.client(cwd="/srv/project") as client:
            print(client.ask("What is in this folder?"))

    sessions -> [backend] -> stdin of the process
    sessions <- [backend] <- its stdout; what it tells people is kept for errors

A client of a bridge is a :class:`~claude_sync.Client` like any other: only its transport
is another one. All clients share the one process behind the bridge:

* A line belongs to the session that it names; where it names none, to the one that asked,
  which the id tells. What belongs to nobody goes to the log.
* Whoever writes never waits, and whoever reads waits for no session: what a slow one has not
  read yet is kept for it.
* When the process ends, all sessions end, at once, each with the reason.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from logging import DEBUG
from typing import TYPE_CHECKING, Any

from ..client import LONGEST_CLOSE, Client, handlers_among
from ..engine.launch.command import Launch
from ..engine.launch.process import ProcessTransport
from ..errors import CliDidNotStart, CliExited, CliNotFound, UsageError, describe_exit
from ..log import logger, shortened
from ..options import Options, options_from
from ..protocol.codec import LineSplitter, decode
from ..support.checks import check_seconds
from ..support.redact import redact_lines, redact_text
from ..support.waiting import Deadline
from .envelopes import LINE_BEGINS, PAYLOAD_BEGINS, Envelope, log_envelope, raw_line
from .threads import Child
from .transport import DocumentedTransport, SessionTransport, document_payload, raw_payload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client.keywords import ClientKeywords

__all__ = ["Bridge"]

# Of the time for closing, so much is kept for the backend.
BACKEND_TIME = 7.0
STDERR_LINES_KEPT = 50
LONGEST_STDERR_LINE = 2000
NUMBERS = itertools.count(1)


class Bridge:
    """
    A backend that serves sessions on its stdin and stdout, and the clients that use it.

    ``with`` starts the backend, and so does the first client that is opened; ``close()``
    or the end of the block closes the clients and then the backend. Any thread may call
    any method.

    Args:
        command: The words that start the backend; by default the one of this library, on
            this machine, as this user.
        env: Variables added to those of the program, for the command.
        cwd: The folder in which the command runs.
        extensions: False is for a backend of another make. Nothing is said to it for which the
            document of the protocol has no words, and what would need them is refused.
        name: For threads and the log.

    """

    def __init__(
        self,
        command: Sequence[Any] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Any = None,
        extensions: bool = True,
        name: str | None = None,
    ) -> None:
        self._command = own_backend() if command is None else checked_command(command)
        self._env = None if env is None else dict(env)
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._extensions = extensions
        self.name = name or f"bridge-{next(NUMBERS)}"
        self._lock = threading.Lock()  # guards the two below; held while a process is started
        self._backend: Backend | None = None
        self._closed = False
        self._process_id = os.getpid()
        self._clients: weakref.WeakSet[Client] = weakref.WeakSet()
        self._finalizer: weakref.finalize | None = None  # type: ignore[type-arg]

    def __enter__(self) -> Bridge:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Bridge {self.name} {self.state}>"

    def start(self) -> None:
        """Start the backend, unless it runs."""
        self._started()

    def client(self, options: Options | None = None, **overrides: Unpack[ClientKeywords]) -> Client:
        """
        A client whose CLI runs behind the bridge; as ``Client(options, **overrides)``.

        Paths (``cwd``, ``add_dirs``, ``cli``, ...) are those of the machine on which the
        backend runs; so is ``client.pid``, where the backend tells it. What a backend does
        not allow, it refuses when the client starts.

        Raises:
            UsageError: A setting is impossible, or has no word on this bridge.

        """
        handlers = handlers_among(overrides)
        given = options_from(options, overrides)
        if given.transport is not None:
            raise UsageError(
                "the transport of a bridge's client is the bridge. Leave transport= out, or "
                "make a Client of your own."
            )
        kind = SessionTransport if self._extensions else DocumentedTransport
        # Refused now rather than later.
        (raw_payload if self._extensions else document_payload)(given)
        # It holds this bridge: one that the program forgets lives as long as its clients.
        make: Callable[[], SessionTransport] = functools.partial(kind, self._started)
        client = Client(given.replace(transport=make), **handlers)
        self._clients.add(client)
        return client

    def close(self, timeout: float = 15.0) -> None:
        """
        Close the clients, then the backend, within *timeout* seconds. Twice is harmless.

        The backend ends because its input does; one that does not is ended by force.
        """
        timeout = check_seconds("timeout", timeout, zero=True)
        if self._process_id != os.getpid():
            return  # a copy in a forked child: the parent's to close
        deadline = Deadline(min(timeout, LONGEST_CLOSE))
        with self._lock:
            self._closed = True
            backend = self._backend
        clients: list[Client] = list(self._clients)
        for client in clients:
            client.close(wait=False)  # all at once
        left = deadline.left() or 0.0
        for client in clients:
            client.close(timeout=max(0.0, min(left, (deadline.left() or 0.0) - BACKEND_TIME)))
        if backend is not None:
            backend.close(deadline.left() or 0.0)
        if self._finalizer is not None:
            self._finalizer.detach()

    @property
    def state(self) -> str:
        """``new``, ``open``, ``crashed`` or ``closed``."""
        if self._closed:
            return "closed"
        if self._backend is None:
            return "new"
        return "open" if self._backend.error is None else "crashed"

    @property
    def pid(self) -> int | None:
        """The process id of the command."""
        return self._backend.process.pid if self._backend is not None else None

    def _started(self) -> Backend:
        """The backend, which is started once."""
        if self._process_id != os.getpid():
            raise UsageError(
                "this bridge belongs to the process that made it and cannot be used after "
                "fork(). Make a new Bridge in the child."
            )
        with self._lock:
            if self._closed:
                raise UsageError("the bridge is closed. Make a new Bridge.")
            if self._backend is None:
                backend = Backend(self._command, self._env, self._cwd, self.name)
                self._backend = backend
                self._finalizer = weakref.finalize(self, close_forgotten, backend, self.name)
                self._finalizer.atexit = False  # the end of the program is the end of its input
            return self._backend


class Backend:
    """
    One life of a backend, which is started; any thread may call any method.

    Attributes:
        process: It.

    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        name: str = "bridge",
    ) -> None:
        self._splitter, self._error_splitter = LineSplitter(), LineSplitter()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        # Guards what is below.
        self._lock = threading.Lock()
        # The reason, the exit code and the last words.
        self._ended: tuple[str, int | None, list[str]] | None = None
        # Sessions, by their names and by what the ids of their envelopes begin with.
        self._routes: dict[str, SessionTransport] = {}
        self._count = 0
        self._is_closing = False
        self.process = ProcessTransport()
        launch = Launch(tuple(command), {**os.environ, **(env or {})}, cwd, {})
        told = (self._hear_chunk, self._hear_errors, self._end)
        try:
            self._child = Child(self.process, launch, name, *told)
        except CliNotFound as error:
            raise CliDidNotStart(
                f"the backend of the bridge was not found: {', '.join(error.searched)}",
                argv=self.process.argv,
            ) from None
        self._child.begin()

    def close(self, timeout: float) -> None:
        """End the process within *timeout* seconds: its input first, which ends its CLIs."""
        self._is_closing = True
        self._child.close(max(0.1, timeout))

    @property
    def error(self) -> CliExited | None:
        """Why there is no backend any more; None while there is."""
        return None if self._ended is None else CliExited(*self._ended, self.process.argv)

    # Sessions.

    def join(self, transport: SessionTransport) -> str:
        """A session is to be made: what the ids of its envelopes begin with."""
        with self._lock:
            error = self.error
            if error is not None:
                raise error
            self._count += 1
            prefix = f"{self._count}-"
            self._routes[prefix] = transport
        return prefix

    def name_session(self, session_id: str, transport: SessionTransport) -> None:
        """From here on, what names *session_id* goes to *transport*."""
        with self._lock:
            self._routes[session_id] = transport

    def leave(self, transport: SessionTransport) -> None:
        """Nothing is wanted of a session any more."""
        with self._lock:
            self._routes = {
                name: each for name, each in self._routes.items() if each is not transport
            }

    def send(self, lines: bytes) -> None:
        """Write lines, without waiting."""
        log_envelope(">", lines)
        self._child.send(lines)

    # What it says.

    def _hear_chunk(self, chunk: bytes) -> None:
        self._hear_lines(self._splitter.feed(chunk))

    def _hear_lines(self, lines: list[bytes]) -> None:
        for prefix, group in itertools.groupby(lines, prefix_of):
            try:
                self._hear_group(prefix, list(group))
            except Exception:
                # A line that nobody foresaw must not end the conversations of others.
                logger.exception("a line of the backend could not be handled")

    def _hear_group(self, prefix: bytes, lines: list[bytes]) -> None:
        """Lines with the same prefix: of the CLI of one raw session, if there is one."""
        raw = raw_line(prefix)
        if raw is None:
            for line in lines:
                self._hear(line)
            return
        with self._lock:
            transport = self._routes.get(raw[0])
        if transport is not None:
            transport.receive_lines([line[PAYLOAD_BEGINS:-1] for line in lines])

    def _hear(self, line: bytes) -> None:
        envelope = decode(line)
        if envelope is None:
            # A banner of a shell on the way, perhaps; of one that never starts it is all.
            self._hear_error(line)
            return
        log_envelope("<", line)
        kind, session_id = envelope.get("type"), envelope.get("session_id")
        prefix, dash, _ = str(envelope.get("id")).partition("-")
        with self._lock:
            named = self._routes.get(str(session_id))
            transport = named or self._routes.get(prefix + dash)
        if transport is not None:
            transport.receive(envelope)
        elif kind == "session.created":
            # It was no longer wanted before it was there.
            self.send(Envelope("session.kill", {}, str(envelope.get("id")), str(session_id)).line)
        elif kind == "error":
            text = redact_text(str(envelope.get("payload"))[:LONGEST_STDERR_LINE])
            logger.warning("the backend of the bridge says: %s", text)

    def _hear_errors(self, chunk: bytes) -> None:
        splitter = self._error_splitter
        for line in splitter.feed(chunk) if chunk else splitter.end():
            self._hear_error(line)

    def _hear_error(self, line: bytes) -> None:
        self._stderr.append(line[:LONGEST_STDERR_LINE].decode("utf-8", "replace"))
        if logger.isEnabledFor(DEBUG):
            # In the light of the lines before it: a key may go over several.
            logger.debug("< bridge: %s", shortened(self._last_words()[-1]))

    def _last_words(self) -> list[str]:
        """What it told people last, secrets removed."""
        return redact_lines(list(self._stderr)) if self._stderr else []

    def _end(self, exit_code: int | None) -> None:
        """Its output has ended."""
        self._hear_lines(self._splitter.end())
        is_closing, last_words = self._is_closing, self._last_words()
        reason = "the bridge was closed" if is_closing else "the backend of the bridge has ended"
        with self._lock:
            self._ended = (reason, exit_code, last_words)
            transports = set(self._routes.values())
            self._routes = {}
        if exit_code is not None:
            reason += f" ({describe_exit(exit_code)})"
        if transports and not is_closing:
            logger.warning("%s", reason)
        told = [reason] if is_closing else [*last_words, reason]
        for transport in transports:
            transport.backend_ended(told, exit_code)
        # One whose output has ended is of no use.
        self.process.kill()


def prefix_of(line: bytes) -> bytes:
    """What lines of one raw session have in common; empty for all other lines."""
    return line[:PAYLOAD_BEGINS] if line.startswith(LINE_BEGINS) else b""


def own_backend() -> tuple[str, ...]:
    """The words of a backend of this library; UsageError where they would start this program."""
    words = (sys.executable, "-m", "claude_sync.bridge")
    # A program in one file is its own sys.executable. Its child has these words as its own.
    if getattr(sys, "frozen", False) or tuple(sys.argv[1:3]) == words[1:]:
        raise UsageError(
            "Bridge() would start this program again, which is packed into one file and has no "
            "Python of its own. Name a backend: Bridge(['claude-sync', 'bridge'])."
        )
    return words


def checked_command(command: Any) -> tuple[str, ...]:
    """The words of a command; UsageError if they are none."""
    if isinstance(command, (list, tuple)) and command:
        words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in command]
        if all(isinstance(word, str) and word for word in words):
            return tuple(words)
    raise UsageError(
        "a bridge takes the words of the command that starts the backend, "
        f"['ssh', 'host', 'claude-sync', 'bridge']; not {command!r}."
    )


def close_forgotten(backend: Backend, name: str) -> None:
    """A bridge was dropped without being closed."""
    warnings.warn(f"the bridge {name} was not closed", ResourceWarning, stacklevel=2)
    backend.close(BACKEND_TIME)
