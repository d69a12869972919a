"""The reference is in the docstrings: everything public has one, and its examples are right."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
import textwrap
import types

import pytest
from tables import each

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


def examples_in(docstring):
    """The literal blocks: indented, after a line that ends with two colons."""
    lines = docstring.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.rstrip().endswith("::"):
            continue
        depth = len(line) - len(line.lstrip())
        block = []
        while lines and (not lines[0].strip() or len(lines[0]) - len(lines[0].lstrip()) > depth):
            block.append(lines.pop(0))
        yield textwrap.dedent("\n".join(block)).strip("\n") + "\n"


def is_python(path, block):
    """Whether a block is a program. Modules also show drawings, tables and lines of a shell."""
    if path not in MODULES:
        return True
    return re.search(r"^ *(import|from|with|def|@|print\(|client)\b", block, re.MULTILINE)


def examples():
    """Every example of the reference, with where it stands."""
    for path, thing in everything().items():
        for block in examples_in(docstring_of(thing)):
            if is_python(path, block):
                yield path, block


def chains_in(tree):
    """Names with dots that a program reads: ``client.ask`` as ("client", "ask")."""
    for node in ast.walk(tree):
        chain = []
        while isinstance(node, ast.Attribute):
            chain.insert(0, node.attr)
            node = node.value
        if chain and isinstance(node, ast.Name):
            yield (node.id, *chain)


def resolved(chain):
    """Follow a chain as far as classes and modules tell; AttributeError if it ends too early."""
    thing = ROLES[chain[0]]
    for name in chain[1:]:
        if name in getattr(thing, "__annotations__", {}):
            return
        try:
            thing = getattr(thing, name)
        except AttributeError:
            # Set when it is made, and told in the docstring.
            if inspect.isclass(thing) and re.search(rf"\b{name}\b", thing.__doc__):
                return
            raise
        if not isinstance(thing, (type, types.ModuleType)):
            return


def settings_in(tree):
    """The names by which examples pass settings to a client."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
            "Client",
            "Options",
        ):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)


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


def check_example(code):
    """It compiles, and every method, function and setting in it exists."""
    tree = ast.parse(code)
    for chain in chains_in(tree):
        if chain[0] in ROLES:
            resolved(chain)
    for name in settings_in(tree):
        assert name.startswith("on_") or hasattr(claude_sync.Options, name), name


@each(("path", "code"), examples())
def test_the_examples_are_right(path, code):
    """What they name exists."""
    check_example(code)


def test_the_examples_were_found():
    """There are many, those of modules and of methods."""
    names = {path for path, _ in examples()}
    assert {"claude_sync", "claude_sync.Client", "claude_sync.ask", "claude_sync.hooks"} <= names
    assert len(names) > 20


def test_a_name_in_other_words_is_no_description():
    """The check of descriptions is able to fail."""

    def bare():
        pass

    def tool_use():
        """The tool use."""

    class Tool:
        """Tool(name)"""

    assert fault_of("x.bare", bare) == "none"
    assert fault_of("x.tool_use", tool_use).startswith("only the name")
    assert fault_of("x.Tool", Tool).startswith("generated")
    assert not says_more_than("Tools.", "Tool")


def test_a_wrong_example_is_told():
    """The check of examples is able to fail."""
    for wrong in ("client.aks('Hi')", "claude_sync.polcies.read_only"):
        with pytest.raises(AttributeError):
            check_example(wrong)
    with pytest.raises(AssertionError):
        check_example("claude_sync.Client(modle='x')")
