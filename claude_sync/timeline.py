"""
Where the time went: a picture of a turn, or of all turns of a client.

::

    answer = client.ask("Fix the failing test")
    answer.timeline().save("turn.svg")
    print(client.timeline())

The model at work, tools, subagents, waiting for permission. Times are those of
arrival, so a slow handler of the program does not show. The picture is SVG:
no script, nothing is loaded, and it suits light and dark pages.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Iterable, List, Sequence, Tuple, Union

from .errors import UsageError
from .support.text import visible
from .timeline_spans import Span, covered, spans_of

if TYPE_CHECKING:
    import os

    from .engine.marks import Marks

__all__ = ["Span", "Timeline", "timeline_of"]

TOOLS = ("tool", "agent")
WAITS = ("permission", "question")


class Timeline:
    """
    When what happened. Notebooks show it as a picture, ``print`` as a table.

    Attributes:
        spans: Every :class:`Span`, turn by turn, in order of their beginning.
        cost_usd: What the turns cost.
        left_out: How many tool calls of very long turns are not in it.

    """

    def __init__(self, spans: Iterable[Span], cost_usd: float = 0.0, left_out: int = 0) -> None:
        self.spans: Tuple[Span, ...] = tuple(spans)
        self.cost_usd = cost_usd
        self.left_out = left_out

    @property
    def turns(self) -> Tuple[Span, ...]:
        """The turns themselves."""
        return self.of("turn")

    def of(self, *kinds: str) -> Tuple[Span, ...]:
        """The spans of these kinds."""
        return tuple(span for span in self.spans if span.kind in kinds)

    @property
    def seconds(self) -> float:
        """How long the turns took, from the call to the result, without the time between."""
        return length(covered(self.turns))

    @property
    def model_seconds(self) -> float:
        """How long the model worked in the main conversation."""
        return length(covered(self.of("model")))

    @property
    def waiting_seconds(self) -> float:
        """How long there was a permission or a question for which nobody had answered."""
        return length(covered(self.of(*WAITS)))

    @property
    def tool_seconds(self) -> float:
        """How long tools and subagents ran; waiting for permission does not count."""
        tools, waits = self.of(*TOOLS), self.of(*WAITS)
        return length(covered((*tools, *waits))) - length(covered(waits))

    # Pictures.

    @property
    def svg(self) -> str:
        """The picture as an SVG document of its own."""
        from .timeline_svg import draw

        return draw(self, alone=True)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        """The picture inside of a page, in whose colours its texts are."""
        from .timeline_svg import draw

        return f'<div style="overflow-x: auto">{draw(self, alone=False)}</div>'

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
        """Write the picture to a file, ``.svg`` or ``.html``; its path."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix == ".svg":
            text = self.svg
        elif suffix in (".html", ".htm"):
            text = PAGE.format(self._repr_html_())
        else:
            raise UsageError(
                f"a timeline is saved as .svg or .html, not as {target.name!r}. "
                "Give the file one of these endings."
            )
        target.write_text(text, encoding="utf-8")
        return target

    # Texts.

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
        lines = [line_of(span) for span in self.spans]
        return "\n".join([*lines, self.summary()])


PAGE = (
    '<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>Timeline</title>\n'
    "<style>:root {{ color-scheme: light dark }}</style></head>\n<body>{}</body></html>\n"
)


def timeline_of(marks: Sequence[Marks]) -> Timeline:
    """The timeline of these turns."""
    now = monotonic()
    origin = min((each.made for each in marks), default=now)
    spans: List[Span] = []
    for turn, each in enumerate(marks):
        spans += spans_of(each, origin, turn, now)
    cost = sum(each.cost_usd for each in marks)
    return Timeline(spans, cost, sum(each.left_out for each in marks))


def line_of(span: Span) -> str:
    """A span as a line of text."""
    note = "  failed" if span.error else "" if span.finished else "  not finished"
    indent = "" if span.kind == "turn" else "    " if span.parent_tool_use_id else "  "
    # Names are other people's: what a terminal would obey is spelled out.
    name = visible(" ".join(span.name.split())[:60])
    name = "" if name == span.kind else f" {name}"
    return f"{span.start:9.3f} {span.seconds:9.3f} s  {indent}{span.kind}{name}{note}"


def length(intervals: Iterable[Tuple[float, float]]) -> float:
    """How long intervals that do not touch are together."""
    return sum(end - start for start, end in intervals)


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
