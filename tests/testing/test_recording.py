"""A recording is read as the recorder writes it, life by life."""

import pytest
from patience import PATIENCE
from recorded_sessions import greeted, line, one_answer, record_echo, write

from claude_sync import Client, UsageError
from claude_sync.testing import Recording, ReplayDifference
from claude_sync.testing.fixtures import offline_cli


def test_a_recorded_session_plays_back(tmp_path):
    """What the recorder writes, a recording plays: answers, cost, session, everything."""
    path = tmp_path / "wire.jsonl"

    def program(client):
        heard = []
        client.on_text(heard.append)
        answers = [client.ask(text, timeout=PATIENCE) for text in ("one", "two and more")]
        told = [(str(each), each.cost_usd, dict(each.usage), each.session_id) for each in answers]
        # A recording has the pieces of a block as one.
        return told, "".join(heard), client.set_model("opus").raw

    then = record_echo(path, program)
    recording = Recording(path)
    with Client(transport=recording.replay) as client:
        assert program(client) == then
    recording.assert_done()
    assert then[0][1][0] == "echo: two and more"


def test_each_process_is_a_life(tmp_path):
    """Restarts of one client have its name in common; another client's lives are its own."""
    path = write(
        tmp_path / "x.jsonl",
        {"dir": "head", "format": 1},
        line("argv", ["claude", "--one"], "abc-1", client="first"),
        line("in", {"type": "a"}, "abc-1"),
        line("argv", ["claude"], "xyz-1", client="second"),
        line("out", {"type": "b"}, "xyz-1", t=1.5),
        line("exit", -9, "abc-1"),
        line("argv", ["claude", "--resume"], "abc-2", client="first"),
        {"dir": "out", "t": 2, "run": "abc-2", "raw": "no message"},
        line("exit", None, "abc-2"),
    )
    first, second, third = Recording(path).lives
    assert [life.run for life in (first, second, third)] == ["abc-1", "xyz-1", "abc-2"]
    assert [life.argv for life in (first, second, third)] == [
        ["claude", "--one"],
        ["claude"],
        ["claude", "--resume"],
    ]
    assert [life.goes_on for life in (first, second, third)] == [True, False, False]
    assert [(life.exited, life.exit_code) for life in (first, second, third)] == [
        (True, -9),
        (False, None),
        (True, None),
    ]
    assert [(each.is_heard, each.message, each.number) for each in first.lines] == [
        (True, {"type": "a"}, 3)
    ]
    assert second.lines[0].seconds == 1.5
    assert (third.lines[0].message, third.lines[0].raw) == (None, "no message")
    (only,) = Recording(path, client="second").lives
    assert only.run == "xyz-1"


def test_lines_that_name_no_process(tmp_path):
    """A recording that was shortened begins a life with each greeting, or each start."""
    plain = [{"dir": each["dir"], "msg": each["msg"]} for each in greeted()]
    path = write(tmp_path / "x.jsonl", {"dir": "book", "msg": []}, *plain, *plain)
    assert [len(life.lines) for life in Recording(path).lives] == [2, 2]
    start = {"dir": "argv", "msg": ["claude"]}
    path = write(tmp_path / "y.jsonl", start, *plain, start, *plain, {"dir": "exit", "msg": 3})
    lives = Recording(path).lives
    assert [len(life.lines) for life in lives] == [2, 2]
    assert [life.exit_code for life in lives] == [None, 3]


def test_what_nobody_could_have_written_is_no_line(tmp_path):
    """A line that is nested too deeply to be read stops nobody."""
    path = one_answer(tmp_path / "x.jsonl")
    deep = '{"dir":"out","msg":' + "[" * 100_000 + "]" * 100_000 + "}\n"
    path.write_text(deep + path.read_text(encoding="utf-8"), encoding="utf-8")
    assert len(Recording(path).lives[0].lines) == 6


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "there is no recording"),
        ("", "nothing to replay"),
        ("hello\n", "nothing to replay"),
        ('{"dir":"head","format":2}\n', "later release"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path, text, words):
    """The error says what is wrong with the file and what to do."""
    path = tmp_path / "x.jsonl"
    if isinstance(text, bytes):
        path.write_bytes(text)
    elif text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=words):
        Recording(path)


def test_clients_with_names_get_what_they_recorded(tmp_path):
    """In whichever order they are started: several threads may open them."""
    path = tmp_path / "x.jsonl"
    for name in ("one", "two", "three"):
        with Client(transport=offline_cli, record=path, name=name) as client:
            client.ask(name, timeout=PATIENCE)
    recording = Recording(path)
    # Made in one order, started in another, as happens with several threads.
    made = {name: recording.replay() for name in ("two", "one", "three")}
    for name in ("three", "one", "two"):
        with Client(transport=made[name], name=name) as client:
            assert client.ask(name, timeout=PATIENCE) == f"echo: {name}"
    recording.assert_done()


def test_a_process_that_is_made_and_not_started_is_missing(tmp_path):
    """What was recorded of it was not said; it can be closed like any other."""
    recording = Recording(one_answer(tmp_path / "x.jsonl"))
    recording.replay().close(PATIENCE)
    with pytest.raises(ReplayDifference, match="1 times then, 0 times now"):
        recording.assert_done()


@pytest.mark.parametrize("settings", [{"speed": 0}, {"speed": -1}, {"patience": 0}])
def test_settings_are_checked(tmp_path, settings):
    """A pause cannot take less than no time."""
    path = one_answer(tmp_path / "x.jsonl")
    with pytest.raises(UsageError, match=next(iter(settings))):
        Recording(path, **settings)


def test_one_start_too_many(tmp_path):
    """A program that starts more CLIs than it did is told so."""
    recording = Recording(one_answer(tmp_path / "x.jsonl"))
    recording.replay()
    with pytest.raises(ReplayDifference, match=r"more often.*1 times then"):
        recording.replay()


def test_one_start_too_few(tmp_path):
    """A program that never starts the second CLI has not done what it did."""
    path = write(
        tmp_path / "x.jsonl", *greeted("abc-1"), line("exit", 0, "abc-1"), *greeted("xyz-1")
    )
    recording = Recording(path)
    with Client(transport=recording.replay) as client:
        client.start(PATIENCE)
    with pytest.raises(ReplayDifference, match="2 times then, 1 times now"):
        recording.assert_done()


def test_a_question_that_is_not_asked_any_more(tmp_path):
    """A program that ends earlier than it did is told at what."""
    recording = Recording(one_answer(tmp_path / "x.jsonl"))
    with Client(transport=recording.replay) as client:
        client.start(PATIENCE)
    with pytest.raises(ReplayDifference, match=r"(?s)line 4.*ended before that.*-.*hi"):
        recording.assert_done()
