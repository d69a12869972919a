"""The one logger: quiet by default, short lines that name their client, no credentials."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from tables import each

import claude_sync
from claude_sync.log import (
    Naming,
    ShownLines,
    log_received,
    log_to_stderr,
    logger,
    shortened,
)
from claude_sync.testing import ScriptedCli, builders

ROOT = Path(claude_sync.__file__).parent.parent


@each(
    ("data", "shown"),
    [
        (b'{"a": 1}\n', '{"a": 1}'),
        ('{"a": 1}\n', '{"a": 1}'),
        (b"a\xff\xfeb", "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"),
        ("x" * 200, "x" * 200),
        ("x" * 1_000_000, "x" * 200 + " ..."),
        ('{"apiKey": "hunter2"}', '{"apiKey": "***"}'),
        (b"Authorization: Bearer hunter2", "Authorization: Bearer ***"),
    ],
)
def test_a_payload_is_a_short_line(data, shown):
    """Of bytes as of a text, without credentials."""
    assert shortened(data) == shown


def test_a_credential_across_the_cut_is_hidden():
    """A secret that the cut goes through is hidden before it is cut."""
    text = "x" * 190 + ' "token": "' + "s3cret" * 100 + '"'
    assert "s3cret" not in shortened(text)


# What is received.


def test_pieces_of_a_stream_are_counted(caplog):
    """A secret may go over several of them; the whole message follows, with it hidden."""
    caplog.set_level(logging.DEBUG, "claude_sync")
    piece = b'{"type":"stream_event","event":{"delta":{"text":"sk-ant-"}}}'
    whole = b'{"type":"assistant","text":"sk-ant-api03-abcdefghijkl"}'
    log_received([piece, piece, whole, b"Welcome!", piece])
    assert [record.getMessage() for record in caplog.records] == [
        "< 2 pieces of a stream",
        '< {"type":"assistant","text":"***"}',
        "< 1 pieces of a stream",
    ]


BODY = "MIIE" + "Qw8+" * 14
KEY = ["-----BEGIN RSA PRIVATE KEY-----", BODY, BODY, "-----END RSA PRIVATE KEY-----"]


def test_a_private_key_goes_over_several_lines():
    """None of them is shown; what comes before and after it is, also where it has no end."""
    lines = ShownLines()
    assert [lines.shown(line) for line in ["a", *KEY, "b", *KEY, "c"]] == [
        *("a", "***", "***", "***", "***"),
        *("b", "***", "***", "***", "***"),
        "c",
    ]
    assert BODY not in lines.shown("key: " + "\\n".join(KEY))
    assert lines.shown("and then") == "and then"
    endless = [lines.shown(line) for line in [KEY[0], *["x"] * 2001]]
    assert endless[-2:] == ["***", "x"]


# CLAUDE_SYNC_LOG.


@pytest.fixture
def clean():
    """The logger is afterwards what it was before."""
    before = logger.handlers[:], logger.level
    yield
    logger.handlers[:], logger.level = before
    logging.getLogger("claude_sync").manager._clear_cache()


@pytest.fixture
def no_other_logging(monkeypatch):
    """As in a program that configures nothing; pytest has handlers of its own."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])


@each(
    ("level", "printed"),
    [(" DEBUG ", ["> something", "look"]), ("warning", ["look"]), (None, []), ("", [])],
)
def test_a_level_is_printed_to_stderr(level, printed, clean, no_other_logging, capsys):
    """Without any set-up: with the time and the thread."""
    logger.handlers.clear()
    log_to_stderr(level)
    logger.debug("> %s", "something")
    logger.warning("look")
    lines = capsys.readouterr().err.splitlines()
    assert (len(lines), bool(logger.handlers)) == (len(printed), bool(printed))
    for line, words in zip(lines, printed):
        assert re.fullmatch(rf"\d\d:\d\d:\d\d\.\d{{3}} MainThread {words}", line)


@each(
    ("level", "propagate", "own", "printed"),
    [
        # Where the program's own logging prints to stderr, on the root or here, it is enough.
        (logging.DEBUG, True, False, "once\n"),
        (logging.DEBUG, False, True, "once\n"),
        # What it hides, or is cut off from, is printed all the same.
        (logging.WARNING, True, False, " MainThread once\n"),
        (logging.DEBUG, False, False, " MainThread once\n"),
    ],
)
def test_a_line_is_printed_once(level, propagate, own, printed, clean, no_other_logging, capsys):
    """By this library or by the program's own logging."""
    root = logging.getLogger()
    other = logging.StreamHandler(sys.stderr)
    other.setLevel(level)
    log_to_stderr("debug")
    (logger if own else root).addHandler(other)
    logger.propagate = propagate
    try:
        logger.debug("once")
    finally:
        logger.propagate = True
        logger.handlers.clear()
        root.removeHandler(other)
    shown = capsys.readouterr().err
    assert shown.endswith(printed)
    assert shown.count("once") == 1


def test_without_a_console_nothing_fails(clean, no_other_logging, monkeypatch):
    """
    pythonw has no stderr, and others close theirs.

    What logs is a thread of the client, often: it must not end with stderr.
    """
    log_to_stderr("debug")
    (handler,) = logger.handlers
    tried, heard, closed = [], [], io.StringIO()
    closed.close()
    monkeypatch.setattr(handler, "handleError", tried.append)
    monkeypatch.setattr(handler, "filter", lambda record: heard.append(record) or True)
    for console in (None, closed):
        monkeypatch.setattr(sys, "stderr", console)
        logger.debug("unheard")
    assert (len(heard), tried) == (2, [])  # they came as far as the handler


class Broken(logging.Handler):
    """Logging of a program's that fails."""

    def emit(self, record):
        raise ValueError("I/O operation on closed file")


def test_logging_that_fails_ends_no_thread_of_a_client(clean):
    """A handler fails, the CLI dies: both are logged, in vain, and no thread waits forever."""
    logger.addHandler(Broken())

    def fail(text):
        raise RuntimeError("oops")

    def script(cli):
        cli.accept()
        cli.answer("Hello", prompt="hi")
        cli.begin_turn(cli.expect("user"))
        cli.hang_up(exit_code=1)

    cli = ScriptedCli(script)
    with claude_sync.Client(transport=cli, on_text=fail) as client:
        assert client.ask("hi", timeout=30) == "Hello"
        with pytest.raises(claude_sync.CliExited):
            client.ask("die", timeout=30)


# Who, how long, how often.


def test_a_turn_is_one_line_at_info(caplog, cli, greet):
    """Who, how long, for how much, with which tools; nothing that was said."""
    caplog.set_level(logging.INFO, "claude_sync")
    with claude_sync.Client(transport=cli, name="weather 100%") as client:
        greet(client, cli)
        turn = client.submit("a secret prompt")
        user = cli.expect("user")
        cli.begin_turn(user)
        for number in range(2):
            block = {
                "type": "tool_use",
                "id": f"t{number}",
                "name": "Bash",
                "input": {"a": "secret"},
            }
            cli.say(builders.assistant(block))
        cli.end_turn(user, "a secret answer", total_cost_usd=0.25)
        turn.result(PATIENCE)
        failing = client.submit("another")
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "overloaded", is_error=True, api_error_status=529)
        failing.exception(PATIENCE)
    lines = [record for record in caplog.records if record.levelno == logging.INFO]
    first, second = (record.getMessage() for record in lines)
    assert re.fullmatch(r"weather 100%: turn answered after \d+\.\d s, 0\.2500 USD, Bash 2", first)
    assert "turn failed (Overloaded)" in second
    assert {record.client for record in lines} == {"weather 100%"}


def test_a_handler_that_always_fails_is_counted(caplog):
    """In full the first time; then at each power of ten, and at the end."""
    pieces = [f"{number} " for number in range(150)]

    def script(cli):
        cli.accept()
        for user in cli.questions():
            cli.begin_turn(user)
            cli.speak("".join(pieces), pieces)
            cli.end_turn(user, "".join(pieces))

    def fail(event):
        raise ValueError("oops")

    with claude_sync.Client(
        transport=ScriptedCli(script), on_stream_event=fail, name="w"
    ) as client:
        client.ask("hi", timeout=PATIENCE)
    failures = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [bool(record.exc_info) for record in failures] == [True, False, False, False]
    assert [re.findall(r"(\d+) times", record.getMessage()) for record in failures[:3]] == [
        [],
        ["10"],
        ["100"],
    ]
    assert "times in all" in failures[3].getMessage()
    assert {record.client for record in failures} == {"w"}


def test_other_lines_name_no_client(caplog):
    """Outside of a client there is none; the record says so, for formats that ask."""
    logger.warning("alone")
    with Naming("weather"):
        logger.warning("100%")
        with Naming("other"):
            logger.warning("%d%%", 50)
        logger.warning("again")
    assert caplog.messages == ["alone", "weather: 100%", "other: 50%", "weather: again"]
    assert [record.client for record in caplog.records] == [None, "weather", "other", "weather"]


def test_the_variable_works_in_a_program(tmp_path):
    """Both directions and the state are printed; no key is, neither from stderr."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CLAUDE_SYNC_LOG": "debug"}
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "echo: hi *** there\n".replace("***", SECRET))
    for words in (
        'claude-1: > {"type":"user"',
        "claude-1: < {",
        '"type":"result"',
        "claude-1: ready",
        "< stderr: ***",
    ):
        assert words in done.stderr
    assert SECRET not in done.stderr
    assert BODY not in done.stderr


SECRET = "sk-ant-api03-" + "Zx9" * 10
PROGRAM = f"""
import claude_sync
from claude_sync.testing import StandIn

def says_a_key(cli):
    from claude_sync.testing.offline import echo
    for line in {KEY!r}:
        cli.print_error(line)
    echo(cli)

if __name__ == "__main__":
    print(claude_sync.ask("hi {SECRET} there", cli=StandIn(says_a_key).command, timeout=90))
"""
