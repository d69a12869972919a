"""
Many prompts: ``claude_sync.map`` asks them all, on several CLIs at once.

::

    prompts -> map() -> [Batch] -> items

A :class:`Batch` is an iterator. Nothing is started before the first item is asked for, and
nothing is kept of what was given out, so a batch of a million needs as much memory as one
of a hundred. What drives it is ``run.py``.
"""

from __future__ import annotations

import importlib
import inspect
import os
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Generic, overload

from ..client import HANDLERS, form_of, handlers_among
from ..errors import UsageError
from ..options import Options, names_of, options_from, signature_with
from ..prompts import read_once
from ..support.checks import check_keywords, check_timeout
from .checkpoint import ON_CHANGE, Checkpoint, settings_told, shard_path
from .crew import check_count, in_background, refuse_conversations
from .items import Item, Prompts, check_prompts
from .limits import Pace
from .progress import Summary, progress_for
from .run import Rules, Run
from .tables import row_of, writer_for
from .workers import Executors, Settings, Threads, backend_for, check_executor, crew_for

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar, Unpack

    from ..client.keywords import MapKeywords

    # What the answers' data are.
    D = TypeVar("D", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    D = TypeVar("D")

__all__ = ["Batch", "map"]

# The first so many failed items are kept for Batch.errors.
ERRORS_KEPT = 1000


class Batch(Generic[D]):
    """
    The items of :func:`map`, as they are finished; made by it.

    Iterate over it, once. ``with`` ends it when the block is left early.

    Attributes:
        total: How many prompts there are; None where nobody can know beforehand.
        errors: The items that failed, of those given out; the first 1000 of them.
        summary: What came of the items so far; ``print(batch.summary)`` shows how long they
            took and what they cost.

    """

    def __init__(
        self,
        prompts: Prompts,
        form: Any,
        begin: Callable[[], Run],
        progress: bool,
        on_item: Callable[[Item[D]], object] | None,
    ) -> None:
        self.total = prompts.total
        self.errors: list[Item[D]] = []
        self.summary = Summary()
        self._form = form
        self._begin = begin
        self._progress = progress_for() if progress else None
        self._on_item = on_item
        self._run: Run | None = None
        self._items: Iterator[Item[D]] = iter(())
        # What ends a batch that is forgotten.
        self._forgotten: weakref.finalize[Any, Any] | None = None
        self._given = 0
        self._is_stopped = self._is_over = self._is_driven = False

    # Taking items.

    def __iter__(self) -> Iterator[Item[D]]:
        return self

    def __next__(self) -> Item[D]:
        if self._is_over:
            raise StopIteration
        self._is_driven = True
        try:
            if self._run is None:
                self._start()
            item = next(self._items)
            self._note(item)
        except BaseException:
            self._end()
            raise
        finally:
            self._is_driven = False
        return item

    def results(self) -> list[Item[D]]:
        """
        All items, in the order of the prompts.

        Waits for all of them.
        """
        if self._given:
            raise UsageError(
                "some items of this batch were already taken, and it does not keep them. Call "
                "results() instead of iterating; with checkpoint=, the same call to map() yields "
                "all of them again."
            )
        return sorted(self, key=lambda item: item.index)

    def to_jsonl(self, path: Any) -> int:
        """Write the items into a file, one JSON object a line, as they come; how many."""
        return self.write(path, "jsonl")

    def to_csv(self, path: Any) -> int:
        """Write the items into a CSV file, as they come; fields of typed answers are columns."""
        return self.write(path, "csv")

    def to_parquet(self, path: Any) -> int:
        """As :meth:`to_csv`, into a Parquet file with typed columns. Needs pyarrow."""
        return self.write(path, "parquet")

    def write(self, path: Any, kind: str) -> int:
        """Write the items into a file: ``"jsonl"``, ``"csv"``, ``"tsv"`` or ``"parquet"``."""
        items = self.results() if self._given else self  # before a file is made empty
        count = 0
        with writer_for(path, kind, None if self._form is None else self._form.schema) as write:
            for item in items:
                write(item)
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
        has_labels = bool(items) and all(item.id is not None for item in items)
        index = [item.id for item in items] if has_labels else None
        table = pandas.DataFrame([row_of(item) for item in items], index=index)
        return table.drop(columns=["index", "id"], errors="ignore")

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

    def close(self) -> None:
        """End it without waiting for the rest. Twice is harmless."""
        if self._is_driven:  # on_item calls this, or another thread
            self.cancel()
        else:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # How.

    def _start(self) -> None:
        self._run = run = self._begin()
        self._items = run.items()
        self._forgotten = weakref.finalize(self, in_background, run.end)
        self._forgotten.atexit = False
        if self._is_stopped:
            run.stop()

    def _end(self) -> None:
        self._is_over = True
        if self._progress is not None:
            self._progress.end(self)
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._run is not None:
            self._run.end()

    def _note(self, item: Item[D]) -> None:
        self._given += 1
        if item.error is not None and len(self.errors) < ERRORS_KEPT:
            self.errors.append(item)
        self.summary.add(item, self.cost_usd)
        if self._progress is not None:
            self._progress.tell(self)
        if self._on_item is not None:
            self._on_item(item)


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: type[T],
    on_item: Callable[[Item[T]], object] | None = None,
    options: Options | None = None,
    **settings: Unpack[MapKeywords],
) -> Batch[T]: ...


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: None = None,
    on_item: Callable[[Item[None]], object] | None = None,
    options: None = None,
    **settings: Unpack[MapKeywords],
) -> Batch[None]: ...


@overload
def map(
    prompts: Iterable[Any],
    *,
    returns: Any = None,
    on_item: Callable[[Item[Any]], object] | None = None,
    options: Options | None = None,
    **settings: Unpack[MapKeywords],
) -> Batch[Any]: ...


def map(
    prompts: Iterable[Any],
    *,
    prompt: str | None = None,
    workers: int = 4,
    executor: Executor | Any = None,
    returns: Any = None,
    budget_usd: float | None = None,
    retries: int = 2,
    timeout: float | None = None,
    idle_timeout: float | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    checkpoint: Any = None,
    on_change: str = "raise",
    id: str | Callable[[Any], Any] | None = None,
    shard: tuple[int, int] | None = None,
    ordered: bool = True,
    progress: bool = False,
    on_item: Callable[[Item], object] | None = None,
    options: Options | None = None,
    **overrides: Any,
) -> Batch[Any]:
    """
    Ask many prompts, several at once, each in a conversation of its own::

        for item in claude_sync.map(prompts, workers=8, checkpoint="run.db"):
            print(item.index, item.answer or item.error)

    Args:
        prompts: Texts, or dicts ``{"prompt": ..., "attach": ..., "id": ...}``, or the column
            of a pandas table; read as they are needed. They are sent as they are;
            ``verbatim=False`` has the CLI read ``@path`` and run ``/commands`` in them.
        prompt: One question to ask about each text, which stands before it as data; or about
            the files of rows such as ``{"attach": ["a.pdf"]}``.
        workers: How many are asked at once.
        executor: Where: any ``concurrent.futures.Executor``, a client of Dask's, or the module
            ``ray``; threads of its own by default.
        returns: The form of ``item.data``: a dataclass, TypedDict, Pydantic model or schema.
        budget_usd: Send nothing more once this much is spent, earlier runs included.
        retries: How often a prompt is tried again after an overload, a failure of the service,
            a used-up limit or a crash; never after tools were used, unless
            ``retry_effects=True``.
        timeout, idle_timeout: Of each attempt, in seconds, as for ``Client.ask``.
        requests_per_minute, tokens_per_minute: What all workers together may send.
        checkpoint: A SQLite file that keeps the finished items; the same call continues
            from there.
        on_change: What to do about answers in the checkpoint that were made with other
            settings, prompts or attachments: ``"raise"``, ``"ask_again"`` or ``"keep"``.
        id: How the checkpoint identifies a prompt: a key of the prompts' dicts, or a function of
            the prompt. The default is its position, so you may only append prompts.
        shard: ``(k, n)`` asks every n-th prompt from number k on, k from 0, with a checkpoint
            of its own, ``PATH.k-of-n``.
        ordered: False gives items as they are finished.
        progress: Whether to show a bar on a terminal, a table in a notebook.
        on_item: Called with each item before it is given out.
        options, overrides: The settings of the clients, as for ``Client``.

    """
    check_keywords("map()", overrides, tuple(map.__kwdefaults__ or ()), names_of(Options))
    check_prompts(prompts)
    check_count("workers", workers)
    if prompt is not None:
        read_once(prompt)
    pace = Pace(workers, requests_per_minute, tokens_per_minute)
    if executor is not None:
        check_executor(executor)
    check_remembering(checkpoint, on_change, id, shard)
    # Checked as a client's are. What comes from a table must not read files or run commands.
    named: dict[str, Any] = {"verbatim": True, **overrides, "retries": retries}
    if budget_usd is not None:
        named["budget_usd"] = budget_usd
    if returns is not None:
        named["returns"] = returns
    handlers = handlers_among(named)
    settings = options_from(options, named)
    refuse_conversations(settings)
    if executor is not None and handlers:
        raise UsageError(
            f"{next(iter(handlers))}= cannot be called from another process. Leave it out, or "
            "leave executor= out."
        )
    form = None if settings.returns is None else form_of(settings.returns)  # refused now, if none
    # Tries are counted by the batch, and each is a conversation of its own.
    own = settings.replace(budget_usd=None, retries=0, retry_effects=False, on_crash="raise")
    timeouts = (check_timeout("timeout", timeout), check_timeout("idle_timeout", idle_timeout))
    path = checkpoint if checkpoint is None or shard is None else shard_path(checkpoint, shard)
    rules = Rules(
        workers, settings.retries, settings.retry_effects, settings.budget_usd, ordered, form
    )
    asking = Settings(own, workers, *timeouts).with_key()

    def make_backend(refused: Callable[[], None]) -> Executors:
        if executor is not None:
            return backend_for(executor, asking)
        return Threads(crew_for(asking, handlers, refused), asking)

    def begin() -> Run:
        remembered = None
        if path is not None:
            values = {**{name: getattr(own, name) for name in names_of(Options)}, "prompt": prompt}
            told = settings_told(values, None if form is None else form.schema)
            remembered = Checkpoint(path, told, on_change)
        return Run(given, rules, pace, make_backend, remembered, uuid.uuid4().hex)

    given = Prompts(prompts, prompt, id, shard)
    return Batch(given, form, begin, progress, on_item)


def signature_of_map() -> inspect.Signature:
    """With the default of ``verbatim``, which is another one than that of a client."""
    signature = signature_with(map, more=HANDLERS)
    parameters = {**signature.parameters}
    parameters["verbatim"] = parameters["verbatim"].replace(default=True)
    return signature.replace(parameters=list(parameters.values()))


map.__signature__ = signature_of_map()  # type: ignore[attr-defined]


def check_remembering(checkpoint: Any, on_change: Any, identify: Any, shard: Any) -> None:
    """Refuse what makes no sense of a checkpoint and of what belongs to it."""
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise UsageError(f"checkpoint is the path of a file, not {checkpoint!r}.")
    if on_change not in ON_CHANGE:
        raise UsageError(f"on_change is one of {', '.join(ON_CHANGE)}, not {on_change!r}.")
    if identify is not None and not isinstance(identify, str) and not callable(identify):
        raise UsageError(f"id is the name of a key or column, or a function, not {identify!r}.")
    if shard is None:
        return
    fits = isinstance(shard, tuple) and len(shard) == 2
    fits = fits and all(isinstance(each, int) and each is not True for each in shard)
    if not fits or not 0 <= shard[0] < shard[1]:
        raise UsageError(
            f"shard is (k, n) with k from 0 to n - 1, not {shard!r}: the k-th of n parts."
        )
