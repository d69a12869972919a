"""
How fast a batch may go: how many prompts at once, how many a minute, and when to try again.

::

    refusals are rare        -> one more at a time, up to the number of workers
    refusals are a share     -> fewer at once, by that share
    a limit is used up       -> nobody asks before it is reset

A service that refuses now and then is not congested: what counts is the share of refusals in
a round of attempts. A prompt that was refused waits for its own next try, and holds up nobody
else. One service serves all workers, so one :class:`Pace` counts for all of them. The clock
and the dice are the caller's.
"""

from __future__ import annotations

import heapq
import re

from ..errors import ApiError, CliExited, Overloaded, RateLimited, UsageError

__all__ = ["Pace", "is_refusal", "is_worth_another_try", "wait_before"]

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
# After the moment at which a limit is said to be reset: clocks differ.
RESET_MARGIN = 1.0
# How long an answer takes, before the first one came.
USUAL_SECONDS = 1.0

# A round has so many attempts, or as many as run at once.
ROUND = 20
# Refusals in a round that are no congestion: less than two, and not more than this share.
RARE = 0.03
# After a decrease: a little below what the service took.
BACK_OFF = 0.98
# No decrease goes further than that: what is refused at once says too much.
LOWEST = 0.5
# The first increase after a decrease, as a share of the window, how it grows by round, and how
# it grows where there was no room before.
FIRST_STEP, FASTER, FASTEST = 0.0004, 1.3, 2.0
NEW_ROOM = 1.15
# More than this share refused: something else has taken the room, maybe not for long.
COLLAPSE = 0.2
# The way back goes no further than so many times the window in one step.
LEAP = 4.0
# So many rounds without refusals come first.
PATIENCE = 2


class Pace:
    """
    How many attempts may run at once; whoever uses it holds a lock.

    Args:
        workers: How many at most.

    """

    def __init__(
        self,
        workers: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._most = float(workers)
        self._window = float(workers)
        self._open = 0
        # When the places of refused attempts are free again, the soonest first.
        self._parked: list[float] = []
        self._seconds: float | None = None
        self._held_until = float("-inf")
        self._step = FIRST_STEP
        # What the service seemed to take when it was last too much.
        self._ceiling = self._most
        # Where the window was before a collapse, to go back there after a few rounds without
        # refusals; and where it was before that step, in case it was too early.
        self._before: float | None = None
        self._fallback: float | None = None
        self._quiet = 0
        self._begin_round(float("-inf"))
        self._requests = Meter("requests_per_minute", requests_per_minute)
        self._tokens = Meter("tokens_per_minute", tokens_per_minute)
        self._usual_tokens = 0.0

    def _begin_round(self, now: float) -> None:
        self._attempts = self._refusals = 0
        self._round_began = now

    @property
    def window(self) -> int:
        """How many may run at once now."""
        return max(1, round(self._window))

    def wait(self, now: float) -> float | None:
        """How many seconds until the next may be sent; None: not before one is over."""
        while self._parked and self._parked[0] <= now:
            heapq.heappop(self._parked)
        waits = [self._held_until - now, self._requests.wait(now), self._tokens.wait(now)]
        if self._open + len(self._parked) >= self.window:
            if not self._parked:
                return None
            waits.append(self._parked[0] - now)
        return max(0.0, *waits)

    def sent(self, now: float) -> None:
        """An attempt begins."""
        self._open += 1
        self._requests.take(1, now)
        self._tokens.take(self._usual_tokens, now)

    def answered(self, now: float, seconds: float, requests: int = 1, tokens: int = 0) -> None:
        """An attempt was answered, with so many requests and tokens."""
        self._open -= 1
        self._seconds = seconds if self._seconds is None else 0.9 * self._seconds + 0.1 * seconds
        self._requests.take(max(0, requests - 1), now)
        self._tokens.take(tokens - self._usual_tokens, now)
        self._usual_tokens = 0.8 * self._usual_tokens + 0.2 * tokens if tokens else 0.0
        self._count(now, refused=False)

    def failed(self) -> None:
        """An attempt is over, in a way that says nothing about the service."""
        self._open -= 1

    def refused(self, now: float, seconds: float) -> None:
        """
        The service refused an attempt after so many seconds.

        It keeps its place for as long as an answer usually takes, so that a service which
        refuses fast is not asked faster than one that answers.
        """
        self._open -= 1
        usual = USUAL_SECONDS if self._seconds is None else self._seconds
        if seconds < usual:
            heapq.heappush(self._parked, now + usual - seconds)
        if now - seconds >= self._round_began:
            self._count(now, refused=True)

    def noticed(self, now: float) -> None:
        """The service refused an attempt, which tries again by itself."""
        self._count(now, refused=True)

    def hold(self, until: float) -> None:
        """Nobody may ask before then."""
        self._held_until = max(self._held_until, until)

    def _count(self, now: float, refused: bool) -> None:
        self._attempts += 1
        self._refusals += refused
        is_over = self._attempts >= max(ROUND, self._window)
        if not is_over and self._refusals < max(5.0, self._window / 4):
            return
        share = self._refusals / self._attempts
        if self._refusals >= 2 and share > RARE:
            self._shrink(share)
            self._begin_round(now)
        elif is_over:
            self._grow()
            self._begin_round(float("-inf"))

    def _shrink(self, share: float) -> None:
        self._quiet = 0
        if self._fallback is not None:
            # What has taken the room is still there: from here on it goes slowly.
            self._window, self._before, self._fallback = self._fallback, None, None
        else:
            if share > COLLAPSE and self._before is None:
                self._before = self._window
            self._window = max(1.0, self._window * max(LOWEST, (1 - share) * BACK_OFF))
        self._ceiling = self._window / BACK_OFF
        # Where few run at once, one more is a large share.
        self._step = FIRST_STEP * min(1.0, self._window / ROUND)

    def _grow(self) -> None:
        if self._fallback is not None:
            self._before = self._fallback = None
        self._quiet += 1
        if self._before is not None and self._quiet >= PATIENCE:
            self._fallback = self._window
            self._window = min(self._before, self._window * LEAP)
            return
        self._window = min(self._most, self._window * (1 + min(1.0, self._step)))
        self._step *= FASTEST if self._window > self._ceiling * NEW_ROOM else FASTER


class Meter:
    """So much a minute, spread evenly; None: no limit."""

    def __init__(self, name: str, per_minute: float | None) -> None:
        if per_minute is not None and not (isinstance(per_minute, (int, float)) and per_minute > 0):
            raise UsageError(f"{name} is a number above 0, not {per_minute!r}.")
        self._each = 0.0 if per_minute is None else 60.0 / per_minute
        self._free_at = float("-inf")

    def wait(self, now: float) -> float:
        """In how many seconds something may be taken."""
        return self._free_at - now if self._each else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take so much, or give it back; what was more than expected delays the next."""
        if self._each:
            base = max(self._free_at, now) if amount > 0 else self._free_at
            self._free_at = base + amount * self._each


# Whether and when to try again.

# What services say that are in trouble, and not about the prompt.
TROUBLE = re.compile(r"timed? ?out|overloaded|unavailable", re.IGNORECASE)


def is_refusal(error: BaseException) -> bool:
    """Whether the service had no room, or was in trouble: nothing about the prompt."""
    if isinstance(error, ApiError):
        if error.status is None:
            return TROUBLE.search(error.reason) is not None
        return error.status >= 500 or error.status in (408, 429)
    return isinstance(error, (Overloaded, RateLimited))


def is_worth_another_try(error: BaseException) -> bool:
    """Whether the same prompt may well succeed a little later."""
    return is_refusal(error) or isinstance(error, CliExited)


def wait_before(number: int, error: BaseException, now: float, dice: float) -> float:
    """
    How many seconds to wait before try *number* (1 is the first repetition).

    A limit is waited for until it is reset, where the CLI says when that is. Otherwise each
    wait is twice as long as the one before. *dice*, from 0 to 1, makes it up to half as long
    again, so that prompts that failed together do not all come back together.
    """
    if isinstance(error, RateLimited) and error.resets_at is not None and error.resets_at > now:
        return error.resets_at - now + RESET_MARGIN
    if isinstance(error, CliExited):
        number -= 1
        if number < 1:
            return 0.0
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(number - 1, 16))) * (1.0 + dice / 2)
