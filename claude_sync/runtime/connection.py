"""
One life of the CLI: from its start to its end, with all that is open between.

::

    [process -> lines -> messages] -> inbox -> dispatch -> handlers -> turn

A client whose CLI dies and is started again has several of these, one after the
other. A connection routes what the reader reads, holds the requests that wait
for a reply, and writes. Decisions taken here and nowhere else:

* A request is registered before it is written, so its reply cannot come early;
  replies go straight to their waiter, past the inbox, so that requests can be
  made inside handlers.
* ``write_lock`` is taken first, the engine's lock inside it and only for a
  moment. The reader takes the engine's lock only: a blocked write never blocks
  reading.
* When it ends, everything that waits for it fails, with the reason.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial
from logging import DEBUG
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from ..errors import CliExited, UsageError
from ..log import logger, shortened
from ..protocol import control
from ..protocol.codec import encode
from ..protocol.exchange import STEER, Exchange, Sent
from .items import Asked, Routed, Withdrawn
from .outgoing import Outgoing
from .pending import PendingReply
from .reader import ReaderThread, StderrThread
from .second_thoughts import SecondThoughts

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from ..engine.launch.transport import Transport
    from ..engine.marks import Marks
    from ..engine.recording.recorder import Recorder
    from .engine import Engine
    from .open_requests import OpenRequest

__all__ = ["BeingReplaced", "Connection"]

# What the model calls to give an answer that has a form.
FORM_TOOL = "StructuredOutput"
STDERR_LINES_KEPT = 50
LONGEST_NOISE = 2000
# The oldest version of the CLI that the library is for.
OLDEST = (2, 1)
# How long a CLI that has closed its output, or its input, may take to exit by itself.
EXIT_PATIENCE = 1.0
# The whole ladder from polite to firm, for a CLI whose output has ended.
CLEARING_TIME = 7.0


class BeingReplaced(Exception):
    """A request came too late for this connection: its successor is the one to ask."""


class Connection:
    """See the module."""

    def __init__(
        self, engine: Engine, transport: Transport, launch: Launch, recorder: Optional[Recorder]
    ) -> None:
        self._engine = engine
        self._lock = engine.lock
        self.transport = transport
        self.launch = launch
        self.recorder = recorder
        # Orders writes, and what is decided with them. Never held while something blocks.
        self.write_lock = threading.Lock()
        self.traffic = engine.traffic
        self.traffic.started()
        self.outgoing = Outgoing(transport, engine.name, self._no_longer_reads, self.traffic)
        self.dialect = engine.dialect
        self.exchange = Exchange(in_order=not engine.dialect.begins_turns)
        self.pending: Dict[str, PendingReply] = {}
        self._ids = control.RequestIds()
        # Requests of the CLI that wait for our answer, by their ids.
        self.open_requests: Dict[str, OpenRequest] = {}
        self.serving = engine.serving
        self.second_thoughts = SecondThoughts(engine, self)
        self.stderr_tail: Deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self.last_activity = time.monotonic()
        # A turn of the CLI's own was interrupted, and no result has come since.
        self.interrupted_own_turn = False
        self.paused = False
        self.marks: Optional[Marks] = None  # of the question that was sent last
        # The greeting is to be sent; it was sent; it was answered; and what the answer was.
        self.is_starting = False
        self.begun = False
        self.ready = False
        self.greeting: Mapping[str, Any] = {}
        self.cli_version: Optional[str] = None
        self.capabilities: Optional[Any] = None
        # What the CLI said when it refused to start, and why we ended it, if we did.
        self.refusal: Optional[str] = None
        self.ended_because: Optional[str] = None
        self.error: Optional[Exception] = None
        self.ended = False
        # The form of its answers; and whether it is being ended for one with another.
        self.schema: Optional[Mapping[str, Any]] = None
        self.greeted_with: Optional[Mapping[str, Any]] = None
        # The conversation that it is to go on with.
        self.resumes: Optional[str] = None
        self.retiring = False
        # Some CLIs say nothing about a form they do not accept: the tool for it is missing.
        self.took_form = True
        # Takes what the reader has read.
        self.deliver = engine.delivery.put
        self.stderr_thread = StderrThread(self, engine.inbox, engine.name)
        self.reader_thread = ReaderThread(self, engine.inbox, engine.name)
        self._shutting_down = threading.Lock()  # held by whoever closes the transport
        self._shut_down = False

    def start(self) -> None:
        """Start the transport, then the threads that read from it."""
        self.transport.start(self.launch)
        if self.recorder is not None:
            self.recorder.started(self.launch, self._engine)
        # Last, because from here on messages arrive.
        self.stderr_thread.start()
        self.reader_thread.start()

    def give_up_start(self) -> None:
        """Starting failed half-way (no thread to be had, Ctrl-C): end what there is of it."""
        self.transport.kill()
        if self.reader_thread.ident is not None:
            self.reader_thread.join(EXIT_PATIENCE)  # it sees the end, and clears away
            return
        self.transport.close(EXIT_PATIENCE)
        if self.stderr_thread.ident is not None:
            self.stderr_thread.join(EXIT_PATIENCE)
        self.transport.free()

    def knows_context(self) -> bool:
        """Whether this CLI takes messages that ask for no answer; old ones answer them."""
        if not self.dialect.begins_turns:
            return False
        return "claude_code_version" in self.greeting or self.exchange.tells_uuids

    def stderr_wanted(self) -> bool:
        """Whether lines of stderr have handlers."""
        registry = self._engine.registry()
        return registry is not None and bool(registry.of["stderr"])

    # Writing.

    def send(self, message: Mapping[str, Any]) -> None:
        """Write one message."""
        data = encode(message)
        with self.write_lock:
            self.write(data)

    def write(self, data: bytes) -> bool:
        """Write lines, without waiting; ``write_lock`` is held. See :meth:`Outgoing.write`."""
        assert self.write_lock.locked()
        if logger.isEnabledFor(DEBUG):
            logger.debug("> %s", shortened(data))
        if self.recorder is not None:
            self.recorder.sent(data)
        return self.outgoing.write(data)

    def _no_longer_reads(self) -> None:
        """A CLI that does not listen is ended. If it is exiting, its last words say more."""
        self._engine.timers.after(EXIT_PATIENCE, lambda: self.kill("it no longer read its input"))

    def request(
        self,
        subtype: str,
        fields: Mapping[str, Any],
        on_reply: Optional[Callable[[control.Reply], None]] = None,
        only_if: Callable[[], bool] = lambda: True,
    ) -> Optional[PendingReply]:
        """
        Send a request; its reply settles what is returned.

        *only_if* is asked when nothing can be sent before this any more; where it says
        no, nothing is sent and None is returned.
        """
        if not self.dialect.answers_requests:
            raise UsageError(
                f"dialect={self.dialect.name!r} has no request {subtype!r} that would be "
                "answered. Use dialect='cli', which is what real CLIs speak."
            )
        pending = PendingReply(subtype, on_reply)
        with self.write_lock:
            with self._lock:
                if self.retiring:  # it may have ended already, as it should
                    raise BeingReplaced(subtype)
                if self.ended:
                    raise self.error or CliExited("the CLI has ended")
                if not only_if():
                    return None
                request_id = self._ids.next()
                data = encode(control.control_request(request_id, subtype, fields))
                self.pending[request_id] = pending
                pending.forget = lambda: self.pending.pop(request_id, None)
            # A reader that pauses must read on: the reply is behind what it left unread.
            self._engine.inbox.look_again()
            self.write(data)
        return pending

    def interrupt(
        self, only_if: Callable[[], bool] = lambda: True, cancel_queued: bool = True
    ) -> Optional[PendingReply]:
        """Stop whatever runs; None where no reply comes, or where *only_if* said no."""
        subtype, fields = self.dialect.interrupt
        if self.dialect.answers_requests:
            return self.request(subtype, fields if cancel_queued else {}, only_if=only_if)
        data = encode({"type": "control_request", "request": {"subtype": subtype, **fields}})
        with self.write_lock:
            with self._lock:
                # Nobody would say that there was nothing to stop.
                wanted = only_if() and self.exchange.running() is not None and not self.ended
            if wanted:
                self.write(data)
        return None

    def new_id(self) -> str:
        """An id for a request whose reply nobody waits for."""
        with self._lock:
            return self._ids.next()

    def must_read(self) -> bool:
        """Whether reading must not pause: a reply is due, or the end of a turn being stopped."""
        entry = self.exchange.running()
        # What is being stopped is awaited with little patience.
        return bool(self.pending) or bool(entry and getattr(entry.owner, "_interrupted", False))

    # Reading.

    def noise(self, line: bytes) -> None:
        """A line that is not a JSON object: a banner, a warning. Never fatal."""
        if logger.isEnabledFor(DEBUG):
            logger.debug("< not a message: %s", shortened(line))
        if not self.ready:
            # Of a CLI that does not start, this may be all it says.
            self.stderr_tail.append(line[:LONGEST_NOISE].decode("utf-8", "replace"))

    def route(self, raw: Mapping[str, Any]) -> Optional[Union[Routed, Withdrawn, Asked]]:
        """Send a message where it belongs; return what goes to the inbox."""
        kind = raw.get("type")
        if kind == "result":
            return self._result(raw)
        if kind == "keep_alive":
            return None
        if kind == "control_response":
            return self._reply(raw)
        if kind in ("control_request", "callback.request"):
            return self.serving.arrived(self, raw)
        if kind == "control_cancel_request":
            with self._lock:
                request = self.open_requests.pop(str(raw.get("request_id")), None)
            if request is not None:
                request.withdraw()
                self._engine.responders.run(partial(self.second_thoughts.is_over, request))
            return None
        exchange = self.exchange
        withdrawn = None
        with self._lock:
            before = exchange.current()
            if kind == "system":
                withdrawn = self._system(raw)
            elif kind == "user":
                withdrawn = question_in(exchange.on_echo(raw.get("uuid")))
            elif kind == "command_lifecycle":
                finished = exchange.on_lifecycle(raw.get("command_uuid"), raw.get("state"))
                withdrawn = question_in(finished)
            session_id = raw.get("session_id")
            if kind == "system" and isinstance(session_id, str) and session_id:
                self._engine.session_id = session_id
            entry = before or exchange.current()
        return Routed(raw, entry, withdrawn=withdrawn)

    def _result(self, raw: Mapping[str, Any]) -> Routed:
        engine, exchange = self._engine, self.exchange
        with self._lock:
            waiting = exchange.running()
            completes = question_in(exchange.on_result(raw))
            self.interrupted_own_turn = False
            # Here, where the results of one process come before the start of the next.
            charge = engine.meter.result(raw)
            session_id = raw.get("session_id")
            if isinstance(session_id, str) and session_id and self.ready:
                # One that does not start makes up an id for its complaint.
                engine.session_id = session_id
            if not self.ready:
                self._refused(raw)
            left = self._left_open() if completes is not None and self.open_requests else ()
        for request in left:
            request.withdraw()
        return Routed(
            raw, completes, completes, waiting if completes is None else None, None, charge
        )

    def _system(self, raw: Mapping[str, Any]) -> Optional[Sent]:
        subtype = raw.get("subtype")
        if subtype == "init":
            self.exchange.on_init(raw)
            self._engine.conversed = True
            tools = raw.get("tools")
            self.took_form = not isinstance(tools, list) or FORM_TOOL in tools
            version = raw.get("claude_code_version")
            if isinstance(version, str):
                self.named_version(version)
            if isinstance(raw.get("capabilities"), list):
                self.capabilities = raw["capabilities"]
        elif subtype == "session_state_changed":
            finished = self.exchange.on_session_state(raw.get("state"))
            if self.exchange.is_stalled():
                self._engine.watch_stalled(self)
            return question_in(finished)
        elif isinstance(subtype, str) and "task" in subtype:
            self.exchange.on_task(raw)
        return None

    def _refused(self, raw: Mapping[str, Any]) -> None:
        """A result before the greeting was answered says why the CLI does not start."""
        errors = raw.get("errors")
        if isinstance(errors, list) and errors:
            self.refusal = "; ".join(str(error) for error in errors)

    def _reply(self, raw: Mapping[str, Any]) -> Optional[Withdrawn]:
        reply = control.parse_reply(raw)
        if reply is None or not isinstance(reply.request_id, str):
            return None
        with self._lock:
            pending = self.pending.pop(reply.request_id, None)
            cancelled = reply.body.get("cancelled") if pending else None
            withdrawn = question_in(self.exchange.on_cancelled(cancelled))
        if pending is not None:
            pending.settle(reply)
        return Withdrawn(withdrawn) if withdrawn is not None else None

    def _left_open(self) -> List[OpenRequest]:
        """Requests of a turn that has ended. A subagent may go on, and so may what it asks."""
        left = [
            request
            for request in self.open_requests.values()
            if request.subtype == "can_use_tool" and not request.body.get("agent_id")
        ]
        for request in left:
            del self.open_requests[request.request_id]
        return left

    def answer_request(self, request: OpenRequest, data: bytes) -> None:
        """Write the answer to a request of the CLI."""
        with self._lock:
            self.open_requests.pop(request.request_id, None)
        data = self.second_thoughts.answer_now(request, data)
        if data:
            with self.write_lock:
                self.write(data)
            self.second_thoughts.is_over(request)

    def answer_elsewhere(self, request: OpenRequest, data: bytes) -> None:
        """As :meth:`answer_request`, on a thread that Ctrl-C does not reach."""
        self._engine.responders.run(lambda: self.answer_request(request, data))

    def named_version(self, version: str) -> None:
        """The CLI has named its version: warn of one that is too old, once for each client."""
        self.cli_version = version
        lifecycle = self._engine.lifecycle
        if () < version_of(version) < OLDEST and not lifecycle.warned_of_version:
            lifecycle.warned_of_version = True
            logger.warning(
                "the CLI %s is older than 2.1 and is not supported. Update it "
                "(claude update, or npm install -g @anthropic-ai/claude-code).",
                version,
            )

    def is_at_least(self, *version: int) -> bool:
        """Whether the CLI is known to be of that version or a later one."""
        return version_of(self.cli_version) >= version

    def refuse(self, raw: Mapping[str, Any]) -> None:
        """Answer a request that could not be served: one without an answer parks the turn."""
        request_id = control.request_body(raw)[0]
        if request_id is not None and raw.get("type") in ("control_request", "callback.request"):
            with self._lock:
                request = self.open_requests.pop(request_id, None)
            reply = control.failed_reply(raw, request_id)

            def answer() -> None:
                self.send(reply)
                if request is not None:
                    self.second_thoughts.is_over(request)

            self._engine.responders.run(answer)

    # Ending.

    def is_closing(self) -> bool:
        """Whether the program has closed the client."""
        return self._engine.lifecycle.closing

    def kill(self, reason: str) -> None:
        """End the CLI at once, unless it has ended."""
        with self._lock:
            if self.ended:
                return
            self.ended_because = self.ended_because or reason
        logger.warning("ending the CLI: %s", reason)
        self.transport.kill()

    def end(self, error: Optional[Exception]) -> None:
        """Its output has ended: fail everything that waits for a reply."""
        from .last_words import error_at_the_end

        exit_code = self._exit_code()
        if self.recorder is not None:
            self.recorder.exited(exit_code)
        with self._lock:
            self.error = error_at_the_end(self, exit_code, error)
            self.ended = True  # after the reason, which is looked for without the lock
            waiting = list(self.pending.values())
            self.pending.clear()
            asked = list(self.open_requests.values())
            self.open_requests.clear()
        for pending in waiting:
            pending.settle(self.error)
        for request in asked:
            request.withdraw()

    def clear_away(self) -> None:
        """End what is left of the process and free its descriptors. On the reader thread."""
        self.outgoing.stop()
        self.shut_down(CLEARING_TIME)
        for thread in (self.stderr_thread, self.outgoing.thread):
            if thread is not None:
                thread.join(EXIT_PATIENCE)
        # First the files, which may hold secrets: to free the rest can take a while, and the
        # program may end meanwhile.
        self.launch.remove_temporary_files()
        self.transport.free()

    def shut_down(self, timeout: float) -> None:
        """Close the transport. The second caller waits for the first, or ends it by force."""
        if not self._shutting_down.acquire(timeout=timeout):
            self.transport.kill()
            return
        try:
            if not self._shut_down:
                self._shut_down = True
                self.transport.close(timeout)
        finally:
            self._shutting_down.release()

    def _exit_code(self) -> Optional[int]:
        """The exit code; a CLI that closed its output is about to exit, given end of input."""
        code = self.transport.wait(EXIT_PATIENCE / 2)
        if code is None:
            self.transport.end_input()
            code = self.transport.wait(EXIT_PATIENCE / 2)
        return code


def question_in(finished: Sequence[Sent]) -> Optional[Sent]:
    """The question or context among finished messages; nobody waits for steered ones."""
    return next((message for message in finished if message.kind != STEER), None)


def version_of(text: Optional[str]) -> Tuple[int, ...]:
    """The numbers of a version; none for one that is not told."""
    numbers = []
    for part in (text or "").split(".")[:3]:
        digits = part.partition("-")[0].strip()
        if not digits.isdigit():
            break
        numbers.append(int(digits))
    return tuple(numbers)
