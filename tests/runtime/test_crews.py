"""Threads that do the work of a batch."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future

import pytest
from patience import PATIENCE

from claude_sync import Overloaded, TurnInterrupted
from claude_sync.batches.crews import Crew, end_timers, first_line, outcome_of
from claude_sync.batches.items import Outcome
from claude_sync.runtime.timers import Timers


@pytest.fixture
def crew():
    """Threads that are ended with the test."""
    crew = Crew("test")
    yield crew
    crew.close(PATIENCE)


def test_work_is_done_at_the_same_time(crew):
    """Each on a thread that does not hold up the end of the program."""
    barrier = threading.Barrier(2, timeout=PATIENCE)

    def work(word):
        barrier.wait()
        assert threading.current_thread().daemon
        return word

    futures = [crew.submit(work, word) for word in "ab"]
    assert [future.result(PATIENCE) for future in futures] == ["a", "b"]


@pytest.mark.parametrize("is_its_own", [False, True])
def test_a_timer_thread_is_ended_from_anywhere(is_its_own):
    """Also from itself, which cannot wait for its own end."""
    timers = Timers("test")
    timers.start()
    thread = timers.thread()
    if is_its_own:
        timers.run_soon(lambda: end_timers(timers))
        thread.join(PATIENCE)
    else:
        end_timers(timers)
    assert not thread.is_alive()
    end_timers(Timers("never started"))


def test_what_is_raised_is_kept(crew):
    """Also what no worker should raise."""

    def fail():
        raise SystemExit(3)

    assert isinstance(crew.submit(fail).exception(PATIENCE), SystemExit)


def test_what_was_cancelled_is_not_begun(crew):
    """As with any executor."""
    gate, begun = threading.Event(), []
    first = crew.submit(gate.wait, PATIENCE)
    crew._responders._free = 5  # the next one waits for the same thread
    second = crew.submit(begun.append, 1)
    assert second.cancel()
    crew._responders._free = 0
    gate.set()
    assert first.result(PATIENCE)
    crew.close(PATIENCE)
    assert begun == []


def test_outcomes_of_futures():
    """Answers, errors, and what was withdrawn."""
    done, failed, withdrawn = Future(), Future(), Future()
    done.set_result(Outcome(cost_usd=1.0))
    failed.set_exception(ZeroDivisionError("x"))
    withdrawn.cancel()
    assert outcome_of(done).cost_usd == 1.0
    assert isinstance(outcome_of(failed).error, ZeroDivisionError)
    assert outcome_of(failed).was_sent
    assert isinstance(outcome_of(withdrawn).error, TurnInterrupted)
    assert not outcome_of(withdrawn).was_sent
    with pytest.raises(CancelledError):
        withdrawn.result(0)


def test_the_first_line_of_an_error_has_no_secrets():
    """It goes to the log."""
    assert first_line(Overloaded("busy\nmore")) == "busy"
    assert "xxxx" not in first_line(ValueError("key sk-ant-api03-" + "x" * 40))
