"""Starting the CLI, noticing its end, starting it again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from patience import PATIENCE, wait_until

from claude_sync import CliDidNotStart, Client, ClientClosed, CliExited
from claude_sync.testing import ScriptedCli


class Lives:
    """Makes one CLI after the other, as a client needs them."""

    def __init__(self):
        self.made = []

    def __call__(self):
        self.made.append(ScriptedCli())
        return self.made[-1]

    def __getitem__(self, number):
        wait_until(lambda: len(self.made) > number)
        return self.made[number]


@pytest.fixture
def lives():
    """The lives of a client's CLI."""
    return Lives()


def resumed(cli):
    """Answer what a client asks of a CLI that resumes."""
    cli.accept()
    cli.reply(cli.expect("control_request", subtype="get_usage"))


def first_answer(client, cli):
    """Let the client have a conversation to resume."""
    turn = client.submit("first")
    cli.accept()
    cli.answer("one", prompt="first")
    assert turn.result(PATIENCE) == "one"


# Starting.


def test_spawning_and_greeting_are_two_steps():
    """`with` starts the CLI; the greeting goes out at first use."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        assert cli.launch is not None
        cli.assert_done()
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(client.start)
            cli.accept()
            starting.result(PATIENCE)
        client.start()  # a second time nothing is sent
    cli.assert_done()


def test_the_greeting_carries_the_settings():
    """What goes into `initialize` is what the options say."""
    cli = ScriptedCli(lambda cli: cli.settings.update(greeting=cli.accept()) or cli.expect_end())
    agents = {"a": {"description": "d", "prompt": "p", "mcp_servers": [{"s": {}}]}}
    with Client(transport=cli, agents=agents) as client:
        client.start(PATIENCE)
    assert cli.settings["greeting"]["request"]["agents"]["a"]["prompt"] == "p"


def test_start_gives_up_in_time():
    """start(timeout) raises CliDidNotStart and leaves the CLI alone."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        with pytest.raises(CliDidNotStart, match=r"start\(\) waited 0\.02 s"):
            client.start(0.02)
        assert cli.exit_code is None


def test_a_silent_cli_is_ended_after_start_timeout(caplog):
    """A CLI that never answers the greeting fails what waits for it."""
    cli = ScriptedCli()
    with Client(transport=cli, start_timeout=0.05) as client:
        turn = client.submit("hi")
        with pytest.raises(CliDidNotStart, match=r"start_timeout=0\.05"):
            turn.result(PATIENCE)
        assert cli.exit_code == -9


def test_a_refused_greeting_says_why(caplog):
    """The CLI's own words are in the error."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.refuse(cli.expect("control_request"), "bad agents")
        with pytest.raises(CliDidNotStart, match="bad agents"):
            turn.result(PATIENCE)


def test_what_a_start_raises_reaches_whoever_opened(tmp_path):
    """A transport that cannot start leaves nothing behind, and the next try may work."""

    class Broken(ScriptedCli):
        def start(self, launch):
            raise PermissionError("not today")

    record = tmp_path / "wire.jsonl"
    client = Client(transport=Broken, record=record)
    with pytest.raises(PermissionError, match="not today"):
        client.ask("hi")
    with pytest.raises(PermissionError), client:
        pass
    assert client.state == "new"


# Starting again.


def test_the_next_question_resumes_after_a_crash(lives, caplog):
    """With on_crash="resume" only --resume is given, and the conversation goes on."""
    with Client(transport=lives, model="opus") as client:
        first_answer(client, lives[0])
        lives[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        turn = client.submit("second")
        resumed(lives[1])
        lives[1].answer("two", prompt="second")
        assert turn.result(PATIENCE) == "two"
        argv = lives[1].launch.argv
        assert f"--resume={lives[0].session_id}" in argv
        assert "--model=opus" in argv


def test_what_was_sent_fails_and_what_was_queued_stays(lives, caplog):
    """A crash in mid-turn costs that turn; the queued question is asked again by itself."""
    with Client(transport=lives) as client:
        first_answer(client, lives[0])
        sent, queued = client.submit("sent"), client.submit("queued")
        lives[0].expect("user", text="sent")
        lives[0].hang_up(1)
        with pytest.raises(CliExited):
            sent.result(PATIENCE)
        resumed(lives[1])
        lives[1].answer("here", prompt="queued")
        assert queued.result(PATIENCE) == "here"


def test_on_crash_raise_never_restarts(lives):
    """What is queued fails too, and so does every later question."""
    with Client(transport=lives, on_crash="raise") as client:
        closed = []
        client.on_close(closed.append)
        first_answer(client, lives[0])
        sent, queued = client.submit("sent"), client.submit("queued")
        lives[0].expect("user", text="sent")
        lives[0].hang_up(3)
        for turn in (sent, queued):
            with pytest.raises(CliExited, match="exit code 3"):
                turn.result(PATIENCE)
        with pytest.raises(CliExited, match="exit code 3"):
            client.ask("later", timeout=PATIENCE)
        assert len(lives.made) == 1
        wait_until(lambda: closed)
    assert len(closed) == 1


def test_three_crashes_without_an_answer_are_enough(lives, caplog):
    """The question that is queued fails with the last reason instead of trying for ever."""
    with Client(transport=lives) as client:
        first_answer(client, lives[0])
        sent, queued = client.submit("sent"), client.submit("queued")
        lives[0].expect("user", text="sent")
        lives[0].hang_up(1)
        resumed(lives[1])
        lives[1].expect("user", text="queued")
        lives[1].hang_up(1)
        with pytest.raises(CliExited):
            queued.result(PATIENCE)
        with pytest.raises(CliExited):
            sent.result(PATIENCE)
        third = client.submit("third")
        waiting = client.submit("waiting")
        resumed(lives[2])
        lives[2].expect("user", text="third")
        lives[2].hang_up(1)
        for turn in (third, waiting):
            with pytest.raises(CliExited):
                turn.result(PATIENCE)


def test_a_conversation_that_is_lost_begins_anew(lives, caplog):
    """If the CLI knows no such conversation, a fresh one is started, with a warning."""
    with Client(transport=lives) as client:
        first_answer(client, lives[0])
        lives[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        turn = client.submit("second")
        lives[1].expect("control_request", subtype="initialize")
        lives[1].print_error(f"No conversation found with session ID: {lives[0].session_id}")
        lives[1].hang_up(1)
        lives[2].accept()
        lives[2].answer("two", prompt="second")
        assert turn.result(PATIENCE) == "two"
        assert not [word for word in lives[2].launch.argv if word.startswith("--resume")]
    assert "starting a new one" in caplog.text


def test_costs_go_on_after_a_restart(lives, caplog):
    """The total of a resumed CLI includes what was counted before: it is not counted twice."""
    with Client(transport=lives) as client:
        turn = client.submit("first")
        lives[0].accept()
        lives[0].answer("one", total_cost_usd=0.5)
        turn.result(PATIENCE)
        lives[0].hang_up(1)
        wait_until(lambda: client.state == "crashed")
        turn = client.submit("second")
        lives[1].accept()
        request = lives[1].expect("control_request", subtype="get_usage")
        lives[1].reply(request, session={"total_cost_usd": 0.5})
        lives[1].answer("two", total_cost_usd=0.75)
        assert turn.result(PATIENCE).cost_usd == 0.25
        assert client.cost_usd == 0.75


def test_an_old_cli_counts_anew_after_a_restart(caplog):
    """A CLI that does not go on from the saved total is counted from zero."""
    made = [ScriptedCli(style="old"), ScriptedCli(style="old")]
    waiting = iter(made)
    with Client(transport=lambda: next(waiting)) as client:
        for cli, total in zip(made, (0.5, 0.75)):
            turn = client.submit("hi")
            cli.accept()
            cli.answer("Hello", total_cost_usd=total)
            assert turn.result(PATIENCE).cost_usd == total
            cli.hang_up(1)
            wait_until(lambda: client.state == "crashed")
        assert client.cost_usd == 1.25


def test_a_closed_client_is_not_opened_again(lives):
    """open() after close() raises and starts nothing."""
    client = Client(transport=lives)
    client.close()
    with pytest.raises(ClientClosed):
        client._engine.lifecycle.open()
    assert lives.made == []
