"""Who delivers and who waits, where no thread does it by itself."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE, wait_until

from claude_sync import AskTimeout, CalledFromHandler, Client, UsageError
from claude_sync.testing import ScriptedCli, builders


def talkative(cli):
    """A CLI that answers every question with its own text, streamed."""
    cli.accept()
    while True:
        user = cli.expect("user")
        cli.answer(f"re: {user['message']['content']}", to=user)


@pytest.fixture(params=["manual", "caller"])
def post(request):
    """Both ways of delivering without a dispatcher."""
    return request.param


def process_until(client, check):
    """Process events, for a bounded time, until *check* holds."""
    counts = []
    wait_until(lambda: check() or counts.append(client.process_events(0.05)))
    return sum(counts)


def test_there_is_no_dispatcher_thread(post):
    """Handlers run on the program's threads, so none is started for them."""
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        assert client.ask("hi", timeout=PATIENCE) == "re: hi"
        names = [thread.name for thread in threading.enumerate()]
        assert f"{client.name}-dispatcher" not in names


def test_handlers_run_while_ask_waits(post):
    """ask() delivers on its own thread meanwhile."""
    threads = set()
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        client.on_text(lambda text: threads.add(threading.get_ident()))
        assert client.ask("hi", timeout=PATIENCE) == "re: hi"
        assert client.submit("ho").result(PATIENCE) == "re: ho"
    assert threads == {threading.get_ident()}


def test_iterating_delivers_too(post):
    """A stream needs no other thread either."""
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        heard = []
        client.on_text(heard.append)
        with client.stream("hi there") as turn:
            assert "".join(turn) == "re: hi there"
        assert "".join(heard) == "re: hi there"


def test_process_events_delivers_what_has_arrived(post):
    """Without a waiter nothing runs until process_events() is called."""
    cli = ScriptedCli(talkative)
    with Client(transport=cli, post=post) as client:
        threads = []
        client.on_result(lambda result: threads.append(threading.get_ident()))
        turn = client.submit("hi")
        count = process_until(client, turn.done)
        assert count > 0
        assert threads == [threading.get_ident()]
        assert turn.result() == "re: hi"
        client.wait_idle(PATIENCE)
        assert client.process_events() == 0


def test_process_events_in_a_handler_does_nothing(post):
    """A handler cannot deliver the next event from within this one."""
    counts = []
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        client.on_text(lambda text: counts.append(client.process_events(PATIENCE)))
        client.ask("hi", timeout=PATIENCE)
    assert counts
    assert set(counts) == {0}


def test_waiting_in_a_handler_is_refused(post):
    """The thread that delivers cannot wait for what it would have to deliver."""
    errors = []

    with Client(transport=ScriptedCli(talkative), post=post) as client:

        @client.on_result
        def handler(result):
            for call in (lambda: client.ask("more"), client.wait_idle):
                with pytest.raises(CalledFromHandler) as caught:
                    call()
                errors.append(caught.value.method)

        client.ask("hi", timeout=PATIENCE)
    assert errors == ["ask", "wait_idle"]


def test_result_gives_up_in_time(post):
    """A timeout ends the waiting, although the waiter also delivers."""
    cli = ScriptedCli()
    with Client(transport=cli, post=post) as client:
        turn = client.submit("hi")
        with pytest.raises(AskTimeout):
            turn.result(0.05)
        cli.accept()
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"


def test_wait_idle_delivers(post):
    """Waiting for the session to be idle runs the handlers of what still comes."""
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        heard = []
        client.on_result(heard.append)
        client.submit("one")
        client.submit("two")
        client.wait_idle(PATIENCE)
        assert [result.result for result in heard] == ["re: one", "re: two"]


def test_several_threads_can_ask(post):
    """Each caller gets its own answer, whoever delivers."""
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda n: client.ask(f"q{n}", timeout=PATIENCE), range(12)))
        assert answers == [f"re: q{number}" for number in range(12)]


def test_under_caller_a_turn_is_delivered_by_who_waits_for_it():
    """Each turn's handlers run on the thread that waits for that turn."""
    threads = {}
    with Client(transport=ScriptedCli(talkative), post="caller") as client:

        @client.on_result
        def note(result):
            threads[result.result] = threading.get_ident()

        def ask(number):
            answer = client.ask(f"q{number}", timeout=PATIENCE)
            return str(answer), threading.get_ident()

        with ThreadPoolExecutor(3) as pool:
            expected = dict(pool.map(ask, range(6)))
    assert threads == expected


@pytest.mark.parametrize("leave", [KeyboardInterrupt, SystemExit])
def test_leaving_from_a_handler_loses_nothing(post, leave):
    """Ctrl-C or sys.exit() in a handler reaches the program; the session stays usable."""
    with Client(transport=ScriptedCli(talkative, partial=False), post=post) as client:
        results = []
        client.on_result(lambda result: results.append(result.result))

        def interrupted(text):
            client.off(interrupted)
            raise leave

        client.on_text(interrupted)
        turn = client.submit("hi")
        with pytest.raises(leave):
            turn.result(PATIENCE)
        assert turn.result(PATIENCE) == "re: hi"
        assert client.ask("ho", timeout=PATIENCE) == "re: ho"
        assert results == ["re: hi", "re: ho"]


def test_on_close_is_delivered_by_close(post):
    """close() on the program's thread still delivers what there is, the end last."""
    events = []
    cli = ScriptedCli(talkative)
    with Client(transport=cli, post=post) as client:
        client.on_close(lambda closed: events.append(closed.reason))
        client.ask("hi", timeout=PATIENCE)
    assert events == ["closed by the program"]


def test_on_close_waits_for_process_events(post):
    """With wait=False the end is delivered when the program asks for it."""
    events = []
    client = Client(transport=ScriptedCli(talkative), post=post)
    client.on_close(events.append)
    client.ask("hi", timeout=PATIENCE)
    client.close(wait=False)
    process_until(client, lambda: events)
    assert len(events) == 1
    process_until(client, lambda: client.state == "closed")


def test_with_a_dispatcher_there_is_nothing_to_process():
    """process_events() on other clients is refused with the reason."""
    with pytest.raises(UsageError, match="runs its handlers elsewhere"):
        Client().process_events()


def test_a_done_callback_is_delivered_like_a_handler(post):
    """It runs on the thread that delivers, after the handlers of the turn."""
    order = []
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        client.on_result(lambda result: order.append("result"))
        turn = client.submit("hi")
        turn.add_done_callback(lambda turn: order.append(threading.get_ident()))
        turn.result(PATIENCE)
        process_until(client, lambda: len(order) == 2)
    assert order == ["result", threading.get_ident()]


def test_text_is_whole_without_a_dispatcher(post):
    """Everything a turn said was delivered when ask() returns."""
    heard = []
    with Client(transport=ScriptedCli(talkative), post=post) as client:
        client.on_text(heard.append)
        words = " ".join(str(number) for number in range(500))
        client.ask(words, timeout=PATIENCE)
        assert "".join(heard) == f"re: {words}"


def test_events_pile_up_until_they_are_processed():
    """What arrives while nobody delivers is merged, not lost."""
    cli = ScriptedCli()
    with Client(transport=cli, post="manual") as client:
        heard = []
        client.on_text(heard.append)
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.message_start(), builders.block_start())
        for number in range(300):
            cli.say(builders.text_delta(f"{number} "))
        cli.end_turn(user, "done")
        assert turn.result(PATIENCE) == "done"
        assert "".join(heard) == "".join(f"{number} " for number in range(300))
