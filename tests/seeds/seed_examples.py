"""
What is checked about the example messages of the five documents.

Each document has a module here with its examples, in order: what comes from the other
side (``Heard``), what we say (``Said``), and what we never say (``Unsaid``).
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any, Callable, Dict, FrozenSet, NamedTuple

from claude_sync import Client
from claude_sync.permissions import PermissionRequest
from claude_sync.protocol.control import parse_reply, request_body
from claude_sync.protocol.parsing import parse
from claude_sync.runtime.handlers import SERVER
from claude_sync.testing import ScriptedCli

PATIENCE = 30.0
Wire = Dict[str, Any]


class Heard(NamedTuple):
    """A message for us: the name of the class it becomes, and values by their paths in it."""

    section: str
    message: Wire
    becomes: str
    values: Wire


class Said(NamedTuple):
    """
    A message of ours: what makes one like it, and how that one differs.

    ``adds`` are paths that only ours has, ``lacks`` paths that only the example has, and
    ``differs`` paths with another value. What is not named is equal.
    """

    section: str
    message: Wire
    how: Any
    adds: FrozenSet[str] = frozenset()
    lacks: FrozenSet[str] = frozenset()
    differs: FrozenSet[str] = frozenset()


class Unsaid(NamedTuple):
    """A message for a backend that we do not drive by a ``Client``; it is understood."""

    section: str
    message: Wire
    becomes: str
    values: Wire


# What a message for us becomes.


def understood(message):
    """What the library makes of a message."""
    kind = message["type"]
    if kind == "control_response":
        return parse_reply(message)
    if kind not in ("control_request", "callback.request"):
        return parse(message)
    _, subtype, body = request_body(message)
    if subtype == "can_use_tool":
        return PermissionRequest(message, SimpleNamespace(body=body, state="open", folder=None))
    return parse(message) if kind == "callback.request" else Request(*request_body(message))


class Request(NamedTuple):
    """Another request of the CLI."""

    request_id: Any
    subtype: str
    body: Wire


def at(thing, path):
    """The value at *path*: attributes, keys and numbers of items, with dots between."""
    for step in path.split("."):
        if isinstance(thing, (list, tuple)) and step.isdigit():
            thing = thing[int(step)]
        else:
            thing = thing[step] if isinstance(thing, dict) else getattr(thing, step)
    return thing


# What makes a message of ours.


@contextlib.contextmanager
def conversation(dialect, **options):
    """A client, its other end, and the greeting it sent; None where there is none."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect=dialect, on_crash="raise", **options) as client:
        client._engine.lifecycle.ensure_begun()
        greeting = cli.accept() if dialect != "user-message" else None
        client.start(PATIENCE)
        yield client, cli, greeting
        cli.hang_up()  # else closing would wait for the end of the turn


class Asks:
    """``client.submit(prompt)``."""

    def __init__(self, prompt, dialect="cli"):
        self.prompt, self.dialect = prompt, dialect

    def line(self):
        """What goes over the wire."""
        with conversation(self.dialect) as (client, cli, _):
            client.submit(self.prompt)
            return cli.expect()


class Greets:
    """The first use of a client made with *options*."""

    def __init__(self, dialect="cli", **options):
        self.dialect, self.options = dialect, options

    def line(self):
        """What goes over the wire."""
        with conversation(self.dialect, **self.options) as (_, _, greeting):
            return greeting


class Requests:
    """A call on a client, while a turn runs."""

    def __init__(self, call: Callable[[Client], object], dialect="cli"):
        self.call, self.dialect = call, dialect

    def line(self):
        """What goes over the wire."""
        with conversation(self.dialect) as (client, cli, _):
            client.submit("hi")
            cli.expect()
            # On a thread of the client's: the reply never comes, and it ends with the client.
            client._engine.responders.run(lambda: let_fail(self.call, client))
            return cli.expect()


def let_fail(call, client):
    """The end of the client ends the wait for a reply; that is no failure here."""
    with contextlib.suppress(Exception):
        call(client)


class Replies:
    """What ``on_permission`` decides about *request*; None: there is no handler."""

    def __init__(self, request, decide=None, dialect="cli"):
        self.request, self.decide, self.dialect = request, decide, dialect

    def line(self):
        """What goes over the wire."""
        with conversation(self.dialect) as (client, cli, _):
            if self.decide is not None:
                client.on_permission(self.decide)
            client.submit("hi")
            cli.expect()
            cli.say(self.request)
            return cli.expect()


class Serves:
    """The answer of our own MCP server to *request*, which is told its name."""

    def __init__(self, request):
        self.request = request

    def line(self):
        """What goes over the wire."""

        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        body = {**self.request["request"], "server_name": SERVER}
        with conversation("cli", tools=[add]) as (_, cli, _):
            cli.say({**self.request, "request": body})
            return cli.expect()


def permission(tool, given, request_id, tool_use_id, **fields):
    """A request for permission, as real CLIs make it."""
    body = {"subtype": "can_use_tool", "tool_name": tool, "input": given}
    body.update(fields, tool_use_id=tool_use_id)
    return {"type": "control_request", "request_id": request_id, "request": body}


def callback(tool, given, identity, session_id, **fields):
    """The same in the older form."""
    payload = {"callback_type": "can_use_tool", "tool_name": tool, "tool_input": given, **fields}
    return {
        "type": "callback.request",
        "id": identity,
        "session_id": session_id,
        "payload": payload,
    }


# How two messages differ.


class Difference(NamedTuple):
    """Paths that only one of two messages has, and paths with two values."""

    adds: FrozenSet[str]
    lacks: FrozenSet[str]
    differs: FrozenSet[str]


def difference(ours, example, path=""):
    """What is different about *ours*."""
    if isinstance(ours, dict) and isinstance(example, dict):
        found = [
            difference(ours[key], example[key], f"{path}.{key}" if path else key)
            for key in ours
            if key in example
        ]
        where = f"{path}." if path else ""
        adds = {where + key for key in ours if key not in example}
        lacks = {where + key for key in example if key not in ours}
    elif isinstance(ours, list) and isinstance(example, list) and len(ours) == len(example):
        found = [
            difference(one, other, f"{path}.{number}")
            for number, (one, other) in enumerate(zip(ours, example))
        ]
        adds, lacks = set(), set()
    else:
        return Difference(
            frozenset(), frozenset(), frozenset() if ours == example else frozenset({path})
        )
    return Difference(
        frozenset(adds).union(*(each.adds for each in found)),
        frozenset(lacks).union(*(each.lacks for each in found)),
        frozenset().union(*(each.differs for each in found)),
    )
