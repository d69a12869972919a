"""
Markdown blocks: headings, lists, tables, quotes and code, as safe HTML.

Line by line, and again inside lists and quotes, to a bounded depth: what is
nested deeper is text. A text that is still being written is taken as far as it
goes: an open fence runs to the end, a table has the rows it has.
"""

from __future__ import annotations

import re
from typing import Callable, List, NamedTuple, Optional, Tuple

from .markup_inline import escape, inline_html

__all__ = ["blocks_html"]

# What is nested deeper is text: nobody reads it, and each level reads the lines once more.
DEEPEST = 12

FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
HEADING = re.compile(r"(#{1,6})(?:[ \t]+|\Z)")
ITEM = re.compile(r"([-+*]|[0-9]{1,9}[.)])(?:[ \t]|\Z)")
TASKS = {"[ ]": "\u2610", "[x]": "\u2611", "[X]": "\u2611"}
CELL = re.compile(r"(?:[^|\\]|\\.?)*", re.DOTALL)


class Item(NamedTuple):
    """The beginning of a list's item: where its marker is, and where its content."""

    marker: str
    indent: int
    offset: int
    content: str

    @property
    def kind(self) -> str:
        """Items of one kind are one list."""
        return self.marker[-1]


def blocks_html(lines: List[str], depth: int = 0, tight: bool = False) -> str:
    """
    The HTML of these lines.

    Args:
        lines: Without their ends.
        depth: How deep in lists and quotes they are.
        tight: Whether a paragraph is only its text, as in a list without blank lines.

    """
    return Blocks(lines, depth, tight).run()


class Blocks:
    """One pass over some lines."""

    def __init__(self, lines: List[str], depth: int, tight: bool) -> None:
        self.lines = lines
        self.depth = depth
        self.tight = tight
        self.place = 0
        self.out: List[str] = []

    def run(self) -> str:
        """Everything, as HTML."""
        takers: Tuple[Callable[[str, int], bool], ...] = (
            self.indented_code,
            self.fence,
            self.heading,
            self.rule,
            self.quote,
            self.list,
            self.table,
        )
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if not line.strip():
                self.place += 1
                continue
            content = line.lstrip(" \t")
            indent = columns(line, content)
            if not any(taker(content, indent) for taker in takers):
                self.paragraph()
        return "\n".join(self.out)

    def indented_code(self, _content: str, indent: int) -> bool:
        if indent < 4:
            return False
        taken: List[str] = []
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if line.strip() and columns(line) < 4:
                break
            taken.append(without_columns(line, 4))
            self.place += 1
        while not taken[-1].strip():
            taken.pop()
        self.out.append(code_block(taken, ""))
        return True

    def fence(self, content: str, indent: int) -> bool:
        opening = fence_of(content)
        if opening is None:
            return False
        ticks, info = opening
        self.place += 1
        taken: List[str] = []
        while self.place < len(self.lines):
            line = self.lines[self.place]
            self.place += 1
            if closes_fence(line, ticks):
                break
            taken.append(without_columns(line, indent))
        self.out.append(code_block(taken, info))
        return True

    def heading(self, content: str, _indent: int) -> bool:
        found = HEADING.match(content)
        if found is None:
            return False
        text = content[found.end() :].rstrip()
        bare = text.rstrip("#")
        if bare != text and (not bare or bare[-1] in " \t"):
            text = bare.rstrip()
        level = len(found.group(1))
        self.out.append(f"<h{level}>{inline_html(text)}</h{level}>")
        self.place += 1
        return True

    def rule(self, content: str, _indent: int) -> bool:
        if not is_rule(content):
            return False
        self.out.append("<hr>")
        self.place += 1
        return True

    def quote(self, content: str, _indent: int) -> bool:
        if not content.startswith(">") or self.depth >= DEEPEST:
            return False
        taken: List[str] = []
        while self.place < len(self.lines):
            line = self.lines[self.place]
            content = line.lstrip(" \t")
            if content.startswith(">"):
                content = content[1:]
                taken.append(content[1:] if content.startswith(" ") else content)
            elif taken and goes_on(taken[-1], line):
                taken.append(line)
            else:
                break
            self.place += 1
        inside = blocks_html(taken, self.depth + 1)
        self.out.append(f"<blockquote>\n{inside}\n</blockquote>")
        return True

    def list(self, content: str, indent: int) -> bool:
        first = item_of(content, indent)
        if first is None or self.depth >= DEEPEST:
            return False
        items: List[List[str]] = []
        loose = False
        item: Optional[Item] = first
        while item is not None and item.kind == first.kind:
            taken = self.item_lines(item)
            if items and blank_between(items[-1]):
                loose = True
            items.append(taken)
            item = self.item_here()
        loose = loose or any(blank_inside(taken) for taken in items)
        tag, attribute = ("ol", start_of(first.marker)) if first.marker[0].isdigit() else ("ul", "")
        self.out.append(f"<{tag}{attribute}>")
        for taken in items:
            self.out.append(f"<li>{task_or_text(taken, self.depth + 1, not loose)}</li>")
        self.out.append(f"</{tag}>")
        return True

    def item_here(self) -> Optional[Item]:
        """The item that begins at this line, if one does."""
        if self.place >= len(self.lines):
            return None
        line = self.lines[self.place]
        content = line.lstrip(" \t")
        indent = columns(line, content)
        return None if indent > 3 or is_rule(content) else item_of(content, indent)

    def item_lines(self, item: Item) -> List[str]:
        """
        What belongs to an item, without its indentation.

        Nested lists are often indented by two columns whatever the marker's width.
        """
        taken = [item.content]
        nested = min(item.offset, item.indent + 2)
        self.place += 1
        ticks = fence_ticks(item.content, "")
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if line.strip():
                if columns(line) >= nested:
                    line = without_columns(line, item.offset)
                elif ticks or not goes_on(taken[-1], line):
                    break
                ticks = fence_ticks(line, ticks)
            taken.append(line)
            self.place += 1
        return taken

    def table(self, content: str, _indent: int) -> bool:
        if "|" not in content or self.place + 1 >= len(self.lines):
            return False
        aligned = alignments(self.lines[self.place + 1])
        if aligned is None:
            return False
        self.out.append("<table>\n<thead>")
        self.out.append(row(cells(content), aligned, "th"))
        self.out.append("</thead>\n<tbody>")
        self.place += 2
        while self.place < len(self.lines):
            line = self.lines[self.place]
            if not line.strip() or ("|" not in line and begins_block(line)):
                break
            self.out.append(row(cells(line), aligned, "td"))
            self.place += 1
        self.out.append("</tbody>\n</table>")
        return True

    def paragraph(self) -> None:
        """All else: lines up to a blank one, or one that begins something."""
        taken = [self.lines[self.place].lstrip()]
        self.place += 1
        while self.place < len(self.lines):
            line = self.lines[self.place]
            level = underline(line)
            if level:
                self.place += 1
                self.out.append(f"<h{level}>{inline_html(text_of(taken))}</h{level}>")
                return
            if not line.strip() or begins_block(line) or self.table_here(line):
                break
            taken.append(line.lstrip())
            self.place += 1
        text = inline_html(text_of(taken))
        self.out.append(text if self.tight else f"<p>{text}</p>")

    def table_here(self, line: str) -> bool:
        """Whether a table begins at this line: often there is no blank one before it."""
        following = self.lines[self.place + 1 : self.place + 2]
        return "|" in line and bool(following) and alignments(following[0]) is not None


def columns(line: str, content: Optional[str] = None) -> int:
    """How far a line is indented; a tab goes to the next multiple of four."""
    content = line.lstrip(" \t") if content is None else content
    return len(line[: len(line) - len(content)].expandtabs(4))


def without_columns(line: str, count: int) -> str:
    """A line with up to *count* columns of its indentation removed; tabs after it are kept."""
    column = place = 0
    while column < count and line[place : place + 1] in (" ", "\t"):
        column += 1 if line[place] == " " else 4 - column % 4
        place += 1
    return " " * (column - count) + line[place:]


def fence_of(content: str) -> Optional[Tuple[str, str]]:
    """The ticks and the words of a line that opens a fenced block."""
    found = FENCE.match(content)
    if found is None or (content[0] == "`" and "`" in found.group(2)):
        return None
    return found.group(1), found.group(2).strip()


def closes_fence(line: str, ticks: str) -> bool:
    """Whether a line closes the block that *ticks* opened."""
    line = line.strip()
    return line.startswith(ticks) and line == ticks[0] * len(line)


def fence_ticks(line: str, ticks: str) -> str:
    """The ticks of the block that is open behind this line; none if none is."""
    if ticks:
        return "" if closes_fence(line, ticks) else ticks
    opening = fence_of(line.lstrip(" \t"))
    return opening[0] if opening is not None else ""


def code_block(lines: List[str], info: str) -> str:
    """A block of code, with its language as the class that highlighters look for."""
    language = LANGUAGE.match(info)
    attribute = f' class="language-{escape(language.group())}"' if language else ""
    # A browser drops a newline that follows the tag, so the text begins with the code.
    text = "".join(f"{line}\n" for line in lines)
    return f"<pre><code{attribute}>{escape(text)}</code></pre>"


def is_rule(content: str) -> bool:
    """Three or more of the same sign, and nothing else but spaces."""
    if content[:1] not in ("-", "*", "_"):
        return False
    signs = content.replace(" ", "").replace("\t", "")
    return len(signs) >= 3 and signs == signs[0] * len(signs)


def underline(line: str) -> int:
    """1 or 2 if a line makes a heading of the text above it; else 0."""
    signs = line.strip()
    if not signs or signs[0] not in "=-" or columns(line) > 3 or len(signs) < 2:
        return 0
    return (1 if signs[0] == "=" else 2) if signs == signs[0] * len(signs) else 0


def item_of(content: str, indent: int) -> Optional[Item]:
    """The item that a line begins, if it does."""
    found = ITEM.match(content)
    if found is None:
        return None
    marker = found.group(1)
    text = content[len(marker) :]
    inside = text.lstrip(" \t")
    spaces = columns(text, inside)
    if not inside or spaces > 4:
        spaces = 1  # code in an item, or nothing in it yet
    return Item(marker, indent, indent + len(marker) + spaces, without_columns(text, spaces))


def start_of(marker: str) -> str:
    """The attribute for a list that does not begin with one."""
    number = int(marker[:-1])
    return "" if number == 1 else f' start="{number}"'


def task_or_text(lines: List[str], depth: int, tight: bool) -> str:
    """What is in an item; a box for tasks."""
    box = TASKS.get(lines[0][:3]) if lines[0][3:4] in ("", " ") else None
    if box is None:
        return blocks_html(lines, depth, tight)
    return f"{box} {blocks_html([lines[0][3:].lstrip(), *lines[1:]], depth, tight)}"


def blank_between(lines: List[str]) -> bool:
    """Whether an item ends with a blank line."""
    return len(lines) > 1 and not lines[-1].strip()


def blank_inside(lines: List[str]) -> bool:
    """Whether a blank line separates two parts of an item; one inside of code does not."""
    ticks = ""
    blank = False
    for line in lines:
        if not line.strip():
            blank = blank or not ticks
        elif blank and not line.startswith((" ", "\t")):
            return item_of(line, 0) is None
        ticks = fence_ticks(line, ticks)
    return False


def begins_block(line: str) -> bool:
    """Whether a line ends the paragraph before it."""
    content = line.lstrip(" \t")
    if columns(line, content) > 3:
        return False
    if content.startswith(">") or HEADING.match(content) or is_rule(content) or fence_of(content):
        return True
    item = item_of(content, 0)
    # A line that begins with a year, or with a dash alone, is no list.
    return item is not None and bool(item.content) and item.marker[:-1] in ("", "1")


def goes_on(before: str, line: str) -> bool:
    """Whether a line without indentation still belongs to the paragraph *before*."""
    return bool(before.strip() and line.strip()) and not (
        begins_block(line)
        or item_of(line.lstrip(" \t"), 0)
        or underline(line)
        or fence_of(before.lstrip(" \t"))
        or HEADING.match(before)
        or "|" in before
    )


def text_of(lines: List[str]) -> str:
    """A paragraph's lines as one text, without what is left of the last line's break."""
    return "\n".join(lines).rstrip()


def cells(line: str) -> List[str]:
    """The cells of a row; a bar behind a backslash is one of the text."""
    line = line.strip()
    line = line[1:] if line.startswith("|") else line
    found: List[str] = []
    place = 0
    while place <= len(line):
        cell = CELL.match(line, place)
        assert cell is not None  # it matches nothing, too
        found.append(cell.group().replace("\\|", "|").strip())
        place = cell.end() + 1
    if len(found) > 1 and not found[-1]:
        found.pop()
    return found


def alignments(line: str) -> Optional[List[str]]:
    """How a table's columns are aligned, if that is what a line says."""
    if "|" not in line or line.strip(" \t|:-"):
        return None
    found = cells(line)
    if not any(found) or not all(cell and not cell.strip(":").strip("-") for cell in found):
        return None
    return [
        ("center" if cell.startswith(":") and len(cell) > 1 else "right")
        if cell.endswith(":") and len(cell) > 1
        else ""
        for cell in found
    ]


def row(texts: List[str], aligned: List[str], tag: str) -> str:
    """A row. Cells that are not there yet are left out; none that is there is lost."""
    out: List[str] = []
    for place, text in enumerate(texts):
        side = aligned[place] if place < len(aligned) else ""
        attribute = f' style="text-align: {side}"' if side else ""
        out.append(f"<{tag}{attribute}>{inline_html(text, breaks=True)}</{tag}>")
    return f"<tr>{''.join(out)}</tr>"
