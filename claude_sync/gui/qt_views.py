"""
What is inside the dialogs of Qt: the preview of a tool call, and one question.

All texts are shown as plain text: what Claude or the CLI wrote is never taken for markup.
Colours follow the palette, so that they can be read on dark windows, too.
"""

from __future__ import annotations

from typing import Any, Callable, List, Sequence

from ..permissions.forms import Line, QuestionField, shown_text
from .qt_binding import QtCore, QtGui, QtWidgets

__all__ = ["DiffView", "QuestionColumn", "QuestionView", "paragraph", "title_label"]

# By kind of line: the background and the text, on light windows and on dark ones.
LIGHT = {
    "added": ("#e2f6e5", "#11602b"),
    "removed": ("#fde8e8", "#9b1c1c"),
    "hunk": ("#e6effa", "#3a5a85"),
    "note": ("", "#6b7280"),
}
DARK = {
    "added": ("#12351f", "#a5e8b4"),
    "removed": ("#43191c", "#f5b5b5"),
    "hunk": ("#1b2d45", "#a9c6ee"),
    "note": ("", "#9aa3af"),
}
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
        colours = DARK if is_dark(self) else LIGHT
        cursor = self.textCursor()
        for number, line in enumerate(lines):
            background, text = colours.get(line.kind, ("", ""))
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


def fixed_font() -> Any:
    """Letters of one width, as large as others; not every system names such a font."""
    font = QtGui.QFontDatabase.systemFont(QtGui.QFontDatabase.SystemFont.FixedFont)
    size = QtWidgets.QApplication.font().pointSizeF()
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


def is_dark(widget: Any) -> bool:
    """Whether a widget has light letters on a dark ground."""
    palette = widget.palette()
    roles = QtGui.QPalette.ColorRole
    return bool(palette.color(roles.Text).lightness() > palette.color(roles.Base).lightness())
