"""
The library as others get it: a wheel and a source distribution.

* ``CLAUDE_SYNC_TEST_DISTRIBUTIONS``: a folder with both, made by ``python -m build``. By default
  they are made here, from the files of this folder as they are now, by the setuptools that is
  installed: nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from executables import ROOT, clean_environment

# What is left behind by working on it, where no git can tell.
LEFTOVERS = {"__pycache__", "build", "dist"}

BUILD = """
import sys
from setuptools import build_meta
folder = sys.argv[1]  # setuptools takes the arguments for its own
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""


def is_leftover(path):
    """Whether a file came to be by working here."""
    folders = path.relative_to(ROOT).parts
    return any(
        part in LEFTOVERS or part.startswith(".") or part.endswith(".egg-info") for part in folders
    )


def listed_sources():
    """The names of the files that belong to the project, as git knows them; or all there are."""
    if not (ROOT / ".git").exists():
        files = (path for path in ROOT.rglob("*") if path.is_file() and not is_leftover(path))
        return {path.relative_to(ROOT).as_posix() for path in files} - {"PKG-INFO"}
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = listed.stdout.decode("utf-8").split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


@pytest.fixture(scope="session")
def sources():
    """The files of the project: contents by name."""
    return {name: (ROOT / name).read_bytes() for name in listed_sources()}


def build(sources, folder):
    """Make both in *folder*, from a copy: a folder in which much was built adds what is old."""
    copy = folder / "copy"
    for name, content in sources.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(content)
    made = folder / "made"
    made.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(made)],
        cwd=copy,
        env=clean_environment(folder, PYTHONPATH=""),
        capture_output=True,
        text=True,
        timeout=100,
    )
    if "No module named 'setuptools'" in done.stderr or "invalid command 'bdist_wheel'" in (
        done.stderr
    ):
        pytest.skip("needs setuptools")
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="session")
def distributions(sources, tmp_path_factory):
    """The folder with the wheel and the source distribution."""
    given = os.environ.get("CLAUDE_SYNC_TEST_DISTRIBUTIONS")
    return Path(given) if given else build(sources, tmp_path_factory.mktemp("build"))


@pytest.fixture(scope="session")
def wheel_path(distributions):
    """The one wheel."""
    (path,) = distributions.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist_path(distributions):
    """The one source distribution."""
    (path,) = distributions.glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def wheel(wheel_path):
    """What is in the wheel: contents by name."""
    with zipfile.ZipFile(wheel_path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="session")
def sdist(sdist_path):
    """What is in the source distribution, in its one folder: contents by name."""
    found = {}
    with tarfile.open(sdist_path) as file:
        for member in file.getmembers():
            folder, _, name = member.name.partition("/")
            assert folder == sdist_path.name[: -len(".tar.gz")]
            assert member.isfile() or member.isdir(), member.name
            if member.isfile():
                found[name] = file.extractfile(member).read()
    return found


@pytest.fixture(scope="session")
def user_python(wheel, tmp_path_factory):
    """The interpreter of an environment in which nothing but the wheel is installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    (packages,) = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    for name, content in wheel.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_bytes(content)
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
