"""
The front end of a bridge: clients whose CLIs run behind another process.

::

    with Bridge(["ssh", "host", "claude-sync", "bridge"]) as bridge:
        with bridge.client(cwd="/srv/project") as client:
            print(client.ask("What is in this folder?"))

A client of a bridge is a :class:`~claude_sync.Client` like any other: only its transport
is another one. All clients share the one process behind the bridge.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..client import LONGEST_CLOSE, Client, handlers_among
from ..errors import UsageError
from ..options import Options, options_from
from ..support.checks import check_seconds
from ..support.waiting import Deadline
from .backend import Backend, checked_command
from .documented import DocumentedTransport
from .session_settings import document_payload, raw_payload, shared_out
from .transport import RawTransport, SessionTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..client.keywords import ClientKeywords

__all__ = ["Bridge"]

# Of the time for closing, so much is kept for the backend.
BACKEND_TIME = 7.0
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
        if command is None:
            command = own_backend()
        self._command = checked_command(command)
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
        payload_of = raw_payload if self._extensions else document_payload
        payload_of(given)  # refused now rather than later
        own, elsewhere = shared_out(given)
        # It holds this bridge: one that the program forgets lives as long as its clients.
        kind = RawTransport if self._extensions else DocumentedTransport
        make: Callable[[], SessionTransport] = functools.partial(kind, self._started, elsewhere)
        client = Client(own.replace(transport=make), **handlers)
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
        return "open" if self._backend.error() is None else "crashed"

    @property
    def pid(self) -> int | None:
        """The process id of the command."""
        return self._backend.pid if self._backend is not None else None

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
                backend.start()
                self._backend = backend
                self._finalizer = weakref.finalize(self, close_forgotten, backend, self.name)
                self._finalizer.atexit = False  # the end of the program is the end of its input
            return self._backend


def own_backend() -> list[str]:
    """The words of a backend of this library; UsageError where they would start this program."""
    words = [sys.executable, "-m", "claude_sync.bridge"]
    # A program in one file is its own sys.executable. Its child has these words as its own.
    if getattr(sys, "frozen", False) or sys.argv[1:3] == words[1:]:
        raise UsageError(
            "Bridge() would start this program again, which is packed into one file and has no "
            "Python of its own. Name a backend: Bridge(['claude-sync', 'bridge'])."
        )
    return words


def close_forgotten(backend: Backend, name: str) -> None:
    """A bridge was dropped without being closed."""
    warnings.warn(f"the bridge {name} was not closed", ResourceWarning, stacklevel=2)
    backend.close(BACKEND_TIME)
