"""
Where the time went: a picture of a turn, or of all turns of a client.

::

    answer = client.ask("Fix the failing test")
    answer.timeline().save("turn.svg")
    print(client.timeline())

The model at work, tools, subagents, waiting for permission. Times are those of
arrival, so a slow handler of the program does not show. The picture is SVG:
no script, nothing is loaded, and it suits light and dark pages.

The CLI does not say when the model begins to work; it does when the question
was sent, and again when the last tool of a round has given its result. The model's
work ends with the last complete message before the next tool's result, or with the
turn. A tool's span begins with the model's wish to use it, so it holds the wait
for permission, which is a span of its own as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..engine.marks import DONE, ENDED, SAID, SENT, USED
from ..errors import UsageError
from ..support.text import visible
from .markdown import escape

if TYPE_CHECKING:
    import os

    from ..engine.marks import Marks

__all__ = ["Span", "Timeline", "timeline_of"]

TOOLS = ("tool", "agent")
WAITS = ("permission", "question")
# The kinds that lie on the bar of the tool they are about.
OVERLAYS = (*WAITS, "hook")
AGENT_TOOLS = ("Agent", "Task")
# So short, nothing was said: the turn ended with a tool.
TOO_SHORT = 0.01

COLOURS = {
    "queued": "#9aa0a8",
    "model": "#8b7cf6",
    "tool": "#2ea395",
    "agent": "#3f8ef0",
    "permission": "#e3a02f",
    "question": "#e3a02f",
    "hook": "#c06ad0",
    "error": "#e5534b",
}
LEGEND = {
    "queued": "queued",
    "model": "model",
    "tool": "tool",
    "agent": "subagent",
    "permission": "waiting for an answer",
    "hook": "hook",
}
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 900, 240, 84, 66, 24, 14
# More tool calls than this share a row for each tool; and there are no more rows than so many.
MOST_CALLS, MOST_ROWS = 30, 60
# How wide a sign of the small texts is, about.
SIGN = 6.2
BEFORE_FIRST = 0.45
# Subagents of subagents: so far to the right at most.
DEEPEST = 4
SCHEME = (
    "<style>svg { color: #1f2328; background: #ffffff } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6e8eb; background: #16181c } }</style>"
)
PAGE = (
    '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Timeline</title>\n'
    "<style>:root {{ color-scheme: light dark }}</style></head>\n<body>{}</body></html>\n"
)


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
    tool_use_id: str | None = None
    parent_tool_use_id: str | None = None
    turn: int = 0
    first: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start


@dataclasses.dataclass(frozen=True, repr=False)
class Timeline:
    """
    When what happened. Notebooks show it as a picture, ``print`` as a table.

    Attributes:
        spans: Every :class:`Span`, turn by turn, in order of their beginning.
        cost_usd: What the turns cost.
        left_out: How many tool calls of very long turns are not in it.
        was_sent: Whether any of the turns has been sent.

    """

    spans: tuple[Span, ...]
    cost_usd: float = 0.0
    left_out: int = 0
    was_sent: bool = True

    @property
    def turns(self) -> tuple[Span, ...]:
        """The turns themselves."""
        return self.of("turn")

    def of(self, *kinds: str) -> tuple[Span, ...]:
        """The spans of these kinds."""
        return tuple(span for span in self.spans if span.kind in kinds)

    @property
    def seconds(self) -> float:
        """How long the turns took, from the call to the result, without the time between."""
        return covered(self.turns)

    @property
    def model_seconds(self) -> float:
        """How long the model worked in the main conversation."""
        return covered(self.of("model"))

    @property
    def waiting_seconds(self) -> float:
        """How long there was a permission or a question that was not answered yet."""
        return covered(self.of(*WAITS))

    @property
    def tool_seconds(self) -> float:
        """How long tools and subagents ran; waiting for permission does not count."""
        return covered(self.of(*TOOLS, *WAITS)) - self.waiting_seconds

    @property
    def svg(self) -> str:
        """The picture as an SVG document of its own."""
        return "\n".join(drawn(self, alone=True))

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """The picture inside of a page, in whose colours its texts are."""
        picture = "\n".join(drawn(self, alone=False))
        return f'<div class="mathjax_ignore" style="overflow-x: auto">{picture}</div>'

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file, ``.svg`` or ``.html``; its path."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix not in (".svg", ".html", ".htm"):
            raise UsageError(
                f"a timeline is saved as .svg or .html, not as {target.name!r}. "
                "Give the file one of these endings."
            )
        text = self.svg if suffix == ".svg" else PAGE.format(self._repr_html_())
        target.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"<Timeline of {count(len(self.turns), 'turn')}: {self.summary()}>"

    def summary(self) -> str:
        """The whole in one line."""
        if not self.turns:
            return "no turns yet"
        parts = [f"{shown(self.seconds)}", f"model {shown(self.model_seconds)}"]
        if self.of(*TOOLS):
            parts.append(f"{count(len(self.of(*TOOLS)), 'tool call')} {shown(self.tool_seconds)}")
        if self.of(*WAITS):
            parts.append(f"waiting for answers {shown(self.waiting_seconds)}")
        failed = sum(turn.error for turn in self.turns)
        if failed:
            parts.append("failed" if len(self.turns) == 1 else f"{failed} failed")
        if self.cost_usd:
            parts.append(f"${self.cost_usd:.4f}")
        if self.left_out:
            parts.append(f"{self.left_out} more not kept")
        return " · ".join(parts)

    def __str__(self) -> str:
        """One line for each span, then the sums."""
        return "\n".join([*map(line_of, self.spans), self.summary()])


def timeline_of(marks: Sequence[Marks]) -> Timeline:
    """The timeline of these turns."""
    now = monotonic()
    origin = min((each.made for each in marks), default=now)
    spans = [span for turn, each in enumerate(marks) for span in spans_of(each, origin, turn, now)]
    cost = sum(each.cost_usd for each in marks)
    left_out = sum(each.left_out for each in marks)
    return Timeline(tuple(spans), cost, left_out, any(each.events for each in marks))


# What marks mean.


def spans_of(marks: Marks, origin: float, turn: int, now: float) -> list[Span]:
    """The spans of one turn, its own first."""
    # A request's thread may have noted something out of order.
    events = sorted(marks.events, key=lambda event: float(event[0]))
    results = [event for event in events if event[1] == ENDED]
    # A turn that failed without a result ended with its last mark.
    last = max(events[-1][0] if events else marks.made, now if marks.cut is None else marks.cut)
    end: float = results[-1][0] if results else last
    failed = bool(results and (results[-1][4] or str(results[-1][3]).startswith("error")))

    def span(kind: str, name: str, start: float, until: float, **more: Any) -> Span:
        until = max(start, min(until, end))
        return Span(kind, name, start - origin, until - origin, turn=turn, **more)

    found: list[Span] = []
    sent = next((event[0] for event in events if event[1] == SENT), end)
    if sent > marks.made:
        found.append(span("queued", "waiting to be sent", marks.made, sent))
    first = marks.first
    for began, said, at in rounds(events, end):
        if said is None and at - began < TOO_SHORT:
            continue
        begun = first - origin if first is not None and began <= first <= end else None
        until, is_over = (at, bool(results)) if said is None else (said, True)
        found.append(span("model", "model", began, until, finished=is_over, first=begun))
        first = None
    uses: dict[str | None, Span] = {}
    for at, kind, parent, *rest in events:
        # A subagent in the background has its result at once, and goes on.
        agent = uses.get(parent)
        if agent is not None and agent.end < at - origin:
            uses[parent] = dataclasses.replace(agent, end=at - origin)
        if kind == USED and rest[0] not in uses and (parent is None or parent in uses):
            name = "agent" if rest[1] in AGENT_TOOLS else "tool"
            ids = {"tool_use_id": rest[0], "parent_tool_use_id": parent}
            uses[rest[0]] = span(name, rest[1], at, end, finished=False, **ids)
        elif kind == DONE and rest[0] in uses and not uses[rest[0]].finished:
            done = {"end": at - origin, "error": rest[1], "finished": True}
            uses[rest[0]] = dataclasses.replace(uses[rest[0]], **done)
    found += uses.values()
    for wait in list(marks.waits):
        use = uses.get(wait.tool_use_id)
        ids = {"tool_use_id": wait.tool_use_id}
        ids["parent_tool_use_id"] = use.parent_tool_use_id if use else None
        until, is_over = (end, False) if wait.end is None else (wait.end, True)
        found.append(span(wait.kind, wait.name, wait.start, until, finished=is_over, **ids))
    error = failed or (not results and marks.cut is not None)
    whole = span("turn", marks.prompt, marks.made, end, error=error, finished=bool(results))
    return [whole, *sorted(found, key=lambda each: each.start)]


def rounds(
    events: Sequence[tuple[Any, ...]], end: float
) -> Iterator[tuple[float, float | None, float]]:
    """When the model began to work, had said all (None: it said nothing), and stopped."""
    began: float | None = None
    said: float | None = None
    running: set[object] = set()
    for at, kind, parent, *rest in events:
        if parent is not None:
            continue  # a subagent's, whose time is that of its tool
        if kind in (SAID, USED):
            began, said = at if began is None else began, at
            running |= {rest[0]} if kind == USED else set()
            continue
        if kind == DONE:
            running.discard(rest[0])
            if running:
                continue
        if began is not None:
            yield began, said, at
        began, said = (None if kind == ENDED else at), None
    if began is not None:
        yield began, said, end


def covered(spans: Iterable[Span]) -> float:
    """How long the time is that these spans cover; where they overlap, it counts once."""
    total, until = 0.0, float("-inf")
    for span in sorted(spans, key=lambda span: span.start):
        total += max(0.0, span.end - max(span.start, until))
        until = max(until, span.end)
    return total


# Texts.


def line_of(span: Span) -> str:
    """A span as a line of text."""
    note = "  failed" if span.error else "" if span.finished else "  not finished"
    indent = "" if span.kind == "turn" else "    " if span.parent_tool_use_id else "  "
    # Names are other people's: what a terminal would obey is spelled out.
    name = visible(" ".join(span.name.split())[:60])
    name = "" if name == span.kind else f" {name}"
    return f"{span.start:9.3f} {span.seconds:9.3f} s  {indent}{span.kind}{name}{note}"


def shown(seconds: float) -> str:
    """A duration for people."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def count(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# The picture: one turn as a waterfall, several as one bar each.


@dataclasses.dataclass
class Row:
    """One line of the picture."""

    label: str
    spans: list[Span] = dataclasses.field(default_factory=list)
    indent: int = 0
    note: str = ""


def rows_of(timeline: Timeline) -> list[Row]:
    """The lines of the picture. What lies on top of others comes last in its row."""
    if len(timeline.turns) > 1:
        rows = {turn.turn: Row(f"{turn.turn + 1}  {turn.name}") for turn in timeline.turns}
        for span in sorted(timeline.spans, key=lambda span: span.kind in OVERLAYS):
            if span.kind == "turn":
                rows[span.turn].note = shown(span.seconds) + (", failed" if span.error else "")
            else:
                rows[span.turn].spans.append(span)
        return list(rows.values())
    models, tools = timeline.of("queued", "model"), timeline.of(*TOOLS)
    # Each subagent stands before the tools it used, which are indented.
    paths: dict[str | None, tuple[tuple[float, int], ...]] = {}
    for number, span in enumerate(tools):
        above = paths.get(span.parent_tool_use_id, ())[:DEEPEST]
        paths[span.tool_use_id] = (*above, (span.start, number))
    found: dict[object, Row] = {}
    of_use: dict[str | None, Row] = {}
    for span in sorted(tools, key=lambda span: paths[span.tool_use_id]):
        indent = len(paths[span.tool_use_id]) - 1
        key = (span.name, indent > 0) if len(tools) > MOST_CALLS else span.tool_use_id
        row = of_use[span.tool_use_id] = found.setdefault(key, Row(span.name, indent=indent))
        row.spans.append(span)
    for span in timeline.of(*OVERLAYS):
        label = f"{span.kind}: {span.name}"
        row = of_use.get(span.tool_use_id) or found.setdefault(label, Row(label))
        row.spans.append(span)
    for row in of_use.values():
        calls = [span for span in row.spans if span.kind in TOOLS]
        waited = covered(span for span in row.spans if span.kind in WAITS)
        row.label = calls[0].name + (f" ×{len(calls)}" if len(calls) > 1 else "")  # noqa: RUF001
        row.note = shown(covered(calls)) + (f", {shown(waited)} of it waiting" if waited else "")
    first = [Row("model", list(models), note=shown(timeline.model_seconds))] if models else []
    return [*first, *found.values()]


def drawn(timeline: Timeline, *, alone: bool) -> Iterator[str]:
    """The elements of the picture; *alone*: as a document, and not as a part of a page."""
    rows = rows_of(timeline)
    if len(rows) > MOST_ROWS:
        rows[MOST_ROWS:] = [Row(f"{len(rows) - MOST_ROWS} more rows")]
    rows = rows or [Row("nothing has been asked yet")]
    height = TOP + ROW * len(rows) + 10
    # Of several turns, each begins at the left.
    starts = {turn.turn: turn.start for turn in timeline.turns}
    longest = max((turn.seconds for turn in timeline.turns), default=0.0) or 0.001

    def place(seconds: float) -> float:
        return LEFT + min(max(seconds / longest, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    namespace = 'xmlns="http://www.w3.org/2000/svg" ' if alone else ""
    yield (
        f'<svg {namespace}viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="Timeline: {xml(timeline.summary())}" fill="currentColor" '
        'font-family="system-ui, -apple-system, Segoe UI, sans-serif" font-size="12">'
    )
    yield SCHEME if alone else ""
    yield text_at(14, 22, timeline.summary(), 'font-size="14" font-weight="600"')
    yield from legend(timeline.spans)
    step = tick_step(longest)
    for number in range(int(longest / step) + 1):
        x, seconds = place(number * step), number * step
        edge = 'stroke="currentColor" stroke-opacity="0.13"'
        yield f'<path d="M{x:.1f} {TOP - 4}V{height - 10}" {edge}/>'
        label = f"{seconds:g} s" if 1 <= seconds < 60 else shown(seconds) if seconds else "0"
        more = 'font-size="10" fill-opacity="0.6" text-anchor="middle"'
        yield text_at(x, TOP - 8, label, more)
    for number, row in enumerate(rows):
        top = TOP + ROW * number
        # An element of its own, which cuts off what does not fit.
        x = 14 + 14 * row.indent
        label = text_at(0, 16, " ".join(row.label.split()))
        yield f'<svg x="{x}" y="{top}" width="{LEFT - 8 - x}" height="{ROW}">{label}</svg>'
        until = float(LEFT)
        for span in row.spans:
            begin = starts.get(span.turn, 0.0)
            x, end = place(span.start - begin), place(span.end - begin)
            yield from bar(span, x, end, top, place((span.first or 0.0) - begin))
            until = max(until, end)
        # What does not fit is told by the bars themselves, to the mouse.
        note = row.note if until + 6 + SIGN * len(row.note) <= WIDTH else row.note.split(",")[0]
        x = min(until + 6, WIDTH - RIGHT + 6)
        yield text_at(x, top + 16, note, 'font-size="11" fill-opacity="0.75"')
    yield "</svg>"


def legend(spans: Sequence[Span]) -> Iterator[str]:
    """The colours that are in the picture, and what they mean."""
    kinds = {"permission" if span.kind == "question" else span.kind for span in spans}
    names = [(COLOURS[kind], 1.0, name) for kind, name in LEGEND.items() if kind in kinds]
    if any(span.first is not None for span in spans):
        names.append((COLOURS["model"], BEFORE_FIRST, "before the first text"))
    if any(span.error for span in spans if span.kind != "turn"):
        names.append((COLOURS["error"], 1.0, "failed"))
    x = 14.0
    for colour, opacity, name in names:
        yield rect((x, 33, 10, 10), colour, opacity)
        yield text_at(x + 15, 42, name, 'font-size="11" fill-opacity="0.8"')
        x += 30 + SIGN * len(name)


def bar(span: Span, x: float, end: float, top: float, first: float) -> Iterator[str]:
    """One bar; it is paler before the first text, and where its end was not seen."""
    height = BAR / 2 if span.kind in ("hook", "queued") else BAR
    y = top + (ROW - height) / 2
    colour = COLOURS["error"] if span.error else COLOURS[span.kind]
    words = {"permission": "waiting for permission", "question": "waiting for an answer"}
    title = f"{words.get(span.kind, span.kind)} {shown(span.seconds)}"
    title = title if span.name == span.kind else f"{' '.join(span.name.split())[:80]}: {title}"
    title += f", first text after {shown(span.first - span.start)}" if span.first else ""
    title += ", failed" if span.error else "" if span.finished else ", not finished"
    if span.first is not None and x < first < end:
        yield rect((x, y, first - x, height), colour, BEFORE_FIRST, title)
        x = first
    opacity = 1.0 if span.finished or span.kind in OVERLAYS else 0.55
    yield rect((x, y, max(end - x, 1.5), height), colour, opacity, title)


def rect(
    place: tuple[float, float, float, float], colour: str, opacity: float, title: str = ""
) -> str:
    """A rectangle: x, y, width and height; *title* shows while the mouse is over it."""
    x, y, width, height = place
    inside = f"<title>{xml(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
        f'fill="{colour}" fill-opacity="{opacity:g}">{inside}</rect>'
    )


def text_at(x: float, y: float, text: str, more: str = "") -> str:
    """A text; nothing for an empty one."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{xml(text)}</text>' if text else ""


def xml(text: str) -> str:
    """For an element or an attribute; without what XML cannot carry."""
    return escape(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def tick_step(longest: float) -> float:
    """A round number of seconds, of which about six fit."""
    size = 10.0 ** math.floor(math.log10(longest / 6))
    return next(size * factor for factor in (1, 2, 5, 10) if longest / (size * factor) <= 6)
