"""
A bridge whose backend is a thread of the test, and whose CLIs may be scripts in memory.

Everything between the client and the CLI is that of any bridge: the envelopes, and the
backend's sessions.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading

from patience import PATIENCE

import claude_sync.bridge.client
import claude_sync.bridge.sessions
from claude_sync import Transport
from claude_sync.bridge import Bridge, serve
from claude_sync.engine.launch.command import build_launch

NUMBERS = itertools.count(1)


class ServedInside(Transport):
    """What a backend process is to a bridge; it has pipes, and no process."""

    def start(self, launch):
        """Serve on a thread."""
        self._source, self._their_sink = os.pipe()
        self._their_source, self._sink = os.pipe()
        self._errors = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        try:
            serve(self._their_source, self._their_sink, trust_client=True)
        finally:
            os.close(self._their_sink)
            os.close(self._their_source)

    def write(self, data):
        """Write all of it; the backend reads at any time."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._sink, view) :]

    def read(self):
        """What it says."""
        return os.read(self._source, 1_000_000)

    def read_error(self):
        """It has nothing to say to people."""
        self._errors.wait()
        return b""

    def close(self, timeout):
        """End its input, and wait for it."""
        self._errors.set()
        with contextlib.suppress(OSError):
            os.close(self._sink)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the backend does not end"

    def free(self):
        """Let go of the pipe."""
        with contextlib.suppress(OSError):
            os.close(self._source)

    def wait(self, timeout):
        """The exit code of a backend that ends in peace."""
        self._thread.join(timeout)
        return None if self._thread.is_alive() else 0


@contextlib.contextmanager
def bridge_in_memory(patch):
    """What makes clients over such a bridge; ``transport=`` is that of the CLI."""
    transports = {}

    start_cli = claude_sync.bridge.sessions.start_cli

    def start(options):
        given = transports.get(options.cli) if isinstance(options.cli, str) else None
        if given is None:
            return start_cli(options)
        launch = build_launch(options.replace(cli=None, transport=given))
        return (given if isinstance(given, Transport) else given()), launch

    patch.setattr(claude_sync.bridge.client, "ProcessTransport", ServedInside)
    patch.setattr(claude_sync.bridge.sessions, "start_cli", start)
    with Bridge(["inside"]) as bridge:

        def new_client(transport=None, **options):
            if transport is not None:
                options["cli"] = f"in-memory-{next(NUMBERS)}"
                transports[options["cli"]] = transport
            return bridge.client(**options)

        yield new_client
