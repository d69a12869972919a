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
from logging import DEBUG
from typing import Any

import ujson

from ..log import STREAM_EVENT, logger, shortened
from ..protocol.codec import integer
from ..support.text import short_json

#: What a front end may send; all but the last two name a session.
REQUESTS = (
    *("session.send", "session.interrupt", "session.kill", "query.call"),
    *("session.line", "session.credit", "session.end_input"),
    *("callback.response", "session.create"),
)

# Around a line of a raw session, which is not parsed. The id between the two is a UUID.
LINE_BEGINS = b'{"type":"session.line","session_id":"'
LINE_GOES_ON = b'","payload":'
ID_BEGINS = len(LINE_BEGINS)
ID_ENDS = ID_BEGINS + 36
PAYLOAD_BEGINS = ID_ENDS + len(LINE_GOES_ON)
# Not for the log: a secret may go over several of their kind, unseen.
PIECES = (LINE_BEGINS, b'{"type":"session.stderr"')
# So far into an envelope is looked for what it is.
LOOKED_AT = 300


def line_prefix(session_id: str) -> bytes:
    """What a line of a raw session stands behind; ``}`` ends it."""
    return LINE_BEGINS + session_id.encode("ascii") + LINE_GOES_ON


def raw_line(line: bytes) -> tuple[str, bytes] | None:
    """The session and the line of the CLI in an envelope that ``line_prefix`` has made, or None."""
    if not line.startswith(LINE_BEGINS) or line[ID_ENDS:PAYLOAD_BEGINS] != LINE_GOES_ON:
        return None
    return line[ID_BEGINS:ID_ENDS].decode("ascii", "replace"), line[PAYLOAD_BEGINS:-1]


def log_envelope(sign: str, line: bytes) -> None:
    """Log a line, sent or received, unless it is a piece of something."""
    is_piece = line.startswith(PIECES) or STREAM_EVENT in line[:LOOKED_AT]
    if not is_piece and logger.isEnabledFor(DEBUG):
        logger.debug("%s %s", sign, shortened(line))


class Refused(Exception):
    """A message cannot be followed: what the ``error`` message says about it."""

    def __init__(
        self, code: str, text: str, details: Mapping[str, Any] | None = None, **about: Any
    ) -> None:
        super().__init__(text)
        self.code = code
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
            return Refused("INVALID_MESSAGE", text, **about)

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
        if kind in REQUESTS[:-2] and "session_id" not in about:
            raise refuse(f"{kind}: session_id is missing. Put in the one of session.created.")
        return cls(kind, payload, **about)

    def invalid(self, text: str) -> Refused:
        """The refusal of what is in it."""
        return Refused("INVALID_MESSAGE", f"{self.type}: {text}")

    @property
    def line(self) -> bytes:
        """The message as one line; ``id`` and ``session_id`` only where there is one."""
        ids = {"id": self.id, "session_id": self.session_id}
        known = {name: value for name, value in ids.items() if value is not None}
        return json_line({"type": self.type, **known, "payload": self.payload})


def json_line(message: Mapping[str, Any]) -> bytes:
    """A message as one line, whatever a CLI has said in it."""
    try:
        text = ujson.dumps(message, escape_forward_slashes=False, allow_nan=False)
    except (ValueError, OverflowError):
        # Numbers beyond all bounds, which JSON does not know: null.
        plain = json.loads(json.dumps(message), parse_constant=lambda _: None)
        text = json.dumps(plain)
    return text.encode("ascii") + b"\n"


def decode_strictly(line: bytes) -> dict[str, Any]:
    """The JSON object in *line*; unlike what CLIs say, it must be right in every byte."""
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_int=integer)
    except UnicodeDecodeError as error:
        text = f"a line is not UTF-8 (byte {error.start}). Send JSON in UTF-8."
        raise Refused("INVALID_MESSAGE", text) from None
    except (ValueError, RecursionError) as error:
        text = f"a line is not JSON ({error}). Send one JSON object a line."
        raise Refused("INVALID_MESSAGE", text) from None
    if not isinstance(value, dict):
        raise Refused("INVALID_MESSAGE", f"a message is a JSON object, not {short_json(value)}.")
    return value
