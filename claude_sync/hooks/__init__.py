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

from . import events, outputs, registration
from .events import *  # noqa: F403
from .outputs import *  # noqa: F403
from .registration import *  # noqa: F403

__all__ = [*events.__all__, *outputs.__all__, *registration.__all__]
