"""Which tests of clients are for bridges, and that they exist."""

from __future__ import annotations

import ast
from pathlib import Path

import bridged

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


def test_what_runs_with_real_clis_exists():
    """Each is there, takes a client that may be one over a bridge, and has a reason."""
    for file, reasons in bridged.REAL.items():
        tests = functions_of(HERE / "real" / f"{file}.py")
        assert all(reasons.values())
        for name in reasons:
            assert {"chat", "client_of", "typed"} & set(tests[name]), f"{file}::{name}"


def test_the_tables_decide():
    """By the name of the file and that of the test, for each CLI by itself."""
    name = "test_a_form_for_one_question"
    assert bridged.real_over_bridge("tests.real.test_real_returns", name, is_newest=True)
    assert not bridged.real_over_bridge("test_real_returns", name, is_newest=False)
    assert not bridged.real_over_bridge("test_real_text", name, is_newest=True)
