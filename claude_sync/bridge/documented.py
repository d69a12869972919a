"""
A session of any backend that knows the document: what a client says, in envelopes, and back.

::

    client: initialize, user, control_request, control_response
              |                                           ^
              v             [ documented ]                |
    backend: session.create, .send, .interrupt, .kill, query.call, callback.response

=========================  ==============================================================
what the client says       what the backend is told
=========================  ==============================================================
``initialize``             ``session.create`` with an empty prompt; its reply is what the
                           backend tells of the CLI when it is asked with ``query.call``
``user``                   ``session.send``
``interrupt``              ``session.interrupt``
any other request          ``query.call``
``control_response``       ``callback.response``
=========================  ==============================================================

Nothing is sent for which the document has no word; what the client wants beyond it is refused,
by name, and settings before anything is started. A message that the backend refuses gets the
result that would never come.

The backend says which event a hook is for, and not which of several hooks. Then the matchers
decide, and among hooks that match, each gets one of the calls, in order.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..engine.control import ROWS
from ..errors import UsageError
from ..log import logger
from ..options import SETTINGS, Options
from ..protocol.codec import decode
from ..protocol.control import error_reply, success_reply
from ..protocol.exchange import uuids_of_result
from ..support.redact import redact_text
from ..support.text import snake_case
from .transport import SessionTransport, raw_payload

if TYPE_CHECKING:
    from .client import Backend

__all__ = ["DocumentedTransport", "document_payload"]

Wire = Mapping[str, Any]

# How many messages are remembered, in case they are refused.
REMEMBERED = 100
# What the backend is asked for, and its name in the reply to the greeting.
FACTS = {"supportedCommands": "commands", "supportedModels": "models", "accountInfo": "account"}
# What is about uuids that the CLI there has made up: none of them is ours.
ABOUT_UUIDS = ("user_message_uuid", "user_message_uuids", "origin")
# A field that only says what need not be in the reply.
UNNEEDED = "skip_behaviors"
# What the matcher of a hook is held against.
MATCHED = ("tool_name", "notification_type", "agent_type", "source", "trigger")
# The fields of a request for permission that the CLI has otherwise.
RENAMED = {"tool_input": "input", "suggestions": "permission_suggestions"}
NO_WORD = (
    "the backend of this bridge has no word for {}. Use a backend of claude_sync, and "
    "Bridge(extensions=True), or do without it"
)


class DocumentedTransport(SessionTransport):
    """See the module."""

    def __init__(self, backend: Callable[[], Backend]) -> None:
        super().__init__(backend)
        # The client's requests that wait for a word of the backend, by the ids of our envelopes:
        # their own ids, and what they want. Likewise the facts that are asked for.
        self._asked: dict[str, tuple[str, str]] = {}
        self._facts_asked: dict[str, str] = {}
        self._facts: dict[str, Any] = {}
        self._sent: deque[str] = deque(maxlen=REMEMBERED)
        # The callbacks that are open: the event of a hook, "" for a permission.
        self._open: dict[str, str] = {}
        # The hooks of the client: matchers and ids.
        self._hooks: dict[str, list[tuple[str | None, str]]] = {}
        # The last event that was told without saying to whom, and to how many by now.
        self._repeated: tuple[Any, int] = (None, 0)

    def check_carries(self, method: str) -> None:
        """UsageError: the document has no words for it."""
        raise UsageError(NO_WORD.format(f"{method}()"))

    # What the client says.

    def _payload_of(self, options: Options) -> dict[str, Any]:
        if options.resume is not None:
            # The program's own wish was refused before: this is a restart.
            logger.warning("the backend cannot resume; starting a new conversation")
            options = options.replace(resume=None)
        return document_payload(options)

    def _create_locked(self, greeting: Wire) -> None:
        options = self._payload["options"]
        hooks: dict[str, list[dict[str, Any]]] = {}
        for event, entries in (greeting.get("hooks") or {}).items():
            for entry in entries:
                matcher = entry.get("matcher")
                self._hooks.setdefault(event, []).append((matcher, entry["hookCallbackIds"][0]))
                hooks.setdefault(event, []).append({} if matcher is None else {"matcher": matcher})
        if hooks:
            options["hooks"] = hooks
        if isinstance(greeting.get("jsonSchema"), dict):
            form = {"type": "json_schema", "schema": greeting["jsonSchema"]}
            options["output_format"] = form
        if greeting.get("sdkMcpServers"):
            self._refuse_greeting_locked(NO_WORD.format("functions of this program (tools)"))
        else:
            super()._create_locked(greeting)

    def _write_locked(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            message = decode(line) or {}
            kind = message.get("type")
            if kind == "user":
                content = (message.get("message") or {}).get("content")
                self._sent.append(self._send_locked("session.send", {"message": content}))
            elif kind == "control_response":
                self._answer_locked(message.get("response") or {})
            elif kind == "control_request":
                request = dict(message.get("request") or {})
                self._request_locked(str(message.get("request_id")), request)

    def _request_locked(self, request_id: str, fields: dict[str, Any]) -> None:
        subtype = str(fields.pop("subtype", None))
        fields.pop(UNNEEDED, None)
        if subtype == "interrupt":
            self._asked[self._send_locked("session.interrupt", {})] = (request_id, subtype)
            return
        row = ROWS.get(subtype)
        args = []
        if row is not None and row.documented:
            dry_run = fields.pop("dry_run", False)
            named = [field for field, _ in row.fields.values() if field != "dry_run"]
            args = [fields.pop(field, None) for field in named]
            args += [{"dryRun": True}] if dry_run else []
        if row is None or not row.documented or fields:
            text = NO_WORD.format(f"the request {subtype!r}")
            self._say(error_reply(request_id, text, "not_over_this_bridge"))
        else:
            self._asked[self._call_locked(row.documented, args)] = (request_id, subtype)

    def _call_locked(self, method: str, args: list[Any]) -> str:
        return self._send_locked("query.call", {"method": method, "args": args})

    def _answer_locked(self, response: Wire) -> None:
        identity = str(response.get("request_id"))
        event = self._open.pop(identity, None)
        if event is None:
            return  # nobody waits for it any more
        body = response.get("response")
        body = body if isinstance(body, dict) and response.get("subtype") != "error" else {}
        payload: dict[str, Any]
        if event:
            payload = {snake_case(key): value for key, value in body.items()}
        elif body.get("behavior") != "allow":
            payload = {"behavior": "deny", "message": str(body.get("message") or "no")}
        else:
            payload = {"behavior": "allow", "updated_input": body.get("updatedInput") or {}}
            if body.get("updatedPermissions"):
                payload["updated_permissions"] = body["updatedPermissions"]
        self._send_locked("callback.response", payload, identity)
        if body.get("interrupt") is True:
            # The document has no word for it in the answer.
            self._send_locked("session.interrupt", {})

    # What the backend says.

    def _begin_locked(self, payload: Wire) -> None:  # noqa: ARG002
        for method, name in FACTS.items():
            self._facts_asked[self._call_locked(method, [])] = name
        # Without the greeting, which the session is the answer to.
        self._write_locked(self._held.partition(b"\n")[2])

    def _hear_locked(self, kind: str, id: str, payload: Wire) -> None:
        if kind == "sdk.message":
            if payload.get("type") == "result" and uuids_of_result(payload):
                payload = {key: value for key, value in payload.items() if key not in ABOUT_UUIDS}
            if payload.get("type") != "command_lifecycle":
                self._say(payload)
        elif kind == "callback.request":
            request = self._request_of(id, payload)
            if request is not None:
                self._say({"type": "control_request", "request_id": id, "request": request})
            else:
                # Nobody here knows what it is; but it must not wait for ever.
                self._send_locked("callback.response", {}, id)
        elif kind in ("query.result", "session.interrupted"):
            has_succeeded = payload.get("success") is True or kind == "session.interrupted"
            error = None if has_succeeded else str(payload.get("error") or "it does not say why")
            self._replied_locked(id, payload.get("result"), error and redact_text(error))

    def _replied_locked(
        self, id: str, result: Any, error: str | None, code: str | None = None
    ) -> bool:
        """The backend has answered; whether that was for something that the client waits for."""
        if id in self._facts_asked:
            name = self._facts_asked.pop(id)
            if error is None and result is not None:
                self._facts[name] = result
            if not self._facts_asked:
                self._say(success_reply(self._greeting, self._facts))
            return True
        request_id, subtype = self._asked.pop(id, ("", ""))
        if error is not None and subtype:
            self._say(error_reply(request_id, error, code))
        elif subtype:
            if not isinstance(result, dict):
                name = "mcpServers" if subtype == "mcp_status" else "result"
                result = {} if result is None else {name: result}
            self._say(success_reply(request_id, result))
        return bool(subtype)

    def _refused_locked(self, id: str, code: Any, text: str, payload: Wire) -> None:
        if self._replied_locked(id, None, text, str(code)):
            return
        if id in self._sent:
            # The backend did not take a message: this is how the turn ended that never began.
            ending = {"type": "result", "subtype": "error_during_execution", "is_error": True}
            self._say({**ending, "errors": [text], "session_id": ""})
        elif code == "CALLBACK_TIMEOUT":
            if self._open.pop(id, None) is not None:
                self._say({"type": "control_cancel_request", "request_id": id})
        elif code == "SDK_ERROR":
            details = payload.get("details")
            self._fail_locked(text, details if isinstance(details, dict) else {})
        elif code != "CALLBACK_NOT_FOUND":
            super()._refused_locked(id, code, text, payload)

    def _request_of(self, identity: str, payload: Wire) -> dict[str, Any] | None:
        """A callback as the CLI would have asked; None for what nobody here knows."""
        told = {key: value for key, value in payload.items() if value is not None}
        kind = told.pop("callback_type", None)
        if kind == "can_use_tool":
            self._open[identity] = ""
            made = {RENAMED.get(key, key): value for key, value in told.items()}
            return {"input": {}, **made, "subtype": "can_use_tool"}
        event, about = str(told.get("hook_event")), told.get("hook_input")
        hooks = self._hooks.get(event)
        if kind != "hook" or not hooks:
            return None
        about = about if isinstance(about, dict) else {}
        subject = next((about[name] for name in MATCHED if isinstance(about.get(name), str)), None)
        matching = [each for matcher, each in hooks if matches(matcher, subject)]
        candidates = matching or [each for _, each in hooks]
        key = (event, told.get("tool_use_id"), about)
        times = self._repeated[1] + 1 if self._repeated[0] == key else 0
        self._repeated = (key, times)
        self._open[identity] = event
        made = {"tool_use_id": told["tool_use_id"]} if "tool_use_id" in told else {}
        made["input"] = {"hook_event_name": event, **about}
        made["callback_id"] = candidates[times % len(candidates)]
        return {**made, "subtype": "hook_callback"}


def matches(matcher: str | None, subject: str | None) -> bool:
    """Whether the CLI calls a hook with *matcher* for *subject*, as it is documented."""
    if matcher in (None, "", "*") or subject is None:
        return True
    assert matcher is not None
    if re.fullmatch(r"[\w|]+", matcher):
        return subject in matcher.split("|")
    try:
        return re.search(matcher, subject) is not None
    except re.error:
        return False


# Settings.


def document_payload(options: Options) -> dict[str, Any]:
    """
    The payload of ``session.create`` in the words of the document.

    Paths go as they are: they are paths of the machine on which the CLI runs.

    Raises:
        UsageError: There is no word for a setting.

    """
    if options.tools:
        raise UsageError(NO_WORD.format("tools=, functions of this program") + ".")
    payload = raw_payload(options)
    given = payload["options"]
    merge_prompts(given)
    if "sandbox" in given:
        given["sandbox"] = snake_keys(given["sandbox"])
    known = {"output_format": "output_format"}
    known.update((name, each.bridge) for name, each in SETTINGS.items() if each.bridge)
    unknown = ", ".join(sorted(set(given) - set(known)))
    if unknown:
        raise UsageError(NO_WORD.format(unknown) + ".")
    return {**payload, "options": {known[name]: value for name, value in given.items()}}


def merge_prompts(given: dict[str, Any]) -> None:
    """Say the two settings of the prompt in the one form of the document, where it has one."""
    prompt, append = given.get("system_prompt"), given.get("append_system_prompt")
    if isinstance(prompt, dict) and prompt["type"] == "custom":
        given["system_prompt"], append = prompt["prompt"], prompt.get("append") or append
        given.update({} if append is None else {"append_system_prompt": append})
    elif (isinstance(prompt, dict) and prompt["type"] == "preset") or (append and prompt is None):
        more = given.pop("append_system_prompt", None)
        preset = {"type": "preset", "preset": "claude_code", **(prompt or {})}
        given["system_prompt"] = {**preset, **({} if more is None else {"append": more})}


def snake_keys(value: Any) -> Any:
    """*value* with all keys of objects as the document spells them."""
    if not isinstance(value, dict):
        return value
    return {snake_case(key): snake_keys(item) for key, item in value.items()}
