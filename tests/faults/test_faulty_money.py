"""Nonsense in the fields about money: no crash, no invention, and what is right still counts."""

from __future__ import annotations

import json
import threading

import pytest
from patience import PATIENCE

from claude_sync import BudgetExceeded, Client, CliExited
from claude_sync.testing import ScriptedCli, builders

# As they stand in the line, because some of them are no JSON that Python would write.
NONSENSE = {
    "nothing": "null",
    "not a number": "NaN",
    "endless": "Infinity",
    "less than nothing": "-Infinity",
    "too large": "1e400",
    "negative": "-0.5",
    "text": '"0.5"',
    "flag": "true",
    "list": "[0.5]",
    "object": '{"usd":0.5}',
    "digits": "9" * 400,
    "deep": '{"a":' * 60 + "1" + "}" * 60,
}
nonsense = pytest.mark.parametrize("text", NONSENSE.values(), ids=list(NONSENSE))
FIELDS = ("total_cost_usd", "cost_usd", "usage", "modelUsage", "uuid", "session_id")


def ask(client, cli, result):
    """Ask; the answer comes with this result, an object or a line as it is printed."""
    turn = client.submit("question")
    user = cli.expect("user")
    cli.begin_turn(user)
    line = result if isinstance(result, str) else json.dumps(result)
    uuids = json.dumps([user["uuid"]])
    cli.print_raw(f'{line[:-1]}, "user_message_uuids": {uuids}}}\n'.encode())
    return turn.result(PATIENCE)


def result(total, tokens, **fields):
    """A result of which everything is right."""
    told = {"opus": {"costUSD": total, "inputTokens": tokens}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        **builders.result("answer", total_cost_usd=total, usage=usage),
        "modelUsage": told,
        "uuid": f"r{total}",
        **fields,
    }


def with_nonsense(message, names, text):
    """The line of a message in which these fields are nonsense."""
    line = json.dumps({**message, **dict.fromkeys(names, "@")})
    return line.replace('"@"', text)


@nonsense
def test_a_result_of_nonsense_costs_nothing(client, cli, text):
    """The one before and the one after it are right, and so is their sum."""
    ask(client, cli, result(0.5, 10))
    answer = ask(client, cli, with_nonsense(result(9.0, 99), FIELDS, text))
    assert (answer, answer.cost_usd, answer.total_cost_usd) == ("answer", 0.0, 0.5)
    assert answer.model_usage == {}
    after = ask(client, cli, result(0.75, 15))
    assert (after.cost_usd, client.cost_usd) == (0.25, 0.75)
    assert after.model_usage == {"opus": {"costUSD": 0.25, "inputTokens": 5}}
    assert client.model_usage == {"opus": {"costUSD": 0.75, "inputTokens": 15}}
    assert (client.usage.input_tokens, client.usage.output_tokens) == (2, 2)


@nonsense
def test_nonsense_inside_the_counts_is_left_out(client, cli, text):
    """Token by token and model by model."""
    message = result(0.5, 10, usage={"input_tokens": "@", "output_tokens": 2, "group": {"a": "@"}})
    message["modelUsage"] = {"opus": {"costUSD": "@", "inputTokens": "@", "outputTokens": 2}}
    message["modelUsage"]["haiku"] = "@"
    answer = ask(client, cli, with_nonsense(message, (), text))
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 2)
    assert answer.model_usage == {"opus": {"outputTokens": 2}}
    assert "group" not in answer.usage
    assert answer.cost_usd == 0.5


@nonsense
def test_nonsense_in_a_reply_is_no_context(client, cli, text):
    """Nor are there agents in it."""
    message = builders.assistant("Hello", "m1")
    message["message"]["usage"] = {"input_tokens": "@", "cache_read_input_tokens": "@"}
    task = {"type": "system", "subtype": "task_progress", "task_id": "a1", "usage": "@"}
    turn = client.submit("question")
    user = cli.expect("user")
    cli.begin_turn(user)
    for each in (message, {**task, "subagent_type": "x"}, {**task, "task_id": "@"}):
        cli.print_raw(with_nonsense(each, (), text).encode() + b"\n")
    cli.end_turn(user, "answer")
    answer = turn.result(PATIENCE)
    assert answer.context_tokens is None
    assert "a1" in [agent.agent_id for agent in client.agent_usage]
    assert {agent.total_tokens for agent in client.agent_usage} == {None}


@nonsense
def test_a_saved_total_of_nonsense_is_unknown(text):
    """A resumed CLI that says nonsense to get_usage: the first total is a starting point."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, resume="11111111-2222-4333-8444-555555555555") as client:
        turn = client.submit("question")
        cli.accept(claude_code_version="2.1.325")
        request = cli.expect("control_request", subtype="get_usage")
        reply = builders.control_response(request["request_id"], {"session": {"x": "@"}})
        line = json.dumps(reply).replace('{"x": "@"}', f'{{"total_cost_usd": {text}}}')
        cli.print_raw(line.encode() + b"\n")
        user = cli.expect("user")
        cli.end_turn(user, "answer", total_cost_usd=5.0, modelUsage={"opus": {"costUSD": 5.0}})
        assert turn.result(PATIENCE).cost_usd == 0.0
        answer = ask(client, cli, result(5.5, 10))
        assert (answer.cost_usd, client.cost_usd) == (0.5, 0.5)


def test_a_result_that_is_printed_twice_is_paid_once(client, cli):
    """At once, and again after another one."""
    first = result(0.5, 10)
    ask(client, cli, first)
    cli.say(first)
    ask(client, cli, result(0.75, 15))
    cli.say(first)
    answer = ask(client, cli, result(1.0, 20))
    assert (answer.cost_usd, client.cost_usd) == (0.25, 1.0)
    assert client.usage == {"input_tokens": 3, "output_tokens": 3}
    assert client.model_usage == {"opus": {"costUSD": 1.0, "inputTokens": 20}}


def test_a_total_that_shakes_is_not_paid_again(client, cli):
    """The last digit of a float falls: nothing began anew."""
    ask(client, cli, result(0.014603999999999999, 10))
    answer = ask(client, cli, {**result(0.014603999999999997, 10), "uuid": "another"})
    assert answer.cost_usd == 0.0
    assert client.cost_usd == 0.014603999999999999


def test_a_total_that_falls_is_a_new_beginning(client, cli):
    """As after /clear; then the old height is no limit."""
    for total in (1.0, 0.0, 0.25, 1.5):
        ask(client, cli, result(total, 10))
    assert client.cost_usd == 2.5


def test_a_cli_that_dies_after_its_result_was_paid(cli):
    """What its last result reported counts; the next process begins at its own zero."""
    lives = [ScriptedCli(patience=PATIENCE), ScriptedCli(patience=PATIENCE)]
    coming = iter(lives)
    with Client(transport=lambda: next(coming)) as client:
        turn = client.submit("question")
        lives[0].accept()
        user = lives[0].expect("user")
        lives[0].begin_turn(user)
        lives[0].say(result(0.5, 10, origin={"kind": "task-notification"}))
        lives[0].hang_up(1)
        assert isinstance(turn.exception(PATIENCE), CliExited)
        assert client.cost_usd == 0.5
        turn = client.submit("again")
        lives[1].accept()
        request = lives[1].expect("control_request", subtype="get_usage")
        lives[1].reply(request, session={"total_cost_usd": 0, "model_usage": {}})
        lives[1].answer("answer", total_cost_usd=0.25, modelUsage={"opus": {"costUSD": 0.25}})
        answer = turn.result(PATIENCE)
    assert (answer.cost_usd, answer.total_cost_usd, client.cost_usd) == (0.25, 0.75, 0.75)
    assert client.model_usage["opus"].cost_usd == 0.75


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-1", '"99"', "true"])
def test_nonsense_does_not_use_up_a_budget(text):
    """A budget is for money that was spent."""
    cli = ScriptedCli(patience=PATIENCE)
    with Client(transport=cli, budget_usd=1.0) as client:
        turn = client.submit("first")
        cli.accept()
        user = cli.expect("user")
        line = with_nonsense(builders.result("answer"), ("total_cost_usd",), text)
        cli.print_raw(f'{line[:-1]}, "user_message_uuid": "{user["uuid"]}"}}\n'.encode())
        turn.result(PATIENCE)
        assert ask(client, cli, result(1.0, 10)).cost_usd == 1.0
        with pytest.raises(BudgetExceeded):
            client.ask("third", timeout=PATIENCE)


def test_no_cli_is_started_for_a_used_up_budget(cli):
    """After a crash: starting one may cost something, and it would be for nothing."""
    coming = iter([cli])
    with Client(transport=lambda: next(coming), budget_usd=0.5) as client:
        turn = client.submit("question")
        cli.accept()
        cli.answer("answer", total_cost_usd=0.5)
        turn.result(PATIENCE)
        cli.hang_up(1)
        while client.state != "crashed":
            threading.Event().wait(0.005)
        with pytest.raises(BudgetExceeded):
            client.ask("another", timeout=PATIENCE)
        assert client.state == "crashed"


def test_threads_that_wait_for_a_used_up_budget_are_all_told(cli):
    """Nobody waits for ever, and nothing more is sent."""
    errors = []

    def ask_once(client):
        try:
            client.ask("question", timeout=PATIENCE)
        except BudgetExceeded as error:
            errors.append(error)

    with Client(transport=cli, budget_usd=0.5) as client:
        threads = [threading.Thread(target=ask_once, args=(client,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        cli.accept()
        cli.answer("answer", total_cost_usd=0.5)
        for thread in threads:
            thread.join(PATIENCE)
        assert len(errors) == 7
        cli.assert_done()


def test_looking_while_it_is_counted_is_safe(client, cli):
    """Other threads read sums while results arrive: each sum is one that was true."""
    stop, seen = threading.Event(), []

    def look():
        while not stop.is_set():
            seen.append((client.usage.input_tokens, client.model_usage, client.agent_usage))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for number in range(1, 301):
            told = {"opus": {"costUSD": number / 4, "inputTokens": number}}
            origin = {"kind": "task-notification"}
            cli.say(result(number / 4, number, origin=origin, modelUsage=told))
        ask(client, cli, result(80.0, 301))
    finally:
        stop.set()
        watcher.join(PATIENCE)
    counts = [count for count, _, _ in seen]
    assert counts == sorted(counts)
    assert all(count <= 301 for count in counts)
    tokens = [models["opus"].input_tokens for _, models, _ in seen if models]
    assert tokens == sorted(tokens)
    assert client.usage.input_tokens == 301
    assert client.cost_usd == 80.0
