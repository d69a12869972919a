"""Pools and batches of real CLIs: fresh conversations, budgets, overloads."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import threading

import pytest

import claude_sync
from claude_sync.batch import limits
from claude_sync.testing.model import failure, text, tool_use

START_TIMEOUT = 90.0


@pytest.fixture
def options(cli, model, home, tmp_path):
    """What every client needs."""
    return {
        "cli": cli.path,
        "cwd": tmp_path,
        "env": model.environment(home),
        "start_timeout": START_TIMEOUT,
    }


def words_of(request):
    """Everything that the model is told of the conversation."""
    return str(request.body)


def test_each_question_is_a_conversation_of_its_own(new_cli, model, options):
    """The model is told nothing of other questions, whether a process is used again or not."""
    mark = "of-its-own"
    with claude_sync.Pool(2, **options) as pool:
        answers = [pool.ask(f"{mark}-{number} please", timeout=100) for number in range(4)]
    assert answers == [f"echo: {mark}-{number} please" for number in range(4)]
    assert len({answer.session_id for answer in answers}) == 4
    requests = [each for each in model.conversation if mark in words_of(each)]
    assert len(requests) == 4
    for request in requests:
        asked = {number for number in range(4) if f"{mark}-{number}" in words_of(request)}
        assert len(asked) == 1
    assert pool.cost_usd == pytest.approx(sum(answer.cost_usd for answer in answers))
    assert pool.cost_usd > 0


def test_only_where_it_works_is_a_process_used_again(each_cli, options):
    """The newest CLI begins anew in the same process; the old one is replaced."""
    with claude_sync.Pool(1, **options) as pool:
        pids = []
        for number in range(2):
            pool.ask(f"hello {number}", timeout=100)
            pids += [client.pid for client in pool._crew.clients]
    assert (len(set(pids)) == 1) == each_cli.is_new


def test_a_conversation_is_kept_together(new_cli, model, options):
    """A client that is lent remembers, until it is given back."""
    with claude_sync.Pool(1, **options) as pool, pool.client(timeout=100) as client:
        client.ask("my cat is called Minka", timeout=100)
        client.ask("what is she called?", timeout=100)
        assert "Minka" in words_of(model.conversation[-1])


@pytest.mark.parametrize("kind", [pytest.param("map", marks=pytest.mark.everything), "pool"])
def test_a_command_holds_for_no_later_question(new_cli, model, options, kind):
    """One prompt among many does not choose the model of the others."""
    mark = f"command-in-{kind}"
    prompts = [f"{mark} before", "/model haiku", f"{mark} after", f"{mark} last"]
    options = {**options, "verbatim": False}
    if kind == "map":
        answers = list(claude_sync.map(prompts, workers=1, timeout=100, **options))
        assert "Haiku" in answers[1].answer
    else:
        with claude_sync.Pool(1, **options) as pool:
            assert "Haiku" in [pool.ask(prompt, timeout=100) for prompt in prompts][1]
    asked = [each for each in model.conversation if mark in words_of(each)]
    assert len(asked) == 3
    assert len({request.body["model"] for request in asked}) == 1


@pytest.mark.parametrize("kind", ["map", pytest.param("pool", marks=pytest.mark.everything)])
def test_no_conversation_is_left_without_a_question(new_cli, options, home, tmp_path, kind):
    """What is saved is what was asked, and the last of it is gone on with."""
    prompts = [f"{kind} {number}" for number in range(5)]
    if kind == "map":
        batch = claude_sync.map(prompts, workers=2, timeout=100, **options)
        answers = [item.answer for item in batch.results()]
    else:
        with claude_sync.Pool(2, **options) as pool:
            answers = [pool.ask(prompt, timeout=100) for prompt in prompts]
    found = claude_sync.sessions.list_sessions(
        tmp_path, everything=True, config_dir=home / ".claude"
    )
    assert sorted(info.first_prompt for info in found) == prompts
    assert {info.session_id for info in found} == {answer.session_id for answer in answers}
    with claude_sync.Client(continue_conversation=True, **options) as client:
        client.ask("and then?", timeout=100)
        assert client.session_id in {answer.session_id for answer in answers}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("count", "workers"), [(12, 2), pytest.param(200, 4, marks=pytest.mark.everything)]
)
def test_many_prompts(new_cli, options, count, workers):
    """Several workers; each prompt its own answer, in order, and every cent counted."""
    prompts = [f"number {number}" for number in range(count)]
    batch = claude_sync.map(prompts, workers=workers, timeout=100, **options)
    items = batch.results()
    assert [item.answer for item in items] == [f"echo: {prompt}" for prompt in prompts]
    assert batch.cost_usd == pytest.approx(sum(item.cost_usd for item in items))
    assert min(item.cost_usd for item in items) > 0


@pytest.mark.everything
def test_the_budget_stops_within_one_prompt_for_each_worker(new_cli, options):
    """What was open when it was spent is finished; nothing more is sent."""
    one = claude_sync.ask("what does one cost?", **options).cost_usd
    budget = 5.5 * one
    batch = claude_sync.map(
        [f"spend {number}" for number in range(20)], workers=2, budget_usd=budget, **options
    )
    items = batch.results()
    answered = sum(item.ok for item in items)
    assert 6 <= answered <= 6 + 2
    assert budget <= batch.cost_usd <= budget + 2 * one + 1e-9
    assert {type(item.error) for item in items if not item.ok} == {claude_sync.BudgetExceeded}


def test_overloads_end_with_every_prompt_answered(new_cli, model, options, monkeypatch, home):
    """One request in five fails; the CLI gives up at once, and the batch asks again."""
    monkeypatch.setattr(limits, "FIRST_WAIT", 0.05)
    lock, count = threading.Lock(), collections.Counter()

    def reply(request):
        with lock:
            count["requests"] += 1
            number = count["requests"]
        return failure(529) if number % 5 == 0 else text("fine")

    model.when("overload me").reply(reply)
    options["env"] = model.environment(home, retries=0)
    batch = claude_sync.map(
        [f"overload me {number}" for number in range(15)],
        workers=2,
        retries=6,
        timeout=100,
        **options,
    )
    items = batch.results()
    assert [item.answer for item in items] == ["fine"] * 15
    assert sum(item.attempts for item in items) > 15


@pytest.mark.everything
def test_what_used_a_tool_is_not_asked_again(new_cli, model, options, home, tmp_path):
    """A command that ran before the service failed does not run twice; the item says so."""
    model.when("count to one").reply(
        tool_use("Bash", {"command": "echo one >> counted"})
    ).then_reply(lambda request: failure(529))
    options["env"] = model.environment(home, retries=0)
    batch = claude_sync.map(
        ["count to one"], permissions=claude_sync.policies.allow_all, timeout=100, **options
    )
    (item,) = batch.results()
    assert isinstance(item.error, claude_sync.Overloaded)
    assert item.attempts == 1
    assert item.cost_usd > 0
    assert (tmp_path / "counted").read_text() == "one\n"


def test_typed_answers_of_many_prompts(new_cli, model, options):
    """The form stays in force when a process begins anew."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model.when("give me a number").reply(tool_use("StructuredOutput", {"n": 7}))
    batch = claude_sync.map(
        [f"give me a number {number}" for number in range(4)],
        workers=1,
        returns=schema,
        timeout=100,
        **options,
    )
    assert [item.data for item in batch.results()] == [{"n": 7}] * 4


@pytest.mark.everything
def test_the_command_goes_on_where_it_was_stopped(new_cli, model, home, tmp_path):
    """As a new user would do it: some rows, a limit, and the same command again."""
    table = tmp_path / "rows.csv"
    table.write_text("id,text\n" + "".join(f"r{number},row {number}\n" for number in range(12)))
    command = [
        *(sys.executable, "-m", "claude_sync", "batch", str(table)),
        *("-o", str(tmp_path / "answers.jsonl"), "--template", "Label: {text}"),
        *("--cli", new_cli.path, "--workers", "2"),
    ]
    root = os.path.dirname(os.path.dirname(os.path.abspath(claude_sync.__file__)))
    environment = {**os.environ, **model.environment(home), "PYTHONPATH": root}

    def run(*more):
        return subprocess.run(
            [*command, *more], capture_output=True, text=True, env=environment, timeout=100
        )

    first = run("--budget", "0.0005")
    assert first.returncode == 1
    assert "BudgetExceeded" in first.stderr
    before = sum("Label: row" in words_of(request) for request in model.conversation)
    second = run()
    assert second.returncode == 0, second.stderr
    assert "12 of 12 answered" in second.stderr
    assert f"({before} of them before)" in second.stderr
    asked = [each for each in model.conversation if "Label: row" in words_of(each)]
    assert len(asked) == 12
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 12
