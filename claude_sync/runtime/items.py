"""What travels through the inbox besides raw stream events and merged deltas."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

if TYPE_CHECKING:
    from ..messages.usage import Charge
    from ..protocol.exchange import Sent
    from .connection import Connection

__all__ = ["Asked", "EndOfStream", "Routed", "StderrLine", "Withdrawn"]


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
        entry: Optional[Sent],
        completes: Optional[Sent] = None,
        bystander: Optional[Sent] = None,
        withdrawn: Optional[Sent] = None,
        charge: Optional[Charge] = None,
    ) -> None:
        self.raw = raw
        self.entry = entry
        self.completes = completes
        self.bystander = bystander
        self.withdrawn = withdrawn
        self.charge = charge
        self.at = monotonic()


class Asked:
    """
    A request of the CLI that keeps its place among the messages.

    Attributes:
        entry: The question in whose turn it came, or None.
        serve: Has it answered, on this thread or another.

    """

    __slots__ = ("entry", "serve")

    def __init__(self, entry: Optional[Sent], serve: Callable[[], None]) -> None:
        self.entry = entry
        self.serve = serve


class Withdrawn:
    """The CLI dropped a question before it ran; no result will come."""

    __slots__ = ("entry",)

    def __init__(self, entry: Sent) -> None:
        self.entry = entry


class StderrLine:
    """A line that the CLI wrote for people."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class EndOfStream:
    """The CLI says no more. The last item of its connection, always, and exactly one."""

    __slots__ = ("connection", "error")

    def __init__(self, connection: Connection, error: Optional[BaseException]) -> None:
        self.connection = connection
        self.error = error
