"""
What a person is asked, as widgets of Qt: inside of dialogs, and of conversations.

All texts are shown as plain text: what Claude or the CLI wrote is never taken for markup.
Colours follow the palette, so that they can be read on dark windows, too.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence

from ..errors import ClaudeError
from ..log import logger
from ..permissions import forms
from ..permissions.forms import Line, PermissionForm, QuestionField, QuestionForm, shown_text
from ..render.rows import Colour, colours
from .dialogs import KEYS
from .qt_binding import QtCore, QtGui, QtWidgets

__all__ = ["DiffView", "PermissionView", "QuestionView", "QuestionsView", "colours_of", "paragraph"]

# What a preview shows without scrolling: so many lines, of so many characters.
FEWEST_LINES = 3
MOST_LINES = 22
MOST_COLUMNS = 100
MARGIN = 8
# So much is comfortable to read.
WIDE = 520
# Of the description below an option.
INDENT = 24
# Of what an option looks like.
PREVIEW_LINES = 12


class DiffView(QtWidgets.QTextEdit):  # type: ignore[misc]
    """The lines of a preview, coloured by their kind, in letters of one width."""

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self.setReadOnly(True)
        # Wrapped: behind many blanks, the rest of a line would be where nobody looks.
        self.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAnywhere)
        self.setFont(fixed_font())
        self.document().setDocumentMargin(MARGIN)
        self.setAccessibleName("What would happen")
        self.fill(lines)

    def fill(self, lines: Sequence[Line]) -> None:
        """Show lines instead of what is there."""
        self.clear()
        known = colours_of(self)
        cursor = self.textCursor()
        for number, line in enumerate(lines):
            block, characters = QtGui.QTextBlockFormat(), QtGui.QTextCharFormat()
            if line.kind in ("added", "removed", "hunk"):
                block.setBackground(QtGui.QColor(known[line.kind]))
            if line.kind == "note":
                characters.setForeground(QtGui.QColor(known["note"]))
            if number:
                cursor.insertBlock(block, characters)
            else:
                cursor.setBlockFormat(block)
            cursor.insertText(line.text, characters)
        self.moveCursor(QtGui.QTextCursor.MoveOperation.Start)
        rows = sum(1 + len(line.text) // MOST_COLUMNS for line in lines)
        self._rows = min(max(rows, FEWEST_LINES), MOST_LINES)
        self._columns = min(max((len(line.text) for line in lines), default=0), MOST_COLUMNS)

    def sizeHint(self) -> Any:  # noqa: N802  (Qt's name)
        """As large as its lines, within limits."""
        metrics = self.fontMetrics()
        bar = self.verticalScrollBar().sizeHint().width()
        around = 2 * MARGIN + 2 * self.frameWidth() + bar
        return QtCore.QSize(
            metrics.horizontalAdvance("m") * self._columns + around,
            metrics.lineSpacing() * self._rows + around,
        )


class RequestView(QtWidgets.QFrame):  # type: ignore[misc]
    """
    What is asked, and the buttons that answer it: in a dialog, or inside of a conversation.

    Attributes:
        form: What it shows and answers.
        buttons: By what they do: ``allow``, ``deny``, ``answer``, ``decline``, ...
        answered: A signal: it was answered here.

    """

    answered = QtCore.Signal()

    def __init__(self, form: Any) -> None:
        super().__init__()
        self.form = form
        self.buttons: Dict[str, Any] = {}
        self.column = QtWidgets.QVBoxLayout(self)
        self.column.setSpacing(10)
        title = paragraph(form.title)
        font = title.font()
        font.setBold(True)
        title.setFont(font)
        self.column.addWidget(title)
        self.message = paragraph("")
        self.message.hide()
        self._row = QtWidgets.QHBoxLayout()

    def end_with_buttons(self) -> None:
        """Below what was added so far."""
        self.column.addWidget(self.message)
        self.column.addLayout(self._row)

    def add_button(self, name: str, label: str, press: Callable[[], object]) -> Any:
        """One more, from the left."""
        if name in KEYS:
            label = label.replace(KEYS[name], f"&{KEYS[name]}", 1)
        made = self.buttons[name] = button(label, press)
        if name in ("allow", "answer"):
            made.setObjectName("claude_strong")
        self._row.addWidget(made)
        return made

    def settle(self, name: str, *arguments: Any) -> None:
        """Answer by a verb of the form; an answer that is none is told instead, if it can be."""
        try:
            getattr(self.form, name)(*arguments)
        except ClaudeError as error:
            logger.warning("a dialog could not answer: %s", error)
            if self.form.is_open:
                self.message.setText(str(error))
                self.message.show()
                return
        self.answered.emit()


class PermissionView(RequestView):
    """
    May Claude use this tool? What would happen, and the choices.

    Nothing is chosen by the Enter key, and nothing is allowed in the first moment: it may
    appear while somebody types, or clicks at what was in its place.
    """

    def __init__(self, form: PermissionForm) -> None:
        super().__init__(form)
        for line in form.details:
            self.column.addWidget(paragraph(line))
        self.preview = DiffView(form.lines)
        self.column.addWidget(self.preview, 1)
        self.reason = QtWidgets.QLineEdit()
        self.reason.setPlaceholderText(forms.REASON)
        self.reason.returnPressed.connect(self._deny)
        self.column.addWidget(self.reason)
        for choice in form.choices:
            if choice.meaning:
                self.column.addWidget(paragraph(f"{choice.meaning}."))
        self.end_with_buttons()
        self.add_button("deny", "Deny", self._deny)
        self.add_button("everything", forms.EVERYTHING, self._show_everything)
        self._row.addStretch(1)
        # What stands first is what is most likely wanted: at the right end.
        for choice in reversed(form.choices):
            if choice.allows:
                self._add(choice.name, choice.label)
        self._settling = QtCore.QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self._settled)

    def _add(self, name: str, label: str) -> None:
        self.add_button(name, label, lambda: self.settle(name)).setEnabled(False)

    def showEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """It appears: from now on it is there to be read."""
        super().showEvent(event)
        if not self.buttons["allow"].isEnabled():
            self._settling.start(forms.SETTLING)

    def _settled(self) -> None:
        for choice in self.form.choices:
            self.buttons[choice.name].setEnabled(True)

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        self.preview.fill(self.form.everything())
        self.buttons["everything"].setEnabled(False)

    def _deny(self) -> None:
        self.settle("deny", self.reason.text())


class QuestionsView(RequestView):
    """Claude asks the person something: the questions, and a button that sends the answers."""

    def __init__(self, form: QuestionForm, scrolls: bool) -> None:
        super().__init__(form)
        self.fields = [QuestionView(field, self._changed) for field in form.fields]
        for each in [QuestionColumn(self.fields)] if scrolls else self.fields:
            self.column.addWidget(each)
        self.end_with_buttons()
        self.add_button("decline", forms.DECLINE, lambda: self.settle("decline"))
        self._row.addStretch(1)
        self.add_button("answer", "Answer", lambda: self.settle("answer"))
        self._changed()

    def _changed(self) -> None:
        """Something was chosen: the button works once every question has an answer."""
        self.buttons["answer"].setEnabled(self.form.missing() is None)


def view_of(form: Any, scrolls: bool = True) -> Any:
    """The view of a form; inside of a conversation it *scrolls* with that."""
    if isinstance(form, QuestionForm):
        return QuestionsView(form, scrolls)
    return PermissionView(form)


class QuestionView(QtWidgets.QGroupBox):  # type: ignore[misc]
    """
    One question: its options, and a line for an answer of one's own.

    Attributes:
        buttons: One for each option.
        other: The line.
        preview: What the option that was chosen last looks like; None if none shows that.

    """

    def __init__(self, field: QuestionField, changed: Callable[[], object]) -> None:
        super().__init__(field.title.replace("&", "&&"))
        self._field = field
        self._changed = changed
        column = QtWidgets.QVBoxLayout(self)
        column.addWidget(paragraph(field.text))
        kind = QtWidgets.QCheckBox if field.is_multiple else QtWidgets.QRadioButton
        self.buttons: List[Any] = []
        for number, (label, description) in enumerate(field.options):
            option = kind(label.replace("&", "&&"))
            # The form decides what is marked, so that an answer of one's own counts, too.
            option.setAutoExclusive(False)
            option.clicked.connect(lambda *_, number=number: self._choose(number))
            self.buttons.append(option)
            column.addWidget(option)
            if description:
                below = paragraph(description)
                below.setIndent(INDENT)
                below.setForegroundRole(QtGui.QPalette.ColorRole.PlaceholderText)
                column.addWidget(below)
        self.other = QtWidgets.QLineEdit()
        self.other.setPlaceholderText(forms.OWN_WORDS)
        self.other.textEdited.connect(self._write)
        column.addWidget(self.other)
        self.preview: Any = None
        if any(option.preview for option in field.question.options):
            self.preview = QtWidgets.QPlainTextEdit()
            self.preview.setReadOnly(True)
            self.preview.setFont(fixed_font())
            self.preview.setFixedHeight(self.preview.fontMetrics().lineSpacing() * PREVIEW_LINES)
            column.addWidget(self.preview)

    def _choose(self, number: int) -> None:
        is_chosen = self.buttons[number].isChecked() or not self._field.is_multiple
        self._field.choose(number, is_chosen)
        if self.preview is not None:
            preview = self._field.question.options[number].preview
            self.preview.setPlainText(shown_text(preview or ""))
        self._show()

    def _write(self, text: str) -> None:
        self._field.write(text)
        self._show()

    def _show(self) -> None:
        for number, option in enumerate(self.buttons):
            option.setChecked(number in self._field.chosen)
        if self.other.text() != self._field.other:
            self.other.setText(self._field.other)
        self._changed()


class QuestionColumn(QtWidgets.QScrollArea):  # type: ignore[misc]
    """Views one below the other; as high as they are, if there is room."""

    def __init__(self, views: Sequence[QuestionView]) -> None:
        super().__init__()
        inside = QtWidgets.QWidget()
        inside.setObjectName("claude_questions")
        column = QtWidgets.QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        for view in views:
            column.addWidget(view)
        column.addStretch(1)
        self.setWidgetResizable(True)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setWidget(inside)

    def sizeHint(self) -> Any:  # noqa: N802  (Qt's name)
        """What is inside, with texts wrapped; beyond the limit it is scrolled."""
        layout = self.widget().layout()
        hint = layout.sizeHint()
        width = max(hint.width(), WIDE) + self.verticalScrollBar().sizeHint().width()
        return QtCore.QSize(width, layout.totalHeightForWidth(width))


def fixed_font(size: float = 0.0) -> Any:
    """Letters of one width, as large as others; not every system names such a font."""
    font = QtGui.QFont("monospace")
    font.setStyleHint(QtGui.QFont.StyleHint.Monospace)
    size = size or QtWidgets.QApplication.font().pointSizeF()
    if size > 0:  # or it is one of pixels
        font.setPointSizeF(size)
    return font


def paragraph(text: str, name: str = "") -> Any:
    """A text of any length, which is plain and can be copied; *name*: of its style."""
    label = QtWidgets.QLabel()
    label.setTextFormat(QtCore.Qt.TextFormat.PlainText)
    label.setText(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(QtCore.Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setObjectName(name)
    return label


def button(text: str, clicked: Callable[[], object]) -> Any:
    """A button that the Enter key does not press by itself."""
    made = QtWidgets.QPushButton(text)
    made.setAutoDefault(False)
    made.clicked.connect(lambda *_: clicked())
    return made


def colours_of(widget: Any) -> Dict[str, str]:
    """The colours of a chat that fit to those of a widget, or of the application."""
    palette, roles = widget.palette(), QtGui.QPalette.ColorRole
    return colours(
        *(rgb(palette.color(role)) for role in (roles.Base, roles.Text, roles.Highlight))
    )


def rgb(colour: Any) -> Colour:
    """A colour of Qt's as three numbers."""
    return colour.red(), colour.green(), colour.blue()
