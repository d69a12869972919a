"""The reference is in the docstrings: everything public has one, and its examples are right."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import types

import pytest

import claude_sync

if importlib.util.find_spec("_tkinter") is None:
    pytest.skip("needs tkinter", allow_module_level=True)

# What programs import from: these, and modules in them, are what help() is asked about.
MODULES = (
    "claude_sync",
    *("claude_sync.batch", "claude_sync.bridge", "claude_sync.errors", "claude_sync.exports"),
    *(
        "claude_sync.gui",
        "claude_sync.permissions.forms",
        "claude_sync.gui.qt",
        "claude_sync.gui.tk",
    ),
    *("claude_sync.hooks", "claude_sync.markup", "claude_sync.notebook", "claude_sync.options"),
    *(
        "claude_sync.permissions.request",
        "claude_sync.permissions.policies",
        "claude_sync.sessions",
    ),
    *("claude_sync.testing", "claude_sync.testing.builders", "claude_sync.testing.fixtures"),
    *("claude_sync.schema", "claude_sync.tools", "claude_sync.testing.plugin"),
)
# They have none of their own, or their type's.
VALUES = (str, int, float, tuple, dict, type(claude_sync.LATER))

# Words that say nothing.
FILLERS = {"a", "an", "the", "of", "this", "that", "it", "is", "its", "get", "gets", "return"}

# What the names in examples stand for.
ROLES = {
    "claude_sync": claude_sync,
    "client": claude_sync.Client,
    "pool": claude_sync.Pool,
    "turn": claude_sync.Turn,
    "answer": claude_sync.Answer,
    "request": claude_sync.PermissionRequest,
    "questions": claude_sync.Questions,
    "event": claude_sync.HookEvent,
    "hooks": claude_sync.hooks,
    "policies": claude_sync.policies,
    "sessions": claude_sync.sessions,
}


def is_described_alone(value):
    """Whether a member of a class has a docstring of its own: a method or a property."""
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    return inspect.isfunction(value) or isinstance(value, (property, functools.cached_property))


def members_of(thing):
    """The public methods and properties of a class, those of its bases in this project included."""
    members = {}
    for base in thing.__mro__ if inspect.isclass(thing) else ():
        if base.__module__.startswith("claude_sync"):
            members = {**vars(base), **members}
    for name, value in members.items():
        if not name.startswith("_") and is_described_alone(value):
            yield name


def public_things(module):
    """What is public in a module, and in the classes there: names with what they are."""
    yield module.__name__, module
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if isinstance(thing, (types.ModuleType, *VALUES)):
            continue
        yield f"{module.__name__}.{name}", thing
        for member in members_of(thing):
            yield f"{module.__name__}.{name}.{member}", getattr(thing, member)


@functools.cache
def everything():
    """All of that, once each: by the first name under which it is met."""
    found = {}
    for name in MODULES:
        for path, thing in public_things(importlib.import_module(name)):
            found.setdefault(id(thing), (path, thing))
    return dict(found.values())


def docstring_of(thing):
    """The docstring; that of a class must be its own, as what it adds is its own."""
    if inspect.isclass(thing):
        return inspect.cleandoc(vars(thing).get("__doc__") or "")
    return inspect.getdoc(thing) or ""


def words_of(text):
    """Its words, in small letters; ``tool_use`` and ToolUse are two each."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return {word.lower().rstrip("s") for word in re.findall(r"[A-Za-z]+", apart)}


def says_more_than(docstring, name):
    """Whether a reader learns more than the name has told."""
    return bool(words_of(docstring) - words_of(name) - FILLERS)


def fault_of(path, thing):
    """What is wrong with a docstring, if anything is."""
    name = path.split(".")[-1]
    docstring = docstring_of(thing)
    if not docstring:
        return "none"
    if docstring.startswith(f"{name}("):
        return "generated: the signature says nothing"
    return None if says_more_than(docstring, name) else f"only the name again: {docstring}"


def test_everything_public_is_described():
    """Modules, classes, functions, methods and properties say more than their names do."""
    faults = {path: fault_of(path, thing) for path, thing in everything().items()}
    assert not {path: fault for path, fault in faults.items() if fault}


def test_everything_was_found():
    """What is looked at includes every kind of thing there is to describe."""
    assert {
        *("claude_sync.Client.ask", "claude_sync.Client.on_text", "claude_sync.Client.state"),
        *("claude_sync.PermissionRequest.allow", "claude_sync.permissions.policies.read_only"),
        *("claude_sync.hooks.block", "claude_sync.testing.ScriptedCli.expect"),
        *("claude_sync.bridge.Bridge.client", "claude_sync.gui.tk.attach"),
        *("claude_sync.sessions.list_sessions", "claude_sync.Batch.to_pandas"),
    } <= set(everything())


def test_the_names_in_examples_exist():
    """``client.ask`` and ``hooks.block``, wherever a docstring mentions them."""
    roles = "|".join(ROLES)
    named = {
        (path, role, name)
        for path, thing in everything().items()
        for role, name in re.findall(rf"(?<![\w.@])({roles})\.([a-z]\w*)", docstring_of(thing))
        if name != "py"
    }
    assert len(named) > 50
    for path, role, name in named:
        thing = ROLES[role]
        # Some attributes are set when an object is made, and told in the docstring.
        assert hasattr(thing, name) or re.search(rf"\b{name}\b", thing.__doc__ or ""), path
