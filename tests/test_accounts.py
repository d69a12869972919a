"""What an answer and a client say about tokens, models, agents and the context."""

from __future__ import annotations

import pickle
import threading
import time

import pytest
from patience import PATIENCE

from claude_sync import AgentUsage, Answer, Client, ModelUsage, Usage
from claude_sync.testing import builders

# The running totals of two tries: dollars, tokens.
COSTS = ((0.5, 10), (1.5, 20))


@pytest.fixture
def client(cli):
    """A client of it, ready."""
    with Client(transport=cli) as client:
        turn = client.submit("hello")
        cli.accept()
        cli.answer("hello", usage={}, total_cost_usd=0.0, modelUsage={})
        assert turn.result(PATIENCE) == "hello"
        yield client


def answered(client, cli, *messages, **fields):
    """Ask, and answer with these messages and this result."""
    turn = client.submit("question")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(*messages)
    cli.end_turn(user, "answer", **fields)
    return turn.result(PATIENCE)


def spoken(tokens, parent=None, message_id="m1", content="Hello"):
    """A reply whose request read so many tokens."""
    message = builders.assistant(content, message_id)
    message["message"]["usage"] = {"input_tokens": tokens, "cache_read_input_tokens": 1}
    message["parent_tool_use_id"] = parent
    return message


def test_an_answer_made_by_hand_has_used_nothing():
    """So that programs can be tested with it."""
    answer = Answer("hi")
    assert (answer.usage, answer.model_usage, answer.agent_usage) == ({}, {}, ())
    assert answer.context_tokens is None
    assert isinstance(answer.usage, Usage)


def test_the_usage_of_an_answer_has_its_groups(client, cli):
    """Nested counts are kept; junk is not."""
    usage = {"input_tokens": 3, "server_tool_use": {"web_search_requests": 2}, "speed": "standard"}
    answer = answered(client, cli, usage=usage)
    assert answer.usage == {"input_tokens": 3, "server_tool_use": {"web_search_requests": 2}}
    assert answer.usage == client.usage
    assert answered(client, cli, usage="none").usage == {}


def test_the_models_of_an_answer_are_those_of_its_turn(client, cli):
    """Though the CLI tells running totals."""
    first = {"opus": {"costUSD": 1.0, "inputTokens": 10}, "haiku": {"costUSD": 0.5}}
    second = {"opus": {"costUSD": 1.25, "inputTokens": 11}, "haiku": {"costUSD": 0.5}}
    answered(client, cli, total_cost_usd=1.5, modelUsage=first)
    answer = answered(client, cli, total_cost_usd=1.75, modelUsage=second)
    assert answer.model_usage == {"opus": {"costUSD": 0.25, "inputTokens": 1}}
    assert isinstance(answer.model_usage["opus"], ModelUsage)
    assert client.model_usage == second
    assert answer.result.model_usage == second


def test_a_result_of_nobody_counts_for_the_client_alone(client, cli):
    """The next answer does not pay for it, in no currency."""
    origin = {"kind": "task-notification"}
    told = {"opus": {"costUSD": 1.0, "inputTokens": 10}}
    cli.say(
        builders.result(
            "mine", origin=origin, total_cost_usd=1.0, modelUsage=told, usage={"input_tokens": 10}
        )
    )
    told = {"opus": {"costUSD": 1.5, "inputTokens": 13}}
    answer = answered(client, cli, total_cost_usd=1.5, modelUsage=told, usage={"input_tokens": 3})
    assert (answer.cost_usd, answer.usage) == (0.5, {"input_tokens": 3})
    assert answer.model_usage == {"opus": {"costUSD": 0.5, "inputTokens": 3}}
    assert (client.cost_usd, client.usage) == (1.5, {"input_tokens": 13})
    assert client.model_usage == told


def test_an_answer_keeps_the_total_of_its_moment(client, cli):
    """A result that is counted before the answer is delivered does not change it."""
    counted = threading.Event()

    @client.on_message
    def look(message):
        assert counted.wait(PATIENCE)

    turn = client.submit("question")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(spoken(1))
    cli.end_turn(user, "answer", total_cost_usd=1.0)
    cli.say(builders.result("mine", origin={"kind": "task-notification"}, total_cost_usd=3.0))
    end = time.monotonic() + PATIENCE
    while client.cost_usd < 3.0 and time.monotonic() < end:
        threading.Event().wait(0.005)
    counted.set()
    assert turn.result(PATIENCE).total_cost_usd == 1.0
    assert client.cost_usd == 3.0


def test_a_question_that_was_asked_again_cost_both_tries(cli, monkeypatch):
    """In dollars, in tokens, and by model."""
    monkeypatch.setattr("claude_sync.protocol.outcomes.FIRST_WAIT", 0.0)
    told = [{"opus": {"costUSD": total, "inputTokens": tokens}} for total, tokens in COSTS]
    usage = {"input_tokens": 10}
    with Client(transport=cli, retries=1) as client:
        turn = client.submit("question")
        cli.accept()
        for number, fields in enumerate(({"is_error": True, "api_error_status": 529}, {})):
            cli.answer(
                "Overloaded" if fields else "answer",
                total_cost_usd=COSTS[number][0],
                modelUsage=told[number],
                usage=usage,
                **fields,
            )
        answer = turn.result(PATIENCE)
    assert (answer, answer.cost_usd, answer.usage) == ("answer", 1.5, {"input_tokens": 20})
    assert answer.model_usage == client.model_usage == told[1]


def test_the_context_is_that_of_the_main_conversation(client, cli):
    """The last reply counts; those of subagents do not."""
    answer = answered(client, cli, spoken(10), spoken(20, None, "m2"), spoken(99, "toolu_1", "m3"))
    assert answer.context_tokens == client.context_tokens == 21


def test_compacting_leaves_the_context_unknown(client, cli):
    """What was known before is no longer true; a reply after it is."""
    boundary = {"type": "system", "subtype": "compact_boundary", "session_id": cli.session_id}
    answered(client, cli, spoken(10))
    assert answered(client, cli, boundary).context_tokens is None
    assert client.context_tokens is None
    assert answered(client, cli, spoken(5), boundary, spoken(7)).context_tokens == 8
    assert answered(client, cli, spoken(5), boundary).context_tokens is None


def test_a_turn_without_a_reply_does_not_know_the_context(client, cli):
    """The client still knows it from before."""
    answered(client, cli, spoken(10))
    assert answered(client, cli).context_tokens is None
    assert client.context_tokens == 11


def test_the_agents_of_an_answer_are_those_it_started(client, cli):
    """The client has all of them, and what was told of them later."""
    call = builders.tool_use("Task", {"subagent_type": "mathy", "description": "sum"}, "t1")
    answer = answered(client, cli, spoken(10, content=call))
    running = AgentUsage(tool_use_id="t1", agent="mathy", description="sum", status="running")
    assert answer.agent_usage == client.agent_usage == (running,)
    usage = {"total_tokens": 19, "tool_uses": 0, "duration_ms": 140}
    over = {"subtype": "task_notification", "status": "completed", "usage": usage}
    told = {"type": "system", "task_id": "a1", "tool_use_id": "t1", "subagent_type": "mathy"}
    later = answered(client, cli, {**told, **over})
    assert later.agent_usage == ()
    assert answer.agent_usage == (running,)
    (agent,) = client.agent_usage
    assert (agent.status, agent.total_tokens, agent.agent_id) == ("completed", 19, "a1")


def test_all_of_it_survives_pickling(client, cli):
    """An answer that was sent to another process counts the same."""
    call = builders.tool_use("Task", {"subagent_type": "mathy"}, "t1")
    told = {"opus": {"costUSD": 1.0}}
    answer = answered(client, cli, spoken(3, content=call), total_cost_usd=1.0, modelUsage=told)
    again = pickle.loads(pickle.dumps(answer))
    assert again.model_usage == told
    assert again.agent_usage == answer.agent_usage != ()
    assert (again.context_tokens, again.usage) == (4, answer.usage)


def test_context_costs_nothing_and_is_sent_when_the_budget_is_spent(cli):
    """add_context() asks nothing; a question after it is refused."""
    with Client(transport=cli, budget_usd=0.5) as client:
        turn = client.submit("question")
        cli.accept(claude_code_version="2.1.325")
        cli.answer("answer", total_cost_usd=0.5)
        turn.result(PATIENCE)
        client.add_context("the build is red")
        assert cli.expect("user", text="the build is red")["shouldQuery"] is False
