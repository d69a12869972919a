"""What a client has done so far, in numbers: ``client.stats()``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.session import Session

__all__ = ["Statistics", "statistics_of"]


@dataclasses.dataclass(frozen=True)
class Statistics:
    """
    What a client has done so far; see ``Client.stats()``.

    Attributes:
        messages_received, bytes_received: What the CLI has written, in lines and in bytes.
        messages_sent, bytes_sent: What was written to it.
        questions_waiting: Questions that were not sent yet.
        requests_open: Requests of the CLI that wait for an answer of the program.
        items_waiting, bytes_waiting: What has arrived and was not delivered to handlers yet.
        delivery_seconds: How long delivering took, handlers included.
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
    starts: int

    @property
    def reconnects(self) -> int:
        """How often the CLI was started again."""
        return max(0, self.starts - 1)


def statistics_of(session: Session) -> Statistics:
    """The numbers of a session as they are now."""
    traffic = session.traffic()
    items, size = session.inbox.waiting()
    with session.lock:
        connection = session.connection
        requests = len(connection.opened) if connection is not None else 0
        questions = len(session.queue)
    return Statistics(
        messages_received=traffic.lines_received,
        bytes_received=traffic.bytes_received,
        messages_sent=traffic.lines_sent,
        bytes_sent=traffic.bytes_sent,
        questions_waiting=questions,
        requests_open=requests,
        items_waiting=items,
        bytes_waiting=size,
        delivery_seconds=session.dispatch.busy_seconds,
        starts=traffic.starts,
    )
