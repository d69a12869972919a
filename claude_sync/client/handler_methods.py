"""
``client.on_text`` and its sisters: how handlers are registered.

Each works as a call and as a decorator and returns the handler. A handler takes
one argument. It may be registered at any time, from any thread, and inside a
handler; handlers run in order of registration.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Literal,
    Mapping,
    Optional,
    TypeVar,
    Union,
    overload,
)

from ..engine.handlers import HOOK_NEEDS_EVENT, KINDS, HandlerRegistry, add_methods_of
from ..errors import UsageError
from ..support.checks import check_function

if TYPE_CHECKING:
    from ..hooks import HookDecision, HookEvent
    from ..hooks.events import EventName
    from ..messages.base import Message, PromptSuggestion, RateLimit, Result, StreamEvent, System
    from ..messages.blocks import ToolResult, ToolUse
    from ..messages.events import Closed, HandlerError
    from ..messages.stream_text import Text, Thinking
    from ..messages.system import Init, Status
    from ..messages.tasks import Task
    from ..permissions.request import (
        PermissionAnswer,
        PermissionRequest,
        Questions,
        QuestionsAnswer,
    )

__all__ = ["HandlerMethods"]

F = TypeVar("F", bound=Callable[..., Any])
# What a handler returns. Each method says what its handlers get, too: a type variable for the
# whole handler would leave the argument of a lambda unknown.
R = TypeVar("R")
D = TypeVar("D", bound="PermissionAnswer")
Q = TypeVar("Q", bound="QuestionsAnswer")
O = TypeVar("O", bound="Union[HookDecision, Mapping[str, Any], None]")  # noqa: E741


class HandlerMethods:
    """The part of ``Client`` that registers handlers."""

    _registry: HandlerRegistry

    @overload
    def on_text(
        self, handler: Callable[[Text], R], *, subagents: bool = False
    ) -> Callable[[Text], R]: ...

    @overload
    def on_text(
        self, *, subagents: bool = False
    ) -> Callable[[Callable[[Text], R]], Callable[[Text], R]]: ...

    def on_text(
        self, handler: Any = None, *, subagents: bool = False
    ) -> Union[Any, Callable[[Any], Any]]:
        """Each new piece of text, as a ``Text``; with ``subagents=True`` also of subagents."""
        return self._hearing("text", handler, subagents)

    @overload
    def on_thinking(
        self, handler: Callable[[Thinking], R], *, subagents: bool = False
    ) -> Callable[[Thinking], R]: ...

    @overload
    def on_thinking(
        self, *, subagents: bool = False
    ) -> Callable[[Callable[[Thinking], R]], Callable[[Thinking], R]]: ...

    def on_thinking(
        self, handler: Any = None, *, subagents: bool = False
    ) -> Union[Any, Callable[[Any], Any]]:
        """Each new piece of what Claude thinks aloud, as a ``Thinking``."""
        return self._hearing("thinking", handler, subagents)

    def on_tool_use(self, handler: Callable[[ToolUse], R]) -> Callable[[ToolUse], R]:
        """Each tool call, as a ``ToolUse``: once, complete, before it runs."""
        return self._add("tool_use", handler)

    def on_tool_result(self, handler: Callable[[ToolResult], R]) -> Callable[[ToolResult], R]:
        """What each tool returned, as a ``ToolResult``."""
        return self._add("tool_result", handler)

    def on_permission(
        self, handler: Callable[[PermissionRequest], D]
    ) -> Callable[[PermissionRequest], D]:
        """Claude wants to use a tool: a ``PermissionRequest``, to be answered."""
        return self._add("permission", handler)

    def on_question(self, handler: Callable[[Questions], Q]) -> Callable[[Questions], Q]:
        """Claude asks the person something: ``Questions``, to be answered."""
        return self._add("question", handler)

    @overload
    def on_hook(
        self,
        event: EventName,
        function: Callable[[HookEvent], O],
        matcher: str | None = None,
        *,
        timeout: float | None = None,
        on_failure: Literal["block", "continue"] = "block",
    ) -> Callable[[HookEvent], O]: ...

    @overload
    def on_hook(
        self,
        event: EventName,
        matcher: str | None,
        /,
        *,
        timeout: float | None = None,
        on_failure: Literal["block", "continue"] = "block",
    ) -> Callable[[Callable[[HookEvent], O]], Callable[[HookEvent], O]]: ...

    @overload
    def on_hook(
        self,
        event: EventName,
        *,
        matcher: str | None = None,
        timeout: float | None = None,
        on_failure: Literal["block", "continue"] = "block",
    ) -> Callable[[Callable[[HookEvent], O]], Callable[[HookEvent], O]]: ...

    def on_hook(
        self,
        event: Any,
        function: Any = None,
        matcher: Any = None,
        *,
        timeout: float | None = None,
        on_failure: Any = "block",
    ) -> Any:
        """
        A hook; its handler gets a ``HookEvent`` and may return a decision::

            @client.on_hook("PreToolUse", matcher="Bash")
            def check(event):
                if "sudo" in event.tool_input["command"]:
                    return claude_sync.hooks.block("no sudo here")

            client.on_hook("PreToolUse", check, matcher="Bash")  # the same as a call

        Before the CLI is used for the first time. A PreToolUse or PermissionRequest hook
        that raises, returns nonsense or is not done within *timeout* seconds blocks;
        ``on_failure="continue"`` opts out. Without a timeout it may take as long as it needs.

        Any event name works. Type checkers know those of this release; pass another one as
        ``Client(hooks={"NewEvent": check})``.
        """
        import dataclasses

        from ..hooks.registration import make_hook

        if callable(event):
            raise UsageError(HOOK_NEEDS_EVENT)
        if isinstance(function, str) and matcher is None:  # on_hook("PreToolUse", "Bash")
            function, matcher = None, function
        # At once, and not when the decorator is applied: it might never be.
        hook = make_hook(event, function or len, matcher, timeout, on_failure)
        if function is not None:
            self._registry.add_hook(hook)
            return function

        def register(handler: Callable[[HookEvent], O]) -> Callable[[HookEvent], O]:
            check_function(f"the hook for {event}", handler)
            self._registry.add_hook(dataclasses.replace(hook, function=handler))
            return handler

        return register

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(
        self,
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        title: Optional[str] = None,
        ask: Optional[bool] = None,
        read_only: Optional[bool] = None,
        destructive: Optional[bool] = None,
        idempotent: Optional[bool] = None,
        open_world: Optional[bool] = None,
        max_result_chars: Optional[int] = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, **settings: Any) -> Any:
        """
        A function that Claude can call, as a decorator; see :func:`claude_sync.tool`::

            @client.tool
            def population(city: str) -> int: ...

        Before the CLI is used for the first time.
        """
        from ..tools import make_tool

        def register(function: Any) -> Any:
            self._registry.add_tool(make_tool(function, **settings))
            return function

        return register if function is None else register(function)

    def on_result(self, handler: Callable[[Result], R]) -> Callable[[Result], R]:
        """The end of each turn, also of turns that the CLI starts itself, as a ``Result``."""
        return self._add("result", handler)

    def on_message(self, handler: Callable[[Message], R]) -> Callable[[Message], R]:
        """Every complete message of the CLI, also of types this release does not know."""
        return self._add("message", handler)

    def on_system(self, handler: Callable[[System], R]) -> Callable[[System], R]:
        """Every message of the CLI about itself, as a ``System`` or a subclass of it."""
        return self._add("system", handler)

    def on_init(self, handler: Callable[[Init], R]) -> Callable[[Init], R]:
        """A conversation begins, as an ``Init``: once for each conversation."""
        return self._add("init", handler)

    def on_status(self, handler: Callable[[Status], R]) -> Callable[[Status], R]:
        """What the CLI is busy with, as a ``Status``."""
        return self._add("status", handler)

    def on_task(self, handler: Callable[[Task], R]) -> Callable[[Task], R]:
        """News of a background task, as a ``Task``."""
        return self._add("task", handler)

    def on_rate_limit(self, handler: Callable[[RateLimit], R]) -> Callable[[RateLimit], R]:
        """News of the account's limits, as a ``RateLimit``."""
        return self._add("rate_limit", handler)

    def on_prompt_suggestion(
        self, handler: Callable[[PromptSuggestion], R]
    ) -> Callable[[PromptSuggestion], R]:
        """What the CLI suggests to ask next; for ``Client(prompt_suggestions=True)``."""
        return self._add("prompt_suggestion", handler)

    def on_stream_event(self, handler: Callable[[StreamEvent], R]) -> Callable[[StreamEvent], R]:
        """Every raw event of a reply in the making, as a ``StreamEvent``; none are merged."""
        return self._add("stream_event", handler)

    def on_stderr(self, handler: Callable[[str], R]) -> Callable[[str], R]:
        """Each line the CLI writes to stderr, as a ``str``."""
        return self._add("stderr", handler)

    def on_error(self, handler: Callable[[HandlerError], R]) -> Callable[[HandlerError], R]:
        """The failure of another handler, as a ``HandlerError``."""
        return self._add("error", handler)

    def on_close(self, handler: Callable[[Closed], R]) -> Callable[[Closed], R]:
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

    def _add(self, kind: str, handler: F) -> F:
        self._registry.add(kind, handler)
        return handler

    def _hearing(self, kind: str, handler: Any, subagents: bool) -> Any:
        if handler is None:
            return lambda function: self._registry.add(kind, function, subagents=subagents)
        return self._registry.add(kind, handler, subagents=subagents)
