"""
Say that the CLI tries a request to the service again: from the outside it looks like silence.

A wrong key, a service that is overloaded or cannot be reached: newer CLIs try again for
minutes before the turn fails, and announce each try. The first of a series is logged, as a
warning, and others only if something else went wrong this time.

Used by whoever delivers, one thread at a time; loaded with the first such message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Set, Tuple

from ..log import logger, shortened

if TYPE_CHECKING:
    from ..messages.system import ApiRetry

__all__ = ["Retrying", "count_of", "what_happened"]

# What CLIs say where they have no word for it, as for any failure of the network.
NO_REASON = ("", "unknown")


class Retrying:
    """The series of tries that a client hears of."""

    def __init__(self) -> None:
        # What has been told of the series that goes on: the status, and the kind of error.
        self._told: Set[Tuple[Optional[int], Optional[str]]] = set()

    def see(self, retry: ApiRetry) -> None:
        """Log it, unless the same has been told of this series."""
        if retry.attempt == 1:
            self._told.clear()
        kind = (retry.error_status, retry.error)
        if kind in self._told:
            return
        self._told.add(kind)
        count = count_of(retry)
        logger.warning(
            "%s: the CLI retries%s",
            what_happened(retry, with_reason=True),
            f", {count}" if count else "",
        )


def what_happened(retry: ApiRetry, with_reason: bool = False) -> str:
    """Why it is tried again, in words on one line; with the CLI's word for it, too."""
    # The word may be anything: that of a proxy, say, which repeats what it was sent.
    reason = shortened(" ".join((retry.error or "").split()))
    known = reason not in NO_REASON
    if retry.error_status is not None:
        words = f"the service answered {retry.error_status}"
    elif known:
        words = "the service failed"  # in the middle of an answer that had begun well
    else:
        words = "the service could not be reached, or the connection broke"
    return f"{words} ({reason})" if with_reason and known else words


def count_of(retry: ApiRetry) -> str:
    """Which try follows: ``2 of 10``; empty where the CLI does not tell."""
    if retry.attempt < 1:
        return ""
    if retry.max_retries < 1:
        return f"attempt {retry.attempt}"
    return f"{retry.attempt} of {retry.max_retries}"
