"""``claude-sync chat``: what its lines mean, and what is kept of them. See tests/real, too."""

from __future__ import annotations

import stat
import sys
import types

import pytest
from tmux_terminal import Terminal

from claude_sync.cli import typed
from claude_sync.cli.typed import Typing, history_file

PROMPT = "$0.0000 >"


@pytest.fixture
def chat(tmp_path, environment):
    """Start a chat with the stand-in, and wait for its prompt."""

    def start(*words):
        command = [sys.executable, "-W", "error", "-m", "claude_sync", "chat", "--offline", *words]
        variables = {name: value for name, value in environment.items() if name != "COLUMNS"}
        return Terminal(command, variables, tmp_path)

    return start


def test_a_pipe_is_refused(run):
    """There is another command for pipes."""
    code, stdout, stderr = run("chat", "--offline")
    assert (code, stdout) == (2, "")
    assert "claude-sync ask" in stderr


def test_a_cli_that_is_missing_is_exit_code_3(chat, tmp_path, environment):
    """Before there is a prompt."""
    command = [sys.executable, "-m", "claude_sync", "chat", "--cli", str(tmp_path / "none")]
    with Terminal(command, environment, tmp_path) as terminal:
        shown = terminal.until("[exit code 3]")
    assert "npm install" in shown


def test_lines_are_kept_for_the_next_time_and_for_nobody_else(chat, tmp_path):
    """The history is a private file; twice the same is one line, and replies are none."""
    with chat() as terminal:
        terminal.until(PROMPT)
        for number, line in enumerate(("first", "second", "second"), 2):
            terminal.type(line)
            terminal.until(PROMPT, times=number)
        terminal.type('[[tool Bash {"command": "ls"}]]')
        terminal.until("Allow it?")
        terminal.type("y")
        terminal.until(PROMPT, times=5)
        terminal.press("C-d")
        terminal.until("[exit code 0]")
    kept = tmp_path / "state" / "claude-sync" / "history"
    assert kept.read_text().splitlines() == ["first", "second", '[[tool Bash {"command": "ls"}]]']
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.press("Up", "Up", "Up")
        terminal.until("> first")
        terminal.press("Enter")
        terminal.until("echo: first")


def test_a_line_that_ends_with_a_backslash_goes_on(chat):
    """Several lines are one question."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.type("one\\")
        terminal.until("\n...")
        terminal.type("two")
        terminal.until("echo: one\ntwo")


def test_the_shell_is_for_the_person(chat, tmp_path):
    """Its output is shown, its exit code if there is one to tell, and Ctrl-C stops it alone."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.type("!echo $((40+2)); exit 3")
        shown = terminal.until("exit code 3")
        assert "\n42\n" in shown
        terminal.until(PROMPT, times=2)
        terminal.type("!")
        terminal.until("runs what follows it in the shell")
        terminal.type("!echo begun; sleep 1000")
        terminal.until("\nbegun")
        terminal.press("C-c")
        terminal.until(PROMPT, times=4)
        terminal.type("Hello")
        terminal.until("echo: Hello")


def test_a_turn_that_fails_is_told_and_the_chat_goes_on(chat):
    """As after a budget that is used up, or an overload."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.type("[[sleep 60]]")
        terminal.until("waiting for Claude")
        terminal.press("C-c")
        terminal.until("stopped")
        terminal.type("still there?")
        terminal.until("echo: still there?")
        terminal.until(PROMPT, times=3)
        terminal.type("/exit")
        shown = terminal.until("[exit code 0]")
        # The stand-in forgets; tests/real have what is said otherwise.
        assert "--resume" not in shown


def test_ctrl_c_at_the_prompt_takes_back_what_was_typed(chat):
    """Nothing is asked."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.type("never mind", enter=False)
        terminal.until("never mind")
        terminal.press("C-c")
        terminal.until(PROMPT, times=2)
        terminal.type("Hello")
        shown = terminal.until("echo: Hello")
        assert "echo: never" not in shown


@pytest.fixture
def without_toolkit(monkeypatch, tmp_path):
    """prompt_toolkit is not installed, and the history is elsewhere."""
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_without_readline_lines_are_read_all_the_same(monkeypatch, without_toolkit):
    """Some systems have none: the history is kept, and nothing else is missing."""
    monkeypatch.setitem(sys.modules, "readline", None)
    lines = iter(["one\\", "two", "three"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    with Typing(lambda text: []) as typing:
        assert typing.read("> ") == "one\ntwo"
        assert typing.read("> ") == "three"
    assert history_file().read_text().splitlines() == ["one\\", "two", "three"]


class FakeReadline(types.ModuleType):
    """Of which only what is asked for is there."""

    def __init__(self, begin):
        super().__init__("readline", "")
        self.begin, self.completer, self.lines = begin, None, []

    def get_begidx(self):
        """Where the word begins that is completed."""
        return self.begin

    def set_completer(self, completer):
        """What completes."""
        self.completer = completer

    def add_history(self, line):
        """A line that can be called back."""
        self.lines.append(line)

    def set_auto_history(self, wanted):
        """No."""

    set_completer_delims = parse_and_bind = set_auto_history


@pytest.mark.parametrize(("begin", "found"), [(0, ["/cost ", "/compact ", None]), (4, [None])])
def test_without_prompt_toolkit_readline_does_it(monkeypatch, without_toolkit, begin, found):
    """Completes the first word, knows the history, and counts no escape sequences."""
    readline = FakeReadline(begin)
    monkeypatch.setitem(sys.modules, "readline", readline)
    prompts = []
    monkeypatch.setattr("builtins.input", lambda prompt: prompts.append(prompt) or "line")
    for _ in range(2):
        with Typing(lambda text: ["/cost ", "/compact "]) as typing:
            assert [readline.completer("/co", state) for state in range(len(found))] == found
            typing.read("\x1b[2m$\x1b[0m > ")
    assert prompts == ["\001\x1b[2m\002$\001\x1b[0m\002 > "] * 2
    assert readline.lines == ["line", "line"]  # typed, and read from the file
    assert readline.completer is None


def test_the_history_is_where_such_things_are(monkeypatch, tmp_path):
    """XDG_STATE_HOME if it is a path from the root, else the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert history_file() == tmp_path / ".local" / "state" / "claude-sync" / "history"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "x"))
    assert history_file() == tmp_path / "x" / "claude-sync" / "history"


def test_a_history_that_cannot_be_kept_is_a_warning(monkeypatch, tmp_path, caplog):
    """The chat ends as it would."""
    (tmp_path / "claude-sync").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Typing(lambda text: []):
        pass
    assert typed.history_file().parent.is_file()
    assert "is not kept" in caplog.text


def test_what_is_pasted_is_one_question(chat):
    """However many lines it has; none of them is done before Enter is pressed."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal._tmux("set-buffer", "one\n!echo $((20+3))\nthree")
        terminal._tmux("paste-buffer", "-p")
        terminal.until("three")
        terminal.press("Enter")
        shown = terminal.until(PROMPT, times=2)
        assert "echo: one\n!echo $((20+3))\nthree\n" in shown


@pytest.mark.parametrize(
    "encoding",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
)
def test_letters_that_the_encoding_does_not_know_do_not_end_it(chat, encoding):
    """They are lost, and the conversation goes on."""
    terminal = chat()
    terminal._environment.update(encoding)
    with terminal:
        terminal.until(PROMPT)
        terminal.type("gr\u00fc\u00dfe")
        shown = terminal.until(PROMPT, times=2)
        assert "echo: gr????e" in shown
