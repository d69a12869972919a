"""What comes together at one moment, or is given at the edge of what is allowed."""

import json
import sys
import threading
import time

import edge_scripts
import pytest
from patience import PATIENCE, process_is_gone

import claude_sync
from claude_sync import (
    AskTimeout,
    Client,
    ClientClosed,
    CliExited,
    ControlTimeout,
    Options,
    TurnInterrupted,
    UsageError,
)
from claude_sync.testing import ScriptedCli, builders

# Far less than what would be waited for in vain.
PROMPTLY = 10.0
SESSION = "11111111-1111-4111-8111-111111111111"
DEAF = [sys.executable, "-c", "import time; time.sleep(60)"]


def begun(cli, client, prompt="hi", **options):
    """A turn that runs, and its question as the CLI got it."""
    turn = client.submit(prompt, **options)
    user = cli.expect("user", text=prompt)
    cli.begin_turn(user)
    return turn, user


@pytest.fixture
def lives(until):
    """A list of CLIs in memory that grows with each start, and a way to wait for the next."""

    class Lives(list):
        def make(self):
            self.append(ScriptedCli(patience=PATIENCE))
            return self[-1]

        def wait_for(self, number):
            until(lambda: len(self) >= number)
            return self[number - 1]

    return Lives()


# A CLI that does not read.


def test_steer_under_back_pressure(stand_in, hurry, until):
    """steer() of a large text in a slow handler returns although the CLI does not read."""
    hurry(HIGH_WATER=200_000)
    client = stand_in(edge_scripts.floods_before_it_reads, settings={"count": 20_000})
    client.start()
    engine, steered, count = client._session, [], [0]

    def steer(_):
        count[0] += 1
        if count[0] == 5:
            until(lambda: engine.connection.paused and engine.inbox._size > 200_000)
            client.steer("x" * 200_000)
            steered.append(True)

    client.on_stream_event(steer)
    assert client.submit("go").result(PATIENCE) == "poured out"
    assert steered == [True]
    assert count[0] == 20_000


def test_large_greeting_is_not_read(hurry):
    """ask() keeps its timeout and submit() returns at once, whatever of the greeting is read."""
    hurry(GRACE=0.2)
    for call in ("ask", "submit"):
        with Client(
            cli=DEAF, append_system_prompt="be nice. " * 60_000, start_timeout=1000
        ) as client:
            began = time.monotonic()
            if call == "ask":
                with pytest.raises(AskTimeout):
                    client.ask("x", timeout=0.2)
            else:
                client.submit("x")
            assert time.monotonic() - began < PATIENCE


@pytest.mark.usefixtures("quick_end")
@pytest.mark.parametrize("noticed", [False, True])
def test_close_after_the_output_has_ended(stand_in, until, noticed):
    """close() is bounded although the CLI has closed its output before, and lingers."""
    ended = threading.Event()
    client = stand_in(edge_scripts.closes_its_output_and_lingers, on_stderr=lambda _: ended.set())
    client.start()
    turn, pid = client.submit("x"), client.pid
    assert ended.wait(PATIENCE)
    if noticed:
        until(lambda: client.state == "crashed")
    began = time.monotonic()
    client.close(timeout=0.2)
    assert time.monotonic() - began < PATIENCE
    assert isinstance(turn.exception(PATIENCE), (CliExited, ClientClosed))
    until(lambda: process_is_gone(pid))


@pytest.mark.usefixtures("quick_end")
def test_nothing_is_left_after_the_output_has_ended(stand_in, until):
    """When close() returns, a CLI that had closed its output and lingered is gone."""
    client = stand_in(edge_scripts.closes_its_output_and_lingers)
    client.start()
    client.submit("x")
    pid = client.pid
    until(lambda: client.state == "crashed")
    client.close(timeout=0.2)
    assert process_is_gone(pid)


# Money.


def test_result_that_is_delivered_after_the_next_start(lives, until):
    """A result that is delivered when the next process runs already is counted once."""
    inside, go_on = threading.Event(), threading.Event()

    def hold_up(message):
        if type(message).__name__ == "Assistant":
            inside.set()
            go_on.wait(PATIENCE)

    with Client(transport=lives.make) as client:
        first = client.submit("one")
        cli = lives.wait_for(1)
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "A", total_cost_usd=1.0)
        assert first.result(PATIENCE).cost_usd == pytest.approx(1.0)
        client.on_message(hold_up)
        second, user = begun(cli, client, "two")
        cli.speak("B")
        cli.end_turn(user, "B", total_cost_usd=2.0)
        assert inside.wait(PATIENCE)
        cli.hang_up(1)
        until(lambda: client.state == "crashed")
        third = client.submit("three")
        cli = lives.wait_for(2)
        go_on.set()
        assert second.result(PATIENCE).cost_usd == pytest.approx(1.0)
        assert client.cost_usd == pytest.approx(2.0)
        cli.accept()
        request = cli.expect("control_request", subtype="get_usage")
        cli.reply(request, session={"total_cost_usd": 2.0})
        user = cli.expect("user", text="three")
        cli.begin_turn(user)
        cli.end_turn(user, "C", total_cost_usd=2.5)
        assert third.result(PATIENCE).cost_usd == pytest.approx(0.5)
        assert client.cost_usd == pytest.approx(2.5)


# Timeouts.


@pytest.mark.parametrize("option", ["timeout", "idle_timeout"])
def test_timeout_without_end(stand_in, option):
    """ask() with an infinite timeout does not disable the timeouts that come later."""
    client = stand_in(start_timeout=None)
    assert client.ask("one", **{option: float("inf")}) == "echo: one"
    began = time.monotonic()
    with pytest.raises(AskTimeout):
        client.ask("two [[sleep 60]]", timeout=0.3)
    assert time.monotonic() - began < PROMPTLY
    assert client.ask("three", timeout=PROMPTLY) == "echo: three"


def test_reply_that_nobody_waits_for_any_more(cli, client):
    """A request whose reply does not come in time is forgotten; its late reply is harmless."""
    connection = client._session.connection
    with pytest.raises(ControlTimeout):
        client.interrupt(timeout=0.1)
    assert not connection.awaits_replies
    assert not connection.must_read()
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


# Stopping.


@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_stop_that_comes_too_late(cli, client, monkeypatch, how):
    """A turn that has ended by the time it is to be interrupted is not: the next one is safe."""
    stopper = client._session.stopper
    inner, decided, running = stopper.stop, threading.Event(), []

    def stop(asked, reason):
        # The thread that is about to interrupt A is held up until B runs.
        cli.end_turn(user, "answer A")
        running.append(cli.expect("user", text="B"))
        cli.begin_turn(running[0])
        try:
            return inner(asked, reason)
        finally:
            decided.set()

    monkeypatch.setattr(stopper, "stop", stop)
    a, user = begun(cli, client, "A", timeout=0.1 if how == "timeout" else None)
    b = client.submit("B")
    if how == "cancel":
        assert a.cancel() is False
    assert decided.wait(PATIENCE)
    assert a.result(PATIENCE) == "answer A"
    assert running
    cli.end_turn(running[0], "answer B")
    assert b.result(PATIENCE) == "answer B"
    cli.assert_done()


def test_interrupt_tells_whom_it_hits(cli, client, monkeypatch, background):
    """A question that went out just before the interrupt was written knows that it was hit."""
    stopper = client._session.stopper
    inner, sent, other_is_out = stopper.interrupt, [], threading.Event()

    def interrupt(*arguments):
        cli.end_turn(user, "answer A")
        sent.append(cli.expect("user", text="B"))
        other_is_out.set()
        return inner(*arguments)

    a, user = begun(cli, client, "A")
    b = client.submit("B")
    monkeypatch.setattr(stopper, "interrupt", interrupt)
    call = background(client.interrupt, timeout=PATIENCE)
    assert other_is_out.wait(PATIENCE)
    asked = cli.expect("control_request", subtype="interrupt")
    cli.reply(asked, still_queued=[], cancelled=[sent[0]["uuid"]])
    call.result()
    assert a.result(PATIENCE) == "answer A"
    with pytest.raises(TurnInterrupted):
        b.result(PATIENCE)


@pytest.mark.parametrize("raise_on_error", [True, False])
def test_cancelled_turn_raises(cli, client, raise_on_error):
    """result() of a running turn that was cancelled raises TurnInterrupted in any case."""
    turn, user = begun(cli, client, raise_on_error=raise_on_error)
    assert turn.cancel() is False
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user, "so far")
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)


# Waiting for idleness.


@pytest.mark.usefixtures("quick_close")
@pytest.mark.parametrize("post", [None, "manual"])
@pytest.mark.parametrize("end", ["close", "crash"])
def test_wait_idle_of_a_client_that_ends(cli, greet, background, until, post, end):
    """wait_idle() raises ClientClosed or CliExited when the session ends instead."""
    with Client(transport=cli, post=post) as client:
        greet(client, cli)
        begun(cli, client)
        waiting = threading.Event()
        inner = client._session.delivery._is_idle
        client._session.delivery._is_idle = lambda: waiting.set() or inner()
        call = background(client.wait_idle)
        assert waiting.wait(PATIENCE)
        if end == "close":
            client.close()
        else:
            cli.hang_up(3)
        with pytest.raises(ClientClosed if end == "close" else CliExited):
            call.result()


# Lives.


def test_fork_that_dies_before_it_is_made(lives):
    """A session that dies before its fork has an id is forked again, with the same flags."""
    with Client(transport=lives.make, resume=SESSION, fork_session=True) as client:
        first = client.submit("one")
        cli = lives.wait_for(1)
        open_resumed(cli)
        cli.expect("user", text="one")
        cli.hang_up(1)
        with pytest.raises(CliExited):
            first.result(PATIENCE)
        second = client.submit("two")
        cli = lives.wait_for(2)
        open_resumed(cli)
        cli.answer("Hello", "two")
        assert second.result(PATIENCE) == "Hello"
    told = [conversation_words(each) for each in lives]
    assert told[0] == told[1] == [f"--resume={SESSION}", "--fork-session"]


def open_resumed(cli):
    """Answer the greeting of a session that goes on, and what it has cost so far."""
    cli.accept()
    request = cli.expect("control_request", subtype="get_usage")
    cli.reply(request, session={"total_cost_usd": 0})


def conversation_words(cli):
    """What its command line says about which conversation is meant."""
    flags = ("--resume", "--fork-session", "--session-id", "--continue")
    return [word for word in cli.launch.argv if word.startswith(flags)]


# Turns of the CLI's own.


@pytest.mark.parametrize(
    ("style", "ending"),
    [("new", "result"), ("old", "result"), ("new", "result with origin"), ("new", "idle")],
)
def test_question_after_a_foreign_turn(greet, until, style, ending):
    """The end of a turn of the CLI's own lets the question that waits go out at once."""
    cli = ScriptedCli(style=style, patience=PATIENCE)
    with Client(transport=cli) as client:
        greet(client, cli)
        first = client.submit("first")
        cli.answer("Yes")
        first.result(PATIENCE)
        until(lambda: client.state == "idle")
        cli.say(cli.init())
        until(lambda: client.state == "busy")
        turn = client.submit("mine")
        assert turn.asked in client._session.queue
        cli.speak("by myself")
        cli.say(
            {
                "result": lambda: builders.result("by myself"),
                "result with origin": lambda: builders.result(
                    "by myself", origin={"kind": "task-notification"}
                ),
                "idle": lambda: builders.session_state("idle"),
            }[ending]()
        )
        user = cli.expect("user", patience=PROMPTLY, text="mine")
        cli.begin_turn(user)
        cli.end_turn(user, "for you")
        assert turn.result(PATIENCE) == "for you"


# Secrets.


@pytest.mark.parametrize(
    "words", ['set password="hunter2" now', "token='hunter2'", 'my "API_KEY":"hunter2" is']
)
def test_recorded_message_with_a_password(stand_in, tmp_path, words):
    """A message with a password in it is recorded as a message, and without the password."""
    path = tmp_path / "record.jsonl"
    client = stand_in(record=path)
    client.ask(words)
    client.close()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each for each in records if "raw" in each] == []
    sent = [each["msg"] for each in records if each["dir"] == "in"]
    assert [each["type"] for each in sent].count("user") == 1
    assert "hunter2" not in path.read_text()


def test_recorded_greeting_with_servers_of_agents(stand_in, tmp_path):
    """Variables and headers of an agent's MCP servers are hidden in the recorded greeting."""
    path = tmp_path / "record.jsonl"
    servers = [
        {"x": {"command": "y", "env": {"STRIPE_KEY": "leak-1", "DB_PASS": "leak-2"}}},
        {"z": {"type": "http", "url": "http://localhost", "headers": {"X-Api": "leak-3"}}},
    ]
    agents = {"a": {"description": "d", "prompt": "p", "mcpServers": servers}}
    client = stand_in(record=path, agents=agents)
    client.ask("hi")
    client.close()
    text = path.read_text()
    assert "STRIPE_KEY" in text
    assert "X-Api" in text
    assert "leak-" not in text


def test_options_do_not_show_keys():
    """Neither repr(Options) nor the refusal of an env= of the wrong kind shows a key."""
    shown = repr(Options(env={"ANTHROPIC_API_KEY": "sk-ant-foo", "MINE": "swordfish"}))
    assert "sk-ant-foo" not in shown
    assert "swordfish" not in shown
    with pytest.raises(UsageError, match="env") as refused:
        Options(env=["ANTHROPIC_API_KEY=sk-ant-foo"])
    assert "sk-ant-foo" not in str(refused.value)


# Refused at once.


def test_hook_without_an_event():
    """A hook that no event would call is refused, as an option, a method and a decorator."""
    with pytest.raises(UsageError, match="belongs to an event"):
        Client(on_hook=print)
    methods = {"on_hook": lambda self, event: None, "on_text": lambda self, text: None}
    client = Client()
    with pytest.raises(UsageError, match="belongs to an event"):
        client.add_handlers(type("Target", (), methods)())
    with pytest.raises(UsageError, match="belongs to an event"):
        client.on_hook(print)
    assert not client._registry.of["text"]


@pytest.mark.parametrize("given", [{"prompt": "  "}, {"prompt": "x", "attach": ["missing.png"]}])
def test_ask_that_cannot_be_sent_starts_nothing(lives, tmp_path, monkeypatch, given):
    """claude_sync.ask() refuses what cannot be asked before anything is started."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        claude_sync.ask(transport=lives.make, **given)
    assert lives == []


@pytest.mark.parametrize("timeout", [-1, -0.1, float("nan")])
def test_process_events_with_a_negative_timeout(timeout):
    """process_events() refuses what is no number of seconds."""
    client = Client(cli=DEAF, post="manual")
    with pytest.raises(UsageError, match="timeout"):
        client.process_events(timeout)


def test_close_while_a_question_is_prepared(cli, client, monkeypatch):
    """It comes after close() has failed everything that waits, so it is refused."""
    session = client._session
    encode = session._encode

    def late(*arguments):
        client.close()
        return encode(*arguments)

    monkeypatch.setattr(session, "_encode", late)
    with pytest.raises(ClientClosed):
        client.submit("hi")
    assert not session.open


def test_a_timeout_that_is_over_at_once(cli, client, monkeypatch):
    """It finds the question queued or sent, and never somewhere between."""
    session = client._session
    after, found = session.timers.after, []

    def at_once(delay, callback):
        if delay == 3600:
            found.append(bool(session.queue))
        return after(delay, callback)

    monkeypatch.setattr(session.timers, "after", at_once)
    turn = client.submit("hi", timeout=3600)
    assert found == [True]
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"
