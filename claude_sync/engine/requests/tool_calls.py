"""
Serve the CLI's calls of the program's own tools.

::

    process -> lines -> messages -> [tool] -> responder -> function -> answer

The handshake is answered whenever and as often as a CLI wants it. Each call runs on a thread
of its own, several at once; what a call can learn of its fate, and tell of its progress, it
does by its :class:`ToolContext`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..._version import __version__
from ...errors import UsageError
from ...log import logger
from ...protocol.control import success_reply
from ...protocol.mcp import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    McpServer,
    call_reply,
    error_reply,
    manifest,
    progress_notification,
)
from ...tools import ToolContext, failed_result
from ..handlers import SERVER

if TYPE_CHECKING:
    from ...protocol.mcp import Outcome, RpcId, ToolCall
    from ...protocol.requests import Request
    from ...tools import Tool
    from ..connection import Connection
    from ..session import Session

__all__ = ["ToolCalls", "manifest_of"]

REQUEST_CANCELLED = -32800


class ToolCalls:
    """The tools of one session, as an MCP server."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Calls that run, by the ids that the CLI's client of MCP gave them; under the lock.
        self.running: dict[RpcId, Request] = {}

    def server_of(self, request: Request, connection: Connection) -> ToolMessage | None:
        """What serves a message to the server; None for a server that is not there."""
        registry = self._session.registry()
        if registry is None or not registry.tools or request.body.get("server_name") != SERVER:
            return None
        outcome = server_with(registry.tools).receive(request.body.get("message"))
        if outcome.cancelled is not None:
            self._cancel(outcome.cancelled)
        if outcome.call is not None:
            with self._session.lock:
                self.running[outcome.call.request_id] = request
        return ToolMessage(self, self._session, request, connection, outcome, registry.tools)

    def _cancel(self, call_id: RpcId) -> None:
        """Nobody waits for a call any more, also if its function goes on."""
        with self._session.lock:
            cancelled = self.running.pop(call_id, None)
        if cancelled is not None:
            reply = error_reply(call_id, REQUEST_CANCELLED, "cancelled")
            body = success_reply(cancelled.request_id, {"mcp_response": reply})
            self._session.tasks.run(lambda: cancelled.expire(body))

    def is_over(self, request: Request, call_id: RpcId) -> None:
        """A call was answered. A later one may have the same id: they begin anew."""
        with self._session.lock:
            if self.running.get(call_id) is request:
                del self.running[call_id]


class ToolMessage:
    """One message of the CLI to the server, to be served where tools run."""

    def __init__(
        self,
        calls: ToolCalls,
        session: Session,
        request: Request,
        connection: Connection,
        outcome: Outcome,
        tools: Mapping[str, Tool],
    ) -> None:
        self._calls = calls
        self._session = session
        self._request = request
        self._connection = connection
        self._outcome = outcome
        self._tools = tools
        # The handshake must not wait for a thread that waits for the handshake.
        self.is_users_code = outcome.call is not None

    def __call__(self) -> None:
        """Run what is to be run, and answer."""
        call = self._outcome.call
        if call is None:
            self._answer(self._outcome.reply)
            return
        try:
            self._answer(self._run(call))
        except UsageError as error:  # a result that has no JSON form after all
            logger.error("the result of a tool cannot be sent: %s", error)
            self._answer_failed(call, str(error))
        except BaseException as error:
            self._answer_failed(call, type(error).__name__)
            raise
        finally:
            self._calls.is_over(self._request, call.request_id)

    def _answer_failed(self, call: ToolCall, text: str) -> None:
        if not self._request.is_decided():
            self._answer(error_reply(call.request_id, INTERNAL_ERROR, text))

    def _answer(self, reply: dict[str, Any]) -> None:
        body = {"mcp_response": reply}
        self._request.answer(success_reply(self._request.request_id, body))

    def _run(self, call: ToolCall) -> dict[str, Any]:
        if self._request.cancelled.is_set():
            return error_reply(call.request_id, INTERNAL_ERROR, "withdrawn before it began")
        tool = self._tools.get(call.tool_name)
        if tool is None:
            return error_reply(call.request_id, METHOD_NOT_FOUND, f"no tool {call.tool_name!r}")
        context = ToolContext(
            tool_use_id=call.tool_use_id,
            session_id=self._session.session_id,
            cancelled=self._request.cancelled,
            report=lambda done, total, text: self._progress(call, done, total, text),
        )
        dispatch = self._session.dispatch
        try:
            with dispatch.handling():
                result = tool.run(call.arguments, context)
        except BaseException as error:
            if dispatch.is_dispatching():
                raise  # Ctrl-C on the thread of the program that waits
            logger.error("the tool %s failed", tool.name, exc_info=error)
            result = failed_result(error)
        return call_reply(call.request_id, result)

    def _progress(self, call: ToolCall, done: float, total: float | None, text: str | None) -> None:
        """Tell how far a call is, if the CLI wants to know. No reply is awaited."""
        if call.progress_token is None or self._connection.has_ended:
            return
        message = progress_notification(call.progress_token, done, total, text)
        with contextlib.suppress(OSError):
            self._connection.notify("mcp_message", {"server_name": SERVER, "message": message})


def server_with(tools: Mapping[str, Tool]) -> McpServer:
    """The server that has *tools*; it remembers nothing, so it can be made anew."""
    return McpServer(SERVER, __version__, tools)


def manifest_of(tools: Mapping[str, Tool]) -> dict[str, Any]:
    """What the CLI would learn of the server by asking it."""
    return manifest(server_with(tools))
