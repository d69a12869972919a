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
from .qt_binding import QtCore, QtGui, QtWidgets, Signal

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
# Where the system's own choice is none: families of letters of one width, the best first; and
# letters that have several widths in others.
FIXED_FAMILIES = ("monospace", "DejaVu Sans Mono", "Liberation Mono", "Courier New")
UNLIKE_LETTERS = "iWm0. "


class DiffView(QtWidgets.QTextEdit):  # type: ignore[misc]
    """The lines of a preview, coloured by their kind, in letters of one width."""

    def __init__(self, lines: Sequence[Line]) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAcceptRichText(False)
        # Wrapped: behind many blanks, the rest of a line would be where nobody looks.
        self.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAnywhere)
        self.setFont(fixed_font())
        self.document().setDocumentMargin(MARGIN)
        self.fill(lines)

    def fill(self, lines: Sequence[Line]) -> None:
        """Show lines instead of what is there."""
        self.clear()
        known = colours_of(self)
        cursor = self.textCursor()
        for number, line in enumerate(lines):
            background = known[line.kind] if line.kind in ("added", "removed", "hunk") else ""
            text = known["note"] if line.kind == "note" else ""
            block, characters = QtGui.QTextBlockFormat(), QtGui.QTextCharFormat()
            if background:
                block.setBackground(QtGui.QColor(background))
            if text:
                characters.setForeground(QtGui.QColor(text))
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
        answered: A signal: it was answered here; whether something runs now.

    """

    answered = Signal(bool)

    def __init__(self, form: Any) -> None:
        super().__init__()
        self.form = form
        self.column = QtWidgets.QVBoxLayout(self)
        self.column.setSpacing(10)
        self.column.addWidget(title_label(form.title))
        self._message = paragraph("")
        self._message.hide()

    def settle(self, verb: Callable[[], object], allows: bool, is_last: bool = False) -> None:
        """Answer by a verb of the form; an answer that is none is told instead, if it can be."""
        try:
            verb()
        except ClaudeError as error:
            logger.warning("a dialog could not answer: %s", error)
            if self.form.is_open and not is_last:
                self._message.setText(str(error))
                self._message.show()
                return
        self.answered.emit(allows)


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
        self.preview.setAccessibleName("What would happen")
        self.column.addWidget(self.preview, 1)
        self.reason = QtWidgets.QLineEdit()
        self.reason.setPlaceholderText(forms.REASON)
        self.reason.returnPressed.connect(self._deny)
        self.column.addWidget(self.reason)
        for choice in form.choices:
            if choice.meaning:
                self.column.addWidget(paragraph(f"{choice.meaning}."))
        self.column.addWidget(self._message)
        row = QtWidgets.QHBoxLayout()
        self.deny_button = button("&Deny", self._deny)
        self.everything_button = button(forms.EVERYTHING, self._show_everything)
        row.addWidget(self.deny_button)
        row.addWidget(self.everything_button)
        row.addStretch(1)
        self.always_button = self._allowing("allow_always", "Al&ways allow")
        self.edits_button = self._allowing("accept_edits", "Allow all &edits in this session")
        self.allow_button = self._allowing("allow", "&Allow")
        self._allows = (self.always_button, self.edits_button, self.allow_button)
        for each in self._allows:
            row.addWidget(each)
        self.column.addLayout(row)
        self._settling = QtCore.QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(lambda: self._let_allow(True))
        self._let_allow(False)

    def showEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """It appears: from now on it is there to be read."""
        super().showEvent(event)
        if not self.allow_button.isEnabled():
            self._settling.start(forms.SETTLING)

    def _let_allow(self, is_allowed: bool) -> None:
        for each in self._allows:
            each.setEnabled(is_allowed)

    def _allowing(self, name: str, label: str) -> Any:
        """The button of a choice that lets something run; hidden where it is not offered."""
        verb = getattr(self.form, name)
        made = button(label, lambda: self.settle(verb, True))
        made.setObjectName(f"claude_{name}")
        if not any(choice.name == name for choice in self.form.choices):
            made.hide()
        return made

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        self.preview.fill(self.form.everything())
        self.everything_button.setEnabled(False)

    def _deny(self) -> None:
        reason = self.reason.text()
        self.settle(lambda: self.form.deny(reason), False)


class QuestionsView(RequestView):
    """Claude asks the person something: the questions, and a button that sends the answers."""

    def __init__(self, form: QuestionForm) -> None:
        super().__init__(form)
        self.views = [QuestionView(field, self._changed) for field in form.fields]
        self.column.addWidget(QuestionColumn(self.views), 1)
        self.column.addWidget(self._message)
        row = QtWidgets.QHBoxLayout()
        decline = lambda: self.settle(form.decline, False, is_last=True)  # noqa: E731
        self.decline_button = button("&Do not answer", decline)
        self.answer_button = button("&Answer", lambda: self.settle(form.answer, True))
        self.answer_button.setObjectName("claude_allow")
        row.addWidget(self.decline_button)
        row.addStretch(1)
        row.addWidget(self.answer_button)
        self.column.addLayout(row)
        self._changed()

    def _changed(self) -> None:
        """Something was chosen: the button works once every question has an answer."""
        self.answer_button.setEnabled(self.form.missing() is None)


def view_of(form: Any) -> Any:
    """The view of a form."""
    return QuestionsView(form) if isinstance(form, QuestionForm) else PermissionView(form)


class QuestionView(QtWidgets.QGroupBox):  # type: ignore[misc]
    """
    One question: its options, and a line for an answer of one's own.

    Attributes:
        options: A button for each option.
        other: The line.
        preview: What the option that was chosen last looks like; None if none shows that.

    """

    def __init__(self, field: QuestionField, changed: Callable[[], object]) -> None:
        super().__init__(field.title.replace("&", "&&"))
        self._field = field
        self._changed = changed
        column = QtWidgets.QVBoxLayout(self)
        text = paragraph(field.text)
        font = text.font()
        font.setBold(True)
        text.setFont(font)
        column.addWidget(text)
        kind = QtWidgets.QCheckBox if field.is_multiple else QtWidgets.QRadioButton
        self.options: List[Any] = []
        # Which is not exclusive: the form decides, so that an answer of one's own counts too.
        for number, (label, description) in enumerate(field.options):
            option = kind(label.replace("&", "&&"))
            option.setAutoExclusive(False)
            option.clicked.connect(lambda *_, number=number: self._choose(number))
            self.options.append(option)
            column.addWidget(option)
            if description:
                below = paragraph(description)
                below.setIndent(INDENT)
                below.setForegroundRole(QtGui.QPalette.ColorRole.PlaceholderText)
                column.addWidget(below)
        self.other = QtWidgets.QLineEdit()
        self.other.setPlaceholderText("Other, in your own words")
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
        is_chosen = self.options[number].isChecked() or not self._field.is_multiple
        self._field.choose(number, is_chosen)
        if self.preview is not None:
            self.preview.setPlainText(
                shown_text(self._field.question.options[number].preview or "")
            )
        self._show()

    def _write(self, text: str) -> None:
        self._field.write(text)
        self._show()

    def _show(self) -> None:
        for number, option in enumerate(self.options):
            option.setChecked(number in self._field.chosen)
        if self.other.text() != self._field.other:
            self.other.setText(self._field.other)
        self._changed()


class QuestionColumn(QtWidgets.QScrollArea):  # type: ignore[misc]
    """Views one below the other; as high as they are, if there is room."""

    def __init__(self, views: Sequence[QuestionView]) -> None:
        super().__init__()
        inside = QtWidgets.QWidget()
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
    font = QtGui.QFontDatabase.systemFont(QtGui.QFontDatabase.SystemFont.FixedFont)
    size = size or QtWidgets.QApplication.font().pointSizeF()
    if size > 0:  # or it is one of pixels
        font.setPointSizeF(size)
    if not is_of_one_width(font):
        font.setStyleHint(QtGui.QFont.StyleHint.Monospace)
        for family in (*FIXED_FAMILIES, "monospace"):  # which ends the search if none fits
            font.setFamily(family)
            if is_of_one_width(font):
                break
    return font


def is_of_one_width(font: Any) -> bool:
    """Whether all letters have one width. Measured: not every such font says so of itself."""
    width = QtGui.QFontMetrics(font).horizontalAdvance
    return len({width(letter) for letter in UNLIKE_LETTERS}) == 1


def paragraph(text: str) -> Any:
    """A text of any length, which is plain and can be copied."""
    label = QtWidgets.QLabel()
    label.setTextFormat(QtCore.Qt.TextFormat.PlainText)
    label.setText(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(QtCore.Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def title_label(text: str) -> Any:
    """What a dialog is about."""
    label = paragraph(text)
    font = label.font()
    font.setBold(True)
    font.setPointSizeF(font.pointSizeF() * 1.15)
    label.setFont(font)
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
