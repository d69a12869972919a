"""A replay says what was said, when the program says what it said; anything else is shown."""

import threading

import pytest
from patience import PATIENCE
from recorded_sessions import SESSION, answer, greeted, line, question, record_echo, write

from claude_sync import AskTimeout, Client, ClientClosed, CliExited
from claude_sync.testing import Recording, ReplayDifference, builders
from claude_sync.testing.replay import Replay

# Of recordings in tests about what the program does not do.
SHORT = 0.2


def replayed(path, program, settings=None, **options):
    """Play a recording to a program; what that returned."""
    recording = Recording(path, **(settings or {}))
    with Client(transport=recording.replay, **options) as client:
        returned = program(client)
    recording.assert_done()
    return returned


def session(path, *records):
    """A recording of one life, greeted."""
    return write(path, *greeted(), *records)


# Then as now.


def test_tools_and_permissions_come_at_their_place(tmp_path):
    """They are asked for again, and what the program answers is what it answered."""
    path = tmp_path / "x.jsonl"

    def program(client):
        noted = []
        # A recording has the pieces of a block as one.
        client.on_text(lambda piece: noted[-1:] == ["text"] or noted.append("text"))

        @client.on_permission
        def decide(request):
            noted.append((request.tool, dict(request.input)))
            return request.deny("not today")

        answer = client.ask('[[tool Write {"file_path": "x"}]]', timeout=PATIENCE)
        (pair,) = answer.tool_uses
        return noted, str(answer), pair[1].text

    then = record_echo(path, program)
    assert ("Write", {"file_path": "x"}) in then[0]
    assert replayed(path, program) == then


def test_the_programs_own_tools_are_called(tmp_path):
    """With the recorded arguments; what they return now must be what they returned then."""
    path = tmp_path / "x.jsonl"
    called = []

    def program(double):
        def ask(client):
            @client.tool
            def twice(number: int) -> int:
                """Double a number."""
                called.append(number)
                return double(number)

            prompt = '[[tool mcp__claude_sync__twice {"number": 21}]]'
            return str(client.ask(prompt, timeout=PATIENCE))

        return ask

    then = record_echo(path, program(lambda number: 2 * number))
    assert replayed(path, program(lambda number: number + 21)) == then
    assert called == [21, 21]
    with pytest.raises(CliExited, match=r'(?s)"text": "42".*"text": "441"'):
        replayed(path, program(lambda number: number**2))


def test_hooks_are_called(tmp_path):
    """A hook that blocked then blocks now; one that lets through is a difference."""
    path = tmp_path / "x.jsonl"

    def program(decision):
        def ask(client):
            client.on_permission(lambda request: request.allow())
            client.on_hook("PreToolUse", matcher="Bash")(lambda event: decision)
            return str(client.ask('[[tool Bash {"command": "ls"}]]', timeout=PATIENCE))

        return ask

    no = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "never",
        }
    }
    then = record_echo(path, program(no))
    assert replayed(path, program(no)) == then
    with pytest.raises(CliExited, match='permissionDecision": "deny"'):
        replayed(path, program(None))


def test_an_interrupt_plays_back(tmp_path):
    """The turn goes on until the program stops it, as it did then."""
    path = tmp_path / "x.jsonl"

    def program(client):
        begun = threading.Event()
        client.on_text(lambda piece: begun.set())
        turn = client.submit("[[pace 0.01]]" + "a " * 1000, raise_on_error=False)
        assert begun.wait(PATIENCE)
        client.interrupt()
        return turn.result(PATIENCE).is_error, str(client.ask("and now?", timeout=PATIENCE))

    then = record_echo(path, program)
    assert replayed(path, program) == then


def test_secrets_are_compared_hidden(tmp_path):
    """A recording has none; the program that says the same secret says the same."""
    path = tmp_path / "x.jsonl"
    key = "sk-ant-api03-" + "Ab1" * 12

    def program(client):
        return str(client.ask(f"keep {key} for ann@example.org", timeout=PATIENCE))

    then = record_echo(path, program)
    assert key in then
    assert key not in path.read_text()
    assert replayed(path, program) == "echo: keep <secret-1> for <email-1>"


def test_ids_are_those_of_this_program(tmp_path):
    """What refers to a message of the program refers to the one it has sent now."""
    lifecycle = {"type": "command_lifecycle", "command_uuid": "then-1", "state": "started"}
    path = session(
        tmp_path / "x.jsonl",
        question("hi", "then-1"),
        line("out", lifecycle),
        *answer("hello", "then-1"),
        line("in", builders.control_request("rewind_files", request_id="req_9")),
        line("out", builders.control_response("req_9", {"canRewind": True, "of": "then-1"})),
    )
    path.write_text(path.read_text().replace('"rewind_files"', '"find", "message": "then-1"'))
    seen = []

    def program(client):
        client.on_message(seen.append)
        client.ask("hi", timeout=PATIENCE)
        (told,) = [each.command_uuid for each in seen if hasattr(each, "command_uuid")]
        return told, client.control("find", message=told)

    told, reply = replayed(path, program)
    assert told not in ("then-1", None)
    assert reply == {"canRewind": True, "of": told}


def test_an_answer_that_came_too_late_then_may_come_in_time_now(tmp_path):
    """The CLI withdrew its request; what the program says to it is nobody's business."""
    asked = builders.can_use_tool("Write", {"file_path": "x"}, request_id="cli-1")
    path = session(
        tmp_path / "x.jsonl",
        question("hi", "u"),
        line("out", asked),
        line("in", builders.control_request("wait", request_id="req_2")),
        line("out", builders.control_cancel("cli-1")),
        line("out", builders.control_response("req_2", {})),
        *answer("hello", "u"),
    )

    def program(client):
        answered = threading.Event()

        @client.on_permission
        def decide(request):
            request.deny("no")
            answered.set()

        turn = client.submit("hi")
        assert answered.wait(PATIENCE)
        client.control("wait")
        return str(turn.result(PATIENCE))

    assert replayed(path, program) == "hello"


def test_pauses_are_kept_if_wanted(tmp_path, monkeypatch):
    """speed= divides them; the time the program took is not the CLI's."""
    pauses = []
    monkeypatch.setattr(Replay, "pause", lambda self, seconds: pauses.append(seconds))
    records = [*greeted(), question("hi", "u"), *answer("hello", "u")]
    for number, record in enumerate(records):
        record["t"] = number * 10.0
    path = write(tmp_path / "x.jsonl", *records)
    replayed(path, lambda client: client.ask("hi", timeout=PATIENCE))
    assert pauses == []
    replayed(path, lambda client: client.ask("hi", timeout=PATIENCE), {"speed": 5})
    assert pauses == [2.0] * 4


# Its end.


def test_a_process_that_died_in_mid_turn_dies(tmp_path):
    """With its exit code, and the next question starts the next one."""
    path = write(
        tmp_path / "x.jsonl",
        *greeted("abc-1"),
        question("one", "u1", "abc-1"),
        line("out", builders.init(session_id=SESSION), "abc-1"),
        line("exit", 3, "abc-1"),
        *greeted("abc-2"),
        question("two", "u2", "abc-2"),
        *answer("second", "u2", "abc-2"),
    )

    def program(client):
        with pytest.raises(CliExited) as caught:
            client.ask("one", timeout=PATIENCE)
        return caught.value.exit_code, str(client.ask("two", timeout=PATIENCE))

    assert replayed(path, program) == (3, "second")


def test_it_ends_with_the_client_as_it_ended_then(tmp_path):
    """The exit code of the recording is the one that on_close is told."""
    path = session(
        tmp_path / "x.jsonl", question("hi", "u"), *answer("hello", "u"), line("exit", 1)
    )
    closed = []

    def program(client):
        client.on_close(closed.append)
        client.ask("hi", timeout=PATIENCE)

    replayed(path, program)
    assert [event.exit_code for event in closed] == [1]


# Something else than then.


def test_another_question(tmp_path):
    """The error shows both, and says where; assert_done() shows all of it."""
    path = write(
        tmp_path / "x.jsonl",
        *greeted(),
        question("2+2?", "u"),
        *answer("4", "u"),
        *greeted("abc-2"),
    )
    recording = Recording(path)
    with Client(transport=recording.replay, model="opus") as client:
        with pytest.raises(CliExited, match=r"(?s)x.jsonl, line 3.*-.*2\+2\?.*\+.*2\+3\?"):
            client.ask("2+3?", timeout=PATIENCE)
        # Nothing more is played: what follows could only be confusing.
        with pytest.raises(ReplayDifference, match=r"2\+3\?"):
            recording.replay()
    with pytest.raises(
        ReplayDifference, match=r'(?s)-.*content": "2\+2\?"\n\+.*content": "2\+3\?"\n'
    ):
        recording.assert_done()


def test_how_it_was_started_is_told_with_a_difference(tmp_path):
    """Another model may be why the program asks something else."""
    path = write(
        tmp_path / "x.jsonl",
        line("argv", ["claude", "--model=sonnet"]),
        *greeted(),
        question("a", "u"),
    )
    recording = Recording(path)
    with Client(transport=recording.replay, model="opus") as client, pytest.raises(CliExited):
        client.ask("b", timeout=PATIENCE)
    with pytest.raises(ReplayDifference) as caught:
        recording.assert_done()
    lines = str(caught.value).splitlines()
    assert "- started then with --model=sonnet" in lines
    assert any(each.startswith("+ started now with") and "opus" in each for each in lines)


def test_same_decides_what_is_the_same(tmp_path):
    """It is given both messages, without their ids, where they differ."""
    path = session(tmp_path / "x.jsonl", question("at 10:15", "u"), *answer("4", "u"))
    seen = []

    def same(then, now):
        seen.append((then["message"]["content"], now["message"]["content"], "uuid" in now))
        return True

    settings = {"same": same}
    assert replayed(path, lambda client: client.ask("at 11:20", timeout=PATIENCE), settings) == "4"
    assert seen[0] == ("at 10:15", "at 11:20", False)


def test_a_comparison_that_fails_is_told(tmp_path):
    """Also where the program has caught the error that it became."""
    path = session(tmp_path / "x.jsonl", question("a", "u"), *answer("1", "u"))

    def broken(then, now):
        raise ZeroDivisionError("a mistake")

    recording = Recording(path, same=broken)
    with Client(transport=recording.replay) as client, pytest.raises(CliExited, match="a mistake"):
        client.ask("b", timeout=PATIENCE)
    with pytest.raises(ZeroDivisionError):
        recording.assert_done()


def test_a_question_that_was_left_out(tmp_path):
    """The next one shows it at once: questions have their order."""
    path = session(
        tmp_path / "x.jsonl",
        question("a", "u1"),
        *answer("1", "u1"),
        question("b", "u2"),
        *answer("2", "u2"),
    )
    with pytest.raises(CliExited, match=r'(?s)content": "a.*content": "b"'):
        replayed(path, lambda client: client.ask("b", timeout=PATIENCE))


def test_a_request_that_was_left_out(tmp_path):
    """The question that came after it waits for it, and not for ever."""
    path = session(
        tmp_path / "x.jsonl",
        line("in", builders.control_request("set_it", request_id="r")),
        line("out", builders.control_response("r", {})),
        question("a", "u1"),
        *answer("1", "u1"),
    )
    with pytest.raises(CliExited, match=r'(?s)0.2 seconds.*subtype": "set_it"'):
        replayed(path, lambda client: client.ask("a", timeout=PATIENCE), {"patience": SHORT})


def test_a_permission_that_is_decided_otherwise(tmp_path):
    """Allowed then, denied now."""
    asked = builders.can_use_tool("Write", {"file_path": "x"}, request_id="cli-1")
    body = {"behavior": "allow", "updatedInput": {"file_path": "x"}}
    path = session(
        tmp_path / "x.jsonl",
        question("a", "u1"),
        line("out", asked),
        line("in", builders.control_response("cli-1", body)),
        *answer("1", "u1"),
    )

    def program(decide):
        def ask(client):
            client.on_permission(decide)
            return str(client.ask("a", timeout=PATIENCE))

        return ask

    settings = {"same": lambda then, now: then["response"]["response"] == body == without_id(now)}
    assert replayed(path, program(lambda request: request.allow()), settings) == "1"
    with pytest.raises(CliExited, match=r'(?s)-\s+"behavior": "allow".*\+\s+"behavior": "deny"'):
        replayed(path, program(lambda request: request.deny("no")), settings)


def without_id(message):
    """A decision, without the use of a tool that it is about."""
    body = message["response"]["response"]
    return {name: value for name, value in body.items() if name != "toolUseID"}


def test_while_the_program_waits_for_nothing_it_is_waited_for(tmp_path):
    """A program may think for as long as it likes between two questions."""
    path = session(tmp_path / "x.jsonl", question("a", "u1"), *answer("1", "u1"))
    recording = Recording(path, patience=SHORT)
    with Client(transport=recording.replay) as client:
        client.start(PATIENCE)
        assert not threading.Event().wait(3 * SHORT)
        assert client.ask("a", timeout=PATIENCE) == "1"
    recording.assert_done()


def test_a_client_may_leave_in_mid_turn(tmp_path):
    """Closing ends the replay at once, whatever it still had to say."""
    path = session(
        tmp_path / "x.jsonl",
        question("a", "u1"),
        line("in", builders.control_request("never", request_id="r")),
    )
    recording = Recording(path)
    with Client(transport=recording.replay) as client:
        turn = client.submit("a")
        with pytest.raises(AskTimeout):
            turn.result(SHORT)
        client.close(wait=False)
    assert isinstance(turn.exception(PATIENCE), (ClientClosed, CliExited))
