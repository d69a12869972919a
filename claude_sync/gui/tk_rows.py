"""
The rows of a chat in a text of Tk: one text for all of them, with tags for their looks.

::

    rows -> [Conversation] -> tags, and small widgets inside of the text

Texts of Claude's and of tools are only ever inserted as text: nothing in them runs. A link is
followed by a click, to the web. Each row has a mark where it begins; the others stand behind
what is inserted there.
"""

from __future__ import annotations

import contextlib
import itertools
import tkinter
import webbrowser
from tkinter import ttk
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from ..render.chats import Picture, Step
from ..render.html import shortened
from ..render.markdown import code_pieces, markdown_tokens, safe_link
from ..render.presenter import EMPTY, Presenter
from ..render.rows import Reach, Row
from .tk_views import view_of
from .tk_windows import AutoScrollbar

__all__ = ["Conversation", "Fonts", "spans"]

# What is shown of what a tool was called with, or returned, and how high an image may be.
LONGEST_DETAIL = 6_000
HIGHEST = 360
# How much of its line a prompt may take.
BUBBLE = 0.75
DEEPEST = 6
WIDEST_TABLE = 100
MARKS = {"done": ("✓", "good"), "failed": ("✗", "bad"), "unfinished": ("●", "wait")}
FOLDED = ("tool", "thinking", "summary")
ZOOM = 1.1
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
        # For each list that is open the number of its next item; None without numbers.
        self._lists: List[Optional[int]] = []
        self._bullet = ""
        self._quotes = 0
        self._heading = ""
        self._table: List[List[str]] = []

    def blocks(self, tokens: List[Any]) -> Iterator[Span]:
        """The pieces of a whole text."""
        in_table = False
        for token in tokens:
            kind = token.type
            if kind in ("bullet_list_open", "ordered_list_open"):
                start = token.attrGet("start")
                is_ordered = kind == "ordered_list_open"
                self._lists.append((1 if start is None else int(start)) if is_ordered else None)
            elif kind in ("bullet_list_close", "ordered_list_close"):
                self._lists.pop()
            elif kind == "list_item_open":
                self._bullet = self._next_bullet()
            elif kind == "blockquote_open":
                self._quotes += 1
            elif kind == "blockquote_close":
                self._quotes -= 1
            elif kind == "heading_open":
                self._heading = f"h{min(int(token.tag[1:]), 3)}"
            elif kind == "heading_close":
                self._heading = ""
            elif kind == "table_open":
                in_table, self._table = True, []
            elif kind == "table_close":
                in_table = False
                yield from self._table_lines()
            elif kind == "tr_open":
                self._table.append([])
            elif in_table and kind in ("inline", "typed"):
                pieces = self._inline(token.children or []) if kind == "inline" else ()
                cell = "".join(piece for piece, _ in pieces) or token.content
                self._table[-1].append(" ".join(cell.split()))
            elif kind == "inline":
                yield from self._line(self._inline(token.children or []))
            elif kind in ("fence", "code_block"):
                yield from self._line([(token.content.rstrip("\n"), ("mono",))])
            elif kind == "hr":
                yield "─" * 24 + "\n", ("p", "faint")
            elif kind == "typed":
                yield from self._line([(token.content, ())])

    def _next_bullet(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "•\t"
        self._lists[-1] = number + 1
        return f"{number}.\t"

    def _line(self, pieces: Any) -> Iterator[Span]:
        """A paragraph, a heading or an item of a list."""
        block: Tuple[str, ...] = (self._heading or "p",)
        if self._lists:
            depth = min(len(self._lists), DEEPEST)
            block = (f"li{depth}" if self._bullet else f"lp{depth}",)
        elif self._quotes:
            block = ("quote",)
        if self._bullet:
            yield self._bullet, block
            self._bullet = ""
        for text, tags in pieces:
            yield text, (*block, *tags)
        yield "\n", block

    def _inline(self, tokens: List[Any]) -> Iterator[Span]:
        looks: List[str] = []
        for token in tokens:
            name, _, end = token.type.rpartition("_")
            if end == "open":
                link = token.attrGet("href") if name == "link" else None
                looks.append(f"url:{link}" if link is not None else name)
            elif end == "close":
                looks.pop()
            elif token.type == "softbreak":
                yield " ", ()
            elif token.type == "hardbreak":
                yield "\n", ()
            else:
                tags = [look_of(look) for look in looks]
                if {"strong", "em"} <= set(looks):
                    tags.append("strong_em")
                if any(look.startswith("url:") for look in looks):
                    tags.append("link")
                if token.type == "code_inline":
                    tags.append("code")
                yield token.content, tuple(tags)

    def _table_lines(self) -> Iterator[Span]:
        """A table in letters of one width."""
        columns = max(map(len, self._table), default=0)
        rows = [[*row, *[""] * (columns - len(row))] for row in self._table]
        widths = [max(len(row[place]) for row in rows) for place in range(columns)]
        widest = max(8, WIDEST_TABLE // max(1, columns))
        widths = [min(width, widest) for width in widths]
        for number, row in enumerate(rows):
            cells = (cell[:width].ljust(width) for cell, width in zip(row, widths))
            yield " │ ".join(cells) + "\n", ("table", "strong_mono") if not number else ("table",)
            if not number:
                yield "─┼─".join("─" * width for width in widths) + "\n", ("table", "faint")


def look_of(name: str) -> str:
    """The tag for what a token opens."""
    return name if name.startswith("url:") else {"strong": "strong", "em": "em"}.get(name, name)


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
        self.zoom = 0
        for name in FONTS:
            self._tk.call("font", "create", self[name])
        self.set_zoom(0)

    def __getitem__(self, name: str) -> str:
        return self._prefix + name

    def set_zoom(self, zoom: int) -> None:
        """Make all of them larger or smaller."""
        self.zoom = zoom
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
        self.images: List[Any] = []


class Conversation:
    """
    The rows, in a text that scrolls.

    Attributes:
        frame: The text and its scrollbar.
        text: The text.

    """

    def __init__(
        self, parent: tkinter.Misc, fonts: Fonts, known: Dict[str, str], pixel: int
    ) -> None:
        self._fonts, self._colours, self._pixel = fonts, known, pixel
        self.presenter: Presenter
        self.frame = ttk.Frame(parent, style="Claude.TFrame")
        self.frame.columnconfigure(0, weight=1)
        self.frame.rowconfigure(0, weight=1)
        self.text = tkinter.Text(
            self.frame,
            wrap="word",
            state="disabled",
            relief="flat",
            highlightthickness=0,
            borderwidth=0,
            width=20,
            height=8,
            cursor="arrow",
            insertwidth=0,
        )
        self.bar = AutoScrollbar(
            self.frame, orient="vertical", command=self._scroll, style="Claude.Vertical.TScrollbar"
        )
        self.text.configure(yscrollcommand=self._moved)
        self.text.grid(row=0, column=0, sticky="nsew")
        self.bar.grid(row=0, column=1, sticky="ns")
        self._reach = Reach()
        self._rows: List[Row] = []
        self._shown: List[Drawn] = []
        self._earlier: Any = None
        self._wide = 0
        self._tk: Any = self.text.tk
        self._idle: Any = None
        for event in SCROLLING:
            self.text.bind(event, self._look_soon, add=True)
        self.text.bind("<Configure>", self._resized)
        self.text.tag_bind("link", "<Button-1>", self._follow_link)
        self.text.tag_bind("head", "<Button-1>", self._fold)
        for tag in ("link", "head"):
            self.text.tag_bind(tag, "<Enter>", lambda _: self._point("hand2"))
            self.text.tag_bind(tag, "<Leave>", lambda _: self._point("arrow"))
        self.style(known)

    # Looks.

    def style(self, known: Dict[str, str]) -> None:
        """Take other colours, or other sizes of fonts."""
        self._colours = known
        fonts, text, px = self._fonts, self.text, self._pixel
        text.configure(
            font=fonts["body"],
            background=known["back"],
            foreground=known["text"],
            selectbackground=known["accent"],
            selectforeground=known["back"],
            padx=18 * px,
            pady=12 * px,
            spacing2=2 * px,
        )
        tab = fonts.measure("body", "mm")
        look = text.tag_configure
        look("p", spacing1=3 * px, spacing3=4 * px)
        for name in ("h1", "h2", "h3"):
            look(name, font=fonts[name], spacing1=10 * px, spacing3=4 * px)
        for depth in range(1, DEEPEST + 1):
            left = tab * depth
            look(f"li{depth}", lmargin1=left - tab // 2, lmargin2=left + tab // 2)
            look(f"li{depth}", tabs=(left + tab // 2,), spacing3=2 * px)
            look(f"lp{depth}", lmargin1=left + tab // 2, lmargin2=left + tab // 2)
        look("quote", lmargin1=tab, lmargin2=tab, foreground=known["faint"], spacing3=4 * px)
        look("table", font=fonts["mono"], wrap="none", lmargin1=tab // 2, lmargin2=tab // 2)
        for name in ("strong", "em", "strong_em", "strong_mono"):
            look(name, font=fonts[name])
        look("s", overstrike=True)
        look("mono", font=fonts["mono"])
        look("code", font=fonts["mono"], background=known["box"])
        look("link", foreground=known["accent"])
        side: Dict[str, Any] = {"lmargin1": 12 * px, "lmargin2": 12 * px, "rmargin": 10 * px}
        look("user", justify="right", spacing1=8 * px, spacing3=8 * px)
        look("block", background=known["box"], font=fonts["mono"], wrap="char", **side)
        look("head", background=known["box"], spacing1=5 * px, spacing3=5 * px, **side)
        look("detail", background=known["box"], font=fonts["small_mono"], wrap="char", **side)
        look("label", background=known["box"], font=fonts["small"], foreground=known["faint"])
        look("label", **side)
        look("error", background=known["error"], spacing1=5 * px, spacing3=3 * px, **side)
        look("faint", foreground=known["faint"])
        look("small", font=fonts["small"])
        look("gap", font=fonts["gap"])
        for name in ("added", "removed", "hunk"):
            look(name, background=known[name])
        for name in ("good", "bad", "wait"):
            look(name, foreground=known[name])
        for name in "ksnbfcid":
            look(f"code_{name}", foreground=known[name])
        text.tag_raise("sel")
        for drawn in self._shown:
            drawn.version = -1

    # Drawing.

    def draw(self, rows: List[Row]) -> None:
        """Draw what has changed."""
        self._rows = rows
        wanted = self._reach.of(rows)
        self.text.configure(state="normal")
        self._draw_top(not rows)
        keep = set(wanted)
        for drawn in [each for each in self._shown if each.row not in keep]:
            place = self._shown.index(drawn)
            self._erase(place)
            self.text.mark_unset(drawn.mark)
            del self._shown[place]
        for place, row in enumerate(wanted):
            if place == len(self._shown) or self._shown[place].row is not row:
                drawn = Drawn(row)
                start = "end-1c" if place == len(self._shown) else self._shown[place].mark
                self.text.mark_set(drawn.mark, start)
                self._shown.insert(place, drawn)
            if self._shown[place].version != row.version:
                self._draw_row(place)
        self.text.configure(state="disabled")
        if self._reach.follows:
            self.text.see("end")

    def _draw_top(self, is_empty: bool) -> None:
        """What stands above the first row: a hint, or a button for what was before."""
        wanted = "empty" if is_empty else "earlier" if self._reach.first else ""
        told = self._earlier[0] if self._earlier is not None else ""
        if wanted == told:
            return
        if self._earlier is not None:
            if self._earlier[1] is not None:
                self._earlier[1].destroy()
            self.text.delete("1.0", self._earlier[2])
            self._earlier = None
        if wanted == "empty":
            self.text.insert("1.0", EMPTY + "\n", ("faint",))
            self._earlier = (wanted, None, f"1.0+{len(EMPTY) + 1}c")
        elif wanted:
            button = ttk.Button(self.text, text="Earlier messages", command=self._show_earlier)
            self.text.insert("1.0", "\n")
            self.text.window_create("1.0", window=button)
            self._earlier = (wanted, button, "1.0+2c")

    def _end_of(self, place: int) -> str:
        return self._shown[place + 1].mark if place + 1 < len(self._shown) else "end-1c"

    def _erase(self, place: int) -> None:
        drawn = self._shown[place]
        for widget in drawn.widgets:
            widget.destroy()
        drawn.widgets.clear()
        for image in drawn.images:
            self._tk.call("image", "delete", image)
        drawn.images.clear()
        self.text.delete(drawn.mark, self._end_of(place))

    def _draw_row(self, place: int) -> None:
        drawn = self._shown[place]
        drawn.version = drawn.row.version
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
        self._reach.follows = True
        self.text.see("end")

    def _scroll(self, *where: Any) -> None:
        self.text.yview(*where)
        self._look()

    def _moved(self, first: Any, last: Any) -> None:
        """Something else of the text can be seen."""
        self.bar.set(first, last)
        if self._reach.follows and float(last) < 1.0:
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
        if follows and not self._reach.follows:
            self._reach.follows = True
            self.draw(self._rows)
        self._reach.follows = follows

    def _resized(self, event: tkinter.Event[Any]) -> None:
        if event.width != self._wide:
            self._wide = event.width
            for drawn in self._shown:
                if drawn.row.kind == "asking":
                    self.fit(drawn.widgets[0])
                elif drawn.row.kind in ("user", "waiting"):
                    drawn.widgets[0].fit(event.width)
        if self._reach.follows:
            self._soon(lambda: self.text.see("end"))

    def fit(self, frame: Any) -> None:
        """Give a frame inside of the text its width."""
        width = max(200, self.text.winfo_width() - 44 * self._pixel)
        frame.configure(width=width)
        for label in frame.winfo_children():
            for each in (label, *label.winfo_children()):
                if each.winfo_class() == "TLabel" and each.cget("wraplength"):
                    each.configure(wraplength=width - 40 * self._pixel)
        frame.update_idletasks()
        frame.configure(height=frame.winfo_children()[0].winfo_reqheight() + 2)

    def _show_earlier(self) -> None:
        top = self._shown[0].row if self._shown else None
        self._reach.earlier()
        self.draw(self._rows)
        for drawn in self._shown:
            if drawn.row is top:
                self.text.yview(drawn.mark)

    def go_to(self, row: Row, words: str) -> None:
        """Show a row, and select the words in it."""
        place = self._rows.index(row)
        self._reach.around(place)
        if row.kind in FOLDED and not row.is_open:
            row.is_open, row.version = True, row.version + 1
        self.draw(self._rows)
        place -= self._reach.first
        start = self._shown[place].mark
        found = self.text.search(words, start, self._end_of(place), nocase=True)
        self.text.tag_remove("sel", "1.0", "end")
        if found:
            self.text.tag_add("sel", found, f"{found}+{len(words)}c")
        self.text.see(found or start)

    # Clicks.

    def _point(self, cursor: str) -> None:
        self.text.configure(cursor=cursor)

    def _follow_link(self, event: tkinter.Event[Any]) -> None:
        for tag in self.text.tag_names(f"@{event.x},{event.y}"):
            if tag.startswith("url:") and safe_link(tag[4:]) is not None:
                webbrowser.open(tag[4:])

    def _fold(self, event: tkinter.Event[Any]) -> None:
        place = self.text.index(f"@{event.x},{event.y}")
        behind = [each for each in self._shown if self.text.compare(each.mark, "<=", place)]
        if behind:
            self.toggle(behind[-1].row)

    def toggle(self, row: Row) -> None:
        """Fold or unfold a row."""
        row.is_open = not row.is_open
        row.version += 1
        self.draw(self._rows)

    def end(self) -> None:
        """The widgets are about to go."""
        if self._idle is not None:
            self._idle.deletetimerhandler()
            self._idle = None
        for drawn in self._shown:
            for image in drawn.images:
                self._tk.call("image", "delete", image)


class Bubble(tkinter.Canvas):
    """What the person said, on a ground with round corners."""

    def __init__(
        self, parent: tkinter.Misc, text: str, known: Dict[str, str], font: str, pixel: int
    ) -> None:
        ground = known["back"]
        super().__init__(parent, background=ground, highlightthickness=0, borderwidth=0)
        self._pixel = pixel
        side, top = 14 * pixel, 9 * pixel
        self._ground = self.create_polygon(0, 0, 0, 0, smooth=True, fill=known["bubble"])
        self._words = self.create_text(
            side, top, text=text, anchor="nw", font=font, fill=known["text"]
        )

    def fit(self, width: int) -> None:
        """As wide as the text, within limits."""
        self.itemconfigure(self._words, width=max(80, int(width * BUBBLE)))
        _, _, right, bottom = self.bbox(self._words)
        right, bottom, round_ = right + 14 * self._pixel, bottom + 9 * self._pixel, 14 * self._pixel
        corners = ((0, 0), (right, 0), (right, bottom), (0, bottom))
        near = ((round_, round_), (-round_, round_), (-round_, -round_), (round_, -round_))
        places: List[int] = []
        for number, ((x, y), (dx, dy)) in enumerate(zip(corners, near)):
            first, last = (x, y + dy), (x + dx, y)
            if number % 2:
                first, last = last, first
            # A corner twice makes a straight line end there.
            for place in (first, first, (x, y), last, last):
                places += place
        self.coords(self._ground, *places)
        self.configure(width=right + 1, height=bottom + 1)

    def words(self) -> str:
        """The text."""
        tk: Any = self.tk
        return str(tk.call(self, "itemcget", self._words, "-text"))


class Drawing:
    """Draws one row at its mark."""

    def __init__(self, home: Conversation, drawn: Drawn, place: str) -> None:
        self._home, self._drawn, self._place = home, drawn, place
        self._row = drawn.row
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
        self._drawn.widgets.append(widget)

    def _copy(self, text: Callable[[], str], look: str = "Claude.") -> Any:
        def copy() -> None:
            self._text.clipboard_clear()
            self._text.clipboard_append(text())

        return ttk.Button(self._text, text="Copy", style=f"{look}Toolbutton", command=copy)

    # By kind.

    def _user(self) -> None:
        waits = "\n(waits for the answer before)" if self._row.kind == "waiting" else ""
        home = self._home
        text = shortened(self._row.text).strip("\n") + waits
        bubble = Bubble(self._text, text, home._colours, home._fonts["body"], home._pixel)
        bubble.fit(self._text.winfo_width())
        self._window(bubble, "user")
        self._put("\n", "user")
        self._pictures(self._row.step.pictures)

    _waiting = _user

    def _prose(self) -> None:
        for text, tags in spans(self._row.text):
            self._put(text, *tags)

    def _code(self) -> None:
        row = self._row
        presenter = self._home.presenter
        self._put("\n", "gap")
        self._put(f"{row.language or 'code'}  ", "label")
        self._window(self._copy(lambda: presenter.code_of(row), "ClaudeBox."), "label")
        self._put("\n", "label")
        for kind, text in code_pieces(row.text, row.language):
            self._put(text, "block", *([f"code_{kind}"] if kind else []))
        self._put("\n", "block")
        self._put("\n", "gap", *([] if row.goes_on else ["block"]))
        self._put("\n", "gap")

    def _fold_button(self) -> None:
        row, home = self._row, self._home
        sign = "▾" if row.is_open else "▸"
        button = ttk.Button(
            self._text,
            text=sign,
            width=2,
            style="ClaudeBox.Toolbutton",
            command=lambda: home.toggle(row),
        )
        self._window(button, "head")

    def _thinking(self) -> None:
        name = "Thinking" if self._row.kind == "thinking" else "Summary of what was before"
        self._fold_button()
        self._put(f"{name}\n", "head", "faint")
        if self._row.is_open:
            for text, tags in spans(shortened(self._row.text, LONGEST_DETAIL)):
                self._put(text, *tags, "faint")

    _summary = _thinking

    def _tool(self) -> None:
        row, step = self._row, self._row.step
        sign, colour = MARKS.get(step.state, ("", "faint"))
        name, about = step.summary(self._home.presenter.folder)
        self._fold_button()
        self._put(f"{sign} ", "head", colour)
        self._put(name, "head", "strong")
        decision = f"  ({step.decision})" if step.decision in ("denied", "withdrawn") else ""
        self._put(f"  {about}{decision}\n", "head", "faint")
        if row.is_open:
            self._inside(step)

    def _inside(self, step: Step) -> None:
        if step.diff:
            kinds = {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk"}
            for line in shortened("\n".join(step.diff), LONGEST_DETAIL).split("\n"):
                kind = kinds.get(line[:1])
                self._put(line + "\n", "detail", *([kind] if kind else []))
        elif step.input:
            self._put(shortened(step.input_text(), LONGEST_DETAIL) + "\n", "detail")
        for each in step.steps:
            sign = MARKS.get(each.state, ("", ""))[0] if each.kind == "tool" else ""
            words = " ".join(each.summary(self._home.presenter.folder)) if sign else each.text
            self._put(f"{sign} {' '.join(words.split())[:200]}\n", "detail")
        if step.text:
            self._put("failed\n" if step.state == "failed" else "returned\n", "label")
            self._put(shortened(step.text, LONGEST_DETAIL).rstrip("\n") + "\n", "detail")
        self._pictures(step.pictures)

    def _asking(self) -> None:
        row, home = self._row, self._home
        known = home._colours
        box = tkinter.Frame(
            self._text,
            background=known["back"],
            highlightthickness=2,
            highlightbackground=known["accent"],
        )
        view = view_of(box, row.form, lambda: home.presenter.answered(row), "ClaudeBox.")
        view.frame.pack(fill="both", expand=True)
        box.pack_propagate(False)
        self._put("\n", "gap")
        self._window(box)
        self._put("\n")
        home.fit(box)
        view.begin()

    def _note(self) -> None:
        self._put(shortened(self._row.text, LONGEST_DETAIL) + "\n", "faint", "small")

    def _error(self) -> None:
        self._put(shortened(self._row.text, LONGEST_DETAIL) + "\n", "error")
        again = ttk.Button(
            self._text,
            text="Try again",
            style="ClaudeBox.TButton",
            command=self._home.presenter.retry,
        )
        self._window(again, "error")
        self._put("\n", "error")

    def _end(self) -> None:
        row, presenter = self._row, self._home.presenter
        if row.text:
            self._put(row.text + "\n", "faint")
        self._window(self._copy(lambda: presenter.markdown(row.step)), "small")
        self._put(f"  {presenter.facts(row.step)}\n", "faint", "small")

    def _pictures(self, pictures: Tuple[Picture, ...]) -> None:
        tk: Any = self._text.tk
        for picture in pictures:
            try:
                data = "".join(picture.data.split())
                image = str(tk.call("image", "create", "photo", "-data", data))
            except tkinter.TclError:  # Tk reads png and gif
                self._put("an image that cannot be shown here\n", "faint")
                continue
            height = int(tk.call("image", "height", image))
            if height > HIGHEST:
                smaller = str(tk.call("image", "create", "photo"))
                factor = -(-height // HIGHEST)
                tk.call(smaller, "copy", image, "-subsample", factor)
                tk.call("image", "delete", image)
                image = smaller
            self._drawn.images.append(image)
            self._text.image_create(self._place, image=image)
            self._put("\n")
