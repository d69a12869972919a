"""
The rows of a chat as widgets of Qt: one widget for each, made when it is first seen.

Texts of Claude's and of tools go through ``markdown_to_html``, or are plain: nothing in them
runs or loads anything, and links are followed only by a click, to the web.
"""

from __future__ import annotations

import base64
import math
from typing import Any, Callable, Dict, List

from ..render.chats import Picture
from ..render.html import shortened
from ..render.markdown import code_pieces, escape, markdown_to_html, safe_link
from ..render.presenter import Presenter
from ..render.rows import Row
from .chats import FOLDED, HIGHEST, LONGEST_DETAIL, STATES, details, diff_kind, headline
from .qt_binding import QtCore, QtGui, QtWidgets
from .qt_views import DiffView, button, paragraph, view_of

__all__ = ["RowWidget", "row_widget", "sheet"]

# How much of its line a prompt may take.
BUBBLE = 0.82
# Milliseconds for which a button says that it has copied something.
COPIED = 1200

Colours = Dict[str, str]


class Prose(QtWidgets.QTextBrowser):  # type: ignore[misc]
    """A text that is as high as it is, and scrolls with what is around it."""

    def __init__(self, wraps: bool = True) -> None:
        super().__init__()
        self._wraps = wraps
        never = QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(never)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setSizePolicy(POLICY.Expanding, POLICY.Fixed)
        if wraps:
            self.setHorizontalScrollBarPolicy(never)
            self.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        else:
            self.setLineWrapMode(QtWidgets.QTextEdit.LineWrapMode.NoWrap)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._follow)
        self.viewport().setAutoFillBackground(False)
        self.setFocusPolicy(QtCore.Qt.FocusPolicy.ClickFocus)
        self.document().setDocumentMargin(0)
        self.document().setIndentWidth(26)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def show_html(self, html: str, known: Colours) -> None:
        """Show a document."""
        self.document().setDefaultStyleSheet(document_style(known))
        self.setHtml(html)
        self._fit()

    def _fit(self, *_: object) -> None:
        size = self.document().size()
        height = math.ceil(size.height()) + 1
        if not self._wraps and size.width() > self.viewport().width():
            height += self.horizontalScrollBar().sizeHint().height()
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def resizeEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """Another width: another height."""
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: Any) -> None:  # noqa: N802
        """The conversation scrolls, and not this; sideways, a long line does."""
        if not self._wraps and abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def loadResource(self, *_: object) -> Any:  # noqa: N802
        """Nothing is loaded."""
        return None

    def _follow(self, link: Any) -> None:
        address = link.toString()
        if safe_link(address) is not None:
            QtGui.QDesktopServices.openUrl(QtCore.QUrl(address))


class RowWidget(QtWidgets.QFrame):  # type: ignore[misc]
    """
    One row.

    Attributes:
        row: What it draws.
        version: Of the row, when it was drawn.

    """

    def __init__(self, row: Row, presenter: Presenter, toggle: Callable[[Row], None]) -> None:
        super().__init__()
        self.row = row
        self.version = -1
        self.presenter = presenter
        self.toggle = toggle
        self.column = QtWidgets.QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(6)
        self.build()

    def build(self) -> None:
        """Make what is always there."""

    def draw(self, known: Colours) -> None:
        """Draw the row as it is now."""

    def add_line(self, *widgets: Any) -> None:
        """Add widgets side by side, at the left; None for the room between them."""
        line = QtWidgets.QHBoxLayout()
        for each in widgets:
            if each is None:
                line.addStretch(1)
            else:
                line.addWidget(each)
        self.column.addLayout(line)


class ProseRow(RowWidget):
    """What Claude says."""

    def build(self) -> None:
        self.text = Prose()
        self.column.addWidget(self.text)

    def draw(self, known: Colours) -> None:
        self.text.show_html(markdown_of(self.row.text), known)


class UserRow(RowWidget):
    """What the person said, at the right; a prompt that waits is pale."""

    def build(self) -> None:
        self.bubble = QtWidgets.QFrame()
        self.bubble.setObjectName("claude_bubble")
        inside = QtWidgets.QVBoxLayout(self.bubble)
        inside.setContentsMargins(14, 9, 14, 9)
        self.text = Prose()
        inside.addWidget(self.text)
        add_pictures(inside, self.row.step.pictures)
        self.add_line(None, self.bubble)
        self.column.setContentsMargins(0, 14, 0, 4)
        self.bubble.setAccessibleName("You")
        self._wide = 0

    def draw(self, known: Colours) -> None:
        text = escape(shortened(self.row.text)).replace("\n", "<br>")
        if self.row.kind == "waiting":
            known = {**known, "text": known["faint"]}
            text += "<br><i>waits for the answer before</i>"
        self.text.show_html(f'<div style="color: {known["text"]}">{text}</div>', known)
        self.text.ensurePolished()  # it has its font now
        ruler = self.text.document().clone()
        ruler.setDefaultFont(self.text.font())
        ruler.setTextWidth(-1)
        self._wide = math.ceil(ruler.idealWidth()) + 2
        self._widen()

    def resizeEvent(self, event: Any) -> None:  # noqa: N802
        """As wide as the text, within limits."""
        super().resizeEvent(event)
        self._widen()

    def _widen(self) -> None:
        widest = int(self.width() * BUBBLE) - 28
        self.text.setFixedWidth(max(24, min(widest, self._wide)))


class CodeRow(RowWidget):
    """A block of code, with its language and a button that copies it."""

    def build(self) -> None:
        self.setObjectName("claude_code")
        self.column.setContentsMargins(12, 6, 12, 10)
        self.language = paragraph("", "claude_faint")
        copy = copy_button(lambda: self.presenter.code_of(self.row))
        self.add_line(self.language, None, copy)
        self.text = Prose(wraps=False)
        self.column.addWidget(self.text)

    def draw(self, known: Colours) -> None:
        self.language.setText(self.row.language or "code")
        html = "".join(
            f'<span style="color: {known[kind]}">{escape(text)}</span>' if kind else escape(text)
            for kind, text in code_pieces(self.row.text, self.row.language)
        )
        self.text.show_html(f"<pre>{html}</pre>", known)


class FoldedRow(RowWidget):
    """A line that unfolds: what Claude thought; a tool: how it was called, and what it gave."""

    def build(self) -> None:
        self.setObjectName("claude_card")
        self.head = button("", lambda: self.toggle(self.row))
        self.head.setObjectName("claude_head")
        line = QtWidgets.QHBoxLayout(self.head)
        line.setContentsMargins(12, 7, 12, 7)
        self.mark, self.name, self.about, self.arrow = (
            paragraph("", "claude_faint") for _ in "1234"
        )
        self.name.setObjectName("claude_name")
        for label in (self.mark, self.name, self.about, self.arrow):
            label.setAttribute(QtCore.Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            label.setWordWrap(False)
            line.addWidget(label, 1 if label is self.about else 0)
        self.about.setSizePolicy(POLICY.Ignored, POLICY.Preferred)
        self.head.setSizePolicy(POLICY.Expanding, POLICY.Fixed)
        self.column.addWidget(self.head)
        self.inside: Any = None

    def draw(self, known: Colours) -> None:
        row = self.row
        name, about, state = FOLDED[row.kind], "", ""
        if row.kind == "tool":
            sign, colour, state = STATES.get(row.step.state, ("", "faint", ""))
            name, about = headline(row.step, self.presenter.folder)
            self.mark.setText(sign)
            self.mark.setStyleSheet(f"color: {known[colour]}")
        self.mark.setVisible(bool(state))
        self.name.setText(name)
        self.about.setText(about)
        self.head.setAccessibleName(" ".join(filter(None, (name, about, state))))
        self.arrow.setText("▾" if row.is_open else "▸")
        height = max(self.name.sizeHint().height(), self.about.sizeHint().height())
        self.head.setFixedHeight(height + 14)
        if self.inside is not None:
            self.inside.hide()
            self.inside.deleteLater()
            self.inside = None
        if row.is_open:
            self.inside = QtWidgets.QWidget()
            column = QtWidgets.QVBoxLayout(self.inside)
            column.setContentsMargins(12, 0, 12, 10)
            self.fill(column, known)
            self.column.addWidget(self.inside)

    def fill(self, column: Any, known: Colours) -> None:
        """What is inside."""
        step = self.row.step
        if self.row.kind != "tool":
            text = Prose()
            html = markdown_of(shortened(self.row.text, LONGEST_DETAIL))
            text.show_html(html, {**known, "text": known["faint"]})
            column.addWidget(text)
            return
        for kind, words in details(step, self.presenter.folder):
            if kind in ("label", "line"):
                column.addWidget(paragraph(words, "claude_faint" if kind == "label" else ""))
                continue
            html = diff_html(words, known) if kind == "diff" else escape(words)
            text = Prose()
            text.show_html(f"<pre>{html}</pre>", {**known, "text": known["soft"]})
            column.addWidget(text)
        add_pictures(column, step.pictures)


class AskingRow(RowWidget):
    """What Claude asks the person, and the buttons that answer."""

    def build(self) -> None:
        self.setObjectName("claude_asking")
        self.column.setContentsMargins(8, 6, 8, 6)
        self.view = view_of(self.row.form, scrolls=False)
        self.view.answered.connect(lambda: self.presenter.answered(self.row))
        self.column.addWidget(self.view)
        for each in self.view.findChildren(DiffView):
            each.setSizePolicy(POLICY.Expanding, POLICY.Fixed)
            each.setFixedHeight(each.sizeHint().height())


class NoteRow(RowWidget):
    """A line that is neither the person's nor Claude's; or what went wrong, with a way out."""

    def build(self) -> None:
        is_error = self.row.kind == "error"
        self.text = paragraph("", "" if is_error else "claude_faint")
        self.column.addWidget(self.text)
        if is_error:
            self.setObjectName("claude_error")
            self.column.setContentsMargins(12, 9, 12, 9)
            self.add_line(button("Try again", self.presenter.retry), None)

    def draw(self, known: Colours) -> None:  # noqa: ARG002
        self.text.setText(shortened(self.row.text, LONGEST_DETAIL))


class EndRow(NoteRow):
    """The end of an answer: how long it took, what it cost, and a button that copies it."""

    def build(self) -> None:
        super().build()
        self.facts = paragraph("", "claude_faint")
        self.facts.setWordWrap(False)
        copy = copy_button(lambda: self.presenter.markdown(self.row.step))
        self.add_line(copy, self.facts, None)

    def draw(self, known: Colours) -> None:
        super().draw(known)
        self.text.setVisible(bool(self.row.text))
        self.facts.setText(self.presenter.facts(self.row.step))


KINDS = {
    "user": UserRow,
    "waiting": UserRow,
    "prose": ProseRow,
    "code": CodeRow,
    **dict.fromkeys(FOLDED, FoldedRow),
    "asking": AskingRow,
    "end": EndRow,
}


def row_widget(row: Row, presenter: Presenter, toggle: Callable[[Row], None]) -> RowWidget:
    """The widget of a row."""
    return KINDS.get(row.kind, NoteRow)(row, presenter, toggle)


# Parts of rows.

POLICY = QtWidgets.QSizePolicy.Policy


def markdown_of(text: str) -> str:
    """Markdown as far as Qt knows HTML: a cell with a style of its own would lose its borders."""
    html = markdown_to_html(text).replace("<hr>", f"<p>{'─' * 24}</p>")
    for side in ("left", "center", "right"):
        html = html.replace(f' style="text-align:{side}"', f' align="{side}"')
    html = html.replace("<th>", '<th align="left">')
    return html.replace("<del>", "<s>").replace("</del>", "</s>")


def diff_html(diff: str, known: Colours) -> str:
    """The lines of a diff."""
    lines: List[str] = []
    for line in diff.split("\n"):
        colour = known.get(diff_kind(line), "transparent")
        lines.append(f'<div style="background-color: {colour}">{escape(line) or " "}</div>')
    return "".join(lines)


def add_pictures(column: Any, pictures: tuple[Picture, ...]) -> None:
    """Images, not too high."""
    for picture in pictures:
        image = QtGui.QPixmap()
        label = paragraph("", "claude_faint")
        if picture.is_shown and image.loadFromData(base64.b64decode(picture.data)):
            if image.height() > HIGHEST:
                smooth = QtCore.Qt.TransformationMode.SmoothTransformation
                image = image.scaledToHeight(HIGHEST, smooth)
            label.setPixmap(image)
            label.setAccessibleName("image")
        else:
            label.setText("an image that cannot be shown")
        column.addWidget(label)


def copy_button(text: Callable[[], str]) -> Any:
    """A button that copies a text, and says so for a moment."""
    made = QtWidgets.QToolButton()
    made.setObjectName("claude_quiet")
    made.setText("Copy")
    back = QtCore.QTimer(made)
    back.setSingleShot(True)
    back.timeout.connect(lambda: made.setText("Copy"))

    def copy() -> None:
        QtWidgets.QApplication.clipboard().setText(text())
        made.setText("Copied")
        back.start(COPIED)

    made.clicked.connect(lambda *_: copy())
    return made


# Styles.


def document_style(known: Colours) -> str:
    """The style of Markdown, as far as Qt knows CSS."""
    return f"""
    body, p, li, td, th, pre, h1, h2, h3, h4 {{ color: {known["text"]} }}
    p {{ margin: 4px 0; line-height: 125% }}
    li {{ line-height: 125%; margin: 2px 0 }}
    h1, h2 {{ font-size: large; margin: 12px 0 4px 0 }}
    h3, h4, h5 {{ font-size: medium; margin: 10px 0 4px 0 }}
    pre, code {{ font-family: monospace; }}
    pre {{ margin: 0; white-space: pre-wrap }}
    code {{ background-color: {known["box"]} }}
    a {{ color: {known["accent"]}; text-decoration: none }}
    th {{ background-color: {known["box"]} }}
    td, th {{ border: 1px solid {known["edge"]}; padding: 4px 9px }}
    table {{ border-collapse: collapse; border-color: {known["edge"]}; margin: 6px 0 }}
    blockquote p {{ color: {known["faint"]}; margin-left: 2px }}
    blockquote {{ margin: 4px 0 4px 20px }}
    ul, ol {{ margin: 2px 0 }}
    """


def sheet(known: Colours, points: float) -> str:
    """The style of the widgets; the letters of the conversation have so many *points*."""
    return f"""
    #claude_chat, #claude_view, #claude_column {{ background: {known["back"]}; border: none }}
    #claude_column *, #claude_entry {{ font-size: {points}pt }}
    QScrollBar {{ background: transparent; margin: 0 }}
    QScrollBar:vertical {{ width: 10px }}
    QScrollBar:horizontal {{ height: 10px }}
    QScrollBar::handle {{ background: {known["edge"]}; border-radius: 4px; margin: 1px }}
    QScrollBar::handle:vertical {{ min-height: 36px }}
    QScrollBar::handle:horizontal {{ min-width: 36px }}
    QScrollBar::handle:hover {{ background: {known["faint"]} }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0 }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent }}
    #claude_bubble {{ background: {known["bubble"]}; border-radius: 14px }}
    #claude_card, #claude_code {{ border: 1px solid {known["edge"]}; border-radius: 9px }}
    #claude_code {{ background: {known["box"]} }}
    #claude_error {{ background: {known["error"]}; border-radius: 9px }}
    #claude_asking {{ border: 2px solid {known["accent"]}; border-radius: 11px;
        background: {known["box"]} }}
    #claude_column QGroupBox {{ background: transparent; border: none; margin-top: 22px }}
    #claude_column QGroupBox::title {{ subcontrol-origin: margin; color: {known["faint"]} }}
    #claude_column QCheckBox::indicator, #claude_column QRadioButton::indicator {{ width: 13px;
        height: 13px; border: 1px solid {known["faint"]}; background: {known["back"]} }}
    #claude_column QRadioButton::indicator {{ border-radius: 7px }}
    #claude_column QCheckBox::indicator:checked, #claude_column QRadioButton::indicator:checked {{
        background: {known["accent"]} }}
    #claude_column QPushButton {{ background: {known["back"]}; color: {known["text"]};
        border: 1px solid {known["edge"]}; border-radius: 6px; padding: 6px 14px }}
    #claude_column QPushButton:hover {{ background: {known["bubble"]} }}
    #claude_column QPushButton:focus {{ border: 1px solid {known["accent"]} }}
    #claude_column QPushButton:disabled {{ color: {known["faint"]} }}
    #claude_column QTextBrowser, #claude_column QLabel {{ background: transparent; border: none;
        color: {known["text"]} }}
    #claude_column #claude_head {{ border: none; background: transparent; border-radius: 8px }}
    #claude_column #claude_head:hover, #claude_quiet:hover {{ background: {known["box"]} }}
    #claude_column #claude_head:focus, #claude_quiet:focus {{ background: {known["bubble"]} }}
    #claude_column #claude_name {{ font-weight: 600 }}
    #claude_column #claude_faint, #claude_faint {{ color: {known["faint"]} }}
    #claude_quiet {{ border: none; color: {known["faint"]}; padding: 4px 8px; border-radius: 8px }}
    #claude_quiet::menu-indicator {{ image: none }}
    #claude_composer {{ background: {known["back"]}; border: 1px solid {known["edge"]};
        border-radius: 16px }}
    #claude_composer[focused="true"] {{ border: 1px solid {known["accent"]} }}
    #claude_entry {{ background: transparent; border: none; color: {known["text"]} }}
    #claude_chip {{ background: {known["box"]}; border: 1px solid {known["edge"]};
        border-radius: 9px; padding: 3px 8px; color: {known["text"]} }}
    #claude_send, #claude_column #claude_strong {{ background: {known["accent"]};
        color: {known["back"]}; border: none; font-weight: bold }}
    #claude_send {{ border-radius: 15px }}
    #claude_send:disabled, #claude_column #claude_strong:disabled {{
        background: {known["edge"]} }}
    #claude_send:focus, #claude_column #claude_strong:focus {{ border: 2px solid {known["text"]} }}
    """
