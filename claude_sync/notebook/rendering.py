"""
A turn as HTML, for a notebook, and as plain text for whatever shows no HTML.

Whatever Claude or a tool says is text here: it is escaped, or it goes through
``claude_sync.markup``, which lets through no element of its own. There is no script
and nothing is loaded. Colours follow the page, light or dark.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Tuple

from ..displays import styled
from ..markup import escape, markdown_to_html
from ..support.text import visible
from .parts import Part, Use, Words, outcome_of, parts_of

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..messages.answer import Answer

__all__ = ["bundle_of", "cost_line", "summary_of", "text_of_use", "turn_html", "turn_text"]

# What is longer is looked at in the answer itself; a notebook keeps every output in its file.
LONGEST_DETAIL = 4_000
LONGEST_SUMMARY = 120

QUIET = "opacity:.65;font-size:.9em"
BOX = (
    "border-left:3px solid rgba(128,128,128,.45);padding:0 0 0 .7em;margin:.25em 0;font-size:.92em"
)
PRE = (
    "white-space:pre-wrap;overflow-wrap:anywhere;max-height:22em;overflow:auto;margin:.3em 0;"
    "padding:.4em .6em;background:rgba(128,128,128,.12)"
)
BAD = "color:#c62828"
MARKS = {"running": "…", "done": "✓", "failed": "✗"}

COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
# The argument that tells most about a call, by the usual names.
TELLING = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt")


def bundle_of(
    turn: Turn, seconds: Optional[float] = None, spent_before: float = 0.0
) -> Mapping[str, str]:
    """
    What to display of a turn, for every kind of front end.

    *seconds* is how long it has run, *spent_before* what clients before its own have cost.
    """
    return {
        "text/html": turn_html(turn, seconds, spent_before),
        # Some front ends are terminals, which obey more than line ends.
        "text/plain": visible(turn_text(turn, spent_before)),
    }


def turn_html(turn: Turn, seconds: Optional[float] = None, spent_before: float = 0.0) -> str:
    """The turn so far; the seconds are shown until it is over."""
    folder = folder_of(turn)
    pieces = [part_html(part, folder) for part in parts_of(turn)]
    pieces.append(ending_html(turn, seconds, spent_before))
    return f'<div style="max-width:60em">{"".join(pieces)}</div>'


def part_html(part: Part, folder: str = "") -> str:
    """One part; files below *folder* are named without it."""
    if isinstance(part, Words):
        return f"<div>{styled(markdown_to_html(part.text))}</div>"
    return use_html(part, folder)


def use_html(part: Use, folder: str) -> str:
    """A line that unfolds: the tool, and what went in and came out."""
    state = state_of(part)
    style = f' style="{BAD}"' if state == "failed" else ""
    name, about = summary_of(part.use.name, part.use.input, folder)
    shown = f"<b>{escape(name)}</b> <code>{escape(about)}</code>" if about else escape(name)
    details = [f'<pre style="{PRE}">{escape(shortened(input_text(part.use.input)))}</pre>']
    if part.result is not None:
        details.append(f'<pre style="{PRE}">{escape(shortened(part.result.text))}</pre>')
    summary = f"<summary{style}>{MARKS[state]} {shown}</summary>"
    return f'<details style="{BOX}">{summary}{"".join(details)}</details>'


def ending_html(turn: Turn, seconds: Optional[float], spent_before: float) -> str:
    """What it cost, what went wrong, or that it still runs."""
    if turn.cancelled():
        return f'<div style="{QUIET}">withdrawn before it was asked</div>'
    if not turn.done():
        waited = "" if seconds is None else f" {int(seconds)} s"
        doing = "working" if turn.running() else "waiting"
        return f'<div style="{QUIET}">… {doing}{waited}</div>'
    answer, error = outcome_of(turn)
    lines = []
    if answer is not None and answer.data is not None:
        lines.append(f'<pre style="{PRE}">{escape(shortened(repr_of(answer.data)))}</pre>')
    if error is not None:
        lines.append(f'<div style="{BAD}">{escape(error_line(error))}</div>')
    if answer is not None:
        lines.append(f'<div style="{QUIET}">{escape(cost_line(answer, spent_before))}</div>')
    return "".join(lines)


def turn_text(turn: Turn, spent_before: float = 0.0) -> str:
    """The same without HTML."""
    folder = folder_of(turn)
    lines = [
        part.text if isinstance(part, Words) else text_of_use(part, folder)
        for part in parts_of(turn)
    ]
    answer, error = outcome_of(turn)
    if answer is not None and answer.data is not None:
        lines.append(repr_of(answer.data))
    if error is not None:
        lines.append(error_line(error))
    if answer is not None:
        lines.append(cost_line(answer, spent_before))
    return "\n".join(lines)


def text_of_use(part: Use, folder: str = "") -> str:
    """A use of a tool in one line; files below *folder* are named without it."""
    name, about = summary_of(part.use.name, part.use.input, folder)
    return f"{MARKS[state_of(part)]} {name} {about}".rstrip()


def summary_of(name: str, given: Mapping[str, Any], folder: str = "") -> Tuple[str, str]:
    """The name of a tool as people know it, and what a call of it is about, in a line."""
    if name.startswith("mcp__"):
        name = name.rpartition("__")[2] or name
    told = [given[key] for key in TELLING if isinstance(given.get(key), str)]
    about = told[0] if told else ", ".join(f"{key}={brief(given[key])}" for key in given)
    if folder and about.startswith(folder + os.sep):
        about = about[len(folder) + 1 :]
    return name, one_line(about)


def folder_of(turn: Turn) -> str:
    """The folder in which the turn's CLI runs."""
    return os.path.abspath(turn._engine.options.cwd or os.getcwd())


def state_of(part: Use) -> str:
    """Whether it runs, is done, or failed."""
    if part.result is None:
        return "running"
    return "failed" if part.result.is_error else "done"


def input_text(given: Mapping[str, Any]) -> str:
    """The arguments of a call, readable: texts as they are, the rest as JSON."""
    lines: List[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{key}: {text}")
    return "\n".join(lines)


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


def brief(value: Any) -> str:
    """A value inside a line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def one_line(text: str, longest: int = LONGEST_SUMMARY) -> str:
    """A text without line ends, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def shortened(text: str) -> str:
    """The beginning of a text, and how much is left out."""
    if len(text) <= LONGEST_DETAIL:
        return text
    return f"{text[:LONGEST_DETAIL]}\n… {len(text) - LONGEST_DETAIL:,} more characters"
