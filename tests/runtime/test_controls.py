"""Requests of control methods: remembered in the order of the replies, and said again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from claude_sync import Client, UnsupportedByCli
from claude_sync.runtime.controls import Repetition, controls_of
from claude_sync.testing import ScriptedCli

PATIENCE = 10


@pytest.fixture
def cli():
    """A CLI in memory."""
    cli = ScriptedCli()
    yield cli
    cli.assert_done()


@pytest.fixture
def pool():
    """Threads for calls that block."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def client(cli, pool):
    """A client of it that is ready."""
    with Client(transport=cli) as client:
        starting = pool.submit(client.start)
        cli.accept()
        starting.result(PATIENCE)
        yield client


def test_there_is_one_for_each_engine(client):
    """It is made at first use."""
    assert client._engine.lifecycle.controls is None
    controls = controls_of(client._engine)
    assert controls_of(client._engine) is controls is client._engine.lifecycle.controls


def test_the_last_reply_counts(client, cli, pool):
    """Of two changes at once, the one that the CLI accepted last is kept."""
    first = pool.submit(client.set_model, "opus")
    asked = cli.expect("control_request", model="opus")
    second = pool.submit(client.set_model, "haiku")
    cli.reply(cli.expect("control_request", model="haiku"))
    second.result(PATIENCE)
    cli.reply(asked)
    first.result(PATIENCE)
    assert client._engine.lifecycle.model == "opus"


def test_the_mode_is_what_the_cli_calls_it(client, cli, pool):
    """A mode that has another name in the CLI goes by that after a restart."""
    for told, kept in ({"mode": "acceptEdits"}, "acceptEdits"), ({"mode": 7}, "plan"):
        calling = pool.submit(client.set_permission_mode, "plan")
        cli.reply(cli.expect("control_request"), **told)
        calling.result(PATIENCE)
        assert client._engine.lifecycle.permission_mode == kept


def test_a_known_version_is_compared(pool):
    """A CLI that told that it is too old is sent nothing."""
    cli = ScriptedCli(version="2.1.14")
    with Client(transport=cli) as client:
        calling = pool.submit(client.mcp_reconnect, "a")
        cli.accept()
        with pytest.raises(UnsupportedByCli, match=r"2\.1\.14.*mcp_reconnect\(\)"):
            calling.result(PATIENCE)
    cli.assert_done()


class Recorder:
    """A connection and its engine, as far as a repetition needs them."""

    def __init__(self, start_timeout=60.0):
        self.options = self.timers = self.responders = self
        self.start_timeout = start_timeout
        self.ended = False
        self.replies = {}
        self.after_calls = []
        self.went_on = []

    def after(self, delay, callback):
        self.after_calls.append((delay, callback))

    def run(self, callback):
        callback()

    def request(self, subtype, fields, on_reply):
        self.replies[subtype] = on_reply

    def repeat(self, *subtypes):
        requests = {subtype: {} for subtype in subtypes}
        Repetition(self, self, self.went_on.append).run(requests)


class Accepted:
    """A reply."""

    error = None


def test_a_repetition_goes_on_when_all_is_answered():
    """Once, and not again when time is up."""
    recorder = Recorder()
    recorder.repeat("one", "two")
    recorder.replies["two"](Accepted)
    assert recorder.went_on == []
    recorder.replies["one"](Accepted)
    assert recorder.went_on == [recorder]
    recorder.after_calls[0][1]()
    assert recorder.went_on == [recorder]


def test_a_repetition_of_nothing_goes_on_at_once():
    """There is nothing to wait for."""
    recorder = Recorder()
    recorder.repeat()
    assert (recorder.went_on, recorder.after_calls) == ([recorder], [])


@pytest.mark.parametrize(("start_timeout", "longest"), [(None, 10), (60.0, 10), (4.0, 2)])
def test_a_repetition_ends_before_the_start_counts_as_failed(start_timeout, longest):
    """It takes half of start_timeout at most."""
    recorder = Recorder(start_timeout)
    recorder.repeat("one")
    assert recorder.after_calls[0][0] == pytest.approx(longest, rel=0.1)


def test_a_repetition_for_a_cli_that_has_ended():
    """Nothing goes on there: its end is noticed elsewhere."""
    recorder = Recorder()
    recorder.repeat("one")
    recorder.ended = True
    recorder.after_calls[0][1]()
    assert recorder.went_on == []
