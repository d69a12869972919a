"""Handlers run in the event loop of Qt: all of them, in order, and no longer than it lives."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc
import threading

import pytest
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtWidgets,
    application,
    begin,
    cli,
    client,
    destroy,
    nothing_outlives_its_test,
    until,
    window,
)

import claude_sync
from claude_sync import Client, ClientClosed, UsageError
from claude_sync.gui import qt
from claude_sync.gui.frames import ATTACHED, Attachment
from claude_sync.testing import builders


@pytest.fixture(autouse=True)
def nothing_stays_attached(application):
    """Tests begin and end with nothing attached; clients of fixtures outlive them a little."""
    assert not ATTACHED
    yield
    for attachment in list(ATTACHED):
        attachment.stop()


# Where handlers run, and in which order.


def test_handlers_run_in_the_loop(client, cli, window, until):
    """Every handler runs on the thread of the application, in order."""
    seen = []

    def note(name):
        return lambda event: seen.append((name, threading.current_thread()))

    attachment = qt.attach(client, window)
    assert isinstance(attachment, qt.Attachment)
    assert attachment.client is client
    client.on_text(note("text"))
    client.on_message(note("message"))
    client.on_result(note("result"))
    client.on_permission(lambda request: note("permission")(request) or request.allow())
    turn, user = begin(client, cli)
    cli.speak("one two")
    request = cli.ask_permission("Bash", {"command": "ls"})
    until(lambda: [name for name, _ in seen if name == "permission"])
    assert cli.expect_reply(request)["behavior"] == "allow"
    cli.end_turn(user, "done")
    turn.add_done_callback(note("done"))
    until(lambda: "done" in dict(seen))
    assert {thread for _, thread in seen} == {threading.current_thread()}
    names = [name for name, _ in seen if name != "message"]
    assert names == ["text", "permission", "result", "done"]
    assert turn.result() == "done"


def test_text_is_one_call_for_each_frame_and_complete(client, cli, window, until):
    """Thousands of pieces are a few calls; every character comes, once and in order."""
    qt.attach(client, window)
    pieces = []
    client.on_text(pieces.append)
    turn, user = begin(client, cli)
    words = [f"{number:05d} " for number in range(5000)]
    cli.speak("".join(words), words)
    cli.end_turn(user, "done")
    until(turn.done)
    assert "".join(pieces) == "".join(words)
    assert len(pieces) < len(words) / 10
    assert pieces[-1].snapshot == "".join(words)


def test_to_wait_in_the_loop_is_refused(client, window):
    """ask() would freeze the window; the error names the remedy."""
    qt.attach(client, window)
    with pytest.raises(UsageError, match=r"submit\(\)"):
        client.ask("hi")


def test_a_handler_may_run_a_loop_of_its_own(client, cli, window, until):
    """While one shows a modal dialog with exec(), the others still hear what arrives."""
    qt.attach(client, window)
    inner = []

    def nested(text):
        inner.append("begun")
        cli.say(builders.assistant(builders.tool_use("Read", {})))
        until(lambda: len(inner) > 1)
        inner.append("ended")

    def second(use):
        inner.append(use.name)

    client.on_text(nested)
    client.on_tool_use(second)
    turn, user = begin(client, cli)
    cli.speak("hello")
    until(lambda: "ended" in inner)
    cli.end_turn(user, "done")
    until(turn.done)
    assert inner == ["begun", "Read", "ended"]


# The end of the window.


def test_a_window_that_is_destroyed_closes_the_client(client, cli, window, until):
    """In the middle of a turn: whoever waits for it fails, and the CLI is ended."""
    qt.attach(client, window)
    turn, _ = begin(client, cli)
    destroy(window)
    assert client.state in ("closing", "closed")
    until(lambda: client.state == "closed")
    assert isinstance(turn.exception(), ClientClosed)


def test_a_widget_that_its_owner_drops_closes_the_client(client, cli, application):
    """It need not be deleted by Qt: the last reference may go as well."""
    widget = QtWidgets.QWidget()
    qt.attach(client, widget)
    del widget
    gc.collect()
    assert client.state in ("closing", "closed")


def test_calls_that_wait_for_a_destroyed_window_are_dropped(client, cli, window, until):
    """What they would draw on is gone; a request among them is denied."""
    qt.attach(client, window)
    heard = []
    client.on_text(heard.append)
    client.on_permission(heard.append)
    begin(client, cli)
    cli.speak("hello")
    cli.ask_permission("Bash", {"command": "ls"})
    # The dispatcher has delivered it, and the loop has not run since.
    frames = next(iter(ATTACHED))._frames
    wait_for(lambda: len(frames._waiting) == 2)
    destroy_at_once(window)
    assert not heard
    assert cli.expect("control_response", behavior="deny")
    until(lambda: client.state == "closed")
    assert not heard


def wait_for(condition):
    """Wait without letting the loop run."""
    pause = threading.Event()
    for _ in range(6000):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("waited in vain")


def destroy_at_once(item):
    """Destroy an object of Qt without a loop."""
    item.deleteLater()
    kind = QtCore.QEvent.Type.DeferredDelete
    QtCore.QCoreApplication.sendPostedEvents(item, int(getattr(kind, "value", kind)))


def test_the_window_may_be_destroyed_by_a_handler(client, cli, window, until):
    """A handler that ends the window it runs in harms nobody."""
    qt.attach(client, window)
    client.on_text(lambda text: destroy_at_once(window))
    begin(client, cli)
    cli.speak("hello")
    until(lambda: client.state == "closed")


def test_without_a_parent_the_client_stays_open(client, cli, window, until):
    """Only the end of the application closes it then."""
    qt.attach(client)
    turn, user = begin(client, cli)
    destroy(window)
    cli.end_turn(user, "still here")
    until(turn.done)
    assert turn.result() == "still here"


def test_an_application_that_quits_closes_the_client(client, cli, application, until):
    """aboutToQuit is the last that is heard of it."""
    qt.attach(client)
    begin(client, cli)
    application.aboutToQuit.emit()
    assert client.state in ("closing", "closed")
    assert not ATTACHED


# Around it.


def test_detached_handlers_run_on_threads_of_the_client(client, cli, window, until):
    """What waited is done first, and the window's end no longer matters."""
    attachment = qt.attach(client, window)
    heard = []
    client.on_text(lambda text: heard.append((str(text), threading.current_thread())))
    turn, user = begin(client, cli)
    cli.speak("hello")
    wait_for(lambda: attachment._frames._waiting)
    attachment.detach()
    assert [text for text, _ in heard] == ["hello"]
    assert heard[0][1] is threading.current_thread()
    attachment.detach()
    destroy(window)
    cli.end_turn(user, "done")
    assert turn.result(30) == "done"
    other = client.submit("again")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("more")
    cli.end_turn(user, "more")
    assert other.result(30) == "more"
    assert heard[-1][0] == "more"
    assert heard[-1][1] is not threading.current_thread()
    assert "(no more)" in repr(attachment)


def test_a_client_has_one_place_for_its_handlers(client, window):
    """To attach it twice is refused."""
    qt.attach(client, window)
    with pytest.raises(UsageError, match="attach one window"):
        qt.attach(client, window)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("no client",), "not 'no client'"), ((Client(), "no window"), "any other QObject")],
)
def test_what_cannot_be_attached_is_refused(application, arguments, words):
    """The error says what is wanted."""
    with pytest.raises(UsageError, match=words):
        qt.attach(*arguments)


def test_only_the_thread_of_the_application_attaches(client, application):
    """Elsewhere it is refused."""
    errors = []

    def attach():
        try:
            qt.attach(client)
        except UsageError as error:
            errors.append(str(error))

    thread = threading.Thread(target=attach)
    thread.start()
    thread.join()
    assert "thread of the user interface" in errors[0]


def test_the_class_is_what_attach_returns():
    """``qt.Attachment`` is there for annotations."""
    assert qt.Attachment is Attachment
    assert claude_sync.gui.qt is qt
