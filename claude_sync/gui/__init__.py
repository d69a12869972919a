"""
Clients in programs with windows: ``gui.tk`` for tkinter, ``gui.qt`` for Qt.

::

    from claude_sync.gui import tk

    tk.attach(client, root)
    client.on_permission(tk.PermissionDialog.handler(root))

A toolkit is imported by its own modules alone, and only when a program asks for one.
What the dialogs of all toolkits have in common is in ``claude_sync.permissions.forms``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from . import qt as qt
    from . import tk as tk

__all__ = ["qt", "tk"]


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load the module *name*, the first time it is asked for."""
        if name in __all__:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
