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
                           backend tells of the CLI when it is asked with ``query.call``
``user``                   ``session.send``
``interrupt``              ``session.interrupt``
any other request          ``query.call``
``control_response``       ``callback.response``
=========================  ==============================================================

* A backend of this library says in ``session.created`` that the session is raw. Then its CLI
  is spoken to in its own words, and only beginnings and ends are translated.
* For any other backend nothing is sent for which the document has no word; what the client
  wants beyond it is refused, by name.
* A message that the backend refuses gets the result that would never come.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..log import logger
from ..protocol.control import error_reply, success_reply
from ..protocol.exchange import uuids_of_result
from ..support.redact import redact_text
from .callback_forms import REMEMBERED, CallbackForms
from .calls import call_of, reply_body, reply_code, reply_text
from .envelope import (
    CALLBACK_NOT_FOUND,
    CALLBACK_TIMEOUT,
    SDK_ERROR,
    SESSION_NOT_FOUND,
    UUID_LENGTH,
    encode_anything,
    encode_envelope,
)
from .session_settings import DOCUMENTED

__all__ = ["End", "Step", "Translation"]

Wire = Mapping[str, Any]

# What the backend is asked for, and its name in the reply to the greeting.
FACTS = (
    ("supportedCommands", "commands"),
    ("supportedModels", "models"),
    ("accountInfo", "account"),
)
# The errors of a CLI that was there and has ended by itself: its own words say why.
NOT_STARTED = ("CliExited", "CliDidNotStart")
# What is about uuids that the CLI there has made up: none of them is ours.
ABOUT_UUIDS = ("user_message_uuid", "user_message_uuids", "origin")
NO_TOOLS = (
    "the backend of this bridge has no words for functions of this program (tools). Use a "
    "backend of claude_sync, or leave the tools out"
)


class End(NamedTuple):
    """How a session ended: what to tell people, and the exit code of its CLI, if known."""

    lines: Tuple[str, ...] = ()
    exit_code: Optional[int] = None


class Step:
    """
    What follows from one message.

    Attributes:
        to_backend: Lines for the backend.
        to_client: Lines that the client reads, as from its CLI.
        to_people: Lines that it reads as from the stderr of its CLI.
        end: How the session has ended, or None.

    """

    def __init__(self) -> None:
        self.to_backend: List[bytes] = []
        self.to_client: List[bytes] = []
        self.to_people: List[str] = []
        self.end: Optional[End] = None

    def say(self, message: Wire) -> None:
        """Let the client read *message*."""
        self.to_client.append(encode_anything(message))


class Asked(NamedTuple):
    """An envelope of ours that waits for a word: what it was, and whose."""

    kind: str
    request_id: str = ""
    subtype: str = ""
    fact: str = ""


class Translation:
    """
    See the module. Whoever uses it sees to it that there is one call at a time.

    Args:
        prefix: What all ids of our envelopes begin with.
        payload: Of ``session.create``, as far as it does not depend on the greeting.

    Attributes:
        session_id: The backend's id of the session, once it is known.
        is_raw: Whether the CLI there is spoken to in its own words.
        pid: The process id of the CLI, on its machine, if the backend tells.

    """

    def __init__(self, prefix: str, payload: Wire) -> None:
        self._prefix = prefix
        self._count = 0
        self._payload = payload
        self.session_id: Optional[str] = None
        self.is_raw = False
        self.pid: Optional[int] = None
        self._asked: Dict[str, Asked] = {}
        self._callbacks = CallbackForms()
        self._wants_tools = False
        # The greeting that is not answered yet, and what is known for its answer.
        self._greeting = ""
        self._facts: Dict[str, Any] = {}
        self._killed = False
        self._is_gone = False

    # What the client says.

    def create(self, greeting: Wire) -> Step:
        """Have the session made that a greeting of the client begins."""
        step = Step()
        fields = greeting.get("request") or {}
        self._greeting = str(greeting.get("request_id"))
        payload = {**self._payload, "options": dict(self._payload["options"])}
        if fields.get("hooks"):
            payload["options"]["hooks"] = self._callbacks.hooks(fields["hooks"])
        if isinstance(fields.get("jsonSchema"), dict):
            form = {"type": "json_schema", "schema": fields["jsonSchema"]}
            payload["options"]["output_format"] = form
        self._wants_tools = bool(fields.get("sdkMcpServers"))
        if self._wants_tools and not payload.get("raw"):
            step.say(error_reply(self._greeting, NO_TOOLS))
        else:
            self._put(step, "session.create", payload, Asked("create", self._greeting))
        return step

    def from_client(self, message: Wire) -> Step:
        """What follows from a line of the client."""
        step = Step()
        kind = message.get("type")
        if kind == "user":
            payload = {"message": (message.get("message") or {}).get("content")}
            self._put(step, "session.send", payload, Asked("send"))
        elif kind == "control_response":
            self._answer(step, message)
        elif kind == "control_request":
            request = message.get("request") or {}
            fields = {key: value for key, value in request.items() if key != "subtype"}
            self._request(step, str(message.get("request_id")), request.get("subtype"), fields)
        else:
            logger.debug("a %s has no place in an envelope; not sent", kind)
        return step

    def kill(self, timeout: float) -> Step:
        """
        Ask the backend to end the session; at once if it exists, else when it does.

        *timeout*: how many seconds its CLI has, if the backend knows such a word.
        """
        step = Step()
        if not self._killed:
            self._killed = True
            if self.session_id is not None:
                payload = {"timeout": timeout} if self.is_raw else {}
                self._put(step, "session.kill", payload, Asked("kill"))
        return step

    def is_known(self) -> bool:
        """Whether the backend has, or is about to have, a session to be killed."""
        if self.session_id is not None:
            return not self._is_gone
        return any(asked.kind == "create" for asked in self._asked.values())

    def _request(self, step: Step, request_id: str, subtype: Any, fields: Dict[str, Any]) -> None:
        if subtype == "interrupt":
            self._put(step, "session.interrupt", {}, Asked("interrupt", request_id))
            return
        call = call_of(str(subtype), fields)
        if isinstance(call, str):
            step.say(error_reply(request_id, call, "not_over_this_bridge"))
        else:
            self._put(step, "query.call", call, Asked("call", request_id, str(subtype)))

    def _answer(self, step: Step, message: Wire) -> None:
        response = message.get("response") or {}
        identity = str(response.get("request_id"))
        answers = self._callbacks.answer(identity, response)
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
        pid = payload.get("pid")
        self.pid = pid if isinstance(pid, int) else None
        # The id is part of what stands before each line, whose length is known.
        is_uuid = self.session_id.isascii() and len(self.session_id) == UUID_LENGTH
        self.is_raw = payload.get("raw") is True and "raw" in self._payload and is_uuid
        if self._killed:
            # It was no longer wanted before it was there.
            self._put(step, "session.kill", {}, Asked("kill"))
        elif self._wants_tools and not self.is_raw:
            step.say(error_reply(self._greeting, NO_TOOLS))
        elif not self.is_raw:
            unknown = sorted(set(self._payload["options"]) - DOCUMENTED)
            if unknown:
                names = ", ".join(unknown)
                logger.warning("the backend knows the document only, and perhaps not: %s", names)
            for method, name in FACTS:
                call = {"method": method, "args": []}
                self._put(step, "query.call", call, Asked("fact", fact=name))

    def _told_fact(self, step: Step, name: str, value: Any) -> None:
        if value is not None:
            self._facts[name] = value
        if not any(asked.kind == "fact" for asked in self._asked.values()):
            step.say(success_reply(self._greeting, self._facts))

    def _message(self, step: Step, _: Wire, payload: Wire) -> None:
        kind = payload.get("type")
        if kind == "result" and uuids_of_result(payload):
            payload = {key: value for key, value in payload.items() if key not in ABOUT_UUIDS}
        if kind != "command_lifecycle":
            step.say(payload)

    def _stderr(self, step: Step, _: Wire, payload: Wire) -> None:
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
        elif succeeded:
            body = reply_body(asked.subtype, payload.get("result"))
            step.say(success_reply(asked.request_id, body))
        else:
            text = redact_text(reply_text(payload))
            step.say(error_reply(asked.request_id, text, reply_code(payload)))

    def _interrupted(self, step: Step, envelope: Wire, payload: Wire) -> None:
        asked = self._asked.pop(str(envelope.get("id")), None)
        if asked is not None and asked.kind == "interrupt":
            step.say(success_reply(asked.request_id, payload))

    def _was_ended(self, step: Step, _: Wire, payload: Wire) -> None:
        exit_code = payload.get("exit_code")
        step.end = End((), exit_code if isinstance(exit_code, int) else None)

    def _was_killed(self, step: Step, _: Wire, __: Wire) -> None:
        self._is_gone = True
        step.end = End(() if self._killed else ("the backend ended the session",), 0)

    def _error(self, step: Step, envelope: Wire, payload: Wire) -> None:
        identity, code = str(envelope.get("id")), payload.get("code")
        text = redact_text(str(payload.get("message") or code))
        details = payload.get("details")
        details = details if isinstance(details, dict) else {}
        asked = self._asked.pop(identity, None)
        kind = asked.kind if asked is not None else ""
        is_over = code == SESSION_NOT_FOUND
        self._is_gone = self._is_gone or is_over
        if asked is not None and kind in ("create", "call", "interrupt"):
            did_not_start = kind == "create" and details.get("error") in NOT_STARTED
            if did_not_start or is_over:
                self._fail(step, text, details)
            else:
                reason = reply_code(payload) or str(code)
                step.say(error_reply(asked.request_id, text, reason))
        elif asked is not None and kind == "fact":
            self._told_fact(step, asked.fact, None)
        elif code == CALLBACK_TIMEOUT:
            self._cancelled(step, envelope, payload)
        elif is_over or (not kind and code == SDK_ERROR):
            self._fail(step, text, details)
        elif kind == "send":
            # The backend did not take a message: this is how the turn ended that never began.
            ending = {"type": "result", "subtype": "error_during_execution", "is_error": True}
            step.say({**ending, "errors": [text], "session_id": ""})
        elif identity in self._callbacks.answered:
            self._answer_again(step, identity, text)
        elif code != CALLBACK_NOT_FOUND:
            logger.warning("the backend of the bridge says: %s", text)

    def _fail(self, step: Step, text: str, details: Wire) -> None:
        tail = details.get("stderr_tail")
        # A backend that tells them has the rest of its text from them.
        lines = [redact_text(str(line)) for line in tail] if isinstance(tail, list) else [text]
        exit_code = details.get("exit_code")
        step.end = End(tuple(lines), exit_code if isinstance(exit_code, int) else None)

    def _answer_again(self, step: Step, identity: str, text: str) -> None:
        """An answer was refused, and the CLI still waits: give the one that lets nothing pass."""
        logger.warning("the backend of the bridge refused an answer: %s", text)
        payload = self._callbacks.safe_answer(identity, text)
        if payload is not None:
            self._put(step, "callback.response", payload, id=identity)

    # Envelopes of ours.

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
            # Of messages nothing is heard unless they are refused, and that soon.
            sent = [id for id, each in self._asked.items() if each.kind == "send"]
            for old in sent[:-REMEMBERED]:
                del self._asked[old]
        line = encode_envelope(kind, payload, id=id, session_id=self.session_id)
        step.to_backend.append(line)


SERVED: Dict[str, Callable[[Translation, Step, Wire, Wire], None]] = {
    "callback.cancelled": Translation._cancelled,
    "callback.request": Translation._called_back,
    "error": Translation._error,
    "query.result": Translation._query_result,
    "sdk.message": Translation._message,
    "session.created": Translation._created,
    "session.ended": Translation._was_ended,
    "session.interrupted": Translation._interrupted,
    "session.stderr": Translation._stderr,
    "session.killed": Translation._was_killed,
}
