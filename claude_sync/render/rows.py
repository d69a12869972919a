"""
What a chat draws: the steps of a conversation, as rows one below the other.

::

    Chat -> steps -> [rows] -> the widgets of a toolkit

A text that Claude writes is several rows: prose, and blocks of code. Only the last of them
grows while it streams in, so a window never draws again what stands already, however long
the answer is. A row that changed has another :attr:`Row.version`.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, Iterable, List, Optional, Tuple

from .chats import Chat, Step

__all__ = ["Part", "Parts", "Reach", "Row", "Rows", "colours"]

# What a part of a text holds at most, in characters. Toolkits take a millisecond for a thousand
# of them, and draw the last part again whenever it grows.
PROSE = 1_500
LONGEST_PROSE = 4_000
LONGEST_CODE = 3_000
# How far a fence is looked at beyond that.
LONGEST_FENCE = 300
# At the end of a paragraph, before a line that begins at the margin.
BETWEEN = re.compile(r"\n[ \t]*\n(?=\S)")
FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)(\n|\Z)", re.MULTILINE)
# So many rows are drawn before those that are far are let go, a few at a time; so many are left.
MOST_ROWS = 66
ROWS = 60


@dataclasses.dataclass
class Part:
    """
    A part of a Markdown text.

    Attributes:
        kind: ``prose`` or ``code``.
        text: Markdown, or the code without its fences.
        language: Of a code, as the fence names it.
        goes_on: It goes on in the next part: it is one block of code.

    """

    kind: str
    text: str
    language: str = ""
    goes_on: bool = False


class Parts:
    """
    A Markdown text, in parts; :meth:`read` takes the text so far, again and again.

    Attributes:
        parts: They; only the last one may change.

    """

    def __init__(self) -> None:
        self.parts: List[Part] = []
        self._text = ""
        self._begin()

    def _begin(self) -> None:
        self.parts.clear()
        self._done = 0  # parts that are complete
        self._start = 0  # where the first that is not begins
        self._fence: Optional[Tuple[int, str, str]] = None  # the code that it is in

    def read(self, text: str) -> None:
        """Take in the text so far; usually it begins like the one before."""
        if not text.startswith(self._text):
            self._begin()
        self._text = text
        del self.parts[self._done :]
        while self._start < len(text):
            end = self._code(text) if self._fence is not None else self._prose(text)
            if end is None:
                break
            self._start, self._done = end, len(self.parts)

    def _prose(self, text: str) -> Optional[int]:
        """Add the prose that begins here; where it ends, None while it may go on."""
        start = self._start
        limit = start + LONGEST_PROSE
        fence = FENCE.search(text, start, limit + LONGEST_FENCE)
        if fence is not None and fence.start() >= limit:
            fence = None
        end = fence.start() if fence is not None else len(text)
        if end - start > PROSE:
            ends = [found.end() for found in BETWEEN.finditer(text, start, start + PROSE)]
            if ends:
                fence, end = None, ends[-1]
            elif end >= limit:
                fence, end = None, cut(text, start, limit)
        if text[start:end].strip():
            self.parts.append(Part("prose", text[start:end].strip("\n")))
        if fence is None:
            return end if end < len(text) else None
        indent, mark, language, line_end = fence.groups()
        language = language.split(" ")[0].strip("{}.")
        if not line_end:  # it is still being written
            self.parts.append(Part("code", "", language))
            return None
        self._fence = (len(indent), mark, language)
        if fence.end() == len(text):
            self.parts.append(Part("code", "", language))
            self._done = len(self.parts) - 1
            self._start = fence.end()
            return None
        return fence.end()

    def _code(self, text: str) -> Optional[int]:
        """Add the code that begins here; where it ends, None while it may go on."""
        assert self._fence is not None
        indent, mark, language = self._fence
        start = self._start
        closing = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$\n?", re.MULTILINE)
        found = closing.search(text, start, start + LONGEST_CODE + LONGEST_FENCE)
        end = found.start() if found is not None else len(text)
        goes_on = end - start > LONGEST_CODE
        if goes_on:
            end = cut(text, start, start + LONGEST_CODE)
        code = text[start:end].removesuffix("\n")
        if indent:
            code = re.sub(rf"^ {{1,{indent}}}", "", code, flags=re.MULTILINE)
        self.parts.append(Part("code", code, language, goes_on))
        if goes_on:
            return end
        if found is None or text[found.end() - 1] != "\n":
            return None  # what looks like the end may go on
        self._fence = None
        return found.end()


def cut(text: str, start: int, limit: int) -> int:
    """Where to cut a text that is too long: behind the last line, or the last word."""
    for sign in ("\n", " "):
        place = text.rfind(sign, start + 1, limit)
        if place > start:
            return place + 1
    return limit


@dataclasses.dataclass(eq=False)
class Row:
    """
    One thing that is drawn.

    Attributes:
        kind: ``user``, ``prose``, ``code``, ``thinking``, ``summary``, ``tool``, ``asking``,
            ``note``, ``error``, ``end`` or ``waiting``, a prompt that was not sent yet.
        step: The step it belongs to.
        text, language, goes_on: As of a :class:`Part`; of other rows the text of the step.
        form: Of ``asking``, what is asked.
        version: Another one whenever there is something else to draw.
        is_open: Whether the person has unfolded it.

    """

    kind: str
    step: Step
    text: str = ""
    language: str = ""
    goes_on: bool = False
    form: Any = None
    version: int = 0
    is_open: bool = False


class StepRows:
    """The rows of one step, and what they were made of."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.rows: List[Row] = []
        self._stamp: Tuple[object, ...] = ()
        self._was_unfolded = False
        self._parts = Parts() if step.kind == "claude" else None

    def update(self) -> List[Row]:
        """The rows, as the step is now."""
        stamp = stamp_of(self.step)
        if stamp != self._stamp:
            self._stamp = stamp
            if self._parts is not None:
                self._parts.read(self.step.text)
                self._fit(self._parts.parts)
            else:
                self._fit([Part(self.step.kind, self.step.text)] if is_shown(self.step) else [])
                for row in self.rows:
                    row.version += 1
                    self._unfold(row)
        return self.rows

    def _unfold(self, row: Row) -> None:
        """A change to a file is what people look for, and pictures are there to be seen."""
        step = self.step
        if not self._was_unfolded and (step.pictures or (step.diff and step.state == "done")):
            self._was_unfolded = row.is_open = step.kind == "tool"

    def _fit(self, parts: List[Part]) -> None:
        del self.rows[len(parts) :]
        for number, part in enumerate(parts):
            if number == len(self.rows):
                self.rows.append(Row(part.kind, self.step))
            row = self.rows[number]
            told = (part.kind, part.text, part.language, part.goes_on)
            if told != (row.kind, row.text, row.language, row.goes_on):
                row.kind, row.text, row.language, row.goes_on = told
                row.version += 1


def is_shown(step: Step) -> bool:
    """Whether there is anything to draw."""
    return bool(step.text.strip() or step.pictures or step.kind in ("tool", "end"))


def stamp_of(step: Step) -> Tuple[object, ...]:
    """What is another one when a step has changed. Cheap."""
    last = step.steps[-1] if step.steps else None
    inner = None if last is None else stamp_of(last)
    told = (step.text, step.state, step.decision, step.pictures, step.diff, step.cost_usd)
    return (*told, len(step.steps), inner)


class Rows:
    """
    The rows of a conversation.

    Attributes:
        rows: All of them, in order.

    """

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.rows: List[Row] = []
        self._made: Dict[int, StepRows] = {}
        # The steps before this one are not looked at any more, and these are their rows.
        self._settled = 0
        self._settled_rows = 0

    def update(self, asking: Iterable[Row] = (), waiting: Iterable[Row] = ()) -> List[Row]:
        """
        The rows as the conversation is now.

        *asking* are placed behind the tools that they are about, *waiting* at the end.
        """
        steps = self.chat.steps
        del self.rows[self._settled_rows :]
        asked = {row.form.request.tool_use_id: row for row in asking}
        for step in steps[self._settled :]:
            made = self._made.get(id(step))
            if made is None or made.step is not step:
                made = self._made[id(step)] = StepRows(step)
            self.rows += made.update()
            row = asked.pop(step.tool_use_id, None) if step.kind == "tool" else None
            if row is not None:
                self.rows.append(row)
        self.rows += asked.values()
        self.rows += waiting
        return self.rows

    def settle(self) -> None:
        """A prompt follows: what stands there changes no more, but for tools that still run."""
        steps = self.chat.steps
        del self.rows[self._settled_rows :]
        while self._settled < len(steps) and steps[self._settled].state != "unfinished":
            step = steps[self._settled]
            made = self._made.pop(id(step), None) or StepRows(step)
            self.rows += made.update()
            self._settled += 1
        self._settled_rows = len(self.rows)


class Reach:
    """
    Which rows are drawn: those near the place where the person reads.

    Attributes:
        follows: The person is at the end, and stays there.
        first: The first row that is drawn.

    """

    def __init__(self) -> None:
        self.follows = True
        self.first = 0
        self.last = 0

    def of(self, rows: List[Row]) -> List[Row]:
        """The rows to draw."""
        count = len(rows)
        if self.follows and count - self.first > MOST_ROWS:
            self.first = count - ROWS
        self.first = min(self.first, max(0, count - 1))
        # Somebody who reads far above is not shown what comes, beyond a limit.
        limit = count if self.follows else max(self.last, self.first + MOST_ROWS)
        self.last = min(count, limit)
        return rows[self.first : self.last]

    def earlier(self) -> None:
        """Draw more above."""
        self.follows = False
        self.first = max(0, self.first - ROWS)

    def around(self, place: int) -> None:
        """Draw the row at a place."""
        self.follows = False
        if not self.first <= place < self.last:
            self.first = max(0, place - ROWS // 2)
            self.last = 0


Colour = Tuple[int, int, int]


def mixed(colour: Colour, other: Colour, share: float) -> str:
    """A colour between two, as ``#rrggbb``: *share* of the *other*."""
    return "#{:02x}{:02x}{:02x}".format(
        *(round(one * (1 - share) + two * share) for one, two in zip(colour, other))
    )


def colours(back: Colour, text: Colour, accent: Colour) -> Dict[str, str]:
    """
    All colours of a chat, by name, from three of the toolkit's: light or dark as these are.

    Names of one letter are those of coloured code; ``added``, ``removed`` and ``hunk`` lie behind
    the lines of a diff.
    """
    is_dark = sum(back) < sum(text)
    lines = FIXED.strip().split("\n")
    return {
        **{name: dark if is_dark else light for name, light, dark in map(str.split, lines)},
        "back": mixed(back, text, 0),
        "text": mixed(text, back, 0),
        "soft": mixed(text, back, 0.15),
        "faint": mixed(text, back, 0.42),
        "edge": mixed(back, text, 0.2 if is_dark else 0.15),
        "box": mixed(back, text, 0.06 if is_dark else 0.035),
        "bubble": mixed(back, accent, 0.25 if is_dark else 0.12),
        "accent": mixed(accent, back, 0),
    }


# By name: on light ground, and on dark ground.
FIXED = """
added #dafbe1 #173d24
removed #ffe4e1 #4a1f22
hunk #e3effc #1f3350
note #6e7781 #9aa3af
good #1a7f37 #57c274
bad #c1272d #ff8a80
wait #9a6700 #e0b252
error #fff1f0 #3d2224
k #9b2393 #d8a0df
s #0a6b3d #9fd8a8
n #a6480a #f0b27a
b #0b5cad #86bbf5
f #0b5cad #86bbf5
c #6a737d #8b949e
i #0a6b3d #9fd8a8
d #c1272d #ff8a80
"""
