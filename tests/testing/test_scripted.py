"""A scripted CLI lets a test play the other side, and says what went wrong."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from patience import PATIENCE

from claude_sync import Client, CliExited
from claude_sync.testing import ScriptedCli

INITIALIZE = {
    "type": "control_request",
    "request_id": "req_1",
    "request": {"subtype": "initialize"},
}
QUESTION = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hi"}}


def send(cli, *messages):
    """What a client would write."""
    cli.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def launch(*flags, **environment):
    """How a client would start a process."""
    return SimpleNamespace(argv=("claude", *flags), environment=environment, cwd=None)


# Saying.


def test_what_is_printed_is_read_in_the_same_portions():
    """print_raw() decides how the output is cut, so half lines can be tested."""
    cli = ScriptedCli()
    cli.print_raw(b'{"type"')
    cli.print_raw(b"")  # nothing: an empty portion would mean the end
    cli.say({"type": "a"}, {"type": "b"}, type="c")
    assert cli.read() == b'{"type"'
    assert cli.read() == b'{"type":"a"}\n{"type":"b"}\n{"type":"c"}\n'


def test_stderr_is_apart():
    """print_error() reaches read_error() alone."""
    cli = ScriptedCli()
    cli.print_error("careful")
    cli.flood_error(2, "oh")
    cli.hang_up()
    assert b"".join(iter(cli.read_error, b"")) == b"careful\n0: oh\n1: oh\n"
    assert cli.read() == b""


# Ending.


@pytest.mark.parametrize(
    ("end", "exit_code"),
    [
        (lambda cli: cli.hang_up(), 0),
        (lambda cli: cli.hang_up(3), 3),
        (lambda cli: cli.close(1), 0),
        (lambda cli: cli.kill(), -9),
    ],
)
def test_the_end_wakes_every_reader(end, exit_code):
    """After the end, what was said can be read, then comes the end; writing breaks."""
    cli = ScriptedCli()
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(lambda: [cli.read(), cli.read()])
        reading_error = pool.submit(cli.read_error)
        cli.print_raw(b"last words\n")
        end(cli)
        assert reading.result(PATIENCE) == [b"last words\n", b""]
        assert reading_error.result(PATIENCE) == b""
    assert cli.exit_code == exit_code
    with pytest.raises(BrokenPipeError):
        send(cli, QUESTION)


# Scripts.


def claims_something(cli):
    """Its second line is wrong."""
    cli.accept()
    assert cli.expect("user")["message"]["content"] == "Bye", "my claim"


def test_where_a_script_failed_is_told_to_the_client():
    """A test that fails because of it shows the line, not only what was wrong there."""
    cli = ScriptedCli(claims_something)
    with Client(transport=cli) as client, pytest.raises(CliExited) as caught:
        client.ask("hi", timeout=PATIENCE)
    told = str(caught.value)
    assert f"{__file__}, line {claims_something.__code__.co_firstlineno + 3}" in told
    assert '["content"] == "Bye", "my claim"' in told
    assert "AssertionError: my claim" in told
    assert "in claims_something" in told
    assert "in _play" not in told


def expects_two_questions(cli):
    """Answers both."""
    cli.accept()
    cli.answer("One")
    cli.answer("Two", prompt="and then?")


def test_what_a_script_expected_and_never_came_is_told():
    """A script that did not come to its end is no success."""
    cli = ScriptedCli(expects_two_questions)
    with Client(transport=cli) as client:
        assert client.ask("hi", timeout=PATIENCE) == "One"
    with pytest.raises(AssertionError, match=r"'and then\?'.*, but the client has ended") as caught:
        cli.assert_done()
    assert "questions()" in str(caught.value)
    assert cli.exit_code == 0


def answers_for_ever(cli):
    """As many as there are."""
    cli.accept()
    for user in cli.questions():
        cli.answer("yes", to=user)


def test_a_script_can_answer_as_many_questions_as_there_are():
    """questions() ends with the client, and that is no failure."""
    cli = ScriptedCli(answers_for_ever)
    with Client(transport=cli) as client:
        assert [client.ask(word, timeout=PATIENCE) for word in "abc"] == ["yes"] * 3
    cli.assert_done()


def test_a_script_is_a_function():
    """Anything else is refused before it is played."""
    for make in (ScriptedCli, ScriptedCli().play):
        with pytest.raises(TypeError, match=r"function of one argument.*'Hello'"):
            make("Hello")


@pytest.mark.parametrize("wrong", ["Hello", [{"type": "user"}]])
def test_only_messages_can_be_said(wrong):
    """Words of Claude are said in another way, and the error tells which."""
    cli = ScriptedCli()
    with pytest.raises(TypeError, match=r"say\(\) takes messages.*answer\(\)"):
        cli.say(wrong)


def test_how_a_client_leaves_need_not_be_expected():
    """It interrupts what still runs; that is not what the program says."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        client.submit("hi")
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        client.close(timeout=1)
    cli.assert_done()
    assert cli._input, "the client has left without a word"


def test_a_script_ends_with_its_client():
    """A script that waits for a client, or for time to pass, ends when that closes."""
    for wait in (ScriptedCli.receive, lambda cli: cli.pause(600)):
        cli = ScriptedCli(wait)
        cli.start(launch())
        cli.close(PATIENCE)
        assert not [each for each in threading.enumerate() if each.name == "scripted-cli"]
        cli.assert_done()


def test_it_lives_once():
    """A second start is an error that tells the remedy."""
    cli = ScriptedCli()
    cli.start(launch())
    with pytest.raises(AssertionError, match="lives once"):
        cli.start(launch())


def test_a_wrong_style_is_refused():
    """Only the two styles that are known can be asked for."""
    with pytest.raises(ValueError, match="'new' or 'old'"):
        ScriptedCli(style="ancient")


# A script for one that is open already.


def answers(cli):
    """Greets and answers one question."""
    cli.accept()
    cli.answer("Hello", prompt="hi")


def test_a_script_can_come_later():
    """play() begins at once where the client has started it, so that the test can block."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        assert cli.play(answers) is answers
        assert client.ask("hi", timeout=PATIENCE) == "Hello"
    cli.assert_done()


def test_there_is_one_script():
    """Two would take each other's words."""
    with pytest.raises(AssertionError, match="already"):
        ScriptedCli(answers).play(answers)
