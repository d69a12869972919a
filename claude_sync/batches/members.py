"""
A client of a pool, and what it is doing.

::

    starting -> [idle] -> lent -> [used] -> tidied with /clear -> [idle]
                            |                     |
                            +---------------------+--> leaving

What it does next is decided in ``pooling.py``, whose lock guards it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["IDLE", "LEAVING", "LENT", "STARTING", "TIDYING", "USED", "Member"]

STARTING, IDLE, LENT, USED = "starting", "idle", "lent", "used"
TIDYING, LEAVING = "tidying", "leaving"


class Member:
    """
    A client of the pool. The keeper's lock guards the state.

    Attributes:
        state: What it is doing, see the top of this module.
        turns: How many questions it was lent for.
        counted: What of its cost somebody has taken into account.

    """

    __slots__ = ("_client", "counted", "state", "turns")

    def __init__(self) -> None:
        self._client: Optional[Client] = None
        self.state = STARTING
        self.turns = 0
        self.counted = 0.0

    @property
    def client(self) -> Client:
        """The client, which is there before anybody sees the member."""
        assert self._client is not None
        return self._client

    @property
    def cost_usd(self) -> float:
        """What it has cost."""
        return 0.0 if self._client is None else self._client.cost_usd

    def can_be_cleared(self) -> bool:
        """Whether the CLI says that it knows how to begin a new conversation."""
        commands = self.client.info.commands or ()
        return any(isinstance(each, dict) and each.get("name") == "clear" for each in commands)
