"""What workers do: attempts that can be sent to other processes, and one pool in each."""

from __future__ import annotations

import dataclasses
import importlib.util
import multiprocessing
import multiprocessing.resource_tracker
import os
import pickle
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

import batch_scripts
import pytest
from patience import PATIENCE, wait_until

import claude_sync
from claude_sync import ClaudeError, CliNotFound, Options, Overloaded
from claude_sync.batch import workers
from claude_sync.batch.items import Job
from claude_sync.batch.workers import Settings, Threads, attempt_in_worker, crew_for
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
    workers.close_shared()


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


def test_a_process_that_is_killed_is_replaced(tmp_path):
    """What it was asked is asked again, as a second attempt; nothing else is."""
    cli = StandIn(batch_scripts.notes_each, folder=str(tmp_path)).command
    prompts = [f"prompt{number}" for number in range(12)]

    def kill_at_5(item):
        if item.index == 5:
            for process in list(executor._processes.values()):
                process.kill()

    with spawning(2) as executor:
        executor.submit(int).result(PATIENCE)
        batch = claude_sync.map(prompts, executor=executor, workers=2, cli=cli, on_item=kill_at_5)
        items = list(batch)
    assert [item.answer for item in items] == [f"ok {prompt}" for prompt in prompts]
    assert sum(item.attempts for item in items) <= 12 + 2
    assert max(item.attempts for item in items) <= 2


def test_threads_of_the_standard_library():
    """An executor in this process uses one pool for all its threads."""
    with ThreadPoolExecutor(2) as executor:
        options = {"executor": executor, "workers": 2, "cli": StandIn().command}
        assert all(item.ok for item in claude_sync.map(["a", "b", "c"], **options))
        (crew,) = workers.SHARED.values()
        assert all(item.ok for item in claude_sync.map(["a", "b"], **options))
        assert list(workers.SHARED.values()) == [crew]
        assert len(crew.clients) <= 2


def test_clients_that_nobody_uses_are_closed(monkeypatch):
    """After a while: the batch is over, and nobody tells the worker."""
    monkeypatch.setattr(workers, "IDLE_TIME", 0.05)
    made = settings()
    assert attempt_in_worker(made, Job(0, "a")).answer == "echo: a"
    (crew,) = workers.SHARED.values()
    wait_until(lambda: not crew.clients)
    assert attempt_in_worker(made, Job(1, "b")).answer == "echo: b"
    assert list(workers.SHARED.values()) == [crew]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_worker_makes_a_pool_of_its_own():
    """The parent's is not its to use."""
    made = settings()
    attempt_in_worker(made, Job(0, "a"))
    child = os.fork()
    if child == 0:
        workers.close_shared()
        os._exit(attempt_in_worker(made, Job(1, "b")).answer != "echo: b")
    assert os.waitpid(child, 0)[1] == 0
    assert workers.SHARED


def attempted(script, told=None, **more):
    """What comes of an attempt with a CLI that plays *script*."""
    made = settings(**{"transport": lambda: ScriptedCli(script), **more.pop("options", {})})
    made = dataclasses.replace(made, **more)
    crew = crew_for(made, refused=told)
    try:
        return Threads(crew, made).submit(Job(0, "a")).result(PATIENCE)
    finally:
        crew.close(PATIENCE)


def test_a_failed_attempt_tells_what_it_has_cost():
    """The money is gone, whatever came of it."""

    def fails(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.end_turn(user, "API Error: 529 overloaded", is_error=True, total_cost_usd=0.75)

    outcome = attempted(fails)
    assert isinstance(outcome.error, Overloaded)
    assert (outcome.cost_usd, outcome.effects, outcome.was_sent) == (0.75, False, True)


def test_an_attempt_tells_that_tools_were_used():
    """Then it is not repeated, even if the CLI has died."""

    def uses_a_tool(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.assistant([builders.tool_use("Bash", {"command": "ls"}, "t1")]))
        cli.exit(1)

    outcome = attempted(uses_a_tool)
    assert outcome.effects
    assert isinstance(outcome.error, claude_sync.CliExited)


def test_a_timeout_takes_as_long_as_it_says():
    """However long the CLI takes to stop; with what it had said."""

    def never_stops(cli):
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        cli.expect("control_request", subtype="interrupt")
        cli.expect("user")  # which never comes

    begun = time.monotonic()
    made = dataclasses.replace(settings(transport=lambda: ScriptedCli(never_stops)), timeout=0.3)
    crew = crew_for(made)
    outcome = Threads(crew, made).submit(Job(0, "a")).result(PATIENCE)
    assert time.monotonic() - begun < 3
    assert isinstance(outcome.error, claude_sync.AskTimeout)
    assert outcome.error.timeout == 0.3
    crew.close(PATIENCE)


def test_an_attempt_without_a_cli_was_not_sent():
    """Nothing can have happened."""
    outcome = attempted(None, options={"transport": None, "cli": "/nowhere/claude"})
    assert isinstance(outcome.error, CliNotFound)
    assert not outcome.was_sent


def test_a_cli_that_is_told_to_wait_is_heard():
    """Other failures are not about the pace; elsewhere the outcome tells."""

    def waits(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        for status in (529, 401):
            fields = {"attempt": 1, "max_retries": 10, "error_status": status}
            cli.say(builders.system("api_retry", retry_delay_ms=1500.0, **fields))
        cli.end_turn(user, "at last")

    heard = []
    assert attempted(waits, lambda: heard.append(1)).refusals == 1
    assert heard == [1]


def test_secrets_do_not_show():
    """Executors log what they were given."""
    secret = settings(env={"ANTHROPIC_API_KEY": "sk-ant-very-secret"}, cli="x")
    job = Job(3, "private words", run="r")
    assert "secret" not in repr(secret)
    assert "private" not in repr(job)
    assert pickle.loads(pickle.dumps(secret)) == secret


def test_an_error_that_cannot_be_sent_is_told_in_another():
    """Nothing that a worker says makes the executor fail."""

    class Odd(Exception):
        def __init__(self, one, two):
            super().__init__(one)

    assert str(workers.portable(Odd("what happened", 2))) == "Odd: what happened."
    assert isinstance(workers.portable(Odd("x", 2)), ClaudeError)
