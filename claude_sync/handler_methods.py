"""
``client.on_text`` and its sisters: how handlers are registered.

Each works as a call and as a decorator and returns the handler. A handler takes
one argument. It may be registered at any time, from any thread, and inside a
handler; handlers run in order of registration.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar, Union, overload

from .errors import UsageError
from .runtime.handlers import HOOK_NEEDS_EVENT, KINDS, HandlerRegistry, add_methods_of

__all__ = ["HandlerMethods"]

H = TypeVar("H", bound=Callable[..., Any])


class HandlerMethods:
    """The part of ``Client`` that registers handlers."""

    _registry: HandlerRegistry

    @overload
    def on_text(self, handler: H, *, subagents: bool = False) -> H: ...

    @overload
    def on_text(self, *, subagents: bool = False) -> Callable[[H], H]: ...

    def on_text(
        self, handler: Any = None, *, subagents: bool = False
    ) -> Union[Any, Callable[[Any], Any]]:
        """Each new piece of text, as a ``Text``; with ``subagents=True`` also of subagents."""
        return self._hearing("text", handler, subagents)

    @overload
    def on_thinking(self, handler: H, *, subagents: bool = False) -> H: ...

    @overload
    def on_thinking(self, *, subagents: bool = False) -> Callable[[H], H]: ...

    def on_thinking(
        self, handler: Any = None, *, subagents: bool = False
    ) -> Union[Any, Callable[[Any], Any]]:
        """Each new piece of what Claude thinks aloud, as a ``Thinking``."""
        return self._hearing("thinking", handler, subagents)

    def on_tool_use(self, handler: H) -> H:
        """Each tool call, as a ``ToolUse``: once, complete, before it runs."""
        return self._add("tool_use", handler)

    def on_tool_result(self, handler: H) -> H:
        """What each tool returned, as a ``ToolResult``."""
        return self._add("tool_result", handler)

    def on_permission(self, handler: H) -> H:
        """Claude wants to use a tool: a ``PermissionRequest``, to be answered."""
        return self._add("permission", handler)

    def on_question(self, handler: H) -> H:
        """Claude asks the person something: ``Questions``, to be answered."""
        return self._add("question", handler)

    def on_hook(
        self,
        event: str,
        matcher: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        on_failure: str = "block",
    ) -> Callable[[H], H]:
        """
        A hook, as a decorator; its handler gets a ``HookEvent`` and may return a decision::

            @client.on_hook("PreToolUse", matcher="Bash")
            def check(event):
                if "sudo" in event.tool_input["command"]:
                    return claude_sync.hooks.block("no sudo here")

        Before the CLI is used for the first time. A PreToolUse or PermissionRequest hook
        that raises, returns nonsense or is not done within *timeout* (60) seconds blocks;
        ``on_failure="continue"`` opts out.
        """
        from .hooks import make_hook

        if callable(event) or callable(matcher):
            raise UsageError(HOOK_NEEDS_EVENT)
        # At once, and not when the decorator is applied: it might never be.
        make_hook(event, len, matcher=matcher, timeout=timeout, on_failure=on_failure)

        def register(handler: H) -> H:
            hook = make_hook(
                event, handler, matcher=matcher, timeout=timeout, on_failure=on_failure
            )
            self._registry.add_hook(hook)
            return handler

        return register

    @overload
    def tool(self, function: H) -> H: ...

    @overload
    def tool(self, **settings: Any) -> Callable[[H], H]: ...

    def tool(self, function: Any = None, **settings: Any) -> Any:
        """
        A function that Claude can call, as a decorator; see :func:`claude_sync.tool`::

            @client.tool
            def population(city: str) -> int: ...

        Before the CLI is used for the first time.
        """
        from .tools import make_tool

        def register(function: Any) -> Any:
            self._registry.add_tool(make_tool(function, **settings))
            return function

        return register if function is None else register(function)

    def on_result(self, handler: H) -> H:
        """The end of each turn, also of turns nobody asked for, as a ``Result``."""
        return self._add("result", handler)

    def on_message(self, handler: H) -> H:
        """Every complete message of the CLI, also of types this release does not know."""
        return self._add("message", handler)

    def on_system(self, handler: H) -> H:
        """Every message of the CLI about itself, as a ``System`` or a subclass of it."""
        return self._add("system", handler)

    def on_init(self, handler: H) -> H:
        """A conversation begins, as an ``Init``: once for each conversation."""
        return self._add("init", handler)

    def on_status(self, handler: H) -> H:
        """What the CLI is busy with, as a ``Status``."""
        return self._add("status", handler)

    def on_task(self, handler: H) -> H:
        """News of a background task, as a ``Task``."""
        return self._add("task", handler)

    def on_rate_limit(self, handler: H) -> H:
        """News of the account's limits, as a ``RateLimit``."""
        return self._add("rate_limit", handler)

    def on_stream_event(self, handler: H) -> H:
        """Every raw event of a reply in the making, as a ``StreamEvent``; none are merged."""
        return self._add("stream_event", handler)

    def on_stderr(self, handler: H) -> H:
        """Each line the CLI writes to stderr, as a ``str``."""
        return self._add("stderr", handler)

    def on_error(self, handler: H) -> H:
        """The failure of another handler, as a ``HandlerError``."""
        return self._add("error", handler)

    def on_close(self, handler: H) -> H:
        """The end of the client, as a ``Closed``."""
        return self._add("close", handler)

    def off(self, handler: Callable[..., Any]) -> None:
        """Forget *handler*, whatever it was registered for."""
        self._registry.remove(handler)

    def add_handlers(self, target: object) -> None:
        """
        Register the methods of *target* that are named ``on_text``, ``on_result``, ...

        A name that nearly is one is a UsageError; other ``on_*`` methods are left alone.
        """
        names = [f"on_{kind}" for kind in KINDS]
        add_methods_of(target, names, lambda name, method: self._registry.add(name[3:], method))

    def _add(self, kind: str, handler: H) -> H:
        self._registry.add(kind, handler)
        return handler

    def _hearing(self, kind: str, handler: Any, subagents: bool) -> Any:
        if handler is None:
            return lambda function: self._registry.add(kind, function, subagents=subagents)
        return self._registry.add(kind, handler, subagents=subagents)
