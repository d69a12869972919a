"""The backend as a process: how it ends, and what reaches stdout and what does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from bridge_front_end import PATIENCE
from executables import executable
from patience import process_is_gone

from claude_sync.cli import main
from claude_sync.testing import StandIn

CLI = {"cli": StandIn().command}
QUESTION = {"type": "user", "message": {"role": "user", "content": "[[sleep 100]]"}}


def test_the_end_of_the_input_ends_it(front_end_of_process):
    """All CLIs are closed, also one in mid-turn; the exit code is 0, and nothing is complained."""
    front = front_end_of_process("--trust-client")
    front.result(front.create("hello", options=CLI))
    busy = front.create(options=CLI, raw=True)
    front.line(busy, QUESTION)
    front.nth("session.line", busy, 0, "system")
    pid = front.nth("session.created", busy)["payload"]["pid"]
    assert front.end() == 0
    assert process_is_gone(pid)
    assert front.stderr == []


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_it_in_peace(front_end_of_process, name):
    """All CLIs are closed, the exit code is 0."""
    front = front_end_of_process("--trust-client")
    front.result(front.create("hello", options=CLI))
    pid = front.nth("session.created", front.create(options=CLI, raw=True))["payload"]["pid"]
    front.process.send_signal(getattr(signal, name))
    assert front.process.wait(PATIENCE) == 0
    assert process_is_gone(pid)
    front.end()
    assert front.stderr == []


def test_a_front_end_that_leaves_ends_it():
    """A pipe that nobody reads is an end like any other."""
    words = [sys.executable, "-m", "claude_sync.bridge"]
    reads, writes = os.pipe()
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    os.close(reads)
    process.stdin.write(b"no json\n")
    process.stdin.flush()
    # stdin stays open: what ends it is that nobody reads.
    assert process.wait(PATIENCE) == 0
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()


NOISY = """
import os, subprocess, sys
import claude_sync.bridge.server as server
from claude_sync.cli import main
original = server.serve
def serve(*args, **settings):
    print("a library prints")
    sys.stdout.flush()
    os.write(1, b"a library writes\\n")
    subprocess.run([sys.executable, "-c", "print('a child prints'); print(repr(input()))"])
    original(*args, **settings)
server.serve = serve
sys.exit(main(["bridge", "--trust-client"]))
"""


def test_nothing_but_the_protocol_reaches_stdout(front_end_of_process, tmp_path):
    """Prints, writes to descriptor 1 and prints of children go to stderr; stdin is not theirs."""
    program = tmp_path / "noisy.py"
    program.write_text(NOISY)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": root}
    front = front_end_of_process(str(program), module=None, env=environment)
    assert front.result(front.create("hello", options=CLI))["result"] == "echo: hello"
    assert front.end() == 0
    printed = b"".join(front.stderr)
    for words in (b"a library prints", b"a library writes", b"a child prints", b"EOFError"):
        assert words in printed


def test_folders_sessions_and_time_can_be_limited(front_end_of_process, tmp_path):
    """--allow-cwd, --max-sessions and --callback-timeout do what they say."""
    (tmp_path / "inside").mkdir()
    front = front_end_of_process(
        *("--cli", executable(tmp_path), "--allow-cwd", str(tmp_path / "inside")),
        *("--max-sessions", "1", "--callback-timeout", "0.2"),
    )
    id = front.send("session.create", {"cwd": str(tmp_path)})
    assert "outside of the folders" in front.error(id=id)["message"]
    first = front.create('[[tool Bash {"command": "ls"}]]', cwd=tmp_path / "inside")
    front.error(code="CALLBACK_TIMEOUT", session_id=first)
    id = front.send("session.create", {"cwd": str(tmp_path / "inside")})
    assert "Kill one first" in front.error(id=id, code="SESSION_CREATE_FAILED")["message"]
    front.answer(front.send("session.kill", session_id=first))
    assert front.create(cwd=tmp_path / "inside")


@pytest.mark.parametrize(
    "words",
    [
        ["--max-sessions", "0"],
        ["--max-sessions", "many"],
        ["--callback-timeout", "-1"],
        ["--callback-timeout", "inf"],
        ["--frobnicate"],
        ["--trust"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_refused(words, capsys):
    """Nothing is served; exit code 2."""
    with pytest.raises(SystemExit) as caught:
        main(["bridge", *words])
    assert caught.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    """A confinement to nowhere would be a surprise."""
    words = [sys.executable, "-m", "claude_sync.bridge", "--allow-cwd", str(tmp_path / "no")]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"there is no folder" in done.stderr


def test_it_is_a_command_of_claude_sync_too(front_end_of_process):
    """claude-sync bridge serves as well, offline if that is wanted."""
    front = front_end_of_process("bridge", "--offline", module="claude_sync")
    assert front.result(front.create("hello"))["result"] == "echo: hello"
    assert front.end() == 0
    assert front.stderr == []
