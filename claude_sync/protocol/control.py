"""
Requests and replies, both ways: their envelopes, ids and safe answers.

::

    process -> lines -> messages -> [control] -> its waiter, or a responder

Both sides may have several requests open at once, and replies come in any
order. Decisions taken here and nowhere else:

* A reply to an id that we do not wait for is ignored: 2.1.29 answers some requests
  twice, and with replayed user messages the CLI echoes our own replies.
* A request of the CLI that nobody serves gets an answer that lets nothing through:
  an unanswered request would park the turn for ever. The exceptions are requests
  meant for another host, which must stay open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ControlError

__all__ = [
    "DENIED",
    "LEFT_OPEN",
    "Reply",
    "RequestIds",
    "allow_reply",
    "callback_reply",
    "control_request",
    "deny_reply",
    "error_reply",
    "failed_reply",
    "parse_reply",
    "request_body",
    "safe_reply",
    "success_reply",
]

DENIED = "Permission denied: this program allows no tools that need approval."

# Requests that only another kind of host may answer; an error from us would break them.
LEFT_OPEN = frozenset(
    {"remote_tool_call", "remote_plumbing_call", "remote_tools_probe", "remote_tools_reannounce"}
)

# Answers to questions for a person, where there is none.
DECLINED = {"elicitation": {"action": "decline"}, "request_user_dialog": {"behavior": "cancelled"}}


class RequestIds:
    """Ids for our requests: unique within a process, readable in a recording."""

    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        """A new id."""
        self._count += 1
        return f"req_{self._count}"


class Reply:
    """
    What the CLI answered to a request of ours.

    Attributes:
        request_id: The request.
        body: The reply's own object; empty where the CLI sends none.
        error: What the CLI said when it refused, or None.
        code: The error's code, or None.
        raw: The whole envelope's ``response``.

    """

    __slots__ = ("body", "code", "error", "raw", "request_id")

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.request_id = raw.get("request_id")
        self.body = dict_or_empty(raw.get("response"))
        self.error: str | None = None
        self.code: str | None = None
        if raw.get("subtype") == "error":
            self.error = str(raw.get("error"))
            self.code = text_or_none(raw.get("error_code"))

    def check(self, subtype: str) -> dict[str, Any]:
        """The body, or ControlError if the CLI refused."""
        if self.error is not None:
            raise ControlError(subtype, self.error, self.code)
        return self.body


# Envelopes.


def control_request(request_id: str, subtype: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A request of ours."""
    request = {"subtype": subtype, **fields}
    return {"type": "control_request", "request_id": request_id, "request": request}


def success_reply(request_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a request of the CLI."""
    response = {"subtype": "success", "request_id": request_id, "response": dict(body)}
    return {"type": "control_response", "response": response}


def error_reply(request_id: str, text: str, code: str | None = None) -> dict[str, Any]:
    """Our refusal of a request of the CLI."""
    response = {"subtype": "error", "request_id": request_id, "error": text}
    if code is not None:
        response["error_code"] = code
    return {"type": "control_response", "response": response}


def callback_reply(raw: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a ``callback.request``, the older form of asking for permission."""
    session = {"session_id": raw["session_id"]} if "session_id" in raw else {}
    return {"type": "callback.response", "id": raw.get("id"), **session, "payload": dict(payload)}


def parse_reply(raw: Mapping[str, Any]) -> Reply | None:
    """The reply in a ``control_response``; None where it has no usable form."""
    response = raw.get("response")
    return Reply(response) if isinstance(response, dict) else None


def request_body(raw: Mapping[str, Any]) -> tuple[str | None, str, Mapping[str, Any]]:
    """The id, the subtype and the fields of a request of the CLI, in whichever form it came."""
    if is_callback(raw):
        body = dict_or_empty(raw.get("payload"))
        return text_or_none(raw.get("id")), str(body.get("callback_type", "")), body
    body = dict_or_empty(raw.get("request"))
    return text_or_none(raw.get("request_id")), str(body.get("subtype", "")), body


# Answers to requests for permission.


def allow_reply(
    raw: Mapping[str, Any],
    updated_input: Mapping[str, Any],
    permissions: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Our yes to a request for permission, in the form in which it came."""
    updates = without_nulls(permissions)
    if is_callback(raw):
        answer = {"updated_input": dict(updated_input), "updated_permissions": updates}
        return callback_reply(raw, {"behavior": "allow", **answer})
    # The input is always sent: without it CLIs up to 2.1.29 refuse the answer.
    answer = {"behavior": "allow", "updatedInput": dict(updated_input)}
    if updates:
        answer["updatedPermissions"] = updates
    return permission_reply(raw, answer)


def deny_reply(raw: Mapping[str, Any], message: str, interrupt: bool = False) -> dict[str, Any]:
    """
    Our no to a request for permission, in the form in which it came.

    The older form has no word for *interrupt*: there the turn is stopped by a request.
    """
    answer: dict[str, Any] = {"behavior": "deny", "message": message}
    if is_callback(raw):
        return callback_reply(raw, answer)
    if interrupt:
        answer["interrupt"] = True
    return permission_reply(raw, answer)


def permission_reply(raw: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """*answer*, with the id of the tool's use where there is one: null is refused."""
    request_id, _, body = request_body(raw)
    tool_use_id = text_or_none(body.get("tool_use_id"))
    if tool_use_id is not None:
        answer["toolUseID"] = tool_use_id
    return success_reply(request_id or "", answer)


def without_nulls(value: Any) -> Any:
    """Permission updates without ``ruleContent: null`` and the like, which 2.1.29 refuses."""
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, (list, tuple)):
        return [without_nulls(each) for each in value]
    return value


# Answers that let nothing through.


def safe_reply(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """
    The answer to a request that nobody serves.

    None where the request must stay unanswered, or has no id to answer to.
    """
    request_id, subtype, body = request_body(raw)
    if request_id is None or subtype in LEFT_OPEN:
        return None
    if subtype == "can_use_tool":
        return deny_reply(raw, DENIED)
    if is_callback(raw):
        return callback_reply(raw, {})
    if subtype in DECLINED:
        return success_reply(request_id, DECLINED[subtype])
    if subtype == "mcp_message":
        return success_reply(request_id, {"mcp_response": no_such_server(body)})
    text = f"Unsupported control request subtype: {subtype}"
    return error_reply(request_id, text, "unsupported_request")


def failed_reply(raw: Mapping[str, Any], request_id: str) -> dict[str, Any]:
    """
    The answer to a request that we failed to serve.

    A hook that can block does block: an error would count as consent.
    """
    _, subtype, body = request_body(raw)
    text = "this request could not be served"
    if subtype == "can_use_tool":
        return deny_reply(raw, DENIED)
    if is_callback(raw):
        return callback_reply(raw, {})
    event = dict_or_empty(body.get("input")).get("hook_event_name")
    decision: dict[str, Any] = {"hookEventName": event}
    if subtype == "hook_callback" and event == "PreToolUse":
        decision.update(permissionDecision="deny", permissionDecisionReason=text)
    elif subtype == "hook_callback" and event == "PermissionRequest":
        decision["decision"] = {"behavior": "deny", "message": text}
    else:
        return error_reply(request_id, text)
    return success_reply(request_id, {"hookSpecificOutput": decision})


def no_such_server(body: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON-RPC error for a message to an in-process server that does not exist."""
    text = f"no server named {body.get('server_name')!r}"
    identity = dict_or_empty(body.get("message")).get("id")
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": -32601, "message": text}}


# Values of any type.


def is_callback(raw: Mapping[str, Any]) -> bool:
    """Whether a request came in the older form."""
    return raw.get("type") == "callback.request"


def dict_or_empty(value: object) -> dict[str, Any]:
    """*value* if it is a JSON object."""
    return value if isinstance(value, dict) else {}


def text_or_none(value: object) -> str | None:
    """*value* if it is a text that is not empty, as an id is."""
    return value if isinstance(value, str) and value else None
