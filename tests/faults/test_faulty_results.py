"""Results and replies of nobody: they complete no one's turn, but are heard."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE, deadlines_pass, wait_until
from stand_ins import Background, greet

from claude_sync import AskTimeout, Client, TurnInterrupted
from claude_sync.testing import ScriptedCli, builders

FOREIGN = {"kind": "task-notification"}


NEW_ONLY = pytest.mark.parametrize("cli", ["new"], indirect=True)


@pytest.fixture(params=["new", "old"])
def cli(request):
    """A CLI of either style."""
    return ScriptedCli(style=request.param, patience=PATIENCE)


def heard_by(client):
    """The texts of the results that on_result hears, and a way to wait for so many."""
    results, changed = [], threading.Condition()

    def hear(result):
        with changed:
            results.append(result.result)
            changed.notify_all()

    def wait(count):
        with changed:
            assert changed.wait_for(lambda: len(results) >= count, PATIENCE), results
            return list(results)

    client.on_result(hear)
    return wait


def test_result_of_a_foreign_origin(cli, client):
    """A background turn's result in the middle of ours does not complete ours."""
    results = heard_by(client)
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.result("a task has ended", origin=FOREIGN))
    assert results(1) == ["a task has ended"]
    assert not turn.done()
    cli.speak("mine")
    cli.end_turn(user, "mine")
    assert turn.result(PATIENCE) == "mine"
    assert results(2) == ["a task has ended", "mine"]


def test_result_of_another_uuid(cli, client):
    """A result that names another user message does not complete ours."""
    results = heard_by(client)
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.result("not yours", ["another-uuid"]))
    assert results(1) == ["not yours"]
    assert not turn.done()
    cli.say(*cli.beginning(user))
    cli.say(builders.result("yours", [user["uuid"]]))
    assert turn.result(PATIENCE) == "yours"


def test_our_uuid_in_a_foreign_result(cli, client):
    """A question that joined a background turn is answered by that turn's result."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.result("both", ["another-uuid", user["uuid"]], origin=FOREIGN))
    assert turn.result(PATIENCE) == "both"


def test_result_before_any_question(cli, client):
    """A result that comes before a question is nobody's, and the question gets its own."""
    results = heard_by(client)
    cli.say(cli.init(), builders.assistant("unasked"), builders.result("unasked", origin=FOREIGN))
    assert results(1) == ["unasked"]
    turn = client.submit("hi")
    cli.answer("asked")
    assert turn.result(PATIENCE) == "asked"
    assert "unasked" not in turn.text


def test_late_result_of_an_interrupted_turn(cli, client):
    """The result of an interrupted turn that comes twice does not answer the next question."""
    results = heard_by(client)
    turn = client.submit("one")
    user = cli.expect("user")
    cli.begin_turn(user)
    call = Background(client.interrupt)
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    call.result()
    cli.say(builders.interrupted_result([user["uuid"]], cli.style))
    results(2)
    turn = client.submit("two")
    cli.answer("second")
    assert turn.result(PATIENCE) == "second"


@NEW_ONLY  # old CLIs name no uuids
def test_late_result_while_the_next_question_waits(client, cli):
    """A CLI that names uuids cannot answer a question with the result of the one before."""
    results = heard_by(client)
    turn = client.submit("one")
    first = cli.answer("first")
    turn.result(PATIENCE)
    turn = client.submit("two")
    second = cli.expect("user")
    cli.say(builders.result("late", [first["uuid"]]))
    assert results(2) == ["first", "late"]
    assert not turn.done()
    cli.answer("second", to=second)
    assert turn.result(PATIENCE) == "second"


def test_two_results_for_one_question(cli, client):
    """The first result of a question counts; the second is only heard."""
    results = heard_by(client)
    turn = client.submit("one")
    user = cli.answer("first")
    assert turn.result(PATIENCE) == "first"
    cli.end_turn(user, "first again")
    assert results(2) == ["first", "first again"]
    turn = client.submit("two")
    cli.answer("second")
    assert turn.result(PATIENCE) == "second"


def test_question_waits_for_a_turn_of_the_cli(cli, client):
    """No question is sent while the CLI is known to run a turn of its own."""
    first = client.submit("first")
    cli.answer("Yes")
    first.result(PATIENCE)
    heard = threading.Event()
    client.on_text(lambda _: heard.set())
    cli.say(cli.init(), builders.assistant("by myself"))
    assert heard.wait(PATIENCE)
    turn = client.submit("hi")
    with pytest.raises(AssertionError, match="sent nothing"):
        cli.expect("user", patience=0.2)
    cli.say(builders.result("done by myself", origin=FOREIGN))
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_duplicate_and_unknown_replies(cli, client):
    """Replies that come twice, or to nobody, disturb nobody."""
    for number in range(3):
        call = Background(client.interrupt)
        request = cli.expect("control_request", subtype="interrupt")
        cli.reply({"request_id": "req_of_nobody"}, still_queued=["wrong"])
        cli.reply(request, still_queued=[str(number)])
        cli.reply(request, still_queued=["too late"])
        cli.refuse(request, "too late")
        assert call.result().still_queued == (str(number),)
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_duplicate_greeting(cli):
    """A greeting that is answered twice, or refused afterwards, has begun the session once."""
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        request = cli.accept()
        cli.say(cli.initialized(request))
        cli.refuse(request, "Already initialized")
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"


def test_our_own_replies_echoed(cli, client):
    """A CLI that repeats our replies does not confuse us with them."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.ask_permission("Bash", {"command": "ls"})
    cli.say(cli.expect("control_response", behavior="deny"))
    cli.end_turn(user, "denied")
    assert turn.result(PATIENCE) == "denied"


def test_many_threads_get_their_own_answers(cli, client):
    """Each of many threads gets the answer to its own question, sent one at a time."""
    asking = {number: Background(client.ask, f"question {number}") for number in range(20)}
    for _ in asking:
        user = cli.expect("user")
        cli.say(builders.result("nobody's", origin=FOREIGN))
        cli.answer("answer to " + user["message"]["content"], to=user)
    for number, each in asking.items():
        assert each.result() == f"answer to question {number}"


def test_steered_message_with_a_result_of_its_own(cli, client):
    """A message steered too late gets a turn of its own, which answers no later question."""
    results = heard_by(client)
    turn = client.submit("one")
    user = cli.expect("user")
    cli.begin_turn(user)
    client.steer("and also this")
    steered = cli.expect("user", text="and also this")
    cli.end_turn(user, "first")
    assert turn.result(PATIENCE) == "first"
    turn = client.submit("two")
    with pytest.raises(AssertionError, match="sent nothing"):
        cli.expect("user", patience=0.1)
    cli.answer("for the steered one", to=steered)
    second = cli.expect("user", text="two")
    assert results(2) == ["first", "for the steered one"]
    cli.answer("second", to=second)
    assert turn.result(PATIENCE) == "second"


def test_steered_message_that_is_never_mentioned(cli, client, hurry):
    """A steered message of which the CLI says nothing holds up the next question briefly."""
    hurry(STEER_PATIENCE=0.2)
    turn = client.submit("one")
    user = cli.expect("user")
    cli.begin_turn(user)
    client.steer("and also this")
    cli.expect("user", text="and also this")
    cli.end_turn(user, "first")
    turn.result(PATIENCE)
    turn = client.submit("two")
    cli.answer("second", prompt="two")
    assert turn.result(PATIENCE) == "second"


def test_an_old_cli_that_hangs_after_interrupts_is_ended(hurry, caplog):
    """It was in a turn of its own, of a steered message, and says no more. That is told once."""
    hurry(STOP_PATIENCE=0.2)
    cli = ScriptedCli(style="old", patience=PATIENCE)
    with Client(transport=cli) as client:
        greet(client, cli)
        turn = client.submit("one")
        user = cli.expect("user")
        cli.begin_turn(user)
        client.steer("and this")
        steered = cli.expect("user", text="and this")
        cli.end_turn(user, "first")
        assert turn.result(PATIENCE) == "first"
        cli.begin_turn(steered)
        wait_until(lambda: client.state == "busy")
        with ThreadPoolExecutor(1) as pool:
            for _ in range(20):
                interrupting = pool.submit(client.interrupt)
                cli.reply(cli.expect("control_request", subtype="interrupt"))
                interrupting.result(PATIENCE)
        wait_until(lambda: client.state == "crashed")
    assert caplog.text.count("ending the CLI") == 1


def test_context_on_an_old_cli():
    """A CLI that would answer it gets it as data, before the next question; once."""
    cli = ScriptedCli(style="old", patience=PATIENCE)
    with Client(transport=cli) as client:
        greet(client, cli)
        client.add_context("by the way")
        client.add_context("/clear it is not")
        command = client.submit("/cost")
        cli.answer("$0", prompt="/cost")
        assert command.result(PATIENCE) == "$0"
        turn = client.submit("hi")
        user = cli.expect("user")
        texts = [block["text"] for block in user["message"]["content"]]
        assert texts == ["by the way", "/clear it is not", "hi"]
        cli.answer("Hello", to=user)
        assert turn.result(PATIENCE) == "Hello"
        again = client.submit("once more")
        cli.answer("Yes", prompt="once more")
        assert again.result(PATIENCE) == "Yes"


@NEW_ONLY  # old CLIs have no context
def test_context_answers_nobody(client, cli):
    """The result of a piece of context completes no question."""
    results = heard_by(client)
    client.add_context("by the way")
    turn = client.submit("hi")
    context = cli.expect("user", text="by the way", shouldQuery=False)
    cli.end_turn(context, "")
    question = cli.expect("user", text="hi")
    assert results(1) == [""]
    cli.answer("Hello", to=question)
    assert turn.result(PATIENCE) == "Hello"


@NEW_ONLY  # old CLIs tell nothing of their tasks
def test_wait_idle_waits_for_background_agents(client, cli):
    """wait_idle() returns when the background agent of the session has ended, not before."""
    started = threading.Event()
    client.on_task(lambda _: started.set())
    cli.say(builders.task_started("t1"))
    assert started.wait(PATIENCE)
    with pytest.raises(AskTimeout):
        client.wait_idle(0.1)
    waiting = Background(client.wait_idle)
    cli.say(builders.task_notification("t1"))
    waiting.result()


def test_a_steered_command_that_becomes_a_turn_by_itself(hurry):
    """Old CLIs echo none, and its turn may be long: the next question goes out all the same."""
    hurry(STEER_PATIENCE=0.1)
    go_on = threading.Event()

    def script(cli):
        cli.accept()
        first = cli.expect("user")
        cli.begin_turn(first)
        steered = cli.expect("user")
        cli.end_turn(first, "first")
        cli.say(cli.init())
        assert go_on.wait(PATIENCE)
        cli.end_turn(steered, "")
        cli.answer("second", prompt="next")

    with Client(transport=ScriptedCli(script, style="old", patience=PATIENCE)) as client:
        turn = client.submit("hi")
        wait_until(lambda: client.state == "busy" and turn.asked.sent.state == "running")
        client.steer("/compact")
        assert turn.result(PATIENCE) == "first"
        deadlines_pass(client, 0.3)
        go_on.set()
        assert client.ask("next", timeout=PATIENCE) == "second"
