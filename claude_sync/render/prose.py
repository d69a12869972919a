"""
Markdown of people and models, as a part of a document of ours.

::

    message -> [prose] -> a document that somebody publishes

It stays Markdown, with three differences:

* Its headings are below those of the document.
* HTML in it shows as text, as in the HTML that is exported; links lead nowhere where something
  runs, and to no file; images are links, so that nothing is loaded. Many who make pages of
  Markdown let all of it through.
* It ends where it ends: a block of code without an end takes nothing else into it.

Only in code is nothing changed, and only where every reader of Markdown agrees that it is
code. Where they might not, a mark too many is shown.
"""

from __future__ import annotations

import html
import re
from typing import List, Match, Optional

from .chats import one_line

__all__ = ["code", "fenced", "tamed", "tamed_words"]

# Ours are of the first two levels.
DEEPER = "##"
HEADING = re.compile(r"^( {0,3})(#{1,4})(?=\s|$)")
# Behind backticks there is none on the line of a fence: that is code within a line.
FENCE = re.compile(
    r"(?P<indent>[ \t]*)(?P<marker>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)"
    r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<rest>.*)"
)
# Beyond this, it depends on the lines before whether it is a fence.
DEEPEST = 3
QUOTE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>")
MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
ADDRESS = re.compile(r"<(?:(?:https?://|mailto:)[^\s<>`]*|[\w.+-]+@[\w.-]+)>")
TARGET = re.compile(r"\][(:][\s>]*<?\s*(\S{1,400})")
SCHEME = re.compile(r"(?:javascript|vbscript|data|file):", re.IGNORECASE)
# With a bar, the line of a fence may be the head of a table.
NOT_IN_NAMES = re.compile(r"[|<>\\]")
# What is no plain address behind a label: backticks in one are no marks of code.
ODD_LINK = re.compile(r"\]:|\]\((?![^()`\s]*\))")
TICKS = re.compile(r"`+")
OPENING = re.compile(r"\\.|(`+)")
# Of an address, so much is looked at.
FAR_ENOUGH = 1000
# Characters that browsers leave out of an address, and the marks that Markdown does.
LEFT_OUT = re.compile(r"[\x00-\x20\\]")


def tamed(text: str) -> str:
    """*text* as it can stand in a document of ours."""
    given = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines: List[str] = []
    block: Optional[Block] = None
    is_sure = True  # that no code within a line began on a line before
    for number, line in enumerate(given):
        found = None if block is not None else FENCE.match(line)
        if block is not None:
            lines.append(block.line(line))
            block = None if block.is_end(line) else block
        elif found is not None:
            block, is_sure = Block(found), True
            lines += block.first()
        else:
            is_sure = (is_sure or not line.strip()) and not QUOTE.match(line) and is_closed(line)
            following = given[number + 1] if number + 1 < len(given) else ""
            lowered = HEADING.sub(rf"\1{DEEPER}\2", tamed_line(line, following, is_sure))
            lines.append(lowered)
    if block is not None:
        lines.append(block.line(block.fence))  # what follows is ours
    return "\n".join(lines)


def tamed_words(text: str) -> str:
    """A text on one line, as a part of a line of ours."""
    line = " ".join(text.split())
    return tamed_line(line, "", is_closed(line))


class Block:
    """
    A block of code between fences.

    Its lines are put where nobody doubts that they are in it: not further to the left than the
    fence. A fence that is so far to the right, or behind so much, that it might be none is
    moved to the left.
    """

    def __init__(self, found: Match[str]) -> None:
        self.fence, self._language = found["fence"], NOT_IN_NAMES.sub(" ", found["rest"])
        self._before = found["indent"] + found["marker"]
        self._is_marked = bool(found["marker"])
        is_doubtful = self._is_marked or "\t" in self._before or len(self._before) > DEEPEST
        self._indent = "" if is_doubtful else self._before

    def first(self) -> List[str]:
        """The line of the fence, and what stands before it."""
        marker = [self._before.rstrip(), ""] if self._is_marked else []
        return [*marker, f"{self._indent}{self.fence}{self._language}"]

    def line(self, line: str) -> str:
        """A line of the block, or its end."""
        if not line.strip():
            return line
        if self.is_end(line):
            return self._indent + line.strip()
        blanks = len(line) - len(line.lstrip(" "))
        return self._indent + line[min(blanks, len(self._before)) :]

    def is_end(self, line: str) -> bool:
        """Whether this is its end."""
        mark = line.strip()
        return len(mark) >= len(self.fence) and not mark.strip(self.fence[0])


def is_closed(line: str) -> bool:
    """Whether all code within a line ends on it, in a table as well."""
    if ODD_LINK.search(line):
        return False
    place = 0
    while True:
        found = opening(line, place)
        if found is None:
            return True
        end = closing(line, found)
        if end < 0 or "|" in line[found.end() : end]:
            return False
        place = end


def opening(line: str, place: int) -> Optional[Match[str]]:
    """The next backticks that may begin code."""
    found = OPENING.finditer(line, place)
    return next((each for each in found if each.group(1)), None)


def closing(line: str, found: Match[str]) -> int:
    """Where the code that begins there is over; -1 if nowhere on this line."""
    for each in TICKS.finditer(line, found.end()):
        if len(each.group()) == len(found.group()):
            return each.end()
    return -1


def tamed_line(line: str, following: str, is_sure: bool) -> str:
    """A line of text; code in it stays as it is, if it is code to be *sure*."""
    pieces: List[str] = []
    place = 0
    while place < len(line):
        character = line[place]
        step = 1
        piece = character
        if character == "\\" and place + 1 < len(line):
            step, piece = 2, line[place : place + 2]
        elif character == "`" and is_sure:
            found = TICKS.match(line, place)
            assert found is not None
            step = closing(line, found) - place
            piece = line[place : place + step]
        elif character == "<" and MARKUP.match(line, place):
            address = ADDRESS.match(line, place)
            piece = address.group() if address else "\\<"
            step = len(piece) if address else 1
        elif character == "!" and line.startswith("[", place + 1):
            piece = "\\!"
        elif character == "]" and leads_astray(line, place, following):
            step, piece = 2, f"]\\{line[place + 1]}"
        pieces.append(piece)
        place += step
    return "".join(pieces)


def leads_astray(line: str, place: int, following: str) -> bool:
    """Whether what follows a label, which ends there, is the address of something that runs."""
    if line[place + 1 : place + 2] not in ("(", ":"):
        return False
    found = TARGET.match(f"{line[place : place + FAR_ENOUGH]}\n{following[:FAR_ENOUGH]}")
    if found is None:
        return False
    return SCHEME.match(LEFT_OUT.sub("", html.unescape(found.group(1)))) is not None


# Texts that are shown as they are.


def fenced(text: str, language: str = "") -> str:
    """A text as a block of Markdown that it cannot leave."""
    ticks = "`" * max(3, longest_run(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def code(text: str) -> str:
    """A text as a code span that it cannot leave."""
    text = one_line(text)
    ticks = "`" * (longest_run(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def longest_run(text: str) -> int:
    """The length of the longest run of backticks."""
    return max(map(len, TICKS.findall(text)), default=0)
