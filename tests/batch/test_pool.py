"""Pools of clients: fresh conversations, never too many CLIs, and an end of everything."""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import wait
from types import SimpleNamespace

import pytest
from patience import PATIENCE, wait_until
from tables import each

from claude_sync import (
    AskTimeout,
    BudgetExceeded,
    CalledFromHandler,
    ClientClosed,
    CliNotFound,
    Options,
    Overloaded,
    Pool,
    TurnInterrupted,
    UsageError,
)
from claude_sync.batch.crew import Question
from claude_sync.testing import ScriptedCli, StandIn

STYLES = ("new", "old")


def stand_in(**settings):
    """The options of a pool whose CLIs echo."""
    return {"cli": StandIn(**settings).command}


@pytest.fixture
def lives():
    """CLIs in memory that a test has made."""
    return []


@pytest.fixture
def playing(lives):
    """Pools whose CLIs play *script*; closed when the test ends."""
    pools = []

    def open_pool(script, size=2, style="new", **options):
        def make():
            lives.append(ScriptedCli(script, style=style))
            return lives[-1]

        pools.append(Pool(size, transport=make, **options))
        return pools[-1].__enter__()

    yield open_pool
    for pool in pools:
        pool.close()


def remembers(cli):
    """Answer with everything that was asked in this conversation, until /clear."""
    cli.accept()
    asked = []
    while True:
        user = cli.expect("user")
        prompt = user["message"]["content"]
        if prompt == "/clear":
            asked.clear()
            cli.was_cleared = True
            cli.session_id = os.urandom(4).hex()
            cli.answer("", to=user)
        else:
            asked.append(prompt)
            cli.answer(" ".join(asked), to=user)


def clears_nothing(cli):
    """As a CLI that has the command in its list, and a conversation that goes on."""
    cli.accept()
    asked = []
    while True:
        user = cli.expect("user")
        asked.append(user["message"]["content"])
        cli.answer(" ".join(asked), to=user)


def uses_a_tool(cli):
    """Use a tool at each question."""
    from claude_sync.testing import builders

    cli.accept()
    while True:
        user = cli.expect("user")
        cli.begin_turn(user)
        if user["message"]["content"] == "/clear":
            cli.session_id = os.urandom(4).hex()
        else:
            cli.say(builders.assistant([builders.tool_use("Bash", {"command": "cd /"}, "t1")]))
        cli.end_turn(user, user["message"]["content"])


def has_a_model(cli):
    """Tell which model is asked; a command sets another one, which /clear does not undo."""
    cli.accept()
    cli.was_cleared, model = False, "a"
    while True:
        user = cli.expect("user")
        words = str(user["message"]["content"])
        if words == "/clear":
            cli.was_cleared = True
            cli.session_id = os.urandom(4).hex()
        elif "/model" in words:
            model = "b"
        cli.answer("set" if "/" in words else model, to=user)


def is_overloaded(cli):
    """Fail every question."""
    cli.accept()
    while True:
        user = cli.expect("user")
        cli.begin_turn(user)
        if user["message"]["content"] == "/clear":
            cli.session_id = os.urandom(4).hex()
            cli.end_turn(user, "")
        else:
            cli.end_turn(user, "API Error: 529 overloaded", is_error=True, total_cost_usd=0.5)


@pytest.mark.parametrize("style", STYLES)
def test_each_question_gets_its_own_answer(style):
    """Many questions at once, more than there are CLIs."""
    with Pool(2, **stand_in(style=style, cost=0.25)) as pool:
        assert pool.ask("hello", timeout=PATIENCE) == "echo: hello"
        questions = [pool.submit(f"question {number}") for number in range(12)]
        wait(questions, PATIENCE)
        assert [each.result(0) for each in questions] == [
            f"echo: question {number}" for number in range(12)
        ]
        assert [each.prompt for each in questions[:2]] == ["question 0", "question 1"]
        assert pool.cost_usd == pytest.approx(13 * 0.25)
    assert pool.cost_usd == pytest.approx(13 * 0.25)


def test_a_question_does_not_see_the_one_before(playing, lives):
    """A CLI that can begin anew does so, and is used again."""
    pool = playing(remembers, size=1)
    assert [pool.ask(word, timeout=PATIENCE) for word in "abc"] == ["a", "b", "c"]
    assert [life.was_cleared for life in lives] == [True]


def test_a_cli_that_does_not_forget_is_replaced(playing, lives):
    """The same id after /clear: nothing was cleared, whatever the CLI lists."""
    pool = playing(clears_nothing, size=1)
    assert [pool.ask(word, timeout=PATIENCE) for word in "abc"] == ["a", "b", "c"]
    assert len(lives) >= 3


def test_an_old_cli_is_not_asked_to_clear(playing, lives):
    """It does not list the command: each question has a process of its own."""
    pool = playing(remembers, size=1, style="old")
    assert [pool.ask(word, timeout=PATIENCE) for word in "ab"] == ["a", "b"]
    assert len(lives) >= 2
    assert not any(hasattr(life, "was_cleared") for life in lives)


def test_a_cli_that_used_a_tool_is_replaced(playing, lives):
    """Tools leave things behind that /clear does not remove."""
    pool = playing(uses_a_tool, size=1)
    assert [pool.ask(word, timeout=PATIENCE) for word in "ab"] == ["a", "b"]
    assert len(lives) >= 2


@pytest.mark.parametrize("command", ["/model b", [{"type": "text", "text": "/model b"}]])
def test_a_cli_that_was_given_a_command_is_replaced(playing, lives, command):
    """What it has set holds for the process, and not for whoever asks next."""
    pool = playing(has_a_model, size=1)
    assert pool.ask(command, timeout=PATIENCE, verbatim=False) == "set"
    assert pool.ask("which model?", timeout=PATIENCE) == "a"
    assert pool.ask("which model?", timeout=PATIENCE) == "a"
    assert [life.was_cleared for life in lives] == [False, True]


def test_a_failed_question_does_not_spoil_the_client(playing, lives):
    """An overload is told, is paid, and the process goes on."""
    pool = playing(is_overloaded, size=1)
    for _ in range(2):
        with pytest.raises(Overloaded):
            pool.ask("hello", timeout=PATIENCE)
    assert pool.ask("hello", raise_on_error=False, timeout=PATIENCE).is_error
    assert len(lives) == 1


def test_a_client_is_replaced_after_some_questions(playing, lives):
    """max_turns_per_client is how often one process is asked."""
    pool = playing(remembers, size=1, max_turns_per_client=2)
    for number in range(4):
        assert pool.ask(str(number), timeout=PATIENCE) == str(number)
    wait_until(lambda: len(lives) == 3)  # the third is started ahead


def test_a_client_is_lent_for_a_conversation():
    """What is said in the block is one conversation, and ends with it."""
    with Pool(1, **stand_in()) as pool:
        with pool.client(timeout=PATIENCE) as client:
            assert client.ask("one", timeout=PATIENCE) == "echo: one"
            first = client.session_id
            assert client.ask("two", timeout=PATIENCE).session_id == first
            with pytest.raises(AskTimeout) as caught:
                pool.ask("no other is there", timeout=0.05)
            assert not caught.value.sent
        with pool.client(timeout=PATIENCE) as another:
            assert another is not client
            assert client.state in ("closing", "closed")


def test_a_timeout_says_what_the_caller_said(playing):
    """The time until a client is free counts; the error names the whole."""

    def never_answers(cli):
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.expect("control_request", subtype="interrupt")

    pool = playing(never_answers, size=1)
    with pytest.raises(AskTimeout) as caught:
        pool.ask("hello", timeout=1.5)
    assert caught.value.timeout == 1.5
    assert caught.value.sent


def says_nothing(cli):
    """A CLI that does not become ready."""
    cli.swallow_input()


def test_a_timeout_before_a_client_is_ready_says_so():
    """The advice for one client, to open a second one, does not help here."""
    with Pool(1, cli=StandIn(says_nothing).command) as pool:
        with pytest.raises(AskTimeout) as caught:
            pool.ask("hi", timeout=1)
        assert (caught.value.sent, caught.value.what) == (False, "no client of the pool was ready")


def test_a_cli_that_is_missing_is_told(caplog):
    """Whoever asks gets the reason, each time; nobody waits for ever."""
    with Pool(2, cli="/nowhere/claude") as pool:
        for _ in range(2):
            with pytest.raises(CliNotFound):
                pool.ask("hello", timeout=PATIENCE)
        with pytest.raises(CliNotFound):
            pool.submit("hello").result(PATIENCE)


def test_a_question_whose_time_is_up_is_not_asked_any_more():
    """It waited for a client for too long."""
    with Pool(1, **stand_in(cost=0.25)) as pool:
        with pool.client(timeout=PATIENCE):
            question = pool.submit("too late", timeout=0.01)
            wait([question], 0.05)
        error = question.exception(PATIENCE)
        assert isinstance(error, AskTimeout)
        assert not error.sent
        assert pool.cost_usd == 0


def test_closing_ends_everything():
    """Whoever waits is told; nothing is accepted afterwards; twice is harmless."""
    pool = Pool(1, name="to-be-closed", **stand_in())
    with pool.client(timeout=PATIENCE) as client:
        waiting = pool.submit("nobody will answer")
        turn = client.submit("[[sleep 60]] hello")
        pool.close()
        assert not [t for t in threading.enumerate() if t.name.startswith("to-be-closed")]
        with pytest.raises(ClientClosed):
            turn.result(PATIENCE)
    with pytest.raises(ClientClosed, match=r"the pool (is|was) closed.* Make a new Pool"):
        waiting.result(PATIENCE)
    pool.close()
    assert pool.state == "closed"
    with pytest.raises(ClientClosed):
        pool.ask("hello")
    with pytest.raises(ClientClosed):
        pool.submit("hello")
    with pytest.raises(ClientClosed), pool.client():
        pass
    assert pool._crew.clients == []


def test_a_question_can_be_cancelled():
    """Waiting: withdrawn. Running: interrupted."""
    with Pool(1, **stand_in()) as pool:
        running = pool.submit("[[sleep 60]] hello")
        queued = pool.submit("hello")
        while running.turn is None:
            threading.Event().wait(0.005)
        (client,) = pool._crew.clients
        assert queued.cancel()
        assert not running.cancel()
        with pytest.raises(TurnInterrupted):
            running.result(PATIENCE)
        assert queued.cancelled()
        assert not running.cancel()
        assert pool.ask("and now?", timeout=PATIENCE) == "echo: and now?"
        assert client not in pool._crew.clients


def test_a_question_that_is_cancelled_while_it_begins_is_interrupted():
    """Its turn comes after cancel(), and sees it."""
    cancelled = threading.Event()
    question = Question("hello")
    question.set_running_or_notify_cancel()
    assert not question.cancel()
    question.runs_as(SimpleNamespace(cancel=cancelled.set))
    assert cancelled.is_set()


def test_a_budget_holds_for_a_client_that_is_lent():
    """What it asks counts, and so does what others ask meanwhile."""
    with Pool(2, budget_usd=0.5, **stand_in(cost=0.25)) as pool:
        with pool.client(timeout=PATIENCE) as client:
            client.ask("one", timeout=PATIENCE)
            pool.ask("two", timeout=PATIENCE)
            with pytest.raises(BudgetExceeded):
                client.ask("three", timeout=PATIENCE)
        assert pool.cost_usd == 0.5


def test_a_budget_holds_for_those_who_waited_for_a_client():
    """They asked when nothing was spent yet."""
    with Pool(size=1, budget_usd=1.0, **stand_in(cost=1.0)) as pool:
        first, *rest = [pool.submit("x") for _ in range(4)]
        assert first.result(PATIENCE) == "echo: x"
        assert all(isinstance(each.exception(PATIENCE), BudgetExceeded) for each in rest)
        assert pool.cost_usd == 1.0


def test_handlers_and_typed_answers_work():
    """What a client takes, a pool takes."""
    heard = []
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with Pool(1, Options(returns=schema), on_text=heard.append, **stand_in()) as pool:
        assert pool.ask("hello", timeout=PATIENCE).data == {"n": 1}
        assert pool.options.returns == schema
        assert pool.size == 1
    assert "".join(heard) == "echo: hello"


def test_a_handler_may_not_wait_for_its_own_pool():
    """It would wait for itself; the error tells what to do."""
    errors = []

    def handler(text):
        for call in (lambda: pool.ask("again"), lambda: pool.client().__enter__()):
            try:
                call()
            except CalledFromHandler as error:
                errors.append(error)

    with Pool(1, on_result=handler, **stand_in()) as pool:
        pool.ask("hello", timeout=PATIENCE)
    assert len(errors) >= 2
    assert "submit()" in str(errors[0])


def test_closing_in_a_handler_does_not_wait():
    """It would wait for itself; the pool is closed all the same, by somebody else."""
    returned = threading.Event()

    def handler(text):
        pool.close(600)
        pool.close(600)
        returned.set()

    pool = Pool(1, on_text=handler, **stand_in())
    question = pool.submit("hello")
    assert returned.wait(PATIENCE)
    assert pool.state == "closed"
    assert wait([question], PATIENCE).done  # answered, or told that the pool was closed
    wait_until(lambda: not pool._crew.clients)


@each(
    ("settings", "words"),
    [
        ({"size": 0}, "size is a whole number above 0"),
        ({"size": True}, "size is a whole number"),
        ({"max_turns_per_client": 0}, "max_turns_per_client"),
        ({"resume": "abc"}, "resume= is for one conversation"),
        ({"session_id": "0d402564-7374-4fb1-8177-edc40afd195b"}, "session_id="),
        ({"transport": ScriptedCli()}, "a function that makes transports"),
        ({"modle": "x"}, "model"),
        ({"on_txt": print}, "on_text"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, words):
    """At once, and with advice."""
    with pytest.raises(UsageError, match=words):
        Pool(**settings)


def test_bad_questions_are_refused_before_a_client_is_waited_for():
    """Nothing is started for them."""
    pool = Pool(1, cli="/nowhere/claude")
    for call in (
        lambda: pool.ask(" "),
        lambda: pool.submit(7),
        lambda: pool.ask("x", timeout=0),
        lambda: pool.ask("x", idle_timeout=-1),
        lambda: pool.ask("x", attach=["/nowhere/file"]),
        lambda: pool.close(timeout=-1),
        lambda: pool.client(timeout=0).__enter__(),
    ):
        with pytest.raises((UsageError, OSError)):
            call()
    assert pool._crew.clients == []


def test_a_pool_that_is_forgotten_is_closed():
    """With a warning that says how to do better."""
    pool = Pool(1, **stand_in())
    pool.ask("hello", timeout=PATIENCE)
    crew = pool._crew
    with pytest.warns(ResourceWarning, match="was not closed"):
        del pool
        gc.collect()
    wait_until(lambda: not crew.clients)


def test_a_pool_that_was_never_used_needs_no_end():
    """Nothing was started, so nothing is warned about."""
    Pool(1, cli="/nowhere/claude")
    gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_cannot_use_it():
    """It is told what to do instead, and does not end the parent's CLIs."""
    with Pool(1, **stand_in()) as pool:
        pool.ask("hello", timeout=PATIENCE)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                pool.ask("hello")
            except UsageError:
                pool.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert pool.ask("hello", timeout=PATIENCE) == "echo: hello"
