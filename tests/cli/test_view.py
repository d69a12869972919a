"""What a terminal shows of a turn: painted text in whatever pieces it comes, tools, the spinner."""

from __future__ import annotations

import io
import itertools
import re
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each

from claude_sync import Client, Text
from claude_sync.cli import view as view_module
from claude_sync.cli.common import complain
from claude_sync.cli.view import View, tool_line
from claude_sync.messages.blocks import ToolResult, ToolUse
from claude_sync.support.styles import columns
from claude_sync.testing import ScriptedCli, builders

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
| 日本語 | 22 |

```python
x = 1

y = "**not bold**"
```
---
the end"""

# Controls, signs that turn the direction of text, other line ends.
OBEYED = ("Cc", "Cf", "Zl", "Zp")


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        """It does."""
        return True

    def shown(self):
        """What is on the screen: what rich says to a terminal is obeyed, colours are left out."""
        lines = [""]
        text = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]", "", self.getvalue())
        for token in re.findall(r"\x1b\[1A|\x1b\[2K|\r|\n|[^\x1b\r\n]+", text):
            if token == "\x1b[1A":
                assert lines.pop() == ""  # a line that is gone back over was wiped
            elif token == "\x1b[2K":
                lines[-1] = ""
            elif token == "\n":
                lines.append("")
            elif token != "\r":
                lines[-1] += token
        return "\n".join(line.rstrip() for line in lines).rstrip("\n")


@pytest.fixture
def terminal(monkeypatch):
    """Make a terminal the standard output; what is asked for it is drawn at once."""
    for name, value in (("COLUMNS", "60"), ("LINES", "200"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("TICK", "SHARE"):
        monkeypatch.setattr(view_module, name, 0)

    def make():
        made = FakeTerminal()
        monkeypatch.setattr(sys, "stdout", made)
        return made

    return make


@pytest.fixture
def clock(monkeypatch):
    """The time, as the test wants it."""

    class Clock:
        now = 100.0

        def monotonic(self):
            """What time it is."""
            return self.now

    clock = Clock()
    monkeypatch.setattr(view_module, "time", clock)
    return clock


def show(terminal, *pieces):
    """A terminal on which a text was shown that came in these pieces."""
    made = terminal()
    view = View()
    for piece in pieces:
        view.text(Text(piece))
        view.tick()
    view.clear()
    return made


any_terminal = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@each(
    ("text", "shown"),
    [
        ("**bold** *it* `code`", "bold it code"),
        ("## Head", "Head"),
        ("- item", " • item"),
        ("2 * 3 * 4, **kwargs, snake_case_name", "2 * 3 * 4, **kwargs, snake_case_name"),
        ("a <b>tag</b>", "a <b>tag</b>"),
        ("[this](https://example.org/x)", "this (https://example.org/x)"),
        ("one\r\ntwo", "one\ntwo"),
        ("*&#x202e;one*", "\\u202eone"),
        ("", ""),
    ],
)
def test_marks_become_styles_and_what_is_no_mark_stays(terminal, text, shown):
    """Markdown is painted, addresses are shown; what only looks like Markdown is text."""
    assert show(terminal, text).shown() == shown


@any_terminal
@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=12))
def test_everything_is_shown_in_its_order_whatever_pieces_it_comes_in(terminal, cuts):
    """Headings, lists, tables and code."""
    places = [0, *sorted(cuts), len(DOCUMENT)]
    pieces = [DOCUMENT[begin:end] for begin, end in itertools.pairwise(places)]
    made = show(terminal, *pieces)
    shown = made.shown()
    words = ("Heading one", "Some italic", "item one", "nested", "quoted", "日本語", "the end")
    found = [shown.find(word) for word in words]
    assert -1 not in found
    assert found == sorted(found)
    assert 'y = "**not bold**"' in shown
    assert max(map(columns, shown.splitlines())) <= 60
    assert shown == show(terminal, DOCUMENT).shown()


@pytest.mark.parametrize("depth", [8, 9, 10, 30])
def test_a_deep_list_is_shown_to_its_end(terminal, depth):
    """The parser leaves out what is too deep."""
    items = [f"item-{number}." for number in range(depth)]
    text = "\n".join("  " * number + f"- {item}" for number, item in enumerate(items))
    shown = show(terminal, text).shown()
    assert [item for item in items if item not in shown.replace("\n", "")] == []


def test_text_is_shown_before_it_is_complete(terminal):
    """And once more with what follows; code has colours."""
    made = terminal()
    view = View()
    for piece, shown in (("one **two", "one **two"), ("** three", "one two three")):
        view.text(Text(piece))
        view.tick()
        assert made.shown() == shown
    view.feed("\n\n```python\nreturn 1\n```")
    assert made.shown().startswith("one two three\n\n")
    assert re.search(r"\x1b\[[39][0-9]m *return", made.getvalue())


def test_what_is_longer_than_the_screen_is_there_once(terminal, monkeypatch):
    """Until it is complete, its end is shown."""
    monkeypatch.setenv("LINES", "10")
    text = "\n".join(f"- line {number}" for number in range(40))
    made = show(terminal, *(text[place : place + 7] for place in range(0, len(text), 7)))
    assert made.shown().split() == " ".join(f"• line {number}" for number in range(40)).split()


@any_terminal
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=100), st.booleans())
def test_a_terminal_obeys_nothing_of_the_text(terminal, text, is_dumb):
    """Whatever is in it, only escape sequences of rich are written, and nothing raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "dumb" if is_dumb else "xterm")
        written = show(terminal, text).getvalue()
    shown = re.sub(r"\x1b\[[0-9;]*[mAK]|\x1b\[\?25[lh]|\r", "", written)
    obeyed = {each for each in shown if unicodedata.category(each) in OBEYED}
    assert obeyed <= {"\n", "\t", "\u200d"}


@pytest.mark.parametrize("why", ["no rich", "dumb", "pipe"])
def test_without_rich_or_a_terminal_the_text_stays_as_it_is(terminal, monkeypatch, why):
    """Nothing is arranged, and its marks are there; a pipe gets control characters, too."""
    if why == "no rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    elif why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    else:
        monkeypatch.setattr(FakeTerminal, "isatty", lambda _: False)
    assert show(terminal, DOCUMENT, "\x1b").getvalue() == (
        DOCUMENT + ("\x1b\n" if why == "pipe" else "\\x1b\n")
    )


def test_the_spinner_tells_what_goes_on_and_for_how_long(terminal, clock):
    """The newest of several tools; it comes after a moment, fits on its line, and goes away."""
    made = terminal()
    view = View()
    view.text(Text("so"))

    def spins(seconds):
        clock.now += seconds
        view.tick()
        return made.shown().splitlines()[-1][2:]

    assert spins(0.1) == ""
    assert spins(2) == "writing 2 s"
    view.use(ToolUse("t1", "Bash", {"command": "make"}))
    assert spins(5) == "Bash make 5 s"
    view.use(ToolUse("t2", "Read", {"file_path": "x.py"}))
    assert spins(1) == "Read x.py (and 1 more) 1 s"
    view.result(ToolResult("t2", "text"))
    assert spins(1) == "Bash make 7 s"
    view.use(ToolUse("t3", "Read", {"file_path": "日本語" * 30}))
    assert re.fullmatch(r"Read [日本語]+ ?… 1 s", spins(1))
    assert columns(made.shown().splitlines()[-1]) <= 60
    view.result(ToolResult("t3", "text"))
    view.result(ToolResult("t1", "done"))
    assert spins(3) == "waiting for Claude 3 s"
    view.clear()
    assert made.shown() == "so"


def test_a_warning_begins_a_line_and_the_answer_stays_as_it_is(terminal, monkeypatch):
    """On a terminal to which the errors go, and the answer by way of a pipe."""
    errors, out = terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    view = View()
    for piece in ("one ", "two"):
        view.text(Text(piece))
        complain("look out")
    view.clear()
    assert out.getvalue() == "one two\n"
    assert errors.getvalue() == "\nclaude-sync: look out\n" * 2


def test_a_tool_is_a_line_and_what_went_wrong_is_told(terminal):
    """The spinner alone tells of it where tools are no lines."""
    use = ToolUse("t1", "Bash", {"command": "make\nall"})
    failed = ToolResult("t1", "no rule\n" + "long " * 100, is_error=True)
    for tools, expected in (
        (True, "● Bash make all\n  ✗ Bash make all: no rule long"),
        (False, ""),
    ):
        made = terminal()
        view = View(tools=tools)
        view.use(use)
        view.result(failed)
        assert made.shown().startswith(expected)
        assert len(made.shown()) < 300


@each(
    ("name", "given", "line"),
    [
        ("Read", {"file_path": "/srv/a.py"}, "Read a.py"),
        ("mcp__shop__buy", {"what": "plums"}, "buy what=plums"),
        ("Bash", {"command": "a\x1b[2J\nb"}, "Bash a\\x1b[2J b"),
        ("Odd", "no object", "Odd"),
        ("AskUserQuestion", {"questions": [{"question": "Red?", "options": []}]}, "Question Red?"),
    ],
)
def test_what_a_tool_is_about_is_one_harmless_line(name, given, line):
    """Files are named from the folder; servers are left out."""
    assert tool_line(name, given, "/srv") == line


def test_tries_of_the_cli_are_told(terminal):
    """What the service answered, and how often it is tried."""

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        fields = {"max_retries": 10, "error_status": 529, "error": "overloaded"}
        cli.say(builders.system("api_retry", attempt=2, **fields))
        cli.expect_end()

    made = terminal()
    with Client(transport=ScriptedCli(script), post="manual") as client:
        view = View()
        view.attach(client)
        client.submit("hi")
        while "trying again" not in made.getvalue():
            client.process_events(timeout=0.05)
            view.tick()
    assert "the service answered 529, trying again (2 of 10)" in made.getvalue()
