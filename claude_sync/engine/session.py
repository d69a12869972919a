"""
The session: questions in, answers out, over all lives of its CLI.

::

    [question] -> connection -> process -> lines -> messages -> dispatch -> handlers -> turn

The threads hold a :class:`Session`, never the ``Client``: a client that the program has
forgotten can be collected, and closes its session. Questions wait in one queue. Everything
that may have changed what the first of them needs calls :meth:`Session.pump`, and nothing else
sends a question: it starts the CLI, greets it, ends it for one with another form of answers,
or writes the question.

``lock`` guards the queue, which connection is current, its state and its exchange. It is never
held while writing, waiting or calling anything of the program's. What is decided under it is
appended to the outbox under it, so the order on the wire is that of the decisions.
"""

from __future__ import annotations

import copy
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import (
    BudgetExceeded,
    ClientClosed,
    ControlTimeout,
    TurnInterrupted,
    UnsupportedByCli,
    UsageError,
)
from ..log import Naming, logger
from ..messages.usage import Usage
from ..options import unknown_to
from ..prompts import FIRST_VERBATIM, is_verbatim
from ..protocol.costs import CostMeter, Tally
from ..protocol.dialects import dialect_of
from ..protocol.exchange import CONTEXT, QUESTION, STEER, Sent
from ..support.waiting import Changes, Deadline
from .asked import Asked
from .closing import Closer
from .connection import ENDING, BeingReplaced, Connection, reply_of, version_of
from .delivery import Delivery
from .dispatch import Dispatch
from .endings import Endings
from .handlers import HandlerRegistry
from .inbox import Inbox
from .marks import TURNS_KEPT, Marks
from .requests import Requests
from .starting import Starter
from .stopping import Stopper
from .tasks import Tasks
from .timers import Timers
from .turn import Turn

if TYPE_CHECKING:
    from ..options import Options
    from ..protocol.control import Reply
    from .control import Controls

__all__ = ["Session", "interrupted_between_tries"]

# The oldest version of the CLI that the library is for.
OLDEST = (2, 1)
UPDATE = "Update it (claude update, or npm install -g @anthropic-ai/claude-code)."

NUMBERS = itertools.count(1)


class Traffic(NamedTuple):
    """How often a CLI was started, and what went through its pipes."""

    starts: int = 0
    lines_received: int = 0
    bytes_received: int = 0
    lines_sent: int = 0
    bytes_sent: int = 0

    def plus(self, connection: Connection) -> Traffic:
        """With that of one more connection."""
        return Traffic(
            self.starts + 1,
            self.lines_received + connection.lines_received,
            self.bytes_received + connection.bytes_received,
            self.lines_sent + connection.outbox.lines_sent,
            self.bytes_sent + connection.outbox.bytes_sent,
        )


class Session:
    """
    See the module.

    Attributes:
        queue: Questions that were not sent yet.
        open: Questions that are not done: they all fail when the client closes.
        connection: The CLI that runs, or the last that ran.
        session_id: The conversation.
        conversed: A turn has begun, so there is a conversation that can be resumed.
        own_schema: The form that every answer has unless a question says otherwise.
        marks: The times of the last questions, for timelines.

    """

    def __init__(
        self,
        options: Options,
        registry: HandlerRegistry,
        own_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = options
        self.dialect = dialect_of(options.dialect)
        self.name = options.name or f"claude-{next(NUMBERS)}"
        # The process that has started the CLI: a copy in a forked child is of no use. Before the
        # start there is nothing to share, so each may use its own.
        self.process_id: int | None = None
        self.lock = threading.Lock()
        self.registry: Callable[[], HandlerRegistry | None] = weakref.ref(registry)
        self.queue: deque[Asked] = deque()
        self.open: set[Asked] = set()
        self.connection: Connection | None = None
        self.connections: list[Connection] = []
        self._traffic = Traffic()  # of the connections before
        self.session_id: str | None = options.session_id or (
            None if options.fork_session else options.resume
        )
        self.conversed = False
        self.own_schema = own_schema
        self.meter = CostMeter()
        # What a pool has spent, whose clients share one budget.
        self.spent_together: Callable[[], float] | None = None
        self.tally = Tally()
        self.marks: deque[Marks] = deque(maxlen=TURNS_KEPT)
        # What a CLI that knows no context gets as data, before the next question.
        self._context: list[Any] = []
        self._warned_of_version = False
        self._warned_of_agent = False
        # Told when something was delivered, or the client's state changed.
        self.changes = Changes()
        self.inbox = Inbox()
        self.timers = Timers(self.name)
        self.tasks = Tasks(self.name, self.timers.after)
        self.dispatch = Dispatch(self)
        self.delivery = Delivery(self)
        self.requests = Requests(self)
        self.stopper = Stopper(self)
        self.endings = Endings(self)
        self.starter = Starter(self)
        self.closer = Closer(self)
        self.controls: Controls | None = None

    # What is known.

    @property
    def closing(self) -> bool:
        """Whether the program has closed the client."""
        return self.closer.closing

    @property
    def cost_usd(self) -> float:
        """What the CLI's results report over the client's life."""
        return self.meter.total_usd

    @property
    def usage(self) -> Usage:
        """The tokens they report."""
        return self.meter.usage

    @property
    def cli_version(self) -> str | None:
        """The version of the CLI, as far as it tells."""
        return self.connection.cli_version if self.connection is not None else None

    @property
    def naming(self) -> Naming:
        """A context in which log lines and errors have this client's name."""
        return Naming(self.name)

    @property
    def state(self) -> str:
        """The client's state in one word."""
        if self.is_inherited():
            return "inherited"
        if self.closing:
            return "closed" if self.closer.is_over() else "closing"
        connection = self.connection
        if connection is None:
            return "new"
        if connection.state == ENDING or self.starter.is_replacing:
            return "starting"
        if connection.has_ended:
            return "crashed"
        if not connection.is_ready:
            return "starting" if self.starter.is_greeting(connection) else "open"
        with self.lock:
            busy = connection.exchange.question is not None or connection.exchange.foreign_turn
        return "busy" if busy else "idle"

    def is_inherited(self) -> bool:
        """Whether this is a copy, in a forked child, of the parent's."""
        return self.process_id not in (None, os.getpid())

    def check_process(self) -> None:
        """Refuse a client that was inherited by fork; before any lock, which may be held."""
        if self.is_inherited():
            raise UsageError(
                "this client belongs to the process that started it and cannot be used after "
                "fork(). Make a new Client in the child."
            )

    def check(self) -> None:
        """Refuse a closed client, and one that was inherited by fork."""
        self.check_process()
        if self.closing:
            raise ClientClosed()

    def warn_of_version(self, version: str) -> None:
        """Warn of a CLI that is too old, or older than an option, once for each client."""
        parts = version_of(version)
        if not parts or self._warned_of_version:
            return
        self._warned_of_version = True
        unknown = unknown_to(self.options, parts)
        if parts < OLDEST:
            logger.warning("the CLI %s is older than 2.1 and is not supported. %s", version, UPDATE)
        elif unknown:
            names = "=, ".join(unknown)
            text = "the CLI %s may ignore %s=, which newer versions know. %s"
            logger.warning(text, version, names, UPDATE)

    def warn_of_agent(self, known: Any) -> None:
        """Warn of an ``agent=`` that is not among the *known* ones: the CLI says nothing of it."""
        agent = self.options.agent
        if agent is None or self._warned_of_agent or not isinstance(known, list) or agent in known:
            return
        self._warned_of_agent = True
        logger.warning(
            "the CLI has no agent %r and goes on without it, with all tools. Check the name; "
            "agents=... defines one, setting_sources=... says where the CLI looks. It has: %s",
            agent,
            ", ".join(map(str, known)),
        )

    def traffic(self) -> Traffic:
        """What went through the pipes so far."""
        connection = self.connection
        return self._traffic if connection is None else self._traffic.plus(connection)

    def connection_replaced(self, connection: Connection) -> None:
        """*connection* is the one that counts from now on."""
        with self.lock:
            self._traffic = self.traffic()
            # Those before may still be clearing away.
            self.connections = [each for each in self.connections if each.is_alive()]
            self.connections.append(connection)
            self.connection = connection

    # A question is queued.

    def submit(self, turn: Turn[Any], kind: str = QUESTION, uuid: str | None = None) -> None:
        """
        Queue a question, and send it if nothing is in the way.

        *uuid* is that of its message, a new one by default: the CLI ignores one it has seen.
        """
        asked = turn.asked
        self.check()
        # Now, so that what cannot be sent is refused before anything happens.
        self._prepare(asked, asked.message, kind, uuid or new_uuid())
        if asked.schema is not None:
            self.starter.check_form(asked)
        if self.is_over_budget(asked):  # before a CLI is started, which may cost something
            asked.fail(self._budget_error(asked))
            return
        with self.lock:
            if self.closing:  # while the message was encoded
                raise ClientClosed()
            self.queue.append(asked)
            self.open.add(asked)
        try:
            if asked.timeout is not None:
                self.stopper.begin_timeout(asked, asked.timeout)
            self.pump(raises=True)
        except BaseException:
            if self.unqueue(asked):
                asked.stop_timers()
            raise

    def add_context(self, turn: Turn[Any], uuid: str | None = None) -> None:
        """Queue a message that asks for no answer; *uuid* as in :meth:`submit`."""
        self.check()
        connection = self.starter.ensure_ready("add_context")
        connection.transport.check_carries("add_context")
        if connection.knows_context():
            self.submit(turn, CONTEXT, uuid)
        elif self.dialect.begins_turns:
            with self.lock:
                self._context += blocks_of(turn.asked.message)
            turn.asked.withdraw()  # nothing is sent for it
        else:
            raise UnsupportedByCli("add_context()", self.cli_version)

    def steer(self, message: Mapping[str, Any], uuid: str | None = None) -> None:
        """Write a user message into the turn that runs; *uuid* as in :meth:`submit`."""
        self.check()
        entry = Sent(uuid or new_uuid(), STEER)
        data, older = self._encode(message, entry.uuid)
        connection = self.connection
        if connection is not None:
            connection.transport.check_carries("steer")
            with self.lock:
                running = connection.exchange.running() is not None and not connection.has_ended
                if running:
                    connection.exchange.steer(entry)
                    connection.post(self._fitting(connection, data, older))
            if running:
                connection.outbox.flush()
                return
        raise UsageError(
            "no turn is running, so there is nothing to steer. Call ask() or submit()."
        )

    def _prepare(self, asked: Asked, message: Mapping[str, Any], kind: str, uuid: str) -> None:
        asked.sent = Sent(uuid, kind, asked, is_command=is_command(message))
        asked.data, asked.older = self._encode(message, uuid)

    def _encode(self, message: Mapping[str, Any], uuid: str) -> tuple[bytes, bytes]:
        """The line for a message; and that for older CLIs, if they need another one."""
        data = self.dialect.encode_question(message, uuid)
        if not is_verbatim(message):
            return data, b""
        from ..prompts.verbatim import for_older_cli

        older = for_older_cli(message)
        return data, b"" if older is None else self.dialect.encode_question(older, uuid)

    def _fitting(self, connection: Connection, data: bytes, older: bytes) -> bytes:
        return older if older and not connection.is_at_least(*FIRST_VERBATIM) else data

    # A question is sent.

    def pump(self, *, raises: bool = False) -> None:
        """
        Do the next thing that the first waiting question needs.

        Any thread may call it, at any time. *raises*: what keeps the CLI from starting is
        raised; otherwise it fails every question that waits for it.
        """
        if not self.queue or self.closing:
            return
        connection = self.connection
        if connection is None or not connection.is_ready:
            try:
                connection = self.starter.ensure_begun()
            except Exception as error:
                if raises:
                    raise
                self.fail_queued(error)
                return
        if connection is None:
            return  # it is on its way, and pumps when it is there
        # A question is queued before this looks, and whoever ends the one in flight pumps
        # after that: one of the two sees both.
        if connection.exchange.question is not None:
            return
        with self.lock:
            asked = self._take_next(connection)
            waits_for_own_turn = bool(self.queue) and connection.exchange.foreign_turn
        if asked is not None:
            connection.outbox.flush()
            if asked.buffer is not None or self.inbox.raw_wanted:
                self.update_merging()
        elif waits_for_own_turn:
            self.stopper.watch_foreign_turn(connection)

    def pump_elsewhere(self) -> None:
        """As :meth:`pump`, from a thread that must not start a process: a timer, the reader."""
        if self.queue:
            self.tasks.run(self.pump)

    def _take_next(self, connection: Connection) -> Asked | None:
        """Post the question to write now; it counts as sent from here on. Under the lock."""
        if connection is not self.connection or not connection.is_ready:
            return None
        while self.queue and connection.exchange.may_send():
            asked = self.queue[0]
            if asked.not_before and time.monotonic() < asked.not_before:
                return None
            if asked.schema != connection.schema and asked.has_form:
                self.starter.replace(connection)
                return None
            self.queue.popleft()
            if asked.is_over():
                continue  # its time was up just when it was to be asked again
            if self.is_over_budget(asked):
                self.open.discard(asked)
                error = self._budget_error(asked)
                # Elsewhere: this thread holds the lock, and waiters may call us at once.
                self.tasks.run(lambda asked=asked, error=error: asked.fail(error))  # type: ignore[misc]
                continue
            self._post(connection, asked)
            return asked
        return None

    def _post(self, connection: Connection, asked: Asked) -> None:
        if self._context and asked.is_question and not asked.sent.is_command:
            blocks, self._context = self._context, []
            asked.message = with_blocks(blocks, asked.message)
            asked.data, asked.older = self._encode(asked.message, asked.sent.uuid)
        if asked.turn is not None:
            asked.turn.set_sent()
        connection.exchange.send(asked.sent)
        connection.marks = asked.marks
        if asked.marks.sent() and asked.is_question:
            self.marks.append(asked.marks)
        if asked.idle_timeout is not None:
            self.stopper.watch_silence(asked, asked.idle_timeout, time.monotonic())
        connection.post(self._fitting(connection, asked.data, asked.older), asked.lose)

    def replies_are_in(self) -> None:
        """On the reader: no request of ours waits any more. A restart may have waited for that."""
        self.changes.tell()
        connection = self.connection
        if self.queue and connection is not None and connection.exchange.question is None:
            self.pump_elsewhere()

    def is_over_budget(self, asked: Asked) -> bool:
        """Whether nothing more may be spent; a context asks nothing, so it costs nothing."""
        budget = self.options.budget_usd
        if budget is None or not asked.is_question:
            return False
        spent = self.meter.total_usd if self.spent_together is None else self.spent_together()
        return spent >= budget

    def _budget_error(self, asked: Asked) -> BudgetExceeded:
        spent = self.meter.total_usd if self.spent_together is None else self.spent_together()
        told = "not asked again" if asked.was_tried else "nothing was sent"
        reason = f"{spent:.4f} USD of the budget of {self.options.budget_usd:g} are spent; {told}"
        return BudgetExceeded(reason, asked.tried_answer)

    def update_merging(self) -> None:
        """Text may be merged only while nobody wants every raw event."""
        if self.is_inherited():
            return
        with self.lock:
            # All of it under the lock: two changes at once must not undo each other.
            asked = self.running()
            self.inbox.raw_wanted = self.dispatch.hears("stream_event") or (
                asked is not None and asked.wants_raw
            )

    def running(self) -> Asked | None:
        """The question on the wire, until its handlers have run; under the lock."""
        entry = self.connection.exchange.question if self.connection is not None else None
        return entry.owner if entry is not None else None

    # What the program asks of the CLI itself, beside the questions to Claude.

    def request(
        self,
        method: str,
        subtype: str,
        fields: Mapping[str, Any],
        timeout: float | None,
        on_reply: Callable[[Reply], None] | None = None,
    ) -> dict[str, Any]:
        """Send a request, and wait for the CLI's word. If it is replaced just now: the next's."""
        if not isinstance(subtype, str) or not subtype:
            raise UsageError(f"the name of a control request is a str, not {subtype!r}.")
        self.check()
        patience = self.options.control_timeout if timeout is None else timeout
        deadline = Deadline(patience)
        while True:
            connection = self.starter.ensure_ready(method, deadline.left())
            try:
                reply = connection.request(subtype, fields, on_reply)
            except BeingReplaced:
                continue
            try:
                return reply_of(connection, reply, subtype, deadline.left()).check(subtype)
            except ControlTimeout as error:
                raise ControlTimeout(subtype, patience or error.timeout) from None

    # A question ends.

    def finished(self, entry: Sent) -> None:
        """A question is over, whatever came of it: another one may be sent."""
        with self.lock:
            connection = self.connection
            self.starter.crashes = 0
            if entry.owner is not None:
                self.open.discard(entry.owner)
            if connection is None:
                return
            connection.exchange.finish(entry)
            steered = bool(connection.exchange.awaited_steers())
        if steered:
            self.stopper.watch_steers()

    def unqueue(self, asked: Asked) -> bool:
        """Take a question out of the queue; False if it is not in it any more."""
        with self.lock:
            if asked not in self.queue:
                return False
            self.queue.remove(asked)
            self.open.discard(asked)
        self.pump_elsewhere()  # others may have waited behind it, for nothing but it
        return True

    def cancel(self, asked: Asked) -> bool:
        """Withdraw a queued question: True. Interrupt a running one: False."""
        self.check_process()
        # First, so that it is either seen before it is asked again, or found in the queue.
        asked.was_cancelled = True
        if not self.unqueue(asked):
            self.stopper.stop(asked, None)
            return False
        if asked.was_sent:
            asked.fail(interrupted_between_tries(asked))
            return False
        asked.stop_timers()
        asked.withdraw()
        return True

    def cancel_waiting(self) -> bool:
        """Stop a question that waits to be asked again: to the program it is one that runs."""
        with self.lock:
            first = self.queue[0] if self.queue else None
        if first is None or not first.was_sent or not self.unqueue(first):
            return False
        first.fail(interrupted_between_tries(first))
        return True

    def fail_queued(self, error: Exception) -> None:
        """Fail every question that was not sent."""
        with self.lock:
            self.starter.crashes = 0
            queued = list(self.queue)
            self.queue.clear()
            self.open.difference_update(queued)
        for asked in queued:
            asked.fail(copy.copy(error))  # each its own: raising adds to the traceback

    # A question is asked again.

    def send_unread(self, asked: Asked) -> bool:
        """
        Queue a question again that the CLI cannot have read: it had died before. Once.

        False if it was read, as far as can be known, or is to be asked no more.
        """
        with self.lock:
            lost, asked.was_lost = asked.was_lost, False
            if not lost or asked.was_sent_twice or asked.is_over():
                return False
            if asked.was_cancelled or asked.stopping is not None:
                return False
            asked.was_sent_twice = True
            # The same message, of which the next CLI knows nothing.
            sent = asked.sent
            asked.sent = Sent(sent.uuid, sent.kind, asked, is_command=sent.is_command)
            self.queue.appendleft(asked)
        return True

    def ask_again(
        self, asked: Asked, message: Any, wait: float, raw: Mapping[str, Any] | None
    ) -> bool:
        """
        Queue *message* in the name of a question that was sent before; False: it is too late.

        It comes before all others, which wait with it: what failed now would fail for them
        too. *raw* is the result of the try that failed, if there was one.
        """
        with self.lock:
            if self.closing or asked.is_over():
                return False
            if asked.was_cancelled or asked.stopping is not None:
                return False
            if raw is not None:
                self.starter.crashes = 0
            if self.connection is not None:
                # Together with what follows: no other question may get between.
                self.connection.exchange.finish(asked.sent)
            asked.begin_again(raw)
            self._prepare(asked, message, QUESTION, new_uuid())
            asked.not_before = time.monotonic() + wait if wait else 0.0
            self.queue.appendleft(asked)
            self.open.add(asked)
        if wait:
            asked.timers.append(self.timers.after(wait, self.pump_elsewhere))
        return True


def interrupted_between_tries(asked: Asked) -> TurnInterrupted:
    """The error of a turn that is not asked again, because somebody stopped it."""
    return TurnInterrupted("the turn was interrupted between two tries", asked.tried_answer)


def is_command(message: Mapping[str, Any]) -> bool:
    """Whether the CLI takes a message for a slash command: its last text begins with one."""
    if is_verbatim(message):
        return False
    inner = message.get("message")
    content = inner.get("content") if isinstance(inner, Mapping) else message.get("content")
    if isinstance(content, (list, tuple)) and content and isinstance(content[-1], Mapping):
        content = content[-1].get("text")
    return isinstance(content, str) and content.startswith("/")


def blocks_of(message: Mapping[str, Any]) -> list[Any]:
    """The content blocks of a user message."""
    content = message["message"]["content"]
    return list(content) if isinstance(content, list) else [{"type": "text", "text": content}]


def with_blocks(blocks: list[Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """*message* with *blocks* before its own: no CLI interprets any but the last."""
    content = [*blocks, *blocks_of(message)]
    return {**message, "message": {**message["message"], "content": content}}


def new_uuid() -> str:
    """A random id; by hand, because the module for it takes long to import."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
