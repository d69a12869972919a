"""The recorded shapes of messages are those of the CLIs that are there."""

from __future__ import annotations

import pytest

from claude_sync.testing.drift import Fact, __main__, choose, load, store

# All scenes, also on a machine that is busy.
pytestmark = [pytest.mark.everything, pytest.mark.timeout(900)]


def drift(capsys, *words):
    """Run the command; its exit code and what it printed."""
    code = __main__.main(words)
    return code, capsys.readouterr().out.splitlines()


def test_there_is_no_drift(cli, capsys):
    """Every scene is as it was recorded."""
    code, printed = drift(capsys, "--cli", cli.path)
    assert printed[1:] == [f"{len(__main__.SCENES)} scenes: no drift"]
    assert code == 0


def test_drift_is_told(new_cli, capsys, monkeypatch, tmp_path):
    """What is not as in a baseline that somebody has changed, field by field."""
    baseline = load(__main__.BASELINE)
    known = baseline[choose(baseline, "999.0.0")]["interrupt"]
    for fact in list(known):
        if fact.kind == "out system session_state_changed" or fact.path.startswith("modelUsage"):
            del known[fact]
    for path, form in (("cause", ""), ("terminal_reason", "=bored"), ("usage", "string")):
        known[Fact("out result", path, form)] = True
    known[Fact("out result", "seldom", "")] = False
    known[Fact("out thunder", "", "")] = True
    monkeypatch.setattr(__main__, "BASELINE", tmp_path / "baseline.json")
    store(__main__.BASELINE, baseline)
    code, printed = drift(capsys, "--cli", new_cli.path, "answer", "interrupt")
    assert code == 1
    assert [" ".join(line.split()) for line in printed[1:]] == [
        "interrupt out result gone cause",
        "interrupt out result gone terminal_reason bored",
        "interrupt out result gone usage string",
        "interrupt out result new modelUsage",
        "interrupt out system session_state_changed new (message)",
        "interrupt out thunder gone (message)",
        "2 scenes: 4 gone, 2 new",
    ]
