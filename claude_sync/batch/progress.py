"""
How far a batch is, and what came of it.

On a terminal a bar of tqdm's where that is installed, else one line that changes; in a
notebook a table that fills. Nothing is shown where nobody looks.
"""

from __future__ import annotations

import datetime
import importlib
import random
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..log import logger

if TYPE_CHECKING:
    from .batches import Batch
    from .items import Item

__all__ = ["Progress", "Summary", "progress_for"]

# Nothing is written more often than somebody can read it.
REFRESH = 0.1
# From so many items, drawn by chance, a distribution is told.
SAMPLE = 2000


class Summary:
    """
    What came of the items that were given out.

    ``str()`` of it is a small table; so is what a notebook shows of it.

    Attributes:
        count, failed, restored: How many items; of these, failed and from earlier runs.
        cost_usd: What the batch has cost, earlier runs included.
        seconds: Since the first item was asked for.

    """

    def __init__(self) -> None:
        self.count = self.failed = self.restored = 0
        self.cost_usd = 0.0
        self._begun = self._last = time.monotonic()
        self._sample: list[tuple[float, float]] = []
        self._asked = 0

    def add(self, item: Item, cost_usd: float) -> None:
        """An item was given out; the batch has cost so much."""
        self.count += 1
        self.failed += item.error is not None
        self.restored += item.restored
        self.cost_usd = cost_usd
        self._last = time.monotonic()
        if item.restored or not item.attempts:
            return
        self._asked += 1
        figures = (item.seconds, item.cost_usd)
        if len(self._sample) < SAMPLE:
            self._sample.append(figures)
        else:
            # Every item is in the sample with the same chance.
            place = random.randrange(self._asked)
            if place < SAMPLE:
                self._sample[place] = figures

    @property
    def seconds(self) -> float:
        """From the beginning to the last item."""
        return self._last - self._begun

    @property
    def rate(self) -> float:
        """How many a second; what comes from earlier runs is not counted."""
        count = self.count - self.restored
        return count / self.seconds if self.seconds > 0 else 0.0

    def quantiles(self, which: str) -> tuple[float, float, float]:
        """The median, the 95th percentile and the largest of ``"seconds"`` or ``"cost_usd"``."""
        values = sorted(figures[which == "cost_usd"] for figures in self._sample) or [0.0]
        last = len(values) - 1
        return values[round(last * 0.5)], values[round(last * 0.95)], values[-1]

    def rows(self) -> list[tuple[str, str]]:
        """What it says, as names and values."""
        restored = f", {self.restored} from earlier runs" if self.restored else ""
        return [
            ("finished", f"{self.count}{restored}"),
            ("failed", str(self.failed)),
            ("cost", f"{self.cost_usd:.4f} USD"),
            ("time", f"{clock(self.seconds)} ({self.rate:.1f}/s)"),
            ("seconds a prompt", spread(self.quantiles("seconds"), 2)),
            ("USD a prompt", spread(self.quantiles("cost_usd"), 4)),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:17}{value}" for name, value in self.rows())

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in self.rows())
        return f"<table>{cells}</table>"


def spread(values: tuple[float, float, float], places: int) -> str:
    """A distribution in words."""
    median, most, largest = (f"{value:.{places}f}" for value in values)
    return f"median {median}, 95 % below {most}, at most {largest}"


class Progress:
    """
    Shows a batch; *show* is called with its summary and total, and *close* at the end.

    No batch ends because its display fails: what raises is shown no more.
    """

    def __init__(
        self,
        show: Callable[[Summary, int | None], object],
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self._show = show
        self._close = close
        self._shown = 0.0
        self._is_off = False

    def tell(self, batch: Batch) -> None:
        """An item was given out."""
        now = time.monotonic()
        if now - self._shown >= REFRESH:
            self._shown = now
            self._try(lambda: self._show(batch.summary, batch.total))

    def end(self, batch: Batch) -> None:
        """The batch is over."""
        if self._shown:
            self._try(lambda: self._show(batch.summary, batch.total))
            self._try(self._close)

    def _try(self, show: Callable[[], object]) -> None:
        if self._is_off:
            return
        try:
            show()
        except Exception as error:  # a terminal that is gone, a stream that is closed
            self._is_off = True
            logger.warning("the progress display failed and is off: %s", error)


def progress_for(stream: Any = None) -> Progress | None:
    """What fits where the program runs; None where nobody looks."""
    stream = sys.stderr if stream is None else stream
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return in_notebook(importlib.import_module("IPython.display").display)
    if stream is None or not stream.isatty():
        return None
    try:
        return as_bar(importlib.import_module("tqdm").tqdm, stream)
    except ImportError:
        return as_line(stream)


def in_notebook(display: Callable[..., Any]) -> Progress:
    """A table that fills."""
    handles: list[Any] = []

    def show(summary: Summary, _: int | None) -> None:
        if handles:
            handles[0].update(summary)
        else:
            handles.append(display(summary, display_id=True))

    return Progress(show)


def as_bar(tqdm: Any, stream: Any) -> Progress:
    """A bar of tqdm's; it has a rate and the time left."""
    bars: list[Any] = []

    def show(summary: Summary, total: int | None) -> None:
        if not bars:
            bars.append(tqdm(file=stream, total=total, unit="prompt"))
        (bar,) = bars
        bar.set_postfix_str(f"{summary.failed} failed, {summary.cost_usd:.4f} USD", refresh=False)
        # What comes from earlier runs says nothing about the time that is left.
        before = summary.restored - bar.initial
        bar.initial += before
        bar.last_print_n += before
        bar.n += before
        bar.update(summary.count - bar.n)

    return Progress(show, lambda: bars[0].close())


def as_line(stream: Any) -> Progress:
    """One line that is written over."""
    widths = [0]

    def show(summary: Summary, total: int | None) -> None:
        line = line_of(summary, total)
        stream.write("\r" + line.ljust(widths[0]))
        stream.flush()
        widths[0] = len(line)

    return Progress(show, lambda: stream.write("\n"))


def line_of(summary: Summary, total: int | None) -> str:
    """The state of a batch in one line."""
    rate = summary.rate
    count = str(summary.count) if total is None else f"{summary.count}/{total}"
    line = f"{count}, {summary.failed} failed, {summary.cost_usd:.4f} USD, {rate:.1f}/s"
    if total is None or rate == 0:
        return line
    return f"{line}, {clock(max(0, total - summary.count) / rate)} left"


def clock(seconds: float) -> str:
    """A duration as people read it: 0:01:02."""
    return str(datetime.timedelta(seconds=round(seconds)))
