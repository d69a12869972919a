"""The dialogs of Qt: see ``dialog_scenes``."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc

import pytest
from dialog_scenes import *  # noqa: F403
from dialog_scenes import Desk
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtTest,
    QtWidgets,
    application,
    cli,
    click,
    client,
    destroy,
    nothing_outlives_its_test,
    until,
    window,
)
from qt_fixtures import begin as begin_turn

from claude_sync.gui import qt, qt_dialogs
from claude_sync.gui.qt_binding import is_valid
from claude_sync.gui.qt_dialogs import RequestDialog

Keys = QtCore.Qt.Key
KEYS = {"Enter": Keys.Key_Return, "Escape": Keys.Key_Escape, "Space": Keys.Key_Space}


def dialogs():
    """The dialogs that can be seen."""
    shown = QtWidgets.QApplication.topLevelWidgets()
    return [each for each in shown if isinstance(each, RequestDialog) and each.isVisible()]


class QtDesk(Desk):
    """A window of Qt."""

    gui, module, has_keys = qt, qt_dialogs, False

    def __init__(self, window, cli, client, until):
        self.window, self.cli, self.client, self.until = window, cli, client, until
        self.attachment = qt.attach(client, window)
        self.handler = client.on_permission(qt.PermissionDialog.handler(window))
        self.turn, _ = begin_turn(client, cli)

    def dialogs(self):
        """See :class:`Desk`."""
        return dialogs()

    def click(self, button):
        """See :class:`Desk`."""
        click(button)

    def can_click(self, button):
        """See :class:`Desk`."""
        return button.isEnabled()

    def write(self, entry, words):
        """See :class:`Desk`."""
        QtTest.QTest.keyClicks(entry, words)

    def press(self, widget, key):
        """See :class:`Desk`."""
        if key.startswith("Alt-"):
            letter = getattr(Keys, f"Key_{key[-1].upper()}")
            QtTest.QTest.keyClick(widget, letter, QtCore.Qt.KeyboardModifier.AltModifier)
        else:
            QtTest.QTest.keyClick(widget, KEYS[key])

    def focused(self, dialog):
        """See :class:`Desk`."""
        return dialog.focusWidget()

    def texts(self, dialog):
        """See :class:`Desk`."""
        return [each.text() for each in dialog.findChildren(QtWidgets.QLabel) if each.isVisible()]

    def preview(self, text):
        """See :class:`Desk`."""
        return text.toPlainText()

    def marked(self, field):
        """See :class:`Desk`."""
        return [button.isChecked() for button in field.buttons]

    def close(self, dialog):
        """See :class:`Desk`."""
        dialog.close()

    def destroy(self, widget):
        """See :class:`Desk`."""
        destroy(widget)

    def type_elsewhere(self):
        """See :class:`Desk`."""
        line = QtWidgets.QLineEdit()
        self.window.setCentralWidget(line)
        self.window.activateWindow()
        line.setFocus()
        self.until(line.hasFocus)
        return line

    def has_focus(self, widget):
        """See :class:`Desk`."""
        modal = QtWidgets.QApplication.activeModalWidget()
        return modal is None and self.window.focusWidget() is widget

    def open(self, request):
        """A dialog, by hand."""
        dialog = qt.PermissionDialog(request, self.window)
        dialog.show()
        return dialog


@pytest.fixture
def desk(window, cli, client, until):
    """A window with a client in a turn, whose requests come to dialogs."""
    yield QtDesk(window, cli, client, until)
    every = QtWidgets.QApplication.topLevelWidgets
    until(lambda: not [each for each in every() if isinstance(each, RequestDialog)])


def test_labels_are_plain(desk):
    """What Claude wrote is no markup, and ``&`` no shortcut."""
    options = [{"label": "this & that", "description": "<i>tasty</i>"}, {"label": "b"}]
    question = {"question": "Salt & <b>pepper</b>?", "header": "A & B", "options": options}
    request = desk.ask_questions(question)
    dialog = desk.shown()
    (field,) = dialog.view.fields
    assert (field.title(), field.buttons[0].text()) == ("A && B", "this && that")
    labels = field.findChildren(QtWidgets.QLabel)
    assert [label.text() for label in labels] == ["Salt & <b>pepper</b>?", "<i>tasty</i>"]
    assert {label.textFormat() for label in labels} == {QtCore.Qt.TextFormat.PlainText}
    dialog.close()
    desk.reply_to(request)


def test_a_large_dialog_fits_the_screen(desk):
    """Long commands and many questions scroll."""
    screen = QtWidgets.QApplication.primaryScreen().availableSize()
    options = [{"label": f"{number}", "description": "words " * 40} for number in range(30)]
    for request in (
        desk.ask("Bash", {"command": "\n".join("x" * 300 for _ in range(300))}),
        desk.ask_questions({"question": "Which?", "options": options}),
    ):
        dialog = desk.shown()
        assert dialog.height() <= screen.height()
        assert dialog.width() <= screen.width()
        dialog.close()
        desk.reply_to(request)
        desk.until(lambda dialog=dialog: not is_valid(dialog))


def test_a_window_that_is_gone_before_the_request_denies(client, cli, application, until):
    """The handler of a window that was destroyed shows nothing."""
    own = QtWidgets.QWidget()
    attachment = qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler(own))
    del own
    gc.collect()
    begin_turn(client, cli)
    request = cli.ask_permission("Bash", {"command": "make"})
    until(lambda: request["request_id"] not in client._session.connection.opened)
    assert cli.expect_reply(request)["behavior"] == "deny"
    attachment.detach()


def test_the_end_of_the_window_denies_what_is_open(client, cli, window, until):
    """The one that is shown and those that wait; a client that is not attached to it goes on."""
    attachment = qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler(window))
    turn, user = begin_turn(client, cli)
    requests = [cli.ask_permission("Bash", {"command": "make"}) for _ in range(2)]
    until(dialogs)
    destroy(window)
    replies = []

    def all_are_answered():
        message = cli.receive(0)
        if message is not None:
            replies.append(message["response"])
        return len(replies) == len(requests)

    until(all_are_answered)  # one may still be on its way to the loop, which must run for it
    assert {each["request_id"] for each in replies} == {each["request_id"] for each in requests}
    assert [each["response"]["behavior"] for each in replies] == ["deny", "deny"]
    cli.end_turn(user, "went on")
    until(turn.done)
    attachment.detach()


def test_a_dialog_of_no_window_goes_when_the_application_quits(client, cli, application, until):
    """Nobody can answer any more."""
    qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler())
    begin_turn(client, cli)
    cli.ask_permission("Bash", {"command": "make"})
    until(dialogs)
    application.aboutToQuit.emit()
    assert not dialogs()
    until(lambda: client.state == "closed")
