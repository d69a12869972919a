"""
Markdown on a terminal, while it arrives: painted by rich.

What may still change is drawn again: the last block, as far as it is on the screen. What came
before it stays as it is. Without rich, or without colours, the text is written as it is. In
either case the terminal obeys nothing that is in the text: control characters are spelled out.
"""

from __future__ import annotations

import importlib
import io
import re
import shutil
import time
from collections.abc import Callable
from typing import Any

from ..support.styles import Palette, palette, safe

__all__ = ["Painter", "Plain", "painter_for", "rich_is_there"]

Write = Callable[[str], object]

# The width at which lines are easy to read; narrower terminals have theirs.
WIDEST = 100
# Drawing again costs time: a tenth of it, and no more often than so many seconds.
PAUSE = 0.05
SHARE = 10
# Between blocks: a blank line, and after it a line that does not go on with a list or a table.
BLOCK_END = re.compile(r"\n[ \t]*\n(?=[^\s\-+*|>0-9])")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def rich_is_there() -> bool:
    """Whether rich is installed."""
    try:
        importlib.import_module("rich.markdown")
    except ImportError:
        return False
    return True


def painter_for(write: Write, on_terminal: bool, styles: Palette | None = None) -> Any:
    """What writes Markdown: painted where somebody looks, and can see colours."""
    styles = palette() if styles is None else styles
    if on_terminal and styles and rich_is_there():
        return Painter(write)
    return Plain(write, harmless=on_terminal)


class Plain:
    """Writes text as it is; with *harmless*, what a terminal would obey is spelled out."""

    def __init__(self, write: Write, harmless: bool = False) -> None:
        self._write = write
        self._harmless = harmless
        self._held = ""
        # Whether the cursor is at the beginning of a line.
        self.column = 0

    def feed(self, text: str) -> None:
        """Write the next piece."""
        if self._harmless:
            text, self._held = self._held + text, ""
            if text.endswith("\r"):  # half of a line end, perhaps
                text, self._held = text[:-1], "\r"
            text = safe(text.replace("\r\n", "\n"))
        if text:
            self._write(text)
            self.column = 0 if text.endswith("\n") else 1

    def tick(self) -> None:
        """Everything is written at once."""

    def end(self) -> None:
        """End the line."""
        self._held = ""
        if self.column:
            self._write("\n")
            self.column = 0


class Painter:
    """Writes Markdown as rich paints it. Each line that is drawn ends; the cursor is below it."""

    column = 0

    def __init__(self, write: Write, width: int | None = None, height: int | None = None) -> None:
        self._write = write
        self._given = (width, height)
        self._text = ""
        # Lines of the last block that stay, and those below them that are drawn again.
        self._kept = self._drawn = 0
        self._is_first = True
        self._is_new = False
        self._not_before = 0.0

    def feed(self, text: str) -> None:
        """Take the next piece; it is drawn now, or with one that follows soon."""
        self._text = (self._text + text).replace("\r\n", "\n")
        self._is_new = True
        self.tick()

    def tick(self) -> None:
        """Draw what has come, unless that was done a moment ago."""
        begun = time.monotonic()
        if not self._is_new or begun < self._not_before:
            return
        while True:
            end = end_of_block(self._text)
            if end is None:
                break
            block, self._text = self._text[:end], self._text[end:].lstrip("\n")
            self._draw(block, last=True)
        self._draw(self._text, last=False)
        self._is_new = False
        took = time.monotonic() - begun
        self._not_before = begun + max(PAUSE, SHARE * took)

    def end(self) -> None:
        """Draw all there is; what follows is another text."""
        if self._text:
            self._not_before = 0.0
            self._is_new = True
            self.tick()
            self._draw(self._text, last=True)
        self._text, self._is_first, self._is_new = "", True, False

    def _draw(self, text: str, last: bool) -> None:
        """Draw a block in the place of what was drawn of it before."""
        size = shutil.get_terminal_size()
        width, height = self._given[0] or min(size.columns, WIDEST), self._given[1] or size.lines
        lines = painted(text, width)
        if lines and not self._is_first:
            lines.insert(0, "")
        # What has left the screen cannot be drawn again.
        stays = len(lines) if last else max(self._kept, len(lines) - max(height - 3, 1))
        if lines or self._drawn:
            back = f"\x1b[{self._drawn}A\x1b[J" if self._drawn else ""
            self._write(back + "".join(f"{line}\n" for line in lines[self._kept :]))
        self._kept, self._drawn = stays, len(lines) - stays
        if last:
            self._kept = self._drawn = 0
            self._is_first = self._is_first and not lines


def end_of_block(text: str) -> int | None:
    """Where the first block of a text ends that will not change any more."""
    for found in BLOCK_END.finditer(text):
        # Inside of code nothing ends: there is one fence more that opens than that closes.
        if len(FENCE.findall(text[: found.start()])) % 2 == 0 and text[: found.start()].strip():
            return found.start()
    return None


def painted(text: str, width: int) -> list[str]:
    """The lines of a Markdown text, with escape sequences of rich."""
    if not text.strip():
        return []
    console_class = importlib.import_module("rich.console").Console
    markdown = importlib.import_module("rich.markdown")
    parser = importlib.import_module("markdown_it").MarkdownIt("commonmark", {"html": False})

    class Heading(markdown.Heading):  # type: ignore[misc, name-defined]
        """A heading where text begins, not in the middle."""

        def __rich_console__(self, console: Any, options: Any) -> Any:
            self.text.justify = "left"
            self.text.stylize("bold")
            yield self.text

    # Addresses are shown: nobody can hover over a terminal.
    shown = markdown.Markdown("", code_theme="ansi_dark", hyperlinks=False)
    shown.elements = {**shown.elements, "heading_open": Heading}
    shown.parsed = parser.enable(["table", "strikethrough"]).parse(safe(text))
    for token in shown.parsed:
        for each in token.children or ():
            if each.type == "softbreak":  # lines of addresses, poems and commands are meant
                each.type = "hardbreak"
    out = io.StringIO()
    console = console_class(
        file=out, width=width, force_terminal=True, color_system="standard", highlight=False
    )
    draw = console.print  # into the text above, not on the screen
    draw(shown)
    return [line.rstrip() for line in out.getvalue().strip("\n").split("\n")]
