"""
The rows of a chat as widgets of Qt: one widget for each, made when it is first seen.

Texts of Claude's and of tools go through ``markdown_to_html``, or are plain: nothing in them
runs or loads anything, and links are followed only by a click, to the web.
"""

from __future__ import annotations

import base64
import math
from typing import Any, Callable, Dict, List

from ..render.chats import Picture, Step
from ..render.html import shortened
from ..render.markdown import code_pieces, escape, markdown_to_html, safe_link
from ..render.presenter import Presenter
from ..render.rows import Row
from .qt_binding import QtCore, QtGui, QtWidgets
from .qt_views import DiffView, button, fixed_font, paragraph, view_of

__all__ = ["RowWidget", "row_widget", "sheet"]

# What is shown of what a tool was called with, or returned, and how high an image may be.
LONGEST_DETAIL = 6_000
HIGHEST = 360
# How much of its line a prompt may take.
BUBBLE = 0.82
# Milliseconds for which a button says that it has copied something.
COPIED = 1200
MARKS = {"done": ("✓", "good"), "failed": ("✗", "bad"), "unfinished": ("●", "wait")}

Colours = Dict[str, str]


class Prose(QtWidgets.QTextBrowser):  # type: ignore[misc]
    """A text that is as high as it is, and scrolls with what is around it."""

    def __init__(self, wraps: bool = True) -> None:
        super().__init__()
        self._wraps = wraps
        never = QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(never)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setSizePolicy(QtWidgets.QSizePolicy.Policy.Expanding, policy().Fixed)
        if wraps:
            self.setHorizontalScrollBarPolicy(never)
        else:
            self.setLineWrapMode(QtWidgets.QTextEdit.LineWrapMode.NoWrap)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._follow)
        self.viewport().setAutoFillBackground(False)
        self.setFocusPolicy(QtCore.Qt.FocusPolicy.ClickFocus)
        self.document().setDocumentMargin(0)
        self.document().setIndentWidth(26)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def show_html(self, html: str, style: str) -> None:
        """Show a document."""
        self.document().setDefaultStyleSheet(style)
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

    def __init__(self, row: Row, presenter: Presenter, changed: Callable[[], None]) -> None:
        super().__init__()
        self.row = row
        self.version = -1
        self.presenter = presenter
        self._told = changed
        self.column = QtWidgets.QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(6)
        self.build()

    def update_row(self, known: Colours) -> None:
        """Draw it, if it is another one than when it was drawn."""
        if self.version != self.row.version:
            self.version = self.row.version
            self.draw(known)

    def build(self) -> None:
        """Make what is always there."""

    def draw(self, known: Colours) -> None:
        """Draw the row as it is now."""

    def text_views(self) -> List[Any]:
        """The texts in it, to be searched."""
        return list(self.findChildren(QtWidgets.QTextEdit))

    def set_open(self, is_open: bool) -> None:
        """Fold or unfold it."""
        self.row.is_open = is_open
        self.version = -1
        self._told()


class ProseRow(RowWidget):
    """What Claude says."""

    def build(self) -> None:
        self.text = Prose()
        self.column.addWidget(self.text)

    def draw(self, known: Colours) -> None:
        self.text.show_html(markdown_to_html(self.row.text), document_style(known))


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
        line = QtWidgets.QHBoxLayout()
        line.addStretch(1)
        line.addWidget(self.bubble)
        self.column.addLayout(line)
        self.column.setContentsMargins(0, 14, 0, 4)
        self.bubble.setAccessibleName("You")

    def draw(self, known: Colours) -> None:
        colour = known["faint" if self.row.kind == "waiting" else "text"]
        waits = "<br><i>waits for the answer before</i>" if self.row.kind == "waiting" else ""
        text = escape(shortened(self.row.text)).replace("\n", "<br>")
        self.text.show_html(f'<div style="color: {colour}">{text}{waits}</div>', "")
        self._widen()

    def resizeEvent(self, event: Any) -> None:  # noqa: N802
        """As wide as the text, within limits."""
        super().resizeEvent(event)
        self._widen()

    def _widen(self) -> None:
        widest = int(self.width() * BUBBLE) - 28
        ruler = self.text.document().clone()
        ruler.setDefaultFont(self.text.font())
        ruler.setTextWidth(-1)
        self.text.setFixedWidth(max(24, min(widest, math.ceil(ruler.idealWidth()) + 2)))


class CodeRow(RowWidget):
    """A block of code, with its language and a button that copies it."""

    def build(self) -> None:
        self.setObjectName("claude_code")
        self.column.setContentsMargins(12, 6, 12, 10)
        self.language = paragraph("")
        self.language.setObjectName("claude_faint")
        self.copy = copy_button(lambda: self.presenter.code_of(self.row))
        line = QtWidgets.QHBoxLayout()
        line.addWidget(self.language)
        line.addStretch(1)
        line.addWidget(self.copy)
        self.column.addLayout(line)
        self.text = Prose(wraps=False)
        self.column.addWidget(self.text)

    def draw(self, known: Colours) -> None:
        self.language.setText(self.row.language or "code")
        self.text.setFont(fixed_font(self.font().pointSizeF() * 0.95))
        pieces = code_pieces(self.row.text, self.row.language)
        html = "".join(
            f'<span style="color: {known[kind]}">{escape(text)}</span>' if kind else escape(text)
            for kind, text in pieces
        )
        self.text.show_html(f'<pre style="color: {known["text"]}">{html}</pre>', PLAIN_PRE)


class FoldedRow(RowWidget):
    """A line that unfolds: what Claude thought, a tool."""

    def build(self) -> None:
        self.setObjectName("claude_card")
        self.head = QtWidgets.QPushButton()
        self.head.setObjectName("claude_head")
        self.head.setAutoDefault(False)
        self.head.clicked.connect(lambda *_: self.set_open(not self.row.is_open))
        line = QtWidgets.QHBoxLayout(self.head)
        line.setContentsMargins(12, 7, 12, 7)
        self.mark, self.name, self.about, self.arrow = (QtWidgets.QLabel() for _ in range(4))
        self.name.setObjectName("claude_name")
        self.about.setObjectName("claude_faint")
        self.arrow.setObjectName("claude_faint")
        self.about.setSizePolicy(policy().Ignored, policy().Preferred)
        for label in (self.mark, self.name, self.about, self.arrow):
            label.setTextFormat(QtCore.Qt.TextFormat.PlainText)
            label.setAttribute(QtCore.Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            line.addWidget(label, 1 if label is self.about else 0)
        self.head.setSizePolicy(policy().Expanding, policy().Fixed)
        self.column.addWidget(self.head)
        self.inside: Any = None

    def draw(self, known: Colours) -> None:
        self.describe(known)
        self.arrow.setText("▾" if self.row.is_open else "▸")
        height = max(self.name.sizeHint().height(), self.about.sizeHint().height())
        self.head.setFixedHeight(height + 14)
        if self.inside is not None:
            self.inside.hide()
            self.inside.deleteLater()
            self.inside = None
        if self.row.is_open:
            self.inside = QtWidgets.QWidget()
            column = QtWidgets.QVBoxLayout(self.inside)
            column.setContentsMargins(12, 0, 12, 10)
            self.fill(column, known)
            self.column.addWidget(self.inside)

    def describe(self, known: Colours) -> None:  # noqa: ARG002
        """The line."""
        self.mark.hide()
        self.name.setText(
            "Thinking" if self.row.kind == "thinking" else "Summary of what was before"
        )
        self.about.setText("")
        self.head.setAccessibleName(self.name.text())

    def fill(self, column: Any, known: Colours) -> None:
        """What is inside."""
        text = Prose()
        style = document_style({**known, "text": known["faint"]})
        text.show_html(markdown_to_html(shortened(self.row.text, LONGEST_DETAIL)), style)
        column.addWidget(text)


class ToolRow(FoldedRow):
    """What Claude does: a line, and inside of it how the tool was called and what it gave."""

    def describe(self, known: Colours) -> None:
        step = self.row.step
        sign, colour = MARKS.get(step.state, ("", "faint"))
        name, about = step.summary(self.presenter.folder)
        decision = f" ({step.decision})" if step.decision in ("denied", "withdrawn") else ""
        self.mark.setText(sign)
        self.mark.setStyleSheet(f"color: {known[colour]}")
        self.name.setText(name)
        self.about.setText(about + decision)
        words = {"done": "done", "failed": "failed"}.get(step.state, "running")
        self.head.setAccessibleName(f"{name} {about}, {words}")

    def fill(self, column: Any, known: Colours) -> None:
        step = self.row.step
        if step.diff:
            column.addWidget(detail(diff_html(step, known), known))
        elif step.input:
            column.addWidget(detail(escape(shortened(step.input_text(), LONGEST_DETAIL)), known))
        for each in step.steps:
            column.addWidget(paragraph(inner_line(each, self.presenter.folder)))
        if step.text:
            column.addWidget(label_of("failed" if step.state == "failed" else "returned"))
            column.addWidget(detail(escape(shortened(step.text, LONGEST_DETAIL)), known))
        add_pictures(column, step.pictures)


class AskingRow(RowWidget):
    """What Claude asks the person, and the buttons that answer."""

    def build(self) -> None:
        self.setObjectName("claude_asking")
        self.column.setContentsMargins(8, 6, 8, 6)
        self.view = view_of(self.row.form)
        self.view.answered.connect(lambda *_: self.presenter.answered(self.row))
        self.column.addWidget(self.view)
        for each in self.view.findChildren(DiffView):
            each.setSizePolicy(policy().Expanding, policy().Fixed)
            each.setFixedHeight(each.sizeHint().height())


class NoteRow(RowWidget):
    """A line that is neither the person's nor Claude's; or what went wrong, with a way out."""

    def build(self) -> None:
        self.text = paragraph("")
        self.column.addWidget(self.text)
        if self.row.kind != "error":
            self.text.setObjectName("claude_faint")
            return
        self.setObjectName("claude_error")
        self.column.setContentsMargins(12, 9, 12, 9)
        again = button("Try again", self.presenter.retry)
        line = QtWidgets.QHBoxLayout()
        line.addWidget(again)
        line.addStretch(1)
        self.column.addLayout(line)

    def draw(self, known: Colours) -> None:  # noqa: ARG002
        self.text.setText(shortened(self.row.text, LONGEST_DETAIL))


class EndRow(NoteRow):
    """The end of an answer: how long it took, what it cost, and a button that copies it."""

    def build(self) -> None:
        super().build()
        self.facts = QtWidgets.QLabel()
        self.facts.setObjectName("claude_faint")
        line = QtWidgets.QHBoxLayout()
        line.addWidget(copy_button(lambda: self.presenter.markdown(self.row.step)))
        line.addWidget(self.facts)
        line.addStretch(1)
        self.column.addLayout(line)

    def draw(self, known: Colours) -> None:
        super().draw(known)
        self.text.setVisible(bool(self.row.text))
        self.facts.setText(self.presenter.facts(self.row.step))


KINDS = {
    "user": UserRow,
    "waiting": UserRow,
    "prose": ProseRow,
    "code": CodeRow,
    "tool": ToolRow,
    "thinking": FoldedRow,
    "summary": FoldedRow,
    "asking": AskingRow,
    "end": EndRow,
}


def row_widget(row: Row, presenter: Presenter, changed: Callable[[], None]) -> RowWidget:
    """The widget of a row."""
    return KINDS.get(row.kind, NoteRow)(row, presenter, changed)


# Parts of rows.


def policy() -> Any:
    """Qt's name for how a widget takes room."""
    return QtWidgets.QSizePolicy.Policy


def detail(html: str, known: Colours) -> Prose:
    """What a tool was called with, or returned, in letters of one width."""
    text = Prose()
    text.setWordWrapMode(QtGui.QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    text.setFont(fixed_font(text.font().pointSizeF() * 0.92))
    text.show_html(f'<pre style="color: {known["soft"]}">{html}</pre>', WRAPPED_PRE)
    return text


def diff_html(step: Step, known: Colours) -> str:
    """The lines of a diff."""
    kinds = {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk"}
    lines = shortened("\n".join(step.diff), LONGEST_DETAIL).split("\n")
    found = ((known.get(kinds.get(line[:1], "")), escape(line) or " ") for line in lines)
    return "".join(
        f'<div style="background-color: {colour or "transparent"}">{line}</div>'
        for colour, line in found
    )


def inner_line(step: Step, folder: str) -> str:
    """What a subagent said or did, in a line."""
    if step.kind == "tool":
        return f"{MARKS.get(step.state, ('', ''))[0]} {' '.join(step.summary(folder))}"
    return " ".join(step.text.split())[:200]


def label_of(words: str) -> Any:
    """What is below it, in a word."""
    made = QtWidgets.QLabel(words)
    made.setObjectName("claude_faint")
    return made


def add_pictures(column: Any, pictures: tuple[Picture, ...]) -> None:
    """Images, as wide as there is room."""
    for picture in pictures:
        image = QtGui.QPixmap()
        if picture.is_shown and image.loadFromData(base64.b64decode(picture.data)):
            label = QtWidgets.QLabel()
            if image.height() > HIGHEST:
                smooth = QtCore.Qt.TransformationMode.SmoothTransformation
                image = image.scaledToHeight(HIGHEST, smooth)
            label.setPixmap(image)
            label.setAccessibleName("image")
            column.addWidget(label)
        else:
            column.addWidget(label_of("an image that cannot be shown"))


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

PLAIN_PRE = "pre { margin: 0; }"
WRAPPED_PRE = "pre { margin: 0; white-space: pre-wrap; }"


def document_style(known: Colours) -> str:
    """The style of Markdown, as far as Qt knows CSS."""
    return (
        f"body, p, li, td, th, h1, h2, h3, h4 {{ color: {known['text']} }}"
        "p { margin: 4px 0 4px 0; line-height: 125% } li { line-height: 125%; margin: 2px 0 }"
        "h1, h2 { font-size: large; margin: 12px 0 4px 0 }"
        "h3, h4, h5 { font-size: medium; margin: 10px 0 4px 0 }"
        f"code {{ background-color: {known['box']}; font-family: {MONOSPACE} }}"
        f"a {{ color: {known['accent']}; text-decoration: none }}"
        f"th {{ background-color: {known['box']} }}"
        f"td, th {{ border: 1px solid {known['edge']}; padding: 4px 9px; text-align: left }}"
        f"table {{ border-collapse: collapse; border-color: {known['edge']}; margin: 6px 0 }}"
        f"blockquote p {{ color: {known['faint']}; margin-left: 2px }}"
        "blockquote { margin: 4px 0 4px 20px }"
        "ul, ol { margin: 2px 0 }"
    )


MONOSPACE = "monospace, 'DejaVu Sans Mono', Consolas, Menlo"


def sheet(known: Colours) -> str:
    """The style of the widgets."""
    return f"""
    #claude_chat, #claude_view, #claude_column {{ background: {known["back"]}; border: none }}
    QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0 }}
    QScrollBar::handle:vertical {{ background: {known["edge"]}; border-radius: 4px;
        min-height: 36px; margin: 1px }}
    QScrollBar::handle:vertical:hover {{ background: {known["faint"]} }}
    QScrollBar::add-line, QScrollBar::sub-line {{ height: 0; width: 0 }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent }}
    #claude_bubble {{ background: {known["bubble"]}; border-radius: 14px }}
    #claude_card {{ border: 1px solid {known["edge"]}; border-radius: 9px;
        background: {known["back"]} }}
    #claude_code {{ border: 1px solid {known["edge"]}; border-radius: 9px;
        background: {known["box"]} }}
    #claude_error {{ background: {known["error"]}; border-radius: 9px }}
    #claude_asking {{ border: 2px solid {known["accent"]}; border-radius: 11px;
        background: {known["box"]} }}
    #claude_column QTextBrowser, #claude_card QLabel {{ background: transparent; border: none }}
    #claude_column QTextBrowser {{ color: {known["text"]} }}
    #claude_head {{ border: none; background: transparent; text-align: left }}
    #claude_head:hover, #claude_quiet:hover {{ background: {known["box"]}; border-radius: 8px }}
    #claude_head:focus, #claude_quiet:focus {{ background: {known["bubble"]}; border-radius: 8px }}
    #claude_name {{ font-weight: 600; color: {known["text"]} }}
    #claude_faint {{ color: {known["faint"]} }}
    #claude_quiet {{ border: none; color: {known["faint"]}; padding: 4px 8px }}
    #claude_quiet::menu-indicator, #claude_title::menu-indicator {{ image: none }}
    #claude_title {{ border: none; color: {known["text"]}; font-weight: 600; padding: 4px 8px }}
    #claude_title:hover {{ background: {known["box"]}; border-radius: 8px }}
    #claude_composer {{ background: {known["back"]}; border: 1px solid {known["edge"]};
        border-radius: 16px }}
    #claude_composer[focused="true"] {{ border: 1px solid {known["accent"]} }}
    #claude_composer QPlainTextEdit {{ background: transparent; border: none;
        color: {known["text"]} }}
    #claude_chip {{ background: {known["box"]}; border: 1px solid {known["edge"]};
        border-radius: 9px; padding: 3px 8px; color: {known["text"]} }}
    #claude_send {{ background: {known["accent"]}; color: {known["back"]}; border: none;
        border-radius: 15px; font-weight: bold }}
    #claude_send:disabled {{ background: {known["edge"]} }}
    #claude_send:focus {{ border: 2px solid {known["text"]} }}
    #claude_allow {{ background: {known["accent"]}; color: {known["back"]}; border: none;
        border-radius: 6px; padding: 6px 16px; font-weight: 600 }}
    #claude_allow:disabled {{ background: {known["edge"]} }}
    #claude_allow:focus {{ border: 2px solid {known["text"]} }}
    """
