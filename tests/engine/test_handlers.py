"""The registry of handlers."""

from __future__ import annotations

import pytest

from claude_sync.engine.handlers import (
    KINDS,
    HandlerRegistry,
    add_methods_of,
    function_name,
    near_miss,
)
from claude_sync.errors import UsageError

NAMES = [f"on_{kind}" for kind in KINDS]


@pytest.fixture
def registry():
    """An empty registry."""
    return HandlerRegistry()


def first(_event):
    """A handler."""


def second(_event):
    """Another."""


def test_handlers_are_kept_in_order(registry):
    """The order is that of registration, each kind by itself."""
    assert registry.add("text", first) is first
    registry.add("text", second)
    registry.add("result", second)
    assert registry.of["text"] == (first, second)
    assert registry.of["result"] == (second,)
    assert registry.of["message"] == ()


def test_only_who_asks_hears_subagents(registry):
    """subagents=True hears everybody, and the main conversation as well."""
    registry.add("text", first)
    registry.add("text", second, subagents=True)
    assert registry.of["text"] == (first, second)
    assert registry.of_subagents["text"] == (second,)
    assert registry.of_subagents["thinking"] == ()


def test_remove_forgets_a_handler_everywhere(registry):
    """One that is registered for several kinds, or twice, is gone; unknown ones are ignored."""
    registry.add("text", first, subagents=True)
    registry.add("text", first)
    registry.add("result", first)
    registry.add("result", second)
    registry.remove(first)
    registry.remove(first)
    assert registry.of["text"] == registry.of_subagents["text"] == ()
    assert registry.of["result"] == (second,)


def test_a_bound_method_can_be_removed(registry):
    """Each access makes a new bound method; they compare equal."""
    heard = []
    registry.add("text", heard.append)
    registry.remove(heard.append)
    assert registry.of["text"] == ()


@pytest.mark.parametrize("handler", [None, "print", 3])
def test_what_cannot_be_called_is_refused(registry, handler):
    """A handler that is no function is told at once, with the right form."""
    with pytest.raises(UsageError, match="on_text must be a function"):
        registry.add("text", handler)


def test_changes_replace_what_a_reader_holds(registry):
    """Whoever is calling handlers is not disturbed by a change."""
    registry.add("text", first)
    held = registry.of
    registry.add("text", second)
    registry.remove(first)
    assert held["text"] == (first,)


def test_changes_are_told(registry):
    """Every change calls on_change, after it was made."""
    seen = []
    registry.on_change = lambda: seen.append(registry.of["text"])
    registry.add("text", first)
    registry.remove(first)
    assert seen == [(first,), ()]


class Listener:
    """An object with handlers and things that look a little like it."""

    on_off = True

    def on_text(self, text):
        """A handler."""

    def on_result(self, result):
        """A handler."""

    def on_click(self, button):
        """The program's own."""

    def other(self):
        """Not a handler at all."""


def test_methods_are_found_by_name():
    """Methods named like handlers are added, others and attributes are left alone."""
    added = {}
    listener = Listener()
    add_methods_of(listener, NAMES, added.__setitem__)
    assert added == {"on_text": listener.on_text, "on_result": listener.on_result}


@pytest.mark.parametrize("name", ["on_texts", "on_tool_uses", "on_reslut", "on_rate_limits"])
def test_a_near_miss_is_refused(name):
    """A name that nearly is one is a UsageError that tells the right one."""
    listener = type("Mine", (), {"on_error": first, name: first})()
    added = []
    with pytest.raises(UsageError, match=rf"Mine.{name} .* Did you mean on_"):
        add_methods_of(listener, NAMES, lambda *call: added.append(call))
    assert added == []  # all or nothing


def test_an_object_without_handlers_is_refused():
    """Nothing to register is a mistake, not a success."""
    with pytest.raises(UsageError, match="no method that is named like a handler"):
        add_methods_of(object(), NAMES, lambda *_: None)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("on_tex", "on_text"), ("on_statuses", "on_status"), ("on_click", None), ("on_save", None)],
)
def test_near_miss(name, meant):
    """Only what is very close was probably meant."""
    assert near_miss(name, NAMES) == meant


def test_functions_have_names():
    """Whatever it is; a lambda is told from others by its place."""
    functions = {
        "a": lambda: 1,
        "b": lambda: 2,
    }
    first, second = functions.values()
    names = {function_name(each) for each in (first, second, len, test_near_miss, object())}
    assert {"len", "test_near_miss", "object"} < names
    assert len(names) == 5
    line = first.__code__.co_firstlineno
    assert any(name.endswith(f"<lambda> (test_handlers.py:{line})") for name in names)
