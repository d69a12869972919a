"""The rules of the house, checked by reading the source."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import claude_sync

HOME = Path(claude_sync.__file__).parent

# Bytes in, events out: what the protocol must do without.
NOT_IN_THE_PROTOCOL = {
    *("threading", "_thread", "queue", "subprocess", "multiprocessing", "concurrent"),
    *("socket", "select", "selectors", "ssl", "asyncio", "signal"),
    *("time", "datetime", "sched", "random", "secrets", "uuid"),
    *("os", "io", "pathlib", "tempfile", "shutil", "logging", "sys"),
}
WITH_EVENT_LOOPS = {"asyncio", "anyio", "trio", "mcp", "claude_agent_sdk"}
MAKERS_OF_THREADS = ("Thread", "start_new_thread", "ThreadPoolExecutor", "ThreadingHTTPServer")


@cache
def trees():
    """The syntax tree of each file of the package, by its name there; each is read once."""
    return {
        path.relative_to(HOME).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(HOME.rglob("*.py"))
    }


@cache
def nodes(name):
    """All nodes of a file."""
    return list(ast.walk(trees()[name]))


def files_outside(*folders):
    """The names of files that are in none of some folders."""
    return [name for name in trees() if name.split("/")[0] not in folders]


def imports_of(name):
    """Names of the top-level modules that a file imports, anywhere in it."""
    for node in nodes(name):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def folders_loaded_by(name):
    """Names of folders and modules of this package from which a file imports as it is loaded."""
    package = name.split("/")[:-1]
    for node in trees()[name].body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            inner = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (base[:1] or [path.split(".")[0] for path in inner])


def name_of(node):
    """The last name of an expression: Thread, of Thread and of threading.Thread."""
    return getattr(node, "attr", getattr(node, "id", ""))


def calls_in(name):
    """The calls of a file: the name of what is called, and the line."""
    return [(name_of(node.func), node.lineno) for node in nodes(name) if isinstance(node, ast.Call)]


def thread_makers_in(name):
    """The lines of a file that make a thread, or a class of threads."""
    made = [line for called, line in calls_in(name) if called in MAKERS_OF_THREADS]
    classes = [node for node in nodes(name) if isinstance(node, ast.ClassDef)]
    return made + [
        node.lineno for node in classes if "Thread" in [name_of(base) for base in node.bases]
    ]


def test_the_protocol_does_no_io():
    """No thread, no file, no clock in protocol/, and nothing of engine/ or testing/."""
    files = [name for name in trees() if name.startswith("protocol/")]
    assert files
    wrong = {name: set(imports_of(name)) & NOT_IN_THE_PROTOCOL for name in files}
    # Any thread may answer a request, so that has a lock.
    wrong["protocol/requests.py"].discard("threading")
    assert not {name: found for name, found in wrong.items() if found}
    assert not [name for name in files if {"engine", "testing"} & set(folders_loaded_by(name))]


def test_only_the_engine_starts_threads():
    """The engine starts threads; so do pools, bridge and testing kit."""
    found = {name: lines for name in trees() if (lines := thread_makers_in(name))}
    found.pop("batch/crew.py")  # the workers of pools
    found.pop("bridge/threads.py")
    assert not [name for name in found if name in files_outside("engine", "testing")]
    # The search finds threads.
    assert {"engine/connection.py", "engine/timers.py", "engine/tasks.py"} <= set(found)


def test_no_event_loop_anywhere():
    """The library is synchronous: no asyncio, no async functions."""
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert not {name for name in trees() if set(imports_of(name)) & WITH_EVENT_LOOPS}
    assert not {name for name in trees() if any(isinstance(node, kinds) for node in nodes(name))}


def test_nothing_sleeps():
    """Threads are woken, not polled; the testing kit may let time pass on purpose."""
    found = {name for name in trees() if "sleep" in dict(calls_in(name))}
    assert not found & set(files_outside("testing"))
    assert found  # the search finds calls


def test_nothing_is_printed():
    """A library logs; its command line writes to the stream that it was given."""
    found = {name for name in trees() if "print" in dict(calls_in(name))}
    assert found == {"testing/drift/__main__.py"}  # a command of its own


def test_files_of_tests_have_names_of_their_own():
    """In whatever folder: pytest would take one for the other."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
