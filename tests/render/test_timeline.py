"""Timelines of answers, turns and clients: times of arrival, kept with the answer."""

from __future__ import annotations

import pickle
import threading
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import PATIENCE
from tables import each
from turn_marks import Clock, marks_of, sample

import claude_sync
from claude_sync import LATER, Answer, Client, Span, Timeline, UsageError
from claude_sync.engine import inbox
from claude_sync.engine import marks as stamps
from claude_sync.engine.marks import DONE, ENDED, SAID, SENT, TURNS_KEPT, USED
from claude_sync.render.timeline import COLOURS, MOST_ROWS, WIDTH, shown, spans_of, timeline_of
from claude_sync.testing import ScriptedCli, builders


@pytest.fixture
def clock(monkeypatch):
    """The time of arrivals, moved by the test."""
    clock = Clock()
    monkeypatch.setattr(stamps, "monotonic", clock)
    monkeypatch.setattr(inbox, "monotonic", clock)
    monkeypatch.setattr("claude_sync.render.timeline.monotonic", clock)
    return clock


class Stage:
    """A client, its CLI, and a clock between them."""

    def __init__(self, client, cli, clock, pool):
        self.client, self.cli, self.clock, self._pool = client, cli, clock, pool

    def apart(self, function, *arguments):
        """Call a function on another thread; its future."""
        return self._pool.submit(function, *arguments)

    def read(self):
        """Wait until the client has read all that was said, whatever its handlers do."""
        pending = self.apart(self.client.control, "ping")
        self.cli.reply(self.cli.expect("control_request"))
        pending.result(PATIENCE)

    def say(self, seconds, *messages):
        """After so many seconds the CLI says something, and it arrives."""
        self.clock.now += seconds
        self.cli.say(*messages)
        self.read()

    def ask(self, prompt="hi"):
        """Submit a question; the turn, and the message that the CLI got."""
        turn = self.client.submit(prompt)
        user = self.cli.expect("user")
        self.cli.begin_turn(user)
        return turn, user

    def end(self, turn, user, seconds=0.0, text="done", **fields):
        """The result, after so many seconds; the answer."""
        self.clock.now += seconds
        self.cli.end_turn(user, text, **fields)
        return turn.result(PATIENCE)


@pytest.fixture
def stage(clock, cli, all_was_expected, pool, ready):
    """All of them, ready."""
    with ready(cli) as client:
        yield Stage(client, cli, clock, pool)


def use(name, use_id, parent=None):
    """An assistant's message that uses a tool."""
    return builders.assistant(builders.tool_use(name, {}, use_id), parent=parent)


def result(use_id, is_error=False):
    """A user's message with a tool's result."""
    return builders.user([builders.tool_result(use_id, "x", is_error)])


def kinds(timeline):
    """Kind, start and end of each span but the turn."""
    return [(s.kind, s.start, s.end) for s in timeline.spans if s.kind != "turn"]


def test_an_answer_knows_where_the_time_went(stage):
    """The model, a tool, the model; each as long as it took."""
    turn, user = stage.ask("Look")
    stage.say(2, use("Read", "t1"))
    stage.say(3, result("t1"))
    stage.say(4, builders.assistant("done"))
    answer = stage.end(turn, user, 0.5, total_cost_usd=0.25)
    timeline = answer.timeline()
    assert kinds(timeline) == [("model", 0, 2), ("tool", 2, 5), ("model", 5, 9)]
    assert (timeline.seconds, timeline.model_seconds, timeline.tool_seconds) == (9.5, 6, 3)
    assert timeline.cost_usd == 0.25
    assert timeline.turns[0].name == "Look"
    assert turn.timeline().spans == timeline.spans


def test_a_slow_handler_does_not_show(stage):
    """Times are those of arrival: what the program does with a message is its own time."""
    entered, go_on = threading.Event(), threading.Event()

    @stage.client.on_tool_use
    def slow(use):
        entered.set()
        assert go_on.wait(PATIENCE)

    turn, user = stage.ask()
    stage.say(1, use("Read", "t1"))
    assert entered.wait(PATIENCE)
    stage.say(1, result("t1"))
    stage.say(1, builders.assistant("done"))
    stage.clock.now += 100
    stage.cli.end_turn(user, "done")
    stage.read()
    stage.clock.now += 1000
    go_on.set()
    assert kinds(turn.result(PATIENCE).timeline()) == [
        ("model", 0, 1),
        ("tool", 1, 2),
        ("model", 2, 3),
    ]
    assert turn.timeline().seconds == 103


def test_waiting_for_permission_is_shown_as_such(stage):
    """From the request to the answer, inside of the tool's span, which it is about."""
    asked = []
    arrived = threading.Event()

    @stage.client.on_permission
    def later(request):
        asked.append(request)
        arrived.set()
        return LATER

    turn, user = stage.ask()
    stage.say(1, use("Bash", "t1"))
    request = stage.cli.ask_permission("Bash", {"command": "ls"}, tool_use_id="t1")
    assert arrived.wait(PATIENCE)
    stage.clock.now += 60
    asked[0].allow()
    stage.cli.expect_reply(request)
    stage.say(2, result("t1"))
    timeline = stage.end(turn, user).timeline()
    assert kinds(timeline)[:3] == [("model", 0, 1), ("tool", 1, 63), ("permission", 1, 61)]
    assert timeline.of("permission")[0].tool_use_id == "t1"
    assert (timeline.waiting_seconds, timeline.tool_seconds) == (60, 2)


def test_the_first_text_of_a_stream_is_noted_once(stage):
    """Later pieces change nothing."""
    turn, user = stage.ask()
    stage.say(1, builders.message_start("m1"), builders.block_start())
    stage.say(1, builders.text_delta("do"))
    stage.say(1, builders.text_delta("ne"))
    stage.say(1, builders.assistant("done", "m1"))
    timeline = stage.end(turn, user).timeline()
    assert [(span.first, span.end) for span in timeline.of("model")] == [(2, 4)]


def test_a_turn_whose_cli_died_has_one(stage):
    """It was cut off when the CLI was gone."""
    turn, _ = stage.ask()
    stage.say(1, use("Bash", "t1"))
    stage.cli.hang_up(1)
    with pytest.raises(claude_sync.CliExited):
        turn.result(PATIENCE)
    stage.clock.now += 50
    whole = turn.timeline().turns[0]
    assert (whole.error, whole.finished, whole.end) == (True, False, 1)


def test_a_question_that_was_never_sent_stops_waiting(clock):
    """Its client was closed while it was queued."""
    with Client(transport=ScriptedCli()) as client:
        turn = client.submit("hi")
        clock.now += 2
        client.close()
    with pytest.raises(claude_sync.ClientClosed):
        turn.result(PATIENCE)
    clock.now += 50
    assert kinds(turn.timeline()) == [("queued", 0, 2)]


def test_what_came_in_anothers_turn_is_not_in_it(stage):
    """A result of nobody's takes its tools with it; the question goes on waiting."""
    turn, user = stage.ask()
    stage.say(1, use("Bash", "t1"), result("t1"))
    stage.say(1, builders.result("other", origin={"kind": "task-notification"}, uuids=["else"]))
    stage.say(1, builders.assistant("done"))
    timeline = stage.end(turn, user).timeline()
    assert kinds(timeline) == [("model", 0, 3)]


def test_a_clients_timeline_has_its_turns(stage):
    """In order, each with its question; what runs now is in it."""
    for prompt in ("one", "two"):
        turn, user = stage.ask(prompt)
        stage.say(2, builders.assistant("done"))
        stage.end(turn, user)
        stage.clock.now += 100
    turn, user = stage.ask("three")
    stage.clock.now += 1
    timeline = stage.client.timeline()
    assert [(span.name, span.start, span.end) for span in timeline.turns] == [
        ("one", 0, 2),
        ("two", 102, 104),
        ("three", 204, 205),
    ]
    assert (timeline.seconds, timeline.model_seconds) == (5, 5)
    assert [span.turn for span in timeline.of("model")] == [0, 1, 2]
    stage.end(turn, user)


def test_a_client_keeps_the_last_turns_only(monkeypatch):
    """Their number has an end."""
    assert TURNS_KEPT == 100
    monkeypatch.setattr("claude_sync.engine.session.TURNS_KEPT", 2)

    def script(cli):
        cli.accept()
        for _ in range(3):
            cli.answer("done")

    with Client(transport=ScriptedCli(script)) as client:
        assert client.timeline().turns == ()
        for prompt in ("one", "two", "three"):
            client.ask(prompt, timeout=PATIENCE)
        assert [turn.name for turn in client.timeline().turns] == ["two", "three"]


def test_context_is_no_turn(stage):
    """What asks nothing is not in the client's timeline."""
    adding = stage.apart(stage.client.add_context, "by the way")
    user = stage.cli.expect("user")
    adding.result(PATIENCE)
    stage.cli.end_turn(user)
    stage.client.wait_idle(PATIENCE)
    assert stage.client.timeline().turns == ()


def test_pickled_answers_keep_their_timeline(stage):
    """It means the same elsewhere: times are from the beginning."""
    turn, user = stage.ask()
    stage.say(2, use("Read", "t1"), result("t1"))
    answer = stage.end(turn, user)
    stage.clock.now += 1000
    again = pickle.loads(pickle.dumps(answer))
    assert again.timeline().spans == answer.timeline().spans
    assert pickle.loads(pickle.dumps(answer.timeline())).svg == answer.timeline().svg


def test_an_answer_made_by_hand_has_an_empty_one():
    """Nothing was asked, and nothing fails."""
    timeline = Answer("hi").timeline()
    assert (timeline.spans, timeline.seconds, timeline.summary()) == ((), 0, "no turns yet")
    assert "nothing has been asked yet" in texts(checked(timeline.svg))
    assert "<style" in timeline.svg and "<style" not in timeline._repr_html_()


def test_sums_count_no_second_twice():
    """Two tools at once take as long as the longer one; waiting is no work."""
    timeline = timeline_of([sample()])
    assert timeline.seconds == 8.25
    assert timeline.model_seconds == 4.0
    assert timeline.waiting_seconds == 2.25
    assert timeline.tool_seconds == 1.75
    assert repr(timeline) == (
        "<Timeline of 1 turn: 8.2 s · model 4.0 s · 2 tool calls 1.8 s · "
        "waiting for answers 2.2 s · $0.2500>"
    )


def test_it_prints_as_a_table():
    """A line for each span, the sums below."""
    lines = str(timeline_of([sample()])).splitlines()
    assert lines[0] == "    0.000     8.250 s  turn Look at it"
    assert "    2.500     3.500 s    tool Bash  failed" in lines
    assert "    2.750     2.250 s    permission Bash" in lines
    assert lines[-1].startswith("8.2 s")
    hostile = str(Timeline((Span("tool", "clear\x1b[2J", 0.0, 1.0),)))
    assert "clear\\x1b[2J" in hostile and "\x1b" not in hostile


def test_what_is_left_out_is_told():
    """The marks of very long turns have an end."""
    marks = sample()
    marks.left_out = 7
    assert "7 more not kept" in timeline_of([marks]).summary()
    assert timeline_of([marks, marks]).left_out == 14


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.svg", "<svg"), ("b.HTML", "<!DOCTYPE html>"), ("c.htm", "<!")]
)
def test_it_can_be_saved(tmp_path, name, beginning):
    """As a picture or as a page; the path comes back."""
    path = timeline_of([sample(prompt="\ud800 ü")]).save(str(tmp_path / name))
    assert path == tmp_path / name
    assert path.read_text(encoding="utf-8").startswith(beginning)


@pytest.mark.parametrize("name", ["a.png", "a", ".svg"])
def test_other_kinds_of_file_are_refused(tmp_path, name):
    """With what would do, and without writing."""
    with pytest.raises(UsageError, match=r"\.svg or \.html"):
        timeline_of([sample()]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@each(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.25, "250 ms"),
        (0.9999, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (3599.9, "1 h 00 min"),
        (7261, "2 h 01 min"),
    ],
)
def test_durations_are_for_people(seconds, text):
    """Each with a unit that fits, and never sixty of something."""
    assert shown(seconds) == text


# What marks mean.


MUCH_LATER = 1_000.0


def spans(marks, now=MUCH_LATER):
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
    assert [span.first for span in found if span.kind == "model"] == [1.0, None]


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
    late = spans(marks_of((0, SENT, None), (9, ENDED, None, "success", False), cut=5.0))
    assert (late[0].end, late[0].error) == (9.0, False)  # a call that timed out, and its turn
    found = spans(marks_of((0, SENT, None), cut=5.0))
    assert [(span.kind, span.end, span.error) for span in found] == [
        ("turn", 5.0, True),
        ("model", 5.0, False),
    ]


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


def test_messages_that_come_twice_are_one_tool():
    """After Ctrl-C in a handler, the message is delivered again."""
    use = (1, USED, None, "t1", "Bash")
    marks = marks_of((0, SENT, None), use, use, (2, DONE, None, "t1", False))
    assert times(spans(marks), "tool") == [("Bash", 1, 2)]


SPACE = "{http://www.w3.org/2000/svg}"


ALLOWED = {
    "svg": {
        *("viewBox", "width", "height", "role", "aria-label", "fill"),
        *("font-family", "font-size", "x", "y"),
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
    labels = [(e[0].text, e.get("x")) for e in root.iter(f"{SPACE}svg") if e.get("x")]
    assert labels[1:] == [("Task", "14"), ("Agent", "28"), ("Grep", "42"), ("Read", "14")]


def test_hundreds_of_tools_share_rows():
    """One row for each tool, with how often; those at once are one below the other."""
    tools = [(f"t{n}", "Read" if n % 2 else "Bash", n / 4, n / 4 + 0.6, n == 7) for n in range(200)]
    waits = [("permission", "Bash", "t2", 0.5, 0.6)]
    root = checked(timeline_of([turn_with(*tools, waits=waits)]).svg)
    assert len(bars(root, "permission")) == 1
    written = texts(root)
    assert "Read ×100" in written  # noqa: RUF001 - times
    assert "Bash ×100" in written  # noqa: RUF001 - times
    assert len(bars(root, "tool")) == 199
    assert len(bars(root, "error")) == 1
    assert float(root.get("height")) < 300


def test_the_number_of_rows_has_an_end():
    """A thousand different tools are a picture that can still be shown."""
    tools = [(f"t{n}", f"tool {n}", n / 100, n / 100 + 0.1, False) for n in range(1000)]
    root = checked(timeline_of([turn_with(*tools)]).svg)
    assert f"{1001 - MOST_ROWS} more rows" in texts(root)


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
