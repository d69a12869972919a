"""
The process behind a bridge: one pair of pipes for all sessions, and who gets what.

::

    sessions -> [backend] -> stdin of the process
    sessions <- [backend] <- its stdout; what it tells people is kept for errors

Decided here and nowhere else:

* A line belongs to the session that it names; where it names none, to the one that asked,
  which the id tells. What belongs to nobody goes to the log.
* Whoever writes never waits: what the pipe does not take is left to a thread. Whoever
  reads waits for no session: what a slow one has not read yet is kept for it.
* When the process ends, all sessions end, at once, each with the reason.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from logging import DEBUG
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Mapping, Optional, Sequence, Tuple

from ..engine.launch.command import Launch
from ..engine.launch.process import ProcessTransport
from ..errors import CliDidNotStart, CliExited, CliNotFound, UsageError, describe_exit
from ..log import logger, shortened
from ..protocol.codec import decode
from ..runtime.listening import Listener
from ..runtime.outgoing import Outgoing
from ..support.redact import redact_lines
from .envelope import is_piece

if TYPE_CHECKING:
    from .transport import SessionTransport

__all__ = ["Backend"]

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
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        name: str = "bridge",
    ) -> None:
        self._command = tuple(command)
        self._env = env
        self._cwd = cwd
        self._name = name
        self._process = ProcessTransport()
        self._outgoing = Outgoing(self._process, name, self._no_longer_reads)
        self._stderr: Deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        # Guards the three below.
        self._lock = threading.Lock()
        self._sessions: Dict[str, SessionTransport] = {}
        self._transports: Dict[str, SessionTransport] = {}
        self._error: Optional[Tuple[str, Optional[int]]] = None
        self._count = 0
        self._is_closing = False
        self._shutting_down = threading.Lock()  # held by whoever ends the process
        self._shut_down = False
        self._abandoned = False
        self._reader = Listener(f"{name}-reader", self._process.read, self._hear, self._end)
        self._errors = Listener(f"{name}-stderr", self._process.read_error, self._hear_error)

    # Its life.

    def start(self) -> None:
        """Start the process; its own way to fail is told when a session is made."""
        environment = {**os.environ, **(self._env or {})}
        launch = Launch(self._command, environment, self._cwd, {})
        try:
            self._process.start(launch)
        except CliNotFound as error:
            raise CliDidNotStart(
                f"the backend of the bridge was not found: {', '.join(error.searched)}",
                argv=self.argv,
            ) from None
        self._errors.start()
        self._reader.start()

    def close(self, timeout: float) -> None:
        """End the process within *timeout* seconds: its input first, which ends its CLIs."""
        self._is_closing = True
        self._shut(max(0.1, timeout - JOINING_TIME))
        for thread in (self._reader, self._errors, self._outgoing.thread):
            if thread is not None and thread.ident and thread is not threading.current_thread():
                thread.join(JOINING_TIME)

    def abandon(self) -> None:
        """In a forked child: close our copies of the pipes, once. Takes no lock."""
        if not self._abandoned:
            self._abandoned = True
            self._process.abandon()

    @property
    def pid(self) -> Optional[int]:
        """The process id."""
        return self._process.pid

    @property
    def argv(self) -> Sequence[str]:
        """The command, secrets removed."""
        return self._process.argv or self._command

    def error(self) -> Optional[CliExited]:
        """Why there is no backend any more; None while there is."""
        with self._lock:
            told = self._error
        if told is None:
            return None
        return CliExited(told[0], told[1], self.last_words(), self.argv)

    def last_words(self) -> List[str]:
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

    def leave(self, prefix: str, session_id: Optional[str]) -> None:
        """Nothing is wanted of a session any more."""
        with self._lock:
            self._transports.pop(prefix, None)
            self._sessions.pop(session_id or "", None)

    def send(self, line: bytes) -> None:
        """Write a line, without waiting."""
        if logger.isEnabledFor(DEBUG):
            logger.debug("> %s", shortened(line))
        self._outgoing.write(line)

    # What it says.

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
            logger.warning("the backend of the bridge says: %s", shortened(str(payload)))

    def _addressee(self, envelope: Dict[str, Any]) -> Optional[SessionTransport]:
        session_id, identity = envelope.get("session_id"), envelope.get("id")
        with self._lock:
            transport = self._sessions.get(session_id) if isinstance(session_id, str) else None
            if transport is None and isinstance(identity, str):
                prefix, dash, _ = identity.partition("-")
                transport = self._transports.get(prefix + dash)
        return transport

    def _hear_error(self, line: bytes) -> None:
        text = line[:LONGEST_STDERR_LINE].decode("utf-8", "replace")
        self._stderr.append(text)
        if logger.isEnabledFor(DEBUG):
            # In the light of the lines before it: a key may go over several.
            logger.debug("< bridge: %s", shortened(self.last_words()[-1]))

    def _no_longer_reads(self) -> None:
        """It does not listen: what is said would be lost, so it is ended. Takes no lock."""
        self._process.kill()

    # Its end.

    def _end(self) -> None:
        """Its output has ended. On the thread that reads."""
        exit_code = self._process.wait(EXIT_PATIENCE)
        self._errors.join(EXIT_PATIENCE)
        if self._is_closing:
            reason = "the bridge was closed"
        else:
            reason = "the backend of the bridge has ended"
        with self._lock:
            self._error = (reason, exit_code)
            transports = list(self._transports.values())
            self._transports.clear()
            self._sessions.clear()
        if exit_code is not None:
            reason += f" ({describe_exit(exit_code)})"
        if not self._is_closing and transports:
            logger.warning("%s", reason)
        last_words = [] if self._is_closing else self.last_words()
        for transport in transports:
            transport.backend_ended(reason, last_words, exit_code)
        self._outgoing.stop()
        self._shut(CLEARING_TIME)
        for thread in (self._errors, self._outgoing.thread):
            if thread is not None:
                thread.join(EXIT_PATIENCE)
        self._process.free()

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


def checked_command(command: Any) -> Tuple[str, ...]:
    """The words of a command; UsageError if they are none."""
    if isinstance(command, (list, tuple)) and command:
        words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in command]
        if all(isinstance(word, str) and word for word in words):
            return tuple(words)
    raise UsageError(
        "a bridge takes the words of the command that starts the backend, "
        f"['ssh', 'host', 'claude-sync', 'bridge']; not {command!r}."
    )
