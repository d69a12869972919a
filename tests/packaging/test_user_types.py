"""In the project of a user who installed the wheel, checkers see the types of the library."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from executables import clean_environment

pytestmark = pytest.mark.everything

HERE = Path(__file__).parent / "user_project"
PROGRAM = HERE / "program.py"
MISTAKES = HERE / "mistakes.py"


def found_by_mypy(project, python):
    """What ``mypy --strict`` complains about: pairs of file and line, with the texts."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--output", "json"),
            *("--cache-dir", os.devnull, "--python-executable", str(python), "."),
        ],
        cwd=project,
        env=clean_environment(project, PYTHONPATH=""),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert not done.stderr, done.stderr
    for line in done.stdout.splitlines():
        complaint = json.loads(line)
        if complaint["severity"] == "error":
            yield (complaint["file"], complaint["line"]), complaint["message"]


def found_by_pyright(project, python):
    """The same of pyright, which is stricter than strict about what it cannot know."""
    if importlib.util.find_spec("pyright") is None or shutil.which("node") is None:
        pytest.skip("needs Node and pyright")
    (project / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python)],
        cwd=project,
        env=clean_environment(project, PYTHONPATH=""),
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.stdout, done.stderr
    for complaint in json.loads(done.stdout)["generalDiagnostics"]:
        if complaint["severity"] == "error":
            file = Path(complaint["file"]).name
            yield (file, complaint["range"]["start"]["line"] + 1), complaint["message"]


@pytest.fixture(scope="module", params=[found_by_mypy, found_by_pyright], ids=["mypy", "pyright"])
def complaints(request, user_python, tmp_path_factory):
    """What a checker says about both programs: texts by file and line."""
    project = tmp_path_factory.mktemp("project")
    for file in (PROGRAM, MISTAKES):
        shutil.copy(file, project)
    found = {}
    for place, text in request.param(project, user_python):
        found.setdefault(place, []).append(text)
    return found


def test_a_right_program_is_right(complaints):
    """Nothing in it is wrong, and nothing is of unknown type."""
    assert {place: texts for place, texts in complaints.items() if place[0] == PROGRAM.name} == {}


def test_every_mistake_is_found_where_it_was_made(complaints):
    """Each of them; and no line is taken for a mistake that is none."""
    lines = MISTAKES.read_text(encoding="utf-8").splitlines()
    made = {number for number, line in enumerate(lines, 1) if "# wrong:" in line}
    found = {number: texts for (file, number), texts in complaints.items() if file == MISTAKES.name}
    assert {lines[number - 1] for number in made - set(found)} == set(), "not found"
    assert {lines[number - 1]: found[number] for number in set(found) - made} == {}
