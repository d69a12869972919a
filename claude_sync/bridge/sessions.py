"""
One session of the backend in the words of the document: a client, and what is told of it.

::

    front end -> server -> [session] -> client -> CLI

What the CLI says goes out as it comes. Permissions and hooks are callbacks: requests that go
out and whose answers come back, some time, or never.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..client import Client
from ..errors import ClaudeError, ClientClosed, TurnError, UsageError
from ..permissions.request import LATER, PermissionAnswer
from ..prompts import user_message
from .callbacks import Callback, HookCallback, PermissionCallback
from .envelope import (
    CALLBACK_NOT_FOUND,
    CALLBACK_TIMEOUT,
    QUERY_METHOD_FAILED,
    SDK_ERROR,
    SESSION_NOT_FOUND,
    Envelope,
    Refused,
)
from .options import check_updates
from .queries import IN_ORDER, bound_query
from .threads import Lane

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from .options import Plan
    from .server import Server

__all__ = ["Session", "details_of"]

# The client answers for a hook that takes too long; later than this backend does.
ALLOWANCE = 30.0
# What of a request for permission a front end is told, where the CLI says it.
MORE_OF_A_PERMISSION = (
    *("blocked_path", "tool_use_id", "decision_reason", "title", "description", "agent_id"),
)


class Session:
    """
    See the module. The server calls it from the thread that reads, and never waits.

    Attributes:
        id: The backend's own id of it.

    """

    def __init__(self, server: Server, plan: Plan) -> None:
        self.id = str(uuid4())
        self._server = server
        self._plan = plan
        # Guards the callbacks that are open, by their ids.
        self._lock = threading.Lock()
        self._callbacks: dict[str, Callback] = {}
        self._lane = Lane(server.run)
        settings = dict(plan.settings)
        if not (settings.get("resume") or settings.get("continue_conversation")):
            settings.setdefault("session_id", str(uuid4()))
        self._client = Client(
            **settings,
            name=f"bridge-{self.id[:8]}",
            hooks=self._hooks(),
            on_message=self._said,
            on_stream_event=self._said,
            on_permission=self._asked,
        )
        # Set when the front end knows of the session, or never will.
        self._is_known = threading.Event()

    # Its life.

    def start(self, id: str | None) -> None:
        """Start the CLI, tell that the session is there, ask the first question."""
        self._server.policy.check_again(self._plan.settings)
        self._client.start()
        self._send("session.created", {"sdk_session_id": self._client.session_id}, id)
        self._is_known.set()
        if self._plan.prompt is not None:
            self._in_order(id, lambda: self._submit(id, self._plan.prompt))

    def close(self, timeout: float) -> None:
        """End it for good, within *timeout* seconds; waits for that."""
        self._server.output.release(self.id)
        self._is_known.set()
        try:
            self._client.close(timeout)
        finally:
            for callback in list(self._callbacks.values()):
                self._close(callback)
            self._server.output.forget(self.id)

    # What the front end wants.

    def send(self, request: Envelope) -> None:
        """``session.send``."""
        message = request.payload.get("message")
        if not isinstance(message, (str, list)):
            raise request.invalid("message must be a string, or a list of content blocks.")
        try:
            user_message(message)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        self._in_order(request.id, lambda: self._submit(request.id, message))

    def interrupt(self, request: Envelope) -> None:
        """``session.interrupt``."""

        def interrupt() -> None:
            self._client.interrupt()
            self._send("session.interrupted", {}, request.id)

        self._in_order(request.id, interrupt)

    def call(self, request: Envelope) -> None:
        """``query.call``."""
        query = bound_query(self._client, request, self._server.policy)

        def call() -> None:
            try:
                self._server.policy.check_again(self._plan.settings)
                result = {"success": True, "result": query()}
            except ClientClosed:
                raise
            except UsageError as error:  # it was never sent
                self._error(QUERY_METHOD_FAILED, error, request.id)
                return
            except ClaudeError as error:
                details = details_of(error)
                result = {"success": False, "error": str(error), "details": details}
            self._send("query.result", result, request.id)

        if request.payload["method"] in IN_ORDER:
            self._in_order(request.id, call)
        else:
            self._server.run(self._guarded(request.id, call))

    def respond(self, request: Envelope) -> bool:
        """``callback.response``; whether the callback is one of this session."""
        callback = self._callbacks.get(request.id or "")
        if callback is None:
            return False
        try:
            give = callback.read(request.payload)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        if not self._close(callback):
            raise Refused(CALLBACK_NOT_FOUND, "the time for this answer is up.")
        # Not behind messages: one that waits may wait for this answer.
        self._server.run(self._guarded(request.id, give))
        return True

    # What the CLI says, and asks.

    def _said(self, message: Any) -> None:
        # What a CLI says before it answers the greeting is about no session yet.
        self._is_known.wait()
        line = self._server.line("sdk.message", message.raw, None, self.id)
        self._server.output.put(line, self.id)

    def _asked(self, request: Any) -> PermissionAnswer:
        payload: dict[str, Any] = {
            "callback_type": "can_use_tool",
            "tool_name": request.tool,
            "tool_input": request.raw_input,
            "suggestions": list(request.suggestions),
        }
        for name in MORE_OF_A_PERMISSION:
            if request.raw.get(name) is not None:
                payload[name] = request.raw[name]
        callback = PermissionCallback(payload, request, self._check_updates)
        self._open(callback)
        request.on_cancel(lambda: self._close(callback))
        return LATER

    def _check_updates(self, updates: Any) -> list[Mapping[str, Any]]:
        return check_updates(updates, self._server.policy, self._plan.settings["cwd"] or "")

    def _hooks(self) -> dict[str, list[dict[str, Any]]]:
        """The hooks of the front end as the client takes them."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for event, matcher in self._plan.hooks:
            limit = self._server.callback_timeout + ALLOWANCE
            group = {"matcher": matcher, "hooks": [self._hook(event)], "timeout": limit}
            groups.setdefault(event, []).append(group)
        return groups

    def _hook(self, name: str) -> Callable[[Any], Any]:
        def front_end_hook(event: Any) -> Any:
            payload = {"callback_type": "hook", "hook_event": name, "hook_input": event.raw}
            if event.tool_use_id is not None:
                payload["tool_use_id"] = event.tool_use_id
            callback = HookCallback(payload, event.cancelled, name, self._check_updates)
            self._open(callback)
            answer = callback.wait()
            self._close(callback)
            return answer

        return front_end_hook

    # How it does that.

    def _open(self, callback: Callback) -> None:
        """Ask the front end; its time runs from now on."""
        seconds = self._server.callback_timeout
        callback.timer = threading.Timer(seconds, self._expired, (callback, seconds))
        callback.timer.daemon = True
        with self._lock:
            self._callbacks[callback.id] = callback
        callback.timer.start()
        self._send("callback.request", callback.payload, callback.id)

    def _close(self, callback: Callback) -> bool:
        """A callback is over: True for the first who says so."""
        with self._lock:
            is_first = self._callbacks.pop(callback.id, None) is not None
        callback.timer.cancel()
        return is_first

    def _expired(self, callback: Callback, seconds: float) -> None:
        if self._close(callback):
            callback.expire()
            what = callback.payload["callback_type"]
            text = f"no answer to this callback ({what}) came within {seconds:g} s."
            self._server.error(CALLBACK_TIMEOUT, text, callback.id, self.id)

    def _submit(self, id: str | None, prompt: Any) -> None:
        self._server.policy.check_again(self._plan.settings)  # it may have to start the CLI
        turn = self._client.submit(prompt)
        turn.add_done_callback(lambda _: self._turn_ended(id, turn))

    def _turn_ended(self, id: str | None, turn: Turn[Any]) -> None:
        """Tell of an end that the CLI has not told of."""
        error = None if turn.cancelled() else turn.exception(0)
        told = isinstance(error, TurnError) and error.result is not None
        if error is not None and not told and not isinstance(error, ClientClosed):
            self._error(SDK_ERROR, error, id)

    def _in_order(self, id: str | None, task: Callable[[], object]) -> None:
        self._lane.run(self._guarded(id, task))

    def _guarded(self, id: str | None, task: Callable[[], object]) -> Callable[[], None]:
        """*task*, whose failure the front end is told."""

        def run() -> None:
            try:
                task()
            except ClientClosed:
                text = f"the session {self.id} has ended. Create another one."
                self._server.error(SESSION_NOT_FOUND, text, id, self.id)
            except Exception as error:
                self._error(SDK_ERROR, error, id)

        return run

    def _error(self, code: str, error: BaseException, id: str | None) -> None:
        self._server.error(code, str(error), id, self.id, details_of(error))

    def _send(self, kind: str, payload: Mapping[str, Any], id: str | None) -> None:
        self._server.output.put(self._server.line(kind, payload, id, self.id))


def details_of(error: BaseException) -> dict[str, Any]:
    """What a program may want to know of an error."""
    details: dict[str, Any] = {"error": type(error).__name__}
    for name in ("exit_code", "stderr_tail", "code", "text"):
        value = getattr(error, name, None)
        if value or (name == "exit_code" and value is not None):
            details[name] = list(value) if isinstance(value, tuple) else value
    return details
