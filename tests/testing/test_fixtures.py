"""What the fixtures give out: tapes that are made or played, and whom a client talks to."""

from pathlib import Path

import pytest
from patience import PATIENCE
from recorded_sessions import one_answer

from claude_sync import Client, UsageError
from claude_sync.testing import LoopbackModel, Recording, ReplayDifference, ScriptedCli, Tape
from claude_sync.testing.fixtures import client_options, offline_cli, path_of_recording


@pytest.fixture
def path(tmp_path):
    """Where a recording may be."""
    return tmp_path / "recordings" / "test_it" / "test_one.jsonl"


def record(tape, question="hi"):
    """Ask the offline CLI something, on tape."""
    with Client(**{"transport": offline_cli, **tape.options}) as client:
        return client.ask(question, timeout=PATIENCE)


def test_a_tape_is_made_and_then_played(path):
    """The file is there once the test has passed; from then on nothing is asked."""
    tape = Tape(path, is_recording=True)
    assert record(tape) == "echo: hi"
    assert not path.exists()
    tape.finish(passed=True)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    tape = Tape(path)
    assert isinstance(tape.recording, Recording)
    with Client(**tape.options) as client:
        assert client.ask("hi", timeout=PATIENCE) == "echo: hi"
    tape.finish(passed=True)


def test_a_recording_is_made_anew(path):
    """Not added to: neither to the last one, nor to one that was left. A failure is not kept."""
    for question in ("one", "two"):
        tape = Tape(path, is_recording=True)
        path.with_name(path.name + ".new").write_text("left over")
        tape = Tape(path, is_recording=True)
        record(tape, question)
        tape.finish(passed=True)
    assert len(Recording(path).lives) == 1
    assert "echo: two" in path.read_text()
    tape = Tape(path, is_recording=True)
    record(tape, "three")
    tape.finish(passed=False)
    assert "echo: two" in path.read_text()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_without_a_recording_nothing_is_asked(path):
    """A test run must not cost money by accident: the error says how to record."""
    with pytest.raises(UsageError, match=r"(?s)test_one.jsonl.*pytest --claude-record"):
        Tape(path)
    with pytest.raises(UsageError, match="being made"):
        Tape(path, is_recording=True).recording  # noqa: B018


def test_all_of_it_must_be_played(tmp_path):
    """Unless the test failed anyway: then that is what matters."""
    path = one_answer(tmp_path / "x.jsonl")
    tape = Tape(path)
    tape.finish(passed=False)
    with pytest.raises(ReplayDifference):
        tape.finish(passed=True)


@pytest.mark.parametrize("parent", ["one", "home/alice", "été"])
def test_the_folder_of_a_test_is_another_each_time(path, tmp_path, parent, monkeypatch):
    """The recording does not name it; what was said then is about the folder of now."""
    monkeypatch.setenv("HOME", str(tmp_path / "home/alice"))
    then, now = tmp_path / parent / "test_it0", tmp_path / "two" / "test_it0"
    tape = Tape(path, is_recording=True, folder=then)
    assert record(tape, f"Look at {then}/a.txt") == f"echo: Look at {then}/a.txt"
    tape.finish(passed=True)
    assert "test_it0" not in path.read_text()
    assert "Look at <tmp_path>/a.txt" in path.read_text()
    tape = Tape(path, folder=now)
    pieces = []
    with Client(**tape.options, on_text=pieces.append) as client:
        asked = f"Look at {now}/a.txt"
        assert client.ask(asked, timeout=PATIENCE) == f"echo: {asked}" == "".join(pieces)
    tape.finish(passed=True)


def test_where_recordings_are():
    """Beside the test's file, by names that every system takes, each test its own."""
    file = Path("tests", "test_it.py")
    folder = file.parent / "recordings" / "test_it"
    assert path_of_recording(file, "test_one") == folder / "test_one.jsonl"
    assert path_of_recording(file, "TestIt::test_one") == folder / "TestIt.test_one.jsonl"
    assert path_of_recording(file, "test_one[a-1]") == folder / "test_one-a-1.jsonl"
    names = ["test[a/b]", "test[a:b]", "test[a-b]", "t" * 300, "t" * 299]
    paths = [path_of_recording(file, name).name for name in names]
    assert len(set(paths)) == len(names)
    assert max(map(len, paths)) < 130
    assert not [name for name in paths if set(name) & set('/\\:*?"<>|[]')]


# Whom a client talks to.


def test_it_talks_to_what_the_test_asks_for(tmp_path, path):
    """A script before a recording, a recording before a model; a model only to record."""
    cli, model = ScriptedCli(), LoopbackModel()
    home = tmp_path / "home"
    playing = Tape(one_answer(tmp_path / "x.jsonl"))
    making = Tape(path, is_recording=True)
    assert client_options(home, cli, playing, model) == {"transport": cli}
    assert client_options(home, None, playing, model) == playing.options
    assert client_options(home, None, making) == making.options
    with model:
        options = client_options(home, None, making, model)
        assert set(options) == {"record", "env"}
        assert options["env"]["ANTHROPIC_BASE_URL"] == model.url
        assert set(client_options(home, model=model)) == {"env"}
    assert home.is_dir()
