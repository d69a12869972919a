"""Money: differences of running totals, never twice, never made up."""

from __future__ import annotations

import itertools
import math
import pickle

import pytest

from claude_sync.messages.usage import (
    Charge,
    ModelUsage,
    Usage,
    amount_of,
    count_of,
    models_of,
    rise,
)
from claude_sync.protocol import costs
from claude_sync.protocol.costs import CostMeter

NO_COUNTS = [None, "3", True, [], {}, -1, -2.0, 1.5, math.nan, math.inf, 1e300, 10**400]
NO_AMOUNTS = [None, "3", True, [], {}, -1, -0.5, math.nan, math.inf, -math.inf, 1e300, 10**400]


def spent(meter, total, **fields):
    """What a result with that total adds."""
    return meter.result({"total_cost_usd": total, **fields}).usd


def model(cost, tokens=0, **others):
    """The running totals of one model."""
    return {"costUSD": cost, "inputTokens": tokens, "contextWindow": 200000, **others}


# The money.


def test_running_totals_become_differences():
    """Each turn costs what was added to the total."""
    meter = CostMeter()
    assert [spent(meter, total) for total in (0.25, 0.25, 1.0)] == [0.25, 0.0, 0.75]
    assert meter.total_usd == 1.0


def test_a_charge_knows_the_total_of_its_moment():
    """The client may have spent more by the time somebody looks."""
    meter = CostMeter()
    first, second = (meter.result({"total_cost_usd": total}) for total in (0.25, 1.0))
    assert (first.total_usd, second.total_usd) == (0.25, 1.0)


def test_a_new_process_starts_from_its_baseline():
    """What a resumed process reports from before is not counted again."""
    meter = CostMeter()
    spent(meter, 1.0)
    meter.new_process(1.0)
    assert spent(meter, 1.5) == 0.5
    meter.new_process()
    assert spent(meter, 0.5) == 0.5
    assert meter.total_usd == 2.0


@pytest.mark.parametrize("baseline", NO_AMOUNTS)
def test_an_unknown_baseline_makes_nothing_up(baseline):
    """Without a baseline the first total is only a starting point."""
    meter = CostMeter()
    meter.new_process(baseline)
    assert spent(meter, 5.0) == 0.0
    assert spent(meter, 5.5) == 0.5


def test_a_total_that_starts_anew_counts_from_zero():
    """After /clear the CLI counts from nothing."""
    meter = CostMeter()
    spent(meter, 1.0)
    assert spent(meter, 0.25) == 0.25
    assert meter.total_usd == 1.25


def test_a_rounding_error_is_no_new_start():
    """A total that is the same but for its last digit was not spent a second time."""
    meter = CostMeter()
    spent(meter, 0.014603999999999999)
    assert spent(meter, 0.014603999999999997) == 0.0
    assert rise(1.0, 1.0 - 1e-6) == 1.0 - 1e-6


def test_a_rounding_error_is_no_new_start_of_the_models():
    """Their totals go on, too."""
    meter = CostMeter()
    used(meter, 0.3, {"opus": model(0.3, 10)})
    assert used(meter, 0.3 - 1e-16, {"opus": model(0.3, 11)}) == {"opus": model(0.0, 1)}
    assert meter.model_usage == {"opus": model(0.3, 11)}


@pytest.mark.parametrize("junk", NO_AMOUNTS)
def test_junk_costs_nothing(junk):
    """What is no plausible amount is not told; what came before still counts."""
    meter = CostMeter()
    spent(meter, 0.5)
    assert spent(meter, junk, usage=junk, modelUsage=junk, cost_usd=junk, uuid=junk) == 0.0
    assert spent(meter, 0.75) == 0.25
    assert meter.total_usd == 0.75
    assert (amount_of(junk), meter.usage, meter.model_usage) == (None, {}, {})


def test_whole_numbers_are_amounts():
    """JSON writes one dollar as 1."""
    meter = CostMeter()
    assert [spent(meter, total) for total in (0, 1, 3)] == [0.0, 1.0, 2.0]
    assert isinstance(meter.total_usd, float)


def test_a_cost_without_a_total_is_that_of_the_turn():
    """A CLI that tells only what each turn cost is believed."""
    meter = CostMeter()
    assert meter.result({"cost_usd": 0.25}).usd == 0.25
    assert meter.result({"cost_usd": 0.5}).usd == 0.5
    # The total says the same; it is not counted on top.
    assert spent(meter, 1.0, cost_usd=0.25) == 0.25
    meter.new_process(None)
    assert meter.result({"cost_usd": 0.5}).usd == 0.5
    assert meter.total_usd == 1.5


def test_a_result_that_comes_twice_counts_once():
    """Its uuid says that it is the same; also after others."""
    meter = CostMeter()
    first = {"uuid": "a", "total_cost_usd": 1.0, "usage": {"input_tokens": 3}}
    other = {"uuid": "b", "total_cost_usd": 1.5, "usage": {"input_tokens": 4}}
    assert [meter.result(raw).usd for raw in (first, first, other, first)] == [1.0, 0.0, 0.5, 0.0]
    assert meter.usage == {"input_tokens": 7}
    assert meter.total_usd == 1.5


def test_not_every_uuid_is_remembered_for_ever():
    """A client that lives for years does not grow."""
    meter = CostMeter()
    for number in range(1000):
        meter.result({"uuid": str(number)})
    assert len(meter._seen) <= costs.RESULTS_REMEMBERED
    assert "999" in meter._seen


# Tokens.


def test_usage_adds_up():
    """Counts are added by name, groups of them name by name; the rest is left out."""
    meter = CostMeter()
    meter.result(
        {
            "usage": {
                "input_tokens": 3,
                "output_tokens": 2,
                "service_tier": "standard",
                "iterations": [],
                "cache_creation": {"ephemeral_5m_input_tokens": 5, "note": "x"},
                "fallback_credit": {"reason": "none"},
            }
        }
    )
    for number in (1, 0):
        group = {"ephemeral_5m_input_tokens": number}
        meter.result({"usage": {"input_tokens": 2, "cache_creation": group}})
    assert meter.usage == {
        "input_tokens": 7,
        "output_tokens": 2,
        "cache_creation": {"ephemeral_5m_input_tokens": 6},
    }
    assert (meter.usage.input_tokens, meter.usage.output_tokens) == (7, 2)


@pytest.mark.parametrize("junk", NO_COUNTS)
def test_what_is_no_count_is_left_out(junk):
    """Negative, broken, no number: none of them is a count."""
    assert count_of(junk) is None
    assert Usage() + {"input_tokens": junk, "group": {"part": junk}} == {}


def test_whole_floats_are_counts():
    """Some programs write 12 as 12.0."""
    assert Usage() + {"a": 12.0, "b": 10**15} == {"a": 12, "b": 10**15}


def test_usages_can_be_added():
    """A sum is new; neither part changes, their groups included."""
    one, other = Usage(input_tokens=1, group=Usage(a=1)), {"input_tokens": 2, "group": {"a": 2}}
    assert one + other == {"input_tokens": 3, "group": {"a": 3}}
    assert one == {"input_tokens": 1, "group": {"a": 1}}
    assert isinstance(one + other, Usage)


def test_the_counts_that_everybody_wants_have_names():
    """They are zero where nothing is known."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens")
    names = (*names, "cache_creation_input_tokens")
    usage = Usage({name: number for number, name in enumerate(names, 1)})
    assert [getattr(usage, name) for name in names] == [1, 2, 3, 4]
    assert [getattr(Usage(), name) for name in names] == [0, 0, 0, 0]


def test_many_usages_are_added_up_on_the_way():
    """Nothing is lost when they are."""
    meter = CostMeter()
    for number in range(3 * costs.USAGES_KEPT + 7):
        meter.result({"usage": {"input_tokens": number}})
    counts = range(3 * costs.USAGES_KEPT + 7)
    assert meter.usage == {"input_tokens": sum(counts)}
    assert len(meter._usages[1]) == 7


def test_a_usage_that_was_given_out_is_a_copy():
    """Changing it changes nothing."""
    meter = CostMeter()
    meter.result({"usage": {"input_tokens": 1}})
    meter.usage["input_tokens"] = 5
    assert meter.usage == {"input_tokens": 1}


# By model.


def used(meter, total, models, **fields):
    """What a result with these totals says about the models of its turn."""
    charge = meter.result({"total_cost_usd": total, "modelUsage": models, **fields})
    return models_of((charge,))


def test_totals_by_model_become_differences():
    """Counts are differences, properties are as told, models that rested are left out."""
    meter = CostMeter()
    first = {"opus": model(1.0, 10, provider="x", maxOutputTokens=9), "haiku": model(0.25, 5)}
    assert used(meter, 1.25, first) == first
    second = {"opus": model(3.0, 14, provider="y", maxOutputTokens=9), "haiku": model(0.25, 5)}
    assert used(meter, 3.25, second) == {
        "opus": model(2.0, 4, provider="y", maxOutputTokens=9),
    }
    assert meter.model_usage == second


def test_what_a_model_did_has_names():
    """The names of the CLI are its keys; the usual ones are attributes."""
    told = ModelUsage(
        model(0.5, 1, outputTokens=2, cacheReadInputTokens=3, cacheCreationInputTokens=4)
    )
    assert (told.cost_usd, told.input_tokens, told.output_tokens) == (0.5, 1, 2)
    assert (told.cache_read_input_tokens, told.cache_creation_input_tokens) == (3, 4)
    assert told.context_window == 200000
    nothing = ModelUsage()
    assert (nothing.cost_usd, nothing.input_tokens, nothing.output_tokens) == (0.0, 0, 0)
    assert (nothing.cache_read_input_tokens, nothing.cache_creation_input_tokens) == (0, 0)
    assert nothing.context_window is None


def test_a_saved_total_is_not_counted_by_model_either():
    """The reply to get_usage has both."""
    meter = CostMeter()
    meter.resumed({"session": {"total_cost_usd": 1.0, "model_usage": {"opus": model(1.0, 10)}}})
    assert used(meter, 1.5, {"opus": model(1.5, 13)}) == {"opus": model(0.5, 3)}
    assert meter.total_usd == 0.5
    assert meter.model_usage == {"opus": model(0.5, 3)}


def test_a_saved_total_without_models_tells_nothing_of_them():
    """The first totals by model are then only a starting point."""
    meter = CostMeter()
    meter.resumed({"session": {"total_cost_usd": 1.0}})
    assert used(meter, 1.5, {"opus": model(1.5, 13)}) == {}
    assert (meter.total_usd, meter.model_usage) == (0.5, {})
    assert used(meter, 2.0, {"opus": model(2.0, 15)}) == {"opus": model(0.5, 2)}


def test_junk_among_the_saved_models_is_left_out():
    """The others are a baseline."""
    meter = CostMeter()
    told = {"opus": model(1.0, 10), "haiku": "much"}
    meter.resumed({"session": {"total_cost_usd": 1.0, "model_usage": told}})
    assert meter.model_usage == {}
    assert used(meter, 1.5, {"opus": model(1.5, 13)}) == {"opus": model(0.5, 3)}


@pytest.mark.parametrize("reply", [{}, {"session": None}, {"session": {"total_cost_usd": "1"}}])
def test_a_reply_that_tells_no_total_is_an_unknown_baseline(reply):
    """Neither the money nor the models are counted from it."""
    meter = CostMeter()
    meter.resumed(reply)
    assert used(meter, 1.5, {"opus": model(1.5, 13)}) == {}
    assert (meter.total_usd, meter.model_usage) == (0.0, {})


def test_a_saved_total_of_zero_is_a_fresh_start():
    """A killed CLI has saved nothing."""
    meter = CostMeter()
    meter.resumed({"session": {"total_cost_usd": 0, "model_usage": {}}})
    assert used(meter, 0.5, {"opus": model(0.5, 3)}) == {"opus": model(0.5, 3)}


def test_models_of_several_processes_add_up():
    """Each process has its own totals."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    meter.new_process()
    used(meter, 0.5, {"opus": model(0.25, 2), "haiku": model(0.25, 1)})
    assert meter.model_usage == {"opus": model(1.25, 12), "haiku": model(0.25, 1)}


def test_models_that_start_anew_count_from_zero():
    """After /clear, where the total falls."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    assert used(meter, 0, {}) == {}
    assert used(meter, 0.5, {"opus": model(0.5, 3)}) == {"opus": model(0.5, 3)}
    assert meter.model_usage == {"opus": model(1.5, 13)}


def test_a_model_that_starts_anew_by_itself_counts_from_zero():
    """It is not counted down, whatever the total says."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    assert used(meter, 1.5, {"opus": model(0.5, 4)}) == {"opus": model(0.5, 4)}


def test_a_difference_over_several_turns_belongs_to_none():
    """Slash commands of old CLIs cost money and tell no models."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    assert used(meter, 2.0, None) == {}
    assert used(meter, 2.5, {"opus": model(2.5, 25)}) == {}
    assert meter.model_usage == {"opus": model(2.5, 25)}
    assert used(meter, 3.0, {"opus": model(3.0, 30)}) == {"opus": model(0.5, 5)}


def test_a_result_without_models_that_cost_nothing_hides_nothing():
    """The next difference is that of one turn."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    assert used(meter, 1.0, {}) == {}
    assert used(meter, 1.5, {"opus": model(1.5, 15)}) == {"opus": model(0.5, 5)}


@pytest.mark.parametrize("junk", NO_AMOUNTS)
def test_junk_about_a_model_is_left_out(junk):
    """Of a model, or in place of one."""
    meter = CostMeter()
    told = {"opus": {"costUSD": junk, "inputTokens": 3, "outputTokens": -1}, "haiku": junk}
    assert used(meter, 0.5, told) == {"opus": {"inputTokens": 3}}
    assert used(meter, 1.0, {"opus": model(0.5, 5), "haiku": model(0.5, 1)}) == {
        "opus": model(0.5, 2),
        "haiku": model(0.5, 1),
    }


def test_a_model_that_is_not_mentioned_has_not_vanished():
    """The running total goes on where it was."""
    meter = CostMeter()
    used(meter, 1.5, {"opus": model(1.0, 10), "haiku": model(0.5, 5)})
    assert used(meter, 2.0, {"haiku": model(1.0, 7)}) == {"haiku": model(0.5, 2)}
    assert used(meter, 2.5, {"opus": model(1.5, 11)}) == {"opus": model(0.5, 1)}
    assert meter.model_usage == {"opus": model(1.5, 11), "haiku": model(1.0, 7)}


def test_models_that_were_given_out_are_a_copy():
    """Changing them changes nothing."""
    meter = CostMeter()
    used(meter, 1.0, {"opus": model(1.0, 10)})
    meter.new_process()
    meter.model_usage["opus"]["costUSD"] = 5
    assert meter.model_usage == {"opus": model(1.0, 10)}


def test_the_charges_of_several_tries_add_up():
    """A turn that was asked again cost both; one that was delivered twice did not."""
    meter = CostMeter()
    charges = tuple(
        meter.result({"total_cost_usd": total, "modelUsage": {"opus": model(total, tokens)}})
        for total, tokens in ((1.0, 10), (1.5, 12))
    )
    assert models_of((charges[0], charges[0], charges[1])) == {"opus": model(1.5, 12)}
    assert models_of(()) == models_of((Charge(),)) == {}


def test_a_charge_can_be_compared_and_pickled():
    """Answers have charges in them, and answers are pickled."""
    charge = CostMeter().result({"total_cost_usd": 1.0, "modelUsage": {"opus": model(1.0)}})
    assert all(pickle.loads(pickle.dumps(charge, number)) == charge for number in range(5))
    assert charge != Charge(1.0, 1.0)
    assert charge != 1.0


def test_a_long_life_adds_up():
    """However processes, falls and repetitions are mixed, each cent counts once."""
    meter = CostMeter()
    total, paid, uuids = 0.0, 0, itertools.count()
    for number in range(400):
        if number % 97 == 96:
            meter.new_process(total, {"opus": model(total, 2 * number)})
        elif number % 31 == 30:
            meter.new_process()
            total = 0.0
        elif number % 23 == 22:
            total = 0.0
            spent(meter, total, modelUsage={})
        total += 0.25
        paid += 1
        raw = {
            "uuid": f"r{next(uuids)}",
            "total_cost_usd": total,
            "usage": {"input_tokens": 1},
            "modelUsage": {"opus": {"costUSD": total}},
        }
        assert meter.result(raw).usd == 0.25
        assert meter.result(raw).usd == 0.0
    assert meter.total_usd == paid * 0.25
    assert meter.usage == {"input_tokens": paid}
    assert meter.model_usage["opus"].cost_usd == pytest.approx(paid * 0.25)


@pytest.mark.parametrize(
    ("own", "baseline", "total"),
    [
        (True, 0.75, 0.75),  # a quarter was spent after the last result
        (True, 0.5, 0.5),
        (True, 0.5 + 1e-12, 0.5),  # a rounding error
        (True, 0.2, 0.5),  # it was killed before it saved
        (True, None, 0.5),
        (False, 0.75, 0.5),  # somebody else's money
    ],
)
def test_what_was_spent_beside_the_turns_is_found_at_a_restart(own, baseline, total):
    """A process that goes on with our own conversation tells what the one before it spent."""
    meter = CostMeter()
    meter.new_process()
    meter.result({"total_cost_usd": 0.5})
    meter.new_process()
    meter.resumed({"session": {"total_cost_usd": baseline}}, own=own)
    assert meter.total_usd == total
    if baseline is not None:
        assert meter.result({"total_cost_usd": baseline + 1}).usd == pytest.approx(1)


def test_nothing_is_known_of_a_process_before_the_first():
    """The baseline of a conversation that was resumed by its id is nobody's money."""
    meter = CostMeter()
    meter.resumed({"session": {"total_cost_usd": 3.0}}, own=True)
    assert meter.total_usd == 0.0


def test_a_group_of_nothing_changes_nothing():
    """Most results bring groups of zeros."""
    one = Usage() + {"server_tool_use": {"web_search_requests": 2}}
    assert one + {"server_tool_use": {"web_search_requests": 0}} == one


def test_a_process_that_told_nothing_hides_no_total_before_it():
    """It died before its first word: what is resumed after it was paid once, and counted once."""
    meter = CostMeter()
    spent(meter, 5.0)
    meter.new_process()  # it does not start
    meter.new_process()
    meter.resumed({"session": {"total_cost_usd": 5.0}}, own=True)
    assert spent(meter, 5.5) == 0.5
    assert meter.total_usd == 5.5
    meter.new_process()
    meter.resumed({"session": {"total_cost_usd": 6.0}}, own=True)  # spent beside the turns
    assert meter.total_usd == 6.0
