"""A scripted CLI lets a test play the other side, and says what went wrong; turns look real."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from patience import PATIENCE

import claude_sync.testing
from claude_sync import CliDidNotStart, Client, CliExited
from claude_sync.testing import ScriptedCli, builders

SOON = 0.01

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


def read_all(cli):
    """All that was printed, as messages; the CLI must have ended."""
    return [json.loads(line) for line in b"".join(iter(cli.read, b"")).splitlines()]


def kinds(messages):
    """A short name for each message."""
    return [
        message.get("state")
        or message.get("subtype")
        or message.get("event", {}).get("type")
        or message["type"]
        for message in messages
    ]


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


def answers_once(cli):
    """One question."""
    cli.accept()
    cli.answer("One")


def test_one_question_too_many_is_told():
    """A script that has ended cannot be started again; the advice is for its author."""
    with Client(transport=ScriptedCli(answers_once)) as client:
        turns = [client.submit(word) for word in "ab"]
        with pytest.raises(CliExited, match="the script has ended") as caught:
            turns[1].result(PATIENCE)
    assert "Add cli.answer(...) to it, or let it loop over cli.questions()." in str(caught.value)
    assert "starts it again" not in str(caught.value)


def test_a_script_without_accept_is_told():
    """It is the first thing that a script has to do."""
    cli = ScriptedCli(lambda cli: cli.answer("One"))
    forgot = pytest.raises(CliDidNotStart, match=r"Did the script forget cli.accept\(\)\?")
    with Client(transport=cli) as client, forgot:
        client.ask("hi", timeout=PATIENCE)


def test_the_fields_of_an_answer():
    """They are those of the result; one that is misspelt would have no effect."""

    def script(cli):
        cli.accept()
        cli.answer("One", total_cost_usd=0.5, new_in_2030=True)
        cli.answer("Two", cost_usd=0.5)

    with Client(transport=ScriptedCli(script)) as client:
        answer = client.ask("hi", timeout=PATIENCE)
        assert (answer.cost_usd, answer.result.raw["new_in_2030"]) == (0.5, True)
        with pytest.raises(CliExited, match="Did you mean 'total_cost_usd'"):
            client.ask("hi", timeout=PATIENCE)


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
    with pytest.raises(AssertionError, match="can be used only once"):
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


# Hearing.


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        (QUESTION, {"text": "hi"}),
        (QUESTION, {"uuid": ..., "role": "user"}),
        ({"type": "user", "message": {"content": [builders.text("hi")]}}, {"text": "hi"}),
        (builders.control_response("r1", {"behavior": "allow"}), {"behavior": "allow"}),
    ],
)
def test_expect_finds_a_key_wherever_it_is(message, keys):
    """Keys inside the request, the response or the message need no path."""
    cli = ScriptedCli()
    send(cli, message)
    assert cli.expect(**keys) == message


@pytest.mark.parametrize("keys", [{"type": "user", "text": "ho"}, {"color": ...}])
def test_expect_tells_what_came_instead(keys):
    """A message that is not the expected one is an error that shows it."""
    cli = ScriptedCli()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match=r"expected .*; the client sent .*'content': 'hi'"):
        cli.expect(**keys)


def test_expect_tells_what_it_waited_for():
    """A client that sends nothing is an error that names what was missing."""
    cli = ScriptedCli(patience=SOON)
    with pytest.raises(AssertionError, match=r"waited 0\.01 s for .*interrupt.*sent nothing"):
        cli.expect("control_request", subtype="interrupt")


@pytest.mark.parametrize("line", [b"\n", b"{]\n", b"[1]\n"])
def test_a_line_that_is_no_object_is_an_error(line):
    """A blank or broken line, which would kill a real CLI, fails the test."""
    cli = ScriptedCli()
    cli.write(line)
    with pytest.raises(AssertionError, match="not a JSON object"):
        cli.expect()


def test_expect_end_waits_for_the_client_to_leave():
    """expect_end() returns when the client closes, and fails if it says something instead."""
    cli = ScriptedCli()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match="but the client sent"):
        cli.expect_end()
    with pytest.raises(AssertionError, match="went by"):
        cli.expect_end(SOON)
    cli.close(1)
    cli.expect_end()
    assert cli.closed


def test_assert_done_shows_what_nobody_expected():
    """Lines that no expect() took fail assert_done()."""
    cli = ScriptedCli()
    cli.assert_done()
    send(cli, QUESTION)
    with pytest.raises(AssertionError, match="not expected") as caught:
        cli.assert_done()
    assert json.dumps(QUESTION) in str(caught.value).splitlines()[1]
    assert "expect()" in str(caught.value)
    cli.expect("user")
    cli.assert_done()
    cli.write(b"{")
    with pytest.raises(AssertionError, match="not expected"):
        cli.assert_done()


# Turns.


def test_accept_answers_initialize():
    """accept() answers the first request, in its style, and returns it."""
    cli = ScriptedCli()
    send(cli, INITIALIZE)
    assert cli.accept(account={"email": "a@example.com"}) == INITIALIZE
    response = json.loads(cli.read())["response"]
    assert response["request_id"] == "req_1"
    assert response["response"]["claude_code_version"] == cli.version
    assert response["response"]["account"] == {"email": "a@example.com"}
    old = ScriptedCli(style="old")
    send(old, INITIALIZE)
    old.accept()
    assert "claude_code_version" not in json.loads(old.read())["response"]["response"]


def test_a_turn_of_a_new_cli():
    """A new CLI reports the life of the question and lists it in the result."""
    cli = ScriptedCli(session_states=True)
    cli.start(launch("--include-partial-messages", "--replay-user-messages"))
    send(cli, QUESTION)
    assert cli.answer("Hello you", prompt="hi", total_cost_usd=0.5) == QUESTION
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages) == [
        "running",
        "queued",
        "started",
        "init",
        "user",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "assistant",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "success",
        "completed",
        "idle",
    ]
    result = messages[13]
    assert (result["result"], result["total_cost_usd"]) == ("Hello you", 0.5)
    assert result["user_message_uuids"] == ["u1"]
    assert messages[4]["uuid"] == "u1"
    assert messages[3]["capabilities"]
    assert {message["session_id"] for message in messages} == {cli.session_id}


def test_a_turn_of_an_old_cli():
    """An old CLI only repeats the question, after the first piece of the answer."""
    cli = ScriptedCli(style="old")
    send(cli, QUESTION)
    cli.answer(pieces=["Hel", "lo"])
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages)[:6] == [
        "init",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "user",
        "content_block_delta",
    ]
    assert messages[-1]["result"] == "Hello"
    assert "user_message_uuids" not in messages[-1]
    assert "capabilities" not in messages[0]


def test_the_command_line_decides_what_is_told():
    """Without the flags, a CLI neither streams nor repeats; settings of the test win."""
    cli = ScriptedCli()
    cli.start(launch("--session-id=abc", "--model", "opus"))
    send(cli, QUESTION)
    cli.answer("Hello")
    cli.hang_up()
    messages = read_all(cli)
    assert kinds(messages) == ["queued", "started", "init", "assistant", "success", "completed"]
    assert messages[2]["session_id"] == "abc"
    assert messages[2]["model"] == messages[3]["message"]["model"] == "opus"
    stubborn = ScriptedCli(partial=True, session_id="mine")
    stubborn.start(launch("--session-id=abc"))
    assert (stubborn.partial, stubborn.session_id) == (True, "mine")


def test_an_interrupted_turn_keeps_what_was_said():
    """An interrupted turn ends with the text so far, a note and a result without text."""
    cli = ScriptedCli(partial=False)
    cli.end_interrupted(QUESTION, "Hel")
    cli.hang_up()
    said, note, result, lifecycle = read_all(cli)
    assert said["message"]["content"][0]["text"] == "Hel"
    assert "interrupted by user" in note["message"]["content"][0]["text"]
    assert result["terminal_reason"] == "aborted_streaming"
    assert "result" not in result
    assert lifecycle["state"] == "cancelled"


def test_requests_and_their_replies_belong_together():
    """expect_reply() returns the body of the client's answer to that very request."""
    cli = ScriptedCli()
    request = cli.ask_permission("Bash", {"command": "ls"}, blocked_path="/etc")
    assert json.loads(cli.read()) == request
    assert request["request"]["blocked_path"] == "/etc"
    send(cli, builders.control_response(request["request_id"], {"behavior": "allow"}))
    assert cli.expect_reply(request) == {"behavior": "allow"}
    hook = cli.call_hook("hook_0", "PreToolUse", {"tool_name": "Bash"})
    send(cli, builders.control_error(hook["request_id"], "no"))
    with pytest.raises(AssertionError, match="subtype"):
        cli.expect_reply(hook)
    call = cli.call_server("tools", {"method": "tools/list"})
    cli.cancel(call)
    cli.reply(INITIALIZE, models=[])
    cli.refuse(INITIALIZE, "no", "invalid")
    cli.hang_up()
    *_, cancelled, accepted, refused = read_all(cli)
    assert cancelled["request_id"] == call["request_id"]
    assert accepted["response"]["response"] == {"models": []}
    assert refused["response"]["error_code"] == "invalid"


# Messages.


def test_messages_can_be_changed_in_any_way():
    """No two messages share a uuid, unless a test says so; fields replace, ABSENT removes."""
    assert len({builders.assistant("same")["uuid"] for _ in range(100)}) == 100
    assert builders.assistant("same", uuid="mine")["uuid"] == "mine"
    message = builders.result("x", is_error=True, usage=builders.ABSENT)
    assert message["is_error"] is True
    assert "usage" not in message


def test_a_result_lists_the_questions_it_answers():
    """Only a result that is given uuids has the fields for them."""
    assert "user_message_uuids" not in builders.result("x", [None])
    message = builders.result("x", ["u1", "u2"])
    assert message["user_message_uuid"] == "u1"
    assert message["user_message_uuids"] == ["u1", "u2"]


def test_the_package_loads_its_names_when_asked():
    """Importing claude_sync.testing alone loads none of its tools; a wrong name is an error."""
    code = (
        "import sys, claude_sync.testing as t; "
        "assert not [m for m in sys.modules if m.startswith('claude_sync.testing.')]; "
        "assert all(hasattr(t, name) for name in t.__all__) and set(t.__all__) <= set(dir(t))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)
    with pytest.raises(AttributeError, match="Scripted"):
        claude_sync.testing.Scripted  # noqa: B018
