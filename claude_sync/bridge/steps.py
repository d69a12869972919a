"""
What follows from one message between a client and a backend: lines for both, or an end.

No thread, no file, no clock.
"""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

import ujson

__all__ = ["End", "Step", "as_line"]

Wire = Mapping[str, Any]


class End(NamedTuple):
    """How a session ended: what to tell people, and the exit code of its CLI, if known."""

    lines: Tuple[str, ...] = ()
    exit_code: Optional[int] = None


class Step:
    """
    What follows from one message.

    Attributes:
        to_backend: Lines for the backend.
        to_client: Lines that the client reads, as from its CLI.
        to_people: Lines that it reads as from the stderr of its CLI.
        end: How the session has ended, or None.

    """

    def __init__(self) -> None:
        self.to_backend: List[bytes] = []
        self.to_client: List[bytes] = []
        self.to_people: List[str] = []
        self.end: Optional[End] = None

    def say(self, message: Wire) -> None:
        """Let the client read *message*."""
        self.to_client.append(as_line(message))


def as_line(message: Wire) -> bytes:
    """A message of the CLI as it would have come from it."""
    try:
        text = ujson.dumps(message, ensure_ascii=True, escape_forward_slashes=False)
    except (ValueError, OverflowError, RecursionError):
        # Numbers beyond all bounds, which JSON can say and this encoder cannot.
        import json

        text = json.dumps(message)
    return text.encode("ascii") + b"\n"
