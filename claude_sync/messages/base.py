"""
What the CLI says, as frozen values.

Every message keeps the complete JSON object it was made of in ``raw``, so a field this release
has no name for is still there; a type it does not know is an :class:`Unknown`. Nothing the CLI
sends makes building a message fail: see ``fields``.

A class registers itself under its type on the wire, or its subtype of ``system``::

    class KeepAlive(Message, type="keep_alive")
    class Notification(System, subtype="notification")

The subtypes of ``system`` are in ``system`` and ``tasks``, the pieces of assistant and user
messages in ``blocks``; ``parsing`` makes a message of a JSON object.
"""

from __future__ import annotations

from typing import Any

from ..support.text import camel_case
from .blocks import Block, Carrier, ToolResult, ToolUse, blocks_of, join_texts
from .fields import (
    Raw,
    Wire,
    at,
    build,
    mapping_of,
    mappings_of,
    objects,
    optional_flag_of,
    optional_text_of,
    passed,
    problem_of,
    text_of,
    texts_of,
)

#: The class of each type of message, and of each subtype of ``system``.
TYPES: dict[str, type[Message]] = {}
SUBTYPES: dict[str, type[System]] = {}


class Message(Wire):
    """The base of everything the CLI says: the JSON object, and whose it is."""

    def __init_subclass__(cls, type: str = "", subtype: str = "") -> None:
        super().__init_subclass__()
        TYPES.update(dict.fromkeys(type.split(), cls))
        SUBTYPES.update(dict.fromkeys(subtype.split(), cls))  # type: ignore[arg-type]

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of this class, made of *raw*."""
        return build(cls, raw)

    @property
    def uuid(self) -> str | None:
        """The message's own id."""
        return optional_text_of(self.raw.get("uuid"))

    @property
    def session_id(self) -> str | None:
        """The conversation it belongs to."""
        return optional_text_of(self.raw.get("session_id"))

    @property
    def parent_tool_use_id(self) -> str | None:
        """The tool call that started the subagent it comes from; None: the main conversation."""
        return optional_text_of(self.raw.get("parent_tool_use_id"))


class _Open(Message):
    """A message whose other fields are attributes too, under their names on the wire."""

    def __getattr__(self, name: str) -> Any:
        """The field *name*, of the payload or beside it, also where the wire has camelCase."""
        raw = vars(self).get("raw", {})  # a copy that is being made has none yet
        if not name.startswith("_"):
            for fields in (mapping_of(raw.get("payload")), raw):
                for key in (name, camel_case(name)):
                    if key in fields:
                        return fields[key]
        raise AttributeError(
            f"this {raw.get('type')!r} message has no {name!r}. Look at its .raw for what the CLI "
            "sent."
        )


# The conversation.


def _content_of(raw: Raw) -> Any:
    """The content of a message: in ``message``, or ``message`` itself, or beside it."""
    message = raw.get("message")
    if isinstance(message, dict):
        return message.get("content")
    return raw.get("content") if message is None else message


def _carrier_of(raw: Raw, record: Any = None) -> Carrier:
    """What the blocks of a message take over from it: the subagent, by its kind or else its id."""
    agent = raw.get("subagent_type") or raw.get("agent_id")
    return optional_text_of(raw.get("parent_tool_use_id")), optional_text_of(agent), record


class Assistant(Message, type="assistant"):
    """
    Claude speaks or calls tools.

    One reply arrives as several of these, one for each block, with the same
    ``message_id``; their usage is not final, that of the :class:`Result` is.

    Attributes:
        message_id: The reply it is a part of.
        model: The model that speaks; ``<synthetic>`` where the CLI itself does.
        content: The blocks.
        stop_reason: Why the reply ended; None while it goes on.
        usage: Tokens so far, or None.
        error: The kind of failure this message reports, such as ``rate_limit``, or None.
        parent_tool_use_id: The tool call that started the subagent that speaks, or None.
        agent: The kind (or else the id) of that subagent, or None.

    """

    message_id: str = at("id", within="message", default="")
    model: str = at(within="message", default="")
    content: tuple[Block, ...] = ()
    stop_reason: str | None = at(within="message")
    usage: Raw | None = at(within="message")
    error: str | None = None
    parent_tool_use_id: str | None = passed()
    agent: str | None = passed()

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of this class, made of *raw*."""
        carrier = _carrier_of(raw)
        content = blocks_of(_content_of(raw), carrier)
        parent, agent, _ = carrier
        return build(cls, raw, content=content, parent_tool_use_id=parent, agent=agent)

    @property
    def text(self) -> str:
        """The text in it."""
        return join_texts(self.content, "")

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))


class User(Message, type="user user_message"):
    """
    What Claude reads: a prompt, or the results of its tool calls.

    Attributes:
        content: The blocks; a plain text is one block.
        parent_tool_use_id: The tool call that started the subagent that reads it, or None.
        agent: The kind (or else the id) of that subagent, or None.
        is_replay: Whether this repeats a message of ours.
        is_synthetic: Whether the CLI wrote it, and no person.
        origin: Where it comes from, or None.
        tool_use_result: The CLI's structured record of a tool call, of any JSON type, or None.

    """

    content: tuple[Block, ...] = ()
    parent_tool_use_id: str | None = passed()
    agent: str | None = passed()
    is_replay: bool = False
    is_synthetic: bool = at("isSynthetic", "isMeta", default=False)
    origin: Raw | None = None
    tool_use_result: Any = None

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of this class, made of *raw*."""
        content = _content_of(raw)
        # The wire does not say which of several results the record belongs to.
        blocks = mappings_of(content)
        results = sum(each.get("type") == "tool_result" for each in blocks)
        carrier = _carrier_of(raw, raw.get("tool_use_result") if results <= 1 else None)
        parent, agent, _ = carrier
        found = blocks_of(content, carrier)
        return build(cls, raw, content=found, parent_tool_use_id=parent, agent=agent)

    @property
    def text(self) -> str:
        """The text in it; several texts are joined by line ends."""
        return join_texts(self.content, "\n")

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results in it."""
        return tuple(block for block in self.content if isinstance(block, ToolResult))


class PermissionDenial(dict[str, Any]):
    """A tool call that was refused; a dict as the wire has it, and its fields as attributes."""

    @property
    def tool_name(self) -> str:
        """Which tool Claude wanted to call, as the wire names it."""
        return text_of(self.get("tool_name"))

    @property
    def tool_use_id(self) -> str:
        """The id of the call."""
        return text_of(self.get("tool_use_id"))

    @property
    def tool_input(self) -> Raw:
        """The arguments of the call."""
        return mapping_of(self.get("tool_input"))


def _denials_of(value: Any) -> tuple[PermissionDenial, ...]:
    """The refused calls in a list."""
    return tuple(map(PermissionDenial, mappings_of(value)))


class Result(Message, type="result"):
    """
    A turn ended.

    Attributes:
        subtype: ``success``, ``error_during_execution``, ``error_max_turns``, ...
        is_error: Whether it failed. It may have, with subtype ``success``; and some CLIs
            say False to ``error_max_budget_usd`` or an interrupt.
        result: The final text, or None.
        errors: What went wrong.
        duration_ms: How long the turn took.
        duration_api_ms: How much of it was spent waiting for the service.
        num_turns: How many steps it took; 0 or -1 for a slash command.
        total_cost_usd: Cost of the process so far, not of this turn; None if not reported.
        cost_usd: Cost of this turn. In a saved conversation, which has running totals only,
            the same as ``total_cost_usd``.
        usage: Tokens of this turn.
        model_usage: Tokens and cost of each model, of the process so far.
        permission_denials: The tool calls that were refused.
        structured_output: The object that matches the JSON Schema asked for, or None.
        stop_reason: Why the last reply ended, or None.
        terminal_reason: Why the turn ended, such as ``max_turns``, or None.
        api_error_status: The HTTP status of a failed request, or None.
        ttft_ms: Milliseconds to the first token, or None.
        origin: What began the turn, or None; see ``origin_kind``.
        user_message_uuids: The user messages this turn answered, where the CLI reports them.
        local_command: The slash command this is the end of, or None.

    """

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: tuple[str, ...] = at("errors", "error", default=(), convert=texts_of)
    duration_ms: int = 0
    duration_api_ms: int = 0
    num_turns: int = 0
    total_cost_usd: float | None = None
    cost_usd: float | None = at("cost_usd", "total_cost_usd")
    usage: Raw = objects()
    model_usage: Raw = objects()
    permission_denials: tuple[PermissionDenial, ...] = at(convert=_denials_of, default=())
    structured_output: Any = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    ttft_ms: float | None = None
    origin: Raw | None = None
    user_message_uuids: tuple[str, ...] = at(
        "user_message_uuids", "user_message_uuid", default=(), convert=texts_of
    )
    local_command: str | None = None

    @classmethod
    def read(cls, raw: Raw, cost_usd: float | None = None) -> Result:
        """A message of this class, made of *raw*; *cost_usd* is what the client worked out."""
        fields: dict[str, Any] = {} if cost_usd is None else {"cost_usd": cost_usd}
        if optional_flag_of(raw.get("is_error")) is None:
            failed = text_of(raw.get("subtype")).startswith("error")
            fields["is_error"] = failed or problem_of(raw.get("error")) is not None
        return build(cls, raw, **fields)

    @property
    def text(self) -> str:
        """The final text, or what went wrong."""
        return "\n".join(self.errors) if self.result is None else self.result

    @property
    def origin_kind(self) -> str | None:
        """What began the turn: ``task-notification``, ``human``, ...; None: a question of ours."""
        return optional_text_of(self.origin.get("kind")) if self.origin else None


class StreamEvent(Message, type="stream_event"):
    """
    A reply in the making: one event of the Messages API's stream.

    Attributes:
        event: The event.

    """

    event: Raw = objects()

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of this class. Called more often than all the others together."""
        message = object.__new__(cls)
        event = raw.get("event")
        values = message.__dict__
        values["event"] = event if isinstance(event, dict) else {}
        values["raw"] = raw
        return message

    @property
    def event_type(self) -> str:
        """``content_block_delta``, ``message_start``, ..."""
        return text_of(self.event.get("type") or self.raw.get("event_type"))


# Around the conversation.


class System(_Open, type="system"):
    """
    A message of the CLI about itself.

    Those that programs use most have classes; of all others, whatever the subtype, the fields
    are attributes: ``message.content`` of an ``informational``.
    """

    subtype: str = ""

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of the class for its subtype, made of *raw*."""
        subtype = raw.get("subtype")
        kind = SUBTYPES.get(subtype, cls) if isinstance(subtype, str) else cls
        return kind._read(raw)

    @classmethod
    def _read(cls, raw: Raw) -> Message:
        return build(cls, raw)


class RateLimit(Message, type="rate_limit_event"):
    """
    How much of the account's limit is used.

    Attributes:
        status: ``allowed``, ``allowed_warning`` or ``rejected``.
        resets_at: When it starts anew, in seconds since 1970, or None.
        kind: Which limit, such as ``five_hour``, or None.
        utilization: How much of it is used, or None.
        overage_status: The same as ``status`` for paid overage, or None.
        overage_resets_at: When that starts anew, in seconds since 1970, or None.
        overage_disabled_reason: Why there is no overage, or None.
        is_using_overage: Whether overage is in use, or None.

    """

    status: str = at(within="rate_limit_info", default="")
    resets_at: float | None = at("resetsAt", within="rate_limit_info")
    kind: str | None = at("rateLimitType", within="rate_limit_info")
    utilization: float | None = at(within="rate_limit_info")
    overage_status: str | None = at("overageStatus", within="rate_limit_info")
    overage_resets_at: float | None = at("overageResetsAt", within="rate_limit_info")
    overage_disabled_reason: str | None = at("overageDisabledReason", within="rate_limit_info")
    is_using_overage: bool | None = at("isUsingOverage", within="rate_limit_info")


class AuthStatus(Message, type="auth_status"):
    """How a login goes."""

    is_authenticating: bool = False
    output: tuple[str, ...] = ()
    error: str | None = None


class PromptSuggestion(Message, type="prompt_suggestion"):
    """What the user may want to ask next; comes after the result."""

    suggestion: str = ""


class ErrorMessage(Message, type="error"):
    """
    Something failed outside of any turn. Today's CLIs do not send it.

    Attributes:
        error: What happened.
        kind: The kind of error, such as ``overloaded_error``, or None.

    """

    error: str = ""
    kind: str | None = None

    @classmethod
    def read(cls, raw: Raw) -> Message:
        """A message of this class, of an error object, a text, or a payload with a code."""
        error = raw.get("error") or raw.get("payload") or raw.get("message")
        details = mapping_of(error)
        kind = optional_text_of(details.get("type") or details.get("code"))
        return cls(problem_of(error) or "", kind, raw=raw)


class Envelope(
    _Open,
    type="session.create session.created session.send session.interrupt session.interrupted "
    "session.kill session.killed sdk.message callback.request callback.response query.call "
    "query.result",
):
    """
    What programs and a backend that serves many sessions send each other.

    Each has a ``type`` with a dot in it, the ``session_id`` of the backend's session, and a
    payload, whose fields are attributes: ``envelope.sdk_session_id``, ``envelope.success``.
    An ``error`` of a backend is an :class:`ErrorMessage`, whose ``kind`` is the code.

    Attributes:
        id: What matches an answer to its request, or None.
        payload: The contents.

    """

    id: str | None = None
    payload: Raw = objects()

    @property
    def message(self) -> Any:
        """What the CLI said, as a message, in an ``sdk.message``; else the payload's field."""
        if self.type != "sdk.message":
            return self.payload.get("message")
        from .parsing import parse

        return parse(self.payload)


class Unknown(_Open):
    """A type of message without a class of its own; its fields are attributes, and in ``raw``."""

    # Declared here, where the base class reads it from raw, so that repr() shows it.
    type: str = ""
