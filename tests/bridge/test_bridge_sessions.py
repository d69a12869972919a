"""The parts of a session that need none."""

from __future__ import annotations

import threading

from patience import PATIENCE

from claude_sync.bridge.sessions import Lane, details_of, is_new_conversation
from claude_sync.errors import CliExited, ControlError
from claude_sync.runtime.responders import Responders


def test_tasks_of_a_lane_run_in_order_and_one_at_a_time():
    """Whatever threads there are; other lanes are not held up."""
    pool = Responders("test")
    lane, other = Lane(pool.run), Lane(pool.run)
    done, running, overlaps = [], threading.Lock(), []
    held, finished = threading.Event(), threading.Event()

    def task(number):
        def run():
            if not running.acquire(blocking=False):
                overlaps.append(number)
                return
            held.wait(PATIENCE)
            done.append(number)
            running.release()

        return run

    for number in range(100):
        lane.run(task(number))
    other.run(finished.set)
    assert finished.wait(PATIENCE)
    assert done == []
    held.set()
    for thread in pool.stop():
        thread.join(PATIENCE)
    assert done == list(range(100))
    assert overlaps == []


def test_details_tell_what_a_program_needs():
    """The class, the exit code, also 0, the last words, the code; and nothing that is not there."""
    assert details_of(ValueError("x")) == {"error": "ValueError"}
    assert details_of(CliExited("gone", 0, ["a", "b"], ["claude"])) == {
        "error": "CliExited",
        "exit_code": 0,
        "stderr_tail": ["a", "b"],
    }
    assert details_of(ControlError("x", "no", "busy")) == {
        "error": "ControlError",
        "code": "busy",
        "text": "no",
    }


def test_only_a_new_conversation_gets_an_id():
    """One that is resumed or continued has one already."""
    assert is_new_conversation({})
    assert not is_new_conversation({"resume": "x"})
    assert not is_new_conversation({"continue_conversation": True})
