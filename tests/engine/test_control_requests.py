"""Control requests: which CLI gets which, and what the next process gets again."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest
from patience import PATIENCE, wait_until

from claude_sync import Client, UnsupportedByCli
from claude_sync.engine import control
from claude_sync.engine.launch.process import ProcessTransport
from claude_sync.engine.launch.transport import Transport
from claude_sync.testing import ScriptedCli

PRINTS = "import sys; print('2.1.29 (Claude Code)' if sys.argv[1:] == ['--version'] else sys.argv)"


# By version.


@pytest.mark.parametrize(
    ("method", "arguments", "version", "is_sent"),
    [
        ("mcp_reconnect", ("a",), "2.1.14", False),
        ("mcp_reconnect", ("a",), "2.1.15", True),
        ("context_usage", (), "2.1.39", False),
        # From here on the CLI itself refuses what it does not know.
        ("context_usage", (), "2.1.40", True),
        ("usage_report", (), "2.1.40", True),
        ("set_permission_mode", ("auto",), "2.1.70", False),
        ("set_permission_mode", ("auto",), "2.1.71", True),
        ("set_permission_mode", ("dontAsk",), "2.1.0", True),
        ("set_mcp_servers", ({},), "2.1.0", True),
        ("mcp_reconnect", ("a",), "unknown", True),
    ],
)
def test_a_cli_gets_what_it_answers(pool, method, arguments, version, is_sent):
    """Where it would leave a request unanswered, or misread a value, nothing is sent."""
    cli = ScriptedCli(version=version)
    with Client(transport=cli) as client:
        calling = pool.submit(getattr(client, method), *arguments)
        cli.accept()
        if is_sent:
            cli.reply(cli.expect("control_request"))
            calling.result(PATIENCE)
        else:
            with pytest.raises(UnsupportedByCli) as caught:
                calling.result(PATIENCE)
            assert caught.value.cli_version == version
            assert method in caught.value.feature
    cli.assert_done()


@pytest.mark.parametrize(
    ("version", "options", "warnings"),
    [
        ("2.0.76", {}, 1),
        ("2.1.0", {}, 0),
        ("2.1.29", {}, 0),
        ("unknown", {"title": "T"}, 0),
        ("2.1.29", {"title": "T"}, 1),
        ("2.1.325", {"title": "T"}, 0),
    ],
)
@pytest.mark.parametrize("style", ["new", "old"])
def test_a_cli_that_is_too_old_gets_one_warning(caplog, style, version, options, warnings):
    """Also for an option; when it names its version, not for each turn and life."""

    def life(cli):
        cli.accept()
        while True:
            message = cli.receive()
            if message["type"] == "user":
                cli.answer("Hello", to=message)
            else:
                cli.reply(message)

    def start():
        clis.append(ScriptedCli(life, style=style, version=version))
        return clis[-1]

    clis = []
    with (
        caplog.at_level(logging.WARNING, "claude_sync"),
        Client(transport=start, **options) as client,
    ):
        client.ask("one", timeout=PATIENCE)
        client.ask("two", timeout=PATIENCE)
        clis[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        client.ask("three", timeout=PATIENCE)
    assert len(clis) == 2
    assert caplog.text.count("claude update") == warnings
    assert ("title=" in caplog.text) is bool(options and warnings)


def test_the_version_of_a_program():
    """The program runs with one flag, and without those of the conversation."""
    transport = ProcessTransport()
    try:
        for program, version in (
            ((sys.executable, "-c", PRINTS), "2.1.29"),
            ((sys.executable, "-c", "raise SystemExit(1)"), None),
            (("/nonexistent/claude",), None),
        ):
            assert control.ask_version(connection(program, transport), lambda: False) == version
        # Another transport has no program.
        other = connection((sys.executable, "-c", PRINTS), Transport())
        assert control.ask_version(other, lambda: False) is None
    finally:
        transport.close(1)
        transport.free()


def connection(program, transport):
    """What is needed of a connection: a command line, and how it is run."""
    argv = (*program, "--output-format", "stream-json")
    return SimpleNamespace(
        transport=transport,
        launch=SimpleNamespace(argv=argv, cwd=None, environment=None),
        dialect=SimpleNamespace(flags=("--output-format", "stream-json")),
    )


# After a restart.


@pytest.mark.parametrize(
    ("replies", "flags"),
    [
        # Of two changes at once, the one that the CLI accepted last counts.
        (({}, {}), ["--model=opus", "--permission-mode=plan"]),
        # A mode goes by the name that the CLI gives it.
        (({}, {"mode": "acceptEdits"}), ["--model=opus", "--permission-mode=acceptEdits"]),
        (({}, {"mode": 7}), ["--model=opus", "--permission-mode=plan"]),
    ],
)
def test_model_and_mode_go_back_as_flags(pool, greet, replies, flags):
    """With what the CLI accepted, in the order of its replies."""
    lives = [ScriptedCli(patience=PATIENCE), ScriptedCli(patience=PATIENCE)]
    waiting = iter(lives)
    with Client(transport=lambda: next(waiting)) as client:
        greet(client, lives[0])
        first = pool.submit(client.set_model, "opus")
        asked = lives[0].expect("control_request", model="opus")
        second = pool.submit(client.set_model, "haiku")
        lives[0].reply(lives[0].expect("control_request", model="haiku"))
        second.result(PATIENCE)
        lives[0].reply(asked, **replies[0])
        first.result(PATIENCE)
        changing = pool.submit(client.set_permission_mode, "plan")
        lives[0].reply(lives[0].expect("control_request"), **replies[1])
        changing.result(PATIENCE)
        lives[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        greet(client, lives[1])
        assert set(flags) <= set(lives[1].launch.argv)


@pytest.mark.parametrize(("start_timeout", "longest"), [(None, 10), (60.0, 10), (4.0, 2)])
def test_repeating_ends_before_the_start_counts_as_failed(monkeypatch, start_timeout, longest):
    """It takes half of start_timeout at most."""
    with Client(transport=ScriptedCli(), start_timeout=start_timeout) as client:
        given = []
        monkeypatch.setattr(control, "Deadline", given.append)
        control.Controls(client._session).repeat(None)
        assert given == [longest]
