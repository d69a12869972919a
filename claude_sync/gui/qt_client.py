"""
A client with signals and slots.

::

    chat = QtClient(window, model="sonnet")
    chat.text.connect(view.insertPlainText)
    chat.permission.connect(PermissionDialog.handler(window))
    line.returnPressed.connect(lambda: chat.ask(line.text()))
    stop.clicked.connect(chat.interrupt)

Everything is on the thread of the user interface, and nothing waits there.
"""

from __future__ import annotations

import weakref
from concurrent.futures import CancelledError
from typing import Any, Callable, List, Optional

from ..client import Client
from ..engine.turn import Turn
from ..errors import ClaudeError, TurnInterrupted, UsageError
from ..log import logger
from ..permissions.request import LATER, PermissionAnswer
from .qt_binding import QtCore, check_application, is_valid
from .qt_frames import QtAttachment

__all__ = ["QtClient"]

# How long an interrupt may wait for the CLI's word, on a thread of the client's.
INTERRUPT_TIME = 5.0


class QtClient(QtCore.QObject):  # type: ignore[misc]
    """
    A client as a QObject. It is closed when it or its parent is destroyed, and when the
    application quits.

    Signals:
        text(str), thinking(str): What is new, at most once in a frame.
        tool_use(object), tool_result(object): A ``ToolUse``, a ``ToolResult``.
        permission(object): A ``PermissionRequest``; whoever is connected answers it, now or
            later. With nobody connected, the client's own handlers decide, and else it is
            denied.
        question(object): As that, ``Questions``.
        result(object): The ``Result`` of a turn.
        error(object): An exception: a question failed or was stopped (``TurnInterrupted``),
            or a handler did.
        closed(object): A ``Closed``, the last of all.

    Attributes:
        client: The client, for everything that is not here.

    """

    text = QtCore.Signal(str)
    thinking = QtCore.Signal(str)
    tool_use = QtCore.Signal(object)
    tool_result = QtCore.Signal(object)
    permission = QtCore.Signal(object)
    question = QtCore.Signal(object)
    result = QtCore.Signal(object)
    error = QtCore.Signal(object)
    closed = QtCore.Signal(object)

    def __init__(
        self, parent: Any = None, *, client: Optional[Client] = None, **options: Any
    ) -> None:
        """
        Make a client of *options*, which are those of ``Client``, or take *client*.

        The client of an existing one must have been made without ``post=``.
        """
        check_application("QtClient")
        if client is not None and options:
            raise UsageError(
                f"a client that exists has its options already: {', '.join(options)} came too "
                "late. Pass client=..., or options, not both."
            )
        super().__init__(parent)
        self.client = Client(**options) if client is None else client
        # Those of this object, in order: the first is the one that runs, or will.
        self._turns: List[Turn] = []
        QtAttachment(self.client, self)
        for kind in ("text", "thinking", "tool_use", "tool_result", "result"):
            getattr(self.client, f"on_{kind}")(forwarder(self, kind))
        self.client.on_close(forwarder(self, "closed"))
        self.client.on_error(forwarder(self, "error", lambda report: report.exception))
        self.client.on_permission(asker(self, "permission"))
        self.client.on_question(asker(self, "question"))

    def submit(self, prompt: Any, **options: Any) -> Turn:
        """Ask, as ``Client.submit`` does. How it goes is told by the signals."""
        turn = self.client.submit(prompt, **options)
        self._turns.append(turn)
        chat = weakref.ref(self)

        def done(turn: Turn) -> None:
            alive = chat()
            if alive is not None and is_valid(alive):
                alive._is_done(turn)

        turn.add_done_callback(done)
        return turn

    @QtCore.Slot(str)  # type: ignore[untyped-decorator]
    def ask(self, prompt: str) -> None:
        """Ask; what is wrong with the question is told by ``error``, as all that follows is."""
        try:
            self.submit(prompt)
        except (ClaudeError, OSError, TypeError) as error:
            self.error.emit(error)

    @QtCore.Slot()  # type: ignore[untyped-decorator]
    def interrupt(self) -> None:
        """Stop what runs now, and do not wait for it; harmless when nothing does."""
        self._turns = [turn for turn in self._turns if not turn.done()]
        if self._turns:
            self._turns[0].cancel()
            return
        session = self.client._session

        def stop() -> None:
            # A turn of the CLI's own, perhaps; on this thread it would be waited for.
            try:
                session.stopper.interrupt(INTERRUPT_TIME)
            except ClaudeError as error:
                logger.info("the interrupt failed: %s", error)

        session.tasks.run(stop)

    @QtCore.Slot()  # type: ignore[untyped-decorator]
    def close(self) -> None:
        """Close the client, and do not wait for it; ``closed`` tells when that is done."""
        self.client.close(wait=False)

    def _is_done(self, turn: Turn) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        try:
            error = turn.exception()
        except CancelledError:
            error = TurnInterrupted("the question was withdrawn before it was sent")
        if error is not None:
            self.error.emit(error)


# The client keeps its handlers, and is kept by the object: so they must not keep that.


def forwarder(
    chat: QtClient, name: str, content: Callable[[Any], object] = lambda event: event
) -> Callable[[Any], None]:
    """A handler that emits a signal."""
    reference = weakref.ref(chat)

    def forward(event: Any) -> None:
        alive = reference()
        if alive is not None and is_valid(alive):
            getattr(alive, name).emit(content(event))

    return forward


def asker(chat: QtClient, name: str) -> Callable[[Any], PermissionAnswer]:
    """A handler that leaves the answer to whoever is connected to a signal, if anybody is."""
    reference = weakref.ref(chat)

    def ask(request: Any) -> PermissionAnswer:
        alive = reference()
        if alive is None or not is_valid(alive) or not is_connected(alive, name):
            return None
        getattr(alive, name).emit(request)
        return LATER

    return ask


def is_connected(chat: QtClient, name: str) -> bool:
    """Whether anything is connected to a signal."""
    kind = chat.metaObject()
    for number in range(kind.methodOffset(), kind.methodCount()):
        method = kind.method(number)
        if bytes(method.name()).decode() == name and is_signal(method):
            return bool(chat.isSignalConnected(method))
    return False


def is_signal(method: Any) -> bool:
    """Whether a method is a signal: slots may have the same name."""
    return bool(method.methodType() == QtCore.QMetaMethod.MethodType.Signal)
