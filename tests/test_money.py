"""Recordings of real CLIs cost what the model reported, to the last digit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from money_scenes import PRICES, SCENES, Line, Stage, check

from claude_sync import Client
from claude_sync.testing import Recording

HOME = Path(__file__).parent / "recordings"
RECORDINGS = sorted(HOME.glob("*/*.jsonl"))
LARGEST = 60_000


def name_of(path):
    """For the names of tests."""
    return f"{path.parent.name}-{path.stem}"


def played(path):
    """The stage on which a recording was played, to its end."""
    recording = Recording(path)
    with open(path, encoding="utf-8") as file:
        book = json.loads(file.readline())
    told = [[Line(**line) for line in lines] for lines in book["msg"]]

    processes = []

    def start():
        processes.append(recording.replay())
        return processes[-1]

    def open_client(**options):
        return Client(transport=start, **options)

    # The shortened recordings do not tell of ends.
    stage = Stage(
        path.parent.name, open_client, None, told, kill=lambda client: processes[-1].hang_up(-9)
    )
    SCENES[path.stem](stage)
    recording.assert_done()
    return stage


def test_every_scene_is_recorded_with_every_cli():
    """Nothing is left out below."""
    folders = {path.parent.name for path in RECORDINGS}
    assert len(folders) == 2
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
    assert measured == pytest.approx(list(PRICES[model]))


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_a_recording_is_small(path):
    """They are read by people, too."""
    assert path.stat().st_size < LARGEST
