"""Markdown on a terminal: what is painted, whatever pieces it comes in, and what is not obeyed."""

from __future__ import annotations

import io
import itertools
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.cli.painting import Painter, painted, painter_for
from claude_sync.support.styles import PLAIN, STYLES, columns, palette, safe

DOCUMENT = """\
# Heading **one**

Some *italic* and **bold** and `code` with 2 * 3 * 4 and snake_case_name and **kwargs and a
[link](https://example.org/x). This is a long paragraph that is to be wrapped somewhere.

- item one
- item two, which is rather long and is wrapped under its own beginning, not below the dot
  1. nested

> quoted words

| name | value |
|---|---:|
| a `b` | 1 |
| 日本語 | 22 |

```python
def f():
    return "**not bold**"
```
---
the end"""

# Controls, signs that turn the direction of text, other line ends.
OBEYED = ("Cc", "Cf", "Zl", "Zp")


class Screen:
    """What a terminal shows that gets lines, and goes back over them."""

    def __init__(self, width=60, height=200):
        self.painter = Painter(self.write, width, height)
        self.lines = [""]
        self.raw = ""

    def write(self, text):
        """Obey what the painter may say, and nothing else."""
        self.raw += text
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        for token in re.findall(r"\x1b\[[0-9]*[AJ]|\n|[^\x1b\n]+", text):
            if token.endswith("A") and token[0] == "\x1b":
                del self.lines[len(self.lines) - 1 - int(token[2:-1]) :]
                self.lines.append("")
            elif token == "\n":
                self.lines.append("")
            elif token[0] != "\x1b":
                self.lines[-1] += token

    def shown(self):
        """The text."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")


def plain(*pieces, **size):
    """What is shown of a text that comes in these pieces."""
    screen = Screen(**size)
    for piece in pieces:
        screen.painter._not_before = 0.0
        screen.painter.feed(piece)
    screen.painter.end()
    return screen.shown()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold** *it* `code`", "bold it code"),
        ("## Head", "Head"),
        ("- item", " • item"),
        ("2 * 3 * 4, **kwargs, snake_case_name", "2 * 3 * 4, **kwargs, snake_case_name"),
        ("a <b>tag</b>", "a <b>tag</b>"),
        ("[this](https://example.org/x)", "this (https://example.org/x)"),
        ("", ""),
    ],
)
def test_marks_become_styles_and_what_is_no_mark_stays(text, shown):
    """Markdown is painted, addresses are shown; what only looks like Markdown is text."""
    assert plain(text) == shown


def test_everything_is_shown_in_its_order():
    """Headings, lists, tables and code; code has colours."""
    shown = plain(DOCUMENT)
    words = (
        "Heading one",
        "Some italic",
        "item one",
        "nested",
        "quoted words",
        "日本語",
        "the end",
    )
    places = [shown.find(word) for word in words]
    assert -1 not in places
    assert places == sorted(places)
    assert 'return "**not bold**"' in shown
    assert max(map(columns, shown.splitlines())) <= 60
    screen = Screen()
    screen.painter.feed("```python\nreturn 1\n```")
    screen.painter.end()
    assert "\x1b[" in screen.raw


@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=12))
def test_the_pieces_make_no_difference(cuts):
    """However a text is cut into pieces, the same is shown at the end."""
    places = [0, *sorted(cuts), len(DOCUMENT)]
    pieces = [DOCUMENT[begin:end] for begin, end in itertools.pairwise(places)]
    assert plain(*pieces) == plain(DOCUMENT)


def test_what_has_left_the_screen_stays():
    """It could not be drawn again; each line is there once."""
    text = "\n".join(f"- line {number}" for number in range(40))
    shown = plain(*(text[place : place + 7] for place in range(0, len(text), 7)), height=10)
    assert shown.split() == " ".join(f"• line {number}" for number in range(40)).split()


def test_text_is_shown_before_it_is_complete():
    """As soon as it is there, and once more with what follows soon."""
    screen = Screen()
    screen.painter.feed("one **two")
    assert screen.shown() == "one **two"
    screen.painter.feed("** three")
    screen.painter._not_before = 0.0
    screen.painter.tick()
    assert screen.shown() == "one two three"
    screen.painter.end()
    assert screen.shown() == "one two three"


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=100))
def test_a_terminal_obeys_nothing_of_the_text(text):
    """Whatever is in it, only our own escape sequences are written, and nothing raises."""
    for painter in (Screen().painter, painter_for(None, True, PLAIN)):
        written = []
        painter._write = written.append
        painter.feed(text)
        painter.end()
        shown = re.sub(r"\x1b\[[0-9;]*[mAJ]", "", "".join(written))
        obeyed = {each for each in shown if unicodedata.category(each) in OBEYED}
        assert obeyed <= {"\n", "\t", "\u200d"}


@pytest.mark.parametrize(
    "evil",
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b2J", "\x1b]8;;http://x\x1b\\", "a\x08b", "\u202egnp"],
)
def test_escape_sequences_are_spelled_out(evil):
    """Nobody clears the screen, sets a title, or turns the direction of text."""
    for shown in ("\n".join(painted(f"see {evil} end", 60)), safe(evil)):
        assert not re.search(r"\x1b(?!\[[0-9;]*m)|[\x07\x08\x9b\u202e]", shown)
        assert "\\x" in shown or "\\u" in shown


def test_line_ends_of_other_systems_are_line_ends():
    """Also where they come in two pieces."""
    for painter, write in ((Painter, None), (painter_for, True)):
        written = []
        made = (
            Painter(written.append, 60) if write is None else painter(written.append, True, PLAIN)
        )
        for piece in ("one\r", "\n\ntwo\r\n\nthree"):
            made.feed(piece)
        made.end()
        assert "\\x0d" not in "".join(written)


def test_without_colours_or_rich_the_text_stays_as_it_is(monkeypatch):
    """Nothing is arranged, and its marks are there: nothing is lost."""
    for styles, missing in ((PLAIN, False), (STYLES, True)):
        if missing:
            monkeypatch.setitem(sys.modules, "rich.markdown", None)
        written = []
        painter = painter_for(written.append, True, styles)
        painter.feed(DOCUMENT)
        painter.end()
        assert "".join(written) == DOCUMENT + "\n"


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        """It does."""
        return True


@pytest.mark.parametrize(
    ("variables", "has_styles"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(variables, has_styles, monkeypatch):
    """NO_COLOR, if it is not empty, and a dumb terminal mean none; so does a pipe."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert bool(palette(FakeTerminal())) is has_styles
    assert not palette(io.StringIO())


@pytest.mark.parametrize(
    ("text", "width"), [("\u0e01\u0e31", 1), ("e\u0301", 1), ("\u2764\ufe0f", 2), ("1\u20e3", 1)]
)
def test_marks_above_and_below_take_no_room(text, width):
    """Those of Thai, too; an emoji is wide."""
    assert columns(text) == width
