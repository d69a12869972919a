"""Questions that are asked again: after an overload, a used-up limit, a crash."""

import threading
import time

import pytest
from patience import PATIENCE
from stand_ins import Background

import claude_sync.protocol.outcomes  # noqa: F401  (loaded late, and has constants to shorten)
from claude_sync import AskTimeout, Client, ClientClosed, CliExited, Overloaded, TurnInterrupted
from claude_sync.testing import ScriptedCli, builders

OVERLOADED = "API Error: 529 overloaded"


@pytest.fixture(autouse=True)
def short_waits(hurry):
    """What is waited for is not the time."""

    hurry(FIRST_WAIT=0.01, RESET_MARGIN=0.01)


@pytest.fixture
def playing():
    """A client of CLIs that play *script* one after the other; closed when the test ends."""
    clients, lives = [], []

    def start(script, **options):
        def make():
            number = len(lives) + 1
            # Old ones are not asked what they have cost when they are started again.
            lives.append(ScriptedCli(lambda cli: script(cli, number), style="old"))
            return lives[-1]

        client = Client(transport=make, **options)
        clients.append(client)
        client.lives = lives
        return client

    yield start
    for client in clients:
        client.close()
    for life in lives:
        life.assert_done()


def overloaded(cli, user, *before, **fields):
    """A turn that fails because the service has no capacity."""
    cli.begin_turn(user)
    for message in before:
        cli.say(message)
    cli.end_turn(user, OVERLOADED, is_error=True, **fields)


def fails_twice(cli, _life, *before):
    """Be overloaded two times, then answer."""
    cli.accept()
    for number, user in enumerate(cli.questions()):
        if number < 2:
            overloaded(cli, user, *before, total_cost_usd=0.25 * (number + 1))
            continue
        cli.begin_turn(user)
        cli.end_turn(user, f"answer to {user['message']['content']}", total_cost_usd=1.0)


def test_an_overload_is_met_by_the_same_question(playing):
    """retries=2: the third try's answer is the answer, and its cost is that of all three."""
    results = []
    client = playing(fails_twice, retries=2, on_result=results.append)
    answer = client.ask("hi", timeout=PATIENCE)
    assert answer == "answer to hi"
    assert answer.cost_usd == client.cost_usd == 1.0
    assert answer.total_cost_usd == 1.0
    assert len(results) == 3  # handlers see every try
    assert answer.result is results[2] or answer.result == results[2]


def test_the_tokens_of_all_tries_are_the_answers(playing):
    """usage of an answer is what the client used for it."""
    client = playing(fails_twice, retries=2)
    answer = client.ask("hi", timeout=PATIENCE)
    assert answer.usage == client.usage
    assert answer.usage.input_tokens == 3 * builders.usage()["input_tokens"]


def test_each_try_is_a_message_of_its_own(playing):
    """The uuids differ, so that no result of an earlier try is taken for a later one's."""
    sent = []

    def script(cli, _life):
        cli.accept()
        for _ in range(2):
            sent.append(cli.expect("user"))
            overloaded(cli, sent[-1])

    client = playing(script, retries=1)
    with pytest.raises(Overloaded):
        client.ask("hi", timeout=PATIENCE)
    assert len({message["uuid"] for message in sent}) == 2
    assert [message["message"]["content"] for message in sent] == ["hi", "hi"]


def test_without_retries_it_fails_at_once(playing):
    """Nothing is asked again unless the program says so."""
    client = playing(fails_twice)
    with pytest.raises(Overloaded):
        client.ask("one", timeout=PATIENCE)
    with pytest.raises(Overloaded):
        client.ask("two", timeout=PATIENCE)


def test_too_many_failures_are_raised(playing):
    """After the last try the failure is the failure; the next question starts to count anew."""
    client = playing(fails_twice, retries=1)
    with pytest.raises(Overloaded):
        client.ask("hi", timeout=PATIENCE)
    assert client.ask("again", timeout=PATIENCE) == "answer to again"


def test_a_failed_answer_can_be_returned(playing):
    """raise_on_error=False gives the last try's answer."""
    client = playing(fails_twice, retries=1)
    answer = client.ask("hi", timeout=PATIENCE, raise_on_error=False)
    assert answer.is_error
    assert answer == OVERLOADED
    assert answer.cost_usd == 0.5


def test_others_wait_behind_the_one_that_is_asked_again(playing):
    """The order of questions stays the order of answers."""
    client = playing(fails_twice, retries=2)
    turns = [client.submit(text, timeout=PATIENCE) for text in ("one", "two", "three")]
    done = []
    for turn in turns:
        turn.add_done_callback(lambda turn: done.append(turn.prompt))
    assert [turn.result() for turn in turns] == [
        "answer to one",
        "answer to two",
        "answer to three",
    ]
    client.wait_idle(PATIENCE)
    assert done == ["one", "two", "three"]


@pytest.mark.parametrize("retry_effects", [False, True])
def test_a_turn_that_used_a_tool_is_asked_again_only_if_allowed(playing, retry_effects, caplog):
    """What a tool did may not be done twice, unless the program says that it may."""
    use = builders.assistant([builders.tool_use("Bash", {"command": "pay"})])
    client = playing(
        lambda cli, life: fails_twice(cli, life, use), retries=2, retry_effects=retry_effects
    )
    if retry_effects:
        answer = client.ask("hi", timeout=PATIENCE)
        assert answer == "answer to hi"
        assert [use.name for use, _ in answer.tool_uses] == ["Bash"]
    else:
        with pytest.raises(Overloaded):
            client.ask("hi", timeout=PATIENCE)
        assert "retry_effects" in caplog.text


def test_a_limit_is_waited_for_until_the_reset_that_was_reported(playing, monkeypatch):
    """on_rate_limit's resets_at decides how long."""
    waits = []
    reset = time.time() + 7200

    def script(cli, _life):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        info = {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}
        cli.say({"type": "rate_limit_event", "rate_limit_info": info})
        cli.end_turn(user, "API Error: 429 limit", is_error=True, api_error_status=429)
        cli.answer("at last", prompt="hi")

    client = playing(script, retries=1)
    client.start()
    after = client._session.timers.after

    def at_once(delay, callback):
        if delay > 3600:
            waits.append(delay)
            # The clock of the test has struck.
            client._session.queue[0].not_before = 0.0
            delay = 0
        return after(delay, callback)

    monkeypatch.setattr(client._session.timers, "after", at_once)
    assert client.ask("hi") == "at last"
    assert len(waits) == 1
    assert 7100 < waits[0] < 7300


def test_a_turn_that_waits_to_be_asked_again_can_be_cancelled(playing, hurry, until):
    """cancel() of a turn between two tries: False, and result() raises TurnInterrupted."""
    hurry(FIRST_WAIT=3600.0)
    client = playing(fails_twice, retries=2)
    turn = client.submit("hi")
    until(lambda: turn.asked.not_before)
    assert turn.cancel() is False
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    client.wait_idle(PATIENCE)


def test_close_while_it_waits_to_be_asked_again(playing, hurry, until):
    """close() fails whoever waits."""
    hurry(FIRST_WAIT=3600.0)
    client = playing(fails_twice, retries=2)
    waiting = Background(lambda: client.ask("hi"))
    until(lambda: client._session.queue and client._session.queue[0].not_before)
    client.close()
    with pytest.raises(ClientClosed):
        waiting.result()


def dies_once(cli, life, *before):
    """Die in the first life's turn; answer in the second."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    if life == 1:
        for message in before:
            cli.say(message)
        cli.exit(7)
    cli.end_turn(user, f"answer to {user['message']['content']}")
    cli.receive()  # nothing comes before the end


def test_a_crash_is_met_by_the_same_question(playing):
    """The CLI is started again, resumes, and gets the question once more."""
    client = playing(dies_once, retries=1)
    assert client.ask("hi", timeout=PATIENCE) == "answer to hi"
    assert len(client.lives) == 2
    assert f"--resume={client.session_id}" in client.lives[1].launch.argv


def test_a_crash_after_a_tool_was_used_is_a_failure(playing):
    """As with other failures: what was done is not done twice."""
    use = builders.assistant([builders.tool_use("Bash", {"command": "pay"})])
    client = playing(lambda cli, life: dies_once(cli, life, use), retries=3)
    with pytest.raises(CliExited):
        client.ask("hi", timeout=PATIENCE)
    assert client.ask("next", timeout=PATIENCE) == "answer to next"


def test_on_crash_raise_is_stronger(playing):
    """A client that is not to start its CLI again asks nothing again."""
    client = playing(dies_once, retries=3, on_crash="raise")
    with pytest.raises(CliExited):
        client.ask("hi", timeout=PATIENCE)
    assert len(client.lives) == 1


def test_three_crashes_are_enough(playing):
    """A question that kills every CLI is given up, whatever retries= says."""

    def script(cli, _life):
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.exit(7)

    client = playing(script, retries=50)
    with pytest.raises(CliExited):
        client.ask("hi", timeout=PATIENCE)
    assert len(client.lives) == 3


def test_many_threads_with_failures_each_get_their_own_answer(playing):
    """Eight threads, every third try fails: nobody gets somebody else's answer."""

    def script(cli, _life):
        cli.accept()
        for number, user in enumerate(cli.questions()):
            if number % 3 == 0:
                overloaded(cli, user)
            else:
                cli.begin_turn(user)
                cli.end_turn(user, f"answer to {user['message']['content']}")

    client = playing(script, retries=5)
    wrong = []

    def ask(name):
        for number in range(5):
            prompt = f"{name}-{number}"
            if client.ask(prompt, timeout=PATIENCE) != f"answer to {prompt}":
                wrong.append(prompt)

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []
    assert not any(thread.is_alive() for thread in threads)


def test_an_interrupted_turn_is_not_asked_again(playing):
    """What was stopped on purpose stays stopped, even if the CLI calls it an overload."""
    began = threading.Event()

    def script(cli, _life):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        began.set()
        cli.reply(cli.expect("control_request", subtype="interrupt"))
        cli.end_turn(user, OVERLOADED, is_error=True)
        cli.receive()  # nothing comes before the end

    client = playing(script, retries=3)
    turn = client.submit("hi")
    assert began.wait(PATIENCE)
    client.interrupt()
    with pytest.raises(Overloaded):
        turn.result(PATIENCE)


def waits_for_its_retry(client, until, prompt="first", **options):
    """A turn that has failed once and waits, practically for ever, to be asked again."""
    turn = client.submit(prompt, **options)
    until(lambda: turn.asked.not_before)
    return turn


@pytest.mark.parametrize("how", ["cancel", "timeout", "interrupt"])
def test_others_do_not_wait_for_what_was_given_up(playing, hurry, until, how):
    """A question behind one that waited to be asked again is sent when that is given up."""
    hurry(FIRST_WAIT=3600.0)

    def script(cli, _life):
        cli.accept()
        overloaded(cli, cli.expect("user"))
        cli.answer("second", prompt="next")

    client = playing(script, retries=2)
    first = waits_for_its_retry(client, until, timeout=3600)
    second = client.submit("next", timeout=PATIENCE)
    if how == "cancel":
        first.cancel()
    elif how == "timeout":
        client._session.stopper.timed_out(first.asked, 3600)
    else:
        client.interrupt()
    error = first.exception(PATIENCE)
    if how == "timeout":
        assert isinstance(error, AskTimeout)
        assert error.sent
    else:
        assert isinstance(error, TurnInterrupted)
    assert error.answer == OVERLOADED
    assert second.result() == "second"


def test_a_timeout_at_the_moment_it_is_asked_again(playing, monkeypatch):
    """The time is up after the turn has ended and before it is queued: it is not asked again."""

    def script(cli, _life):
        cli.accept()
        overloaded(cli, cli.expect("user"))
        cli.answer("second", prompt="next")

    client = playing(script, retries=5)
    client.start()
    stopper, ask_again = client._session.stopper, client._session.ask_again

    def late(asked, *arguments):
        stopper.timed_out(asked, 3600)
        return ask_again(asked, *arguments)

    monkeypatch.setattr(client._session, "ask_again", late)
    turn = client.submit("first", timeout=3600)
    with pytest.raises(AskTimeout):
        turn.result(PATIENCE)
    assert client.ask("next", timeout=PATIENCE) == "second"


def test_to_fill_in_a_form_is_no_effect(playing):
    """The tool for it does nothing that could be done twice."""
    use = builders.assistant([builders.tool_use("StructuredOutput", {"n": 1})])
    client = playing(lambda cli, life: fails_twice(cli, life, use), retries=2)
    assert client.ask("hi", timeout=PATIENCE) == "answer to hi"


def test_no_secret_is_logged_with_the_reason(playing, caplog):
    """The text of a failed turn may repeat a key."""

    def script(cli, _life):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "API Error: 529 overloaded sk-ant-api03-abcdef", is_error=True)
        cli.answer("here")

    client = playing(script, retries=1)
    assert client.ask("hi", timeout=PATIENCE) == "here"
    assert "529 overloaded" in caplog.text
    assert "abcdef" not in caplog.text
