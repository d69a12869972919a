"""
The server side of MCP, as far as tools need it: JSON-RPC messages in, replies out.

::

    mcp_message of the CLI -> [mcp] -> a reply at once, or a tool call to run

The CLI talks to the tools of this program inside control requests. Decisions
taken here and nowhere else:

* Nothing is remembered between messages. The CLI greets twice now and then, and
  counts its ids from zero each time.
* No message raises. What has a wrong shape is answered with a JSON-RPC error;
  what must not be answered (notifications, replies) is not.
* A call of an unknown tool, or with arguments that are no object, is an error of
  the protocol, as the specification wants it; the CLI shows its text to Claude.
  Arguments that do not fit the schema are an error of the tool, found when it runs.
* Capabilities that are not announced (resources, prompts, ...) do not exist.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional, Protocol, Tuple, Union

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
    "ToolDescription",
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


class ToolDescription(Protocol):
    """What a server has to know of a tool to tell others about it."""

    @property
    def name(self) -> str:
        """Its name, by which it is called."""

    @property
    def title(self) -> Optional[str]:
        """A name for people, or None."""

    @property
    def description(self) -> str:
        """What it does, for Claude; may be empty."""

    @property
    def schema(self) -> Dict[str, Any]:
        """The JSON Schema of its arguments."""

    @property
    def annotations(self) -> Dict[str, Any]:
        """Hints as MCP spells them, such as readOnlyHint."""

    @property
    def max_result_chars(self) -> Optional[int]:
        """How long a result may be before the CLI cuts it, or None: the CLI's own limit."""


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
    arguments: Dict[str, Any]
    tool_use_id: Optional[str] = None
    progress_token: Optional[RpcId] = None


class Outcome(NamedTuple):
    """
    What follows from one message.

    Attributes:
        replies: What is to be answered at once.
        calls: What has to be run first; each becomes a ``call_reply`` or ``error_reply``.
        cancelled: Ids of earlier requests that nobody waits for any longer.
        is_batch: Whether several messages came as one, and want one answer.

    """

    replies: Tuple[Dict[str, Any], ...] = ()
    calls: Tuple[ToolCall, ...] = ()
    cancelled: Tuple[RpcId, ...] = ()
    is_batch: bool = False

    def body(self, call_replies: Iterable[Dict[str, Any]] = ()) -> Any:
        """
        What answers the message, given the replies to its calls.

        Also where JSON-RPC has nothing to say: the request around a notification
        wants an answer too.
        """
        replies = [*self.replies, *call_replies]
        if not replies:
            return {"jsonrpc": "2.0", "result": {}}
        return replies if self.is_batch else replies[0]


class InvalidParams(Exception):
    """The parameters of a request have a wrong shape."""


class McpServer:
    """
    A server of tools.

    ``tools`` is read anew for each message, so a tool that is added later counts at
    once. Nothing else is kept, so any thread may call any method.
    """

    def __init__(self, name: str, version: str, tools: Mapping[str, ToolDescription]) -> None:
        self.name = name
        self.version = version
        self.tools = tools
        self._methods = {
            "initialize": self._initialize,
            "ping": self._ping,
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
        }

    def receive(self, message: Any) -> Outcome:
        """What follows from *message*, whatever that is. Never raises."""
        if not isinstance(message, list):
            return self._receive_one(message)
        if not message:
            return refused(None, INVALID_REQUEST, "an empty batch")
        outcomes = [self._receive_one(each) for each in message]
        return Outcome(
            replies=tuple(reply for outcome in outcomes for reply in outcome.replies),
            calls=tuple(call for outcome in outcomes for call in outcome.calls),
            cancelled=tuple(each for outcome in outcomes for each in outcome.cancelled),
            is_batch=True,
        )

    def initialize_result(self, version: str) -> Dict[str, Any]:
        """The answer to a client that speaks *version*."""
        return {
            "protocolVersion": version if version in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": self.version},
        }

    def tools_list_result(self) -> Dict[str, Any]:
        """All tools, in the order of registration: a stable list is good for caches."""
        return {"tools": [described(tool) for tool in list(self.tools.values())]}

    def _receive_one(self, message: Any) -> Outcome:
        if not isinstance(message, dict):
            return refused(None, INVALID_REQUEST, "a message is an object")
        if "method" not in message and ("result" in message or "error" in message):
            return Outcome()  # the reply to something of ours; to answer it would begin a loop
        request_id = message.get("id")
        is_request = "id" in message
        if is_request and not is_id(request_id):
            return refused(None, INVALID_REQUEST, "an id is a string or a number")
        if message.get("jsonrpc") != "2.0":
            return refused(request_id, INVALID_REQUEST, 'a message says "jsonrpc": "2.0"')
        method = message.get("method")
        if not isinstance(method, str):
            return refused(request_id, INVALID_REQUEST, "a method is a string")
        params = message.get("params")
        if not is_request:
            return notified(method, params)
        if method not in self._methods:
            return refused(request_id, METHOD_NOT_FOUND, f"Method not found: {method}")
        try:
            return self._methods[method](request_id, {} if params is None else checked(params))
        except InvalidParams as error:
            return refused(request_id, INVALID_PARAMS, str(error))

    def _initialize(self, request_id: Any, params: Mapping[str, Any]) -> Outcome:
        version = params.get("protocolVersion")
        if not isinstance(version, str):
            raise InvalidParams("protocolVersion is a string")
        return replied(request_id, self.initialize_result(version))

    def _ping(self, request_id: Any, params: Mapping[str, Any]) -> Outcome:  # noqa: ARG002
        return replied(request_id, {})

    def _list_tools(self, request_id: Any, params: Mapping[str, Any]) -> Outcome:
        # There is one page only, so every cursor leads to it.
        if not isinstance(params.get("cursor"), (str, type(None))):
            raise InvalidParams("a cursor is a string")
        return replied(request_id, self.tools_list_result())

    def _call_tool(self, request_id: Any, params: Mapping[str, Any]) -> Outcome:
        name = params.get("name")
        if not isinstance(name, str):
            raise InvalidParams("the name of a tool is a string")
        if name not in self.tools:
            raise InvalidParams(f"Unknown tool: {name}")
        arguments = params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise InvalidParams("the arguments of a tool are an object")
        meta = params.get("_meta")
        if meta is None:
            meta = {}
        if not isinstance(meta, dict):
            raise InvalidParams("_meta is an object")
        token = meta.get("progressToken")
        if token is not None and not is_id(token):
            raise InvalidParams("a progressToken is a string or a number")
        # An addition of the CLI, not of the protocol: without a usable one, the call still runs.
        tool_use_id = meta.get("claudecode/toolUseId")
        if not isinstance(tool_use_id, str):
            tool_use_id = None
        return Outcome(calls=(ToolCall(request_id, name, arguments, tool_use_id, token),))


def call_reply(request_id: RpcId, result: Mapping[str, Any]) -> Dict[str, Any]:
    """The reply to a call that was run; *result* is what ``Tool.run`` returned."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}


def error_reply(request_id: Optional[RpcId], code: int, text: str) -> Dict[str, Any]:
    """The reply to a request that could not be served."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def progress_notification(
    token: RpcId, progress: float, total: Optional[float] = None, message: Optional[str] = None
) -> Dict[str, Any]:
    """News of a running call, for the token that came with it."""
    params: Dict[str, Any] = {"progressToken": token, "progress": progress}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def manifest(server: McpServer) -> Dict[str, Any]:
    """What the CLI would learn by asking, told in advance, in its newest version."""
    return {
        "initializeResult": server.initialize_result(PROTOCOL_VERSIONS[-1]),
        "toolsListResult": server.tools_list_result(),
    }


def described(tool: ToolDescription) -> Dict[str, Any]:
    """A tool, as the list of tools shows it."""
    description: Dict[str, Any] = {"name": tool.name, "inputSchema": tool.schema}
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
    meta: Dict[str, Any] = {"anthropic/alwaysLoad": True}
    if tool.max_result_chars is not None:
        meta["anthropic/maxResultSizeChars"] = tool.max_result_chars
    description["_meta"] = meta
    return description


def notified(method: str, params: Any) -> Outcome:
    """What follows from a notification: nothing, unless it withdraws a request."""
    if method == "notifications/cancelled" and isinstance(params, dict):
        request_id: Any = params.get("requestId")
        if is_id(request_id):
            return Outcome(cancelled=(request_id,))
    return Outcome()


def replied(request_id: RpcId, result: Mapping[str, Any]) -> Outcome:
    """An immediate reply."""
    return Outcome(replies=(call_reply(request_id, result),))


def refused(request_id: Optional[RpcId], code: int, text: str) -> Outcome:
    """An immediate error."""
    return Outcome(replies=(error_reply(request_id, code, text),))


def checked(params: Any) -> Mapping[str, Any]:
    """*params*, if they are given by name."""
    if not isinstance(params, dict):
        raise InvalidParams("params is an object")
    return params


def is_id(value: Any) -> bool:
    """Whether *value* can identify a request, and be sent back."""
    if isinstance(value, float):
        return value - value == 0.0  # false for nan and the infinities, which JSON lacks
    return isinstance(value, (str, int)) and not isinstance(value, bool)
