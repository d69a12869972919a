"""
What the tests of bridges as clients share: bridges to both kinds of backend.

Everything that is said over them is held against the schema of all messages.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bridged import traffic_is_valid
from patience import PATIENCE

from claude_sync.bridge import Bridge

__all__ = ["OWN", "PATIENCE", "PLAIN", "own_bridge", "plain_bridge", "traffic_is_valid"]

PLAIN = [sys.executable, str(Path(__file__).with_name("plain_backend.py"))]
OWN = [sys.executable, "-m", "claude_sync.bridge", "--trust-client"]
# Longer than anything takes on a loaded machine; only failures ever wait for it.


def plain_bridge(*words, **settings):
    """A bridge to the backend that knows the document and nothing else."""
    settings.setdefault("extensions", False)
    return Bridge([*PLAIN, *words], **settings)


def own_bridge(*words):
    """A bridge to the backend of this library."""
    return Bridge([*OWN, *words])
