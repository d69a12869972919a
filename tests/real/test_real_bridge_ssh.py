"""
Clients whose CLIs run on another host, over a real SSH connection that is cut.

The other host is made by :mod:`other_host`. Where that cannot be, the tests are skipped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from bridged import traffic_is_valid
from other_host import PREFIX, OtherHost, namespaces, pids_of, remove_stale, what_is_missing
from real_clis import Model

import claude_sync
from claude_sync import CliDidNotStart, CliExited
from claude_sync.bridge import Bridge
from claude_sync.testing.model import text, tool_use

pytestmark = pytest.mark.everything
ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 90.0
# The settings of ssh make it notice after six seconds; the rest is for a loaded machine.
NOTICED = 30.0


@pytest.fixture(autouse=True)
def valid(monkeypatch):
    """All that is said is what the schema allows."""
    with traffic_is_valid(monkeypatch):
        yield


@pytest.fixture(scope="module")
def host(cli, tmp_path_factory):
    """The other host."""
    missing = what_is_missing()
    if missing is not None:
        pytest.skip(missing)
    with OtherHost(tmp_path_factory.mktemp("host")) as made:
        yield made


@pytest.fixture(scope="module")
def model(host):
    """A model on the loopback device of the other host: it is there when the way to it is cut."""
    made = Model()
    host.call(made.start)
    yield made
    host.call(made.close)


@pytest.fixture
def backend(host, model, cli, home):
    """The words of a backend on the other host; whoever runs it there has chosen its CLI."""
    variables = [f"{name}={value}" for name, value in model.environment(home).items()]
    words = [sys.executable, "-m", "claude_sync.bridge", "--cli", cli.path]
    return host.ssh("env", f"PYTHONPATH={ROOT}", *variables, *words)


@pytest.fixture
def nothing_left(host):
    """Wait until nothing runs on the other host any more, the SSH server excepted."""

    def wait():
        end = time.monotonic() + PATIENCE
        while host.processes():
            assert time.monotonic() < end, f"still there: {host.processes()}"
            threading.Event().wait(0.05)

    return wait


def test_a_question_is_answered_elsewhere(new_cli, backend, host, model, tmp_path, nothing_left):
    """The CLI and its tools run there, permissions are decided here; closing ends it all there."""
    path = tmp_path / "note"
    model.when("leave a note").reply(
        tool_use("Write", {"file_path": str(path), "content": "I was here"})
    ).then_reply("the note is there")
    with Bridge(backend) as bridge, bridge.client(cwd=tmp_path) as client:
        client.on_permission(lambda request: request.allow())
        assert client.ask("leave a note", timeout=PATIENCE) == "the note is there"
        assert client.pid in host.processes()
        assert bridge.pid not in host.processes()
    assert path.read_text() == "I was here"
    nothing_left()


def test_a_connection_that_is_cut(new_cli, backend, host, model, tmp_path, nothing_left):
    """
    Everybody who waits is told why, in time; nothing stays behind; the conversation goes on.

    Here ssh finds out by ServerAliveInterval, there sshd by ClientAliveInterval.
    """
    model.when("cut in mid-word").reply(text("this is", gate=threading.Event()))
    model.when("cut while it asks").reply(tool_use("Bash", {"command": "touch asked"}))
    spoken, asked = threading.Event(), threading.Event()
    requests = []
    with Bridge(backend) as bridge:
        talking, asking = bridge.client(cwd=tmp_path), bridge.client(cwd=tmp_path)
        assert talking.ask("the word is heron", timeout=PATIENCE) == "echo: the word is heron"
        session_id = talking.session_id

        @asking.on_permission
        def later(request):
            requests.append(request)
            asked.set()
            return claude_sync.LATER

        talking.on_text(lambda _: spoken.set())
        turns = [talking.submit("cut in mid-word"), asking.submit("cut while it asks")]
        assert spoken.wait(PATIENCE)
        assert asked.wait(PATIENCE)
        try:
            host.cut()
            for turn in turns:
                with pytest.raises(CliExited, match="not responding") as caught:
                    turn.result(NOTICED)
                assert caught.value.exit_code == 255
            assert requests[0].cancelled.wait(PATIENCE)
            assert bridge.state == "crashed"
            nothing_left()
        finally:
            host.mend()
    with Bridge(backend) as bridge, bridge.client(cwd=tmp_path, resume=session_id) as client:
        assert client.ask("what was the word?", timeout=PATIENCE) == "echo: what was the word?"
        assert client.session_id == session_id
    assert "the word is heron" in str(model.conversation[-1].body["messages"])
    nothing_left()


def test_a_killed_ssh(new_cli, backend, host, model, tmp_path, nothing_left):
    """The backend there sees its input end, and closes a CLI in mid-turn."""
    model.when("speak without end").reply(text("on and on", gate=threading.Event()))
    spoken = threading.Event()
    with Bridge(backend) as bridge, bridge.client(cwd=tmp_path) as client:
        client.on_text(lambda _: spoken.set())
        turn = client.submit("speak without end")
        assert spoken.wait(PATIENCE)
        os.kill(bridge.pid, signal.SIGKILL)
        with pytest.raises(CliExited, match="SIGKILL"):
            turn.result(PATIENCE)
        nothing_left()


def test_a_host_that_lets_nobody_in(new_cli, host, tmp_path):
    """The error says what ssh said."""
    command = host.ssh("claude-sync", "bridge", key="wrong_key")
    refused = pytest.raises(CliDidNotStart, match="Permission denied")
    with Bridge(command) as bridge, bridge.client(cwd=tmp_path) as client, refused:
        client.ask("hello", timeout=PATIENCE)


def test_what_a_killed_run_has_left_is_removed(new_cli, host, tmp_path):
    """A host whose maker is gone goes, with what runs there; those of others stay."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = f"{PREFIX}{ended.pid}-1"
    subprocess.run(["ip", "netns", "add", stale], check=True)
    left = subprocess.Popen(["ip", "netns", "exec", stale, "sleep", "1000"])
    while left.pid not in pids_of(stale):
        assert left.poll() is None
    remove_stale()
    assert left.wait(PATIENCE) == -signal.SIGKILL
    assert stale not in namespaces()
    assert host.name in namespaces()
