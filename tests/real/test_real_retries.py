"""Questions that are asked again after an overload, a used-up limit, or a crash."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

import claude_sync
from claude_sync.testing.model import failure, text, tool_use


@pytest.fixture
def recovering(client_of, model, home):
    """A client whose service fails until the first turn has failed."""
    recovered = threading.Event()
    results = []

    def heard(result):
        results.append(result)
        recovered.set()

    client = client_of(retries=2, env=model.environment(home, retries=1), on_result=heard)
    client.results, client.recovered = results, recovered
    return client


@pytest.mark.parametrize("status", [529, pytest.param(429, marks=pytest.mark.everything)])
def test_a_busy_service_is_asked_again(recovering, model, status):
    """One ask(), two turns, one answer; both turns are paid for, and nothing is said twice."""
    words = f"be busy with {status}"
    model.when(words).reply(
        lambda request: text("here I am") if recovering.recovered.is_set() else failure(status)
    )
    answer = recovering.ask(words, timeout=100)
    assert answer == "here I am"
    assert [result.is_error for result in recovering.results] == [True, False]
    assert answer.cost_usd == pytest.approx(recovering.cost_usd)
    assert answer.cost_usd > 0
    assert recovering.ask("what next?", timeout=60).endswith("what next?")


def test_what_used_a_tool_is_not_asked_again(recovering, model, cli, tmp_path):
    """A command that ran before the service failed does not run twice."""
    recovering.on_permission(lambda request: request.allow())
    model.when("count once").reply(tool_use("Bash", {"command": "echo one >> counted"})).then_reply(
        lambda request: failure(529)
    )
    with pytest.raises(claude_sync.Overloaded):
        recovering.ask("count once", timeout=100)
    assert (tmp_path / "counted").read_text() == "one\n"
    assert len(recovering.results) == 1


@pytest.mark.everything
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_crash_is_met_by_the_same_question(client_of, model):
    """The CLI is killed in mid-turn; ask() returns the answer of the second one."""
    client = client_of(retries=1)
    client.ask("remember the colour red", timeout=90)
    session, pid = client.session_id, client.pid
    killed = threading.Event()

    def reply(request):
        if killed.is_set():
            return text("answered by the second")
        killed.set()
        os.kill(pid, signal.SIGKILL)
        return text("never heard of", gate=threading.Event())

    model.when("die and come back").reply(reply)
    assert client.ask("die and come back", timeout=100) == "answered by the second"
    assert client.pid != pid
    assert client.session_id == session
    assert "remember the colour red" in str(model.wait_for_request("die and come back").messages)
