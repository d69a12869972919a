"""
Tokens and money as an answer reports them: of a turn, of each model, of the context.

``total_cost_usd`` and ``modelUsage`` are running totals of one CLI process; what a turn
added is the difference of two of them. :class:`~claude_sync.protocol.costs.CostMeter`
takes the totals from the results of a session, in order. Here is what it gives out.

The size of the context is what the last request of the main conversation had the
model read: ``input_tokens``, and those read from and put into the cache. That is
the CLI's own definition, in its status line and in ``get_context_usage``; the
reply itself is not in it yet. Each subagent has another context.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple

# Sums of floats differ in their last digits with the order of summing.
ROUNDING = 1e-9
# Nothing that is counted here comes near; a sum with such a number in it would be lost.
TOO_LARGE = 2**53
# Speaks where the CLI itself does; nothing was read for that.
SYNTHETIC = "<synthetic>"
READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

Models = Mapping[str, Any]


# Numbers.


def count_of(value: Any) -> int | None:
    """A count of things; None for what is none: negative, broken, too large, no number."""
    if type(value) is float and value.is_integer():
        value = int(value)
    # A bool is an int to Python, and does not count.
    return value if type(value) is int and 0 <= value < TOO_LARGE else None


def amount_of(value: Any) -> float | None:
    """An amount of money; None for what is none: negative, not finite, too large, no number."""
    return float(value) if type(value) in (int, float) and 0 <= value < TOO_LARGE else None


def rise(before: float, now: float) -> float:
    """What was added to a running total; one that fell began at zero."""
    if now >= before:
        return now - before
    return 0.0 if before - now <= ROUNDING else now


class Count:
    """A count in a dict, as an attribute; 0 where there is none."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __get__(self, used: Mapping[str, Any] | None, owner: type) -> int:
        return count_of(used.get(self._key)) or 0 if used is not None else 0


# Of a turn.


class Usage(Dict[str, Any]):
    """
    Token counts by name, as the CLI reports them; can be added.

    Groups of counts (``cache_creation``, ``server_tool_use``) are added name by name.
    Other values, as ``service_tier``, are left out; the result message has them.

    Attributes:
        input_tokens: Tokens read, the cached ones not included.
        output_tokens: Tokens written.
        cache_read_input_tokens: Tokens read from the cache.
        cache_creation_input_tokens: Tokens read and put into the cache.

    """

    input_tokens = Count("input_tokens")
    output_tokens = Count("output_tokens")
    cache_read_input_tokens = Count("cache_read_input_tokens")
    cache_creation_input_tokens = Count("cache_creation_input_tokens")

    def __add__(self, other: Mapping[str, Any]) -> Usage:
        total = Usage(self)
        total.count(other)
        return total

    def count(self, other: Mapping[str, Any]) -> None:
        """Add *other* to this one."""
        for name, value in other.items():
            before = self.get(name)
            if isinstance(value, dict):
                # A new one, because copies share the old one.
                group = Usage(before if isinstance(before, dict) else {})
                group.count({key: each for key, each in value.items() if count_of(each)})
                if group:
                    self[name] = group
            elif (number := count_of(value)) is not None:
                self[name] = (count_of(before) or 0) + number


class ModelUsage(Dict[str, Any]):
    """
    What one model was used for, under the names of the CLI: ``inputTokens``, ``costUSD``, ...

    Counts are differences or sums; of other values, as ``contextWindow``, the last is kept.

    Attributes:
        input_tokens: Tokens it read, the cached ones not included.
        output_tokens: Tokens it wrote.
        cache_read_input_tokens: Tokens it read from the cache.
        cache_creation_input_tokens: Tokens it read and put into the cache.

    """

    input_tokens = Count("inputTokens")
    output_tokens = Count("outputTokens")
    cache_read_input_tokens = Count("cacheReadInputTokens")
    cache_creation_input_tokens = Count("cacheCreationInputTokens")

    @property
    def cost_usd(self) -> float:
        """What it cost."""
        return amount_of(self.get("costUSD")) or 0.0

    @property
    def context_window(self) -> int | None:
        """How many tokens it can take; None where the CLI does not report it."""
        return count_of(self.get("contextWindow"))


class Charge(NamedTuple):
    """
    What one result added.

    Attributes:
        usd: What was spent since the result before.
        total_usd: What the client has spent up to here.
        models_before: The running totals by model before; None if unknown.
        models_after: Those that came with the result; None where it brought none.

    """

    usd: float = 0.0
    total_usd: float = 0.0
    models_before: Models | None = None
    models_after: Models | None = None


# Totals by model.


def models_of(charges: tuple[Charge, ...]) -> dict[str, ModelUsage]:
    """What each model was used for in a turn; what is unknown is left out."""
    total: dict[str, ModelUsage] = {}
    for number, charge in enumerate(charges):
        # After Ctrl-C at an unlucky moment a result is delivered twice.
        if charge.models_after is not None and charge not in charges[:number]:
            total = added(total, difference(charge.models_before, charge.models_after))
    return total


def is_total(name: str) -> bool:
    """Whether a number of that name is a running total, and no property of the model."""
    counted = name.endswith(("Tokens", "Requests")) and not name.startswith("max")
    return counted or name == "costUSD"


def difference(before: Models | None, after: Models) -> dict[str, ModelUsage]:
    """What each model did between two running totals; models that did nothing are left out."""
    found: dict[str, ModelUsage] = {}
    if before is None:
        return found
    for model, now in after.items():
        then = before.get(model, {})
        used, did_something = ModelUsage(), False
        for name, value in now.items():
            if is_total(name):
                number_of = amount_of if name == "costUSD" else count_of
                number = number_of(value)
                if number is None:
                    continue
                value = rise(number_of(then.get(name)) or 0, number)
                did_something = did_something or value > 0
            used[name] = value
        if did_something:
            found[model] = used
    return found


def added(one: Mapping[str, ModelUsage], other: Mapping[str, Models]) -> dict[str, ModelUsage]:
    """The sum of two differences; new."""
    total = {model: ModelUsage(used) for model, used in one.items()}
    for model, used in other.items():
        mine = total.setdefault(model, ModelUsage())
        for name, value in used.items():
            mine[name] = mine.get(name, 0) + value if is_total(name) else value
    return total


# The context.


def is_of_the_main_thread(raw: Mapping[str, Any]) -> bool:
    """Whether an ``assistant`` message is the model's, in the main conversation."""
    message = raw.get("message")
    if not isinstance(message, dict) or raw.get("parent_tool_use_id") is not None:
        return False
    return message.get("model") != SYNTHETIC


def context_of(raw: Mapping[str, Any]) -> int | None:
    """The size of the context that an ``assistant`` message answers to; None: not reported."""
    message = raw.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return None
    counts = [count_of(usage.get(name)) for name in READ]
    return None if counts[0] is None else sum(count or 0 for count in counts)
