"""
Serve the CLI's calls of hooks.

::

    process -> lines -> messages -> [hook] -> responder -> handlers -> answer

The CLI takes an error, or no answer in time, for consent. So a hook that decides whether
something may happen, and that fails, answers nonsense or takes too long, is answered for: with
a block, by us, before the CLI's own patience ends.
"""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any

from ...hooks import (
    BLOCKING_EVENTS,
    LONGEST_ON_THE_WIRE,
    failed_hook_output,
    hook_output,
    number_of,
    parse_hook_event,
)
from ...log import logger
from ...protocol.control import dict_or_empty, error_reply, success_reply
from ..handlers import function_name

if TYPE_CHECKING:
    from ...protocol.requests import Request
    from ..asked import Asked
    from ..session import Session

__all__ = ["HookCall"]

# How much longer the CLI waits than we do.
ALLOWANCE = 10.0


class HookCall:
    """One call of a hook, to be run where hooks run; its time runs from now on."""

    is_users_code = True  # also where there is no such hook: it is answered in its place

    def __init__(self, session: Session, request: Request, asked: Asked | None) -> None:
        self._session = session
        self._request = request
        self._asked = asked
        registry = session.registry()
        hooks = registry.hooks if registry is not None else ()
        number = number_of(request.body.get("callback_id"))
        hook = self._hook = hooks[number] if number is not None and number < len(hooks) else None
        self._was_removed = registry is not None and hook in registry.removed_hooks
        self._input = dict_or_empty(request.body.get("input"))
        self._name = function_name(hook.function if hook is not None else None)
        # As it was registered; what the CLI says only counts if nobody is registered.
        self._event = hook.event if hook is not None else str(self._input.get("hook_event_name"))
        if hook is not None:
            # Always less than the CLI waits.
            seconds = hook.timeout if hook.timeout is not None else LONGEST_ON_THE_WIRE
            seconds = min(seconds, LONGEST_ON_THE_WIRE - ALLOWANCE)
            late = f"the hook {self._name} did not finish within {seconds:g} s"
            request.timer = session.timers.after(
                seconds, lambda: request.expire(self._failed(late), late)
            )

    def __call__(self) -> None:
        """Run the hook and answer."""
        request, hook = self._request, self._hook
        if request.is_decided():
            return
        if hook is None:
            request.answer(self._failed("the program has no such hook"))
            return
        if self._was_removed:
            request.answer(success_reply(request.request_id, {}))
            return
        # A copy: what the CLI asked stays as it is, whatever the hook does to its event.
        given, tool_use_id = copy.deepcopy(self._input), request.body.get("tool_use_id")
        event = parse_hook_event(given, tool_use_id, request.cancelled, self._event)
        dispatch = self._session.dispatch
        try:
            with dispatch.handling():
                output = hook_output(self._event, hook.function(event))
            request.answer(success_reply(request.request_id, output))
        except BaseException as error:
            if not isinstance(error, Exception) and dispatch.is_dispatching():
                self._answer_for(error)
                raise  # Ctrl-C on the thread of the program that waits
            dispatch.failed_elsewhere(hook.function, event, error, self._asked)
            self._answer_for(error)

    def _answer_for(self, error: BaseException) -> None:
        if not self._request.is_decided():
            text = f"the hook {self._name} failed: {type(error).__name__}"
            with contextlib.suppress(Exception):  # its own text may fail, too
                text += f": {error}"
            self._request.answer(self._failed(text))

    def _failed(self, text: str) -> dict[str, Any]:
        """The answer for a hook that has none: a block where that is what it decides about."""
        opted_out = self._hook is not None and self._hook.on_failure == "continue"
        blocked = None
        if self._event in BLOCKING_EVENTS and not opted_out:
            blocked = failed_hook_output(self._event, f"Blocked, because {text.rstrip('.')}.")
        if blocked is None:
            return error_reply(self._request.request_id, text)
        logger.debug("%s", text)
        return success_reply(self._request.request_id, blocked)
