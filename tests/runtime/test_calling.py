"""Handlers that run in the frames of a window."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE

from claude_sync import LATER, Client, TurnInterrupted, UsageError
from claude_sync.gui.frames import Frames


class Window:
    """A window without a screen: this thread is its thread."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self.frames = Frames(self._woken.set)

    def run_until(self, holds):
        """Be the window's loop until something holds."""
        while not holds():
            assert self._woken.wait(PATIENCE)
            self._woken.clear()
            if self.frames.run():
                self._woken.set()


@pytest.fixture
def window():
    """One that nothing is attached to."""
    return Window()


@pytest.fixture
def client(client, window):
    """A client that is ready, and attached to the window."""
    client._post_through(window.frames)
    return client


def begin(client, cli, prompt="hi"):
    """Ask, and let the CLI begin."""
    turn = client.submit(prompt)
    user = cli.expect("user")
    cli.begin_turn(user)
    return turn, user


def test_handlers_run_on_the_windows_thread_in_order(client, cli, window):
    """All kinds of them, and text with everything that came since the last frame."""
    heard = []
    client.on_text(lambda text: heard.append(("text", str(text), threading.get_ident())))
    client.on_message(lambda message: heard.append((type(message).__name__, threading.get_ident())))
    turn, user = begin(client, cli)
    pieces = [f"word{number} " for number in range(500)]
    cli.speak("".join(pieces), pieces)
    cli.end_turn(user, "done")
    window.run_until(turn.done)
    assert turn.result() == "done"
    texts = [entry[1] for entry in heard if entry[0] == "text"]
    assert "".join(texts) == "".join(pieces)
    assert {entry[-1] for entry in heard} == {threading.get_ident()}
    kinds = [entry[0] for entry in heard]
    assert "text" not in kinds[kinds.index("Result") :]


def test_text_is_merged_while_the_window_does_something_else(client, cli, window):
    """Five hundred pieces are one call, if they all came between two frames."""
    heard = []
    client.on_text(heard.append)
    turn, user = begin(client, cli)
    pieces = [f"word{number} " for number in range(500)]
    cli.speak("".join(pieces), pieces)
    cli.end_turn(user, "done")
    # Everything has arrived before the window looks: the end of the turn waits, too.
    waiting = window.frames._waiting
    while not waiting or waiting[-1].instead is None:
        threading.Event().wait(0.005)
    window.run_until(turn.done)
    assert heard == ["".join(pieces)]
    assert heard[0].snapshot == "".join(pieces)


def test_a_loop_inside_of_a_handler_keeps_the_order_for_the_others(client, cli, window):
    """The first handler of text opens a dialog, in whose loop more text arrives."""
    first, second = [], []

    def dialog(text):
        first.append(str(text))
        if len(first) == 1:
            cli.speak("two ")
            while "two " not in first:  # a tick of the window's own; nobody wakes it now
                window.frames.run()
                threading.Event().wait(0.005)

    client.on_text(dialog)
    client.on_text(lambda text: second.append(str(text)))
    turn, user = begin(client, cli)
    cli.speak("one ")
    window.run_until(lambda: first)
    cli.end_turn(user, "done")
    window.run_until(turn.done)
    assert (first, second) == (["one ", "two "], ["one ", "two "])


@pytest.mark.parametrize("way", ["on_stream_event", "events"])
def test_every_piece_is_delivered_while_raw_events_are_wanted(client, cli, window, way):
    """Who looks at raw events wants to see which piece came with which."""
    texts = []
    client.on_text(texts.append)
    if way == "on_stream_event":
        client.on_stream_event(lambda event: None)
        turn = client.submit("hi")
    else:
        turn = client.stream("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("abc", ["a", "b", "c"])
    cli.end_turn(user, "abc")
    while not client._engine.inbox.is_drained():
        threading.Event().wait(0.005)
    window.run_until(turn.done)
    assert texts == ["a", "b", "c"]


def test_the_windows_thread_must_not_wait(client):
    """Known from the start, before any call was made there."""
    with pytest.raises(UsageError, match=r"freeze this thread.*submit\(\)"):
        client.ask("hi")
    with pytest.raises(UsageError, match="freeze"):
        client.wait_idle()


def test_a_permission_is_decided_in_the_window(client, cli, window):
    """By a button, later."""
    asked = []

    @client.on_permission
    def ask(request):
        asked.append((request, threading.get_ident()))
        return LATER

    turn, user = begin(client, cli)
    request = cli.ask_permission("Bash", {"command": "ls"})
    window.run_until(lambda: asked)
    assert asked[0][1] == threading.get_ident()
    asked[0][0].allow()
    assert cli.expect_reply(request)["behavior"] == "allow"
    cli.end_turn(user, "done")
    window.run_until(turn.done)


def test_a_window_that_closes_denies_what_nobody_saw(client, cli, window):
    """A request that waits for a frame, and one that comes later; the turn ends."""
    asked = []
    client.on_permission(lambda request: asked.append(request) or LATER)
    client.on_text(asked.append)
    turn, user = begin(client, cli)
    first = cli.ask_permission("Bash", {"command": "ls"})
    while not window.frames._waiting:
        threading.Event().wait(0.005)
    window.frames.stop()
    for request in (first, cli.ask_permission("Bash", {"command": "ls"})):
        answer = cli.expect_reply(request)
        assert answer["behavior"] == "deny"
        assert "window" in answer["message"]
    cli.speak("nobody draws this")
    cli.end_turn(user, "done")
    # The window's thread is free to wait, once there is no window.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(turn.result, PATIENCE).result(PATIENCE) == "done"
    assert asked == []


def test_a_handler_that_raises_is_reported(client, cli, window, caplog):
    """In the window, and the others run; text included."""
    reports, heard = [], []

    @client.on_text
    def fails(text):
        raise RuntimeError("oh no")

    client.on_text(heard.append)
    client.on_error(reports.append)
    turn, user = begin(client, cli)
    cli.speak("hello")
    cli.end_turn(user, "hello")
    window.run_until(turn.done)
    assert [report.handler for report in reports] == [fails]
    assert "".join(heard) == "hello"
    assert "oh no" in caplog.text


def test_a_window_can_be_let_go(client, cli, window):
    """Then the handlers run on the client's own threads again."""
    heard = []
    client.on_text(lambda text: heard.append(threading.get_ident()))
    client._post_through(None)
    window.frames.stop()
    turn, user = begin(client, cli)
    cli.speak("hello")
    cli.end_turn(user, "hello")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(turn.result, PATIENCE).result(PATIENCE) == "hello"
    assert heard
    assert threading.get_ident() not in heard


@pytest.mark.parametrize("post", ["manual", "caller", print, "attached"])
def test_handlers_run_in_one_place(cli, window, post):
    """A client that was told where its handlers run takes no window, nor a second one."""
    client = Client(transport=cli, **({} if post == "attached" else {"post": post}))
    if post == "attached":
        client._post_through(Window().frames)
    with pytest.raises(UsageError, match="without post="):
        client._post_through(window.frames)
    client.close()


@pytest.mark.usefixtures("quick_close")
def test_closing_on_the_windows_thread(client, cli, window):
    """A turn that runs is over, and nothing waits for a window that no longer draws."""
    client.on_text(lambda text: None)
    turn, _user = begin(client, cli)
    cli.speak("hello")
    client.close(wait=False)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(Exception, match=r"closed|interrupted"):
            pool.submit(turn.result, PATIENCE).result(PATIENCE)
        pool.submit(client.close).result(PATIENCE)
    assert client.state == "closed"


def test_an_interrupted_turn_ends_in_the_window(client, cli, window):
    """After everything that was said before."""
    heard = []
    client.on_text(heard.append)
    turn, user = begin(client, cli)
    cli.speak("so far")
    with ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(client.interrupt)
        cli.reply(cli.expect("control_request"))
        stopping.result(PATIENCE)
    cli.end_interrupted(user)
    window.run_until(turn.done)
    assert "".join(heard) == "so far"
    assert isinstance(turn.exception(), TurnInterrupted)


def test_a_window_does_not_keep_a_forgotten_client_alive(cli, window):
    """Its frames know no client."""
    client = Client(transport=cli)
    client._post_through(window.frames)
    gone = weakref.ref(client)
    client.close()
    del client
    gc.collect()
    assert gone() is None


def test_a_message_of_nobody_reaches_the_window(client, cli, window):
    """Between turns, too."""
    seen = []
    client.on_system(seen.append)
    cli.say({"type": "system", "subtype": "status", "status": None})
    window.run_until(lambda: seen)
    assert seen[0].subtype == "status"
