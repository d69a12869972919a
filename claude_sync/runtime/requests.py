"""
What the program asks of the CLI itself, beside the questions to Claude.

::

    [client.interrupt(), client.control()] -> connection -> CLI

A request waits for the CLI's word, with an end. One that comes while the CLI is being
replaced, on purpose, goes to its successor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional

from ..engine.turn import Turn
from ..errors import TurnInterrupted, UsageError
from ..messages.events import InterruptReceipt
from ..support.waiting import Deadline
from .connection import BeingReplaced

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from .engine import Engine
    from .pending import PendingReply

__all__ = ["Requests", "interrupted_between_tries"]


class Requests:
    """The requests of one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def interrupt(self, timeout: float, cancel_queued: bool = True) -> InterruptReceipt:
        """Interrupt whatever runs; wait for the CLI's word."""
        engine = self._engine
        engine.check()
        connection = engine.lifecycle.connection
        if self._stopped_between_tries():
            # That was what ran; what is sent next must not be hit.
            return InterruptReceipt()
        if connection is None or not connection.ready or connection.ended:
            return InterruptReceipt()
        running: List[Turn] = []

        def mark() -> bool:
            # When nothing else can be sent before it: what runs now is what it will hit.
            entry = connection.exchange.running()
            if entry is not None and isinstance(entry.owner, Turn):
                entry.owner._interrupted = entry.interrupted = True
                running.append(entry.owner)
            elif entry is None and connection.exchange.is_working():
                engine.watch_own_turn(connection)
            return True

        try:
            pending = connection.interrupt(mark, cancel_queued)
        except BeingReplaced:
            return InterruptReceipt()  # only what is idle is replaced
        for turn in running:
            engine.stopper.watch_stop(turn)
        if pending is None:  # there is no word to wait for
            return InterruptReceipt()
        body = pending.wait(timeout).check("interrupt")
        return InterruptReceipt(
            tuple(body.get("still_queued") or ()), tuple(body.get("cancelled") or ()), body
        )

    def _stopped_between_tries(self) -> bool:
        """A question that waits to be asked again is, to the program, one that runs."""
        engine = self._engine
        with engine.lock:
            first = engine.queue[0] if engine.queue else None
        if first is None or not (first._tries or first._form_tries) or not engine.unqueue(first):
            return False
        first._fail(interrupted_between_tries(first))
        return True

    def control(
        self, subtype: str, fields: Mapping[str, Any], timeout: Optional[float]
    ) -> Dict[str, Any]:
        """Send a request, wait for the CLI's word."""
        if not isinstance(subtype, str) or not subtype:
            raise UsageError(f"the name of a control request is a str, not {subtype!r}.")
        engine = self._engine
        engine.check()
        patience = engine.options.control_timeout if timeout is None else timeout
        pending = self.send("control", subtype, fields, Deadline(patience))
        return pending.wait(patience).check(subtype)

    def send(
        self,
        method: str,
        subtype: str,
        fields: Mapping[str, Any],
        deadline: Deadline,
        on_reply: Optional[Callable[[Reply], None]] = None,
    ) -> PendingReply:
        """Send a request to the CLI that runs; if it is just being replaced, to the next."""
        while True:
            connection = self._engine.lifecycle.ensure_ready(method, deadline.left())
            try:
                pending = connection.request(subtype, fields, on_reply)
            except BeingReplaced:
                continue
            assert pending is not None
            return pending


def interrupted_between_tries(turn: Turn) -> TurnInterrupted:
    """The error of a turn that is not asked again, because somebody stopped it."""
    return TurnInterrupted("the turn was interrupted between two tries", turn._tried_answer)
