"""
Recorded sessions with mistakes in them: whatever a CLI says, every question has an end.

::

    python tests/mutated_sessions.py --count 12000 [--seed 1]

Each session plays what a real CLI said about one question, with some lines dropped, doubled,
moved, cut or filled with junk, and ends. The question must end too: with an answer, or with an
error of the library's. What is printed is a hang, another exception, or a bug that was logged.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import queue
import random
import sys
from pathlib import Path

from claude_sync import ClaudeError, Client, Transport

RECORDINGS = Path(__file__).parent / "recordings"
# Longer than anything takes on a loaded machine; what takes longer hangs.
PATIENCE = 60.0
JUNK = [None, True, -1, 10**30, 1e308, "", "junk", [], [None], [[]], {}, {"type": []}, {"": {}}]
NOISE = [b"", b"junk", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 5000]


def segments():
    """What each real CLI said about each question: lists of messages, the question's uuid first."""
    found = []
    for path in sorted(RECORDINGS.glob("*/*.jsonl")):
        current = None
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            message = record.get("msg")
            if record["dir"] == "in" and message["type"] == "user":
                current = [message.get("uuid")]
                found.append(current)
            elif (
                record["dir"] == "out"
                and current is not None
                and message["type"] != "control_response"
            ):
                current.append(message)
    return [each for each in found if len(each) > 1]


class Played(Transport):
    """A CLI that takes requests, says its piece about the first question, and is gone."""

    def __init__(self, uuid, lines):
        self._uuid = uuid
        self._lines = lines
        self._output = queue.SimpleQueue()

    def write(self, data):
        for line in data.splitlines():
            message = json.loads(line)
            if message["type"] == "control_request":
                response = {
                    "subtype": "success",
                    "request_id": message["request_id"],
                    "response": {},
                }
                self._say(json.dumps({"type": "control_response", "response": response}).encode())
            elif message["type"] == "user":
                own = str(message.get("uuid")).encode()
                for each in self._lines:
                    self._say(each.replace(self._uuid.encode(), own) if self._uuid else each)
                self._output.put(b"")

    def _say(self, line):
        self._output.put(line + b"\n")

    def read(self):
        return self._output.get()

    def close(self, timeout):
        self._output.put(b"")

    kill = end_input = lambda self: self._output.put(b"")


def places(value, path=()):
    """The paths of everything inside a JSON value."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


def with_junk(message, dice):
    """A copy in which one value is another, or missing."""
    message = copy.deepcopy(message)
    *way, last = dice.choice(list(places(message)))
    inner = message
    for key in way:
        inner = inner[key]
    if dice.random() < 0.3:
        del inner[last]
    else:
        inner[last] = dice.choice(JUNK)
    return message


def mutated(messages, dice):
    """The lines of a session with one to five mistakes."""
    lines = list(messages)
    for _ in range(dice.randint(1, 5)):
        place = dice.randrange(len(lines)) if lines else 0
        what = dice.choice(["drop", "double", "move", "junk", "junk", "junk", "cut", "noise"])
        if what == "noise" or not lines:
            lines.insert(place, dice.choice(NOISE))
        elif what == "drop":
            del lines[place]
        elif what == "double":
            lines.insert(dice.randint(place, len(lines)), lines[place])
        elif what == "move":
            line = lines.pop(place)
            lines.insert(dice.randint(0, len(lines)), line)
        elif isinstance(lines[place], dict) and lines[place]:
            lines[place] = with_junk(lines[place], dice)
            if what == "cut":
                text = json.dumps(lines[place]).encode()
                lines[place] = text[: dice.randrange(len(text))]
    return [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]


class Bugs(logging.Handler):
    """What the library logs as its own failure."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.texts = []

    def emit(self, record):
        self.texts.append(self.format(record))


def play(count, seed):
    """Play sessions; what went wrong, a text each."""
    known = segments()
    assert known, "there are no recordings"
    wrong = []
    bugs = Bugs()
    logger = logging.getLogger("claude_sync")
    logger.addHandler(bugs)
    try:
        for number in range(seed, seed + count):
            dice = random.Random(number)
            uuid, *messages = dice.choice(known)
            played = Played(uuid, mutated(messages, dice))
            heard = []
            client = Client(transport=played, on_crash="raise", permissions=lambda request: False)
            client.on_message(heard.append)
            client.on_text(heard.append)
            try:
                with client:
                    client.ask("hello", timeout=PATIENCE)
            except TimeoutError as error:
                wrong.append(f"session {number} hangs: {error}")
            except ClaudeError:
                pass  # it says what is the matter
            except Exception as error:
                wrong.append(f"session {number}: {type(error).__name__}: {error}")
            wrong += [f"session {number}: {text}" for text in bugs.texts]
            bugs.texts.clear()
    finally:
        logger.removeHandler(bugs)
    return wrong


def main():
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--count", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.getLogger("claude_sync").propagate = False
    wrong = play(arguments.count, arguments.seed)
    print("\n".join(wrong) or f"{arguments.count} sessions: every question had its end")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
