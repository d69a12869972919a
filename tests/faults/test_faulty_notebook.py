"""Whatever breaks under a notebook: the cell ends, says why, and nothing is left behind."""

from __future__ import annotations

import os
import signal

import pytest
from executables import clean_environment, executable
from kernels import Kernel, needed

PERMISSION = '%claude [[tool Bash {"command": "ls"}]]'
LONG = "%claude [[sleep 60]]"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A kernel whose CLI is the stand-in that echoes."""
    needed("IPython", "ipykernel", "jupyter_client")
    folder = tmp_path_factory.mktemp("kernel")
    environment = clean_environment(folder, CLAUDE_CODE_PATH=executable(folder))
    with Kernel(folder, environment) as started:
        yield started


@pytest.fixture
def chat(kernel):
    """The kernel, with a conversation of its own; gives the id of its CLI's process."""
    assert kernel.run("%reload_ext claude_sync").error is None
    assert kernel.run("%claude hello").error is None
    return lambda: kernel.value("claude_client.pid")


def killer(pid):
    """Something that kills that process."""
    return lambda: os.kill(pid, signal.SIGKILL)


def test_a_cli_that_dies_in_mid_turn_is_one_line(kernel, chat):
    """The next question goes on with the conversation."""
    session = kernel.value("claude_client.session_id")
    name, _, traceback = kernel.run(LONG, at="working", call=killer(chat())).error
    assert name == "CliExited"
    assert len(traceback) == 1
    assert "\n" not in traceback[0]
    assert "The next question starts it again" in traceback[0]
    assert kernel.run("%claude are you back?").error is None
    assert kernel.value("(str(claude_answer), claude_client.session_id)") == (
        "echo: are you back?",
        session,
    )


def test_a_cli_that_dies_while_a_person_is_asked_ends_the_prompt(kernel, chat):
    """Nobody has to answer what nobody waits for."""
    outputs = kernel.run(PERMISSION, killer(chat()))
    assert outputs.error[0] == "CliExited"
    assert "Bash ls (withdrawn)" in outputs.displays[0]["text/plain"]
    assert kernel.run("%claude again").error is None


def test_a_cli_that_is_not_there_is_one_line(kernel, chat):
    """With what to do about it."""
    kernel.run("from claude_sync.notebook import configure\nconfigure(cli='/nowhere/claude')")
    name, _, traceback = kernel.run("%claude hello").error
    assert name == "CliNotFound"
    assert len(traceback) == 1
    assert "/nowhere/claude" in traceback[0]


def test_a_handler_that_raises_stops_nobody(kernel, chat):
    """The answer is there."""
    kernel.run("@claude_client.on_text\ndef broken(text):\n    raise ZeroDivisionError('of mine')")
    outputs = kernel.run("%claude hello")
    assert outputs.error is None
    assert "echo: hello" in outputs.displays[0]["text/plain"]
    assert "of mine" in outputs.text


def test_a_tool_that_raises_is_told_to_claude(kernel, chat):
    """As an error of the tool."""
    kernel.run("def broken(city: str) -> int:\n    'Fails.'\n    raise ValueError('no such city')")
    outputs = kernel.run('%claude --tools broken [[tool mcp__claude_sync__broken {"city": "x"}]]')
    assert outputs.error is None
    assert "✗ broken city=x" in outputs.displays[0]["text/plain"]
    assert "no such city" in outputs.displays[0]["text/html"]


def test_a_permission_handler_that_raises_has_refused(kernel, chat):
    """Nothing runs by accident."""
    kernel.run(
        "from claude_sync.notebook import configure\n"
        "def broken(request):\n    raise ValueError('cannot decide')\n"
        "configure(on_permission=broken)"
    )
    outputs = kernel.run(PERMISSION)
    assert outputs.error is None
    assert "✗ Bash ls" in outputs.displays[0]["text/plain"]


def test_a_variable_without_a_text_is_one_line(kernel, chat):
    """Its own error is in it."""
    kernel.run(
        "class Odd:\n    def __str__(self):\n        raise ValueError('no text')\nodd = Odd()"
    )
    name, _, traceback = kernel.run("%claude what is {odd}?").error
    assert name == "UsageError"
    assert len(traceback) == 1
    assert "no text" in traceback[0]


@pytest.mark.parametrize(
    ("cell", "now"),
    [(LONG, False), (PERMISSION, False), (PERMISSION, True)],
    ids=["turn", "prompt", "prompt-killed"],
)
def test_a_kernel_that_is_restarted_in_mid_turn_leaves_no_cli(folder, kernel, gone, cell, now):
    """Neither while a turn runs, nor while a person is asked."""
    with Kernel(folder, clean_environment(folder, CLAUDE_CODE_PATH=executable(folder))) as other:
        other.run("%load_ext claude_sync")
        other.run("%claude hello")
        pid = other.value("claude_client.pid")
        other.begin(cell)
        other.wait_for("working")
        other.restart(now)
        gone(pid)
        assert other.run("%load_ext claude_sync").error is None
        assert other.run("%claude hello").error is None


@pytest.fixture
def folder(kernel, tmp_path):
    """For another kernel; what Jupyter keeps for ever it has by now, for the first one."""
    return tmp_path
