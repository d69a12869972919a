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

import claude_sync
from claude_sync.log import (
    LONGEST_PAYLOAD,
    MOST_KEY_LINES,
    Naming,
    ShownLines,
    log_received,
    log_to_stderr,
    logger,
    shortened,
)
from claude_sync.testing import ScriptedCli, builders

ROOT = Path(claude_sync.__file__).parent.parent


def test_there_is_one_logger_by_name():
    """Programs configure it by the name of the package."""
    assert logger is logging.getLogger("claude_sync")


def test_warnings_reach_people_who_configured_nothing():
    """No handler and no level of our own: Python's last resort prints warnings, the rest not."""
    assert logger.handlers == []
    assert logger.level == logging.NOTSET
    assert logger.propagate


@pytest.mark.parametrize("data", [b'{"a": 1}\n', '{"a": 1}\n'])
def test_a_short_payload_is_shown_whole(data):
    """Bytes and texts are shown alike, without the line end."""
    assert shortened(data) == '{"a": 1}'


def test_a_long_payload_is_cut():
    """However long a payload is, its line is short and says that more was there."""
    shown = shortened("x" * 1_000_000)
    assert shown == "x" * LONGEST_PAYLOAD + " ..."


@pytest.mark.parametrize("data", ['{"apiKey": "hunter2"}', b"Authorization: Bearer hunter2"])
def test_credentials_are_hidden(data):
    """What looks like a credential does not get into the log."""
    assert "hunter2" not in shortened(data)


def test_a_credential_across_the_cut_is_hidden():
    """A secret that the cut goes through is hidden before it is cut."""
    text = "x" * (LONGEST_PAYLOAD - 10) + ' "token": "' + "s3cret" * 100 + '"'
    assert "s3cret" not in shortened(text)


def test_broken_utf8_is_shown_all_the_same():
    """Bytes that are no text do not raise."""
    assert shortened(b"a\xff\xfeb") == "a��b"


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
    """None of them is shown; what comes before and after it is."""
    lines = ShownLines()
    assert [lines.shown(line) for line in ["a", *KEY, "b", *KEY, "c"]] == [
        *("a", "***", "***", "***", "***"),
        *("b", "***", "***", "***", "***"),
        "c",
    ]


def test_a_key_in_one_line_hides_that_line_only():
    """A key with escaped line ends; the next line is shown."""
    lines = ShownLines()
    assert BODY not in lines.shown("key: " + "\\n".join(KEY))
    assert lines.shown("and then") == "and then"


def test_a_key_without_an_end_has_one():
    """A remark about keys does not hide the rest of the log."""
    lines = ShownLines()
    shown = [lines.shown(line) for line in [KEY[0], *["x"] * (MOST_KEY_LINES + 1)]]
    assert shown[-2:] == ["***", "x"]


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


@pytest.mark.parametrize("level", ["debug", "DEBUG", " debug "])
def test_a_level_is_printed_to_stderr(level, clean, no_other_logging, capsys):
    """Without any set-up: with the time and the thread."""
    log_to_stderr(level)
    logger.debug("> %s", "something")
    printed = capsys.readouterr().err
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} MainThread > something\n", printed)


def test_what_is_below_the_level_is_not(clean, no_other_logging, capsys):
    """CLAUDE_SYNC_LOG=warning is what everybody gets."""
    log_to_stderr("warning")
    logger.info("no")
    logger.warning("yes")
    assert capsys.readouterr().err.endswith("MainThread yes\n")


@pytest.mark.parametrize("level", [None, ""])
def test_without_the_variable_nothing_changes(level, clean):
    """No handler, no level."""
    log_to_stderr(level)
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)


def test_a_wrong_level_is_told(clean, caplog):
    """And changes nothing."""
    log_to_stderr("loud")
    assert "CLAUDE_SYNC_LOG='loud' is not a level. Use one of: debug, info" in caplog.text
    assert logger.handlers == []


def test_nothing_is_printed_twice(clean, no_other_logging, capsys):
    """Where the program's own logging prints to stderr, that is enough."""
    log_to_stderr("debug")
    logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))
    logger.debug("once")
    assert capsys.readouterr().err == "once\n"


def test_other_logging_that_hides_it_does_not_count(clean, no_other_logging, capsys):
    """What the program's own handler is too quiet for is printed all the same."""
    log_to_stderr("debug")
    other = logging.StreamHandler(sys.stderr)
    other.setLevel(logging.WARNING)
    logging.getLogger().addHandler(other)
    logger.debug("hidden there")
    logger.warning("shown there")
    hidden, shown = capsys.readouterr().err.splitlines()
    assert hidden.endswith("MainThread hidden there")
    assert shown == "shown there"


def test_other_logging_that_is_cut_off_does_not_count(clean, no_other_logging, capsys, monkeypatch):
    """The root prints nothing of a logger that does not propagate."""
    log_to_stderr("debug")
    logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))
    monkeypatch.setattr(logger, "propagate", False)
    logger.debug("here")
    assert capsys.readouterr().err.endswith("MainThread here\n")


def test_a_handler_of_its_own_counts(clean, no_other_logging, capsys):
    """A program may add one to this logger, and nothing is printed twice then, either."""
    log_to_stderr("debug")
    logger.addHandler(logging.StreamHandler(sys.stderr))
    logger.debug("once")
    assert capsys.readouterr().err == "once\n"


def closed_console():
    """A stream that was closed."""
    console = io.StringIO()
    console.close()
    return console


@pytest.mark.parametrize("console", [None, closed_console()], ids=["none", "closed"])
def test_without_a_console_nothing_fails(clean, no_other_logging, monkeypatch, console):
    """
    pythonw has no stderr, and others close theirs.

    What logs is a thread of the client, often: it must not end with stderr.
    """
    log_to_stderr("debug")
    (handler,) = logger.handlers
    tried = []
    monkeypatch.setattr(handler, "handleError", tried.append)
    heard = []
    monkeypatch.setattr(handler, "filter", lambda record: heard.append(record) or True)
    monkeypatch.setattr(sys, "stderr", console)
    logger.debug("unheard")
    assert len(heard) == 1  # it came as far as the handler
    assert tried == []


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


def test_a_record_of_another_process_is_named_already():
    """A listener hands it to the logger as it is."""
    record = logging.makeLogRecord({"msg": "weather: hi", "client": "weather"})
    assert logger.filter(record)
    assert record.getMessage() == "weather: hi"


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
        'claude-1: < {"type":"result"',
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
