"""
What the stand-in CLI does in the benchmarks; both libraries talk to this same process.

The prompt says what is wanted::

    empty                   a turn of nothing but its result
    stream 200000           so many deltas, built beforehand, as fast as the pipe takes them
    paced 1000              so many deltas, one each millisecond, each with the time it left
    large 67108864          one message of so many characters, with the time it left
"""

from __future__ import annotations

import json
import time

from tasks import PIECE

from claude_sync.testing import builders

LINES_AT_ONCE = 200
PACE = 0.001


def serve(cli):
    """Answer one prompt after the other, until the client ends its side."""
    cli.accept()
    while True:
        user = cli.expect("user", patience=300)
        content = user["message"]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        task, _, count = prompt.partition(" ")
        TASKS[task](cli, user, int(count or 0))
        cli.say(builders.result("done", [user.get("uuid")], session_id=cli.session_id))


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


def frame_of(cli, user):
    """What comes before the deltas of a turn, and what comes after them."""
    begin, block, *end = builders.stream_of((), session_id=cli.session_id)
    opening = [*cli.beginning(user), *cli.repetition(user), begin, block]
    return b"".join(map(encoded, opening)), b"".join(map(encoded, end))


def encoded(message):
    """*message* as a line, as CLIs write it: without spaces."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


TASKS = {"empty": empty, "stream": stream, "paced": paced, "large": large}
