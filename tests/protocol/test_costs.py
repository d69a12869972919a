"""Money: differences of running totals, never twice, never made up."""

from __future__ import annotations

import pytest

from claude_sync.protocol.costs import CostMeter, Usage


def test_running_totals_become_differences():
    """Each turn costs what was added to the total."""
    meter = CostMeter()
    spent = [meter.result({"total_cost_usd": total}) for total in (0.25, 0.25, 1.0)]
    assert spent == [0.25, 0.0, 0.75]
    assert meter.total_usd == 1.0


def test_a_new_process_starts_from_its_baseline():
    """What a resumed process reports from before is not counted again."""
    meter = CostMeter()
    meter.result({"total_cost_usd": 1.0})
    meter.new_process(1.0)
    assert meter.result({"total_cost_usd": 1.5}) == 0.5
    meter.new_process()
    assert meter.result({"total_cost_usd": 0.5}) == 0.5
    assert meter.total_usd == 2.0


def test_an_unknown_baseline_makes_nothing_up():
    """Without a baseline the first total is only a starting point."""
    meter = CostMeter()
    meter.new_process(None)
    assert meter.result({"total_cost_usd": 5.0}) == 0.0
    assert meter.result({"total_cost_usd": 5.5}) == 0.5


def test_a_total_that_starts_anew_counts_from_zero():
    """After /clear the CLI counts from nothing."""
    meter = CostMeter()
    meter.result({"total_cost_usd": 1.0})
    assert meter.result({"total_cost_usd": 0.25}) == 0.25
    assert meter.total_usd == 1.25


@pytest.mark.parametrize("junk", [None, "3", True, [], {}])
def test_junk_costs_nothing(junk):
    """A total that is no number is no money."""
    meter = CostMeter()
    assert meter.result({"total_cost_usd": junk, "usage": junk}) == 0.0
    assert meter.total_usd == 0.0


def test_usage_adds_up():
    """Counts are added by name; what is no count is left out."""
    meter = CostMeter()
    meter.result({"usage": {"input_tokens": 3, "output_tokens": 2, "service_tier": "standard"}})
    meter.result({"usage": {"input_tokens": 4, "cache": {"x": 1}, "flag": True}})
    assert meter.usage == {"input_tokens": 7, "output_tokens": 2}
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (7, 2)
    assert (Usage().input_tokens, Usage().output_tokens) == (0, 0)


def test_usages_can_be_added():
    """A sum is new; neither part changes."""
    one, other = Usage(input_tokens=1), {"input_tokens": 2, "output_tokens": 3}
    assert one + other == {"input_tokens": 3, "output_tokens": 3}
    assert one == {"input_tokens": 1}
    assert isinstance(one + other, Usage)
