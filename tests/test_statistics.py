"""client.stats(): what a client has done, in numbers."""

from __future__ import annotations

import json
import os
import threading

import pytest
from patience import PATIENCE, wait_until

from claude_sync import Client, Statistics
from claude_sync.testing import ScriptedCli, StandIn
from claude_sync.testing.offline import echo


@pytest.fixture
def client():
    """A client of the offline CLI."""
    with Client(transport=lambda: ScriptedCli(echo)) as client:
        yield client


def test_a_client_that_did_nothing():
    """Zeros."""
    stats = Client().stats()
    assert stats == Statistics(0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0)
    assert stats.reconnects == 0


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
    # The handler may begin before whoever called it has put the item aside.
    wait_until(lambda: not client.stats().items_waiting)
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


def test_restarts_are_counted():
    """Each CLI that was started, and how many of them were started again; counts go on."""
    with Client(cli=StandIn().command) as client:
        client.ask("one", timeout=PATIENCE)
        before = client.stats()
        os.kill(client.pid, 9)
        while client.state != "crashed":
            threading.Event().wait(0.005)
        client.ask("two", timeout=PATIENCE)
        stats = client.stats()
    assert (stats.starts, stats.reconnects) == (2, 1)
    assert stats.messages_received > before.messages_received > 0
    assert stats.bytes_sent > before.bytes_sent > 0
