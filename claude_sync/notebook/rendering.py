"""
A turn as HTML, for a notebook, and as plain text for whatever shows no HTML.

Whatever Claude or a tool says is text here: it is escaped, or it goes through
``markdown_to_html``, which lets through no element of its own. There is no script
and nothing is loaded. Colours follow the page, light or dark.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..render.chats import Step, one_line
from ..render.documents import COUNTED
from ..render.html import boxed, steps_html
from ..render.markdown import escape
from ..render.turns import chat_of_turn, outcome_of
from ..support.text import visible

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..messages.answer import Answer

__all__ = ["Shown", "bundle_of", "cost_line", "text_of_step", "turn_html", "turn_text"]

# What is longer is looked at in the answer itself; a notebook keeps every output in its file.
LONGEST_DETAIL = 4_000
LONGEST_SAID = 1_000_000
MOST_ROWS, LONGEST_CELL = 50, 200

MARKS = {"unfinished": "…", "done": "✓", "failed": "✗"}


@dataclasses.dataclass
class Shown:
    """
    What a display of a turn shows besides the turn.

    Attributes:
        spent_before: What clients before that of the turn have cost.
        decisions: What was decided about uses of tools, by their ids.
        with_error: Whether it says what went wrong; not where that is raised right below.
        seconds: How long it has run.

    """

    spent_before: float = 0.0
    decisions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    with_error: bool = True
    seconds: float | None = None


def bundle_of(turn: Turn, shown: Shown | None = None) -> Mapping[str, str]:
    """What to display of a turn, for every kind of front end."""
    return {
        "text/html": turn_html(turn, shown),
        # Some front ends are terminals, which obey more than line ends.
        "text/plain": visible(turn_text(turn, shown)),
    }


def turn_html(turn: Turn, shown: Shown | None = None) -> str:
    """The turn so far; the seconds are shown until it is over."""
    shown = shown or Shown()
    folder = folder_of(turn)
    steps = chat_of_turn(turn, shown.decisions).steps
    said = "".join(
        steps_html(
            [step],
            maths=True,
            folder=folder,
            most=LONGEST_SAID if step.kind == "claude" else LONGEST_DETAIL,
        )
        for step in steps
    )
    return boxed(said + ending_html(turn, shown))


def ending_html(turn: Turn, shown: Shown) -> str:
    """What it cost, what went wrong, or that it still runs."""
    seconds = shown.seconds
    if turn.cancelled():
        return note_html("withdrawn before it was asked")
    if not turn.done():
        waited = "" if seconds is None else f" {int(seconds)} s"
        return note_html(f"… {'working' if turn.running() else 'waiting'}{waited}")
    answer, error = outcome_of(turn)
    parts = []
    if answer is not None and answer.data is not None:
        parts.append(data_html(answer.data))
    if error is not None and shown.with_error:
        parts.append(steps_html([Step("error", error_line(error))]))
    if answer is not None:
        parts.append(note_html(cost_line(answer, shown.spent_before)))
    return "".join(parts)


def data_html(data: Any) -> str:
    """The data of a typed answer: rows of the same fields as a table, all else as Python has it."""
    rows = data if isinstance(data, list) else [data]
    fields = [fields_of(row) for row in rows[:MOST_ROWS]]
    if not fields or any(not each or list(each) != list(fields[0]) for each in fields):
        return f"<pre>{escape(repr_of(data)[:LONGEST_DETAIL])}</pre>"
    head = "".join(f"<th>{escape(str(name))}</th>" for name in fields[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell_of(value))}</td>" for value in each.values()) + "</tr>"
        for each in fields
    )
    more = len(rows) - len(fields)
    note = note_html(f"{more:,} more rows") if more else ""
    return f'<table class="mathjax_ignore"><tr>{head}</tr>{body}</table>{note}'


def fields_of(value: Any) -> Mapping[str, Any]:
    """The fields of an object; none of what has none."""
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", {})  # Pydantic's
    return {name: getattr(value, name, None) for name in names}


def cell_of(value: Any) -> str:
    """A value in a table."""
    return one_line(value if isinstance(value, str) else repr_of(value), LONGEST_CELL)


def note_html(text: str) -> str:
    """A line of ours; mathematics would be made of two amounts of money in it."""
    return f'<div class="end mathjax_ignore">{escape(text)}</div>'


def turn_text(turn: Turn, shown: Shown | None = None) -> str:
    """The same without HTML."""
    shown = shown or Shown()
    folder = folder_of(turn)
    steps = chat_of_turn(turn, shown.decisions).steps
    lines = [text_of_step(step, folder) for step in steps]
    answer, error = outcome_of(turn)
    if answer is not None and answer.data is not None:
        lines.append(repr_of(answer.data))
    if error is not None and shown.with_error:
        lines.append(error_line(error))
    if answer is not None:
        lines.append(cost_line(answer, shown.spent_before))
    return "\n".join(filter(None, lines))


def text_of_step(step: Step, folder: str = "") -> str:
    """A text as it is, a use of a tool in one line; what Claude thinks is not shown."""
    if step.kind != "tool":
        return "" if step.kind == "thinking" else step.text
    line = f"{MARKS[step.state]} {' '.join(step.summary(folder))}".rstrip()
    line += f" ({step.decision})" if step.decision else ""
    inner = [f"  {text_of_step(each, folder)}" for each in step.steps if each.kind == "tool"]
    return "\n".join([line, *inner])


def folder_of(turn: Turn) -> str:
    """The folder in which the turn's CLI runs."""
    return os.path.abspath(turn._session.options.cwd or os.getcwd())


def cost_line(answer: Answer, spent_before: float = 0.0) -> str:
    """What the answer cost, and what it took."""
    usage = answer.usage
    tokens = sum(int(usage.get(name, 0)) for name in COUNTED)
    facts = [f"${answer.cost_usd:.4f}"]
    so_far = spent_before + answer.total_cost_usd
    if so_far > answer.cost_usd:
        facts.append(f"${so_far:.4f} so far")
    facts.append(f"{answer.duration_ms / 1000:.1f} s")
    facts.append(f"{tokens:,} tokens")
    return " · ".join(facts)


def error_line(error: BaseException) -> str:
    """An error as one line."""
    return one_line(f"{type(error).__name__}: {error}", longest=2_000)


def repr_of(value: Any) -> str:
    """How a value shows itself; one that cannot is no reason to show nothing."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr fails: {type(error).__name__}>"
