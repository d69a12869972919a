"""When what happened in a turn: noted at rare events, small, and with an end."""

from __future__ import annotations

import pytest

from claude_sync.engine import marks as stamps
from claude_sync.engine.marks import DONE, ENDED, SAID, SENT, USED, Marks
from claude_sync.testing import builders


@pytest.fixture
def now(monkeypatch):
    """What the clock says: a list of one number."""
    now = [50.0]
    monkeypatch.setattr(stamps, "monotonic", lambda: now[0])
    return now


def seen(*messages):
    """The events of marks that saw these, one second after the other."""
    marks = Marks()
    for at, message in enumerate(messages, 1):
        marks.see(message, float(at))
    return marks.events


def test_tools_are_noted_with_their_results():
    """A use has its name, a result whether it is an error; both when they arrived."""
    use = builders.assistant(builders.tool_use("Read", {}, "t1"))
    result = builders.user([builders.tool_result("t1", "no", is_error=True)])
    assert seen(use, result) == [
        (1.0, SAID, None),
        (1.0, USED, None, "t1", "Read"),
        (2.0, DONE, None, "t1", True),
    ]


def test_of_what_the_model_says_the_last_message_counts():
    """A message comes in several parts: one mark. A subagent's are apart."""
    own, other = builders.assistant("a"), builders.assistant("b", parent="t1")
    assert seen(own, own, other, own) == [
        (2.0, SAID, None),
        (3.0, SAID, "t1"),
        (4.0, SAID, None),
    ]


def test_the_result_ends_it():
    """Whether it failed is noted with it."""
    assert seen(builders.result("hi")) == [(1.0, ENDED, None, "success", False)]
    failed = builders.result(None, subtype="error_max_turns", is_error=True)
    assert seen(failed) == [(1.0, ENDED, None, "error_max_turns", True)]


@pytest.mark.parametrize(
    "raw",
    [
        {"type": "assistant"},
        {"type": "assistant", "message": 3},
        {"type": "user", "message": {"content": "text"}},
        {"type": "user", "message": {"content": [3, None, {"type": "tool_result"}]}},
        {"type": "assistant", "parent_tool_use_id": 7, "message": {"content": [{}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 3}]}},
        {"type": "result", "subtype": 9},
        {"type": "system"},
        {},
    ],
)
def test_odd_messages_are_no_trouble(raw):
    """What is not as it should be is not noted as a tool."""
    assert not [event for event in seen(raw) if event[1] in (USED, DONE)]


def test_a_name_may_be_anything():
    """Names are cut, and one that is none has a sign."""
    events = seen(
        builders.assistant({"type": "tool_use", "id": "t1", "name": "x" * 5000}),
        builders.assistant({"type": "tool_use", "id": "t2", "name": None}),
    )
    names = [event[4] for event in events if event[1] == USED]
    assert names == ["x" * stamps.LONGEST_NAME, "?"]


def test_the_first_piece_of_a_stream_is_found(now):
    """Beginnings of messages, other items and subagents' pieces are not it."""
    marks = Marks()
    marks.first_piece([object(), {"event": 3}, builders.message_start("m1")])
    marks.first_piece([builders.text_delta("a", parent="t1")])
    assert marks.first is None
    marks.first_piece([builders.message_start("m1"), builders.text_delta("a")])
    assert marks.first == 50.0


def test_asked_again_it_was_sent_before(now):
    """Only the first sending is the first."""
    marks = Marks("hi")
    assert marks.sent()
    now[0] = 51.0
    assert not marks.sent()
    assert marks.events == [(50.0, SENT, None), (51.0, SENT, None)]


def test_what_belongs_to_another_turn_is_forgotten(now):
    """That it was sent is not."""
    marks = Marks()
    marks.sent()
    marks.see(builders.assistant("a"), 51.0)
    marks.asked("can_use_tool", {"tool_name": "Bash"})
    marks.first = 50.5
    marks.forget()
    assert (marks.events, marks.waits, marks.first) == ([(50.0, SENT, None)], [], None)


def test_what_waits_for_an_answer_is_noted(now):
    """Permissions, questions and hooks; each ends once."""
    marks = Marks()
    permission = marks.asked("can_use_tool", {"tool_name": "Bash", "tool_use_id": "t1"})
    marks.asked("can_use_tool", {"tool_name": "AskUserQuestion", "tool_use_id": 3})
    marks.asked("hook_callback", {"input": {"hook_event_name": "Stop"}})
    marks.asked("hook_callback", {"input": None})
    assert marks.asked("mcp_message", {}) is None
    now[0] = 52.0
    permission.over()
    now[0] = 53.0
    permission.over()
    assert [(wait.kind, wait.name, wait.tool_use_id, wait.end) for wait in marks.waits] == [
        ("permission", "Bash", "t1", 52.0),
        ("question", "AskUserQuestion", None, None),
        ("hook", "Stop", None, None),
        ("hook", "?", None, None),
    ]


def test_the_number_of_marks_has_an_end(monkeypatch):
    """What is beyond it is counted; the end of the turn is noted all the same."""
    monkeypatch.setattr(stamps, "MOST_MARKS", 10)
    marks = Marks()
    for number in range(20):
        marks.see(builders.user([builders.tool_result(f"t{number}", "")]), 1.0)
        marks.asked("can_use_tool", {})
    assert (len(marks.events), len(marks.waits), marks.left_out) == (10, 10, 20)
    marks.see(builders.result("hi"), 2.0)
    assert marks.events[-1][1] == ENDED


def test_only_the_beginning_of_a_prompt_is_kept():
    """A prompt may be a book, or blocks."""
    assert len(Marks("x" * 10_000).prompt) == stamps.LONGEST_PROMPT
    assert Marks([{"type": "text"}]).prompt == ""
