"""Which tests of clients are for bridges, and that they exist."""

from __future__ import annotations

import ast
from pathlib import Path

import bridged
import pytest

HERE = Path(__file__).parent


def functions_of(path):
    """The tests of a file, with the fixtures that each names."""
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def test_what_runs_with_stand_ins_exists():
    """No entry outlives its test."""
    for file, names in bridged.STAND_IN.items():
        assert not set(names) - set(functions_of(HERE / "faults" / f"{file}.py")), file


@pytest.mark.parametrize("table", [bridged.REAL, bridged.REAL_WITH_OLD_CLI], ids=["new", "old"])
def test_what_runs_with_real_clis_exists(table):
    """Each is there, takes a client that may be one over a bridge, and has a reason."""
    for file, reasons in table.items():
        tests = functions_of(HERE / "real" / f"{file}.py")
        assert all(reasons.values())
        for name in reasons:
            assert {"chat", "client_of", "typed"} & set(tests[name]), f"{file}::{name}"


def test_the_tables_decide():
    """By the name of the file and that of the test, for each CLI by itself."""
    name = "test_a_hook_blocks_a_tool"
    assert bridged.real_over_bridge("tests.real.test_real_hooks", name, is_newest=True)
    assert not bridged.real_over_bridge("test_real_hooks", name, is_newest=False)
    assert not bridged.real_over_bridge("test_real_text", name, is_newest=True)
    assert bridged.real_over_bridge(
        "test_real_controls", "test_what_an_old_cli_lacks_is_told_at_once", is_newest=False
    )
