"""The client: asking, waiting, stopping, and what is known about it."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import threading
import warnings
from concurrent.futures import Future
from datetime import timedelta

import pytest
from bridged_in_memory import bridge_in_memory
from image_samples import png
from patience import PATIENCE, wait_until
from tables import each

import claude_sync
from claude_sync import (
    AskTimeout,
    BudgetExceeded,
    CalledFromHandler,
    Client,
    ClientClosed,
    Options,
    Pool,
    TurnInterrupted,
    UsageError,
)
from claude_sync.testing import ScriptedCli, builders
from claude_sync.testing.fixtures import offline_cli

pytestmark = pytest.mark.usefixtures("all_was_expected")


@pytest.fixture(params=["direct", pytest.param("bridge", marks=pytest.mark.everything)])
def new_client(request, monkeypatch):
    """What makes clients: the class itself, or a bridge."""
    if request.param == "direct":
        yield Client
    else:
        with bridge_in_memory(monkeypatch) as make:
            yield make


# Making one.


def test_a_wrong_option_is_told_before_anything_starts():
    """A misspelled name or an impossible value raises at once, with the right one."""
    with pytest.raises(UsageError, match="did you mean model"):
        Client(modle="sonnet")
    with pytest.raises(UsageError, match="permission_mode"):
        Client(permission_mode="yolo")
    with pytest.raises(TypeError, match="Options"):
        Client("sonnet")


def test_options_and_overrides_go_together():
    """Client(options, name=...) takes the options and changes what is named."""
    client = Client(Options(name="one", model="sonnet"), name="two")
    assert client.name == "two"
    assert client._options.model == "sonnet"


@pytest.mark.parametrize("name", ["on_tex", "on_resutl", "on_thinkin"])
def test_a_misspelled_handler_is_told_the_right_one(name):
    """Handlers given by keyword are checked like options."""
    with pytest.raises(UsageError, match=r"on_(text|result|thinking)"):
        Client(**{name: print})


def test_a_client_that_was_never_used_starts_nothing():
    """Making a client starts no thread and no process; dropping it warns of nothing."""
    before = threading.active_count()
    client = Client()
    assert client.state == "new"
    assert (client.pid, client.session_id, client.cost_usd) == (None, None, 0.0)
    assert client.info == claude_sync.Info()
    assert threading.active_count() == before
    client.close()
    assert client.state == "closed"


def test_a_handler_of_a_closed_client_is_warned_about(new_client, caplog):
    """It is never called. Not refused: another thread may be closing it."""
    with new_client(transport=offline_cli) as client:
        client.on_close(lambda _: client.on_text(print))
        client.ask("hi", timeout=PATIENCE)
    assert "never called" not in caplog.text
    client.on_text(print)
    assert "on_text: the client is closed, so this handler is never called" in caplog.text


def test_names_differ():
    """Each client has a name of its own, which its threads carry."""
    assert Client().name != Client().name


# Asking.


def test_ask_returns_its_answer(client, cli, pool):
    """ask() blocks until the answer is there."""
    asking = pool.submit(client.ask, "hi")
    cli.answer("Hello", prompt="hi")
    assert asking.result(PATIENCE) == "Hello"


def test_ask_returns_after_the_last_handler(client, cli, pool):
    """When ask() returns, every handler of the turn has finished."""
    entered, leave = threading.Event(), threading.Event()

    @client.on_result
    def hold(result):
        entered.set()
        assert leave.wait(PATIENCE)

    asking = pool.submit(client.ask, "hi")
    cli.answer("Hello")
    assert entered.wait(PATIENCE)
    assert not asking.done()  # certain, not likely: the handler is held
    leave.set()
    assert asking.result(PATIENCE) == "Hello"


def test_the_module_asks_one_question():
    """claude_sync.ask() opens, asks and closes, with options of both kinds."""
    cli = ScriptedCli(lambda cli: (cli.accept(), cli.answer("4", prompt="2+2?"), cli.expect_end()))
    heard = []
    answer = claude_sync.ask("2+2?", transport=cli, on_text=heard.append, timeout=PATIENCE)
    assert answer == "4"
    assert heard == ["4"]
    assert cli.closed
    cli.assert_done()


def test_questions_of_several_threads_queue_in_order(client, cli, pool):
    """One question is on the wire at a time, and each caller gets its own answer."""
    turns = [client.submit(f"question {number}") for number in range(5)]
    for number in range(5):
        user = cli.expect("user", text=f"question {number}")
        cli.assert_done()  # the next is not sent before this one is answered
        cli.answer(f"answer {number}", to=user)
    answers = [turn.result(PATIENCE) for turn in turns]
    assert answers == [f"answer {number}" for number in range(5)]


def test_the_next_question_waits_for_the_handlers_of_the_last(client, cli):
    """A question is sent when every handler of the one before has run."""
    entered, leave = threading.Event(), threading.Event()

    @client.on_result
    def hold(result):
        entered.set()
        assert leave.wait(PATIENCE)

    first, second = client.submit("first"), client.submit("second")
    cli.answer("one", prompt="first")
    assert entered.wait(PATIENCE)
    cli.assert_done()
    leave.set()
    cli.answer("two", prompt="second")
    assert (first.result(PATIENCE), second.result(PATIENCE)) == ("one", "two")


@pytest.mark.parametrize("style", ["new", "old"])
def test_a_result_of_somebody_else_answers_nobody(style, pool, ready):
    """The result of a background agent that reports back completes no question."""
    cli = ScriptedCli(style=style)
    with ready(cli) as client:
        results = []
        client.on_result(lambda result: results.append(result.result))
        turn = client.submit("hi")
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.result("foreign", origin={"kind": "task-notification"}))
        cli.speak("Hello")
        cli.end_turn(user, "Hello")
        assert turn.result(PATIENCE) == "Hello"
        assert results == ["foreign", "Hello"]
        assert "foreign" not in [getattr(m, "result", None) for m in turn.result().messages]
    cli.assert_done()


def test_a_question_can_join_a_turn_of_the_cli(client, cli):
    """A result that lists our uuid is ours, even if its origin is foreign."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "joined", origin={"kind": "task-notification"})
    assert turn.result(PATIENCE) == "joined"


def test_no_question_is_sent_into_a_turn_of_the_cli(client, cli):
    """While the CLI works by itself, questions wait."""
    first = client.submit("first")
    cli.answer("Yes", prompt="first")
    first.result(PATIENCE)
    seen = threading.Event()
    client.on_system(lambda message: message.subtype == "init" and seen.set())
    cli.say(cli.init())
    assert seen.wait(PATIENCE)
    assert client.state == "busy"
    turn = client.submit("hi")
    cli.assert_done()
    cli.say(builders.result("by myself", origin={"kind": "task-notification"}))
    cli.answer("Hello", prompt="hi")
    assert turn.result(PATIENCE) == "Hello"


def test_an_error_of_the_turn_can_be_returned(client, cli):
    """raise_on_error=False gives the failed answer instead of raising."""
    turn = client.submit("hi", raise_on_error=False)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "so far", subtype="error_max_turns", is_error=True)
    answer = turn.result(PATIENCE)
    assert answer.is_error
    assert answer == "so far"


@each("prompt", ["", "  ", None, 3, []])
def test_a_bad_prompt_is_refused_before_anything_is_sent(client, cli, prompt):
    """ask(), submit(), stream(), steer() and add_context() check what they are given."""
    for method in (client.ask, client.submit, client.stream, client.steer, client.add_context):
        with pytest.raises(UsageError):
            method(prompt)
    assert client.state == "idle"


def test_attachments_are_sent_with_the_question(client, cli):
    """attach=[...] becomes content blocks before the text."""
    turn = client.submit("what is it?", attach=[png()])
    user = cli.expect("user", text="what is it?")
    assert [block["type"] for block in user["message"]["content"]] == ["image", "text"]
    cli.answer("a picture", to=user)
    assert turn.result(PATIENCE) == "a picture"


def test_every_question_has_a_uuid_of_its_own(client, cli):
    """The uuid is what the CLI's result refers to."""
    uuids = set()
    for _ in range(3):
        turn = client.submit("hi")
        uuids.add(cli.answer("Hello")["uuid"])
        turn.result(PATIENCE)
    assert len(uuids) == 3


def test_a_slow_cli_gets_the_question_when_it_is_ready(cli, new_client):
    """submit() before the greeting is answered returns at once; the question waits."""
    with new_client(transport=cli) as client:
        assert client.state == "open"
        turn = client.submit("hi")
        assert client.state == "starting"
        request = cli.expect("control_request", subtype="initialize")
        cli.assert_done()
        cli.say(cli.initialized(request))
        cli.answer("Hello", prompt="hi")
        assert turn.result(PATIENCE) == "Hello"
        assert client.state == "idle"


# Timeouts.


def test_a_question_that_waited_too_long_is_withdrawn(client, cli):
    """While it is queued, timeout withdraws it unsent and touches nobody else's turn."""
    first = client.submit("first")
    user = cli.expect("user", text="first")
    second = client.submit("second", timeout=0.02)
    error = second.exception(PATIENCE)
    assert isinstance(error, AskTimeout)
    assert error.sent is False
    cli.answer("one", to=user)
    assert first.result(PATIENCE) == "one"


def test_a_running_question_is_interrupted_by_its_timeout(client, cli):
    """While it runs, timeout interrupts it, and AskTimeout has the text so far."""
    turn = client.submit("hi", timeout=0.05)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant("Once upon"))
    cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=[])
    cli.end_interrupted(user)
    error = turn.exception(PATIENCE)
    assert isinstance(error, AskTimeout)
    assert (error.sent, error.answer) == (True, "Once upon")
    again = client.submit("again")
    cli.answer("Hello", prompt="again")
    assert again.result(PATIENCE) == "Hello"  # the session stays usable


def test_a_single_question_that_times_out_has_no_session():
    """So nothing is said of one."""
    for limit in ("timeout", "idle_timeout"):
        with pytest.raises(AskTimeout, match=f"Raise {limit}") as caught:
            claude_sync.ask("[[sleep 600]]", transport=offline_cli, **{limit: 0.3})
        assert "session" not in str(caught.value)


@pytest.mark.parametrize("kind", ["on_result", "on_text"])
def test_a_timeout_while_only_handlers_run(client, cli, kind):
    """The answer is there: AskTimeout carries it, and nothing is interrupted."""
    leave = threading.Event()
    getattr(client, kind)(lambda _: leave.wait(PATIENCE))
    try:
        turn = client.submit("hi", timeout=0.3)
        cli.answer("Hello")
        error = turn.exception(PATIENCE / 2)
    finally:
        leave.set()
    assert isinstance(error, AskTimeout)
    assert error.answer == "Hello"
    again = client.submit("again")
    cli.answer("two", prompt="again")  # its next line: no interrupt came before it
    assert again.result(PATIENCE) == "two"


def test_silence_interrupts(client, cli):
    """idle_timeout counts from the last line of the CLI."""
    turn = client.submit("hi", idle_timeout=0.05)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=[])
    cli.end_interrupted(user)
    error = turn.exception(PATIENCE)
    assert isinstance(error, AskTimeout)
    assert error.idle


@each(
    "call",
    [
        lambda client, value: client.start(timeout=value),
        lambda client, value: client.ask("hi", timeout=value),
        lambda client, value: client.submit("hi", idle_timeout=value),
        lambda client, value: client.stream("hi", timeout=value),
        lambda client, value: client.wait_idle(value),
        lambda client, value: client.interrupt(value),
        lambda client, value: client.control("x", timeout=value),
        lambda client, value: client.set_model("x", timeout=value),
        lambda client, value: client.account_info(timeout=value),
        lambda client, value: client.close(value),
    ],
)
@each("value", [-1, "5", True, float("nan"), timedelta(seconds=5)])
def test_wrong_seconds_are_refused_at_once(client, all_was_expected, call, value):
    """Wherever a timeout is taken, before anything is sent."""
    with pytest.raises(UsageError) as caught:
        call(client, value)
    assert caught.value.option in ("timeout", "idle_timeout")
    assert client.state == "idle"


@each("value", ["5", True, float("nan"), timedelta(seconds=5)])
def test_wrong_seconds_of_a_turn(client, cli, value):
    """The same for waiting on a turn; the turn goes on."""
    turn = client.submit("hi")
    for wait in (turn.result, turn.exception):
        with pytest.raises(UsageError):
            wait(value)
    cli.answer("Hello")
    assert turn.result(10**400) == "Hello"


@each(
    "call",
    [
        lambda client: client.ask("hi", tmeout=4),
        lambda client: client.submit("hi", time_out=4),
        lambda client: client.stream("hi", timout=4),
        lambda client: claude_sync.ask("hi", timout=4),
        lambda client: Pool(1).ask("hi", tmeout=4),
        lambda client: Pool(1).submit("hi", tmeout=4),
        lambda client: claude_sync.map(["hi"], timout=4),
    ],
)
def test_a_misspelled_argument_is_named_with_the_right_one(client, all_was_expected, call):
    """As with the names of options."""
    with pytest.raises(UsageError) as caught:
        call(client)
    assert caught.value.nearest == "timeout"
    assert caught.value.option in str(caught.value)
    assert "timeout" in inspect.signature(client.ask).parameters


def test_an_argument_that_is_like_no_other(client):
    """Then all of them are listed; other TypeErrors stay."""
    with pytest.raises(UsageError, match="idle_timeout"):
        client.ask("hi", colour="blue")
    with pytest.raises(TypeError, match="positional"):
        client.ask("hi", "there")


@each(
    "pass_it",
    [
        lambda function: Client(post=function),
        lambda function: Client(permissions=function),
        lambda function: Client(on_text=function),
        lambda function: Client().on_result(function),
    ],
)
def test_functions_that_nothing_awaits_are_refused(pass_it):
    """An async function, or one of no argument."""

    async def later(event):
        """Nothing awaits it."""

    for function in (later, lambda: None):
        with pytest.raises(UsageError):
            pass_it(function)


def test_a_done_callback_is_checked(client, cli):
    """When it is added; the turn is not affected."""
    turn = client.submit("hi")
    with pytest.raises(UsageError):
        turn.add_done_callback(lambda: None)
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


# Steering and context.


def test_steer_adds_to_the_running_turn(client, cli):
    """The message is written at once; no further question goes out before it is consumed."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    client.steer("in French, please")
    steered = cli.expect("user", text="in French, please")
    later = client.submit("later")
    cli.say(
        builders.result("Bonjour", [user["uuid"], steered["uuid"]], session_id=cli.session_id),
        *cli.progress([user, steered], "completed"),
    )
    assert turn.result(PATIENCE) == "Bonjour"
    cli.answer("Hello", prompt="later")
    assert later.result(PATIENCE) == "Hello"


def test_the_result_of_a_late_steer_belongs_to_no_later_question(client, cli):
    """A steer that missed its turn gets a turn of its own, and the next question waits."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    client.steer("too late")
    steered = cli.expect("user", text="too late")
    cli.end_turn(user, "Hello")
    assert turn.result(PATIENCE) == "Hello"
    later = client.submit("later")
    cli.assert_done()
    cli.answer("about the steer", to=steered)
    cli.answer("later indeed", prompt="later")
    assert later.result(PATIENCE) == "later indeed"


def test_nothing_running_cannot_be_steered(client, cli):
    """steer() without a turn is a UsageError that names the remedy."""
    with pytest.raises(UsageError, match=r"Call ask\(\) or submit\(\)"):
        client.steer("hm")
    with pytest.raises(UsageError, match="no turn is running"):
        Client().steer("hm")


def test_context_asks_for_no_answer(client, cli):
    """add_context() returns at once and is queued like a question."""
    turn = client.submit("first")
    client.add_context("my name is Ada")
    user = cli.expect("user", text="first")
    cli.answer("one", to=user)
    context = cli.expect("user", text="my name is Ada", shouldQuery=False)
    cli.end_turn(context, "")
    assert turn.result(PATIENCE) == "one"
    later = client.submit("who am I?")
    cli.answer("Ada", prompt="who am I?")
    assert later.result(PATIENCE) == "Ada"


# Interrupting.


def test_interrupt_returns_what_the_cli_says(client, cli, pool):
    """The receipt lists what still waits and what was withdrawn."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    interrupting = pool.submit(client.interrupt)
    request = cli.expect("control_request", subtype="interrupt")
    cli.reply(request, still_queued=["u1"], cancelled=["u2"])
    receipt = interrupting.result(PATIENCE)
    assert (receipt.still_queued, receipt.cancelled) == (("u1",), ("u2",))
    assert receipt.raw == {"still_queued": ["u1"], "cancelled": ["u2"]}
    cli.end_interrupted(user, "so far")
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)


def test_interrupt_is_harmless_before_anything_runs():
    """Without a CLI there is nothing to interrupt, and nothing is started."""
    client = Client()
    assert client.interrupt() == claude_sync.InterruptReceipt()
    assert client.state == "new"


def test_interrupt_works_in_a_handler(client, cli):
    """A handler can stop its own turn and gets the receipt."""
    receipts = Future()
    client.on_text(lambda text: receipts.set_result(client.interrupt(PATIENCE)))
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant("Once upon"))
    cli.reply(cli.expect("control_request", subtype="interrupt"), cancelled=[])
    assert receipts.result(PATIENCE).raw == {"cancelled": []}
    cli.end_interrupted(user)
    assert isinstance(turn.exception(PATIENCE), TurnInterrupted)


def test_a_silent_cli_is_told_by_a_timeout(client, cli):
    """An interrupt that is not answered raises ControlTimeout."""
    with pytest.raises(claude_sync.ControlTimeout):
        client.interrupt(timeout=0.02)
    cli.expect("control_request", subtype="interrupt")


# Waiting until idle.


def test_wait_idle_returns_at_once_when_nothing_runs(client):
    """An idle session needs no waiting."""
    client.wait_idle(timeout=PATIENCE)


def test_wait_idle_waits_for_the_turn(client, cli, pool):
    """A running turn, its handlers included, is awaited."""
    client.submit("hi")
    user = cli.expect("user")
    waiting = pool.submit(client.wait_idle)
    cli.begin_turn(user)
    assert not waiting.done()
    cli.end_turn(user, "Hello")
    waiting.result(PATIENCE)
    assert client.state == "idle"


def test_wait_idle_waits_for_background_agents_not_for_shells(client, cli, pool):
    """An agent in the background is awaited; a shell may never end."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(
        builders.task_started("agent"),
        builders.task_started("shell", task_type="local_bash"),
        builders.result("Hello", [user["uuid"]], session_id=cli.session_id),
        builders.lifecycle(user["uuid"], "completed"),
    )
    assert turn.result(PATIENCE) == "Hello"
    with pytest.raises(AskTimeout, match="did not become idle"):
        client.wait_idle(timeout=0.02)
    waiting = pool.submit(client.wait_idle)
    cli.say(builders.task_updated("agent"), builders.session_state("idle"))
    waiting.result(PATIENCE)


def test_waiting_is_refused_in_handlers(client, cli):
    """ask(), turn.result() and wait_idle() in a handler raise, and name the remedy."""
    errors = []
    turn = None

    def handler(text):
        for call in (lambda: client.ask("more"), turn.result, turn.exception, client.wait_idle):
            try:
                call()
            except CalledFromHandler as error:
                errors.append(str(error))

    client.on_text(handler)
    turn = client.submit("hi")
    cli.answer(pieces=["Hello"])
    assert turn.result(PATIENCE) == "Hello"
    assert len(errors) == 4
    assert all("submit()" in error for error in errors)


def test_a_handler_may_submit(client, cli):
    """submit() in a handler queues the next question."""
    turns = Future()
    client.on_result(lambda result: turns.done() or turns.set_result(client.submit("more")))
    first = client.submit("hi")
    cli.answer("Hello", prompt="hi")
    cli.answer("More", prompt="more")
    assert first.result(PATIENCE) == "Hello"
    assert turns.result(PATIENCE).result(PATIENCE) == "More"


# Money.


def test_costs_are_sums_of_what_results_report(client, cli):
    """The CLI's total is cumulative: each answer has its own share, the client the sum."""
    answers = []
    for total in (0.25, 0.75, 0.75):
        turn = client.submit("hi")
        cli.answer("Hello", total_cost_usd=total, usage=builders.usage(10, 5))
        answers.append(turn.result(PATIENCE))
    assert [answer.cost_usd for answer in answers] == [0.25, 0.5, 0.0]
    assert [answer.total_cost_usd for answer in answers] == [0.25, 0.75, 0.75]
    assert client.cost_usd == 0.75
    assert (client.usage.input_tokens, client.usage.output_tokens) == (30, 15)


def test_results_of_nobody_are_counted_too(client, cli):
    """Money that the CLI spent by itself is the client's, but no answer's."""
    heard = threading.Event()
    client.on_result(lambda result: heard.set())
    origin = {"kind": "task-notification"}
    cli.say(builders.result("by myself", total_cost_usd=0.5, origin=origin))
    assert heard.wait(PATIENCE)
    turn = client.submit("hi")
    cli.answer("Hello", total_cost_usd=0.75)
    answer = turn.result(PATIENCE)
    assert (answer.cost_usd, answer.total_cost_usd, client.cost_usd) == (0.25, 0.75, 0.75)


def test_a_spent_budget_sends_nothing(ready):
    """When budget_usd is used up, the next question fails and the CLI does not hear of it."""
    cli = ScriptedCli()
    with ready(cli, budget_usd=0.5) as client:
        turn = client.submit("hi")
        cli.answer("Hello", total_cost_usd=0.5)
        assert turn.result(PATIENCE) == "Hello"
        with pytest.raises(BudgetExceeded):
            client.ask("more", timeout=PATIENCE)
        with pytest.raises(BudgetExceeded):
            client.ask("still more", timeout=PATIENCE)
    cli.assert_done()


# What is known.


def test_info_is_what_the_cli_told(client, cli):
    """The reply to the greeting can be read from the client."""
    info = client.info
    assert info.cli_version == cli.version
    assert [command["name"] for command in info.commands] == ["compact", "cost", "clear"]
    assert info.models[0]["value"] == "default"
    assert info.output_style == "default"
    assert info.raw["claude_code_version"] == cli.version


def test_an_old_cli_tells_less(ready):
    """What it does not tell is None."""
    cli = ScriptedCli(style="old")
    with ready(cli) as client:
        assert (client.info.cli_version, client.info.agents) == (None, None)
        turn = client.submit("hi")
        cli.answer("Hello")
        turn.result(PATIENCE)
        assert client.info.cli_version == cli.version  # said with the first turn


def test_the_session_id_comes_with_the_first_answer(client, cli):
    """Before it, the id is not known."""
    assert client.session_id is None
    turn = client.submit("hi")
    cli.answer("Hello")
    turn.result(PATIENCE)
    assert client.session_id == cli.session_id
    assert cli.session_id in repr(client)


def test_a_resumed_session_has_its_id_from_the_start():
    """resume= is the id, unless the session is forked."""
    assert Client(resume="abc").session_id == "abc"
    assert Client(resume="abc", fork_session=True).session_id is None


def test_states(cli, new_client):
    """new, open, starting, idle, busy, idle, closed."""
    client = new_client(transport=cli)
    states = [client.state]
    with client:
        states.append(client.state)
        turn = client.submit("hi")
        states.append(client.state)
        cli.accept()
        user = cli.expect("user")
        states.append(client.state)
        cli.answer("Hello", to=user)
        turn.result(PATIENCE)
        wait_until(lambda: client.state == "idle")
    states.append(client.state)
    assert states == ["new", "open", "starting", "busy", "closed"]


# Ending.


def test_a_closed_client_says_so(cli, new_client):
    """After close() every method that needs a CLI raises ClientClosed."""
    with new_client(transport=cli) as client:
        pass
    for call in (
        lambda: client.ask("hi"),
        lambda: client.submit("hi"),
        lambda: client.stream("hi"),
        lambda: client.steer("hi"),
        lambda: client.add_context("hi"),
        client.start,
        client.wait_idle,
        client.interrupt,
        client.__enter__,
    ):
        with pytest.raises(ClientClosed):
            call()
    client.close()
    assert client.state == "closed"


def mention(client):
    """Register a handler that refers to its own client."""
    client.on_text(lambda text: client.interrupt())


def test_a_forgotten_client_warns_and_closes(ready, until):
    """A client that is dropped is collected although its threads live, and closes."""
    cli = ScriptedCli()
    clients = [ready(cli)]
    mention(clients[0])
    with pytest.warns(ResourceWarning, match="was not closed") as warned:
        clients.clear()
        # A thread that delivers at this moment holds the handlers, for so long.
        until(lambda: gc.collect() >= 0 and len(warned))
    cli.expect_end()


def test_a_closed_client_is_not_warned_about():
    """Neither a closed nor an unused client warns when it is collected."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Client(transport=ScriptedCli()):
            pass
        Client()
        gc.collect()


def test_process_events_is_for_clients_without_a_dispatcher(client):
    """On a client that runs its handlers by itself it is a UsageError."""
    with pytest.raises(UsageError, match="post='manual'"):
        client.process_events()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_client_is_not_copied(client, make):
    """A copy would share the process and the threads; the text says what to do instead."""
    with pytest.raises(TypeError, match="options"):
        make(client)
