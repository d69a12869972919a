"""
What the dialogs of Qt have in common: one request each, answered once, one after the other.

::

    request -> form -> [dialog] -> form -> answer

A dialog is shown by ``open()``, never by ``exec()``: the handler that shows it returns at
once. Closing it is a no; when the answer is no longer wanted, or was given elsewhere, it
closes by itself; and a dialog that is destroyed, with its window perhaps, has said no as
well. Requests that come while a dialog is open in the same window wait for it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, List, MutableMapping, Optional

from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, PermissionAnswer
from .qt_binding import QtCore, QtWidgets, check_application, is_valid
from .qt_views import view_of

__all__ = ["PermissionDialog", "QuestionDialog", "RequestDialog"]

# A dialog is at least so wide, and takes at most this part of the screen.
NARROWEST = 520
OF_THE_SCREEN = 0.8
# Milliseconds between two looks whether the request is still open. Usually one is told; a
# client that is no longer attached cannot tell.
LOOK = 250
# The dialogs of each window; those without one have a line of their own.
LINES: MutableMapping[Any, DialogLine] = weakref.WeakKeyDictionary()


class RequestDialog(QtWidgets.QDialog):  # type: ignore[misc]
    """
    A dialog about one request.

    Attributes:
        form: What it shows and answers.
        view: The widgets that do.

    """

    form: Any

    def __init__(self, form: Any, parent: Any, refuse: Callable[[], object]) -> None:
        check_application(type(self).__name__, widgets=True)
        super().__init__(parent)
        self.form = form
        self._refuse = refuse
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(form.title)
        self.setSizeGripEnabled(True)
        self.view = view_of(form)
        self.view.answered.connect(self.done)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self._looking = QtCore.QTimer(self)
        self._looking.timeout.connect(self._look)
        self._looking.start(LOOK)
        reference, thread = weakref.ref(self), threading.get_ident()

        def close() -> None:
            # On another thread, of a client that is no longer attached, the next look finds
            # out: widgets are for their own.
            dialog = reference() if threading.get_ident() == thread else None
            if dialog is not None and is_valid(dialog):
                dialog._look()

        form.on_withdrawn(close)
        # Its window may be destroyed, and it is not asked then.
        self.destroyed.connect(lambda *_: refuse())
        self.fit()

    @classmethod
    def handler(cls, parent: Any = None) -> Callable[[Any], PermissionAnswer]:
        """
        A handler of ``on_permission`` and ``on_question`` that shows such a dialog.

        *parent* is the window it belongs to, which cannot be used meanwhile.
        """
        check_application(f"{cls.__name__}.handler()", widgets=True)
        window = None if parent is None else weakref.ref(parent)

        def ask(request: Any) -> PermissionAnswer:
            owner = None if window is None else window()
            if window is not None and (owner is None or not is_valid(owner)):
                return False  # the window is gone, and nobody can be asked
            form = form_of(request)
            line_of(owner).add(class_for(form, cls)(form, owner))
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
        """The end of the dialog; the code is whether something runs now."""
        self._looking.stop()
        super().done(int(code))

    def reject(self) -> None:
        """Closed without a choice, by whatever means: a no."""
        self.view.settle(self._refuse, False, is_last=True)

    def _look(self) -> None:
        """Close, if the request was answered elsewhere or is no longer open."""
        if not self.form.is_open:
            self.done(False)


class PermissionDialog(RequestDialog):
    """
    May Claude use this tool? Shows what would happen, and answers for the person::

        client.on_permission(PermissionDialog.handler(window))

    Enter allows nothing, and nothing is allowed in the first moment.
    """

    form_class = PermissionForm

    def __init__(self, request: Any, parent: Any = None) -> None:
        form = request if isinstance(request, PermissionForm) else PermissionForm(request)
        super().__init__(form, parent, form.close)
        self.view.preview.setFocus()


class QuestionDialog(RequestDialog):
    """
    Claude asks the person something::

        client.on_question(QuestionDialog.handler(window))
    """

    form_class = QuestionForm

    def __init__(self, questions: Any, parent: Any = None) -> None:
        form = questions if isinstance(questions, QuestionForm) else QuestionForm(questions)
        super().__init__(form, parent, form.decline)


class DialogLine:
    """The dialogs of one window, one after the other, in the order of the requests."""

    def __init__(self) -> None:
        self._dialogs: List[RequestDialog] = []
        application = check_application("a dialog", widgets=True)
        # Bound to a Python object, which Qt does not keep; so LINES does.
        application.aboutToQuit.connect(self.close)

    def add(self, dialog: RequestDialog) -> None:
        """Show it when it is its turn."""
        self._dialogs.append(dialog)
        reference = weakref.ref(self)

        def gone(*_: object) -> None:
            line = reference()
            if line is not None:
                line._remove(dialog)

        dialog.finished.connect(gone)
        self._show_first()

    def close(self) -> None:
        """The application quits: nobody can answer any more."""
        for dialog in list(self._dialogs):
            if is_valid(dialog):
                dialog.reject()

    def _remove(self, dialog: RequestDialog) -> None:
        if dialog in self._dialogs:
            self._dialogs.remove(dialog)
        self._show_first()

    def _show_first(self) -> None:
        self._dialogs = [each for each in self._dialogs if is_valid(each)]
        if self._dialogs and not self._dialogs[0].isVisible():
            first = self._dialogs[0]
            if first.parent() is None:
                first.show()
            else:
                first.open()  # blocks its window, and returns
            QtWidgets.QApplication.alert(first)


# The key of those without a window.
class NoWindow:
    """Stands for the window of dialogs that have none."""


NO_WINDOW = NoWindow()


def line_of(window: Any) -> DialogLine:
    """The dialogs of a window."""
    key = NO_WINDOW if window is None else window
    line: Optional[DialogLine] = LINES.get(key)
    if line is None:
        line = LINES[key] = DialogLine()
    return line


def class_for(form: Any, preferred: Any) -> Any:
    """The class of the dialog for a form: the preferred one, if it is about such forms."""
    if isinstance(form, getattr(preferred, "form_class", ())):
        return preferred
    return QuestionDialog if isinstance(form, QuestionForm) else PermissionDialog
