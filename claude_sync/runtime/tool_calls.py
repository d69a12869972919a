"""
Serve the CLI's calls of the program's own tools.

::

    process -> lines -> messages -> [tool] -> responder -> function -> answer

The handshake is answered whenever and as often as a CLI wants it. Calls run on
responder threads, several at once; what a call can learn of its fate, and tell of
its progress, it does by its :class:`ToolContext`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional

from .._version import __version__
from ..engine.handlers import SERVER
from ..errors import UsageError
from ..log import logger
from ..protocol.control import control_request, success_reply
from ..protocol.mcp import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    McpServer,
    call_reply,
    error_reply,
    manifest,
    progress_notification,
)
from ..tools import ToolContext, failed_result

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from ..protocol.mcp import Outcome, RpcId, ToolCall
    from ..tools import Tool
    from .engine import Engine
    from .open_requests import OpenRequest

__all__ = ["ToolCalls", "manifest_of"]

REQUEST_CANCELLED = -32800


class ToolCalls:
    """The tools of one client, as an MCP server."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Calls that run, by the ids that the CLI's client of MCP gave them.
        self.running: Dict[RpcId, OpenRequest] = {}

    def server_of(self, request: OpenRequest, turn: Optional[Turn]) -> Optional[ToolMessage]:
        """What serves a message to the server; None for a server that is not there."""
        registry = self._engine.registry()
        if registry is None or not registry.tools or request.body.get("server_name") != SERVER:
            return None
        outcome = server_with(registry.tools).receive(request.body.get("message"))
        for request_id in outcome.cancelled:
            with self._engine.lock:
                cancelled = self.running.pop(request_id, None)
            if cancelled is not None:
                self._engine.responders.run(cancelled_by_cli(cancelled, request_id))
        return ToolMessage(self, self._engine, request, outcome, registry.tools, turn)


class ToolMessage:
    """One message of the CLI to the server, to be served where tools run."""

    def __init__(
        self,
        calls: ToolCalls,
        engine: Engine,
        request: OpenRequest,
        outcome: Outcome,
        tools: Mapping[str, Tool],
        turn: Optional[Turn],
    ) -> None:
        self._calls = calls
        self._engine = engine
        self._request = request
        self._outcome = outcome
        self._tools = tools
        self._turn = turn
        # The handshake must not wait for a thread that waits for the handshake.
        self.is_users_code = bool(outcome.calls)
        with engine.lock:
            for call in outcome.calls:
                calls.running[call.request_id] = request

    def __call__(self) -> None:
        """Run what is to be run, and answer."""
        calls, running = self._outcome.calls, self._calls.running
        try:
            try:
                self._answer([self._run(call) for call in calls])
            except UsageError as error:  # a result that has no JSON form after all
                logger.error("the result of a tool cannot be sent: %s", error)
                self._answer_failed(str(error))
            except BaseException as error:
                self._answer_failed(type(error).__name__)
                raise
        finally:
            with self._engine.lock:
                for call in calls:
                    # A later call may have the same id: they begin anew with each handshake.
                    if running.get(call.request_id) is self._request:
                        del running[call.request_id]

    def _answer_failed(self, text: str) -> None:
        if not self._request.is_decided():
            calls = self._outcome.calls
            self._answer([error_reply(call.request_id, INTERNAL_ERROR, text) for call in calls])

    def _answer(self, replies: List[Dict[str, Any]]) -> None:
        body = {"mcp_response": self._outcome.body(replies)}
        self._request.answer(success_reply(self._request.request_id, body))

    def _run(self, call: ToolCall) -> Dict[str, Any]:
        if self._request.cancelled.is_set():
            return error_reply(call.request_id, INTERNAL_ERROR, "withdrawn before it began")
        tool = self._tools.get(call.tool_name)
        if tool is None:
            return error_reply(call.request_id, METHOD_NOT_FOUND, f"no tool {call.tool_name!r}")
        context = ToolContext(
            tool_use_id=call.tool_use_id,
            session_id=self._engine.session_id,
            cancelled=self._request.cancelled,
            report=lambda done, total, text: self._progress(call, done, total, text),
        )
        dispatcher = self._engine.dispatcher
        try:
            with dispatcher.handling():
                result = tool.run(call.arguments, context)
        except BaseException as error:
            if dispatcher.is_dispatching():
                raise  # Ctrl-C on the thread of the program that waits
            logger.error("the tool %s failed", tool.name, exc_info=error)
            result = failed_result(error)
        return call_reply(call.request_id, result)

    def _progress(
        self, call: ToolCall, done: float, total: Optional[float], text: Optional[str]
    ) -> None:
        """Tell how far a call is, if the CLI wants to know. No reply is awaited."""
        connection = self._request.connection
        if call.progress_token is None or connection.ended:
            return
        message = progress_notification(call.progress_token, done, total, text)
        fields = {"server_name": SERVER, "message": message}
        with contextlib.suppress(OSError):
            connection.send(control_request(connection.new_id(), "mcp_message", fields))


def cancelled_by_cli(request: OpenRequest, request_id: RpcId) -> Callable[[], None]:
    """What ends a call that nobody waits for any more, also if its function goes on."""
    reply = error_reply(request_id, REQUEST_CANCELLED, "cancelled")
    body = success_reply(request.request_id, {"mcp_response": reply})
    return lambda: request.expire(body)


def server_with(tools: Mapping[str, Tool]) -> McpServer:
    """The server that has *tools*; it remembers nothing, so it can be made anew."""
    return McpServer(SERVER, __version__, tools)


def manifest_of(tools: Mapping[str, Tool]) -> Dict[str, Any]:
    """What the CLI would learn of the server by asking it."""
    return manifest(server_with(tools))
