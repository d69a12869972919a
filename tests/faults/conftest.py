"""
What the tests of faults share: short patience for the library, long for the test.

A test waits for what it claims, never for time to pass. Only a failure ever waits
as long as ``PATIENCE``.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time

import pytest
from bridged import BRIDGE, DIRECT, stand_in_over_bridge
from bridged_in_memory import bridge_in_memory

import claude_sync.runtime.process  # noqa: F401  (loaded late, and has constants to shorten)
from claude_sync import Client
from claude_sync.testing import ScriptedCli, StandIn

PATIENCE = 30.0
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def process_is_gone(pid):
    """Whether no process of that id runs; one that waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def until():
    """Wait for a condition that nothing announces; fail if it never holds."""

    def wait(condition, patience=PATIENCE):
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, f"waited {patience} s in vain"
            threading.Event().wait(0.005)

    return wait


@pytest.fixture
def gone(until):
    """Wait for the end of a process."""
    return lambda pid: until(lambda: process_is_gone(pid))


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
def cli():
    """A CLI in memory that the test drives."""
    return ScriptedCli(patience=PATIENCE)


def pytest_generate_tests(metafunc):
    """Run a test over a bridge, too, where that is decided."""
    if "route" in metafunc.fixturenames:
        is_for_both = stand_in_over_bridge(metafunc.module.__name__, metafunc.function.__name__)
        metafunc.parametrize("route", [DIRECT, BRIDGE] if is_for_both else [DIRECT], indirect=True)


@pytest.fixture
def route(request):
    """How the clients of a test reach their CLI: ``direct``, or over a ``bridge``."""
    return request.param


@pytest.fixture
def new_client(route, monkeypatch):
    """What makes clients: the class itself, or a bridge of the test's own."""
    if route == DIRECT:
        yield Client
    else:
        with bridge_in_memory(monkeypatch) as make:
            yield make


@pytest.fixture
def client(cli, new_client):
    """A client of it, ready."""
    with new_client(transport=cli) as client:
        greet(client, cli)
        yield client


def greet(client, cli, **fields):
    """Play the beginning of a session."""
    starting = start_thread(client.start)
    cli.accept(**fields)
    starting.join(PATIENCE)
    assert not starting.is_alive()


@pytest.fixture(name="greet")
def greeting():
    """See :func:`greet`."""
    return greet


@pytest.fixture
def stand_in(new_client):
    """Open clients of a stand-in process; they are closed after the test."""
    with contextlib.ExitStack() as stack:

        def open_client(script=None, *, settings=None, **options):
            command = StandIn(script, **(settings or {})).command
            return stack.enter_context(new_client(cli=command, **options))

        yield open_client


def start_thread(function, *arguments):
    """Run something beside the test."""
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


class Background:
    """A call on a thread of its own; ``result()`` is what it returned or raised."""

    def __init__(self, function, *arguments, **keywords):
        self.value = self.error = None
        self.thread = start_thread(self._run, function, arguments, keywords)

    def _run(self, function, arguments, keywords):
        try:
            self.value = function(*arguments, **keywords)
        except BaseException as error:  # handed to the test
            self.error = error

    def result(self, patience=PATIENCE):
        """What the call returned; raises what it raised."""
        self.thread.join(patience)
        assert not self.thread.is_alive(), "the call has not returned"
        if self.error is not None:
            raise self.error
        return self.value


@pytest.fixture
def background():
    """See :class:`Background`."""
    return Background


class Program:
    """A Python program in a process of its own, with what it printed so far."""

    def __init__(self, source, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, os.path.dirname(__file__)])},
        )
        self.printed = b""

    def wait_for(self, words, patience=PATIENCE):
        """Wait until it has printed *words*; all it printed so far."""
        end = time.monotonic() + patience
        pipe = self.process.stdout
        while words.encode() not in self.printed:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            data = os.read(pipe.fileno(), 65536) if ready else b""
            if not data:
                self.process.kill()
                errors = self.process.communicate()[1].decode("utf-8", "replace")
                raise AssertionError(f"{words!r} did not come, but {self.printed!r}\n{errors}")
            self.printed += data
        return self.printed.decode()

    def say(self, line):
        """Give it a line to read."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self, patience=PATIENCE):
        """Wait for its end: exit code, all it printed, what it said on stderr."""
        try:
            rest, errors = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest, errors = self.process.communicate()
            raise AssertionError(f"it did not end; it said {rest!r}, {errors!r}") from None
        self.printed += rest
        return self.process.returncode, self.printed.decode(), errors.decode("utf-8", "replace")


@pytest.fixture
def program():
    """Start programs; those that still run are killed after the test."""
    started = []

    def start(source, *arguments):
        started.append(Program(source, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()
