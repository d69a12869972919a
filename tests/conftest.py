"""
What every test may rely on: it starts clean, and it must end clean.

A test that leaves a thread, a child process or a descriptor behind fails, even
if everything it asserted was true.

Fixtures that many files use are here as well. A file that needs its own of the same name
defines it, and those that build on it follow: ``client`` is made by ``new_client`` of ``cli``.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import stand_ins
from hypothesis import settings
from patience import PATIENCE, process_is_gone, wait_until

import claude_sync.engine.launch.process  # noqa: F401  (loaded late, and has constants to shorten)
from claude_sync import Client
from claude_sync.testing import ScriptedCli

# Our own tests use what the tests of other people's programs use.
pytest_plugins = ("claude_sync.testing.plugin", "suite")

# Examples are not timed: a loaded machine is no bug. They are the same in every run.
settings.register_profile("tests", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("tests")

# A shell lets its background jobs ignore Ctrl-C, nohup lets them ignore SIGHUP, and their children
# inherit that: then no test of these signals could pass.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def open_descriptors():
    """The descriptors of this process, with what each one is."""
    found = {}
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:  # not Linux
        return found
    for name in names:
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the one that listed the folder
            continue
    return found


def child_processes():
    """The ids of our children that live, or were not waited for."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            listed = file.read().split()
    except OSError:
        return set()
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                listed += file.read().split()
        except OSError:
            continue
    return {int(pid) for pid in listed}


def eventually(check):
    """What *check* still reports once things had time to end by themselves."""
    left = check()
    if not left:
        return left
    gc.collect()  # what is only waiting to be collected is not left behind
    end = time.monotonic() + 5
    while left and time.monotonic() < end:
        threading.Event().wait(0.01)
        left = check()
    return left


# As the system names them: links are followed.
TEMPORARY = os.path.join(os.path.realpath(tempfile.gettempdir()), "")


def is_of_a_test(what):
    """
    Whether a descriptor is one that a test must close, by what the system calls it.

    Of files, those in temporary folders, where tests have theirs. Others are libraries, fonts
    and the like, which stay open for good reasons.
    """
    return not what.startswith("/") or what.startswith(TEMPORARY)


@pytest.fixture(autouse=True)
def nothing_outlives_its_test():
    """Every test ends with the threads, children and descriptors it began with."""
    threads = set(threading.enumerate())
    children = child_processes()
    descriptors = open_descriptors()
    yield
    leaked = eventually(lambda: [t.name for t in threading.enumerate() if t not in threads])
    assert not leaked, f"threads still running: {leaked}"
    leaked = eventually(lambda: child_processes() - children)
    assert not leaked, f"child processes left: {leaked}"

    def new_descriptors():
        return {
            number: what
            for number, what in open_descriptors().items()
            if descriptors.get(number) != what and is_of_a_test(what)
        }

    leaked = eventually(new_descriptors)
    assert not leaked, f"descriptors left open: {leaked}"


@pytest.fixture(autouse=True)
def no_nested_session(monkeypatch):
    """Tests see no Claude variables of whoever runs them, and no wishes about another pytest."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC")) and not name.startswith("CLAUDE_SYNC_TEST"):
            monkeypatch.delenv(name)


# Waiting, and patience of the library's.


@pytest.fixture
def until():
    """Wait for a condition that nothing announces; fail if it never holds."""
    return wait_until


@pytest.fixture
def gone():
    """Wait for the end of a process."""
    return lambda pid: wait_until(lambda: process_is_gone(pid))


@pytest.fixture
def hurry(monkeypatch):
    """Shorten patience of the library's: constants by name, wherever they are."""

    def shorten(**constants):
        for name, value in constants.items():
            homes = [
                module
                for title, module in list(sys.modules.items())
                if title.startswith("claude_sync.") and name in vars(module)
            ]
            assert homes, f"there is no constant {name}"
            for module in homes:
                monkeypatch.setattr(module, name, value)

    return shorten


@pytest.fixture
def quick_stop(hurry):
    """A turn that does not end is ended by force quickly."""
    hurry(STOP_PATIENCE=0.3, INTERRUPT_AGAIN_AFTER=(0.05, 0.1))


@pytest.fixture
def quick_close(hurry):
    """Closing waits in vain, and not for long: for turns and for handlers that do not end."""
    hurry(TURN_END_TIME=0.05, LENT_TIME=0.05)


@pytest.fixture
def quick_end(hurry):
    """A CLI that no longer talks or reads is soon ended."""
    hurry(EXIT_PATIENCE=0.1)


@pytest.fixture
def end_quickly(hurry):
    """Call it when a test is over: a turn that still runs is not waited for."""
    return lambda: hurry(TURN_END_TIME=0.01, TOOL_END_TIME=0.01)


# Calls beside the test.


@pytest.fixture
def background():
    """See :class:`stand_ins.Background`."""
    return stand_ins.Background


@pytest.fixture
def pool():
    """Threads for calls that block."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


# Clients of a CLI in memory.


@pytest.fixture
def cli():
    """A CLI in memory that the test drives."""
    return ScriptedCli(patience=PATIENCE)


@pytest.fixture
def all_was_expected(cli):
    """What the client sends to ``cli`` must all be expected by the test."""
    yield
    cli.assert_done()


@pytest.fixture
def new_client():
    """What makes clients."""
    return Client


@pytest.fixture
def greet():
    """See :func:`stand_ins.greet`."""
    return stand_ins.greet


@pytest.fixture
def ready(new_client):
    """Make a client whose CLI has answered the greeting; the test closes it."""
    return lambda cli, **options: stand_ins.ready(cli, new_client, **options)


@pytest.fixture
def client(cli, new_client, end_quickly):
    """A client of ``cli`` that is ready."""
    with new_client(transport=cli) as client:
        stand_ins.greet(client, cli)
        yield client
        end_quickly()
