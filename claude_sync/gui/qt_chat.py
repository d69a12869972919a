"""
A whole chat in one line, as a widget of Qt.

::

    keys, buttons -> [ChatWidget] -> presenter -> client
    client -> presenter -> rows -> [Conversation] -> widgets of the rows that are near

Only rows near the place where the person reads have widgets, so a long conversation takes
no more memory and time than a short one. What streams in is drawn at most once in a frame,
and less often when drawing takes long: the event loop stays free.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Optional

from ..client import Client
from ..render.presenter import EMPTY, Presenter
from ..render.rows import Row
from .chats import (
    MOST_LINES,
    TICK,
    ZOOM,
    ChatMethods,
    Entry,
    RowList,
    Search,
    gauge,
    notice,
    picked,
    working,
)
from .qt_binding import QtCore, QtGui, QtWidgets, check_application, is_valid
from .qt_frames import QtAttachment
from .qt_rows import RowWidget, row_widget, sheet
from .qt_views import button, colours_of, paragraph

__all__ = ["ChatWidget"]

# The conversation is so wide at most, in widths of a letter.
WIDEST = 90
# A window that the program gives no size.
SIZE = (720, 640)
# Around the conversation, and between its rows, in pixels.
TOP, BOTTOM, GAP = 14, 18, 8
# How near to the end counts as the end, in pixels.
NEAR = 40
FILES = "Conversations (*.md *.html *.json)"

Keys = QtCore.Qt.Key


class ChatWidget(ChatMethods, QtWidgets.QWidget):  # type: ignore[misc]
    """
    A chat with Claude::

        chat = ChatWidget(model="sonnet", cwd="project")
        chat.show()

    Enter sends, Shift+Enter begins a new line, Esc stops, Up edits the last prompt, Ctrl+F
    searches, Ctrl and + or - zoom. You can drop and paste files. Permission requests and questions
    appear inside the conversation, unless the client already has handlers for them. The chat uses
    the colors and the font of the application, light or dark.

    Args:
        parent: The widget that contains it.
        client: An existing client, made without ``post=``. It stays open when the widget is
            destroyed. Without it, the widget makes a client from *options*, those of ``Client``,
            and closes it.

    """

    def __init__(self, parent: Any = None, client: Optional[Client] = None, **options: Any) -> None:
        check_application("ChatWidget", widgets=True)
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.setObjectName("claude_chat")
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_StyledBackground)
        self._look: Any = None
        self._timer = timer_of(self, self.draw)
        self._ticks = timer_of(self, self.changed)
        self.conversation = Conversation(self)
        self.composer = Composer(self)
        self.search = SearchBar(self)
        self._build()
        self.presenter = presenter = Presenter(self, client, options)
        self.destroyed.connect(lambda *_: presenter.end())
        self.restyle()
        timer_of(self, presenter.start).start(0)
        self.setFocusProxy(self.composer.entry)
        if parent is None:
            self.composer.entry.setFocus()

    # The presenter's view.

    def connect(self, client: Client, closes: bool) -> QtAttachment:
        """See :class:`~claude_sync.render.presenter.View`."""
        return QtAttachment(client, self if closes else None)

    def changed(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        if not self._timer.isActive():
            self._timer.start(self.until_due())

    def ask_attention(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        QtWidgets.QApplication.alert(self)

    def sizeHint(self) -> Any:  # noqa: N802  (Qt's name)
        """The size of a window that the program gives no other."""
        return QtCore.QSize(*SIZE)

    # Its parts.

    def _build(self) -> None:
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QtWidgets.QHBoxLayout()
        head.setContentsMargins(8, 6, 8, 6)
        self.title = quiet("", "Conversations", self)
        menu_of(self.title, self.conversations)
        self.new = quiet("+ New", "New conversation", self)
        self.new.clicked.connect(lambda *_: self.clear())
        self.more = quiet("⋯", "More", self)
        menu = menu_of(self.more, None)
        for words, keys, function in self.actions():
            action = menu.addAction(words)
            action.setShortcut(QtGui.QKeySequence(keys))
            action.setShortcutContext(QtCore.Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.triggered.connect(lambda *_, function=function: function())
            self.addAction(action)
        head.addWidget(self.title)
        head.addStretch(1)
        head.addWidget(self.new)
        head.addWidget(self.more)
        column.addLayout(head)
        column.addWidget(self.search)
        column.addWidget(self.conversation, 1)
        column.addWidget(self.composer)

    def draw(self) -> None:
        """Draw what has changed."""
        super().draw()
        self.title.setText(plain(f"{self.presenter.title}  ▾"))
        if self.presenter.is_working and not self._ticks.isActive():
            self._ticks.start(TICK)

    # Looks.

    def changeEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """Other colours or fonts."""
        super().changeEvent(event)
        kinds = QtCore.QEvent.Type
        changes = (kinds.PaletteChange, kinds.ApplicationPaletteChange, kinds.FontChange)
        if event.type() in changes and self._look is not None:
            timer_of(self, self.restyle).start(0)

    def restyle(self) -> None:
        """Take the colours and the font of the application again."""
        # Its own palette is what the style sheet makes of it.
        known = colours_of(self.parentWidget() or QtWidgets.QApplication)
        points = QtWidgets.QApplication.font(self).pointSizeF() * ZOOM**self.letters
        if self._look != (known, points):
            self._look = (known, points)
            self.setStyleSheet(sheet(known, points))
            self.conversation.restyle(known)
            self.changed()

    def copy_text(self, text: str) -> None:
        """Put a text into the clipboard."""
        QtWidgets.QApplication.clipboard().setText(text)

    def ask_path(self) -> str:
        """Let the person choose a file to write."""
        path, _ = QtWidgets.QFileDialog.getSaveFileName(
            self, "Export the conversation", "conversation.html", FILES
        )
        return str(path)

    # Files that are dropped.

    def dragEnterEvent(self, event: Any) -> None:  # noqa: N802
        """Files and images may be dropped."""
        if event.mimeData().hasUrls() or event.mimeData().hasImage():
            event.acceptProposedAction()

    def dropEvent(self, event: Any) -> None:  # noqa: N802
        """They go with the next prompt."""
        self.presenter.attach(attachable(event.mimeData()))
        event.acceptProposedAction()


class Conversation(RowList, QtWidgets.QScrollArea):  # type: ignore[misc]
    """The rows, and which of them have widgets."""

    def __init__(self, chat: ChatWidget) -> None:
        super().__init__()
        self.begin()
        self.setObjectName("claude_view")
        self.setAccessibleName("Conversation")
        self._chat = chat
        self._from_end: Optional[int] = None
        self._side = 0
        self.colours: Dict[str, str] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = QtWidgets.QWidget()
        self.column.setObjectName("claude_column")
        self.earlier = button("Earlier messages", self._show_earlier)
        self.empty = paragraph(EMPTY, "claude_faint")
        self.empty.setAlignment(QtCore.Qt.AlignmentFlag.AlignCenter)
        self.earlier.setParent(self.column)
        self.empty.setParent(self.column)
        self.setWidget(self.column)
        self._bar = self.verticalScrollBar()
        self._bar.valueChanged.connect(self._scrolled)
        self._bar.rangeChanged.connect(self._ranged)

    def restyle(self, known: Dict[str, str]) -> None:
        """Draw everything again, in other colours."""
        self.colours = known
        self.redraw()
        self._set_margins()

    def draw(self, rows: List[Row], seconds: float = math.inf) -> bool:
        """See :class:`RowList`."""
        is_complete = super().draw(rows, seconds)
        self.empty.setVisible(not rows)
        self.earlier.setVisible(self.reach.first > 0)
        self._arrange()
        for widget in self.shown:
            widget.show()
        return is_complete

    def _arrange(self) -> None:
        """
        Place the rows one below the other, as high as they are.

        A layout would do it again for each one that is added, and squeeze all others until there
        is room for it.
        """
        side, top = self._side, TOP
        width = self.viewport().width() - 2 * side
        around = [each for each in (self.earlier, self.empty) if not each.isHidden()]
        for widget in (*around, *self.shown):
            height = widget.heightForWidth(width)
            if widget is self.empty:
                height = self.viewport().height() - TOP - BOTTOM
            elif height < 0:  # it does not depend on the width
                height = widget.sizeHint().height()
            widget.setGeometry(side, top, width, height)
            top += height + GAP
        self.column.setMinimumHeight(top - GAP + BOTTOM)

    def eventFilter(self, watched: Any, event: Any) -> bool:  # noqa: N802  (Qt's name)
        """A row has another height."""
        if watched is self.column and event.type() == QtCore.QEvent.Type.LayoutRequest:
            self._arrange()
        return bool(super().eventFilter(watched, event))

    def make(self, place: int, row: Row) -> RowWidget:  # noqa: ARG002
        """See :class:`RowList`."""
        widget = row_widget(row, self._chat.presenter, self.toggle)
        widget.setParent(self.column)
        return widget

    def draw_row(self, place: int) -> None:
        """See :class:`RowList`."""
        self.shown[place].draw(self.colours)

    def remove(self, place: int) -> None:
        """See :class:`RowList`."""
        self.shown[place].hide()
        self.shown[place].deleteLater()

    def follow(self) -> None:
        """Go to the end, and stay there."""
        self.reach.follows = True
        self._bar.setValue(self._bar.maximum())
        self._chat.changed()

    def go_to(self, row: Row, words: str) -> None:
        """Show a row, and select the words in it."""
        widget = self.shown[self.reveal(row)]
        self._arrange()
        for text in widget.findChildren(QtWidgets.QTextEdit):
            text.moveCursor(QtGui.QTextCursor.MoveOperation.Start)
            if text.find(words):
                break
        self.ensureWidgetVisible(widget, 0, NEAR)

    def _show_earlier(self) -> None:
        self._from_end = self._bar.maximum() - self._bar.value()
        self.reach.earlier()
        self.draw(self.rows)

    def _scrolled(self, value: int) -> None:
        self.reach.follows = value >= self._bar.maximum() - NEAR
        if self.reach.follows and self.reach.last < len(self.rows):
            self._chat.changed()

    def _ranged(self, _: int, maximum: int) -> None:
        if self._from_end is not None:
            value, self._from_end = maximum - self._from_end, None
            self._bar.setValue(value)
        elif self.reach.follows:
            self._bar.setValue(maximum)

    def resizeEvent(self, event: Any) -> None:  # noqa: N802
        """Another width; the end stays in sight."""
        follows = self.reach.follows
        super().resizeEvent(event)
        self._set_margins()
        self.reach.follows = follows
        if follows:
            self._bar.setValue(self._bar.maximum())

    def _set_margins(self) -> None:
        widest = self.column.fontMetrics().averageCharWidth() * WIDEST
        side = max(18, (self.viewport().width() - widest) // 2)
        self._side = side
        self._arrange()
        self._chat.composer.set_side(side)


class PromptEdit(QtWidgets.QPlainTextEdit):  # type: ignore[misc]
    """Where a person types."""

    sent = QtCore.Signal()
    wants_edit = QtCore.Signal()
    pasted = QtCore.Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("claude_entry")
        self.setPlaceholderText("Ask Claude")
        self.setAccessibleName("Prompt")
        self.setTabChangesFocus(True)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.textChanged.connect(self.fit)
        self.document().setDocumentMargin(2)

    def fit(self) -> None:
        """As high as what is typed, within limits."""
        lines = min(max(self.document().size().height(), 1), MOST_LINES)
        self.setFixedHeight(int(self.fontMetrics().lineSpacing() * lines) + 10)

    def resizeEvent(self, event: Any) -> None:  # noqa: N802
        """Another width may have other lines."""
        super().resizeEvent(event)
        self.fit()

    def keyPressEvent(self, event: Any) -> None:  # noqa: N802
        """Enter sends; Up, in an empty line, edits the last prompt."""
        shift = event.modifiers() & QtCore.Qt.KeyboardModifier.ShiftModifier
        if event.key() in (Keys.Key_Return, Keys.Key_Enter) and not shift:
            self.sent.emit()
        elif event.key() == Keys.Key_Up and not self.toPlainText():
            self.wants_edit.emit()
        else:
            super().keyPressEvent(event)

    def canInsertFromMimeData(self, data: Any) -> bool:  # noqa: N802
        """Images and files, too."""
        return bool(data.hasImage() or data.hasUrls() or super().canInsertFromMimeData(data))

    def insertFromMimeData(self, data: Any) -> None:  # noqa: N802
        """Text is inserted; what else there is goes with the prompt."""
        found = attachable(data)
        if found:
            self.pasted.emit(found)
        else:
            super().insertFromMimeData(data)


class Composer(QtWidgets.QWidget):  # type: ignore[misc]
    """What a person types, and the buttons around it."""

    def __init__(self, chat: ChatWidget) -> None:
        super().__init__()
        self._chat = chat
        self._drawn: List[Any] = []
        self.entry = PromptEdit()
        self.entry.sent.connect(self._send)
        self.entry.wants_edit.connect(lambda: self.set_text(chat.presenter.edit()))
        self.entry.pasted.connect(lambda found: chat.presenter.attach(found))
        self.entry.textChanged.connect(self._draw_button)
        self.entry.installEventFilter(self)
        self.frame = QtWidgets.QFrame()
        self.frame.setObjectName("claude_composer")
        self.working, self.notice, self.gauge = (paragraph("", "claude_faint") for _ in range(3))
        self.gauge.setWordWrap(False)
        self.gauge.setAccessibleName("Context and cost")
        self.chips = QtWidgets.QHBoxLayout()
        self.attach = quiet("+", "Attach files", self)
        self.attach.clicked.connect(lambda *_: self._choose_files())
        self.mode = quiet("", "Permission mode", self)
        menu_of(self.mode, chat.modes)
        self.model = quiet("", "Model", self)
        menu_of(self.model, chat.models)
        self.button = button("↑", self._send_or_stop)
        self.button.setObjectName("claude_send")
        self.button.setFixedSize(30, 30)
        inside = QtWidgets.QVBoxLayout(self.frame)
        inside.setContentsMargins(12, 9, 9, 7)
        inside.setSpacing(4)
        inside.addLayout(self.chips)
        inside.addWidget(self.entry)
        row = QtWidgets.QHBoxLayout()
        for each in (self.attach, self.mode, self.model):
            row.addWidget(each)
        row.addStretch(1)
        row.addWidget(self.gauge)
        row.addWidget(self.button)
        inside.addLayout(row)
        column = QtWidgets.QVBoxLayout(self)
        for each in (self.working, self.notice, self.frame):
            column.addWidget(each)

    def set_side(self, side: int) -> None:
        """Be as wide as the conversation."""
        self.layout().setContentsMargins(side - 6, 4, side - 6, 12)

    def set_text(self, text: str) -> None:
        """Have something else typed."""
        self.entry.setPlainText(text)
        self.entry.moveCursor(QtGui.QTextCursor.MoveOperation.End)

    def draw(self, presenter: Presenter) -> None:
        """Draw what is known of the conversation."""
        for label, text in ((self.working, working(presenter)), (self.notice, notice(presenter))):
            label.setText(text)
            label.setVisible(bool(text))
        for each, words in zip((self.mode, self.model), picked(presenter)):
            each.setText(plain(words))
        self.gauge.setText(gauge(presenter))
        if presenter.attached != self._drawn:
            self._drawn = list(presenter.attached)
            self._draw_chips(presenter)
        self._draw_button()

    def _draw_chips(self, presenter: Presenter) -> None:
        while self.chips.count():
            widget = self.chips.takeAt(0).widget()
            if widget is not None:
                widget.deleteLater()
        for number, each in enumerate(self._drawn):
            remove = partial(presenter.remove_attached, number)
            chip = button(plain(f"{each.name}  ✕"), remove)
            chip.setObjectName("claude_chip")
            chip.setAccessibleName(f"Remove {each.name}")
            self.chips.addWidget(chip)
        if self._drawn:
            self.chips.addStretch(1)

    def _draw_button(self) -> None:
        words = self._words()
        stops = self._chat.presenter.is_working and not words
        self.button.setText("■" if stops else "↑")
        self.button.setAccessibleName("Stop" if stops else "Send")
        self.button.setToolTip("Stop (Esc)" if stops else "Send (Enter)")
        self.button.setEnabled(stops or bool(words))

    def _words(self) -> str:
        return str(self.entry.toPlainText()).strip()

    def _send(self) -> None:
        words = self._words()
        if words:
            self.entry.clear()
            self._chat.ask(words)

    def _send_or_stop(self) -> None:
        if self._words():
            self._send()
        else:
            self._chat.stop()
        self.entry.setFocus()

    def _choose_files(self) -> None:
        found, _ = QtWidgets.QFileDialog.getOpenFileNames(self, "Attach files")
        self._chat.presenter.attach(found)

    def eventFilter(self, watched: Any, event: Any) -> bool:  # noqa: N802
        """The frame shows where the focus is."""
        kinds = QtCore.QEvent.Type
        if event.type() in (kinds.FocusIn, kinds.FocusOut):
            self.frame.setProperty("focused", event.type() == kinds.FocusIn)
            self.frame.style().unpolish(self.frame)
            self.frame.style().polish(self.frame)
        return bool(super().eventFilter(watched, event))


class SearchBar(Search, QtWidgets.QWidget):  # type: ignore[misc]
    """Search the conversation."""

    def __init__(self, chat: ChatWidget) -> None:
        super().__init__()
        self.chat = chat
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 6)
        self.words = QtWidgets.QLineEdit()
        self.words.setPlaceholderText("Find in this conversation")
        self.words.textChanged.connect(lambda *_: self.search(0))
        self.words.returnPressed.connect(lambda: self.search(1))
        self.told = paragraph("", "claude_faint")
        self.told.setWordWrap(False)
        row.addWidget(self.words, 1)
        row.addWidget(self.told)
        for words, name, function in (
            ("↑", "Previous", partial(self.search, -1)),
            ("↓", "Next", partial(self.search, 1)),
            ("✕", "Close", self.end),
        ):
            each = quiet(words, name, self)
            each.clicked.connect(lambda *_, function=function: function())
            row.addWidget(each)
        self.hide()

    def begin(self) -> None:
        """Open it."""
        self.is_open = True
        self.show()
        self.words.setFocus()
        self.words.selectAll()

    def end(self) -> None:
        """Close it."""
        self.is_open = False
        self.hide()
        self.chat.composer.entry.setFocus()

    def typed(self) -> str:
        """What is searched."""
        return str(self.words.text())

    def tell(self, words: str) -> None:
        """Say what was found."""
        self.told.setText(words)


# Small parts.


def plain(words: str) -> str:
    """Words for a button or a menu, in which ``&`` means a key."""
    return words.replace("&", "&&")


def timer_of(owner: Any, function: Callable[[], object]) -> Any:
    """A timer that calls a function once, when it is started, while its owner lives."""
    made = QtCore.QTimer(owner)
    made.setSingleShot(True)
    made.timeout.connect(lambda: function() if is_valid(owner) else None)
    return made


def quiet(words: str, name: str, parent: Any) -> Any:
    """A button that does not stand out."""
    made = QtWidgets.QToolButton(parent)
    made.setObjectName("claude_quiet")
    made.setText(words)
    made.setAccessibleName(name)
    made.setToolTip(name)
    made.setFocusPolicy(QtCore.Qt.FocusPolicy.TabFocus)
    return made


def menu_of(owner: Any, entries: Optional[Callable[[], Iterator[Entry]]]) -> Any:
    """The menu of a button; with *entries* it is filled whenever it is opened."""
    menu = QtWidgets.QMenu(owner)

    def fill() -> None:
        menu.clear()
        for words, is_chosen, function in entries() if entries is not None else ():
            action = menu.addAction(plain(words))
            action.setCheckable(is_chosen)
            action.setChecked(is_chosen)
            action.triggered.connect(lambda *_, function=function: function())

    if entries is not None:
        menu.aboutToShow.connect(fill)
    owner.setMenu(menu)
    owner.setPopupMode(QtWidgets.QToolButton.ToolButtonPopupMode.InstantPopup)
    return menu


def attachable(data: Any) -> List[Any]:
    """What of something pasted or dropped can be attached: files, or an image."""
    files = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    if files:
        return [each for each in files if os.path.isfile(each)]
    image = data.imageData() if data.hasImage() else None
    if image is None:
        return []
    buffer = QtCore.QBuffer()
    buffer.open(QtCore.QIODevice.OpenModeFlag.WriteOnly)
    QtGui.QImage(image).save(buffer, "PNG")
    return [bytes(buffer.data().data())]
