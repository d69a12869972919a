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

from typing import Any, Dict, List, Mapping, Optional, Tuple

__all__ = ["Charge", "ModelUsage", "Usage", "context_of", "count_of", "models_of"]

# Sums of floats differ in their last digits with the order of summing.
ROUNDING = 1e-9
# Nothing that is counted here comes near; a sum with such a number in it would be lost.
TOO_LARGE = 2**53
# Speaks where the CLI itself does; nothing was read for that.
SYNTHETIC = "<synthetic>"
# What a group is called where the CLI once sent a number under its name; groups in groups are
# counted down to a depth.
GROUP = "_by_kind"
DEEPEST = 4
READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")

Models = Mapping[str, Any]


class Usage(Dict[str, Any]):
    """
    Token counts by name, as the CLI reports them; can be added.

    Groups of counts (``cache_creation``, ``server_tool_use``) are added name by name.
    Other values, as ``service_tier``, are left out; the result message has them. Where a
    name has both a number and a group, the group is under ``NAME_by_kind``.
    """

    def __add__(self, other: Mapping[str, Any]) -> Usage:
        total = Usage(self)
        total.count(other)
        return total

    def count(self, other: Mapping[str, Any], depth: int = 0) -> None:
        """Add *other* to this one."""
        for name, value in other.items():
            if type(value) is float:
                value = count_of(value)
            if type(value) is int:  # nearly all; a bool does not count
                if 0 <= value < TOO_LARGE:
                    before = self.get(name, 0)
                    if isinstance(before, dict):
                        self[name + GROUP], before = before, 0
                    self[name] = before + value
            elif isinstance(value, dict) and depth < DEEPEST:
                self._count_group(name, value, depth + 1)

    def _count_group(self, name: str, group: Mapping[str, Any], depth: int) -> None:
        before = self.get(name)
        if type(before) is int:
            name += GROUP
            before = self.get(name)
        if before is not None and not any(group.values()):
            return  # nearly always
        # A new one, because copies share the old one.
        total = Usage(before or {})
        total.count(group, depth)
        if total:
            self[name] = total

    @property
    def input_tokens(self) -> int:
        """Tokens read, the cached ones not included."""
        return count_of(self.get("input_tokens")) or 0

    @property
    def output_tokens(self) -> int:
        """Tokens written."""
        return count_of(self.get("output_tokens")) or 0

    @property
    def cache_read_input_tokens(self) -> int:
        """Tokens read from the cache."""
        return count_of(self.get("cache_read_input_tokens")) or 0

    @property
    def cache_creation_input_tokens(self) -> int:
        """Tokens read and put into the cache."""
        return count_of(self.get("cache_creation_input_tokens")) or 0


class ModelUsage(Dict[str, Any]):
    """
    What one model was used for, under the names of the CLI: ``inputTokens``, ``costUSD``, ...

    Counts are differences or sums; of other values, as ``contextWindow``, the last is kept.
    """

    @property
    def cost_usd(self) -> float:
        """What it cost."""
        return amount_of(self.get("costUSD")) or 0.0

    @property
    def input_tokens(self) -> int:
        """Tokens it read, the cached ones not included."""
        return count_of(self.get("inputTokens")) or 0

    @property
    def output_tokens(self) -> int:
        """Tokens it wrote."""
        return count_of(self.get("outputTokens")) or 0

    @property
    def cache_read_input_tokens(self) -> int:
        """Tokens it read from the cache."""
        return count_of(self.get("cacheReadInputTokens")) or 0

    @property
    def cache_creation_input_tokens(self) -> int:
        """Tokens it read and put into the cache."""
        return count_of(self.get("cacheCreationInputTokens")) or 0

    @property
    def context_window(self) -> Optional[int]:
        """How many tokens it can take; None where the CLI does not report it."""
        return count_of(self.get("contextWindow"))


class Charge:
    """
    What one result added.

    Attributes:
        usd: What was spent since the result before.
        total_usd: What the client has spent up to here.
        models_before: The running totals by model before; None if unknown.
        models_after: Those that came with the result; None where it brought none.

    """

    def __init__(
        self,
        usd: float = 0.0,
        total_usd: float = 0.0,
        models_before: Optional[Models] = None,
        models_after: Optional[Models] = None,
    ) -> None:
        self.usd = usd
        self.total_usd = total_usd
        self.models_before = models_before
        self.models_after = models_after

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Charge) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def models_of(charges: Tuple[Charge, ...]) -> Dict[str, ModelUsage]:
    """What each model was used for in a turn; what is unknown is left out."""
    total: Dict[str, ModelUsage] = {}
    counted: List[Charge] = []
    for charge in charges:
        # After Ctrl-C at an unlucky moment a result is delivered twice.
        if charge.models_after is not None and charge not in counted:
            total = added(total, difference(charge.models_before, charge.models_after))
            counted.append(charge)
    return total


# Numbers.


def count_of(value: Any) -> Optional[int]:
    """A count of things; None for what is none: negative, broken, too large, no number."""
    if type(value) is int:  # a bool does not count
        return value if 0 <= value < TOO_LARGE else None
    if type(value) is float and 0.0 <= value < TOO_LARGE and value.is_integer():
        return int(value)
    return None


def amount_of(value: Any) -> Optional[float]:
    """An amount of money; None for what is none: negative, not finite, too large, no number."""
    if type(value) in (int, float) and 0 <= value < TOO_LARGE:
        return float(value)
    return None


def rise(before: float, now: float) -> float:
    """What was added to a running total; one that fell began at zero."""
    if now >= before:
        return now - before
    return 0.0 if before - now <= ROUNDING else now


# Totals by model.


def is_counter(name: str) -> bool:
    """Whether a number of that name is a running total, and no property of the model."""
    return name.endswith(("Tokens", "Requests")) and not name.startswith("max")


def difference(before: Optional[Models], after: Models) -> Dict[str, ModelUsage]:
    """What each model did between two running totals; models that did nothing are left out."""
    found: Dict[str, ModelUsage] = {}
    if before is None:
        return found
    for model, now in after.items():
        used = used_between(before.get(model, {}), now)
        if used is not None:
            found[model] = used
    return found


def used_between(then: Models, now: Models) -> Optional[ModelUsage]:
    """The difference of two totals of one model; None if there is none."""
    used = ModelUsage()
    is_used = False
    for name, value in now.items():
        if name == "costUSD":
            amount = amount_of(value)
            if amount is None:
                continue
            value = rise(amount_of(then.get(name)) or 0.0, amount)
        elif is_counter(name):
            number = count_of(value)
            if number is None:
                continue
            was = count_of(then.get(name)) or 0
            value = number - was if number >= was else number
        else:
            used[name] = value
            continue
        used[name] = value
        is_used = is_used or value > 0
    return used if is_used else None


def added(one: Mapping[str, ModelUsage], other: Mapping[str, Models]) -> Dict[str, ModelUsage]:
    """The sum of two differences; new."""
    total = {model: ModelUsage(used) for model, used in one.items()}
    for model, used in other.items():
        mine = total.setdefault(model, ModelUsage())
        for name, value in used.items():
            if name == "costUSD" or is_counter(name):
                mine[name] = mine.get(name, 0) + value
            else:
                mine[name] = value
    return total


# The context.


def is_of_the_main_thread(raw: Mapping[str, Any]) -> bool:
    """Whether an ``assistant`` message is the model's, in the main conversation."""
    message = raw.get("message")
    if not isinstance(message, dict) or raw.get("parent_tool_use_id") is not None:
        return False
    return message.get("model") != SYNTHETIC


def context_of(raw: Mapping[str, Any]) -> Optional[int]:
    """The size of the context that an ``assistant`` message answers to; None: not reported."""
    message = raw.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return None
    counts = [count_of(usage.get(name)) for name in READ]
    return None if counts[0] is None else sum(count or 0 for count in counts)
