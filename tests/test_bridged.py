"""Every file of tests of clients is for bridges, or says why not."""

from __future__ import annotations

import ast
from pathlib import Path

import bridged
import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("folder", "both", "reasons"),
    [
        ("real", bridged.REAL, bridged.NOT_REAL),
        ("faults", bridged.STAND_IN, bridged.NOT_STAND_IN),
    ],
    ids=["real", "faults"],
)
def test_every_file_is_decided(folder, both, reasons):
    """It is in one of the two tables, and what runs over a bridge is there."""
    files = {path.stem for path in (HERE / folder).glob("test_*.py")}
    assert not files - set(both) - set(reasons), "say in bridged.py whether these are for bridges"
    assert not set(both) & set(reasons)
    assert set(both) <= files
    assert all(reasons.values())


def test_what_is_left_out_exists():
    """No reason outlives its test."""
    names = {
        node.name
        for folder in ("real", "faults")
        for path in (HERE / folder).glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert set(bridged.NOT_THESE) <= names
    assert all(bridged.NOT_THESE.values())


def test_older_clis_are_for_files_that_are_for_bridges():
    """And the newest is for all of them."""
    assert set(bridged.REAL_WITH_OLDER_CLIS) < set(bridged.REAL)
    assert bridged.real_over_bridge("test_real_text", "test_x", is_newest=True)
    assert not bridged.real_over_bridge("test_real_text", "test_x", is_newest=False)
    assert bridged.real_over_bridge("tests.real.test_real_steer", "test_x", is_newest=False)
    assert not bridged.real_over_bridge("test_real_closing", "test_x", is_newest=True)
