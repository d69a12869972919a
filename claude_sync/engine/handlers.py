"""
The handlers of each kind of event, in order of registration.

::

    process -> lines -> messages -> dispatch -> [handlers] -> turn

A registry belongs to its client; the threads only hold a weak reference to it.
A handler that mentions its client therefore does not keep a forgotten client
alive: both can be collected together, and the client is closed.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Set, Tuple

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import encode
from ..support.checks import check_function, nearest

if TYPE_CHECKING:
    from ..hooks import HookRegistration
    from ..tools import Tool

__all__ = ["KINDS", "SERVER", "TOOL_PREFIX", "HandlerRegistry", "Handling", "add_methods_of"]

# The MCP server inside this program, and how the CLI names its tools.
SERVER = "claude_sync"
TOOL_PREFIX = f"mcp__{SERVER}__"

Handler = Callable[[Any], object]

# Every kind of event for which on_<kind>(handler) registers a handler.
KINDS = (
    "text",
    "thinking",
    "tool_use",
    "tool_result",
    "permission",
    "question",
    "result",
    "message",
    "system",
    "init",
    "status",
    "task",
    "rate_limit",
    "prompt_suggestion",
    "stream_event",
    "stderr",
    "error",
    "close",
)

HOOK_NEEDS_EVENT = (
    "a hook belongs to an event. Register it with @client.on_hook('PreToolUse'), or pass "
    "hooks={'PreToolUse': function}."
)

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
        # In the order in which the greeting names them; hooks that were removed after it.
        self.hooks: Tuple[HookRegistration, ...] = ()
        self.removed_hooks: Tuple[HookRegistration, ...] = ()
        self.tools: Dict[str, Tool] = {}
        # The policy: asked before the handlers. Here because it may mention its client.
        self.policy: Optional[Handler] = None
        # The CLI has been told of them: none can be added any more.
        self._frozen = False
        # The client is closed, and its handlers of that were called.
        self.is_over = False

    def add(self, kind: str, handler: Any, *, subagents: bool = False) -> Any:
        """Register *handler*; return it, so that this works as a decorator."""
        check_function(f"on_{kind}", handler)
        with self._lock:
            self.of = {**self.of, kind: (*self.of[kind], handler)}
            self.is_empty = False
            if subagents:
                hearing = (*self.of_subagents[kind], handler)
                self.of_subagents = {**self.of_subagents, kind: hearing}
        if self.is_over:
            logger.warning("on_%s: the client is closed, so this handler is never called", kind)
        self.on_change()
        return handler

    def add_hook(self, hook: HookRegistration) -> None:
        """Register a hook; before the greeting."""
        with self._lock:
            self._check_frozen("a hook")
            self.hooks = (*self.hooks, hook)

    def add_tool(self, tool: Tool) -> None:
        """Register a tool; before the greeting."""
        encode({"tool": tool.name, "schema": tool.schema})  # UsageError for what cannot be told
        with self._lock:
            self._check_frozen("a tool")
            if tool.name in self.tools:
                raise UsageError(
                    f"there are two tools named {tool.name!r}. Give one of them another name "
                    "with @claude_sync.tool(name=...)."
                )
            self.tools = {**self.tools, tool.name: tool}

    def own_tools(self) -> Set[str]:
        """The names, as on the wire, of the tools that need no permission."""
        return {f"{TOOL_PREFIX}{tool.name}" for tool in self.tools.values() if not tool.ask}

    def freeze(self) -> None:
        """The CLI is told of hooks and tools: what is added later it would not know."""
        with self._lock:
            self._frozen = True

    def _check_frozen(self, what: str) -> None:
        if self._frozen:
            raise UsageError(
                f"{what} can be added only before the CLI is used for the first time. Do it "
                "before the first question and before start(), or open another client."
            )

    def remove(self, handler: Handler) -> None:
        """Forget *handler* for every kind; one that is not registered is ignored."""
        with self._lock:
            gone = tuple(hook for hook in self.hooks if hook.function == handler)
            if self._frozen:
                # The CLI will go on calling them, by their numbers.
                self.removed_hooks += gone
            else:
                self.hooks = tuple(hook for hook in self.hooks if hook not in gone)
            self.of = without(self.of, handler)
            self.of_subagents = without(self.of_subagents, handler)
            self.is_empty = not any(self.of.values())
        self.on_change()


def function_name(function: object) -> str:
    """What to call a function of the program's in a text; its own repr may fail, or take long."""
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        return type(function).__name__
    if name.endswith("<lambda>"):  # all are called so
        code = getattr(function, "__code__", None)
        file = os.path.basename(str(getattr(code, "co_filename", "?")))
        return f"{name} ({file}:{getattr(code, 'co_firstlineno', '?')})"
    return name


class Handling:
    """A thread is inside a handler, as long as this context lasts."""

    __slots__ = ("_local",)

    def __init__(self, local: Any) -> None:
        self._local = local

    def __enter__(self) -> None:
        self._local.depth = getattr(self._local, "depth", 0) + 1

    def __exit__(self, *exc_info: object) -> None:
        self._local.depth -= 1


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
        elif name == "on_hook":
            raise UsageError(HOOK_NEEDS_EVENT)
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


def near_miss(name: str, known: Iterable[str]) -> Optional[str]:
    """The name that was probably meant, or None for a name of the program's own."""
    return nearest(name, known, 0.85)
