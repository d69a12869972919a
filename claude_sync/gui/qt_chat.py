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

import os
import time
from functools import partial
from typing import Any, Callable, Dict, List, Optional

from ..client import Client
from ..render.presenter import EMPTY, MODES, Presenter
from ..render.rows import Reach, Row
from .qt_binding import QtCore, QtGui, QtWidgets, Signal, check_application, is_valid
from .qt_frames import Attachment
from .qt_rows import RowWidget, row_widget, sheet
from .qt_views import button, colours_of

__all__ = ["ChatWidget"]

# Milliseconds between two drawings at least; after one that took long, so many times that.
FRAME = 16
REST = 4
# Milliseconds between two looks at the clock while an answer is written.
TICK = 250
# The conversation is so wide at most, in widths of a letter.
WIDEST = 90
# How near to the end counts as the end, in pixels.
NEAR = 40
MOST_LINES = 9
ZOOM = 1.1
ZOOMS = range(-5, 11)
FILES = "Conversations (*.md *.html *.json)"

Keys = QtCore.Qt.Key


class ChatWidget(QtWidgets.QWidget):  # type: ignore[misc]
    """
    A chat with Claude::

        chat = ChatWidget(model="sonnet", cwd="project")
        chat.show()

    Enter sends, Shift+Enter begins a line, Esc stops, Up edits the last prompt, Ctrl+F
    searches, Ctrl and + or - zoom. Files can be dropped and pasted. Claude's requests appear
    inside of the conversation, unless the client has handlers for them already. It takes the
    colours and the font of the application, light or dark.

    Args:
        parent: The widget that it is in.
        client: A client that exists, made without ``post=``; it stays open when the widget is
            destroyed. Without one it is made of *options*, those of ``Client``, and closed.

    """

    def __init__(self, parent: Any = None, client: Optional[Client] = None, **options: Any) -> None:
        check_application("ChatWidget", widgets=True)
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.setObjectName("claude_chat")
        self.setAttribute(QtCore.Qt.WidgetAttribute.WA_StyledBackground)
        self._zoom = 0
        self._colours: Dict[str, str] = {}
        self._timer = QtCore.QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._draw)
        self._due = 0.0
        self._ticks = QtCore.QTimer(self)
        self._ticks.timeout.connect(self._tick)
        self.presenter: Any = None
        self.conversation = Conversation(self)
        self.composer = Composer(self)
        self.bar = SearchBar(self)
        self._build()
        self.presenter = Presenter(self, client, options)
        presenter = self.presenter
        self.destroyed.connect(lambda *_: presenter.end())
        self._restyle()
        QtCore.QTimer.singleShot(0, self._start)
        self.setFocusProxy(self.composer.entry)

    # For programs.

    @property
    def client(self) -> Client:
        """The client; another one after a new conversation was begun."""
        client: Client = self.presenter.client
        return client

    def ask(self, text: str) -> None:
        """Ask, as if a person had typed it."""
        self.presenter.ask(text)
        self.conversation.follow()

    def stop(self) -> None:
        """Stop the answer that is being written; harmless when there is none."""
        self.presenter.stop()

    def clear(self) -> None:
        """Begin a new conversation."""
        self.presenter.clear()

    def on_answer(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Call *function* with every ``Answer``; also as a decorator."""
        self.presenter.on_answer(function)
        return function

    # The presenter's view.

    def connect(self, client: Client, closes: bool) -> Connection:
        """See :class:`~claude_sync.render.presenter.View`."""
        return Connection(Attachment(client, self if closes else None))

    def changed(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        if not self._timer.isActive():
            self._timer.start(max(0, int((self._due - time.monotonic()) * 1000)))

    def ask_attention(self) -> None:
        """See :class:`~claude_sync.render.presenter.View`."""
        QtWidgets.QApplication.alert(self)

    # Its parts.

    def _build(self) -> None:
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QtWidgets.QHBoxLayout()
        head.setContentsMargins(8, 6, 8, 6)
        self.title = quiet("", "Conversations", self)
        self.title.setObjectName("claude_title")
        self.sessions = menu_of(self.title, self._list_sessions)
        self.new = quiet("+ New", "New conversation", self)
        self.new.clicked.connect(lambda *_: self.clear())
        self.more = quiet("⋯", "More", self)
        self.actions_menu = menu_of(self.more, lambda _: None)
        for words, keys, function in (
            ("Find...", "Ctrl+F", self.bar.begin),
            ("Zoom in", "Ctrl++", partial(self.zoom, 1)),
            ("Zoom out", "Ctrl+-", partial(self.zoom, -1)),
            ("Normal size", "Ctrl+0", partial(self.zoom, 0)),
            ("Copy as Markdown", "Ctrl+Shift+C", self.copy),
            ("Export...", "Ctrl+Shift+S", self.export),
            ("Stop", "Esc", self._escape),
        ):
            action = self.actions_menu.addAction(words)
            action.setShortcut(QtGui.QKeySequence(keys))
            action.setShortcutContext(QtCore.Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.triggered.connect(lambda *_, function=function: function())
            self.addAction(action)
        head.addWidget(self.title)
        head.addStretch(1)
        head.addWidget(self.new)
        head.addWidget(self.more)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self.conversation, 1)
        column.addWidget(self.composer)

    def _start(self) -> None:
        if is_valid(self):
            self.presenter.start()

    def _draw(self) -> None:
        """Draw what has changed; then rest, the longer the longer that took."""
        begun = time.monotonic()
        self.conversation.draw(self.presenter.rows())
        self.composer.draw()
        self.title.setText(f"{self.presenter.title}  ▾".replace("&", "&&"))
        working = self.presenter.is_working
        if working != self._ticks.isActive():
            self._ticks.start(TICK) if working else self._ticks.stop()
        spent = time.monotonic() - begun
        self._due = begun + spent + max(FRAME / 1000, REST * spent)

    def _tick(self) -> None:
        self.composer.draw_working()
        self.changed()

    # Looks.

    def zoom(self, change: int) -> None:
        """Larger or smaller letters; 0 for the usual size."""
        self._zoom = 0 if not change else min(max(self._zoom + change, ZOOMS[0]), ZOOMS[-1])
        self._restyle()

    def changeEvent(self, event: Any) -> None:  # noqa: N802  (Qt's name)
        """Other colours or fonts."""
        super().changeEvent(event)
        kinds = QtCore.QEvent.Type
        changes = (kinds.PaletteChange, kinds.ApplicationPaletteChange, kinds.FontChange)
        if event.type() in changes and self.presenter is not None:
            QtCore.QTimer.singleShot(0, self._restyle)

    def _restyle(self) -> None:
        if not is_valid(self):
            return
        font = QtGui.QFont(self.font())
        if font.pointSizeF() > 0:
            font.setPointSizeF(font.pointSizeF() * ZOOM**self._zoom)
        # Its own palette is what the style sheet makes of it.
        known = colours_of(self.parentWidget() or QtWidgets.QApplication)
        if known == self._colours and font == self.conversation.column.font():
            return
        self._colours = known
        self.conversation.column.setFont(font)
        self.composer.entry.setFont(font)
        self.setStyleSheet(sheet(known))
        self.conversation.restyle(known)
        self.changed()

    # What its menus do.

    def _list_sessions(self, menu: Any) -> None:
        menu.clear()
        menu.addAction("New conversation").triggered.connect(lambda *_: self.clear())
        menu.addSeparator()
        found = self.presenter.sessions() if self.presenter.is_own else []
        for each in found:
            words = f"{each.title[:60]}    {each.modified:%d %b}".replace("&", "&&")
            action = menu.addAction(words)
            action.triggered.connect(lambda *_, each=each: self.presenter.resume(each.session_id))

    def copy(self) -> None:
        """Copy the conversation as Markdown."""
        QtWidgets.QApplication.clipboard().setText(self.presenter.markdown())

    def export(self, path: str = "") -> None:
        """Write the conversation to a file; without a path, the person is asked for one."""
        if not path:
            path, _ = QtWidgets.QFileDialog.getSaveFileName(
                self, "Export the conversation", "conversation.html", FILES
            )
        if path:
            self.presenter.export(path)

    def _escape(self) -> None:
        if self.bar.isVisible():
            self.bar.end()
        elif self.composer.is_editing:
            self.composer.leave_edit()
        else:
            self.stop()

    # Files that are dropped.

    def dragEnterEvent(self, event: Any) -> None:  # noqa: N802
        """Files and images may be dropped."""
        if event.mimeData().hasUrls() or event.mimeData().hasImage():
            event.acceptProposedAction()

    def dropEvent(self, event: Any) -> None:  # noqa: N802
        """They go with the next prompt."""
        self.presenter.attach(attachable(event.mimeData()))
        event.acceptProposedAction()


class Connection:
    """A client in the event loop of Qt."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._frames = attachment.frames

    def detach(self) -> None:
        """Let go of it."""
        if QtCore.QCoreApplication.instance() is not None:
            self._attachment.detach()

    def post(self, call: Callable[[], None]) -> None:
        """Have a call made in the event loop."""
        frames = self._frames()
        if frames is not None:
            frames(call)


class Conversation(QtWidgets.QScrollArea):  # type: ignore[misc]
    """The rows, and which of them have widgets."""

    def __init__(self, chat: ChatWidget) -> None:
        super().__init__()
        self.setObjectName("claude_view")
        self.setAccessibleName("Conversation")
        self._chat = chat
        self._rows: List[Row] = []
        self._reach = Reach()
        self._shown: List[RowWidget] = []
        self._from_end: Optional[int] = None
        self._colours: Dict[str, str] = {}
        self.setWidgetResizable(True)
        self.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(QtCore.Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = QtWidgets.QWidget()
        self.column.setObjectName("claude_column")
        self._layout = QtWidgets.QVBoxLayout(self.column)
        self._layout.setSpacing(8)
        self.earlier = button("Earlier messages", self._show_earlier)
        self.earlier.hide()
        self.empty = QtWidgets.QLabel(EMPTY)
        self.empty.setObjectName("claude_faint")
        self.empty.setAlignment(QtCore.Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        self._layout.addWidget(self.earlier)
        self._layout.addWidget(self.empty, 1)
        self._layout.addStretch(1)
        self.setWidget(self.column)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._ranged)

    def restyle(self, known: Dict[str, str]) -> None:
        """Draw everything again, in other colours."""
        self._colours = known
        for widget in self._shown:
            widget.version = -1
        self._set_margins()

    def draw(self, rows: List[Row]) -> None:
        """Draw what has changed."""
        self._rows = rows
        self.empty.setVisible(not rows)
        wanted = self._reach.of(rows)
        self.earlier.setVisible(self._reach.first > 0)
        if not self._is_same_beginning(wanted):
            keep = set(wanted)
            for widget in [each for each in self._shown if each.row not in keep]:
                self._shown.remove(widget)
                self._layout.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        for place, row in enumerate(wanted):
            if place == len(self._shown) or self._shown[place].row is not row:
                widget = row_widget(row, self._chat.presenter, self._chat.changed)
                self._shown.insert(place, widget)
                self._layout.insertWidget(place + 2, widget)
            self._shown[place].update_row(self._colours)

    def _is_same_beginning(self, wanted: List[Row]) -> bool:
        shown = self._shown
        return len(shown) <= len(wanted) and all(
            each.row is row for each, row in zip(shown, wanted)
        )

    def follow(self) -> None:
        """Go to the end, and stay there."""
        self._reach.follows = True
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._chat.changed()

    def go_to(self, row: Row, words: str) -> None:
        """Show a row, and select the words in it."""
        place = self._rows.index(row)
        self._reach.around(place)
        if row.kind in ("tool", "thinking", "summary") and not row.is_open:
            row.is_open, row.version = True, row.version + 1
        self.draw(self._rows)
        widget = self._shown[place - self._reach.first]
        self.column.layout().activate()
        for text in widget.text_views():
            text.moveCursor(QtGui.QTextCursor.MoveOperation.Start)
            if text.find(words):
                break
        self.ensureWidgetVisible(widget, 0, NEAR)

    def _show_earlier(self) -> None:
        bar = self.verticalScrollBar()
        self._from_end = bar.maximum() - bar.value()
        self._reach.earlier()
        self.draw(self._rows)

    def _scrolled(self, value: int) -> None:
        self._reach.follows = value >= self.verticalScrollBar().maximum() - NEAR
        if self._reach.follows and self._reach.last < len(self._rows):
            self._chat.changed()

    def _ranged(self, _: int, maximum: int) -> None:
        bar = self.verticalScrollBar()
        if self._from_end is not None:
            value, self._from_end = maximum - self._from_end, None
            bar.setValue(value)
        elif self._reach.follows:
            bar.setValue(maximum)

    def resizeEvent(self, event: Any) -> None:  # noqa: N802
        """Another width; the end stays in sight."""
        follows = self._reach.follows
        super().resizeEvent(event)
        self._set_margins()
        self._reach.follows = follows
        if follows:
            bar = self.verticalScrollBar()
            bar.setValue(bar.maximum())

    def _set_margins(self) -> None:
        widest = self.column.fontMetrics().averageCharWidth() * WIDEST
        side = max(18, (self.viewport().width() - widest) // 2)
        self._layout.setContentsMargins(side, 14, side, 18)
        self._chat.composer.set_side(side)


class Entry(QtWidgets.QPlainTextEdit):  # type: ignore[misc]
    """Where a person types."""

    sent = Signal()
    wants_edit = Signal()
    pasted = Signal(object)

    def __init__(self) -> None:
        super().__init__()
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
        self._drawn: Any = None
        self.entry = Entry()
        self.entry.sent.connect(self._send)
        self.entry.wants_edit.connect(self._edit)
        self.entry.pasted.connect(lambda found: chat.presenter.attach(found))
        self.entry.textChanged.connect(self._draw_button)
        self.entry.installEventFilter(self)
        self.frame = QtWidgets.QFrame()
        self.frame.setObjectName("claude_composer")
        self.working = quiet_label("Working")
        self.notice = quiet_label("Notice")
        self.chips = QtWidgets.QHBoxLayout()
        self.attach = quiet("+", "Attach files", self)
        self.attach.clicked.connect(lambda *_: self._choose_files())
        self.mode = quiet("", "Permission mode", self)
        menu_of(self.mode, self._list_modes)
        self.model = quiet("", "Model", self)
        menu_of(self.model, self._list_models)
        self.gauge = quiet_label("Context and cost")
        self.button = QtWidgets.QPushButton()
        self.button.setObjectName("claude_send")
        self.button.setFixedSize(30, 30)
        self.button.clicked.connect(lambda *_: self._send_or_stop())
        inside = QtWidgets.QVBoxLayout(self.frame)
        inside.setContentsMargins(12, 9, 9, 7)
        inside.setSpacing(4)
        inside.addLayout(self.chips)
        inside.addWidget(self.entry)
        row = QtWidgets.QHBoxLayout()
        row.setSpacing(2)
        for each in (self.attach, self.mode, self.model):
            row.addWidget(each)
        row.addStretch(1)
        row.addWidget(self.gauge)
        row.addSpacing(8)
        row.addWidget(self.button)
        inside.addLayout(row)
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(14, 4, 14, 12)
        column.setSpacing(6)
        line = QtWidgets.QHBoxLayout()
        self.spinner = Spinner()
        line.addWidget(self.spinner)
        line.addWidget(self.working, 1)
        column.addLayout(line)
        column.addWidget(self.notice)
        column.addWidget(self.frame)
        self._draw_button()

    def set_side(self, side: int) -> None:
        """Be as wide as the conversation."""
        self.layout().setContentsMargins(side - 6, 4, side - 6, 12)

    @property
    def is_editing(self) -> bool:
        """Whether the last prompt is being edited."""
        return bool(self._chat.presenter.is_editing)

    def leave_edit(self) -> None:
        """Leave the last prompt as it is."""
        self._chat.presenter.leave_edit()
        self.entry.clear()
        self.draw()

    def draw(self) -> None:
        """Draw what is known of the conversation."""
        presenter = self._chat.presenter
        self.draw_working()
        editing = "Sending replaces your last prompt and what came of it. Esc leaves it as it is."
        notice = presenter.notice or (editing if self.is_editing and presenter.is_own else "")
        self.notice.setText(notice)
        self.notice.setVisible(bool(notice))
        self.mode.setText(f"{MODES.get(presenter.mode, presenter.mode)} ▾")
        names = dict(presenter.models)
        self.model.setText(f"{names.get(presenter.model, presenter.model) or 'Model'} ▾")
        full = presenter.context()
        context = "" if full is None else f"{full:.0%} of context"
        self.gauge.setText("   ".join(filter(None, (context, presenter.cost()))))
        if presenter.attached != self._drawn:
            self._drawn = list(presenter.attached)
            self._draw_chips()
        self._draw_button()

    def draw_working(self) -> None:
        """What goes on."""
        words = self._chat.presenter.working()
        self.working.setText(words)
        self.working.setVisible(bool(words))
        self.spinner.set_running(bool(words))

    def _draw_chips(self) -> None:
        while self.chips.count():
            self.chips.takeAt(0).widget().deleteLater()
        for number, each in enumerate(self._drawn):
            chip = QtWidgets.QPushButton(f"{each.name}  ✕".replace("&", "&&"))
            chip.setObjectName("claude_chip")
            chip.setAccessibleName(f"Remove {each.name}")
            remove = partial(self._chat.presenter.remove_attached, number)
            chip.clicked.connect(lambda *_, remove=remove: remove())
            self.chips.addWidget(chip)
        if self._drawn:
            spacer = QtWidgets.QWidget()
            self.chips.addWidget(spacer, 1)

    def _draw_button(self) -> None:
        presenter = self._chat.presenter
        stops = presenter is not None and presenter.is_working and not self._words()
        self.button.setText("■" if stops else "↑")
        self.button.setAccessibleName("Stop" if stops else "Send")
        self.button.setToolTip("Stop (Esc)" if stops else "Send (Enter)")
        self.button.setEnabled(stops or bool(self._words()))

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

    def _edit(self) -> None:
        text = self._chat.presenter.edit()
        if text:
            self.entry.setPlainText(text)
            self.entry.moveCursor(QtGui.QTextCursor.MoveOperation.End)
            self.draw()

    def _choose_files(self) -> None:
        found, _ = QtWidgets.QFileDialog.getOpenFileNames(self, "Attach files")
        self._chat.presenter.attach(found)

    def _list_modes(self, menu: Any) -> None:
        self._list(menu, list(MODES.items()), self._chat.presenter.mode, "set_mode")

    def _list_models(self, menu: Any) -> None:
        presenter = self._chat.presenter
        self._list(menu, presenter.models, presenter.model, "set_model")

    def _list(self, menu: Any, choices: Any, chosen: str, method: str) -> None:
        menu.clear()
        for value, words in choices:
            action = menu.addAction(words)
            action.setCheckable(True)
            action.setChecked(value == chosen)
            choose = partial(getattr(self._chat.presenter, method), value)
            action.triggered.connect(lambda *_, choose=choose: choose())

    def eventFilter(self, watched: Any, event: Any) -> bool:  # noqa: N802
        """The frame shows where the focus is."""
        kinds = QtCore.QEvent.Type
        if event.type() in (kinds.FocusIn, kinds.FocusOut):
            self.frame.setProperty("focused", event.type() == kinds.FocusIn)
            self.frame.style().unpolish(self.frame)
            self.frame.style().polish(self.frame)
        return bool(super().eventFilter(watched, event))


class SearchBar(QtWidgets.QWidget):  # type: ignore[misc]
    """Search the conversation."""

    def __init__(self, chat: ChatWidget) -> None:
        super().__init__()
        self._chat = chat
        self._place = 0
        row = QtWidgets.QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 6)
        self.words = QtWidgets.QLineEdit()
        self.words.setPlaceholderText("Find in this conversation")
        self.words.textChanged.connect(lambda *_: self._find(0))
        self.words.returnPressed.connect(lambda: self._find(1))
        self.told = quiet_label("Found")
        row.addWidget(self.words, 1)
        row.addWidget(self.told)
        for words, name, step in (("↑", "Previous", -1), ("↓", "Next", 1)):
            each = quiet(words, name, self)
            each.clicked.connect(lambda *_, step=step: self._find(step))
            row.addWidget(each)
        close = quiet("✕", "Close", self)
        close.clicked.connect(lambda *_: self.end())
        row.addWidget(close)
        self.hide()

    def begin(self) -> None:
        """Open it."""
        self.show()
        self.words.setFocus()
        self.words.selectAll()

    def end(self) -> None:
        """Close it."""
        self.hide()
        self._chat.composer.entry.setFocus()

    def _find(self, step: int) -> None:
        words = self.words.text()
        found = self._chat.presenter.find(words)
        if not found:
            self.told.setText("Not found" if words else "")
            return
        self._place = (self._place + step) % len(found) if step else len(found) - 1
        self.told.setText(f"{self._place + 1} of {len(found)}")
        self._chat.conversation.go_to(found[self._place], words)


class Spinner(QtWidgets.QWidget):  # type: ignore[misc]
    """A sign that something goes on."""

    SIZE = 14
    STEP = 60

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(self.SIZE, self.SIZE)
        self._angle = 0
        self._timer = QtCore.QTimer(self)
        self._timer.timeout.connect(self._turn)
        self.hide()

    def set_running(self, is_running: bool) -> None:
        """Turn, or be hidden."""
        if is_running != self._timer.isActive():
            self.setVisible(is_running)
            self._timer.start(self.STEP) if is_running else self._timer.stop()

    def _turn(self) -> None:
        self._angle = (self._angle - 24) % 360
        self.update()

    def paintEvent(self, _: Any) -> None:  # noqa: N802  (Qt's name)
        """Three quarters of a circle."""
        painter = QtGui.QPainter(self)
        painter.setRenderHint(QtGui.QPainter.RenderHint.Antialiasing)
        colour = self.palette().color(QtGui.QPalette.ColorRole.Highlight)
        painter.setPen(QtGui.QPen(colour, 2))
        painter.drawArc(self.rect().adjusted(2, 2, -2, -2), self._angle * 16, 270 * 16)
        painter.end()


# Small parts.


def quiet(words: str, name: str, parent: Any) -> Any:
    """A button that does not stand out."""
    made = QtWidgets.QToolButton(parent)
    made.setObjectName("claude_quiet")
    made.setText(words)
    made.setAccessibleName(name)
    made.setToolTip(name)
    made.setFocusPolicy(QtCore.Qt.FocusPolicy.TabFocus)
    return made


def quiet_label(name: str) -> Any:
    """A line of text that does not stand out."""
    made = QtWidgets.QLabel()
    made.setObjectName("claude_faint")
    made.setTextFormat(QtCore.Qt.TextFormat.PlainText)
    made.setWordWrap(name == "Notice")
    made.setAccessibleName(name)
    return made


def menu_of(owner: Any, fill: Callable[[Any], None]) -> Any:
    """The menu of a button, filled when it is opened."""
    menu = QtWidgets.QMenu(owner)
    menu.aboutToShow.connect(lambda: fill(menu))
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
