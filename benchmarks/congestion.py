"""
How a batch gets on with a service of which it does not know how much it can take.

::

    python benchmarks/congestion.py

A simulation: the clock, the service and the prompts are made up, the pace and the waits are
those of the library. The service answers up to so many prompts at once, or so many a minute,
and refuses the others at once. A line for each service: which share of its capacity the batch
used, and which share of the attempts was refused. Then what stray refusals cost.
"""

from __future__ import annotations

import heapq
import random
import statistics
from collections import deque

from claude_sync import Overloaded
from claude_sync.batch.limits import Pace, wait_before

HOURS = 2
BUSY = Overloaded("busy")
REFUSED_IN = 0.1
SEEDS = range(3)


def thinking(dice):
    """How long an answer takes."""
    return dice.uniform(1.0, 3.0)


class Service:
    """
    A service with room for so many prompts at once.

    Args:
        room: How many, at a time; a function of it.
        stray: The share that is refused although there is room.

    """

    def __init__(self, room, stray=0.0):
        self.room = room
        self.stray = stray
        self.open = 0

    def takes(self, now, dice):
        """Whether it answers."""
        return self.open < self.room(now) and dice.random() >= self.stray

    def could(self, seconds):
        """How many answers it could have given."""
        return sum(self.room(second) for second in range(int(seconds))) / 2.0


class Metered(Service):
    """A service that takes so many prompts a second, with a small reserve."""

    def __init__(self, rate):
        super().__init__(lambda _: 10**9)
        self.rate = self.reserve = rate
        self.seen = 0.0

    def takes(self, now, _):
        """Whether it answers."""
        self.reserve = min(self.rate, self.reserve + (now - self.seen) * self.rate)
        self.seen = now
        if self.reserve < 1:
            return False
        self.reserve -= 1
        return True

    def could(self, seconds):
        """How many answers it could have given."""
        return self.rate * seconds


def simulate(service, workers, seconds, seed, prompts=None, retries=9):
    """Ask for so long, or so many prompts; answers, attempts, refusals and the time it took."""
    dice, pace = random.Random(seed), Pace(workers)
    events, later, numbers = [], [], iter(range(10**9))
    answers = attempts = refusals = 0
    left = deque([0] * prompts) if prompts else None
    now = 0.0

    def next_prompt():
        if later and later[0][0] <= now:
            return heapq.heappop(later)[2]
        if left is None:
            return 0
        return left.popleft() if left else None

    while now < seconds:
        while pace.wait(now) == 0.0:
            tries = next_prompt()
            if tries is None:
                break
            pace.sent(now)
            attempts += 1
            taken = service.takes(now, dice)
            service.open += taken
            took = thinking(dice) if taken else REFUSED_IN
            heapq.heappush(events, (now + took, next(numbers), taken, took, tries + 1))
        if prompts and not events and not later and not left:
            break
        times = [events[0][0]] if events else []
        wait = pace.wait(now)
        if wait is not None and wait > 0:
            times.append(now + wait)
        if later and later[0][0] > now:
            times.append(later[0][0])
        now = min(times)
        while events and events[0][0] <= now:
            _, _, taken, took, tries = heapq.heappop(events)
            service.open -= taken
            if taken:
                answers += 1
                pace.answered(now, took)
                continue
            refusals += 1
            pace.refused(now, took)
            if tries <= retries:
                wait = wait_before(tries, BUSY, now, dice.random())
                heapq.heappush(later, (now + wait, next(numbers), tries))
    return answers, attempts, refusals, now


def stepping(now):
    """Less room every other five minutes."""
    return 40 if int(now / 300) % 2 == 0 else 16


def bursty(now):
    """For ten seconds in two minutes others take most of the room."""
    return 10 if now % 120 < 10 else 40


SERVICES = {
    "steady, room for 4": lambda: Service(lambda _: 4),
    "steady, room for 20": lambda: Service(lambda _: 20),
    "steady, room for 50": lambda: Service(lambda _: 50),
    "stepping, room for 40 or 16": lambda: Service(stepping),
    "bursty, room for 40 or 10": lambda: Service(bursty),
    "metered, 10 a second": lambda: Metered(10),
}


def main():
    """All figures, as a table."""
    seconds = HOURS * 3600
    print(f"{'64 workers':32} {'used':>6} {'refused':>8}")
    for name, make in SERVICES.items():
        used, refused = [], []
        for seed in SEEDS:
            service = make()
            answers, attempts, refusals, _ = simulate(service, 64, seconds, seed)
            used.append(answers / service.could(seconds))
            refused.append(refusals / attempts)
        print(f"{name:32} {statistics.mean(used):6.1%} {statistics.mean(refused):8.2%}")
    plain, stray = [], []
    for seed in SEEDS:
        for share, times in ((0.0, plain), (0.01, stray)):
            service = Service(lambda _: 10**9, share)
            times.append(simulate(service, 32, 10**9, seed, prompts=5000)[3])
    cost = statistics.mean(stray) / statistics.mean(plain)
    print(f"\n1 % stray refusals, 5,000 prompts, 32 workers: {cost:.3f} times as long")


if __name__ == "__main__":
    main()
