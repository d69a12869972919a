"""
Hooks see what the CLI does, and may block or change it.

::

    @client.on_hook("PreToolUse", matcher="Bash")
    def no_pushing(event):
        if "git push" in event.tool_input.get("command", ""):
            return hooks.block("pushing is not allowed here")

``events`` has what a handler gets, ``outputs`` what it may return, ``registration`` how it is
registered.
"""

from .events import EVENTS, HOOK_EVENTS, HookEvent, parse_hook_event
from .outputs import (
    BLOCKING_EVENTS,
    HookDecision,
    add_context,
    allow,
    ask,
    block,
    combine,
    failed_hook_output,
    hook_output,
    stop,
    suppress_output,
    system_message,
    update_input,
)
from .registration import (
    LONGEST_ON_THE_WIRE,
    HookRegistration,
    hooks_of,
    hooks_on_the_wire,
    make_hook,
    number_of,
)

__all__ = [
    "BLOCKING_EVENTS",
    "EVENTS",
    "HOOK_EVENTS",
    "LONGEST_ON_THE_WIRE",
    "HookDecision",
    "HookEvent",
    "HookRegistration",
    "add_context",
    "allow",
    "ask",
    "block",
    "combine",
    "failed_hook_output",
    "hook_output",
    "hooks_of",
    "hooks_on_the_wire",
    "make_hook",
    "number_of",
    "parse_hook_event",
    "stop",
    "suppress_output",
    "system_message",
    "update_input",
]
