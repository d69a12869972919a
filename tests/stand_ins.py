"""What tests with stand-ins for the CLI share; the fixtures of it are in ``conftest.py``."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time

from patience import PATIENCE

from claude_sync import Client

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def start_thread(function, *arguments):
    """Run something beside the test."""
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


class Background:
    """A call on a thread of its own; ``result()`` is what it returned or raised."""

    def __init__(self, function, *arguments, **keywords):
        self.value = self.error = None
        self.thread = start_thread(self._run, function, arguments, keywords)

    def _run(self, function, arguments, keywords):
        try:
            self.value = function(*arguments, **keywords)
        except BaseException as error:  # handed to the test
            self.error = error

    def result(self, patience=PATIENCE):
        """What the call returned; raises what it raised."""
        self.thread.join(patience)
        assert not self.thread.is_alive(), "the call has not returned"
        if self.error is not None:
            raise self.error
        return self.value


def greet(client, cli, **fields):
    """Start a client, and let its CLI answer the greeting with *fields*."""
    starting = Background(client.start)
    cli.accept(**fields)
    starting.result()


def ready(cli, make=Client, **options):
    """A client of *cli* that is ready."""
    client = make(transport=cli, **options)
    greet(client, cli)
    return client


class Program:
    """A Python program in a process of its own, with what it printed so far."""

    def __init__(self, source, *arguments, path=()):
        folders = [ROOT, *path]
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        )
        self.printed = b""

    def wait_for(self, words, patience=PATIENCE):
        """Wait until it has printed *words*; all it printed so far."""
        end = time.monotonic() + patience
        pipe = self.process.stdout
        while words.encode() not in self.printed:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            data = os.read(pipe.fileno(), 65536) if ready else b""
            if not data:
                self.process.kill()
                errors = self.process.communicate()[1].decode("utf-8", "replace")
                raise AssertionError(f"{words!r} did not come, but {self.printed!r}\n{errors}")
            self.printed += data
        return self.printed.decode()

    def say(self, line):
        """Give it a line to read."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self, patience=PATIENCE):
        """Wait for its end: exit code, all it printed, what it said on stderr."""
        try:
            rest, errors = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            rest, errors = self.process.communicate()
            raise AssertionError(f"it did not end; it said {rest!r}, {errors!r}") from None
        self.printed += rest
        return self.process.returncode, self.printed.decode(), errors.decode("utf-8", "replace")
