"""
The HTTP half of the loopback model: connections, threads, waits.

::

    [listener] -> [one thread a connection] -> answer(method, path, headers, body) -> Message

Decided here and nowhere else:

* one request a connection: a reply that ends ends its connection, so no thread
  waits for a second request that never comes;
* every wait (a delay, a gate) also ends when the client hangs up and when the
  server closes; a client that hangs up is normal and never reported;
* :meth:`LoopbackServer.stop` returns when every thread has ended.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .model_replies import Frame, Message

logger = logging.getLogger("claude_sync")

# How late a hang-up may be noticed while something is waited for.
SLICE = 0.02
# How long closing may take because nobody knocks any more.
LISTEN_SLICE = 0.05
# Only code of the user (a matcher, a reply function) can keep a thread this long.
JOIN_PATIENCE = 10.0

# What is sent back: a reply to a request for a message, or the JSON of another.
AnswerFunction = Callable[[str, str, Mapping[str, str], bytes], "Message | bytes"]


class HungUp(Exception):
    """The client is gone, or the server closes; the reply has no reader any more."""


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

    def wait(self, connection: socket.socket, frame: float | threading.Event) -> None:
        """Wait for seconds or an event; HungUp when the client or the server ends first."""
        event = frame if isinstance(frame, threading.Event) else threading.Event()
        seconds = frame if isinstance(frame, (int, float)) else float("inf")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not event.wait(min(SLICE, left)):
            if has_hung_up(connection):  # or stop() has ended it
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
    """One connection: read the request, ask for the answer, send it."""

    protocol_version = "HTTP/1.1"
    server_version = "loopback"
    sys_version = ""
    disable_nagle_algorithm = True  # each piece of a stream is to arrive at once
    server: LoopbackServer

    def do_POST(self) -> None:
        """Take the request, say the answer, and close the connection."""
        self.close_connection = True
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            raise HungUp
        headers = dict(self.headers.items())
        answer = self.server.answer(self.command, self.path, headers, body)
        if isinstance(answer, bytes):
            self._begin(200, {"Content-Length": len(answer)})
            self._write(answer)
            return
        reply = answer.reply
        self._say(reply.delay)
        if reply.gate is not None:
            self._say(reply.gate)
        added = reply.headers or {}
        if answer.request.stream and reply.status == 200:
            self._begin(200, {"Transfer-Encoding": "chunked", **added}, "text/event-stream")
            for frame in answer.stream():
                self._say(frame)
            if reply.ending != "cut":
                self._write(b"0\r\n\r\n")
            return
        data = answer.whole()
        is_whole = reply.status != 200 or reply.ending == "complete"
        sent = data if is_whole else data[: len(data) // 2]
        # More is promised than comes.
        promised = len(data) if reply.ending == "cut" else len(sent)
        self._begin(reply.status, {"Content-Length": promised, **added})
        self._write(sent)

    do_GET = do_HEAD = do_POST  # noqa: N815

    def _begin(
        self, status: int, headers: Mapping[str, object], kind: str = "application/json"
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers, "Connection": "close"}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _say(self, frame: Frame) -> None:
        """Send a piece of a stream, or wait."""
        if isinstance(frame, bytes):
            self._write(b"%x\r\n%s\r\n" % (len(frame), frame))
        else:
            self.server.wait(self.connection, frame)

    def _write(self, data: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: requests are kept, not printed."""
