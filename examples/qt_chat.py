"""
A chat with Claude in a window of Qt: text as it is written, Stop, permissions, images, old talks.

    python examples/qt_chat.py            asks Claude, in this folder
    python examples/qt_chat.py --offline  asks the built-in stand-in, which echoes
"""

import os
import sys

from PySide6 import QtWidgets
from PySide6.QtCore import QBuffer, QIODevice, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor

import claude_sync
from claude_sync import sessions
from claude_sync.gui.qt import PermissionDialog, QtClient, QuestionDialog
from claude_sync.testing import StandIn

# What stands in double brackets makes the stand-in ask for a tool.
TRY = 'Hello! [[tool Bash {"command": "make test", "description": "Run the tests"}]]'
COLOURS = {"you": "#0550ae", "tool": "#6e7781", "error": "#a40e26"}


class Entry(QtWidgets.QPlainTextEdit):
    """Where one writes: Enter sends, Shift+Enter begins a line, an image can be pasted."""

    sent = Signal()
    pasted = Signal(object)

    def keyPressEvent(self, event):  # noqa: N802  (Qt's name)
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.sent.emit()
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, data):  # noqa: N802
        if not data.hasImage():
            super().insertFromMimeData(data)
            return
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        data.imageData().save(buffer, "PNG")
        self.pasted.emit(bytes(buffer.data().data()))


class Chat(QtWidgets.QMainWindow):
    """A conversation: what was said, what to say next, and what it costs."""

    def __init__(self, **options):
        super().__init__()
        self.options = options  # of the client
        self.chat = self.turn = None
        self.model, self.images, self.saved = "no model yet", [], []
        self.talks, self.entry = QtWidgets.QComboBox(), Entry()
        self.view = QtWidgets.QTextEdit(readOnly=True)
        self.button = QtWidgets.QPushButton("Send")
        self.attaching = QtWidgets.QPushButton("Attach...")
        self.view.document().setDocumentMargin(12)
        self.entry.setPlaceholderText("Ask Claude")
        self.entry.setFixedHeight(76)
        self.entry.sent.connect(self.send)
        self.entry.pasted.connect(lambda image: self.attach([image]))
        self.button.clicked.connect(self.send_or_stop)
        self.attaching.clicked.connect(lambda: self.attach())
        self.talks.activated.connect(self.resume)
        self.setCentralWidget(QtWidgets.QWidget())
        grid = QtWidgets.QGridLayout(self.centralWidget())
        grid.addWidget(self.talks, 0, 0, 1, 2)
        grid.addWidget(self.view, 1, 0, 1, 2)
        grid.addWidget(self.entry, 2, 0, 2, 1)
        grid.addWidget(self.button, 2, 1)
        grid.addWidget(self.attaching, 3, 1)
        self.list_talks()
        self.start()
        self.entry.setFocus()

    # The client. Its signals come on this thread, so slots may touch the window.

    def start(self, session=None):
        """Begin a conversation, or go on with one."""
        if self.chat is not None:
            self.chat.deleteLater()  # closes the client, as the end of the window does
        self.turn, self.chat = None, QtClient(self, resume=session, **self.options)
        self.button.setText("Send")
        self.chat.text.connect(self.write)
        self.chat.tool_use.connect(lambda use: self.write(f"\n{self.summary(use)}\n", "tool"))
        self.chat.permission.connect(PermissionDialog.handler(self))
        self.chat.question.connect(QuestionDialog.handler(self))
        self.chat.error.connect(lambda error: self.write(f"\n{error}", "error"))
        self.chat.client.on_init(lambda init: self.show_status(init.model))
        self.show_status()

    def send(self):
        """Ask; the entry keeps what is written while an answer is."""
        prompt = self.entry.toPlainText().strip()
        if self.turn is not None or not prompt:
            return
        try:
            self.turn = self.chat.submit(prompt, attach=self.images)
        except (claude_sync.ClaudeError, OSError) as error:
            self.write(f"{error}\n", "error")
            return
        self.turn.add_done_callback(self.finished)
        pictures = f"  [{len(self.images)} attached]" if self.images else ""
        self.write(f"{prompt}{pictures}\n", "you")
        self.entry.clear()
        self.attach([], keep=False)
        self.button.setText("Stop")

    def send_or_stop(self):
        """The button: it stops the answer that is being written."""
        self.send() if self.turn is None else self.chat.interrupt()

    def finished(self, turn):
        """The answer is complete, or something went wrong, which was told already."""
        if turn is self.turn:
            self.turn = None
            self.button.setText("Send")
            self.write("\n\n")
            self.show_status()

    # The window.

    def write(self, text, kind="claude"):
        """Add text at the end; follow it, unless somebody has scrolled up."""
        bar = self.view.verticalScrollBar()
        follow = bar.value() >= bar.maximum() - 4
        look = QTextCharFormat()
        if kind in COLOURS:
            look.setForeground(QColor(COLOURS[kind]))
        cursor = QTextCursor(self.view.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, look)
        if follow:
            bar.setValue(bar.maximum())

    def summary(self, use):
        """A use of a tool on a line; files of the folder are named without it."""
        texts = [value for value in use.input.values() if isinstance(value, str)]
        folder = os.path.join(os.path.abspath(self.options.get("cwd") or "."), "")
        return f"{use.name}  {''.join(texts[:1]).replace(folder, '')}".split("\n")[0][:90]

    def show_status(self, model=None):
        """The model, the tokens and the cost so far."""
        self.model, client = model or self.model, self.chat.client
        written, cost = client.usage.output_tokens, client.cost_usd
        words = f"{self.model}   ·   {written:,} tokens written   ·   {cost:.4f} USD"
        self.statusBar().showMessage(words)

    def attach(self, images=None, keep=True):
        """Take images along with the next question: these, or files that the person chooses."""
        chosen = QtWidgets.QFileDialog.getOpenFileNames(self)[0] if images is None else images
        self.images = [*(self.images if keep else ()), *chosen]
        self.attaching.setText(f"{len(self.images)} attached" if self.images else "Attach...")

    def list_talks(self):
        """The conversations that were held in this folder, the newest first."""
        self.saved = sessions.list_sessions(self.options.get("cwd") or ".")[:20]
        titles = [f"{each.modified:%d %b}  {each.title}" for each in self.saved]
        self.talks.clear()
        self.talks.addItems(["New conversation", *titles])

    def resume(self, number):
        """Go on with the conversation that was chosen; the first is a new one."""
        self.view.clear()
        session = self.saved[number - 1].session_id if number else None
        for message in sessions.read_session(session) if session else ():
            if isinstance(message, (claude_sync.User, claude_sync.Assistant)) and message.text:
                is_user = isinstance(message, claude_sync.User)
                self.write(f"{message.text}\n", "you" if is_user else "claude")
        self.start(session)


def main():
    """Open the window."""
    offline = "--offline" in sys.argv
    application = QtWidgets.QApplication(sys.argv)
    chat = Chat(cli=StandIn(pace=0.05).command if offline else None)
    chat.setWindowTitle("Claude")
    chat.resize(760, 620)
    chat.entry.setPlainText(TRY if offline else "")
    chat.show()
    sys.exit(application.exec())


if __name__ == "__main__":
    main()
