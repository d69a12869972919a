"""client.stats(): what a client has done, in numbers."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import claude_sync
from claude_sync import Client
from claude_sync.runtime.calling import Calling
from claude_sync.runtime.frames import Frames
from claude_sync.statistics import HandlerTime, Statistics
from claude_sync.testing import ScriptedCli, StandIn
from claude_sync.testing.offline import echo

PATIENCE = 30.0


@pytest.fixture
def client():
    """A client of the offline CLI."""
    with Client(transport=lambda: ScriptedCli(echo)) as client:
        yield client


def test_a_client_that_did_nothing():
    """Zeros, and no handler."""
    stats = Client().stats()
    assert stats == Statistics(0, 0, 0, 0, 0, 0, 0, 0, 0.0, {}, 0)
    assert (stats.reconnects, stats.slowest_handler) == (0, None)


def test_what_went_both_ways(tmp_path):
    """Each message and each byte, as a recording of the same has them."""
    path = tmp_path / "wire.jsonl"
    heard = []

    class Counting(ScriptedCli):
        """Counts by itself."""

        def read(self):
            data = super().read()
            heard.append(data)
            return data

    with Client(transport=lambda: Counting(echo), record=path) as client:
        client.ask("hi", timeout=PATIENCE)
        client.wait_idle(PATIENCE)
        client.set_model("opus")
    stats = client.stats()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert stats.messages_sent == len([each for each in records if each["dir"] == "in"]) == 3
    assert stats.messages_received == b"".join(heard).count(b"\n") > 10
    assert stats.bytes_received == len(b"".join(heard)) > 1000
    assert stats.bytes_sent > 100


def test_what_waits(client):
    """Questions that were not sent, requests that were not answered, what was not delivered."""
    asked, begun, leave = threading.Event(), threading.Event(), threading.Event()

    @client.on_permission
    def decide(request):
        asked.set()
        assert leave.wait(PATIENCE)
        return request.deny("no")

    first = client.submit('[[tool Write {"file_path": "x"}]]')
    second = client.submit("two")
    assert asked.wait(PATIENCE)
    stats = client.stats()
    assert (stats.questions_waiting, stats.requests_open, stats.items_waiting) == (1, 1, 0)
    client.on_text(lambda text: begun.set() or leave.wait(PATIENCE))
    client.off(decide)
    leave.set()
    first.result(PATIENCE), second.result(PATIENCE)
    begun.clear(), leave.clear()
    third = client.submit("[[deltas 200]]")
    assert begun.wait(PATIENCE)
    stats = client.stats()
    assert stats.items_waiting >= 1
    leave.set()
    third.result(PATIENCE)
    stats = client.stats()
    assert (stats.questions_waiting, stats.requests_open, stats.items_waiting) == (0, 0, 0)


def test_handlers_are_timed_from_the_first_call_on(client):
    """By name; the one with the longest call is the slowest, whatever the others add up to."""

    def quick(text):
        pass

    def slow(result):
        threading.Event().wait(0.05)

    client.on_text(quick)
    client.on_result(slow)
    client.ask("hi", timeout=PATIENCE)
    assert client.stats().handlers == {}
    client.ask("one two three", timeout=PATIENCE)
    stats = client.stats()
    slowest = stats.slowest_handler
    assert slowest is not None
    assert slowest.name.endswith("slow")
    assert (slowest.calls, slowest.seconds) == (1, slowest.longest)
    assert slowest.longest >= 0.05
    (other,) = [each for name, each in stats.handlers.items() if name.endswith("quick")]
    assert isinstance(other, HandlerTime)
    assert other.calls >= 1
    assert other.longest <= other.seconds < slowest.seconds
    assert stats.delivery_seconds >= slowest.seconds


def test_nobody_pays_before_that(client):
    """Until somebody asks, the function that calls handlers is the plain one."""
    client.ask("hi", timeout=PATIENCE)
    assert client._engine.dispatcher.call.__func__ is Calling.call
    client.stats()
    assert client._engine.dispatcher.call.__func__ is not Calling.call


def test_a_handler_that_fails_is_timed_too(client, caplog):
    """And is reported as ever."""
    client.stats()

    @client.on_result
    def fails(result):
        raise ValueError("oh")

    assert client.ask("hi", timeout=PATIENCE) == "echo: hi"
    assert [each.calls for each in client.stats().handlers.values()] == [1]
    assert "oh" in caplog.text


def test_calls_in_a_window_are_timed_where_they_run():
    """The time of a handler is not that of handing it over."""
    woken = threading.Event()
    frames = Frames(woken.set)
    with Client(transport=lambda: ScriptedCli(echo)) as client:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(client.start).result(PATIENCE)
        client._post_through(frames)
        client.stats()
        client.on_result(lambda result: threading.Event().wait(0.05))
        turn = client.submit("hi")
        while not turn.done():
            assert woken.wait(PATIENCE)
            woken.clear()
            if frames.run():
                woken.set()
        slowest = client.stats().slowest_handler
        assert slowest is not None
        assert slowest.longest >= 0.05
        assert slowest.calls == 1


def test_restarts_are_counted():
    """Each CLI that was started, and how many of them were started again."""

    with Client(cli=StandIn().command) as client:
        client.ask("one", timeout=PATIENCE)
        os.kill(client.pid, 9)
        while client.state != "crashed":
            threading.Event().wait(0.005)
        client.ask("two", timeout=PATIENCE)
        stats = client.stats()
    assert (stats.starts, stats.reconnects) == (2, 1)


def test_the_names_are_public():
    """For annotations."""
    assert claude_sync.Statistics is Statistics
    assert claude_sync.HandlerTime is HandlerTime
