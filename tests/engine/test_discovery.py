"""Where the CLI is found, and what is said when it is not."""

from __future__ import annotations

import os
import sys

import pytest

from claude_sync.engine.launch import discovery
from claude_sync.engine.launch.discovery import find_cli, installed_package
from claude_sync.errors import CliNotFound

PACKAGE = "node_modules/@anthropic-ai/claude-code"


def make(path, mode=0o755):
    """An executable file at *path*, its folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """No installed SDK, no usual folder outside tmp_path, and an empty current folder."""
    monkeypatch.setattr(discovery, "installed_package", lambda name: None)
    for name in ("USUAL_FOLDERS", "USUAL_WINDOWS_FOLDERS"):
        inside = tuple(f for f in getattr(discovery, name) if not f.startswith("/"))
        monkeypatch.setattr(discovery, name, inside)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def environ(tmp_path):
    """HOME, USERPROFILE and a PATH of two folders, all in tmp_path."""
    (tmp_path / "bin1").mkdir()
    (tmp_path / "bin2").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "USERPROFILE": str(tmp_path / "home"),
        "APPDATA": str(tmp_path / "appdata"),
        "PATH": os.pathsep.join([str(tmp_path / "bin1"), str(tmp_path / "bin2")]),
    }


@pytest.fixture
def windows_environ(environ):
    """The same with the separator of Windows, and a variable in its usual spelling."""
    environ["Path"] = environ.pop("PATH").replace(os.pathsep, ";")
    return environ


# What the caller names.


def test_a_path_is_taken_as_it_is(tmp_path, environ):
    """An existing path wins over everything else."""
    make(tmp_path / "bin1" / "claude")
    mine = make(tmp_path / "mine" / "claude-dev")
    environ["CLAUDE_CODE_PATH"] = "/nonexistent"
    assert find_cli(mine, environ, windows=False) == [mine]
    assert find_cli(tmp_path / "mine" / "claude-dev", environ, windows=False) == [mine]


def test_a_relative_path_becomes_absolute(tmp_path, environ):
    """The CLI starts in another folder, so a relative path must not stay relative."""
    make(tmp_path / "work" / "tools" / "claude")
    expected = os.path.join(os.getcwd(), "tools", "claude")
    assert find_cli("tools/claude", environ, windows=False) == [expected]
    assert find_cli("./tools/claude", environ, windows=False) == [expected]


def test_a_home_path_is_expanded(tmp_path, environ):
    """A leading ~ is the home folder of the environment the CLI gets."""
    place = make(tmp_path / "home" / "bin" / "claude")
    assert find_cli("~/bin/claude", environ, windows=False) == [place]


def test_a_name_is_looked_up_on_path(tmp_path, environ):
    """A word without a folder is a name on PATH."""
    place = make(tmp_path / "bin2" / "claude-beta")
    assert find_cli("claude-beta", environ, windows=False) == [place]


def test_an_argv_list_keeps_its_other_words(tmp_path, environ):
    """Only the first word of a list is looked up."""
    place = make(tmp_path / "bin1" / "wrapper")
    assert find_cli(["wrapper", "--", "claude"], environ, windows=False) == [
        place,
        "--",
        "claude",
    ]


@pytest.mark.parametrize("windows", [False, True])
def test_a_script_runs_with_node(tmp_path, environ, windows):
    """A .js file is given to the node on PATH."""
    node = make(tmp_path / "bin2" / ("node.exe" if windows else "node"))
    script = make(tmp_path / "cli.js", 0o644)
    environ["PATH"] = environ["PATH"].replace(os.pathsep, ";" if windows else os.pathsep)
    assert find_cli(script, environ, windows=windows) == [node, script]


def test_a_script_without_node_is_told(tmp_path, environ):
    """A .js file without node names what is missing."""
    script = make(tmp_path / "cli.js", 0o644)
    with pytest.raises(CliNotFound, match="needs node, which is not on PATH"):
        find_cli(script, environ, windows=False)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing", "missing"),
        ("folder", "a folder"),
        ("plain", "not executable"),
        ("link", "a link to a file that is missing"),
    ],
)
def test_a_named_path_that_cannot_run_is_an_error(tmp_path, environ, kind, reason):
    """What the caller named must work: no other CLI is taken, and the reason is told."""
    make(tmp_path / "bin1" / "claude")
    place = tmp_path / "chosen"
    if kind == "folder":
        place.mkdir()
    elif kind == "plain":
        make(place, 0o644)
    elif kind == "link":
        place.symlink_to(tmp_path / "gone")
    with pytest.raises(CliNotFound) as caught:
        find_cli(str(place), environ, windows=False)
    assert len(caught.value.searched) == 1
    assert caught.value.searched[0].startswith(f"cli: {place}: {reason}")


def test_a_named_word_that_is_not_on_path_is_an_error(tmp_path, environ):
    """A name that is not on PATH is told together with the folders of PATH."""
    with pytest.raises(CliNotFound) as caught:
        find_cli("claude-beta", environ, windows=False)
    (place,) = caught.value.searched
    assert "'claude-beta' on PATH: missing" in place
    assert str(tmp_path / "bin1") in place


def test_the_variable_comes_before_path(tmp_path, environ):
    """CLAUDE_CODE_PATH wins over PATH."""
    make(tmp_path / "bin1" / "claude")
    mine = make(tmp_path / "mine" / "claude")
    environ["CLAUDE_CODE_PATH"] = mine
    assert find_cli(None, environ, windows=False) == [mine]


def test_a_wrong_variable_is_an_error(tmp_path, environ):
    """CLAUDE_CODE_PATH that names nothing is not passed over in silence."""
    make(tmp_path / "bin1" / "claude")
    environ["CLAUDE_CODE_PATH"] = str(tmp_path / "gone")
    with pytest.raises(CliNotFound, match=r"CLAUDE_CODE_PATH: .*gone: missing"):
        find_cli(None, environ, windows=False)


def test_an_empty_variable_counts_as_unset(tmp_path, environ):
    """CLAUDE_CODE_PATH= leaves the search as it is."""
    place = make(tmp_path / "bin1" / "claude")
    environ["CLAUDE_CODE_PATH"] = ""
    assert find_cli(None, environ, windows=False) == [place]


# The guesses.


def test_path_is_searched_in_order(tmp_path, environ):
    """The first folder of PATH that has a usable claude wins."""
    make(tmp_path / "bin1" / "claude", 0o644)
    place = make(tmp_path / "bin2" / "claude")
    assert find_cli(None, environ, windows=False) == [place]


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("entry", ["", ".", "tools"])
def test_the_current_folder_is_never_searched(tmp_path, environ, entry, windows):
    """A claude in the current folder is not run, whatever PATH says."""
    for name in ("claude", "claude.exe", "claude.cmd"):
        make(tmp_path / "work" / name)
        make(tmp_path / "work" / "tools" / name)
    environ["PATH"] = entry
    with pytest.raises(CliNotFound):
        find_cli(None, environ, windows=windows)


def test_path_comes_before_the_installed_sdk(tmp_path, environ, monkeypatch):
    """The user's own claude wins over the one a package brought along."""
    bundled = make(tmp_path / "sdk" / "_bundled" / "claude")
    monkeypatch.setattr(discovery, "installed_package", lambda name: str(tmp_path / "sdk"))
    assert find_cli(None, environ, windows=False) == [bundled]
    place = make(tmp_path / "bin1" / "claude")
    assert find_cli(None, environ, windows=False) == [place]


def test_the_installed_sdk_comes_before_the_usual_folders(tmp_path, environ, monkeypatch):
    """An installed binary wins over a guess."""
    make(tmp_path / "home" / ".local" / "bin" / "claude")
    bundled = make(tmp_path / "sdk" / "_bundled" / "claude")
    monkeypatch.setattr(discovery, "installed_package", lambda name: str(tmp_path / "sdk"))
    assert find_cli(None, environ, windows=False) == [bundled]


@pytest.mark.parametrize(
    "folder", [f for f in discovery.USUAL_FOLDERS if f.startswith("~")], ids=lambda f: f
)
def test_the_usual_folders_are_searched(tmp_path, environ, folder):
    """A claude where an installer puts it is found without PATH."""
    place = make(tmp_path / "home" / folder[2:] / "claude")
    assert find_cli(None, environ, windows=False) == [place]


def test_nothing_found_tells_every_place(tmp_path, environ):
    """The error lists PATH, the package and each usual folder, each with a reason."""
    make(tmp_path / "home" / ".claude" / "local" / "claude", 0o644)
    with pytest.raises(CliNotFound) as caught:
        find_cli(None, environ, windows=False)
    searched = "\n".join(caught.value.searched)
    assert "'claude' on PATH: missing" in searched
    assert "claude-agent-sdk: not installed" in searched
    assert f"{tmp_path}/home/.local/bin/claude: missing" in searched
    assert f"{tmp_path}/home/.claude/local/claude: not executable" in searched


def test_each_place_is_told_once_and_after_the_advice(tmp_path, environ):
    """A usual folder that is on PATH is looked at there."""
    with pytest.raises(CliNotFound) as caught:
        find_cli(None, {**environ, "PATH": f"{tmp_path}/home/.local/bin"}, windows=False)
    told = str(caught.value)
    assert told.count(".local/bin") == 1
    assert told.startswith("the 'claude' command was not found. Install it")


def test_the_installed_package_is_found_without_importing_it(tmp_path, monkeypatch):
    """Looking for the package does not run its code."""
    package = tmp_path / "a_package_that_must_not_run"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert installed_package("a_package_that_must_not_run") == str(package)
    assert "a_package_that_must_not_run" not in sys.modules
    assert installed_package("no_such_package_anywhere") is None


# Windows.


def test_windows_prefers_the_program_to_the_script(tmp_path, windows_environ):
    """claude.exe in a later folder wins over an npm script in an earlier one."""
    make(tmp_path / "bin1" / "claude.cmd")
    make(tmp_path / "bin1" / PACKAGE / "cli.js")
    make(tmp_path / "bin1" / "node.exe")
    place = make(tmp_path / "bin2" / "claude.exe")
    assert find_cli(None, windows_environ, windows=True) == [place]


@pytest.mark.parametrize("shim", ["claude.cmd", "claude.bat", "claude.ps1", "claude"])
def test_windows_starts_what_the_script_would_start(tmp_path, windows_environ, shim):
    """An npm script is replaced by node and the cli.js below it."""
    make(tmp_path / "bin2" / shim)
    script = make(tmp_path / "bin2" / PACKAGE / "cli.js")
    node = make(tmp_path / "bin2" / "node.exe")
    assert find_cli(None, windows_environ, windows=True) == [node, script]
    assert find_cli(str(tmp_path / "bin2" / shim), windows_environ, windows=True) == [node, script]


def test_windows_finds_the_program_of_a_newer_package(tmp_path, windows_environ):
    """A package that brings claude.exe needs no node."""
    make(tmp_path / "bin1" / "claude.cmd")
    place = make(tmp_path / "bin1" / PACKAGE / "bin" / "claude.exe")
    make(tmp_path / "bin1" / PACKAGE / "cli.js")
    assert find_cli(None, windows_environ, windows=True) == [place]


def test_windows_resolves_the_scripts_of_a_project(tmp_path, windows_environ):
    """In node_modules/.bin the package is beside the folder of the script."""
    shim = make(tmp_path / "node_modules" / ".bin" / "claude.cmd")
    script = make(tmp_path / PACKAGE / "cli.js")
    node = make(tmp_path / "bin1" / "node.exe")
    assert find_cli(shim, windows_environ, windows=True) == [node, script]


def test_windows_never_runs_a_script_itself(tmp_path, windows_environ):
    """A script whose package is not found is refused, with what to do."""
    shim = make(tmp_path / "bin1" / "claude.cmd")
    with pytest.raises(CliNotFound) as caught:
        find_cli(None, windows_environ, windows=True)
    (note,) = [place for place in caught.value.searched if place.startswith(shim)]
    assert "cannot be run safely" in note
    assert "CLAUDE_CODE_PATH" in note


def test_windows_searches_the_folder_of_npm(tmp_path, windows_environ):
    """The global folder of npm is known without PATH."""
    make(tmp_path / "appdata" / "npm" / "claude.cmd")
    script = make(tmp_path / "appdata" / "npm" / PACKAGE / "cli.js")
    node = make(tmp_path / "bin1" / "node.exe")
    assert find_cli(None, windows_environ, windows=True) == [node, script]


def test_windows_finds_the_installed_sdk(tmp_path, windows_environ, monkeypatch):
    """The binary of the package has its Windows name there."""
    bundled = make(tmp_path / "sdk" / "_bundled" / "claude.exe")
    monkeypatch.setattr(discovery, "installed_package", lambda name: str(tmp_path / "sdk"))
    assert find_cli(None, windows_environ, windows=True) == [bundled]
