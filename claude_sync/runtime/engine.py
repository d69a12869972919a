"""
The client at work: questions in, answers out, over all lives of its CLI.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

The threads hold an :class:`Engine`, never the ``Client``: a client that the
program has forgotten can be collected, and closes its engine. This file has the
way of a question: queued, sent, stopped, ended. How the CLI is started, watched
and closed is in ``lifecycle``.

``lock`` guards the queue, the connection and everything of ``protocol/``. It is
never held while writing, waiting or calling anything of the program's.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Mapping, Optional, Set, Tuple

from ..engine.handlers import HandlerRegistry
from ..engine.marks import TURNS_KEPT, Marks
from ..engine.turn import FINISHED, RUNNING, Turn
from ..errors import (
    BudgetExceeded,
    ClientClosed,
    UnsupportedByCli,
    UsageError,
)
from ..log import Naming
from ..messages.usage import Usage
from ..prompts import FIRST_VERBATIM, is_verbatim
from ..protocol.costs import CostMeter
from ..protocol.dialects import dialect_of
from ..protocol.exchange import CONTEXT, IDLE, QUESTION, STEER, Sent
from ..protocol.tally import Tally
from ..support.waiting import Changes
from .delivery import Delivery
from .dispatcher import Dispatcher
from .endings import Endings
from .inbox import Inbox
from .items import Withdrawn
from .lifecycle import Lifecycle
from .requests import Requests, interrupted_between_tries
from .responders import Responders
from .restarting import Restarter
from .serving import Serving
from .stopping import STOP_PATIENCE, Stopper
from .timers import Timers
from .traffic import Traffic
from .watch import Watch

if TYPE_CHECKING:
    from ..options import Options
    from .connection import Connection
    from .items import EndOfStream

__all__ = ["Engine"]

# A steered message that old CLIs neither echo nor answer within this time was consumed.
STEER_PATIENCE = 3.0
# A turn of the CLI's own that is silent for so long no longer holds up a question.
FOREIGN_PATIENCE = 30.0
# A CLI that says it is idle, and is silent for so long, does not begin what it was sent.
IDLE_PATIENCE = 10.0

CLIENT_NUMBERS = itertools.count(1)


class Engine:
    """See the module."""

    def __init__(
        self,
        options: Options,
        registry: HandlerRegistry,
        own_schema: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.options = options
        self.dialect = dialect_of(options.dialect)
        self._encode_question = self.dialect.encode_question
        self.name = options.name or f"claude-{next(CLIENT_NUMBERS)}"
        self.process_id = os.getpid()
        self.lock = threading.Lock()
        self.registry: Callable[[], Optional[HandlerRegistry]] = weakref.ref(registry)
        self.inbox = Inbox()
        self.timers = Timers(self.name)
        self.responders = Responders(self.name)
        post = options.post
        self.dispatcher = Dispatcher(self, post if callable(post) else None)
        self.delivery = Delivery(self, post)
        self.serving = Serving(self, post)
        self.stopper = Stopper(self)
        self.traffic = Traffic()
        self.watch = Watch(self)
        self.queue: Deque[Turn] = deque()
        # Turns that are not done: they all fail when the client closes.
        self.open_turns: Set[Turn] = set()
        # Told when a batch was worked off, or the client's state changed.
        self.changes = Changes()
        self.meter = CostMeter()
        # What a pool has spent, whose clients share one budget.
        self.spent_together: Optional[Callable[[], float]] = None
        self.tally = Tally()
        # The times of the last questions, for timelines.
        self.marks: Deque[Marks] = deque(maxlen=TURNS_KEPT)
        self.session_id: Optional[str] = options.session_id or (
            None if options.fork_session else options.resume
        )
        # A turn has begun, so there is a conversation that can be resumed.
        self.conversed = False
        # The form that every answer has unless a question says otherwise.
        self.own_schema = own_schema
        self.restarter = Restarter(self)
        self.lifecycle = Lifecycle(self)
        self.endings = Endings(self)
        self.requests = Requests(self)

    # What was spent.

    @property
    def cost_usd(self) -> float:
        """What the CLI's results report over the client's life."""
        return self.meter.total_usd

    @property
    def usage(self) -> Usage:
        """The tokens they report."""
        return self.meter.usage

    # A question is queued.

    def is_inherited(self) -> bool:
        """Whether this is a copy, in a forked child, of the parent's."""
        return os.getpid() != self.process_id

    def check_process(self) -> None:
        """Refuse a client that was inherited by fork; before any lock, which nobody may hold."""
        if self.is_inherited():
            raise UsageError(
                "this client belongs to the process that made it and cannot be used after "
                "fork(). Make a new Client in the child."
            )

    @property
    def naming(self) -> Naming:
        """A context in which log lines and errors have this client's name."""
        return Naming(self.name)

    def check(self) -> None:
        """Refuse a closed client, and one that was inherited by fork."""
        if os.getpid() != self.process_id:
            self.check_process()
        if self.lifecycle.closing:
            raise ClientClosed()

    def submit(
        self, turn: Turn, message: Any, kind: str = QUESTION, uuid: Optional[str] = None
    ) -> None:
        """
        Queue a question; start the CLI if need be; send it if nothing is in the way.

        *uuid* is that of its message, a new one by default: the CLI ignores one it has seen.
        """
        entry = turn._entry = Sent(uuid or new_uuid(), kind, turn, is_command=is_command(message))
        # Now, so that what cannot be sent is refused before anything happens.
        turn._data, turn._older_data = self._encode(message, entry.uuid)
        self.check()
        if turn._schema is not None:
            self.restarter.check(turn)
        if self.options.retries:
            turn._message = message
        if turn.timeout is not None:
            timeout = turn.timeout
            turn._timers.append(self.timers.after(timeout, lambda: self.stopper.timed_out(turn)))
        if self.options.budget_usd is not None and self._over_budget(turn):
            return  # before a CLI is started for it, which may cost something by itself
        with self.lock:
            self.queue.append(turn)
            self.open_turns.add(turn)
        try:
            self.lifecycle.ensure_begun()
        except BaseException:
            self.unqueue(turn)
            turn._stop_timers()
            raise
        self.send_next()

    def add_context(self, message: Any, uuid: Optional[str] = None) -> None:
        """Queue a message that asks for no answer; *uuid* as in :meth:`submit`."""
        self.check()
        self.lifecycle.ensure_ready("add_context")
        connection = self.lifecycle.connection
        if connection is not None:
            connection.transport.check_carries("add_context")
        if connection is None or not connection.knows_context():
            raise UnsupportedByCli("add_context()", self.lifecycle.cli_version)
        turn = Turn(self, message, raise_on_error=False)
        self.submit(turn, {**message, "shouldQuery": False}, CONTEXT, uuid)

    def _encode(self, message: Mapping[str, Any], uuid: str) -> Tuple[bytes, bytes]:
        """The line for a message; and that for older CLIs, if they need another one."""
        data = self._encode_question(message, uuid)
        if not is_verbatim(message):
            return data, b""
        from ..prompts.verbatim import for_older_cli

        older = for_older_cli(message)
        return data, b"" if older is None else self._encode_question(older, uuid)

    # A question is sent.

    def send_next(self) -> None:
        """Send the next question, if one may be sent."""
        connection = self.lifecycle.connection
        # A question is queued before this looks, and whoever ends the one in flight comes here
        # after that: one of the two sees both.
        if not self.queue or connection is None or connection.exchange.question is not None:
            return
        try:
            with connection.write_lock:
                with self.lock:
                    turn = self._take_next_locked(connection)
                    held_up = turn is None and bool(self.queue) and connection.exchange.foreign_turn
                if turn is not None:
                    if self.inbox.raw_wanted or turn._buffer is not None:
                        self.update_merging()
                    data = take_data(connection, turn)
                    self._write(connection, turn, data)
        except BaseException:
            # Ctrl-C: what counts as sent must be sent, or its end would never come.
            self.responders.run(lambda: self._write_what_was_taken(connection))
            raise
        if held_up:
            self.timers.after(FOREIGN_PATIENCE, self._look_after_foreign_turn)

    def _write_what_was_taken(self, connection: Connection) -> None:
        with connection.write_lock:
            with self.lock:
                entry = connection.exchange.question
                turn = entry.owner if entry is not None else None
                data = take_data(connection, turn) if isinstance(turn, Turn) else b""
            if data and isinstance(turn, Turn):
                self._write(connection, turn, data)

    def _write(self, connection: Connection, turn: Turn, data: bytes) -> None:
        if not connection.write(data) and turn._unread is None:
            turn._unread = data

    def _take_next_locked(self, connection: Connection) -> Optional[Turn]:
        """The question to write now; it counts as sent from here on."""
        if connection is not self.lifecycle.connection:
            return None  # another one was started meanwhile, and sends by itself
        if not connection.ready or connection.ended or connection.retiring:
            return None
        while self.queue and connection.exchange.may_send():
            turn = self.queue[0]
            if turn._not_before and time.monotonic() < turn._not_before:
                return None
            if turn._schema is not connection.schema and not self.restarter.fits(connection, turn):
                return None
            self.queue.popleft()
            if turn._state == FINISHED:
                continue  # its time was up just when it was to be asked again
            if self.options.budget_usd is not None and self._over_budget(turn):
                continue
            # Only cancel() could have got between, and that takes it out of the queue first.
            turn._state = RUNNING
            assert turn._entry is not None
            connection.exchange.send(turn._entry)
            connection.marks = turn._marks
            if turn._marks.sent() and turn._entry.kind == QUESTION:
                self.marks.append(turn._marks)
            if turn.idle_timeout is not None:
                self.stopper.watch_silence(turn, turn.idle_timeout, time.monotonic())
            return turn
        return None

    def _over_budget(self, turn: Turn) -> bool:
        budget, entry = self.options.budget_usd, turn._entry
        spent = self.meter.total_usd if self.spent_together is None else self.spent_together()
        if budget is None or spent < budget:
            return False
        if entry is not None and entry.kind == CONTEXT:
            return False  # nothing is asked, so it costs nothing
        self.open_turns.discard(turn)
        told = "not asked again" if turn._tries or turn._form_tries else "nothing sent"
        reason = f"{spent:.4f} USD of the budget of {budget:g} are spent; {told}"
        error = BudgetExceeded(reason, turn._tried_answer)
        # On another thread: this one holds the lock, and waiters may call us at once.
        self.responders.run(lambda: turn._fail(error))
        return True

    def _look_after_foreign_turn(self) -> None:
        """A turn of the CLI's own that fell silent no longer holds up our question."""
        with self.lock:
            connection = self.lifecycle.connection
            if connection is None or not connection.exchange.foreign_turn:
                return
            silent = time.monotonic() - connection.last_activity
            if silent >= FOREIGN_PATIENCE:
                connection.exchange.foreign_turn = False
        if silent >= FOREIGN_PATIENCE:
            self.responders.run(self.send_next)
        else:
            self.timers.after(FOREIGN_PATIENCE - silent, self._look_after_foreign_turn)

    def update_merging(self) -> None:
        """Text may be merged only while nobody wants every raw event."""
        if self.is_inherited():
            return
        with self.lock:
            # All of it under the lock: two changes at once must not undo each other.
            registry = self.registry()
            connection = self.lifecycle.connection
            entry = connection.exchange.question if connection is not None else None
            turn = entry.owner if entry is not None else None
            self.inbox.raw_wanted = (
                registry is not None and bool(registry.of["stream_event"])
            ) or (isinstance(turn, Turn) and turn._wants_raw())

    # A question ends.

    def connection_ended(self, item: EndOfStream) -> None:
        """The CLI is gone; see ``lifecycle``."""
        self.lifecycle.connection_ended(item.connection)

    def finished(self, entry: Sent) -> None:
        """A question is over, whatever came of it: another one may be sent."""
        with self.lock:
            connection = self.lifecycle.connection
            self.lifecycle.crashes = 0
            if isinstance(entry.owner, Turn):
                self.open_turns.discard(entry.owner)
            if connection is None:
                return
            connection.exchange.finish(entry)
            steered = bool(connection.exchange.awaited_steers())
        if steered:
            self.timers.after(STEER_PATIENCE, self._give_up_steers)

    def _give_up_steers(self) -> None:
        """A CLI that says nothing of steered messages, and nothing at all, has consumed them."""
        with self.lock:
            connection = self.lifecycle.connection
            exchange = connection.exchange if connection is not None else None
            if connection is None or exchange is None or not exchange.awaited_steers():
                return
            if exchange.is_working():
                return
            silent = time.monotonic() - connection.last_activity
            if silent >= STEER_PATIENCE:
                exchange.give_up_steers()
        if silent >= STEER_PATIENCE:
            self.responders.run(self.send_next)
        else:
            self.timers.after(STEER_PATIENCE - silent, self._give_up_steers)

    def watch_stalled(self, connection: Connection) -> None:
        """The CLI says that it is idle: a question that it never begins has no answer."""
        question = connection.exchange.running()
        assert question is not None

        def look() -> None:
            with self.lock:
                exchange = connection.exchange
                if exchange.running() is not question or not exchange.is_stalled():
                    return
                silent = time.monotonic() - connection.last_activity
                finished = exchange.withdraw(question, IDLE) if silent >= IDLE_PATIENCE else []
            if finished:
                self.inbox.put([Withdrawn(finished[0])])
            else:
                self.timers.after(IDLE_PATIENCE - silent, look)

        self.timers.after(IDLE_PATIENCE, look)

    def watch_own_turn(self, connection: Connection) -> None:
        """
        A turn of the CLI's own was interrupted: end a CLI that hangs since then.

        2.1.29 does, if the interrupt comes in the last moment. New CLIs say how the turn ended.
        """
        if connection.exchange.tells_lifecycle or self.options.on_crash != "resume":
            return
        connection.interrupted_own_turn = True

        def look() -> None:
            with self.lock:
                silent = time.monotonic() - connection.last_activity
                if not connection.interrupted_own_turn or connection.exchange.running():
                    return
            if silent < STOP_PATIENCE:
                self.timers.after(STOP_PATIENCE - silent, look)
            else:
                connection.kill("it did not go on after an interrupt")

        self.timers.after(STOP_PATIENCE, look)

    # A question is stopped.

    def cancel(self, turn: Turn) -> bool:
        """Withdraw a queued question: True. Interrupt a running one: False."""
        self.check_process()
        # First, so that it is either seen before it is asked again, or found in the queue.
        turn._was_cancelled = True
        if self.unqueue(turn):
            turn._stop_timers()
            if turn._tries or turn._form_tries:
                turn._fail(interrupted_between_tries(turn))
                return False
            super(Turn, turn).cancel()
            turn.set_running_or_notify_cancel()
            return True
        self.stopper.stop(turn, None)
        return False

    def steer(self, message: Any, uuid: Optional[str] = None) -> None:
        """Write a user message into the turn that runs; *uuid* as in :meth:`submit`."""
        self.check()
        entry = Sent(uuid or new_uuid(), STEER)
        data, older = self._encode(message, entry.uuid)
        connection = self.lifecycle.connection
        if connection is not None:
            connection.transport.check_carries("steer")
            with connection.write_lock:
                with self.lock:
                    running = connection.exchange.running() is not None and not connection.ended
                    if running:
                        connection.exchange.steer(entry)
                if running:
                    knows = connection.is_at_least(*FIRST_VERBATIM)
                    connection.write(data if knows or not older else older)
                    return
        raise UsageError("no turn is running that could be steered. Call ask() or submit().")

    def unqueue(self, turn: Turn) -> bool:
        """Take a question out of the queue; False if it is not in it any more."""
        with self.lock:
            if turn not in self.queue:
                return False
            self.queue.remove(turn)
            self.open_turns.discard(turn)
            others = bool(self.queue)
        if others:  # which may have waited behind it, for nothing but it
            self.responders.run(self.send_next)
        return True

    # A question is asked again.

    def send_unread(self, turn: Turn) -> bool:
        """
        Queue a question again that the CLI cannot have read: it had died before. Once.

        False if it was read, as far as can be known, or is to be asked no more.
        """
        with self.lock:
            data, turn._unread = turn._unread, b""
            if not data or turn._is_over() or turn._was_cancelled or turn._stopping is not None:
                return False
            turn._data, turn._older_data = data, b""
            entry = turn._entry
            assert entry is not None
            # The same message, of which the next CLI knows nothing.
            turn._entry = Sent(entry.uuid, entry.kind, turn, is_command=entry.is_command)
            self.queue.appendleft(turn)
        return True

    def ask_again(
        self, turn: Turn, message: Any, wait: float, raw: Optional[Mapping[str, Any]]
    ) -> bool:
        """
        Queue *message* in the name of a turn that was sent before; False if it is too late.

        It comes before all others, which wait with it: what failed now would fail for them
        too. *raw* is the result of the try that failed, if there was one.
        """
        entry = Sent(new_uuid(), QUESTION, turn, is_command=is_command(message))
        data = self._encode(message, entry.uuid)
        with self.lock:
            if self.lifecycle.closing or turn._is_over():
                return False
            if turn._was_cancelled or turn._stopping is not None:
                return False
            if raw is not None:
                self.lifecycle.crashes = 0
            connection = self.lifecycle.connection
            if connection is not None and turn._entry is not None:
                # Together with what follows: no other question may get between.
                connection.exchange.finish(turn._entry)
            turn._begin_again(raw)
            turn._entry, (turn._data, turn._older_data) = entry, data
            turn._not_before = time.monotonic() + wait if wait else 0.0
            self.queue.appendleft(turn)
            self.open_turns.add(turn)
        if wait:
            turn._timers.append(
                self.timers.after(wait, lambda: self.responders.run(self.send_next))
            )
        return True


def is_command(message: Mapping[str, Any]) -> bool:
    """Whether the CLI takes a message for a slash command: its last text begins with one."""
    if is_verbatim(message):
        return False
    inner = message.get("message")
    content = inner.get("content") if isinstance(inner, Mapping) else message.get("content")
    if isinstance(content, (list, tuple)) and content and isinstance(content[-1], Mapping):
        content = content[-1].get("text")
    return isinstance(content, str) and content.startswith("/")


def take_data(connection: Connection, turn: Turn) -> bytes:
    """The line of a turn that is to be written now; it is written once."""
    data, turn._data = turn._data, b""
    if data and turn._older_data and not connection.is_at_least(*FIRST_VERBATIM):
        return turn._older_data
    return data


def new_uuid() -> str:
    """A random id; by hand, because the module for it takes long to import."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
