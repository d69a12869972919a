"""Timelines of answers, turns and clients: times of arrival, kept with the answer."""

from __future__ import annotations

import pickle
import threading

import pytest
from patience import PATIENCE
from tables import each
from turn_marks import Clock, marks_of, sample

import claude_sync
from claude_sync import LATER, Answer, Client, TurnInterrupted, UsageError
from claude_sync.engine import marks as stamps
from claude_sync.engine.marks import ENDED, SAID, SENT, TURNS_KEPT
from claude_sync.runtime import items
from claude_sync.testing import ScriptedCli, builders
from claude_sync.timeline import Span, Timeline, shown, timeline_of


@pytest.fixture
def clock(monkeypatch):
    """The time of arrivals, moved by the test."""
    clock = Clock()
    monkeypatch.setattr(stamps, "monotonic", clock)
    monkeypatch.setattr(items, "monotonic", clock)
    monkeypatch.setattr("claude_sync.timeline.monotonic", clock)
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


def test_a_withdrawn_request_was_waited_for_until_then(stage):
    """The CLI changed its mind."""
    stage.client.on_permission(lambda request: LATER)
    turn, user = stage.ask()
    stage.say(1, use("Bash", "t1"))
    request = stage.cli.ask_permission("Bash", {}, tool_use_id="t1")
    stage.read()
    stage.clock.now += 5
    stage.cli.cancel(request)
    stage.read()
    stage.say(1, result("t1", is_error=True))
    timeline = stage.end(turn, user).timeline()
    assert ("permission", 1, 6) in kinds(timeline)
    assert timeline.of("tool")[0].error


def test_a_handler_that_answers_at_once_ends_the_wait(stage):
    """What is answered inside of the handler counts when the handler returns."""

    @stage.client.on_permission
    def decide(request):
        stage.clock.now += 7
        return request.deny("no")

    turn, user = stage.ask()
    stage.say(1, use("Bash", "t1"))
    stage.cli.expect_reply(stage.cli.ask_permission("Bash", {}, tool_use_id="t1"))
    timeline = stage.end(turn, user, 20).timeline()
    assert ("permission", 1, 8) in kinds(timeline)


def test_the_first_text_of_a_stream_is_noted_once(stage):
    """Later pieces change nothing."""
    turn, user = stage.ask()
    stage.say(1, builders.message_start("m1"), builders.block_start())
    stage.say(1, builders.text_delta("do"))
    stage.say(1, builders.text_delta("ne"))
    stage.say(1, builders.assistant("done", "m1"))
    timeline = stage.end(turn, user).timeline()
    assert [(span.first, span.end) for span in timeline.of("model")] == [(2, 4)]


def test_an_interrupted_turn_has_a_timeline(stage):
    """It is with the answer of the error, as far as it got; the turn has all of it."""
    turn, user = stage.ask()
    stage.say(1, use("Bash", "t1"))
    turn.cancel()
    stage.cli.reply(stage.cli.expect("control_request", subtype="interrupt"))
    stage.clock.now += 2
    stage.cli.end_interrupted(user)
    with pytest.raises(TurnInterrupted) as caught:
        turn.result(PATIENCE)
    timeline = caught.value.answer.timeline()
    assert timeline.turns[0].error
    assert [(span.end, span.finished) for span in timeline.of("tool")] == [(3, False)]
    assert "failed" in timeline.summary()


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


def test_a_turn_that_runs_has_one_until_now(stage):
    """Asked while it runs, it grows."""
    turn, user = stage.ask()
    stage.clock.now += 3
    assert turn.timeline().seconds == 3
    assert not turn.timeline().turns[0].finished
    assert "not finished" in str(turn.timeline())
    stage.end(turn, user)


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
    monkeypatch.setattr("claude_sync.runtime.engine.TURNS_KEPT", 2)

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
    assert timeline.svg.startswith("<svg")


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


def test_a_table_commands_no_terminal():
    """Tools of servers have whatever names these give them."""
    table = str(Timeline([Span("tool", "clear\x1b[2J", 0.0, 1.0)]))
    assert "clear\\x1b[2J" in table
    assert "\x1b" not in table


def test_what_is_left_out_is_told():
    """The marks of very long turns have an end."""
    marks = sample()
    marks.left_out = 7
    assert "7 more not kept" in timeline_of([marks]).summary()
    assert timeline_of([marks, marks]).left_out == 14


def test_failed_turns_are_counted():
    """Among several, how many."""
    failed = marks_of((0, SENT, None), (1, SAID, None), (1, ENDED, None, "success", True))
    assert "1 failed" in timeline_of([sample(), failed]).summary()


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


def test_notebooks_get_a_picture():
    """As SVG, and as HTML in the page's colours."""
    timeline = timeline_of([sample()])
    assert timeline._repr_svg_() == timeline.svg
    assert "<style" in timeline.svg
    assert "<style" not in timeline._repr_html_()
    assert "<svg" in timeline._repr_html_()


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


def test_the_classes_are_public():
    """And loaded late."""
    assert claude_sync.Timeline is Timeline
    assert claude_sync.Span is type(timeline_of([sample()]).spans[0])
