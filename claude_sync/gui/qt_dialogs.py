"""
What the dialogs of Qt have in common: one request each, answered once, one after the other.

::

    request -> form -> [dialog] -> form -> answer

A dialog is shown by ``show()``: the handler that does it returns at once, and the window stays
usable. Closing a dialog is a no; when the answer is no longer wanted, or was given elsewhere, it
closes by itself; and a dialog that is destroyed, with its window perhaps, has said no as well.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, MutableMapping

from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, PermissionAnswer
from .dialogs import LOOK, Queue, class_for, refuse
from .qt_binding import QtCore, QtWidgets, check_application, is_valid
from .qt_views import view_of

__all__ = ["PermissionDialog", "QuestionDialog", "RequestDialog"]

# A dialog is at least so wide, and takes at most this part of the screen.
NARROWEST = 520
OF_THE_SCREEN = 0.8


class RequestDialog(QtWidgets.QDialog):  # type: ignore[misc]
    """
    A dialog about one request.

    Attributes:
        form: What it shows and answers.
        view: The widgets that do.

    """

    def __init__(self, subject: Any, parent: Any = None) -> None:
        check_application(type(self).__name__, widgets=True)
        is_form = isinstance(subject, (PermissionForm, QuestionForm))
        form: Any = subject if is_form else form_of(subject)
        view = view_of(form)  # before there is a dialog, because this may fail
        super().__init__(parent)
        self.form, self.view = form, view
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_DeleteOnClose)
        # Who types in the program goes on typing there.
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_ShowWithoutActivating, is_typing())
        self.setWindowTitle(form.title)
        self.setSizeGripEnabled(True)
        self.view.answered.connect(self.close)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self._looking = QtCore.QTimer(self)
        self._looking.timeout.connect(self._look)
        self._looking.start(LOOK)
        # Its window may be destroyed, and it is not asked then.
        self.destroyed.connect(lambda *_: refuse(form))
        QtWidgets.QApplication.instance().aboutToQuit.connect(self.reject)
        self.fit()

    @classmethod
    def handler(cls, parent: Any = None) -> Callable[[Any], PermissionAnswer]:
        """
        A handler of ``on_permission`` and ``on_question`` that shows such a dialog.

        *parent* is the window it belongs to, which can still be used meanwhile.
        """
        check_application(f"{cls.__name__}.handler()", widgets=True)
        window = None if parent is None else weakref.ref(parent)

        def ask(request: Any) -> PermissionAnswer:
            owner = None if window is None else window()
            if window is not None and (owner is None or not is_valid(owner)):
                return False  # the window is gone, and nobody can be asked
            form = form_of(request)
            kind = class_for(form, cls, PermissionDialog, QuestionDialog)
            queue_of(owner).ask(form, lambda form, done: show(kind(form, owner), done))
            return LATER

        return ask

    def fit(self) -> None:
        """As large as what is in it, but no larger than the screen."""
        hint, screen = self.sizeHint(), QtWidgets.QApplication.primaryScreen().availableSize()
        width = min(max(hint.width(), NARROWEST), int(screen.width() * OF_THE_SCREEN))
        # Texts that are wrapped are higher than their hint.
        wrapped = self.layout().totalHeightForWidth(width)
        height = max(hint.height(), wrapped)
        self.resize(width, min(height, int(screen.height() * OF_THE_SCREEN)))

    def done(self, code: Any) -> None:
        """The end of the dialog, for whatever reason; without an answer so far that is a no."""
        self._looking.stop()
        refuse(self.form)
        super().done(code)

    def _look(self) -> None:
        if not self.form.is_open:
            self.close()


class PermissionDialog(RequestDialog):
    """
    May Claude use this tool? Shows what would happen, and answers for the person::

        client.on_permission(PermissionDialog.handler(window))

    Enter allows nothing, and nothing is allowed in the first moment.
    """


class QuestionDialog(RequestDialog):
    """
    Claude asks the person something::

        client.on_question(QuestionDialog.handler(window))
    """


def is_typing() -> bool:
    """Whether a person types into something of the program."""
    focused = QtWidgets.QApplication.focusWidget()
    return focused is not None and bool(
        focused.testAttribute(QtCore.Qt.WidgetAttribute.WA_InputMethodEnabled)
    )


def show(dialog: RequestDialog, done: Callable[[], object]) -> RequestDialog:
    """Show a dialog, and hear of its end."""
    dialog.destroyed.connect(lambda *_: done())
    dialog.show()
    QtWidgets.QApplication.alert(dialog)
    return dialog


class NoWindow:
    """Stands for the window of dialogs that have none."""


NO_WINDOW = NoWindow()
QUEUES: MutableMapping[Any, Queue] = weakref.WeakKeyDictionary()


def later(function: Callable[[], None]) -> None:
    """Have a function called by the event loop."""
    QtCore.QTimer.singleShot(0, function)


def queue_of(window: Any) -> Queue:
    """What waits to be shown over a window."""
    key = NO_WINDOW if window is None else window
    queue = QUEUES.get(key)
    if queue is None:
        queue = QUEUES[key] = Queue(later)
        # Which Python keeps: Qt only has their methods.
        QtWidgets.QApplication.instance().aboutToQuit.connect(queue.end)
        if window is not None:
            window.destroyed.connect(queue.end)
    return queue
