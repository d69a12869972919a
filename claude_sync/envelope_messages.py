"""
Messages in envelopes: what a backend that serves many sessions says and is told.

Such a backend stands between programs and CLIs. Each line is an envelope with a
``type``, an ``id`` by which an answer finds its request, the ``session_id`` of
the backend's session, and a ``payload``. What the CLI says comes unchanged, as
the ``message`` of an :class:`SdkMessage`.

An ``error`` in an envelope is an :class:`~claude_sync.ErrorMessage`, whose
``kind`` is the code.
"""

# wire() and raw_field() return dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Dict, Optional, Tuple, Type

from .messages import Message, Unknown
from .wire_fields import (
    Raw,
    anything_of,
    flag_of,
    mapping_of,
    mappings_of,
    optional_flag_of,
    optional_mapping_of,
    optional_text_of,
    problem_of,
    raw_field,
    text_of,
    wire,
)

__all__ = [
    "CallbackRequest",
    "CallbackResponse",
    "Envelope",
    "QueryCall",
    "QueryResult",
    "SdkMessage",
    "SessionCreate",
    "SessionCreated",
    "SessionInterrupt",
    "SessionInterrupted",
    "SessionKill",
    "SessionKilled",
    "SessionSend",
]

inside = functools.partial(wire, within="payload")


@dataclasses.dataclass(frozen=True)
class Envelope(Message):
    """
    The base of everything in an envelope.

    Attributes:
        id: By what a request and its answer are matched, or None.
        payload: What is in it.

    """

    id: Optional[str] = wire(optional_text_of)
    payload: Raw = wire(mapping_of)
    raw: Raw = raw_field()


# What a backend says.


@dataclasses.dataclass(frozen=True)
class SessionCreated(Envelope):
    """A session was made; ``sdk_session_id`` is the CLI's own id, to resume it by."""

    sdk_session_id: Optional[str] = inside(optional_text_of)


@dataclasses.dataclass(frozen=True)
class SessionInterrupted(Envelope):
    """The turn of a session was interrupted."""


@dataclasses.dataclass(frozen=True)
class SessionKilled(Envelope):
    """A session was ended for good."""


@dataclasses.dataclass(frozen=True)
class SdkMessage(Envelope):
    """
    What the CLI of a session said.

    Attributes:
        message: The same as a typed message.

    """

    message: Message = dataclasses.field(default_factory=Unknown)


@dataclasses.dataclass(frozen=True)
class CallbackRequest(Envelope):
    """
    A question of a session that waits for an answer: a permission, or a hook.

    Attributes:
        callback_type: ``can_use_tool`` or ``hook``.
        tool_name, tool_input, suggestions, blocked_path: Of a permission.
        hook_event, hook_input: Of a hook.
        tool_use_id: The use of the tool, where there is one.

    """

    callback_type: str = inside(text_of)
    tool_name: Optional[str] = inside(optional_text_of)
    tool_input: Raw = inside(mapping_of)
    suggestions: Tuple[Raw, ...] = inside(mappings_of)
    blocked_path: Optional[str] = inside(optional_text_of)
    hook_event: Optional[str] = inside(optional_text_of)
    hook_input: Raw = inside(mapping_of)
    tool_use_id: Optional[str] = inside(optional_text_of)


@dataclasses.dataclass(frozen=True)
class QueryResult(Envelope):
    """What a :class:`QueryCall` returned, or why it failed."""

    success: bool = inside(flag_of)
    result: Any = inside(anything_of)
    error: Optional[str] = inside(problem_of)


# What a backend is told.


@dataclasses.dataclass(frozen=True)
class SessionCreate(Envelope):
    """Make a session and ask its first question."""

    prompt: str = inside(text_of)
    cwd: Optional[str] = inside(optional_text_of)
    options: Raw = inside(mapping_of)


@dataclasses.dataclass(frozen=True)
class SessionSend(Envelope):
    """Ask the next question."""

    message: str = inside(text_of)


@dataclasses.dataclass(frozen=True)
class SessionInterrupt(Envelope):
    """Interrupt the turn of a session."""


@dataclasses.dataclass(frozen=True)
class SessionKill(Envelope):
    """End a session for good."""


@dataclasses.dataclass(frozen=True)
class CallbackResponse(Envelope):
    """
    The answer to a :class:`CallbackRequest`.

    Attributes:
        behavior: ``allow`` or ``deny``, to a permission.
        updated_input, updated_permissions: What goes with ``allow``.
        message: What goes with ``deny``.
        goes_on: Whether the turn may go on, of a hook: ``continue`` on the wire; or None.
        decision: ``approve`` or ``block``, of a hook, or None.
        system_message, reason, hook_specific_output: More of a hook, or None.

    """

    behavior: Optional[str] = inside(optional_text_of)
    updated_input: Optional[Raw] = inside(optional_mapping_of)
    updated_permissions: Tuple[Raw, ...] = inside(mappings_of)
    message: Optional[str] = inside(optional_text_of)
    goes_on: Optional[bool] = inside(optional_flag_of, "continue")
    decision: Optional[str] = inside(optional_text_of)
    system_message: Optional[str] = inside(optional_text_of)
    reason: Optional[str] = inside(optional_text_of)
    hook_specific_output: Optional[Raw] = inside(optional_mapping_of)


@dataclasses.dataclass(frozen=True)
class QueryCall(Envelope):
    """Call a method of a session, such as ``setModel``; *args* are its arguments."""

    method: str = inside(text_of)
    args: Any = inside(anything_of)


#: The class of each type of envelope.
ENVELOPES: Dict[str, Type[Envelope]] = {
    "callback.request": CallbackRequest,
    "callback.response": CallbackResponse,
    "query.call": QueryCall,
    "query.result": QueryResult,
    "sdk.message": SdkMessage,
    "session.create": SessionCreate,
    "session.created": SessionCreated,
    "session.interrupt": SessionInterrupt,
    "session.interrupted": SessionInterrupted,
    "session.kill": SessionKill,
    "session.killed": SessionKilled,
    "session.send": SessionSend,
}
