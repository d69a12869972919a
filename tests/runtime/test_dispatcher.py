"""The one place that calls user code: guarded, in order, never under a lock."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from patience import PATIENCE, wait_until
from stand_ins import ready

from claude_sync import CalledFromHandler, Client, CliExited, UsageError
from claude_sync.testing import ScriptedCli, builders


def play(client, cli, *messages, **keywords):
    """One turn during which the CLI says *messages*."""
    turn = client.submit("hi", **keywords)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(*messages)
    cli.end_turn(user, "done")
    return turn


def fails(event):
    """A handler that raises."""
    raise ValueError("oh no")


def test_handlers_run_on_the_dispatcher_thread(client, cli):
    """By default all handlers run on one thread that carries the client's name."""
    names = set()
    client.on_text(lambda text: names.add(threading.current_thread().name))
    client.on_result(lambda text: names.add(threading.current_thread().name))
    play(client, cli, builders.assistant("Hello")).result(PATIENCE)
    assert names == {f"{client.name}-dispatcher"}


def test_a_failing_handler_stops_nobody(client, cli, caplog):
    """The others run, ask() returns, and the log has the traceback."""
    heard = []
    client.on_text(fails)
    client.on_text(heard.append)
    assert play(client, cli, builders.assistant("Hello")).result(PATIENCE) == "done"
    assert heard == ["Hello"]
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert record.name == "claude_sync"
    assert "fails failed on Text" in record.getMessage()
    assert isinstance(record.exc_info[1], ValueError)


def test_a_failure_is_told_to_on_error(client, cli):
    """The exception, the handler and the event are in the HandlerError."""
    reports = []
    client.on_error(reports.append)
    client.on_text(fails)
    play(client, cli, builders.assistant("Hello")).result(PATIENCE)
    (report,) = reports
    assert isinstance(report.exception, ValueError)
    assert report.handler is fails
    assert report.event == "Hello"


def test_a_failing_on_error_is_not_reported_to_itself(client, cli, caplog):
    """A failure to report a failure is logged, and that is the end of it."""
    calls = []

    def reports(error):
        calls.append(error)
        raise RuntimeError("and again")

    client.on_error(reports)
    client.on_text(fails)
    assert play(client, cli, builders.assistant("Hello")).result(PATIENCE) == "done"
    assert len(calls) == 1
    assert "and again" in caplog.text


@pytest.mark.parametrize("leave", [SystemExit, KeyboardInterrupt])
def test_a_handler_cannot_end_the_dispatcher(client, cli, caplog, leave):
    """sys.exit() in a handler is a failure like others: nobody would hear of it otherwise."""

    @client.on_text
    def exits(text):
        raise leave

    assert play(client, cli, builders.assistant("Hello")).result(PATIENCE) == "done"
    assert "exits failed" in caplog.text


def test_a_failure_can_be_raised_by_ask(cli):
    """raise_handler_errors=True makes the running turn fail with the first exception."""
    with ready(cli, raise_handler_errors=True) as client:
        client.on_text(fails)
        client.on_result(lambda result: 1 / 0)
        with pytest.raises(ValueError, match="oh no"):
            play(client, cli, builders.assistant("Hello")).result(PATIENCE)
        client.off(fails)
        with pytest.raises(ZeroDivisionError):
            play(client, cli, builders.assistant("Hello")).result(PATIENCE)


def test_handlers_run_without_a_lock(client, cli):
    """Inside a handler another thread can use the client, and so can the handler."""
    seen = Future()

    @client.on_text
    def handler(text):
        with ThreadPoolExecutor(1) as pool:
            state = pool.submit(lambda: (client.state, client.session_id, client.cost_usd))
            client.on_result(lambda result: None)
            seen.set_result(state.result(PATIENCE))

    play(client, cli, builders.assistant("Hello")).result(PATIENCE)
    assert seen.result(0)[0] == "busy"


def test_messages_are_delivered_in_order(client, cli):
    """Text, tool uses, results and stderr-independent messages keep the order of the wire."""
    events = []
    client.on_text(lambda text: events.append(str(text)))
    client.on_tool_use(lambda use: events.append(use.name))
    client.on_tool_result(lambda result: events.append(result.content))
    client.on_result(lambda result: events.append("result"))
    turn = play(
        client,
        cli,
        *builders.stream_of(["a", "b"], "m1", complete=True),
        builders.assistant(builders.tool_use("Read", {}, "t1"), "m1"),
        builders.user([builders.tool_result("t1", "content")]),
        *builders.stream_of(["c"], "m2", complete=True),
    )
    turn.result(PATIENCE)
    assert events == ["a", "b", "Read", "content", "c", "result"]


def test_what_comes_after_a_result_belongs_to_nobody(client, cli):
    """Messages between two turns are delivered, but to no answer."""
    heard = []
    client.on_text(heard.append)
    turn = play(client, cli)
    assert turn.result(PATIENCE) == "done"
    cli.say(builders.assistant("between", "m1"))
    again = play(client, cli, builders.assistant("within", "m2"))
    answer = again.result(PATIENCE)
    assert heard == ["between", "within"]
    assert [m.text for m in answer.messages if type(m).__name__ == "Assistant"] == ["within"]


def test_slow_handlers_get_merged_text(client, cli):
    """When handlers are slower than the CLI, pieces are merged and nothing is lost."""
    entered, leave = threading.Event(), threading.Event()
    heard = []

    @client.on_text
    def slow(text):
        heard.append(text)
        entered.set()
        assert leave.wait(PATIENCE)

    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.message_start(), builders.block_start(), builders.text_delta("0 "))
    assert entered.wait(PATIENCE)
    for number in range(1, 200):
        cli.say(builders.text_delta(f"{number} "))
    whole = "".join(f"{number} " for number in range(200))
    cli.say(builders.assistant(whole))
    cli.end_turn(user, whole)
    leave_when_read(client, leave)
    assert turn.result(PATIENCE) == whole
    assert "".join(heard) == whole
    assert len(heard) < 50
    assert heard[-1].snapshot == whole


def leave_when_read(client, leave):
    """Let a held handler go once everything that was said is in the inbox."""
    exchange = client._engine.lifecycle.connection.exchange
    wait_until(lambda: exchange.question is not None and exchange.question.result is not None)
    leave.set()


@pytest.mark.parametrize("how", ["on_stream_event", "events"])
def test_raw_events_are_never_merged(client, cli, how):
    """While somebody wants raw events, each delta is delivered by itself."""
    entered, leave = threading.Event(), threading.Event()
    deltas = []

    @client.on_text
    def slow(text):
        entered.set()
        assert leave.wait(PATIENCE)

    if how == "on_stream_event":
        client.on_stream_event(deltas.append)
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.message_start(), builders.block_start(), builders.text_delta("0 "))
        assert entered.wait(PATIENCE)
        for number in range(1, 100):
            cli.say(builders.text_delta(f"{number} "))
        cli.end_turn(user, "done")
        leave_when_read(client, leave)
        events = [each for each in turn.events() if type(each).__name__ == "StreamEvent"]
    found = deltas if how == "on_stream_event" else events
    assert len(found) == 102


# post=function.


@pytest.fixture
def calls():
    """The queue of somebody else's thread, such as a user interface's."""
    return queue.Queue()


def run_posted(calls, turn):
    """Be that thread until *turn* is done."""
    while not turn.done():
        call = calls.get(timeout=PATIENCE)
        assert call() is None


def test_posted_handlers_run_where_they_are_posted(cli, calls):
    """post=f hands every call to f; nothing runs until that thread runs it."""
    with ready(cli, post=calls.put) as client:
        heard = []
        client.on_text(lambda text: heard.append((text, threading.get_ident())))
        turn = play(client, cli, builders.assistant("Hello"))
        run_posted(calls, turn)
        assert heard == [("Hello", threading.get_ident())]


def test_a_posted_turn_is_done_after_its_handlers(cli, calls):
    """The turn completes when the posted handlers have run, not before."""
    with ready(cli, post=calls.put) as client:
        heard = []
        client.on_result(heard.append)
        turn = play(client, cli)
        call = calls.get(timeout=PATIENCE)
        assert not turn.done()
        call()
        assert len(heard) == 1
        run_posted(calls, turn)
        # The result of a turn that is done can be had on any thread.
        assert turn.result() == "done"


def test_a_thread_that_runs_posted_calls_cannot_wait(cli, calls):
    """ask() on the user interface's thread would freeze it: refused, with the remedy."""
    with ready(cli, post=calls.put) as client:
        client.on_text(lambda text: None)
        run_posted(calls, play(client, cli, builders.assistant("Hello")))
        with pytest.raises(UsageError, match=r"would freeze this thread.*submit\(\)"):
            client.ask("more")
        with pytest.raises(UsageError, match="would freeze"):
            client.wait_idle()


def test_waiting_inside_a_posted_handler_is_refused(cli, calls):
    """Inside it, the error is the one for handlers."""
    with ready(cli, post=calls.put) as client:
        errors = []

        @client.on_text
        def handler(text):
            try:
                client.ask("more")
            except CalledFromHandler as error:
                errors.append(error)

        run_posted(calls, play(client, cli, builders.assistant("Hello")))
        assert len(errors) == 1


def test_a_failing_posted_handler_is_reported(cli, calls, caplog):
    """Its exception does not reach the thread that runs it, but the log and on_error."""
    with ready(cli, post=calls.put) as client:
        reports = []
        client.on_error(reports.append)
        client.on_text(fails)
        turn = play(client, cli, builders.assistant("Hello"))
        run_posted(calls, turn)
        assert turn.result() == "done"
        assert reports[0].handler is fails
        assert "oh no" in caplog.text


def test_a_post_function_that_fails_fails_the_handler(cli, caplog):
    """A queue that takes no calls is told like a handler's failure, and turns still end."""

    def post(call):
        raise RuntimeError("no window any more")

    with ready(cli, post=post) as client:
        client.on_text(lambda text: None)
        assert play(client, cli, builders.assistant("Hello")).result(PATIENCE) == "done"
    assert "no window any more" in caplog.text


def test_closing_does_not_wait_for_posted_calls(cli, calls):
    """A user interface that runs nothing any more does not hold up close()."""
    with ready(cli, post=calls.put) as client:
        client.on_text(lambda text: None)
        turn = client.submit("hi")
        user = cli.expect("user")
        cli.begin_turn(user)
        for number in range(200):
            cli.say(builders.assistant("Hello", f"m{number}"))
    assert turn.done()
    assert client.state == "closed"


def test_a_client_and_its_handlers_can_be_collected(cli, calls):
    """Between two batches the dispatcher holds no reference to the handlers."""
    with ready(cli) as client:
        registry = client._registry
        assert play(client, cli).result(PATIENCE) == "done"
        client.wait_idle(PATIENCE)
        references = sys.getrefcount(registry)
        assert references <= 4


def test_a_block_does_not_outlive_its_cli():
    """Text that a dead CLI had begun is no beginning of what the next one says."""
    lives = [ScriptedCli(patience=PATIENCE), ScriptedCli(patience=PATIENCE)]
    first, second = lives
    heard = []
    with Client(
        transport=lambda: lives.pop(0), on_text=lambda text: heard.append(str(text))
    ) as client:
        turn = client.submit("one")
        first.accept()
        first.begin_turn(first.expect("user"))
        first.say(builders.text_delta("Hel"))
        first.hang_up(1)
        with pytest.raises(CliExited):
            turn.result(PATIENCE)
        turn = client.submit("two")
        second.play(answers_without_a_stream)
        assert turn.result(PATIENCE) == "Hello"
    assert heard == ["Hel", "Hello"]


def answers_without_a_stream(cli):
    """Begin a session, and answer with a complete message."""
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        elif message["type"] == "user":
            cli.begin_turn(message)
            cli.say(builders.assistant("Hello"))
            cli.end_turn(message, "Hello")


def test_an_idle_cli_is_asked_what_waited_for_its_own_turn(client, cli, hurry):
    """Also if that turn had no result: the CLI's own word is enough."""
    hurry(FOREIGN_PATIENCE=1000)
    play(client, cli).result(PATIENCE)
    heard = threading.Event()
    client.on_text(lambda text: heard.set())
    cli.say(cli.init(), builders.assistant("by myself"))
    assert heard.wait(PATIENCE)
    turn = client.submit("hi")
    cli.say(builders.session_state("idle"))
    cli.answer("Hello", prompt="hi")
    assert turn.result(PATIENCE) == "Hello"
