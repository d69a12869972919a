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
by name. A message that the backend refuses gets the result that would never come, and an answer
that it refuses is followed by one that lets nothing pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.control import ROWS
from ..errors import UsageError
from ..log import logger
from ..options import Options
from ..protocol.codec import decode
from ..protocol.control import error_reply, success_reply
from ..protocol.exchange import uuids_of_result
from ..support.redact import redact_text
from .callback_forms import CallbackForms
from .envelope import CALLBACK_NOT_FOUND, CALLBACK_TIMEOUT, SDK_ERROR
from .session_settings import document_payload
from .transport import SessionTransport

if TYPE_CHECKING:
    from .backend import Backend

__all__ = ["DocumentedTransport"]

Wire = Mapping[str, Any]

# How many messages and answers are remembered, in case they are refused.
REMEMBERED = 100
# What the backend is asked for, and its name in the reply to the greeting.
FACTS = {"supportedCommands": "commands", "supportedModels": "models", "accountInfo": "account"}
# What is about uuids that the CLI there has made up: none of them is ours.
ABOUT_UUIDS = ("user_message_uuid", "user_message_uuids", "origin")
# A field that only says what need not be in the reply.
UNNEEDED = "skip_behaviors"
NO_WORD = (
    "the backend of this bridge has no word for {}. Use a backend of claude_sync, and "
    "Bridge(extensions=True), or do without it"
)


class Asked(NamedTuple):
    """An envelope of ours that waits for a word: what it was, and the client's request."""

    kind: str
    request_id: str = ""
    name: str = ""


class DocumentedTransport(SessionTransport):
    """See the module."""

    def __init__(self, backend: Callable[[], Backend], settings: Wire) -> None:
        super().__init__(backend, settings)
        self._asked: dict[str, Asked] = {}
        self._callbacks = CallbackForms()
        self._facts: dict[str, Any] = {}
        # Lines behind the greeting, while the session is being made.
        self._held = b""

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
        if greeting.get("hooks"):
            options["hooks"] = self._callbacks.hooks(greeting["hooks"])
        if isinstance(greeting.get("jsonSchema"), dict):
            form = {"type": "json_schema", "schema": greeting["jsonSchema"]}
            options["output_format"] = form
        if greeting.get("sdkMcpServers"):
            self._refuse_greeting_locked(NO_WORD.format("functions of this program (tools)"))
        else:
            super()._create_locked(greeting)

    def _write_locked(self, data: bytes) -> None:
        if self._session_id is None:
            self._held += data
            return
        for line in data.split(b"\n"):
            message = decode(line) or {}
            kind, request = message.get("type"), message.get("request") or {}
            if kind == "user":
                content = (message.get("message") or {}).get("content")
                self._ask_locked("session.send", {"message": content}, Asked("send"))
            elif kind == "control_response":
                self._answer_locked(message.get("response") or {})
            elif kind == "control_request":
                self._request_locked(str(message.get("request_id")), dict(request))

    def _request_locked(self, request_id: str, fields: dict[str, Any]) -> None:
        subtype = str(fields.pop("subtype", None))
        fields.pop(UNNEEDED, None)
        row = ROWS.get(subtype)
        if subtype == "interrupt":
            self._ask_locked("session.interrupt", {}, Asked("interrupt", request_id))
            return
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
            call = {"method": row.documented, "args": args}
            self._ask_locked("query.call", call, Asked("call", request_id, subtype))

    def _answer_locked(self, response: Wire) -> None:
        identity = str(response.get("request_id"))
        payload = self._callbacks.answer(identity, response)
        if payload is not None:
            self._send_locked("callback.response", payload, identity)
            if (response.get("response") or {}).get("interrupt") is True:
                # The document has no word for it in the answer.
                self._ask_locked("session.interrupt", {}, Asked("nothing"))

    # What the backend says.

    def _begin_locked(self, payload: Wire) -> None:  # noqa: ARG002
        for method, name in FACTS.items():
            call = {"method": method, "args": []}
            self._ask_locked("query.call", call, Asked("fact", name=name))
        # Without the greeting, which the session is the answer to.
        held, self._held = self._held.partition(b"\n")[2], b""
        self._write_locked(held)

    def _hear_locked(self, kind: str, id: Any, payload: Wire) -> None:
        if kind == "sdk.message":
            self._message_locked(payload)
        elif kind == "callback.request":
            request = self._callbacks.request(str(id), payload)
            if request is not None:
                self._say({"type": "control_request", "request_id": str(id), "request": request})
            else:
                # Nobody here knows what it is; but it must not wait for ever.
                self._send_locked("callback.response", {}, str(id))
        elif kind in ("query.result", "session.interrupted"):
            asked = self._asked.pop(str(id), None)
            if asked is not None:
                self._reply_locked(asked, kind, payload)

    def _message_locked(self, payload: Wire) -> None:
        if payload.get("type") == "result" and uuids_of_result(payload):
            payload = {key: value for key, value in payload.items() if key not in ABOUT_UUIDS}
        if payload.get("type") != "command_lifecycle":
            self._say(payload)

    def _reply_locked(self, asked: Asked, kind: str, payload: Wire) -> None:
        has_succeeded = payload.get("success") is True or kind == "session.interrupted"
        result = payload.get("result")
        if asked.kind == "fact":
            self._told_fact_locked(asked.name, result if has_succeeded else None)
        elif asked.kind in ("call", "interrupt") and has_succeeded:
            body = result if isinstance(result, dict) else {"result": result}
            if asked.name == "mcp_status" and isinstance(result, list):
                body = {"mcpServers": result}
            self._say(success_reply(asked.request_id, {} if result is None else body))
        elif asked.kind == "call":
            text = redact_text(str(payload.get("error") or "the backend does not say why"))
            self._say(error_reply(asked.request_id, text))

    def _told_fact_locked(self, name: str, value: Any) -> None:
        if value is not None:
            self._facts[name] = value
        if not any(asked.kind == "fact" for asked in self._asked.values()):
            self._say(success_reply(self._greeting, self._facts))

    def _refused_locked(self, id: Any, code: Any, text: str, payload: Wire) -> None:
        asked = self._asked.pop(str(id), Asked(""))
        if asked.kind in ("call", "interrupt"):
            self._say(error_reply(asked.request_id, text, str(code)))
        elif asked.kind == "fact":
            self._told_fact_locked(asked.name, None)
        elif asked.kind == "send":
            # The backend did not take a message: this is how the turn ended that never began.
            ending = {"type": "result", "subtype": "error_during_execution", "is_error": True}
            self._say({**ending, "errors": [text], "session_id": ""})
        elif code == CALLBACK_TIMEOUT:
            if self._callbacks.withdraw(str(id)):
                self._say({"type": "control_cancel_request", "request_id": str(id)})
        elif code == SDK_ERROR:
            details = payload.get("details")
            self._fail_locked(text, details if isinstance(details, dict) else {})
        elif code != CALLBACK_NOT_FOUND:
            logger.warning("the backend of the bridge says: %s", text)
            safe = self._callbacks.safe_answer(str(id), text)
            if safe is not None:
                self._send_locked("callback.response", safe, str(id))

    def _ask_locked(self, kind: str, payload: Wire, asked: Asked) -> None:
        """Send an envelope, and remember what it was."""
        self._asked[self._send_locked(kind, payload)] = asked
        # Of messages nothing is heard unless they are refused, and that soon.
        sent = [id for id, each in self._asked.items() if each.kind in ("send", "nothing")]
        for old in sent[:-REMEMBERED]:
            del self._asked[old]
