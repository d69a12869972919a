"""Whose uuid is whose: ours, the backend's own, and those of messages that have none."""

from __future__ import annotations

import pytest

from claude_sync.bridge.uuids import REMEMBERED, Uuids


@pytest.fixture
def uuids():
    """Those of a session in which a question runs."""
    made = Uuids()
    made.sent("question", is_taken_over=True)
    return made


def news(uuid, state):
    """What the CLI tells of a message."""
    return {"type": "command_lifecycle", "command_uuid": uuid, "state": state}


def result(*uuids, **more):
    """A result for messages."""
    return {"type": "result", "user_message_uuids": list(uuids), **more}


def test_a_result_ends_its_own_question(uuids):
    """Results of others leave it running."""
    assert uuids.in_result(result("other")) == result("other")
    assert uuids.running == "question"
    uuids.in_result(result("question"))
    assert uuids.running is None


def test_a_result_without_uuids_ends_it_unless_it_is_foreign(uuids):
    """Old CLIs tell none; a turn of the CLI's own is no answer."""
    foreign = {"type": "result", "origin": {"kind": "task-notification"}}
    assert uuids.in_result(foreign) is foreign
    assert uuids.without(foreign) is foreign
    assert uuids.running == "question"
    uuids.without({"type": "result"})
    assert uuids.running is None
    assert not uuids.are_told


@pytest.mark.parametrize("state", ["cancelled", "completed"])
def test_the_end_of_a_message_ends_the_question(uuids, state):
    """One that was withdrawn runs no longer."""
    assert uuids.in_lifecycle(news("question", "started"))["command_uuid"] == "question"
    assert uuids.running == "question"
    uuids.in_lifecycle(news("question", state))
    assert uuids.running is None
    assert uuids.are_told


def test_a_uuid_of_the_backends_own_is_learned(uuids):
    """New ones belong to what was steered, in order, from then on."""
    uuids.sent("steer one", is_taken_over=False)
    uuids.sent("steer two", is_taken_over=False)
    assert uuids.in_lifecycle(news("x", "queued"))["command_uuid"] == "steer one"
    assert uuids.in_lifecycle(news("y", "started"))["command_uuid"] == "steer two"
    told = uuids.in_result(result("question", "x"))
    assert told["user_message_uuids"] == ["question", "steer one"]
    assert uuids.in_lifecycle(news("x", "completed"))["command_uuid"] == "steer one"


def test_an_old_uuid_is_not_taken_for_a_new_one(uuids):
    """News of the end of an unknown message says nothing about ours."""
    uuids.sent("steer", is_taken_over=False)
    assert uuids.in_lifecycle(news("x", "completed"))["command_uuid"] == "x"
    assert uuids.in_lifecycle(news("y", "queued"))["command_uuid"] == "steer"


def test_a_uuid_that_is_taken_over_needs_no_learning(uuids):
    """A backend that uses ours is believed, and the next unknown one is not ours."""
    uuids.sent("steer", is_taken_over=False)
    assert uuids.in_lifecycle(news("steer", "queued"))["command_uuid"] == "steer"
    assert uuids.in_lifecycle(news("x", "queued"))["command_uuid"] == "x"


def test_only_so_many_are_remembered(uuids):
    """A long session keeps nothing that grows."""
    for number in range(REMEMBERED + 10):
        uuids.sent(f"ours {number}", is_taken_over=False)
        uuids.in_lifecycle(news(f"theirs {number}", "queued"))
    assert len(uuids._learned) == REMEMBERED
    last = f"theirs {REMEMBERED + 9}"
    assert uuids.in_lifecycle(news(last, "completed"))["command_uuid"].startswith("ours")
