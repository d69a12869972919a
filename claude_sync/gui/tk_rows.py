"""
The rows of a chat in a text of Tk: one text for all of them, with tags for their looks.

::

    rows -> [Conversation] -> tags, and small widgets inside of the text

Texts of Claude's and of tools are only ever inserted as text: nothing in them runs. A link is
followed by a click, to the web. Each row has a mark where it begins; the others stand behind
what is inserted there.
"""

from __future__ import annotations

import base64
import contextlib
import io
import itertools
import math
import textwrap
import tkinter
import webbrowser
from functools import partial
from tkinter import ttk
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..render.chats import Picture
from ..render.html import shortened
from ..render.markdown import code_pieces, markdown_tokens, safe_link
from ..render.presenter import EMPTY, Presenter
from ..render.rows import Row
from .chats import (
    FOLDED,
    HIGHEST,
    LONGEST_DETAIL,
    STATES,
    ZOOM,
    RowList,
    details,
    diff_kind,
    headline,
)
from .tk_views import view_of
from .tk_windows import AutoScrollbar, scroll_with

__all__ = ["Conversation", "Fonts", "spans"]

DEEPEST = 6
# How wide a table may be, in letters.
WIDEST_TABLE = 90
NUMBERS = itertools.count(1)
# What a person does to scroll.
SCROLLING = (
    *("<MouseWheel>", "<Button-4>", "<Button-5>", "<B1-Motion>"),
    *("<Prior>", "<Next>", "<Up>", "<Down>", "<Home>", "<End>"),
)

Span = Tuple[str, Tuple[str, ...]]


# Markdown.


def spans(text: str) -> Iterator[Span]:
    """A Markdown text as pieces with tags; links have one that begins with ``url:``."""
    tokens = markdown_tokens(text)
    if tokens is None:
        yield text + "\n", ("p",)
        return
    yield from Writer().blocks(tokens)


class Writer:
    """Makes pieces of the tokens of a text."""

    def __init__(self) -> None:
        # What is open: tags of HTML. And for each list the number of its next item.
        self._open: List[str] = []
        self._numbers: List[int] = []
        self._bullet = ""
        self._table: List[List[str]] = []

    def blocks(self, tokens: List[Any]) -> Iterator[Span]:
        """The pieces of a whole text."""
        for token in tokens:
            if token.nesting > 0:
                self._begin(token)
            elif token.nesting < 0:
                self._open.pop()
                if token.tag in ("ol", "ul"):
                    self._numbers.pop()
                elif token.tag == "table":
                    yield from table_lines(self._table)
            elif token.type == "hr":
                yield "─" * 24 + "\n", ("p", "faint")
            else:
                pieces: List[Span] = [(token.content.rstrip("\n"), ())]
                if token.type == "inline":
                    pieces = list(inline(token.children or []))
                elif token.type in ("fence", "code_block"):
                    pieces = [(token.content.rstrip("\n"), ("mono",))]
                if "table" in self._open:
                    cell = "".join(piece for piece, _ in pieces)
                    self._table[-1].append(" ".join(cell.split()))
                else:
                    yield from self._line(pieces)

    def _begin(self, token: Any) -> None:
        self._open.append(token.tag)
        if token.tag in ("ol", "ul"):
            self._numbers.append(int(token.attrGet("start") or 1))
        elif token.tag == "li":
            self._bullet = f"{self._numbers[-1]}.\t" if self._open[-2] == "ol" else "•\t"
            self._numbers[-1] += 1
        elif token.tag == "table":
            self._table = []
        elif token.tag == "tr":
            self._table.append([])

    def _line(self, pieces: List[Span]) -> Iterator[Span]:
        """A paragraph, a heading or an item of a list."""
        block = "p"
        depth = min(len(self._numbers), DEEPEST)
        if depth:
            block = f"li{depth}" if self._bullet else f"lp{depth}"
        elif "blockquote" in self._open:
            block = "quote"
        elif self._open and self._open[-1].startswith("h"):
            block = f"h{min(int(self._open[-1][1:]), 3)}"
        bullet, self._bullet = self._bullet, ""
        yield bullet, (block,)
        for text, tags in pieces:
            yield text, (block, *tags)
        yield "\n", (block,)


def inline(tokens: List[Any]) -> Iterator[Span]:
    """The pieces of a line."""
    looks: List[str] = []
    for token in tokens:
        if token.nesting > 0:
            is_link = token.tag == "a"
            looks += [f"url:{token.attrGet('href')}"] if is_link else [token.tag]
        elif token.nesting < 0:
            looks.pop()
        elif token.type in ("softbreak", "hardbreak"):
            yield " " if token.type == "softbreak" else "\n", ()
        else:
            tags = list(looks)
            if {"strong", "em"} <= set(looks):
                tags.append("strong_em")
            if any(look.startswith("url:") for look in looks):
                tags.append("link")
            if token.type == "code_inline":
                tags.append("code")
            yield token.content, tuple(tags)


def table_lines(table: List[List[str]]) -> Iterator[Span]:
    """A table in letters of one width; what is too long for its column has several lines."""
    columns = max(map(len, table), default=0)
    widest = max(8, WIDEST_TABLE // max(1, columns))
    rows = [[textwrap.wrap(cell, widest) or [""] for cell in row] for row in table]
    widths = [0] * columns
    for row in rows:
        for place, lines in enumerate(row):
            widths[place] = max(widths[place], *map(len, lines))
    yield "\n", ("gap",)
    for number, row in enumerate(rows):
        look = ("table", "strong_mono") if not number else ("table",)
        for parts in itertools.zip_longest(*row, fillvalue=""):
            cells = (part.ljust(width) for part, width in zip(parts, widths))
            yield " │ ".join(cells) + "\n", look
        if not number:
            yield "─┼─".join("─" * width for width in widths) + "\n", ("table", "faint")
    yield "\n", ("gap",)


# Fonts.


# By name: what it is like, how large, and its looks.
FONTS: Dict[str, Tuple[str, float, Tuple[str, ...]]] = {
    "body": ("TkTextFont", 1.0, ()),
    "strong": ("TkTextFont", 1.0, ("-weight", "bold")),
    "em": ("TkTextFont", 1.0, ("-slant", "italic")),
    "strong_em": ("TkTextFont", 1.0, ("-weight", "bold", "-slant", "italic")),
    "h1": ("TkTextFont", 1.35, ("-weight", "bold")),
    "h2": ("TkTextFont", 1.2, ("-weight", "bold")),
    "h3": ("TkTextFont", 1.08, ("-weight", "bold")),
    "gap": ("TkTextFont", 0.4, ()),
    "small": ("TkTextFont", 0.88, ()),
    "mono": ("TkFixedFont", 1.0, ()),
    "strong_mono": ("TkFixedFont", 1.0, ("-weight", "bold")),
    "small_mono": ("TkFixedFont", 0.92, ()),
}


class Fonts:
    """
    The fonts of a chat: those of the toolkit, larger or smaller together.

    Made by Tk's own commands: objects of tkinter want to be collected on Tk's thread.
    """

    def __init__(self, widget: tkinter.Misc) -> None:
        self._tk: Any = widget.tk
        self._prefix = f"claude_sync_{next(NUMBERS)}_"
        for name in FONTS:
            self._tk.call("font", "create", self[name])

    def __getitem__(self, name: str) -> str:
        return self._prefix + name

    def set_zoom(self, zoom: int) -> None:
        """Make all of them larger or smaller."""
        for name, (like, scale, looks) in FONTS.items():
            actual = self._tk.splitlist(self._tk.call("font", "actual", like))
            size = int(self._tk.call("font", "configure", like, "-size"))
            scaled = round(abs(size) * scale * ZOOM**zoom) or 1
            self._tk.call(
                *("font", "configure", self[name], *actual, *looks),
                *("-size", scaled if size > 0 else -scaled),
            )

    def measure(self, name: str, text: str) -> int:
        """How wide a text is."""
        return int(self._tk.call("font", "measure", self[name], text))

    def end(self) -> None:
        """Let go of them."""
        for name in FONTS:
            with contextlib.suppress(tkinter.TclError):
                self._tk.call("font", "delete", self[name])


# Rows.


class Drawn:
    """A row as it was drawn."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.version = -1
        self.mark = f"row{next(NUMBERS)}"
        self.widgets: List[Any] = []
        self.images: List[str] = []


class Conversation(RowList):
    """
    The rows, in a text that scrolls.

    Attributes:
        frame: The text and its scrollbar.
        text: The text.

    """

    presenter: Presenter

    def __init__(self, parent: tkinter.Misc, fonts: Fonts, pixel: int) -> None:
        self.begin()
        self.fonts, self.pixel = fonts, pixel
        self.frame = ttk.Frame(parent, style="Claude.TFrame")
        self.frame.columnconfigure(0, weight=1)
        self.frame.rowconfigure(0, weight=1)
        self.text = tkinter.Text(self.frame, wrap="word", state="disabled", relief="flat")
        # The size of a window that has no other; a smaller one takes it from here.
        self.text.configure(highlightthickness=0, borderwidth=0, width=72, height=28)
        self.text.configure(cursor="arrow", insertwidth=0)
        self.bar = AutoScrollbar(
            self.frame, orient="vertical", command=self._scroll, style="Claude.Vertical.TScrollbar"
        )
        self.text.configure(yscrollcommand=self._moved)
        self.text.grid(row=0, column=0, sticky="nsew")
        self.bar.grid(row=0, column=1, sticky="ns")
        # What stands above the first row: its name, and its button.
        self._top: Tuple[str, Any] = ("", None)
        self._wide = 0
        self._tk: Any = self.text.tk
        self._idle: Any = None
        for event in SCROLLING:
            self.text.bind(event, self._look_soon, add=True)
        self.text.bind("<Configure>", self._resized)
        self.text.tag_bind("link", "<Button-1>", self._follow_link)
        self.text.tag_bind("head", "<Button-1>", self._fold)
        for tag in ("link", "head"):
            for event, cursor in (("<Enter>", "hand2"), ("<Leave>", "arrow")):
                self.text.tag_bind(tag, event, partial(self._point, cursor))

    # Looks.

    def style(self, known: Dict[str, str]) -> None:
        """Take other colours, or other sizes of fonts."""
        self.colours = known
        fonts, text, px = self.fonts, self.text, self.pixel
        text.configure(font=fonts["body"], background=known["back"], foreground=known["text"])
        text.configure(selectbackground=known["accent"], selectforeground=known["back"])
        text.configure(padx=18 * px, pady=12 * px, spacing2=2 * px)
        tab = fonts.measure("body", "mm")
        look = text.tag_configure
        look("p", spacing1=4 * px, spacing3=4 * px)
        for name in ("h1", "h2", "h3"):
            look(name, font=fonts[name], spacing1=10 * px, spacing3=4 * px)
        for depth in range(1, DEEPEST + 1):
            left = tab * depth
            look(f"li{depth}", lmargin1=left - tab // 2, lmargin2=left + tab // 2)
            look(f"li{depth}", tabs=(left + tab // 2,), spacing3=2 * px)
            look(f"lp{depth}", lmargin1=left + tab // 2, lmargin2=left + tab // 2)
        look("quote", lmargin1=tab, lmargin2=tab, foreground=known["faint"], spacing3=4 * px)
        look("table", font=fonts["mono"], wrap="none", lmargin1=tab // 2, lmargin2=tab // 2)
        for name in ("strong", "em", "strong_em", "strong_mono", "mono"):
            look(name, font=fonts[name])
        look("s", overstrike=True)
        look("code", font=fonts["mono"], background=known["box"])
        look("link", foreground=known["accent"])
        side: Dict[str, Any] = {"lmargin1": 12 * px, "lmargin2": 12 * px, "rmargin": 10 * px}
        wide = {"spacing1": 6 * px, "spacing3": 6 * px, **side}
        look("user", background=known["bubble"], **wide)
        look("head", background=known["box"], **wide)
        look("error", background=known["error"], **wide)
        look("block", background=known["box"], font=fonts["mono"], wrap="char", **side)
        look("detail", background=known["box"], font=fonts["small_mono"], wrap="char", **side)
        look("label", background=known["box"], font=fonts["small"], **side)
        look("label", foreground=known["faint"])
        for name in ("small", "gap"):
            look(name, font=fonts[name])
        for name in ("added", "removed", "hunk"):
            look(name, background=known[name])
        for name in ("faint", "good", "bad", "wait"):
            look(name, foreground=known[name])
        for name in "ksnbfcid":
            look(f"code_{name}", foreground=known[name])
        text.tag_raise("sel")
        self.redraw()

    # Drawing.

    def draw(self, rows: List[Row], seconds: float = math.inf) -> bool:
        """See :class:`RowList`."""
        self.text.configure(state="normal")
        is_complete = super().draw(rows, seconds)
        self._draw_top("empty" if not rows else "earlier" if self.reach.first else "")
        self.text.configure(state="disabled")
        if self.reach.follows:
            self.text.see("end")
        return is_complete

    def _draw_top(self, wanted: str) -> None:
        """What stands above the first row: a hint, or a button for what was before."""
        name, button = self._top
        if wanted == name:
            return
        if name:
            self.text.delete("1.0", "2.0")
        if button is not None:
            button.destroy()
            button = None
        if wanted == "empty":
            self.text.insert("1.0", EMPTY + "\n", ("faint",))
        elif wanted:
            button = ttk.Button(self.text, text="Earlier messages", command=self._show_earlier)
            self.text.insert("1.0", "\n")
            self.text.window_create("1.0", window=button)
        self._top = (wanted, button)

    def _end_of(self, place: int) -> str:
        return self.shown[place + 1].mark if place + 1 < len(self.shown) else "end-1c"

    def make(self, place: int, row: Row) -> Drawn:
        """See :class:`RowList`."""
        drawn = Drawn(row)
        start = "end-1c" if place == len(self.shown) else self.shown[place].mark
        self.text.mark_set(drawn.mark, start)
        return drawn

    def remove(self, place: int) -> None:
        """See :class:`RowList`."""
        self._erase(place)
        self.text.mark_unset(self.shown[place].mark)

    def _erase(self, place: int) -> None:
        drawn = self.shown[place]
        for widget in drawn.widgets:
            widget.destroy()
        drawn.widgets.clear()
        self.text.delete(drawn.mark, self._end_of(place))
        for image in drawn.images:
            self._tk.call("image", "delete", image)
        drawn.images.clear()

    def draw_row(self, place: int) -> None:
        """See :class:`RowList`."""
        drawn = self.shown[place]
        self._erase(place)
        # The marks of the rows behind it, which may be at the same place now, must move.
        self.text.mark_gravity(drawn.mark, "left")
        end = f"{drawn.mark}_end"
        self.text.mark_set(end, drawn.mark)
        self.text.mark_gravity(end, "right")
        Drawing(self, drawn, end).draw()
        self.text.mark_unset(end)
        self.text.mark_gravity(drawn.mark, "right")

    # Scrolling.

    def follow(self) -> None:
        """Go to the end, and stay there."""
        self.reach.follows = True
        self.text.see("end")

    def _scroll(self, *where: Any) -> None:
        self.text.yview(*where)
        self._look()

    def _moved(self, first: Any, last: Any) -> None:
        """Something else of the text can be seen."""
        self.bar.set(first, last)
        if self.reach.follows and float(last) < 1.0:
            self._soon(lambda: self.text.see("end"))

    def _look_soon(self, _: object = None) -> None:
        self._soon(self._look)

    def _soon(self, function: Callable[[], object]) -> None:
        if self._idle is None:

            def run() -> None:
                self._idle = None
                function()

            self._idle = self._tk.createtimerhandler(0, run)

    def _look(self) -> None:
        """Whether the person is at the end now."""
        follows = self.text.yview()[1] > 0.9999
        if follows and not self.reach.follows:
            self.reach.follows = True
            self.draw(self.rows)
        self.reach.follows = follows

    def _resized(self, event: tkinter.Event[Any]) -> None:
        if event.width != self._wide:
            self._wide = event.width
            for drawn in self.shown:
                if drawn.row.kind == "asking":
                    self.fit(drawn.widgets[0])
        if self.reach.follows:
            self._soon(lambda: self.text.see("end"))

    def fit(self, frame: Any) -> None:
        """Give a frame inside of the text its width."""
        width = max(200, self.text.winfo_width() - 44 * self.pixel)
        frame.configure(width=width)
        inside = [frame]
        for each in inside:  # which grows
            inside += each.winfo_children()
            if each.winfo_class() == "TLabel" and each.cget("wraplength"):
                each.configure(wraplength=width - 40 * self.pixel)
        frame.update_idletasks()
        frame.configure(height=frame.winfo_children()[0].winfo_reqheight() + 2)

    def _show_earlier(self) -> None:
        top = self.shown[0].mark if self.shown else "1.0"
        self.reach.earlier()
        self.draw(self.rows)
        self.text.yview(top)

    def go_to(self, row: Row, words: str) -> None:
        """Show a row, and select the words in it."""
        place = self.reveal(row)
        start = self.shown[place].mark
        found = self.text.search(words, start, self._end_of(place), nocase=True)
        self.text.tag_remove("sel", "1.0", "end")
        if found:
            self.text.tag_add("sel", found, f"{found}+{len(words)}c")
        self.text.see(found or start)

    # Clicks.

    def _point(self, cursor: str, _: object) -> None:
        self.text.configure(cursor=cursor)

    def _follow_link(self, event: tkinter.Event[Any]) -> None:
        for tag in self.text.tag_names(f"@{event.x},{event.y}"):
            if tag.startswith("url:") and safe_link(tag[4:]) is not None:
                webbrowser.open(tag[4:])

    def _fold(self, event: tkinter.Event[Any]) -> None:
        place = self.text.index(f"@{event.x},{event.y}")
        behind = [each for each in self.shown if self.text.compare(each.mark, "<=", place)]
        if behind:
            self.toggle(behind[-1].row)

    def end(self) -> None:
        """The widgets are about to go."""
        if self._idle is not None:
            self._idle.deletetimerhandler()
            self._idle = None
        for drawn in self.shown:
            for image in drawn.images:
                self._tk.call("image", "delete", image)


class Drawing:
    """Draws one row at its mark."""

    def __init__(self, home: Conversation, drawn: Drawn, place: str) -> None:
        self._home, self._drawn, self._place = home, drawn, place
        self._row, self._presenter = drawn.row, home.presenter
        self._text = home.text

    def draw(self) -> None:
        """All of it."""
        draw = getattr(self, f"_{self._row.kind}", self._note)
        draw()

    def _put(self, text: str, *tags: str) -> None:
        self._text.insert(self._place, text, tags)

    def _window(self, widget: Any, *tags: str) -> None:
        place = self._text.index(self._place)
        self._text.window_create(self._place, window=widget, padx=4)
        for tag in tags:
            self._text.tag_add(tag, place)
        widget.bind("<FocusIn>", lambda _: self._text.see(str(widget)))
        self._drawn.widgets.append(widget)

    def _button(self, words: str, press: Callable[[], object], look: str, *tags: str) -> None:
        made = ttk.Button(self._text, text=words, style=look, command=press)
        self._window(made, *tags)

    def _copy(self, text: Callable[[], str], look: str, tag: str) -> None:
        def copy() -> None:
            self._text.clipboard_clear()
            self._text.clipboard_append(text())

        self._button("Copy", copy, f"{look}.Toolbutton", tag)

    # By kind.

    def _user(self) -> None:
        self._put("\n", "gap")
        self._put(shortened(self._row.text).strip("\n") + "\n", "user")
        if self._row.kind == "waiting":
            self._put("waits for the answer before\n", "user", "faint")
        self._pictures(self._row.step.pictures)
        self._put("\n", "gap")

    _waiting = _user

    def _prose(self) -> None:
        for text, tags in spans(self._row.text):
            self._put(text, *tags)

    def _code(self) -> None:
        row = self._row
        self._put("\n", "gap")
        self._put(f"{row.language or 'code'}  ", "label")
        self._copy(lambda: self._presenter.code_of(row), "ClaudeBox", "label")
        self._put("\n", "label")
        for kind, text in code_pieces(row.text, row.language):
            self._put(text, "block", *([f"code_{kind}"] if kind else []))
        self._put("\n", "block")
        self._put("\n", "gap", *([] if row.goes_on else ["block"]))
        self._put("\n", "gap")

    def _thinking(self) -> None:
        self._head(FOLDED[self._row.kind], "faint")
        if self._row.is_open:
            for text, tags in spans(shortened(self._row.text, LONGEST_DETAIL)):
                self._put(text, *tags, "faint")
        self._put("\n", "gap")

    _summary = _thinking

    def _head(self, name: str, look: str, about: str = "") -> None:
        """The line that unfolds."""
        row, home = self._row, self._home
        self._button(
            "▾" if row.is_open else "▸", lambda: home.toggle(row), "ClaudeBox.Toolbutton", "head"
        )
        if row.kind == "tool":
            sign, colour, _ = STATES.get(row.step.state, ("", "faint", ""))
            self._put(f" {sign} ", "head", colour)
        self._put(name, "head", look)
        self._put(f"  {about}\n", "head", "faint")

    def _tool(self) -> None:
        step, folder = self._row.step, self._presenter.folder
        name, about = headline(step, folder)
        self._head(name, "strong", about)
        for kind, text in details(step, folder) if self._row.is_open else ():
            for line in text.split("\n"):
                look = diff_kind(line) if kind == "diff" else ""
                self._put(
                    line + "\n", "label" if kind == "label" else "detail", *filter(None, [look])
                )
        if self._row.is_open:
            self._pictures(step.pictures)
        self._put("\n", "gap")

    def _asking(self) -> None:
        row, home = self._row, self._home
        box = tkinter.Frame(self._text, background=home.colours["back"], highlightthickness=2)
        box.configure(highlightbackground=home.colours["accent"])
        view = view_of(box, row.form, lambda: self._presenter.answered(row), "ClaudeBox.")
        view.frame.pack(fill="both", expand=True)
        box.pack_propagate(False)
        self._window(box)
        self._put("\n")
        home.fit(box)
        scroll_with(box)
        view.begin()

    def _note(self) -> None:
        self._put(shortened(self._row.text, LONGEST_DETAIL) + "\n", "faint", "small")

    def _error(self) -> None:
        self._put(shortened(self._row.text, LONGEST_DETAIL) + "\n", "error")
        self._button("Try again", self._presenter.retry, "ClaudeBox.TButton", "error")
        self._put("\n", "error")

    def _end(self) -> None:
        row, presenter = self._row, self._presenter
        if row.text:
            self._put(row.text + "\n", "faint")
        self._copy(lambda: presenter.markdown(row.step), "Claude", "small")
        self._put(f"  {presenter.facts(row.step)}\n", "faint", "small")

    def _pictures(self, pictures: Tuple[Picture, ...]) -> None:
        tk: Any = self._text.tk
        for picture in pictures:
            image = image_of(tk, picture)
            if image is None:
                self._put("an image that cannot be shown here\n", "faint")
                continue
            self._drawn.images.append(image)
            self._text.image_create(self._place, image=image, padx=12)
            self._put("\n")


def image_of(tk: Any, picture: Picture) -> Optional[str]:
    """An image of Tk's, not too high; None if it cannot be read."""
    data = "".join(picture.data.split())
    for read in (lambda: data, lambda: as_png(data)):
        with contextlib.suppress(tkinter.TclError, ImportError, OSError, ValueError):
            image = str(tk.call("image", "create", "photo", "-data", read()))
            break
    else:
        return None
    factor = -(-int(tk.call("image", "height", image)) // HIGHEST)
    if factor > 1:
        smaller = str(tk.call("image", "create", "photo"))
        tk.call(smaller, "copy", image, "-subsample", factor)
        tk.call("image", "delete", image)
        image = smaller
    return image


def as_png(data: str) -> bytes:
    """An image that Tk cannot read by itself (it knows PNG and GIF), by Pillow."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(data))).save(file, "PNG")
    return base64.b64encode(file.getvalue())
