"""Ctrl-C, sys.exit(), fork and the garbage collector, each at the worst moment."""

import gc
import os
import signal
import sys
import threading
import time
import weakref

import pytest
import scripts
from patience import PATIENCE, process_is_gone

from claude_sync import Client, UsageError
from claude_sync.engine.closing import Closer
from claude_sync.engine.connection import Connection
from claude_sync.engine.delivery import Delivery
from claude_sync.engine.dispatch import Dispatch
from claude_sync.engine.endings import Endings
from claude_sync.engine.inbox import Inbox
from claude_sync.engine.launch.process import ProcessTransport
from claude_sync.engine.outbox import Outbox
from claude_sync.engine.session import Session
from claude_sync.engine.starting import Starter
from claude_sync.engine.timers import Timers
from claude_sync.protocol.exchange import Exchange
from claude_sync.protocol.streaming import Assembler
from claude_sync.testing import ScriptedCli, StandIn

# Far less than what would be waited for in vain.
PROMPTLY = 10.0
# Whoever waits for this hangs.
FOR_EVER = 1000.0

# Moments at which Ctrl-C still does harm.


def echoing(cli):
    """Answer every question with itself, every request with nothing."""
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "user":
            cli.answer("echo: " + message["message"]["content"], to=message)
        elif message["type"] == "control_request":
            cli.reply(message)


@pytest.fixture
def echo():
    """Open clients of a CLI in memory that echoes; each life of it is counted in ``lives``."""
    clients = []

    def open_client(**options):
        lives = []

        def make():
            lives.append(ScriptedCli(echoing, patience=PATIENCE))
            return lives[-1]

        clients.append(Client(transport=make, **options))
        clients[-1].lives = lives
        return clients[-1].__enter__()

    yield open_client
    for client in clients:
        client.close()


@pytest.fixture
def ctrl_c(monkeypatch):
    """Raise KeyboardInterrupt once on this thread, before or after the call of a method."""
    pressed = []

    def press(owner, name, when, only_if=lambda arguments: True):
        inner = getattr(owner, name)
        thread = threading.current_thread()

        def outer(*arguments, **keywords):
            mine = threading.current_thread() is thread and not pressed and only_if(arguments)
            if mine and when == "before":
                pressed.append(name)
                raise KeyboardInterrupt
            value = inner(*arguments, **keywords)
            if mine and not pressed:
                pressed.append(name)
                raise KeyboardInterrupt
            return value

        monkeypatch.setattr(owner, name, outer)
        return pressed

    return press


# The garbage collector.


@pytest.mark.filterwarnings("ignore:the client .* was not closed:ResourceWarning")
def test_forgotten_client_is_collected_on_its_reader_thread(cli, monkeypatch):
    """A client that is collected on its own reader, under the engine's lock, is closed."""
    collected_on = []
    inner = Exchange.on_result

    def on_result(exchange, raw):
        was_there = forgotten() is not None
        gc.collect()
        if was_there and forgotten() is None and engine.lock.locked():
            collected_on.append(threading.current_thread())
        return inner(exchange, raw)

    monkeypatch.setattr(Exchange, "on_result", on_result)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        engine, forgotten, user = forget_a_client(cli)
        assert forgotten() is not None
        cli.end_turn(user, "too late")
        assert engine.closer._over.wait(PROMPTLY)
    finally:
        if was_enabled:
            gc.enable()
    assert collected_on == [engine.connection.reader]
    assert cli.closed
    assert not engine.lock.locked()


def forget_a_client(cli):
    """Ask something, and forget the client; a handler that mentions it makes a cycle."""
    client = Client(transport=cli)
    client.on_result(lambda _: client.name)
    client.submit("hi")
    cli.accept()
    return client._session, weakref.ref(client), cli.expect("user")


# Ctrl-C inside the library.


def crossed(places, posts):
    """Each place before and after, and by each way of delivery; not each with each."""
    return pytest.mark.parametrize(
        ("owner", "name", "when", "post"),
        [
            (*place, when, posts[(number + turned) % 2])
            for number, place in enumerate(places)
            for turned, when in enumerate(("before", "after"))
        ],
    )


@crossed(
    [
        (Assembler, "stream_event"),
        (Assembler, "complete"),
        (Dispatch, "process"),
        (Dispatch, "_piece"),
        (Dispatch, "_routed"),
        (Dispatch, "_result"),
        (Delivery, "deliver"),
        (Endings, "ended"),
        (Session, "finished"),
        (Inbox, "take"),
    ],
    posts=["manual", "caller"],
)
def test_ctrl_c_while_the_asking_thread_delivers(echo, ctrl_c, hurry, post, owner, name, when):
    """Ctrl-C anywhere in the delivery of a turn ends ask(), and the session stays usable."""
    hurry(STOP_PATIENCE=FOR_EVER)
    client = echo(post=post)
    assert client.ask("first") == "echo: first"
    pressed = ctrl_c(owner, name, when)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        client.ask("second")
    assert pressed == [name]
    assert time.monotonic() - began < PATIENCE
    assert client.ask("third", timeout=PROMPTLY) == "echo: third"
    client.wait_idle(PROMPTLY)
    assert len(client.lives) == 1


@crossed(
    [
        (Session, "pump"),
        (Session, "_take_next"),
        (Session, "_post"),
        (Connection, "post"),
        (Outbox, "post"),
        (Outbox, "flush"),
    ],
    posts=[None, "manual"],
)
def test_ctrl_c_while_a_question_is_sent(echo, ctrl_c, quick_stop, post, owner, name, when):
    """Ctrl-C anywhere on the way of a question to the CLI ends ask(), and the next one works."""
    client = echo(post=post)
    assert client.ask("first") == "echo: first"
    pressed = ctrl_c(owner, name, when)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        client.ask("second")
    assert pressed == [name]
    assert time.monotonic() - began < PATIENCE
    assert client.ask("third", timeout=PROMPTLY) == "echo: third"
    client.wait_idle(PROMPTLY)


@pytest.mark.parametrize(
    ("owner", "name", "when"),
    [
        (ProcessTransport, "start", "after"),
        (Connection, "start", "after"),
        (Timers, "start", "before"),
        (Delivery, "start", "before"),
        (Delivery, "start", "after"),
    ],
)
def test_ctrl_c_while_the_cli_is_started(ctrl_c, monkeypatch, owner, name, when):
    """Ctrl-C while the process is being started leaves none behind that close() does not end."""
    started = []
    inner = ProcessTransport.__init__
    monkeypatch.setattr(
        ProcessTransport, "__init__", lambda self: started.append(self) or inner(self)
    )
    client = Client(cli=StandIn().command)
    pressed = ctrl_c(owner, name, when)
    with pytest.raises(KeyboardInterrupt):
        client.__enter__()
    assert pressed == [name]
    client.close(timeout=4)
    left = [each for each in started if each.pid and not process_is_gone(each.pid)]
    for transport in left:
        transport.kill()
        transport.wait(PATIENCE)
    assert left == []


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["connection_replaced", "traffic"])
def test_ctrl_c_while_the_client_is_opened(ctrl_c, name, when):
    """What has begun is ended or goes on: the next question is answered."""
    client = Client(cli=StandIn().command)
    pressed = ctrl_c(Session, name, when)
    with pytest.raises(KeyboardInterrupt):
        client.__enter__()
    assert pressed == [name]
    assert client.ask("hi", timeout=PROMPTLY) == "echo: hi"
    client.close()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(Starter, "ensure_begun"), (Starter, "_greet"), (Connection, "post_request")],
)
def test_ctrl_c_while_the_greeting_is_sent(echo, ctrl_c, owner, name, when):
    """Ctrl-C while the first request is on its way ends ask(), and the next one works."""
    client = echo(start_timeout=10)
    pressed = ctrl_c(owner, name, when)
    with pytest.raises(KeyboardInterrupt):
        client.ask("first")
    assert pressed == [name]
    assert client.ask("second", timeout=PROMPTLY) == "echo: second"


OPENED = """
import os, signal, sys, threading, time
import claude_sync, scripts, edge_scripts
from claude_sync.testing import StandIn

def say(*words):
    print(*words, flush=True)
"""


def test_ctrl_c_while_the_greeting_is_not_read(program, tmp_path):
    """Ctrl-C while a CLI has not read its large greeting ends ask(), and the next one works."""
    running = program(
        OPENED
        + """
command = StandIn(edge_scripts.reads_late, signal=sys.argv[1]).command
client = claude_sync.Client(cli=command, append_system_prompt="be nice. " * 60000)
client.__enter__()

def press():
    while not any(asked.turn._condition._waiters for asked in list(client._session.open)):
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    client.ask("first")
except KeyboardInterrupt:
    say("interrupted")
open(sys.argv[1], "w").close()
say(client.ask("second", timeout=30))
client.close()
""",
        str(tmp_path / "read now"),
    )
    running.wait_for("interrupted", PROMPTLY)
    code, printed, errors = running.end()
    assert code == 0, errors
    assert printed.endswith("echo: second\n")


# sys.exit() where it is nobody's business.


def test_error_handler_that_exits(echo):
    """sys.exit() in an on_error handler ends no thread: turns still complete."""
    calls = []

    def leave(error):
        calls.append(error)
        sys.exit(1)

    client = echo(on_text=lambda _: 1 / 0, on_error=leave)
    for number in range(3):
        assert client.ask(str(number), timeout=PROMPTLY) == f"echo: {number}"
    assert {type(each.exception) for each in calls} == {ZeroDivisionError}


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, RuntimeError])
def test_post_that_raises(echo, kind):
    """A post= function that raises, even SystemExit, keeps no turn from completing."""
    errors = []

    def post(call):
        raise kind("no calls taken")

    client = echo(post=post, on_text=lambda _: None, on_error=errors.append)
    for number in range(3):
        assert client.ask(str(number), timeout=PROMPTLY) == f"echo: {number}"
    assert {type(each.exception) for each in errors} == {kind}


# Ctrl-C inside close().


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Closer, "_close"),
        (Closer, "_interrupt"),
        (Session, "fail_queued"),
        (Connection, "shut_down"),
        (ProcessTransport, "close"),
        (ProcessTransport, "_ended_by"),
        (Closer, "_join"),
        (Closer, "finish"),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_ctrl_c_in_close(stand_in, ctrl_c, hurry, until, when, owner, name):
    """Ctrl-C inside close() leaves nothing behind: the rest is done without the caller."""
    # For those that come after the end of the process.
    hurry(GRACE=0.3, TERMINATION_GRACE=0.3)
    client = stand_in(scripts.ignores_termination)
    client.start()
    pid = client.pid
    ctrl_c(owner, name, when)
    with pytest.raises(KeyboardInterrupt):
        client.close()
    began = time.monotonic()
    client.close(timeout=FOR_EVER)
    assert time.monotonic() - began < PATIENCE
    assert process_is_gone(pid)
    until(lambda: not own_threads(client))
    assert client.state == "closed"


def test_ctrl_c_at_the_beginning_of_close(stand_in, ctrl_c):
    """Ctrl-C before close() has begun to close anything does not keep a second from it."""
    client = stand_in()
    client.start()
    pid = client.pid
    ctrl_c(Closer, "_is_own_thread", "before")
    with pytest.raises(KeyboardInterrupt):
        client.close()
    client.close(timeout=4)
    try:
        assert process_is_gone(pid)
        assert client.state == "closed"
    finally:
        if not process_is_gone(pid):
            client._session.closer._close(4, may_deliver=False)


def own_threads(client):
    """The names of the client's threads that run."""
    return [each.name for each in threading.enumerate() if each.name.startswith(client.name + "-")]


def test_signal_in_close(program):
    """A second close() waits for what the first, ended by Ctrl-C, has left to be done."""
    running = program(
        OPENED
        + """
import claude_sync.engine.launch.process as process
inner = process.ProcessTransport.close
def close(transport, timeout):
    say("closing")
    inner(transport, timeout)
process.ProcessTransport.close = close
client = claude_sync.Client(cli=StandIn(scripts.ignores_termination).command)
client.start()
pid = client.pid
try:
    client.close()
except KeyboardInterrupt:
    say("interrupted")
began = time.monotonic()
client.close(timeout=1000)
say("closed", client.state, time.monotonic() - began < 60)
say([each.name for each in threading.enumerate() if each.name.startswith(client.name)])
try:
    os.kill(pid, 0)
    say("alive")
except ProcessLookupError:
    say("gone")
"""
    )
    running.wait_for("closing\n")
    running.process.send_signal(signal.SIGINT)
    code, printed, errors = running.end()
    assert code == 0, errors
    assert printed.endswith("interrupted\nclosed closed True\n[]\ngone\n")


@pytest.mark.parametrize("timeout", [None, "x", True, -1, float("nan")])
def test_close_with_a_timeout_that_is_none(echo, timeout):
    """close() with what is no number of seconds is refused, and the client still works."""
    client = echo()
    with pytest.raises(UsageError, match="timeout"):
        client.close(timeout=timeout)
    assert client.ask("still here", timeout=PROMPTLY) == "echo: still here"
    client.close()
    assert client.state == "closed"


def test_close_without_a_limit(stand_in):
    """close(timeout=inf) closes like any other."""
    client = stand_in()
    client.ask("hi")
    pid = client.pid
    client.close(timeout=float("inf"))
    assert client.state == "closed"
    assert process_is_gone(pid)
    assert not own_threads(client)


def test_close_on_a_thread_of_similar_name(stand_in, hurry):
    """close() waits for the end also on a thread whose name begins like the client's."""
    hurry(GRACE=0.3)
    client = stand_in(scripts.ignores_the_end_of_its_input, name="worker")
    client.start()
    pid, seen = client.pid, []

    def close():
        client.close()
        seen.append((client.state, process_is_gone(pid)))

    thread = threading.Thread(target=close, name="worker-1", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert seen == [("closed", True)]


# Forks.


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_inherited_client_does_not_hang(program):
    """In a forked child nothing waits for a lock that a thread of the parent's may hold."""
    running = program(
        OPENED
        + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
client = claude_sync.Client(cli=StandIn().command)
client.start()
turn = client.submit("[[sleep 60]]")
done = client._session.connection
with client._session.lock, client._session.changes.lock, done.outbox._writing:
    child = os.fork()
    if child == 0:
        signal.alarm(15)
        for call in (turn.result, turn.exception, turn.cancel):
            try:
                say("returned", call())
            except claude_sync.UsageError as error:
                say("refused", "fork" in str(error))
        say(client.state, "inherited" in repr(client))
        client.on_text(print)
        client.on_stream_event(print)
        client.close()
        say("through")
        os._exit(0)
_, status = os.waitpid(child, 0)
say("status", status)
turn.cancel()
client.close()
"""
    )
    code, printed, errors = running.end()
    assert code == 0, errors
    expected = [*["refused True"] * 3, "inherited True", "through", "status 0", ""]
    assert printed.split("\n") == expected
