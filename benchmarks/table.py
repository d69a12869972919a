"""The table of the benchmarks, in reStructuredText."""

from __future__ import annotations

import statistics

HEADINGS = ("measured", "claude_sync", "official SDK", "ratio", "floor")
# What turns seconds, bytes and so on into figures.
SCALES = {"ms": 1e3, "MiB": 1 / 2**20, "%": 100, "1/s": 1, "": 1}
# A difference that is smaller than this is none.
SMALLEST = 1.05


class Row:
    """
    One measurement of all sides.

    Args:
        title: What was measured.
        unit: Of the figures as they are shown. Of those a second, more are better; of others less.
        runs: By side, what each run gave: ``ours``, and ``theirs`` and ``floor`` if measured.
        figure: What makes one figure of what a run gave.

    """

    def __init__(self, title, unit, runs, figure=float):
        self.title = f"{title} ({unit})" if unit else title
        self.more_is_better = unit == "1/s"
        self.figures = {
            side: [figure(run) * SCALES[unit] for run in each] for side, each in runs.items()
        }

    def cells(self):
        """The row as texts."""
        ours, theirs, floor = (
            cell(self.figures[side]) if side in self.figures else "n/a"
            for side in ("ours", "theirs", "floor")
        )
        return (self.title, ours, theirs, self.ratio(), floor)

    def ratio(self):
        """How many times better than the official SDK, if the runs show a difference."""
        low, ours, high = quartiles(self.figures["ours"])
        their_low, theirs, their_high = quartiles(self.figures.get("theirs", [0]))
        if ours <= 0 or theirs <= 0:
            return "n/a"
        ratio = ours / theirs if self.more_is_better else theirs / ours
        overlap = low <= their_high and their_low <= high
        if overlap or 1 / SMALLEST <= ratio <= SMALLEST:
            return "the same"
        return f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def quartiles(figures):
    """The first, the median and the third; one figure is all of them."""
    if len(figures) == 1:
        return figures * 3
    return statistics.quantiles(figures, n=4, method="inclusive")


def cell(figures):
    """The median with about three digits, and half of the distance between the quartiles."""
    low, median, high = quartiles(figures)
    if median <= 0:
        return "n/a"
    digits = 0 if median >= 100 else 1 if median >= 10 else 2 if median >= 0.1 else 3
    spread = f" ±{50 * (high - low) / median:.0f}%" if len(figures) > 1 else ""
    return f"{median:,.{digits}f}{spread}"


def print_table(rows):
    """Print a simple table."""
    lines = [HEADINGS, *[row.cells() for row in rows]]
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = "  ".join("=" * width for width in widths)
    printed = [
        "  ".join([title.ljust(widths[0]), *map(str.rjust, figures, widths[1:])])
        for title, *figures in lines
    ]
    print("\n".join([rule, printed[0], rule, *printed[1:], rule]))
