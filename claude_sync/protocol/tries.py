"""
Decide whether a failed question may be asked again, and how soon.

::

    process -> lines -> messages -> turns -> outcomes -> [tries] -> answer

Asking again costs money and may repeat what a tool did. So only three kinds of
failure count, all of which say nothing about the question itself: the service had
no capacity, the account's limit was used up, the CLI died. And a turn in which a
tool was used is not repeated unless the program says that this does no harm.

The clock and the dice are the caller's.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Type

from ..errors import CliExited, Overloaded, RateLimited

__all__ = ["is_worth_another_try", "reset_of", "wait_before"]

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
# After the moment at which a limit is said to be reset: clocks differ.
RESET_MARGIN = 1.0

# "Claude AI usage limit reached|1760000000", as older CLIs put it.
RESET_IN_TEXT = re.compile(r"limit reached\|(\d{10})(\d{3})?\b")


def is_worth_another_try(error_class: Type[BaseException]) -> bool:
    """Whether the same question may well succeed a little later."""
    return issubclass(error_class, (Overloaded, RateLimited, CliExited))


def wait_before(
    number: int, error_class: Type[BaseException], until_reset: Optional[float], dice: float
) -> float:
    """
    How many seconds to wait before try *number* (1 is the first repetition).

    A limit is waited for until it is reset, where the CLI says when that is
    (*until_reset*, in seconds). Otherwise each wait is twice as long as the one before.
    *dice*, from 0 to 1, makes it up to half as long again, so that many clients that
    failed together do not all come back together.
    """
    if issubclass(error_class, RateLimited) and until_reset is not None and until_reset > 0.0:
        return until_reset + RESET_MARGIN
    if issubclass(error_class, CliExited):
        return 0.0 if number <= 1 else doubled(number - 1, dice)
    return doubled(number, dice)


def doubled(number: int, dice: float) -> float:
    """The wait that doubles from try to try."""
    exponent = min(number - 1, 16)
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**exponent)) * (1.0 + dice / 2)


def reset_of(limit: Optional[Mapping[str, Any]], reason: str) -> Optional[float]:
    """
    When the limit is reset, in seconds since 1970; None where the CLI does not say.

    *limit* is the ``rate_limit_info`` of the last message about limits; *reason* is the
    text of the failed turn, which is where old CLIs say it.
    """
    if limit is not None and limit.get("status") == "rejected":
        told = limit.get("resetsAt")
        if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 1e11:
            return float(told)
    found = RESET_IN_TEXT.search(reason)
    return float(found.group(1)) if found else None
