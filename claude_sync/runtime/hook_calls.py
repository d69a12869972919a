"""
Serve the CLI's calls of hooks.

::

    process -> lines -> messages -> [hook] -> responder -> handlers -> answer

The CLI takes an error, or no answer in time, for consent. So a hook that decides
whether something may happen, and that fails, answers nonsense or takes too long,
is answered for: with a block, by us, before the CLI's own patience ends.
"""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional

from ..engine.handlers import function_name
from ..hooks import (
    BLOCKING_EVENTS,
    LONGEST_ON_THE_WIRE,
    failed_hook_output,
    hook_output,
    number_of,
    parse_hook_event,
)
from ..log import logger
from ..protocol.control import error_reply, success_reply

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..hooks import HookRegistration
    from .engine import Engine
    from .open_requests import OpenRequest

__all__ = ["HookCalls"]

# How much longer the CLI waits than we do.
ALLOWANCE = 10.0


class HookCalls:
    """The hooks of one client."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def server_of(self, request: OpenRequest, turn: Optional[Turn]) -> HookCall:
        """What serves a call; its time runs from now on."""
        registry = self._engine.registry()
        hooks = registry.hooks if registry is not None else ()
        number = number_of(request.body.get("callback_id"))
        hook = hooks[number] if number is not None and number < len(hooks) else None
        return HookCall(self._engine, request, hook, turn)


class HookCall:
    """One call of a hook, to be run where hooks run."""

    is_users_code = True  # also where there is no such hook: it is answered in its place

    def __init__(
        self,
        engine: Engine,
        request: OpenRequest,
        hook: Optional[HookRegistration],
        turn: Optional[Turn],
    ) -> None:
        self._engine = engine
        self._request = request
        self._hook = hook
        self._turn = turn
        given = request.body.get("input")
        self._input: Mapping[str, Any] = given if isinstance(given, dict) else {}
        # As it was registered; what the CLI says only counts if nobody is registered.
        self._event = hook.event if hook is not None else str(self._input.get("hook_event_name"))
        if hook is not None:
            seconds = patience_with(hook)
            request.timer = engine.timers.after(seconds, lambda: self._is_late(seconds))

    def _is_late(self, seconds: float) -> None:
        late = f"the hook {name_of(self._hook)} was not done within {seconds:g} s"
        self._request.expire(self._failed(late), late)

    def __call__(self) -> None:
        """Run the hook and answer."""
        request, hook = self._request, self._hook
        if request.is_decided():
            return
        if hook is None:
            request.answer(self._failed("the program has no such hook"))
            return
        registry = self._engine.registry()
        if registry is not None and hook in registry.removed_hooks:
            request.answer(success_reply(request.request_id, {}))
            return
        tool_use_id = request.body.get("tool_use_id")
        # A copy: what the CLI asked stays as it is, whatever the hook does to its event.
        given = copy.deepcopy(self._input)
        event = parse_hook_event(given, tool_use_id, request.cancelled, self._event)
        dispatcher = self._engine.dispatcher
        try:
            with dispatcher.handling():
                output = hook_output(self._event, hook.function(event))
            reply = success_reply(request.request_id, output)
            request.answer(reply)
        except BaseException as error:
            if not isinstance(error, Exception) and dispatcher.is_dispatching():
                self._answer_for(error)
                raise  # Ctrl-C on the thread of the program that waits
            dispatcher.failed_elsewhere(hook.function, event, error, self._turn)
            self._answer_for(error)

    def _answer_for(self, error: BaseException) -> None:
        if not self._request.is_decided():
            text = f"the hook {name_of(self._hook)} failed: {type(error).__name__}"
            with contextlib.suppress(Exception):  # its own text may fail, too
                text += f": {error}"
            self._request.answer(self._failed(text))

    def _failed(self, text: str) -> Dict[str, Any]:
        """The answer for a hook that has none: a block where that is what it decides about."""
        opted_out = self._hook is not None and self._hook.on_failure == "continue"
        blocked = None
        if self._event in BLOCKING_EVENTS and not opted_out:
            blocked = failed_hook_output(self._event, f"Blocked, because {text.rstrip('.')}.")
        if blocked is None:
            return error_reply(self._request.request_id, text)
        logger.debug("%s", text)
        return success_reply(self._request.request_id, blocked)


def patience_with(hook: HookRegistration) -> float:
    """How long it may take until we answer for it: always less than the CLI waits."""
    seconds = hook.timeout if hook.timeout is not None else LONGEST_ON_THE_WIRE
    return min(seconds, LONGEST_ON_THE_WIRE - ALLOWANCE)


def name_of(hook: Optional[HookRegistration]) -> str:
    """What to call a hook in a text."""
    return function_name(hook.function if hook is not None else None)
