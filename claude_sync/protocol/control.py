"""
Requests and replies, both ways: their envelopes, ids and safe answers.

::

    process -> lines -> messages -> [control] -> its waiter, or a responder

Both sides may have several requests open at once, and replies come in any
order. Decisions taken here and nowhere else:

* A reply to an id we do not wait for is ignored: old CLIs answer some requests
  twice, and with replayed user messages the CLI echoes our own replies.
* A request of the CLI that nobody serves is answered all the same, and so that
  nothing is let through: an unanswered request would park the turn for ever.
  The exceptions are requests meant for another host, which must stay open.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

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

DENIED = (
    "This program has not said who may use tools, so the answer is no. "
    "(It can allow some when it starts, by their names.)"
)

# Requests that only another kind of host may answer; an error from us would break them.
LEFT_OPEN = frozenset(
    {"remote_tool_call", "remote_plumbing_call", "remote_tools_probe", "remote_tools_reannounce"}
)


class RequestIds:
    """Ids for our requests: unique within a process, readable in a recording."""

    def __init__(self, prefix: str = "req") -> None:
        self._prefix = prefix
        self._count = 0

    def next(self) -> str:
        """A new id."""
        self._count += 1
        return f"{self._prefix}_{self._count}"


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
        body = raw.get("response")
        self.body: Dict[str, Any] = body if isinstance(body, dict) else {}
        self.error: Optional[str] = None
        self.code: Optional[str] = None
        if raw.get("subtype") == "error":
            error = raw.get("error")
            self.error = error if isinstance(error, str) else str(error)
            code = raw.get("error_code")
            self.code = code if isinstance(code, str) else None

    def check(self, subtype: str) -> Dict[str, Any]:
        """The body, or ControlError if the CLI refused."""
        if self.error is not None:
            raise ControlError(subtype, self.error, self.code)
        return self.body


def control_request(request_id: str, subtype: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """A request of ours."""
    return {
        "type": "control_request",
        "request_id": request_id,
        "request": {"subtype": subtype, **fields},
    }


def success_reply(request_id: str, body: Mapping[str, Any]) -> Dict[str, Any]:
    """Our answer to a request of the CLI."""
    return {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_id, "response": dict(body)},
    }


def error_reply(request_id: str, text: str, code: Optional[str] = None) -> Dict[str, Any]:
    """Our refusal of a request of the CLI."""
    response = {"subtype": "error", "request_id": request_id, "error": text}
    if code is not None:
        response["error_code"] = code
    return {"type": "control_response", "response": response}


def callback_reply(raw: Mapping[str, Any], payload: Mapping[str, Any]) -> Dict[str, Any]:
    """Our answer to a ``callback.request``, the older form of asking for permission."""
    reply: Dict[str, Any] = {"type": "callback.response", "id": raw.get("id")}
    if "session_id" in raw:
        reply["session_id"] = raw["session_id"]
    reply["payload"] = dict(payload)
    return reply


def allow_reply(
    raw: Mapping[str, Any],
    updated_input: Mapping[str, Any],
    permissions: Sequence[Mapping[str, Any]] = (),
) -> Dict[str, Any]:
    """Our yes to a request for permission, in the form in which it came."""
    updates = [without_nulls(update) for update in permissions]
    if raw.get("type") == "callback.request":
        answer = {"updated_input": dict(updated_input), "updated_permissions": updates}
        return callback_reply(raw, {"behavior": "allow", **answer})
    # The input is always sent: without it old CLIs refuse the answer.
    answer = {"behavior": "allow", "updatedInput": dict(updated_input)}
    if updates:
        answer["updatedPermissions"] = updates
    return permission_reply(raw, answer)


def deny_reply(raw: Mapping[str, Any], message: str, interrupt: bool = False) -> Dict[str, Any]:
    """
    Our no to a request for permission, in the form in which it came.

    The older form has no word for *interrupt*: there the turn is stopped by a request.
    """
    answer: Dict[str, Any] = {"behavior": "deny", "message": message}
    if raw.get("type") == "callback.request":
        return callback_reply(raw, answer)
    if interrupt:
        answer["interrupt"] = True
    return permission_reply(raw, answer)


def permission_reply(raw: Mapping[str, Any], answer: Dict[str, Any]) -> Dict[str, Any]:
    """*answer*, with the id of the tool's use where there is one: null is refused."""
    request_id, _, body = request_body(raw)
    tool_use_id = text_or_none(body.get("tool_use_id"))
    if tool_use_id is not None:
        answer["toolUseID"] = tool_use_id
    return success_reply(request_id or "", answer)


def without_nulls(update: Mapping[str, Any]) -> Dict[str, Any]:
    """A permission update whose rules have no ``ruleContent: null``, which old CLIs refuse."""
    plain = {key: value for key, value in update.items() if value is not None}
    rules = plain.get("rules")
    if isinstance(rules, (list, tuple)):
        kept: List[Any] = [
            {key: value for key, value in rule.items() if value is not None}
            if isinstance(rule, dict)
            else rule
            for rule in rules
        ]
        plain["rules"] = kept
    return plain


def parse_reply(raw: Mapping[str, Any]) -> Optional[Reply]:
    """The reply in a ``control_response``; None where it has no usable form."""
    response = raw.get("response")
    return Reply(response) if isinstance(response, dict) else None


def request_body(raw: Mapping[str, Any]) -> Tuple[Optional[str], str, Mapping[str, Any]]:
    """The id, the subtype and the fields of a request of the CLI, in whichever form it came."""
    if raw.get("type") == "callback.request":
        payload = raw.get("payload")
        body = payload if isinstance(payload, dict) else {}
        return text_or_none(raw.get("id")), str(body.get("callback_type", "")), body
    request = raw.get("request")
    body = request if isinstance(request, dict) else {}
    return text_or_none(raw.get("request_id")), str(body.get("subtype", "")), body


def safe_reply(raw: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """
    The answer to a request that nobody serves: it lets nothing through.

    None where the request must stay unanswered, or has no id to answer to.
    """
    request_id, subtype, body = request_body(raw)
    if request_id is None or subtype in LEFT_OPEN:
        return None
    if subtype == "can_use_tool":
        return deny_reply(raw, DENIED)
    if raw.get("type") == "callback.request":
        return callback_reply(raw, {})
    if subtype == "elicitation":
        return success_reply(request_id, {"action": "decline"})
    if subtype == "request_user_dialog":
        return success_reply(request_id, {"behavior": "cancelled"})
    if subtype == "mcp_message":
        return success_reply(request_id, {"mcp_response": no_such_server(body)})
    return error_reply(
        request_id, f"Unsupported control request subtype: {subtype}", "unsupported_request"
    )


def failed_reply(raw: Mapping[str, Any], request_id: str) -> Dict[str, Any]:
    """
    The answer to a request that was to be served, and that we failed to serve.

    A hook is blocked in every form there is: an error would count as consent.
    """
    _, subtype, body = request_body(raw)
    text = "this request could not be served"
    if subtype == "can_use_tool":
        return deny_reply(raw, DENIED)
    if raw.get("type") == "callback.request":
        return callback_reply(raw, {})
    given = body.get("input")
    event = given.get("hook_event_name") if isinstance(given, dict) else None
    if subtype != "hook_callback" or event not in ("PreToolUse", "PermissionRequest"):
        return error_reply(request_id, text)
    decision: Dict[str, Any] = {"hookEventName": event}
    if event == "PreToolUse":
        decision.update(permissionDecision="deny", permissionDecisionReason=text)
    else:
        decision["decision"] = {"behavior": "deny", "message": text}
    return success_reply(request_id, {"hookSpecificOutput": decision})


def no_such_server(body: Mapping[str, Any]) -> Dict[str, Any]:
    """A JSON-RPC error for a message to an in-process server that does not exist."""
    message = body.get("message")
    identity = message.get("id") if isinstance(message, dict) else None
    return {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {"code": -32601, "message": f"no server named {body.get('server_name')!r}"},
    }


def text_or_none(value: object) -> Optional[str]:
    """*value* if it is a string that can serve as an id."""
    return value if isinstance(value, str) and value else None
