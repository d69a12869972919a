"""What drives a batch: order, pace, budget, tries, and that every prompt has one item."""

from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest
from batch_executors import HandDriven, InlineExecutor, answered
from patience import wait_until

import claude_sync
from claude_sync import (
    AskTimeout,
    BudgetExceeded,
    ClaudeError,
    CliDidNotStart,
    CliExited,
    NotLoggedIn,
    Overloaded,
    RateLimited,
    TurnInterrupted,
)
from claude_sync.batch import limits
from claude_sync.batch.items import Job, Outcome
from claude_sync.batch.run import AHEAD


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    """What is waited for is not the time."""
    monkeypatch.setattr(limits, "FIRST_WAIT", 0.001)


def batch_of(prompts, executor=None, **settings):
    """A batch on an executor of the test's."""
    return claude_sync.map(prompts, executor=executor or InlineExecutor(), **settings)


def failing_first(error, times=1, cost_usd=0.0, **outcome):
    """Each prompt fails so often, and is answered then."""

    def attempt(task):
        if task.attempts <= times:
            return Outcome(error=error, cost_usd=cost_usd, seconds=0.5, **outcome)
        return answered(task, cost_usd)

    return InlineExecutor(attempt)


def next_in_background(batch):
    """Ask for the next item on another thread; a function that waits for it."""
    got = []
    thread = threading.Thread(target=lambda: got.append(next(batch, None)), daemon=True)
    thread.start()

    def wait():
        thread.join(30)
        assert not thread.is_alive(), "no item came"
        return got[0]

    return wait


def begun(prompts, count, **settings):
    """A batch of which so many prompts are open, for the test to answer; and its next item."""
    executor = HandDriven()
    batch = batch_of(prompts, executor, **settings)
    wait = next_in_background(batch)
    wait_until(lambda: len(executor.open) == count)
    return batch, executor, wait


def test_items_come_in_order_or_as_they_are_finished():
    """ordered=True holds back what is finished before its turn; False does not."""
    for ordered in (True, False):
        batch, executor, wait = begun(list("abc"), 3, workers=3, ordered=ordered)
        for task, future in reversed(executor.open):
            future.set_result(answered(task))
        first = wait().prompt
        rest = [item.prompt for item in batch]
        assert [first, *rest] == (["a", "b", "c"] if ordered else ["c", "b", "a"])


def test_no_more_is_open_than_there_are_workers():
    """The next prompt is read when a worker is free, and not before."""
    read = []

    def prompts():
        for number in range(10):
            read.append(number)
            yield str(number)

    executor = HandDriven()
    batch = batch_of(prompts(), executor, workers=3)
    assert read == []
    wait = next_in_background(batch)
    wait_until(lambda: len(executor.open) == 3)
    assert read == [0, 1, 2]
    task, future = executor.open[0]
    future.set_result(answered(task))
    assert wait().index == 0
    wait = next_in_background(batch)
    wait_until(lambda: len(executor.open) == 4)
    assert read == [0, 1, 2, 3]
    batch.cancel()
    assert wait().error is not None


def test_what_needs_no_worker_holds_up_nobody():
    """A blank prompt, or one that was answered before, behind one that takes long."""
    batch, executor, wait = begun(["a", " ", "b", " ", "c"], 3, workers=3)
    for task, future in executor.open:
        future.set_result(answered(task))
    assert [item.ok for item in [wait(), *batch]] == [True, False, True, False, True]


@pytest.mark.parametrize("ordered", [True, False])
def test_prompts_that_come_slowly_hold_up_no_item(ordered):
    """One is read for each item that is given out, if workers are as quick as that."""
    read = []
    prompts = (read.append(number) or str(number) for number in range(100))
    with batch_of(prompts, workers=2, ordered=ordered) as batch:
        for number in range(3):
            assert next(batch).index == number
            assert read == list(range(number + 1))


def test_items_that_nobody_takes_have_a_bound():
    """A prompt that never ends does not fill the memory with those behind it."""
    first = Future()

    def submit(task):
        return answered(task)

    class StuckAtFirst(InlineExecutor):
        def submit(self, function, /, *arguments):
            future = super().submit(function, *arguments)
            return first if arguments[1].index == 0 else future

    executor = StuckAtFirst(submit)
    batch = batch_of((str(number) for number in range(1000)), executor, workers=2)
    wait = next_in_background(batch)
    wait_until(lambda: len(executor.tasks) == 2 * AHEAD)
    first.set_result(answered(Job(0, "0")))
    assert wait().index == 0
    assert next(batch).index == 1
    assert len(executor.tasks) <= 2 * AHEAD + 2
    batch.close()


@pytest.mark.parametrize(
    ("ordered", "count"),
    [
        *((True, 3_000), (False, 2_000)),
        pytest.param(True, 30_000, marks=pytest.mark.everything),
        pytest.param(False, 10_000, marks=pytest.mark.everything),
    ],
)
def test_many_thousands_of_prompts_need_no_memory(ordered, count):
    """What is given out is not kept, and no more is read than is needed."""
    prompts = (f"prompt {number}" for number in range(count))
    executor = InlineExecutor()
    batch = batch_of(prompts, executor, workers=1, ordered=ordered)
    counts = []
    for item in batch:
        assert item.answer == f"echo: prompt {item.index}"
        if item.index % (count // 5) == count // 10:
            executor.tasks.clear()  # the test's own list
            gc.collect()
            counts.append(len(gc.get_objects()))
    assert batch.done == count
    assert max(counts) - min(counts) < count / 15  # far less than one for each prompt


def test_an_overload_is_tried_again():
    """As often as retries= says; the item counts all tries, and what they cost."""
    batch = batch_of(["a", "b"], failing_first(Overloaded("busy"), 2, cost_usd=0.25), retries=2)
    items = batch.results()
    assert [item.attempts for item in items] == [3, 3]
    assert [item.answer for item in items] == ["echo: a", "echo: b"]
    assert [item.cost_usd for item in items] == [0.75, 0.75]
    assert [item.seconds for item in items] == [1.5, 1.5]
    assert batch.cost_usd == 1.5


def test_tries_have_an_end():
    """The last error is the item's."""
    items = batch_of(["a"], failing_first(CliExited("gone"), 9), retries=2).results()
    assert items[0].attempts == 3
    assert isinstance(items[0].error, CliExited)
    assert items[0].answer is None
    assert not items[0].ok


def test_what_used_tools_is_not_tried_again_unless_that_is_allowed():
    """retry_effects= is as for a client."""
    items = batch_of(["a"], failing_first(CliExited("gone"), 1, effects=True)).results()
    assert items[0].attempts == 1
    executor = failing_first(CliExited("gone"), 1, effects=True)
    items = batch_of(["a"], executor, retry_effects=True).results()
    assert (items[0].attempts, items[0].answer) == (2, "echo: a")


def test_one_failed_item_does_not_lose_the_rest():
    """Errors come as items, in their place; and are listed."""

    def attempt(task):
        if task.prompt == "b":
            return Outcome(error=AskTimeout(1.0), cost_usd=0.5)
        return answered(task)

    batch = batch_of(list("abc"), InlineExecutor(attempt))
    items = list(batch)
    assert [item.ok for item in items] == [True, False, True]
    assert batch.errors == [items[1]]
    assert (batch.done, batch.failed, batch.cost_usd) == (3, 1, 0.5)


def test_prompts_that_cannot_be_asked_are_items():
    """Blank, odd, or with a file that is missing: nobody is asked about them."""
    executor = InlineExecutor()
    prompts = ["a", " ", 7, {"prompt": "x", "attach": ["/nowhere/x.png"]}, {"promt": "x"}, "b"]
    items = batch_of(prompts, executor).results()
    assert [item.ok for item in items] == [True, False, False, False, False, True]
    assert [item.attempts for item in items] == [1, 0, 0, 0, 0, 1]
    assert [index for index, _ in executor.tasks] == [0, 5]


def test_the_budget_stops_within_one_prompt_for_each_worker():
    """Every prompt has its item; those that were not sent say why."""
    batch, executor, wait = begun(
        [str(number) for number in range(20)], 3, workers=3, budget_usd=1.0
    )
    for task, future in list(executor.open):
        future.set_result(answered(task, cost_usd=0.6))
    items = [wait(), *batch]
    assert len(items) == 20
    # Two were enough, the third was open already, and others may have begun in between.
    assert sum(item.ok for item in items) == len(executor.open) <= 5
    assert all(isinstance(item.error, BudgetExceeded) for item in items if not item.ok)
    assert isinstance(items[-1].error, BudgetExceeded)


def test_a_try_again_is_not_sent_beyond_the_budget():
    """It costs money like any other."""
    executor = failing_first(Overloaded("busy"), 1, cost_usd=1.0)
    items = batch_of(["a"], executor, budget_usd=0.5).results()
    assert len(executor.tasks) == 1
    assert isinstance(items[0].error, BudgetExceeded)
    assert items[0].cost_usd == 1.0


def test_what_no_prompt_can_avoid_ends_the_tries():
    """After a few times in a row the rest is not sent, and has the same error."""
    executor = InlineExecutor(lambda task: Outcome(error=NotLoggedIn("log in")))
    items = batch_of([str(number) for number in range(50)], executor, workers=2).results()
    assert len(executor.tasks) == 3
    assert len(items) == 50
    assert all(isinstance(item.error, NotLoggedIn) for item in items)
    assert [item.attempts for item in items[-2:]] == [0, 0]


def test_a_success_in_between_keeps_the_hope():
    """Only failures in a row count."""

    def attempt(task):
        if task.index % 3 == 0:
            return answered(task)
        return Outcome(error=NotLoggedIn("log in"))

    executor = InlineExecutor(attempt)
    batch_of([str(number) for number in range(30)], executor).results()
    assert len(executor.tasks) == 30


def test_a_cli_that_does_not_start_is_tried_again():
    """Nothing was sent, so nothing can be done twice; it is no attempt."""
    failures = iter([CliDidNotStart("slow"), None])

    def attempt(task):
        error = next(failures)
        return Outcome(error=error, was_sent=False) if error else answered(task)

    items = batch_of(["a"], InlineExecutor(attempt)).results()
    assert (items[0].attempts, items[0].answer) == (1, "echo: a")


def test_a_broken_executor_is_told_by_every_item():
    """A worker that died in mid-work, and one that takes no more work."""

    def attempt(task):
        raise BrokenProcessPool("killed")

    items = batch_of(["a", "b"], InlineExecutor(attempt)).results()
    assert [type(item.error) for item in items] == [BrokenProcessPool] * 2

    class ShutDown(InlineExecutor):
        def submit(self, *arguments):
            raise RuntimeError("cannot schedule new futures after shutdown")

    items = batch_of(["a", "b"], ShutDown()).results()
    assert [str(item.error) for item in items] == ["cannot schedule new futures after shutdown"] * 2
    assert [item.attempts for item in items] == [0, 0]


def test_an_error_of_the_prompts_comes_after_what_was_finished():
    """A generator that raises loses nothing."""

    def prompts():
        yield "a"
        yield "b"
        raise ZeroDivisionError

    batch = batch_of(prompts(), workers=4)
    assert [next(batch).prompt, next(batch).prompt] == ["a", "b"]
    with pytest.raises(ZeroDivisionError):
        next(batch)
    with pytest.raises(StopIteration):
        next(batch)


def test_stop_finishes_what_is_open():
    """Nothing more is sent; what is being answered still comes."""
    batch, executor, wait = begun([str(number) for number in range(10)], 2, workers=2)
    batch.stop()
    for task, future in list(executor.open):
        future.set_result(answered(task))
    assert [item.index for item in [wait(), *batch]] == [0, 1]


def test_stop_gives_up_what_was_to_be_tried_again(monkeypatch):
    """It comes with its error, and the items after it come, too."""
    monkeypatch.setattr(limits, "FIRST_WAIT", 3600.0)
    batch, executor, wait = begun(list("abc"), 2, workers=2)
    (_, first), (second_task, second) = executor.open
    first.set_result(Outcome(error=Overloaded("busy")))
    second.set_result(answered(second_task))
    batch.stop()
    items = [wait(), *batch]
    assert [(item.prompt, item.ok) for item in items] == [("a", False), ("b", True)]
    assert isinstance(items[0].error, Overloaded)


def test_cancel_withdraws_what_has_not_begun():
    """It comes as interrupted."""
    batch, _, wait = begun(list("abc"), 2, workers=2)
    batch.cancel()
    items = [wait(), *batch]
    assert [type(item.error) for item in items] == [TurnInterrupted] * 2
    assert [item.attempts for item in items] == [0, 0]


def test_a_prompt_that_waits_for_its_own_try_holds_up_nobody(monkeypatch):
    """The rest is finished before it is asked again."""
    monkeypatch.setattr(limits, "FIRST_WAIT", 3600.0)

    def attempt(task):
        if task.index in (3, 40):
            return Outcome(error=Overloaded("busy"), seconds=9)
        return answered(task)

    batch = batch_of(map(str, range(200)), InlineExecutor(attempt), ordered=False)
    assert sum(next(batch).ok for _ in range(198)) == 198
    batch.stop()
    assert [item.ok for item in batch] == [False, False]


def test_failures_that_are_about_the_prompts_slow_nobody_down():
    """A share of refusals does."""

    def window_after(error):
        executor = InlineExecutor(lambda _: Outcome(error=error, seconds=9))
        batch = batch_of(map(str, range(100)), executor, workers=40, retries=0)
        assert not any(item.ok for item in batch)
        return batch._run.pace.window

    assert window_after(claude_sync.PromptTooLong("long")) == 40
    assert window_after(Overloaded("busy")) <= 20


def test_a_limit_is_waited_for_until_it_is_reset(monkeypatch):
    """By everybody: nothing is sent before."""
    monkeypatch.setattr(limits, "RESET_MARGIN", 0.2)
    used_up = RateLimited("used up", resets_at=time.time() + 0.2)
    sent = []

    def attempt(task):
        sent.append(time.time())
        return Outcome(error=used_up) if len(sent) == 1 else answered(task)

    items = batch_of(list("abc"), InlineExecutor(attempt), workers=1).results()
    assert all(item.ok for item in items)
    assert sent[1] >= used_up.resets_at


def test_workers_that_are_gone_end_the_batch():
    """What was finished comes, then the reason; what was asked is not waited for."""
    batch, executor, wait = begun(list("abcd"), 3, workers=3)
    for task, future in executor.open[1:]:
        future.set_result(answered(task))

    def gone():
        raise ClaudeError("the cluster is gone")

    batch._run.backend.check = gone
    assert wait().prompt == "b"
    assert next(batch).prompt == "c"
    with pytest.raises(ClaudeError, match="is gone"):
        next(batch)


def test_a_shard_is_a_part_of_the_prompts():
    """All shards together are all of them; items keep the place among all."""
    found = []
    for number in range(3):
        batch = batch_of([str(number) for number in range(10)], shard=(number, 3))
        assert batch.total == len(range(number, 10, 3))
        found += [(item.index, item.prompt) for item in batch]
    assert sorted(found) == [(number, str(number)) for number in range(10)]


def test_an_id_comes_once(tmp_path):
    """Of two prompts with the same id that are asked together, one is told so."""
    executor = HandDriven()
    prompts = [{"prompt": "a", "id": "x"}, {"prompt": "b", "id": "x"}]
    batch = batch_of(prompts, executor, workers=2, id="id", checkpoint=tmp_path / "x")
    wait = next_in_background(batch)
    wait_until(lambda: executor.open)
    executor.open[0][1].set_result(answered(executor.open[0][0]))
    assert wait().ok
    assert "occurs twice" in str(next(batch).error)
