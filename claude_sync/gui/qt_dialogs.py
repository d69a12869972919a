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

from ..errors import ClaudeError
from ..log import logger
from ..permissions import forms
from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, PermissionAnswer
from .qt_binding import QtCore, QtWidgets, check_application, is_valid
from .qt_views import DiffView, QuestionColumn, QuestionView, paragraph, title_label

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
        self._message = paragraph("")
        self._message.hide()
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
        """The end of the dialog."""
        self._looking.stop()
        super().done(code)

    def reject(self) -> None:
        """Closed without a choice, by whatever means: a no."""
        self._settle(self._refuse, QtWidgets.QDialog.DialogCode.Rejected)

    def _look(self) -> None:
        """Close, if the request was answered elsewhere or is no longer open."""
        if not self.form.is_open:
            self.done(QtWidgets.QDialog.DialogCode.Rejected)

    def _settle(self, verb: Callable[[], object], code: Any) -> None:
        """Answer by a verb of the form, and close; an answer that is none is told instead."""
        try:
            verb()
        except ClaudeError as error:
            logger.warning("a dialog could not answer: %s", error)
            if self.form.is_open and verb is not self._refuse:
                self._message.setText(str(error))
                self._message.show()
                return
        self.done(code)


class PermissionDialog(RequestDialog):
    """
    May Claude use this tool? Shows what would happen, and answers for the person::

        client.on_permission(PermissionDialog.handler(window))

    Nothing is chosen by the Enter key, and nothing is allowed in the first moment: a dialog
    may appear while somebody types, or clicks at what was in its place.
    """

    form_class = PermissionForm

    def __init__(self, request: Any, parent: Any = None) -> None:
        form = request if isinstance(request, PermissionForm) else PermissionForm(request)
        super().__init__(form, parent, form.close)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(title_label(form.title))
        for line in form.details:
            layout.addWidget(paragraph(line))
        self.preview = DiffView(form.lines)
        layout.addWidget(self.preview, 1)
        self.reason = QtWidgets.QLineEdit()
        self.reason.setPlaceholderText(forms.REASON)
        self.reason.returnPressed.connect(self._deny)
        layout.addWidget(self.reason)
        layout.addWidget(self._message)
        row = QtWidgets.QHBoxLayout()
        self.deny_button = button("&Deny", self._deny)
        self.everything_button = button(forms.EVERYTHING, self._show_everything)
        row.addWidget(self.deny_button)
        row.addWidget(self.everything_button)
        row.addStretch(1)
        self.always_button = self._allowing("allow_always", "Al&ways allow")
        self.edits_button = self._allowing("accept_edits", "Allow all &edits in this session")
        self.allow_button = self._allowing("allow", "&Allow")
        for choice in form.choices:
            if choice.meaning:
                layout.addWidget(paragraph(f"{choice.meaning}."))
        for each in (self.always_button, self.edits_button, self.allow_button):
            row.addWidget(each)
        layout.addLayout(row)
        self.preview.setFocus()
        self._settling = QtCore.QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(lambda: self._let_allow(True))
        self._let_allow(False)
        self.fit()

    def showEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """It appears: from now on it is there to be read."""
        super().showEvent(event)
        if not self.allow_button.isEnabled():
            self._settling.start(forms.SETTLING)

    def _let_allow(self, is_allowed: bool) -> None:
        for each in (self.allow_button, self.edits_button, self.always_button):
            each.setEnabled(is_allowed)

    def _allowing(self, name: str, label: str) -> Any:
        """The button of a choice that lets something run; hidden where it is not offered."""
        verb = getattr(self.form, name)
        made = button(label, lambda: self._settle(verb, QtWidgets.QDialog.DialogCode.Accepted))
        if not any(choice.name == name for choice in self.form.choices):
            made.hide()
        return made

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        self.preview.fill(self.form.everything())
        self.everything_button.setEnabled(False)

    def _deny(self) -> None:
        reason = self.reason.text()
        self._settle(lambda: self.form.deny(reason), QtWidgets.QDialog.DialogCode.Rejected)


class QuestionDialog(RequestDialog):
    """
    Claude asks the person something::

        client.on_question(QuestionDialog.handler(window))
    """

    form_class = QuestionForm

    def __init__(self, questions: Any, parent: Any = None) -> None:
        form = questions if isinstance(questions, QuestionForm) else QuestionForm(questions)
        super().__init__(form, parent, form.decline)
        layout = QtWidgets.QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(title_label(form.title))
        self.views = [QuestionView(field, self._changed) for field in form.fields]
        layout.addWidget(QuestionColumn(self.views), 1)
        layout.addWidget(self._message)
        row = QtWidgets.QHBoxLayout()
        self.decline_button = button("&Do not answer", self.reject)
        self.answer_button = button("&Answer", self._answer)
        row.addWidget(self.decline_button)
        row.addStretch(1)
        row.addWidget(self.answer_button)
        layout.addLayout(row)
        self._changed()
        self.fit()

    def _changed(self) -> None:
        """Something was chosen: the button works once every question has an answer."""
        self.answer_button.setEnabled(self.form.missing() is None)

    def _answer(self) -> None:
        self._settle(self.form.answer, QtWidgets.QDialog.DialogCode.Accepted)


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


def button(text: str, clicked: Callable[[], object]) -> Any:
    """A button that the Enter key does not press by itself."""
    made = QtWidgets.QPushButton(text)
    made.setAutoDefault(False)
    made.clicked.connect(lambda *_: clicked())
    return made
