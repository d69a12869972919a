"""
The HTTP half of the loopback model: connections, threads, waits.

::

    [listener] -> [one thread a connection] -> answer(method, path, headers, body) -> Response

Decided here and nowhere else:

* one request a connection: a reply that ends ends its connection, so no thread
  waits for a second request that never comes;
* every wait (a delay, a gate) also ends when the client hangs up and when the
  server closes; a client that hangs up is normal and never reported;
* :meth:`LoopbackServer.stop` returns when every thread has ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .model_wire import Frame

logger = logging.getLogger("claude_sync")

# How late a hang-up may be noticed while something is waited for.
SLICE = 0.02
# How long closing may take because nobody knocks any more.
LISTEN_SLICE = 0.05
# Only code of the user (a matcher, a reply function) can keep a thread this long.
JOIN_PATIENCE = 10.0


class HungUp(Exception):
    """The client is gone, or the server closes; the reply has no reader any more."""


@dataclasses.dataclass(frozen=True)
class Response:
    """
    What is sent back, when the waits before its first bytes are over.

    Attributes:
        status: The HTTP status.
        frames: The body, with waits in it.
        headers: HTTP headers to add.
        length: Of the whole body, which is JSON; None: server-sent events.
        broken: The connection drops after the last frame, before the body's end.

    """

    status: int
    frames: Iterable[Frame]
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    length: int | None = None
    broken: bool = False


AnswerFunction = Callable[[str, str, Mapping[str, str], bytes], Response]


class LoopbackServer(ThreadingHTTPServer):
    """
    Listen on a free port of 127.0.0.1 from construction until :meth:`stop`.

    ``_lock`` guards ``_connections``, and is held while a connection is closed or shut
    down, so that neither happens to a number that already belongs to another socket.
    """

    request_queue_size = 128
    # Only code of the user (a matcher, a reply function) can keep a thread for long, and the
    # end of the program must not wait for it.
    daemon_threads = True

    def __init__(self, name: str, answer: AnswerFunction) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.port = int(self.server_address[1])
        self.stopped = threading.Event()
        self._name = name
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._listener = threading.Thread(
            target=self.serve_forever, args=(LISTEN_SLICE,), name=f"{name}-listen", daemon=True
        )
        self._listener.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, in a thread of its own."""
        thread = threading.current_thread()
        thread.name = f"{self._name}-connection"
        with self._lock:
            self._connections[thread] = request
            if self.stopped.is_set():
                hang_up(request)
        super().process_request_thread(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, which nobody else ends then."""
        with self._lock:
            self._connections.pop(threading.current_thread(), None)
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Say nothing of a client that went away: it was interrupted, or has ended."""
        if not isinstance(sys.exc_info()[1], (HungUp, OSError)):
            logger.exception("the loopback model could not answer")

    def stop(self) -> None:
        """Stop listening, drop every connection, end every thread."""
        if self.stopped.is_set():
            return
        self.stopped.set()
        self.shutdown()
        self._listener.join()
        self.server_close()
        with self._lock:
            threads = set(self._connections) - {threading.current_thread()}  # a rule may close it
            for connection in self._connections.values():
                hang_up(connection)
        deadline = time.monotonic() + JOIN_PATIENCE
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                logger.warning("%s: a matcher or a reply function of yours still runs", self._name)

    def wait(self, connection: socket.socket, frame: Frame) -> None:
        """Wait for seconds or an event; HungUp when the client or the server ends first."""
        event = frame if isinstance(frame, threading.Event) else threading.Event()
        seconds = frame if isinstance(frame, (int, float)) else float("inf")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not event.wait(min(SLICE, left)):
            if self.stopped.is_set() or has_hung_up(connection):
                raise HungUp


def hang_up(connection: socket.socket) -> None:
    """End a connection whose thread may be reading from it or writing to it."""
    with contextlib.suppress(OSError):  # the other side may have been faster
        connection.shutdown(socket.SHUT_RDWR)


def has_hung_up(connection: socket.socket) -> bool:
    """Whether the other side is gone."""
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


class Handler(BaseHTTPRequestHandler):
    """One connection: read the request, ask for the response, send it."""

    protocol_version = "HTTP/1.1"
    server_version = "loopback"
    sys_version = ""
    disable_nagle_algorithm = True  # each piece of a stream is to arrive at once
    server: LoopbackServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            raise HungUp
        self._answer(body)

    def do_GET(self) -> None:
        self._answer(b"")

    def do_HEAD(self) -> None:
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.close_connection = True
        response = self.server.answer(self.command, self.path, dict(self.headers.items()), body)
        streamed = response.length is None
        has_begun = False
        for frame in (*response.frames, b"") if not streamed else response.frames:
            if not isinstance(frame, bytes):
                self.server.wait(self.connection, frame)
                continue
            if not has_begun:
                has_begun = True
                self._begin(response)
            if self.command != "HEAD":
                self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame) if streamed else frame)
        if streamed and not response.broken:
            self.wfile.write(b"0\r\n\r\n")

    def _begin(self, response: Response) -> None:
        self.send_response(response.status)
        if response.length is None:
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(response.length))
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: requests are kept, not printed."""
