"""claude_sync.map: many prompts on several CLIs, each with its own answer."""

from __future__ import annotations

import dataclasses
import gc
import io
import json
import pickle
import threading

import pytest
from batch_executors import InlineExecutor, answered, needed
from patience import PATIENCE, wait_until
from tables import each

import claude_sync
from claude_sync import (
    AskTimeout,
    BudgetExceeded,
    CliNotFound,
    Item,
    TurnInterrupted,
    UsageError,
)
from claude_sync.batch import batches, crew
from claude_sync.batch.items import Outcome
from claude_sync.batch.progress import as_line
from claude_sync.testing import ScriptedCli, StandIn, builders


def echo(**settings):
    """The options of CLIs that echo."""
    return {"cli": StandIn(**settings).command}


@dataclasses.dataclass
class Label:
    """What each answer is."""

    word: str


@pytest.mark.parametrize("style", ["new", "old"])
def test_each_prompt_gets_its_own_answer(style):
    """On threads, with more prompts than workers, in order."""
    batch = claude_sync.map(
        (f"prompt {number}" for number in range(20)), workers=3, **echo(style=style, cost=0.25)
    )
    items = list(batch)
    assert [item.answer for item in items] == [f"echo: prompt {number}" for number in range(20)]
    assert [item.index for item in items] == list(range(20))
    assert {item.cost_usd for item in items} == {0.25}
    assert {item.attempts for item in items} == {1}
    assert batch.cost_usd == 5.0
    assert batch.total is None


def test_nothing_is_started_before_somebody_looks():
    """A batch that nobody iterates over costs nothing, and needs no end."""
    batch = claude_sync.map(["a"], cli="/nowhere/claude")
    assert batch.done == batch.failed == batch.cost_usd == 0
    assert repr(batch) == "<Batch 0 of 1 done, 0 failed, 0.0000 USD>"


def test_a_cli_that_is_missing_is_told_by_each_item():
    """And is not looked for a thousand times."""
    batch = claude_sync.map(["a"] * 30, workers=2, cli="/nowhere/claude")
    items = batch.results()
    assert len(items) == 30
    assert all(isinstance(item.error, CliNotFound) for item in items)
    assert {item.attempts for item in items} == {0}


def test_typed_answers():
    """returns= is the form of every answer."""
    items = claude_sync.map(["a", "b"], returns=Label, workers=1, **echo()).results()
    assert [item.data for item in items] == [Label("echo"), Label("echo")]


def test_a_timeout_is_that_of_one_prompt():
    """The others go on."""
    prompts = ["a", "[[sleep 60]] b", "c"]
    items = claude_sync.map(prompts, workers=2, timeout=1.0, **echo()).results()
    assert [item.ok for item in items] == [True, False, True]
    assert isinstance(items[1].error, AskTimeout)


def test_cancel_from_another_thread_interrupts_what_runs():
    """The loop ends soon, with what was being answered as failed."""
    started = threading.Event()
    batch = claude_sync.map(
        ["[[pace 0.3]]" + " word" * 200] * 10,
        workers=2,
        on_text=lambda text: started.set(),
        **echo(),
    )

    def cancel():
        started.wait(PATIENCE)
        batch.cancel()

    thread = threading.Thread(target=cancel, daemon=True)
    thread.start()
    items = list(batch)
    thread.join(PATIENCE)
    assert 1 <= len(items) <= 2
    assert all(isinstance(item.error, TurnInterrupted) for item in items)


def test_leaving_the_block_ends_everything():
    """The CLIs are closed, whatever they were doing."""
    with claude_sync.map(["a", *["[[sleep 60]] b"] * 5], workers=2, **echo()) as batch:
        assert next(batch).answer == "echo: a"
    assert list(batch) == []
    assert batch._run.backend._crew.is_closed


@pytest.fixture
def no_collector():
    """Only what nobody holds any more goes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("progress", [False, True])
def test_a_batch_that_is_forgotten_is_ended(no_collector, progress, monkeypatch):
    """Nothing outlives it, and no collector has to come by first."""
    monkeypatch.setattr(batches, "progress_for", lambda: as_line(io.StringIO()))
    prompts = ["a", *["[[sleep 60]] b"] * 5]
    pools = []
    for item in claude_sync.map(prompts, workers=2, progress=progress, **echo()):
        assert item.answer == "echo: a"
        pools = list(crew.LIVE)
        break
    assert len(pools) == 1
    wait_until(lambda: pools[0].is_closed)


def test_close_from_on_item_stops_it():
    """A handler that has seen enough; what was read ahead still comes."""
    batch = claude_sync.map(
        (str(number) for number in range(1000)), on_item=lambda item: batch.close(), **echo()
    )
    assert len(list(batch)) < 200


def test_on_item_sees_each_item_first():
    """In the program's thread, before it is given out."""
    seen = []
    batch = claude_sync.map(["a", "b"], executor=InlineExecutor(), on_item=seen.append)
    for count, item in enumerate(batch, 1):
        assert seen[-1] is item
        assert len(seen) == count


def test_handlers_are_called_for_every_client():
    """As keyword arguments, as for a client."""
    heard = []
    claude_sync.map(["a", "b"], workers=1, on_text=heard.append, **echo()).results()
    assert "".join(heard) == "echo: aecho: b"


def spends_more(cli):
    """An agent reports back after the answer, which costs two dollars."""
    cli.accept()
    user = cli.expect("user")
    cli.answer("yes", to=user, total_cost_usd=0.25)
    cli.say(builders.result("late", total_cost_usd=2.25, origin={"kind": "task-notification"}))
    cli.swallow_input()


def test_what_its_clis_spend_after_an_answer_counts(tmp_path):
    """It is the cost of no prompt, and of the budget all the same."""
    settings = {"budget_usd": 2.0, "workers": 1, "checkpoint": tmp_path / "run.db"}
    batch = claude_sync.map(["a", "b"], transport=lambda: ScriptedCli(spends_more), **settings)
    assert next(batch).cost_usd == 0.25
    wait_until(lambda: batch.cost_usd == 2.25)
    assert isinstance(next(batch).error, BudgetExceeded)
    batch.close()
    assert claude_sync.map(["a"], **settings).results()[0].restored


def test_to_jsonl(tmp_path):
    """One object a line, failed ones included."""

    def outcome(task):
        return Outcome(error=AskTimeout(1.0)) if task.prompt == "b" else answered(task, 0.5)

    prompts = [{"prompt": "a", "id": "x"}, "b"]
    path = tmp_path / "answers.jsonl"
    assert claude_sync.map(prompts, executor=InlineExecutor(outcome)).to_jsonl(path) == 2
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {
        "index": 0,
        "id": "x",
        "prompt": "a",
        "answer": "echo: a",
        "error": None,
        "cost_usd": 0.5,
        "attempts": 1,
        "seconds": 0.5,
    }
    assert second["answer"] is None
    assert second["error"]["type"] == "AskTimeout"


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    """As JSON writes it."""
    path = tmp_path / "answers.jsonl"
    assert claude_sync.map(["a\ud800"], executor=InlineExecutor()).to_jsonl(path) == 1
    assert json.loads(path.read_text(encoding="utf-8"))["answer"] == "echo: a\ud800"


@pytest.mark.parametrize("method", ["results", "to_jsonl"])
def test_items_are_not_given_twice(tmp_path, method):
    """That is told; no file is made empty, and no item is lost without a word."""
    old = tmp_path / "old.jsonl"
    old.write_text("kept")
    with claude_sync.map(list("abc"), executor=InlineExecutor()) as batch:
        next(batch)
        with pytest.raises(UsageError, match="instead of iterating"):
            getattr(batch, method)(*([old] if method == "to_jsonl" else []))
        assert [item.prompt for item in batch] == ["b", "c"]
    assert old.read_text() == "kept"


def test_a_column_of_a_table():
    """Its labels are the ids; to_pandas() gives a table that fits beside it."""
    pandas = needed("pandas")
    table = pandas.DataFrame({"text": ["one", "two"]}, index=[7, 9])
    batch = claude_sync.map(table["text"], executor=InlineExecutor())
    answers = batch.to_pandas()
    assert batch.total == 2
    assert list(answers.index) == [7, 9]
    assert list(table.join(answers)["answer"]) == ["echo: one", "echo: two"]
    with pytest.raises(UsageError, match="one column"):
        claude_sync.map(table)


def test_fields_of_typed_answers_are_columns():
    """Of those that were answered."""
    needed("pandas")

    def outcome(task):
        made = answered(task)
        made.answer._raw = {"structured_output": {"word": task.prompt}}
        return made

    executor = InlineExecutor(outcome)
    table = claude_sync.map(["a", " "], executor=executor, returns=Label).to_pandas()
    assert table["word"][0] == "a"
    assert "blank" in table["error"][1]


@each(
    ("settings", "words"),
    [
        ({"prompts": "one"}, "For one: \\[prompt\\]"),
        ({"prompts": b"one"}, "one bytes"),
        ({"prompts": {"prompt": "x"}}, "a dict"),
        ({"prompts": 7}, "an iterable"),
        ({"workers": 0}, "workers is a whole number"),
        ({"retries": -1}, "retries"),
        ({"budget_usd": -1}, "budget_usd"),
        ({"timeout": 0}, "timeout"),
        ({"idle_timeout": "x"}, "idle_timeout"),
        ({"checkpoint": 7}, "checkpoint is the path"),
        ({"executor": 7}, "a Dask client"),
        ({"requests_per_minute": 0}, "requests_per_minute is a number above 0"),
        ({"tokens_per_minute": "x"}, "tokens_per_minute is a number"),
        ({"on_change": "x"}, "on_change is one of raise, ask_again, keep"),
        ({"id": 7}, "id is the name of a key"),
        ({"shard": (3, 3)}, "k from 0 to n - 1"),
        ({"shard": [0, 3]}, "k from 0 to n - 1"),
        ({"executor": InlineExecutor(), "on_text": print}, "on_text= cannot be called"),
        ({"resume": "x"}, "resume="),
        ({"returns": "x"}, "returns="),
        ({"modle": "x"}, "model"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(settings, words):
    """Before anything is started."""
    settings = {"prompts": ["a"], **settings}
    with pytest.raises(UsageError, match=words):
        claude_sync.map(settings.pop("prompts"), **settings)


def test_items_pickle():
    """Answer, error and all."""
    items = claude_sync.map(["a", " "], workers=1, **echo()).results()
    again = pickle.loads(pickle.dumps(items))
    assert [item.answer for item in again] == ["echo: a", None]
    assert isinstance(again[1].error, UsageError)
    assert isinstance(again[0], Item)
