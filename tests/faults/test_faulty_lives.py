"""A CLI that dies is started again, or not, as on_crash says; nothing queued is lost."""

import json
import logging
import os
import signal
import threading

import pytest
import scripts
from patience import PATIENCE, process_is_gone, wait_until

from claude_sync import Client, CliExited, TurnInterrupted
from claude_sync.testing import ScriptedCli


def test_resumed_after_a_crash(stand_in):
    """The next question starts the CLI again with the conversation's id."""
    client = stand_in(scripts.dies_once)
    with pytest.raises(CliExited) as caught:
        client.ask("one")
    assert caught.value.exit_code == 9
    session_id = client.session_id
    assert client.ask("two") == "resumed: two"
    assert client.session_id == session_id


def test_queued_questions_survive_a_crash(stand_in):
    """Questions that were not sent yet are answered after the restart, in order."""
    client = stand_in(scripts.dies_once, settings={"wait": True})
    client.start()
    turns = [client.submit(f"question {number}") for number in range(4)]
    turns[0].cancel()
    assert turns[0].exception(PATIENCE) is not None
    answers = [turn.result(PATIENCE) for turn in turns[1:]]
    assert answers == [f"resumed: question {number}" for number in (1, 2, 3)]


@pytest.fixture
def asked_of_the_dead(stand_in, gone, monkeypatch):
    """Ask a CLI that was killed while it was idle, before the client knows: the turn."""

    def ask(**options):
        client = stand_in(**options)
        client.start()
        connection = client._session.connection
        asked, end = threading.Event(), connection._end

        def end_later(error):
            assert asked.wait(PATIENCE)
            end(error)

        monkeypatch.setattr(connection, "_end", end_later)
        os.kill(client.pid, signal.SIGKILL)
        gone(client.pid)
        assert client.state == "idle"
        turns = [client.submit(words, timeout=PATIENCE) for words in ("one", "two")]
        asked.set()
        return turns

    return ask


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
def test_what_a_dead_cli_cannot_have_read_is_asked_again(asked_of_the_dead):
    """It was killed while idle, and a question came before its end did."""
    assert [turn.result() for turn in asked_of_the_dead()] == ["echo: one", "echo: two"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX")
def test_nothing_is_asked_again_with_raise(asked_of_the_dead):
    """Whoever wants to know of every crash is told of this one, too."""
    for turn in asked_of_the_dead(on_crash="raise"):
        assert isinstance(turn.exception(), CliExited)


def test_crash_with_raise(stand_in):
    """With on_crash="raise" the CLI is never started again, and on_close is told once."""
    closed = []
    client = stand_in(scripts.dies_once, on_crash="raise", on_close=closed.append)
    pid = client.pid
    with pytest.raises(CliExited):
        client.ask("one")
    for _ in range(3):
        with pytest.raises(CliExited) as caught:
            client.ask("two")
        assert caught.value.exit_code == 9
    assert client.pid == pid
    client.close()
    assert len(closed) == 1


def test_crash_with_raise_fails_what_is_queued(stand_in):
    """With on_crash="raise" queued questions fail with the same error."""
    client = stand_in(scripts.dies_once, on_crash="raise", settings={"wait": True})
    client.start()
    turns = [client.submit(f"question {number}") for number in range(3)]
    turns[0].cancel()
    for turn in turns[1:]:
        assert isinstance(turn.exception(PATIENCE), CliExited)


def test_three_crashes(stand_in, tmp_path):
    """After three crashes without an answer the rest of the queue fails, too."""
    lives = tmp_path / "lives"
    client = stand_in(scripts.dies_at_every_question, settings={"lives": str(lives)})
    turns = [client.submit(f"question {number}") for number in range(5)]
    errors = [turn.exception(PATIENCE) for turn in turns]
    assert [type(error) for error in errors] == [CliExited] * 5
    # One more, where a thread looks at the queue just when the third has ended and was not counted.
    assert len(lives.read_text().splitlines()) in (3, 4)


def test_an_answer_forgives_crashes(until):
    """Crashes are counted from the last answer on."""
    clis = []

    def make():
        clis.append(ScriptedCli(life, patience=PATIENCE))
        return clis[-1]

    def life(cli):
        cli.accept()
        while True:
            message = cli.expect()
            if message["type"] == "control_request":
                cli.reply(message)
            elif len(clis) % 2:
                cli.begin_turn(message)
                cli.exit(1)
            else:
                cli.answer("fine", to=message)

    with Client(transport=make) as client:
        for _ in range(4):
            with pytest.raises(CliExited):
                client.ask("crash")
            assert client.ask("answer") == "fine"
            client._session.connection.transport.hang_up(1)
            until(lambda: client.state == "crashed")


def test_restart_finds_no_conversation():
    """A CLI that does not know the conversation any more is started afresh, with a warning."""
    lives = []

    def life(cli):
        lives.append(cli.option("--resume"))
        if cli.option("--resume"):
            cli.print_error("No conversation found with session ID: " + lives[-1])
            cli.exit(1)
        cli.accept()
        message = cli.expect("user")
        if len(lives) == 1:
            cli.begin_turn(message)
            cli.exit(1)
        cli.answer("a new beginning", to=message)
        cli.expect_end(PATIENCE)

    with Client(transport=lambda: ScriptedCli(life, patience=PATIENCE)) as client:
        with pytest.raises(CliExited):
            client.ask("one")
        assert client.ask("two") == "a new beginning"
    assert [bool(each) for each in lives] == [False, True, False]


def test_restart_that_fails(tmp_path, stand_in):
    """If the CLI cannot be started again, the question says so, and the next one tries again."""
    command = tmp_path / "cli.json"
    client = stand_in(scripts.dies_once)
    with pytest.raises(CliExited):
        client.ask("one")
    argv = client._session.options.cli
    broken = client._session.options.replace(cli=[str(command)])
    whole = client._session.options
    client._session.options = broken
    with pytest.raises(Exception, match="not found"):
        client.ask("two")
    client._session.options = whole
    assert argv == whole.cli
    assert client.ask("three") == "resumed: three"


def test_nested_session_variables_are_not_inherited(monkeypatch, stand_in):
    """What a surrounding session put into the environment does not reach the CLI."""
    nested = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "CLAUDE_PROJECT_DIR")
    for name in (*nested, "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, "outer")
    client = stand_in(scripts.tells_its_environment, env={"MINE": "1"})
    names = client.ask("names?").split()
    assert not {*nested, "CLAUDE_AGENT_SDK_VERSION"} & set(names)
    assert {"CLAUDE_CONFIG_DIR", "MINE", "CLAUDE_CODE_ENTRYPOINT"} <= set(names)


def test_recording_is_readable_after_a_kill(stand_in, tmp_path):
    """A recording has every line up to the moment the CLI was killed."""
    path = tmp_path / "wire.jsonl"
    client = stand_in(scripts.answers_then_dies, record=path)
    assert client.ask("one") == "recorded"
    with pytest.raises(CliExited):
        client.ask("two")
    client.close()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    sent = [each["msg"]["type"] for each in records if each["dir"] == "in"]
    heard = [each["msg"]["type"] for each in records if each["dir"] == "out"]
    assert sent == ["control_request", "user", "user"]
    assert "result" in heard


def test_recording_is_readable_when_the_program_is_killed(program, tmp_path, gone):
    """A recording is readable, complete line by line, after its program was killed."""
    path = tmp_path / "wire.jsonl"
    running = program(
        """
import sys, claude_sync
from claude_sync.testing import StandIn
client = claude_sync.Client(cli=StandIn().command, record=sys.argv[1])
client.ask("one")
client.submit("[[sleep 1]]")
print("pid", client.pid, flush=True)
sys.stdin.readline()
""",
        str(path),
    )
    pid = int(running.wait_for("\n").split()[1])
    running.process.kill()
    running.end()
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert "result" in [each["msg"]["type"] for each in records if each["dir"] == "out"]
    gone(pid)


def test_model_of_the_state(stand_in):
    """The client's state says what its CLI does."""
    client = stand_in(scripts.dies_once)
    assert client.state == "open"
    with pytest.raises(CliExited):
        client.ask("one")
    assert client.state == "crashed"
    client.ask("two")
    assert client.state == "idle"
    pid = client.pid
    client.close()
    assert client.state == "closed"
    assert process_is_gone(pid)


def test_crash_is_logged(stand_in, caplog):
    """A crash is in the log, with the exit code."""
    caplog.set_level(logging.WARNING, "claude_sync")
    client = stand_in(scripts.dies_once)
    with pytest.raises(CliExited):
        client.ask("one")
    client.close()
    assert "exit code 9" in caplog.text


def test_crash_with_raise_before_it_is_delivered(until):
    """With on_crash="raise" nothing is started even while handlers keep the news waiting."""
    inside, go_on, made = threading.Event(), threading.Event(), []

    def make():
        made.append(ScriptedCli(patience=PATIENCE))
        return made[-1]

    def hang(_):
        inside.set()
        go_on.wait(PATIENCE)

    with Client(transport=make, on_crash="raise", on_text=hang) as client:
        turn = client.submit("one")
        made[0].accept()
        made[0].begin_turn(made[0].expect("user"))
        made[0].speak("so far")
        assert inside.wait(PATIENCE)
        made[0].hang_up(9)
        until(lambda: client.state == "crashed")
        with pytest.raises(CliExited):
            client.submit("two")
        go_on.set()
        assert isinstance(turn.exception(PATIENCE), CliExited)
    assert len(made) == 1


def test_a_question_that_is_about_to_be_sent_again_can_be_cancelled():
    """The CLI died before it read it, and the next one is not ready: the turn has an end."""
    started, lives = threading.Event(), []

    class Dies(ScriptedCli):
        def write(self, data):
            if b'"user"' in data:
                self.hang_up(1)
                raise BrokenPipeError
            super().write(data)

    def make():
        lives.append(
            ScriptedCli() if lives else Dies(lambda cli: (cli.accept(), cli.pause(PATIENCE)))
        )
        if len(lives) == 2:
            started.set()
        return lives[-1]

    with Client(transport=make) as client:
        client.start(PATIENCE)
        turn = client.submit("hi")
        assert started.wait(PATIENCE)
        wait_until(lambda: client._session.queue)
        assert turn.cancel() is False
        with pytest.raises(TurnInterrupted):
            turn.result(PATIENCE)
