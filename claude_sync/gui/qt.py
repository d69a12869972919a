"""
Clients in programs with windows of Qt: PySide6, PyQt6 or PyQt5.

::

    from claude_sync.gui import qt

    client = claude_sync.Client()
    qt.attach(client, window)                     # from here on handlers may touch widgets
    client.on_text(view.insertPlainText)
    client.on_permission(qt.PermissionDialog.handler(window))
    client.submit("Hello")                        # never ask(): that would freeze the window

:class:`QtClient` is the same with signals and slots. When the window is destroyed or the
application quits, the client is closed.

Nothing of Qt is imported before the first of these names is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from ..client import Client
    from .frames import Attachment
    from .qt_chat import ChatWidget
    from .qt_client import QtClient
    from .qt_dialogs import PermissionDialog, QuestionDialog

__all__ = ["Attachment", "ChatWidget", "PermissionDialog", "QtClient", "QuestionDialog", "attach"]

LATER = {
    "Attachment": "frames",
    "ChatWidget": "qt_chat",
    "PermissionDialog": "qt_dialogs",
    "QtClient": "qt_client",
    "QuestionDialog": "qt_dialogs",
}


def attach(client: Client, parent: Any = None) -> Attachment:
    """
    Run the handlers of *client* in the event loop of Qt from now on.

    Text that arrives is merged to one call in each frame, about sixty in a second. The
    calling thread is that of the user interface; waiting there for an answer is refused.
    What is returned can be used to ``detach()`` it again, and need not be kept.

    Args:
        client: A client made without ``post=``; best before its first question.
        parent: The window, or any other QObject, with whose end the client is closed. That
            happens when the application quits in any case.

    Raises:
        UsageError: There is no application, this is not its thread, or the handlers of the
            client run elsewhere already.
        ImportError: No binding of Qt is installed.

    """
    from .qt_frames import QtAttachment

    return QtAttachment(client, parent)


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load a class, and with it a binding of Qt, the first time it is asked for."""
        if name in LATER:
            return getattr(importlib.import_module(f".{LATER[name]}", __package__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
