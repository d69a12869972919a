"""A conversation with a strict backend in memory, line by line and without a client."""

from __future__ import annotations

import json
from types import SimpleNamespace

from patience import PATIENCE


class BackendSession:
    """What a client would do, by hand."""

    def __init__(self, cli, *argv):
        self.cli = cli
        cli.start(SimpleNamespace(argv=("claude", *argv), cwd="/home", environment={}))
        self._left = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.cli.close(PATIENCE)

    def send(self, **message):
        """Write one message."""
        self.cli.write(json.dumps(message).encode() + b"\n")

    def read(self):
        """The next message; None at the end."""
        while b"\n" not in self._left:
            data = self.cli.read()
            if not data:
                return None
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return json.loads(line)

    def read_until(self, kind):
        """Every message up to the next of this type."""
        messages = [self.read()]
        while messages[-1] is not None and messages[-1]["type"] != kind:
            messages.append(self.read())
        return messages

    def complaint(self):
        """What it said when it ended itself."""
        assert self.read_until("nothing")[-1] is None
        return self.cli.read_error().decode()
