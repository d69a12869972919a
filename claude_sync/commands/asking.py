"""
The person at the terminal decides, in the middle of a turn.

As ``policies.ask_on_terminal``, with two differences that a conversation wants: the
spinner gets out of the way, and Ctrl-C at the question stops the turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from ..permissions import terminal

if TYPE_CHECKING:
    from ..permissions.request import Decision, PermissionRequest

__all__ = ["person"]

STOPPED = "The user pressed Ctrl-C at the question, and wants this turn to end."


def person(clear: Callable[[], None]) -> Callable[[PermissionRequest], Optional[Decision]]:
    """A policy that asks; *clear* makes room on the terminal for the question."""

    def policy(request: PermissionRequest) -> Optional[Decision]:
        clear()
        return ask_person(request)

    return policy


def ask_person(request: PermissionRequest) -> Optional[Decision]:
    """Show what is wanted and let the person decide."""
    try:
        return terminal.ask(request)
    except terminal.CannotAsk as problem:
        if isinstance(problem.__context__, KeyboardInterrupt):
            terminal.say("\n")  # the question stands on a line of its own
            return request.deny(STOPPED, interrupt=True)
        return request.deny(terminal.NOBODY.format(problem))
