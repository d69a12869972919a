"""
Real Claude Code CLIs: where they are, what they talk to, and clients of them that stay warm.

Two are tested: the newest, and an old one that knows less. Where they are looked for:

* ``CLAUDE_SYNC_TEST_BUNDLED``: the executable of the newest CLI, by default the one
  inside an installed ``claude-agent-sdk``.
* ``CLAUDE_SYNC_TEST_CLIS``: a folder with ``VERSION/node_modules/.bin/claude``, by
  default ``~/.cache/claude-sync/cli``. To fill it:
  ``npm install --ignore-scripts --prefix FOLDER/2.1.29 @anthropic-ai/claude-code@2.1.29``
* ``CLAUDE_SYNC_TEST_VERSIONS``: which of them to test, separated by commas; both by default.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import threading
from pathlib import Path

from claude_sync.testing.model import LoopbackModel

NEWEST = "bundled"
OLD = "2.1.29"
# Longer than any of them needs on a loaded machine; only failures ever wait for it.
START_TIMEOUT = 90.0
# Each is a process of some hundred megabytes.
MOST_WARM = 3
NUMBERS = itertools.count(1)


class Cli:
    """
    One of the CLIs under test.

    Attributes:
        version: Its version, or ``"bundled"`` for the newest.
        path: The executable.
        is_new: Whether it is the newest.

    """

    def __init__(self, version, path):
        self.version = version
        self.path = path
        self.is_new = version == NEWEST

    def __repr__(self):
        return f"<Cli {self.version}>"


def bundled_path():
    """The executable inside claude-agent-sdk, found without importing it; or None."""
    given = os.environ.get("CLAUDE_SYNC_TEST_BUNDLED")
    if given:
        return Path(given)
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return None
    name = "claude.exe" if sys.platform == "win32" else "claude"
    return Path(found.origin).parent / "_bundled" / name


def cli_path(version):
    """Where the CLI of this version should be; None if nobody can know."""
    if version == NEWEST:
        return bundled_path()
    folder = os.environ.get("CLAUDE_SYNC_TEST_CLIS")
    clis = Path(folder) if folder else Path.home() / ".cache" / "claude-sync" / "cli"
    return clis / version / "node_modules" / ".bin" / "claude"


def is_installed(version):
    """Whether it is there."""
    path = cli_path(version)
    return path is not None and path.exists()


def is_wanted(version):
    """Whether it is one of those to test."""
    wanted = os.environ.get("CLAUDE_SYNC_TEST_VERSIONS")
    return not wanted or version in wanted.split(",")


class Model(LoopbackModel):
    """The model of the tests: its CLIs keep what they put aside below their home."""

    def __init__(self):
        super().__init__()
        self._as_it_was = self._default

    def environment(self, home, **settings):
        """As always; no CLI leaves anything in the folder for temporary files of all."""
        folder = Path(home).absolute() / "tmp"
        folder.mkdir(parents=True, exist_ok=True)
        names = ("TMPDIR", "TEMP", "TMP", "CLAUDE_CODE_TMPDIR")
        return {**super().environment(home, **settings), **dict.fromkeys(names, str(folder))}

    def forget(self):
        """Drop the rules of the test before, and what was asked in it."""
        with self._changed:
            self._rules.clear()
            self._requests.clear()
            self._default = self._as_it_was

    def owns(self, thread):
        """Whether it is one of the threads that serve this model."""
        return thread.name.startswith(f"{self._name}-")


def key_of(options):
    """Equal for equal options."""
    if isinstance(options, dict):
        return tuple(sorted((name, key_of(value)) for name, value in options.items()))
    if isinstance(options, (list, tuple)):
        return tuple(map(key_of, options))
    return options


class WarmClis:
    """
    Clients that are idle and have answered before, for whichever test wants one like that.

    The start of a CLI is most of what a test with a CLI costs. So a client outlives its test
    and its file, and serves every test that wants the same CLI, by the same route, with equal
    options; until a test leaves it other than it found it. All CLIs talk to one model, which
    forgets after each test.

    Args:
        new_folder: Makes a folder, given the beginning of its name.

    """

    def __init__(self, new_folder):
        self._new_folder = new_folder
        self._model = None
        self._homes = {}
        # Those that were used last are last; with the handlers that each began with.
        self._clients = {}

    @property
    def model(self):
        """The model that all of them talk to."""
        if self._model is None:
            self._model = Model().start()
        return self._model

    def home(self, version):
        """The home folder of all CLIs of one version."""
        if version not in self._homes:
            self._homes[version] = self._new_folder("home")
        return self._homes[version]

    def get(self, cli, route, new_client, options):
        """A client with these options, idle; it has answered, so that no limit counts its start."""
        key = (cli.version, route, key_of(options))
        client, handlers = self._clients.pop(key, (None, None))
        if client is None:
            while len(self._clients) >= MOST_WARM:
                self._close(next(iter(self._clients)))
            client = new_client(
                cli=cli.path,
                cwd=self._new_folder("cwd"),
                env=self.model.environment(self.home(cli.version)),
                start_timeout=START_TIMEOUT,
                name=f"warm-{next(NUMBERS)}",
                **options,
            )
            handlers = client._registry.of
            # A client of data would want some; a command is answered without.
            client.ask("/cost" if "returns" in options else "are you there?", timeout=START_TIMEOUT)
        self._clients[key] = client, handlers
        return client

    def check(self, client):
        """Close a client that is not idle, or has handlers of the test that had it."""
        for key, (warm, handlers) in list(self._clients.items()):
            if warm is client and (client.state != "idle" or client._registry.of != handlers):
                self._close(key)

    def drop(self, client):
        """Close a client; the next test gets another."""
        for key, (warm, _) in list(self._clients.items()):
            if warm is client:
                self._close(key)

    def close_route(self, route):
        """Close those that came by it."""
        for key in [key for key in self._clients if key[1] == route]:
            self._close(key)

    def close(self):
        """Close all of it; what is wanted later is made anew."""
        for key in list(self._clients):
            self._close(key)
        if self._model is not None:
            self._model.close()
        left = [thread.name for thread in threading.enumerate() if self.owns(thread)]
        self._model = None
        assert not left, f"threads still running: {left}"

    def _close(self, key):
        client, _ = self._clients.pop(key)
        client.close()

    def owns(self, thread):
        """Whether it is a thread of one of them, or of the model."""
        names = tuple(f"{client.name}-" for client, _ in self._clients.values())
        of_model = self._model is not None and self._model.owns(thread)
        return of_model or thread.name.startswith(names)

    @property
    def pids(self):
        """The processes of all of them, and their guards."""
        clients = [client for client, _ in self._clients.values()]
        transports = [client._session.connection.transport for client in clients]
        guards = {transport.guard_pid for transport in transports if transport.pid is not None}
        return {client.pid for client in clients} | guards
