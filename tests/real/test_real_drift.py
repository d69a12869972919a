"""The recorded shapes of messages are those of the CLIs that are there."""

from __future__ import annotations

import pytest

from claude_sync.testing.drift import Field, __main__, choose, load, store

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
    shapes = load(__main__.BASELINE)
    newest = shapes[choose(shapes, "999.0.0")]
    ended = newest["interrupt"]["out result"]
    ended["terminal_cause"] = Field.parse("string")
    ended["terminal_reason"] = Field.parse("=aborted_streaming|=bored|=completed")
    ended["usage"] = Field.parse("string")
    ended["seldom"] = Field.parse("? string")
    del ended["modelUsage"]
    del newest["interrupt"]["out system session_state_changed"]
    newest["interrupt"]["out thunder"] = {"(message)": Field.parse("object")}
    monkeypatch.setattr(__main__, "BASELINE", tmp_path / "baseline.json")
    store(__main__.BASELINE, shapes)
    code, printed = drift(capsys, "--cli", new_cli.path, "answer", "interrupt")
    assert code == 1
    assert [" ".join(line.split()) for line in printed[1:]] == [
        "interrupt out result new modelUsage",
        "interrupt out result gone terminal_cause",
        "interrupt out result gone value terminal_reason bored",
        "interrupt out result changed usage (string -> object)",
        "interrupt out system session_state_changed new (message)",
        "interrupt out thunder gone (message)",
        "2 scenes: 1 changed, 2 gone, 1 gone value, 2 new",
    ]
