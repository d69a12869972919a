"""
Many prompts: ``claude_sync.map`` asks them all, on several CLIs at once.

::

    prompts -> map() -> [Batch] -> items

A :class:`Batch` is an iterator. Nothing is started before the first item is asked for, and
nothing is kept of what was given out, so a batch of a million needs as much memory as one
of a hundred. What drives it is ``batches/batching.py``.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import weakref
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    Iterator,
    List,
    Optional,
    Type,
    overload,
)

from .batches.batching import Run
from .batches.checkpoints import Checkpoint, refuse_to_overwrite
from .batches.crews import Crew, end_timers
from .batches.items import Item, Outcome, Task, row_of
from .batches.prompts import check_prompts, length_of, tasks_of
from .batches.work import Settings, attempt, attempt_in_worker, make_pool
from .client import HANDLERS, form_of, handlers_among
from .errors import UsageError
from .options import Options, names_of, options_from, signature_with
from .pool import Pool, check_count, refuse_conversations
from .prompts import read_once
from .runtime.engine import new_uuid
from .runtime.timers import Timers
from .support.checks import check_keywords, check_timeout

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar, Unpack

    from .batches.progress import Progress
    from .keywords import MapKeywords

    # What the answers' data are.
    D = TypeVar("D", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    D = TypeVar("D")

__all__ = ["Batch", "Item", "map"]

# The last so many failed items are kept for Batch.errors.
ERRORS_KEPT = 1000
# How long the end of a batch may take.
CLOSING_TIME = 10.0


class Batch(Generic[D]):
    """
    The items of :func:`map`, as they are finished; made by it.

    Iterate over it, once. ``with`` ends it when the block is left early.

    Attributes:
        total: How many prompts there are; None where nobody can know beforehand.
        errors: The items that failed, of those given out; the first 1000 of them.

    """

    def __init__(
        self,
        prompts: Iterable[Any],
        settings: Settings,
        *,
        executor: Optional[Executor],
        handlers: Dict[str, Any],
        retries: int,
        retry_effects: bool,
        budget_usd: Optional[float],
        checkpoint: Any,
        ordered: bool,
        progress: Optional[Progress],
        on_item: Optional[Callable[[Item[D]], object]],
        prompt: Optional[str],
    ) -> None:
        self.total = length_of(prompts)
        self.errors: List[Item[D]] = []
        self._prompts = prompts
        self._question = prompt
        self._settings = settings
        self._executor = executor
        self._handlers = handlers
        self._retries = retries
        self._retry_effects = retry_effects
        self._budget = budget_usd
        self._path = checkpoint
        self._ordered = ordered
        self._progress = progress
        self._on_item = on_item
        returns = settings.options.returns
        self._form = None if returns is None else form_of(returns)
        self._pool: Optional[Pool] = None
        self._run: Optional[Run] = None
        self._given = 0
        self._is_stopped = self._is_closing = False
        # It does not hold the batch, so that a forgotten one goes at once.
        self._iterator = items_of(weakref.ref(self))

    # Taking items.

    def __iter__(self) -> Iterator[Item[D]]:
        return self

    def __next__(self) -> Item[D]:
        item: Item[D] = next(self._iterator)
        return item

    def results(self) -> List[Item[D]]:
        """
        All items, in the order of the prompts.

        Waits for all of them. Of a batch with a checkpoint also those that were given out
        before.
        """
        if self._given and self._path is None:
            raise UsageError(
                "some items were taken from this batch already, and it keeps none. Call results() "
                "instead of iterating, or pass checkpoint=..., which keeps them."
            )
        if self._given:
            if not can_be_read_twice(self._prompts):
                raise UsageError(
                    "some items were taken from this batch already, and its prompts cannot be read "
                    "again. Call results() instead of iterating, or pass the prompts as a list."
                )
            for _ in self:
                pass
            return list(self._again())
        return sorted(self, key=lambda item: item.index)

    def to_jsonl(self, path: Any) -> int:
        """Write the items into a file, one JSON object a line, as they come; how many."""
        count = 0
        if self._path is not None:
            refuse_to_overwrite(self._path, path)
        items = self._all_or_rest()
        # Half a surrogate pair, which a prompt may have, is told as JSON tells it.
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            for item in items:
                file.write(json.dumps(item.as_json(), ensure_ascii=False) + "\n")
                count += 1
        return count

    def to_pandas(self) -> Any:
        """
        A DataFrame with a row for each item, in the order of the prompts.

        The rows have the labels of the column that the prompts came from, if they did. Fields
        of typed answers have columns of their own. Needs pandas.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise UsageError("to_pandas() needs pandas. Install it: pip install pandas.") from None
        items = self.results()
        rows = [row_of(item) for item in items]
        has_labels = bool(items) and all(item.id is not None for item in items)
        index = [item.id for item in items] if has_labels else None
        return pandas.DataFrame(rows, index=index)

    # What is known.

    @property
    def done(self) -> int:
        """How many prompts are finished, failed ones and those of earlier runs included."""
        return 0 if self._run is None else self._run.done

    @property
    def failed(self) -> int:
        """How many have failed."""
        return 0 if self._run is None else self._run.failed

    @property
    def cost_usd(self) -> float:
        """What it has cost so far: failed attempts and earlier runs included."""
        return 0.0 if self._run is None else self._run.cost_usd

    def __repr__(self) -> str:
        total = "?" if self.total is None else self.total
        return f"<Batch {self.done} of {total} done, {self.failed} failed, {self.cost_usd:.4f} USD>"

    # Ending it.

    def stop(self) -> None:
        """Send nothing more. What is being answered is finished, and still comes."""
        self._is_stopped = True
        if self._run is not None:
            self._run.stop()

    def _abandon(self) -> None:
        """Raise KeyboardInterrupt in the loop over the items; for handlers of signals."""
        self.stop()
        if self._run is not None:
            self._run.abandoned = True

    def cancel(self) -> None:
        """
        Stop now: what is being answered is interrupted, and comes as failed.

        From any thread; the loop over the items ends soon after. What workers of an
        ``executor`` have begun cannot be interrupted, and is waited for; :meth:`close` does not
        wait.
        """
        self._is_stopped = True
        if self._run is not None:
            self._run.cancel()
        if self._pool is not None:
            self._pool.close(CLOSING_TIME)

    def close(self) -> None:
        """End it without waiting for the rest. Twice is harmless."""
        if self._iterator.gi_running:  # on_item calls this, or another thread
            self.cancel()
        else:
            self._is_closing = True
            self._iterator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # How.

    def _begin(self, ending: ExitStack) -> Run:
        """Make what does the work; *ending* gets what is to be done after it."""
        checkpoint = None
        if self._progress is not None:
            ending.callback(self._progress.end)
        if self._path is not None:
            checkpoint = Checkpoint(self._path, None if self._form is None else self._form.schema)
            ending.callback(checkpoint.close)
        run_id = new_uuid()
        if checkpoint is not None and checkpoint.finished and can_be_read_twice(self._prompts):
            # Before anything is sent.
            checkpoint.check(tasks_of(self._prompts, run_id, self._question))
        crew = None
        if self._executor is None:
            crew = Crew(f"batch-{run_id[:8]}")
        pools: List[Pool] = []
        run = self._run = Run(
            tasks_of(self._prompts, run_id, self._question),
            submitter(self._settings, self._executor, crew, pools),
            workers=self._settings.workers,
            retries=self._retries,
            retry_effects=self._retry_effects,
            budget_usd=self._budget,
            ordered=self._ordered,
            checkpoint=checkpoint,
            form=self._form,
        )
        ending.callback(run.end)
        if crew is not None:
            ending.callback(crew.close, CLOSING_TIME)
            self._pool = make_pool(self._settings, self._handlers, run.slow_down, run.spend)
            pools.append(self._pool)
            ending.callback(self._pool.close, CLOSING_TIME)
        ending.callback(run.cancel)
        if self._is_stopped:
            run.stop()
        if self._progress is not None:
            self._progress.begin(weakref.proxy(self))
        return run

    def _note(self, item: Item[D]) -> None:
        self._given += 1
        if item.error is not None and len(self.errors) < ERRORS_KEPT:
            self.errors.append(item)
        if self._progress is not None:
            self._progress.tell()
        if self._on_item is not None:
            self._on_item(item)

    def _all_or_rest(self) -> Iterable[Item]:
        return self.results() if self._given else self

    def _again(self, first: int = 0) -> Iterator[Item]:
        """
        The items once more, from number *first* on: finished ones from the checkpoint, the
        others as they were given out.
        """
        failed = {item.index: item for item in self.errors}
        schema = None if self._form is None else self._form.schema
        checkpoint = Checkpoint(self._path, schema)
        try:
            for task in itertools.islice(tasks_of(self._prompts, "", self._question), first, None):
                if checkpoint.is_finished(task):
                    yield checkpoint.restore(task, self._form)
                elif task.index in failed:
                    yield failed[task.index]
        finally:
            checkpoint.close()


def items_of(find: Callable[[], Optional[Batch]]) -> Any:
    """
    The items of the batch that *find* finds; and its end, in the order of the last first.

    A batch that was forgotten is found no more. Then the garbage collector may have come here,
    on any thread, whatever locks that thread holds; so the end is left to another one.
    """
    ending = ExitStack()
    timers = Timers("batch")
    is_forgotten = False
    try:
        timers.start()
        ending.callback(end_timers, timers)
        run = found(find)._begin(ending)
        for item in run.items():
            found(find)._note(item)
            yield item
    except GeneratorExit:
        batch = find()
        is_forgotten = batch is None or not batch._is_closing
        raise
    finally:
        if is_forgotten:
            timers.run_soon(ending.close)
        else:
            ending.close()


def found(find: Callable[[], Optional[Batch]]) -> Batch:
    """The batch, of which the next item was just asked for."""
    batch = find()
    assert batch is not None
    return batch


def can_be_read_twice(prompts: Iterable[Any]) -> bool:
    """Whether iterating again gives the same prompts, and not those that are left."""
    return iter(prompts) is not prompts


# What map() takes beside options.
MAP_ARGUMENTS = (
    *("workers", "executor", "timeout", "idle_timeout", "checkpoint", "ordered", "progress"),
    "on_item",
)


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: Type[T],
    on_item: Optional[Callable[[Item[T]], object]] = None,
    options: Optional[Options] = None,
    **settings: Unpack[MapKeywords],
) -> Batch[T]: ...


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: None = None,
    on_item: Optional[Callable[[Item[None]], object]] = None,
    options: None = None,
    **settings: Unpack[MapKeywords],
) -> Batch[None]: ...


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: Any = None,
    on_item: Optional[Callable[[Item[Any]], object]] = None,
    options: Optional[Options] = None,
    **settings: Unpack[MapKeywords],
) -> Batch[Any]: ...


def map(
    prompts: Iterable[Any],
    *,
    prompt: Optional[str] = None,
    workers: int = 4,
    executor: Optional[Executor] = None,
    returns: Any = None,
    budget_usd: Optional[float] = None,
    retries: int = 2,
    timeout: Optional[float] = None,
    idle_timeout: Optional[float] = None,
    checkpoint: Any = None,
    ordered: bool = True,
    progress: bool = False,
    on_item: Optional[Callable[[Item], object]] = None,
    options: Optional[Options] = None,
    **overrides: Any,
) -> Batch[Any]:
    """
    Ask many prompts, several at once, each in a conversation of its own::

        for item in claude_sync.map(prompts, workers=8, checkpoint="run.jsonl"):
            print(item.index, item.answer or item.error)

    Args:
        prompts: Texts, or dicts ``{"prompt": ..., "attach": ..., "id": ...}``, or the column
            of a pandas table; read as they are needed. They are sent as they are;
            ``verbatim=False`` has the CLI read ``@path`` and run ``/commands`` in them.
        prompt: One question to ask about each text, which stands before it as data.
        workers: How many are asked at once.
        executor: Where: any ``concurrent.futures.Executor``; threads of its own by default.
        returns: The form of ``item.data``: a dataclass, TypedDict, Pydantic model or schema.
        budget_usd: Nothing is sent once so much is spent, earlier runs included.
        retries: How often a prompt is tried again after an overload, a used-up limit or a
            crash; never after tools were used, unless ``retry_effects=True``.
        timeout, idle_timeout: Of each attempt, in seconds, as for ``Client.ask``.
        checkpoint: A file that keeps what is finished; the same call goes on from there.
        ordered: False gives items as they are finished.
        progress: Whether to show a bar, on a terminal or in a notebook.
        on_item: Called with each item before it is given out.
        options, overrides: The settings of the clients, as for ``Client``.

    """
    check_keywords("map()", overrides, MAP_ARGUMENTS, names_of(Options))
    check_prompts(prompts)
    check_count("workers", workers)
    if prompt is not None:
        read_once(prompt)
    # Checked as a client's are. What comes from a table must not read files or run commands.
    given: Dict[str, Any] = {"verbatim": True, **overrides, "retries": retries}
    if budget_usd is not None:
        given["budget_usd"] = budget_usd
    if returns is not None:
        given["returns"] = returns
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise UsageError(f"checkpoint is the path of a file, not {checkpoint!r}.")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UsageError(
            f"executor is a concurrent.futures.Executor, not {type(executor).__name__}. A Dask "
            "client gives one: client.get_executor()."
        )
    handlers = handlers_among(given)
    settings = options_from(options, given)
    refuse_conversations(settings)
    if executor is not None and handlers:
        raise UsageError(
            f"{next(iter(handlers))}= cannot be called from another process. Leave it out, or "
            "leave executor= out."
        )
    if settings.returns is not None:
        form_of(settings.returns)  # refused now, if it is none
    # Tries are counted by the batch, and each is a conversation of its own.
    own = settings.replace(budget_usd=None, retries=0, retry_effects=False, on_crash="raise")
    return Batch(
        prompts,
        Settings(
            own,
            workers,
            check_timeout("timeout", timeout),
            check_timeout("idle_timeout", idle_timeout),
        ).with_key(),
        executor=executor,
        handlers=handlers,
        retries=settings.retries,
        retry_effects=settings.retry_effects,
        budget_usd=settings.budget_usd,
        checkpoint=checkpoint,
        ordered=ordered,
        progress=shown_progress() if progress else None,
        on_item=on_item,
        prompt=prompt,
    )


map.__signature__ = signature_with(map, more=HANDLERS)  # type: ignore[attr-defined]


def submitter(
    settings: Settings, executor: Optional[Executor], crew: Optional[Crew], pools: List[Pool]
) -> Callable[[Task], Future[Outcome]]:
    """
    What has a worker make an attempt, with the only pool in *pools* if it is a thread of ours.

    It does not know the batch: what is being answered must not keep a forgotten one alive.
    """

    def submit(task: Task) -> Future[Outcome]:
        if crew is not None:
            return crew.submit(attempt, pools[0], settings, task)
        assert executor is not None
        return executor.submit(attempt_in_worker, settings, task)

    return submit


def shown_progress() -> Progress:
    """The bar that fits where the program runs."""
    from .batches.progress import HarmlessProgress, progress_for

    return HarmlessProgress(progress_for())
