"""What the package gives out: complete, documented, and light to import."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import claude_sync
from claude_sync import (
    blocks,
    envelope_messages,
    errors,
    events,
    messages,
    pieces,
    system_messages,
    task_messages,
)

ROOT = Path(claude_sync.__file__).parent.parent

CONTRACT = [
    *("ask", "Client", "Options", "Answer", "Turn", "Text", "Thinking", "Transport", "Usage"),
    *("HandlerError", "Closed", "InterruptReceipt", "Info", "__version__"),
]


def public(name):
    """What claude_sync.<name> is."""
    return getattr(claude_sync, name)


def test_everything_listed_is_there():
    """Each name of __all__ can be had, once."""
    assert len(set(claude_sync.__all__)) == len(claude_sync.__all__)
    for name in claude_sync.__all__:
        assert public(name) is not None, name


def test_a_star_import_gives_all_of_it():
    """from claude_sync import * works, names that are loaded late included."""
    namespace = {}
    exec("from claude_sync import *", namespace)
    assert set(claude_sync.__all__) <= set(namespace)


@pytest.mark.parametrize("name", CONTRACT)
def test_what_programs_need_is_listed(name):
    """The names of the user's guide are public."""
    assert name in claude_sync.__all__


@pytest.mark.parametrize(
    "module",
    [errors, events, envelope_messages, messages, system_messages, task_messages],
    ids=lambda module: module.__name__,
)
def test_every_public_class_of_a_module_is_exported(module):
    """Whatever a program may meet, it can name from the package."""
    missing = set(module.__all__) - set(claude_sync.__all__)
    assert not missing


def test_every_kind_of_block_is_exported():
    """Blocks are what messages consist of."""
    kinds = {
        name
        for name, value in vars(blocks).items()
        if inspect.isclass(value)
        and issubclass(value, blocks.Block)
        and value is not blocks.Block
        and value.__module__ == blocks.__name__
    }
    assert kinds <= set(claude_sync.__all__)
    assert {"Text", "Thinking"} <= set(pieces.__all__)


@pytest.mark.parametrize("name", [n for n in claude_sync.__all__ if n != "__version__"])
def test_everything_public_has_a_docstring(name):
    """Classes, functions and their public methods say what they do."""
    thing = public(name)
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    # A generated docstring is the signature, which says nothing.
    assert own, name
    assert not own.startswith(f"{name}("), name
    if not inspect.isclass(thing):
        return
    for attribute, value in vars(thing).items():
        if attribute.startswith("_"):
            continue
        if isinstance(value, property) or inspect.isfunction(value):
            assert inspect.getdoc(getattr(thing, attribute)), f"{name}.{attribute}"


def test_an_unknown_name_is_an_attribute_error():
    """A name that does not exist fails as it does in every module."""
    with pytest.raises(AttributeError, match="no_such_name"):
        claude_sync.no_such_name  # noqa: B018


def test_dir_shows_what_is_public():
    """Completion offers every public name, loaded or not."""
    assert set(claude_sync.__all__) <= set(dir(claude_sync))


def test_classes_say_where_they_are_from():
    """Tracebacks and help() show modules of this package."""
    for name in claude_sync.__all__:
        thing = public(name)
        if inspect.isclass(thing):
            assert thing.__module__.startswith("claude_sync."), name


def modules_after(code):
    """The modules that are loaded after *code* in a new interpreter."""
    output = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return set(output.stdout.split())


def test_importing_it_is_light():
    """No event loop, no MCP package, no network and no testing kit is loaded for a client."""
    loaded = modules_after("import claude_sync; claude_sync.Client()")
    heavy = {"asyncio", "mcp", "socket", "ssl", "http.client", "tempfile", "difflib", "argparse"}
    assert not loaded & heavy
    assert not {name for name in loaded if name.startswith("claude_sync.testing")}
    assert not {name for name in loaded if name.split(".")[0] in ("claude_agent_sdk", "pydantic")}


def test_the_version_is_a_version():
    """It is a plain string of numbers and dots."""
    assert all(part[:1].isdigit() for part in claude_sync.__version__.split("."))
