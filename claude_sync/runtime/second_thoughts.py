"""
A yes that waits for a hook which may still say no.

::

    process -> lines -> messages -> request -> responder -> handlers -> [answer]

The CLI asks ``PermissionRequest`` hooks and ``can_use_tool`` about the same thing, and a
yes to the latter counts whatever the former say. So a yes is held back until such a
hook has answered (some CLIs call it first, some a moment later), and if that is a no,
it becomes one, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from ..protocol.codec import encode
from ..protocol.control import deny_reply

if TYPE_CHECKING:
    from .connection import Connection
    from .engine import Engine
    from .open_requests import OpenRequest

__all__ = ["SecondThoughts"]

# How long after the request the CLI may take to call the hook.
GRACE = 0.5
# So many hooks that answered before the permission was given are remembered.
ANSWERED_KEPT = 64

Subject = Tuple[object, Any]


class SecondThoughts:
    """What is held back on one connection. The engine's lock guards the attributes."""

    def __init__(self, engine: Engine, connection: Connection) -> None:
        self._engine = engine
        self._connection = connection
        # Yes to what a hook has not been asked about yet, or is thinking about.
        self._held: List[Tuple[OpenRequest, bytes]] = []
        # What hooks have answered about, and why they refused, if they did.
        self._answered: List[Tuple[Subject, Optional[str]]] = []

    def answer_now(self, request: OpenRequest, data: bytes) -> bytes:
        """What to write now as the answer to *request*; nothing if it is held back."""
        if not request.is_allowed() or not self._may_be_hooked(request):
            return data
        with self._engine.lock:
            if not self._is_open(request.subject):
                for place, (subject, refusal) in enumerate(self._answered):
                    if subject == request.subject:
                        del self._answered[place]
                        return instead_of(request, data, refusal)
                # Not asked yet; if it never is, this must go out all the same.
                self._engine.timers.after(GRACE, lambda: self._grace_is_over(request))
            self._held.append((request, data))
        return b""

    def is_over(self, hook: OpenRequest) -> None:
        """A hook has been answered, or is no longer wanted: let go what waited for it."""
        if not hook.is_permission_hook():
            return
        refusal, subject = hook.refusal(), hook.subject
        with self._engine.lock:
            if refusal is not None or not self._is_open(subject):
                released = self._release_locked(subject, refusal)
                others = [each for each in self._answered if each[0] != subject]
                if not released:
                    others.append((subject, refusal))
                self._answered = others[-ANSWERED_KEPT:]
            else:
                released = []
        self._write(released)

    def _grace_is_over(self, request: OpenRequest) -> None:
        with self._engine.lock:
            if self._is_open(request.subject):
                return
            released = self._release_locked(request.subject, None)
        # On another thread: this is the timer's.
        self._engine.responders.run(lambda: self._write(released))

    def _release_locked(self, subject: Subject, refusal: Optional[str]) -> List[bytes]:
        released = [each for each in self._held if each[0].subject == subject]
        self._held = [each for each in self._held if each[0].subject != subject]
        return [instead_of(request, data, refusal) for request, data in released]

    def _write(self, released: List[bytes]) -> None:
        for data in released:
            with self._connection.write_lock:
                self._connection.write(data)

    def _is_open(self, subject: Subject) -> bool:
        """Whether a hook thinks about it at the moment."""
        return any(
            other.is_permission_hook() and other.subject == subject
            for other in self._connection.open_requests.values()
        )

    def _may_be_hooked(self, request: OpenRequest) -> bool:
        """Whether the CLI is going to ask a hook, too; CLIs before 2.1 never do."""
        registry = self._engine.registry()
        if registry is None or not registry.hooks or not self._connection.is_at_least(2, 1):
            return False
        tool = str(request.body.get("tool_name"))
        return any(
            hook.event == "PermissionRequest"
            and hook not in registry.removed_hooks
            and may_match(hook.matcher, tool)
            for hook in registry.hooks
        )


def instead_of(request: OpenRequest, data: bytes, refusal: Optional[str]) -> bytes:
    """The yes *data*, or a no where a hook has refused."""
    return data if refusal is None else encode(deny_reply(request.message, refusal))


def may_match(matcher: object, tool: str) -> bool:
    """Whether the CLI may find *tool* in *matcher*; rather too often than too rarely."""
    if not isinstance(matcher, str) or matcher in ("", "*"):
        return True
    try:
        return re.search(matcher, tool) is not None
    except re.error:
        return True
