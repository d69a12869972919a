"""The rules of the house, checked by reading the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import claude_sync

HOME = Path(claude_sync.__file__).parent
FILES = sorted(HOME.rglob("*.py"))

# Bytes in, events out: what the protocol must do without.
NOT_IN_THE_PROTOCOL = {
    *("threading", "_thread", "queue", "subprocess", "multiprocessing", "concurrent"),
    *("socket", "select", "selectors", "ssl", "asyncio", "signal"),
    *("time", "datetime", "sched", "random", "secrets", "uuid"),
    *("os", "io", "pathlib", "tempfile", "shutil", "logging", "sys"),
}
LONGEST_FILE = 450
# One tree that is read as a whole is one file.
LONGER_FILES = {"errors.py": 500}


def relative(path):
    """A file's name inside the package."""
    return path.relative_to(HOME).as_posix()


def tree_of(path):
    """Its syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path):
    """Names of the top-level modules that a file imports, anywhere in it."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def package_imports_of(path):
    """Names of modules of this package that a file imports when it is loaded."""
    package = path.relative_to(HOME).parent.parts
    for node in tree_of(path).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            yield ".".join([*base, *([node.module] if node.module else [])])


def starts_threads(path):
    """The lines of a file that make a thread, or a class of threads."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            named = node.func
        elif isinstance(node, ast.ClassDef):
            for base in node.bases:
                if getattr(base, "attr", getattr(base, "id", "")) == "Thread":
                    yield node.lineno
            continue
        else:
            continue
        name = getattr(named, "attr", getattr(named, "id", ""))
        if name in ("Thread", "start_new_thread", "ThreadPoolExecutor", "ThreadingHTTPServer"):
            yield node.lineno


def test_there_is_something_to_check():
    """The files are found, those of every folder."""
    names = {relative(path) for path in FILES}
    assert {"client.py", "protocol/turns.py", "runtime/engine.py", "testing/scripted.py"} <= names


@pytest.mark.parametrize("path", sorted((HOME / "protocol").rglob("*.py")), ids=relative)
def test_the_protocol_does_no_io(path):
    """No thread, no file, no clock in protocol/, and nothing of runtime/ or testing/."""
    assert not set(imports_of(path)) & NOT_IN_THE_PROTOCOL
    assert not {name.split(".")[0] for name in package_imports_of(path)} & {"runtime", "testing"}


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_runtime_starts_threads(path):
    """Every thread of the library is started in runtime/; the testing kit has its own."""
    if relative(path).split("/")[0] not in ("runtime", "testing"):
        assert not list(starts_threads(path))


def test_the_check_for_threads_finds_threads():
    """The rule above is able to fail."""
    found = {relative(path) for path in FILES if list(starts_threads(path))}
    assert {"runtime/reader.py", "runtime/timers.py", "runtime/responders.py"} <= found


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_event_loop_anywhere(path):
    """The library is synchronous: no asyncio, no async functions."""
    forbidden = {"asyncio", "anyio", "trio", "mcp", "claude_agent_sdk"}
    assert not set(imports_of(path)) & forbidden
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not [node for node in ast.walk(tree_of(path)) if isinstance(node, kinds)]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_can_be_read_in_one_sitting(path):
    """No file is longer than can be read at once."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGER_FILES.get(relative(path), LONGEST_FILE)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_module_says_what_it_is_for(path):
    """Each module has a docstring that begins with a sentence."""
    docstring = ast.get_docstring(tree_of(path))
    assert docstring
    assert docstring[0].isupper() or docstring[0] in "`\"'"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_sleeps(path):
    """Threads are woken, not polled; the testing kit may let time pass on purpose."""
    calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    sleeping = [node.lineno for node in calls if getattr(node.func, "attr", "") == "sleep"]
    if relative(path).split("/")[0] != "testing":
        assert not sleeping


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_nothing_is_printed(path):
    """A library logs; only its command line prints."""
    if relative(path) in ("cli.py", "doctor.py", "__main__.py") or "testing" in path.parts:
        return
    names = [
        node.func.id
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert "print" not in names


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_the_library_does_not_need_its_testing_kit(path):
    """Only the command line's offline mode uses the testing kit, and only when asked."""
    if relative(path).split("/")[0] == "testing":
        return
    loaded = [name for name in package_imports_of(path) if name.split(".")[0] == "testing"]
    assert not loaded
