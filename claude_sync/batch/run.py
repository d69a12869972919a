"""
Drive a batch: send prompts, take in outcomes, try again, and give out items.

::

    prompts -> [fill] -> workers -> [settle] -> checkpoint -> [items] -> program

Every wait of ``claude_sync.map`` is here.

* The program's thread drives: it reads the prompts, so that a generator is used by one
  thread only, and nothing is sent that nobody is going to look at. Workers settle what they
  have done by themselves: an item is in the checkpoint when it is finished, not when the
  program asks for it.
* No more is open than the pace allows, so no more than that can be lost, or be spent beyond
  the budget, which is looked at before each send.
* Every prompt that was read has exactly one item, whatever happens; only if the workers are
  gone altogether do those that were being answered have none.
* After a few failures in a row of a kind that no prompt can avoid (no CLI, no login, no
  workers) the rest is not tried.
* What makes the whole batch impossible is raised after the items that were finished.
"""

from __future__ import annotations

import contextlib
import dataclasses
import heapq
import random
import threading
import time
from collections import deque
from collections.abc import Iterator
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
from .workers import is_lost, outcome_of

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .workers import Threads

__all__ = ["Rules", "Run"]

# So many failures in a row that no prompt can avoid are enough; at least one of each worker.
HOPELESS = 3
HOPELESS_KINDS = (NotLoggedIn, CliNotFound, CliDidNotStart)
# Workers that die one after the other: so many failures for each worker.
LOST_IN_A_ROW = 5
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

    """

    workers: int
    retries: int = 2
    retry_effects: bool = False
    budget_usd: float | None = None
    ordered: bool = True


class Run:
    """
    One batch on its way.

    Args:
        prompts: The prompts.
        rules: What holds for all of them.
        pace: How fast it may go.
        checkpoint: Where finished items are kept, or None.
        form: Reads typed answers that come from another process, or None.
        name: Makes the jobs of two runs different.

    """

    def __init__(
        self,
        prompts: Prompts,
        rules: Rules,
        pace: Pace,
        checkpoint: Checkpoint | None = None,
        form: Any = None,
        name: str = "",
    ) -> None:
        self._prompts = prompts
        self._tasks = prompts.tasks(with_digests=checkpoint is not None)
        self._rules = rules
        self._checkpoint = checkpoint
        self._form = form
        self._name = name
        self.backend: Threads | None = None
        # Only the program's thread uses these.
        self._read = self._taken = 0
        self._last_index = -1
        self._exhausted = False
        # Has something in it after a change. With a condition, Ctrl-C that comes as this thread
        # goes to sleep or wakes up would leave a lock that nobody releases, or release it twice.
        self._news: SimpleQueue[None] = SimpleQueue()
        # Guards everything below.
        self._lock = threading.Lock()
        self._pace = pace
        self._open: dict[Future[Outcome], Task] = {}
        self._sent = 0
        # What is asked now, or waits for its next try, by its key in the checkpoint.
        self._keys: set[Any] = set()
        self._later: list[tuple[float, int, Task]] = []
        self._by_number: dict[int, Item] = {}
        self._in_order_of_end: deque[Item] = deque()
        self._stopped = self._cancelled = self._ended = False
        self._fatal: BaseException | None = None
        self._given_up: BaseException | None = None
        self._hopeless = self._lost = 0
        # Set by handlers of signals, which may come anywhere: they take no lock.
        self.abandoned = False
        self.done = self.failed = 0
        self.cost_usd = 0.0 if checkpoint is None else checkpoint.cost_usd

    # What the program's thread does.

    def items(self) -> Iterator[Item]:
        """The items, as they are finished, or in order."""
        while True:
            self._fill()
            if self.abandoned:
                raise KeyboardInterrupt
            item = self._take()
            if item is not None:
                yield item
            elif self._is_over():
                break
            else:
                self._wait()
        if self._fatal is not None:
            raise self._fatal

    def _fill(self) -> None:
        """Send as much as the pace allows, or until the next item came without sending."""
        while self._may_send():
            task = self._due_again() or self._next_task()
            if task is None:
                return
            try:
                item = self._item_without_asking(task)
            except Exception as error:  # the checkpoint belongs to other prompts
                self.fail(error)
                return
            if item is None:
                item = self._send(task)
            if item is not None:
                with self._lock:
                    self._finish_locked(item, task)
                if not self._rules.ordered or task.number == self._taken:
                    return

    def _may_send(self) -> bool:
        with self._lock:
            if self._stopped or self._fatal is not None:
                self._give_up_waiting_locked()
                return False
            return self._pace.wait(time.monotonic()) == 0.0

    def _due_again(self) -> Task | None:
        """A prompt whose time to be tried again has come."""
        with self._lock:
            if self._later and self._later[0][0] <= time.monotonic():
                return heapq.heappop(self._later)[2]
        return None

    def _next_task(self) -> Task | None:
        if self._exhausted:
            return None
        if self._read - self._taken >= AHEAD * self._rules.workers:
            return None  # what is finished waits for one that is not, or for the program
        try:
            task = next(self._tasks)
        except BaseException as error:
            self._exhausted = True
            if not isinstance(error, Exception):
                raise
            try:
                if not isinstance(error, StopIteration):
                    raise
                if self._checkpoint is not None:
                    self._checkpoint.check_end(self._last_index + 1, self._prompts.has_keys)
            except Exception as problem:
                self.fail(problem)
            return None
        self._read += 1
        self._last_index = task.index
        return task

    def _item_without_asking(self, task: Task) -> Item | None:
        if task.error is not None:
            return task.item(error=task.error)
        if self._checkpoint is not None and not task.attempts:
            with self._lock:
                item = self._checkpoint.find(task, self._form)
            if item is not None:
                return item
            if self._prompts.has_keys and task.key in self._keys:
                return task.item(
                    error=UsageError(f"the id {task.key!r} came before. Ids tell prompts apart.")
                )
        if self._given_up is not None:
            return task.item(error=task.last_error or self._given_up)
        budget = self._rules.budget_usd
        if budget is not None and self.cost_usd >= budget:
            # The reason is told, not the failure before: a larger budget is what helps.
            return task.item(
                error=BudgetExceeded(
                    f"the batch has cost {self.cost_usd:.4f} USD of its budget of {budget:g}"
                )
            )
        return None

    def _send(self, task: Task) -> Item | None:
        """Have a worker ask; an item, if that cannot be done."""
        try:
            prompt, attach = task.content()
        except Exception as error:  # a file that is missing, an object that is no file
            return task.item(error=error)
        task.attempts += 1
        job = Job(task.index, prompt, attach, task.attempts, self._name)
        with self._lock:
            self._sent += 1
            self._pace.sent(time.monotonic())
            if self._prompts.has_keys:
                self._keys.add(task.key)
        assert self.backend is not None
        try:
            future = self.backend.submit(job)
        except Exception as error:  # an executor that is broken, or was shut down
            with self._lock:
                self._sent -= 1
                self._pace.failed()
                self._given_up = error
            task.attempts -= 1
            return task.item(error=error)
        with self._lock:
            self._open[future] = task
        future.add_done_callback(self._settle)
        return None

    def _take(self) -> Item | None:
        with self._lock:
            if self._rules.ordered:
                item = self._by_number.pop(self._taken, None)
            else:
                item = self._in_order_of_end.popleft() if self._in_order_of_end else None
        self._taken += item is not None
        return item

    def _is_over(self) -> bool:
        with self._lock:
            if self._sent or self._later or self._by_number or self._in_order_of_end:
                return False
            return self._exhausted or self._stopped or self._fatal is not None

    def _wait(self) -> None:
        """Until a worker is done, or it is time to send something."""
        assert self.backend is not None
        with self._lock:
            longest = self._time_to_send_locked()
        with contextlib.suppress(Empty):
            take_from(self._news, longest)
            while True:  # one look at what has changed is enough
                self._news.get_nowait()
        try:
            self.backend.check()
        except Exception as error:
            self._abandon(error)

    def _time_to_send_locked(self) -> float:
        """In how many seconds something may be sent, or a look at the workers is due."""
        now = time.monotonic()
        wait = self._pace.wait(now)
        if wait is None:
            return CHECK_EVERY
        times = [CHECK_EVERY]
        if wait and not self._exhausted:
            times.append(wait)
        if self._later:
            times.append(max(wait, self._later[0][0] - now))
        return max(0.001, min(times))

    def _abandon(self, error: BaseException) -> None:
        """The workers are gone: what they were doing is not waited for."""
        with self._lock:
            self._fatal = self._fatal or error
            self._give_up_waiting_locked()
            self._open.clear()
            self._sent = 0
            # What came after it was finished, and is given out.
            self._in_order_of_end.extend(each for _, each in sorted(self._by_number.items()))
            self._by_number.clear()
            self._rules = dataclasses.replace(self._rules, ordered=False)

    # What workers do.

    def _settle(self, future: Future[Outcome]) -> None:
        outcome = outcome_of(future)
        with self._lock:
            task = self._open.pop(future, None)
            if task is None:
                return
            self._sent -= 1
            try:
                self._count_locked(task, outcome)
            except Exception as error:  # nothing may leave the program waiting
                self._fatal = self._fatal or error
        self._news.put(None)

    def _count_locked(self, task: Task, outcome: Outcome) -> None:
        now = time.monotonic()
        task.cost_usd += outcome.cost_usd
        task.seconds += outcome.seconds
        self.cost_usd += outcome.cost_usd
        error = outcome.error
        for _ in range(outcome.refusals):
            self._pace.noticed(now)
        if self._cancelled and isinstance(error, ClientClosed):
            error = TurnInterrupted("the batch was cancelled while this was asked")
        if error is None and outcome.answer is not None:
            tokens = tokens_of(outcome.answer)
            self._pace.answered(now, outcome.seconds, outcome.answer.num_turns, tokens)
            self._hopeless = self._lost = 0
            error = self._read_data(outcome)
        elif error is not None and is_refusal(error):
            self._pace.refused(now, outcome.seconds)
        else:
            self._pace.failed()
        if error is None:
            item = task.item(outcome.answer)
        else:
            task.attempts -= not outcome.was_sent
            if self._failed_locked(task, outcome, error, now):
                self._spend_locked(outcome.cost_usd)
                return
            item = task.item(error=error)
        self._finish_locked(item, task, outcome.cost_usd)

    def _read_data(self, outcome: Outcome) -> Exception | None:
        """Make the typed answer of what another process has sent."""
        from ..schema import Mismatch

        answer = outcome.answer
        if self._form is None or answer is None or answer.data is not None:
            return None
        try:
            answer.data = self._form.read(structured_output(answer))
            return None
        except Mismatch as mismatch:
            problems = tuple(mismatch.problems)
        except Exception as error:  # a class of the program's may raise anything
            problems = (f"{type(error).__name__}: {error}",)
        return ReturnsError(f"the answer is not {self._form.name}", answer, answer.result, problems)

    def _failed_locked(
        self, task: Task, outcome: Outcome, error: BaseException, now: float
    ) -> bool:
        """Note a failure; True if it is tried again."""
        tries = task.attempts + (not outcome.was_sent)
        delay = wait_before(max(1, tries), error, time.time(), random.random())
        resets_at = error.resets_at if isinstance(error, RateLimited) else None
        if resets_at is not None and resets_at > time.time():
            # It is the account's limit, so it is everybody's.
            logger.warning("the usage limit is reached; waiting for %.0f s", delay)
            self._pace.hold(now + delay)
        self._note_hopeless_locked(error)
        if self._stopped or self._given_up is not None:
            return False
        if not self._is_worth_it(task, outcome, error):
            return False
        if is_lost(error):
            delay = 0.0
        task.last_error = error
        logger.warning("retrying prompt %d in %.1f s: %s", task.index, delay, first_line(error))
        heapq.heappush(self._later, (now + delay, task.number, task))
        return True

    def _note_hopeless_locked(self, error: BaseException) -> None:
        workers = self._rules.workers
        if is_lost(error):
            self._lost += 1
        elif isinstance(error, HOPELESS_KINDS) or not isinstance(error, ClaudeError):
            self._hopeless += 1
        if self._given_up is None and (
            self._hopeless >= max(HOPELESS, workers) or self._lost >= LOST_IN_A_ROW * workers
        ):
            logger.warning("giving up on the rest of the batch: %s", first_line(error))
            self._given_up = error

    def _is_worth_it(self, task: Task, outcome: Outcome, error: BaseException) -> bool:
        if isinstance(error, CliDidNotStart):
            return not outcome.was_sent and self._hopeless <= self._rules.retries
        if task.attempts > self._rules.retries:
            return False
        if outcome.effects and not self._rules.retry_effects and is_worth_another_try(error):
            logger.warning("not retried, because tools were used; retry_effects=True allows it")
            return False
        return is_lost(error) or is_worth_another_try(error)

    def refused(self) -> None:
        """The service made a CLI wait."""
        with self._lock:
            self._pace.noticed(time.monotonic())

    def spend(self, amount: float) -> None:
        """Something was spent that is the cost of no item, and still counts."""
        with self._lock:
            self.cost_usd += amount
            self._spend_locked(amount)

    def _spend_locked(self, amount: float) -> None:
        if self._checkpoint is not None and not self._ended:
            try:
                self._checkpoint.spend(amount)
            except Exception as error:  # the disk is full
                self._fatal = self._fatal or error

    # The end.

    def stop(self) -> None:
        """Send nothing more. Handlers of signals call this, so it waits for no lock."""
        self._stopped = True
        self._news.put(None)

    def cancel(self) -> None:
        """Send nothing more, and withdraw what no worker has begun."""
        self.stop()
        with self._lock:
            self._cancelled = True
            futures = list(self._open)
        for future in futures:
            future.cancel()

    def end(self) -> None:
        """
        Nobody wants any more items; what still comes is not written down.

        What waits to be tried again is: it has cost something.
        """
        self.cancel()
        with self._lock:
            self._give_up_waiting_locked()
            self._ended = True

    def fail(self, error: BaseException) -> None:
        """Send nothing more, and raise *error* after what is finished."""
        with self._lock:
            self._fatal = self._fatal or error

    def _give_up_waiting_locked(self) -> None:
        """What was to be tried again is not; its item tells why it failed."""
        while self._later:
            task = self._later.pop()[2]
            self._finish_locked(task.item(error=task.last_error), task)

    def _finish_locked(self, item: Item, task: Task, spent: float = 0.0) -> None:
        """It is on the disk before anybody sees it."""
        # What was never asked has nothing to be remembered; what was restored is.
        is_told = not item.restored and (item.ok or item.attempts > 0)
        self._keys.discard(task.key)
        if self._checkpoint is not None and is_told and not self._ended:
            try:
                self._checkpoint.add(item, task, spent)
            except Exception as error:  # the disk is full
                self._fatal = self._fatal or error
        self.done += 1
        self.failed += item.error is not None
        if self._rules.ordered:
            self._by_number[task.number] = item
        else:
            self._in_order_of_end.append(item)


def tokens_of(answer: Any) -> int:
    """What counts against a limit of tokens: all but what the service had at hand."""
    usage = answer.usage
    names = ("input_tokens", "cache_creation_input_tokens", "output_tokens")
    return sum(int(usage.get(name) or 0) for name in names)


def first_line(error: BaseException) -> str:
    """What happened, in one line without secrets."""
    from ..support.redact import redact_text

    return redact_text(str(getattr(error, "reason", error))).partition("\n")[0]
