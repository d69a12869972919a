"""
Run the handlers of a client in the event loop of Qt.

Objects of Qt belong to the thread of the user interface, and must be destroyed there. So nothing
that another thread might hold last refers to one.
"""

from __future__ import annotations

import atexit
from typing import Any

from ..client import Client
from ..errors import UsageError
from .frames import ATTACHED, Attachment
from .qt_binding import QtCore, check_application, is_valid

__all__ = ["QtAttachment"]


class QtAttachment(Attachment):
    """A client in the event loop of Qt; closed when the parent or the application ends."""

    def __init__(self, client: Client, parent: Any) -> None:
        if not isinstance(client, Client):
            raise UsageError(
                f"attach(client, parent): the client is a claude_sync.Client, not {client!r}."
            )
        application = check_application("attach()")
        if parent is not None and not isinstance(parent, QtCore.QObject):
            raise UsageError(
                "the parent is a window, or any other QObject, with whose end the client is to "
                f"be closed; not {parent!r}."
            )
        self._timer = QtCore.QTimer(application)  # which owns it, whoever lets go of it last
        self._timer.setSingleShot(True)
        self._timer.setTimerType(QtCore.Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._frame)
        try:
            super().__init__(client)
        except UsageError:
            self._timer.deleteLater()
            raise
        # Not kept: who destroys the parent is none of our business.
        ends = [application.aboutToQuit, application.destroyed]
        if parent is not None and parent is not application:
            ends.append(parent.destroyed)
        self._connections = [signal.connect(self.close) for signal in ends]

    def _next(self, milliseconds: int) -> None:
        self._timer.start(milliseconds)

    def _end_timer(self) -> None:
        for connection in self._connections:
            QtCore.QObject.disconnect(connection)
        if is_valid(self._timer):
            self._timer.stop()
            self._timer.deleteLater()

    def _check_thread(self, what: str) -> None:
        check_application(what)


def stop_all() -> None:
    """The interpreter ends, and no event loop will run again: let go before Qt does."""
    for attachment in list(ATTACHED):
        if isinstance(attachment, QtAttachment):
            attachment.close()


# After the binding's own, which was loaded before: so this is called before that.
atexit.register(stop_all)
