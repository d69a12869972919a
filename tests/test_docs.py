"""The documents tell the truth: code runs, tables are complete, links lead somewhere."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import logging
import re
import subprocess
import sys
import textwrap

import cli_scripts
import pytest
from executables import ROOT, clean_environment, executable, real_cli
from pytest_runs import run_here
from tables import each

import claude_sync
from claude_sync import errors
from claude_sync.engine.handlers import KINDS
from claude_sync.testing import ScriptedCli

DOCS = ROOT / "docs"
README = ROOT / "README.rst"
PLAIN = [ROOT / f"{name}.rst" for name in ("README", "CHANGES", "CONTRIBUTING", "SECURITY")]
PAGES = sorted(path for path in DOCS.rglob("*.rst") if "_build" not in path.parts)
SHOWN = [README, *PAGES]

# Blocks of "python" run by themselves. Blocks of "py" need a window, a server or something to
# install: they are compiled here, and many of them run in other files.
BLOCK = re.compile(r"^( *)\.\. code-block:: (python|py)\n\n((?:\1    .*\n|\n)+)", re.MULTILINE)
MODULES = ("claude_sync", "notebook", "policies", "sessions")
LONGEST_README = 250
LARGEST_PICTURE = 300_000


def text_of(path):
    """What is in a file."""
    return path.read_text(encoding="utf-8")


def code_blocks(language):
    """Every block of a language, with its page and the line it begins at."""
    for path in SHOWN:
        text = text_of(path)
        for found in BLOCK.finditer(text):
            if found.group(2) == language:
                line = text.count("\n", 0, found.start(3)) + 1
                name = f"{path.relative_to(ROOT).with_suffix('').as_posix()}-{line}"
                yield pytest.param(textwrap.dedent(found.group(3)), id=name)


@pytest.mark.parametrize("code", list(code_blocks("python")))
def test_the_code_runs_as_it_is_printed(code, tmp_path, monkeypatch, caplog, request):
    """Each block runs by itself; ``client`` is open; tests in it pass; no handler fails."""
    if re.search(r"\(claude[,)]", code):
        printed, exit_code = run_here(monkeypatch, tmp_path, code)
        assert exit_code == 0, printed
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
        # As a module, because the types of dataclasses are looked up there.
        module = type(sys)("block")
        monkeypatch.setitem(sys.modules, "block", module)
        names = vars(module)
        names.update(claude_sync=claude_sync, client=client, __file__=str(file))
        exec(compile(code, str(file), "exec"), names)
    for name, test in list(names.items()):
        if name.startswith("test_"):
            wanted = inspect.signature(test).parameters
            test(**{fixture: request.getfixturevalue(fixture) for fixture in wanted})
            caplog.clear()  # a test may be about a crash
    logged = [record.getMessage() for record in caplog.records]
    assert [line for line in logged if "no terminal" not in line] == []


@pytest.mark.parametrize("code", list(code_blocks("py")))
def test_the_other_code_is_python_and_its_names_exist(code):
    """It compiles, and what it takes from the package is there."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("claude_sync"):
            module = importlib.import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name), name.name
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in MODULES:
            home = getattr(claude_sync, node.value.id, claude_sync)
            assert hasattr(home, node.attr), node.attr


def test_the_blocks_were_found():
    """The search for blocks finds them all."""
    shown = "".join(map(text_of, SHOWN))
    found = len(list(code_blocks("python"))) + len(list(code_blocks("py")))
    assert found == len(re.findall(r"code-block:: py(?:thon)?\n", shown)) > 60


@each("path", PLAIN)
def test_the_markup_is_strictly_valid(path):
    """docutils has not even a hint to give."""
    from docutils import core

    settings = {"report_level": 1, "halt_level": 1, "syntax_highlight": "none"}
    core.publish_doctree(text_of(path), source_path=path.name, settings_overrides=settings)


@pytest.mark.everything
def test_sphinx_has_no_complaint(tmp_path):
    """The site is built, with warnings as errors; so are links to pages, names and pictures."""
    if importlib.util.find_spec("sphinx") is None or importlib.util.find_spec("furo") is None:
        pytest.skip("needs Sphinx: pip install -e '.[docs]'")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-d", tmp_path / "trees", DOCS, tmp_path],
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "PermissionRequest" in text_of(tmp_path / "searchindex.js")
    assert "--some-new-flag" in text_of(tmp_path / "howto" / "migrating.html")


@each("path", [*PLAIN, *PAGES])
def test_links_to_files_lead_somewhere(path):
    """Files that a page names, and its pictures, are there."""
    text = text_of(path)
    targets = re.findall(r"<([\w./-]+\.rst)>`_", text)
    targets += re.findall(r"\.\. image:: (\S+)", text)
    for target in targets:
        home = DOCS if target.startswith("/") else path.parent
        assert (home / target.lstrip("/")).is_file(), target
    for named in re.findall(r"``((?:docs|examples|claude_sync|tests)/[\w./-]+)``", text):
        assert (ROOT / named).exists(), named


@each("path", SHOWN)
def test_pictures_are_small_and_described(path):
    """Each has a text for those who do not see it."""
    for target, rest in re.findall(r"\.\. image:: (\S+)\n(.*\n)", text_of(path)):
        assert rest.strip().startswith(":alt: "), target
        home = DOCS if target.startswith("/") else path.parent
        assert (home / target.lstrip("/")).stat().st_size < LARGEST_PICTURE, target


def test_every_handler_is_in_the_table():
    """The table of handlers is complete and has none too many."""
    text = text_of(DOCS / "reference" / "handlers.rst")
    assert set(re.findall(r"^``on_(\w+)``  ", text, re.MULTILINE)) == set(KINDS)


def test_every_error_is_in_the_table():
    """The table of errors has all that are raised."""
    text = text_of(DOCS / "reference" / "errors.rst")
    listed = set(re.findall(r"^``([A-Z]\w+)``,?  ", text, re.MULTILINE))
    raised = {*errors.__all__, "SessionNotFound"} - {"ClaudeError", "CliFailed", "TurnError"}
    assert listed == raised


def test_the_readme_is_short_and_has_the_commands():
    """How to try it, how to work on it and how to build the documents are one line each."""
    text = text_of(README)
    assert len(text.splitlines()) <= LONGEST_README
    assert '    pip install . && claude-sync ask --offline "Hello"\n' in text
    assert '    pip install -e ".[dev]" && pytest\n' in text
    assert '    pip install -e ".[docs]" && python -m sphinx -W docs docs/_build\n' in text


@each("path", [*PLAIN, *PAGES, *sorted((ROOT / "claude_sync").rglob("*.py"))])
def test_nothing_advises_to_install_us_from_an_index(path):
    """Whoever registers such a name there could have it installed."""
    assert not re.search(r"pip install\s+['\"]?(-U )?claude[-_]sync", text_of(path))


def test_the_changes_know_this_version():
    """The version of the package has an entry."""
    assert f"\n{claude_sync.__version__}\n---" in text_of(ROOT / "CHANGES.rst")
