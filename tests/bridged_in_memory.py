"""
A bridge whose backend is a thread of the test, and whose CLIs may be scripts in memory.

Everything between the client and the CLI is that of any bridge: the envelopes, the
backend's sessions, and a client of theirs.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading

from patience import PATIENCE

import claude_sync.bridge.backend
import claude_sync.bridge.sessions
from claude_sync import Client, Transport
from claude_sync.bridge import Bridge, serve

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

    def client_of_the_backend(**settings):
        cli = settings.get("cli")
        transport = transports.get(cli) if isinstance(cli, str) else None
        if transport is not None:
            settings.update(cli=None, transport=transport)
        return Client(**settings)

    patch.setattr(claude_sync.bridge.backend, "ProcessTransport", ServedInside)
    patch.setattr(claude_sync.bridge.sessions, "Client", client_of_the_backend)
    with Bridge(["inside"]) as bridge:

        def new_client(transport=None, **options):
            if transport is not None:
                options["cli"] = f"in-memory-{next(NUMBERS)}"
                transports[options["cli"]] = transport
            return bridge.client(**options)

        yield new_client
