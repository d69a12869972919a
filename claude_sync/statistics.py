"""
What a client has done so far, in numbers: ``client.stats()``.

For logs and for people who look for what is slow. Counting costs nothing by the message;
how long each handler takes is measured from the first call of ``stats()`` on.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, Mapping, Optional

if TYPE_CHECKING:
    from .runtime.engine import Engine

__all__ = ["HandlerTime", "Statistics", "statistics_of"]


@dataclasses.dataclass(frozen=True)
class HandlerTime:
    """
    What one handler has taken.

    Attributes:
        name: The function's name.
        calls: How often it was called.
        seconds: How long that took.
        longest: The seconds of its longest call.

    """

    name: str
    calls: int
    seconds: float
    longest: float


@dataclasses.dataclass(frozen=True)
class Statistics:
    """
    What a client has done so far; see ``Client.stats()``.

    Attributes:
        messages_received, bytes_received: What the CLI has said, in lines and in bytes.
        messages_sent, bytes_sent: What it was told.
        questions_waiting: Questions that were not sent yet.
        requests_open: Requests of the CLI that wait for an answer of the program.
        items_waiting, bytes_waiting: What has arrived and was not delivered to handlers yet.
        delivery_seconds: How long delivering took, handlers included.
        handlers: How long each handler took, by its name; from the first ``stats()`` on.
        starts: How often a CLI was started.

    """

    messages_received: int
    bytes_received: int
    messages_sent: int
    bytes_sent: int
    questions_waiting: int
    requests_open: int
    items_waiting: int
    bytes_waiting: int
    delivery_seconds: float
    handlers: Mapping[str, HandlerTime]
    starts: int

    @property
    def reconnects(self) -> int:
        """How often the CLI was started again."""
        return max(0, self.starts - 1)

    @property
    def slowest_handler(self) -> Optional[HandlerTime]:
        """The handler with the longest call; None before one was measured."""
        return max(self.handlers.values(), key=lambda each: each.longest, default=None)


def statistics_of(engine: Engine) -> Statistics:
    """The numbers of an engine as they are now; from now on, handlers are timed."""
    counted = engine.traffic.total()
    times: Dict[str, HandlerTime] = {
        name: HandlerTime(name, *numbers)
        for name, numbers in engine.dispatcher.measure().copy().items()
    }
    items, size = engine.inbox.waiting()
    with engine.lock:
        connection = engine.lifecycle.connection
        requests = len(connection.open_requests) if connection is not None else 0
        questions = len(engine.queue)
    return Statistics(
        messages_received=counted.lines_received,
        bytes_received=counted.bytes_received,
        messages_sent=counted.lines_sent,
        bytes_sent=counted.bytes_sent,
        questions_waiting=questions,
        requests_open=requests,
        items_waiting=items,
        bytes_waiting=size,
        delivery_seconds=engine.watch.seconds,
        handlers=times,
        starts=engine.traffic.lives,
    )
