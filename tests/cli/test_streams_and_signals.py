"""Commands whose streams are closed, full or sockets, whose folder is gone, or that are ended."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import sys

import cli_scripts
import pytest
from executables import executable
from patience import PATIENCE

from claude_sync import cli

NOTICE = f"claude-sync: {cli.OFFLINE}\n"


@pytest.fixture
def shell(tmp_path, environment):
    """Run a command with redirections of a shell; its exit code, stdout and stderr."""

    def run(words, redirections, module="claude_sync", folder=tmp_path, before=":"):
        command = shlex.join([sys.executable, "-W", "error", "-m", module, *words])
        done = subprocess.run(
            ["sh", "-c", f"{before}; {command} {redirections}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=folder,
            env=environment,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


ASK = ("ask", "--offline", "Hello")


@pytest.mark.parametrize(
    ("redirections", "told"),
    [
        ("<&-", (0, "echo: Hello\n", NOTICE)),
        ("2>&-", (0, "echo: Hello\n", "")),
        ("2>/dev/full", (0, "echo: Hello\n", "")),
        ("<&- 2>&-", (0, "echo: Hello\n", "")),
        ("<&- >&- 2>&-", (1, "", "")),
    ],
)
def test_a_stream_that_is_closed_or_full_costs_no_answer(shell, redirections, told):
    """Unless it is the one that the answer goes to."""
    assert shell(ASK, redirections) == told


@pytest.mark.parametrize("words", [ASK, (*ASK, "--json")])
@pytest.mark.parametrize(
    ("redirection", "reason"),
    [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")],
)
def test_an_answer_that_cannot_be_written_is_a_failure(shell, words, redirection, reason):
    """It is told in words, once, and is exit code 1."""
    told = f"claude-sync: the output could not be written: {reason}. Check where it is to go to.\n"
    assert shell(words, redirection) == (1, "", NOTICE + told)


def test_nothing_to_write_is_no_failure(shell):
    """Without a stdout that nobody needs."""
    code, _, stderr = shell(("sessions", "list"), ">&-")
    assert (code, "Traceback" in stderr) == (0, False)


@pytest.mark.parametrize("redirections", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", [("claude_sync", "bridge"), ("claude_sync.bridge",)])
def test_a_bridge_without_a_front_end_ends(shell, words, redirections):
    """As if it had left."""
    module, *arguments = words
    assert shell(arguments, redirections, module) == (0, "", "")


@pytest.mark.parametrize("words", [ASK, ("sessions", "list"), ("export", "last")])
def test_a_folder_that_is_gone_is_told(shell, tmp_path, words):
    """There is no better place to go on in."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code, stdout, stderr = shell(words, "", folder=gone, before=f"rmdir {shlex.quote(str(gone))}")
    assert (code, stdout) == (2, "")
    assert "claude-sync: the current folder no longer exists. " in stderr
    assert "Traceback" not in stderr


def test_a_socket_is_a_pipe(tmp_path, environment):
    """Node and sshd give sockets to the programs they start."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"from a socket")
        ours.shutdown(socket.SHUT_WR)
        done = subprocess.run(
            [sys.executable, "-m", "claude_sync", "ask", "--offline", "Sum up:"],
            stdin=theirs,
            capture_output=True,
            cwd=tmp_path,
            env=environment,
            timeout=PATIENCE,
        )
    assert done.stdout == b"echo: from a socket\nSum up:\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_turn_as_well(tmp_path, environment, number, code):
    """The CLI is told to stop: alone it would go on, with its tools."""
    note = tmp_path / "note"
    path = executable(tmp_path, cli_scripts.notes_an_interrupt, note=str(note))
    asking = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "claude_sync", "ask", "hi", "--cli", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    with asking:
        assert asking.stdout.read(5) == b"Well,"
        asking.send_signal(number)
        assert asking.communicate(timeout=PATIENCE)[1] == b""
    assert asking.returncode == code
    assert note.read_text() == "interrupt"


def test_a_signal_that_is_to_be_ignored_stays_so(monkeypatch):
    """As nohup wants it; and a bridge has its own ways."""
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)
    chosen = []
    monkeypatch.setattr(signal, "signal", lambda number, _: chosen.append(number))
    cli.end_at_signals("ask")
    assert chosen == []
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)
    cli.end_at_signals("bridge")
    assert chosen == []
    cli.end_at_signals("ask")
    assert chosen == [signal.SIGTERM, signal.SIGHUP]


def test_ctrl_c_while_it_is_loaded_is_quiet(tmp_path, environment):
    """Loading takes a moment, in which it may be pressed."""
    script = (
        "import runpy, sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'claude_sync.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "runpy.run_module('claude_sync', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, env=environment, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (130, b"")


def test_a_report_is_nothing_that_a_terminal_would_obey(run, tmp_path):
    """The last words of a broken CLI are in it."""
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\nprintf '\\033[2Jevil words\\n' >&2\nexit 7\n")
    path.chmod(0o755)
    code, stdout, _ = run("doctor", "--cli", str(path))
    assert code == 1
    assert "\\x1b[2Jevil words" in stdout
    assert "\x1b" not in stdout
