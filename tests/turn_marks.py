"""Marks of turns for tests, written by hand; and a clock that tests move."""

from __future__ import annotations

from claude_sync.engine.marks import DONE, ENDED, SAID, SENT, USED, Marks, Wait

__all__ = ["Clock", "marks_of", "sample"]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def marks_of(*events, prompt="hi", made=100.0, first=None, cut=None, waits=(), cost=0.0):
    """Marks whose times are seconds after *made*."""
    marks = Marks(prompt)
    marks.made = made
    marks.events = [(made + event[0], *event[1:]) for event in events]
    marks.first = None if first is None else made + first
    marks.cut = None if cut is None else made + cut
    marks.cost_usd = cost
    for kind, name, use_id, start, end in waits:
        wait = Wait(kind, name, use_id)
        wait.start = made + start
        wait.end = None if end is None else made + end
        marks.waits.append(wait)
    return marks


def sample(**given):
    """A turn with two tools at once, one of which waits for permission and fails."""
    return marks_of(
        (0.5, SENT, None),
        (2.0, SAID, None),
        (2.0, USED, None, "t1", "Read"),
        (2.5, USED, None, "t2", "Bash"),
        (3.0, DONE, None, "t1", False),
        (6.0, DONE, None, "t2", True),
        (8.0, SAID, None),
        (8.25, ENDED, None, "success", False),
        **{
            "prompt": "Look at it",
            "first": 1.0,
            "waits": [("permission", "Bash", "t2", 2.75, 5.0)],
            "cost": 0.25,
            **given,
        },
    )
