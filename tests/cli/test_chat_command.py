"""``claude-sync chat``: what its lines mean, and what is kept of them. See tests/real, too."""

from __future__ import annotations

import stat
import sys

import pytest
from tmux_terminal import Terminal

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


def test_lines_come_back_the_next_time_and_to_nobody_else(chat, tmp_path):
    """The history is a private file; twice the same is one line, and replies are none."""
    with chat() as terminal:
        terminal.until(PROMPT)
        for number, line in enumerate(("first", "second", "second"), 2):
            terminal.type(line)
            terminal.until(PROMPT, times=number)
        terminal.type("\\")
        terminal.until("\n...")
        terminal.type('[[tool Bash {"command": "ls"}]]')
        terminal.until("Allow it?")
        terminal.type("y")
        terminal.until(PROMPT, times=5)
        terminal.press("C-d")
        terminal.until("[exit code 0]")
    kept = tmp_path / "state" / "claude-sync" / "history"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.press("Up", "Up", "Up", "Up")  # one of them inside of the two lines
        terminal.until("> first")
        terminal.press("C-c")  # takes it back, and nothing is asked
        terminal.until(PROMPT, times=2)
        terminal.type("third")
        assert "echo: first" not in terminal.until("echo: third")


def test_a_home_that_cannot_be_written_costs_the_history_alone(chat, tmp_path):
    """As in many containers; it is told."""
    (tmp_path / "state").write_text("no folder")
    with chat() as terminal:
        assert "history of what was typed is not kept" in terminal.until(PROMPT)
        terminal.type("Hello")
        terminal.until("echo: Hello")


def test_without_prompt_toolkit_and_rich_there_is_a_chat_all_the_same(chat, tmp_path):
    """As plain text."""
    for name in ("prompt_toolkit", "rich"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    terminal = chat()
    terminal._environment["PYTHONPATH"] = f"{tmp_path}:{terminal._environment['PYTHONPATH']}"
    with terminal:
        assert "pip install rich" in terminal.until(PROMPT)
        terminal.type("**one**\\")
        terminal.until("\n...")
        terminal.type("two")
        terminal.until("echo: **one**\ntwo")
        terminal.until(PROMPT, times=2)
        terminal.press("C-d")
        terminal.until("[exit code 0]")


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


def test_a_misspelt_command_is_no_prompt(chat):
    """It would cost something; what is like no command may be a path."""
    with chat() as terminal:
        terminal.until(PROMPT)
        terminal.type("/hlep")
        terminal.until("There is no command /hlep. Did you mean /help?")
        terminal.type("/etc/hosts")
        terminal.until("echo: /etc/hosts")


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
