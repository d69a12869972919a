"""The offline CLI echoes, and behaves otherwise as a real one does."""

import collections
import itertools
import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from claude_sync.testing import ScriptedCli, StandIn, builders
from claude_sync.testing.echo_turns import described, directives_of
from claude_sync.testing.offline import NOTICE, echo

PATIENCE = 30
STATES = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
FLAGS = ("--include-partial-messages", "--replay-user-messages")


class Session:
    """The client's side of a conversation with the offline CLI, which runs in memory."""

    def __init__(self, *flags, environment=None, **settings):
        self.cli = ScriptedCli(echo, **settings)
        argv = ("claude", *flags)
        self.cli.start(SimpleNamespace(argv=argv, environment=environment or {}, cwd=None))
        self._lines = collections.deque()
        self._count = itertools.count(1)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.cli.close(PATIENCE)
        assert self.cli.exit_code == 0
        self.cli.assert_done()

    def send(self, *messages):
        self.cli.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def question(self, content, **fields):
        uuid = f"u{next(self._count)}"
        body = {"role": "user", "content": content}
        return {"type": "user", "uuid": uuid, "message": body, **fields}

    def request(self, subtype, **fields):
        return builders.control_request(subtype, f"req_{next(self._count)}", **fields)

    def read(self):
        while not self._lines:
            self._lines.extend(self.cli.read().splitlines())
        return json.loads(self._lines.popleft())

    def read_until(self, kind, **fields):
        """All messages up to the first of this type, or subtype or state, with these fields."""
        messages = []
        while True:
            message = self.read()
            messages.append(message)
            event = message.get("event", message)
            kinds = (event["type"], message.get("subtype"), message.get("state"))
            if kind in kinds and fields.items() <= message.items():
                return messages

    def ask(self, content, **fields):
        """Ask, and read up to the result: what came, its last the result."""
        self.send(self.question(content, **fields))
        return self.read_until("result")

    def control(self, subtype, **fields):
        """The response to a request."""
        self.send(self.request(subtype, **fields))
        return self.read_until("control_response")[-1]["response"]


def text_of(messages):
    """All text deltas, joined."""
    deltas = [each["event"].get("delta", {}) for each in messages if "event" in each]
    return "".join(delta.get("text", "") for delta in deltas)


@pytest.fixture(params=["new", "old"])
def style(request):
    """Both styles of CLI."""
    return request.param


# Answers.


def test_it_echoes(style):
    """The answer is the prompt, streamed in pieces that add up to it."""
    with Session(*FLAGS, style=style) as session:
        messages = session.ask("one two three")
        assert messages[-1]["result"] == text_of(messages) == "echo: one two three"
        deltas = [each for each in messages if "delta" in each.get("event", {})]
        assert len(deltas) > 3
        assert next(each for each in messages if each.get("isReplay"))["uuid"] == "u1"


def test_it_says_what_it_is():
    """A person who reads stderr learns that no model is involved, once."""
    with Session() as session:
        session.ask("a")
        session.ask("b")
        session.cli.hang_up()
        assert b"".join(iter(session.cli.read_error, b"")).decode() == NOTICE + "\n"


def test_only_a_new_one_lists_the_question_in_its_result(style):
    """The uuid of the question is in the result of a new CLI."""
    with Session(style=style) as session:
        result = session.ask("hi")[-1]
        assert result.get("user_message_uuids") == (["u1"] if style == "new" else None)


def test_without_the_flag_nothing_is_streamed(style):
    """Pieces come only if the command line asks for them."""
    with Session(style=style) as session:
        messages = session.ask("hi")
        assert not [each for each in messages if each["type"] == "stream_event"]
        assert [each for each in messages if each["type"] == "assistant"]


def test_attachments_are_described():
    """Blocks that are no text are named with their kind and size."""
    image = {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}
    text = {"type": "text", "media_type": "text/plain", "data": "abc"}
    content = [
        builders.text("look"),
        {"type": "image", "source": image},
        {"type": "document", "title": "a.txt", "source": text},
        {"type": "odd"},
    ]
    said = described({"message": {"role": "user", "content": content}})
    assert said == "look\n[image: image/png, 4 bytes]\n[a.txt: text/plain, 3 characters]\n[odd]"


def test_costs_add_up():
    """Results tell the total, which grows by what each turn is said to cost."""
    with Session(cost=0.5) as session:
        assert session.ask("a")[-1]["total_cost_usd"] == 0.5
        assert session.ask("b")[-1]["total_cost_usd"] == 1.0
        assert session.ask("/cost")[-1]["result"] == "Total cost: $1.0000"


def test_slash_commands(style):
    """The output of a command is in the result of a new CLI, in a user message of an old one."""
    with Session(*FLAGS, style=style) as session:
        messages = session.ask("/cost")
        output = "Total cost: $0.0000"
        if style == "new":
            assert messages[-1]["result"] == output
            assert messages[-1]["local_command"] == "cost"
        else:
            assert messages[-1]["result"] == ""
            assert output in messages[-2]["message"]["content"]
        assert "compact_boundary" in [each.get("subtype") for each in session.ask("/compact")]
        assert session.ask("/nonsense")[-1]["result"] == "echo: /nonsense"


def test_clear_begins_a_new_session():
    """After /clear the session has another id."""
    with Session() as session:
        before = session.ask("a")[-1]["session_id"]
        session.ask("/clear")
        assert session.ask("b")[-1]["session_id"] != before


def test_context_gets_an_empty_result():
    """A message that wants no answer gets an empty result of its own from a new CLI."""
    with Session() as session:
        (result,) = session.ask("remember this", shouldQuery=False)
        assert (result["result"], result["user_message_uuids"]) == ("", ["u1"])


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--session-id=abc"], "abc"),
        (["--session-id", "abc"], "abc"),
        (["--resume=abc"], "abc"),
        (["--resume=abc", "--fork-session"], builders.SESSION_ID),
    ],
)
def test_the_conversation_is_the_one_asked_for(flags, expected):
    """An id on the command line is kept; a fork gets a new one."""
    with Session(*flags) as session:
        assert session.ask("a")[-1]["session_id"] == expected


def test_session_states_are_told_when_asked_for():
    """With the variable in the environment, every turn lies between running and idle."""
    with Session(environment=STATES) as session:
        session.send(session.question("a"))
        told = [each.get("state") for each in session.read_until("idle") if "state" in each]
        assert told == ["running", "queued", "started", "completed", "idle"]


# Requests.


def test_initialize(style):
    """The first request is answered; an old CLI refuses a second."""
    with Session(style=style) as session:
        body = session.control("initialize")["response"]
        assert ("claude_code_version" in body) is (style == "new")
        again = session.control("initialize")
        assert again["subtype"] == ("success" if style == "new" else "error")


def test_a_new_one_speaks_to_our_servers_before_it_answers():
    """The MCP handshake comes before the answer to initialize, so it must be served."""
    with Session() as session:
        session.send(session.request("initialize", sdkMcpServers=["calc"]))
        call = session.read()
        assert call["request"]["message"]["method"] == "initialize"
        session.send(builders.control_response(call["request_id"], {"mcp_response": {}}))
        assert "commands" in session.read()["response"]["response"]
        assert session.control("mcp_status")["response"]["mcpServers"][0]["name"] == "calc"


def test_the_model_and_the_mode_change(style):
    """What was set is told with the next turn."""
    with Session(style=style) as session:
        assert session.control("set_model", model="opus")["subtype"] == "success"
        assert session.control("set_permission_mode", mode="plan")["subtype"] == "success"
        assert session.control("set_max_thinking_tokens", max_thinking_tokens=1)
        init = next(each for each in session.ask("a") if each.get("subtype") == "init")
        assert (init["model"], init["permissionMode"]) == ("opus", "plan")


def test_an_unknown_mode():
    """A new CLI refuses it; an old one accepts it, and answers twice."""
    with Session() as session:
        assert session.control("set_permission_mode", mode="bogus")["error_code"] == "invalid_mode"
    with Session(style="old") as session:
        first = session.control("set_permission_mode", mode="bogus")
        second = session.read()["response"]
        assert first["request_id"] == second["request_id"]


def test_an_unknown_request():
    """A new CLI says that it does not know it; an old one never answers."""
    with Session() as session:
        assert session.control("nonsense")["error_code"] == "unsupported_request"
    with Session(style="old") as session:
        session.send(session.request("nonsense"), session.request("interrupt"))
        assert session.read()["response"]["request_id"] == "req_2"


def test_a_message_of_another_dialect():
    """A new CLI ignores it, an old one exits."""
    with Session() as session:
        session.send({"type": "user_message", "text": "hi"})
        assert session.ask("a")[-1]["result"] == "echo: a"
    cli = ScriptedCli(echo, style="old")
    cli.start(SimpleNamespace())
    cli.write(b'{"type": "user_message"}\n')
    assert cli.read() == b""
    cli.close(PATIENCE)
    assert cli.exit_code == 1


# Interrupts.


def test_an_interrupt_between_turns_is_acknowledged(style):
    """With nothing running it is answered, and no result follows."""
    with Session(style=style) as session:
        expected = {"still_queued": []} if style == "new" else None
        assert session.control("interrupt").get("response") == expected
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_an_interrupt_ends_a_wait(style):
    """A turn that waits ends at once, and the next one is a turn like any other."""
    with Session(style=style) as session:
        session.send(session.question("[[sleep 600]]"))
        session.read_until("init")
        session.send(session.request("interrupt"))
        messages = session.read_until("result")
        assert messages[0]["type"] == "control_response"
        assert "interrupted by user" in messages[1]["message"]["content"][0]["text"]
        assert messages[-1]["subtype"] == "error_during_execution"
        assert messages[-1]["is_error"] is (style == "new")
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_an_interrupt_in_mid_answer_keeps_the_text_so_far():
    """What was streamed by then arrives as an aborted message."""
    with Session(*FLAGS) as session:
        session.send(session.question("[[pace 0.01]] " + "word " * 5_000))
        session.read_until("content_block_delta")
        session.send(session.request("interrupt"))
        messages = session.read_until("result")
        aborted = next(each for each in messages if each.get("aborted"))
        text = aborted["message"]["content"][0]["text"]
        assert text.endswith(text_of(messages))
        assert text.startswith("echo: ")


def test_an_interrupt_ends_a_flood():
    """Even a stream as fast as possible hears an interrupt."""
    with Session(*FLAGS) as session:
        session.send(session.question("[[deltas 50000]]"), session.request("interrupt"))
        messages = session.read_until("result")
        assert messages[-1]["terminal_reason"] == "aborted_streaming"
        assert len(messages) < 1000


def test_what_waits_is_told_or_withdrawn():
    """The receipt of an interrupt lists what waits; with cancel_queued it will not run."""
    with Session() as session:
        session.send(session.question("[[sleep 600]]"), session.question("two"))
        session.read_until("queued", command_uuid="u2")
        session.send(session.request("interrupt"))
        messages = session.read_until("result")
        assert messages[0]["response"]["response"] == {"still_queued": ["u2"]}
        assert session.read_until("result")[-1]["user_message_uuids"] == ["u2"]
        session.send(session.question("[[sleep 600]]"), session.question("four"))
        session.read_until("queued", command_uuid="u5")
        session.send(session.request("interrupt", cancel_queued=True))
        receipt = session.read_until("control_response")[-1]["response"]["response"]
        assert receipt["cancelled"] == ["u5"]
        assert session.ask("after")[-1]["subtype"] == "error_during_execution"
        assert session.read_until("result")[-1]["result"] == "echo: after"


# Directives.


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("nothing [[here]] [[sleep]] [[deltas x]]", []),
        ("[[sleep 1.5]][[empty]]", [("sleep", 1.5), ("empty", None)]),
        ('a [[tool Bash {"a": [[1]]}]] b', [("tool", ("Bash", {"a": [[1]]}))]),
        ("[[tool Bash {broken]] [[size 3]]", [("size", 3.0)]),
        ("[[tool Bash [1]]]", []),
        ('[[tool Bash {"a": 1} ]]', []),
    ],
)
def test_directives_are_found(prompt, expected):
    """Well-formed directives are found in their order; the rest is text."""
    assert directives_of(prompt) == expected


@pytest.mark.parametrize("count", [0, 1, 249, 250, 251, 1000])
def test_deltas_are_counted(count):
    """As many pieces as asked for come, and add up to the answer."""
    with Session(*FLAGS) as session:
        messages = session.ask(f"[[deltas {count}]]")
        kinds = [each.get("event", {}).get("type") for each in messages]
        assert kinds.count("content_block_delta") == count
        said = next(each for each in messages if each["type"] == "assistant")
        assert said["message"]["content"][0]["text"] == text_of(messages)
        assert messages[-1]["result"] == text_of(messages)
        assert len(text_of(messages)) == 5 * count


def test_deltas_without_streaming():
    """Where nothing is streamed, the same text comes in one message."""
    with Session() as session:
        assert session.ask("[[deltas 3]]")[-1]["result"] == "0000 0001 0002 "


@pytest.mark.parametrize("flags", [(), FLAGS])
def test_the_pace_can_be_set(flags):
    """Piece by piece or whole, a slow answer is the same answer."""
    with Session(*flags, pace=0.001) as session:
        assert session.ask("one two")[-1]["result"] == "echo: one two"
        messages = session.ask("three")
        assert text_of(messages) == ("echo: three" if flags else "")


def test_a_message_of_a_given_size():
    """One message holds as many bytes as asked for."""
    with Session(*FLAGS) as session:
        messages = session.ask("[[size 100000]]")
        said = [each for each in messages if each["type"] == "assistant"]
        assert [len(each["message"]["content"][0]["text"]) for each in said] == [100_000]
        assert text_of(messages) == ""


def test_an_empty_turn_is_only_a_result(style):
    """Nothing comes before the result."""
    with Session(*FLAGS, style=style) as session:
        assert [each["type"] for each in session.ask("[[empty]]")] == ["result"]


def decide(session, behavior, **fields):
    """Ask for a tool, answer the question about it, return what comes after."""
    session.send(session.question('[[tool Bash {"command": "ls"}]]'))
    request = session.read_until("control_request")[-1]
    assert request["request"]["tool_name"] == "Bash"
    reply = {"behavior": behavior, **fields}
    session.send(builders.control_response(request["request_id"], reply))
    return session.read_until("result")


def test_a_tool_that_may_be_used(style):
    """The outcome of a tool, run with the updated input, is told and becomes the answer."""
    with Session(style=style) as session:
        messages = decide(session, "allow", updatedInput={"command": "pwd"})
        assert messages[-1]["result"] == 'Bash: offline, so not run: {"command": "pwd"}'
        blocks = [each["message"]["content"][0] for each in messages if each["type"] == "user"]
        assert blocks[0]["type"] == "tool_result"
        assert blocks[0]["is_error"] is False


def test_a_tool_that_may_not_be_used(style):
    """A denial is an error for Claude and is listed in the result; the turn goes on."""
    with Session(style=style) as session:
        result = decide(session, "deny", message="not here")[-1]
        assert result["result"] == "Bash: not here"
        assert result["permission_denials"][0]["tool_input"] == {"command": "ls"}


def test_a_denial_can_end_the_turn():
    """A denial with interrupt ends the turn as an interrupt does."""
    with Session() as session:
        result = decide(session, "deny", message="stop", interrupt=True)[-1]
        assert result["subtype"] == "error_during_execution"


def test_the_state_shows_that_a_person_is_waited_for():
    """While a permission is open, the session requires action."""
    with Session(environment=STATES) as session:
        session.send(session.question("[[tool Bash {}]]"))
        *_, state, request = session.read_until("control_request")
        assert state["state"] == "requires_action"
        session.send(builders.control_response(request["request_id"], {"behavior": "deny"}))
        assert session.read()["state"] == "running"


def test_our_replies_are_repeated_with_our_questions():
    """A new CLI that repeats user messages repeats our replies, too; they mean nothing."""
    with Session(*FLAGS) as session:
        messages = decide(session, "allow")
        assert messages[0]["type"] == "control_response"


def test_no_permission_is_asked_where_everything_is_allowed():
    """In the mode bypassPermissions a tool is used at once."""
    with Session("--permission-mode=bypassPermissions") as session:
        messages = session.ask("[[tool Read {}]]")
        assert "control_request" not in [each["type"] for each in messages]


def test_an_interrupt_withdraws_an_open_permission(style):
    """The request is cancelled first, then the turn ends; a late answer is harmless."""
    with Session(style=style) as session:
        session.send(session.question("[[tool Bash {}]]"))
        request = session.read_until("control_request")[-1]
        session.send(session.request("interrupt"))
        cancelled, acknowledged, outcome, note, *_ = session.read_until("result")
        assert cancelled["request_id"] == request["request_id"]
        assert acknowledged["type"] == "control_response"
        assert outcome["message"]["content"][0]["is_error"] is True
        assert "for tool use" in note["message"]["content"][0]["text"]
        session.send(builders.control_response(request["request_id"], {"behavior": "allow"}))
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_a_tool_of_our_own_is_called():
    """A tool of a server inside the client is really called, and its text told."""
    with Session("--permission-mode=bypassPermissions") as session:
        session.send(session.request("initialize", sdkMcpServers=["calc"]))
        call = session.read()
        session.send(builders.control_response(call["request_id"], {"mcp_response": {}}))
        session.read_until("control_response")
        for answer, said in (
            ({"result": {"content": [builders.text("3")]}}, "mcp__calc__add: 3"),
            ({"error": {"code": -1, "message": "no"}}, "mcp__calc__add: no"),
        ):
            session.send(session.question('[[tool mcp__calc__add {"a": 1}]]'))
            call = session.read_until("control_request")[-1]
            assert call["request"]["message"]["params"] == {"name": "add", "arguments": {"a": 1}}
            session.send(builders.control_response(call["request_id"], {"mcp_response": answer}))
            assert session.read_until("result")[-1]["result"] == said


def test_a_message_in_mid_turn_joins_at_a_tool_round(style):
    """What is sent while a tool is used is answered in the same turn, by the same result."""
    with Session(*FLAGS, style=style) as session:
        session.send(session.question("[[tool Bash {}]]"))
        request = session.read_until("control_request")[-1]
        session.send(session.question("and this"))
        session.send(builders.control_response(request["request_id"], {"behavior": "deny"}))
        messages = session.read_until("result")
        assert messages[-1]["result"] == "Bash: denied\necho: and this"
        assert [each["uuid"] for each in messages if each.get("isReplay")] == ["u2"]
        if style == "new":
            assert messages[-1]["user_message_uuids"] == ["u1", "u2"]
        assert session.ask("a")[-1]["result"] == "echo: a"


def test_a_background_agent_reports_back_unasked():
    """After the answer comes a turn that nobody asked for; only then is the session idle."""
    with Session(environment=STATES) as session:
        session.send(session.question("[[background 0.01]]"))
        messages = session.read_until("idle")
        results = [each for each in messages if each["type"] == "result"]
        assert results[0]["user_message_uuids"] == ["u1"]
        assert results[1]["origin"]["kind"] == "task-notification"
        assert "user_message_uuids" not in results[1]
        subtypes = [each.get("subtype") for each in messages]
        assert subtypes.index("task_started") < subtypes.index("task_notification")
        alive = [each["tasks"] for each in messages if "tasks" in each]
        assert [len(tasks) for tasks in alive] == [1, 0]


# As a process.


def test_a_turn_that_has_begun_is_finished():
    """When the input ends in mid-turn, the turn runs to its end; then it exits with 0."""
    prompts = ("[[sleep 0.05]]", "[[tool Bash {}]]", "three")
    given = "".join(
        json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n"
        for prompt in prompts
    )
    environment = {name: value for name, value in os.environ.items() if "CLAUDE" not in name}
    done = subprocess.run(
        StandIn().command,
        input=given.encode(),
        env=environment,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    said = [json.loads(line) for line in done.stdout.splitlines()]
    results = [each["result"] for each in said if each["type"] == "result"]
    assert results == ["echo: [[sleep 0.05]]", "Bash: Tool permission stream closed\necho: three"]
