"""The dialogs of Qt: each request is answered once, by whatever ends its dialog."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc
import logging
import threading

import pytest
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtTest,
    QtWidgets,
    application,
    begin,
    cli,
    click,
    client,
    destroy,
    nothing_outlives_its_test,
    until,
    window,
)

from claude_sync import UsageError
from claude_sync.gui import qt
from claude_sync.gui.qt_binding import is_valid
from claude_sync.gui.qt_dialogs import RequestDialog
from claude_sync.permissions import forms

COMMAND = {"command": "rm -rf build"}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "rm:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
QUESTIONS = {
    "questions": [
        {
            "question": "Red or blue?",
            "header": "Colour",
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue & white"}],
        },
        {
            "question": "Which checks?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "ruff"}, {"label": "mypy"}],
        },
    ]
}


@pytest.fixture
def asking(client, cli, window):
    """A client whose requests are shown in a window, with a turn that runs."""
    cli.attachment = qt.attach(client, window)
    client.on_permission(qt.PermissionDialog.handler(window))
    begin(client, cli)
    return cli


def dialogs():
    """The dialogs that can be seen."""
    shown = QtWidgets.QApplication.topLevelWidgets()
    return [each for each in shown if isinstance(each, RequestDialog) and each.isVisible()]


def existing():
    """All dialogs that have not been destroyed, those that wait among them."""
    every = QtWidgets.QApplication.topLevelWidgets()
    return [each for each in every if isinstance(each, RequestDialog)]


@pytest.fixture(autouse=True)
def no_dialog_is_left(application, until):
    """Every dialog is gone after its test, and not only hidden."""
    yield
    try:
        until(lambda: not existing())
    finally:
        for dialog in existing():
            destroy(dialog)


@pytest.fixture
def shown(until):
    """Wait for the dialog that is seen; there is one at a time."""

    def wait():
        until(dialogs)
        (dialog,) = dialogs()
        return dialog

    return wait


# What the buttons answer.


def test_allow(asking, shown):
    """The button lets it run, with the input that was shown."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    assert isinstance(dialog, qt.PermissionDialog)
    assert dialog.windowTitle() == dialog.form.title
    assert "rm -rf build" in dialog.view.preview.toPlainText()
    click(dialog.view.allow_button)
    reply = asking.expect_reply(request)
    assert (reply["behavior"], reply["updatedInput"]) == ("allow", COMMAND)


def test_all_edits_are_one_choice(asking, shown):
    """Where the CLI offers the mode; elsewhere the button is hidden."""
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    request = asking.ask_permission("Bash", COMMAND, permission_suggestions=[mode])
    dialog = shown()
    assert dialog.view.always_button.isHidden()
    click(dialog.view.edits_button)
    assert asking.expect_reply(request)["updatedPermissions"] == [mode]
    request = asking.ask_permission("Bash", {"command": "x" * 5000})
    dialog = shown()
    assert dialog.view.edits_button.isHidden()
    click(dialog.view.everything_button)
    assert "x" * 5000 in dialog.view.preview.toPlainText()
    click(dialog.view.deny_button)
    assert asking.expect_reply(request)["behavior"] == "deny"


def test_always_says_what_it_allows(asking, shown):
    """It is offered with the rule in words, which holds for this session."""
    request = asking.ask_permission("Bash", COMMAND, permission_suggestions=[RULE])
    dialog = shown()
    labels = [label.text() for label in dialog.findChildren(QtWidgets.QLabel)]
    assert [label for label in labels if dialog.form.always in label]
    # Which are plain text; a tool tip would take what stands in a rule for markup.
    assert dialog.view.always_button.toolTip() == ""
    click(dialog.view.always_button)
    reply = asking.expect_reply(request)
    assert reply["behavior"] == "allow"
    assert reply["updatedPermissions"] == [{**RULE, "destination": "session"}]


def test_always_is_not_offered_without_a_rule(asking, shown):
    """The CLI suggests none: then there is no such button."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    assert not dialog.view.always_button.isVisible()
    click(dialog.view.allow_button)
    assert "updatedPermissions" not in asking.expect_reply(request)


def test_deny_with_a_reason(asking, shown):
    """Claude reads what the person wrote."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    QtTest.QTest.keyClicks(dialog.view.reason, "use git clean")
    click(dialog.view.deny_button)
    reply = asking.expect_reply(request)
    assert (reply["behavior"], reply["message"]) == ("deny", "use git clean")


def test_enter_in_the_reason_denies(asking, shown):
    """Who writes why not means no."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    QtTest.QTest.keyClicks(dialog.view.reason, "later")
    QtTest.QTest.keyClick(dialog.view.reason, QtCore.Qt.Key.Key_Return)
    assert asking.expect_reply(request)["message"] == "later"


def test_enter_decides_nothing(asking, shown):
    """A dialog may appear while somebody types: Enter must not let anything through."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    focused = dialog.focusWidget() or dialog
    QtTest.QTest.keyClick(focused, QtCore.Qt.Key.Key_Return)
    QtTest.QTest.keyClick(dialog, QtCore.Qt.Key.Key_Enter)
    assert dialog.isVisible()
    click(dialog.view.deny_button)
    assert asking.expect_reply(request)["behavior"] == "deny"


def test_a_dialog_that_is_closed_denies(asking, shown):
    """By whatever means: without a choice the answer is no."""
    for close in (
        lambda dialog: dialog.close(),
        lambda dialog: dialog.reject(),
        lambda dialog: QtTest.QTest.keyClick(dialog, QtCore.Qt.Key.Key_Escape),
        lambda dialog: destroy(dialog),
    ):
        request = asking.ask_permission("Bash", COMMAND)
        close(shown())
        reply = asking.expect_reply(request)
        assert reply["behavior"] == "deny"
        assert reply["message"] == forms.CLOSED_UNDECIDED


def test_what_just_appeared_allows_nothing(asking, shown, monkeypatch):
    """The second click of a double click falls on the dialog that follows; a no is heard."""
    requests = [
        asking.ask_permission("Bash", COMMAND, permission_suggestions=[RULE]) for _ in range(2)
    ]
    first = shown()
    QtWidgets.QApplication.processEvents()
    monkeypatch.setattr(forms, "SETTLING", 3_600_000)
    click(first.view.allow_button)
    assert asking.expect_reply(requests[0])["behavior"] == "allow"
    dialog = shown()
    assert dialog is not first
    for button in (dialog.view.allow_button, dialog.view.always_button):
        click(button)
        QtTest.QTest.keyClick(button, QtCore.Qt.Key.Key_Space)
    alt = QtCore.Qt.KeyboardModifier.AltModifier
    for key in (QtCore.Qt.Key.Key_A, QtCore.Qt.Key.Key_W):
        QtTest.QTest.keyClick(dialog, key, alt)
    assert dialog.form.is_open
    assert dialog.isVisible()
    click(dialog.view.deny_button)
    assert asking.expect_reply(requests[1])["behavior"] == "deny"


def test_what_has_been_there_for_a_moment_allows(asking, shown, until, monkeypatch):
    """And not before."""
    monkeypatch.setattr(forms, "SETTLING", 1)
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    until(dialog.view.allow_button.isEnabled)
    click(dialog.view.allow_button)
    assert asking.expect_reply(request)["behavior"] == "allow"


def test_a_dialog_does_not_block_the_handler(asking, shown, window):
    """It blocks its window, for the person, and nothing else."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    assert dialog.windowModality() == QtCore.Qt.WindowModality.WindowModal
    assert dialog.parent() is window
    click(dialog.view.allow_button)
    asking.expect_reply(request)


def test_an_answer_that_is_refused_is_told_in_the_dialog(asking, shown, client, caplog):
    """A program that changed the input sees why it is not run; the person can still deny."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog = shown()
    dialog.form.request.input["command"] = "ls"
    with caplog.at_level(logging.WARNING, "claude_sync"):
        click(dialog.view.allow_button)
    assert dialog.isVisible()
    assert "request.input was changed" in dialog.view._message.text()
    assert "request.input was changed" in caplog.text
    click(dialog.view.deny_button)
    assert asking.expect_reply(request)["behavior"] == "deny"


# Questions.


def test_questions_are_answered(asking, client, shown):
    """Choices, several where that is asked for, and words of one's own."""
    request = asking.ask_permission("AskUserQuestion", QUESTIONS)
    dialog = shown()
    # Without a handler for questions they come to that for permissions.
    assert isinstance(dialog, qt.QuestionDialog)
    colour, checks = dialog.view.views
    assert [option.text() for option in colour.options] == ["Red", "Blue && white"]
    assert not dialog.view.answer_button.isEnabled()
    click(colour.options[0])
    click(colour.options[1])
    assert [option.isChecked() for option in colour.options] == [False, True]
    click(checks.options[0])
    click(checks.options[1])
    click(checks.options[0])
    QtTest.QTest.keyClicks(checks.other, "tests")
    assert dialog.view.answer_button.isEnabled()
    click(dialog.view.answer_button)
    answers = asking.expect_reply(request)["updatedInput"]["answers"]
    assert answers == {"Red or blue?": "Blue & white", "Which checks?": "mypy, tests"}


def test_the_preview_of_an_option_is_shown(asking, shown):
    """That of the one which was chosen last; harmless. Without any there is no room for it."""
    options = [{"label": "A", "preview": "a\x1b[1m\nb"}, {"label": "B"}]
    question, other = QUESTIONS["questions"]
    asked = {"questions": [{**question, "options": options}, other]}
    asking.ask_permission("AskUserQuestion", asked)
    dialog = shown()
    first, second = dialog.view.views
    assert second.preview is None
    click(first.options[0])
    assert first.preview.toPlainText() == "a\\x1b[1m\nb"
    click(first.options[1])
    assert first.preview.toPlainText() == ""
    dialog.reject()


def test_words_of_ones_own_replace_a_single_choice(asking, client, shown):
    """One answer is wanted: what is written takes back what was chosen, and the reverse."""
    client.on_question(qt.QuestionDialog.handler())
    one = {"questions": QUESTIONS["questions"][:1]}
    request = asking.ask_permission("AskUserQuestion", one)
    dialog = shown()
    (colour,) = dialog.view.views
    click(colour.options[0])
    QtTest.QTest.keyClicks(colour.other, "green")
    assert not colour.options[0].isChecked()
    click(colour.options[0])
    assert colour.other.text() == ""
    assert colour.options[0].isChecked()
    click(colour.options[0])  # a second click does not take it back
    click(dialog.view.answer_button)
    answers = asking.expect_reply(request)["updatedInput"]["answers"]
    assert answers == {"Red or blue?": "Red"}


def test_a_question_without_an_answer_is_declined(asking, shown):
    """The button, or closing the dialog: Claude goes on by itself."""
    for end in (lambda dialog: click(dialog.view.decline_button), lambda dialog: dialog.close()):
        request = asking.ask_permission("AskUserQuestion", QUESTIONS)
        dialog = shown()
        end(dialog)
        assert "declined to answer" in asking.expect_reply(request)["message"]


# Several at once.


def test_requests_are_shown_one_after_the_other(asking, shown, until):
    """None is lost, and each is answered by its own dialog, in order."""
    requests = [asking.ask_permission("Bash", {"command": f"make {n}"}) for n in range(3)]
    until(lambda: len(existing()) == 3)
    for number, request in enumerate(requests):
        dialog = shown()
        assert f"make {number}" in dialog.view.preview.toPlainText()
        click(dialog.view.deny_button if number == 1 else dialog.view.allow_button)
        assert asking.expect_reply(request)["behavior"] == ("deny" if number == 1 else "allow")
        until(lambda dialog=dialog: not is_valid(dialog))


def test_a_request_that_waits_may_be_withdrawn(asking, shown, until):
    """It is never shown; the next one is."""
    first, second, third = (
        asking.ask_permission("Bash", {"command": f"make {n}"}) for n in range(3)
    )
    until(lambda: len(existing()) == 3)
    asking.cancel(second)
    until(lambda: len(existing()) == 2)
    click(shown().view.allow_button)
    assert asking.expect_reply(first)["behavior"] == "allow"
    until(lambda: dialogs() and "make 2" in dialogs()[0].view.preview.toPlainText())
    click(shown().view.allow_button)
    assert asking.expect_reply(third)["behavior"] == "allow"


# When the answer is no longer wanted.


def test_a_request_that_is_withdrawn_closes_its_dialog(asking, shown, until):
    """The CLI no longer waits: nothing is answered, and nobody has to click."""
    request = asking.ask_permission("Bash", COMMAND)
    shown()
    asking.cancel(request)
    until(lambda: not existing())
    other = asking.ask_permission("Bash", COMMAND)
    click(shown().view.allow_button)
    asking.expect_reply(other)  # the first thing that was said since


def test_a_request_that_is_answered_elsewhere_closes_its_dialog(asking, shown, until):
    """By a button of the program's own, on whatever thread."""
    request = asking.ask_permission("Bash", COMMAND)
    shown().form.request.deny("not here")
    assert asking.expect_reply(request)["message"] == "not here"
    until(lambda: not existing())


def test_a_request_of_a_client_that_was_detached_closes_its_dialog(asking, shown, until):
    """It is withdrawn on a thread of the client's, where no widget may be touched."""
    request = asking.ask_permission("Bash", COMMAND)
    dialog, threads = shown(), []
    dialog.finished.connect(
        lambda *_: threads.append(threading.current_thread()),
        QtCore.Qt.ConnectionType.DirectConnection,
    )
    asking.attachment.detach()
    asking.cancel(request)
    until(lambda: not existing())
    assert threads == [threading.current_thread()]


def test_the_end_of_a_qt_client_closes_its_dialog(client, cli, window, shown, until):
    """The window stays, and can be used again."""
    chat = qt.QtClient(window, client=client)
    chat.permission.connect(qt.PermissionDialog.handler(window))
    begin(client, cli)
    cli.ask_permission("Bash", COMMAND)
    shown()
    destroy(chat)
    until(lambda: not existing())


def test_a_cli_that_dies_closes_its_dialog(asking, shown, until):
    """There is nobody left who would hear the answer."""
    asking.ask_permission("Bash", COMMAND)
    shown()
    asking.hang_up(9)
    until(lambda: not existing())


def test_a_client_that_is_closed_closes_its_dialog(asking, client, shown, until):
    """Without waiting, since this is the window's thread."""
    asking.ask_permission("Bash", COMMAND)
    shown()
    client.close(wait=False)
    until(lambda: not existing())


def test_a_window_that_is_destroyed_takes_its_dialogs_with_it(client, cli, until, window):
    """Those that are open and those that wait; each has said no."""
    qt.attach(client)  # which goes on without that window
    client.on_permission(qt.PermissionDialog.handler(window))
    turn, user = begin(client, cli)
    requests = [cli.ask_permission("Bash", COMMAND) for _ in range(2)]
    until(lambda: len(existing()) == 2)
    destroy(window)
    assert not existing()
    replies = [cli.expect("control_response")["response"] for _ in requests]
    assert {reply["request_id"] for reply in replies} == {each["request_id"] for each in requests}
    assert [reply["response"]["behavior"] for reply in replies] == ["deny", "deny"]
    cli.end_turn(user, "went on")
    until(turn.done)
    assert turn.result() == "went on"


def test_a_window_with_a_dialog_that_is_destroyed_ends_the_client(asking, client, shown, until):
    """The window it is attached to, in the middle of a turn, with a dialog open."""
    asking.ask_permission("Bash", COMMAND)
    destroy(shown().parent())
    assert not existing()
    until(lambda: client.state == "closed")


def test_a_window_that_is_gone_before_the_request_denies(client, cli, application, until):
    """The handler of a window that was destroyed shows nothing."""
    own = QtWidgets.QWidget()
    qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler(own))
    del own
    gc.collect()
    begin(client, cli)
    request = cli.ask_permission("Bash", COMMAND)
    handled = []
    client.on_error(handled.append)
    until(lambda: request["request_id"] not in client._session.connection.opened)
    assert cli.expect_reply(request)["behavior"] == "deny"
    assert not existing()
    assert not handled


def test_a_dialog_of_an_application_that_quits_is_closed(client, cli, application, shown):
    """Also one that belongs to no window."""
    qt.attach(client)
    client.on_permission(qt.PermissionDialog.handler())
    begin(client, cli)
    cli.ask_permission("Bash", COMMAND)
    dialog = shown()
    assert dialog.windowModality() == QtCore.Qt.WindowModality.NonModal
    application.aboutToQuit.emit()
    assert not dialogs()


# Misuse.


def test_a_client_that_is_not_attached_shows_no_dialog(client, cli, window, until, caplog):
    """Its handlers run on another thread; the request is denied, and the log says why."""
    client.on_permission(qt.PermissionDialog.handler(window))
    begin(client, cli)
    with caplog.at_level(logging.ERROR, "claude_sync"):
        request = cli.ask_permission("Bash", COMMAND)
        assert cli.expect_reply(request)["behavior"] == "deny"
    assert "belongs to the thread of the user interface" in caplog.text


def test_a_dialog_is_about_a_request(application):
    """Anything else is refused."""
    with pytest.raises(UsageError, match="on_permission or on_question"):
        qt.PermissionDialog.handler()("what?")


def test_a_class_of_the_programs_own_is_used(client, cli, window, shown):
    """``handler`` shows the class it is called on."""

    class Mine(qt.PermissionDialog):
        pass

    qt.attach(client, window)
    client.on_permission(Mine.handler(window))
    begin(client, cli)
    request = cli.ask_permission("Bash", COMMAND)
    dialog = shown()
    assert type(dialog) is Mine
    click(dialog.view.allow_button)
    cli.expect_reply(request)
