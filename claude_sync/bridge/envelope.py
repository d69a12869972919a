"""
The envelopes themselves: a line in, a checked message out; a message in, a line out.

No thread, no file, no clock. Decided here and nowhere else:

* What a line must be before anybody looks at what it wants: UTF-8, a JSON object, of a
  type that is known, with an ``id`` and a ``session_id`` that are texts if they are there.
  Anything else is a :exc:`Refused`, which becomes an ``error`` message.
* What the CLI said travels as the JSON value it was: order of keys, unknown fields and
  numbers are kept.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import ujson

from ..protocol.codec import integer
from ..support.text import short_json

__all__ = [
    "CALLBACK_NOT_FOUND",
    "CALLBACK_TIMEOUT",
    "DEFAULT_CALLBACK_TIMEOUT",
    "DEFAULT_MAX_SESSIONS",
    "INVALID_MESSAGE",
    "QUERY_METHOD_FAILED",
    "SDK_ERROR",
    "SESSION_CREATE_FAILED",
    "SESSION_NOT_FOUND",
    "Envelope",
    "Refused",
    "encode_json",
    "is_piece",
    "line_prefix",
    "raw_line",
]

INVALID_MESSAGE = "INVALID_MESSAGE"
SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
SESSION_CREATE_FAILED = "SESSION_CREATE_FAILED"
CALLBACK_TIMEOUT = "CALLBACK_TIMEOUT"
CALLBACK_NOT_FOUND = "CALLBACK_NOT_FOUND"
QUERY_METHOD_FAILED = "QUERY_METHOD_FAILED"
SDK_ERROR = "SDK_ERROR"

# How long a front end may take for an answer, in seconds, and how many sessions it may have;
# unless whoever runs the backend says otherwise.
DEFAULT_CALLBACK_TIMEOUT = 300.0
DEFAULT_MAX_SESSIONS = 100

#: What a front end may send, and whether it must name a session.
REQUESTS: dict[str, bool] = {
    "session.create": False,
    "session.send": True,
    "session.interrupt": True,
    "session.kill": True,
    "session.line": True,
    "session.credit": True,
    "session.end_input": True,
    "callback.response": False,
    "query.call": True,
}

# Around a line of a raw session, which is not parsed. The id between the two is a UUID.
LINE_BEGINS = b'{"type":"session.line","session_id":"'
LINE_GOES_ON = b'","payload":'
ID_BEGINS = len(LINE_BEGINS)
UUID_LENGTH = 36
ID_ENDS = ID_BEGINS + UUID_LENGTH
PAYLOAD_BEGINS = ID_ENDS + len(LINE_GOES_ON)


def line_prefix(session_id: str) -> bytes:
    """What a line of a raw session stands behind; ``}`` ends it."""
    return LINE_BEGINS + session_id.encode("ascii") + LINE_GOES_ON


def raw_line(line: bytes) -> tuple[str, bytes] | None:
    """The session and the line of the CLI in an envelope that ``line_prefix`` has made, or None."""
    if not line.startswith(LINE_BEGINS) or line[ID_ENDS:PAYLOAD_BEGINS] != LINE_GOES_ON:
        return None
    return line[ID_BEGINS:ID_ENDS].decode("ascii", "replace"), line[PAYLOAD_BEGINS:-1]


class Refused(Exception):
    """A message cannot be followed: what the ``error`` message says about it."""

    def __init__(
        self, code: str, text: str, details: Mapping[str, Any] | None = None, **about: Any
    ) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.details = details
        # id and session_id, where the message had them.
        self.about = about


@dataclasses.dataclass(frozen=True)
class Envelope:
    """A message, in either direction; what it is about is in its ``payload``."""

    type: str
    payload: Mapping[str, Any]
    id: str | None = None
    session_id: str | None = None

    @classmethod
    def read(cls, line: bytes) -> Envelope:
        """
        The message of a front end in *line*.

        Raises:
            Refused: There is none that can be followed.

        """
        message = decode_strictly(line)
        ids = ("id", "session_id")
        about = {name: message[name] for name in ids if isinstance(message.get(name), str)}

        def refuse(text: str) -> Refused:
            return Refused(INVALID_MESSAGE, text, **about)

        kind = message.get("type")
        if not isinstance(kind, str) or kind not in REQUESTS:
            known = ", ".join(REQUESTS)
            raise refuse(f"there is no message of type {short_json(kind)}. Send one of {known}.")
        for name in ids:
            if message.get(name) is not None and name not in about:
                raise refuse(f"{kind}: {name} must be a string, not {short_json(message[name])}.")
        payload = message.get("payload")
        payload = {} if payload is None else payload
        if not isinstance(payload, dict):
            raise refuse(f"{kind}: payload must be an object, not {short_json(payload)}.")
        if REQUESTS[kind] and "session_id" not in about:
            raise refuse(f"{kind}: session_id is missing. Put in the one of session.created.")
        return cls(kind, payload, **about)

    def invalid(self, text: str) -> Refused:
        """The refusal of what is in it."""
        return Refused(INVALID_MESSAGE, f"{self.type}: {text}")

    @property
    def line(self) -> bytes:
        """The message as one line; ``id`` and ``session_id`` only where there is one."""
        ids = {"id": self.id, "session_id": self.session_id}
        known = {name: value for name, value in ids.items() if value is not None}
        return encode_json({"type": self.type, **known, "payload": self.payload})


def decode_strictly(line: bytes) -> dict[str, Any]:
    """The JSON object in *line*; unlike what CLIs say, it must be right in every byte."""
    try:
        value = json.loads(line.decode("utf-8"), parse_int=integer)
    except UnicodeDecodeError as error:
        text = f"a line is not UTF-8 (byte {error.start}). Send JSON in UTF-8."
        raise Refused(INVALID_MESSAGE, text) from None
    except (ValueError, RecursionError) as error:
        text = f"a line is not JSON ({error}). Send one JSON object a line."
        raise Refused(INVALID_MESSAGE, text) from None
    if not isinstance(value, dict):
        raise Refused(INVALID_MESSAGE, f"a message is a JSON object, not {short_json(value)}.")
    return value


def encode_json(message: Mapping[str, Any]) -> bytes:
    """A message as one line, whatever numbers are in it."""
    try:
        text = ujson.dumps(
            message, ensure_ascii=True, escape_forward_slashes=False, allow_nan=False
        )
    except (ValueError, OverflowError, TypeError, RecursionError):
        # Numbers beyond all bounds, which JSON can say and this encoder cannot.
        text = json.dumps(finite(message))
    return text.encode("ascii") + b"\n"


def is_piece(kind: Any, payload: Any) -> bool:
    """Whether a message is not for the log: a secret may go over several of its kind, unseen."""
    if kind == "session.stderr":
        return True
    return isinstance(payload, Mapping) and payload.get("type") == "stream_event"


def finite(value: Any) -> Any:
    """*value* with None for what is no number in JSON; dicts that are none become dicts."""
    if isinstance(value, float) and value - value != 0.0:  # true of nan and the infinities only
        return None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, (list, tuple)) else value
