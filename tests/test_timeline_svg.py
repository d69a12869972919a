"""Timelines as SVG: good XML, only drawing, readable for one tool and for hundreds."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tables import each
from turn_marks import marks_of, sample

from claude_sync.engine.marks import DONE, ENDED, SAID, SENT, USED
from claude_sync.timeline import timeline_of
from claude_sync.timeline_svg import (
    COLOURS,
    LAST_ROW,
    WIDTH,
    lanes,
    shortened,
    tick_step,
)

SPACE = "{http://www.w3.org/2000/svg}"
ALLOWED = {
    "svg": {
        *("viewBox", "width", "height", "role", "aria-label", "fill"),
        *("font-family", "font-size"),
    },
    "style": set(),
    "rect": {"x", "y", "width", "height", "rx", "fill", "fill-opacity"},
    "path": {"d", "stroke", "stroke-opacity"},
    "title": set(),
    "text": {"x", "y", "font-size", "fill-opacity", "text-anchor", "font-weight"},
}


def checked(svg):
    """The picture as a tree, which holds only what draws, and nothing outside of it."""
    root = ElementTree.fromstring(svg)
    height = float(root.get("height"))
    for element in root.iter():
        name = element.tag.replace(SPACE, "")
        assert name in ALLOWED, name
        assert set(element.attrib) <= ALLOWED[name], element.attrib
        if name == "rect":
            left, width = float(element.get("x")), float(element.get("width"))
            assert left >= 0
            assert width > 0
            assert left + width <= WIDTH
            assert float(element.get("y")) + float(element.get("height")) <= height
    return root


def texts(root):
    """Everything that is written in it."""
    return [element.text for element in root.iter(f"{SPACE}text")]


def bars(root, kind):
    """The bars of a kind, without the legend's box: what the mouse finds over each."""
    found = [e for e in root.iter(f"{SPACE}rect") if e.get("fill") == COLOURS[kind]]
    return [element.find(f"{SPACE}title").text for element in found if len(element)]


def turn_with(*tools, end=60.0, **given):
    """A turn with these tools: id, name, start, end, whether it failed."""
    events = [(0.0, SENT, None)]
    for use_id, name, start, over, failed in tools:
        events += [(start, USED, None, use_id, name), (over, DONE, None, use_id, failed)]
    return marks_of(*events, (end, ENDED, None, "success", False), **given)


def test_each_tool_has_a_row():
    """Its name, how long it took, and how much of that was waiting."""
    root = checked(timeline_of([sample()]).svg)
    written = texts(root)
    assert written[0].startswith("8.2 s · model 4.0 s")
    for text in ("model", "Read", "Bash", "1.0 s", "3.5 s, 2.2 s of it waiting"):
        assert text in written
    assert bars(root, "tool") == ["Read: tool 1.0 s"]
    assert bars(root, "error") == ["Bash: tool 3.5 s, failed"]
    assert bars(root, "permission") == ["Bash: waiting for permission 2.2 s"]
    assert len(bars(root, "model")) == 3  # the first round is drawn in two parts
    assert "first text after 500 ms" in bars(root, "model")[0]


def test_a_wait_lies_on_the_row_of_its_tool():
    """Between the beginning and the end of the tool's bar."""
    root = checked(timeline_of([sample()]).svg)
    by_fill = {e.get("fill"): e for e in root.iter(f"{SPACE}rect") if len(e)}
    tool, wait = by_fill[COLOURS["error"]], by_fill[COLOURS["permission"]]
    assert tool.get("y") == wait.get("y")
    assert float(tool.get("x")) < float(wait.get("x"))
    assert float(wait.get("width")) < float(tool.get("width"))


def test_the_legend_has_what_is_drawn():
    """No colour without a word, no word without its colour."""
    plain = marks_of((0, SENT, None), (1, SAID, None), (1, ENDED, None, "success", False))
    assert "tool" not in texts(checked(timeline_of([plain]).svg))
    written = texts(checked(timeline_of([sample()]).svg))
    for word in ("queued", "tool", "waiting for an answer", "before the first text", "failed"):
        assert word in written
    assert "subagent" not in written


def test_subagents_are_above_their_tools():
    """Which are indented, also below another subagent."""
    marks = marks_of(
        (0, SENT, None),
        (1, USED, None, "a1", "Task"),
        (1, USED, None, "t9", "Read"),
        (2, USED, "a1", "a2", "Agent"),
        (3, USED, "a2", "t1", "Grep"),
        (4, DONE, "a2", "t1", False),
        (5, DONE, None, "a1", False),
        (6, ENDED, None, "success", False),
    )
    root = checked(timeline_of([marks]).svg)
    names = [e for e in root.iter(f"{SPACE}text") if e.text in ("Task", "Read", "Agent", "Grep")]
    assert [e.text for e in names] == ["Task", "Agent", "Grep", "Read"]
    assert [float(e.get("x")) for e in names] == [14, 28, 42, 14]


def test_hundreds_of_tools_share_rows():
    """One row for each tool, with how often; those at once are one below the other."""
    tools = [(f"t{n}", "Read" if n % 2 else "Bash", n / 4, n / 4 + 0.6, n == 7) for n in range(200)]
    root = checked(timeline_of([turn_with(*tools)]).svg)
    written = texts(root)
    assert "Read ×100" in written  # noqa: RUF001 - times
    assert "Bash ×100" in written  # noqa: RUF001 - times
    assert len(bars(root, "tool")) == 199
    assert len(bars(root, "error")) == 1
    assert float(root.get("height")) < 300


def test_waits_of_many_tools_are_drawn():
    """On the bars they are about."""
    tools = [(f"t{n}", "Bash", n, n + 0.5, False) for n in range(50)]
    marks = turn_with(*tools, waits=[("permission", "Bash", "t3", 3.0, 3.25)])
    assert len(bars(checked(timeline_of([marks]).svg), "permission")) == 1


def test_the_number_of_rows_has_an_end():
    """A thousand different tools are a picture that can still be shown."""
    tools = [(f"t{n}", f"tool {n}", n / 100, n / 100 + 0.1, False) for n in range(1000)]
    root = checked(timeline_of([turn_with(*tools)]).svg)
    assert f"{1001 - LAST_ROW} more rows" in texts(root)


def test_several_turns_are_one_row_each():
    """With the question and the time; the time between them does not count."""
    failed = marks_of(
        (0, SENT, None), (2, ENDED, None, "success", True), prompt="two\nlines", made=9000.0
    )
    root = checked(timeline_of([sample(), failed]).svg)
    written = texts(root)
    assert "1 Look at it" in written
    assert "2 two lines" in written
    assert "2.0 s, failed" in written
    starts = [float(e.get("x")) for e in root.iter(f"{SPACE}rect") if len(e)]
    assert min(starts) == 240


def test_requests_about_no_tool_have_rows_of_their_own():
    """Hooks at the end of a turn, questions of old CLIs."""
    marks = sample(
        waits=[("hook", "Stop", None, 8, 8.1), ("question", "AskUserQuestion", None, 3, 4)]
    )
    root = checked(timeline_of([marks]).svg)
    assert "hook: Stop" in texts(root)
    assert "question: AskUserQuestion" in texts(root)
    assert bars(root, "question") == ["AskUserQuestion: waiting for an answer 1.0 s"]


@each(
    "name",
    [
        "<script>alert(1)</script>",
        '"><svg onload=alert(1)>',
        "]]><!--",
        "&amp;",
        "\x00\x1b[31m\ud800\uffff\ufffe",
        "x" * 100,
    ],
)
def test_hostile_names_are_text(name):
    """In labels, in what the mouse shows, and in questions."""
    marks = turn_with(
        ("t1", name, 1.0, 2.0, True), prompt=name, waits=[("hook", name, None, 1.0, 2.0)]
    )
    checked(timeline_of([marks]).svg)
    checked(timeline_of([marks, marks]).svg)
    assert "<script" not in timeline_of([marks])._repr_html_()


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1e6),
            st.sampled_from([SENT, SAID, USED, DONE, ENDED]),
            st.sampled_from([None, "t1", "t2"]),
            st.sampled_from(["t1", "t2", "t3"]),
            st.text(max_size=20),
        ),
        max_size=30,
    ),
    st.integers(1, 3),
)
def test_whatever_was_marked_can_be_drawn(events, turns):
    """In any order, with any names; also of a tool that is its own parent."""
    marks = marks_of(*events, cut=5.0)
    timeline = timeline_of([marks] * turns)
    checked(timeline.svg)
    assert all(span.seconds >= 0 for span in timeline.spans)
    assert str(timeline)


def test_nothing_can_be_drawn():
    """No turn at all is a picture, too."""
    assert "nothing has been asked yet" in texts(checked(timeline_of([]).svg))


def test_a_long_turn_has_few_ticks():
    """From a millisecond to a day."""
    for longest in (0.001, 0.3, 1, 7, 59, 86400.0):
        assert 1 <= longest / tick_step(longest) <= 6


def test_labels_are_cut_where_they_end():
    """Wide signs count twice."""
    assert shortened("short", 10) == "short"
    assert shortened("x" * 11, 10) == "x" * 9 + "…"
    assert shortened("字" * 11, 10) == "字" * 4 + "…"
    assert shortened(" two \n words ", 20) == "two words"


def test_lanes_have_an_end():
    """More at once than there are lanes: the last one takes them."""
    tools = [(f"t{n}", "Bash", 1.0, 50.0, False) for n in range(20)]
    spans = timeline_of([turn_with(*tools)]).of("tool")
    assert [len(lane) for lane in lanes(spans, 3)] == [1, 1, 18]
