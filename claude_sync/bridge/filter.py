"""
What a front end that is not trusted may say to a CLI of a raw session.

No thread, no file, no clock. A line is parsed, looked at and written anew, so that the CLI
reads what was looked at. Decided here and nowhere else:

* Only messages, requests and fields that are known pass. What changes the permission mode to
  ``bypassPermissions``, reads files or changes settings does not, wherever it stands.
* A request that must not be sent is answered with an error, in place of the CLI. An answer
  that gives too much becomes a no. Anything else is left out, and logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.control import ROWS
from ..errors import UsageError
from ..log import logger
from ..options import SETTINGS
from ..protocol.codec import decode
from ..protocol.control import error_reply, success_reply
from .options import BYPASS, Policy, check_agents, check_updates

__all__ = ["Filter"]

Wire = dict[str, Any]
Checked = tuple[Wire | None, Wire | None]

# The fields of a question.
QUESTION = frozenset(
    [
        *("type", "uuid", "message", "parent_tool_use_id", "session_id", "shouldQuery"),
        *("client_composed", "priority", "timestamp"),
    ]
)
# The fields of a greeting: settings that any front end may choose, and what comes with handlers.
GREETING = frozenset(
    [
        *("subtype", "sdkMcpServerManifests", "excludeDynamicSections", "systemPromptSnapshot"),
        *(each.key for each in SETTINGS.values() if each.key and not each.trust),
    ]
)
REQUESTS = ("interrupt", "mcp_message")


class Filter:
    """
    What passes to one CLI.

    Args:
        policy: What the front end may do.
        cwd: The folder of the CLI, in which relative paths begin.

    """

    def __init__(self, policy: Policy, cwd: str) -> None:
        self._policy = policy
        self._cwd = cwd

    def check(self, line: bytes) -> Checked:
        """What the CLI may read of *line*, and what is answered in its place; None: nothing."""
        message = decode(line) or {}
        kind = message.get("type")
        if kind == "control_cancel_request":
            return message, None
        if kind == "user":
            return {key: value for key, value in message.items() if key in QUESTION}, None
        if kind == "control_request":
            return self._request(message)
        if kind == "control_response":
            return self._response(message), None
        logger.warning("a line of the front end is not for the CLI: its type is %r", kind)
        return None, None

    def _request(self, message: Wire) -> Checked:
        request = message.get("request")
        request = request if isinstance(request, dict) else {}
        subtype = request.get("subtype")
        try:
            if subtype == "initialize":
                self._check_greeting(request)
            elif subtype not in REQUESTS:
                row = ROWS.get(subtype) if isinstance(subtype, str) else None
                if row is None or row.trusted:
                    self._policy.require_trust(f"the request {subtype}")
                if BYPASS in [value for value in request.values() if isinstance(value, str)]:
                    self._policy.require_trust(f"the permission mode {BYPASS}")
        except UsageError as error:
            return None, error_reply(str(message.get("request_id")), str(error), "not_allowed")
        return message, None

    def _check_greeting(self, request: Mapping[str, Any]) -> None:
        for name in request:
            if name not in GREETING:
                self._policy.require_trust(f"{name} in a greeting")
        check_agents(request.get("agents"), self._policy)

    def _response(self, message: Wire) -> Wire:
        response = message.get("response")
        response = response if isinstance(response, dict) else {}
        try:
            return {"type": "control_response", "response": self._answer(response)}
        except UsageError as error:
            logger.warning("an answer of the front end was made a no: %s", error)
            no = {"behavior": "deny", "message": f"The answer could not be used: {error}"}
            blocked = {"continue": False, "decision": "block", "reason": str(error)}
            return success_reply(str(response.get("request_id")), {**no, **blocked})

    def _answer(self, value: Any) -> Any:
        """An answer whose permission updates are allowed, at whatever depth they stand."""
        if isinstance(value, dict):
            return {key: self._part(key, part) for key, part in value.items()}
        return [self._answer(each) for each in value] if isinstance(value, list) else value

    def _part(self, key: str, part: Any) -> Any:
        if key == "updatedPermissions" and part is not None:
            return check_updates(part, self._policy, self._cwd)
        return self._answer(part)
