"""A client in a Tk window: where handlers run, what is refused, and how it ends."""

import gc
import threading
import weakref

import pytest
from window_fixtures import PATIENCE

import claude_sync
from claude_sync import Client, UsageError
from claude_sync.testing import StandIn


@pytest.fixture
def attach(tkinter):
    """The function."""
    from claude_sync.gui import tk

    return tk.attach


@pytest.fixture
def attached(talk, attach, root):
    """A client in a window, in a turn."""
    each = talk()
    each.attachment = attach(each.client, root)
    return each


class Heard:
    """Keeps what a handler got, and on which thread."""

    def __init__(self):
        self.events = []
        self.threads = set()

    def __call__(self, event):
        self.events.append(event)
        self.threads.add(threading.current_thread())


HERE = {threading.main_thread()}


# Where handlers run.


def test_handlers_run_on_the_thread_of_the_window(attached, root, until):
    """In order, while its loop runs, and the turn ends after them."""
    text, result, closed = Heard(), Heard(), Heard()
    client = attached.client
    client.on_text(text)
    client.on_result(result)
    client.on_close(closed)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("Hello there"))
    attached.end("Hello there")
    until(root, turn.done)
    assert "".join(text.events) == "Hello there" == turn.result()
    assert [each.result for each in result.events] == ["Hello there"]
    client.close(wait=False)
    until(root, lambda: closed.events)
    assert text.threads == result.threads == closed.threads == HERE


def test_a_callback_of_a_turn_runs_there_too(attached, root, until):
    """As handlers do."""
    heard = Heard()
    attached.begin().add_done_callback(heard)
    attached.end()
    until(root, lambda: heard.events)
    assert heard.threads == HERE


def test_mainloop_and_update_both_make_calls(attached, root):
    """Programs with a loop of their own call update()."""
    heard = Heard()
    attached.client.on_result(heard)
    attached.client.on_result(lambda _: root.quit())
    attached.begin()
    attached.end()
    root.mainloop()
    assert len(heard.events) == 1
    turn = attached.begin()
    attached.end()
    while not turn.done():
        root.update()
    assert len(heard.events) == 2


def test_nothing_runs_while_the_window_does_not(attached, root, until):
    """Calls wait for its loop."""
    heard = Heard()
    attached.client.on_text(heard)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    assert heard.events == []
    until(root, turn.done)
    assert heard.events == ["one"]


def test_all_of_a_flood_arrives_in_few_calls(root, attach, until):
    """Pieces of text are merged to one call per frame; not one character is lost."""
    heard, whole = Heard(), 20_000
    with Client(cli=StandIn().command) as client:
        attach(client, root)
        client.on_text(heard)
        turn = client.submit(f"[[deltas {whole}]]")
        until(root, turn.done)
        assert "".join(heard.events) == turn.result()
        assert len(heard.events) < whole / 10


def test_a_window_that_sleeps_is_woken_up(attached, root):
    """Without any event of its own: mainloop would wait for ever otherwise."""
    attached.client.on_text(lambda _: root.quit())
    attached.begin()
    later = threading.Timer(0.05, lambda: attached.cli.say(*attached.cli.spoken("now")))
    later.start()
    root.mainloop()
    later.join()
    attached.end("now")


def test_a_dialog_with_a_loop_of_its_own_lets_the_others_run(attached, root, until):
    """A handler that waits inside Tk's loop, as message boxes do, keeps nothing up."""
    heard = Heard()

    def wait_for_result(_):
        until(root, lambda: heard.events)

    attached.client.on_text(wait_for_result)
    attached.client.on_result(heard)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    until(root, turn.done)
    assert len(heard.events) == 1


# What is refused.


def test_to_wait_on_the_windows_thread_is_refused(attached):
    """From the first moment, with what to do instead; nothing is sent."""
    turn = attached.begin()
    for wait in (lambda: attached.client.ask("freeze"), turn.result, attached.client.wait_idle):
        with pytest.raises(UsageError, match=r"freeze this thread.*submit\(\)"):
            wait()
    attached.end()


def test_to_wait_on_another_thread_is_not(attached, root, until):
    """There is nothing wrong with that."""
    answers = []
    asking = threading.Thread(target=lambda: answers.append(attached.client.ask("hi")))
    asking.start()
    attached.cli.answer("Hello", prompt="hi")
    until(root, lambda: answers)
    asking.join(PATIENCE)
    assert answers == ["Hello"]


def test_what_is_no_widget_is_refused(talk, attach, tkinter):
    """And the client is as it was."""
    client = talk().client
    for widget in (None, "."):
        with pytest.raises(UsageError, match="takes a tkinter window or widget"):
            attach(client, widget)
    assert client._session.dispatch.posting is None


def test_what_is_no_client_is_refused(attach, root):
    """The two are easily exchanged."""
    with pytest.raises(UsageError, match=r"takes a claude_sync\.Client"):
        attach(root, root)


def test_a_window_that_is_gone_is_refused(talk, attach, new_root, tkinter):
    """The window itself, and a widget in one that lives."""
    client, one, other = talk().client, new_root(), new_root()
    frame = tkinter.Frame(other)
    frame.destroy()
    one.destroy()
    for widget in (one, frame):
        with pytest.raises(UsageError, match="has been destroyed"):
            attach(client, widget)


def test_another_thread_is_refused_at_once(talk, attach, root):
    """Tk itself would wait for its loop, and may never return."""
    client, errors = talk().client, []

    def call():
        try:
            attach(client, root)
        except UsageError as error:
            errors.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(PATIENCE)
    assert len(errors) == 1
    assert "another thread" in errors[0]


def test_a_client_has_one_window(attached, attach, new_root):
    """Its handlers run somewhere, not in two places; and a client with post= has its own."""
    with pytest.raises(UsageError, match="attach one window"):
        attach(attached.client, new_root())
    with pytest.raises(UsageError, match="made with post="):
        attach(Client(post="manual"), new_root())


# Several.


def test_several_clients_share_a_window(talk, attach, root, until):
    """Each gets its own calls."""
    talks = [talk() for _ in range(3)]
    heard = [Heard() for _ in talks]
    for each, hears in zip(talks, heard):
        attach(each.client, root)
        each.client.on_text(hears)
    turns = [each.begin(f"question {number}") for number, each in enumerate(talks)]
    for number, each in enumerate(talks):
        each.cli.say(*each.cli.spoken(f"answer {number}"))
        each.end(f"answer {number}")
    until(root, lambda: all(turn.done() for turn in turns))
    assert ["".join(hears.events) for hears in heard] == ["answer 0", "answer 1", "answer 2"]


def test_several_roots_live_side_by_side(talk, attach, new_root, until):
    """One loop serves both, as Tk's does; one that ends leaves the other alone."""
    one, other = talk(), talk()
    first, second = new_root(), new_root()
    attach(one.client, first)
    attach(other.client, second)
    turns = [one.begin(), other.begin()]
    one.end()
    until(second, turns[0].done)
    first.destroy()
    other.end("still here")
    until(second, turns[1].done)
    assert turns[1].result() == "still here"
    until(second, lambda: one.client.state == "closed")


def test_a_part_of_the_window_can_have_a_client(talk, attach, root, until, tkinter):
    """It ends with that part; what is in it may go before."""
    for kind in (tkinter.Toplevel, tkinter.Frame):
        each, part = talk(), kind(root)
        child = tkinter.Label(part)
        attach(each.client, part)
        child.destroy()
        turn = each.begin()
        each.end()
        until(root, turn.done)
        assert each.client.state == "idle"
        part.destroy()
        until(root, lambda each=each: each.client.state == "closed")


# The end.


@pytest.mark.parametrize("how", ["destroy", "delete_window", "tcl"])
def test_the_end_of_the_window_is_the_end_of_the_client(attached, root, how, capfd):
    """Whatever ends it; without waiting, and without noise."""
    heard = Heard()
    attached.client.on_text(heard)
    turn = attached.begin()
    if how == "destroy":
        root.destroy()
    elif how == "delete_window":
        root.tk.eval(root.tk.eval("wm protocol . WM_DELETE_WINDOW") or "destroy .")
    else:
        root.tk.eval("destroy .")
    attached.cli.say(*attached.cli.spoken("too late"))
    with pytest.raises(claude_sync.ClientClosed):
        turn.result(PATIENCE)
    attached.client.close()
    assert attached.client.state == "closed"
    assert heard.events == []
    assert capfd.readouterr().err == ""


def test_the_programs_own_binding_does_not_take_our_place(attached, root):
    """A later bind of <Destroy> replaces earlier ones of the same widget."""
    heard = Heard()
    root.bind("<Destroy>", heard)
    root.destroy()
    attached.client.close()
    assert heard.events
    assert attached.client.state == "closed"


def test_a_handler_may_destroy_the_window(attached, root, until):
    """The calls after it are dropped, and the turn ends."""
    later = Heard()
    attached.client.on_text(lambda _: root.destroy())
    attached.client.on_result(later)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    until(root, turn.done)
    attached.client.close()
    assert later.events == []


def test_calls_that_wait_when_the_window_goes_are_dropped(attached, root, capfd):
    """Whoever waits for the turn on another thread is told all the same."""
    heard = Heard()
    attached.client.on_text(heard)
    turn = attached.begin()
    for number in range(50):
        attached.cli.say(*attached.cli.spoken(f"piece {number}"))
    root.destroy()
    assert isinstance(turn.exception(PATIENCE), claude_sync.ClientClosed)
    attached.client.close()
    assert heard.events == []
    assert capfd.readouterr().err == ""


def test_a_handler_that_raises_stops_nobody(attached, root, until, caplog):
    """It is logged and told; mainloop goes on, and so does the conversation."""
    told, heard = Heard(), Heard()
    attached.client.on_text(lambda _: 1 / 0)
    attached.client.on_text(heard)
    attached.client.on_error(told)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    until(root, turn.done)
    assert heard.events == ["one"]
    assert [type(each.exception) for each in told.events] == [ZeroDivisionError]
    assert "failed on Text" in caplog.text


def test_a_handler_may_leave_the_program(attached, root, until):
    """sys.exit() ends mainloop as in every callback; the loop can be entered again."""

    def leave(_):
        raise SystemExit(3)

    attached.client.on_text(leave)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    with pytest.raises(SystemExit):
        root.mainloop()
    until(root, turn.done)


# Letting go.


def test_detach_gives_the_client_back(attached, root, until):
    """What waits is done; then handlers run on the client's threads, and ask() may wait."""
    heard = Heard()
    attached.client.on_text(heard)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    until(root, turn.done)
    assert (heard.events, heard.threads) == (["one"], HERE)
    attached.attachment.detach()
    attached.attachment.detach()
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("two"))
    attached.end("two")
    assert turn.result(PATIENCE) == "two"
    assert heard.events == ["one", "two"]
    assert len(heard.threads) == 2
    root.destroy()
    assert attached.client.state == "idle"


def test_a_client_can_move_to_another_window(attached, attach, new_root, until):
    """Detached, it can be attached again."""
    heard = Heard()
    attached.client.on_text(heard)
    attached.attachment.detach()
    other = new_root()
    attach(attached.client, other)
    turn = attached.begin()
    attached.cli.say(*attached.cli.spoken("one"))
    attached.end("one")
    until(other, turn.done)
    assert heard.threads == HERE


def test_another_thread_cannot_detach(attached, root):
    """Tk is for its own thread."""
    errors = []

    def call():
        try:
            attached.attachment.detach()
        except UsageError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(PATIENCE)
    assert len(errors) == 1


def test_a_closed_client_is_forgotten_with_its_window(talk, attach, new_root):
    """Nothing keeps it alive."""
    each, root = talk(), new_root()
    attach(each.client, root)
    root.destroy()
    each.client.close()
    forgotten = weakref.ref(each.client)
    each.client = Client()
    gc.collect()
    assert forgotten() is None


def test_clients_that_were_closed_make_room(talk, attach, root, until):
    """A window in which conversations come and go holds on to none of them."""
    forgotten = []
    for _ in range(3):
        each = talk()
        attach(each.client, root)
        each.client.close()
        forgotten.append(weakref.ref(each.client))
        each.client = Client()
    until(root, lambda: gc.collect() is not None and not [each for each in forgotten if each()])


def test_it_says_what_it_is(attached, root):
    """For people who look at it."""
    assert repr(attached.attachment) == f"<{attached.client.name} attached to a window>"
    root.destroy()
    assert repr(attached.attachment) == f"<{attached.client.name} attached to a window (no more)>"
