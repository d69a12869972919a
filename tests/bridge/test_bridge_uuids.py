"""Whose uuid is whose: ours, the backend's own, and those of messages that have none."""

from __future__ import annotations

import pytest

from claude_sync.bridge.uuids import Uuids


@pytest.fixture
def uuids():
    """Those of a session in which a question runs."""
    made = Uuids()
    made.sent("question")
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
    uuids.in_lifecycle(news("question", "started"))
    assert uuids.running == "question"
    uuids.in_lifecycle(news("question", state))
    assert uuids.running is None
    assert uuids.are_told


def test_what_joins_a_question_does_not_replace_it(uuids):
    """A steered message runs inside the turn; afterwards it may run by itself."""
    uuids.sent("steer")
    assert uuids.running == "question"
    both = result("question", "steer")
    assert uuids.in_result(both) is both
    assert uuids.running is None
