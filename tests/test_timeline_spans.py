"""What a turn's marks mean: spans of time, each of one kind."""

from __future__ import annotations

import pytest
from turn_marks import marks_of, sample

from claude_sync.engine.marks import DONE, ENDED, SAID, SENT, USED
from claude_sync.timeline_spans import Span, covered, spans_of

LATER = 1_000.0


def spans(marks, now=LATER):
    """The spans of one turn, seconds from its beginning."""
    return spans_of(marks, marks.made, 0, now)


def times(found, *kinds):
    """Kind or name, start and end of those of these kinds."""
    return [
        (span.name if span.kind != "model" else "model", span.start, span.end)
        for span in found
        if span.kind in kinds
    ]


def test_a_turn_is_divided():
    """Queued, the model, two tools at once, the model again; the wait is apart."""
    found = spans(sample())
    assert found[0].kind == "turn"
    assert times(found, "turn") == [("Look at it", 0.0, 8.25)]
    assert times(found, "queued") == [("waiting to be sent", 0.0, 0.5)]
    assert times(found, "model") == [("model", 0.5, 2.5), ("model", 6.0, 8.0)]
    assert times(found, "tool") == [("Read", 2.0, 3.0), ("Bash", 2.5, 6.0)]
    assert times(found, "permission") == [("Bash", 2.75, 5.0)]
    starts = [span.start for span in found[1:]]
    assert starts == sorted(starts)
    assert [span.error for span in found if span.kind == "tool"] == [False, True]
    assert not found[0].error
    assert all(span.finished for span in found)


def test_the_first_text_is_in_the_first_round():
    """And in no other."""
    assert [span.first for span in spans(sample()) if span.kind == "model"] == [1.0, None]
    assert [span.first for span in spans(sample(first=None)) if span.kind == "model"] == [
        None,
        None,
    ]


def test_seconds_are_its_length():
    """From start to end."""
    assert Span("tool", "Read", 1.0, 3.5).seconds == 2.5


def test_without_tools_there_is_the_model_only():
    """From sending to the last word, not to the result."""
    found = spans(marks_of((0, SENT, None), (2, SAID, None), (2.25, ENDED, None, "success", False)))
    assert [span.kind for span in found] == ["turn", "model"]
    assert times(found, "model") == [("model", 0, 2)]


@pytest.mark.parametrize(
    ("subtype", "is_error"), [("success", True), ("error_during_execution", False)]
)
def test_a_failed_turn_is_an_error(subtype, is_error):
    """By either way of the CLI to say so; the model worked until then."""
    found = spans(marks_of((0, SENT, None), (3, ENDED, None, subtype, is_error)))
    assert found[0].error
    assert times(found, "model") == [("model", 0, 3)]


def test_an_interrupted_tool_ends_with_its_turn():
    """A tool without a result is not finished; after it, the model said nothing."""
    marks = marks_of(
        (0, SENT, None),
        (1, SAID, None),
        (1, USED, None, "t1", "Bash"),
        (4, ENDED, None, "error_during_execution", True),
        waits=[("permission", "Bash", "t1", 1, None)],
    )
    found = spans(marks)
    assert [(span.kind, span.end, span.finished) for span in found[1:]] == [
        ("model", 1, True),
        ("tool", 4, False),
        ("permission", 4, False),
    ]


def test_nothing_is_drawn_between_a_denied_tool_and_the_end_it_made():
    """The model was not asked again: a moment without a word is none of its rounds."""
    marks = marks_of(
        (0, SENT, None),
        (1, SAID, None),
        (1, USED, None, "t1", "Bash"),
        (4, DONE, None, "t1", True),
        (4.005, ENDED, None, "error_during_execution", True),
    )
    assert times(spans(marks), "model") == [("model", 0, 1)]


def test_a_turn_that_runs_goes_until_now():
    """And is not finished, and no failure."""
    found = spans(marks_of((0, SENT, None)), now=107.0)
    assert [(span.kind, span.end, span.finished, span.error) for span in found] == [
        ("turn", 7.0, False, False),
        ("model", 7.0, False, False),
    ]


def test_a_turn_that_was_cut_off_failed():
    """The CLI died: it ended when we noticed, whatever the time is now."""
    found = spans(marks_of((0, SENT, None), cut=5.0))
    assert [(span.kind, span.end, span.error) for span in found] == [
        ("turn", 5.0, True),
        ("model", 5.0, False),
    ]


def test_a_result_counts_more_than_a_cut():
    """A call that timed out was cut; its turn ended later, by a result."""
    found = spans(marks_of((0, SENT, None), (9, ENDED, None, "success", False), cut=5.0))
    assert (found[0].end, found[0].error) == (9.0, False)


def test_a_question_that_was_never_sent_only_waited():
    """Behind others, or withdrawn."""
    assert times(spans(marks_of(cut=3.0)), "queued", "model") == [("waiting to be sent", 0, 3)]


def test_asked_again_there_are_two_rounds():
    """A failed try, a pause, another try."""
    marks = marks_of(
        (0, SENT, None),
        (1, ENDED, None, "success", True),
        (4, SENT, None),
        (6, SAID, None),
        (6.5, ENDED, None, "success", False),
    )
    found = spans(marks)
    assert times(found, "model") == [("model", 0, 1), ("model", 4, 6)]
    assert not found[0].error


def test_subagents_hold_their_tools():
    """What an agent does is its own row, and not a round of the conversation's model."""
    marks = marks_of(
        (0, SENT, None),
        (1, SAID, None),
        (1, USED, None, "a1", "Task"),
        (2, SAID, "a1"),
        (2, USED, "a1", "t1", "Grep"),
        (3, DONE, "a1", "t1", False),
        (4, SAID, "a1"),
        (5, DONE, None, "a1", False),
        (6, SAID, None),
        (6, ENDED, None, "success", False),
    )
    found = spans(marks)
    assert times(found, "model") == [("model", 0, 1), ("model", 5, 6)]
    assert times(found, "agent") == [("Task", 1, 5)]
    tools = [span for span in found if span.kind == "tool"]
    assert [(tool.name, tool.start, tool.end) for tool in tools] == [("Grep", 2, 3)]
    assert tools[0].parent_tool_use_id == "a1"


def test_an_agent_in_the_background_goes_on_after_its_result():
    """Newer CLIs say at once that it was launched."""
    marks = marks_of(
        (0, SENT, None),
        (1, USED, None, "a1", "Agent"),
        (1.25, DONE, None, "a1", False),
        (3, SAID, "a1"),
        (4, SAID, None),
        (4, ENDED, None, "success", False),
    )
    assert times(spans(marks), "agent") == [("Agent", 1, 3)]


def test_tools_of_another_turns_agent_are_left_out():
    """Their parent is not known here."""
    marks = marks_of((0, SENT, None), (1, USED, "old", "t1", "Bash"), (2, SAID, None))
    assert not times(spans(marks), "tool", "agent")


def test_a_request_without_an_id_is_about_the_tool_that_runs():
    """Very old CLIs tell only the tool's name; hooks of other events are about none."""
    marks = sample(
        waits=[("permission", "Bash", None, 3, 4), ("hook", "Stop", None, 3, 4)],
    )
    found = {span.kind: span for span in spans(marks)}
    assert found["permission"].tool_use_id == "t2"
    assert found["hook"].tool_use_id is None


def test_messages_that_come_twice_are_one_tool():
    """After Ctrl-C in a handler, the message is delivered again."""
    use = (1, USED, None, "t1", "Bash")
    marks = marks_of((0, SENT, None), use, use, (2, DONE, None, "t1", False))
    assert times(spans(marks), "tool") == [("Bash", 1, 2)]


def test_covered_time_counts_once():
    """Spans that overlap or touch are one interval."""
    of = [Span("tool", "", start, end) for start, end in ((4, 5), (0, 2), (1, 3), (3, 3.5))]
    assert covered(of) == [(0, 3.5), (4, 5)]
    assert covered([]) == []
