"""Whose result is it, and may the next question be sent?"""

from __future__ import annotations

import random

import pytest
from cli_model import ACTIONS, MODELS, played
from hypothesis import given
from hypothesis import strategies as st

from claude_sync.protocol.exchange import (
    ANSWERED,
    CANCELLED,
    CONTRADICTED,
    DROPPED,
    ENDED,
    IDLE,
    QUEUED,
    REMEMBERED,
    RUNNING,
    SENT,
    STEER,
    Exchange,
    Sent,
)

NEWEST_INIT = {"claude_code_version": "2.1.326", "capabilities": ["msg_lifecycle_v1"]}
OLD_INIT = {"claude_code_version": "2.1.29"}
OURS = {"type": "result", "subtype": "success"}
FOREIGN = {**OURS, "origin": {"kind": "task-notification"}}


def naming(*uuids, **fields):
    """A result that lists uuids."""
    return {**OURS, "user_message_uuids": list(uuids), **fields}


@pytest.fixture
def exchange():
    return Exchange()


def asked(exchange, uuid="q", **fields):
    message = Sent(uuid, **fields)
    exchange.send(message)
    return message


def steered(exchange, uuid="s"):
    message = Sent(uuid, STEER)
    exchange.steer(message)
    return message


# Everything at once: models of the CLIs.


@pytest.mark.parametrize("kind", MODELS)
@given(actions=st.lists(st.sampled_from(ACTIONS), max_size=60))
def test_nobody_gets_the_answer_of_somebody_else(kind, actions):
    """However questions, steers, interrupts, crashes and background turns fall together."""
    assert played(kind, actions) == ([], [])


@pytest.mark.parametrize("kind", MODELS)
def test_two_thousand_histories(kind):
    """``python tests/protocol/cli_model.py 200000`` plays more."""
    for seed in range(700):
        chance = random.Random(seed)
        actions = chance.choices(ACTIONS, k=chance.randrange(1, 60))
        assert played(kind, actions) == ([], []), (seed, actions)


# The best evidence decides.


def test_uuids_before_origin(exchange):
    """A question may join a turn that the CLI began by itself."""
    question = asked(exchange)
    assert exchange.on_result(naming("q", origin={"kind": "task-notification"})) == [question]
    assert question.state == ANSWERED


def test_a_foreign_result_is_nobodys(exchange):
    """By its origin, or by uuids that are not ours."""
    question = asked(exchange)
    exchange.on_echo("q")
    assert exchange.on_result(FOREIGN) == []
    assert exchange.on_result(naming("somebody")) == []
    assert question.state == RUNNING
    assert exchange.on_result(naming("q")) == [question]


@pytest.mark.parametrize("kind", ["human", "unclassified"])
def test_origins_of_our_own(exchange, kind):
    question = asked(exchange)
    assert exchange.on_result({**OURS, "origin": {"kind": kind}}) == [question]


def test_two_results_of_one_uuid_for_two_questions(exchange):
    """The uuids of user messages decide, not that of the result."""
    first = asked(exchange, "one")
    assert exchange.on_result(naming("one", uuid="r")) == [first]
    exchange.finish(first)
    second = asked(exchange, "two")
    assert exchange.on_result(naming("one", uuid="r")) == []
    assert exchange.on_result(naming("two", uuid="r")) == [second]


def test_a_result_said_twice_answers_once(exchange):
    first = asked(exchange, "one")
    exchange.on_result({**OURS, "uuid": "r"})
    exchange.finish(first)
    second = asked(exchange, "two")
    assert exchange.on_result({**OURS, "uuid": "r"}) == []
    assert second.state == SENT


def test_what_has_no_subtype_is_no_result(exchange):
    question = asked(exchange)
    assert exchange.on_result({"type": "result"}) == []
    assert exchange.on_result(OURS) == [question]


@pytest.mark.parametrize(
    "said",
    [
        lambda exchange: exchange.on_init(NEWEST_INIT),
        lambda exchange: exchange.on_lifecycle("q", "queued"),
    ],
)
def test_a_stray_result_answers_nothing(exchange, said):
    """A CLI that says what it begins does not answer what it has not begun."""
    question = asked(exchange)
    said(exchange)
    assert exchange.on_result(OURS) == []
    assert question.state == SENT


@pytest.fixture
def echoing(exchange):
    """An exchange with a CLI that has echoed a question before."""
    question = asked(exchange, "before")
    exchange.on_init(OLD_INIT)
    exchange.on_echo("before")
    exchange.on_result(OURS)
    exchange.finish(question)
    return exchange


def test_a_question_that_is_not_echoed_is_not_answered(echoing):
    question = asked(echoing)
    assert echoing.on_result(OURS) == []
    assert question.state == SENT


def test_a_command_is_never_echoed(echoing):
    """By CLIs that echo everything else."""
    command = asked(echoing, is_command=True)
    echoing.on_init(OLD_INIT)
    assert echoing.on_result(OURS) == [command]


def test_an_old_cli_does_not_echo_what_never_reached_the_model(echoing):
    """A hook blocked it, or the CLI's budget is used up: its result is all that comes."""
    blocked = asked(echoing)
    echoing.on_init(OLD_INIT)
    assert echoing.on_result({**OURS, "usage": {"input_tokens": 9, "output_tokens": 5}}) == []
    unpaid = {**OURS, "usage": {"input_tokens": 0, "output_tokens": 0}}
    assert echoing.on_result(unpaid) == [blocked]


def test_what_was_steered_into_a_command_answers_both(echoing):
    command = asked(echoing, is_command=True)
    steer = steered(echoing)
    echoing.on_init(OLD_INIT)
    echoing.on_echo("s")
    assert set(echoing.on_result(OURS)) == {command, steer}


def test_an_interrupt_before_the_beginning(echoing):
    question = asked(echoing)
    echoing.on_init(OLD_INIT)
    question.interrupted = True
    assert echoing.on_result({**OURS, "subtype": "error_during_execution"}) == [question]


def test_a_guess_that_was_wrong_is_noticed(exchange):
    """The next question must not get the answer of the one before."""
    first = asked(exchange, "one")
    assert exchange.on_result(OURS) == [first]
    exchange.finish(first)
    second = asked(exchange, "two")
    assert exchange.on_echo("one") == [second]
    assert (second.state, second.reason) == (DROPPED, CONTRADICTED)


def test_an_echo_that_is_merely_late(exchange):
    """With no question open, or the same one, nothing is wrong."""
    first = asked(exchange, "one")
    exchange.on_result(OURS)
    assert exchange.on_echo("one") == []
    exchange.finish(first)
    asked(exchange, "two")
    assert exchange.on_echo("one") == []


def test_order_alone_where_a_dialect_says_nothing_else():
    """Neither a subtype nor an init is looked at."""
    exchange = Exchange(in_order=True)
    question = asked(exchange)
    exchange.on_init(OLD_INIT)
    assert exchange.on_result({"type": "result"}) == [question]
    exchange.finish(question)
    exchange.on_init({})
    assert exchange.may_send()


# Steered messages.


def test_an_old_cli_answers_a_steered_message_later(exchange):
    """And no question is sent before."""
    question = asked(exchange)
    exchange.on_init(OLD_INIT)
    exchange.on_echo("q")
    steer = steered(exchange)
    assert exchange.on_result(OURS) == [question]
    exchange.finish(question)
    assert not exchange.may_send()
    exchange.on_init(OLD_INIT)
    exchange.on_echo("s")
    assert exchange.on_result(OURS) == [steer]
    assert exchange.may_send()


def test_a_steered_message_that_was_given_up_may_still_begin(exchange):
    """Its result is not that of the question which was sent meanwhile."""
    question = asked(exchange)
    exchange.on_echo("q")
    steer = steered(exchange)
    exchange.on_result(OURS)
    exchange.finish(question)
    exchange.give_up_steers()
    late = asked(exchange, "late")
    assert exchange.current() is late
    exchange.on_echo("s")
    exchange.give_up_steers()
    assert exchange.current() is None
    assert exchange.on_result(OURS) == [steer]
    exchange.on_echo("late")
    assert exchange.current() is late
    assert exchange.on_result(OURS) == [late]


def test_a_steered_message_that_the_cli_is_done_with(exchange):
    """It may have joined a turn without being listed."""
    steer = steered(exchange)
    assert exchange.on_lifecycle("s", "completed") == [steer]
    assert exchange.may_send()


# Turns of the CLI's own.


def test_nothing_is_sent_into_a_turn_of_the_clis_own(exchange):
    question = asked(exchange)
    exchange.on_result(naming("q"))
    exchange.finish(question)
    exchange.on_init(NEWEST_INIT)
    assert exchange.foreign_turn
    assert not exchange.may_send()
    assert exchange.is_working()
    exchange.on_result(FOREIGN)
    assert exchange.may_send()
    assert not exchange.is_working()


def test_an_init_before_anything_was_asked(exchange):
    exchange.on_init(NEWEST_INIT)
    assert exchange.may_send()
    exchange.on_session_state("running")
    exchange.on_init(NEWEST_INIT)
    assert not exchange.may_send()


def test_messages_before_the_beginning_are_not_ours(exchange):
    """A turn in the background may still be talking."""
    question = asked(exchange)
    exchange.on_lifecycle("q", "queued")
    assert exchange.current() is None
    exchange.on_lifecycle("q", "started")
    assert exchange.current() is question
    exchange.on_result(naming("q"))
    assert exchange.current() is None


# Without a result.


def test_an_idle_cli_keeps_nobody_waiting(exchange):
    """It began the question, and says that it works no more."""
    question = asked(exchange)
    exchange.on_lifecycle("q", "started")
    assert exchange.on_session_state("requires_action") == []
    assert exchange.on_session_state("idle") == [question]
    assert (question.state, question.reason) == (DROPPED, IDLE)


def test_idle_before_the_beginning_is_about_something_else(exchange):
    """It may have been said before the question was read."""
    question = asked(exchange)
    assert exchange.on_session_state("idle") == []
    assert exchange.is_stalled()
    exchange.on_echo("q")
    assert not exchange.is_stalled()
    assert exchange.running() is question
    assert exchange.withdraw(question, IDLE) == [question]
    assert exchange.withdraw(question, IDLE) == []


def test_a_question_that_was_completed_without_beginning(exchange):
    question = asked(exchange)
    exchange.on_lifecycle("q", "completed")
    assert exchange.on_session_state("idle") == [question]


@pytest.mark.parametrize(
    "cancel",
    [
        lambda exchange: exchange.on_lifecycle("q", "cancelled"),
        lambda exchange: exchange.on_cancelled(["other", "q"]),
    ],
)
def test_a_question_is_withdrawn_before_it_began(exchange, cancel):
    question = asked(exchange)
    assert cancel(exchange) == [question]
    assert (question.state, question.reason) == (DROPPED, CANCELLED)
    assert cancel(exchange) == []


def test_a_running_question_is_not_withdrawn(exchange):
    """Its result comes."""
    question = asked(exchange)
    exchange.on_lifecycle("q", "started")
    assert exchange.on_cancelled(["q"]) == []
    assert exchange.on_lifecycle("q", "cancelled") == []
    assert question.state == RUNNING


def test_the_process_ends(exchange):
    question = asked(exchange)
    steer = steered(exchange)
    exchange.on_task({"subtype": "task_started", "task_id": "t", "task_type": "agent"})
    assert exchange.on_end() == [steer, question]
    assert {question.reason, steer.reason} == {ENDED}
    exchange.finish(question)
    assert exchange.is_idle()


# Nonsense and repetition.


def test_words_about_unknown_messages(exchange):
    assert exchange.on_echo(5) == []
    assert exchange.on_echo("who") == []
    assert exchange.on_lifecycle(None, "started") == []
    assert exchange.on_cancelled("who") == []
    assert exchange.on_session_state(["idle"]) == []
    assert exchange.on_result(naming(3)) == []
    assert exchange.on_result({**OURS, "user_message_uuid": ""}) == []


def test_what_is_not_in_the_table_is_ignored():
    message = Sent("q")
    assert not message.move("result")
    assert message.state == QUEUED
    assert message.move("drop")
    assert not message.move("send")
    assert repr(message) == "<question q dropped>"


def test_finishing_another_message_changes_nothing(exchange):
    question = asked(exchange)
    exchange.finish(Sent("other"))
    assert exchange.question is question


def test_only_the_last_messages_are_remembered(exchange):
    """Open ones always are."""
    for number in range(REMEMBERED + 5):
        question = asked(exchange, f"q{number}")
        exchange.on_result(naming(f"q{number}"))
        exchange.finish(question)
    assert len(exchange._known) == REMEMBERED
    open_ones = [steered(exchange, f"s{number}") for number in range(REMEMBERED + 5)]
    exchange.on_echo("s0")
    assert open_ones[0].state == RUNNING


# Background tasks.


def test_agents_are_awaited_and_shells_are_not(exchange):
    for task, kind in (("a", "agent"), ("b", "local_bash")):
        exchange.on_task({"subtype": "task_started", "task_id": task, "task_type": kind})
    assert list(exchange.background_tasks) == ["a"]
    exchange.on_task({"subtype": "task_updated", "task_id": "a", "patch": {"status": "running"}})
    assert not exchange.is_idle()
    exchange.on_task({"subtype": "task_updated", "task_id": "a", "patch": {"status": "failed"}})
    assert exchange.is_idle()


def test_the_list_of_tasks_is_replaced(exchange):
    tasks = [{"task_id": "a", "task_type": "agent"}, {"task_type": "shell"}, "nonsense"]
    exchange.on_task({"subtype": "background_tasks_changed", "tasks": tasks})
    assert list(exchange.background_tasks) == ["a"]
    exchange.on_task({"subtype": "task_notification", "task_id": "a"})
    exchange.on_task({"subtype": "task_started", "task_id": 7})
    exchange.on_task({"subtype": "background_tasks_changed", "tasks": None})
    assert exchange.is_idle()
