"""
The ways of saying things: what real CLIs speak, and two other forms that are written down.

::

    [question, request] -> codec -> process -> lines -> messages -> ...

============== ===================== ============================ ==========================
dialect        a question            to stop it                   before the first question
============== ===================== ============================ ==========================
cli            ``user``, with uuid   ``interrupt``, answered      ``initialize``, answered
callback       ``user``, bare        ``interrupt``, answered      ``initialize``, answered
user-message   ``user_message``      ``cancel``, never answered   nothing
============== ===================== ============================ ==========================

A :class:`Dialect` decides what *we* say, and nothing about what we understand: a
message is read in whichever form it comes, and a request is answered in the form in
which it was asked (``control``). Neither of the other two has ids for questions: there
a result belongs to the question that was sent last.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..errors import UsageError
from .codec import encode, encode_question

__all__ = ["CALLBACK", "CLI", "USER_MESSAGE", "Dialect", "dialect_of", "refuse_settings"]

Fields = Mapping[str, Any]


class Dialect(NamedTuple):
    """
    How one kind of CLI is spoken to. Nothing in it keeps any state.

    Attributes:
        name: As in ``Options.dialect``.
        flags: What every command line has, before the flags of the options.
        encode_question: The line for a user message, from the message and a uuid for it.
        greeting: From what is to be said in ``initialize``, and whether the command line
            has a system prompt, to its fields; None where there is no such request, so that
            nothing may wait for a reply to it.
        interrupt: The request that stops a turn: its name and its fields.
        answers_requests: Whether a request of ours has an id and gets a reply.
        begins_turns: Whether it may begin turns by itself, and takes context and other
            requests that only real CLIs know.

    """

    name: str
    flags: Tuple[str, ...]
    encode_question: Callable[[Fields, str], bytes]
    greeting: Optional[Callable[[Fields, bool], Dict[str, Any]]]
    interrupt: Tuple[str, Fields]
    answers_requests: bool = True
    begins_turns: bool = False


# What real CLIs speak.


def same_greeting(fields: Fields, _own_prompt: bool) -> Dict[str, Any]:
    """What real CLIs take: all of it."""
    return dict(fields)


# As separate words, the form in which wrappers around the CLI look for them.
STREAMS = (*("--output-format", "stream-json"), *("--input-format", "stream-json"))
ASKS = ("--permission-prompt-tool", "stdio")

CLI = Dialect(
    "cli",
    (*STREAMS, "--verbose", *ASKS, "--replay-user-messages"),
    encode_question,
    same_greeting,
    ("interrupt", {"cancel_queued": True}),
    begins_turns=True,
)


# Permissions by callback.request and callback.response.


def bare_question(message: Fields, _uuid: str) -> bytes:
    """A user message with its content and nothing that identifies it."""
    content = message["message"]["content"]
    return encode(
        {
            "type": "user",
            "message": {"role": "user", "content": content},
            "parent_tool_use_id": None,
        }
    )


def callback_greeting(fields: Fields, own_prompt: bool) -> Dict[str, Any]:
    """The greeting with the four fields that it has there; most settings are flags."""
    greeting: Dict[str, Any] = {}
    taken = {"agents"}
    if not own_prompt:  # else it would contradict the command line
        taken.add("appendSystemPrompt")
        prompt = greeting["system_prompt"] = {"type": "preset", "preset": "claude_code"}
        if "appendSystemPrompt" in fields:
            prompt["append"] = fields["appendSystemPrompt"]
    refuse_settings("callback", [name for name in fields if name not in taken])
    greeting.update(mcp_servers={}, agents=dict(fields.get("agents", {})), hooks={})
    return greeting


CALLBACK = Dialect(
    "callback",
    # --verbose is none of its own words, but "additional options" are; real CLIs insist on it.
    (*STREAMS, *ASKS, "--verbose"),
    bare_question,
    callback_greeting,
    ("interrupt", {}),
)


# Questions as user_message.


def user_message_question(message: Fields, _uuid: str) -> bytes:
    """A ``user_message``; the slash command ``/compact`` is a request of its own there."""
    content = message["message"]["content"]
    may_be_command = isinstance(content, str) and not message.get("client_composed")
    words = content.split(None, 1) if may_be_command else []
    if words[:1] != ["/compact"]:
        return encode({"type": "user_message", "content": content})
    request = {"subtype": "compact"}
    if len(words) > 1:
        request["custom_instructions"] = words[1].strip()
    return encode({"type": "control_request", "request": request})


USER_MESSAGE = Dialect(
    "user-message",
    ("-p", "--verbose", *STREAMS, "--replay-user-messages"),
    user_message_question,
    None,
    ("cancel", {}),
    answers_requests=False,
)


DIALECTS = {dialect.name: dialect for dialect in (CLI, CALLBACK, USER_MESSAGE)}

# What a field of the greeting is called as a setting.
SETTINGS = {
    "sdkMcpServers": "tools",
    "sdkMcpServerManifests": "tools",
    "forwardSubagentText": "forward_subagent_text",
    "jsonSchema": "returns (unless given to the client, and short)",
    "agents": "agents (too long for a command line)",
    "appendSystemPrompt": "append_system_prompt (too long for a command line)",
    "excludeDynamicSections": "system_prompt with exclude_dynamic_sections",
    "systemPromptSnapshot": "system_prompt with snapshot",
}


def dialect_of(name: str) -> Dialect:
    """The dialect of that name."""
    return DIALECTS[name]


def refuse_settings(dialect: str, names: List[str]) -> None:
    """UsageError, naming the settings, if a greeting in *dialect* has no words for some."""
    if names:
        listed = sorted({SETTINGS.get(name, name) for name in names})
        raise UsageError(
            f"dialect={dialect!r} has no words for {', '.join(listed)}. Leave that out, or use "
            "dialect='cli', which is what real CLIs speak."
        )
