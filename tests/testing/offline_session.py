"""The client's side of a conversation with the offline CLI, for the tests of it."""

import collections
import itertools
import json
from types import SimpleNamespace

from patience import PATIENCE

from claude_sync.testing import ScriptedCli, builders
from claude_sync.testing.offline import echo

STATES = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
FLAGS = ("--include-partial-messages", "--replay-user-messages")
STYLES = ("new", "old")


class Session:
    """The client's side of a conversation with the offline CLI, which runs in memory."""

    def __init__(self, *flags, environment=None, **settings):
        self.cli = ScriptedCli(echo, **settings)
        argv = ("claude", *flags)
        self.cli.start(SimpleNamespace(argv=argv, environment=environment or {}, cwd=None))
        self._lines = collections.deque()
        self._count = itertools.count(1)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.cli.close(PATIENCE)
        assert self.cli.exit_code == 0
        self.cli.assert_done()

    def send(self, *messages):
        self.cli.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def question(self, content, **fields):
        uuid = f"u{next(self._count)}"
        body = {"role": "user", "content": content}
        return {"type": "user", "uuid": uuid, "message": body, **fields}

    def request(self, subtype, **fields):
        return builders.control_request(subtype, f"req_{next(self._count)}", **fields)

    def read(self):
        while not self._lines:
            self._lines.extend(self.cli.read().splitlines())
        return json.loads(self._lines.popleft())

    def read_until(self, kind, **fields):
        """All messages up to the first of this type, or subtype or state, with these fields."""
        messages = []
        while True:
            message = self.read()
            messages.append(message)
            event = message.get("event", message)
            kinds = (event["type"], message.get("subtype"), message.get("state"))
            if kind in kinds and fields.items() <= message.items():
                return messages

    def ask(self, content, **fields):
        """Ask, and read up to the result: what came, its last the result."""
        self.send(self.question(content, **fields))
        return self.read_until("result")

    def control(self, subtype, **fields):
        """The response to a request."""
        self.send(self.request(subtype, **fields))
        return self.read_until("control_response")[-1]["response"]


def text_of(messages):
    """All text deltas, joined."""
    deltas = [each["event"].get("delta", {}) for each in messages if "event" in each]
    return "".join(delta.get("text", "") for delta in deltas)
