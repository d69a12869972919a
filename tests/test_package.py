"""The package itself: what is public, and what an import does not load."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import claude_sync

LOADED_LATER = ("blocks", "envelope_messages", "messages", "system_messages", "task_messages")
# Public in their module, for the library's own use, and not in the package.
INNER = {"Block", "join_texts"}


@pytest.mark.parametrize("module", LOADED_LATER)
def test_names_that_are_loaded_later_are_complete(module):
    """Every public class of a module that is loaded later is public in the package."""
    names = set(importlib.import_module(f"claude_sync.{module}").__all__) - INNER
    assert names == set(claude_sync._LATER[module])


def test_every_public_name_exists_and_is_listed():
    """All of ``__all__`` can be had, once each, and dir() shows it."""
    assert len(set(claude_sync.__all__)) == len(claude_sync.__all__)
    for name in claude_sync.__all__:
        assert getattr(claude_sync, name) is not None
        assert name in dir(claude_sync)


def test_an_unknown_name_is_an_attribute_error():
    """A typing error is not mistaken for a name that is loaded later."""
    with pytest.raises(AttributeError, match="Asistant"):
        claude_sync.Asistant  # noqa: B018


def test_an_import_loads_no_class_of_message():
    """The classes of messages take longer to load than all the rest, so they wait."""
    program = "import claude_sync, sys; print(*[n for n in sys.modules if 'message' in n])"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "claude_sync" not in printed.stdout
