"""
Real Claude Code CLIs, old and new, against a model on 127.0.0.1.

Nothing of this needs an account or a network. Where the CLIs are looked for:

* ``CLAUDE_SYNC_TEST_CLIS``: a folder with ``VERSION/node_modules/.bin/claude``, by
  default ``~/.cache/claude-sync/cli``. To fill it, for each of ``VERSIONS``:
  ``npm install --ignore-scripts --prefix FOLDER/VERSION @anthropic-ai/claude-code@VERSION``
* ``CLAUDE_SYNC_TEST_BUNDLED``: the executable of the newest CLI, by default the one
  inside an installed ``claude-agent-sdk``.

* ``CLAUDE_SYNC_TEST_VERSIONS``: which of them to test, separated by commas; all by default.

A CLI that is missing skips its tests; where ``CI`` is ``true`` it fails them.

Most files run twice: with clients of their own, and over a bridge (see ``bridged.py``).

Starting a CLI takes seconds, so there are two kinds of client here: ``chat`` is shared
by the tests of a file and replaced when a test leaves it in a bad state; ``client_of``
makes one that belongs to its test.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import threading
from pathlib import Path

import pytest
from bridged import BRIDGE, DIRECT, checked_bridge, real_over_bridge
from window_fixtures import display, new_root, root, tkinter, until  # noqa: F401  (fixtures)

import claude_sync
from claude_sync.testing.model import LoopbackModel

BUNDLED = "bundled"
VERSIONS = ("1.0.128", "2.0.30", "2.1.29")
# What is about windows, commands and files of ours, whatever CLI there is, is tested with the
# oldest and the newest; what is about CLIs, with each.
OLDEST_AND_NEWEST = (
    *("test_real_batches", "test_real_bridge", "test_real_bridge_client", "test_real_chat"),
    *("test_real_closing", "test_real_commands", "test_real_export", "test_real_notebook"),
    *("test_real_qt", "test_real_recording", "test_real_replay", "test_real_retries"),
    *("test_real_timeline", "test_real_tk"),
)
# Longer than any of them needs on a loaded machine; only failures ever wait for it.
START_TIMEOUT = 90.0


def pytest_collection_modifyitems(items):
    """Everything in this folder is marked."""
    here = Path(__file__).parent
    for item in items:
        if here in Path(str(item.fspath)).parents:
            item.add_marker(pytest.mark.real)


class Cli:
    """
    One of the CLIs under test.

    Attributes:
        version: Its version, or ``"bundled"`` for the newest.
        path: The executable.
        is_new: Whether it tells whose result is whose, and runs agents in the background.

    """

    def __init__(self, version, path):
        self.version = version
        self.path = path
        self.is_new = version == BUNDLED

    def __repr__(self):
        return f"<Cli {self.version}>"

    def is_before(self, *version):
        """Whether it is older than *version*, given as numbers."""
        if self.is_new:
            return False
        return tuple(int(number) for number in self.version.split(".")) < version


def bundled_path():
    """The executable inside claude-agent-sdk, found without importing it; or None."""
    given = os.environ.get("CLAUDE_SYNC_TEST_BUNDLED")
    if given:
        return Path(given)
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return None
    name = "claude.exe" if sys.platform == "win32" else "claude"
    return Path(found.origin).parent / "_bundled" / name


def cli_path(version):
    """Where the CLI of this version should be; None if nobody can know."""
    if version == BUNDLED:
        return bundled_path()
    folder = os.environ.get("CLAUDE_SYNC_TEST_CLIS")
    clis = Path(folder) if folder else Path.home() / ".cache" / "claude-sync" / "cli"
    return clis / version / "node_modules" / ".bin" / "claude"


def pytest_generate_tests(metafunc):
    """Run a test with every CLI it is about; nothing is generated only to be skipped."""
    if "cli" not in metafunc.fixturenames:
        return
    if "new_cli" in metafunc.fixturenames:
        versions = [BUNDLED]
    elif "old_cli" in metafunc.fixturenames:
        versions = list(VERSIONS)
    elif "form_cli" in metafunc.fixturenames:
        versions = ["2.1.29", BUNDLED]
    elif "formless_cli" in metafunc.fixturenames:
        versions = ["1.0.128", "2.0.30"]
    elif metafunc.module.__name__.rpartition(".")[2] in OLDEST_AND_NEWEST:
        versions = [VERSIONS[0], BUNDLED]
    else:
        versions = [*VERSIONS, BUNDLED]
    wanted = os.environ.get("CLAUDE_SYNC_TEST_VERSIONS")
    if wanted:
        versions = [version for version in versions if version in wanted.split(",")]
    if "route" not in metafunc.fixturenames:
        metafunc.parametrize("cli", versions, indirect=True, scope="module")
        return
    # All tests of one route after another: they share a client.
    routes = [(version, DIRECT) for version in versions]
    routes += [(version, BRIDGE) for version in versions if over_bridge(metafunc, version)]
    names = [version if route == DIRECT else f"{version}-{route}" for version, route in routes]
    metafunc.parametrize(("cli", "route"), routes, indirect=True, scope="module", ids=names)


def over_bridge(metafunc, version):
    """Whether a test runs over a bridge, too, with the CLI of this version."""
    file, test = metafunc.module.__name__, metafunc.function.__name__
    return real_over_bridge(file, test, version == BUNDLED)


@pytest.fixture(scope="module")
def cli(request):
    """Each CLI in turn."""
    version = request.param
    path = cli_path(version)
    if path is None or not path.exists():
        missing = f"the CLI {version} is not at {path}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return Cli(version, str(path))


@pytest.fixture
def new_cli(cli):
    """The newest CLI: for what older ones cannot do, and for what one of them is enough."""
    return cli


@pytest.fixture
def old_cli(cli):
    """Each of the older CLIs: for what only they do not know."""
    return cli


@pytest.fixture
def form_cli(cli):
    """Those that know forms of answers."""
    return cli


@pytest.fixture
def formless_cli(cli):
    """Those that do not."""
    return cli


@pytest.fixture(scope="module")
def route(request):
    """How the clients of a test reach their CLI: ``direct``, or over a ``bridge``."""
    return getattr(request, "param", DIRECT)


@pytest.fixture(scope="module")
def model(cli, route):
    """The model of all tests of a file; each test adds rules about its own words."""
    with LoopbackModel() as model:
        yield model


@pytest.fixture(scope="module")
def home(cli, route, tmp_path_factory):
    """A home folder that no CLI has seen."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def new_client(cli, route):
    """What makes clients: the class itself, or a bridge for all tests of a file."""
    if route == DIRECT:
        yield claude_sync.Client
    else:
        with checked_bridge() as bridge:
            yield bridge.client


@pytest.fixture
def client_of(cli, new_client, model, home, tmp_path):
    """Make clients that are closed at the end; ``env=`` is added to what is needed."""
    clients = []

    def make(**options):
        environment = {**model.environment(home), **options.pop("env", {})}
        settings = {"cli": cli.path, "cwd": tmp_path, "start_timeout": START_TIMEOUT, **options}
        client = new_client(env=environment, **settings)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


class SharedClient:
    """A client that lives until a test leaves it busy, crashed or closed."""

    def __init__(self, make):
        self._make = make
        self.client = None

    def get(self):
        """The client, idle; it has answered before, so that no limit counts its start."""
        if self.client is None:
            self.client = self._make()
            self.client.ask("are you there?", timeout=START_TIMEOUT)
        return self.client

    def check(self):
        """Drop it unless it can go on."""
        if self.client is not None and self.client.state != "idle":
            self.close()

    def close(self):
        """Close it; the next test gets another."""
        if self.client is not None:
            self.client.close()
        self.client = None


@pytest.fixture(scope="module")
def chat_options():
    """The settings of ``chat``; a file that needs others has a fixture of this name."""
    return {"allowed_tools": ["Bash"]}


@pytest.fixture(scope="module")
def shared_client(cli, new_client, model, home, tmp_path_factory, chat_options):
    """The client behind ``chat``."""

    def make():
        return new_client(
            cli=cli.path,
            cwd=tmp_path_factory.mktemp("cwd"),
            env=model.environment(home),
            start_timeout=START_TIMEOUT,
            **chat_options,
        )

    shared = SharedClient(make)
    yield shared
    shared.close()


@pytest.fixture
def chat(shared_client):
    """A client whose conversation has gone on for some time; unless told otherwise, with Bash."""
    yield shared_client.get()
    shared_client.check()


@pytest.fixture
def listen():
    """``listen(client, "text")``: the list of what arrives there until the test ends."""
    registered = []

    def start(client, kind, **settings):
        heard = []
        registered.append((client, heard.append))
        handler = registered[-1][1]
        getattr(client, f"on_{kind}")(handler, **settings)
        return heard

    yield start
    for client, handler in registered:
        client.off(handler)


@pytest.fixture(autouse=True, scope="module")
def nothing_outlives_its_test():
    """
    Every file ends with the threads it began with, and no child is left.

    Not every test, as elsewhere: the clients of these are shared.
    """
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith("pytest_timeout")
    ]
    for thread in left:
        thread.join(5)
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads still running: {alive}"
    if hasattr(os, "WNOHANG"):
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
