"""
Which function is called for which event: what ``on_hook`` and the option ``hooks`` take.

A mistake here would show late, or never: the CLI does not call a hook for an event that does not
exist, and a hook that cannot be called blocks everything. So what can be checked is checked when
the hook is registered.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence

from ..errors import UsageError
from ..options.fields import KNOWN_TOOLS
from ..support.checks import check_function, check_timeout, nearest, refuse
from .events import HOOK_EVENTS

__all__ = ["LONGEST_ON_THE_WIRE", "HookRegistration", "hooks_of", "hooks_on_the_wire"]
__all__ += ["make_hook", "number_of"]

ON_FAILURE = ("block", "continue")
# What the CLI is told of how long a hook may take. It takes an error and, on 2.1.29, a late
# answer for consent: so its clock never runs out before ours, and more milliseconds than fit
# into 31 bits it takes for no time at all.
LONGEST_ON_THE_WIRE = 2_000_000
# No CLI calls these back when they are registered by a program: they need a settings file.
NEVER_CALLED = ("SessionStart", "SessionEnd")
# A rule for permissions, which looks like a matcher.
RULE = re.compile(r"[A-Za-z_]\w*\(.*\)", re.DOTALL)
GROUP_KEYS = ("matcher", "hooks", "timeout", "on_failure")
FORM = (
    "hooks={'PreToolUse': function}, or {'PreToolUse': [function, {'matcher': 'Bash', "
    "'hooks': [function], 'timeout': 30}]}"
)


@dataclasses.dataclass(frozen=True)
class HookRegistration:
    """
    A function that is called when an event happens.

    Attributes:
        event: The name of the event.
        matcher: The tools it is about, as the CLI matches them; None for all.
        function: What is called, with a :class:`~claude_sync.HookEvent`.
        timeout: How many seconds it may take; None: as long as it needs.
        on_failure: ``block`` or ``continue``: what happens to the tool when it fails.

    """

    event: str
    matcher: str | None
    function: Callable[[Any], Any]
    timeout: float | None = None
    on_failure: str = "block"


def make_hook(
    event: str,
    function: Callable[[Any], Any],
    matcher: str | None = None,
    timeout: float | None = None,
    on_failure: str = "block",
) -> HookRegistration:
    """
    A registration, checked.

    Any event is accepted, since a later CLI may know it. A warning says when the hook will
    probably never be called.

    Raises:
        UsageError: It could never work.

    """
    if not isinstance(event, str) or not event.strip():
        raise refuse("the event of a hook", event, "a str such as 'PreToolUse'")
    check_function(f"the hook for {event}", function)
    if matcher is not None and not isinstance(matcher, str):
        raise refuse("matcher", matcher, "a str such as 'Bash' or 'Edit|Write' (or None for all)")
    if matcher is not None and RULE.fullmatch(matcher):
        raise UsageError(
            f"matcher={matcher!r} is a rule; a matcher is a pattern for the tool's name alone. "
            "Write matcher='Bash', and look at event.tool_input in the hook."
        )
    if on_failure not in ON_FAILURE:
        raise refuse("on_failure", on_failure, "'block' or 'continue'")
    seconds = check_timeout("timeout", timeout)
    for doubt in doubts(event, matcher):
        warnings.warn(doubt, stacklevel=3)
    return HookRegistration(event, matcher, function, seconds, on_failure)


def doubts(event: str, matcher: str | None) -> Iterator[str]:
    """Why the hook will probably never be called."""
    if event in NEVER_CALLED:
        yield (
            f"no CLI calls a {event} hook of a program. Use client.on_init or client.on_close, or "
            "put the hook into a settings file."
        )
    meant = None if event in HOOK_EVENTS else nearest(event.strip(), HOOK_EVENTS, 0.85)
    if meant is not None:
        yield (
            f"this release knows no event {event!r}; did you mean {meant!r}? The hook is "
            "registered as it is, in case the CLI knows the event."
        )
    if matcher is None or matcher in (*KNOWN_TOOLS, "", "*"):  # the CLI takes these for all
        return
    names = {name.lower(): name for name in KNOWN_TOOLS}
    if matcher.lower() in names:
        yield f"no tool is named {matcher!r}; did you mean {names[matcher.lower()]!r}?"
    try:
        re.compile(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        yield (
            f"the matcher {matcher!r} of the hook for {event} is not a regular expression "
            f"({error}), so it may match no tool. Write it as in 'Bash' or 'mcp__.*'."
        )


def hooks_of(value: Any) -> tuple[HookRegistration, ...]:
    """
    The hooks in the option ``hooks``; none for None.

    The value is a dict from events to a function, or to a list of functions and groups. A group
    is a dict with ``hooks`` and, if wanted, ``matcher``, ``timeout`` and ``on_failure``, or an
    object with such attributes.

    Raises:
        UsageError: It has another form.

    """
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise refuse("hooks", value, f"a dict: {FORM}")
    return tuple(
        make_hook(event, function, **settings)
        for event, items in value.items()
        for item in (items if isinstance(items, (list, tuple)) else [items])
        for function, settings in functions_of(event, item)
    )


def functions_of(event: str, item: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The functions of a function or a group, each with its settings."""
    if callable(item):
        yield item, {}
        return
    where = f"hooks[{event!r}]"
    if isinstance(item, Mapping):
        group = dict(item)
        for key in group:
            if key not in GROUP_KEYS:
                meant = nearest(key, GROUP_KEYS)
                raise refuse(f"each key in {where}", key, f"one of {GROUP_KEYS}", meant)
    else:
        group = {key: getattr(item, key) for key in GROUP_KEYS if hasattr(item, key)}
    if "hooks" not in group:
        raise refuse(f"each item of {where}", item, f"a function or a dict with 'hooks': {FORM}")
    functions = group.pop("hooks")
    # Other libraries write None for the default.
    settings = {key: setting for key, setting in group.items() if setting is not None}
    for function in functions if isinstance(functions, (list, tuple)) else [functions]:
        yield function, settings


# On the wire.


def hooks_on_the_wire(hooks: Sequence[HookRegistration]) -> dict[str, list[dict[str, Any]]]:
    """The hooks as ``initialize`` takes them. The number of a hook is in its callback id."""
    wire: dict[str, list[dict[str, Any]]] = {}
    for number, hook in enumerate(hooks):
        entry = {"hookCallbackIds": [f"hook_{number}"], "timeout": LONGEST_ON_THE_WIRE}
        matcher = {} if hook.matcher is None else {"matcher": hook.matcher}
        wire.setdefault(hook.event, []).append({**entry, **matcher})
    return wire


def number_of(callback_id: object) -> int | None:
    """The number of the hook that *callback_id* means; None for no hook of ours."""
    found = re.fullmatch(r"hook_([0-9]{1,8})", str(callback_id))
    return int(found[1]) if found else None
