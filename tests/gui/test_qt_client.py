"""A client with signals and slots: everything it hears is a signal, and nothing waits."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc
import weakref

import pytest
from qt_fixtures import (  # noqa: F401
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

import claude_sync
from claude_sync import Client, TurnInterrupted, UsageError
from claude_sync.gui import qt
from claude_sync.testing import ScriptedCli, builders

SIGNALS = (
    *("text", "thinking", "tool_use", "tool_result", "permission"),
    *("question", "result", "error", "closed"),
)


@pytest.fixture
def chat(client, window):
    """A QtClient around the client of the test."""
    return qt.QtClient(window, client=client)


class Ear:
    """Hears signals, in their order."""

    def __init__(self, chat, *names):
        self.heard = []
        for name in names or SIGNALS:
            getattr(chat, name).connect(self.note(name))

    def note(self, name):
        """A slot for one of them."""
        return lambda event: self.heard.append((name, event))

    def of(self, name):
        """What came as this signal."""
        return [event for heard, event in self.heard if heard == name]


@pytest.fixture
def begin_by(client, cli):
    """Ask by the slot, and let the CLI begin the turn: the question as it got it."""
    return lambda chat, prompt="hi": begin(client, cli, prompt, chat.ask)[1]


def test_what_is_heard_is_a_signal(chat, cli, until, begin_by):
    """Everything of a turn, in order."""
    ear = Ear(chat, *(name for name in SIGNALS if name not in ("permission", "question")))
    user = begin_by(chat)
    cli.say(builders.assistant([builders.thinking("hm")]))
    cli.speak("Hello, window")
    cli.say(builders.assistant(builders.tool_use("Read", {"file_path": "a"}), "msg_2"))
    cli.say(builders.user([builders.tool_result("toolu_01", "content")]))
    cli.end_turn(user, "done")
    until(lambda: ear.of("result"))
    names = [name for name, _ in ear.heard]
    assert names == ["thinking", "text", "tool_use", "tool_result", "result"]
    assert ear.of("text") == ["Hello, window"]
    assert ear.of("thinking") == ["hm"]
    assert isinstance(ear.of("tool_use")[0], claude_sync.ToolUse)
    assert isinstance(ear.of("tool_result")[0], claude_sync.ToolResult)
    assert ear.of("result")[0].result == "done"


def test_text_goes_straight_into_a_widget(chat, cli, window, until, begin_by):
    """The signal fits a slot of Qt's own."""
    view = QtWidgets.QPlainTextEdit(window)
    chat.text.connect(view.insertPlainText)
    user = begin_by(chat)
    cli.speak("Straße, 日本, 🙂")
    cli.end_turn(user, "done")
    until(lambda: view.toPlainText() == "Straße, 日本, 🙂")


def test_a_line_edit_asks_and_a_button_stops(chat, cli, window, until, begin_by):
    """Slots for widgets: ask and interrupt; the turn that is stopped is told as an error."""
    ear = Ear(chat, "error", "result")
    line = QtWidgets.QLineEdit("a question", window)
    line.returnPressed.connect(lambda: chat.ask(line.text()))
    stop = QtWidgets.QPushButton("Stop", window)
    stop.clicked.connect(chat.interrupt)
    line.returnPressed.emit()
    cli.accept()
    user = cli.expect("user", text="a question")
    cli.begin_turn(user)
    click(stop)
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user, "")
    until(lambda: ear.of("error"))
    assert isinstance(ear.of("error")[0], TurnInterrupted)
    # And it goes on.
    user = begin_by(chat, "another")
    cli.end_turn(user, "answered")
    until(lambda: "answered" in [result.result for result in ear.of("result")])


def test_a_question_that_was_not_sent_yet_is_withdrawn(chat, cli, until):
    """Stop while the CLI is starting: the question never reaches it."""
    ear = Ear(chat, "error")
    chat.ask("hi")
    chat.interrupt()
    cli.accept()
    until(lambda: ear.of("error"))
    assert "withdrawn" in str(ear.of("error")[0])
    chat.ask("another")
    cli.expect("user", text="another")  # which is what comes first


def test_to_stop_when_nothing_runs_is_harmless(chat, client, cli, until, begin_by):
    """What the CLI does by itself is stopped, without waiting for its word."""
    chat.interrupt()  # before it was started
    user = begin_by(chat)
    cli.end_turn(user, "done")
    until(lambda: not chat._turns)
    chat.interrupt()
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    client.close()
    chat.interrupt()


def test_what_is_wrong_with_a_question_is_an_error(chat):
    """A slot does not raise: PyQt would end the program."""
    ear = Ear(chat, "error")
    chat.ask("  ")
    assert "blank" in str(ear.of("error")[0])


def test_a_cli_that_cannot_be_started_is_an_error(window, until):
    """It is told by the signal, whenever that is known."""
    chat = qt.QtClient(window, cli="/nowhere/claude")
    ear = Ear(chat, "error")
    chat.ask("hi")
    until(lambda: ear.of("error"))
    assert isinstance(ear.of("error")[0], claude_sync.CliNotFound)
    chat.client.close()


def test_a_cli_that_dies_is_an_error(chat, cli, until, begin_by):
    """The question that ran fails, and the window hears of it."""
    ear = Ear(chat, "error")
    begin_by(chat)
    cli.hang_up(9)
    until(lambda: ear.of("error"))
    assert isinstance(ear.of("error")[0], claude_sync.CliExited)


def test_a_handler_that_raises_is_an_error(chat, client, cli, until, begin_by):
    """Handlers of the client run in the loop as well; a failure is told, and stops no other."""
    ear, texts = Ear(chat, "error", "result"), []
    client.on_text(lambda text: 1 / 0)
    client.on_text(texts.append)
    user = begin_by(chat)
    cli.speak("hello")
    cli.end_turn(user, "hello")
    until(lambda: ear.of("result"))
    assert [type(error) for error in ear.of("error")] == [ZeroDivisionError]
    assert texts == ["hello"]


def test_permissions_are_for_who_is_connected(chat, cli, until, begin_by):
    """A slot answers later, or at once; questions are apart."""
    ear = Ear(chat, "permission", "question")
    begin_by(chat)
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: ear.of("permission"))
    ear.of("permission")[0].allow()
    assert cli.expect_reply(request)["behavior"] == "allow"
    asked = {"questions": [{"question": "Red?", "header": "R", "options": ["yes", "no"]}]}
    request = cli.ask_permission("AskUserQuestion", asked)
    until(lambda: ear.of("question"))
    ear.of("question")[0].answer("yes")
    assert cli.expect_reply(request)["updatedInput"]["answers"] == {"Red?": "yes"}
    chat.permission.connect(lambda request: request.deny("no"))
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: len(ear.of("permission")) == 2)
    assert cli.expect_reply(request)["message"] == "no"


def test_without_a_slot_the_clients_own_handlers_decide(chat, client, cli, until, begin_by):
    """And without those nobody does: it is denied."""
    begin_by(chat)
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: not client._session.connection.opened)
    assert cli.expect_reply(request)["behavior"] == "deny"
    client.on_permission(lambda request: request.allow())
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: not client._session.connection.opened)
    assert cli.expect_reply(request)["behavior"] == "allow"


def test_dialogs_fit_its_signals(chat, cli, window, until, begin_by):
    """One line shows permissions in a dialog."""
    chat.permission.connect(qt.PermissionDialog.handler(window))
    begin_by(chat)
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: window.findChildren(QtWidgets.QDialog))
    (dialog,) = window.findChildren(QtWidgets.QDialog)
    click(dialog.view.buttons["allow"])
    assert cli.expect_reply(request)["behavior"] == "allow"


def test_closing_does_not_wait_and_is_told(chat, client, until, begin_by):
    """The slot returns at once; the signal tells when it is done, and questions are refused."""
    ear = Ear(chat)
    begin_by(chat)
    chat.close()
    assert client.state == "closing"
    until(lambda: ear.of("closed"))
    assert ear.of("closed")[0].reason == "closed by the program"
    chat.ask("too late")
    assert isinstance(ear.of("error")[-1], claude_sync.ClientClosed)


def test_it_is_closed_with_its_parent(chat, client, window, until, begin_by):
    """The window is destroyed in the middle of a turn."""
    begin_by(chat)
    destroy(window)
    until(lambda: client.state == "closed")


def test_one_that_is_forgotten_is_closed(application, until):
    """Nothing keeps it alive but the program."""
    chat = qt.QtClient(transport=ScriptedCli())
    client = chat.client
    gone = weakref.ref(chat)
    client.__enter__()
    del chat
    gc.collect()
    assert gone() is None
    until(lambda: client.state == "closed")


def test_it_makes_a_client_of_options(window):
    """The options of ``Client``, or a client; not both."""
    chat = qt.QtClient(window, name="mine", model="sonnet")
    assert chat.client.name == "mine"
    with pytest.raises(UsageError, match="not both"):
        qt.QtClient(window, client=Client(), model="sonnet")
    with pytest.raises(UsageError, match="did you mean"):
        qt.QtClient(window, modell="sonnet")


def test_a_turn_can_be_had(chat, client, cli, until):
    """submit() has the options of the client's, and gives the turn."""
    turn = chat.submit("hi", attach=[b"a text"])
    cli.accept()
    user = cli.expect("user")
    assert len(user["message"]["content"]) == 2
    cli.begin_turn(user)
    cli.end_turn(user, "done")
    until(turn.done)
    assert turn.result() == "done"
