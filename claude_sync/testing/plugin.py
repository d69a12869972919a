"""
Fixtures for the tests of programs that use claude_sync; ask for them in ``conftest.py``::

    pytest_plugins = ["claude_sync.testing.plugin"]

====================  ========================================================================
``claude``            an open ``Client`` that talks to whatever else the test asks for, and
                      otherwise to the offline CLI, which echoes
``claude_options``    the settings of such a client, for a program that opens its own
``fake_cli``          a ``ScriptedCli``: the test says what the CLI says; also ``scripted_cli``
``recording``         a ``Tape``: recorded once, with ``--claude-record``, and played ever after
``loopback_model``    a ``LoopbackModel``: the real CLI, without the service
====================  ========================================================================

Settings of the client are given with a marker: ``@pytest.mark.claude(model="haiku")``. A fixture
of the same name in a program's own tests takes precedence, as always.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from claude_sync import Client
    from claude_sync.testing import LoopbackModel, ScriptedCli, Tape

# Of an item: whether the test itself has passed; not failed, not skipped, not failed as was known
# before. (The place for such things is its stash, which older ones do not have.)
PASSED = "_claude_sync_passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--claude-record``."""
    parser.getgroup("claude_sync").addoption(
        "--claude-record",
        action="store_true",
        help="record anew what the tests with the fixture 'recording' say to the CLI and hear "
        "from it, instead of playing it back; this asks the real CLI and may cost money",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "claude(**options): settings of the client that the fixture 'claude' gives"
    )


# Outermost, to see what others make of the report: those who know of expected failures.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Remember how the test ended, for the fixtures that end after it."""
    outcome = yield
    if call.when == "call":
        setattr(item, PASSED, outcome.get_result().passed)


def has_passed(request: pytest.FixtureRequest) -> bool:
    """Whether the test of *request* is over, and went well."""
    return bool(getattr(request.node, PASSED, False))


@pytest.fixture
def scripted_cli(request: pytest.FixtureRequest) -> Iterator[ScriptedCli]:
    """A CLI in memory whose answers the test writes; it must have expected all that it heard."""
    from claude_sync.testing import ScriptedCli

    cli = ScriptedCli()
    cli.is_fixture = True
    yield cli
    if has_passed(request):
        cli.assert_done()


@pytest.fixture
def fake_cli(scripted_cli: ScriptedCli) -> ScriptedCli:
    """The same: ``scripted_cli`` under its common name."""
    return scripted_cli


@pytest.fixture
def loopback_model() -> Iterator[LoopbackModel]:
    """A Messages API on 127.0.0.1, for the real CLI."""
    from claude_sync.testing import LoopbackModel

    with LoopbackModel() as model:
        yield model


@pytest.fixture
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tape]:
    """What this test and the CLI said to each other: recorded once, played ever after."""
    from claude_sync.testing.fixtures import Tape, path_of_recording

    name = request.node.nodeid.partition("::")[2]
    file = getattr(request.node, "path", None) or request.node.fspath
    path = path_of_recording(Path(str(file)), name)
    tape = Tape(path, request.config.getoption("--claude-record"), tmp_path)
    yield tape
    tape.finish(passed=has_passed(request))


@pytest.fixture
def claude_options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The settings of ``claude``, for a program that opens its clients itself: ``**options``."""
    from claude_sync.testing.fixtures import client_options, marked_options

    def wanted(name: str) -> Any:
        return request.getfixturevalue(name) if name in request.fixturenames else None

    parts = [wanted(name) for name in ("scripted_cli", "recording", "loopback_model")]
    markers = reversed(list(request.node.iter_markers("claude")))
    return marked_options(client_options(tmp_path / "home", *parts), markers)


@pytest.fixture
def claude(claude_options: dict[str, Any]) -> Iterator[Client]:
    """An open client: of ``scripted_cli``, ``recording``, ``loopback_model``, or the echo."""
    from claude_sync import Client

    with Client(**claude_options) as client:
        yield client
