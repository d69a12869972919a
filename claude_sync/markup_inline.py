"""
Markdown inside a paragraph: emphasis, code, links and line breaks, as safe HTML.

One pass over the text makes pieces of HTML and runs of delimiters; when a link
closes, and at the end, the runs are paired. Nothing is read twice more than a
bounded number of times, so the time taken grows with the length of the text and
with nothing else.

Decisions taken here and nowhere else: what may be a link, and what of the text
becomes an attribute. Everything else of it is escaped.
"""

from __future__ import annotations

import html
import re
from string import punctuation
from typing import Dict, List, Optional, Tuple, Union

__all__ = ["escape", "inline_html", "safe_link"]

# The schemes that a click may follow. All others, and relative links, stay text.
LINKABLE = re.compile(r"(?:https?://|mailto:)[^\x00-\x20\x7f]+\Z", re.IGNORECASE)
LONGEST_LINK = 2_000
LONGEST_TITLE = 300
DEEPEST_PARENTHESES = 32

# Where something may begin that is not plain text.
SPECIAL = re.compile(r"[\\`*_~\[\]!<&\n]|https?://")
BARE_LINK = re.compile(r"https?://[^\s<>\"`|\\^{}\[\]]+", re.IGNORECASE)
ANGLE_LINK = re.compile(r"<([A-Za-z]{2,10}:[^\s<>]{1,2000}|[^\s<>@:]{1,64}@[^\s<>@:]{1,200})>")
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
BACKTICKS = re.compile(r"`+")
LINE_BREAK = re.compile(r"<[bB][rR] ?/?>")
PUNCTUATION = frozenset(punctuation)

# What neither a page nor a file of HTML can carry; a terminal's colours begin with one.
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
REPLACEMENT = "\ufffd"


def escape(text: str) -> str:
    """*text* for HTML, in an element or in a quoted attribute: it shows as it is."""
    return html.escape(UNFIT.sub(REPLACEMENT, text), quote=True)


def safe_link(address: str) -> Optional[str]:
    """
    *address* for an ``href``, escaped; None for what nobody should follow.

    Only http, https and mailto are links. The check is made on what the browser
    will read: without entities, and nothing in it that a browser would skip.
    """
    address = html.unescape(address.strip())
    if len(address) > LONGEST_LINK or LINKABLE.match(address) is None:
        return None
    return escape(address)


def inline_html(text: str, breaks: bool = False) -> str:
    """
    The HTML of a paragraph's *text*.

    Args:
        text: Markdown without blocks; its lines end with ``\\n``.
        breaks: Whether ``<br>`` breaks the line, as it must in the cell of a table,
            which has no other way. Elsewhere it shows as it is, like all HTML.

    """
    return Scanner(text, breaks).run()


class Run:
    """A run of one delimiter: what is left of it, and the tags that were made of it."""

    __slots__ = ("can_close", "can_open", "char", "closing", "count", "opening", "place", "size")

    def __init__(self, char: str, count: int, can_open: bool, can_close: bool) -> None:
        self.char = char
        self.count = self.size = count
        self.can_open = can_open
        self.can_close = can_close
        self.place = 0
        self.closing: List[str] = []
        self.opening: List[str] = []

    def html(self) -> str:
        """Its tags, and what stayed text between them. The first pair is the innermost."""
        return "".join(self.closing) + self.char * self.count + "".join(reversed(self.opening))


Piece = Union[str, Run]


class Scanner:
    """One pass over a text."""

    def __init__(self, text: str, breaks: bool) -> None:
        self.text = text
        self.breaks = breaks
        self.pieces: List[Piece] = []
        # Where in the pieces a bracket is open, and whether it is an image's.
        self.brackets: List[int] = []
        self.closing_backticks = closing_backticks(text)

    def run(self) -> str:
        """Everything, as HTML."""
        text, place = self.text, 0
        while True:
            special = SPECIAL.search(text, place)
            if special is None:
                break
            start = special.start()
            if start > place:
                self.pieces.append(escape(text[place:start]))
            place = self.step(start)
        self.pieces.append(escape(text[place:]))
        return joined(self.pieces)

    def step(self, place: int) -> int:
        """Take what begins at *place*; where to go on."""
        char = self.text[place]
        if char in "*_~":
            return self.delimiters(place)
        if char == "`":
            return self.code(place)
        if char == "[":
            return self.open_bracket(place, 1)
        if char == "!" and self.text.startswith("[", place + 1):
            return self.open_bracket(place, 2)
        if char == "]":
            return self.close_bracket(place)
        if char in "hH":
            return self.bare_link(place)
        return self.character(place)

    def plain(self, place: int, end: int) -> int:
        """It is only text after all."""
        self.pieces.append(escape(self.text[place:end]))
        return end

    def character(self, place: int) -> int:
        """An escape, a line's end, an entity, or something in angle brackets."""
        text = self.text
        char = text[place]
        if char == "\\":
            following = text[place + 1 : place + 2]
            if following == "\n":
                self.pieces.append("<br>\n")
                return place + 2
            if following in PUNCTUATION:
                return self.plain(place + 1, place + 2)
        elif char == "\n":
            hard = text.endswith("  ", 0, place)
            self.pieces.append("<br>\n" if hard else "\n")
            return place + 1
        elif char == "&":
            entity = ENTITY.match(text, place)
            if entity is not None:
                self.pieces.append(escape(html.unescape(entity.group())))
                return entity.end()
        elif char == "<":
            return self.angle(place)
        return self.plain(place, place + 1)

    def angle(self, place: int) -> int:
        """A link in angle brackets; a line break; else the sign itself."""
        link = ANGLE_LINK.match(self.text, place)
        if link is not None:
            address = link.group(1)
            href = safe_link(address if ":" in address else f"mailto:{address}")
            if href is not None:
                self.pieces.append(anchor(href, escape(address)))
                return link.end()
        line_break = LINE_BREAK.match(self.text, place) if self.breaks else None
        if line_break is not None:
            self.pieces.append("<br>")
            return line_break.end()
        return self.plain(place, place + 1)

    def code(self, place: int) -> int:
        """A code span, if its backticks are ever closed; what is in it means nothing else."""
        end = place + len(BACKTICKS.match(self.text, place).group())  # type: ignore[union-attr]
        close = self.closing_backticks.get(place)
        if close is None:
            return self.plain(place, end)
        inside = self.text[end:close].replace("\n", " ")
        if inside.startswith(" ") and inside.endswith(" ") and inside.strip():
            inside = inside[1:-1]
        self.pieces.append(f"<code>{escape(inside)}</code>")
        return close + end - place

    def bare_link(self, place: int) -> int:
        """An address without any brackets; the sentence's punctuation is not part of it."""
        found = BARE_LINK.match(self.text, place)
        if found is None or self.text[place - 1 : place].isalnum():
            return self.plain(place, place + 4)
        address = without_punctuation(found.group())
        href = safe_link(address)
        if href is None:
            return self.plain(place, found.end())
        self.pieces.append(anchor(href, escape(address)))
        return place + len(address)

    def open_bracket(self, place: int, size: int) -> int:
        self.brackets.append(len(self.pieces))
        return self.plain(place, place + size)

    def close_bracket(self, place: int) -> int:
        """The end of a link's text, if an address follows; links do not hold links."""
        if not self.brackets:
            return self.plain(place, place + 1)
        opened = self.brackets.pop()
        address, end = destination(self.text, place + 1)
        if address is None:
            return self.plain(place, place + 1)
        content = joined(self.pieces[opened + 1 :])
        del self.pieces[opened:]
        self.brackets.clear()
        href = safe_link(address)
        if href is not None:
            self.pieces.append(anchor(href, without_anchors(content) or href))
        elif not content or content == escape(address):
            self.pieces.append(escape(address))
        else:
            self.pieces.append(f"{content} ({escape(address)})")
        return end

    def delimiters(self, place: int) -> int:
        """A run of ``*``, ``_`` or ``~~``, and which way it may work."""
        text, char = self.text, self.text[place]
        end = place
        while text.startswith(char, end):
            end += 1
        before, after = text[place - 1 : place] or " ", text[end : end + 1] or " "
        # Only the signs of ASCII count as punctuation: in scripts without spaces a full
        # stop may stand between the bold word and the next one.
        opens = not after.isspace() and (
            after not in PUNCTUATION or before.isspace() or before in PUNCTUATION
        )
        closes = not before.isspace() and (
            before not in PUNCTUATION or after.isspace() or after in PUNCTUATION
        )
        if char == "_":
            opens, closes = (
                opens and (not closes or before in PUNCTUATION),
                closes and (not opens or after in PUNCTUATION),
            )
        if (char == "~" and end - place != 2) or not (opens or closes):
            return self.plain(place, end)
        self.pieces.append(Run(char, end - place, opens, closes))
        return end


def anchor(href: str, content: str) -> str:
    """A link; *href* and *content* are HTML already."""
    return f'<a href="{href}" target="_blank" rel="noopener noreferrer">{content}</a>'


ANCHORS = re.compile(r'<a href="[^"]*" target="_blank" rel="noopener noreferrer">|</a>')


def without_anchors(content: str) -> str:
    """The text of a link that was itself an address: one link is enough."""
    return ANCHORS.sub("", content)


def without_punctuation(address: str) -> str:
    """An address in running text without the signs that end the sentence around it."""
    end = len(address)
    # How many parentheses are closed that the address did not open.
    surplus = address.count(")") - address.count("(")
    while end:
        last = address[end - 1]
        if last == ")" and surplus > 0:
            surplus -= 1
        elif last not in ".,;:!?'*_~":
            break
        end -= 1
    return address[:end]


def closing_backticks(text: str) -> Dict[int, int]:
    """For each run of backticks that is closed by an equal one: where that one begins."""
    found: Dict[int, int] = {}
    nearest: Dict[int, int] = {}
    for run in reversed(list(BACKTICKS.finditer(text))):
        size = run.end() - run.start()
        if size in nearest:
            found[run.start()] = nearest[size]
        nearest[size] = run.start()
    return found


def destination(text: str, place: int) -> Tuple[Optional[str], int]:
    """The address in the parentheses at *place*, and where they end; None if there is none."""
    if not text.startswith("(", place):
        return None, place
    place = skip_spaces(text, place + 1)
    if text.startswith("<", place):
        end = text.find(">", place, place + LONGEST_LINK)
        if end < 0 or "\n" in text[place:end]:
            return None, place
        address, place = text[place + 1 : end], end + 1
    else:
        end = end_of_address(text, place)
        address, place = text[place:end], end
    place = skip_spaces(text, place)
    quote = text[place : place + 1]
    if quote and quote in "\"'":
        end = text.find(quote, place + 1, place + LONGEST_TITLE)
        place = skip_spaces(text, end + 1) if end > 0 else place
    return (address, place + 1) if text.startswith(")", place) else (None, place)


def skip_spaces(text: str, place: int) -> int:
    """Behind a few spaces, or where they are too many to be meant."""
    for _ in range(4):
        if text[place : place + 1] not in (" ", "\n"):
            break
        place += 1
    return place


def end_of_address(text: str, start: int) -> int:
    """Where an address ends: at a space, or at the parenthesis that is not its own."""
    depth = 0
    end = min(len(text), start + LONGEST_LINK)
    for place in range(start, end):
        char = text[place]
        if char <= " " or char in "<>":
            return place
        if char == "(":
            depth += 1
            if depth > DEEPEST_PARENTHESES:
                return place
        elif char == ")":
            if not depth:
                return place
            depth -= 1
    return end


def joined(pieces: List[Piece]) -> str:
    """The pieces, their delimiters paired as far as they have partners."""
    pair([piece for piece in pieces if isinstance(piece, Run)])
    return "".join(piece if isinstance(piece, str) else piece.html() for piece in pieces)


def pair(runs: List[Run]) -> None:
    """
    Find for each run that may close the nearest one that may open.

    Where a search was in vain, no later one of the same kind looks again: without
    that, a text of nothing but stars would take the square of its length.
    """
    openers: List[Run] = []
    searched: Dict[Tuple[str, bool, int], int] = {}
    for place, run in enumerate(runs, 1):
        run.place = place
        key = (run.char, run.can_open, run.size % 3)
        while run.can_close and run.count:
            index = opener_for(run, openers, searched.get(key, 0))
            if index is None:
                searched[key] = openers[-1].place if openers else 0
                break
            opener = openers[index]
            del openers[index + 1 :]
            marry(opener, run)
            if not opener.count:
                openers.pop()
        if run.can_open and run.count:
            openers.append(run)


def opener_for(run: Run, openers: List[Run], bottom: int) -> Optional[int]:
    """The index of the nearest opener that fits; none at or below *bottom* does."""
    for index in range(len(openers) - 1, -1, -1):
        opener = openers[index]
        if opener.place <= bottom:
            return None
        if opener.char != run.char:
            continue
        # Of two runs where one could do both, "**a*b*" must not take the middle for an end.
        both = opener.can_close or run.can_open
        if both and (opener.size + run.size) % 3 == 0 and (opener.size % 3 or run.size % 3):
            continue
        return index
    return None


def marry(opener: Run, closer: Run) -> None:
    """Use up as much of both as makes one element."""
    used = 2 if opener.count >= 2 and closer.count >= 2 else 1
    name = "del" if opener.char == "~" else ("em", "strong")[used - 1]
    opener.count -= used
    closer.count -= used
    opener.opening.append(f"<{name}>")
    closer.closing.append(f"</{name}>")
