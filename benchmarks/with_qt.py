"""How smoothly a window of Qt runs while text streams into it. Started by ``run.py``."""

from __future__ import annotations

import os
import time

import tasks

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from claude_sync.gui import qt

# Milliseconds between two calls of the window's own timer.
TICK = 10


def lateness(cli, count):
    """Seconds by which each call of a timer is late while *count* deltas are drawn."""
    from claude_sync.gui.qt_binding import QtCore, QtGui, QtWidgets

    late, received, due = [], [], []
    application = QtWidgets.QApplication(["benchmark"])
    window = QtWidgets.QMainWindow()
    view = QtWidgets.QPlainTextEdit()
    window.setCentralWidget(view)
    window.resize(800, 600)
    window.show()
    # What is done once, fonts and a process, is not what is measured.
    view.insertPlainText("Before the first word.\n")
    application.processEvents()
    chat = qt.QtClient(window, cli=cli)
    chat.client.start()

    def show(text):
        received.append(len(text))
        # As a model writes: a text of lines, not one line of megabytes.
        view.moveCursor(QtGui.QTextCursor.MoveOperation.End)
        view.insertPlainText(text.replace(". ", ".\n"))

    def tick():
        now = time.perf_counter()
        late.append(now - due.pop())
        due.append(now + TICK / 1000)
        timer.start(TICK)

    # Single shots, each timed by itself: a repeating one would leave out what is late.
    timer = QtCore.QTimer()
    timer.setTimerType(QtCore.Qt.TimerType.PreciseTimer)
    timer.setSingleShot(True)
    timer.timeout.connect(tick)
    chat.text.connect(show)
    turn = chat.submit(f"stream {count}")
    turn.add_done_callback(lambda _: application.quit())
    due.append(time.perf_counter() + TICK / 1000)
    timer.start(TICK)
    (application.exec if hasattr(application, "exec") else application.exec_)()
    timer.stop()
    turn.result()
    chat.client.close()
    tasks.check_received(sum(received), count)
    return late


if __name__ == "__main__":
    tasks.main({"lateness": lateness})
