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
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

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
LABEL_COLUMNS = 32
# More tool calls than this share a row for each tool; and there are no more rows than so many.
MOST_CALLS, MOST_ROWS = 30, 120
# How wide a sign of the small texts is, about.
SIGN = 6.2
BEFORE_FIRST = 0.45
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


class Timeline:
    """
    When what happened. Notebooks show it as a picture, ``print`` as a table.

    Attributes:
        spans: Every :class:`Span`, turn by turn, in order of their beginning.
        cost_usd: What the turns cost.
        left_out: How many tool calls of very long turns are not in it.
        was_sent: Whether any of the turns has been sent.

    """

    def __init__(
        self,
        spans: Iterable[Span],
        cost_usd: float = 0.0,
        left_out: int = 0,
        *,
        was_sent: bool = True,
    ) -> None:
        self.spans: tuple[Span, ...] = tuple(spans)
        self.cost_usd = cost_usd
        self.left_out = left_out
        self.was_sent = was_sent

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
    return Timeline(spans, cost, left_out, was_sent=any(each.events for each in marks))


# Spans.


def spans_of(marks: Marks, origin: float, turn: int, now: float) -> list[Span]:
    """
    The spans of one turn, the turn itself first, the others in order of their beginning.

    Args:
        marks: Its marks. Another thread may go on marking, so they are copied first.
        origin: The moment from which the timeline counts.
        turn: Its number.
        now: The end of what has none yet.

    """
    events = sorted(marks.events, key=lambda event: float(event[0]))
    results = [event for event in events if event[1] == ENDED]
    # A turn that failed without a result ended with its last mark.
    last = max(events[-1][0] if events else marks.made, now if marks.cut is None else marks.cut)
    end: float = results[-1][0] if results else last
    failed = bool(results and (results[-1][4] or str(results[-1][3]).startswith("error")))

    def span(kind: str, name: str, start: float, until: float, **more: object) -> Span:
        until = max(start, min(until, end))
        made = Span(kind, name, start - origin, until - origin, turn=turn)
        return dataclasses.replace(made, **more) if more else made  # type: ignore[arg-type]

    found: list[Span] = []
    sent = next((event[0] for event in events if event[1] == SENT), end)
    if sent > marks.made:
        found.append(span("queued", "waiting to be sent", marks.made, sent))
    for began, said, at in rounds(events, end):
        if said is None and at - began < TOO_SHORT:
            continue
        is_first = not any(each.kind == "model" for each in found)
        first = marks.first if is_first and marks.first is not None else end + 1
        found.append(
            span(
                "model",
                "model",
                began,
                at if said is None else said,
                finished=said is not None or bool(results),
                first=first - origin if began <= first <= end else None,
            )
        )
    uses: dict[str, Span] = {}
    for event in events:
        at, kind, parent = event[:3]
        if kind == USED and event[3] not in uses and (parent is None or parent in uses):
            name = "agent" if event[4] in AGENT_TOOLS else "tool"
            ids = {"tool_use_id": event[3], "parent_tool_use_id": parent}
            uses[event[3]] = span(name, event[4], at, end, finished=False, **ids)
        elif kind == DONE and event[3] in uses and not uses[event[3]].finished:
            done = {"end": at - origin, "error": event[4], "finished": True}
            uses[event[3]] = dataclasses.replace(uses[event[3]], **done)
    for event in events:
        # A subagent in the background has its result at once, and goes on.
        agent = uses.get(event[2]) if event[2] is not None else None
        if agent is not None and agent.end < event[0] - origin:
            uses[event[2]] = dataclasses.replace(agent, end=event[0] - origin)
    found += uses.values()
    for wait in list(marks.waits):
        made = span(wait.kind, wait.name, wait.start, end if wait.end is None else wait.end)
        use = uses.get(wait.tool_use_id or "") or use_of(made, uses.values())
        found.append(
            dataclasses.replace(
                made,
                tool_use_id=wait.tool_use_id or (use.tool_use_id if use else None),
                parent_tool_use_id=use.parent_tool_use_id if use else None,
                finished=wait.end is not None,
            )
        )
    found.sort(key=lambda each: each.start)
    error = failed or (not results and marks.cut is not None)
    return [
        span("turn", marks.prompt, marks.made, end, error=error, finished=bool(results)),
        *found,
    ]


def rounds(
    events: Sequence[tuple[object, ...]], end: float
) -> Iterator[tuple[float, float | None, float]]:
    """When the model began to work, had said all (None: it said nothing), and stopped."""
    began: float | None = None
    said: float | None = None
    running: set[object] = set()
    for event in events:
        at, kind, parent = event[:3]
        assert isinstance(at, float)
        if parent is not None:
            continue  # a subagent's, whose time is that of its tool
        if kind in (SAID, USED):
            began, said = at if began is None else began, at
            running |= {event[3]} if kind == USED else set()
            continue
        if kind == DONE:
            running.discard(event[3])
            if running:
                continue
        if began is not None:
            yield began, said, at
        began, said = (None if kind == ENDED else at), None
    if began is not None:
        yield began, said, end


def use_of(wait: Span, uses: Iterable[Span]) -> Span | None:
    """Very old CLIs do not tell which use they ask about: the last of that tool."""
    if wait.kind == "hook":
        return None
    then = [use for use in uses if use.name == wait.name and use.start <= wait.start <= use.end]
    return then[-1] if then else None


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


def described(span: Span) -> str:
    """What the mouse finds over a bar."""
    words = {"permission": "waiting for permission", "question": "waiting for an answer"}
    kind = words.get(span.kind, span.kind)
    name = "" if span.name == span.kind else f"{' '.join(span.name.split())[:80]}: "
    state = ", failed" if span.error else "" if span.finished else ", not finished"
    first = f", first text after {shown(span.first - span.start)}" if span.first else ""
    return f"{name}{kind} {shown(span.seconds)}{first}{state}"


# The picture: one turn as a waterfall, several as one bar each.


class Row(NamedTuple):
    """One line of the picture."""

    label: str
    spans: Sequence[Span]
    note: str = ""
    indent: int = 0


def rows_of(timeline: Timeline) -> list[Row]:
    """The lines of the picture."""
    if len(timeline.turns) > 1:
        rows = []
        for turn in timeline.turns:
            spans = [each for each in timeline.spans if each.turn == turn.turn and each != turn]
            # What lies on top of others comes last.
            spans.sort(key=lambda each: each.kind in OVERLAYS)
            note = shown(turn.seconds) + (", failed" if turn.error else "")
            rows.append(Row(f"{turn.turn + 1}  {turn.name}", spans, note))
        return rows
    models, tools = timeline.of("queued", "model"), timeline.of(*TOOLS)
    rows = [Row("model", models, shown(timeline.model_seconds))] if models else []
    known = {span.tool_use_id for span in tools}
    about: dict[str | None, list[Span]] = {}
    for span in timeline.of(*OVERLAYS):
        key = span.tool_use_id if span.tool_use_id in known else None
        about.setdefault(key, []).append(span)
    groups: dict[object, list[Span]] = {}
    depths: dict[str | None, int] = {}
    families = list(in_families(tools, depths))
    for span in families:
        by_name = (span.name, depths[span.tool_use_id] > 0)
        group = by_name if len(tools) > MOST_CALLS else span.tool_use_id
        groups.setdefault(group, []).append(span)
    for spans in groups.values():
        waits = [wait for each in spans for wait in about.get(each.tool_use_id, ())]
        waited = covered(wait for wait in waits if wait.kind in WAITS)
        note = shown(covered(spans)) + (f", {shown(waited)} of it waiting" if waited else "")
        label = spans[0].name + (f" ×{len(spans)}" if len(spans) > 1 else "")  # noqa: RUF001
        rows.append(Row(label, [*spans, *waits], note, min(depths[spans[0].tool_use_id], 4)))
    for kind in OVERLAYS:
        alone = [span for span in about.get(None, ()) if span.kind == kind]
        if alone:
            names = ", ".join(dict.fromkeys(span.name for span in alone))
            rows.append(Row(f"{kind}: {names}", alone))
    return rows


def in_families(tools: Sequence[Span], depths: dict[str | None, int]) -> Iterator[Span]:
    """Each subagent before the tools it used; notes how many subagents each is below."""
    below: dict[str | None, list[Span]] = {}
    for span in tools:
        below.setdefault(span.parent_tool_use_id, []).append(span)
    left = list(reversed(below.pop(None, [])))
    while left:
        span = left.pop()
        depths[span.tool_use_id] = depths.get(span.parent_tool_use_id, -1) + 1
        yield span
        left.extend(reversed(below.pop(span.tool_use_id, [])))


def drawn(timeline: Timeline, *, alone: bool) -> Iterator[str]:
    """The elements of the picture; *alone*: as a document, and not as a part of a page."""
    rows = rows_of(timeline)
    left_out, rows = max(0, len(rows) - MOST_ROWS), rows[:MOST_ROWS]
    height = TOP + ROW * max(len(rows) + bool(left_out), 1) + 10
    # One turn begins where it does; of several, each begins at the left.
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
    if alone:
        yield SCHEME
    yield text_at(14, 22, timeline.summary(), 'font-size="14" font-weight="600"')
    yield from legend(timeline.spans)
    step = tick_step(longest)
    for number in range(int(longest / step) + 1):
        x = place(number * step)
        yield (
            f'<path d="M{x:.1f} {TOP - 4}V{height - 10}" stroke="currentColor" '
            'stroke-opacity="0.13"/>'
        )
        seconds = number * step
        label = f"{seconds:g} s" if 1 <= seconds < 60 else shown(seconds) if seconds else "0"
        more = 'font-size="10" fill-opacity="0.6" text-anchor="middle"'
        yield text_at(x, TOP - 8, label, more)
    for number, row in enumerate(rows):
        top = TOP + ROW * number
        label = shortened(row.label, LABEL_COLUMNS - 2 * row.indent)
        yield text_at(14 + 14 * row.indent, top + 16, label)
        until = float(LEFT)
        for span in row.spans:
            begin = starts.get(span.turn, 0.0)
            x, end = place(span.start - begin), place(span.end - begin)
            first = None if span.first is None else place(span.first - begin)
            yield from bar(span, x, end, top, first)
            until = max(until, end)
        # What does not fit is told by the bars themselves, to the mouse.
        note = row.note if until + 6 + SIGN * len(row.note) <= WIDTH else row.note.split(",")[0]
        x = min(until + 6, WIDTH - RIGHT + 6)
        yield text_at(x, top + 16, note, 'font-size="11" fill-opacity="0.75"')
    if not rows or left_out:
        words = f"{left_out} more rows" if rows else "nothing has been asked yet"
        yield text_at(14, TOP + ROW * len(rows) + 16, words, 'fill-opacity="0.7"')
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
        yield rect(x, 33, 10, 10, colour, opacity)
        yield text_at(x + 15, 42, name, 'font-size="11" fill-opacity="0.8"')
        x += 30 + SIGN * len(name)


def bar(span: Span, x: float, end: float, top: float, first: float | None) -> Iterator[str]:
    """One bar; it is paler before the first text, and where its end was not seen."""
    height = BAR / 2 if span.kind in ("hook", "queued") else BAR
    y = top + (ROW - height) / 2
    colour = COLOURS["error"] if span.error else COLOURS[span.kind]
    opacity = 1.0 if span.finished or span.kind in OVERLAYS else 0.55
    title = described(span)
    if first is not None and x < first < end:
        yield rect(x, y, first - x, height, colour, BEFORE_FIRST, title)
        x = first
    yield rect(x, y, max(end - x, 1.5), height, colour, opacity, title)


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    opacity: float = 1,
    title: str = "",
) -> str:
    """A rectangle; *title* shows while the mouse is over it."""
    faded = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    inside = f"<title>{xml(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
        f'fill="{colour}"{faded}>{inside}</rect>'
    )


def text_at(x: float, y: float, text: str, more: str = "") -> str:
    """A text; nothing for an empty one."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{xml(text)}</text>' if text else ""


def xml(text: str) -> str:
    """For an element or an attribute; without what XML cannot carry."""
    return escape(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def shortened(text: str, columns: int) -> str:
    """As much of a text as fits; signs of some scripts are twice as wide."""
    text = " ".join(text.split())
    used = 0
    for place, char in enumerate(text):
        used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns:
            return text[: max(place - 1, 1)] + "…"
    return text


def tick_step(longest: float) -> float:
    """A round number of seconds, of which about six fit."""
    size = 0.001
    while True:
        for factor in (1, 2, 5):
            if longest / (size * factor) <= 6:
                return size * factor
        size *= 10
