"""
The pytest plugin of claude_sync: fixtures for the tests of programs that use it.

====================  ========================================================================
``claude``            an open ``Client`` that talks to whatever else the test asks for, and
                      otherwise to the offline CLI, which echoes
``scripted_cli``      a ``ScriptedCli``: the test says what the CLI says
``recording``         a ``Tape``: recorded once, with ``--claude-record``, and played ever after
``loopback_model``    a ``LoopbackModel``: the real CLI, without the service
====================  ========================================================================

Settings of the client are given with a marker: ``@pytest.mark.claude(model="haiku")``. A fixture
of the same name in a program's own tests takes precedence, as always.

It is loaded by every run of pytest where claude_sync is installed, so it is a module of its own
that imports nothing of the library until a test asks for something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

import pytest

if TYPE_CHECKING:
    from claude_sync import Client
    from claude_sync.testing import LoopbackModel, ScriptedCli, Tape


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


@pytest.fixture
def scripted_cli(request: pytest.FixtureRequest) -> Iterator[ScriptedCli]:
    """A CLI in memory that says what the test wants; all it heard must have been expected."""
    from claude_sync.testing import ScriptedCli

    failed = request.session.testsfailed
    cli = ScriptedCli()
    yield cli
    if request.session.testsfailed == failed:
        cli.assert_done()


@pytest.fixture
def loopback_model() -> Iterator[LoopbackModel]:
    """A Messages API on 127.0.0.1, for the real CLI."""
    from claude_sync.testing import LoopbackModel

    with LoopbackModel() as model:
        yield model


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> Iterator[Tape]:
    """What this test and the CLI said to each other: recorded once, played ever after."""
    from claude_sync.testing.fixtures import Tape, path_of_recording

    failed = request.session.testsfailed
    name = request.node.nodeid.partition("::")[2]
    path = path_of_recording(request.node.path, name)
    tape = Tape(path, request.config.getoption("--claude-record"))
    yield tape
    tape.finish(passed=request.session.testsfailed == failed)


@pytest.fixture
def claude(request: pytest.FixtureRequest) -> Iterator[Client]:
    """An open client: of ``scripted_cli``, ``recording``, ``loopback_model``, or the echo."""
    from claude_sync import Client
    from claude_sync.testing.fixtures import client_options

    def wanted(name: str) -> Any:
        return request.getfixturevalue(name) if name in request.fixturenames else None

    home = request.getfixturevalue("tmp_path") / "home"
    parts = [wanted(name) for name in ("scripted_cli", "recording", "loopback_model")]
    options = client_options(home, *parts)
    for marker in reversed(list(request.node.iter_markers("claude"))):
        options.update(marker.kwargs)
    with Client(**options) as client:
        yield client
