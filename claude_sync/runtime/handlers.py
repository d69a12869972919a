"""
The handlers of each kind of event, in order of registration.

::

    process -> lines -> messages -> dispatch -> [handlers] -> turn

A registry belongs to its client; the threads only hold a weak reference to it.
A handler that mentions its client therefore does not keep a forgotten client
alive: both can be collected together, and the client is closed.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

from ..errors import UsageError

__all__ = ["KINDS", "HandlerRegistry", "add_methods_of"]

Handler = Callable[[Any], object]

# Every plain kind of event; on_<kind> registers a handler for it.
KINDS = (
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "result",
    "message",
    "system",
    "init",
    "status",
    "task",
    "rate_limit",
    "stream_event",
    "stderr",
    "error",
    "close",
)

# Handlers that a program may count on, and that nothing calls yet.
NOT_YET = ("on_permission", "on_question", "on_hook")

# Kinds whose handlers see the main conversation only, unless told otherwise.
OF_MAIN_CONVERSATION = ("text", "thinking")


class HandlerRegistry:
    """
    What is to be called for what.

    ``_lock`` guards changes only. They replace the tuples as a whole, so reading
    needs no lock, and a handler may add or remove handlers, itself included: the
    change counts from the next event on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Called after every change.
        self.on_change: Callable[[], None] = lambda: None
        # Whether no handler is registered for anything.
        self.is_empty = True
        self.of: Dict[str, Tuple[Handler, ...]] = dict.fromkeys(KINDS, ())
        # The handlers of text and thinking that want to hear subagents too.
        self.of_subagents: Dict[str, Tuple[Handler, ...]] = dict.fromkeys(OF_MAIN_CONVERSATION, ())

    def add(self, kind: str, handler: Any, *, subagents: bool = False) -> Any:
        """Register *handler*; return it, so that this works as a decorator."""
        if not callable(handler):
            raise UsageError(
                f"on_{kind}() takes a function of one argument, not {handler!r}. "
                f"Write client.on_{kind}(function), or @client.on_{kind} above the function."
            )
        with self._lock:
            self.of = {**self.of, kind: (*self.of[kind], handler)}
            self.is_empty = False
            if subagents:
                hearing = (*self.of_subagents[kind], handler)
                self.of_subagents = {**self.of_subagents, kind: hearing}
        self.on_change()
        return handler

    def remove(self, handler: Handler) -> None:
        """Forget *handler* for every kind; one that is not registered is ignored."""
        with self._lock:
            self.of = without(self.of, handler)
            self.of_subagents = without(self.of_subagents, handler)
            self.is_empty = not any(self.of.values())
        self.on_change()


def without(
    handlers: Dict[str, Tuple[Handler, ...]], handler: Handler
) -> Dict[str, Tuple[Handler, ...]]:
    """A copy of *handlers* that does not contain *handler*. Bound methods compare equal."""
    return {kind: tuple(h for h in each if h != handler) for kind, each in handlers.items()}


def add_methods_of(
    target: object, names: Iterable[str], add: Callable[[str, Handler], object]
) -> None:
    """
    Register the methods of *target* that are named like handlers.

    A near miss (``on_tex``) is a UsageError; other ``on_*`` methods are left alone.
    """
    known = set(names)
    found: Dict[str, Handler] = {}
    for name in dir(target):
        if not name.startswith("on_"):
            continue
        method = getattr(target, name)
        if not callable(method):
            continue
        if name in known:
            found[name] = method
        elif name in NOT_YET:
            raise UsageError(not_yet(name))
        else:
            meant = near_miss(name, known)
            if meant is not None:
                raise UsageError(
                    f"{type(target).__name__}.{name} looks like a handler, but there is no such "
                    f"event. Did you mean {meant}? Rename it, or give it a name that does not "
                    "begin with on_."
                )
    if not found:
        raise UsageError(
            f"{target!r} has no method that is named like a handler. Name them on_text, "
            "on_tool_use, on_result and so on, each with one argument."
        )
    # Only now: an object with a mistake in it registers nothing.
    for name, method in found.items():
        add(name, method)


def not_yet(name: str) -> str:
    """What to say about a handler that would never be called."""
    return (
        f"{name} is not supported by this release yet: Claude is denied whatever it would have "
        "to ask for. Allow tools with allowed_tools=[...] or permission_mode=..."
    )


def near_miss(name: str, known: Iterable[str]) -> Optional[str]:
    """The name that was probably meant, or None for a name of the program's own."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.85)
    return close[0] if close else None
