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
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, Optional, Set

from ..answers import Turn
from ..errors import (
    AskTimeout,
    BudgetExceeded,
    ClientClosed,
    ExecutionError,
    ReturnsError,
    TurnInterrupted,
    UnsupportedByCli,
    UsageError,
)
from ..events import InterruptReceipt
from ..protocol.codec import encode, encode_question
from ..protocol.costs import CostMeter, Usage
from ..protocol.outcomes import Failure, failure_of
from ..protocol.turns import CONTEXT, QUESTION, STEER, Entry
from .delivery import Delivery
from .dispatcher import Dispatcher
from .handlers import HandlerRegistry
from .inbox import Inbox
from .lifecycle import Lifecycle
from .responders import Responders
from .serving import Serving
from .stopping import Stopper
from .timers import Timers
from .waiting import Changes

if TYPE_CHECKING:
    from ..options import Options
    from .connection import Connection
    from .items import EndOfStream

__all__ = ["Engine"]

# A steered message that old CLIs neither echo nor answer within this time was consumed.
STEER_PATIENCE = 3.0
# A turn of the CLI's own that is silent for so long no longer holds up a question.
FOREIGN_PATIENCE = 30.0

CLIENT_NUMBERS = itertools.count(1)


class Engine:
    """See the module."""

    def __init__(self, options: Options, registry: HandlerRegistry) -> None:
        self.options = options
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
        self.queue: Deque[Turn] = deque()
        # Turns that are not done: they all fail when the client closes.
        self.open_turns: Set[Turn] = set()
        # Told when a batch was worked off, or the client's state changed.
        self.changes = Changes()
        self.meter = CostMeter()
        self.session_id: Optional[str] = options.session_id or (
            None if options.fork_session else options.resume
        )
        self.lifecycle = Lifecycle(self)

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

    def check(self) -> None:
        """Refuse a closed client, and one that was inherited by fork."""
        if os.getpid() != self.process_id:
            self.check_process()
        if self.lifecycle.closing:
            raise ClientClosed()

    def submit(self, turn: Turn, message: Any, kind: str = QUESTION) -> None:
        """Queue a question; start the CLI if need be; send it if nothing is in the way."""
        entry = turn._entry = Entry(new_uuid(), kind, turn)
        # Now, so that what cannot be sent is refused before anything happens.
        turn._data = encode_question(message, entry.uuid)
        self.check()
        if turn.timeout is not None:
            timeout = turn.timeout
            turn._timers.append(self.timers.after(timeout, lambda: self.stopper.timed_out(turn)))
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

    def add_context(self, message: Any) -> None:
        """Queue a message that asks for no answer."""
        self.check()
        self.lifecycle.ensure_ready("add_context")
        connection = self.lifecycle.connection
        if connection is None or not connection.knows_context():
            raise UnsupportedByCli("add_context()", self.lifecycle.cli_version)
        turn = Turn(self, message, raise_on_error=False)
        self.submit(turn, {**message, "shouldQuery": False}, CONTEXT)

    # A question is sent.

    def send_next(self) -> None:
        """Send the next question, if one may be sent."""
        connection = self.lifecycle.connection
        # A question is queued before this looks, and whoever ends the one in flight comes here
        # after that: one of the two sees both.
        if not self.queue or connection is None or connection.ledger.in_flight is not None:
            return
        try:
            with connection.write_lock:
                with self.lock:
                    turn = self._take_next_locked(connection)
                    held_up = turn is None and bool(self.queue) and connection.ledger.foreign_turn
                if turn is not None:
                    if self.inbox.raw_wanted or turn._buffer is not None:
                        self.update_merging()
                    data, turn._data = turn._data, b""
                    connection.write(data)
        except BaseException:
            # Ctrl-C: what counts as sent must be sent, or its end would never come.
            self.responders.run(lambda: self._write_what_was_taken(connection))
            raise
        if held_up:
            self.timers.after(FOREIGN_PATIENCE, self._look_after_foreign_turn)

    def _write_what_was_taken(self, connection: Connection) -> None:
        with connection.write_lock:
            with self.lock:
                entry = connection.ledger.in_flight
                turn = entry.owner if entry is not None else None
                data = turn._data if isinstance(turn, Turn) else b""
                if isinstance(turn, Turn):
                    turn._data = b""
            if data:
                connection.write(data)

    def _take_next_locked(self, connection: Connection) -> Optional[Turn]:
        """The question to write now; it counts as sent from here on."""
        if connection is not self.lifecycle.connection:
            return None  # another one was started meanwhile, and sends by itself
        if not connection.ready or connection.ended:
            return None
        while self.queue and connection.ledger.may_send():
            turn = self.queue.popleft()
            if self.options.budget_usd is not None and self._over_budget(turn):
                continue
            if not turn.set_running_or_notify_cancel():
                continue
            assert turn._entry is not None
            connection.ledger.sent(turn._entry)
            if turn.idle_timeout is not None:
                self.stopper.watch_silence(turn, turn.idle_timeout, time.monotonic())
            return turn
        return None

    def _over_budget(self, turn: Turn) -> bool:
        budget, spent = self.options.budget_usd, self.meter.total_usd
        if budget is None or spent < budget:
            return False
        self.open_turns.discard(turn)
        error = BudgetExceeded(f"{spent:.4f} USD of budget_usd={budget:g} are spent; nothing sent")
        # On another thread: this one holds the lock, and waiters may call us at once.
        self.responders.run(lambda: turn._fail(error))
        return True

    def _look_after_foreign_turn(self) -> None:
        """A turn of the CLI's own that fell silent no longer holds up our question."""
        with self.lock:
            connection = self.lifecycle.connection
            if connection is None or not connection.ledger.foreign_turn:
                return
            silent = time.monotonic() - connection.last_activity
            if silent >= FOREIGN_PATIENCE:
                connection.ledger.foreign_turn = False
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
            entry = connection.ledger.in_flight if connection is not None else None
            turn = entry.owner if entry is not None else None
            self.inbox.raw_wanted = (
                registry is not None and bool(registry.of["stream_event"])
            ) or (isinstance(turn, Turn) and turn._wants_raw())

    # A question ends.

    def turn_ended(self, entry: Entry, raw: Mapping[str, Any]) -> None:
        """Every handler of the turn has run: complete it, and send the next question."""
        turn = entry.owner
        self._finished(entry)
        if not isinstance(turn, Turn):
            self.send_next()
            return
        answer = turn._answer
        assert answer is not None
        failure = failure_of(
            raw, interrupted=turn._interrupted, assistant_error=turn._assistant_error
        )
        if failure is None and self.options.returns is not None and self._lacks_data(turn, raw):
            failure = Failure(ReturnsError, "the answer does not have the form that was asked for")
        answer.is_error = failure is not None
        if turn._handler_error is not None and self.options.raise_handler_errors:
            turn._fail(turn._handler_error)
        elif failure is None:
            turn._succeed(answer)
        elif failure.error_class is TurnInterrupted and turn._stopping is not None:
            turn._fail(with_answer(turn._stopping, answer))
        elif turn.raise_on_error or turn._was_cancelled:
            turn._fail(failure.error(answer, answer.result))
        else:
            turn._succeed(answer)
        self.send_next()

    def _lacks_data(self, turn: Turn, raw: Mapping[str, Any]) -> bool:
        """Whether ``returns=`` asked for data that did not come. Commands bring none."""
        if raw.get("structured_output") is not None:
            return False
        is_question = turn._entry is not None and turn._entry.kind == QUESTION
        return is_question and not str(turn.prompt).startswith("/")

    def turn_withdrawn(self, entry: Entry) -> None:
        """The CLI dropped a question, or forgot its result."""
        turn = entry.owner
        self._finished(entry)
        if isinstance(turn, Turn):
            answer = turn._make_answer(None, 0.0, self.cost_usd)
            if turn._stopping is not None:
                turn._fail(with_answer(turn._stopping, answer))
            elif turn._interrupted:
                turn._fail(TurnInterrupted("the turn was interrupted before it began", answer))
            else:
                turn._fail(ExecutionError("the CLI ended the turn without a result", answer))
        self.send_next()

    def connection_ended(self, item: EndOfStream) -> None:
        """The CLI is gone; see ``lifecycle``."""
        self.lifecycle.connection_ended(item.connection)

    def turn_failed(self, turn: Turn, error: Exception) -> None:
        """The CLI died in mid-turn."""
        with self.lock:
            self.open_turns.discard(turn)
        answer = turn._answer or turn._make_answer(None, 0.0, self.cost_usd)
        if turn._stopping is not None:
            error = with_answer(turn._stopping, answer)
        elif turn._interrupted:
            error = TurnInterrupted("the turn was interrupted, and the CLI ended", answer)
        turn._fail(error)

    def _finished(self, entry: Entry) -> None:
        with self.lock:
            connection = self.lifecycle.connection
            self.lifecycle.crashes = 0
            if isinstance(entry.owner, Turn):
                self.open_turns.discard(entry.owner)
            if connection is None:
                return
            connection.ledger.finished(entry)
            steered = bool(connection.ledger.steered)
        if steered:
            self.timers.after(STEER_PATIENCE, self._forget_steered)

    def _forget_steered(self) -> None:
        with self.lock:
            connection = self.lifecycle.connection
            if connection is None or connection.ledger.running() or connection.ledger.foreign_turn:
                return
            connection.ledger.forget_steered()
        self.responders.run(self.send_next)

    # A question is stopped.

    def cancel(self, turn: Turn) -> bool:
        """Withdraw a queued question: True. Interrupt a running one: False."""
        self.check_process()
        if self.unqueue(turn):
            turn._stop_timers()
            super(Turn, turn).cancel()
            turn.set_running_or_notify_cancel()
            return True
        turn._was_cancelled = True
        self.stopper.stop(turn, None)
        return False

    def interrupt(self, timeout: float, cancel_queued: bool = True) -> InterruptReceipt:
        """Interrupt whatever runs; wait for the CLI's word."""
        self.check()
        connection = self.lifecycle.connection
        if connection is None or not connection.ready or connection.ended:
            return InterruptReceipt()
        running: List[Turn] = []

        def mark() -> bool:
            # When nothing else can be sent before it: what runs now is what it will hit.
            entry = connection.ledger.running()
            if entry is not None and isinstance(entry.owner, Turn):
                entry.owner._interrupted = True
                running.append(entry.owner)
            return True

        fields = {"cancel_queued": True} if cancel_queued else {}
        pending = connection.request("interrupt", fields, only_if=mark)
        assert pending is not None
        for turn in running:
            self.stopper.watch_stop(turn)
        body = pending.wait(timeout).check("interrupt")
        return InterruptReceipt(
            tuple(body.get("still_queued") or ()), tuple(body.get("cancelled") or ()), body
        )

    def control(
        self, subtype: str, fields: Mapping[str, Any], timeout: Optional[float]
    ) -> Dict[str, Any]:
        """Send a request, wait for the CLI's word."""
        if not isinstance(subtype, str) or not subtype:
            raise UsageError(f"the name of a control request is a str, not {subtype!r}.")
        self.check()
        patience = self.options.control_timeout if timeout is None else timeout
        connection = self.lifecycle.ensure_ready("control", patience)
        pending = connection.request(subtype, fields)
        assert pending is not None
        return pending.wait(patience).check(subtype)

    def steer(self, message: Any) -> None:
        """Write a user message into the turn that runs."""
        self.check()
        entry = Entry(new_uuid(), STEER)
        data = encode({**message, "uuid": entry.uuid})
        connection = self.lifecycle.connection
        if connection is not None:
            with connection.write_lock:
                with self.lock:
                    running = connection.ledger.running() is not None and not connection.ended
                    if running:
                        connection.ledger.steer(entry)
                if running:
                    connection.write(data)
                    return
        raise UsageError("no turn is running that could be steered. Call ask() or submit().")

    def unqueue(self, turn: Turn) -> bool:
        """Take a question out of the queue; False if it is not in it any more."""
        with self.lock:
            if turn not in self.queue:
                return False
            self.queue.remove(turn)
            self.open_turns.discard(turn)
            return True


def with_answer(error: Exception, answer: Any) -> Exception:
    """*error* with what there was of an answer."""
    if isinstance(error, AskTimeout):
        return AskTimeout(error.timeout, error.sent, answer, error.idle)
    return error


def new_uuid() -> str:
    """A random id; by hand, because the module for it takes long to import."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
