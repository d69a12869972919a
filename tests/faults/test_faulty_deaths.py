"""Nothing that a CLI has started outlives its client, or a program that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest
import scripts
from patience import PATIENCE, process_is_gone, wait_until

from claude_sync import Client
from claude_sync.engine.launch import guard as guards
from claude_sync.engine.launch.guard import MARK, Guard, new_mark
from claude_sync.testing import StandIn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


PROGRAM = """
import os, signal, sys
import claude_sync, scripts
from claude_sync.testing import StandIn

client = claude_sync.Client(cli=StandIn(scripts.starts_a_tool).command)
print(client.ask("hi"), client.pid, flush=True)
sys.stdin.readline()
{death}
"""
DEATHS = {
    "os._exit": "os._exit(1)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGHUP": "os.kill(os.getpid(), signal.SIGHUP)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "an exception": "raise SystemExit(3)",
    "a closed client": "client.close(timeout=0)",
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_program_leaves_nothing_behind(death, program):
    """Neither the CLI nor what it started, however the program ends."""
    running = program(PROGRAM.format(death=DEATHS[death]))
    tool, cli = map(int, running.wait_for("\n").split())
    assert not process_is_gone(tool)
    assert not process_is_gone(cli)
    running.say("go")
    running.end()
    wait_until(lambda: process_is_gone(tool) and process_is_gone(cli))


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_client_leaves_nothing_behind(how):
    """After close() the tools are gone; after a crash of the CLI they go at once."""
    client = Client(cli=StandIn(scripts.starts_a_tool).command)
    with client:
        tool = int(client.ask("hi", timeout=PATIENCE))
        if how == "kill":
            os.kill(client.pid, signal.SIGKILL)
            wait_until(lambda: process_is_gone(tool))
    assert process_is_gone(tool)


SERVERS = """
import os, signal
import claude_sync
from claude_sync.testing import StandIn

servers = {"a": {"command": "x", "env": {"KEY": "secret"}}}
client = claude_sync.Client(cli=StandIn().command, mcp_servers=servers)
print(client.ask("hi"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_program_that_is_killed_leaves_no_private_file(program, tmp_path, monkeypatch):
    """They may hold secrets."""
    folder = tmp_path / "with a space"
    folder.mkdir()
    other = folder / "other"
    other.touch()
    monkeypatch.setenv("TMPDIR", str(folder))
    running = program(SERVERS)
    running.wait_for("echo: hi")
    running.end()
    wait_until(lambda: list(folder.iterdir()) == [other])


def test_a_close_that_is_too_short_for_the_guard_says_so(caplog):
    """It returns in time, with a warning about the right thing, once."""
    client = Client(cli=StandIn(scripts.starts_a_tool).command)
    tool = int(client.ask("hi", timeout=PATIENCE))
    client.close(timeout=0.1)
    wait_until(lambda: process_is_gone(tool))
    told = [each.message for each in caplog.records if "reader did not end" in each.message]
    assert [text.partition("time: ")[2] for text in told] == [
        "processes that the CLI started are still being ended"
    ]


def test_private_files_do_not_wait_for_the_guard(monkeypatch, tmp_path):
    """They may hold secrets, and the program may end while the guard still has work."""
    left = []
    wait = Guard.wait

    def look_and_wait(guard):
        left.extend(tmp_path.iterdir())
        wait(guard)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Guard, "wait", look_and_wait)
    servers = {"a": {"command": "x", "env": {"KEY": "secret"}}}
    with Client(cli=StandIn().command, mcp_servers=servers) as client:
        client.ask("hi", timeout=PATIENCE)
        assert list(tmp_path.iterdir())
    assert left == []


@pytest.fixture
def guarded():
    """Start a shell command as a CLI is started; its guard, and its process."""
    started = []

    def start(command, **environment):
        mark = new_mark()
        guard = Guard(mark)
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env={**os.environ, MARK: mark, **environment},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        guard.watch(process.pid)
        started.append((guard, process))
        return guard, process

    yield start
    for guard, process in started:
        guard.release()
        guard.wait()
        process.kill()
        process.communicate()


def test_a_child_without_the_mark_is_found_by_its_session(guarded):
    """``sudo`` and ``env -i`` clear the environment."""
    guard, process = guarded("env -i sleep 600 & echo $!; exec sleep 600")
    child = int(process.stdout.readline())
    guard.release()
    guard.wait()
    wait_until(lambda: process_is_gone(child))


def test_what_ended_by_itself_is_not_waited_for(guarded):
    """A guard with nothing to do ends at once: without its patience it is not killed."""
    guard, process = guarded("exit 0")
    process.wait()
    guard.release()
    guard.wait()
    assert guard._process.returncode == 0


def test_a_guard_that_hangs_does_not_hang_us(guarded, monkeypatch):
    """A process that cannot be killed must not keep close() for ever."""
    monkeypatch.setattr(guards, "PATIENCE", 0.05)
    guard, _ = guarded("exec sleep 600")
    os.kill(guard._process.pid, signal.SIGSTOP)
    guard.release()
    guard.wait()
    assert guard._process.returncode == -signal.SIGKILL


def test_others_live_on(guarded):
    """A process of another run is none of ours."""
    _, other = guarded("exec sleep 600")
    guard, _ = guarded("exec sleep 600")
    guard.release()
    guard.wait()
    assert other.poll() is None


def test_a_system_without_a_shell(monkeypatch):
    """The client works; there is just no guard."""

    def no_shell(*arguments, **settings):
        raise FileNotFoundError("/bin/sh")

    monkeypatch.setattr("claude_sync.engine.launch.process.Guard", no_shell)
    with Client(cli=StandIn().command) as client:
        assert client.ask("hi", timeout=PATIENCE)
