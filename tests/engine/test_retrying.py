"""Tries of the CLI's own are told: once for each series, however the client listens."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE

from claude_sync import ApiRetry, Client
from claude_sync.engine.stopping import count_of, what_happened
from claude_sync.log import logger
from claude_sync.testing import ScriptedCli, builders

BUSY = "the service answered 529 (overloaded): the CLI retries, 1 of 10"
LOST = "the service could not be reached, or the connection broke: the CLI retries"


def retry(attempt, status=529, error="overloaded", **fields):
    """What the CLI says before it tries again."""
    fields = {"max_retries": 10, "retry_delay_ms": 500, **fields}
    return builders.system("api_retry", attempt=attempt, error_status=status, error=error, **fields)


def warnings_of(caplog):
    """What was logged for people, without the client's name."""
    records = [record for record in caplog.records if record.levelname == "WARNING"]
    return [record.getMessage().removeprefix(f"{record.client}: ") for record in records]


def play(series, **options):
    """A client that asks once for each list of messages in *series*."""

    def script(cli):
        cli.accept()
        for messages in series:
            user = cli.expect("user")
            cli.begin_turn(user)
            cli.say(*messages)
            cli.end_turn(user, "at last")
        cli.expect_end(patience=PATIENCE)

    with Client(transport=ScriptedCli(script), **options) as client:
        for _ in series:
            assert client.ask("hi", timeout=PATIENCE) == "at last"


def inline(call):
    """Somebody else's thread that is this one."""
    call()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"on_text": print},
        {"on_system": print},
        {"post": "manual"},
        {"post": "caller"},
        {"post": inline},
        {"post": inline, "on_message": print},
    ],
    ids=["unheard", "text", "system", "manual", "caller", "posted", "posted and heard"],
)
def test_a_series_is_told_once(caplog, options):
    """Whoever delivers it, and whether or not anybody has handlers."""
    play([[retry(1), retry(2), retry(3)]], **options)
    assert warnings_of(caplog) == [BUSY]


def test_it_is_told_while_the_cli_still_tries(monkeypatch):
    """Not with the result: that may take minutes."""
    told = threading.Event()

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(retry(1))
        assert told.wait(PATIENCE)
        cli.end_turn(user, "at last")
        cli.expect_end(patience=PATIENCE)

    monkeypatch.setattr(logger, "warning", lambda *words: told.set())
    with Client(transport=ScriptedCli(script)) as client:
        assert client.ask("hi", timeout=PATIENCE) == "at last"


def test_another_kind_of_error_is_told_too(caplog):
    """But none of them twice."""
    mixed = [retry(1), retry(2), retry(3, None, "unknown"), retry(4), retry(5, None, "unknown")]
    play([mixed])
    assert warnings_of(caplog) == [BUSY, f"{LOST}, 3 of 10"]


def test_the_next_series_is_told_again(caplog):
    """In another turn, or in the same one after a tool."""
    play([[retry(1), retry(2)], [retry(1), retry(1), retry(2)]])
    assert warnings_of(caplog) == [BUSY, BUSY, BUSY]


def test_other_messages_are_no_tries(caplog):
    """Nothing is logged of what goes well."""
    play([[builders.system("status", status="compacting"), builders.assistant("Hello")]])
    assert warnings_of(caplog) == []


def test_secrets_are_not_told(caplog):
    """Some word of a proxy may repeat the key; nor can it begin a line."""
    key = "sk-ant-api03-" + "abcdef0123456789" * 4
    play([[retry(1, 401, f"bad key\n{key}")]])
    (told,) = warnings_of(caplog)
    assert told.startswith("the service answered 401 (bad key ")
    assert "abcdef" not in told and "\n" not in told


@pytest.mark.parametrize(
    ("status", "error", "words", "with_reason"),
    [
        (401, "authentication_failed", "the service answered 401", " (authentication_failed)"),
        (500, "unknown", "the service answered 500", ""),
        (500, None, "the service answered 500", ""),
        (None, None, LOST.partition(":")[0], ""),
        (None, "unknown", LOST.partition(":")[0], ""),
        (None, "overloaded", "the service failed", " (overloaded)"),
    ],
)
def test_what_happened_in_words(status, error, words, with_reason):
    """Without a status there was none: that is said, too."""
    told = ApiRetry("api_retry", 1, 10, 500.0, status, error)
    assert what_happened(told) == words
    assert what_happened(told, with_reason=True) == words + with_reason


@pytest.mark.parametrize(
    ("attempt", "most", "words"), [(2, 10, "2 of 10"), (2, 0, "attempt 2"), (0, 10, ""), (0, 0, "")]
)
def test_the_count_is_told_where_the_cli_tells(attempt, most, words):
    """Or there is none."""
    assert count_of(ApiRetry("api_retry", attempt, most, None, 529, None)) == words


def test_a_try_without_a_number_is_told(caplog):
    """Once, as the others."""
    play([[retry(None, max_retries=None), retry(None, max_retries=None)]])
    assert warnings_of(caplog) == [BUSY.partition(",")[0]]
