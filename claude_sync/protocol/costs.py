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

A :class:`Tally` knows what messages other than results tell about tokens. The size of the context
is what the last request of the main conversation had the model read: ``input_tokens``, and those
read from and put into the cache. That is the CLI's own definition, in its status line and in
``get_context_usage``; the reply itself is not in it yet. Subagents have contexts of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

from ..messages.usage import (
    ROUNDING,
    Charge,
    Models,
    ModelUsage,
    Usage,
    added,
    amount_of,
    context_of,
    difference,
    is_of_the_main_thread,
    rise,
)

if TYPE_CHECKING:
    from ..messages.agents import AgentLog, AgentUsage

__all__ = ["CostMeter", "Tally"]

# A CLI that says something twice does so at once.
RESULTS_REMEMBERED = 64
# So many usages are kept as they came before they are added up.
USAGES_KEPT = 256


class CostMeter:
    """The money and the tokens of one client, over all its processes."""

    def __init__(self) -> None:
        self.total_usd = 0.0
        # What the process that runs has told last, and the one before it; None: nobody knows
        # where it began.
        self._process_total: Optional[float] = 0.0
        self._total_before: Optional[float] = None
        # Whether the process that runs has told a total: one that has not says nothing of before.
        self._has_told = False
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
        if self._has_told:
            self._total_before = self._process_total
        self._has_told, self._process_total = False, baseline
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
        self._has_told = baseline is not None

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
        self._has_told = True
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


def told_models(told: Any, before: Models) -> Optional[Models]:
    """The running totals by model that a result tells; None if it tells none."""
    if not isinstance(told, dict):
        return None
    kept = {model: used for model, used in told.items() if isinstance(used, dict)}
    # A model does not vanish from a running total.
    return {**before, **kept} if kept else None


class Tally:
    """What is known of one client's conversation; fed by one thread, asked by any."""

    def __init__(self) -> None:
        self._spoken: Optional[Mapping[str, Any]] = None
        self._session_id: Any = None
        self._agents: Optional[AgentLog] = None

    @property
    def context_tokens(self) -> Optional[int]:
        """The size of the context; None before it is told, and after it was given up."""
        return None if self._spoken is None else context_of(self._spoken)

    @property
    def agent_usage(self) -> Tuple[AgentUsage, ...]:
        """The subagents so far: the last 1,000 of them."""
        return () if self._agents is None else self._agents.all()

    def see(self, raw: Mapping[str, Any]) -> None:
        """A complete message came. Every one does, so this does little."""
        kind = raw.get("type")
        if kind == "assistant":
            if is_of_the_main_thread(raw):
                self._spoken = raw
            if mentions_agents(raw):
                self._see_agents(raw)
        elif kind == "user":
            if self._agents is not None:
                self._agents.see(raw)
        elif kind == "system":
            self._system(raw)
        elif kind == "conversation_reset":
            self._spoken = None

    def _system(self, raw: Mapping[str, Any]) -> None:
        subtype = raw.get("subtype")
        if subtype == "init":
            session_id = raw.get("session_id")
            if session_id != self._session_id:
                # Another conversation than before: /clear, or one that was lost.
                self._session_id, self._spoken = session_id, None
        elif subtype == "compact_boundary":
            self._spoken = None
        elif isinstance(subtype, str) and subtype.startswith("task_"):
            self._see_agents(raw)

    def _see_agents(self, raw: Mapping[str, Any]) -> None:
        if self._agents is None:
            from ..messages.agents import AgentLog

            self._agents = AgentLog()
        self._agents.see(raw)


def mentions_agents(raw: Mapping[str, Any]) -> bool:
    """Whether an ``assistant`` message starts a subagent."""
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return False
    # The two names of the tool.
    return any(isinstance(b, dict) and b.get("name") in ("Task", "Agent") for b in content)
