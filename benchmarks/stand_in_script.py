"""
What the stand-in CLI does in the benchmarks; both libraries talk to this same process.

The prompt says what is wanted::

    empty                   a turn of nothing but its result
    stream 200000           so many deltas, built beforehand, as fast as the pipe takes them
    paced 1000              so many deltas, one each millisecond, each with the time it left
    large 67108864          one message of so many characters, with the time it left
    permissions 1000        so many requests for permission, one after the other
    calls 1000              so many calls of a tool, one after the other
    everyday                a turn as it often is: words, a permission, a tool, more words

Those for permissions and calls answer with how long each of them took, in seconds, as JSON.
"""

from __future__ import annotations

import json
import time

from tasks import PIECE, SERVER, durations

from claude_sync.testing import builders

LINES_AT_ONCE = 200
PACE = 0.001
CLIENT_INFO = {"name": "stand-in", "version": "1"}


def serve(cli):
    """Answer one prompt after the other, until the client ends its side."""
    cli.accept()
    while True:
        user = cli.expect("user", patience=300)
        content = user["message"]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        task, _, count = prompt.partition(" ")
        text = TASKS[task](cli, user, int(count or 0)) or "done"
        cli.say(builders.result(text, [user.get("uuid")], session_id=cli.session_id))


def empty(cli, user, count):
    """Say nothing."""


def stream(cli, user, count):
    """Say *count* deltas, in large writes."""
    line = encoded(builders.text_delta(PIECE, session_id=cli.session_id))
    opening, ending = frame_of(cli, user)
    cli.print_raw(opening)
    for _ in range(count // LINES_AT_ONCE):
        cli.print_raw(line * LINES_AT_ONCE)
    cli.print_raw(line * (count % LINES_AT_ONCE) + ending)


def paced(cli, user, count):
    """Say *count* deltas, one by one; the text of each is the time."""
    before, after = encoded(builders.text_delta("TIME", session_id=cli.session_id)).split(b"TIME")
    opening, ending = frame_of(cli, user)
    cli.print_raw(opening)
    for _ in range(count):
        time.sleep(PACE)
        cli.print_raw(before + b"%d" % time.monotonic_ns() + after)
    cli.print_raw(ending)


def large(cli, user, count):
    """Say one message of *count* characters; it begins with the time, in 20 digits."""
    message = builders.assistant("TEXT", session_id=cli.session_id)
    before, after = encoded(message).split(b"TEXT")
    text = b"x" * (count - 20)
    cli.begin_turn(user)
    cli.print_raw(b"%b%020d%b%b" % (before, time.monotonic_ns(), text, after))


def permissions(cli, user, count):
    """Ask for permission *count* times; every answer must be a yes."""
    cli.begin_turn(user)

    def ask(number):
        request = cli.ask_permission("Bash", {"command": f"echo {number}"})
        if cli.expect_reply(request)["behavior"] != "allow":
            raise AssertionError("a request for permission was denied")

    return json.dumps(durations(ask, count))


def calls(cli, user, count):
    """Call a tool *count* times; every result must be right."""
    cli.begin_turn(user)
    greeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT_INFO}
    ask_server(cli, {"id": "greeting", "method": "initialize", "params": greeting})
    ask_server(cli, {"method": "notifications/initialized"})

    def call(number):
        arguments = {"name": "add", "arguments": {"a": number, "b": 1}}
        reply = ask_server(cli, {"id": number, "method": "tools/call", "params": arguments})
        if reply["result"]["content"][0]["text"] != str(number + 1):
            raise AssertionError(f"the tool answered {reply}")

    return json.dumps(durations(call, count))


def everyday(cli, user, count):  # noqa: ARG001 - as all of them
    """Speak, ask for permission, use a tool, speak."""
    use = builders.tool_use("Bash", {"command": "ls"}, builders.new_uuid())
    cli.begin_turn(user)
    cli.speak(PIECE * 5)
    cli.say(builders.assistant(use, builders.new_uuid()))
    cli.expect_reply(cli.ask_permission("Bash", {"command": "ls"}, tool_use_id=use["id"]))
    cli.say(builders.user([builders.tool_result(use["id"], PIECE * 20)]))
    cli.speak(PIECE * 10)


def ask_server(cli, message):
    """Send a message to the server inside the client's process; its answer."""
    request = cli.call_server(SERVER, {"jsonrpc": "2.0", **message})
    return cli.expect_reply(request)["mcp_response"]


def frame_of(cli, user):
    """What comes before the deltas of a turn, and what comes after them."""
    begin, block, *end = builders.stream_of((), session_id=cli.session_id)
    opening = [*cli.beginning(user), *cli.repetition(user), begin, block]
    return b"".join(map(encoded, opening)), b"".join(map(encoded, end))


def encoded(message):
    """*message* as a line, as CLIs write it: without spaces."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


FUNCTIONS = (empty, stream, paced, large, permissions, calls, everyday)
TASKS = {function.__name__: function for function in FUNCTIONS}
