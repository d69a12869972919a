"""
A client's lines as envelopes, and envelopes as the lines of a CLI: one session of it.

::

    client: initialize, user, control_request, control_response
              |                                           ^
              v            [ translation ]                |
    backend: session.create, .send, .interrupt, .kill, query.call, callback.response

No thread, no file, no clock: a message in, a :class:`Step` out. Decided here and
nowhere else:

=========================  ==============================================================
what the client says       what the backend is told
=========================  ==============================================================
``initialize``             ``session.create`` with an empty prompt; its reply is what the
                           backend tells of the CLI, asked for with ``query.call`` if need be
``user``                   ``session.send``; while a question runs, with ``steer``
``interrupt``              ``session.interrupt``
any other request          ``query.call``
``control_response``       ``callback.response``
=========================  ==============================================================

* A backend that knows no more than the document says so by what it leaves out of
  ``session.created``. Then nothing is sent for which the document has no word; what the
  client wants beyond it is refused, by name.
* A message that the backend refuses gets the result that would never come.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional

from ..log import logger
from ..prompts import is_verbatim
from ..protocol.control import error_reply, success_reply
from .callback_forms import REMEMBERED, CallbackForms, progress_of
from .calls import call_of, reply_body, reply_code, reply_text
from .envelope import (
    CALLBACK_NOT_FOUND,
    CALLBACK_TIMEOUT,
    SDK_ERROR,
    SESSION_NOT_FOUND,
    encode_envelope,
)
from .session_settings import DOCUMENTED
from .steps import End, Step
from .uuids import Uuids

__all__ = ["Translation"]

Wire = Mapping[str, Any]

# What the backend is asked for when it tells nothing of the CLI by itself, and its name in
# the reply to the greeting.
FACTS = (
    ("supportedCommands", "commands"),
    ("supportedModels", "models"),
    ("accountInfo", "account"),
)
# The errors of a session that is over, by the class that a backend of ours tells.
FATAL = ("CliExited", "CliDidNotStart", "CliNotFound", "ClientClosed")
# Those of a CLI that was there and has ended by itself: its own words say why.
NOT_STARTED = ("CliExited", "CliDidNotStart")
NO_TOOLS = (
    "the backend of this bridge has no words for functions of this program (tools). Use a "
    "backend of claude_sync, or leave the tools out"
)


class Asked(NamedTuple):
    """An envelope of ours that waits for a word: what it was, and whose."""

    kind: str
    request_id: str = ""
    subtype: str = ""
    uuid: Optional[str] = None
    fact: str = ""
    # What was sent, if it can be sent in another way.
    message: Any = None


class Translation:
    """
    See the module. Whoever uses it sees to it that there is one call at a time.

    Args:
        prefix: What all ids of our envelopes begin with.
        payload: Of ``session.create``, as far as it does not depend on the greeting.
        extensions: Whether to ask the backend for more than the document has.

    Attributes:
        session_id: The backend's id of the session, once it is known.
        extended: Whether the backend knows more than the document.
        pid: The process id of the CLI, on its machine, if the backend tells.

    """

    def __init__(self, prefix: str, payload: Wire, extensions: bool = True) -> None:
        self._prefix = prefix
        self._count = 0
        self._payload = payload
        self._extensions = extensions
        self.session_id: Optional[str] = None
        self.extended = False
        self.pid: Optional[int] = None
        self._asked: Dict[str, Asked] = {}
        self._callbacks = CallbackForms()
        self._wants_tools = False
        # The greeting that is not answered yet, and what is known for its answer.
        self._greeting = ""
        self._facts: Dict[str, Any] = {}
        self._uuids = Uuids()
        self._sdk_session_id = ""
        self._heard_stderr = False
        self._killed = False
        self._is_gone = False

    # What the client says.

    def from_client(self, message: Wire) -> Step:
        """What follows from a line of the client."""
        step = Step()
        kind = message.get("type")
        if kind == "user":
            self._send(step, message)
        elif kind == "control_response":
            self._answer(step, message)
        elif kind == "control_request":
            request = message.get("request") or {}
            fields = {key: value for key, value in request.items() if key != "subtype"}
            self._request(step, str(message.get("request_id")), request.get("subtype"), fields)
        else:
            logger.debug("a %s has no place in an envelope; not sent", kind)
        return step

    def kill(self, timeout: Optional[float] = None) -> Step:
        """
        Ask the backend to end the session; at once if it exists, else when it does.

        *timeout*: how many seconds its CLI has, if the backend knows such a word.
        """
        step = Step()
        if not self._killed:
            self._killed = True
            if self.session_id is not None:
                payload = {} if timeout is None or not self.extended else {"timeout": timeout}
                self._put(step, "session.kill", payload, Asked("kill"))
        return step

    def is_known(self) -> bool:
        """Whether the backend has, or is about to have, a session to be killed."""
        if self.session_id is not None:
            return not self._is_gone
        return any(asked.kind == "create" for asked in self._asked.values())

    def _request(self, step: Step, request_id: str, subtype: Any, fields: Wire) -> None:
        if subtype == "initialize":
            self._create(step, request_id, fields)
        elif subtype == "interrupt":
            keeps = self.extended and fields.get("cancel_queued") is not True
            payload = {"cancel_queued": False} if keeps else {}
            self._put(step, "session.interrupt", payload, Asked("interrupt", request_id))
        elif subtype == "mcp_message":
            told = progress_of(fields.get("message"))
            if told is not None and self._callbacks.is_open(told[0]):
                self._put(step, "callback.progress", told[1], id=told[0])
        else:
            call = call_of(str(subtype), fields, self.extended)
            if isinstance(call, str):
                step.say(error_reply(request_id, call, "not_over_this_bridge"))
            else:
                asked = Asked("call", request_id, str(subtype))
                self._put(step, "query.call", call, asked)

    def _create(self, step: Step, request_id: str, fields: Wire) -> None:
        payload = {**self._payload, "options": dict(self._payload["options"])}
        options = payload["options"]
        if fields.get("hooks"):
            options["hooks"] = self._callbacks.hooks(fields["hooks"], self._extensions)
        if fields.get("sdkMcpServers"):
            if not self._extensions:
                step.say(error_reply(request_id, NO_TOOLS))
                return
            self._wants_tools = True
            allowed = options.get("allowed_tools") or ()
            options["tools"] = self._callbacks.tools(
                fields.get("sdkMcpServerManifests") or {}, allowed
            )
        if isinstance(fields.get("jsonSchema"), dict):
            options["output_format"] = {"type": "json_schema", "schema": fields["jsonSchema"]}
        if self._extensions:
            payload["extensions"] = True
        self._greeting = request_id
        self._put(step, "session.create", payload, Asked("create", request_id))

    def _send(self, step: Step, message: Wire) -> None:
        uuid = str(message.get("uuid"))
        payload: Dict[str, Any] = {"message": (message.get("message") or {}).get("content")}
        asked = Asked("send", uuid=uuid)
        if self.extended:
            payload["uuid"] = uuid
            if is_verbatim(message):
                payload["verbatim"] = True
            if message.get("shouldQuery") is False:
                payload["should_query"] = False
                asked = asked._replace(subtype="context")
            elif self._uuids.running is not None:
                payload["steer"] = True
                asked = asked._replace(subtype="steer", message=message)
        self._uuids.sent(uuid)
        self._put(step, "session.send", payload, asked)

    def _answer(self, step: Step, message: Wire) -> None:
        response = message.get("response") or {}
        identity = str(response.get("request_id"))
        answers = self._callbacks.answer(identity, response, self.extended)
        if answers is None:
            return
        payload, interrupts = answers
        self._put(step, "callback.response", payload, id=identity)
        if interrupts:
            # The document has no word for it in the answer.
            self._put(step, "session.interrupt", {}, Asked("nothing"))

    # What the backend says.

    def from_backend(self, envelope: Wire) -> Step:
        """What follows from an envelope of the backend."""
        step = Step()
        payload = envelope.get("payload")
        serve = SERVED.get(str(envelope.get("type")))
        if serve is None:
            logger.debug("the backend sent a %s, which means nothing", envelope.get("type"))
        else:
            serve(self, step, envelope, payload if isinstance(payload, dict) else {})
        return step

    def _created(self, step: Step, envelope: Wire, payload: Wire) -> None:
        asked = self._asked.pop(str(envelope.get("id")), None)
        if asked is None or asked.kind != "create":
            return
        self.session_id = str(envelope.get("session_id"))
        self._sdk_session_id = str(payload.get("sdk_session_id") or "")
        if self._killed:
            # It was no longer wanted before it was there.
            self._put(step, "session.kill", {}, Asked("kill"))
            return
        pid, greeting = payload.get("pid"), payload.get("greeting")
        self.pid = pid if isinstance(pid, int) else None
        self.extended = self._extensions and isinstance(greeting, dict)
        unknown = sorted(set(self._payload["options"]) - DOCUMENTED)
        if unknown and not self.extended:
            names = ", ".join(unknown)
            logger.warning("the backend knows the document only, and perhaps not: %s", names)
        if self.extended:
            self._greet(step, greeting)
        elif self._wants_tools:
            step.say(error_reply(self._greeting, NO_TOOLS))
        else:
            for method, name in FACTS:
                call = {"method": method, "args": []}
                self._put(step, "query.call", call, Asked("fact", fact=name))

    def _greet(self, step: Step, body: Any) -> None:
        step.say(success_reply(self._greeting, body))
        self._greeting = ""

    def _told_fact(self, step: Step, name: str, value: Any) -> None:
        if value is not None:
            self._facts[name] = value
        if not any(asked.kind == "fact" for asked in self._asked.values()):
            self._greet(step, self._facts)

    def _message(self, step: Step, _: Wire, payload: Wire) -> None:
        kind = payload.get("type")
        if kind == "result":
            read = self._uuids.in_result if self.extended else self._uuids.without
            payload = read(payload)
        elif kind == "command_lifecycle":
            if not self.extended:
                return  # about a uuid that is none of ours
            self._uuids.in_lifecycle(payload)
        step.say(payload)

    def _updated(self, step: Step, _: Wire, payload: Wire) -> None:  # noqa: ARG002
        self._sdk_session_id = str(payload.get("sdk_session_id") or "")

    def _stderr(self, step: Step, _: Wire, payload: Wire) -> None:
        self._heard_stderr = True
        step.to_people.append(str(payload.get("line")))

    def _called_back(self, step: Step, envelope: Wire, payload: Wire) -> None:
        identity = str(envelope.get("id"))
        request = self._callbacks.request(identity, payload)
        if request is not None:
            step.say({"type": "control_request", "request_id": identity, "request": request})
        else:
            # Nobody here knows what it is; but it must not wait for ever.
            self._put(step, "callback.response", {}, id=identity)

    def _cancelled(self, step: Step, envelope: Wire, _: Wire) -> None:
        identity = str(envelope.get("id"))
        if self._callbacks.withdraw(identity):
            step.say({"type": "control_cancel_request", "request_id": identity})

    def _query_result(self, step: Step, envelope: Wire, payload: Wire) -> None:
        asked = self._asked.pop(str(envelope.get("id")), None)
        if asked is None:
            return
        succeeded = payload.get("success") is True
        if asked.kind == "fact":
            self._told_fact(step, asked.fact, payload.get("result") if succeeded else None)
        elif not succeeded and error_class(payload) in FATAL:
            self._fail(step, str(payload.get("error")), payload["details"])
        elif succeeded:
            body = reply_body(asked.subtype, payload.get("result"))
            step.say(success_reply(asked.request_id, body))
        else:
            step.say(error_reply(asked.request_id, reply_text(payload), reply_code(payload)))

    def _interrupted(self, step: Step, envelope: Wire, payload: Wire) -> None:
        asked = self._asked.pop(str(envelope.get("id")), None)
        if asked is not None and asked.kind == "interrupt":
            cancelled = payload.get("cancelled")
            for uuid in cancelled if isinstance(cancelled, list) else ():
                self._uuids.over(uuid)
            step.say(success_reply(asked.request_id, payload))

    def _was_killed(self, step: Step, _: Wire, __: Wire) -> None:
        self._is_gone = True
        step.end = End(() if self._killed else ("the backend ended the session",), 0)

    def _error(self, step: Step, envelope: Wire, payload: Wire) -> None:
        identity, code = str(envelope.get("id")), payload.get("code")
        text = str(payload.get("message") or code)
        details = payload.get("details")
        details = details if isinstance(details, dict) else {}
        asked = self._asked.pop(identity, None)
        self._is_gone = self._is_gone or code == SESSION_NOT_FOUND
        is_over = code == SESSION_NOT_FOUND or details.get("error") in FATAL
        is_end = is_over and asked is not None and asked.kind in ("call", "interrupt")
        if asked is not None and asked.kind == "create":
            is_end = details.get("error") in NOT_STARTED
        if is_end:
            self._fail(step, text, details)
            return
        if asked is not None and asked.kind in ("create", "call", "interrupt"):
            step.say(error_reply(asked.request_id, text, reply_code(payload) or str(code)))
            return
        if asked is not None and asked.kind == "fact":
            self._told_fact(step, asked.fact, None)
        elif code == CALLBACK_TIMEOUT:
            self._cancelled(step, envelope, payload)
        elif is_over or (asked is None and code == SDK_ERROR and not self.extended):
            self._fail(step, text, details)
        elif asked is not None and asked.message is not None and is_too_late(details):
            # The turn ended before what was steered came there: as without a bridge, it is
            # a turn of its own then.
            self._uuids.running = None
            self._send(step, asked.message)
        elif asked is not None and asked.kind == "send":
            self._refused(step, asked, text)
        elif identity in self._callbacks.answered:
            self._answer_again(step, identity, text)
        elif code != CALLBACK_NOT_FOUND:
            logger.warning("the backend of the bridge says: %s", text)

    def _fail(self, step: Step, text: str, details: Wire) -> None:
        tail = details.get("stderr_tail")
        # A backend that tells them has the rest of its text from them.
        lines = [str(line) for line in tail] if isinstance(tail, list) else [text]
        if self._heard_stderr:
            lines = []  # they were told as they came
        exit_code = details.get("exit_code")
        step.end = End(tuple(lines), exit_code if isinstance(exit_code, int) else None)

    def _refused(self, step: Step, asked: Asked, text: str) -> None:
        """The backend did not take a message: say how the turn ended that never began."""
        result: Dict[str, Any] = {
            "type": "result",
            "subtype": "error_during_execution",
            "is_error": True,
            "errors": [text],
            "session_id": self._sdk_session_id,
        }
        if self._uuids.are_told:
            result["user_message_uuids"] = [asked.uuid]
        self._uuids.over(asked.uuid)
        if asked.subtype:
            logger.warning("what was steered, or put in as context, is lost: %s", text)
        step.say(result)

    def _answer_again(self, step: Step, identity: str, text: str) -> None:
        """An answer was refused, and the CLI still waits: give the one that lets nothing pass."""
        logger.warning("the backend of the bridge refused an answer: %s", text)
        payload = self._callbacks.safe_answer(identity, text)
        if payload is not None:
            self._put(step, "callback.response", payload, id=identity)

    # Envelopes of ours.

    def _forget_sent(self) -> None:
        """Of messages nothing is heard unless they are refused, and that soon."""
        sent = [id for id, asked in self._asked.items() if asked.kind == "send"]
        for id in sent[:-REMEMBERED]:
            del self._asked[id]

    def _put(
        self,
        step: Step,
        kind: str,
        payload: Wire,
        asked: Optional[Asked] = None,
        id: Optional[str] = None,
    ) -> None:
        if id is None:
            self._count += 1
            id = f"{self._prefix}{self._count}"
        if asked is not None:
            self._asked[id] = asked
            self._forget_sent()
        line = encode_envelope(kind, payload, id=id, session_id=self.session_id)
        step.to_backend.append(line)


SERVED: Dict[str, Callable[[Translation, Step, Wire, Wire], None]] = {
    "callback.cancelled": Translation._cancelled,
    "callback.request": Translation._called_back,
    "error": Translation._error,
    "query.result": Translation._query_result,
    "sdk.message": Translation._message,
    "session.created": Translation._created,
    "session.interrupted": Translation._interrupted,
    "session.stderr": Translation._stderr,
    "session.updated": Translation._updated,
    "session.killed": Translation._was_killed,
}


def error_class(payload: Wire) -> Any:
    """The class of the error of a call that failed, if the backend tells it."""
    details = payload.get("details")
    return details.get("error") if isinstance(details, dict) else None


def is_too_late(details: Wire) -> bool:
    """Whether a message could not be steered because nothing ran."""
    return details.get("error") == "UsageError"
