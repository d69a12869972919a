"""Recording the wire: both directions, private, without secrets, never in the way."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

import claude_sync
from claude_sync import Options, UsageError
from claude_sync.engine.launch.command import Launch
from claude_sync.engine.recording import recorder as module
from claude_sync.engine.recording.recorder import Recorder

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


@pytest.fixture
def path(tmp_path):
    """Where the recording goes."""
    return tmp_path / "wire.jsonl"


@pytest.fixture
def recorder(path):
    """A recorder of it."""
    made = Recorder(path)
    yield made
    made.close()


def refuse(number):
    """Not every program reads numbers that are no JSON."""
    raise AssertionError(f"{number} is no JSON")


def lines(path):
    """What is in the file."""
    text = path.read_text()
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def records(path):
    """What is in the file about the wire, without times and names of runs."""
    return [
        {key: value for key, value in each.items() if key not in ("t", "run")}
        for each in lines(path)
        if each["dir"] in ("in", "out")
    ]


def start(recorder, *, argv=("claude",), environment=None, cwd=None, version=None, **options):
    """Tell the recorder of a process."""
    launch = Launch(tuple(argv), environment or {}, cwd, {})
    engine = SimpleNamespace(name="mine", options=Options(**options), cli_version=version)
    recorder.started(launch, engine)


# What is recorded.


def test_both_directions_are_recorded(recorder, path):
    """What is sent is "in", what is received is "out", in order, with the time."""
    recorder.sent(b'{"a":1}\n{"b":2}\n')
    recorder.received(b'{"c":3}')
    assert records(path) == [
        {"dir": "in", "msg": {"a": 1}},
        {"dir": "in", "msg": {"b": 2}},
        {"dir": "out", "msg": {"c": 3}},
    ]
    times = [each["t"] for each in lines(path)]
    assert times == sorted(times)
    assert times[0] >= 0


def test_the_first_line_says_what_it_is(recorder, path):
    """The form of the recording, who made it, and when."""
    head = lines(path)[0]
    assert (head["dir"], head["format"]) == ("head", module.FORMAT)
    assert head["claude_sync"] == claude_sync.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", head["time"])


def test_the_lives_of_a_cli_are_told_apart(recorder, path):
    """Start and end of each process are marked, and each line says whose it is."""
    start(recorder, argv=["claude", "--verbose"])
    recorder.received(b'{"a":1}')
    recorder.exited(9)
    start(recorder, argv=["claude", "--resume=x"], version="2.1.325")
    recorder.received(b'{"b":2}')
    recorder.exited(None)
    found = lines(path)[1:]
    assert [(each["dir"], each.get("msg")) for each in found] == [
        ("argv", ["claude", "--verbose"]),
        ("out", {"a": 1}),
        ("exit", 9),
        ("argv", ["claude", "--resume=x"]),
        ("out", {"b": 2}),
        ("exit", None),
    ]
    runs = [each["run"] for each in found]
    assert runs[:3] == [runs[0]] * 3
    assert runs[3:] == [runs[3]] * 3
    assert runs[0] != runs[3]
    assert [each.get("cli_version") for each in (found[0], found[3])] == [None, "2.1.325"]
    assert found[0]["client"] == "mine"


def test_what_is_no_message_is_recorded_as_text(recorder, path):
    """Noise is kept under another name, broken bytes included."""
    recorder.received(b"Warning: \xff old node, TOKEN=hunter2")
    recorder.received(b"[1]")
    assert records(path) == [
        {"dir": "out", "raw": "Warning: \ufffd old node, TOKEN=<secret-1>"},
        {"dir": "out", "raw": "[1]"},
    ]


def test_the_file_is_plain_ascii(recorder, path):
    """Any program can read it, whatever was said."""
    recorder.received('{"text":"schön \u2028 \U0001f600 \\u0000"}'.encode())
    assert path.read_bytes().isascii()
    assert records(path)[0]["msg"] == {"text": "schön \u2028 \U0001f600 \0"}


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":' * 400 + b"1" + b"}" * 400,
        b'{"a": 1e999}',
        b'{"a": NaN}',
        b'{"a": "NaN, Infinity"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
        b'{"type": "stream_event", "event": {"type": "content_block_delta", "delta": []}}',
    ],
    ids=["deep", "infinite", "nan", "words", "huge", "surrogate", "odd"],
)
def test_no_line_of_the_cli_stops_a_recording(recorder, path, line):
    """What has no plain JSON form is recorded all the same."""
    recorder.received(line)
    recorder.received(b'{"b":2}')
    first, second = records(path)
    assert "msg" in first or first["raw"] == line.decode()
    assert second["msg"] == {"b": 2}


# What is not.


@pytest.mark.parametrize("record", [Recorder.sent, Recorder.received])
def test_secrets_are_not_recorded(recorder, path, record):
    """Keys and tokens are hidden in both directions, and messages stay messages."""
    record(recorder, b'{"env":{"API_KEY":"hunter2"},"text":"sk-ant-api03-hunter2"}')
    assert "hunter2" not in path.read_text()
    assert records(path)[0]["msg"]["env"] == {"API_KEY": "<secret-1>"}


@pytest.mark.parametrize(
    "line",
    [
        b'{"text":"write to alice\\u0040example.com"}',
        b'{"\\u0074oken":"alice"}',
        b'{"a":' * 300 + b'"\\nTOKEN=alice"' + b"}" * 300,
    ],
    ids=["value", "name", "deep"],
)
def test_an_escape_hides_nothing(recorder, path, line):
    """It is read first, and then redacted."""
    recorder.received(line)
    assert "alice" not in path.read_text()
    assert "-1>" in path.read_text()


@pytest.mark.parametrize("line", ['{"a":"q\\"z\\\\w0rd8"}', '{"a":"b\\/w0rd-8"}', 'q\\"z\\\\w0rd8'])
def test_a_known_secret_that_is_escaped(recorder, path, line):
    """In the text of JSON it looks otherwise, and is the same."""
    start(recorder, environment={"A_KEY": 'q"z\\w0rd8', "B_KEY": "b/w0rd-8"})
    recorder.received(line.encode())
    assert "w0rd" not in path.read_text()
    assert "<secret-1>" in path.read_text()


def delta_line(text, kind="text_delta", field="text", index=0, **more):
    """A line of the CLI with a piece of a block."""
    delta = {"type": kind, field: text}
    event = {"type": "content_block_delta", "index": index, "delta": delta}
    return json.dumps({"type": "stream_event", "event": event, **more}).encode()


def stop_line(index=0, **more):
    """A line of the CLI that ends a block."""
    event = {"type": "content_block_stop", "index": index}
    return json.dumps({"type": "stream_event", "event": event, **more}).encode()


def recorded_deltas(path):
    """The deltas in a recording."""
    return [
        each["msg"]["event"]["delta"] for each in records(path) if "delta" in each["msg"]["event"]
    ]


def test_the_deltas_of_a_block_are_one(recorder, path):
    """So that no secret hides between two of them; it comes before what ends the block."""
    for text in ("use sk-an", "t-api03-hun", "ter2", " or pass", "word: swo", "rdfish-1"):
        recorder.received(delta_line(text))
    recorder.received(stop_line())
    assert recorded_deltas(path) == [
        {"type": "text_delta", "text": "use <secret-1> or password: <secret-2>"}
    ]
    kinds = [each["msg"]["event"]["type"] for each in records(path)]
    assert kinds == ["content_block_delta", "content_block_stop"]


def test_blocks_of_several_speakers_are_told_apart(recorder, path):
    """By the number of the block, and by the subagent."""
    for index, parent in ((0, None), (1, None), (0, "a")):
        for word in ("one ", "two"):
            text = f"{word}{index}{parent}"
            recorder.received(delta_line(text, index=index, parent_tool_use_id=parent))
    recorder.received(stop_line(1))
    recorder.received(b'{"type":"assistant","parent_tool_use_id":"a","event":{}}')
    recorder.received(b'{"type":"result","event":{}}')
    texts = [each["text"] for each in recorded_deltas(path)]
    assert texts == ["one 1Nonetwo1None", "one 0atwo0a", "one 0Nonetwo0None"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (['{"command": "export A_TOK', 'EN=hunter2"}'], '{"command": "export A_TOKEN=<secret-1>"}'),
        (['{"k": "\\u0073k-ant-ap', 'i03-hunter2"}'], '{"k": "<secret-1>"}'),
        (['{"k": "\\u0073k-ant-ap', "i03-hunter2"], '{"k": "<secret-1>'),
        (['{"a":  "\\u00e9"', "}"], '{"a":  "\\u00e9"}'),
    ],
)
def test_the_input_of_a_tool_is_joined_as_json(recorder, path, pieces, shown):
    """Escapes hide nothing in it; without a secret it stays as it was."""
    for piece in pieces:
        recorder.received(delta_line(piece, "input_json_delta", "partial_json"))
    recorder.received(stop_line())
    assert recorded_deltas(path)[0]["partial_json"] == shown


@pytest.mark.parametrize("end", ["exited", "close"])
def test_a_block_that_is_cut_off_is_recorded_at_the_end(recorder, path, end):
    """A turn that was stopped keeps its last words."""
    recorder.received(delta_line("last "))
    recorder.received(delta_line("word"))
    assert records(path) == []
    recorder.exited(1) if end == "exited" else recorder.close()
    assert [each["text"] for each in recorded_deltas(path)] == ["last word"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"stream_event","event":{"type":"content_block_delta"}}',
        b'{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"new","x":1}}}',
        b'{"type":"stream_event","event":3}',
        b'{"type":["x"],"event":{},"parent_tool_use_id":{}}',
    ],
)
def test_other_events_are_recorded_at_once(recorder, path, line):
    """Whatever they are."""
    recorder.received(line)
    assert [each["msg"] for each in records(path)] == [json.loads(line)]


def test_the_start_shows_no_secrets(recorder, path):
    """Neither the command nor the folder; and what it tells is hidden from then on."""
    start(
        recorder,
        argv=["/home/alice/claude", "--settings", '{"a": "hunter2"}', "--x=TOKEN=hunter2"],
        environment={"HOME": "/srv/alice", "MY_TOKEN": "swordfish-1"},
        cwd="/srv/alice/project",
        mcp_servers={"x": {"command": "y", "env": {"A_KEY": "swordfish-2"}}},
    )
    recorder.received(b'{"text":"swordfish-1 swordfish-2 /srv/alice"}')
    text = path.read_text()
    for word in ("hunter2", "alice", "swordfish"):
        assert word not in text
    begin = lines(path)[1]
    assert begin["msg"] == ["~/claude", "--settings", "***", "--x=TOKEN=***"]
    assert begin["cwd"] == "~/project"


# The file.


def test_a_crash_leaves_whole_lines(recorder, path):
    """Each line is in the file as soon as it was recorded."""
    recorder.received(b'{"a":1}')
    assert path.read_bytes().endswith(b'"msg":{"a":1}}\n')


@posix
def test_the_file_is_private(recorder, path):
    """Nobody else on the machine may read it."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_the_file_is_private_from_the_beginning(path, monkeypatch):
    """There is no moment in which somebody else could open it."""
    monkeypatch.setattr(os, "fchmod", lambda descriptor, mode: None)
    Recorder(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_a_file_that_others_can_read_is_made_private(path):
    """A recording that somebody has made readable is closed to others again."""
    Recorder(path).close()
    path.chmod(0o644)
    Recorder(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_a_file_that_stays_readable_is_refused(path, monkeypatch):
    """Some file systems know no modes: better no recording than one for everybody."""
    path.touch(0o644)
    monkeypatch.setattr(os, "fchmod", lambda descriptor, mode: None)
    with pytest.raises(UsageError, match="others on this machine can read it"):
        Recorder(path)


@posix
def test_a_file_of_somebody_else_is_refused(path, monkeypatch):
    """Who owns it could read what is recorded."""
    path.touch(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        Recorder(path)


def test_a_second_recording_is_appended(recorder, path):
    """A later client does not lose what was recorded before, and is told apart."""
    recorder.received(b'{"a":1}')
    recorder.close()
    again = Recorder(path)
    again.received(b'{"b":2}')
    again.close()
    assert [each["msg"] for each in records(path)] == [{"a": 1}, {"b": 2}]
    assert [each["dir"] for each in lines(path)] == ["head", "out", "out"]
    assert len({each["run"] for each in lines(path)}) == 2


def test_half_a_line_of_a_crash_harms_no_other(path):
    """After a crash the next recording begins on a line of its own."""
    Recorder(path).close()
    with path.open("a") as file:
        file.write('{"dir":"out","msg":{"a"')
    again = Recorder(path)
    again.received(b'{"b":2}')
    again.close()
    assert json.loads(path.read_text().splitlines()[-1])["msg"] == {"b": 2}


def test_a_file_that_is_no_recording_is_refused(path):
    """A typo must not add lines to somebody's program."""
    path.write_text("print('hello')\n")
    with pytest.raises(UsageError, match=r"not a recording.*remove the file"):
        Recorder(path)
    assert path.read_text() == "print('hello')\n"


def test_a_folder_is_refused(tmp_path):
    """With a text that says so."""
    with pytest.raises(UsageError, match="it is a folder"):
        Recorder(tmp_path)


def test_a_folder_that_is_missing(tmp_path):
    """What the system says, and what to do."""
    with pytest.raises(UsageError, match=r"No such file.*folder that exists"):
        Recorder(tmp_path / "missing" / "wire.jsonl")


@posix
def test_a_device_is_refused():
    """Nothing is ever written to it."""
    with pytest.raises(UsageError, match="a device or a pipe"):
        Recorder("/dev/null")


@posix
def test_a_pipe_is_refused(path):
    """And nobody waits for its other end."""
    os.mkfifo(path)
    with pytest.raises(UsageError, match="a device or a pipe"):
        Recorder(path)


@posix
def test_a_link_is_refused(path, tmp_path):
    """In a folder that others can write, it may lead anywhere."""
    target = tmp_path / "target"
    target.touch(0o600)
    path.symlink_to(target)
    with pytest.raises(UsageError, match=f"symbolic link. Pass where it points to: '{target}'"):
        Recorder(path)
    assert target.read_bytes() == b""


@posix
@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
def test_a_file_that_changes_in_between_is_refused(path, tmp_path, monkeypatch, kind):
    """What is opened is looked at once more; a link is not followed, wherever it leads to."""
    target = tmp_path / "target"
    target.touch(0o600)
    if kind == "pipe":
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    else:
        path.symlink_to("/dev/null" if kind == "device" else target)
        reader = os.open(target, os.O_RDONLY)
    monkeypatch.setattr(module, "check_kind", lambda path: None)
    with pytest.raises(UsageError, match=r"not a regular file|symbolic links"):
        Recorder(path)
    os.close(reader)
    assert target.read_bytes() == b""


# Its end.


def test_after_the_end_lines_are_dropped(recorder, path):
    """A line that comes late, and a second close, are harmless."""
    recorder.close()
    before = path.read_bytes()
    recorder.received(b'{"a":1}')
    recorder.exited(0)
    recorder.close()
    assert path.read_bytes() == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_ends_the_recording_and_nothing_else(recorder, caplog):
    """A recording that cannot be written is given up, with one line in the log."""
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recorder._descriptor)
    os.close(full)
    recorder.received(b'{"a":1}')
    recorder.sent(b'{"a":1}\n')
    recorder.close()
    assert caplog.text.count("No space left") == 1
    assert caplog.text.count("the session continues") == 1


def test_a_bug_ends_the_recording_and_nothing_else(recorder, path, caplog, monkeypatch):
    """Whatever goes wrong, the reader is not told; and the log shows no secret."""

    def fail(line):
        raise RuntimeError("hunter2")

    monkeypatch.setattr(module, "decode", fail)
    recorder.received(b'{"a":1}')
    recorder.received(b'{"b":2}')
    assert caplog.text.count("the recording ends here") == 1
    assert "RuntimeError" in caplog.text
    assert "hunter2" not in caplog.text
    assert records(path) == []


def test_a_line_is_written_whole(recorder, path, monkeypatch):
    """The system may take a part of it only."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    recorder.received(b'{"a":1}')
    monkeypatch.undo()
    assert records(path) == [{"dir": "out", "msg": {"a": 1}}]


def test_lines_of_two_threads_are_not_mixed(recorder, path, monkeypatch):
    """The reader and whoever writes record at the same time, line by line."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data[:90])))
    message = json.dumps({"a": "x" * 2000}).encode()
    threads = [
        threading.Thread(target=lambda: [recorder.received(message) for _ in range(50)])
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(records(path)) == 100
    times = [each["t"] for each in lines(path)]
    assert times == sorted(times)


def test_a_client_without_a_recording_loads_nothing_of_it():
    """Redaction and its patterns are for whoever asks for them."""
    code = "import sys, claude_sync.client; print([m for m in sys.modules if 'record' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
