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
    from claude_sync.gui.qt_binding import QtGui, QtWidgets

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

    client = claude_sync.Client(cli=cli)
    qt.attach(client, view)
    after = after_of(view)
    return lateness(client, count, draw, after, application.exec, application.quit)


def after_of(widget):
    """What Tk calls ``after``, for a widget of Qt."""
    from claude_sync.gui.qt_binding import QtCore

    def after(milliseconds, function):
        timer = QtCore.QTimer(widget)
        timer.setSingleShot(True)
        timer.setTimerType(QtCore.Qt.TimerType.PreciseTimer)
        timer.timeout.connect(function)
        timer.timeout.connect(timer.deleteLater)
        timer.start(milliseconds)

    return after


def ticking(after):
    """Set timers, one after the other: by how much each was late, as they come."""
    late = []

    def set_timer():
        due = time.perf_counter() + TICK / 1000
        after(TICK, lambda: tick(due))

    def tick(due):
        late.append(time.perf_counter() - due)
        set_timer()

    set_timer()
    return late


def tk_chat(cli, count):
    """A chat of Tk into which an answer streams."""
    return tk_chat_of(cli, [f"stream {count}"])


def tk_chat_of(cli, prompts):
    """A chat of Tk."""
    import tkinter

    from claude_sync.gui.tk import ChatFrame

    root = tkinter.Tk()
    root.geometry("800x600")
    chat = ChatFrame(root, cli=cli)
    chat.pack(fill="both", expand=True)
    root.update()
    return chat_lateness(chat, prompts, root.after, root.mainloop, root.quit)


def tk_long_chat(cli, count):
    """A chat of Tk with many messages."""
    return tk_chat_of(cli, ["stream 3"] * (count // 2))


def qt_chat(cli, count):
    """A chat of Qt into which an answer streams."""
    return qt_chat_of(cli, [f"stream {count}"])


def qt_long_chat(cli, count):
    """A chat of Qt with many messages."""
    return qt_chat_of(cli, ["stream 3"] * (count // 2))


def qt_chat_of(cli, prompts):
    """A chat of Qt."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from claude_sync.gui.qt import ChatWidget
    from claude_sync.gui.qt_binding import QtWidgets

    application = QtWidgets.QApplication(["benchmark"])
    chat = ChatWidget(cli=cli)
    chat.resize(800, 600)
    chat.show()
    application.processEvents()
    after = after_of(chat)
    return chat_lateness(chat, prompts, after, application.exec, application.quit)


def chat_lateness(chat, prompts, after, loop, leave):
    """Ask one prompt after the other; how late each call of the timer was."""
    left = list(prompts)

    def go_on(_=None):
        if left:
            chat.ask(left.pop())
        else:
            leave()

    chat.on_answer(lambda _: after(1, go_on))
    late = ticking(after)
    after(1, go_on)
    loop()
    chat.client.close()
    return late


def lateness(client, count, draw, after, loop, leave):
    """Run the *loop* until *count* deltas are drawn; how late each call of the timer was."""
    received = []

    def show(text):
        received.append(len(text))
        # As a model writes: a text of lines, not one line of megabytes.
        draw(text.replace(". ", ".\n"))

    client.on_text(show)
    client.start()
    turn = client.submit(f"stream {count}")
    turn.add_done_callback(lambda _: leave())
    late = ticking(after)
    loop()
    turn.result()
    client.close()
    tasks.check_received(sum(received), count)
    return late


if __name__ == "__main__":
    tasks.main(globals())
