"""
One CLI process, from its start to its end, with all that is open between.

::

    [process -> lines -> messages] -> inbox -> dispatch -> handlers -> turn

A client whose CLI dies and is started again has several of these, one after the other. A
connection has the reader thread, which routes what it reads; the outbox; the requests of ours
that wait for a reply, and those of the CLI that wait for an answer; and the
:class:`~claude_sync.protocol.exchange.Exchange`, which says whose result a result is.

======== ======= ======== ====================================================
state    event   next     what happens
======== ======= ======== ====================================================
SPAWNED  greet   GREETING our first request is on its way; hooks and tools are fixed
GREETING ready   READY    it was answered, and what it cost before is known
any      retire  ENDING   it is ended on purpose, for one with other flags
any      eof     ENDED    its output has ended; the reader says so, once
======== ======= ======== ====================================================

A reply goes straight to its waiter, past the inbox, so that requests can be made in handlers.
A request is registered before it is written, so its reply cannot come early. The reader takes
the session's lock and no other; it never writes and calls nothing of the program's.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from logging import DEBUG
from typing import TYPE_CHECKING, Any

from ..errors import (
    CliDidNotStart,
    ClientClosed,
    CliExited,
    ControlTimeout,
    UnsupportedByCli,
    UsageError,
)
from ..log import ShownLines, log_received, logger, name_this_thread, shortened
from ..protocol import control
from ..protocol.codec import LineSplitter, decode, encode
from ..protocol.exchange import STEER, Exchange, Sent
from ..support.waiting import Deadline
from .inbox import EndOfStream, Routed, StderrLine, Withdrawn
from .outbox import Outbox

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from ..protocol.requests import Request
    from .launch.command import Launch
    from .launch.transport import Transport
    from .marks import Marks
    from .recording.recorder import Recorder
    from .session import Session

__all__ = ["BeingReplaced", "Connection", "reply_of", "version_of"]

SPAWNED = "spawned"
GREETING = "greeting"
READY = "ready"
ENDING = "ending"
ENDED = "ended"

# What the model calls to give an answer that has a form.
FORM_TOOL = "StructuredOutput"
STDERR_LINES_KEPT = 50
LONGEST_NOISE = 2000
# The last lines of stderr come a moment after the end of stdout.
STDERR_PATIENCE = 0.5
# How long a CLI that has closed its output, or its input, may take to exit by itself.
EXIT_PATIENCE = 1.0
# The whole ladder from polite to firm, for a CLI whose output has ended.
CLEARING_TIME = 7.0


class BeingReplaced(Exception):
    """A request came too late for this connection: its successor is the one to ask."""


class Connection:
    """
    See the module. ``session.lock`` guards the state, the exchange and both lists of requests.

    Attributes:
        state: See the table.
        was_ready, was_retired: Whether it ever was READY, or ENDING.
        error: Why it has ended, once it has.
        greeting: What the CLI answered to our first request.
        schema: The form of its answers.
        resumes: The conversation that it is to go on with.
        opened: Requests of the CLI that wait for our answer, by their ids.

    """

    def __init__(
        self, session: Session, transport: Transport, launch: Launch, recorder: Recorder | None
    ) -> None:
        self._session = session
        self._lock = session.lock
        self.transport = transport
        self.launch = launch
        self.folder = launch.cwd
        self._recorder = recorder
        self.dialect = session.dialect
        self.exchange = Exchange(in_order=not session.dialect.begins_turns)
        self.outbox = Outbox(transport, session.name, self._no_longer_reads)
        self.state = SPAWNED
        self.was_ready = False
        self.was_retired = False
        self.greeting: Mapping[str, Any] = {}
        self.cli_version: str | None = None
        self.capabilities: Any = None
        self.schema: Mapping[str, Any] | None = None
        self.greeted_with: Mapping[str, Any] | None = None
        # Some CLIs say nothing about a form they do not accept: the tool for it is missing.
        self.took_form = True
        self.resumes: str | None = None
        # What the CLI said when it refused to start, and why we ended it, if we did.
        self.refusal: str | None = None
        self.ended_because: str | None = None
        self.error: Exception | None = None
        self.opened: dict[str, Request] = {}
        # What sends our answers to them.
        self.answers = session.requests.answers_on(self)
        self._replies: dict[str, Future[Reply]] = {}
        self._ids = control.RequestIds()
        self.stderr_tail: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self.last_activity = time.monotonic()
        self.paused = False
        self.lines_received = self.bytes_received = 0
        self.marks: Marks | None = None  # of the question that was sent last
        # A turn of the CLI's own was interrupted, and no result has come since.
        self.interrupted_own_turn = False
        # Daemon: a program that forgets close() must still be able to exit.
        self.reader = threading.Thread(
            target=self._read, name=f"{session.name}-reader", daemon=True
        )
        self._stderr = threading.Thread(
            target=self._read_errors, name=f"{session.name}-stderr", daemon=True
        )
        self._shutting_down = threading.Lock()  # held by whoever closes the transport
        self._shut_down = False

    # Its life.

    def start(self) -> None:
        """Start the transport, then the threads that read from it."""
        self.transport.listen_to_errors(self._error_bytes())
        self.transport.start(self.launch)
        if self._recorder is not None:
            self._recorder.started(self.launch, self._session)
        if self.transport.has_errors_of_its_own:
            self._stderr.start()
        # Last, because from here on messages arrive.
        self.reader.start()

    def give_up_start(self) -> None:
        """Starting failed half-way (no thread to be had, Ctrl-C): end what there is of it."""
        self.transport.kill()
        if self.reader.ident is not None:
            self.reader.join(EXIT_PATIENCE)  # it sees the end, and clears away
            return
        self.transport.close(EXIT_PATIENCE)
        if self._stderr.ident is not None:
            self._stderr.join(EXIT_PATIENCE)
        self.transport.free()

    @property
    def is_ready(self) -> bool:
        """Whether questions can be sent."""
        return self.state == READY

    @property
    def has_ended(self) -> bool:
        """Whether its output has ended."""
        return self.state == ENDED

    def kill(self, reason: str) -> None:
        """End the CLI at once, unless it has ended."""
        with self._lock:
            if self.state == ENDED:
                return
            is_news = self.ended_because is None
            self.ended_because = self.ended_because or reason
        if is_news:  # several interrupts of one turn have a deadline each
            logger.warning("ending the CLI: %s", reason)
        self.transport.kill()

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

    def is_alive(self) -> bool:
        """Whether one of its threads runs."""
        return any(thread.is_alive() for thread in self.threads())

    def threads(self) -> list[threading.Thread]:
        """Its threads that were started."""
        threads = [self.reader, self._stderr, self.outbox.writer]
        return [each for each in threads if each is not None and each.ident is not None]

    def _no_longer_reads(self) -> None:
        """A CLI that does not listen is ended. If it is exiting, its last words say more."""
        why = "it stopped reading its input"
        self._session.timers.after(EXIT_PATIENCE, lambda: self.kill(why))

    # Writing.

    def post(self, data: bytes, lost: Callable[[], None] | None = None) -> None:
        """Append lines to what is to be written; ``outbox.flush()`` writes them."""
        if logger.isEnabledFor(DEBUG):
            logger.debug("> %s", shortened(data))
        if self._recorder is not None:
            self._recorder.sent(data)
        self.outbox.post(data, lost)

    def send(self, data: bytes) -> None:
        """Write lines."""
        self.post(data)
        self.outbox.flush()

    def post_request(
        self,
        subtype: str,
        fields: Mapping[str, Any],
        on_reply: Callable[[Reply], None] | None = None,
    ) -> Future[Reply]:
        """Append a request; ``session.lock`` is held. *on_reply* is called on the reader."""
        if not self.dialect.answers_requests:
            raise UsageError(
                f"dialect={self.dialect.name!r} has no request {subtype!r} that would be "
                "answered. Use dialect='cli', which is what real CLIs speak."
            )
        if self.was_retired:  # it may have ended already, as it should
            raise BeingReplaced(subtype)
        if self.error is not None:
            raise self.error
        request_id = self._ids.next()
        reply: Future[Reply] = Future()
        if on_reply is not None:
            heard = on_reply
            reply.add_done_callback(
                lambda future: None if future.exception() else heard(future.result())
            )
        data = encode(control.control_request(request_id, subtype, fields))
        self._replies[request_id] = reply
        self.post(data)
        return reply

    def request(
        self,
        subtype: str,
        fields: Mapping[str, Any],
        on_reply: Callable[[Reply], None] | None = None,
    ) -> Future[Reply]:
        """Send a request; what is returned is settled by its reply, or by the end of the CLI."""
        with self._lock:
            reply = self.post_request(subtype, fields, on_reply)
        self.written(reply)
        return reply

    def written(self, _reply: object = None) -> None:
        """Write what was posted; a reader that pauses must read on, as a reply may be due."""
        self._session.inbox.look_again()
        self.outbox.flush()

    def post_interrupt(self, cancel_queued: bool = True) -> Future[Reply] | None:
        """Append the request to stop what runs; None where no reply comes. Under the lock."""
        subtype, fields = self.dialect.interrupt
        if self.dialect.answers_requests:
            return self.post_request(subtype, fields if cancel_queued else {})
        if self.exchange.running() is not None and self.state != ENDED:
            # Nobody would say that there was nothing to stop.
            request = {"subtype": subtype, **fields}
            self.post(encode({"type": "control_request", "request": request}))
        return None

    def notify(self, subtype: str, fields: Mapping[str, Any]) -> None:
        """Send a request whose reply nobody waits for."""
        with self._lock:
            request_id = self._ids.next()
        self.send(encode(control.control_request(request_id, subtype, fields)))

    def forget(self, reply: Future[Reply]) -> None:
        """Nobody waits for that reply any more."""
        with self._lock:
            for request_id, each in list(self._replies.items()):
                if each is reply:
                    del self._replies[request_id]

    @property
    def awaits_replies(self) -> bool:
        """Whether a request of ours has no reply yet."""
        return bool(self._replies)

    # Reading.

    def must_read(self) -> bool:
        """Whether reading must not pause: a reply is due, or the end of a turn being stopped."""
        entry = self.exchange.running()
        # What is being stopped is awaited with little patience.
        return bool(self._replies) or bool(entry and entry.interrupted)

    def _read(self) -> None:
        """On the reader thread: read stdout until its end, and say that it has ended."""
        name_this_thread(self._session.name)
        error: Exception | None = None
        try:
            load_messages()
            self._read_all()
        except Exception as failure:  # reaches whoever waits, through the inbox
            logger.exception("reading from the CLI failed")
            error = failure
        if self._stderr.ident is not None:
            self._stderr.join(STDERR_PATIENCE)
        self._end(error)
        self._clear_away()

    def _read_all(self) -> None:
        inbox, read = self._session.inbox, self.transport.read
        splitter = LineSplitter()
        size = 0
        while True:
            chunk = read()
            self.last_activity = time.monotonic()
            lines = splitter.feed(chunk) if chunk else splitter.end()
            size += len(chunk)
            self.bytes_received += len(chunk)
            if lines:
                self.lines_received += len(lines)
                # All of a long line counts, not only the read that completed it.
                inbox.put(self._messages(lines), size)
                size = 0
            if not chunk:
                return
            self.paused = True
            inbox.wait_for_room(self.must_read)
            self.paused = False

    def _messages(self, lines: list[bytes]) -> list[Any]:
        """What of these lines goes to the inbox. Runs for every line: keep it cheap."""
        items: list[Any] = []
        append = items.append
        if self._recorder is not None:
            for line in lines:
                self._recorder.received(line)
        if logger.isEnabledFor(DEBUG):
            log_received(lines)
        for line in lines:
            message = decode(line)
            if message is None:
                self._noise(line)
            elif message.get("type") == "stream_event":
                append(message)
            else:
                try:
                    item = self._route(message)
                except Exception:
                    # A message nobody foresaw must not end the conversation.
                    logger.exception("could not route a message of type %r", message.get("type"))
                    self._session.requests.refuse(self, message)
                    item = Routed(message, None)
                if item is not None:
                    append(item)
        marks = self.marks
        if marks is not None and marks.first is None:
            marks.first_piece(items)
        return items

    def _noise(self, line: bytes) -> None:
        """A line that is not a JSON object: a banner, a warning. Never fatal."""
        if logger.isEnabledFor(DEBUG):
            logger.debug("< not a message: %s", shortened(line))
        if not self.was_ready:
            # Of a CLI that does not start, this may be all it says.
            self.stderr_tail.append(line[:LONGEST_NOISE].decode("utf-8", "replace"))

    def _route(self, raw: Mapping[str, Any]) -> Any:
        """Send a message where it belongs; return what goes to the inbox, or None."""
        kind = raw.get("type")
        if kind == "result":
            return self._result(raw)
        if kind == "keep_alive":
            return None
        if kind == "control_response":
            return self._reply(raw)
        if kind in ("control_request", "callback.request"):
            return self._session.requests.arrived(self, raw)
        if kind == "control_cancel_request":
            self._session.requests.cancelled(self, raw.get("request_id"))
            return None
        exchange = self.exchange
        finished: Sequence[Sent] = ()
        with self._lock:
            before = exchange.current()
            if kind == "system":
                finished = self._system(raw)
            elif kind == "user":
                finished = exchange.on_echo(raw.get("uuid"))
            elif kind == "command_lifecycle":
                finished = exchange.on_lifecycle(raw.get("command_uuid"), raw.get("state"))
            entry = before or exchange.current()
        return Routed(raw, entry, withdrawn=question_in(finished))

    def _result(self, raw: Mapping[str, Any]) -> Routed:
        session, exchange = self._session, self.exchange
        with self._lock:
            waiting = exchange.running()
            completes = question_in(exchange.on_result(raw))
            self.interrupted_own_turn = False
            # Here, where the results of one process come before the start of the next.
            charge = session.meter.result(raw)
            if self.was_ready:
                self._note_session(raw)
            else:  # it says why it does not start, and makes up an id for its complaint
                errors = raw.get("errors")
                if isinstance(errors, list) and errors:
                    self.refusal = "; ".join(str(error) for error in errors)
            left = self._left_open() if completes is not None and self.opened else ()
        for request in left:
            request.withdraw()
        bystander = waiting if completes is None else None
        return Routed(raw, completes, completes, bystander, charge=charge)

    def _system(self, raw: Mapping[str, Any]) -> list[Sent]:
        subtype = raw.get("subtype")
        self._note_session(raw)
        if subtype == "init":
            self.exchange.on_init(raw)
            self._session.conversed = True
            tools = raw.get("tools")
            self.took_form = not isinstance(tools, list) or FORM_TOOL in tools
            self._session.warn_of_agent(raw.get("agents"))
            version = raw.get("claude_code_version")
            if isinstance(version, str):
                self.named_version(version)
            if isinstance(raw.get("capabilities"), list):
                self.capabilities = raw["capabilities"]
        elif subtype == "session_state_changed":
            finished = self.exchange.on_session_state(raw.get("state"))
            if self.exchange.is_stalled():
                self._session.stopper.watch_stalled(self)
            return finished
        elif isinstance(subtype, str) and "task" in subtype:
            self.exchange.on_task(raw)
        return []

    def _note_session(self, raw: Mapping[str, Any]) -> None:
        session_id = raw.get("session_id")
        if isinstance(session_id, str) and session_id:
            self._session.session_id = session_id

    def _reply(self, raw: Mapping[str, Any]) -> Withdrawn | None:
        reply = control.parse_reply(raw)
        if reply is None or not isinstance(reply.request_id, str):
            return None
        with self._lock:
            waiting = self._replies.pop(reply.request_id, None)
            cancelled = reply.body.get("cancelled") if waiting is not None else None
            withdrawn = question_in(self.exchange.on_cancelled(cancelled))
        if waiting is not None:
            waiting.set_result(reply)
            if not self._replies:
                self._session.replies_are_in()
        return Withdrawn(withdrawn) if withdrawn is not None else None

    def _left_open(self) -> list[Request]:
        """Requests of a turn that has ended. A subagent may go on, and so may what it asks."""
        left = [
            request
            for request in self.opened.values()
            if request.subtype == "can_use_tool" and not request.body.get("agent_id")
        ]
        for request in left:
            del self.opened[request.request_id]
        return left

    def named_version(self, version: str) -> None:
        """The CLI has named its version."""
        self.cli_version = version
        self._session.warn_of_version(version)

    def is_at_least(self, *version: int) -> bool:
        """Whether the CLI is known to be of that version or a later one."""
        return version_of(self.cli_version) >= version

    def knows_context(self) -> bool:
        """Whether this CLI takes messages that ask for no answer; old ones answer them."""
        if not self.dialect.begins_turns:
            return False
        return "claude_code_version" in self.greeting or self.exchange.tells_uuids

    # What it tells people.

    def _error_bytes(self) -> Callable[[bytes], None]:
        """What takes the portions of stderr; b"" at its end."""
        splitter, for_the_log = LineSplitter(), ShownLines()

        def take(chunk: bytes) -> None:
            for line in splitter.feed(chunk) if chunk else splitter.end():
                text = line.decode("utf-8", "replace")
                self.stderr_tail.append(text[:LONGEST_NOISE])
                if logger.isEnabledFor(DEBUG):
                    logger.debug("< stderr: %s", for_the_log.shown(text))
                if self._session.dispatch.hears("stderr"):
                    self._session.inbox.put([StderrLine(text)], len(line))

        return take

    def _read_errors(self) -> None:
        """On a thread of its own, for transports that cannot read both at once."""
        name_this_thread(self._session.name)
        take = self._error_bytes()
        try:
            chunk = b"."
            while chunk:
                chunk = self.transport.read_error()
                take(chunk)
        except Exception:
            logger.exception("reading the CLI's stderr failed")

    # Its end.

    def _end(self, error: Exception | None) -> None:
        """Its output has ended: fail everything that waits for a reply."""
        exit_code = self._exit_code()
        if self._recorder is not None:
            self._recorder.exited(exit_code)
        self.outbox.stop()
        with self._lock:
            self.error = error_at_the_end(self, exit_code, error, self._session.closing)
            self.state = ENDED
            waiting, self._replies = list(self._replies.values()), {}
            asked, self.opened = list(self.opened.values()), {}
            # Under the lock, so that nothing of the next process comes before it.
            self._session.inbox.put([EndOfStream(self)])
        for reply in waiting:
            reply.set_exception(self.error)
        for request in asked:
            request.withdraw()
        self._session.changes.tell()

    def _exit_code(self) -> int | None:
        """The exit code; a CLI that closed its output is about to exit, given end of input."""
        code = self.transport.wait(EXIT_PATIENCE / 2)
        if code is None:
            self.transport.end_input()
            code = self.transport.wait(EXIT_PATIENCE / 2)
        return code

    def _clear_away(self) -> None:
        """End what is left of the process and free its descriptors. On the reader thread."""
        self.shut_down(CLEARING_TIME)
        for thread in (self._stderr, self.outbox.writer):
            if thread is not None and thread.ident is not None:
                thread.join(EXIT_PATIENCE)
        # First the files, which may hold secrets: to free the rest can take a while, and the
        # program may end meanwhile.
        self.launch.remove_temporary_files()
        self.transport.free()


# What a CLI says that knows no forms of answers, and one that does not like this one.
NO_FORMS = "unknown option '--json-schema"
BAD_FORM = "--json-schema is not"


def error_at_the_end(
    connection: Connection, exit_code: int | None, cause: Exception | None, closing: bool
) -> Exception:
    """The error for whoever waits for something of *connection*, which has ended."""
    from ..support.redact import redact_lines, redact_text

    if closing:
        return ClientClosed("the client was closed during this call")
    said = tuple(redact_lines(connection.stderr_tail))
    if connection.schema is not None and not connection.was_ready:
        for line in said:
            if NO_FORMS in line:
                return UnsupportedByCli("returns=", connection.cli_version)
            if BAD_FORM in line:
                return UsageError(
                    f"the CLI does not accept the JSON Schema of returns=: {line}. Change what "
                    "it complains about, or pass a dataclass, whose schema is always accepted."
                )
    failed: Any = CliExited if connection.was_ready else CliDidNotStart
    if connection.refusal:
        reason = f"the CLI did not start: {connection.refusal}"
    elif connection.ended_because:
        reason = f"the CLI was ended because {connection.ended_because}"
    elif cause is not None:
        reason = f"the CLI could not be read any more: {cause}"
    elif connection.was_ready:
        reason = "the CLI exited"
    else:
        reason = "the CLI exited before it was ready"
    error: Exception = failed(redact_text(reason), exit_code, said, connection.transport.argv)
    error.__cause__ = cause
    return error


def reply_of(
    connection: Connection, reply: Future[Reply], subtype: str, timeout: float | None
) -> Reply:
    """Wait for a reply, in slices, so that Ctrl-C works everywhere."""
    deadline = Deadline(timeout)
    while not reply.done():
        if deadline.is_over():
            assert timeout is not None
            connection.forget(reply)
            raise ControlTimeout(subtype, timeout)
        try:
            reply.exception(deadline.slice())
        except NotInTime:
            continue
    error = reply.exception()
    if error is not None:
        raise copy.copy(error)  # each waiter its own: raising adds to the traceback
    found = reply.result()
    if found.error is not None:
        from ..support.redact import redact_text

        found.error = redact_text(found.error)  # it becomes an exception's text
    return found


def load_messages() -> None:
    """Import the classes of messages now: the CLI takes longer than that to say anything."""
    from ..messages import parsing  # noqa: F401


def question_in(finished: Sequence[Sent]) -> Sent | None:
    """The question or context among finished messages; nobody waits for steered ones."""
    return next((message for message in finished if message.kind != STEER), None)


def version_of(text: str | None) -> tuple[int, ...]:
    """The numbers of a version; none for one that is not told."""
    numbers = []
    for part in (text or "").split(".")[:3]:
        digits = part.partition("-")[0].strip()
        if not digits.isdigit():
            break
        numbers.append(int(digits))
    return tuple(numbers)
