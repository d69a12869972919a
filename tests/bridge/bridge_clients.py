"""
What the tests of bridges as clients share: bridges to both kinds of backend.

Everything that is said over them is held against the schema of all messages.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import jsonschema

from claude_sync.bridge import Bridge
from claude_sync.bridge.backend import Backend
from claude_sync.bridge.schema import schema

PLAIN = [sys.executable, str(Path(__file__).with_name("plain_backend.py"))]
OWN = [sys.executable, "-m", "claude_sync.bridge", "--trust-client"]
# Longer than anything takes on a loaded machine; only failures ever wait for it.
PATIENCE = 30.0


def validator(direction):
    """What checks the messages of one direction."""
    whole = schema()
    wanted = {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": f"#/$defs/{direction}"}
    return jsonschema.Draft202012Validator(wanted)


@contextlib.contextmanager
def traffic_is_valid(monkeypatch):
    """Within this, whatever goes over a bridge is noted; at its end, it is checked."""
    told, heard = [], []
    send, hear = Backend.send, Backend._hear
    monkeypatch.setattr(Backend, "send", lambda self, line: (told.append(line), send(self, line)))
    monkeypatch.setattr(Backend, "_hear", lambda self, line: (heard.append(line), hear(self, line)))
    yield
    for lines, direction in ((told, "from_front_end"), (heard, "from_backend")):
        check = validator(direction)
        # Of many that are alike, some are enough.
        for line in lines[:3000]:
            if line.startswith(b"{") and len(line) < 100_000:
                check.validate(json.loads(line))


def plain_bridge(*words, **settings):
    """A bridge to the backend that knows the document and nothing else."""
    settings.setdefault("extensions", "--lenient" in words)
    return Bridge([*PLAIN, *words], **settings)


def own_bridge(*words):
    """A bridge to the backend of this library."""
    return Bridge([*OWN, *words])
