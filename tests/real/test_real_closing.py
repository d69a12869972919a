"""Ends: of a client in the middle of its work, of several at once, and of a program's patience."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from patience import process_is_gone, wait_until

import claude_sync
from claude_sync.testing.model import text, tool_use


def test_close_in_mid_turn_is_quick_and_stops_the_tools(client_of, model, tmp_path):
    """close() while a tool runs: seconds, waiters get ClientClosed, the tool is ended."""
    client = client_of(allowed_tools=["Bash"])
    running = tmp_path / "running"
    command = f"echo $$ > '{running}.new' && mv '{running}.new' '{running}'; sleep 30; true"
    model.when("work long").reply(tool_use("Bash", {"command": command}))
    turn = client.submit("work long", timeout=90)
    wait_until(running.exists)
    pid, shell, began = client.pid, int(running.read_text()), time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    assert isinstance(turn.exception(), (claude_sync.ClientClosed, claude_sync.TurnInterrupted))
    assert client.state == "closed"
    with pytest.raises(OSError):
        os.kill(pid, 0)
    wait_until(lambda: process_is_gone(shell))


def test_close_in_mid_stream(client_of, model):
    """close() while text arrives; the closed client refuses, with advice."""
    client = client_of()
    model.when("stream on").reply(text("never complete at all", gate=threading.Event()))
    first = threading.Event()
    client.on_text(lambda piece: first.set())
    closed = []
    client.on_close(closed.append)
    turn = client.submit("stream on", timeout=90)
    queued = client.submit("never sent", timeout=90)
    assert first.wait(90)
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 4
    assert isinstance(turn.exception(), (claude_sync.ClientClosed, claude_sync.TurnInterrupted))
    assert isinstance(queued.exception(), claude_sync.ClientClosed)
    assert len(closed) == 1
    with pytest.raises(claude_sync.ClientClosed, match="Open a new Client"):
        client.ask("anybody?")


def test_an_idle_client_closes_at_once(client_of):
    """Idle, it takes no longer than the CLI needs to save its transcript."""
    client = client_of()
    client.ask("hello", timeout=90)
    began = time.monotonic()
    client.close()
    client.close()
    assert time.monotonic() - began < 5  # then it would be ended


@pytest.mark.everything
def test_three_clients_at_once(client_of):
    """Three conversations in parallel do not hear of each other."""
    clients = [client_of(name=f"client-{number}") for number in range(3)]
    turns = [(client.name, client.submit(f"I am {client.name}", timeout=100)) for client in clients]
    for name, turn in turns:
        assert turn.result() == f"echo: I am {name}"
    assert len({client.session_id for client in clients}) == 3
    assert len({client.pid for client in clients}) == 3
    closers = [threading.Thread(target=client.close) for client in clients]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join(20)
    assert {client.state for client in clients} == {"closed"}


PROGRAM = """
    import sys
    import claude_sync

    def say(words):
        print(words, flush=True)

    with claude_sync.Client(cli=sys.argv[1], cwd=sys.argv[2], start_timeout=90) as client:
        say(client.ask("are you ready?", timeout=90))
        client.on_text(lambda piece: say("text"))
        try:
            client.ask("never ends", timeout=90)
        except KeyboardInterrupt:
            say("interrupted")
        say(client.ask("after control c", timeout=90))
    say("closed")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_control_c_interrupts_and_the_session_goes_on(cli, model, home, tmp_path):
    """Ctrl-C in ask(): KeyboardInterrupt, its turn is interrupted, the next one answered."""
    model.when("never ends").reply(text("on and on and on", gate=threading.Event()))
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    root = os.path.dirname(os.path.dirname(os.path.abspath(claude_sync.__file__)))
    environment = {**model.environment(home, inherit=True), "PYTHONPATH": root}
    with subprocess.Popen(
        [sys.executable, str(program), cli.path, str(tmp_path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    ) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if line.strip() == "text" and "interrupted" not in lines and lines.count("text") == 1:
                # To the whole group, as a terminal does; the CLI is in another one.
                os.killpg(process.pid, signal.SIGINT)
    told = [line for line in lines if line != "text"]
    assert told == ["echo: are you ready?", "interrupted", "echo: after control c", "closed"]
    assert process.returncode == 0
