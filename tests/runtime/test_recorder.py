"""Recording the wire: both directions, private, without secrets, never in the way."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from claude_sync.runtime.recorder import Recorder


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


def records(path):
    """What is in the file, without the times."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [{key: value for key, value in each.items() if key != "t"} for each in lines]


def test_both_directions_are_recorded(recorder, path):
    """What is sent is "in", what is received is "out", in order, with the time."""
    recorder.sent(b'{"a":1}\n{"b":2}\n')
    recorder.received(b'{"c":3}')
    assert records(path) == [
        {"dir": "in", "msg": {"a": 1}},
        {"dir": "in", "msg": {"b": 2}},
        {"dir": "out", "msg": {"c": 3}},
    ]
    times = [json.loads(line)["t"] for line in path.read_text().splitlines()]
    assert times == sorted(times)
    assert times[0] >= 0


def test_what_is_no_message_is_recorded_as_text(recorder, path):
    """Noise is kept under another name, broken bytes included."""
    recorder.received(b"Warning: \xff old node")
    recorder.received(b"[1]")
    assert records(path) == [
        {"dir": "out", "raw": "Warning: � old node"},
        {"dir": "out", "raw": "[1]"},
    ]


@pytest.mark.parametrize("record", [Recorder.sent, Recorder.received])
def test_secrets_are_not_recorded(recorder, path, record):
    """Keys and tokens are hidden in both directions, and messages stay messages."""
    record(recorder, b'{"env":{"API_KEY":"hunter2"},"text":"sk-ant-api03-hunter2"}')
    assert "hunter2" not in path.read_text()
    assert records(path)[0]["msg"]["env"] == {"API_KEY": "***"}


def test_a_crash_leaves_whole_lines(recorder, path):
    """Each line is in the file as soon as it was recorded."""
    recorder.received(b'{"a":1}')
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_the_file_is_private(recorder, path):
    """Nobody else on the machine may read it."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_second_recording_is_appended(recorder, path):
    """A restart does not lose what was recorded before."""
    recorder.received(b'{"a":1}')
    recorder.close()
    again = Recorder(path)
    again.received(b'{"b":2}')
    again.close()
    assert [each["msg"] for each in records(path)] == [{"a": 1}, {"b": 2}]


def test_after_the_end_lines_are_dropped(recorder, path):
    """A line that comes late, and a second close, are harmless."""
    recorder.close()
    recorder.received(b'{"a":1}')
    recorder.flush()
    recorder.close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "line",
    [
        b'{"a":' * 400 + b"1" + b"}" * 400,
        b'{"a": 1e999}',
        b'{"a": NaN}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": "\\ud800"}',
    ],
    ids=["deep", "infinite", "nan", "huge", "surrogate"],
)
def test_no_line_of_the_cli_stops_a_recording(recorder, path, line):
    """What has no plain JSON form is recorded all the same."""
    recorder.received(line)
    recorder.received(b'{"b":2}')
    first, second = records(path)
    assert "msg" in first or first["raw"] == line.decode()
    assert second["msg"] == {"b": 2}


def test_a_full_disk_ends_the_recording_and_nothing_else(recorder, caplog):
    """A recording that cannot be written is given up, with one line in the log."""

    class FullDisk:
        def write(self, data):
            raise OSError(28, "No space left on device")

        def flush(self):
            pass

        def close(self):
            pass

    recorder._file.close()
    recorder._file = FullDisk()
    recorder.received(b'{"a":1}')
    recorder.sent(b'{"a":1}\n')
    recorder.close()
    assert caplog.text.count("No space left") == 1


def test_lines_of_two_threads_are_not_mixed(recorder, path):
    """The reader and whoever writes record at the same time, line by line."""
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
