"""
The process behind a bridge: one pair of pipes for all sessions, and who gets what.

::

    sessions -> [backend] -> stdin of the process
    sessions <- [backend] <- its stdout; what it tells people is kept for errors

Decided here and nowhere else:

* A line belongs to the session that it names; where it names none, to the one that asked,
  which the id tells. What belongs to nobody goes to the log.
* Whoever writes never waits, and whoever reads waits for no session: what a slow one has not
  read yet is kept for it.
* When the process ends, all sessions end, at once, each with the reason.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from logging import DEBUG
from typing import TYPE_CHECKING, Any

from ..engine.launch.command import Launch
from ..engine.launch.process import ProcessTransport
from ..errors import CliDidNotStart, CliExited, CliNotFound, UsageError, describe_exit
from ..log import logger, shortened
from ..protocol.codec import decode
from ..protocol.lines import LineSplitter
from ..support.redact import redact_lines, redact_text
from .envelope import LINE_BEGINS, PAYLOAD_BEGINS, is_piece, raw_line
from .threads import Sender, thread_of

if TYPE_CHECKING:
    from .transport import SessionTransport

__all__ = ["Backend", "checked_command"]

STDERR_LINES_KEPT = 50
LONGEST_STDERR_LINE = 2000
# How long a process that has closed its output may take to exit, and to say why.
EXIT_PATIENCE = 1.0
# The whole ladder from polite to firm, for a process whose output has ended.
CLEARING_TIME = 7.0
JOINING_TIME = 2.0


class Backend:
    """One life of a backend. Any thread may call any method."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        name: str = "bridge",
    ) -> None:
        self._command = tuple(command)
        self._env = env
        self._cwd = cwd
        self._name = name
        self._process = ProcessTransport()
        self._sender: Sender | None = None
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        # Guards the four below.
        self._lock = threading.Lock()
        # By what the ids of their envelopes begin with, and by their names.
        self._transports: dict[str, SessionTransport] = {}
        self._sessions: dict[str, SessionTransport] = {}
        self._error: tuple[str, int | None] | None = None
        self._count = 0
        self._is_closing = False
        self._shutting_down = threading.Lock()  # held by whoever ends the process
        self._shut_down = False
        self._abandoned = False
        self._reader = thread_of(f"{name}-reader", self._read)
        self._errors = thread_of(f"{name}-stderr", self._read_errors)

    # Its life.

    def start(self) -> None:
        """Start the process; its own way to fail is told when a session is made."""
        environment = {**os.environ, **(self._env or {})}
        try:
            self._process.start(Launch(self._command, environment, self._cwd, {}))
        except CliNotFound as error:
            raise CliDidNotStart(
                f"the backend of the bridge was not found: {', '.join(error.searched)}",
                argv=self.argv,
            ) from None
        # One that does not listen is ended: what is said to it would be lost.
        self._sender = Sender(self._process, self._name, self._process.kill)
        self._errors.start()
        self._reader.start()

    def close(self, timeout: float) -> None:
        """End the process within *timeout* seconds: its input first, which ends its CLIs."""
        self._is_closing = True
        self._shut(max(0.1, timeout - JOINING_TIME))
        self._join(JOINING_TIME)

    def abandon(self) -> None:
        """In a forked child: close our copies of the pipes, once. Takes no lock."""
        if not self._abandoned:
            self._abandoned = True
            self._process.abandon()

    @property
    def pid(self) -> int | None:
        """The process id."""
        return self._process.pid

    @property
    def argv(self) -> Sequence[str]:
        """The command, secrets removed."""
        return self._process.argv or self._command

    def error(self) -> CliExited | None:
        """Why there is no backend any more; None while there is."""
        with self._lock:
            told = self._error
        if told is None:
            return None
        return CliExited(told[0], told[1], self.last_words(), self.argv)

    def last_words(self) -> list[str]:
        """What it told people last, secrets removed."""
        said = list(self._stderr)
        return redact_lines(said) if said else []

    # Sessions.

    def join(self, transport: SessionTransport) -> str:
        """A session is to be made: what the ids of its envelopes begin with."""
        with self._lock:
            self._count += 1
            prefix = f"{self._count}-"
            if self._error is None:
                self._transports[prefix] = transport
        error = self.error()
        if error is not None:
            raise error
        return prefix

    def name_session(self, session_id: str, transport: SessionTransport) -> None:
        """From here on, what names *session_id* goes to *transport*."""
        with self._lock:
            self._sessions[session_id] = transport

    def leave(self, transport: SessionTransport) -> None:
        """Nothing is wanted of a session any more."""
        with self._lock:
            for table in (self._transports, self._sessions):
                for name in [name for name, each in table.items() if each is transport]:
                    del table[name]

    def send(self, line: bytes) -> None:
        """Write a line, without waiting."""
        if logger.isEnabledFor(DEBUG) and not line.startswith(LINE_BEGINS):
            logger.debug("> %s", shortened(line))
        if self._sender is not None:
            self._sender.send(line)

    # What it says.

    def _read(self) -> None:
        splitter = LineSplitter()
        chunk = b"..."
        try:
            while chunk:
                chunk = self._process.read()
                lines = splitter.feed(chunk) if chunk else splitter.end()
                for prefix, group in itertools.groupby(lines, prefix_of):
                    self._hear_group(prefix, list(group))
        except Exception:
            logger.exception("reading from the backend of the bridge failed")
        finally:
            self._end()

    def _hear_group(self, prefix: bytes, lines: list[bytes]) -> None:
        """Lines with the same prefix: of the CLI of one raw session, if there is one."""
        raw = raw_line(prefix)
        if raw is not None:
            with self._lock:
                transport = self._sessions.get(raw[0])
            if transport is not None:
                transport.receive_lines([line[PAYLOAD_BEGINS:-1] for line in lines])
            return
        for line in lines:
            try:
                self._hear(line)
            except Exception:
                # A line that nobody foresaw must not end the conversations of others.
                logger.exception("a line of the backend could not be handled")

    def _hear(self, line: bytes) -> None:
        envelope = decode(line)
        if envelope is None:
            # A banner of a shell on the way, perhaps; of one that never starts it is all.
            self._hear_error(line)
            return
        payload = envelope.get("payload")
        if logger.isEnabledFor(DEBUG) and not is_piece(envelope.get("type"), payload):
            logger.debug("< %s", shortened(line))
        transport = self._addressee(envelope)
        if transport is not None:
            transport.receive(envelope)
        elif envelope.get("type") == "error":
            logger.warning("the backend of the bridge says: %s", redact_text(str(payload)[:1000]))

    def _addressee(self, envelope: Mapping[str, Any]) -> SessionTransport | None:
        prefix, dash, _ = str(envelope.get("id")).partition("-")
        with self._lock:
            named = self._sessions.get(str(envelope.get("session_id")))
            return named or self._transports.get(prefix + dash)

    def _read_errors(self) -> None:
        splitter = LineSplitter()
        chunk = b"..."
        while chunk:
            chunk = self._process.read_error()
            for line in splitter.feed(chunk) if chunk else splitter.end():
                self._hear_error(line)

    def _hear_error(self, line: bytes) -> None:
        text = line[:LONGEST_STDERR_LINE].decode("utf-8", "replace")
        self._stderr.append(text)
        if logger.isEnabledFor(DEBUG):
            # In the light of the lines before it: a key may go over several.
            logger.debug("< bridge: %s", shortened(self.last_words()[-1]))

    # Its end.

    def _end(self) -> None:
        """Its output has ended. On the thread that reads."""
        exit_code = self._process.wait(EXIT_PATIENCE)
        self._errors.join(EXIT_PATIENCE)
        is_closing = self._is_closing
        reason = "the bridge was closed" if is_closing else "the backend of the bridge has ended"
        with self._lock:
            self._error = (reason, exit_code)
            transports = list(self._transports.values())
            self._transports.clear()
            self._sessions.clear()
        if exit_code is not None:
            reason += f" ({describe_exit(exit_code)})"
        if transports and not is_closing:
            logger.warning("%s", reason)
        last_words = [] if is_closing else self.last_words()
        for transport in transports:
            transport.backend_ended(reason, last_words, exit_code)
        if self._sender is not None:
            self._sender.stop()
        self._shut(CLEARING_TIME)
        self._join(EXIT_PATIENCE)
        self._process.free()

    def _join(self, timeout: float) -> None:
        writer = [] if self._sender is None else [self._sender.thread]
        for thread in (self._reader, self._errors, *writer):
            if thread.ident and thread is not threading.current_thread():
                thread.join(timeout)

    def _shut(self, timeout: float) -> None:
        """End the process. The second caller waits for the first, or ends it by force."""
        if not self._shutting_down.acquire(timeout=timeout):
            self._process.kill()
            return
        try:
            if not self._shut_down:
                self._shut_down = True
                with contextlib.suppress(OSError):
                    self._process.close(timeout)
        finally:
            self._shutting_down.release()


def prefix_of(line: bytes) -> bytes:
    """What lines of one raw session have in common; empty for all other lines."""
    return line[:PAYLOAD_BEGINS] if line.startswith(LINE_BEGINS) else b""


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
