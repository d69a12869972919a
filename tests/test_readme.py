"""README.rst tells the truth: its code runs, its tables are complete, its markup is right."""

import dataclasses
import functools
import inspect
import logging
import re
import textwrap

import cli_scripts
import pytest
from executables import ROOT, executable, real_cli
from pytest_runs import run_here

import claude_sync
from claude_sync import errors
from claude_sync.engine.handlers import KINDS
from claude_sync.testing import ScriptedCli

README = ROOT / "README.rst"
TEXT = README.read_text(encoding="utf-8")

BLOCK = re.compile(r"^( *)\.\. code-block:: python\n\n((?:\1    .*\n|\n)+)", re.MULTILINE)


def code_blocks():
    """Every Python block, with the line it begins at."""
    for found in BLOCK.finditer(TEXT):
        line = TEXT.count("\n", 0, found.start(2)) + 1
        yield pytest.param(textwrap.dedent(found.group(2)), id=f"line{line}")


@pytest.mark.parametrize("code", list(code_blocks()))
def test_the_code_runs_as_it_is_printed(code, tmp_path, monkeypatch, caplog, request):
    """Each block runs by itself; ``client`` is open; tests in it pass; no handler fails."""
    if re.search(r"\(claude[,)]", code):
        printed, code = run_here(monkeypatch, tmp_path, code)
        assert code == 0, printed
        return
    real = "LoopbackModel" in code
    # Slow enough that a turn still runs when its first words have been looked at.
    pace = 0.3 if "steer" in code else 0.002
    path = real_cli() if real else executable(tmp_path, cli_scripts.thinks_long, pace=pace)
    monkeypatch.setenv("CLAUDE_CODE_PATH", path)
    monkeypatch.chdir(ROOT)
    caplog.set_level(logging.WARNING, "claude_sync")
    file = tmp_path / "block.py"  # the stand-in finds its scripts by file
    file.write_text(code, encoding="utf-8")
    # The one that is there already needs no process.
    memory = functools.partial(ScriptedCli, cli_scripts.thinks_long, pace=pace)
    with claude_sync.Client(transport=None if real else memory) as client:
        names = {"__name__": "block", "claude_sync": claude_sync, "client": client}
        exec(compile(code, str(file), "exec"), names)
    for name, test in list(names.items()):
        if name.startswith("test_"):
            wanted = inspect.signature(test).parameters
            test(**{fixture: request.getfixturevalue(fixture) for fixture in wanted})
            caplog.clear()  # a test may be about a crash
    told = [record.getMessage() for record in caplog.records]
    assert [text for text in told if "no terminal" not in text] == []


def test_there_is_code_for_everything():
    """The search for blocks finds them all."""
    assert len(list(code_blocks())) == TEXT.count("code-block:: python") > 10


@pytest.mark.parametrize("name", ["README.rst", "CHANGES.rst"])
def test_the_markup_is_strictly_valid(name):
    """docutils has not even a hint to give."""
    from docutils import core

    settings = {"report_level": 1, "halt_level": 1, "syntax_highlight": "none"}
    text = (ROOT / name).read_text(encoding="utf-8")
    core.publish_doctree(text, source_path=name, settings_overrides=settings)


def test_every_handler_is_in_the_table():
    """The table of handlers is complete and has none too many."""
    section = TEXT.partition("\nHandlers\n---")[2].partition("\nWhich thread runs my code?\n")[0]
    assert set(re.findall(r"^``on_(\w+)``  ", section, re.MULTILINE)) == set(KINDS)


def test_every_error_is_in_the_table():
    """The table of errors has all that are raised in this release."""
    listed = set(re.findall(r"^``([A-Z]\w+)``,?  ", TEXT, re.MULTILINE))
    bases = {"ClaudeError", "CliFailed", "TurnError"}
    assert listed == set(errors.__all__) - bases - {"AlreadyAnswered"}


def test_every_option_that_works_is_listed():
    """The overview of options is complete."""
    overview = TEXT.partition("\nOptions\n---")[2].partition("\n\n\n")[0]
    listed = set(re.findall(r"``(\w+)(?:=[^`]*)?``", overview))
    names = {field.name for field in dataclasses.fields(claude_sync.Options)}
    assert listed & names == names


def test_the_two_commands_are_there():
    """How to try it and how to work on it are one line each."""
    assert '    pip install . && claude-sync ask --offline "Hello"\n' in TEXT
    assert '    pip install -e ".[dev]" && pytest\n' in TEXT


def test_the_changes_know_this_version():
    """The version of the package has an entry."""
    changes = (ROOT / "CHANGES.rst").read_text(encoding="utf-8")
    assert f"\n{claude_sync.__version__}\n---" in changes
