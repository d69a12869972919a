"""
Show how far a batch is: a bar of tqdm's where that is installed, else one line that changes.

Nothing is shown where nobody looks: stderr must be a terminal, or the program a notebook.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Optional

from ..log import logger

if TYPE_CHECKING:
    from ..batch import Batch

__all__ = ["BarProgress", "HarmlessProgress", "LineProgress", "Progress", "progress_for"]

# A line is not written more often than somebody can read it.
REFRESH = 0.1


class Progress:
    """What a batch tells about itself; shows nothing."""

    def begin(self, batch: Batch) -> None:
        """The batch begins."""

    def tell(self) -> None:
        """An item was given out."""

    def end(self) -> None:
        """The batch is over."""


class HarmlessProgress(Progress):
    """Shows what another one does, for as long as that can: no batch ends with its window."""

    def __init__(self, shown: Progress) -> None:
        self._shown: Optional[Progress] = shown

    def begin(self, batch: Batch) -> None:
        self._do(lambda shown: shown.begin(batch))

    def tell(self) -> None:
        self._do(lambda shown: shown.tell())

    def end(self) -> None:
        self._do(lambda shown: shown.end())

    def _do(self, show: Callable[[Progress], None]) -> None:
        if self._shown is None:
            return
        try:
            show(self._shown)
        except Exception as error:  # a terminal that is gone, a stream that is closed
            self._shown = None
            logger.warning("the progress display failed and is off: %s", error)


class BarProgress(Progress):
    """A bar of tqdm's; it has a rate and the time left."""

    def __init__(self, bar: Any) -> None:
        self._make = bar
        self._bar: Any = None
        self._batch: Optional[Batch] = None

    def begin(self, batch: Batch) -> None:
        self._batch = batch
        self._bar = self._make(total=batch.total, unit="prompt")

    def tell(self) -> None:
        assert self._batch is not None
        self._bar.update(1)
        self._bar.set_postfix_str(
            f"{self._batch.failed} failed, {self._batch.cost_usd:.4f} USD", refresh=False
        )

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()


class LineProgress(Progress):
    """One line on *stream* that is written over and over."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._batch: Optional[Batch] = None
        self._count = 0
        self._begun = self._shown = 0.0
        self._width = 0

    def begin(self, batch: Batch) -> None:
        self._batch = batch
        self._begun = time.monotonic()

    def tell(self) -> None:
        self._count += 1
        now = time.monotonic()
        if now - self._shown >= REFRESH:
            self._shown = now
            self._show(now)

    def end(self) -> None:
        if self._count:
            with contextlib.suppress(ReferenceError):  # the batch was forgotten
                self._show(time.monotonic())
            self._stream.write("\n")
            self._stream.flush()

    def _show(self, now: float) -> None:
        assert self._batch is not None
        seconds = now - self._begun
        line = line_of(
            self._count, self._batch.total, self._batch.failed, self._batch.cost_usd, seconds
        )
        # What was longer before is written over.
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


def line_of(count: int, total: Optional[int], failed: int, cost_usd: float, seconds: float) -> str:
    """The state of a batch in one line."""
    rate = count / seconds if seconds > 0 else 0.0
    parts = [
        f"{count}/{total}" if total is not None else str(count),
        f"{failed} failed",
        f"{cost_usd:.4f} USD",
        f"{rate:.1f}/s",
    ]
    if total is not None and rate > 0:
        parts.append(f"{clock(max(0, total - count) / rate)} left")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """A duration as people read it: 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def progress_for(stream: Any = None) -> Progress:
    """What fits where the program runs."""
    stream = sys.stderr if stream is None else stream
    if is_notebook():
        bars = imported("tqdm.notebook")
        return Progress() if bars is None else BarProgress(bars.tqdm)
    if stream is None or not stream.isatty():
        return Progress()
    bars = imported("tqdm")
    if bars is None:
        return LineProgress(stream)
    return BarProgress(lambda **settings: bars.tqdm(file=stream, **settings))


def imported(name: str) -> Any:
    """A module that may not be installed; None then."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def is_notebook() -> bool:
    """Whether a notebook shows what this process prints."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"
