"""
Programs with windows that end, each in its way: run by ``test_qt_exits``, one at a time.

::

    python qt_programs.py PySide6 quits_in_mid_turn

Each prints the process id of its CLI. What else it prints is an error.
"""

import importlib
import json
import sys

BINDING, SCENE = sys.argv[1:]
QtCore = importlib.import_module(f"{BINDING}.QtCore")
QtWidgets = importlib.import_module(f"{BINDING}.QtWidgets")

from claude_sync import Client  # noqa: E402
from claude_sync.gui import qt  # noqa: E402
from claude_sync.testing import StandIn  # noqa: E402

LONG = "[[sleep 60]]"
WRITE = "[[tool Write " + json.dumps({"file_path": "a.txt", "content": "a"}) + "]]"


def run(application):
    """Run the event loop to its end."""
    return application.exec() if hasattr(application, "exec") else application.exec_()


def when(condition, action):
    """Do something as soon as a condition holds."""
    timer = QtCore.QTimer(QtCore.QCoreApplication.instance())

    def look():
        if condition():
            timer.stop()
            action()

    timer.timeout.connect(look)
    timer.start(5)


def quits_in_mid_turn(application):
    """The application quits while Claude works."""
    client = new_client()
    qt.attach(client)
    client.submit(LONG)
    when(lambda: client.state == "busy", application.quit)
    return run(application)


def closes_its_last_window(application):
    """The window is closed, and nothing else is done about anything."""
    window = QtWidgets.QMainWindow()
    chat = qt.QtClient(window, cli=StandIn().command)
    tell(chat.client)
    chat.permission.connect(qt.PermissionDialog.handler(window))
    chat.ask(LONG)
    window.show()
    when(lambda: chat.client.state == "busy", window.close)
    return run(application)


def quits_with_a_dialog_open(application):
    """Somebody is being asked while the application quits."""
    window = QtWidgets.QMainWindow()
    chat = qt.QtClient(window, cli=StandIn().command)
    tell(chat.client)
    chat.permission.connect(qt.PermissionDialog.handler(window))
    chat.ask(WRITE)
    window.show()
    when(lambda: window.findChildren(QtWidgets.QDialog), application.quit)
    return run(application)


def quits_with_a_dialog_of_no_window(application):
    """The dialog belongs to nobody else."""
    client = new_client()
    qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler())
    client.submit(WRITE)
    dialogs = QtWidgets.QApplication.topLevelWidgets
    when(lambda: [each for each in dialogs() if each.isVisible()], application.quit)
    return run(application)


KEPT = []


def never_runs_its_loop(application):
    """The program ends before its event loop has begun."""
    client = new_client()
    qt.attach(client, QtWidgets.QMainWindow())
    window = QtWidgets.QMainWindow()
    other = new_client()
    qt.attach(other, window)
    other.submit(LONG)
    # Which of two locals goes first differs by Python; here the window does.
    KEPT.append(other)
    return 0


def drops_everything(application):
    """Window, client and application are let go of, in an order nobody would choose."""
    window = QtWidgets.QMainWindow()
    chat = qt.QtClient(window, cli=StandIn().command)
    client = chat.client
    tell(client)
    chat.ask(LONG)
    when(lambda: client.state == "busy", application.quit)
    run(application)
    del application
    del window
    del chat
    return 0


def runs_twice(application):
    """The application quits and runs again, with another client."""
    for _ in range(2):
        quits_in_mid_turn(application)
    return 0


def new_client():
    """A client of the stand-in."""
    client = Client(cli=StandIn().command)
    client.__enter__()
    tell(client)
    return client


def tell(client):
    """Print the process id of the CLI."""
    client.__enter__()
    print(client.pid, flush=True)


if __name__ == "__main__":
    sys.exit(globals()[SCENE](QtWidgets.QApplication(["program"])))
