"""
Drive a batch: send prompts, take in outcomes, try again, and give out items.

::

    prompts -> [fill] -> workers -> [settle] -> checkpoint -> [items] -> program

Every wait of ``claude_sync.map`` is here. Decisions taken here and nowhere else:

* The program's thread drives: it reads the prompts, so that a generator is used by one
  thread only, and nothing is sent that nobody is going to look at. Workers settle what they
  have done by themselves: an item is in the checkpoint when it is finished, not when the
  program asks for it.
* No more is open than the pace allows, so no more than that can be lost, or be spent beyond
  the budget, which is looked at before each send.
* Every prompt that was read has exactly one item, whatever happens.
* After a few failures in a row of a kind that no prompt can avoid (no CLI, no login, no
  workers) the rest is not tried.
* What makes the whole batch impossible is raised after the items that were finished.
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Optional, Set, Tuple

from ..errors import (
    BudgetExceeded,
    ClaudeError,
    CliDidNotStart,
    ClientClosed,
    CliNotFound,
    NotLoggedIn,
    Overloaded,
    RateLimited,
    ReturnsError,
    TurnInterrupted,
    UsageError,
)
from ..log import logger
from ..prompts import read_once
from ..protocol.tries import is_worth_another_try, wait_before
from ..support.waiting import Deadline, wait_for
from .crews import first_line, outcome_of
from .items import Item, Outcome, Task
from .pacing import Pace

if TYPE_CHECKING:
    from .checkpoints import Checkpoint

__all__ = ["Run"]

# So many failures in a row that no prompt can avoid are enough; at least one of each worker.
HOPELESS = 3
# So many prompts for each worker may have been read of which no item was taken yet.
AHEAD = 32

Submit = Callable[[Task], "Future[Outcome]"]


class Run:
    """
    One batch on its way.

    Args:
        tasks: The prompts.
        submit: Has a worker make an attempt.
        workers: How many at once.
        retries: How often a prompt may be tried again.
        retry_effects: Also when tools were used.
        budget_usd: No more is sent once so much is spent.
        ordered: Whether items come in the order of the prompts.
        checkpoint: Where finished items are kept, or None.
        form: Reads typed answers that come from another process, or None.

    """

    def __init__(
        self,
        tasks: Iterator[Task],
        submit: Submit,
        *,
        workers: int,
        retries: int,
        retry_effects: bool,
        budget_usd: Optional[float],
        ordered: bool,
        checkpoint: Optional[Checkpoint],
        form: Any,
    ) -> None:
        self._tasks = tasks
        self._submit = submit
        self._workers = workers
        self._retries = retries
        self._retry_effects = retry_effects
        self._budget = budget_usd
        self._ordered = ordered
        self._checkpoint = checkpoint
        self._form = form
        # Only the program's thread uses these.
        self._read = 0
        self._exhausted = False
        self._next_index = self._taken = 0
        # Guards everything below; told of every change.
        self._changed = threading.Condition(threading.Lock())
        self._news = False
        self._pace = Pace(workers)
        self._open: Set[Future[Outcome]] = set()
        self._sent = 0
        self._later: List[Tuple[float, int, Task]] = []
        self._by_index: Dict[int, Item] = {}
        self._in_order_of_end: Deque[Item] = deque()
        self._stopped = self._cancelled = self._ended = False
        self._fatal: Optional[BaseException] = None
        self._given_up: Optional[BaseException] = None
        self._hopeless = 0
        # Set by a handler of signals, which may have come anywhere: it needs no lock.
        self.abandoned = False
        self.done = self.failed = 0
        self.cost_usd = 0.0 if checkpoint is None else checkpoint.cost_usd

    # What the program's thread does.

    def items(self) -> Iterator[Item]:
        """The items, as they are finished, or in order."""
        while True:
            if self.abandoned:
                raise KeyboardInterrupt
            self._fill()
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
            task = self._due_again()
            if task is None:
                task = self._next_task()
            if task is None:
                return
            try:
                item = self._item_without_asking(task)
            except Exception as error:  # the checkpoint belongs to other prompts
                self._fail(error)
                return
            if item is None:
                item = self._send(task)
            if item is not None:
                with self._changed:
                    self._finish_locked(item, task)
                if not self._ordered or item.index == self._next_index:
                    return

    def _may_send(self) -> bool:
        with self._changed:
            if self._stopped or self._fatal is not None:
                self._give_up_waiting_locked()
                return False
            now = time.monotonic()
            return self._sent < self._pace.window and not self._pace.wait(now)

    def _due_again(self) -> Optional[Task]:
        """A prompt whose time to be tried again has come."""
        with self._changed:
            if self._later and self._later[0][0] <= time.monotonic():
                return heapq.heappop(self._later)[2]
        return None

    def _next_task(self) -> Optional[Task]:
        if self._exhausted:
            return None
        if self._read - self._taken >= AHEAD * self._workers:
            return None  # what is finished waits for one that is not, or for the program
        try:
            task = next(self._tasks)
        except StopIteration:
            self._exhausted = True
            if self._checkpoint is not None:
                try:
                    self._checkpoint.check_end(self._read)
                except UsageError as error:
                    self._fail(error)
            return None
        except BaseException as error:
            self._exhausted = True
            if not isinstance(error, Exception):
                raise
            self._fail(error)
            return None
        self._read += 1
        return task

    def _item_without_asking(self, task: Task) -> Optional[Item]:
        if task.error is not None:
            return task.item(error=task.error)
        checkpoint = None if task.attempts else self._checkpoint
        if checkpoint is not None and checkpoint.is_finished(task):
            return checkpoint.restore(task, self._form)
        if self._given_up is not None:
            return task.item(error=task.last_error or self._given_up)
        if self._budget is not None and self.cost_usd >= self._budget:
            # The reason is told, not the failure before: a larger budget is what helps.
            return task.item(
                error=BudgetExceeded(
                    f"the batch has cost {self.cost_usd:.4f} USD of its budget of {self._budget:g}"
                )
            )
        return None

    def _send(self, task: Task) -> Optional[Item]:
        """Have a worker ask; an item, if that cannot be done."""
        try:
            sent = task.to_send()
            if task.question is None:
                sent.prompt, sent.attach = read_once(task.prompt, task.attach)
            else:
                sent.prompt, sent.attach = read_once(task.question, task.attach, task.prompt)
        except Exception as error:  # a file that is missing, an object that is no file
            return task.item(error=error)
        task.attempts += 1
        sent.attempts = task.attempts
        begun = time.monotonic()
        with self._changed:
            self._sent += 1
        try:
            future = self._submit(sent)
        except Exception as error:  # an executor that is broken, or was shut down
            with self._changed:
                self._sent -= 1
                self._given_up = error
            task.attempts -= 1
            return task.item(error=error)
        with self._changed:
            self._open.add(future)
        future.add_done_callback(lambda done: self._settle(task, done, begun))
        return None

    def _take(self) -> Optional[Item]:
        with self._changed:
            self._news = False
            if not self._ordered:
                item = self._in_order_of_end.popleft() if self._in_order_of_end else None
            else:
                item = self._by_index.pop(self._next_index, None)
            if item is not None:
                self._next_index += 1
        if item is not None:
            self._taken += 1
        return item

    def _is_over(self) -> bool:
        with self._changed:
            if self._sent or self._later or self._by_index or self._in_order_of_end:
                return False
            return self._exhausted or self._stopped or self._fatal is not None

    def _wait(self) -> None:
        """Until a worker is done, or it is time to send something."""
        with self._changed:
            deadline = Deadline(self._time_to_send_locked())
            wait_for(self._changed, lambda: self._news or self.abandoned, deadline)

    def _time_to_send_locked(self) -> Optional[float]:
        """In how many seconds something can be sent; None: not before a worker is done."""
        if self._sent >= self._pace.window:
            return None
        now = time.monotonic()
        hold = self._pace.wait(now)
        times = [hold] if hold and not self._exhausted else []
        if self._later:
            times.append(max(hold, self._later[0][0] - now))
        return max(0.0, min(times)) if times else None

    # What workers do.

    def _settle(self, task: Task, future: Future[Outcome], begun: float) -> None:
        outcome = outcome_of(future)
        with self._changed:
            self._open.discard(future)
            self._sent -= 1
            self._news = True
            try:
                self._count_locked(task, outcome, begun)
            except Exception as error:  # nothing may leave the program waiting
                self._fatal = self._fatal or error
            self._changed.notify_all()

    def _count_locked(self, task: Task, outcome: Outcome, begun: float) -> None:
        task.cost_usd += outcome.cost_usd
        task.seconds += outcome.seconds
        self.cost_usd += outcome.cost_usd
        error = outcome.error
        if self._cancelled and isinstance(error, ClientClosed):
            error = TurnInterrupted("the batch was cancelled while this was asked")
        if error is None and outcome.answer is not None:
            self._pace.speed_up()
            self._hopeless = 0
            error = self._read_data(outcome)
        if error is None:
            item = task.item(outcome.answer)
        else:
            if not outcome.was_sent:
                task.attempts -= 1
            if self._failed_locked(task, outcome, error, begun):
                return
            item = task.item(error=error)
        self._finish_locked(item, task)

    def _read_data(self, outcome: Outcome) -> Optional[Exception]:
        """Make the typed answer of what another process has sent."""
        from ..schema import Mismatch
        from .items import structured_output

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
        self, task: Task, outcome: Outcome, error: BaseException, begun: float
    ) -> bool:
        """Note a failure; True if it is tried again."""
        now = time.monotonic()
        kind = type(error)
        tries = task.attempts + (not outcome.was_sent)
        until_reset = None if outcome.until is None else outcome.until - time.time()
        delay = wait_before(max(1, tries), kind, until_reset, random.random())
        if isinstance(error, (Overloaded, RateLimited)):
            self._pace.slow_down(now, delay, begun)
        if isinstance(error, HOPELESS_KINDS) or not isinstance(error, ClaudeError):
            self._hopeless += 1
            if self._hopeless >= max(HOPELESS, self._workers) and self._given_up is None:
                logger.warning("giving up on the rest of the batch: %s", error)
                self._given_up = error
        if self._stopped or self._given_up is not None:
            return False
        if not self._is_worth_it(task, outcome, error):
            return False
        task.last_error = error
        logger.warning("retrying prompt %d in %.1f s: %s", task.index, delay, first_line(error))
        heapq.heappush(self._later, (now + delay, task.index, task))
        return True

    def _is_worth_it(self, task: Task, outcome: Outcome, error: BaseException) -> bool:
        if isinstance(error, CliDidNotStart):
            return not outcome.was_sent and self._hopeless <= self._retries
        if task.attempts > self._retries or not is_worth_another_try(type(error)):
            return False
        if outcome.effects and not self._retry_effects:
            logger.warning("not retried, because tools were used; retry_effects=True allows it")
            return False
        return True

    def slow_down(self, delay: float) -> None:
        """A client was told to wait, and does so: the others do, too."""
        with self._changed:
            now = time.monotonic()
            self._pace.slow_down(now, delay, now)

    def spend(self, amount: float) -> None:
        """Something was spent that is the cost of no item, and still counts."""
        with self._changed:
            self.cost_usd += amount
            if self._checkpoint is not None and not self._ended:
                try:
                    self._checkpoint.add_cost(amount)
                except Exception as error:  # the disk is full
                    self._fatal = self._fatal or error

    # The end.

    def stop(self) -> None:
        """Send nothing more; what is open is finished."""
        self._stopped = self._news = True
        # Ctrl-C may have come while this very thread holds the lock. Then the next slice of
        # the wait sees it.
        if self._changed.acquire(blocking=False):
            self._changed.notify_all()
            self._changed.release()

    def cancel(self) -> None:
        """Send nothing more, and withdraw what no worker has begun."""
        self.stop()
        with self._changed:
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
        with self._changed:
            self._give_up_waiting_locked()
            self._ended = True

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._fatal = self._fatal or error

    def _give_up_waiting_locked(self) -> None:
        """What was to be tried again is not; its item tells why it failed."""
        while self._later:
            task = self._later.pop()[2]
            self._finish_locked(task.item(error=task.last_error), task)

    def _finish_locked(self, item: Item, task: Task) -> None:
        """It is on the disk before anybody sees it."""
        # What was never asked has nothing to be remembered; what was restored is.
        is_told = not item.restored and (item.ok or item.attempts > 0)
        if self._checkpoint is not None and is_told and not self._ended:
            try:
                self._checkpoint.add(item, task.digest)
            except Exception as error:  # the disk is full
                self._fatal = self._fatal or error
        self._put_locked(item)

    def _put_locked(self, item: Item) -> None:
        self.done += 1
        self.failed += item.error is not None
        if self._ordered:
            self._by_index[item.index] = item
        else:
            self._in_order_of_end.append(item)


HOPELESS_KINDS = (NotLoggedIn, CliNotFound, CliDidNotStart)
