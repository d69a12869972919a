"""A window of Qt with a real CLI: it never freezes, asks in a dialog, stops, and ends the CLI."""

import os
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "gui"))

from qt_fixtures import (  # noqa: F401
    QtTest,
    QtWidgets,
    application,
    click,
    destroy,
    run_until,
    until,
)

import claude_sync
from claude_sync.gui import qt
from claude_sync.testing.model import text, tool_use

PATIENCE = 90


def window_of(client):
    """A window with a client in it, as a program would make one."""
    window = QtWidgets.QMainWindow()
    window.view = QtWidgets.QPlainTextEdit(window)
    window.errors, window.results = [], []
    window.chat = qt.QtClient(window, client=client)
    window.chat.text.connect(window.view.insertPlainText)
    window.chat.error.connect(window.errors.append)
    window.chat.result.connect(window.results.append)
    window.chat.permission.connect(qt.PermissionDialog.handler(window))
    window.chat.question.connect(qt.QuestionDialog.handler(window))
    window.client = window.chat.client
    window.show()
    return window


@pytest.fixture
def own_window(application, client_of, until):  # noqa: F811
    """A window of the test's own, which may do to it whatever it likes."""
    client = client_of()
    window = window_of(client)
    yield window
    destroy(window)
    until(lambda: client.state == "closed", PATIENCE)


@pytest.fixture(scope="module")
def shared_window(application, new_client, cli, model, home, tmp_path_factory):  # noqa: F811
    """A window for all other tests."""
    folder, environment = tmp_path_factory.mktemp("cwd"), model.environment(home)
    client = new_client(cli=cli.path, cwd=folder, env=environment, start_timeout=PATIENCE)
    window = window_of(client)
    yield window
    destroy(window)
    run_until(lambda: client.state == "closed", PATIENCE)


@pytest.fixture
def window(shared_window, until):  # noqa: F811
    """A window in which nothing has been shown."""
    shared_window.view.clear()
    shared_window.errors.clear()
    shared_window.results.clear()
    yield shared_window
    until(lambda: shared_window.client.state == "idle", PATIENCE)


def dialog_of(window, until):  # noqa: F811
    """The dialog that is open in it, once it is."""
    until(lambda: [each for each in dialogs(window) if each.isVisible()], PATIENCE)
    return dialogs(window)[0]


def dialogs(window):
    """All dialogs in it."""
    return window.findChildren(QtWidgets.QDialog)


def is_gone(pid):
    """Whether no such process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_conversation_in_a_window(window, model, until, tmp_path):  # noqa: F811
    """Text arrives in a widget, a dialog shows a diff, and what is allowed is done."""
    file = tmp_path / "greeting.txt"
    model.when("greet the window").reply(
        [text("I will write it."), tool_use("Write", {"file_path": str(file), "content": "hi\n"})]
    ).then_reply("It is written.")
    threads = set()
    handler = window.client.on_message(lambda _: threads.add(threading.current_thread()))
    window.chat.ask("greet the window")
    dialog = dialog_of(window, until)
    assert dialog.windowTitle() == "Claude wants to create a file"
    assert "+hi" in dialog.view.preview.toPlainText()
    assert not file.exists()
    click(dialog.view.buttons["allow"])
    until(lambda: window.results, PATIENCE)
    window.client.off(handler)
    assert file.read_text() == "hi\n"
    assert window.view.toPlainText() == "I will write it.It is written."
    assert threads == {threading.current_thread()}
    assert window.errors == []


def test_a_dialog_denies_with_a_reason(window, model, until, tmp_path):  # noqa: F811
    """Claude reads what the person wrote, and nothing is done."""
    file = tmp_path / "denied.txt"
    model.when("write a denied file").reply(
        [tool_use("Write", {"file_path": str(file), "content": "no\n"})]
    ).then_reply("Then not.")
    window.chat.ask("write a denied file")
    dialog = dialog_of(window, until)
    QtTest.QTest.keyClicks(dialog.view.reason, "tabs, please")
    click(dialog.view.buttons["deny"])
    until(lambda: window.results, PATIENCE)
    assert not file.exists()
    assert "tabs, please" in model.conversation[-1].tool_results[0].text
    assert window.view.toPlainText() == "Then not."


def test_stop_stops_while_a_dialog_is_open(window, model, until):  # noqa: F811
    """The CLI withdraws the request: the dialog closes by itself, and the talk goes on."""
    model.when("ask and be stopped").reply([tool_use("Write", {"file_path": "x", "content": "x"})])
    model.when("after the stop").reply("Still here.")
    window.chat.ask("ask and be stopped")
    dialog_of(window, until)
    window.chat.interrupt()
    until(lambda: window.errors and not dialogs(window), PATIENCE)
    assert isinstance(window.errors[0], claude_sync.TurnInterrupted)
    window.chat.ask("after the stop")
    until(lambda: window.view.toPlainText() == "Still here.", PATIENCE)


def test_stop_stops_text(window, model, until):  # noqa: F811
    """In the middle of an answer; what was said stays."""
    model.when("count for long").reply(text("one, two ... ten", gate=threading.Event()))
    window.chat.ask("count for long")
    until(lambda: "one" in window.view.toPlainText(), PATIENCE)
    window.chat.interrupt()
    until(lambda: window.errors, PATIENCE)
    assert isinstance(window.errors[0], claude_sync.TurnInterrupted)
    assert "one" in window.view.toPlainText()
    assert "ten" not in window.view.toPlainText()


def test_a_window_that_is_closed_ends_the_cli(own_window, model, until):  # noqa: F811
    """In the middle of a turn: the process is gone, and nobody waits for it."""
    window = own_window
    model.when("talk until the end").reply(text("one, two ... ten", gate=threading.Event()))
    window.chat.ask("talk until the end")
    until(lambda: "one" in window.view.toPlainText(), PATIENCE)
    client, pid = window.client, window.client.pid
    destroy(window)
    assert client.state in ("closing", "closed")
    until(lambda: client.state == "closed" and is_gone(pid), PATIENCE)


@pytest.mark.everything
def test_the_cli_dies_while_a_dialog_is_open(own_window, model, until):  # noqa: F811
    """The dialog closes, the question fails, and the next one starts another CLI."""
    window = own_window
    model.when("ask and die").reply([tool_use("Write", {"file_path": "x", "content": "x"})])
    model.when("after the death").reply("Reborn.")
    window.chat.ask("ask and die")
    dialog_of(window, until)
    os.kill(window.client.pid, 9)
    until(lambda: window.errors and not dialogs(window), PATIENCE)
    assert isinstance(window.errors[0], claude_sync.CliExited)
    window.chat.ask("after the death")
    until(lambda: window.view.toPlainText().endswith("Reborn."), PATIENCE)
