"""What travels through the inbox besides raw stream events and merged deltas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..messages.usage import Charge
    from ..protocol.exchange import Sent
    from .connection import Connection

__all__ = ["EndOfStream", "InOrder", "Routed", "StderrLine", "Withdrawn"]


class Routed:
    """
    A message, with what the reader found out about it.

    Attributes:
        raw: The message.
        entry: The question it belongs to, or None.
        completes: For a result: the question it answers, or None.
        bystander: For a result of nobody: the question that was waiting meanwhile.
        withdrawn: The question that will get no result, as this message says; or None.
        charge: For a result: what was spent since the one before.
        at: When it arrived.

    """

    __slots__ = ("at", "bystander", "charge", "completes", "entry", "raw", "withdrawn")

    def __init__(
        self,
        raw: Mapping[str, Any],
        entry: Sent | None,
        completes: Sent | None = None,
        bystander: Sent | None = None,
        withdrawn: Sent | None = None,
        charge: Charge | None = None,
    ) -> None:
        self.raw = raw
        self.entry = entry
        self.completes = completes
        self.bystander = bystander
        self.withdrawn = withdrawn
        self.charge = charge
        self.at = monotonic()


class InOrder(NamedTuple):
    """A request of the CLI that keeps its place among the messages; *entry*: in whose turn."""

    entry: Sent | None
    serve: Callable[[], None]


class Withdrawn(NamedTuple):
    """The CLI dropped a question before it ran; no result will come."""

    entry: Sent


class StderrLine(NamedTuple):
    """A line that the CLI wrote for people."""

    text: str


class EndOfStream(NamedTuple):
    """The CLI says no more. The last item of its connection, always, and exactly one."""

    connection: Connection
