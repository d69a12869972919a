"""
What the CLI says, and what an answer is: frozen values, and how they are read from the wire.

The classes take longer to load than all the rest of the library, so this package loads them
when one of their names is asked for, or while a CLI starts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import AgentUsage as AgentUsage
    from .base import *  # noqa: F403
    from .blocks import *  # noqa: F403
    from .replies import *  # noqa: F403
    from .system import *  # noqa: F403
    from .tasks import *  # noqa: F403
else:
    # Every public name of these is public in claude_sync.
    _MODULES = ("base", "blocks", "system", "tasks", "replies", "agents")

    def __getattr__(name: str) -> Any:
        """Load the module that has *name*, and all before it."""
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name == "__all__":
            return [public for module in _MODULES for public in __getattr__(module).__all__]
        if name[:1].isupper():
            for module in map(__getattr__, _MODULES):
                if name in module.__all__:
                    return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
