"""
What a session waits for: answers of the front end to permissions and hooks.

A callback is opened before its ``callback.request`` is sent, and closed once: by its
answer, by the time that is up, or because the CLI no longer waits. Nothing here knows
of envelopes; ``sessions`` sends them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..errors import UsageError
from ..hooks import hook_output
from ..permissions.request import updates
from ..protocol.codec import encode
from ..support.text import camel_case

if TYPE_CHECKING:
    from ..permissions.request import PermissionRequest

__all__ = ["Callback", "HookCallback", "PermissionCallback"]

DENIED_IN_TIME = "Permission request timed out"

# Permission updates of a front end, as they may go to the CLI; or UsageError.
Check = Callable[[Any], list[Mapping[str, Any]]]


class Callback:
    """
    Something the front end has to answer.

    Attributes:
        id: Of the ``callback.request``.
        payload: What it says.
        timer: What ends the wait.

    """

    timer: threading.Timer

    def __init__(self, payload: dict[str, Any]) -> None:
        self.id = str(uuid4())
        self.payload = payload

    def read(self, payload: Mapping[str, Any]) -> Callable[[], object]:
        """What gives the answer in *payload* to the CLI; UsageError if it is none."""
        raise NotImplementedError

    def expire(self) -> None:
        """Nobody has answered in time: answer for the front end."""
        raise NotImplementedError


class PermissionCallback(Callback):
    """May a tool be used?"""

    def __init__(self, payload: dict[str, Any], request: PermissionRequest, check: Check) -> None:
        super().__init__(payload)
        self._request = request
        self._check = check

    def read(self, payload: Mapping[str, Any]) -> Callable[[], object]:
        """See the base class."""
        behavior, request = payload.get("behavior"), self._request
        if behavior == "deny":
            message = payload.get("message")
            if message is not None and not isinstance(message, str):
                raise UsageError("message must be a string, the reason that Claude reads.")
            words = {} if message is None else {"message": message}
            return lambda: request.deny(**words, interrupt=payload.get("interrupt") is True)
        if behavior != "allow":
            raise UsageError(f"behavior must be 'allow' or 'deny', not {behavior!r}.")
        changed = payload.get("updated_input")
        if changed is not None and not isinstance(changed, dict):
            raise UsageError("updated_input must be the tool's whole input, an object.")
        if changed is None:
            # As it came: what was approved is what runs. Questions need answers in it.
            changed = dict(request.raw_input)
        rules = updates(self._check(payload.get("updated_permissions") or []))
        # Later, when the callback is closed, nobody would be left to give another answer.
        encode({"updated_input": changed, "updated_permissions": rules})
        return lambda: request.allow(changed, permissions=rules)

    def expire(self) -> None:
        """See the base class."""
        self._request.deny(DENIED_IN_TIME)


class HookCallback(Callback):
    """
    What has a hook to say? A thread of the client waits for it.

    *cancelled* is set by the client when the CLI no longer waits; here also when there is
    an answer, since that is what the thread must wake up for, too.
    """

    def __init__(
        self, payload: dict[str, Any], cancelled: threading.Event, event: str, check: Check
    ) -> None:
        super().__init__(payload)
        self._cancelled = cancelled
        self._event = event
        self._check = check
        self._answer: dict[str, Any] | None = None

    def wait(self) -> dict[str, Any] | None:
        """The answer; None if it is no longer wanted."""
        self._cancelled.wait()
        return self._answer

    def read(self, payload: Mapping[str, Any]) -> Callable[[], object]:
        """See the base class."""
        answer = in_camel_case(payload)
        specific = answer.get("hookSpecificOutput")
        if isinstance(specific, dict):
            specific = answer["hookSpecificOutput"] = in_camel_case(specific)
            if isinstance(specific.get("decision"), dict):
                specific["decision"] = in_camel_case(specific["decision"])
        checked = hook_output(self._event, answer)
        # A hook about permissions can change the rules as well as who is asked.
        decision = (checked.get("hookSpecificOutput") or {}).get("decision")
        if isinstance(decision, dict) and decision.get("updatedPermissions") is not None:
            decision["updatedPermissions"] = self._check(decision["updatedPermissions"])
        return lambda: self._give(checked)

    def expire(self) -> None:
        """See the base class."""
        self._give({})

    def _give(self, answer: dict[str, Any]) -> None:
        self._answer = answer
        self._cancelled.set()


def in_camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are set, with names as the CLI has them."""
    return {camel_case(name): value for name, value in fields.items() if value is not None}
