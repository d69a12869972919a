"""
What one turn cost, from totals that only ever go up, until they do not.

::

    process -> lines -> messages -> turns -> [costs] -> answer

``total_cost_usd`` and ``modelUsage`` are running totals of one CLI process.
After a clean ``--resume`` new CLIs go on from the saved total, so the first
result of a resumed process also reports money that was spent before; after
``/clear`` they begin at zero. ``usage`` is that of one turn. A :class:`CostMeter`
knows the baseline of each process and gives out differences; it never counts
anything twice and never makes anything up:

* A result that was seen before (the same ``uuid``) counts nothing.
* A total that falls has begun at zero; one that falls by a rounding error has not.
* What is no plausible number (negative, not finite, a text) is not told at all.
* Where nobody knows the baseline, the first total is only a starting point.

Every turn pays for what is done here, so a result is only noted; the counts of
models and tokens are added up when somebody asks. Whoever asks may be on any
thread: what changes is replaced as a whole, never changed in place.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

__all__ = ["Charge", "CostMeter", "ModelUsage", "Usage", "count_of", "models_of"]

# Sums of floats differ in their last digits with the order of summing.
ROUNDING = 1e-9
# Nothing that is counted here comes near; a sum with such a number in it would be lost.
TOO_LARGE = 2**53
# A CLI that says something twice does so at once.
RESULTS_REMEMBERED = 64
# So many usages are kept as they came before they are added up.
USAGES_KEPT = 256

Models = Mapping[str, Any]


class Usage(Dict[str, Any]):
    """
    Token counts by name, as the CLI reports them; can be added.

    Groups of counts (``cache_creation``, ``server_tool_use``) are added name by name.
    What is no count, as ``service_tier``, is left out; the result message has it.
    """

    def __add__(self, other: Mapping[str, Any]) -> Usage:
        total = Usage(self)
        total.count(other)
        return total

    def count(self, other: Mapping[str, Any]) -> None:
        """Add *other* to this one."""
        for name, value in other.items():
            if type(value) is int:  # nearly all; a bool is no count
                if 0 <= value < TOO_LARGE:
                    self[name] = self.get(name, 0) + value
            elif isinstance(value, dict):
                self._count_group(name, value)
            elif type(value) is float and count_of(value) is not None:
                self[name] = self.get(name, 0) + int(value)

    def _count_group(self, name: str, group: Mapping[str, Any]) -> None:
        before = self.get(name)
        if isinstance(before, dict):
            if not any(group.values()):
                return  # nearly always
            # A new one, because copies share the old one.
            total = Usage(before)
        else:
            total = Usage()
        total.count({part: value for part, value in group.items() if not isinstance(value, dict)})
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

    Counts are differences or sums; what is no count, as ``contextWindow``, is the last
    that was told.
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
        """How many tokens it can take; None where the CLI does not tell."""
        return count_of(self.get("contextWindow"))


class Charge:
    """
    What one result added.

    Attributes:
        usd: What was spent since the result before.
        total_usd: What the client has spent up to here.
        models_before: The running totals by model before; None where nobody can tell.
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


class CostMeter:
    """The money and the tokens of one client, over all its processes."""

    def __init__(self) -> None:
        self.total_usd = 0.0
        # What the process that runs has told last, and the one before it; None: nobody knows
        # where it began.
        self._process_total: Optional[float] = 0.0
        self._total_before: Optional[float] = None
        # Of processes before; where this one began (None: unknown); what it told last.
        self._models: Tuple[Dict[str, ModelUsage], Optional[Models], Models] = ({}, {}, {})
        # Something was spent that no totals by model have told of yet.
        self._untold = False
        # Added up, and not yet.
        self._usages: Tuple[Usage, List[Mapping[str, Any]]] = (Usage(), [])
        self._seen: Dict[str, None] = {}

    @property
    def usage(self) -> Usage:
        """The tokens of all results; a copy."""
        counted, kept = self._usages
        total = Usage(counted)
        for usage in list(kept):
            total.count(usage)
        return total

    @property
    def model_usage(self) -> Dict[str, ModelUsage]:
        """What each model was used for, over all processes; a copy."""
        past, begun_at, told = self._models
        return added(past, difference(begun_at, told))

    def new_process(
        self, baseline_usd: Optional[float] = 0.0, models: Optional[Models] = None
    ) -> None:
        """
        A process begins, whose own total starts at *baseline_usd*; None: nobody knows.

        *models* are the running totals by model at its start; without them, and with a
        baseline other than zero, nobody knows those.
        """
        baseline = amount_of(baseline_usd)
        begun_at = told_models(models, {})
        if baseline is None:
            begun_at = None
        elif baseline == 0.0 and begun_at is None:
            begun_at = {}
        self._total_before, self._process_total = self._process_total, baseline
        self._begin_models(begun_at)

    def resumed(self, reply: Mapping[str, Any], own: bool = False) -> None:
        """
        A process goes on from a saved total: *reply* is what it says to ``get_usage``.

        *own*: it goes on with what the process before it did. Then a total above the last
        one that was told is money spent after that, beside the turns: it is counted now.
        """
        session = reply.get("session")
        told = session if isinstance(session, dict) else {}
        baseline = amount_of(told.get("total_cost_usd"))
        before = self._total_before
        if own and before is not None and baseline is not None and baseline > before + ROUNDING:
            self.total_usd += baseline - before
        self.new_process(baseline, told.get("model_usage"))

    def result(self, raw: Mapping[str, Any]) -> Charge:
        """Count a result, whoever's it is; return what it added."""
        if self._was_seen(raw.get("uuid")):
            return Charge(0.0, self.total_usd)
        spent = self._spent(raw)
        self.total_usd += spent
        usage = raw.get("usage")
        if isinstance(usage, dict):
            self._keep_usage(usage)
        past, begun_at, before = self._models
        models = told_models(raw.get("modelUsage"), before)
        if models is None:
            # Slash commands of old CLIs tell none, and compacting costs money.
            self._untold = self._untold or spent > 0.0
            return Charge(spent, self.total_usd)
        if begun_at is None:
            self._models = (past, models, models)
            return Charge(spent, self.total_usd)
        self._models = (past, begun_at, models)
        if self._untold:
            # The difference is that of several turns, and belongs to none of them.
            self._untold = False
            return Charge(spent, self.total_usd)
        return Charge(spent, self.total_usd, before, models)

    def _spent(self, raw: Mapping[str, Any]) -> float:
        reported = amount_of(raw.get("total_cost_usd"))
        if reported is None:
            # CLIs that tell what the turn cost and no total are few.
            spent = amount_of(raw.get("cost_usd")) or 0.0
            if self._process_total is not None:
                self._process_total += spent
            return spent
        before, self._process_total = self._process_total, reported
        if before is None:
            return 0.0
        if reported < before - ROUNDING:
            # The CLI began to count anew: /clear does that.
            self._begin_models({})
        return rise(before, reported)

    def _begin_models(self, begun_at: Optional[Models]) -> None:
        self._untold = False
        self._models = (self.model_usage, begun_at, begun_at or {})

    def _keep_usage(self, usage: Mapping[str, Any]) -> None:
        kept = self._usages[1]
        kept.append(usage)
        if len(kept) >= USAGES_KEPT:
            self._usages = (self.usage, [])

    def _was_seen(self, uuid: Any) -> bool:
        if not isinstance(uuid, str) or not uuid:
            return False
        if uuid in self._seen:
            return True
        self._seen[uuid] = None
        if len(self._seen) > RESULTS_REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return False


def models_of(charges: Tuple[Charge, ...]) -> Dict[str, ModelUsage]:
    """What each model was used for in a turn; what nobody can tell is left out."""
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
    if type(value) is int:  # a bool is no count
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


def told_models(told: Any, before: Models) -> Optional[Models]:
    """The running totals by model that a result tells; None if it tells none."""
    if not isinstance(told, dict):
        return None
    kept = {model: used for model, used in told.items() if isinstance(used, dict)}
    # A model does not vanish from a running total.
    return {**before, **kept} if kept else None


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
