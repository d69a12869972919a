"""
What the CLI says, and what an answer is: frozen values, and how they are read from the wire.

The classes take longer to load than all the rest of the library, so this package loads them
when one of their names is asked for, or while a CLI starts. Every class in them is public, also
in ``claude_sync``, unless its name begins with an underscore.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    from .base import *  # noqa: F403
    from .blocks import *  # noqa: F403
    from .replies import *  # noqa: F403
    from .system import *  # noqa: F403
    from .tasks import *  # noqa: F403
else:

    def _classes() -> Iterator[tuple[str, type]]:
        """The public classes by name; one module after the other is loaded."""
        for each in ("base", "blocks", "system", "tasks", "replies"):
            module = importlib.import_module(f"{__name__}.{each}")
            for name, value in vars(module).items():
                is_here = getattr(value, "__module__", None) == module.__name__
                if is_here and isinstance(value, type) and name[0] != "_":
                    yield name, value

    def __getattr__(name: str) -> Any:
        """A public class, or the names of all."""
        if name == "__all__":
            return [each for each, _ in _classes()]
        for each, value in _classes() if name[:1].isupper() else ():
            if each == name:
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
