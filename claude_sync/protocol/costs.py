"""
What one turn cost, from totals that only ever go up, until they do not.

::

    process -> lines -> messages -> turns -> [costs] -> answer

``total_cost_usd`` and ``modelUsage`` are running totals of one CLI process.
After a clean ``--resume`` new CLIs go on from the saved total, so the first
result of a resumed process also reports money that was spent before. A
:class:`CostMeter` knows the baseline of each process and gives out differences;
it never counts anything twice and never makes anything up.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

__all__ = ["CostMeter", "Usage"]


class Usage(Dict[str, int]):
    """Token counts by name, as the CLI reports them; can be added."""

    def __add__(self, other: Mapping[str, Any]) -> Usage:
        total = Usage(self)
        total.count(other)
        return total

    def count(self, other: Mapping[str, Any]) -> None:
        """Add *other* to this one."""
        for name, number in other.items():
            if type(number) is int:  # a bool is no count
                self[name] = self.get(name, 0) + number

    @property
    def input_tokens(self) -> int:
        """Tokens read, the cached ones not included."""
        return self.get("input_tokens", 0)

    @property
    def output_tokens(self) -> int:
        """Tokens written."""
        return self.get("output_tokens", 0)


class CostMeter:
    """The money and the tokens of one client, over all its processes."""

    def __init__(self) -> None:
        self.total_usd = 0.0
        self._usage = Usage()
        self._process_total: Optional[float] = 0.0

    @property
    def usage(self) -> Usage:
        """The tokens of all results; a copy."""
        return Usage(self._usage)

    def new_process(self, baseline_usd: Optional[float] = 0.0) -> None:
        """A process begins, whose own total starts at *baseline_usd*; None: nobody knows."""
        self._process_total = baseline_usd

    def result(self, raw: Mapping[str, Any]) -> float:
        """Count a result, whoever's it is; return what was spent since the one before."""
        reported = raw.get("total_cost_usd")
        spent = 0.0
        if isinstance(reported, (int, float)) and not isinstance(reported, bool):
            before = self._process_total
            if before is not None:
                # A smaller total than before: the CLI began to count anew (/clear does that).
                spent = reported - before if reported >= before else reported
            self._process_total = float(reported)
        self.total_usd += spent
        usage = raw.get("usage")
        if isinstance(usage, dict):
            self._usage.count(usage)
        return spent
