"""
What the chats of all toolkits share: their methods for programs, what their buttons do, which
rows are drawn, and how often.

::

    presenter -> rows -> [which have changed] -> a toolkit's widgets
    a toolkit's keys and buttons -> [what they mean] -> presenter

A toolkit's chat, conversation and search bar are mixed from these classes and its widgets.
"""

from __future__ import annotations

import math
from functools import partial
from time import monotonic
from typing import Any, Callable, Iterator, List, Tuple

from ..client import Client
from ..render.chats import Step
from ..render.html import shortened
from ..render.presenter import MODES, Presenter
from ..render.rows import Reach, Row

__all__ = ["ChatMethods", "RowList", "Search", "details", "diff_kind", "headline"]

# Milliseconds between two drawings at least; after one that took long, so many times that.
FRAME = 16
REST = 4
# So long rows are drawn at a time; there may be more of them than the event loop can wait for.
MOST_SECONDS = 0.002
# Milliseconds between two looks at the clock while an answer is written.
TICK = 100
SPINNER = "◐◓◑◒"
# Of what is typed.
MOST_LINES = 9
ZOOM = 1.1
ZOOMS = range(-5, 11)
# What is shown of what a tool was called with, or returned, and how high an image may be.
LONGEST_DETAIL = 6_000
HIGHEST = 360
# By the state of a tool: its sign, the sign's colour, and a word.
STATES = {
    "done": ("✓", "good", "done"),
    "failed": ("✗", "bad", "failed"),
    "unfinished": ("●", "wait", "running"),
}
FOLDED = {"thinking": "Thinking", "summary": "Summary of what was before", "tool": ""}
EDITING = "Sending replaces your last prompt and what came of it. Esc leaves it as it is."

Entry = Tuple[str, bool, Callable[[], object]]


class ChatMethods:
    """What a chat does; the toolkit adds the widgets."""

    presenter: Presenter
    conversation: Any
    composer: Any
    search: Any
    letters = 0  # how much larger they are, by steps
    due = 0.0  # when it may be drawn again

    # For programs.

    @property
    def client(self) -> Client:
        """The client; another one after a new conversation was begun."""
        return self.presenter.client

    def ask(self, text: str) -> None:
        """Ask, as if a person had typed it."""
        self.presenter.ask(text)
        self.conversation.follow()

    def stop(self) -> None:
        """Stop the answer that is being written; harmless when there is none."""
        self.presenter.stop()

    def clear(self) -> None:
        """Begin a new conversation."""
        self.presenter.clear()

    def on_answer(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Call *function* with every ``Answer``; also as a decorator."""
        return self.presenter.on_answer(function)

    def copy(self) -> None:
        """Copy the conversation as Markdown."""
        self.copy_text(self.presenter.markdown())

    def export(self, path: str = "") -> None:
        """Write the conversation to a file; without a path, the person is asked for one."""
        path = path or self.ask_path()
        if path:
            self.presenter.export(path)

    def zoom(self, change: int) -> None:
        """Larger or smaller letters; 0 for the usual size."""
        letters = self.letters + change if change else 0
        self.letters = min(max(letters, ZOOMS[0]), ZOOMS[-1])
        self.restyle()

    # Of the toolkit.

    def changed(self) -> None:
        """Draw soon what there is to draw."""
        raise NotImplementedError

    def copy_text(self, text: str) -> None:
        """Put a text into the clipboard."""
        raise NotImplementedError

    def ask_path(self) -> str:
        """Let the person choose a file to write; empty for none."""
        raise NotImplementedError

    def restyle(self) -> None:
        """Draw everything again, in the program's colours and the size of the letters."""
        raise NotImplementedError

    # What its buttons and keys do.

    def actions(self) -> Tuple[Tuple[str, str, Callable[[], object]], ...]:
        """What can be done: in words, by which keys, and how."""
        return (
            ("Find...", "Ctrl+F", self.search.begin),
            ("Zoom in", "Ctrl++", partial(self.zoom, 1)),
            ("Zoom out", "Ctrl+-", partial(self.zoom, -1)),
            ("Normal size", "Ctrl+0", partial(self.zoom, 0)),
            ("Copy as Markdown", "Ctrl+Shift+C", self.copy),
            ("Export...", "Ctrl+Shift+S", self.export),
            ("Stop", "Esc", self.escape),
        )

    def escape(self) -> None:
        """Leave the search, or the prompt that is being edited; else stop."""
        if self.search.is_open:
            self.search.end()
        elif self.presenter.is_editing:
            self.presenter.leave_edit()
            self.composer.set_text("")
        else:
            self.stop()

    def conversations(self) -> Iterator[Entry]:
        """The entries of a menu: a new conversation, and those that were held."""
        yield "New conversation", False, self.clear
        for each in self.presenter.sessions() if self.presenter.is_own else ():
            words = f"{each.title[:60]}    {each.modified:%d %b}"
            yield words, False, partial(self.presenter.resume, each.session_id)

    def modes(self) -> Iterator[Entry]:
        """The entries of a menu: permission modes."""
        for value, words in MODES.items():
            yield words, value == self.presenter.mode, partial(self.presenter.set_mode, value)

    def models(self) -> Iterator[Entry]:
        """The entries of a menu: models."""
        for value, words in self.presenter.models:
            yield words, value == self.presenter.model, partial(self.presenter.set_model, value)

    def draw(self) -> None:
        """Draw what has changed; then rest, the longer the longer that took."""
        begun = monotonic()
        is_complete = self.conversation.draw(self.presenter.rows(), MOST_SECONDS)
        self.composer.draw(self.presenter)
        spent = monotonic() - begun
        self.due = begun + spent + max(FRAME / 1000, REST * spent)
        if not is_complete:
            self.changed()

    def until_due(self) -> int:
        """In how many milliseconds it may be drawn again."""
        return max(0, int((self.due - monotonic()) * 1000))


def notice(presenter: Presenter) -> str:
    """The line above what is typed."""
    return presenter.notice or (EDITING if presenter.is_editing and presenter.is_own else "")


def working(presenter: Presenter) -> str:
    """What goes on, with a sign that turns; empty while nothing does."""
    words = presenter.working()
    return f"{SPINNER[int(monotonic() * 8) % len(SPINNER)]}  {words}" if words else ""


def picked(presenter: Presenter) -> Tuple[str, str]:
    """The permission mode and the model, in words."""
    model = dict(presenter.models).get(presenter.model, presenter.model)
    return f"{MODES.get(presenter.mode, presenter.mode)} ▾", f"{model or 'Model'} ▾"


def gauge(presenter: Presenter) -> str:
    """How full the context is, and what it cost."""
    full = presenter.context()
    context = "" if full is None else f"{full:.0%} of context"
    return "   ".join(filter(None, (context, presenter.cost())))


class RowList:
    """The rows of a conversation: those that are drawn, and how they are kept up to date."""

    def begin(self) -> None:
        """Begin with none."""
        self.reach = Reach()
        self.rows: List[Row] = []
        # What the toolkit has made of each row that is drawn: it has `row` and `version`.
        self.shown: List[Any] = []

    def draw(self, rows: List[Row], seconds: float = math.inf) -> bool:
        """Draw what has changed, for so many seconds and one row more; whether that was all."""
        end = monotonic() + seconds
        self.rows = rows
        wanted = self.reach.of(rows)
        keep = set(wanted)
        for place in reversed(range(len(self.shown))):
            if self.shown[place].row not in keep:
                self.remove(place)
                del self.shown[place]
        for place, row in enumerate(wanted):
            if place == len(self.shown) or self.shown[place].row is not row:
                self.shown.insert(place, self.make(place, row))
            if self.shown[place].version != row.version:
                self.shown[place].version = row.version
                self.draw_row(place)
                if monotonic() >= end and place + 1 < len(wanted):
                    return False
        return True

    def redraw(self) -> None:
        """Draw all of it again."""
        for each in self.shown:
            each.version = -1

    def toggle(self, row: Row) -> None:
        """Fold or unfold a row."""
        row.is_open = not row.is_open
        row.version += 1
        self.draw(self.rows)

    def reveal(self, row: Row) -> int:
        """Draw a row that may be far away or folded; its place among those that are shown."""
        self.reach.around(self.rows.index(row))
        if row.kind in FOLDED and not row.is_open:
            self.toggle(row)
        self.draw(self.rows)
        return self.rows.index(row) - self.reach.first

    # Of the toolkit.

    def make(self, place: int, row: Row) -> Any:
        """Make room for a row at a place."""
        raise NotImplementedError

    def draw_row(self, place: int) -> None:
        """Draw the row that is shown there."""
        raise NotImplementedError

    def remove(self, place: int) -> None:
        """Let go of what is shown there."""
        raise NotImplementedError


class Search:
    """What a search bar does."""

    chat: Any
    is_open = False
    found_at = 0

    def typed(self) -> str:
        """What is searched."""
        raise NotImplementedError

    def tell(self, words: str) -> None:
        """Say what was found."""
        raise NotImplementedError

    def search(self, step: int) -> None:
        """Go to the next one, or the one before; 0: to the last."""
        words = self.typed()
        found = self.chat.presenter.find(words)
        if not found:
            self.tell("Not found" if words else "")
            return
        self.found_at = (self.found_at + step) % len(found) if step else len(found) - 1
        self.tell(f"{self.found_at + 1} of {len(found)}")
        self.chat.conversation.go_to(found[self.found_at], words)


# What stands in the card of a tool.


def headline(step: Step, folder: str) -> Tuple[str, str]:
    """The name of a tool, and what it is about."""
    name, about = step.summary(folder)
    return name, about + (f" ({step.decision})" if step.decision in ("denied", "withdrawn") else "")


def details(step: Step, folder: str) -> Iterator[Tuple[str, str]]:
    """What is inside, by its kind: ``diff``, ``detail``, ``line`` or ``label``."""
    if step.diff:
        yield "diff", shortened("\n".join(step.diff), LONGEST_DETAIL)
    elif step.input:
        yield "detail", shortened(step.input_text(), LONGEST_DETAIL)
    for each in step.steps:  # of a subagent
        is_tool = each.kind == "tool"
        sign = STATES.get(each.state, ("",))[0] if is_tool else ""
        words = " ".join(each.summary(folder)) if is_tool else " ".join(each.text.split())
        yield "line", f"{sign} {words[:200]}".strip()
    if step.text:
        yield "label", "failed" if step.state == "failed" else "returned"
        yield "detail", shortened(step.text, LONGEST_DETAIL).rstrip("\n")


def diff_kind(line: str) -> str:
    """What a line of a diff is; empty for one that stays."""
    return {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk"}.get(line[:1], "")
