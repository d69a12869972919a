"""
Markdown on a terminal, painted while it arrives.

::

    pieces of text -> [lines, then spans] -> words -> terminal

Nothing is ever painted over: what is written stays. So a piece is held back until it is
known what it means (``**`` until its end, a word until it fits, a table until its last
row), and everything else is written at once. Whatever the text holds, the terminal obeys
only what is written here: control characters of the model, or of a tool, are spelled out.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from typing import Any, Callable, Iterable, List, Optional, Tuple

from ..support.text import visible

__all__ = ["PLAIN", "STYLES", "Painter", "Palette", "columns", "palette", "safe"]

Write = Callable[[str], object]

# The width at which lines are easy to read; narrower terminals have theirs.
WIDEST = 100
NARROWEST = 20
# A mark without an end is no mark: so many characters are waited for one.
LONGEST_SPAN = 400
MOST_ROWS = 400
# Nobody writes Markdown in lines like that.
LONGEST_LINE = 20_000

ZERO_WIDTH_JOINER = "\u200d"  # emoji are made with it, and it moves nothing
EMOJI_STYLE = "\ufe0f"  # makes a narrow sign an emoji, which is wide


class Palette(dict):  # type: ignore[type-arg]
    """Escape sequences by what they are for; empty where there are no colours."""

    def __missing__(self, name: str) -> str:
        return ""

    def paint(self, name: str, text: str) -> str:
        """*text* in a style."""
        style = self[name]
        return f"{style}{text}{self['off']}" if style and text else text


STYLES = Palette(
    bold="\x1b[1m",
    italic="\x1b[3m",
    code="\x1b[36m",
    heading="\x1b[1;4m",
    quote="\x1b[2m",
    faint="\x1b[2m",
    link="\x1b[4m",
    added="\x1b[32m",
    removed="\x1b[31m",
    wrong="\x1b[31m",
    user="\x1b[1;34m",
    off="\x1b[0m",
)
PLAIN = Palette()


def palette(stream: Any = None) -> Palette:
    """The styles for *stream*: none where it is no terminal, is dumb, or NO_COLOR is set."""
    stream = sys.stdout if stream is None else stream
    try:
        is_terminal = stream.isatty()
    except (AttributeError, OSError, ValueError):
        is_terminal = False
    if not is_terminal or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return PLAIN
    return STYLES


def safe(text: str) -> str:
    """*text* with its control characters as escapes; joined emoji stay joined."""
    return visible(text, keep="\n\t" + ZERO_WIDTH_JOINER)


def columns(text: str) -> int:
    """How wide a text is on a terminal; escape sequences of ours do not count."""
    return sum(map(width_of, OWN.sub("", text)))


OWN = re.compile(r"\x1b\[[0-9;]*m")


def width_of(character: str) -> int:
    """0, 1 or 2 columns."""
    if character == ZERO_WIDTH_JOINER:
        return 0
    if unicodedata.category(character) in ("Mn", "Me"):
        return int(character == EMOJI_STYLE)
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


class Painter:
    """
    Writes Markdown to a terminal as it arrives.

    Without styles (see :func:`palette`) nothing is arranged: the text is written as it is,
    with its marks, and with nothing for the terminal to obey.
    """

    def __init__(
        self, write: Write, styles: Optional[Palette] = None, width: Optional[int] = None
    ) -> None:
        self._write = write
        self.styles = palette() if styles is None else styles
        self._given = width
        self._width = self._measured()
        # Where the cursor is, and how far further lines of a paragraph begin.
        self.column = 0
        self._indent = 0
        self._held = ""
        # The kind of the line that is written: None is not known yet.
        self._kind: Optional[str] = None
        self._fence = ""
        self._rows: List[str] = []
        self._word = self._blank = self._last = ""
        self._style = ""
        self._return = False

    def _measured(self) -> int:
        """How wide lines may be; the terminal may be another one than it was."""
        terminal = shutil.get_terminal_size().columns if self._given is None else self._given
        return max(NARROWEST, min(terminal, WIDEST))

    def feed(self, text: str) -> None:
        """The next piece."""
        if self._return:
            text, self._return = "\r" + text, False
        if text.endswith("\r"):  # half of a line end, perhaps
            text, self._return = text[:-1], True
        text = safe(text.replace("\r\n", "\n"))
        if not self.styles:
            self._out(text)
            return
        *lines, rest = text.split("\n")
        for line in lines:
            self._held += line
            self._advance(complete=True)
        if rest:
            self._held += rest
            self._advance(complete=False)

    def end(self) -> None:
        """Write what is held back, and end the line."""
        if self._return:
            self._return = False
        if self._held or self._kind is not None:
            self._advance(complete=True)
        self._end_table()
        self._fence = ""
        self._finish_word()
        if self.column:
            self._out("\n")

    # Lines.

    def _advance(self, complete: bool) -> None:
        """Write as much of the line as is understood; all of it when it is *complete*."""
        if self._kind is None:
            self._kind = self._kind_of(self._held, complete)
            if self._kind is None:
                return
            self._begin_line()
        if self._kind == "text":
            self._spans(complete)
        elif self._kind == "code":
            self._code()
        if complete:
            self._end_line()

    def _kind_of(self, line: str, complete: bool) -> Optional[str]:
        """What a line is, as soon as that is known: ``code``, ``fence``, ``row``, ``text``."""
        stripped = line.lstrip(" ")
        if self._fence:
            if not complete and self._fence.startswith(stripped[: len(self._fence)]):
                return None  # perhaps the end of the block
            is_end = stripped.startswith(self._fence) and not stripped.strip(self._fence[0] + " ")
            return "fence" if is_end else "code"
        if not complete and (not stripped or STILL_OPEN.fullmatch(stripped)):
            return None
        if stripped.startswith(("```", "~~~")):
            return "fence" if complete else None
        if stripped.startswith("|"):
            return "row" if complete else None
        return "text"

    def _begin_line(self) -> None:
        """The marks at its beginning."""
        self._width = self._measured()
        line = self._held
        if self._kind != "row":
            self._end_table()
        if self._kind != "text":
            return
        body = line.lstrip(" ")
        blanks = " " * min(len(line) - len(body), self._width // 2)
        heading = HEADING.match(body)
        if heading:
            self._held, self._style = body[heading.end() :], "heading"
            return
        self._style = ""
        if RULE.fullmatch(body):
            self._held = ""
            self._out(self.styles.paint("faint", "─" * min(self._width, 40)))
            return
        quote = QUOTE.match(body)
        item = ITEM.match(body)
        if quote:
            mark, self._style = "│ ", "quote"
            body = body[quote.end() :]
        elif item:
            mark = f"{item.group(1) if item.group(1)[0].isdigit() else '•'} "
            body = body[item.end() :]
        else:
            mark = ""
        self._out(self.styles.paint("faint", blanks + mark) if mark else blanks)
        self._indent = columns(blanks + mark)
        self._held = body

    def _end_line(self) -> None:
        """The line is complete."""
        if self._kind == "fence":
            mark = self._held.lstrip(" ")
            if self._fence:
                self._fence = ""
            else:
                run = len(mark) - len(mark.lstrip(mark[0]))
                self._fence = mark[0] * run
                name = mark[run:].strip()
                if name:
                    self._out(self.styles.paint("faint", f"  {name}") + "\n")
        elif self._kind == "row":
            self._rows.append(self._held.strip())
            if len(self._rows) >= MOST_ROWS:
                self._end_table()
        else:
            self._finish_word()
            self._out("\n")
        self._held = self._style = self._blank = self._last = ""
        self._kind, self._indent = None, 0

    def _code(self) -> None:
        """A line of a block of code: as it is."""
        text = self._held
        if not self.column:
            text = "  " + text
        self._out(self.styles.paint("code", text))
        self._held = ""

    # Tables.

    def _end_table(self) -> None:
        """Write the rows that were held back, their columns aligned."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        table = [cells_of(row) for row in rows]
        is_table = len(rows) > 1 and all(DASHES.fullmatch(cell) for cell in table[1])
        if not is_table:
            self._out("".join(f"{row}\n" for row in rows))
            return
        sides = [alignment(cell) for cell in table[1]]
        body = [[self._plain(cell) for cell in row] for row in [table[0], *table[2:]]]
        count = max(map(len, body))
        widths = [max(columns(cell_at(row, i)) for row in body) for i in range(count)]
        for number, row in enumerate(body):
            cells = [
                padded(cell_at(row, i), widths[i], sides[i] if i < len(sides) else "<")
                for i in range(count)
            ]
            if number == 0:
                self._out("  ".join(self.styles.paint("bold", c) for c in cells).rstrip() + "\n")
                self._out(self.styles.paint("faint", "  ".join("─" * w for w in widths)) + "\n")
            else:
                self._out("  ".join(cells).rstrip() + "\n")

    def _plain(self, cell: str) -> str:
        """A cell with its spans painted."""
        return "".join(text for text, _ in spans_in(cell, self.styles, ""))

    # Spans and words.

    def _spans(self, complete: bool) -> None:
        """Write what is understood of a line of text."""
        # What was written before it decides whether a mark is one: snake_case_name.
        begin = len(self._last)
        text = self._last + self._held
        if len(text) > LONGEST_LINE:
            self._held = ""
            self._words(text[begin:], self.styles[self._style])
            return
        end = len(text) if complete else unfinished(text, begin)
        for piece, style in spans_in(text[:end], self.styles, self._style, begin):
            self._words(piece, style)
        self._held = text[end:]
        self._last = text[:end][-1:]

    def _words(self, text: str, style: str) -> None:
        """Write words, on the next line where they do not fit on this one."""
        for part in BLANKS.split(text):
            if not part:
                continue
            if part.isspace():
                self._finish_word()
                self._blank += part.replace("\t", " ")
            else:
                self._word += f"{style}{part}{self.styles['off']}" if style else part
                if columns(self._word) > self._width:
                    self._finish_word()

    def _finish_word(self) -> None:
        word, self._word = self._word, ""
        if not word:
            return
        blank, self._blank = self._blank, ""
        room = self._width - self.column - len(blank)
        if self.column > self._indent and columns(word) > room:
            blank = "\n" + " " * self._indent
        self._out(blank + word)

    def _out(self, text: str) -> None:
        if not text:
            return
        self._write(text)
        tail = text.rpartition("\n")[2]
        self.column = columns(tail) + (0 if "\n" in text else self.column)


HEADING = re.compile(r"#{1,6}\s+")
RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})\s*")
QUOTE = re.compile(r">\s?")
ITEM = re.compile(r"([-*+]|\d{1,9}[.)])\s+")
# Beginnings of lines that may still become several things.
STILL_OPEN = re.compile(r"#{1,6}|[-*_+]{1,}\s*|\d{1,9}[.)]?|`{1,2}|~{1,2}|>")
BLANKS = re.compile(r"(\s+)")
DASHES = re.compile(r"\s*:?-+:?\s*")
SPAN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`{1,8})(?!`)(?P<inside>.{1,400}?)(?<!`)(?P=ticks)(?!`))"
    r"|\*\*(?P<bold>(?=\S)[^*]{1,400}(?<=\S))\*\*"
    r"|(?<![\w*])\*(?P<italic>(?=[^\s*])[^*]{1,400}(?<=\S))\*(?![\w*])"
    r"|(?<![\w_])_(?P<under>(?=[^\s_])[^_]{1,400}(?<=\S))_(?![\w_])"
    r"|\[(?P<label>[^\]\[]{1,200})\]\((?P<address>[^)\s]{1,200})\)"
    r"|\\(?P<escaped>[\\`*_\[\]{}()#+.!|>~-])"
)
OPENERS = re.compile(r"`+|\*\*?|(?<!\w)_|\[|\\")


def spans_in(text: str, styles: Palette, base: str, begin: int = 0) -> Iterable[Tuple[str, str]]:
    """The pieces of a line from *begin* on, and the escape sequence of each."""
    outer = styles[base] if base else ""
    place = begin
    for found in SPAN.finditer(text, begin):
        if found.start() > place:
            yield text[place : found.start()], outer
        place = found.end()
        if found["code"]:
            yield found["inside"], styles["code"]
        elif found["bold"]:
            yield found["bold"], outer + styles["bold"]
        elif found["italic"] or found["under"]:
            yield found["italic"] or found["under"], outer + styles["italic"]
        elif found["label"]:
            yield found["label"], outer + styles["link"]
            if found["address"] != found["label"]:
                yield f" ({found['address']})", outer + styles["faint"]
        else:
            yield found["escaped"], outer
    if place < len(text):
        yield text[place:], outer


def unfinished(text: str, begin: int) -> int:
    """Where the first mark is whose end has not come; the end of *text* if there is none."""
    spans = SPAN.finditer(text, begin)
    found = next(spans, None)
    for opener in OPENERS.finditer(text, begin):
        at = opener.start()
        while found is not None and found.end() <= at:
            found = next(spans, None)
        # What follows the end of a span may change what it is.
        if found is not None and found.start() <= at and found.end() < len(text):
            continue
        if len(text) - at <= LONGEST_SPAN:
            return at
    return len(text)


def cells_of(row: str) -> List[str]:
    """The cells of a row of a table."""
    inner = row.strip().strip("|") if row.count("|") > 1 else row.strip("|")
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


def alignment(cell: str) -> str:
    """Where the cells of a column stand: ``<``, ``>`` or ``^``."""
    cell = cell.strip()
    if cell.endswith(":"):
        return "^" if cell.startswith(":") else ">"
    return "<"


def cell_at(row: List[str], place: int) -> str:
    """A cell; rows may be short."""
    return row[place] if place < len(row) else ""


def padded(cell: str, width: int, side: str) -> str:
    """A cell as wide as its column."""
    room = width - columns(cell)
    left = {"<": 0, ">": room, "^": room // 2}[side]
    return " " * left + cell + " " * (room - left)
