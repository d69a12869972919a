"""Handlers run in the event loop of Qt: all of them, in order, and no longer than it lives."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc
import threading
import weakref

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
from claude_sync.gui.qt_binding import is_valid
from claude_sync.gui.qt_frames import ATTACHED, Attachment, Pump
from claude_sync.testing import ScriptedCli, builders


@pytest.fixture(autouse=True)
def nothing_stays_attached(application):
    """Tests begin and end with nothing attached; clients of fixtures outlive them a little."""
    assert not ATTACHED
    yield
    for attachment in list(ATTACHED):
        attachment.stop()


class FakeFrames:
    """Frames that note when they are run, and have more or not as a test says."""

    def __init__(self, *more):
        self.more = list(more)
        self.runs = 0

    def run(self):
        """A frame."""
        self.runs += 1
        return self.more.pop(0) if self.more else False


class FakeAttachment:
    """As much of an attachment as a pump knows."""

    def __init__(self, frames):
        self.frames = lambda: frames


@pytest.fixture
def pumped(application):
    """A pump, with the frames that it runs."""
    made = []

    def make(*more):
        frames = FakeFrames(*more)
        attachment = FakeAttachment(frames)
        pump = Pump(attachment, application)
        made.append((attachment, pump))
        return pump, frames

    yield make
    for _, pump in made:
        if is_valid(pump):
            pump.end()


# When a frame is run.


def test_an_idle_loop_runs_a_frame_at_once(pumped):
    """What comes to an idle window is delivered without waiting for a tick."""
    pump, frames = pumped()
    pump.on_woken()
    assert frames.runs == 1


def test_a_busy_loop_runs_no_second_frame_before_the_tick(pumped):
    """What comes right after a frame waits for the next."""
    pump, frames = pumped()
    pump.on_woken()
    pump.on_woken()
    pump.on_woken()
    assert frames.runs == 1
    pump.on_tick()
    assert frames.runs == 2


def test_ticks_end_when_nothing_waits(pumped):
    """An idle window is not woken sixty times a second."""
    pump, frames = pumped()
    pump.on_woken()
    assert pump._timer.isActive()
    pump.on_tick()
    assert frames.runs == 1
    assert not pump._timer.isActive()


def test_what_does_not_fit_into_a_frame_has_the_next(pumped, until):
    """Frames go on by themselves as long as more waits."""
    pump, frames = pumped(True, True, False)
    pump.woken.emit()
    until(lambda: frames.runs == 3 and not pump._timer.isActive())
    assert frames.runs == 3


def test_frames_leave_time_for_drawing(pumped):
    """However long handlers take, the loop has some milliseconds to itself."""
    pump, frames = pumped(True)
    frames.run = lambda: threading.Event().wait(0.03)
    pump.on_woken()
    assert pump._timer.interval() == 8


def test_what_ends_programs_ends_a_frame_and_not_all_of_them(pumped):
    """Ctrl-C in a handler: some bindings print it and go on, and what waits must not stay."""
    pump, frames = pumped()
    run = frames.run

    def leave():
        raise KeyboardInterrupt

    frames.run = leave
    with pytest.raises(KeyboardInterrupt):
        pump.on_woken()
    frames.run = run
    assert pump._timer.isActive()
    pump.on_tick()
    assert frames.runs == 1


def test_a_pump_may_be_destroyed_by_what_it_runs(pumped):
    """A handler may end everything, the application included."""
    pump, frames = pumped()
    frames.run = lambda: (pump.end(), destroy_at_once(pump))[0]
    pump.on_woken()
    assert not is_valid(pump)


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
    frames = next(iter(ATTACHED)).frames()
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


def test_a_client_that_is_forgotten_is_closed(application, until):
    """The event loop does not keep a client alive."""
    client = Client(transport=ScriptedCli())
    client.__enter__()
    qt.attach(client)
    gone = weakref.ref(client)
    with pytest.warns(ResourceWarning):
        del client
        gc.collect()
    assert gone() is None
    until(nothing_is_attached)


def nothing_is_attached():
    """Whether all is let go of that can be."""
    gc.collect()
    return not ATTACHED


def test_detached_handlers_run_on_threads_of_the_client(client, cli, window, until):
    """What waited is done first, and the window's end no longer matters."""
    attachment = qt.attach(client, window)
    heard = []
    client.on_text(lambda text: heard.append((str(text), threading.current_thread())))
    turn, user = begin(client, cli)
    cli.speak("hello")
    wait_for(lambda: attachment.frames()._waiting)
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
