"""Handlers that fail, wait for the wrong thing, or change the handlers themselves."""

import threading

import pytest
from patience import PATIENCE

from claude_sync import AskTimeout, CalledFromHandler, Client, TurnInterrupted, UsageError
from claude_sync.testing import ScriptedCli


def echoing(cli):
    """Answer every question with itself."""
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "user":
            cli.answer("echo: " + message["message"]["content"], to=message)
        elif message["type"] == "control_request":
            cli.reply(message)


@pytest.fixture
def echo():
    """Open clients of a CLI in memory that echoes."""
    clients = []

    def open_client(**options):
        clients.append(Client(transport=lambda: ScriptedCli(echoing, patience=PATIENCE), **options))
        return clients[-1].__enter__()

    yield open_client
    for client in clients:
        client.close()


class Oops(Exception):
    """What the handlers here raise."""


class Quit(BaseException):
    """What is not even an Exception."""


@pytest.mark.parametrize("kind", [Oops, Quit, SystemExit, KeyboardInterrupt])
def test_handler_that_raises(echo, caplog, kind):
    """A handler's exception is logged, told to on_error, and stops nobody."""
    heard, errors = [], []

    def fail(text):
        raise kind("on purpose")

    client = echo(on_text=fail, on_error=errors.append)
    client.on_text(heard.append)
    assert client.ask("hi there") == "echo: hi there"
    assert "".join(heard) == "echo: hi there"
    assert {type(each.exception) for each in errors} == {kind}
    assert {each.handler for each in errors} == {fail}
    assert "".join(each.event for each in errors) == "echo: hi there"
    assert "on purpose" in caplog.text
    assert "Traceback" in caplog.text
    assert client.ask("again") == "echo: again"


def test_error_handler_that_raises(echo, caplog):
    """A failing on_error is logged, and not told to itself."""

    def fail(event):
        raise Oops(type(event).__name__)

    client = echo(on_result=fail, on_error=fail)
    assert client.ask("hi") == "echo: hi"
    assert "Oops: HandlerError" in caplog.text


def test_raise_handler_errors(echo):
    """With raise_handler_errors the running ask() raises what the handler raised."""
    calls = []

    def fail(text):
        calls.append(text)
        raise Oops("on purpose")

    client = echo(on_text=fail, raise_handler_errors=True)
    with pytest.raises(Oops, match="on purpose"):
        client.ask("hi there")
    assert "".join(calls) == "echo: hi there"
    client.off(fail)
    assert client.ask("again") == "echo: again"


@pytest.mark.parametrize("method", ["ask", "result", "exception", "wait_idle", "iterate"])
def test_waiting_in_a_handler(echo, method):
    """What would wait for a turn raises CalledFromHandler in a handler, with the remedy."""
    client, errors = echo(), []

    def wait(_):
        turn = client.submit("from the handler")
        calls = {
            "ask": lambda: client.ask("never"),
            "result": turn.result,
            "exception": turn.exception,
            "wait_idle": client.wait_idle,
            "iterate": lambda: list(client.stream("never")),
        }
        try:
            calls[method]()
        except CalledFromHandler as error:
            errors.append(error)

    once = threading.Event()
    client.on_result(lambda result: once.is_set() or once.set() or wait(result))
    assert client.ask("hi") == "echo: hi"
    assert len(errors) == 1
    assert "submit()" in str(errors[0])
    client.wait_idle(PATIENCE)


def test_interrupt_in_a_handler(cli, client, background):
    """interrupt() works in a handler of the turn that it stops."""
    receipts = []
    client.on_text(lambda _: receipts or receipts.append(client.interrupt(PATIENCE)))
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("so far")
    cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=["u"])
    cli.end_interrupted(user, "so far")
    with pytest.raises(TurnInterrupted) as caught:
        turn.result(PATIENCE)
    assert caught.value.answer == "so far"
    assert receipts[0].still_queued == ("u",)


def test_submit_in_a_handler(echo):
    """A question that a handler submits is asked after the turn that is running."""
    client, turns = echo(), []
    client.on_result(lambda _: turns or turns.append(client.submit("second")))
    assert client.ask("first") == "echo: first"
    assert turns[0].result(PATIENCE) == "echo: second"


def test_handlers_added_and_removed_inside_handlers(echo):
    """Handlers may add and remove handlers, themselves included; it counts from the next event."""
    client, calls = echo(), []

    def second(result):
        calls.append("second")

    def first(result):
        calls.append("first")
        client.off(first)
        client.on_result(second)
        client.on_result(second)

    client.on_result(first)
    client.ask("one")
    client.ask("two")
    assert calls == ["first", "second", "second"]
    client.off(second)
    client.ask("three")
    assert calls == ["first", "second", "second"]


def test_handlers_run_in_order_of_registration(echo):
    """Handlers of one event run in the order in which they were registered."""
    client, calls = echo(), []
    for number in range(5):
        client.on_result(lambda _, number=number: calls.append(number))
    client.ask("hi")
    assert calls == [0, 1, 2, 3, 4]


def test_every_handler_has_run_when_ask_returns(echo):
    """ask() returns after the last handler of its turn."""
    client, events = echo(), []
    client.on_text(lambda _: events.append("text"))
    client.on_result(lambda _: threading.Event().wait(0.1) or events.append("result"))
    client.ask("hi")
    assert events[-1] == "result"


# Turns as futures.


def test_done_callbacks(echo):
    """A done-callback runs as a handler does, also when it is added late; failures are logged."""
    errors, called = [], []
    done = threading.Semaphore(0)
    client = echo(on_error=errors.append)

    def fail(turn):
        raise Oops

    def hear(turn):
        called.append((turn.result(), threading.current_thread().name))
        done.release()

    turn = client.submit("hi")
    turn.add_done_callback(fail)
    turn.add_done_callback(hear)
    assert turn.result(PATIENCE) == "echo: hi"
    assert done.acquire(timeout=PATIENCE)
    turn.add_done_callback(hear)
    assert done.acquire(timeout=PATIENCE)
    assert called == [("echo: hi", f"{client.name}-dispatcher")] * 2
    assert [type(each.exception) for each in errors] == [Oops]


def test_done_callback_may_not_wait(echo):
    """ask() in a done-callback is refused like in any handler."""
    client, errors, done = echo(), [], threading.Event()

    def wait(turn):
        try:
            client.ask("never")
        except CalledFromHandler as error:
            errors.append(error)
        done.set()

    client.submit("hi").add_done_callback(wait)
    assert done.wait(PATIENCE)
    assert len(errors) == 1


def test_cancel_of_a_queued_question(cli, client):
    """A queued question is withdrawn: never sent, cancelled, and its callbacks run."""
    called = threading.Event()
    first = client.submit("one")
    user = cli.expect("user")
    second, third = client.submit("two"), client.submit("three")
    second.add_done_callback(lambda turn: turn.cancelled() and called.set())
    assert second.cancel() is True
    assert second.cancelled()
    assert called.wait(PATIENCE)
    cli.answer("first", to=user)
    cli.answer("third", prompt="three")
    assert first.result(PATIENCE) == "first"
    assert third.result(PATIENCE) == "third"


def test_cancel_of_a_running_question(cli, client):
    """cancel() of a running turn interrupts it and says False; the result is TurnInterrupted."""
    turn = client.submit("one")
    user = cli.expect("user")
    cli.begin_turn(user)
    assert turn.cancel() is False
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    assert turn.cancel() is False
    turn = client.submit("two")
    cli.answer("second", prompt="two")
    assert turn.result(PATIENCE) == "second"


def test_timeout_while_queued(cli, client):
    """A question that times out in the queue is withdrawn, and nobody's turn is touched."""
    first = client.submit("one")
    user = cli.expect("user")
    with pytest.raises(AskTimeout) as caught:
        client.ask("two", timeout=0.1)
    assert caught.value.sent is False
    cli.answer("first", to=user)
    assert first.result(PATIENCE) == "first"
    third = client.submit("three")
    cli.answer("third", prompt="three")
    assert third.result(PATIENCE) == "third"


def test_timeout_of_result_interrupts_nothing(cli, client):
    """turn.result(timeout) gives up waiting, not the turn."""
    turn = client.submit("one")
    user = cli.expect("user")
    cli.begin_turn(user)
    with pytest.raises(AskTimeout):
        turn.result(0.05)
    with pytest.raises(AskTimeout):
        turn.exception(0.05)
    cli.end_turn(user, "in the end")
    assert turn.result(PATIENCE) == "in the end"


@pytest.mark.parametrize("kind", ["on_result", "on_text"])
def test_timeout_while_only_handlers_run(cli, client, kind):
    """If the answer is there and handlers still run, AskTimeout carries it; no interrupt."""
    inside, go_on = threading.Event(), threading.Event()

    def hang(_):
        inside.set()
        go_on.wait(PATIENCE)

    getattr(client, kind)(hang)
    turn = client.submit("one", timeout=0.3)
    cli.answer("there it is")
    assert inside.wait(PATIENCE)
    with pytest.raises(AskTimeout) as caught:
        turn.result(PATIENCE)
    assert caught.value.answer == "there it is"
    assert caught.value.timeout == 0.3
    client.off(hang)
    go_on.set()
    turn = client.submit("two")
    cli.answer("second", prompt="two")
    assert turn.result(PATIENCE) == "second"


def test_timeout_while_it_runs(cli, client):
    """A running turn that times out is interrupted; AskTimeout has what there was."""
    turn = client.submit("one", timeout=0.2)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("so far")
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user, "so far")
    with pytest.raises(AskTimeout) as caught:
        turn.result(PATIENCE)
    assert (caught.value.answer, caught.value.sent) == ("so far", True)


def test_leaving_a_stream_early(cli, client):
    """Leaving the block of a stream interrupts its turn."""
    with client.stream("one") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(*cli.spoken("some words to say")[:4])
        assert next(iter(turn)) == "some "
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    assert isinstance(turn.exception(PATIENCE), TurnInterrupted)


# Where handlers run: post=function.


class Loop:
    """An event loop as user interfaces have one: calls are posted, and run by its thread."""

    def __init__(self):
        self.changed = threading.Condition()
        self.calls = []
        self.threads = set()

    def post(self, call):
        with self.changed:
            self.calls.append(call)
            self.changed.notify()

    def run_until(self, condition):
        self.threads.add(threading.get_ident())
        while not condition():
            with self.changed:
                assert self.changed.wait_for(lambda: self.calls or condition(), PATIENCE)
                calls, self.calls = self.calls, []
            for call in calls:
                assert call() is None


def test_posted_handlers(echo):
    """With post=f handlers run where f runs them, in order, and ask() works elsewhere."""
    loop, events = Loop(), []
    client = echo(post=loop.post)
    client.on_text(lambda text: events.append((str(text), threading.get_ident())))
    client.on_result(lambda result: events.append((result.result, threading.get_ident())))
    turn = client.submit("hi there you")
    turn.add_done_callback(lambda _: loop.post(lambda: None))
    loop.run_until(turn.done)
    assert turn.result() == "echo: hi there you"
    assert {ident for _, ident in events} == {threading.get_ident()}
    *texts, last = [text for text, _ in events]
    assert "".join(texts) == last == "echo: hi there you"


def test_posted_calls_hold_up_ask(echo, background):
    """ask() on another thread returns only after the posted handlers have run."""
    loop = Loop()
    client, events = echo(post=loop.post), []
    client.on_result(lambda _: events.append("handler"))

    def ask():
        client.ask("hi")
        events.append("ask")
        loop.post(lambda: None)

    asking = background(ask)
    loop.run_until(lambda: "ask" in events)
    asking.result()
    assert events == ["handler", "ask"]


def test_ask_is_refused_where_posted_calls_run(echo):
    """A thread that has run posted calls may not wait for a turn: it would freeze."""
    loop = Loop()
    client = echo(post=loop.post)
    turn = client.submit("hi")
    loop.run_until(turn.done)
    with pytest.raises(UsageError, match="submit"):
        client.ask("again")
    with pytest.raises(UsageError, match="submit"):
        client.wait_idle()


def test_posted_handler_that_raises(echo, caplog):
    """The failure of a posted handler is logged, told to on_error, and stays inside the call."""
    loop, errors = Loop(), []

    def fail(_):
        raise Oops("on purpose")

    client = echo(post=loop.post, on_text=fail, on_error=errors.append)
    turn = client.submit("hi")
    loop.run_until(turn.done)
    assert turn.result() == "echo: hi"
    assert {type(each.exception) for each in errors} == {Oops}
    assert "on purpose" in caplog.text


def test_post_that_raises(echo):
    """If f itself raises, the handler has failed; the turn completes."""
    errors = []

    def post(call):
        raise Oops("the loop is gone")

    client = echo(post=post, on_text=lambda _: None, on_error=errors.append)
    assert client.ask("hi", timeout=PATIENCE) == "echo: hi"
    assert {str(each.exception) for each in errors} == {"the loop is gone"}


def test_post_that_drops_calls(echo, background):
    """A loop that runs no calls any more cannot keep close() from returning."""
    client = echo(post=lambda call: None, on_text=lambda _: None)
    turn = client.submit("hi")
    closing = background(client.close)
    closing.result(5)
    assert turn.done()


def test_close_on_the_loop_of_posted_calls(echo):
    """close() on the thread that should run posted calls returns quickly all the same."""
    loop, closed = Loop(), []
    client = echo(post=loop.post, on_close=closed.append)
    turn = client.submit("hi")
    loop.run_until(turn.done)
    import time

    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    loop.run_until(lambda: closed)


# post="manual" and post="caller".


def test_manual_process_events(echo, until):
    """With post="manual" handlers run in process_events(), on its thread, and nowhere else."""
    client, events = echo(post="manual"), []
    client.on_text(lambda text: events.append(threading.get_ident()))
    turn = client.submit("hi")
    until(lambda: not client._session.inbox.is_drained())
    assert events == []
    until(lambda: client.process_events(0.05) >= 0 and turn.done())
    assert set(events) == {threading.get_ident()}
    assert client.process_events() == 0


def test_manual_ask(echo):
    """With post="manual" handlers run in ask() while it waits."""
    client, idents = echo(post="manual"), set()
    client.on_text(lambda _: idents.add(threading.get_ident()))
    assert client.ask("hi") == "echo: hi"
    assert idents == {threading.get_ident()}


def test_caller(echo, background):
    """With post="caller" a turn's handlers run on the thread that waits for it."""
    client, where = echo(post="caller"), []
    client.on_result(lambda result: where.append((result.result, threading.get_ident())))
    client.on_text(lambda text: where.append((str(text), threading.get_ident())))
    gate = threading.Barrier(5)

    def ask(number):
        gate.wait(PATIENCE)
        for turn in range(10):
            assert client.ask(f"{number}.{turn}") == f"echo: {number}.{turn}"
        return threading.get_ident()

    asking = [background(ask, number) for number in range(5)]
    idents = {each.result(): number for number, each in enumerate(asking)}
    wrong = [
        (text, idents[ident])
        for text, ident in where
        if text.startswith("echo: ") and text != "echo: " and f"echo: {idents[ident]}." not in text
    ]
    assert wrong == []


@pytest.mark.parametrize("post", ["manual", "caller"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_in_a_handler_of_the_caller(echo, post, kind):
    """Ctrl-C in a handler on the asking thread reaches the program, and loses no message."""
    client, heard = echo(post=post), []

    def interrupted(text):
        client.off(interrupted)
        raise kind

    client.on_text(interrupted)
    client.on_result(lambda result: heard.append(result.result))
    with pytest.raises(kind):
        client.ask("one")
    assert client.ask("two", timeout=PATIENCE) == "echo: two"
    assert heard == ["echo: one", "echo: two"]


@pytest.mark.parametrize("post", ["manual", "caller"])
def test_process_events_in_a_handler(echo, post):
    """process_events() inside a handler does nothing, and says so."""
    client, counts = echo(post=post), []
    client.on_result(lambda _: counts.append(client.process_events(0.1)))
    assert client.ask("hi") == "echo: hi"
    assert counts == [0]


def test_process_events_needs_manual(echo):
    """process_events() is refused where handlers run by themselves."""
    with pytest.raises(UsageError, match="manual"):
        echo().process_events()


@pytest.mark.parametrize("post", ["manual", "caller"])
def test_close_delivers_what_is_left(echo, post):
    """close() on the program's thread delivers what nobody processed, on_close last."""
    client, events = echo(post=post), []
    client.on_result(lambda _: events.append("result"))
    client.on_close(lambda _: events.append("close"))
    client.submit("hi")
    client.close()
    assert events[-1] == "close"
    assert events.count("close") == 1
