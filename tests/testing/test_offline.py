"""The offline CLI echoes, and behaves otherwise as a real one does."""

import json
import os
import subprocess

import pytest
from offline_session import FLAGS, PATIENCE, STATES, STYLES, Session, text_of

from claude_sync.testing import StandIn, builders
from claude_sync.testing.offline import NOTICE


@pytest.fixture(params=STYLES)
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


def test_without_the_flag_nothing_is_streamed(style):
    """Pieces come only if the command line asks for them."""
    with Session(style=style) as session:
        messages = session.ask("hi")
        assert not [each for each in messages if each["type"] == "stream_event"]
        assert [each for each in messages if each["type"] == "assistant"]


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
        assert [
            each["uuid"] for each in messages if each.get("isReplay") and "u1" in str(each)
        ] == (["u1"] if style == "new" else [])
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
    """The greeting is answered; only new CLIs tell their version with it."""
    with Session(style=style) as session:
        body = session.control("initialize")["response"]
        assert ("claude_code_version" in body) is (style == "new")


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


def test_what_is_refused():
    """A mode that there is not, and a request that it does not know."""
    with Session() as session:
        assert session.control("set_permission_mode", mode="bogus")["error_code"] == "invalid_mode"
        assert session.control("nonsense")["error_code"] == "unsupported_request"


# Interrupts.


def test_an_interrupt_between_turns_is_acknowledged():
    """With nothing running it is answered, and no result follows."""
    with Session() as session:
        assert session.control("interrupt")["response"] == {"still_queued": []}
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
