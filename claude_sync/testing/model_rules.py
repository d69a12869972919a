"""
Which reply is given to which request, and in which order.

::

    HTTP request -> Request -> [rule] -> Reply or Failure -> frames -> HTTP response

A rule is a list of steps, one a turn; a step is a list of rounds, one a request of
that turn. Decided here and nowhere else: when a step is used up, and what comes
when the rounds are.
"""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable
from re import Pattern
from typing import Any, Union

from ..errors import UsageError
from .model_requests import Request
from .model_wire import Answer, Failure, Reply, Script

# Requests that a rule can answer; see :attr:`Request.kind`.
KINDS = ("conversation", "notification", "compact", "title", "quota", "side")

Matcher = Union[str, Pattern[str], Callable[[Request], bool]]


class Rule:
    """
    What the model says when a request matches; made by :meth:`LoopbackModel.when`.

    Every method returns the rule, so that calls can be chained. Where a reply is
    wanted, a text, a block, a list of both, a :class:`Reply`, a :class:`Failure` or
    a function will do; the function is called with the :class:`Request` and returns
    one of the others. A function whose reply uses a tool is asked again in the next
    round, unless ``then_reply`` says what comes.
    """

    def __init__(self, matcher: Matcher, kind: str | None) -> None:
        check_matcher(matcher)
        if kind not in (None, *KINDS):
            raise UsageError(
                f"kind is not {kind!r}, but one of {', '.join(map(repr, KINDS))}; or None for all."
            )
        self._matcher = matcher
        self._kind = kind
        self._lock = threading.Lock()  # guards _steps and their counts
        self._steps: list[Step] = []

    def reply(self, content: Script, *, times: int | None = None, **settings: Any) -> Rule:
        """
        Say *content*; *settings* are those of :class:`Reply`: ``gate``, ``delay``, ``usage``, ...

        With *times*, that often; otherwise once if another ``reply`` or ``fail``
        follows, and for ever if not.
        """
        return self._add_step(with_settings(content, settings), times)

    def fail(
        self, status: int, message: str | None = None, *, times: int | None = None, **settings: Any
    ) -> Rule:
        """Answer with an HTTP error; the rest is that of :class:`Failure`, *times* as above."""
        return self._add_step(Failure(status, message, **settings), times)

    def then_reply(self, content: Script, **settings: Any) -> Rule:
        """
        Say *content* in the next round of the same turn, when the tools have run.

        An error (:func:`failure`, :func:`cut`) given here happens once; the repeated
        request gets the reply after it.
        """
        with self._lock:
            if not self._steps:
                raise UsageError("then_reply() needs a reply() before it: it is what comes next.")
            self._steps[-1].rounds.append(with_settings(content, settings))
        return self

    def _add_step(self, script: Script, times: int | None) -> Rule:
        if times is not None and times < 1:
            raise UsageError(f"times={times} would never reply. Leave the rule out instead.")
        with self._lock:
            if self._steps and self._steps[-1].left is None:
                self._steps[-1].left = 1
            self._steps.append(Step([script], times))
        return self

    def matches(self, request: Request) -> bool:
        """Whether the rule is about *request*. Thread: any; may call the user's matcher."""
        # Without new text a text cannot match: the tool would be used again, for ever.
        if request.is_continuation and not callable(self._matcher):
            return False
        return self._kind in (None, request.kind) and is_match(self._matcher, request)

    def take(self) -> list[Script] | None:
        """The rounds of the next turn; None once the rule is used up. Thread: any."""
        with self._lock:
            for step in self._steps:
                if step.left is None:
                    return step.rounds
                if step.left > 0:
                    step.left -= 1
                    return step.rounds
        return None


@dataclasses.dataclass
class Step:
    """One reply of a rule with the rounds that follow it; *left*: None is for ever."""

    rounds: list[Script]
    left: int | None


@dataclasses.dataclass
class Place:
    """Where a turn stands in its script."""

    rounds: list[Script]
    index: int = 0

    def script(self) -> Script | None:
        """What to say now; None where the script has ended and the turn goes on."""
        if self.index < len(self.rounds):
            return self.rounds[self.index]
        last = self.rounds[-1]
        return last if callable(last) else None


def check_matcher(matcher: Matcher) -> None:
    """UsageError unless this can match anything."""
    if not (isinstance(matcher, (str, re.Pattern)) or callable(matcher)):
        raise UsageError(
            "a matcher is a part of the user's text, a compiled regular expression or a function "
            f"of the request; not {matcher!r}."
        )


def is_match(matcher: Matcher, request: Request) -> bool:
    """Whether *request* is what a matcher means."""
    if isinstance(matcher, str):
        return matcher in request.text
    if isinstance(matcher, re.Pattern):
        return matcher.search(request.text) is not None
    return bool(matcher(request))


def with_settings(content: Script, settings: dict[str, Any]) -> Script:
    """*content* with the settings of the call; a function's replies get them too."""
    if not callable(content):
        return as_reply(content, settings)
    as_reply("", settings)  # a wrong name is told now
    function = content
    return lambda request: as_reply(function(request), settings)


def as_reply(answer: Answer, settings: dict[str, Any]) -> Reply | Failure:
    """*answer* as a reply with those settings; an error has none of them."""
    if isinstance(answer, Failure):
        return answer
    return dataclasses.replace(answer if isinstance(answer, Reply) else Reply(answer), **settings)
