"""What goes through the pipes is counted, over all lives, and nothing grows."""

from __future__ import annotations

from claude_sync.runtime.traffic import Counter, Traffic


def test_all_lives_are_counted():
    """The sum is that of the CLI that lives and of those before it."""
    traffic = Traffic()
    assert traffic.lives == 0
    for number in range(1, 6):
        counter = traffic.begin()
        counter.lines_received += number
        counter.bytes_received += 10 * number
        counter.lines_sent += 100 * number
        counter.bytes_sent += 1000 * number
    total = traffic.total()
    assert traffic.lives == 5
    assert (total.lines_received, total.bytes_received) == (15, 150)
    assert (total.lines_sent, total.bytes_sent) == (1500, 15000)


def test_a_life_that_is_being_ended_still_counts():
    """The last words of one CLI come while the next one is started."""
    traffic = Traffic()
    before, _ = traffic.begin(), traffic.begin()
    before.lines_received += 7
    assert traffic.total().lines_received == 7


def test_a_client_that_restarts_for_ever_keeps_no_more():
    """Two counters and a sum are all there ever is."""
    traffic = Traffic()
    for _ in range(100):
        traffic.begin().bytes_sent += 1
    assert len(traffic._counters) == 2
    assert traffic.total().bytes_sent == 100


def test_counters_add_up():
    """Each field for itself."""
    one, two = Counter(), Counter()
    one.lines_sent, two.lines_sent, two.bytes_received = 1, 2, 3
    one.add(two)
    assert (one.lines_sent, one.bytes_received, one.bytes_sent) == (3, 3, 0)
