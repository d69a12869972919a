"""
A timeline as SVG: one turn as a waterfall, several as one bar each.

Colours are chosen to be seen on white and on black; texts have the colour of the
page, or of the reader's scheme where the picture stands alone. There is no
script, no style that a page could inherit, and every name is escaped.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from .markup_inline import escape
from .timeline_spans import Span

if TYPE_CHECKING:
    from .timeline import Timeline

__all__ = ["draw"]

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
# The kinds that lie on the bar of the tool they are about.
OVERLAYS = ("permission", "question", "hook")

WIDTH = 900
LEFT = 240
RIGHT = 84
TOP = 66
ROW = 24
BAR = 14
NARROWEST = 1.5
LABEL_COLUMNS = 32
# More tool calls than this are drawn together, one row for each tool.
MOST_ROWS = 30
# And no more than so many rows, whatever they are.
LAST_ROW = 120
TICKS = 6
# How wide a sign of the small texts is, about.
SIGN = 6.2
BEFORE_FIRST = 0.45

# Texts of a picture that stands alone are in the reader's scheme.
SCHEME = (
    "<style>svg { color: #1f2328; background: #ffffff } "
    "@media (prefers-color-scheme: dark) { svg { color: #e6e8eb; background: #16181c } }</style>"
)


class Row(NamedTuple):
    """One line of the picture."""

    label: str
    spans: Sequence[Span]
    indent: int = 0
    note: str = ""
    more: str = ""


def draw(timeline: Timeline, alone: bool) -> str:
    """The picture; *alone*: as a document, and not as a part of a page."""
    return Drawing(timeline).document(alone)


class Drawing:
    """One picture."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        turns = timeline.turns
        rows = rows_of_turns(timeline) if len(turns) > 1 else rows_of_one(timeline)
        self.left_out = max(0, len(rows) - LAST_ROW)
        self.rows = rows[:LAST_ROW]
        # One turn begins where it does; of several, each begins at the left.
        self.starts = {turn.turn: turn.start for turn in turns}
        self.longest = max((turn.seconds for turn in turns), default=0.0) or 0.001
        self.out: List[str] = []

    def document(self, alone: bool) -> str:
        """All of it."""
        height = TOP + ROW * max(len(self.rows), 1) + (ROW if self.left_out else 0) + 10
        summary = self.timeline.summary()
        namespace = 'xmlns="http://www.w3.org/2000/svg" ' if alone else ""
        self.out.append(
            f'<svg {namespace}viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-label="Timeline: {xml(summary)}" fill="currentColor" '
            'font-family="system-ui, -apple-system, Segoe UI, sans-serif" font-size="12">'
        )
        if alone:
            self.out.append(SCHEME)
        self.text(14, 22, summary, size=14, weight=600)
        self.legend()
        self.axis(height)
        for number, row in enumerate(self.rows):
            self.row(row, TOP + ROW * number)
        if not self.rows:
            self.text(14, TOP + 16, "nothing has been asked yet", opacity=0.7)
        if self.left_out:
            place = TOP + ROW * len(self.rows) + 16
            self.text(14, place, f"{self.left_out} more rows", opacity=0.7)
        self.out.append("</svg>")
        return "\n".join(self.out)

    def legend(self) -> None:
        """The colours that are in the picture, and what they mean."""
        kinds = {span.kind for span in self.timeline.spans}
        if "question" in kinds:
            kinds.add("permission")
        place = 14.0
        shown = [(COLOURS[kind], 1.0, name) for kind, name in LEGEND.items() if kind in kinds]
        if any(span.first is not None for span in self.timeline.spans):
            shown.append((COLOURS["model"], BEFORE_FIRST, "before the first text"))
        if any(span.error for span in self.timeline.spans if span.kind != "turn"):
            shown.append((COLOURS["error"], 1.0, "failed"))
        for colour, opacity, name in shown:
            self.rect(place, 33, 10, 10, colour, opacity)
            self.text(place + 15, 42, name, size=11, opacity=0.8)
            place += 30 + SIGN * len(name)

    def axis(self, height: int) -> None:
        """Thin lines, with their seconds above."""
        step = tick_step(self.longest)
        for number in range(int(self.longest / step) + 1):
            place = self.place(number * step)
            self.out.append(
                f'<path d="M{place:.1f} {TOP - 4}V{height - 10}" stroke="currentColor" '
                'stroke-opacity="0.13"/>'
            )
            label = tick(number * step)
            self.text(place, TOP - 8, label, size=10, opacity=0.6, anchor="middle")

    def row(self, row: Row, top: float) -> None:
        """A label, its bars, and what they come to."""
        indent = 14 * row.indent
        self.text(14 + indent, top + 16, shortened(row.label, LABEL_COLUMNS - 2 * row.indent))
        end = float(LEFT)
        for span in row.spans:
            end = max(end, self.bar(span, top))
        note = f"{row.note}{row.more}"
        if end + 6 + SIGN * len(note) > WIDTH:
            note = row.note
        self.text(min(end + 6, WIDTH - RIGHT + 6), top + 16, note, size=11, opacity=0.75)

    def bar(self, span: Span, top: float) -> float:
        """One bar; where it ends."""
        origin = self.starts.get(span.turn, 0.0)
        start, end = self.place(span.start - origin), self.place(span.end - origin)
        width = max(end - start, NARROWEST)
        thin = span.kind == "hook" or span.kind == "queued"
        height = BAR / 2 if thin else BAR
        colour = COLOURS["error"] if span.error else COLOURS[span.kind]
        opacity = 1.0 if span.finished or span.kind in OVERLAYS else 0.55
        place = top + (ROW - height) / 2
        title = described(span)
        if span.first is not None and start < self.place(span.first - origin) < end:
            middle = self.place(span.first - origin)
            self.rect(start, place, middle - start, height, colour, BEFORE_FIRST, title)
            self.rect(middle, place, end - middle, height, colour, opacity, title)
        else:
            self.rect(start, place, width, height, colour, opacity, title)
        return start + width

    def place(self, seconds: float) -> float:
        """Where a moment is."""
        share = min(max(seconds / self.longest, 0.0), 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str,
        opacity: float = 1.0,
        title: str = "",
    ) -> None:
        """A rectangle; *title* shows while the mouse is over it."""
        faded = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        inside = f"<title>{xml(title)}</title>" if title else ""
        self.out.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
            f'fill="{colour}"{faded}>{inside}</rect>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int = 12,
        opacity: float = 1.0,
        anchor: str = "",
        weight: int = 0,
    ) -> None:
        """A text; nothing for an empty one."""
        if not text:
            return
        more = f' font-size="{size}"' if size != 12 else ""
        more += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        more += f' text-anchor="{anchor}"' if anchor else ""
        more += f' font-weight="{weight}"' if weight else ""
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{xml(text)}</text>')


# Which rows there are.


def rows_of_one(timeline: Timeline) -> List[Row]:
    """One turn: the model first, then each tool, or each kind of tool if there are many."""
    from .timeline import shown

    models = timeline.of("queued", "model")
    rows = [Row("model", models, note=shown(timeline.model_seconds))] if models else []
    tools = timeline.of("tool", "agent")
    about: Dict[str, List[Span]] = {}
    for span in timeline.of(*OVERLAYS):
        about.setdefault(span.tool_use_id or "", []).append(span)
    known = {span.tool_use_id for span in tools}
    alone = [span for key, spans in about.items() if key not in known for span in spans]
    if len(tools) > MOST_ROWS:
        rows += grouped(tools, about)
    else:
        for span in in_families(tools):
            spans = [span, *about.get(span.tool_use_id or "", ())]
            indent = depth_of(span, tools)
            waited = sum(each.seconds for each in spans if each.kind in OVERLAYS[:2])
            more = f", {shown(waited)} of it waiting" if waited else ""
            rows.append(Row(span.name, spans, indent, shown(span.seconds), more))
    for kind in OVERLAYS:
        spans = [span for span in alone if span.kind == kind]
        if spans:
            rows.append(Row(name_of(spans), spans))
    return rows


def name_of(spans: Sequence[Span]) -> str:
    """What to call requests that are about no tool of the turn."""
    names = list(dict.fromkeys(span.name for span in spans))
    return f"{spans[0].kind}: {', '.join(names)}"


def in_families(tools: Iterable[Span]) -> List[Span]:
    """Each subagent before the tools it used."""
    below: Dict[str, List[Span]] = {}
    for span in tools:
        below.setdefault(span.parent_tool_use_id or "", []).append(span)
    found: List[Span] = []
    left = list(reversed(below.pop("", [])))
    while left:
        span = left.pop()
        found.append(span)
        left.extend(reversed(below.pop(span.tool_use_id or "?", [])))
    return found


def depth_of(span: Span, tools: Sequence[Span]) -> int:
    """How many subagents a tool is below, as far as that can be shown."""
    parents = {tool.tool_use_id: tool.parent_tool_use_id for tool in tools}
    depth, parent = 0, span.parent_tool_use_id
    while parent is not None and depth < 4:
        depth, parent = depth + 1, parents.get(parent)
    return depth


def grouped(tools: Sequence[Span], about: Dict[str, List[Span]]) -> List[Row]:
    """Many calls: one row for each tool, more where several ran at once."""
    from .timeline import length, shown
    from .timeline_spans import covered

    names: Dict[Tuple[int, str], List[Span]] = {}
    for span in tools:
        names.setdefault((1 if span.parent_tool_use_id else 0, span.name), []).append(span)
    rows: List[Row] = []
    for (indent, name), spans in names.items():
        for number, lane in enumerate(lanes(spans)):
            drawn = [*lane]
            for span in lane:
                drawn += about.get(span.tool_use_id or "", ())
            label = f"{name} ×{len(spans)}" if not number else ""  # noqa: RUF001 - times
            note = shown(length(covered(spans))) if not number else ""
            rows.append(Row(label, drawn, indent, note))
    return rows


def lanes(spans: Sequence[Span], most: int = 6) -> List[List[Span]]:
    """Spans that overlap, apart from each other; in the last of *most* lanes they may."""
    found: List[List[Span]] = []
    for span in sorted(spans, key=lambda span: span.start):
        for lane in found:
            if lane[-1].end <= span.start:
                lane.append(span)
                break
        else:
            if len(found) < most:
                found.append([span])
            else:
                found[-1].append(span)
    return found


def rows_of_turns(timeline: Timeline) -> List[Row]:
    """Several turns: one row each."""
    from .timeline import shown

    parts: Dict[int, List[Span]] = {}
    for span in timeline.spans:
        if span.kind != "turn":
            parts.setdefault(span.turn, []).append(span)
    rows: List[Row] = []
    for turn in timeline.turns:
        # What lies on top of others comes last.
        spans = sorted(parts.get(turn.turn, ()), key=lambda span: span.kind in OVERLAYS)
        label = f"{turn.turn + 1}  {' '.join(turn.name.split())}".rstrip()
        rows.append(Row(label, spans, 0, shown(turn.seconds), ", failed" if turn.error else ""))
    return rows


# Texts.


def described(span: Span) -> str:
    """What the mouse finds over a bar."""
    from .timeline import shown

    words = {"permission": "waiting for permission", "question": "waiting for an answer"}
    kind = words.get(span.kind, span.kind)
    name = "" if span.name == span.kind else f"{' '.join(span.name.split())[:80]}: "
    state = ", failed" if span.error else "" if span.finished else ", not finished"
    first = f", first text after {shown(span.first - span.start)}" if span.first else ""
    return f"{name}{kind} {shown(span.seconds)}{first}{state}"


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


def tick(seconds: float) -> str:
    """A round number of seconds."""
    from .timeline import shown

    return f"{seconds:g} s" if 1 <= seconds < 60 else shown(seconds) if seconds else "0"


def tick_step(longest: float) -> float:
    """A round number of seconds, of which about six fit."""
    size = 0.001
    while True:
        for factor in (1, 2, 5):
            if longest / (size * factor) <= TICKS:
                return size * factor
        size *= 10
