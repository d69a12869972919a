"""Which paths a pattern allows, and which it may deny."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each

from claude_sync.permissions.paths import FilePattern, stays_below

CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
pytestmark = posix


@pytest.fixture
def project(tmp_path):
    """A project with links that lead out of it and into it."""
    folder = tmp_path / "project"
    for name in ("src/deep", "docs", "secret"):
        (folder / name).mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("project/src/a.py", "project/secret/key", "outside/b.py", "project/.env"):
        (tmp_path / name).write_text("")
    (folder / "src/out").symlink_to(outside)
    (folder / "src/out.py").symlink_to(outside / "b.py")
    (folder / "src/dangling.py").symlink_to(outside / "new.py")
    (folder / "src/loop").symlink_to("loop")
    (folder / "src/to_secret").symlink_to("../secret")
    (folder / "alias").symlink_to("src")
    (tmp_path / "link_to_project").symlink_to("project")
    return folder


def whole(path, cwd):
    """A path as newer CLIs write it: from the root on."""
    is_relative = isinstance(path, str) and path and path[0] not in "/~ "
    return f"{cwd}/{path}" if is_relative else path


def allows(rule, path, cwd, tool="Read", key="file_path", **more):
    """Whether a pattern allows a path."""
    return FilePattern(rule).allows(tool, {key: whole(path, cwd), **more}, str(cwd))


def denies(rule, path, cwd, tool="Read", key="file_path", **more):
    """Whether a pattern may mean a path."""
    return FilePattern(rule).may_match(tool, {key: whole(path, cwd), **more}, str(cwd))


@each("path", ["src/a.py", "a.py", "./src/a.py", "~/x", "~root/x", "../project/src/a.py", ""])
def test_a_path_that_is_not_whole_is_never_allowed_and_always_denied(project, path):
    """Claude can change the folder in which it is looked up."""
    for tool, key in (("Read", "file_path"), ("Write", "file_path"), ("Grep", "path")):
        assert not FilePattern("/**").allows(tool, {key: path}, str(project))
        assert FilePattern("secret/**").may_match(tool, {key: path}, str(project))


@each("sign", ["\ufeff", "\u00a0", "\u2028", "\u200b", "\u202e", "\x07", "\n"])
def test_a_path_with_what_nobody_sees_is_never_allowed_and_always_denied(project, sign):
    """Some CLIs trim it away."""
    for path in (f"{sign}{project}/src/a.py", f"{project}/src/a.py{sign}", f"{project}/s{sign}/a"):
        assert not FilePattern("//**").allows("Read", {"file_path": path}, str(project))
        assert FilePattern("secret/**").may_match("Read", {"file_path": path}, str(project))


@pytest.mark.parametrize(
    "path",
    [
        *("/proc/self/cwd/src/a.py", "/proc/1/root/etc/passwd", "/dev/fd/3", "/dev/stdin"),
        *("/dev/../proc/self/fd/0", "src/process/src/a.py", "//proc/self/cwd/src/a.py"),
    ],
)
def test_what_depends_on_the_process_is_never_allowed_and_always_denied(path, project):
    """The CLI is another process, with another folder and other open files."""
    (project / "src/process").symlink_to("/proc/self/cwd")
    assert not allows("//**", path, project)
    assert not allows("src/**", path, project)
    assert denies(".env", path, project)


def test_the_beginning_of_a_glob_is_followed(project):
    """A link in it leads out of the folder that is allowed."""
    for pattern, expected in (("*.py", True), ("deep/*", True), ("out/*", False), ("out", False)):
        assert allows("src/**", "src", project, "Glob", "path", pattern=pattern) is expected
    assert denies("secret/**", "src", project, "Glob", "path", pattern="to_secret/*")


@each(
    ("pattern", "path"),
    [
        ("*a*a*a*b", "a" * 250),
        ("*a" * 30 + "b", "a" * 250),
        ("**/a/**/a/**/a/x", "src" + "/a" * 1500),
        ("**/*a*a*a/" * 5 + "x", ("a" * 200 + "/") * 15),
    ],
)
def test_no_path_takes_long_to_compare(pattern, path, project):
    """The path comes from the model; not timed, it took for ever when stars were tried in turn."""
    assert not allows(pattern, path, project)
    assert not denies(pattern, path, project)


@pytest.mark.parametrize("path", ["src/" + "a" * 256, "src/" + "é" * 128, "src" + "/a" * 2100])
def test_a_path_that_no_file_has_is_not_compared(path, project):
    """It is not allowed, and denied."""
    assert not allows("src/**", path, project)
    assert denies("other/**", path, project)


@each(("pattern", "path"), CASES["patterns and paths that match"])
def test_a_path_matches(project, pattern, path):
    """Existing or not, for both questions."""
    assert allows(pattern, path, project)
    assert denies(pattern, path, project)


@each(("pattern", "path"), CASES["patterns and paths that are not allowed"])
def test_a_path_is_not_allowed(project, pattern, path):
    """What leaves the folder, or can be read in two ways, is not let through."""
    assert not allows(pattern, path, project)


@each(("pattern", "path"), CASES["patterns and paths that are denied"])
def test_a_path_is_denied_as_given_or_as_resolved(project, pattern, path):
    """No way to write a path or to reach it hides it."""
    assert denies(pattern, path, project)


def test_other_paths_are_not_denied(project):
    """A pattern means what it names."""
    for path in ("src/a.py", "src/secret.py", "secrets/key", "docs"):
        assert not denies("secret/**", path, project)


def test_a_link_to_the_project_is_the_project(project, tmp_path):
    """The folder itself is resolved, too."""
    link = tmp_path / "link_to_project"
    assert allows("src/**", str(link / "src/a.py"), link)
    assert allows("src/**", str(project / "src/a.py"), link)
    assert denies("secret/**", str(project / "secret/key"), link)
    assert denies("secret/**", str(link / "secret/key"), project)


def test_an_absolute_pattern_is_meant_with_its_links(project, tmp_path):
    """What is named from the root on may be reached by a link."""
    pattern = "/" + str(tmp_path / "link_to_project/src/**")
    assert allows(pattern, str(project / "src/a.py"), "/")
    assert not allows(pattern, str(project / "src/out/b.py"), "/")
    assert allows("/" + str(tmp_path / "link_to_project/src"), str(project / "src/a.py"), "/")
    assert allows("//**", "/etc/passwd", "/")


def test_the_home_folder_is_named_by_a_tilde(tmp_path, monkeypatch):
    """In patterns; a path of a tool must be written in full to be allowed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert allows("~/notes/**", str(tmp_path / "notes/a"), "/")
    assert not allows("~/notes/**", "~/notes/a", "/")
    assert denies("~/notes/**", "~/notes/a", "/")


def test_folders_are_searched_as_a_whole(project):
    """A search is allowed where everything below its folder is."""
    for tool in ("Grep", "Glob", "LS"):
        more = {"pattern": "**/*.py"}
        assert allows("src/**", "src", project, tool, "path", **more)
        assert allows("src/**", "src/deep", project, tool, "path", **more)
        assert not allows("src/**", ".", project, tool, "path", **more)
        assert not allows("src/*", "src/deep", project, tool, "path", **more)
        assert allows("/**", str(project), project, tool, "path", **more)
        assert not FilePattern("/**").allows(tool, more, str(project))
    assert allows("src/*.py", "src/a.py", project, "Grep", "path", pattern="x")


def test_a_search_above_a_denied_folder_is_denied(project):
    """It would print what must not be read; a list of names may be had."""
    assert denies("secret/**", ".", project, "Grep", "path", pattern="x")
    assert FilePattern("secret/**").may_match("Grep", {"pattern": "x"}, str(project))
    assert denies(".env", "src", project, "Grep", "path", pattern="x")
    assert not denies("secret/**", "src", project, "Grep", "path", pattern="x")
    assert not denies("secret/**", "src/a.py", project, "Grep", "path", pattern="x")
    assert not denies("secret/**", ".", project, "LS", "path")
    assert denies("secret/**", ".", project, "Glob", "path", pattern="secret/*")
    assert denies("secret/**", ".", project, "Glob", "path", pattern=None)


@each("pattern", CASES["globs that may leave their folder"])
def test_a_glob_that_may_leave_its_folder_is_not_allowed(project, pattern):
    """Absolute, with two dots, or with something that can spell them."""
    assert not stays_below(pattern)
    given = {"pattern": pattern, "path": str(project)}
    assert not FilePattern("/**").allows("Glob", given, str(project))


@each("pattern", ["*.py", "**/*.{ts,tsx}", "src/**/[a-c]*.py", ".*", "a.*.b"])
def test_an_ordinary_glob_stays_below_its_folder(pattern):
    """Wildcards never lead upwards."""
    assert stays_below(pattern)


def test_every_path_of_an_input_counts(project):
    """A second path under another key is looked at as well."""
    fields = {"file_path": f"{project}/src/a.py", "path": f"{project}/secret/key"}
    assert not FilePattern("src/**").allows("Read", fields, str(project))
    assert FilePattern("secret/**").may_match("Read", fields, str(project))


def test_a_missing_path_is_not_allowed_but_denied(project):
    """What is touched is not known then."""
    for tool, fields in (("Read", {}), ("NotebookEdit", {"file_path": "src/a.py"})):
        assert not FilePattern("src/**").allows(tool, fields, str(project))
        assert FilePattern("docs/**").may_match(tool, fields, str(project))
    fields = {"notebook_path": f"{project}/src/a.ipynb"}
    assert FilePattern("src/**").allows("NotebookEdit", fields, str(project))


def test_without_a_folder_nothing_is_certain():
    """A folder that is not absolute could be anywhere."""
    for cwd in ("", "relative", None, "/a\0", "/\ud800"):
        assert not FilePattern("**").allows("Read", {"file_path": "x"}, cwd)
        assert FilePattern("x").may_match("Read", {"file_path": "y"}, cwd)


NAMES = (
    "a",
    "b",
    "..",
    ".",
    "in",
    "out",
    "up",
    "chain",
    "deep",
    "allowed",
    "",
    "x.py",
    "..",
    "new",
)


@settings(max_examples=1500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1 << 64))
def test_an_allowed_path_lies_in_the_allowed_folder(tmp_path, seed):
    """However it goes up and down and through links, it ends inside, or is not allowed."""
    allowed = tmp_path / "allowed"
    if not allowed.exists():
        for name in ("allowed/a/b", "allowed/deep/er", "a/b", "b"):
            (tmp_path / name).mkdir(parents=True)
        (allowed / "out").symlink_to(tmp_path / "a")
        (allowed / "up").symlink_to("..")
        (allowed / "in").symlink_to(allowed / "deep")
        (allowed / "a/chain").symlink_to("../out/b")
        (tmp_path / "in").symlink_to(allowed)
        (tmp_path / "a/deep").symlink_to(allowed / "deep/er")
    chance = random.Random(seed)
    path = "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 7)))
    path = chance.choice(("", "allowed/", f"{allowed}/", f"{tmp_path}/", "/")) + path
    pattern = chance.choice(("allowed/**", "/allowed/**", "/allowed", f"/{allowed}/**"))
    inside = os.path.realpath(allowed) + os.sep
    if allows(pattern, path, tmp_path):
        for real in (
            os.path.realpath(os.path.join(tmp_path, path)),
            os.path.realpath(os.path.normpath(os.path.join(tmp_path, path))),
        ):
            assert (real + os.sep).startswith(inside), path
        assert denies(pattern, path, tmp_path), path
