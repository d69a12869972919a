"""
A front end as somebody would write it who knows nothing of this library, for tests.

Every line that it sends or reads is checked against the schema of the bridge; lines that
are wrong on purpose go out with ``send_raw``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import jsonschema
from patience import PATIENCE

from claude_sync.bridge.command import schema
from claude_sync.bridge.server import serve

SCHEMA = schema()


def validator(name):
    """What checks messages against a definition of the schema."""
    form = {"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(form)


VALIDATORS = {
    way: {
        each["$ref"].rpartition("/")[2]: validator(each["$ref"].rpartition("/")[2])
        for each in SCHEMA["$defs"][way]["oneOf"]
    }
    for way in ("from_front_end", "from_backend")
}


def check(way, message):
    """Fail unless *message* is one of that direction."""
    assert message["type"] in VALIDATORS[way], message
    VALIDATORS[way][message["type"]].validate(message)


class FrontEnd:
    """Sends and reads lines; keeps everything it read."""

    def __init__(self, source, sink):
        self._sink = sink
        self._source = source
        self._count = 0
        self._changed = threading.Condition()
        # Cleared while the front end is not to read.
        self._reading = threading.Event()
        self._reading.set()
        self.read = []
        self.ended = False
        self._taken = 0
        self._thread = threading.Thread(target=self._read_all, daemon=True)
        self._thread.start()

    # Writing.

    def send_raw(self, data):
        """Send bytes as they are."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._sink, view) :]

    def send(self, kind, payload=None, *, session_id=None, id=None):
        """Send a message; its id, which is made if none is given."""
        self._count += 1
        message = {"type": kind, "id": id or f"request-{self._count}", "payload": payload or {}}
        if session_id is not None:
            message["session_id"] = session_id
        check("from_front_end", message)
        self.send_raw(json.dumps(message).encode() + b"\n")
        return message["id"]

    def create(self, prompt="", cwd=None, **more):
        """Create a session; its id and the CLI's. Options go into ``options=``."""
        payload = {"prompt": prompt, **more}
        if cwd is not None:
            payload["cwd"] = str(cwd)
        created = self.answer(self.send("session.create", payload))
        assert created["type"] == "session.created", created
        return created["session_id"]

    def line(self, session_id, message):
        """Say something to the CLI of a raw session."""
        envelope = {"type": "session.line", "session_id": session_id, "payload": message}
        check("from_front_end", envelope)
        self.send_raw(json.dumps(envelope, separators=(",", ":")).encode() + b"\n")

    def call(self, session_id, method, *args, **kwargs):
        """Call a method; the payload of its answer."""
        payload = {"method": method, "args": list(args)}
        if kwargs:
            payload["kwargs"] = kwargs
        return self.answer(self.send("query.call", payload, session_id=session_id))["payload"]

    # Reading.

    def pause(self):
        """Read nothing more until :meth:`resume`; what a read has begun it ends."""
        self._reading.clear()

    def resume(self):
        """Read again."""
        self._reading.set()

    def wait(self, condition, what="a message"):
        """The first message read so far, or later, for which *condition* holds."""
        end = time.monotonic() + PATIENCE
        seen = 0
        with self._changed:
            while True:
                for message in self.read[seen:]:
                    if condition(message):
                        return message
                seen = len(self.read)
                assert not self.ended, f"the backend ended before {what}: {self.read[-3:]}"
                left = end - time.monotonic()
                assert left > 0, f"waited in vain for {what}; last: {self.read[-3:]}"
                self._changed.wait(left)

    def answer(self, id):
        """The message that answers *id*."""
        return self.wait(lambda message: message.get("id") == id, f"the answer to {id}")

    def error(self, **fields):
        """The payload of the first error with these fields in it, or around it."""

        def fits(message):
            together = {**message.get("payload", {}), **message}
            return message["type"] == "error" and all(
                together.get(name) == value for name, value in fields.items()
            )

        return self.wait(fits, f"an error {fields}")["payload"]

    def callback(self, session_id, number=0):
        """A request for an answer, by its number in the session."""
        return self.nth("callback.request", session_id, number)

    def result(self, session_id, number=0):
        """What the CLI said at the end of a turn, by its number in the session."""
        return self.nth("sdk.message", session_id, number, "result")["payload"]

    def nth(self, kind, session_id, number=0, said=None):
        """A message of a session, by its number among those of its kind."""
        count = [0]

        def fits(message):
            if message["type"] != kind or message.get("session_id") != session_id:
                return False
            if said is not None and message["payload"].get("type") != said:
                return False
            count[0] += 1
            return count[0] > number

        return self.wait(fits, f"{kind} {said or ''} number {number}")

    def said(self, session_id):
        """The payloads of everything that the CLI of a session has said so far."""
        with self._changed:
            return [
                message["payload"]
                for message in self.read
                if message["type"] == "sdk.message" and message["session_id"] == session_id
            ]

    def end(self):
        """Close the way to the backend, read the rest."""
        if self._sink is not None:
            os.close(self._sink)
            self._sink = None
        self._reading.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the backend did not end"

    def _read_all(self):
        with os.fdopen(self._source, "rb") as file:
            while True:
                self._reading.wait()
                line = file.readline()
                message = None
                if line:
                    message = json.loads(line)
                    check("from_backend", message)
                with self._changed:
                    if message is None:
                        self.ended = True
                    else:
                        self.read.append(message)
                    self._changed.notify_all()
                if message is None:
                    return


class InProcess(FrontEnd):
    """A front end of a backend on a thread of this process."""

    def __init__(self, **settings):
        backend_source, sink = os.pipe()
        source, backend_sink = os.pipe()

        def run():
            try:
                serve(backend_source, backend_sink, **settings)
            finally:
                os.close(backend_source)
                os.close(backend_sink)

        self._backend = threading.Thread(target=run, daemon=True)
        self._backend.start()
        super().__init__(source, sink)

    def end(self):
        """See the base class."""
        super().end()
        self._backend.join(PATIENCE)
        assert not self._backend.is_alive()


class OfProcess(FrontEnd):
    """A front end of a backend that is a process, started with these words."""

    def __init__(self, *words, env=None, module="claude_sync.bridge", cwd=None):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", *(["-m", module] if module else []), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
        )
        self.stderr = []
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
        source = os.dup(self.process.stdout.fileno())
        sink = os.dup(self.process.stdin.fileno())
        self.process.stdout.close()
        self.process.stdin.close()
        super().__init__(source, sink)

    def _read_errors(self):
        with self.process.stderr as file:
            self.stderr.extend(file)

    def end(self):
        """See the base class; the exit code."""
        super().end()
        code = self.process.wait(PATIENCE)
        self._errors.join(PATIENCE)
        return code
