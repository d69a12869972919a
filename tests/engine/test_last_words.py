"""Why a CLI has ended, as an error."""

from types import SimpleNamespace

import pytest

from claude_sync import CliDidNotStart, ClientClosed, CliExited, UnsupportedByCli, UsageError
from claude_sync.engine.connection import error_at_the_end


def connection_with(**given):
    """What an ended connection knows."""
    settings = {
        "stderr_tail": [],
        "schema": None,
        "was_ready": True,
        "refusal": None,
        "ended_because": None,
        "cli_version": None,
        "transport": SimpleNamespace(argv=("claude",)),
    }
    return SimpleNamespace(**{**settings, **given})


@pytest.mark.parametrize(
    ("given", "error_class", "words"),
    [
        ({}, CliExited, "the CLI exited"),
        ({"was_ready": False}, CliDidNotStart, "before it was ready"),
        ({"was_ready": False, "refusal": "no such agent"}, CliDidNotStart, "no such agent"),
        ({"ended_because": "it was silent"}, CliExited, "ended because it was silent"),
        ({"closing": True}, ClientClosed, "closed during"),
    ],
)
def test_each_way_to_end(given, error_class, words):
    """The class and the words say how far it got and who ended it."""
    closing = given.pop("closing", False)
    error = error_at_the_end(connection_with(**given), 3, None, closing)
    assert type(error) is error_class
    assert words in str(error)


def test_what_could_not_be_read_is_the_cause():
    """The first cause is kept."""
    cause = OSError("bad pipe")
    error = error_at_the_end(connection_with(), None, cause, False)
    assert error.__cause__ is cause
    assert "bad pipe" in str(error)


def test_its_last_words_come_without_secrets():
    """Standard error may hold keys."""
    said = ["boom", "key sk-ant-api03-abcdef"]
    error = error_at_the_end(connection_with(stderr_tail=said), 1, None, False)
    assert "boom" in str(error)
    assert "abcdef" not in str(error)


def test_a_key_of_many_lines_is_not_in_its_last_words():
    """No line of it by itself looks like one."""
    said = [
        "boom",
        "-----BEGIN PRIVATE KEY-----",
        "MIIabc",
        "abc",
        "-----END PRIVATE KEY-----",
        "e",
    ]
    error = error_at_the_end(connection_with(stderr_tail=said), 1, None, False)
    assert error.stderr_tail == ("boom", "***", "e")


FORM = {"type": "object"}
UNKNOWN = "error: unknown option '--json-schema={}'"
BAD = "Error: --json-schema is not a valid JSON Schema: strict mode: unknown keyword"


@pytest.mark.parametrize(
    ("given", "error_class"),
    [
        ({"schema": FORM, "stderr_tail": [UNKNOWN], "was_ready": False}, UnsupportedByCli),
        ({"schema": FORM, "stderr_tail": [BAD], "was_ready": False}, UsageError),
        ({"schema": None, "stderr_tail": [UNKNOWN], "was_ready": False}, CliDidNotStart),
        ({"schema": FORM, "stderr_tail": [UNKNOWN], "was_ready": True}, CliExited),
        ({"schema": FORM, "stderr_tail": ["other"], "was_ready": False}, CliDidNotStart),
    ],
)
def test_a_form_it_does_not_take(given, error_class):
    """Only a CLI that was given a form, and did not start, can have refused it."""
    error = error_at_the_end(connection_with(cli_version="2.0.30", **given), 1, None, False)
    assert type(error) is error_class
    if error_class is UsageError:
        assert "unknown keyword" in str(error)
