"""
The example messages of five documents, and what is checked about them.

Each document is a JSON file here. An example has its section and one message: ``heard`` by us,
``said`` by us, or ``unsaid``, which is for a backend that no ``Client`` drives. What is heard or
unsaid names the class it ``becomes``, and ``values`` by their paths in it. What is said tells
``how`` we make one like it, and the paths in which ours differs: only ours has those in ``adds``,
only the example has those in ``lacks``, and both have those in ``differs``, with other values.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from patience import PATIENCE

from claude_sync import Client
from claude_sync.engine.handlers import SERVER
from claude_sync.messages.parsing import parse
from claude_sync.permissions.request import PermissionRequest
from claude_sync.protocol.control import parse_reply, request_body
from claude_sync.testing import ScriptedCli

HERE = Path(__file__).parent
DOCUMENTS = (
    "json_stream_protocol",  # permissions come and go as callbacks
    "stream_json_format",  # what real CLIs speak, with a few words too many
    "stream_json_reference",  # questions are user_message
    "session_envelopes",  # a backend with many sessions; it gives types, so the values are made up
    "direct_cli_flow",  # what real CLIs speak, from the greeting to the result
)


def examples(document):
    """The examples of a document, in order."""
    return json.loads((HERE / f"{document}.json").read_text(encoding="utf-8"))


def expected(example):
    """The values that an example names; JSON has no tuples, so those are ``{"tuple": [...]}``."""
    return {
        path: tuple(value["tuple"]) if isinstance(value, dict) and "tuple" in value else value
        for path, value in example["values"].items()
    }


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
    body: dict


def at(thing, path):
    """The value at *path*: attributes, keys and numbers of items, with dots between."""
    for step in path.split("."):
        if isinstance(thing, (list, tuple)) and step.isdigit():
            thing = thing[int(step)]
        else:
            thing = thing[step] if isinstance(thing, dict) else getattr(thing, step)
    return thing


# What makes a message of ours.


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


EDITS = {"matcher": "Edit|Write|MultiEdit", "hooks": [lambda event: None]}
# The options of clients that greet.
GREETERS = {
    "plain": {},
    "editor": {
        "hooks": {"PreToolUse": [EDITS], "PostToolUse": [EDITS]},
        "tools": [add],
        "append_system_prompt": "Additional system prompt text...",
    },
}


@contextlib.contextmanager
def conversation(dialect, **options):
    """A client, its other end, and the greeting it sent; None where there is none."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, dialect=dialect, on_crash="raise", **options) as client:
        client._session.starter.ensure_begun()
        greeting = cli.accept() if dialect != "user-message" else None
        client.start(PATIENCE)
        yield client, cli, greeting
        cli.hang_up()  # else closing would wait for the end of the turn


def called(thing, name, *given):
    """Call a method by its name; for some, the last item has the arguments with names."""
    if name == "allow_with_suggestions":
        return thing.allow(*given, thing.suggestions)
    *given, named = given if name in ("control", "allow_always") else (*given, {})
    return getattr(thing, name)(*given, **named)


def asks(how):
    """``client.submit`` of a prompt."""
    with conversation(how["dialect"]) as (client, cli, _):
        client.submit(how["asks"])
        return cli.expect()


def greets(how):
    """The first use of a client."""
    with conversation(how["dialect"], **GREETERS[how["greets"]]) as (_, _, greeting):
        return greeting


def calls(how):
    """A call on a client, while a turn runs."""

    def call():
        # The reply never comes. The end of the client ends the wait for it; that is no failure.
        with contextlib.suppress(Exception):
            called(client, *how["calls"])

    with conversation(how["dialect"]) as (client, cli, _):
        client.submit("hi")
        cli.expect()
        client._session.tasks.run(call)  # a thread of the client's, which ends with it
        return cli.expect()


def answers(how):
    """What ``on_permission`` decides about a request; without ``decides`` there is no handler."""
    with conversation(how["dialect"]) as (client, cli, _):
        if how["decides"]:
            client.on_permission(lambda request: called(request, *how["decides"]))
        client.submit("hi")
        cli.expect()
        cli.say(how["answers"])
        return cli.expect()


def serves(how):
    """The answer of our own MCP server to a request, which is told its name."""
    request = how["serves"]
    body = {**request["request"], "server_name": SERVER}
    with conversation(how["dialect"], tools=[add]) as (_, cli, _):
        cli.say({**request, "request": body})
        return cli.expect()


def line_like(example, document):
    """
    The message of ours that an example asks for.

    A request that is answered may be named by its section; it gets the id that the example answers.
    """
    how = {"dialect": "cli", **example["how"]}
    for key in ("answers", "serves"):
        if isinstance(how.get(key), str):
            (request,) = (one["heard"] for one in document if one["section"] == how[key])
            if request["type"] == "control_request":
                request = {**request, "request_id": example["said"]["response"]["request_id"]}
            how[key] = request
    (way,) = (way for way in (asks, greets, calls, answers, serves) if way.__name__ in how)
    return way(how)


# How two messages differ.


class Difference(NamedTuple):
    """Paths that only one of two messages has, and paths with two values."""

    adds: set
    lacks: set
    differs: set


def difference(ours, example, path=""):
    """What is different about *ours*."""
    if isinstance(ours, dict) and isinstance(example, dict):
        where = f"{path}." if path else ""
        pairs = [(where + key, ours[key], example[key]) for key in ours if key in example]
        found = Difference(
            {where + key for key in ours if key not in example},
            {where + key for key in example if key not in ours},
            set(),
        )
    elif isinstance(ours, list) and isinstance(example, list) and len(ours) == len(example):
        pairs = [(f"{path}.{n}", *both) for n, both in enumerate(zip(ours, example))]
        found = Difference(set(), set(), set())
    else:
        return Difference(set(), set(), set() if ours == example else {path})
    for inner, one, other in pairs:
        for mine, theirs in zip(found, difference(one, other, inner)):
            mine |= theirs
    return found
