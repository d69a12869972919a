"""What the end of a turn means."""

import pytest
from patience import PATIENCE

from claude_sync import AskTimeout, Client, CliExited, ControlError, ExecutionError, Overloaded
from claude_sync.runtime.endings import reason_of, with_answer
from claude_sync.testing import ScriptedCli, builders


def test_a_timeout_gets_what_there_was_of_an_answer():
    """The error that stops a turn is made before the turn has ended."""
    error = with_answer(AskTimeout(2.0, idle=True), "so far")
    assert (error.timeout, error.answer, error.idle) == (2.0, "so far", True)


def test_other_reasons_stay_as_they_are():
    """Nothing is added to what has no room for it."""
    error = ValueError("x")
    assert with_answer(error, "so far") is error


def test_the_reason_comes_without_advice():
    """A line of the log is short."""
    assert reason_of(CliExited("the CLI exited", 3)) == "the CLI exited"
    assert reason_of(ValueError("x")) == "x"


def test_the_same_end_delivered_twice_asks_once(monkeypatch):
    """Ctrl-C in the middle of it lets it come again: the question is not asked twice."""
    cli = ScriptedCli()
    with Client(transport=cli, retries=1) as client:
        turn = client.submit("hi")
        cli.accept()
        entry = turn._entry
        user = cli.expect("user")
        cli.begin_turn(user)
        failed = builders.result("API Error: 529 overloaded", [user["uuid"]], is_error=True)
        cli.say(failed)
        again = cli.expect("user")
        client._engine.endings.ended(entry, failed)
        cli.answer("here", to=again)
        assert turn.result(PATIENCE) == "here"
    cli.assert_done()


def test_a_result_that_was_forgotten_is_an_error():
    """A turn that the CLI is done with, without a word on how, has an end."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        client._engine.endings.withdrawn(turn._entry)
        with pytest.raises(ExecutionError, match="without a result"):
            turn.result(PATIENCE)


@pytest.mark.parametrize("retries", [0, 1])
def test_what_is_kept_for_another_try(retries):
    """A message is kept only where it may be needed again: it can be large."""
    cli = ScriptedCli()
    with Client(transport=cli, retries=retries) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        assert (turn._message is not None) == bool(retries)
        cli.end_turn(user, "API Error: 400 no", is_error=True)
        assert not isinstance(turn.exception(PATIENCE), (Overloaded, type(None)))
    cli.assert_done()


def test_no_secret_reaches_the_text_of_an_error():
    """What the CLI says about a failed turn may repeat a key."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "API Error: 401 the key sk-ant-api03-abcdef is bad", is_error=True)
        error = turn.exception(PATIENCE)
    assert "the key" in str(error)
    assert "abcdef" not in str(error)


def test_no_secret_reaches_the_text_of_a_refusal():
    """The same for requests."""
    cli = ScriptedCli(
        lambda cli: (
            (cli.accept(), cli.refuse(cli.expect("control_request"), "bad sk-ant-abcdef"))
            and cli.receive()
        )
    )
    with Client(transport=cli) as client, pytest.raises(ControlError, match="bad") as caught:
        client.control("mend", timeout=PATIENCE)
    assert "abcdef" not in str(caught.value)


def test_a_bug_of_ours_is_not_waited_for(monkeypatch, caplog):
    """An end that cannot be worked out is raised to whoever waits; the next question works."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        with monkeypatch.context() as patch:
            patch.setattr("claude_sync.runtime.endings.failure_of", lambda *_, **__: 1 / 0)
            cli.answer("Hello", prompt="hi")
            with pytest.raises(ZeroDivisionError):
                turn.result(PATIENCE)
        turn = client.submit("again")
        cli.answer("Hello again", prompt="again")
        assert turn.result(PATIENCE) == "Hello again"
    assert "could not deliver" in caplog.text
    cli.assert_done()
