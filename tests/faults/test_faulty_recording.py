"""Recordings under bad conditions: crashes, full disks, others at the same file."""

from __future__ import annotations

import json
import logging
import os
import signal

import pytest
import recording_scripts
from patience import PATIENCE
from recording_scripts import KEY

from claude_sync import Client, CliExited, CliNotFound, UsageError
from claude_sync.testing import StandIn

RECORDS = """
import os, sys, claude_sync, recording_scripts
from claude_sync.testing import StandIn

command = StandIn(getattr(recording_scripts, sys.argv[2])).command
client = claude_sync.Client(cli=command, record=sys.argv[1])
client.on_text(lambda text: print("heard", text, flush=True))
client.on_permission(lambda request: True)
client.start()
print("pid", client.pid, flush=True)
turn = client.submit("talk")
sys.stdin.readline()
os._exit(3)
"""


def lines(path):
    """What is in a recording."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def texts(records):
    """The texts of all deltas."""

    def is_message(each):
        return each["dir"] == "out" and "msg" in each

    events = [each["msg"].get("event", {}) for each in records if is_message(each)]
    return [each["delta"]["text"] for each in events if "text" in each.get("delta", {})]


@pytest.mark.parametrize("how", ["killed", "os._exit"])
def test_a_program_that_ends_in_mid_session(program, tmp_path, gone, how):
    """Every line but perhaps the last is whole; only the block that was growing is missing."""
    path = tmp_path / "wire.jsonl"
    running = program(RECORDS, str(path), "never_stops_talking")
    printed = running.wait_for("heard")
    if how == "killed":
        os.kill(running.process.pid, signal.SIGKILL)
    else:
        running.say("now")
    running.process.wait(PATIENCE)
    *whole, last = path.read_bytes().split(b"\n")
    records = [json.loads(line) for line in whole]
    assert [each["dir"] for each in records[:3]] == ["head", "argv", "in"]
    assert any(each["dir"] == "out" for each in records)
    assert last == b"" or last.startswith(b'{"dir":"out"')
    gone(int(printed.split()[1]))


def test_two_clients_on_one_file(stand_in, tmp_path):
    """Their lines are not mixed, and each says whose it is."""
    path = tmp_path / "wire.jsonl"
    clients = [stand_in(record=path) for _ in range(2)]
    turns = [
        client.submit(f"number {place} of {number}")
        for number in range(10)
        for place, client in enumerate(clients)
    ]
    for turn in turns:
        turn.result(PATIENCE)
    for client in clients:
        client.close()
    runs = {}
    for record in lines(path)[1:]:
        runs.setdefault(record["run"], []).append(record)
    assert len(runs) == 2
    for records in runs.values():
        kinds = [each["dir"] for each in records]
        assert (kinds[0], kinds[-1]) == ("argv", "exit")
        asked = [each["msg"]["message"]["content"] for each in records if is_question(each)]
        place = asked[0].split()[1]
        assert asked == [f"number {place} of {number}" for number in range(10)]


def is_question(record):
    """Whether a record is a question to the CLI."""
    return record["dir"] == "in" and record["msg"]["type"] == "user"


def test_two_programs_on_one_file(program, tmp_path):
    """They add to it at the same time, line by line."""
    path = tmp_path / "wire.jsonl"
    programs = [program(RECORDS, str(path), "tells_its_secrets") for _ in range(2)]
    for each in programs:
        each.wait_for("now")
    for each in programs:
        each.say("end")
        each.process.wait(PATIENCE)
    starts = [each["run"] for each in lines(path) if each["dir"] == "argv"]
    assert len(set(starts)) == 2


def test_lives_of_the_cli(tmp_path):
    """A crash and the restart after it are in one file, and can be told apart."""
    path = tmp_path / "wire.jsonl"
    command = StandIn(recording_scripts.dies_and_lives).command
    with Client(cli=command, record=path) as client:
        with pytest.raises(CliExited):
            client.ask("one", timeout=PATIENCE)
        assert client.ask("two", timeout=PATIENCE) == "resumed"
    records = lines(path)
    marks = [(each["dir"], each["run"][-2:]) for each in records if each["dir"] in ("argv", "exit")]
    assert marks == [("argv", "-1"), ("exit", "-1"), ("argv", "-2"), ("exit", "-2")]
    codes = [each["msg"] for each in records if each["dir"] == "exit"]
    assert codes[0] == 9
    commands = [each["msg"] for each in records if each["dir"] == "argv"]
    assert any(word.startswith("--resume") for word in commands[1])
    first = [each for each in records if each["run"].endswith("-1")]
    assert "".join(texts(first)) == "this is cut off here"


def test_secrets_of_a_session(tmp_path, caplog):
    """They are in no recording and in no log, at no level; the program sees them all."""
    path = tmp_path / "wire.jsonl"
    heard = []
    caplog.set_level(logging.DEBUG, "claude_sync")
    command = StandIn(recording_scripts.tells_its_secrets).command
    options = {"cli": command, "record": path, "env": {"MY_TOKEN": "swordfish-1", "A_KEY": KEY}}
    with Client(**options, on_text=heard.append) as client:
        client.on_permission(lambda request: request.allow())
        answer = client.ask(f"my key is {KEY}, my token swordfish-1", timeout=PATIENCE)
        assert client.info.account["email"] == "alice@example.com"
    assert answer == "".join(heard) == f"The key is {KEY} now"
    recorded = path.read_text()
    for text in (recorded, caplog.text):
        assert KEY[13:22] not in text
        assert "swordfish" not in text
    for word in ("alice", "Alice"):
        assert word not in recorded
    records = lines(path)
    assert "".join(texts(records)) == f"The key is {secret_of(records)} now"
    (asked,) = [each["msg"]["message"]["content"] for each in records if is_question(each)]
    assert asked.startswith(f"my key is {secret_of(records)}, my token <secret-")
    assert "> " in caplog.text and "< stderr" in caplog.text and "not a message" in caplog.text


def secret_of(records):
    """What stands for the key in the final answer."""

    def is_result(each):
        return each["dir"] == "out" and each.get("msg", {}).get("type") == "result"

    (result,) = [each["msg"]["result"] for each in records if is_result(each)]
    return result.split()[3]


def test_a_recording_into_nowhere(tmp_path):
    """It is refused when the client is opened, before a process is started."""
    started = tmp_path / "started"
    command = ["sh", "-c", f"touch {started}"]
    for path in (tmp_path / "missing" / "wire.jsonl", tmp_path):
        with pytest.raises(UsageError, match="cannot record"), Client(cli=command, record=path):
            pass
    assert not started.exists()


def test_a_cli_that_cannot_be_started(tmp_path):
    """Its recording is closed; the next client goes on with the file."""
    path = tmp_path / "wire.jsonl"
    with pytest.raises(CliNotFound), Client(cli=tmp_path / "missing", record=path):
        pass
    with Client(cli=StandIn().command, record=path) as client:
        client.ask("hi", timeout=PATIENCE)
    kinds = [each["dir"] for each in lines(path)]
    assert (kinds.count("argv"), kinds[-1]) == (1, "exit")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_gets_full(stand_in, tmp_path, caplog):
    """The recording ends with one line in the log; the session goes on."""
    path = tmp_path / "wire.jsonl"
    client = stand_in(record=path)
    assert client.ask("one", timeout=PATIENCE) == "echo: one"
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, client._session.starter.recorder._descriptor)
    os.close(full)
    assert client.ask("two", timeout=PATIENCE) == "echo: two"
    assert client.ask("three", timeout=PATIENCE) == "echo: three"
    client.close()
    assert caplog.text.count("the recording ends here") == 1
    assert "No space left" in caplog.text
    recorded = path.read_text()
    assert "echo: one" in recorded
    assert "two" not in recorded


def test_without_the_option_nothing_is_recorded(stand_in, tmp_path, monkeypatch):
    """Recording is on by option only."""
    monkeypatch.chdir(tmp_path)
    client = stand_in()
    client.ask("one", timeout=PATIENCE)
    assert client._session.starter.recorder is None
    assert os.listdir(tmp_path) == []
