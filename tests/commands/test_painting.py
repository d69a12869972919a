"""Markdown on a terminal: what is painted, whatever pieces it comes in, and what is not obeyed."""

from __future__ import annotations

import io
import itertools
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.commands.painting import PLAIN, STYLES, Painter, columns, palette, safe

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


def painted(*pieces, width=60, styles=STYLES):
    """What a terminal gets."""
    written = []
    painter = Painter(written.append, styles, width)
    for piece in pieces:
        painter.feed(piece)
    painter.end()
    return "".join(written)


def plain(*pieces, **settings):
    """The same without its styles."""
    return re.sub(r"\x1b\[[0-9;]*m", "", painted(*pieces, **settings))


def cells(text):
    """Each character with the styles it has; how these are switched does not matter."""
    found, style = [], ""
    for token in re.findall(r"\x1b\[[0-9;]*m|.", text, re.DOTALL):
        if token == STYLES["off"]:
            style = ""
        elif len(token) > 1:
            style += token
        else:
            found.append((token, style if token.strip() else ""))
    return found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold**", f"{STYLES['bold']}bold{STYLES['off']}\n"),
        ("*italic*", f"{STYLES['italic']}italic{STYLES['off']}\n"),
        ("_italic_", f"{STYLES['italic']}italic{STYLES['off']}\n"),
        ("`code`", f"{STYLES['code']}code{STYLES['off']}\n"),
        ("## Head", f"{STYLES['heading']}Head{STYLES['off']}\n"),
        ("- item", f"{STYLES['faint']}• {STYLES['off']}item\n"),
        ("2 * 3 * 4", "2 * 3 * 4\n"),
        ("**kwargs", "**kwargs\n"),
        ("snake_case_name", "snake_case_name\n"),
        ("a ` b", "a ` b\n"),
        (r"\*plain\*", "*plain*\n"),
        ("#hash", "#hash\n"),
        ("[one] and (two)", "[one] and (two)\n"),
        ("", ""),
    ],
)
def test_marks_become_styles_and_what_is_no_mark_stays(text, shown):
    """Markdown is painted; what only looks like it is text."""
    assert painted(text) == shown


def test_a_link_tells_where_it_leads():
    """The address is shown: nobody can hover over a terminal."""
    assert plain("see [this](https://example.org/x)") == "see this (https://example.org/x)\n"


def test_a_table_is_aligned_by_what_is_seen():
    """Marks inside of cells do not count, wide letters count twice, sides are kept."""
    shown = plain("| name | value |\n|---|---:|\n| a `b` | 1 |\n| 日本語 | 22 |\n\nend")
    assert shown == ("name    value\n──────  ─────\na b         1\n日本語     22\n\nend\n")


def test_rows_without_a_head_are_text():
    """A line with bars is not yet a table."""
    assert plain("| a | b |\nno table") == "| a | b |\nno table\n"


def test_code_is_painted_as_it_is():
    """Inside a block of code nothing is a mark, and nothing is wrapped."""
    shown = plain("```py\nx = '**a**'  # " + "long " * 30 + "\n```\nafter")
    assert shown.splitlines()[0] == "  py"
    assert shown.splitlines()[1].startswith("  x = '**a**'  # long long")
    assert shown.endswith("\nafter\n")


def test_long_lines_are_wrapped_between_words_under_their_beginning():
    """No line is longer than the terminal; the second line of an item is below its text."""
    lines = plain("- " + "word " * 30, width=40).splitlines()
    assert all(columns(line) <= 40 for line in lines)
    assert lines[0].startswith("• word")
    assert all(line.startswith("  word") for line in lines[1:])
    assert " ".join(lines).split().count("word") == 30


def test_text_is_shown_before_its_line_is_complete():
    """What is understood is written at once; only the last word waits."""
    written = []
    painter = Painter(written.append, STYLES, 60)
    painter.feed("one two three")
    assert "".join(written) == "one two"
    painter.feed(" **four")
    assert "".join(written) == "one two three"
    painter.feed("** five ")
    assert "four" in "".join(written)


@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=60))
def test_the_pieces_make_no_difference(cuts):
    """However a text is cut into pieces, the same is painted."""
    places = [0, *sorted(cuts), len(DOCUMENT)]
    pieces = [DOCUMENT[begin:end] for begin, end in itertools.pairwise(places)]
    assert cells(painted(*pieces)) == cells(painted(DOCUMENT))


@given(st.text(st.characters(blacklist_categories=("Cs",)), max_size=200))
def test_a_terminal_obeys_nothing_of_the_text(text):
    """Whatever is in it, only our own escape sequences are written, and nothing raises."""
    for styles in (STYLES, PLAIN):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", painted(text, styles=styles))
        obeyed = {each for each in shown if unicodedata.category(each) in OBEYED}
        assert obeyed <= {"\n", "\t", "\u200d"}


@pytest.mark.parametrize(
    "evil",
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b2J", "\x1b]8;;http://x\x1b\\", "a\x08b", "\u202egnp"],
)
def test_escape_sequences_are_spelled_out(evil):
    """Nobody clears the screen, sets a title, or turns the direction of text."""
    for shown in (painted(f"see {evil} end"), safe(evil)):
        assert not re.search(r"\x1b(?!\[[0-9;]*m)|[\x07\x08\x9b\u202e]", shown)
        assert "\\x" in shown or "\\u" in shown


def test_what_was_written_before_decides_about_a_mark():
    """Also where it came in another piece."""
    assert painted("snake", "_case_ name") == "snake_case_ name\n"
    assert painted("2", "*3*", " 4") == "2*3* 4\n"


def test_line_ends_of_other_systems_are_line_ends():
    """Also where they come in two pieces."""
    assert plain("one\r", "\ntwo\r\nthree") == "one\ntwo\nthree\n"


def test_without_colours_the_text_stays_as_it_is():
    """Nothing is arranged, and its marks are there: nothing is lost."""
    assert painted(DOCUMENT, styles=PLAIN) == DOCUMENT + "\n"


def test_very_long_lines_take_no_long_time():
    """Lines that nobody wrote by hand are not searched for marks."""
    text = "[a](x" * 60_000
    assert plain(text).replace("\n", "") == text


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


def test_a_terminal_may_become_narrower(monkeypatch):
    """Lines that begin afterwards are as wide as it is then."""
    monkeypatch.setenv("COLUMNS", "60")
    screen = io.StringIO()
    painter = Painter(screen.write, STYLES)
    painter.feed("word " * 20 + "\n")
    monkeypatch.setenv("COLUMNS", "30")
    painter.feed("word " * 20 + "\n")
    widths = [columns(line) for line in screen.getvalue().splitlines()]
    assert max(widths) > 50
    assert widths[-1] <= 30
    assert widths[-2] <= 30


@pytest.mark.parametrize(
    ("text", "width"), [("\u0e01\u0e31", 1), ("e\u0301", 1), ("\u2764\ufe0f", 2), ("1\u20e3", 1)]
)
def test_marks_above_and_below_take_no_room(text, width):
    """Those of Thai, too; an emoji is wide."""
    assert columns(text) == width
