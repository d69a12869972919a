"""The table of the benchmarks, in reStructuredText."""

from __future__ import annotations

HEADINGS = ("", "claude_sync", "official SDK", "ratio", "floor")


class Row:
    """
    One measurement of all sides.

    Args:
        title: What was measured.
        unit: Of the figures as they are shown.
        values: By side: ``ours``, and ``theirs`` and ``floor`` where there is one.
        scale: What turns a value into a figure of that unit.
        higher_is_better: Whether the ratio is ours to theirs, or the other way round.

    """

    def __init__(self, title, unit, values, scale=1.0, *, higher_is_better=False):
        self.title = title
        self.unit = unit
        self.values = {side: value * scale for side, value in values.items()}
        self.higher_is_better = higher_is_better

    def cells(self):
        """The row as texts."""
        title = f"{self.title} ({self.unit})" if self.unit else self.title
        shown = {side: figure(value) for side, value in self.values.items()}
        theirs, floor = shown.get("theirs", "n/a"), shown.get("floor", "n/a")
        return (title, shown["ours"], theirs, self.ratio(), floor)

    def ratio(self):
        """How many times better than the official SDK."""
        ours, theirs = self.values["ours"], self.values.get("theirs")
        if not ours or not theirs:
            return "n/a"
        return f"{ours / theirs if self.higher_is_better else theirs / ours:.1f}"


def figure(value):
    """*value* with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_table(rows):
    """Print a simple table; a ratio above 1 is in favour of claude_sync."""
    lines = [HEADINGS, *[row.cells() for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    rule = "  ".join("=" * width for width in widths)
    print(rule)
    for place, (title, *figures) in enumerate(lines):
        cells = [text.rjust(width) for text, width in zip(figures, widths[1:])]
        # An empty first cell would continue the row above it, and is no valid markup.
        print("  ".join([(title or "measured").ljust(widths[0]), *cells]).rstrip())
        if place == 0:
            print(rule)
    print(rule)
