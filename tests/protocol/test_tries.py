"""Whether a failed question is asked again, and how soon."""

import pytest

from claude_sync.errors import ApiError, CliExited, NotLoggedIn, Overloaded, RateLimited
from claude_sync.protocol.outcomes import is_worth_another_try, reset_of, wait_before

LATER = 1_900_000_000


@pytest.mark.parametrize("error", [Overloaded, RateLimited, CliExited])
def test_what_says_nothing_about_the_question_may_be_tried_again(error):
    """Overloads, limits and crashes pass."""
    assert is_worth_another_try(error)


@pytest.mark.parametrize("error", [ApiError, NotLoggedIn, ValueError])
def test_other_failures_stay_failures(error):
    """What would fail again is not tried again."""
    assert not is_worth_another_try(error)


def test_each_wait_is_twice_as_long():
    """1, 2, 4 seconds, up to a minute."""
    waits = [wait_before(number, Overloaded, None, 0.0) for number in range(1, 9)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert wait_before(10**9, Overloaded, None, 0.0) == 60.0


def test_the_dice_make_it_up_to_half_as_long_again():
    """Clients that failed together do not come back together."""
    assert wait_before(2, Overloaded, None, 1.0) == 3.0
    assert wait_before(2, Overloaded, None, 0.5) == 2.5


def test_a_crash_is_first_met_at_once():
    """A CLI that died is started again without a wait, then with longer and longer ones."""
    waits = [wait_before(number, CliExited, None, 0.0) for number in (1, 2, 3)]
    assert waits == [0.0, 1.0, 2.0]


def test_a_limit_is_waited_for_until_it_is_reset():
    """However long that takes; a little longer, because clocks differ."""
    assert wait_before(1, RateLimited, 3600.0, 0.7) == 3601.0
    assert wait_before(3, RateLimited, -5.0, 0.0) == 4.0  # it is over: something else is wrong
    assert wait_before(1, RateLimited, None, 0.0) == 1.0


def test_an_overload_does_not_wait_for_a_limit():
    """A limit that was reported some time ago has nothing to do with it."""
    assert wait_before(1, Overloaded, 3600.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("limit", "reason", "expected"),
    [
        ({"status": "rejected", "resetsAt": LATER}, "", LATER),
        ({"status": "rejected", "resetsAt": LATER + 0.5}, "", LATER + 0.5),
        ({"status": "allowed_warning", "resetsAt": LATER}, "", None),
        ({"status": "rejected"}, "", None),
        ({"status": "rejected", "resetsAt": True}, "", None),
        ({"status": "rejected", "resetsAt": "soon"}, "", None),
        ({"status": "rejected", "resetsAt": -1}, "", None),
        ({"status": "rejected", "resetsAt": LATER * 1000}, "", None),
        (None, f"Claude AI usage limit reached|{LATER}", LATER),
        (None, f"Claude AI usage limit reached|{LATER}000", LATER),
        (None, "Claude AI usage limit reached", None),
        (None, "", None),
    ],
)
def test_when_a_limit_is_reset(limit, reason, expected):
    """By the last message about limits, else by the text; nonsense says nothing."""
    assert reset_of(limit, reason) == expected
