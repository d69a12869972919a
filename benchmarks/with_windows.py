"""
How smoothly a window runs while text streams into it. Started by ``run.py``; see ``tasks.py``.

Each task gives the seconds by which each call of the window's own timer is late. The timer is
set anew at each call: one that repeats by itself would leave out what is late.
"""

from __future__ import annotations

import os
import time

import tasks

import claude_sync

# Milliseconds between two calls of the timer.
TICK = 10


def tk(cli, count):
    """A window of Tk."""
    import tkinter

    from claude_sync.gui import tk

    root = tkinter.Tk()
    root.geometry("800x600")
    view = tkinter.Text(root)
    view.pack(fill="both", expand=True)
    root.update()

    def draw(text):
        view.insert("end", text)
        view.see("end")

    client = claude_sync.Client(cli=cli)
    tk.attach(client, root)
    return lateness(client, count, draw, root.after, root.mainloop, root.quit)


def qt(cli, count):
    """A window of Qt."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from claude_sync.gui import qt
    from claude_sync.gui.qt_binding import QtCore, QtGui, QtWidgets

    application = QtWidgets.QApplication(["benchmark"])
    view = QtWidgets.QPlainTextEdit()
    view.resize(800, 600)
    view.show()
    # Fonts are loaded once; that is not what is measured.
    view.insertPlainText("Before the first word.\n")
    application.processEvents()

    def draw(text):
        view.moveCursor(QtGui.QTextCursor.MoveOperation.End)
        view.insertPlainText(text)

    def after(milliseconds, function):
        precise = QtCore.Qt.TimerType.PreciseTimer
        timer = QtCore.QTimer(view, singleShot=True, timerType=precise)
        timer.timeout.connect(function)
        timer.timeout.connect(timer.deleteLater)
        timer.start(milliseconds)

    client = claude_sync.Client(cli=cli)
    qt.attach(client, view)
    return lateness(client, count, draw, after, application.exec, application.quit)


def lateness(client, count, draw, after, loop, leave):
    """Run the *loop* until *count* deltas are drawn; how late each call of the timer was."""
    late, received = [], []

    def show(text):
        received.append(len(text))
        # As a model writes: a text of lines, not one line of megabytes.
        draw(text.replace(". ", ".\n"))

    def set_timer():
        due = time.perf_counter() + TICK / 1000
        after(TICK, lambda: tick(due))

    def tick(due):
        late.append(time.perf_counter() - due)
        set_timer()

    client.on_text(show)
    client.start()
    turn = client.submit(f"stream {count}")
    turn.add_done_callback(lambda _: leave())
    set_timer()
    loop()
    turn.result()
    client.close()
    tasks.check_received(sum(received), count)
    return late


if __name__ == "__main__":
    tasks.main(globals())
