"""
What a turn's marks mean: spans of time, each of one kind.

The CLI does not say when the model begins to work; it does when the question
was sent, and again when the last tool of a round has given its result. It ends
with the last complete message before the next tool's result, or the end of the
turn. A tool's span begins with the model's wish to use it, so it holds the wait
for permission, which is a span of its own as well.
"""

from __future__ import annotations

import dataclasses
from typing import Dict, Iterable, List, Optional, Set, Tuple

from .engine.marks import DONE, ENDED, SAID, SENT, USED, Marks, Wait

__all__ = ["Span", "covered", "spans_of"]

AGENT_TOOLS = ("Agent", "Task")
# How the CLI's results name what was stopped, or failed, before the model could speak.
TOO_SHORT = 0.01


@dataclasses.dataclass(frozen=True)
class Span:
    """
    A part of a timeline. Times are seconds from the timeline's beginning.

    Attributes:
        kind: ``turn``, ``queued``, ``model``, ``tool``, ``agent``, ``permission``,
            ``question`` or ``hook``.
        name: The tool; of a turn, how its question begins; of a hook, its event.
        start, end: From when to when. Of what still goes on: until now.
        error: Whether it failed: a tool's error, a turn without success.
        finished: Whether its end was seen; False for what was cut off, or goes on.
        tool_use_id: The use of a tool that it is, or is about; None: none, or not told.
        parent_tool_use_id: The use of the subagent that used it; None: the conversation's own.
        turn: The number of its turn, from 0.
        first: Of the model's first span, when the first piece of a stream came; or None.

    """

    kind: str
    name: str
    start: float
    end: float
    error: bool = False
    finished: bool = True
    tool_use_id: Optional[str] = None
    parent_tool_use_id: Optional[str] = None
    turn: int = 0
    first: Optional[float] = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


def spans_of(marks: Marks, origin: float, turn: int, now: float) -> List[Span]:
    """
    The spans of one turn, the turn itself first, the others in order of their beginning.

    Args:
        marks: Its marks.
        origin: The moment from which the timeline counts.
        turn: Its number.
        now: The end of what has none yet.

    """
    return Reading(marks, origin, turn, now).spans()


class Reading:
    """Of one turn's marks. Copies first: another thread may go on marking."""

    def __init__(self, marks: Marks, origin: float, turn: int, now: float) -> None:
        self.marks = marks
        self.origin = origin
        self.turn = turn
        self.events = sorted(marks.events, key=lambda event: float(event[0]))
        self.waits = list(marks.waits)
        ended = [event for event in self.events if event[1] == ENDED]
        self.ended = bool(ended)
        self.failed = bool(ended and (ended[-1][4] or str(ended[-1][3]).startswith("error")))
        self.end = self.end_of(ended[-1][0] if ended else None, now)

    def end_of(self, ended: Optional[float], now: float) -> float:
        """When the turn ended. One that failed without a result ended with its last mark."""
        if ended is not None:
            return ended
        last = self.events[-1][0] if self.events else self.marks.made
        return max(last, now if self.marks.cut is None else self.marks.cut)

    def spans(self) -> List[Span]:
        """All of them."""
        marks = self.marks
        uses = self.uses()
        found = [*self.queued(), *self.rounds(), *uses.values(), *self.requests(uses)]
        found.sort(key=lambda span: span.start)
        cut_off = not self.ended and marks.cut is not None
        whole = self.span("turn", marks.prompt, marks.made, self.end)
        return [
            dataclasses.replace(whole, error=self.failed or cut_off, finished=self.ended),
            *found,
        ]

    def span(self, kind: str, name: str, start: float, end: float) -> Span:
        """One, in seconds from the origin, and never of a negative length."""
        end = max(start, min(end, self.end))
        return Span(kind, name, start - self.origin, end - self.origin, turn=self.turn)

    def queued(self) -> Iterable[Span]:
        """From the call until it was sent: behind other questions, or while the CLI starts."""
        sent = [event[0] for event in self.events if event[1] == SENT]
        until = sent[0] if sent else self.end
        if until > self.marks.made:
            yield self.span("queued", "waiting to be sent", self.marks.made, until)

    def rounds(self) -> List[Span]:
        """The model at work."""
        found: List[Span] = []
        began: Optional[float] = None
        said: Optional[float] = None
        running: Set[str] = set()
        for event in self.events:
            at, kind, parent = event[:3]
            if parent is not None:
                continue  # a subagent's, whose time is that of its tool
            if kind in (SAID, USED):
                began = at if began is None else began
                said = at
                if kind == USED:
                    running.add(event[3])
                continue
            if kind == DONE:
                running.discard(event[3])
                if running:
                    continue
            if began is not None:
                self.add_round(found, began, said, at)
            began, said = (None if kind == ENDED else at), None
        if began is not None:
            self.add_round(found, began, said, self.end)
        return found

    def add_round(self, found: List[Span], began: float, said: Optional[float], at: float) -> None:
        """The model worked until it had said all; or, if it said nothing, until *at*."""
        if said is None and at - began < TOO_SHORT:
            return
        span = self.span("model", "model", began, at if said is None else said)
        first = self.marks.first
        if not found and first is not None and began <= first <= self.end:
            span = dataclasses.replace(span, first=first - self.origin)
        found.append(dataclasses.replace(span, finished=said is not None or self.ended))

    def uses(self) -> Dict[str, Span]:
        """Tools and subagents, by the ids of their uses."""
        found: Dict[str, Span] = {}
        latest: Dict[str, float] = {}
        for event in self.events:
            at, kind, parent = event[:3]
            if parent is not None:
                latest[parent] = at
            if kind == USED and event[3] not in found and (parent is None or parent in found):
                name = event[4]
                span = self.span("agent" if name in AGENT_TOOLS else "tool", name, at, self.end)
                found[event[3]] = dataclasses.replace(
                    span, tool_use_id=event[3], parent_tool_use_id=parent, finished=False
                )
            elif kind == DONE and event[3] in found and not found[event[3]].finished:
                found[event[3]] = dataclasses.replace(
                    found[event[3]], end=at - self.origin, error=event[4], finished=True
                )
        for use_id, at in latest.items():
            # One in the background has its result at once, and goes on.
            if use_id in found and found[use_id].end < at - self.origin:
                found[use_id] = dataclasses.replace(found[use_id], end=at - self.origin)
        return found

    def requests(self, uses: Dict[str, Span]) -> Iterable[Span]:
        """What the CLI asked of the program, and waited for."""
        for wait in self.waits:
            end = self.end if wait.end is None else wait.end
            span = self.span(wait.kind, wait.name, wait.start, end)
            use = uses.get(wait.tool_use_id or "") or self.use_of(wait, uses)
            yield dataclasses.replace(
                span,
                tool_use_id=wait.tool_use_id or (use.tool_use_id if use else None),
                parent_tool_use_id=use.parent_tool_use_id if use else None,
                finished=wait.end is not None,
            )

    def use_of(self, wait: Wait, uses: Dict[str, Span]) -> Optional[Span]:
        """Very old CLIs do not tell which use they ask about: the last of that tool."""
        if wait.kind == "hook":
            return None
        at = wait.start - self.origin
        open_then = [
            use for use in uses.values() if use.name == wait.name and use.start <= at <= use.end
        ]
        return open_then[-1] if open_then else None


def covered(spans: Iterable[Span]) -> List[Tuple[float, float]]:
    """The time that these spans cover, as intervals that do not touch."""
    found: List[Tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: span.start):
        if found and span.start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], span.end))
        else:
            found.append((span.start, span.end))
    return found
