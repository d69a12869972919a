"""What workers do: attempts that can be sent to other processes, and one pool in each."""

from __future__ import annotations

import importlib.util
import multiprocessing
import multiprocessing.resource_tracker
import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from batch_executors import needed
from patience import PATIENCE

import claude_sync
from claude_sync import ClaudeError, CliNotFound, Options, Overloaded, RateLimited
from claude_sync.batches import work
from claude_sync.batches.items import Task, structured_output
from claude_sync.batches.pooling import Member
from claude_sync.batches.work import (
    Settings,
    ask_member,
    attempt,
    attempt_in_worker,
    make_pool,
)
from claude_sync.support.waiting import Deadline
from claude_sync.testing import ScriptedCli, StandIn, builders


@dataclass
class Label:
    """What each answer is."""

    word: str


@pytest.fixture(autouse=True, scope="module")
def trackers():
    """Executors start a process of their own that lives as long as this one; not here."""
    trackers = [multiprocessing.resource_tracker._resource_tracker]
    if importlib.util.find_spec("loky"):
        trackers.append(importlib.import_module("loky.backend.resource_tracker")._resource_tracker)
    for tracker in trackers:
        tracker.ensure_running()
    yield
    for tracker in trackers:
        tracker._stop()


@pytest.fixture(autouse=True)
def no_pools_left():
    """Each test ends with the pools of this process closed."""
    yield
    work.close_shared()


def settings(workers=1, **options):
    """Settings with a key."""
    options = options or {"cli": StandIn(cost=0.25).command}
    return Settings(Options(**options), workers).with_key()


def spawning(count):
    """Processes that share nothing with this one."""
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def test_processes_of_the_standard_library():
    """Options, prompts and answers pickle; classes of answers are the program's."""
    prompts = [f"prompt {number}" for number in range(8)]
    with spawning(2) as executor:
        batch = claude_sync.map(
            prompts, executor=executor, workers=2, returns=Label, cli=StandIn(cost=0.25).command
        )
        items = batch.results()
    assert [item.data for item in items] == [Label("echo")] * 8
    assert [item.answer for item in items] == [f"echo: {prompt}" for prompt in prompts]
    assert batch.cost_usd == 2.0


def test_a_process_that_is_killed_costs_only_what_it_had():
    """The items say so; those that were finished are there."""
    with spawning(1) as executor:
        executor.submit(int).result(PATIENCE)
        batch = claude_sync.map(
            ["a", "[[sleep 60]] b", "c"],
            executor=executor,
            workers=1,
            cli=StandIn().command,
            on_item=lambda item: [process.kill() for process in executor._processes.values()],
        )
        items = list(batch)
    assert items[0].answer == "echo: a"
    assert [type(item.error).__name__ for item in items[1:]] == ["BrokenProcessPool"] * 2


class Spender:
    """A client that is told what it has cost."""

    def __init__(self):
        self.cost_usd = 0.0

    def close(self, timeout):
        """As clients do."""


def test_what_nobody_asked_for_is_told_once():
    """An agent that reports back after the answer spends, too; each cent counts once."""
    late = []
    pool = make_pool(settings(), late=late.append)
    keeper, member = pool._keeper, Member()
    member._client = Spender()
    keeper._members.add(member)
    member._client.cost_usd = 1.0
    assert keeper.settle(member) == 1.0
    assert keeper.settle(member) == 0.0
    member._client.cost_usd = 3.5
    keeper._end(member)
    keeper._end(member)
    assert late == [2.5]
    assert pool.cost_usd == 3.5


def test_a_question_does_not_pay_for_what_came_before_it():
    """It is told as late instead."""
    late = []
    asking = settings()
    pool = make_pool(asking, late=late.append)
    try:
        member = pool._keeper.take(Deadline(PATIENCE))
        member.counted = -2.0
        outcome = ask_member(pool, asking, Task(0, "a"), member)
        assert (outcome.cost_usd, late) == (0.25, [2.0])
    finally:
        pool.close()


def test_threads_of_the_standard_library():
    """An executor in this process uses one pool for all its threads."""
    with ThreadPoolExecutor(2) as executor:
        options = {"executor": executor, "workers": 2, "cli": StandIn().command}
        assert all(item.ok for item in claude_sync.map(["a", "b", "c"], **options))
        (shared,) = work.SHARED.values()
        assert all(item.ok for item in claude_sync.map(["a", "b"], **options))
        assert list(work.SHARED.values()) == [shared]
        assert shared.users == 0


def test_loky():
    """Another executor of processes."""
    loky = needed("loky")
    executor = loky.ProcessPoolExecutor(1)
    try:
        items = claude_sync.map(["a", "b"], executor=executor, cli=StandIn().command).results()
        assert [item.answer for item in items] == ["echo: a", "echo: b"]
    finally:
        executor.shutdown(kill_workers=True)


def test_a_process_keeps_one_pool():
    """The same settings, the same CLIs; others, and those before are closed."""
    first = settings()
    attempt_in_worker(first, Task(0, "a"))
    pool = work.SHARED[first.key].pool
    attempt_in_worker(settings(cli=first.options.cli), Task(1, "b"))
    assert work.SHARED[first.key].pool is pool
    other = settings(cli=first.options.cli, model="other")
    attempt_in_worker(other, Task(2, "c"))
    assert list(work.SHARED) == [other.key]
    assert pool.state == "closed"


def test_a_pool_that_nobody_uses_is_closed(monkeypatch):
    """After a while: the batch is over, and nobody tells the worker."""
    monkeypatch.setattr(work, "IDLE_TIME", 0.05)
    attempt_in_worker(settings(), Task(0, "a"))
    end = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if not work.SHARED:
            break
        end.wait(0.01)
    assert not work.SHARED


def test_a_pool_that_somebody_uses_is_not_closed(monkeypatch):
    """A prompt may take longer than pools are kept after the last one that ended."""
    due = []
    made = settings()
    long = work.borrow(made)
    monkeypatch.setattr(long.pool._keeper.timers, "after", lambda delay, close: due.append(close))
    work.release(made.key, work.borrow(made))
    due.pop()()
    assert list(work.SHARED.values()) == [long]
    assert long.pool.state == "open"
    work.release(made.key, long)
    due.pop()()
    assert not work.SHARED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_worker_makes_a_pool_of_its_own():
    """The parent's is not its to use."""
    attempt_in_worker(settings(), Task(0, "a"))
    child = os.fork()
    if child == 0:
        os._exit(0 if not work.SHARED and work.LOCK.acquire(blocking=False) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert work.SHARED


def test_objects_of_the_programs_class_do_not_travel():
    """The class may exist twice; what it is made of does travel."""
    outcome = attempt_in_worker(settings(cli=StandIn().command, returns=Label), Task(0, "a"))
    assert outcome.answer.data is None
    assert structured_output(outcome.answer) == {"word": "echo"}


def play(script):
    """A pool whose only CLI plays *script*."""
    return make_pool(settings(transport=lambda: ScriptedCli(script)))


def test_a_failed_attempt_tells_what_it_has_cost():
    """The money is gone, whatever came of it."""

    def fails(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "API Error: 529 overloaded", is_error=True, total_cost_usd=0.75)

    pool = play(fails)
    outcome = attempt(pool, settings(), Task(0, "a"))
    pool.close()
    assert isinstance(outcome.error, Overloaded)
    assert (outcome.cost_usd, outcome.effects, outcome.was_sent) == (0.75, False, True)


def test_an_attempt_tells_when_a_limit_is_reset():
    """As the CLI has said."""

    def fails(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "Claude AI usage limit reached|1893456000", is_error=True)

    pool = play(fails)
    outcome = attempt(pool, settings(), Task(0, "a"))
    pool.close()
    assert isinstance(outcome.error, RateLimited)
    assert outcome.until == 1893456000


def test_an_attempt_tells_that_tools_were_used():
    """Then it is not repeated."""

    def uses_a_tool(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.assistant([builders.tool_use("Bash", {"command": "ls"}, "t1")]))
        cli.kill_itself() if hasattr(cli, "kill_itself") else cli.exit(1)

    pool = play(uses_a_tool)
    outcome = attempt(pool, settings(), Task(0, "a"))
    pool.close()
    assert outcome.effects
    assert isinstance(outcome.error, claude_sync.CliExited)


def test_an_attempt_without_a_cli_was_not_sent():
    """Nothing can have happened."""
    pool = make_pool(settings(cli="/nowhere/claude"))
    outcome = attempt(pool, settings(), Task(0, "a"))
    pool.close()
    assert isinstance(outcome.error, CliNotFound)
    assert not outcome.was_sent


def test_a_client_that_is_told_to_wait_is_heard():
    """The delay is told in seconds; other failures of the service are not about the pace."""
    heard = []

    def waits(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        for status in (529, 401):
            fields = {"attempt": 1, "max_retries": 10, "error_status": status}
            cli.say(builders.system("api_retry", retry_delay_ms=1500.0, **fields))
        cli.end_turn(user, "at last")

    made = settings(transport=lambda: ScriptedCli(waits))
    pool = make_pool(made, told_to_wait=heard.append)
    assert attempt(pool, made, Task(0, "a")).answer == "at last"
    pool.close()
    assert heard == [1.5]


def test_secrets_do_not_show():
    """Executors log what they were given."""
    secret = settings(env={"ANTHROPIC_API_KEY": "sk-ant-very-secret"}, cli="x")
    task = Task(3, "private words", run="r")
    assert "secret" not in repr(secret)
    assert "private" not in repr(task)
    assert pickle.loads(pickle.dumps(secret)) == secret


def test_settings_that_do_not_pickle_have_a_key_all_the_same():
    """It is theirs alone; some executors can send more than others."""
    first = settings(permissions=lambda request: True)
    second = settings(permissions=lambda request: True)
    assert first.key != second.key


def test_an_error_that_cannot_be_sent_is_told_in_another():
    """Nothing that a worker says makes the executor fail."""

    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(one)

    assert str(work.portable(Odd("what happened", 2))) == "Odd: what happened."
    assert isinstance(work.portable(Odd("x", 2)), ClaudeError)
    error = Overloaded("busy")
    assert work.portable(error) is error
    assert work.portable(None) is None
