"""Recordings of real CLIs cost what the model reported, to the last digit."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from money_scenes import PRICES, READS_FOR_NOTHING, SCENES, Line, Stage, check

from claude_sync import Client
from claude_sync.testing import ScriptedCli

HOME = Path(__file__).parent / "recordings"
RECORDINGS = sorted(HOME.glob("*/*.jsonl"))
LARGEST = 60_000
PATIENCE = 30.0
KILLED = -9


def name_of(path):
    """For the names of tests."""
    return f"{path.parent.name}-{path.stem}"


class Lives:
    """The processes of a recording, one after the other."""

    def __init__(self, lines):
        self._lives = []
        for line in lines:
            # Nothing else marks the start of a process.
            if is_request(line, "initialize"):
                self._lives.append([])
            self._lives[-1].append(line)
        self._played = 0
        # Ids of this client, by those of the recorded one.
        self._ids = {}

    def open(self, **options):
        """A client that talks to what was recorded."""
        return Client(transport=self._next, **options)

    def kill(self, client):
        """End what plays the process now, when it has said everything."""
        cli, played = self._playing
        assert played.wait(PATIENCE)
        cli.hang_up(KILLED)

    def _next(self):
        life, self._played = self._lives[self._played], self._played + 1
        played = threading.Event()
        cli = ScriptedCli(lambda cli: self._play(cli, life, played), patience=PATIENCE)
        self._playing = cli, played
        return cli

    def _play(self, cli, life, played):
        for line in life:
            if line["dir"] == "in":
                self._hear(cli, line["msg"])
            else:
                text = json.dumps(line["msg"])
                for recorded, actual in self._ids.items():
                    text = text.replace(recorded, actual)
                cli.print_raw(text.encode() + b"\n")
        played.set()
        while True:
            cli.receive()

    def _hear(self, cli, recorded):
        """Wait for the message that was sent here, and for its id."""
        while True:
            actual = cli.receive()
            if subtype_of(actual) == subtype_of(recorded):
                break
            # A release that asks for more than was recorded.
            assert actual["type"] == "control_request", f"{actual} instead of {recorded}"
            cli.reply(actual)
        for name in ("uuid", "request_id"):
            if name in recorded:
                self._ids[recorded[name]] = actual[name]


def is_request(line, subtype):
    """Whether the client sent a request of that kind."""
    return line["dir"] == "in" and line["msg"].get("request", {}).get("subtype") == subtype


def subtype_of(message):
    """What kind of message it is."""
    return message["type"], message.get("request", {}).get("subtype")


def played(path):
    """The stage on which a recording was played."""
    book, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lives = Lives(lines)
    told = [[Line(**line) for line in lines] for lines in book["msg"]]
    stage = Stage(path.parent.name, lives.open, None, told, lives.kill)
    SCENES[path.stem](stage)
    return stage


def test_every_scene_is_recorded_with_every_cli():
    """Nothing is left out below."""
    folders = {path.parent.name for path in RECORDINGS}
    assert len(folders) == 4
    assert {name_of(path) for path in RECORDINGS} == {
        f"{folder}-{scene}" for folder in folders for scene in SCENES
    }


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_a_recorded_scene_cost_what_the_model_reported(path):
    """Each answer and the client agree with the book: dollars, tokens, models, context."""
    check(played(path))


@pytest.mark.parametrize("path", sorted(HOME.glob("*/prices.jsonl")), ids=name_of)
def test_the_prices_are_those_of_the_cli(path):
    """One kind of tokens in each turn, so each turn tells one price."""
    stage = played(path)
    measured = [note.answer.cost_usd * 100 for note in stage.notes[1:]]
    (model,) = {line.model for note in stage.notes[1:] for line in note.lines}
    expected = list(PRICES[model])
    if stage.version == READS_FOR_NOTHING:
        expected = [0.0, expected[1], 0.0, 0.0]
    assert measured == pytest.approx(expected)


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_a_recording_is_small(path):
    """They are read by people, too."""
    assert path.stat().st_size < LARGEST
