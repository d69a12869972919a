"""
Real Claude Code CLIs against a model on 127.0.0.1; :mod:`real_clis` says where they are.

Nothing of this needs an account or a network. For a CLI that is missing no tests are made but
the one of ``test_real_clis.py``, which says so.

``pytest`` runs the newest CLI, by a client of its own. With ``--everything`` there are the old
CLI, where CLIs differ, and bridges, where bridges decide something (see ``bridged.py``).

Starting a CLI takes longer than most tests. So there are two kinds of client here: ``chat`` is
shared by all tests that want the same options, and replaced when a test leaves it in a bad
state; ``client_of`` makes one that belongs to its test.
"""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import pytest
from bridged import BRIDGE, DIRECT, checked_bridge, real_over_bridge
from real_clis import NEWEST, OLD, START_TIMEOUT, Cli, WarmClis, cli_path, is_installed, is_wanted
from window_fixtures import display, new_root, root, tkinter, until  # noqa: F401  (fixtures)

import claude_sync

HERE = Path(__file__).parent
# What is about windows, commands and files of ours is the same with any CLI. A test of these
# files that is about CLIs all the same wants each_cli.
NEWEST_ONLY = (
    *("test_real_batches", "test_real_bridge", "test_real_bridge_client"),
    *("test_real_bridge_seed", "test_real_bridge_ssh", "test_real_chat", "test_real_closing"),
    *("test_real_commands", "test_real_export", "test_real_notebook", "test_real_notebook_lab"),
    *("test_real_qt", "test_real_recording", "test_real_replay", "test_real_retries"),
    *("test_real_timeline", "test_real_tk"),
)
WARM = pytest.StashKey()
FAILED = pytest.StashKey()


def pytest_collection_modifyitems(items):
    """Everything in this folder is marked; what no CLI is there for is left out."""
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.real)
    absent = {item for item in here if has_no_cli(item)}
    items[:] = [item for item in items if item not in absent]


def has_no_cli(item):
    """Whether a test would need a CLI, and none is there for it."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters.get("cli", "") is None


def pytest_generate_tests(metafunc):
    """Run a test with the CLIs and by the routes that it is about."""
    if "cli" not in metafunc.fixturenames:
        return
    versions = [each for each in versions_for(metafunc) if is_installed(each) and is_wanted(each)]
    if "route" not in metafunc.fixturenames:
        cases = [case(version, values=(version,)) for version in versions]
        cases = cases or [pytest.param(None)]
        metafunc.parametrize("cli", cases, indirect=True, scope="module")
        return
    # All tests of one route after another: they share a bridge.
    cases = [case(version, values=(version, DIRECT)) for version in versions]
    cases += [
        case(version, BRIDGE, values=(version, BRIDGE))
        for version in versions
        if real_over_bridge(metafunc.module.__name__, metafunc.function.__name__, version == NEWEST)
    ]
    cases = cases or [pytest.param(None, DIRECT)]
    metafunc.parametrize(("cli", "route"), cases, indirect=True, scope="module")


def versions_for(metafunc):
    """The CLIs that a test is about."""
    names = metafunc.fixturenames
    if "old_cli" in names:
        return [OLD]
    is_for_newest = metafunc.module.__name__.rpartition(".")[2] in NEWEST_ONLY
    if "new_cli" in names or (is_for_newest and "each_cli" not in names):
        return [NEWEST]
    return [NEWEST, OLD]


def case(version, route=DIRECT, *, values):
    """A parameter; all but the newest CLI by the direct route is the second tier."""
    name = version if route == DIRECT else f"{version}-{route}"
    is_first = (version, route) == (NEWEST, DIRECT)
    return pytest.param(*values, id=name, marks=() if is_first else pytest.mark.everything)


@pytest.fixture(scope="module")
def cli(request):
    """Each CLI in turn."""
    return Cli(request.param, str(cli_path(request.param)))


@pytest.fixture
def new_cli(cli):
    """The newest CLI: for what the old one cannot do, and for what one of them is enough."""
    return cli


@pytest.fixture
def old_cli(cli):
    """The old CLI: for what only it does not know."""
    return cli


@pytest.fixture
def each_cli(cli):
    """Each of them, although the file is about the newest."""
    return cli


@pytest.fixture(scope="module")
def route(request):
    """How the clients of a test reach their CLI: ``direct``, or over a ``bridge``."""
    return getattr(request, "param", DIRECT)


@pytest.fixture(scope="session")
def warm(request, tmp_path_factory):
    """The clients behind ``chat``, with their model and their homes."""
    warm = WarmClis(tmp_path_factory.mktemp)
    request.config.stash[WARM] = warm
    yield warm
    warm.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """When the last test of this folder is over, nothing stays warm for those of others."""
    yield
    if nextitem is None or HERE not in nextitem.path.parents:
        warm = item.config.stash.get(WARM, None)
        if warm is not None:
            warm.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Note that a test failed: what it leaves may be in any state."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="module")
def model(warm):
    """The model; each test adds rules about its own words."""
    return warm.model


@pytest.fixture(autouse=True)
def no_rules_of_others(request):
    """What one test told the model holds in no other."""
    yield
    if "model" in request.fixturenames:
        model = request.getfixturevalue("model")
        model.forget()


@pytest.fixture(scope="module")
def home(cli, warm):
    """The home folder of the CLI."""
    return warm.home(cli.version)


@pytest.fixture(scope="module")
def new_client(cli, route, warm):
    """What makes clients: the class itself, or a bridge for all tests of a file."""
    if route == DIRECT:
        yield claude_sync.Client
    else:
        with checked_bridge() as bridge:
            yield bridge.client
            warm.close_route(BRIDGE)


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


@pytest.fixture(scope="module")
def chat_options():
    """The settings of ``chat``; a file that needs others has a fixture of this name."""
    return {"allowed_tools": ["Bash"]}


@pytest.fixture(scope="module")
def asking():
    """The settings of a client that is asked about every tool, and that has an agent."""
    helper = {"description": "helps", "prompt": "You help.", "tools": ["Bash"]}
    return {"agents": {"helper": helper}}


@pytest.fixture
def chat(request, warm, cli, route, new_client, model, chat_options):
    """A client whose conversation has gone on for some time; unless told otherwise, with Bash."""
    client = warm.get(cli, route, new_client, chat_options)
    yield client
    if request.node.stash.get(FAILED, False):
        warm.drop(client)
    warm.check(client)


@pytest.fixture
def forgotten(warm, chat, cli):
    """What was said in this test is too much for every later question to repeat it."""
    yield
    if cli.is_new and chat.state == "idle":
        chat.ask("/clear", timeout=START_TIMEOUT)
    else:
        warm.drop(chat)


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


def child_processes():
    """The ids of our children that live, or were not waited for; none where nobody can tell."""
    found = set()
    for path in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(map(int, path.read_text().split()))
        except OSError:  # that thread has ended
            continue
    return found


@pytest.fixture(autouse=True, scope="module")
def nothing_outlives_its_test(warm):
    """
    Every file ends with the threads it began with, and no child is left.

    Not every test, as elsewhere, because clients are shared; and what is warm stays.
    """
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and not warm.owns(thread)
        and not thread.name.startswith("pytest_timeout")
    ]
    for thread in left:
        thread.join(5)
    alive = [thread.name for thread in left if thread.is_alive()]
    assert not alive, f"threads still running: {alive}"
    children = child_processes() - warm.pids
    assert not children, f"child processes left: {children}"
