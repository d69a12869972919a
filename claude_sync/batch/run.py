"""
Drive a batch: send prompts, take in outcomes, try again, and give out items.

::

    prompts -> [send] -> workers -> [news] -> [settle] -> checkpoint -> [items] -> program

Every wait of ``claude_sync.map`` is here.

* The program's thread drives, and nobody else: workers put what they have done into a queue.
  Only the flags and :meth:`Run.cancel` are for other threads. So nothing needs a lock, and
  Ctrl-C leaves none behind.
* No more is open than the pace allows, so no more than that can be lost, or be spent beyond
  the budget, which is looked at before each send.
* Every prompt that was read has exactly one item, whatever happens; only if the workers are
  gone altogether do those that were being answered have none.
* After a few failures in a row of a kind that no prompt can avoid (no CLI, no login, no
  workers) the rest is not tried.
* What makes the whole batch impossible is raised after the items that were finished.
"""

from __future__ import annotations

import dataclasses
import heapq
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from ..errors import (
    BudgetExceeded,
    ClaudeError,
    CliDidNotStart,
    ClientClosed,
    CliNotFound,
    NotLoggedIn,
    RateLimited,
    ReturnsError,
    TurnInterrupted,
    UsageError,
)
from ..log import logger
from ..support.waiting import take_from
from .items import Item, Job, Outcome, Prompts, Task, structured_output
from .limits import Pace, is_refusal, is_worth_another_try, wait_before
from .workers import Executors, is_lost, outcome_of

if TYPE_CHECKING:
    from .checkpoint import Checkpoint

__all__ = ["Rules", "Run"]

# So many failures in a row that no prompt can avoid are enough; at least one of each worker.
HOPELESS = 3
HOPELESS_KINDS = (NotLoggedIn, CliNotFound, CliDidNotStart)
# A worker that has died is a smaller part of such a failure: another one may live.
LOST = 0.2
# So many prompts for each worker may have been read of which no item was taken yet.
AHEAD = 32
# How often a look is taken at workers that may be gone; and no wait is longer, for Ctrl-C.
CHECK_EVERY = 1.0


@dataclasses.dataclass(frozen=True)
class Rules:
    """
    What holds for all prompts of a batch.

    Attributes:
        workers: How many are asked at once.
        retries: How often a prompt may be tried again.
        retry_effects: Also when tools were used.
        budget_usd: No more is sent once so much is spent.
        ordered: Whether items come in the order of the prompts.
        form: Reads typed answers that come from another process, or None.

    """

    workers: int
    retries: int = 2
    retry_effects: bool = False
    budget_usd: float | None = None
    ordered: bool = True
    form: Any = None


class Run:
    """
    One batch on its way.

    Args:
        prompts: The prompts.
        rules: What holds for all of them.
        pace: How fast it may go.
        make_backend: Makes what asks; gets what to call when the service makes a CLI wait.
        checkpoint: Where finished items are kept, or None; closed at the end.
        name: Makes the jobs of two runs different.

    """

    def __init__(
        self,
        prompts: Prompts,
        rules: Rules,
        pace: Pace,
        make_backend: Callable[[Callable[[], None]], Executors],
        checkpoint: Checkpoint | None = None,
        name: str = "",
    ) -> None:
        self._tasks = prompts.tasks(with_digests=checkpoint is not None)
        self._rules = rules
        self.pace = pace
        self._checkpoint = checkpoint
        self._name = name
        self.backend = make_backend(self.refused)
        # What workers have done, with its task; and None, when something else has changed.
        self._news: SimpleQueue[tuple[Task, Future[Outcome]] | None] = SimpleQueue()
        self._settling: tuple[Task, Future[Outcome]] | None = None
        self._paid: Future[Outcome] | None = None
        self._open: dict[Future[Outcome], Task] = {}
        self._read = self._taken = 0
        self._exhausted = self._ended = False
        # What is asked now, or waits for its next try, by its key in the checkpoint.
        self._keys: dict[Any, Task] = {}
        self._later: list[tuple[float, int, Task]] = []
        self._by_number: dict[int, Item] = {}
        self._in_order_of_end: deque[Item] = deque()
        self._fatal: BaseException | None = None
        self._given_up: BaseException | None = None
        self._hopeless = 0.0
        # How often the service made a CLI of ours wait, which handlers of the CLIs count.
        self._refusals: deque[float] = deque()
        # Set by other threads, and by handlers of signals.
        self.stopped = self.cancelled = False
        self.done = self.failed = 0
        self._before = 0.0 if checkpoint is None else checkpoint.cost_usd
        self._spent = 0.0

    @property
    def cost_usd(self) -> float:
        """What it has cost, earlier runs and failed attempts included."""
        return self._before + max(self._spent, self.backend.cost_usd)

    # What the program's thread does.

    def items(self) -> Iterator[Item]:
        """The items, as they are finished, or in order."""
        while True:
            self._send_more()
            item = self._take()
            if item is not None:
                yield item
            elif self._is_over():
                break
            else:
                self._hear(self._longest_wait())
                self._check_workers()
        if self._fatal is not None:
            raise self._fatal

    def _send_more(self) -> None:
        """Send as much as the pace allows; what needs no sending is finished at once."""
        self._hear(0.0)
        while not self.stopped and self._fatal is None:
            if self.pace.wait(time.monotonic()) != 0.0:
                return
            task = self._due_again() or self._next_task()
            if task is None:
                return
            try:
                item = self._item_without_asking(task) or self._send(task)
            except Exception as error:  # the checkpoint belongs to other prompts
                self._fatal = error
                return
            if item is not None:
                self._finish(item, task)
            self._hear(0.0)  # what came meanwhile has cost something
            if self._is_ready():
                return  # prompts may come slowly; for each item that is given out, one is sent
        self._give_up_waiting()

    def _due_again(self) -> Task | None:
        """A prompt whose time to be tried again has come."""
        if self._later and self._later[0][0] <= time.monotonic():
            return heapq.heappop(self._later)[2]
        return None

    def _next_task(self) -> Task | None:
        if self._exhausted or self._read - self._taken >= AHEAD * self._rules.workers:
            return None  # what is finished waits for one that is not, or for the program
        try:
            task = next(self._tasks, None)
        except Exception as error:  # the program's
            self._fatal, task = error, None
        self._exhausted = task is None
        self._read += task is not None
        return task

    def _item_without_asking(self, task: Task) -> Item | None:
        if task.error is not None:
            return task.item(error=task.error)
        if self._checkpoint is not None and task.last_error is None:
            item = self._checkpoint.find(task, self._rules.form)
            if item is not None:
                return item
            if task.key in self._keys:
                return task.item(
                    error=UsageError(
                        f"the id {task.key!r} occurs twice. Each prompt needs its own id."
                    )
                )
        if self._given_up is not None:
            return task.item(error=task.last_error or self._given_up)
        budget = self._rules.budget_usd
        if budget is not None and self.cost_usd >= budget:
            # The reason is told, not the failure before: a larger budget is what helps.
            what = f"the batch has cost {self.cost_usd:.4f} USD of its budget of {budget:g}"
            return task.item(error=BudgetExceeded(what))
        return None

    def _send(self, task: Task) -> Item | None:
        """Have a worker ask; an item, if that cannot be done."""
        try:
            prompt, attach = task.content()
        except Exception as error:  # a file that is missing, an object that is no file
            return task.item(error=error)
        job = Job(task.index, prompt, attach, task.attempts + 1, self._name)
        try:
            future = self.backend.submit(job)
        except Exception as error:  # an executor that is broken, or was shut down
            self._given_up = error
            return task.item(error=error)
        task.attempts += 1
        self.pace.sent(time.monotonic())
        self._keys[task.key] = task
        self._open[future] = task
        future.add_done_callback(lambda future: self._news.put((task, future)))
        return None

    def _take(self) -> Item | None:
        if self._rules.ordered:
            item = self._by_number.pop(self._taken, None)
        else:
            item = self._in_order_of_end.popleft() if self._in_order_of_end else None
        self._taken += item is not None
        return item

    def _is_ready(self) -> bool:
        """Whether an item can be given out."""
        if self._rules.ordered:
            return self._taken in self._by_number
        return bool(self._in_order_of_end)

    def _is_over(self) -> bool:
        if self._open or self._later or self._by_number or self._in_order_of_end:
            return False
        return self._exhausted or self.stopped or self._fatal is not None

    def _longest_wait(self) -> float:
        """In how many seconds something may be sent, or a look at the workers is due."""
        now = time.monotonic()
        wait = self.pace.wait(now)
        times = [CHECK_EVERY]
        if wait is not None:
            times += [wait] if wait and not self._exhausted else []
            times += [max(wait, self._later[0][0] - now)] if self._later else []
        return max(0.001, min(times))

    def _check_workers(self) -> None:
        """If the workers are gone, what they were doing is not waited for."""
        try:
            self.backend.check()
        except Exception as error:
            self._fatal = self._fatal or error
            self._give_up_waiting()
            self._open.clear()
            # What came after it was finished, and is given out.
            self._in_order_of_end.extend(each for _, each in sorted(self._by_number.items()))
            self._by_number.clear()
            self._rules = dataclasses.replace(self._rules, ordered=False)

    # What workers have done.

    def refused(self) -> None:
        """The service made a CLI wait. On any thread."""
        self._refusals.append(time.monotonic())

    def _hear(self, longest: float) -> None:
        """Take in what has been done; wait for something so long."""
        while self._refusals:
            self.pace.noticed(self._refusals.popleft())
        try:
            while True:
                self._settling = self._settling or take_from(self._news, longest)
                longest = 0.0
                if self._settling is not None:
                    self._settle(*self._settling)
                    self._settling = None
        except Empty:
            pass

    def _settle(self, task: Task, future: Future[Outcome]) -> None:
        if future not in self._open:
            return
        try:
            self._count(task, future)
        except Exception as error:  # nothing may leave the program waiting
            self._fatal = self._fatal or error
        del self._open[future]

    def _count(self, task: Task, future: Future[Outcome]) -> None:
        outcome, now = outcome_of(future), time.monotonic()
        if future is not self._paid:  # Ctrl-C may have come in the middle of the same
            self._paid = future
            task.cost_usd += outcome.cost_usd
            task.seconds += outcome.seconds
            self._spent += outcome.cost_usd
        error = outcome.error
        if not self.backend.hears_refusals:
            for _ in range(outcome.refusals):
                self.pace.noticed(now)
        if self.cancelled and isinstance(error, ClientClosed):
            error = TurnInterrupted("the batch was cancelled while this was asked")
        if error is None and outcome.answer is not None:
            tokens = tokens_of(outcome.answer)
            self.pace.answered(now, outcome.seconds, outcome.answer.num_turns, tokens)
            self._hopeless = 0.0
            error = self._read_data(outcome.answer)
        elif error is not None and is_refusal(error):
            self.pace.refused(now, outcome.seconds)
        else:
            self.pace.failed()
        if error is None:
            self._finish(task.item(outcome.answer), task)
            return
        task.attempts -= not outcome.was_sent
        if not self._is_tried_again(task, outcome, error, now):
            self._finish(task.item(error=error), task)

    def _read_data(self, answer: Any) -> Exception | None:
        """Make the typed answer of what another process has sent."""
        from ..schema import Mismatch

        form = self._rules.form
        if form is None or answer.data is not None:
            return None
        try:
            answer.data = form.read(structured_output(answer))
            return None
        except Mismatch as mismatch:
            problems = tuple(mismatch.problems)
        except Exception as error:  # a class of the program's may raise anything
            problems = (f"{type(error).__name__}: {error}",)
        return ReturnsError(f"the answer is not {form.name}", answer, answer.result, problems)

    def _is_tried_again(
        self, task: Task, outcome: Outcome, error: BaseException, now: float
    ) -> bool:
        """Note a failure, and when it is tried again; False if it is not."""
        tries = task.attempts + (not outcome.was_sent)
        delay = wait_before(max(1, tries), error, time.time(), random.random())
        if isinstance(error, RateLimited) and (error.resets_at or 0.0) > time.time():
            # It is the account's limit, so it is everybody's.
            logger.warning("the usage limit is reached; waiting for %.0f s", delay)
            self.pace.hold(now + delay)
        self._note_hopeless(error)
        if self.stopped or self._given_up is not None:
            return False
        if not self._is_worth_it(task, outcome, error):
            return False
        if is_lost(error):
            delay = 0.0
        task.last_error = error
        logger.warning("retrying prompt %d in %.1f s: %s", task.index, delay, first_line(error))
        heapq.heappush(self._later, (now + delay, task.number, task))
        if self._checkpoint is not None:
            self._remember(self._checkpoint.spend, self.cost_usd)
        return True

    def _note_hopeless(self, error: BaseException) -> None:
        if is_lost(error):
            self._hopeless += LOST
        elif isinstance(error, HOPELESS_KINDS) or not isinstance(error, ClaudeError):
            self._hopeless += 1
        if self._given_up is None and self._hopeless >= max(HOPELESS, self._rules.workers):
            logger.warning("giving up on the rest of the batch: %s", first_line(error))
            self._given_up = error

    def _is_worth_it(self, task: Task, outcome: Outcome, error: BaseException) -> bool:
        if isinstance(error, CliDidNotStart):
            return not outcome.was_sent and self._hopeless <= self._rules.retries
        if task.attempts > self._rules.retries:
            return False
        if not (is_lost(error) or is_worth_another_try(error)):
            return False
        if outcome.effects and not self._rules.retry_effects:
            logger.warning("not retried, because tools were used; retry_effects=True allows it")
            return False
        return True

    def _give_up_waiting(self) -> None:
        """What was to be tried again is not; its item tells why it failed."""
        while self._later:
            task = self._later.pop()[2]
            self._finish(task.item(error=task.last_error), task)

    def _finish(self, item: Item, task: Task) -> None:
        """It is on the disk before anybody sees it."""
        if self._keys.get(task.key) is task:
            del self._keys[task.key]
        # What was never asked has nothing to be remembered; what was restored is.
        if self._checkpoint is not None and not item.restored and (item.ok or item.attempts):
            self._remember(self._checkpoint.add, item, task, self.cost_usd)
        self.done += 1
        self.failed += item.error is not None
        if self._rules.ordered:
            self._by_number[task.number] = item
        else:
            self._in_order_of_end.append(item)

    def _remember(self, write: Callable[..., None], *values: Any) -> None:
        try:
            write(*values)
        except Exception as error:  # the disk is full
            self._fatal = self._fatal or error

    # The end.

    def stop(self) -> None:
        """Send nothing more. On any thread; handlers of signals call this, too."""
        self.stopped = True
        self._news.put(None)

    def cancel(self) -> None:
        """Send nothing more, and withdraw or interrupt what is open. On any thread."""
        self.cancelled = True
        self.stop()
        for future in list(self._open):
            future.cancel()
        self.backend.close()

    def end(self) -> None:
        """Nobody wants any more items; what is finished, and what has been spent, is remembered."""
        if self._ended:
            return
        self._ended = True
        self.stop()
        self._hear(0.0)
        self._give_up_waiting()
        self.cancel()
        if self._checkpoint is not None:
            self._remember(self._checkpoint.spend, self.cost_usd)
            self._checkpoint.close()


def tokens_of(answer: Any) -> int:
    """What counts against a limit of tokens: all but what the service had at hand."""
    usage = answer.usage
    names = ("input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(int(usage.get(name) or 0) for name in names)


def first_line(error: BaseException) -> str:
    """What happened, in one line without secrets."""
    from ..support.redact import redact_text

    return redact_text(str(getattr(error, "reason", error))).partition("\n")[0]
