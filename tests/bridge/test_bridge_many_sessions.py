"""Many sessions at once, and a front end that does not keep up with them."""

from __future__ import annotations

import threading

import bridge_scripts as scripts
import pytest
from patience import wait_until

LINE = 10_000
BOUND = 1024 * 1024
# More than there is room for on the way.
MANY = 2 * (BOUND + BOUND) // LINE


def noted(folder):
    """How many lines of a flood were taken so far."""
    file = folder / "noted"
    return int(file.read_text() or 0) if file.exists() else 0


@pytest.fixture
def little_room(hurry):
    """Of a session that is not read, little waits."""
    hurry(HIGH_WATER=BOUND, SESSION_BOUND=BOUND)


def test_fifty_sessions_at_once(front_end):
    """Each gets its own answers, however they are mixed on the wire."""
    front = front_end()
    created = [front.send("session.create", {"prompt": f"first {number}"}) for number in range(50)]
    sessions = [front.answer(id)["session_id"] for id in created]
    assert len(set(sessions)) == 50
    for number, session_id in enumerate(sessions):
        front.send("session.send", {"message": f"second {number}"}, session_id=session_id)
    for number, session_id in enumerate(sessions):
        assert front.result(session_id)["result"] == f"echo: first {number}"
        assert front.result(session_id, 1)["result"] == f"echo: second {number}"
    for session_id in sessions[:25]:
        front.send("session.kill", session_id=session_id)
    for session_id in sessions[:25]:
        front.nth("session.killed", session_id)


def test_the_cli_of_a_killed_session_keeps_its_place_until_it_has_ended(front_end, tmp_path):
    """A front end that kills and creates cannot have more CLIs than there may be sessions."""
    front = front_end(scripts.tells_of_its_life, max_sessions=1)
    for _ in range(2):
        killed = front.send("session.kill", session_id=front.create(cwd=tmp_path))
        refused = front.send("session.create", {"cwd": str(tmp_path)})
        told = front.error(id=refused, code="SESSION_CREATE_FAILED")
        assert "wait for session.killed" in told["message"]
        front.answer(killed)
    front.create(cwd=tmp_path)
    assert (tmp_path / "life").read_text().split() == [*(["begins", "ends"] * 2), "begins"]


@pytest.mark.usefixtures("little_room")
def test_a_slow_front_end_stops_floods_and_loses_nothing(front_end, tmp_path, until_still):
    """
    Past a bound a CLI is not read, and another one is all the same, up to its own bound.

    When the front end reads again, everything comes.
    """
    first, second = tmp_path / "first", tmp_path / "second"
    front = front_end(scripts.floods, settings={"lines": MANY, "patience": 120})
    sessions = []
    for folder in (first, second):
        folder.mkdir()
        sessions.append(front.create(cwd=folder))
    front.pause()
    for folder, session_id in zip((first, second), sessions):
        front.send("session.send", {"message": "go"}, session_id=session_id)
        # The bound of the session, the inbox and some pipes: not all of it.
        assert 0 < until_still(lambda folder=folder: noted(folder)) < MANY
        assert noted(folder) * LINE < 1.5 * (BOUND + BOUND)
    front.resume()
    for session_id in sessions:
        assert front.result(session_id)["result"] == "all said"
        floods = [said for said in front.said(session_id) if said["type"] == "flood"]
        assert len(floods) == MANY
        assert all(len(said["text"]) == LINE for said in floods)


@pytest.mark.usefixtures("little_room")
def test_a_held_up_session_can_be_killed(front_end, tmp_path, until_still):
    """Its threads end although the front end does not read."""
    front = front_end(scripts.floods, settings={"lines": MANY, "patience": 120})
    session_id = front.create(cwd=tmp_path)
    front.pause()
    front.send("session.send", {"message": "go"}, session_id=session_id)
    until_still(lambda: noted(tmp_path))
    id = front.send("session.kill", session_id=session_id)
    own = f"bridge-{session_id[:8]}"
    wait_until(lambda: not any(each.name.startswith(own) for each in threading.enumerate()))
    front.resume()
    assert front.answer(id)["type"] == "session.killed"


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.everything)])
def test_thousands_of_creates(front_end, count):
    """Each is answered, and nothing is left of those that cannot be."""
    front = front_end(cli="/nowhere/claude")
    line = '{"type": "session.create", "id": "%d", "payload": {"raw": %s}}\n'
    lines = [line % (number, "true" if number % 2 else "false") for number in range(count)]
    front.send_raw("".join(lines).encode())
    front.wait(lambda _: len(front.read) == count, "all answers")
    assert {message["payload"]["code"] for message in front.read} == {"SESSION_CREATE_FAILED"}
    assert {message["id"] for message in front.read} == {str(number) for number in range(count)}
