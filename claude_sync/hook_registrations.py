"""
Which function is called for which event: what ``on_hook`` and the option ``hooks`` take.

A mistake here would show late, or never: a hook for an event that does not exist
is not called, and one that cannot be called blocks everything. So what can be
checked is checked when the hook is registered.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from .errors import UsageError
from .hook_events import HOOK_EVENTS
from .hook_outputs import near_miss
from .option_kinds import amount, choice, nearest, refuse

__all__ = ["HookRegistration", "hooks_of", "make_hook"]

ON_FAILURE = ("block", "continue")
# What permissions are written as.
RULE = re.compile(r"[A-Za-z_]\w*\(.*\)", re.DOTALL)
# Those that hooks are usually about.
TOOL_NAMES = (
    *("Bash", "Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Glob", "Grep"),
    *("WebFetch", "WebSearch", "Task", "Agent", "AskUserQuestion", "ExitPlanMode"),
)
GROUP_KEYS = ("matcher", "hooks", "timeout", "on_failure")
FORM = (
    "hooks={'PreToolUse': function}, or {'PreToolUse': [function, {'matcher': 'Bash', "
    "'hooks': [function], 'timeout': 30}]}"
)
# For these the CLI has meanings of its own, whatever they are as regular expressions.
MATCHES_ALL = ("", "*")


@dataclasses.dataclass(frozen=True)
class HookRegistration:
    """
    A function that is called when an event happens.

    Attributes:
        event: The event.
        matcher: The tools it is about, as the CLI matches them; None for all.
        function: What is called, with a :class:`~claude_sync.hook_events.HookEvent`.
        timeout: How many seconds it may take; None where nobody has said.
        on_failure: ``block`` or ``continue``: what becomes of the tool when it raises.

    """

    event: str
    matcher: Optional[str]
    function: Callable[[Any], Any]
    timeout: Optional[float] = None
    on_failure: str = "block"


def make_hook(
    event: str,
    function: Callable[[Any], Any],
    matcher: Optional[str] = None,
    timeout: Optional[float] = None,
    on_failure: str = "block",
) -> HookRegistration:
    """
    A registration, checked.

    An event this release does not know is accepted, since the CLI may know it; where it
    looks like a misspelled one, with a warning.

    Raises:
        UsageError: It could never work.

    """
    if not isinstance(event, str) or not event.strip():
        raise refuse("the event of a hook", event, "a str such as 'PreToolUse'")
    check_function(event, function)
    if matcher is not None and not isinstance(matcher, str):
        raise refuse("matcher", matcher, "a str such as 'Bash' or 'Edit|Write' (or None for all)")
    amount("timeout", timeout)
    choice(*ON_FAILURE, optional=False)("on_failure", on_failure)
    warn_of_typos(event, matcher)
    return HookRegistration(event, matcher, function, timeout, on_failure)


def check_function(event: str, function: Any) -> None:
    """Raise unless *function* can be called with one argument, and then answers."""
    if not callable(function):
        raise refuse(f"the hook for {event}", function, "a function of one argument, the event")
    if is_async(function):
        raise UsageError(
            f"the hook for {event} is an async function, and nothing here awaits it: the hook "
            "would never run. Write it with 'def'; it runs in a thread of its own and may wait."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some builtins do not tell
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise UsageError(
            f"the hook for {event} cannot be called with one argument ({error}). Write "
            "'def hook(event)': event.raw, event.tool_use_id and event.cancelled have the rest."
        ) from None


def is_async(function: Any) -> bool:
    """Whether calling *function* gives something to await or to iterate over."""
    call = getattr(type(function), "__call__", None)  # noqa: B004
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, call)
    )


def warn_of_typos(event: str, matcher: Optional[str]) -> None:
    """Warn of a hook that will probably never be called."""
    if event not in HOOK_EVENTS:
        meant = near_miss(event.strip(), HOOK_EVENTS)
        if meant is not None:
            warnings.warn(
                f"there is no event {event!r} that this release knows; did you mean {meant!r}? "
                "The hook is registered as it is, in case the CLI knows it.",
                stacklevel=4,  # whoever called the caller of make_hook()
            )
    if matcher is not None and RULE.fullmatch(matcher) is not None:
        raise UsageError(
            f"matcher={matcher!r} is a rule, and a matcher is a pattern for the name of the tool "
            "alone. Write matcher='Bash', and look at event.tool_input in the hook."
        )
    for name in TOOL_NAMES:
        if matcher is not None and matcher != name and matcher.lower() == name.lower():
            warnings.warn(f"no tool is named {matcher!r}; did you mean {name!r}?", stacklevel=4)
    if matcher is not None and matcher not in MATCHES_ALL:
        try:
            re.compile(matcher)
        except (re.error, RecursionError, OverflowError) as error:
            warnings.warn(
                f"the matcher {matcher!r} of the hook for {event} is no regular expression "
                f"({error}), so it may match no tool. Write it as in 'Bash' or 'mcp__.*'.",
                stacklevel=4,
            )


def hooks_of(value: Any) -> Tuple[HookRegistration, ...]:
    """
    The hooks in the option ``hooks=``; none for None.

    The value is a dict from events to a function, or to a list of functions and of groups.
    A group is a dict with ``hooks`` and, if wanted, ``matcher``, ``timeout`` and
    ``on_failure``, or an object with such attributes.

    Raises:
        UsageError: It has another form.

    """
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise refuse("hooks", value, f"a dict: {FORM}")
    found: List[HookRegistration] = []
    for event, items in value.items():
        for item in items if isinstance(items, (list, tuple)) else [items]:
            found.extend(hooks_of_item(event, item))
    return tuple(found)


def hooks_of_item(event: str, item: Any) -> Iterator[HookRegistration]:
    """The hooks in one function or one group."""
    if callable(item):
        yield make_hook(event, item)
        return
    group = group_of(event, item)
    functions = group.pop("hooks")
    for function in functions if isinstance(functions, (list, tuple)) else [functions]:
        yield make_hook(event, function, **group)


def group_of(event: str, item: Any) -> Dict[str, Any]:
    """The settings of a group; ``hooks`` is among them."""
    where = f"hooks[{event!r}]"
    if isinstance(item, Mapping):
        for key in item:
            if key not in GROUP_KEYS:
                meant = nearest(str(key), GROUP_KEYS)
                hint = f" (did you mean {meant!r}?)" if meant else ""
                raise refuse(f"each key in {where}", key, f"one of {', '.join(GROUP_KEYS)}{hint}")
        group = dict(item)
    else:
        group = {key: getattr(item, key) for key in GROUP_KEYS if hasattr(item, key)}
    if "hooks" not in group:
        raise refuse(f"each item of {where}", item, f"a function or a dict with 'hooks': {FORM}")
    # What other libraries call unset is our default.
    if group.get("on_failure", "") is None:
        del group["on_failure"]
    return group
