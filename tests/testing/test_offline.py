"""The offline CLI echoes, does what prompts direct, and behaves otherwise as a real one does."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import threading
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import List, Literal, Optional, TypedDict

import pytest
from patience import PATIENCE

from claude_sync import Client, ControlError, TurnInterrupted, hooks
from claude_sync.testing import ScriptedCli, StandIn, builders
from claude_sync.testing.offline import NOTICE, echo

FLAGS = ("--include-partial-messages", "--replay-user-messages")
STATES = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}


@pytest.fixture(params=["new", "old"])
def style(request):
    """Both styles of CLI."""
    return request.param


@pytest.fixture
def open_client():
    """Open clients of the offline CLI."""
    clients = []

    def make(settings=None, **options):
        clients.append(Client(transport=lambda: ScriptedCli(echo, **(settings or {})), **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


class Session:
    """The client's side of a conversation with the offline CLI, message by message."""

    def __init__(self, *flags, environment=None, **settings):
        self.cli = ScriptedCli(echo, **settings)
        argv = ("claude", *flags)
        self.cli.start(SimpleNamespace(argv=argv, environment=environment or {}, cwd=None))
        self._lines = collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.cli.close(PATIENCE)
        assert self.cli.exit_code == 0
        self.cli.assert_done()

    def send(self, *messages):
        """Say something."""
        self.cli.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def ask(self, content, uuid, until="result"):
        """Ask, and read up to the result: what came."""
        self.send(question(content, uuid))
        return self.read_until(until)

    def read_until(self, kind):
        """All messages up to the first of this type, or subtype, state or kind of event."""
        messages = []
        while True:
            while not self._lines:
                self._lines.extend(self.cli.read().splitlines())
            messages.append(json.loads(self._lines.popleft()))
            if kind in kinds_of(messages[-1]):
                return messages


def question(content, uuid):
    """A question."""
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}}


def kinds_of(message):
    """What a message is, in all its words for that."""
    return (
        message["type"],
        message.get("subtype"),
        message.get("state"),
        message.get("event", {}).get("type"),
    )


# Answers.


def test_it_echoes(open_client, style):
    """The answer is the prompt, streamed in pieces that add up to it; it costs what it is told."""
    pieces = []
    client = open_client({"style": style, "cost": 0.5}, on_text=pieces.append)
    answer = client.ask("one two three", timeout=PATIENCE)
    assert answer == "".join(pieces) == "echo: one two three"
    assert len(pieces) > 3
    client.ask("[[sleep 0]]", timeout=PATIENCE)
    assert client.cost_usd == 1.0


def test_it_says_what_it_is():
    """A person who reads stderr learns that no model is involved, once."""
    with Session() as session:
        session.ask("a", "u1")
        session.ask("b", "u2")
        session.cli.hang_up()
        assert b"".join(iter(session.cli.read_error, b"")).decode() == NOTICE + "\n"


def test_attachments_are_described():
    """Blocks that are no text are named with their kind and size."""
    image = {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}
    text = {"type": "text", "media_type": "text/plain", "data": "abc"}
    content = [
        builders.text("look"),
        {"type": "image", "source": image},
        {"type": "document", "title": "a.txt", "source": text},
    ]
    with Session() as session:
        assert session.ask(content, "u1")[-1]["result"] == (
            "echo: look\n[image: image/png, 4 bytes]\n[a.txt: text/plain, 3 characters]"
        )


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
    """An id on the command line is kept; a fork gets a new one, and so does /clear."""
    with Session(*flags) as session:
        assert session.ask("a", "u1")[-1]["session_id"] == expected
        session.ask("/clear", "u2")
        assert session.ask("b", "u3")[-1]["session_id"] != expected


def test_slash_commands(style):
    """The output of a command is in the result of a new CLI, in a user message of an old one."""
    with Session(*FLAGS, style=style, cost=0.25) as session:
        session.ask("a", "u1")
        messages = session.ask("/cost", "u2")
        output = "Total cost: $0.2500"
        repeated = [each["uuid"] for each in messages if each.get("isReplay") and "uuid" in each]
        assert ("u2" in repeated) is (style == "new")
        if style == "new":
            assert (messages[-1]["result"], messages[-1]["local_command"]) == (output, "cost")
        else:
            assert messages[-1]["result"] == ""
            assert output in messages[-2]["message"]["content"]
        compacted = session.ask("/compact", "u3")
        assert "compact_boundary" in [each.get("subtype") for each in compacted]
        assert session.ask("/nonsense", "u4")[-1]["result"] == "echo: /nonsense"


def test_the_life_of_a_question_is_told():
    """With the variable in the environment, every turn lies between running and idle."""
    with Session(environment=STATES) as session:
        told = [each["state"] for each in session.ask("a", "u1", "idle") if "state" in each]
        assert told == ["running", "queued", "started", "completed", "idle"]
        session.send({**question("remember this", "u2"), "shouldQuery": False})
        (result,) = session.read_until("result")
        assert (result["result"], result["user_message_uuids"]) == ("", ["u2"])


def test_it_fills_in_forms(open_client, style):
    """A program with typed answers can be tried offline."""
    client = open_client({"style": style}, returns=Literal["one", "two"])
    assert client.ask("which?", timeout=PATIENCE).data == "one"
    assert client.ask("[[sleep 0]] which?", timeout=PATIENCE).data == "one"
    client = open_client({"style": style})
    assert client.ask("which?", timeout=PATIENCE).data is None
    assert client.ask("which?", returns=List[int], timeout=PATIENCE).data == [1]


class Form(TypedDict):
    """Something of each kind."""

    name: str
    born: date
    price: Decimal
    share: float
    fine: bool
    next: Optional[Form]


def test_made_up_data_fit_their_form(open_client):
    """Formats, references to itself, and whatever else our own schemas have."""
    data = open_client().ask("fill it in", returns=Form, timeout=PATIENCE).data
    assert (data["name"], data["born"], data["fine"]) == ("echo", date(2026, 3, 1), True)
    assert isinstance(data["price"], Decimal)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 7}, 7),
        ({"type": "string", "default": "red"}, "red"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": ["string", "null"]}, "echo"),
        ({"type": "string", "minLength": 6}, "echo.."),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2}, [None, None]),
        ({"$ref": "#/$defs/X", "$defs": {"X": {"const": 3}}}, 3),
        ({"$ref": "#/nowhere"}, None),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1}),
        ({"type": "object"}, {}),
        ({"type": "string", "pattern": "^[0-9.]+$"}, "1"),
        ({"type": "string", "pattern": "(?<"}, "echo"),
    ],
)
def test_made_up_data_of_other_schemas(schema, expected):
    """What each keyword leads to."""
    with Session(f"--json-schema={json.dumps(schema)}") as session:
        assert session.ask("a", "u1")[-1]["structured_output"] == expected


# Directives.


@pytest.mark.parametrize("count", [0, 1, 249, 250, 251, 1000])
def test_deltas_are_counted(open_client, count):
    """As many pieces as asked for come, and add up to the answer."""
    pieces = []
    client = open_client(on_text=pieces.append)
    answer = client.ask(f"[[deltas {count}]]", timeout=PATIENCE)
    assert (len(answer), "".join(pieces)) == (5 * count, answer)
    whole = open_client(include_partial_messages=False)
    assert whole.ask(f"[[deltas {count}]]", timeout=PATIENCE) == answer


@pytest.mark.parametrize("streamed", [True, False])
def test_other_answers(open_client, streamed):
    """Piece by piece or whole, a slow answer is the same answer; one of a size; none."""
    pieces = []
    options = {"include_partial_messages": streamed, "on_text": pieces.append}
    client = open_client({"pace": 0.001}, **options)
    assert client.ask("one two", timeout=PATIENCE) == "echo: one two" == "".join(pieces)
    assert (len(pieces) > 1) is streamed
    assert len(open_client(**options).ask("[[size 100000]]", timeout=PATIENCE)) == 100_000
    with Session() as session:
        assert [each["type"] for each in session.ask("[[empty]]", "u1")] == ["result"]


def test_what_is_not_well_formed_is_text(open_client):
    """It is echoed."""
    prompt = "nothing [[here]] [[sleep]] [[deltas x]]"
    assert open_client().ask(prompt, timeout=PATIENCE) == f"echo: {prompt}"


def test_a_tool_that_cannot_be_read_is_told(open_client):
    """Otherwise nobody would know why no permission is asked for."""
    client = open_client()
    for tool in ("Bash {broken]]", "Bash [1]]", 'Bash {"a": 1} ]]', "Bash]]"):
        answer = client.ask(f"Go [[tool {tool}\non", timeout=PATIENCE)
        assert answer.startswith(f"the stand-in cannot read [[tool {tool}. After the name")
        assert not answer.tool_uses


def test_a_background_agent_reports_back_unasked():
    """After the answer comes a turn that nobody asked for; only then is the session idle."""
    with Session(environment=STATES) as session:
        messages = session.ask("[[background 0.01]]", "u1", "idle")
        results = [each for each in messages if each["type"] == "result"]
        assert results[0]["user_message_uuids"] == ["u1"]
        assert results[1]["origin"]["kind"] == "task-notification"
        assert "user_message_uuids" not in results[1]
        subtypes = [each.get("subtype") for each in messages]
        assert subtypes.index("task_started") < subtypes.index("task_notification")
        alive = [each["tasks"] for each in messages if "tasks" in each]
        assert [len(tasks) for tasks in alive] == [1, 0]


def test_a_stopped_task_does_not_report_back(open_client):
    """Its turn never comes."""
    tasks = []
    client = open_client(on_task=tasks.append)
    client.ask("[[background 0.2]]", timeout=PATIENCE)
    client.stop_task(tasks[0].task_id)
    client.ask("[[sleep 0.4]]", timeout=PATIENCE)
    assert len(tasks) == 1


# Tools.


def test_a_tool_that_may_be_used(open_client, style):
    """Its outcome, run with the updated input, is told and becomes the answer."""
    client = open_client({"style": style})
    client.on_permission(lambda request: request.allow({"command": "pwd"}))
    answer = client.ask('[[tool Bash {"command": "ls", "a": [[1]]}]]', timeout=PATIENCE)
    assert answer == 'Bash: offline, so not run: {"command": "pwd"}'
    [(use, result)] = answer.tool_uses
    assert (use.input, result.is_error) == ({"command": "ls", "a": [[1]]}, False)


def test_a_tool_that_may_not_be_used(open_client, style):
    """A denial is an error for Claude and is listed in the result; it can end the turn."""
    client = open_client({"style": style})
    client.on_permission(lambda request: request.deny("not here", interrupt=request.input["end"]))
    answer = client.ask('[[tool Bash {"end": false}]]', timeout=PATIENCE)
    assert answer == "Bash: not here"
    assert answer.result.permission_denials[0].tool_input == {"end": False}
    with pytest.raises(TurnInterrupted):
        client.ask('[[tool Bash {"end": true}]]', timeout=PATIENCE)


@pytest.mark.parametrize(
    "options", [{"permission_mode": "bypassPermissions"}, {"allowed_tools": ["Bash"]}]
)
def test_nobody_is_asked_where_it_is_allowed(open_client, options):
    """By the mode, or by a rule; hooks are asked all the same, those whose matcher fits."""
    called = []

    def decide(name, decision):
        def hook(event):
            called.append((name, event.tool_input))
            return decision

        return hook

    client = open_client(on_permission=lambda request: 1 / 0, **options)
    assert "offline" in client.ask("[[tool Bash {}]]", timeout=PATIENCE)
    client = open_client(**options)
    client.on_hook("PreToolUse", decide("first", hooks.allow()), matcher="Read|Bash")
    client.on_hook("PreToolUse", decide("other", hooks.block("never")), matcher="Write")
    client.on_hook("PreToolUse", decide("last", hooks.block("not here")))
    assert client.ask('[[tool Bash {"a": 1}]]', timeout=PATIENCE) == "Bash: not here"
    assert called == [("first", {"a": 1}), ("last", {"a": 1})]


def test_a_tool_of_our_own_is_called(open_client):
    """It is really called, and what it returned, or raised, becomes the answer."""
    client = open_client(permission_mode="bypassPermissions")

    @client.tool
    def half(number: int) -> float:
        """Half of it."""
        if number < 0:
            raise ValueError("too small")
        return number / 2

    prompt = '[[tool mcp__claude_sync__half {{"number": {}}}]]'
    assert client.ask(prompt.format(5), timeout=PATIENCE) == "mcp__claude_sync__half: 2.5"
    answer = client.ask(prompt.format(-1), timeout=PATIENCE)
    assert answer.tool_uses[0][1].is_error
    assert "too small" in answer


def test_a_tool_of_our_own_by_its_plain_name(open_client):
    """It is called without a permission; one that there is not is an error, and nobody is asked."""

    def population(city: str) -> int:
        """How many live there."""
        return len(city)

    asked = []
    client = open_client(tools=[population], on_permission=asked.append)
    whole = "mcp__claude_sync__population"
    for name in ("population", whole):
        answer = client.ask(f'[[tool {name} {{"city": "Oslo"}}]]', timeout=PATIENCE)
        assert answer == f"{whole}: 4"
    unknown = "mcp__claude_sync__popluation"
    answer = client.ask(f"[[tool {unknown} {{}}]]", timeout=PATIENCE)
    assert answer == f"{unknown}: No such tool available: {unknown}"
    assert answer.tool_uses[0][1].is_error
    assert asked == []


def test_a_message_in_mid_turn_joins_at_a_tool_round(style):
    """What is sent while a tool is used is answered in the same turn, by the same result."""
    with Session(*FLAGS, style=style, environment=STATES) as session:
        request = session.ask("[[tool Bash {}]]", "u1", "control_request")[-1]
        session.send(question("and this", "u2"))
        session.send(builders.control_response(request["request_id"], {"behavior": "deny"}))
        messages = session.read_until("result")
        assert messages[-1]["result"] == "Bash: denied\necho: and this"
        assert [each["uuid"] for each in messages if each.get("isReplay")] == ["u2"]
        # A new CLI that repeats user messages repeats our replies, too; they mean nothing.
        replies = [each for each in messages if each["type"] == "control_response"]
        assert len(replies) == (1 if style == "new" else 0)
        if style == "new":
            assert messages[-1]["user_message_uuids"] == ["u1", "u2"]
            states = [each.get("state") for each in messages]
            assert states.index("queued") < states.index("running") < states.index("started")


# Interrupts, and what is refused.


def test_an_interrupt_ends_a_wait(open_client, style):
    """A turn that waits ends at once, and the next one is a turn like any other."""
    client = open_client({"style": style})
    client.interrupt(PATIENCE)
    turn = client.submit("[[sleep 600]]")
    waiting = client.submit("two")
    client.start(PATIENCE)
    client.interrupt(PATIENCE)
    with pytest.raises(TurnInterrupted):
        turn.result(PATIENCE)
    assert waiting.result(PATIENCE) == "echo: two"


def test_an_interrupt_withdraws_an_open_permission(style):
    """The request is cancelled first, then the turn ends; a late answer is harmless."""
    with Session(style=style) as session:
        request = session.ask("[[tool Bash {}]]", "u1", "control_request")[-1]
        session.send(builders.control_request("interrupt"))
        cancelled, acknowledged, outcome, note, *_, result = session.read_until("result")
        assert cancelled["request_id"] == request["request_id"]
        assert acknowledged["type"] == "control_response"
        assert outcome["message"]["content"][0]["is_error"] is True
        assert "for tool use" in note["message"]["content"][0]["text"]
        assert (result["subtype"], result["is_error"]) == (
            *("error_during_execution", style == "new"),
        )
        session.send(builders.control_response(request["request_id"], {"behavior": "allow"}))
        assert session.ask("a", "u2")[-1]["result"] == "echo: a"


def test_an_interrupt_in_mid_answer_keeps_the_text_so_far(open_client):
    """What was streamed by then is the text of the answer."""
    pieces, begun = [], threading.Event()
    client = open_client(on_text=lambda piece: (pieces.append(piece), begun.set()))
    turn = client.submit("[[pace 0.01]] " + "word " * 5_000)
    assert begun.wait(PATIENCE)
    client.interrupt(PATIENCE)
    with pytest.raises(TurnInterrupted) as caught:
        turn.result(PATIENCE)
    assert "".join(pieces) == caught.value.answer
    assert pieces[0] == "echo: "


def test_an_interrupt_ends_a_flood():
    """Even a stream as fast as possible hears it."""
    with Session(*FLAGS) as session:
        interrupt = builders.control_request("interrupt")
        session.send(question("[[deltas 50000]]", "u1"), interrupt)
        messages = session.read_until("result")
        assert messages[-1]["terminal_reason"] == "aborted_streaming"
        assert len(messages) < 1000


def test_what_waits_is_told_or_withdrawn():
    """The receipt of an interrupt lists what waits; with cancel_queued it will not run."""
    with Session() as session:
        session.send(question("[[sleep 600]]", "u1"), question("two", "u2"))
        session.read_until("init")
        session.read_until("queued")
        session.send(builders.control_request("interrupt"))
        receipt = session.read_until("result")[0]["response"]["response"]
        assert receipt == {"still_queued": ["u2"]}
        assert session.read_until("result")[-1]["user_message_uuids"] == ["u2"]
        session.send(question("[[sleep 600]]", "u3"), question("four", "u4"))
        session.read_until("init")
        session.read_until("queued")
        session.send(builders.control_request("interrupt", cancel_queued=True))
        receipt = session.read_until("control_response")[-1]["response"]["response"]
        assert receipt == {"still_queued": [], "cancelled": ["u4"]}
        assert session.read_until("result")[-1]["user_message_uuids"] == ["u3"]
        assert session.ask("after", "u5")[-1]["user_message_uuids"] == ["u5"]


def test_the_model_and_the_mode_change(open_client, style):
    """What was set is told with the next turn; a mode that there is not is refused."""
    client = open_client({"style": style})
    client.set_model("opus")
    client.set_permission_mode("plan")
    told = []
    client.on_init(told.append)
    client.ask("a", timeout=PATIENCE)
    assert [(init.model, init.permission_mode) for init in told] == [("opus", "plan")]
    with pytest.raises(ControlError, match="must be one of"):
        client.control("set_permission_mode", mode="bogus")
    with pytest.raises(ControlError) as caught:
        client.control("nonsense")
    assert caught.value.code == "unsupported_request"


# As a process.


def test_a_turn_that_has_begun_is_finished():
    """When the input ends in mid-turn, the turn runs to its end; then it exits with 0."""
    prompts = ("[[sleep 0.05]]", "[[tool Bash {}]]", "three")
    given = "".join(json.dumps(question(prompt, None)) + "\n" for prompt in prompts)
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
