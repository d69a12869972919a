"""What the package gives out, and where it is from."""

from __future__ import annotations

import inspect

import claude_sync
from claude_sync import errors, messages
from claude_sync.messages import events, stream_text

CONTRACT = [
    *("ask", "Client", "Options", "Answer", "Turn", "Text", "Thinking", "Transport", "Usage"),
    *("HandlerError", "Closed", "InterruptReceipt", "Info", "__version__"),
]


def public(name):
    """What claude_sync.<name> is."""
    return getattr(claude_sync, name)


def test_a_star_import_gives_all_of_it():
    """from claude_sync import * works, names that are loaded late included."""
    namespace = {}
    exec("from claude_sync import *", namespace)
    assert set(claude_sync.__all__) <= set(namespace)


def test_what_programs_need_is_listed():
    """The names of the user's guide are public."""
    assert set(CONTRACT) <= set(claude_sync.__all__)


def test_every_public_class_of_a_module_is_exported():
    """Whatever a program may meet, it can name from the package."""
    for module in (errors, events, messages, stream_text):
        assert module.__all__
        assert set(module.__all__) - {"Piece"} <= set(claude_sync.__all__), module.__name__


def test_classes_say_where_they_are_from():
    """Tracebacks and help() show modules of this package."""
    for name in claude_sync.__all__:
        thing = public(name)
        if inspect.isclass(thing):
            assert thing.__module__.startswith("claude_sync."), name


def test_the_version_is_a_version():
    """It is a plain string of numbers and dots."""
    assert all(part[:1].isdigit() for part in claude_sync.__version__.split("."))
