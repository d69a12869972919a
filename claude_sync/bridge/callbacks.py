"""
What a session waits for: answers of the front end to permissions, hooks and tools.

A callback is opened before its ``callback.request`` is sent, and closed once: by its
answer, by the time that is up, or because the CLI no longer waits. Nothing here knows
of envelopes; ``sessions`` sends them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, cast

from ..errors import UsageError
from ..hooks import hook_output
from ..permissions.request import updates
from ..protocol.codec import encode
from ..support.text import camel_case

if TYPE_CHECKING:
    from ..permissions.request import PermissionRequest
    from ..runtime.timers import Timer
    from ..tools import ToolContext

__all__ = ["Callback", "Callbacks", "HookCallback", "PermissionCallback", "ToolCallback"]

DENIED_IN_TIME = "Permission request timed out"
BEHAVIORS = ("allow", "deny")

# Permission updates of a front end, as they may go to the CLI; or UsageError.
Check = Callable[[Any], List[Mapping[str, Any]]]


class Callback:
    """
    Something the front end has to answer.

    Attributes:
        id: Of the ``callback.request``.
        payload: What it says.
        timer: What ends the wait, if something does.

    """

    def __init__(self, id: str, payload: Dict[str, Any]) -> None:
        self.id = id
        self.payload = payload
        self.timer: Optional[Timer] = None

    def read(self, payload: Mapping[str, Any]) -> Callable[[], None]:
        """What gives the answer in *payload* to the CLI; UsageError if it is none."""
        raise NotImplementedError

    def read_progress(self, payload: Mapping[str, Any]) -> Callable[[], None]:  # noqa: ARG002
        """What tells the CLI how far the answer is; UsageError if nobody wants to know."""
        raise UsageError("only a tool has a progress: answer this callback instead.")

    def expire(self) -> None:
        """Nobody has answered in time: answer for the front end."""
        raise NotImplementedError


class PermissionCallback(Callback):
    """May a tool be used?"""

    def __init__(
        self, id: str, payload: Dict[str, Any], request: PermissionRequest, check: Check
    ) -> None:
        super().__init__(id, payload)
        self._request = request
        self._check = check

    def read(self, payload: Mapping[str, Any]) -> Callable[[], None]:
        """See the base class."""
        behavior = payload.get("behavior")
        if behavior not in BEHAVIORS:
            raise UsageError(f"behavior must be 'allow' or 'deny', not {behavior!r}.")
        request = self._request
        if behavior == "deny":
            message = payload.get("message")
            if message is not None and not isinstance(message, str):
                raise UsageError("message must be a string, the reason that Claude reads.")
            words = {} if message is None else {"message": message}
            return lambda: drop(request.deny(**words, interrupt=payload.get("interrupt") is True))
        changed = payload.get("updated_input")
        if changed is not None and not isinstance(changed, dict):
            raise UsageError("updated_input must be the tool's whole input, an object.")
        if changed is None:
            # As it came: what was approved is what runs. Questions need answers in it.
            changed = dict(request.raw_input)
        rules = updates(self._check(payload.get("updated_permissions") or []))
        # Later, when the callback is closed, nobody would be left to give another answer.
        encode({"updated_input": changed, "updated_permissions": rules})
        return lambda: drop(request.allow(changed, permissions=rules))

    def expire(self) -> None:
        """See the base class."""
        self._request.deny(DENIED_IN_TIME)


class Waited(Callback):
    """
    A callback for which a thread waits.

    *cancelled* is set by the client when the CLI no longer waits; here also when there is
    an answer, since that is what the thread must wake up for, too.
    """

    def __init__(self, id: str, payload: Dict[str, Any], cancelled: threading.Event) -> None:
        super().__init__(id, payload)
        self._cancelled = cancelled
        self._answer: Optional[Dict[str, Any]] = None

    def wait(self) -> Optional[Dict[str, Any]]:
        """The answer; None if it is no longer wanted."""
        self._cancelled.wait()
        return self._answer

    def give(self, answer: Dict[str, Any]) -> None:
        """Let the thread go on."""
        self._answer = answer
        self._cancelled.set()


class HookCallback(Waited):
    """What has a hook to say?"""

    def __init__(
        self,
        id: str,
        payload: Dict[str, Any],
        cancelled: threading.Event,
        event: str,
        check: Check,
    ) -> None:
        super().__init__(id, payload, cancelled)
        self._event = event
        self._check = check

    def read(self, payload: Mapping[str, Any]) -> Callable[[], None]:
        """See the base class."""
        answer = {camel_case(key): value for key, value in payload.items() if value is not None}
        specific = answer.get("hookSpecificOutput")
        if isinstance(specific, dict):
            specific = {camel_case(key): item for key, item in specific.items()}
            decision = specific.get("decision")
            if isinstance(decision, dict):
                specific["decision"] = {camel_case(key): item for key, item in decision.items()}
            answer["hookSpecificOutput"] = specific
        checked = hook_output(self._event, answer)
        # A hook about permissions can change the rules as well as who is asked.
        decision = (checked.get("hookSpecificOutput") or {}).get("decision")
        if isinstance(decision, dict) and decision.get("updatedPermissions") is not None:
            decision["updatedPermissions"] = self._check(decision["updatedPermissions"])
        return lambda: self.give(checked)

    def expire(self) -> None:
        """See the base class."""
        self.give({})


class ToolCallback(Waited):
    """What does a function of the front end return?"""

    def __init__(self, id: str, payload: Dict[str, Any], context: ToolContext) -> None:
        # A threading.Event wherever a client calls a tool.
        super().__init__(id, payload, cast(threading.Event, context.cancelled))
        self._context = context

    def read(self, payload: Mapping[str, Any]) -> Callable[[], None]:
        """See the base class."""
        content = payload.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
            raise UsageError("content must be a string, or a list of content blocks.")
        result: Dict[str, Any] = {
            "content": content,
            "isError": payload.get("is_error") is True,
        }
        structured = payload.get("structured_content")
        if structured is not None and not isinstance(structured, dict):
            raise UsageError("structured_content must be an object.")
        if structured is not None:
            result["structuredContent"] = structured
        return lambda: self.give(result)

    def read_progress(self, payload: Mapping[str, Any]) -> Callable[[], None]:
        """See the base class."""
        done, total, message = (payload.get(name) for name in ("progress", "total", "message"))
        for name, value in (("progress", done), ("total", 0 if total is None else total)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise UsageError(f"{name} must be a number, not {value!r}.")
        if message is not None and not isinstance(message, str):
            raise UsageError("message must be a string.")
        number: Any = done
        return lambda: self._context.progress(number, total, message)

    def expire(self) -> None:
        """See the base class."""
        text = "The front end that has this tool did not answer in time."
        self.give({"content": [{"type": "text", "text": text}], "isError": True})


class Callbacks:
    """The open callbacks of one session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the dict
        self._open: Dict[str, Callback] = {}

    def add(self, callback: Callback) -> None:
        """It can be answered from here on."""
        with self._lock:
            self._open[callback.id] = callback

    def get(self, id: Optional[str]) -> Optional[Callback]:
        """The open callback of this id, or None."""
        with self._lock:
            return self._open.get(id or "")

    def close(self, callback: Callback) -> bool:
        """It is over: True for the first who says so."""
        with self._lock:
            is_first = self._open.pop(callback.id, None) is not None
        if is_first and callback.timer is not None:
            callback.timer.cancel()
        return is_first

    def all(self) -> List[Callback]:
        """Those that are open now."""
        with self._lock:
            return list(self._open.values())


def drop(_: object) -> None:
    """What a verb returns is for handlers."""
