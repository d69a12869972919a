"""
One session of the backend: a client, and what the front end hears of it.

::

    front end -> server -> [session] -> client -> CLI

What the CLI says goes out as it comes. Permissions, hooks and functions of the front end
are callbacks: requests that go out and whose answers come back, some time, or never.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, Optional, Set

from ..client import Client
from ..errors import ClaudeError, ClientClosed, CliExited, TurnError, UsageError
from ..options.fields import uuid as checked_uuid
from ..permissions.request import LATER, PermissionAnswer
from ..prompts import user_message
from ..runtime.engine import new_uuid
from .callbacks import Callback, Callbacks, HookCallback, PermissionCallback, ToolCallback
from .envelope import (
    CALLBACK_NOT_FOUND,
    CALLBACK_TIMEOUT,
    QUERY_METHOD_FAILED,
    SDK_ERROR,
    SESSION_NOT_FOUND,
    Refused,
    Request,
)
from .functions import FrontEndTool
from .options import check_updates
from .queries import IN_ORDER, bound_query

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from .options import HookWish, Plan, ToolWish
    from .server import Server

__all__ = ["Session", "details_of"]

# The client answers for a hook that takes too long; later than this backend does.
ALLOWANCE = 30.0
CLOSING_TIME = 10.0
EARLY_LINES = 50
# What of a request for permission a front end is told, beside what is documented.
MORE_OF_A_PERMISSION = ("decision_reason", "title", "description", "agent_id")


class Session:
    """
    See the module. The server calls it from the thread that reads, and never waits.

    Attributes:
        id: The backend's own id of it.
        client: What talks to the CLI.

    """

    def __init__(self, server: Server, plan: Plan) -> None:
        self.id = new_uuid()
        self._server = server
        self._plan = plan
        self._callbacks = Callbacks()
        self._lane = Lane(server.run)
        # Not behind messages: one that waits may wait for such an answer.
        self._answers = Lane(server.run)
        # Those that the front end chose so far.
        self._uuids: Set[str] = set() if plan.uuid is None else {plan.uuid}
        settings = dict(plan.settings)
        if is_new_conversation(settings):
            settings.setdefault("session_id", new_uuid())
        self.client = Client(
            **settings,
            name=f"bridge-{self.id[:8]}",
            hooks=self._hooks(plan.hooks, server.callback_timeout),
            tools=[self._tool(wish) for wish in plan.tools],
            on_message=self._said,
            on_stream_event=self._said,
            on_permission=self._asked,
        )
        if plan.extensions:
            # Lines that came before the front end knew of the session.
            self._early_lines: Optional[Deque[str]] = deque(maxlen=EARLY_LINES)
            self._early_lock = threading.Lock()
            self.client.on_stderr(self._told_people)
        self.client._engine.lifecycle.idle_end = self._died
        # Set when the front end knows of the session, or never will.
        self._is_known = threading.Event()
        # The CLI's id of the conversation, as far as the front end was told.
        self._told_id = self.client.session_id

    # Its life.

    def start(self, id: Optional[str]) -> None:
        """Start the CLI, tell that the session is there, ask the first question."""
        self._server.policy.check_again(self._plan.settings)
        self.client.start()
        self._told_id = self.client.session_id
        created: Dict[str, Any] = {"sdk_session_id": self._told_id}
        if self._plan.extensions:
            info = self.client.info
            created.update(greeting=info.raw, pid=self.client.pid, cli_version=info.cli_version)
        self._send("session.created", created, id)
        self._is_known.set()
        if self._plan.extensions:
            with self._early_lock:
                lines, self._early_lines = self._early_lines or (), None
                for line in lines:
                    self._send("session.stderr", {"line": line}, None)
        if self._plan.prompt is not None:
            first = user_message(self._plan.prompt, verbatim=self.client._options.verbatim)
            self._in_order(id, lambda: self._submit(id, first, self._plan.uuid))

    def close(self, timeout: float = CLOSING_TIME) -> None:
        """End it for good, within *timeout* seconds; waits for that."""
        self._server.output.release(self.id)
        self._is_known.set()
        try:
            self.client.close(timeout)
        finally:
            for callback in self._callbacks.all():
                self._callbacks.close(callback)
            self._server.output.forget(self.id)

    # What the front end wants.

    def send(self, request: Request) -> None:
        """``session.send``."""
        payload = request.payload
        message = payload.get("message")
        if not isinstance(message, (str, list)):
            raise request.invalid("message must be a string, or a list of content blocks.")
        try:
            verbatim = payload.get("verbatim", self.client._options.verbatim) is True
            question = user_message(message, verbatim=verbatim)
            uuid = checked_uuid("uuid", payload.get("uuid"))
        except UsageError as error:
            raise request.invalid(str(error)) from None
        if uuid in self._uuids:
            raise request.invalid(f"the uuid {uuid} was used before: the CLI would ignore it.")
        engine = self.client._engine
        if payload.get("steer") is True:
            # Its uuid may come again: what comes too late to steer can be asked.
            self._in_order(request.id, lambda: engine.steer(question, uuid))
            return
        if uuid is not None:
            self._uuids.add(uuid)
        if payload.get("should_query") is False:
            self._in_order(request.id, lambda: engine.add_context(question, uuid))
        else:
            self._in_order(request.id, lambda: self._submit(request.id, question, uuid))

    def interrupt(self, request: Request) -> None:
        """``session.interrupt``."""
        cancel_queued = request.payload.get("cancel_queued") is not False

        def interrupt() -> None:
            receipt = self.client.interrupt(cancel_queued=cancel_queued)
            told = receipt.raw if self._plan.extensions else {}
            self._send("session.interrupted", told, request.id)

        self._in_order(request.id, interrupt)

    def call(self, request: Request) -> None:
        """``query.call``."""
        name, query = bound_query(self.client, request.payload, self._server.policy)

        def call() -> None:
            try:
                self._server.policy.check_again(self._plan.settings)
                result = {"success": True, "result": query()}
            except ClientClosed:
                raise
            except UsageError as error:  # it was never sent
                self._server.error(QUERY_METHOD_FAILED, str(error), request.id, self.id)
                return
            except ClaudeError as error:
                details = details_of(error)
                result = {"success": False, "error": str(error), "details": details}
                failed = functools.partial(self._send, "query.result", result, request.id)
                self._in_its_place(error, failed)
                return
            self._send("query.result", result, request.id)

        if name in IN_ORDER:
            self._in_order(request.id, call)
        else:
            self._server.run(self._guarded(request.id, call))

    def respond(self, request: Request) -> bool:
        """``callback.response``; whether the callback is one of this session."""
        callback = self._callbacks.get(request.id)
        if callback is None:
            return False
        try:
            give = callback.read(request.payload)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        if not self._callbacks.close(callback):
            raise Refused(CALLBACK_NOT_FOUND, "the time for this answer is up.")
        self._answers.run(self._guarded(request.id, give))
        return True

    def progress(self, request: Request) -> None:
        """``callback.progress``; nothing happens if the callback is over, or is none of ours."""
        callback = self._callbacks.get(request.id)
        if callback is None:
            return
        try:
            tell = callback.read_progress(request.payload)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        self._answers.run(self._guarded(None, tell))

    # What the CLI says, and asks.

    def _said(self, message: Any) -> None:
        # What a CLI says before it answers the greeting is about no session yet.
        self._is_known.wait()
        line = self._server.line("sdk.message", message.raw, None, self.id)
        self._server.output.put(line, self.id)
        known = self.client.session_id
        if known != self._told_id and self._plan.extensions:
            self._told_id = known
            self._send("session.updated", {"sdk_session_id": known}, None)

    def _told_people(self, line: Any) -> None:
        with self._early_lock:
            if self._early_lines is not None:
                self._early_lines.append(str(line))
                return
        told = self._server.line("session.stderr", {"line": str(line)}, None, self.id)
        self._server.output.put(told, self.id)

    def _died(self, error: Exception) -> None:
        """The CLI has ended while nothing was asked of it."""
        self._server.error(SDK_ERROR, str(error), None, self.id, details_of(error))

    def _asked(self, request: Any) -> PermissionAnswer:
        payload: Dict[str, Any] = {
            "callback_type": "can_use_tool",
            "tool_name": request.tool,
            "tool_input": request.raw_input,
            "suggestions": list(request.suggestions),
        }
        for name in ("blocked_path", "tool_use_id", *MORE_OF_A_PERMISSION):
            if request.raw.get(name) is not None:
                payload[name] = request.raw[name]
        if self._plan.extensions:
            payload["request"] = request.raw
        callback = PermissionCallback(new_uuid(), payload, request, self._check_updates)
        self._open(callback)
        request.on_cancel(lambda: self._cancelled(callback))
        return LATER

    def _check_updates(self, updates: Any) -> List[Mapping[str, Any]]:
        return check_updates(updates, self._server.policy, self._plan.settings["cwd"] or "")

    def _hooks(self, wishes: Any, patience: float) -> Dict[str, List[Dict[str, Any]]]:
        """The hooks of the front end as the client takes them."""
        hooks: Dict[str, List[Dict[str, Any]]] = {}
        for wish in wishes:
            # A hook's own time may be shorter than what any callback has, not longer.
            seconds = patience if wish.timeout is None else min(wish.timeout, patience)
            group = {
                "matcher": wish.matcher,
                "hooks": [self._hook(wish, seconds)],
                "timeout": seconds + ALLOWANCE,
                "on_failure": wish.on_failure,
            }
            hooks.setdefault(wish.event, []).append(group)
        return hooks

    def _hook(self, wish: HookWish, patience: float) -> Callable[[Any], Any]:
        def front_end_hook(event: Any) -> Any:
            payload: Dict[str, Any] = {
                "callback_type": "hook",
                "hook_event": wish.event,
                "hook_input": event.raw,
            }
            if event.tool_use_id is not None:
                payload["tool_use_id"] = event.tool_use_id
            if wish.id is not None:
                payload["hook_id"] = wish.id
            callback = HookCallback(
                new_uuid(), payload, event.cancelled, wish.event, self._check_updates
            )
            return self._answer_to(callback, patience)

        return front_end_hook

    def _tool(self, wish: ToolWish) -> FrontEndTool:
        def call(arguments: Mapping[str, Any], context: Any) -> Optional[Dict[str, Any]]:
            payload = {
                "callback_type": "tool",
                "tool_name": wish.name,
                "tool_input": arguments,
                "tool_use_id": context.tool_use_id,
            }
            callback = ToolCallback(new_uuid(), payload, context)
            return self._answer_to(callback, self._server.callback_timeout)

        return FrontEndTool(wish, call)

    # How it does that.

    def _answer_to(self, callback: Any, patience: float) -> Optional[Dict[str, Any]]:
        """Ask the front end and wait for its answer; None if it is no longer wanted."""
        self._open(callback, patience)
        answer: Optional[Dict[str, Any]] = callback.wait()
        if answer is None:
            self._cancelled(callback)
        return answer

    def _open(self, callback: Callback, patience: Optional[float] = None) -> None:
        """Ask the front end; its time runs from now on."""
        self._callbacks.add(callback)
        seconds = self._server.callback_timeout if patience is None else patience
        callback.timer = self._server.timers.after(
            seconds, lambda: self._server.run(lambda: self._expired(callback, seconds))
        )
        line = self._server.line("callback.request", callback.payload, callback.id, self.id)
        self._server.output.put(line)

    def _expired(self, callback: Callback, seconds: float) -> None:
        if not self._callbacks.close(callback):
            return
        callback.expire()
        what = callback.payload["callback_type"]
        text = f"no answer to this callback ({what}) came within {seconds:g} s."
        self._server.error(CALLBACK_TIMEOUT, text, callback.id, self.id)

    def _cancelled(self, callback: Callback) -> None:
        if self._callbacks.close(callback) and self._plan.extensions:
            self._send("callback.cancelled", {}, callback.id)

    def _submit(self, id: Optional[str], message: Dict[str, Any], uuid: Optional[str]) -> None:
        self._server.policy.check_again(self._plan.settings)  # it may have to start the CLI
        prompt = message["message"]["content"]
        turn = self.client._turn(message, prompt, False, None, None, True, None)
        turn.add_done_callback(lambda _: self._turn_ended(id, turn))
        self.client._engine.submit(turn, message, uuid=uuid)

    def _turn_ended(self, id: Optional[str], turn: Turn) -> None:
        """Tell of an end that the CLI has not told of."""
        error = None if turn.cancelled() else turn.exception(0)
        if isinstance(error, TurnError) and error.result is None:
            # Interrupted, perhaps; but what counts is that there is no CLI any more.
            connection = self.client._engine.lifecycle.connection
            ended = connection is not None and connection.ended
            error = (connection.error if connection is not None and ended else None) or error
        told = isinstance(error, TurnError) and error.result is not None
        if error is not None and not told and not isinstance(error, ClientClosed):
            self._server.error(SDK_ERROR, str(error), id, self.id, details_of(error))

    def _in_order(self, id: Optional[str], task: Callable[[], None]) -> None:
        self._lane.run(self._guarded(id, task))

    def _guarded(self, id: Optional[str], task: Callable[[], None]) -> Callable[[], None]:
        """*task*, whose failure the front end is told."""

        def run() -> None:
            try:
                task()
            except ClientClosed:
                text = f"the session {self.id} has ended. Create another one."
                self._server.error(SESSION_NOT_FOUND, text, id, self.id)
            except Exception as error:
                told = (SDK_ERROR, str(error), id, self.id, details_of(error))
                self._in_its_place(error, lambda: self._server.error(*told))

        return run

    def _in_its_place(self, error: Exception, tell: Callable[[], None]) -> None:
        """Tell of an error; of the death of the CLI, when all is told that it said before."""
        engine = self.client._engine
        if isinstance(error, CliExited) and not engine.delivery.is_over():
            engine.inbox.put([tell])
        else:
            tell()

    def _send(self, kind: str, payload: Mapping[str, Any], id: Optional[str]) -> None:
        self._server.output.put(self._server.line(kind, payload, id, self.id))


class Lane:
    """Tasks that run one after the other, on whichever threads *run* has."""

    def __init__(self, run: Callable[[Callable[[], None]], None]) -> None:
        self._run = run
        self._lock = threading.Lock()  # guards the two below
        self._tasks: Deque[Callable[[], None]] = deque()
        self._busy = False

    def run(self, task: Callable[[], None]) -> None:
        """Run *task* after those that came before; it must not raise."""
        with self._lock:
            self._tasks.append(task)
            if self._busy:
                return
            self._busy = True
        self._run(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._tasks:
                    self._busy = False
                    return
                task = self._tasks.popleft()
            task()


def is_new_conversation(settings: Mapping[str, Any]) -> bool:
    """Whether the CLI can be told the id of the conversation: it is neither old nor a copy."""
    return not (settings.get("resume") or settings.get("continue_conversation"))


def details_of(error: BaseException) -> Dict[str, Any]:
    """What a program may want to know of an error."""
    details: Dict[str, Any] = {"error": type(error).__name__}
    for name in ("exit_code", "stderr_tail", "code", "text"):
        value = getattr(error, name, None)
        if value:
            details[name] = list(value) if isinstance(value, tuple) else value
    if getattr(error, "exit_code", None) == 0:
        details["exit_code"] = 0
    return details
