"""
The server side of MCP, as far as tools need it: a JSON-RPC message in, what follows from it out.

::

    mcp_message of the CLI -> [mcp] -> a reply at once, or a tool call to run

The CLI talks to the tools of this program inside control requests. Decisions taken here and
nowhere else:

* Nothing is remembered between messages. The CLI greets twice now and then, and counts its ids
  from zero each time.
* No message raises. What has a wrong shape is answered with a JSON-RPC error; what must not be
  answered (notifications, replies) is not.
* A call of an unknown tool, or with arguments that are no object, is an error of the protocol, as
  the specification wants it; the CLI shows its text to Claude. Arguments that do not fit the
  schema are an error of the tool, found when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Union

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PROTOCOL_VERSIONS",
    "McpServer",
    "Outcome",
    "RpcId",
    "ToolCall",
    "call_reply",
    "error_reply",
    "manifest",
    "progress_notification",
]

# Oldest first. They differ in nothing that tools alone would notice.
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

RpcId = Union[str, int, float]


class ToolCall(NamedTuple):
    """
    A call that has to be run and then answered.

    Attributes:
        request_id: Goes into the reply. Not unique: a later handshake counts anew.
        tool_name: A tool that exists.
        arguments: As they came, not checked against the schema.
        tool_use_id: The call in the conversation, or None.
        progress_token: Goes into progress notifications; None: nobody wants any.

    """

    request_id: RpcId
    tool_name: str
    arguments: dict[str, Any]
    tool_use_id: str | None = None
    progress_token: RpcId | None = None


class Outcome(NamedTuple):
    """
    What follows from one message; at most one of the three.

    Attributes:
        reply: The answer. The request around a notification wants one, too.
        call: What has to be run first; then ``call_reply`` or ``error_reply`` is the answer.
        cancelled: The id of an earlier call that nobody waits for any longer.

    """

    reply: dict[str, Any] = {"jsonrpc": "2.0", "result": {}}  # noqa: RUF012
    call: ToolCall | None = None
    cancelled: RpcId | None = None


class Refused(Exception):
    """A request cannot be served: its code, and why."""


class McpServer:
    """
    A server of tools.

    ``tools`` are objects of ``tools.Tool`` by name, read anew for each message, so a tool that is
    added later counts at once. Nothing else is kept, so any thread may call any method.
    """

    def __init__(self, name: str, version: str, tools: Mapping[str, Any]) -> None:
        self.name = name
        self.version = version
        self.tools = tools

    def receive(self, message: Any) -> Outcome:
        """What follows from *message*, whatever that is. Never raises."""
        request_id = None
        try:
            if not isinstance(message, dict):
                raise Refused(INVALID_REQUEST, "a message is an object")
            method, params = message.get("method"), message.get("params")
            if "method" not in message and ("result" in message or "error" in message):
                return Outcome()  # the reply to something of ours; to answer it would begin a loop
            is_request = "id" in message
            if is_request and not is_id(message["id"]):
                raise Refused(INVALID_REQUEST, "an id is a string or a number")
            request_id = message.get("id")
            if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
                raise Refused(INVALID_REQUEST, 'a message has "jsonrpc": "2.0" and a method')
            if not is_request:
                return notified(method, params)
            if method not in ("initialize", "ping", "tools/list", "tools/call"):
                raise Refused(METHOD_NOT_FOUND, f"Method not found: {method}")
            params = checked("params", params)
            if method == "tools/call":
                return Outcome(call=self._call(message["id"], params))
            return Outcome(call_reply(message["id"], self._result(method, params)))
        except Refused as refusal:
            return Outcome(error_reply(request_id, *refusal.args))

    def initialize_result(self, version: str) -> dict[str, Any]:
        """The answer to a client that speaks *version*."""
        return {
            "protocolVersion": version if version in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": self.version},
        }

    def tools_list_result(self) -> dict[str, Any]:
        """All tools, in the order of registration: a stable list is good for caches."""
        return {"tools": [described(tool) for tool in list(self.tools.values())]}

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            version = params.get("protocolVersion")
            if not isinstance(version, str):
                raise Refused(INVALID_PARAMS, "protocolVersion is a string")
            return self.initialize_result(version)
        # There is one page of tools only, so every cursor leads to it.
        return self.tools_list_result() if method == "tools/list" else {}

    def _call(self, request_id: RpcId, params: Mapping[str, Any]) -> ToolCall:
        name = params.get("name")
        if not isinstance(name, str) or name not in self.tools:
            raise Refused(INVALID_PARAMS, f"Unknown tool: {name}")
        arguments = checked("the arguments of a tool", params.get("arguments"))
        meta = checked("_meta", params.get("_meta"))
        token = meta.get("progressToken")
        if token is not None and not is_id(token):
            raise Refused(INVALID_PARAMS, "a progressToken is a string or a number")
        # An addition of the CLI, not of the protocol: without a usable one, the call still runs.
        use = meta.get("claudecode/toolUseId")
        return ToolCall(request_id, name, arguments, use if isinstance(use, str) else None, token)


def call_reply(request_id: RpcId, result: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to a call that was run; *result* is what ``Tool.run`` returned."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}


def error_reply(request_id: RpcId | None, code: int, text: str) -> dict[str, Any]:
    """The reply to a request that could not be served."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def progress_notification(
    token: RpcId, progress: float, total: float | None = None, message: str | None = None
) -> dict[str, Any]:
    """News of a running call, for the token that came with it."""
    params: dict[str, Any] = {"progressToken": token, "progress": progress}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def manifest(server: McpServer) -> dict[str, Any]:
    """What the CLI would learn by asking, told in advance, in its newest version."""
    return {
        "initializeResult": server.initialize_result(PROTOCOL_VERSIONS[-1]),
        "toolsListResult": server.tools_list_result(),
    }


def described(tool: Any) -> dict[str, Any]:
    """A tool, as the list of tools shows it."""
    description: dict[str, Any] = {"name": tool.name, "inputSchema": tool.schema}
    annotations = dict(tool.annotations)
    if tool.title is not None:
        # Newer versions look for it in one place, older ones in the other.
        description["title"] = annotations["title"] = tool.title
    if tool.description:
        description["description"] = tool.description
    if annotations:
        description["annotations"] = annotations
    # New CLIs keep tools of servers out of sight until Claude searches for them; a program
    # that brings its own wants them seen.
    meta: dict[str, Any] = {"anthropic/alwaysLoad": True}
    if tool.max_result_chars is not None:
        meta["anthropic/maxResultSizeChars"] = tool.max_result_chars
    description["_meta"] = meta
    return description


def notified(method: str, params: Any) -> Outcome:
    """What follows from a notification: nothing, unless it withdraws a request."""
    if method == "notifications/cancelled" and isinstance(params, dict):
        request_id = params.get("requestId")
        if is_id(request_id):
            return Outcome(cancelled=request_id)
    return Outcome()


def checked(what: str, value: Any) -> dict[str, Any]:
    """*value*, if it is an object; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused(INVALID_PARAMS, f"{what} is an object")
    return value


def is_id(value: Any) -> bool:
    """Whether *value* can identify a request, and be sent back."""
    if isinstance(value, float):
        return value - value == 0.0  # false for nan and the infinities, which JSON lacks
    return isinstance(value, (str, int)) and not isinstance(value, bool)
