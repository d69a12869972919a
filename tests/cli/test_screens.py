"""What a turn shows: text, tools, failures, the spinner, and a reader that leaves."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from claude_sync import ApiRetry, Client, Text
from claude_sync.cli import screens
from claude_sync.cli.screens import Screen, Spinner, tool_line
from claude_sync.messages.blocks import ToolResult, ToolUse
from claude_sync.testing import ScriptedCli, builders


class FakeTerminal(io.StringIO):
    """A stream that says it is a terminal, and can break."""

    encoding = "utf-8"
    broken = False

    def isatty(self):
        """It does."""
        return True

    def write(self, text):
        """Write, unless nobody reads any more."""
        if self.broken:
            raise BrokenPipeError
        return super().write(text)


@pytest.fixture
def terminal(monkeypatch):
    """Standard output and errors are terminals without colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out, errors = FakeTerminal(), FakeTerminal()
    monkeypatch.setattr(screens, "sys", SimpleNamespace(stdout=out, stderr=errors))
    return out, errors


@pytest.fixture
def clock(monkeypatch):
    """The time, as the test wants it."""

    class Clock:
        now = 100.0

        def monotonic(self):
            """What time it is."""
            return self.now

    clock = Clock()
    monkeypatch.setattr(screens, "time", clock)
    return clock


def shows(spinner, clock, seconds):
    """What it shows so many seconds later, without its first sign."""
    clock.now += seconds
    return spinner.line(clock.now)[2:]


def test_the_spinner_tells_the_tool_that_runs_and_since_when(terminal, clock):
    """The newest of several; what comes after it is waited for anew."""
    spinner = Spinner(works=True)
    spinner.now("thinking")
    assert shows(spinner, clock, 2) == "thinking 2 s"
    spinner.begin("t1", "Bash make")
    assert shows(spinner, clock, 5) == "Bash make 5 s"
    spinner.begin("t2", "Read x.py")
    assert shows(spinner, clock, 1) == "Read x.py (and 1 more) 1 s"
    spinner.finish("t2")
    assert shows(spinner, clock, 1) == "Bash make 7 s"
    assert spinner.finish("t1")[0] == "Bash make"
    assert shows(spinner, clock, 3) == "waiting for Claude 3 s"
    assert spinner.finish("unknown")[0] == "a tool"


def test_the_spinner_fits_on_its_line(terminal, clock, monkeypatch):
    """Or it would be wiped only in part; and what it shows is obeyed by no terminal."""
    monkeypatch.setenv("COLUMNS", "30")
    spinner = Spinner(works=True)
    spinner.begin("t1", "Bash \x1b[2J" + "日本語" * 30)
    line = spinner.line(clock.now)
    assert screens.columns(line) < 30
    assert "\x1b" not in line


def test_the_spinner_is_drawn_after_a_while_and_wiped_once(terminal, clock):
    """Not between two pieces of a stream."""
    _, errors = terminal
    spinner = Spinner(works=True)
    spinner.now("thinking")
    spinner.tick()
    assert errors.getvalue() == ""
    clock.now += 1
    spinner.tick()
    assert errors.getvalue() == "\r\x1b[K⠋ thinking 1 s"
    spinner.wipe()
    spinner.wipe()
    assert errors.getvalue() == "\r\x1b[K⠋ thinking 1 s\r\x1b[K"


@pytest.mark.parametrize("works", [False, True])
def test_no_spinner_for_pipes_and_dumb_terminals(terminal, clock, monkeypatch, works):
    """They could not wipe it."""
    monkeypatch.setenv("TERM", "dumb")
    spinner = Spinner(works)
    clock.now += 10
    spinner.tick()
    assert terminal[1].getvalue() == ""


def test_a_terminal_that_knows_few_signs_gets_others(terminal, clock, monkeypatch):
    """The spinner turns in ASCII, too."""
    monkeypatch.setattr(FakeTerminal, "encoding", "ascii")
    spinner = Spinner(works=True)
    spinner.now("thinking")
    assert spinner.line(clock.now).isascii()


def test_a_tool_is_a_line_and_what_went_wrong_is_told(terminal):
    """The spinner alone tells of it where tools are no lines."""
    use = ToolUse("t1", "Bash", {"command": "make\nall"})
    failed = ToolResult("t1", "no rule\n" + "long " * 100, is_error=True)
    for tools, expected in (
        (True, "● Bash make all\n  ✗ Bash make all: no rule long long"),
        (0, ""),
    ):
        out = screens.sys.stdout = FakeTerminal()
        screen = Screen(tools=bool(tools))
        screen.use(use)
        screen.result(failed)
        assert out.getvalue().startswith(expected)
        assert len(out.getvalue()) < 300


def test_what_a_tool_is_about_is_one_harmless_line():
    """Files are named from the folder; servers are left out."""
    assert tool_line("Read", {"file_path": "/srv/a.py"}, "/srv") == "Read a.py"
    assert tool_line("mcp__shop__buy", {"what": "plums"}) == "buy what=plums"
    assert tool_line("Bash", {"command": "a\x1b[2J\nb"}) == "Bash a\\x1b[2J b"
    assert tool_line("Odd", "no object") == "Odd"
    asked = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}]}]}
    assert tool_line("AskUserQuestion", asked) == "Question Which colour?"


def test_what_the_cli_says_about_a_failure_is_no_answer(terminal):
    """The same words come with the error."""

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.assistant("Credit is low", "m1", error="billing_error"))
        cli.end_turn(user, "Credit is low", is_error=True)
        cli.expect_end()

    screen = Screen()
    with Client(transport=ScriptedCli(script), post="manual") as client:
        screen.attach(client)
        with pytest.raises(Exception, match="Credit is low"):
            screen.wait(client.submit("hi", timeout=30))
    assert terminal[0].getvalue() == ""


@pytest.mark.parametrize("text", [True, False])
def test_tries_of_the_cli_are_told(terminal, clock, text):
    """What the service answered, and how often it is tried; then what is going on again."""
    told = []
    fields = {"max_retries": 10, "error_status": 529, "error": "overloaded"}

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.system("api_retry", attempt=1, **fields))
        cli.say(builders.system("api_retry", attempt=2, **fields))
        cli.say(builders.system("api_retry"))
        cli.say(builders.assistant([builders.thinking("hm"), builders.tool_use("Bash", {}, "t1")]))
        cli.end_turn(user, "done")
        cli.expect_end()

    screen = Screen()
    with Client(transport=ScriptedCli(script), post="manual") as client:
        screen.attach(client, text=text)

        @client.on_system
        def look(message):
            if message.subtype == "api_retry":
                told.append(shows(screen.spinner, clock, 1))

        client.on_tool_use(lambda _: told.append(shows(screen.spinner, clock, 1)))
        screen.wait(client.submit("hi", timeout=30))
    assert told == [
        "the service answered 529, trying again (1 of 10) 1 s",
        "the service answered 529, trying again (2 of 10) 1 s",
        "the service could not be reached, or the connection broke, trying again 1 s",
        "Bash 1 s",
    ]


def test_what_is_logged_of_a_try_begins_on_a_line_of_its_own(terminal, clock):
    """The text ends its line, and the spinner is gone."""
    out, errors = terminal
    screen = Screen()
    screen.spinner.now("thinking")
    clock.now += 1
    screen.spinner.tick()
    screen._painter.feed("one")
    screen.retry(ApiRetry("api_retry", 1, 10, 500.0, None, "overloaded"))
    assert out.getvalue() == "one\n"
    assert errors.getvalue().endswith("1 s" + screens.WIPE)
    assert shows(screen.spinner, clock, 2) == "the service failed, trying again (1 of 10) 2 s"


def test_a_reader_that_leaves_ends_the_waiting(terminal):
    """What a handler raises would stop nobody: the one who waits raises it."""

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.assistant("words"))
        cli.expect_end(patience=30)

    terminal[0].broken = True
    screen = Screen()
    with Client(transport=ScriptedCli(script), post="manual") as client:
        screen.attach(client)
        with pytest.raises(BrokenPipeError):
            screen.wait(client.submit("hi", timeout=30))


def test_each_message_begins_on_a_line_of_its_own(terminal):
    """Pieces of one message go on where they are."""
    screen = Screen()
    for message_id, text in (("m1", "one "), ("m1", "more"), ("m2", "two")):
        screen.show(text, message_id)
    screen.clear()
    assert terminal[0].getvalue() == "one more\ntwo\n"
    assert Text("x").message_id is None


def test_a_tool_cannot_begin_a_line_of_its_own():
    """Whatever it is called."""
    assert tool_line("Ba\nsh", {"command": "ls\n\nx"}) == "Ba sh ls x"
