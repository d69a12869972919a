"""
A raw session of the backend: a CLI whose lines go both ways as they are.

::

    front end -> server -> [filter] -> CLI
    front end <- output <- [pump] <- CLI

Decided here and nowhere else:

* What the CLI says is not parsed: a chunk of its lines becomes a chunk of envelopes.
* The front end says how many bytes it has room for. While it has none, this CLI is not read,
  and the others are.
* The session is over when the CLI has ended: ``session.ended`` comes after all that it said.
"""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING, Any

from ..engine.launch.command import Launch, build_launch
from ..engine.launch.process import ProcessTransport
from ..engine.launch.transport import Transport
from ..errors import UsageError
from ..options import Options
from ..protocol.codec import decode, encode
from ..protocol.lines import LineSplitter
from .envelope import Envelope, line_prefix
from .filter import Filter
from .threads import Sender, thread_of

if TYPE_CHECKING:
    from .options import Plan
    from .server import Server

__all__ = ["RawSession"]

# How long the rest of what a CLI said may take after its end.
LAST_WORDS = 5.0


def start_cli(options: Options) -> tuple[Transport, Launch]:
    """A CLI that runs, and how it was started."""
    launch = build_launch(options)
    transport = ProcessTransport()
    try:
        transport.start(launch)
    except BaseException:
        launch.remove_temporary_files()
        raise
    return transport, launch


class RawSession:
    """
    See the module. The server calls it from the thread that reads, and never waits.

    Attributes:
        id: The backend's own id of it.

    """

    _transport: Transport
    _launch: Launch
    _sender: Sender

    def __init__(self, server: Server, plan: Plan) -> None:
        self.id = str(uuid.uuid4())
        self._server = server
        self._plan = plan
        self._options = Options(**plan.settings)
        is_free = server.policy.trusted and not server.policy.folders
        self._filter = None if is_free else Filter(server.policy, plan.settings["cwd"] or "")
        self._prefix = line_prefix(self.id)
        self._is_greeted = False
        # Held while the session starts: it may be killed as soon as it is told of.
        self._starting = threading.Lock()
        self._threads: list[threading.Thread] = []
        # Guards the two below; notified when there is room again.
        self._room = threading.Condition(threading.Lock())
        self._credit = plan.credit
        self._is_closed = False

    # Its life.

    def start(self, id: str | None) -> None:
        """Start the CLI, and tell that the session is there."""
        self._server.policy.check_again(self._plan.settings)
        with self._starting:
            if self._is_closed:
                raise UsageError("the backend is being closed.")
            self._transport, self._launch = start_cli(self._options)
            name = f"bridge-{self.id[:8]}"
            self._sender = Sender(self._transport, name, self._transport.kill)
            created = {"sdk_session_id": None, "raw": True, "pid": self._transport.pid}
            self._send("session.created", created, id)
            errors = thread_of(f"{name}-stderr", self._pump_errors)
            output = thread_of(f"{name}-reader", lambda: self._pump(errors))
            # The reader waits for the other in the end, so that is started first.
            self._threads = [errors, output]
            for thread in self._threads:
                thread.start()

    def close(self, timeout: float) -> None:
        """End the CLI within *timeout* seconds; waits for that."""
        self._server.output.release(self.id)
        with self._room:
            self._is_closed = True
            self._room.notify_all()
        with self._starting:
            has_started = bool(self._threads)
        if has_started:
            self._sender.stop()
            self._transport.close(timeout)
            for thread in (*self._threads, self._sender.thread):
                thread.join(LAST_WORDS)
            self._transport.free()
            self._launch.remove_temporary_files()
        self._server.output.forget(self.id)

    # What the front end wants.

    def line(self, line: bytes) -> None:
        """``session.line``: for the CLI, as far as it is allowed."""
        if self._filter is not None:
            passed, answer = self._filter.check(line)
            if answer is not None:
                self._server.output.put(self._prefix + encode(answer)[:-1] + b"}\n")
            if passed is None:
                return
            line = encode(passed)[:-1]
        if not self._is_greeted:
            line = self._with_settings(line)
        self._sender.send(line + b"\n")

    def message(self, request: Envelope) -> None:
        """The same, from a front end that writes its envelopes in another way."""
        self.line(encode(request.payload)[:-1])

    def add_credit(self, request: Envelope) -> None:
        """``session.credit``: the front end has room for more."""
        count = request.payload.get("bytes")
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise request.invalid(f"bytes must be a number of bytes, not {count!r}.")
        with self._room:
            self._credit += count
            self._room.notify_all()

    def end_input(self, _: Envelope) -> None:
        """``session.end_input``: the CLI may come to its end."""
        self._sender.end_input()

    # What the CLI says.

    def _pump(self, errors: threading.Thread) -> None:
        """Pass on what it prints, whole lines at a time, and tell of the end."""
        between = b"}\n" + self._prefix
        begun: list[bytes] = []
        chunk = b"..."
        while chunk:
            chunk = self._transport.read()
            end = chunk.rfind(b"\n")
            if chunk and end < 0:
                begun.append(chunk)
                continue
            lines = b"".join([*begun, chunk[: max(end, 0)]])
            begun = [chunk[end + 1 :]]
            if chunk or lines:
                if not self._wait_for_room(len(lines) + 1):
                    break
                told = self._prefix + lines.replace(b"\n", between) + b"}\n"
                self._server.output.put(told, self.id)
        errors.join(LAST_WORDS)
        exit_code = self._transport.wait(LAST_WORDS)
        self._send("session.ended", {"exit_code": exit_code}, None)

    def _pump_errors(self) -> None:
        splitter = LineSplitter()
        chunk = b"..."
        while chunk:
            chunk = self._transport.read_error()
            for line in splitter.feed(chunk) if chunk else splitter.end():
                text = {"line": line.decode("utf-8", "surrogateescape")}
                told = self._server.line("session.stderr", text, None, self.id)
                self._server.output.put(told, self.id)

    def _wait_for_room(self, size: int) -> bool:
        """Wait until the front end has room for more; False if nobody wants it any more."""
        with self._room:
            self._room.wait_for(lambda: self._credit > 0 or self._is_closed)
            self._credit -= size
            return not self._is_closed

    def _with_settings(self, line: bytes) -> bytes:
        """A line; the greeting with the settings that the CLI takes there and not as flags."""
        message = decode(line) or {}
        request = message.get("request")
        if not isinstance(request, dict) or request.get("subtype") != "initialize":
            return line
        self._is_greeted = True
        return encode({**message, "request": {**self._launch.initialize, **request}})[:-1]

    def _send(self, kind: str, payload: dict[str, Any], id: str | None) -> None:
        self._server.output.put(self._server.line(kind, payload, id, self.id))
