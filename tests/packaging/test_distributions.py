"""The wheel and the source distribution contain what they should, and nothing else."""

from __future__ import annotations

import email
import importlib.util
import re
import subprocess
import sys
import zipfile

import pytest
from executables import clean_environment

import claude_sync

pytestmark = pytest.mark.everything

# For work in a checkout: nothing that a distribution needs.
CHECKOUT_ONLY = re.compile(r"\.ci/[\w.]+|\.gitignore|\.ruff\.toml")
# What setuptools adds to a source distribution.
ADDED_TO_SDIST = re.compile(r"PKG-INFO|setup\.cfg|claude_sync_client\.egg-info/[\w.-]+")
DIST_INFO = f"claude_sync_client-{claude_sync.__version__}.dist-info"
PYTHONS = [f"3.{minor}" for minor in range(10, 16)]
IN_DIST_INFO = {
    *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt"),
    "licenses/LICENSE",
}


def library(sources):
    """Those of the sources that a program needs."""
    return {name: content for name, content in sources.items() if name.startswith("claude_sync/")}


def metadata_of(wheel):
    """What is told about the wheel."""
    return email.message_from_bytes(wheel[f"{DIST_INFO}/METADATA"])


def test_the_wheel_has_the_library_and_nothing_else(wheel, sources):
    """Every file of the library, as it is here, and what pip needs; not one more."""
    wanted = set(library(sources)) | {f"{DIST_INFO}/{name}" for name in IN_DIST_INFO}
    assert set(wheel) == wanted
    changed = {name for name, content in library(sources).items() if wheel[name] != content}
    assert not changed


def test_the_library_has_few_data_files(sources):
    """Each needs a line in setup.cfg."""
    other = {name for name in library(sources) if not name.endswith(".py")}
    styles = {"claude_sync/render/chat.css", "claude_sync/render/page.css"}
    tables = {
        "claude_sync/bridge/schema.json",
        "claude_sync/permissions/programs.ini",
        "claude_sync/support/redact_patterns.txt",
        "claude_sync/testing/drift/baseline.json",
    }
    assert other == {"claude_sync/py.typed", *tables, *styles}


def test_the_source_distribution_has_what_its_tests_need(sdist, sources):
    """Every file of the project, as it is here, but for those of a checkout; not one more."""
    added = {name for name in sdist if ADDED_TO_SDIST.fullmatch(name)} - set(sources)
    assert {"PKG-INFO", "claude_sync_client.egg-info/PKG-INFO"} <= added
    wanted = {name for name in sources if not CHECKOUT_ONLY.fullmatch(name)}
    assert set(sdist) - added == wanted
    changed = {name for name in set(sdist) - added if sdist[name] != sources[name]}
    # setuptools writes this one anew, with what tells the build its tag.
    assert changed <= {"setup.cfg"}


def test_the_wheel_says_what_it_needs_and_gives(wheel):
    """Two dependencies, the command, the fixtures, and the Pythons it is for."""
    about = metadata_of(wheel)
    needed = [each for each in about.get_all("Requires-Dist") if "extra ==" not in each]
    assert sorted(re.split(r"[^\w-]", each)[0] for each in needed) == ["typing-extensions", "ujson"]
    assert about["Requires-Python"] == f">={PYTHONS[0]}"
    named = [each.rpartition(" :: ")[2] for each in about.get_all("Classifier")]
    assert [each for each in named if re.fullmatch(r"3\.\d+", each)] == PYTHONS
    assert about["Version"] == claude_sync.__version__
    given = wheel[f"{DIST_INFO}/entry_points.txt"].decode()
    assert "claude-sync = claude_sync.cli:main" in given
    assert "pytest11" not in given
    assert wheel[f"{DIST_INFO}/top_level.txt"].split() == [b"claude_sync"]


def test_the_index_would_show_the_readme(wheel_path, sdist_path):
    """twine has no complaint, and not a warning either, about both."""
    if importlib.util.find_spec("twine") is None:
        pytest.skip("needs twine")
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel_path), str(sdist_path)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_an_editable_install_is_a_path(tmp_path, sources):
    """Checkers of types follow it; they do not run a hook that finds modules."""
    for name, content in sources.items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    code = "import sys; from setuptools import build_meta; build_meta.build_editable(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=tmp_path / "copy",
        env=clean_environment(tmp_path, PYTHONPATH=""),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        found = {name: file.read(name).decode() for name in file.namelist()}
    (path,) = [text.strip() for name, text in found.items() if name.endswith(".pth")]
    assert path == str(tmp_path / "copy")
