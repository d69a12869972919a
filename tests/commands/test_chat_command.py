"""``claude-sync chat``: what its lines mean, and what is kept of them. See tests/real, too."""

from __future__ import annotations

import stat
import sys

import pytest
from tmux_terminal import Terminal

from claude_sync.commands import typing_lines
from claude_sync.commands.typing_lines import Typing, history_file

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
        terminal.until("... ")
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


def test_without_readline_lines_are_read_all_the_same(monkeypatch):
    """Some systems have none: there is no history then, and nothing else is missing."""
    monkeypatch.setitem(sys.modules, "readline", None)
    lines = iter(["one\\", "two"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))
    with Typing(lambda text: []) as typing:
        assert typing.read("> ") == "one\ntwo"


class FakeReadline:
    """Of which only what is asked for completions."""

    __doc__ = ""

    def __init__(self, begin):
        self.begin = begin

    def get_begidx(self):
        """Where the word begins that is completed."""
        return self.begin


@pytest.mark.parametrize(("begin", "found"), [(0, ["/cost ", "/compact ", None]), (4, [None])])
def test_only_the_first_word_is_completed(begin, found):
    """A slash in the middle of a line is no command."""
    typing = Typing(lambda text: ["/cost ", "/compact "])
    typing._readline = FakeReadline(begin)
    assert [typing._candidate("/co", state) for state in range(len(found))] == found


def test_escape_sequences_of_the_prompt_take_no_room():
    """Readline is told, so that it knows where the cursor is."""
    typing = Typing(lambda text: [])
    typing._readline = FakeReadline(0)
    assert typing._measured("\x1b[2m$\x1b[0m > ") == "\001\x1b[2m\002$\001\x1b[0m\002 > "
    typing._readline = None
    assert typing._measured("\x1b[2m$ > ") == "\x1b[2m$ > "


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
    assert typing_lines.history_file().parent.is_file()
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
