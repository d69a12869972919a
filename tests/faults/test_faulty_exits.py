"""The CLI ends when nobody expects it: whoever waits learns at once, and why."""

import signal
import time

import pytest
import scripts
from patience import PATIENCE
from stand_ins import Background

from claude_sync import CliDidNotStart, Client, CliExited, Overloaded
from claude_sync.testing import ScriptedCli

# Far less than any patience of the library's: "at once", on a loaded machine.
AT_ONCE = 5.0


@pytest.mark.parametrize("script", [scripts.exits_at_start, scripts.exits_when_greeted])
def test_exit_at_start(stand_in, script):
    """A CLI that exits before it is ready fails the question with its exit code and stderr."""
    client = stand_in(script)
    began = time.monotonic()
    with pytest.raises(CliDidNotStart) as caught:
        client.ask("hi")
    assert time.monotonic() - began < AT_ONCE
    assert caught.value.exit_code in (2, 4)
    assert "error: " in str(caught.value)
    assert caught.value.stderr_tail[-1].startswith("error: ")


@pytest.mark.parametrize("script", [scripts.exits_at_start, scripts.exits_when_greeted])
def test_exit_while_start_waits(stand_in, script):
    """start() raises when the CLI exits instead of answering."""
    client = stand_in(script)
    began = time.monotonic()
    with pytest.raises(CliDidNotStart, match="error: "):
        client.start(timeout=PATIENCE)
    assert time.monotonic() - began < AT_ONCE


def test_what_it_prints_instead_of_json_is_in_the_error():
    """What a CLI that does not start says on stdout is not lost."""

    def script(cli):
        cli.print_raw(b"Please update your system first.\n")
        cli.exit(1)

    client = Client(transport=lambda: ScriptedCli(script))
    with client, pytest.raises(CliDidNotStart, match="Please update your system first"):
        client.ask("hi")


@pytest.mark.parametrize("code", [0, 3])
def test_exit_in_mid_turn(stand_in, code):
    """A CLI that exits in mid-turn fails its question at once, with exit code and stderr."""
    client = stand_in(scripts.exits_in_mid_turn, settings={"code": code})
    client.start()
    began = time.monotonic()
    with pytest.raises(CliExited) as caught:
        client.ask("hi")
    assert time.monotonic() - began < AT_ONCE
    assert caught.value.exit_code == code
    assert caught.value.stderr_tail[-1] == scripts.LAST_WORDS
    assert scripts.LAST_WORDS in str(caught.value)
    assert client.state == "crashed"


def test_exit_fails_a_request_too(cli, client):
    """A control request that waits when the CLI exits fails at once, not after its timeout."""
    call = Background(client.interrupt, timeout=PATIENCE)
    cli.expect("control_request", subtype="interrupt")
    cli.print_error("gone")
    cli.hang_up(6)
    with pytest.raises(CliExited, match="gone") as caught:
        call.result(AT_ONCE)
    assert caught.value.exit_code == 6


def test_killed_in_mid_line(stand_in):
    """Half a line of a killed CLI counts for nothing, and the error names the signal."""
    client = stand_in(scripts.is_killed_in_mid_line)
    with pytest.raises(CliExited, match="SIGKILL") as caught:
        client.ask("hi")
    assert caught.value.exit_code == -signal.SIGKILL


@pytest.mark.parametrize("in_process", [True, False])
def test_error_result_before_the_exit(stand_in, in_process):
    """A turn that ended with an error keeps that error when the CLI exits right after it."""
    if in_process:
        client = stand_in(scripts.fails_then_exits)
        with pytest.raises(Overloaded, match="529"):
            client.ask("hi")
    else:
        client = Client(transport=ScriptedCli(scripts.fails_then_exits))
        with client, pytest.raises(Overloaded, match="529"):
            client.ask("hi")


def test_a_child_of_the_cli_keeps_the_pipes_open(stand_in):
    """The end of the CLI is noticed although its own child still holds its pipes."""
    client = stand_in(scripts.leaves_a_child_behind)
    began = time.monotonic()
    with pytest.raises(CliExited) as caught:
        client.ask("hi")
    assert time.monotonic() - began < AT_ONCE
    assert caught.value.exit_code == 5


@pytest.mark.usefixtures("quick_end")
def test_output_closed_in_mid_turn(stand_in, gone):
    """A CLI that closes its output but lives is a dead one: the waiter fails, it is ended."""
    client = stand_in(scripts.closes_its_output)
    pid = client.pid
    with pytest.raises(CliExited):
        client.ask("hi")
    gone(pid)


def test_unterminated_last_line(stand_in):
    """A result at the end of the output counts even without its line end."""
    client = stand_in(scripts.ends_without_a_newline)
    assert client.ask("hi") == "the last word"


def test_exit_between_turns(cli, client):
    """A CLI that exits while nobody asks fails nobody, and the state says so."""
    turn = client.submit("one")
    cli.answer("first")
    assert turn.result(PATIENCE) == "first"
    cli.hang_up(0)
    client._session.connection.reader.join(PATIENCE)
    assert client.state == "crashed"
