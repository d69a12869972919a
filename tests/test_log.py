"""The one logger: silent by default, short lines, no credentials."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import claude_sync
from claude_sync.log import (
    LONGEST_PAYLOAD,
    MOST_KEY_LINES,
    ShownLines,
    log_received,
    log_to_stderr,
    logger,
    shortened,
)
from claude_sync.testing import ScriptedCli

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
    logger.info("= no")
    logger.warning("! yes")
    assert capsys.readouterr().err.endswith("MainThread ! yes\n")


@pytest.mark.parametrize("level", [None, ""])
def test_without_the_variable_nothing_changes(level, clean):
    """No handler, no level."""
    log_to_stderr(level)
    assert (logger.handlers, logger.level) == ([], logging.NOTSET)


def test_a_wrong_level_is_told(clean, caplog):
    """And changes nothing."""
    log_to_stderr("loud")
    assert "CLAUDE_SYNC_LOG='loud' is no level. Use one of: debug, info" in caplog.text
    assert logger.handlers == []


def test_nothing_is_printed_twice(clean, no_other_logging, capsys):
    """Where the program's own logging prints to stderr, that is enough."""
    log_to_stderr("debug")
    logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))
    logger.debug("= once")
    assert capsys.readouterr().err == "= once\n"


def test_other_logging_that_hides_it_does_not_count(clean, no_other_logging, capsys):
    """What the program's own handler is too quiet for is printed all the same."""
    log_to_stderr("debug")
    other = logging.StreamHandler(sys.stderr)
    other.setLevel(logging.WARNING)
    logging.getLogger().addHandler(other)
    logger.debug("= hidden there")
    logger.warning("! shown there")
    hidden, shown = capsys.readouterr().err.splitlines()
    assert hidden.endswith("MainThread = hidden there")
    assert shown == "! shown there"


def test_other_logging_that_is_cut_off_does_not_count(clean, no_other_logging, capsys, monkeypatch):
    """The root prints nothing of a logger that does not propagate."""
    log_to_stderr("debug")
    logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))
    monkeypatch.setattr(logger, "propagate", False)
    logger.debug("= here")
    assert capsys.readouterr().err.endswith("MainThread = here\n")


def test_a_handler_of_its_own_counts(clean, no_other_logging, capsys):
    """A program may add one to this logger, and nothing is printed twice then, either."""
    log_to_stderr("debug")
    logger.addHandler(logging.StreamHandler(sys.stderr))
    logger.debug("= once")
    assert capsys.readouterr().err == "= once\n"


def test_a_closed_console_harms_nobody(clean, no_other_logging, monkeypatch):
    """What logs is a thread of the client, often: it must not end with stderr."""
    log_to_stderr("debug")
    console = io.StringIO()
    console.close()
    monkeypatch.setattr(sys, "stderr", console)
    logger.debug("= nobody hears this")


def test_without_a_console_nothing_is_printed(clean, no_other_logging, monkeypatch):
    """pythonw has no stderr; logging must not fail there."""
    log_to_stderr("debug")
    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logger.debug("= nobody hears this")


class Broken(logging.Handler):
    """Logging of a program's that fails."""

    def emit(self, record):
        raise ValueError("I/O operation on closed file")


def test_logging_that_fails_ends_no_thread_of_a_client(clean):
    """A handler fails, the CLI dies: both are logged, in vain, and nobody waits for ever."""
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
    for words in ('> {"type":"user"', '< {"type":"result"', "= claude-1 is ready", "< stderr: ***"):
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
