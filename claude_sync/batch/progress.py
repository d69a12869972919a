"""
How far a batch is, and what came of it.

On a terminal a bar of tqdm's where that is installed, else one line that changes; in a
notebook a table that fills. Nothing is shown where nobody looks.
"""

from __future__ import annotations

import contextlib
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

    def quantiles(self, which: str) -> tuple[float, float, float]:
        """The median, the 95th percentile and the largest of ``"seconds"`` or ``"cost_usd"``."""
        values = sorted(figures[which == "cost_usd"] for figures in self._sample) or [0.0]
        last = len(values) - 1
        return values[round(last * 0.5)], values[round(last * 0.95)], values[-1]

    def rows(self) -> list[tuple[str, str]]:
        """What it says, as names and values."""
        rate = self.count / self.seconds if self.seconds > 0 else 0.0
        seconds, costs = self.quantiles("seconds"), self.quantiles("cost_usd")
        restored = f", {self.restored} from earlier runs" if self.restored else ""
        return [
            ("finished", f"{self.count}{restored}"),
            ("failed", str(self.failed)),
            ("cost", f"{self.cost_usd:.4f} USD"),
            ("time", f"{clock(self.seconds)} ({rate:.1f}/s)"),
            (
                "seconds a prompt",
                spread(seconds, 2),
            ),
            ("USD a prompt", spread(costs, 4)),
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
    Shows a batch; this one shows nothing.

    No batch ends because its display fails: what raises is shown no more.
    """

    _is_off = False

    def tell(self, batch: Batch) -> None:
        """An item was given out."""
        self._try(lambda: self._show(batch))

    def end(self) -> None:
        """The batch is over."""
        self._try(self._end)

    def _try(self, show: Callable[[], None]) -> None:
        if self._is_off:
            return
        try:
            show()
        except Exception as error:  # a terminal that is gone, a stream that is closed
            self._is_off = True
            logger.warning("the progress display failed and is off: %s", error)

    def _show(self, batch: Batch) -> None:
        pass

    def _end(self) -> None:
        pass


class BarProgress(Progress):
    """A bar of tqdm's; it has a rate and the time left."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._bar: Any = None

    def _show(self, batch: Batch) -> None:
        if self._bar is None:
            self._bar = self._make(total=batch.total, unit="prompt")
        self._bar.update(1)
        self._bar.set_postfix_str(f"{batch.failed} failed, {batch.cost_usd:.4f} USD", refresh=False)

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.close()


class TextProgress(Progress):
    """Something short that is written over and over."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._latest: Callable[[], None] | None = None

    def _show(self, batch: Batch) -> None:
        summary, total = batch.summary, batch.total
        self._latest = lambda: self._write(summary, total)
        now = time.monotonic()
        if now - self._shown >= REFRESH:
            self._shown = now
            self._latest()

    def _end(self) -> None:
        if self._latest is not None:
            self._latest()

    def _write(self, summary: Summary, total: int | None) -> None:
        raise NotImplementedError


class LineProgress(TextProgress):
    """One line on *stream*."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream
        self._width = 0

    def _write(self, summary: Summary, total: int | None) -> None:
        line = line_of(summary, total)
        # What was longer before is written over.
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def _end(self) -> None:
        super()._end()
        if self._latest is not None:
            self._stream.write("\n")
            self._stream.flush()


class TableProgress(TextProgress):
    """A table in a notebook."""

    def __init__(self, display: Callable[..., Any]) -> None:
        super().__init__()
        self._display = display
        self._handle: Any = None

    def _write(self, summary: Summary, _: int | None) -> None:
        if self._handle is None:
            self._handle = self._display(summary, display_id=True)
        else:
            self._handle.update(summary)


def line_of(summary: Summary, total: int | None) -> str:
    """The state of a batch in one line."""
    rate = summary.count / summary.seconds if summary.seconds > 0 else 0.0
    parts = [
        f"{summary.count}/{total}" if total is not None else str(summary.count),
        f"{summary.failed} failed",
        f"{summary.cost_usd:.4f} USD",
        f"{rate:.1f}/s",
    ]
    if total is not None and rate > 0:
        parts.append(f"{clock(max(0, total - summary.count) / rate)} left")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """A duration as people read it: 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def progress_for(stream: Any = None) -> Progress:
    """What fits where the program runs."""
    stream = sys.stderr if stream is None else stream
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return TableProgress(importlib.import_module("IPython.display").display)
    if stream is None or not stream.isatty():
        return Progress()
    with contextlib.suppress(ImportError):
        tqdm = importlib.import_module("tqdm").tqdm
        return BarProgress(lambda **settings: tqdm(file=stream, **settings))
    return LineProgress(stream)
