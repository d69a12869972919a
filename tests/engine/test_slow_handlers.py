"""Slow handlers and requests without an answer are told of, once; nothing else is."""

from __future__ import annotations

import logging
import threading

import pytest
from patience import PATIENCE, deadlines_pass, wait_until

from claude_sync import LATER, Client
from claude_sync.engine import calling
from claude_sync.engine.requests import serving as requests
from claude_sync.testing import ScriptedCli, builders
from claude_sync.testing.offline import echo

# So quick that a test need not wait, so slow that the clock moves on.
QUICK = 0.05
# A delay that no other timer has.
LONG = 1234.5


class Warnings(logging.Handler):
    """What is warned of; some of it can be waited for."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []
        self.came = threading.Event()

    def emit(self, record):
        self.texts.append(record.getMessage())
        self.came.set()


@pytest.fixture
def warnings():
    """What is logged from here on."""
    handler = Warnings()
    logger = logging.getLogger("claude_sync")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture
def impatient(monkeypatch):
    """Everything is slow."""
    monkeypatch.setattr(calling, "SLOW", QUICK)
    monkeypatch.setattr(requests, "UNANSWERED", QUICK)


@pytest.fixture
def client(impatient):
    """A client of the offline CLI."""
    with Client(transport=lambda: ScriptedCli(echo)) as client:
        yield client


def test_a_slow_handler_is_told_of_while_it_runs(client, warnings):
    """With its name and the line at which it is, once; also one that never returns."""
    inside, leave = threading.Event(), threading.Event()

    def dawdle(text):
        inside.set()
        assert leave.wait(PATIENCE)

    client.on_text(dawdle)
    turn = client.submit("hi")
    assert warnings.came.wait(PATIENCE)
    leave.set()
    assert turn.result(PATIENCE) == "echo: hi"
    (text,) = warnings.texts
    assert "dawdle has been running for more than 0.05 s, at " in text
    assert "threading.py:" in text
    # Once for each handler: the second time it is known.
    inside.clear()
    leave.clear()
    seen = threading.Event()

    def another(text):
        dawdle(text)
        seen.set()

    client.off(dawdle)
    client.on_text(dawdle)
    client.on_text(another)
    turn = client.submit("hi")
    assert inside.wait(PATIENCE)
    deadlines_pass(client, 4 * QUICK)
    leave.set()
    assert turn.result(PATIENCE) == "echo: hi"
    assert seen.is_set()
    assert [text for text in warnings.texts if ".dawdle has" in text] == warnings.texts[:1]


def test_many_quick_calls_are_not_slow(client, warnings, monkeypatch):
    """A handler that is seen twice is slow only if it is still busy with the same event."""
    dispatch = client._session.dispatch
    client.start(PATIENCE)
    monkeypatch.setattr(client._session.timers, "after", lambda delay, callback: None)
    monkeypatch.setattr(dispatch, "_since", 0.0)
    for call in ((print, "one"), (print, "two"), (len, "two"), (None, "two"), (print, "two")):
        dispatch._handler, dispatch._event = call
        dispatch._look()
    assert warnings.texts == []
    dispatch._look()
    assert "print has been running" in warnings.texts[0]


def test_a_permission_may_take_as_long_as_a_person(client, warnings):
    """It runs on a thread of its own and holds up nothing else."""
    asked = threading.Event()

    @client.on_permission
    def decide(request):
        asked.set()
        deadlines_pass(client, 4 * QUICK)
        return request.deny("no")

    client.ask('[[tool Write {"file_path": "x"}]]', timeout=PATIENCE)
    assert asked.is_set()
    assert warnings.texts == []


def test_a_request_that_nobody_answers_is_told_of_once(client, warnings):
    """LATER is a promise; the warning says what waits and what would end it."""
    asked = []
    client.on_permission(lambda request: asked.append(request) or LATER)
    turn = client.submit('[[tool Write {"file_path": "x"}]]')
    assert warnings.came.wait(PATIENCE)
    asked[0].deny("no")
    turn.result(PATIENCE)
    (text,) = warnings.texts
    assert "can_use_tool Write has waited 0.05 s" in text
    assert "permission_timeout=" in text
    turn = client.submit('[[tool Bash {"command": "x"}]]')
    wait_until(lambda: len(asked) == 2)
    deadlines_pass(client, 4 * QUICK)
    asked[1].deny("no")
    turn.result(PATIENCE)
    assert len(warnings.texts) == 1


def test_several_requests_that_nobody_answers_are_told_of_once(impatient, warnings):
    """Also if they wait at the same time."""
    asks = [builders.can_use_tool("Write", {"file_path": name}) for name in ("x", "y")]

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(*asks)
        cli.expect("control_response")
        cli.expect("control_response")
        cli.end_turn(user, "done")

    asked = []
    with Client(transport=ScriptedCli(script)) as client:
        client.on_permission(lambda request: asked.append(request) or LATER)
        turn = client.submit("hi")
        wait_until(lambda: len(asked) == 2)
        assert warnings.came.wait(PATIENCE)
        deadlines_pass(client, 4 * QUICK)
        for request in asked:
            request.deny("no")
        assert turn.result(PATIENCE) == "done"
    assert len(warnings.texts) == 1


def test_a_request_with_a_limit_of_its_own_keeps_it(impatient, warnings):
    """permission_timeout= denies it, and says so: that is enough."""
    with Client(transport=lambda: ScriptedCli(echo), permission_timeout=6 * QUICK) as client:
        client.on_permission(lambda request: LATER)
        client.ask('[[tool Write {"file_path": "x"}]]', timeout=PATIENCE)
    (text,) = warnings.texts
    assert "no answer came within 0.3 s; denied" in text


def test_a_request_that_is_answered_in_time_is_not(client, warnings, monkeypatch):
    """Neither is one that is answered by the handler."""
    monkeypatch.setattr(requests, "UNANSWERED", LONG)
    deadlines = []
    original = client._session.timers.after

    def after(delay, callback):
        timer = original(delay, callback)
        if delay == LONG:
            deadlines.append(timer)
        return timer

    monkeypatch.setattr(client._session.timers, "after", after)
    asked = []
    client.on_permission(lambda request: request.deny("no"))
    client.ask('[[tool Write {"file_path": "x"}]]', timeout=60)
    assert deadlines == []
    client.off(next(iter(client._registry.of["permission"])))
    answered = client.on_permission(lambda request: asked.append(request) or LATER)
    turn = client.submit('[[tool Write {"file_path": "x"}]]')
    wait_until(lambda: deadlines)
    asked[0].deny("no")
    turn.result(PATIENCE)
    assert [timer.is_cancelled() for timer in deadlines] == [True]
    assert answered is not None
    assert warnings.texts == []


def test_nobody_is_watched_while_nothing_happens(client):
    """A client that is idle has no deadline that comes again and again."""
    client.on_text(len)
    client.ask("hi", timeout=PATIENCE)
    dispatch = client._session.dispatch
    wait_until(lambda: not dispatch._is_watched)
    assert dispatch._look not in [timer._callback for *_, timer in client._session.timers._heap]


def test_what_runs_on_threads_of_the_program_is_not_watched(impatient, warnings):
    """post="caller": whoever waits delivers, and sees by himself what takes long."""
    with Client(transport=lambda: ScriptedCli(echo), post="caller") as client:
        client.on_result(lambda result: threading.Event().wait(6 * QUICK))
        client.ask("hi", timeout=PATIENCE)
        assert client.stats().delivery_seconds >= QUICK
    assert warnings.texts == []
