"""
For the tests of programs that use this library: everything but the service.

* :class:`ScriptedCli`: a CLI in memory that says what a test wants it to say.
* :class:`StandIn`: a real executable that does the same, and misbehaves on demand.
* :mod:`~claude_sync.testing.builders`: messages as the CLI writes them.
* :class:`LoopbackModel`: a Messages API on 127.0.0.1, for the real CLI; :func:`text`,
  :func:`thinking`, :func:`tool_use` and :func:`failure` are its answers.
* :class:`Recording`: what ``Client(record=...)`` has written, played back.

Tests get them as fixtures, too: ``fake_cli``, ``loopback_model``, ``recording``, and
``claude``, which is a client of whichever of these a test asks for; see :mod:`.plugin`.

The names are loaded when they are asked for: a program that is tested with one of
them does not pay for the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import builders
    from .fixtures import Tape
    from .model import LoopbackModel
    from .model_replies import failure, text, thinking, tool_use
    from .recording import Recording, ReplayDifference
    from .scripted import ScriptedCli
    from .stand_in import StandIn

HOMES = {
    "LoopbackModel": "model",
    "Recording": "recording",
    "ReplayDifference": "recording",
    "ScriptedCli": "scripted",
    "StandIn": "stand_in",
    "Tape": "fixtures",
    "failure": "model_replies",
    "text": "model_replies",
    "thinking": "model_replies",
    "tool_use": "model_replies",
}
__all__ = [
    "LoopbackModel",
    "Recording",
    "ReplayDifference",
    "ScriptedCli",
    "StandIn",
    "Tape",
    "builders",
    "failure",
    "text",
    "thinking",
    "tool_use",
]


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load *name* from its module, the first time it is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f".{HOMES.get(name, name)}", __name__)
        return getattr(module, name, module)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
