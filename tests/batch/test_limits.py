"""How fast a batch may go: rare refusals do not matter, a share of them does."""

from __future__ import annotations

import pytest

from claude_sync import (
    ApiError,
    AskTimeout,
    CliExited,
    Overloaded,
    PromptTooLong,
    RateLimited,
)
from claude_sync.batch.limits import Pace, is_worth_another_try, wait_before


def play(pace, outcomes, now=0.0, seconds=1.0):
    """Attempts one after the other, "." answered and "x" refused; the time at the end."""
    for outcome in outcomes:
        pace.sent(now)
        now += seconds
        if outcome == ".":
            pace.answered(now, seconds)
        else:
            pace.refused(now, seconds)
    return now


def sendable(pace, now):
    """How many may be sent at this moment."""
    count = 0
    while pace.wait(now) == 0.0:
        pace.sent(now)
        count += 1
    return count


def test_it_begins_with_all_workers():
    """And with no more."""
    pace = Pace(3)
    assert sendable(pace, 0.0) == 3
    assert pace.wait(0.0) is None
    pace.failed()
    assert pace.wait(0.0) == 0.0


def test_a_share_of_refusals_takes_that_share():
    """A fourth refused: three fourths of the workers, and a little less."""
    pace = Pace(40)
    play(pace, "...x" * 10)
    assert pace.window == 29


def test_a_collapse_is_seen_before_the_round_is_over():
    """Most are refused: it does not take a round of them; and the way back is short."""
    pace = Pace(100)
    now = play(pace, "x" * 25)
    assert pace.window == 50
    now = play(pace, "x" * 13, now)
    assert pace.window == 25
    now = play(pace, "." * 60, now)
    assert pace.window == 100
    play(pace, "x" * 25, now)
    assert pace.window == 25  # it was too early


def test_answers_bring_it_back():
    """Round by round, a little faster each time, up to the number of workers."""
    pace = Pace(20)
    now = play(pace, "....x" * 4)
    assert pace.window == 16
    now = play(pace, "." * 40, now)
    assert pace.window == 16
    play(pace, "." * 400, now)
    assert pace.window == 20


def test_what_was_refused_fast_keeps_its_place():
    """For as long as an answer takes: a service that refuses fast is not asked faster."""
    pace = Pace(1)
    now = play(pace, "." * 30, seconds=4.0)
    now = play(pace, "x", now, seconds=1.0)
    assert pace.wait(now) == pytest.approx(3.0)
    assert pace.wait(now + 3.0) == 0.0


def test_attempts_from_before_a_decrease_are_no_second_reason():
    """Those that were open together are refused together."""
    pace = Pace(40)
    for _ in range(40):
        pace.sent(0.0)
    for _ in range(40):
        pace.refused(1.0, 1.0)
    window = pace.window
    for _ in range(20):
        pace.sent(0.5)
        pace.refused(2.0, 1.5)
    assert pace.window == window


def test_nobody_asks_before_a_limit_is_reset():
    """However many could."""
    pace = Pace(4)
    pace.hold(100.0)
    assert pace.wait(40.0) == 60.0


def test_requests_are_spread_over_the_minute():
    """Those that an answer needed beside its own count as well."""
    pace = Pace(100, requests_per_minute=60)
    assert sendable(pace, 0.0) == 1
    assert pace.wait(0.25) == 0.75
    assert sendable(pace, 1.0) == 1
    pace.answered(1.0, 1.0, requests=4)
    assert pace.wait(2.0) == 3.0


def test_tokens_are_known_afterwards():
    """What was used delays the next; later prompts are expected to use as many."""
    pace = Pace(100, tokens_per_minute=6000)
    pace.sent(0.0)
    pace.answered(0.0, 1.0, tokens=500)
    assert pace.wait(0.0) == pytest.approx(5.0)
    pace.sent(5.0)
    assert pace.wait(5.0) > 0.5


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Overloaded("x"), True),
        (RateLimited("x"), True),
        (CliExited("x"), True),
        (ApiError("x", status=500), True),
        (ApiError("x", status=408), True),
        (ApiError("Request timed out"), True),
        (ApiError("no such host"), False),
        (ApiError("x", status=401), False),
        (AskTimeout(1.0), False),
        (PromptTooLong("x"), False),
    ],
)
def test_what_is_worth_another_try(error, expected):
    """What is not about the prompt, nor about this machine."""
    assert is_worth_another_try(error) is expected


def test_how_long_to_wait():
    """Twice as long each time, up to a minute; until a limit is reset; a crash not at all."""
    busy = Overloaded("x")
    assert [wait_before(number, busy, 0.0, 0.0) for number in (1, 2, 3, 9)] == [1, 2, 4, 60]
    assert wait_before(1, busy, 0.0, 1.0) == 1.5
    assert wait_before(1, RateLimited("x", resets_at=130.0), 100.0, 1.0) == 31.0
    assert wait_before(1, RateLimited("x", resets_at=90.0), 100.0, 0.0) == 1.0
    assert [wait_before(number, CliExited("x"), 0.0, 0.0) for number in (1, 2)] == [0.0, 1.0]
