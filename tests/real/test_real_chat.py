"""``claude-sync chat`` at a terminal, with real CLIs: typed to, looked at, interrupted."""

from __future__ import annotations

import re
import sys
import threading

import pytest
from executables import ROOT
from tmux_terminal import Terminal

from claude_sync.testing.model import text, tool_use

PROMPT = re.compile(r"^\$\d+\.\d{4} >", re.MULTILINE)
LAST = re.compile(r"^\$\d+\.\d{4} > *\Z", re.MULTILINE)


@pytest.fixture
def talk(cli, model, home, tmp_path):
    """A conversation in a terminal, at its first prompt."""
    environment = {
        **model.environment(home, inherit=True),
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    folder = tmp_path / "project"
    folder.mkdir()
    command = [sys.executable, "-W", "error", "-m", "claude_sync", "chat", "--cli", cli.path]
    with Terminal(command, environment, folder) as terminal:
        terminal.folder = folder
        terminal.prompts = 0
        at_prompt(terminal)
        yield terminal


def at_prompt(terminal):
    """Wait for the next prompt; what is on the screen."""
    terminal.prompts += 1

    def is_there(shown):
        number = len(PROMPT.findall(shown))
        return number == terminal.prompts and LAST.search(shown.rstrip("\n"))

    return terminal.until_true(is_there, f"prompt {terminal.prompts}")


def test_a_conversation_with_a_permission_an_interrupt_and_history(talk, model):
    """Words are typed and answered, a tool is allowed, a turn is stopped, lines come back."""
    hold = threading.Event()
    model.when("what is four").reply("It is **2+2**.")
    model.when("make a file").reply(
        [text("I will."), tool_use("Write", {"file_path": "made.txt", "content": "new line\n"})]
    ).then_reply("It is there.")
    model.when("think for ever").reply("too late", gate=hold)
    try:
        talk.type("what is four")
        talk.until("It is 2+2.")
        shown = at_prompt(talk)
        assert "**" not in shown
        assert "$0.0000 > what is four" in shown

        talk.type("make a file")
        shown = talk.until("Allow it?")
        assert "+new line" in shown  # the preview is a diff
        assert "● Write made.txt" in shown
        assert not (talk.folder / "made.txt").exists()
        talk.type("y")
        talk.until("It is there.")
        at_prompt(talk)
        assert (talk.folder / "made.txt").read_text() == "new line\n"

        talk.type("think for ever")
        model.wait_for_request("think for ever")
        talk.until("waiting for Claude")  # the spinner
        talk.press("C-c")
        talk.until("stopped")
        shown = at_prompt(talk)
        assert "waiting for Claude" not in shown
        assert "too late" not in shown

        talk.press("Up", "Up", "Up")
        talk.until("> what is four", times=2)
        talk.press("Enter")
        talk.until("It is 2+2.", times=2)
        at_prompt(talk)

        talk.press("C-d")
        shown = talk.until("[exit code 0]")
        assert "Continue with: claude-sync chat --resume " in shown
        assert "Traceback" not in shown
    finally:
        hold.set()


def test_ctrl_c_at_the_question_stops_the_turn_and_a_refusal_is_told(talk, model):
    """Nothing is run; Claude hears the reason of a refusal; after Ctrl-C it hears nothing."""
    command = tool_use("Bash", {"command": "touch made; touch more"})
    model.when("run it once").reply(command).then_reply("I did not.")
    model.when("run it twice").reply(command).then_reply("this is never asked for")
    talk.type("run it once")
    talk.until("Allow it?")
    talk.type("n use the other one")
    talk.until("I did not.")
    at_prompt(talk)
    (told,) = model.conversation[-1].tool_results
    assert "use the other one" in told.text

    talk.type("run it twice")
    talk.until("Allow it?", times=2)
    talk.press("C-c")
    shown = at_prompt(talk)
    assert "this is never asked for" not in shown
    assert shown.rstrip().splitlines()[-3] == "stopped"  # above the rule and the prompt
    talk.type("!ls -A; echo shell $((20+3))")
    talk.until("shell 23")
    shown = at_prompt(talk)
    assert "made" not in shown.rpartition("!ls")[2]

    talk.press("Up")  # replies to questions are no part of the history
    talk.until("> !ls -A", times=2)
    talk.press("C-c")
    at_prompt(talk)
    talk.type("/exit")
    talk.until("[exit code 0]")


@pytest.mark.everything
def test_commands_of_the_cli_are_completed_and_passed_on(talk, model):
    """TAB after a slash knows the CLI's commands; what they say is shown."""
    talk.type("/comp", enter=False)
    talk.press("Tab")
    talk.until("> /compact")
    talk.press("C-c")
    at_prompt(talk)
    talk.type("/help")
    talk.until("/help, /exit    show this list")
    at_prompt(talk)
    talk.type("/no-such-command at all")
    shown = at_prompt(talk)
    assert "Traceback" not in shown
    talk.type("/clear")
    talk.until("A new conversation begins.")
    at_prompt(talk)
    talk.press("C-d")
    talk.until("[exit code 0]")
