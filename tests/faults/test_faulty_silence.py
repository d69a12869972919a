"""The CLI says nothing, or does not listen: every wait has an end."""

import threading
import time

import pytest
import scripts
from patience import PATIENCE
from stand_ins import Background

from claude_sync import LATER, AskTimeout, CliDidNotStart, Client, ControlTimeout, TurnInterrupted
from claude_sync.testing import builders


def test_greeting_is_never_answered(stand_in, gone):
    """start_timeout ends a CLI that never answers the greeting, and the question fails."""
    client = stand_in(scripts.never_answers_the_greeting, start_timeout=0.3)
    pid = client.pid
    with pytest.raises(CliDidNotStart, match=r"start_timeout=0\.3"):
        client.ask("hi")
    gone(pid)


def test_greeting_is_never_answered_to_start(stand_in):
    """start(timeout=) gives up by itself and leaves the CLI alone."""
    client = stand_in(scripts.never_answers_the_greeting)
    with pytest.raises(CliDidNotStart, match=r"0\.1 s"):
        client.start(timeout=0.1)
    assert client.state == "starting"
    client.close(timeout=1.2)  # one second is kept for the threads


def test_a_question_that_waits_for_the_greeting_says_so(stand_in):
    """It is no other question that it waits for."""
    client = stand_in(scripts.never_answers_the_greeting)
    with pytest.raises(AskTimeout, match=r"the CLI was not ready after 0\.1 s.*doctor") as caught:
        client.ask("hi", timeout=0.1)
    assert caught.value.sent is False
    client.close(timeout=1.2)


def test_greeting_is_refused(cli):
    """A CLI that refuses the greeting fails the question with its own words."""
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.refuse(cli.expect("control_request", subtype="initialize"), "your account is closed")
        with pytest.raises(CliDidNotStart, match="your account is closed"):
            turn.result(PATIENCE)


def test_control_request_is_never_answered(cli, client, monkeypatch):
    """A request without a reply times out; questions and other requests still work."""
    # A backend sends the next one when it has given up the first.
    monkeypatch.setattr(Client.interrupt, "__defaults__", (1.0, True))
    with pytest.raises(ControlTimeout) as caught:
        client.interrupt(timeout=0.1)
    assert (caught.value.subtype, caught.value.timeout) == ("interrupt", 0.1)
    ignored = cli.expect("control_request", subtype="interrupt")
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"
    call = Background(client.interrupt, timeout=PATIENCE)
    cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=["a"])
    assert call.result().still_queued == ("a",)
    # The reply that nobody waits for any more does no harm.
    cli.reply(ignored)
    turn = client.submit("hi")
    cli.answer("again")
    assert turn.result(PATIENCE) == "again"


def test_turn_that_never_ends(stand_in, quick_stop, gone):
    """ask(timeout) kills a CLI that ignores the interrupt; the next ask starts it again."""
    client = stand_in(scripts.never_ends_a_turn)
    client.start()
    pid = client.pid
    began = time.monotonic()
    with pytest.raises(AskTimeout) as caught:
        client.ask("hi", timeout=0.2)
    assert time.monotonic() - began < PATIENCE
    assert (caught.value.sent, caught.value.timeout) == (True, 0.2)
    gone(pid)
    assert client.ask("?") == "better now?"
    assert client.pid != pid


def test_interrupt_that_is_ignored(stand_in, quick_stop):
    """A turn that does not end after interrupt() is ended by force, as TurnInterrupted."""
    client = stand_in(scripts.never_ends_a_turn)
    client.start()
    turn = client.submit("hi")
    with pytest.raises(ControlTimeout):
        client.interrupt(timeout=0.1)
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)


def test_interrupt_before_the_turn_began_is_repeated(cli, client, hurry):
    """An interrupt that had no effect is sent again until the turn ends."""
    hurry(INTERRUPT_AGAIN_AFTER=(0.05, 0.1))
    turn = client.submit("hi")
    user = cli.expect("user")
    assert turn.cancel() is False
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.begin_turn(user)
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)


def test_idle_timeout(cli, client):
    """A CLI that is silent for idle_timeout seconds is interrupted."""
    turn = client.submit("hi", idle_timeout=0.2)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user, "so far")
    with pytest.raises(AskTimeout) as caught:
        turn.result(PATIENCE)
    assert caught.value.idle
    assert caught.value.answer == "so far"


@pytest.mark.everything
def test_idle_clock_stops_while_the_cli_waits_for_us(cli, client):
    """idle_timeout does not run while a request of the CLI is open."""
    asked = []
    client.on_permission(lambda request: asked.append(request) or LATER)
    turn = client.submit("hi", idle_timeout=0.5)
    user = cli.expect("user")
    cli.begin_turn(user)
    request = cli.ask_permission("Bash", {"command": "ls"})
    with pytest.raises(AskTimeout):
        turn.result(1.2)
    assert not turn.asked.interrupted
    asked[0].deny()
    assert cli.expect_reply(request)["behavior"] == "deny"
    cli.end_turn(user, "denied")
    assert turn.result(PATIENCE) == "denied"


def test_own_turn_of_the_cli_that_fell_silent(cli, client, hurry):
    """A turn the CLI began by itself and never ends does not hold up a question for ever."""
    hurry(FOREIGN_PATIENCE=0.2)
    heard = threading.Event()
    client.on_text(lambda _: heard.set())
    cli.say(cli.init(), builders.assistant("by myself"))
    assert heard.wait(PATIENCE)
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"
