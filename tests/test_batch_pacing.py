"""How fast a batch may go."""

from __future__ import annotations

from claude_sync.batches.pacing import Pace


def test_it_begins_with_all_workers():
    """Nothing is known against it."""
    pace = Pace(8)
    assert (pace.window, pace.wait(0.0)) == (8, 0.0)


def test_half_as_many_and_nobody_for_a_while():
    """What one is told holds for all."""
    pace = Pace(8)
    pace.slow_down(now=10.0, delay=2.0, begun=5.0)
    assert pace.window == 4
    assert pace.wait(10.0) == 2.0
    assert pace.wait(12.5) == 0.0


def test_those_that_failed_together_are_one_reason():
    """Begun before the last slowing down, or told while everybody waits."""
    pace = Pace(8)
    pace.slow_down(10.0, 2.0, begun=5.0)
    pace.slow_down(13.0, 2.0, begun=6.0)
    pace.slow_down(13.5, 0.5, begun=13.5)
    assert pace.window == 4
    assert pace.wait(13.5) == 1.5
    pace.slow_down(16.0, 1.0, begun=15.5)
    assert pace.window == 2


def test_it_never_stops_altogether():
    """One may always ask."""
    pace = Pace(2)
    for now in range(10, 20):
        pace.slow_down(float(now), 0.0, float(now))
    assert pace.window == 1


def test_answers_bring_it_back():
    """A round of answers lets one more in; never more than at the beginning."""
    pace = Pace(4)
    pace.slow_down(1.0, 0.0, 1.0)
    pace.speed_up()
    assert pace.window == 2
    for _ in range(3):
        pace.speed_up()
    assert pace.window == 3
    for _ in range(100):
        pace.speed_up()
    assert pace.window == 4
