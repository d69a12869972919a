"""
What the tests of faults share: two routes to the CLI, stand-ins and programs.

A test waits for what it claims, never for time to pass. Only a failure ever waits
as long as ``PATIENCE``.
"""

from __future__ import annotations

import contextlib
import os

import pytest
from bridged import BRIDGE, DIRECT, stand_in_over_bridge
from bridged_in_memory import bridge_in_memory
from stand_ins import Program

from claude_sync import Client
from claude_sync.testing import StandIn

HERE = os.path.dirname(os.path.abspath(__file__))


def pytest_generate_tests(metafunc):
    """Run a test over a bridge, too, where that is decided."""
    if "route" in metafunc.fixturenames:
        routes = [DIRECT]
        if stand_in_over_bridge(metafunc.module.__name__, metafunc.function.__name__):
            routes.append(pytest.param(BRIDGE, marks=pytest.mark.everything))
        metafunc.parametrize("route", routes, indirect=True)


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
def stand_in(new_client, end_quickly):
    """Open clients of a stand-in process; they are closed after the test."""
    with contextlib.ExitStack() as stack:

        def open_client(script=None, *, settings=None, **options):
            command = StandIn(script, **(settings or {})).command
            return stack.enter_context(new_client(cli=command, **options))

        yield open_client
        end_quickly()


@pytest.fixture
def program():
    """Start programs; those that still run are killed after the test."""
    started = []

    def start(source, *arguments):
        started.append(Program(source, *arguments, path=[HERE]))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate()
