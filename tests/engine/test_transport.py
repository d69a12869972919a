"""The small interface: what a subclass must provide, and what it gets for nothing."""

from __future__ import annotations

import queue

import pytest
from patience import PATIENCE, wait_until

import claude_sync
from claude_sync import Client, CliExited, UsageError
from claude_sync.engine.launch.transport import Transport
from claude_sync.testing import ScriptedCli, builders
from claude_sync.testing.cli_side import encoded


def test_the_defaults_do_nothing_and_know_nothing():
    """Everything but write and read may be left out."""
    transport = Transport()
    transport.start(None)
    transport.end_input()
    transport.kill()
    transport.close(1)
    transport.free()
    transport.abandon()
    transport.check_carries("steer")
    assert transport.read_error() == b""
    assert transport.wait(0) is None
    assert (transport.pid, transport.exit_code, transport.argv) == (None, None, ())


def test_reading_and_writing_must_be_provided():
    """A transport without them is not one."""
    with pytest.raises(NotImplementedError):
        Transport().read()
    with pytest.raises(NotImplementedError):
        Transport().write(b"")


def test_wait_tells_the_exit_code():
    """Where there is nothing to wait for, wait() tells what is known."""

    class Ended(Transport):
        exit_code = 3

    assert Ended().wait(0) == 3


class Smallest(Transport):
    """The least a transport can be: it answers the greeting and each question."""

    def __init__(self):
        self.output = queue.Queue()

    def read(self):
        return self.output.get(timeout=PATIENCE)

    def write(self, data):
        for line in data.splitlines():
            message = claude_sync.protocol.codec.decode(line)
            if message["type"] == "control_request":
                reply = builders.control_response(message["request_id"], {})
                self.output.put(encoded([reply]))
            else:
                self.output.put(encoded([builders.result("Hello", [message["uuid"]])]))

    def close(self, timeout):
        self.output.put(b"")


def test_the_smallest_transport_is_enough_to_ask():
    """read, write and close make a client work, without any CLI on the machine."""
    with Client(transport=Smallest()) as client:
        assert client.ask("hi", timeout=PATIENCE) == "Hello"
        assert client.pid is None


def test_no_cli_need_be_installed_for_another_transport(monkeypatch):
    """A client with a transport of its own does not look for an executable in vain."""

    def find_nothing(*args, **keywords):
        raise claude_sync.CliNotFound(["nowhere"])

    monkeypatch.setattr("claude_sync.engine.launch.command.find_cli", find_nothing)
    cli = ScriptedCli()
    with Client(transport=cli):
        assert cli.launch.argv[0] == "claude"
    with pytest.raises(claude_sync.CliNotFound):
        Client().start()


def test_a_function_makes_a_new_transport_for_each_life(caplog):
    """After the end of one transport the next question gets another, which resumes."""
    made = []

    def make():
        made.append(ScriptedCli())
        return made[-1]

    with Client(transport=make) as client:
        turn = client.submit("hi")
        made[0].accept()
        made[0].answer("Hello")
        assert turn.result(PATIENCE) == "Hello"
        made[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        turn = client.submit("hi again")
        made[1].accept()
        made[1].reply(made[1].expect("control_request", subtype="get_usage"))
        made[1].answer("Hello again")
        assert turn.result(PATIENCE) == "Hello again"
        assert f"--resume={made[0].session_id}" in made[1].launch.argv
    assert "restarted the CLI" in caplog.text


def test_an_instance_lives_once(caplog):
    """Without a function there is nothing to start again: the next question gets the reason."""
    cli = ScriptedCli(lambda cli: (cli.accept(), cli.answer("Hello"), cli.exit(3)))
    with Client(transport=cli) as client:
        assert client.ask("hi", timeout=PATIENCE) == "Hello"
        wait_until(lambda: client.state == "crashed")
        with pytest.raises(CliExited, match="exit code 3"):
            client.ask("hi again", timeout=PATIENCE)


def test_what_is_no_transport_is_refused():
    """A function that makes something else is told so."""
    with pytest.raises(UsageError, match="Transport"), Client(transport=lambda: 3):
        pass


def test_what_a_transport_does_not_carry_is_refused_before_it_is_sent():
    """steer() and add_context() ask it first."""

    class Narrow(ScriptedCli):
        def check_carries(self, method):
            raise UsageError(f"no {method} here")

    cli = Narrow()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        with pytest.raises(UsageError, match="no steer here"):
            client.steer("more")
        cli.answer("Hello", to=user)
        assert turn.result(PATIENCE) == "Hello"
        with pytest.raises(UsageError, match="no add_context here"):
            client.add_context("more")
    cli.assert_done()
