"""
The vocabulary in which a test, or a script, plays the CLI.

::

    client  <- stdout --  [CliSide]  -- ScriptedCli: in memory
            -- stdin -->             -- ProgramCli: a process of its own

A *script* is a function of one argument, the CLI it plays::

    def forgets_to_answer(cli):
        cli.accept()                 # the client's initialize request
        cli.answer("Hello")          # its first question, a whole turn
        cli.expect("user")           # its second question ...
        cli.exit(3)                  # ... is too much

The words are defined once, here, so that a script means the same in memory and as
a process. Two styles of CLI are spoken: ``"new"`` ones report the life of each user
message, list it in the result of its turn and tell their version at once; ``"old"`` ones,
such as 2.1.29, only repeat the message, and that after the first pieces of the answer.

This module imports nothing but the standard library and :mod:`.builders`.
"""

from __future__ import annotations

import json
import time

from . import builders

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, NoReturn

    Wire = dict[str, Any]

__all__ = ["CliSide", "EndOfInput", "ExpectedInVain", "encoded"]

# Where a key given to expect() is looked for, in this order.
PLACES = ((), ("request",), ("response",), ("response", "response"), ("message",))

# What may be wrong where one of these requests comes as a surprise.
HINTS = {
    "initialize": "\nDid the script forget cli.accept()?",
    # The first request to a CLI that was started again.
    "get_usage": "\nDid the script before this one end too early? Loop over cli.questions().",
}

# Tells "no such key" from None.
MISSING = object()

encode = json.JSONEncoder(separators=(",", ":")).encode


class EndOfInput(AssertionError):
    """The client has ended its side; it will say nothing more."""


class ExpectedInVain(EndOfInput):
    """The client has ended its side before it said what was expected."""


class CliSide:
    """
    What a CLI does, whatever carries its words.

    Attributes:
        argv: The words of the command line, without the command.
        environ: The environment.
        settings: Whatever else the script was given.
        style: ``"new"`` or ``"old"``.
        version: What it calls itself.
        session_id: Its conversation.
        model, mode: What ``set_model`` and ``set_permission_mode`` change.
        partial: Whether it streams pieces of text.
        replays: Whether it repeats user messages.
        session_states: Whether it reports running and idle.
        patience: How many seconds an ``expect`` waits, at most.
        cwd: The folder it says it works in.
        form: The JSON Schema that its answers are to have, or None.

    """

    # On the class, because a transport has a property of this name.
    argv: Sequence[str] = ()

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings: Wire = dict(settings or {})
        self.style: str = self.settings.get("style", "new")
        if self.style not in builders.VERSIONS:
            raise ValueError(f"style is 'new' or 'old', not {self.style!r}")
        self.version: str = self.settings.get("version", builders.VERSIONS[self.style])
        self.session_id = builders.SESSION_ID
        self.patience: float = self.settings.get("patience", 10.0)
        self.cwd = "/home/user/project"
        self.model = builders.MODEL
        self.mode = "default"
        self.environ: Mapping[str, str] = {}
        self.partial = True
        self.replays = True
        self.form: Wire | None = None
        self.session_states = False
        self.message_id = builders.API_MESSAGE_ID
        self._messages_begun = 0
        self._apply_settings()

    def read_command_line(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Take over what the client asked for; explicit settings win."""
        self.argv, self.environ = argv, environ
        self.partial = "--include-partial-messages" in argv
        self.replays = "--replay-user-messages" in argv
        self.session_states = self.style == "new" and bool(
            environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
            or environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE")
        )
        self.model = self.option("--model") or self.model
        self.mode = self.option("--permission-mode") or self.mode
        form = self.option("--json-schema")
        if form:
            self.form = json.loads(form)
        if "--fork-session" not in argv:
            self.session_id = self.option("--resume") or self.session_id
        self.session_id = self.option("--session-id") or self.session_id
        self._apply_settings()

    def _apply_settings(self) -> None:
        for name in ("partial", "replays", "session_states", "model", "session_id"):
            if name in self.settings:
                setattr(self, name, self.settings[name])

    def option(self, flag: str) -> str | None:
        """The value of *flag* on the command line, in either form, or None."""
        for place, word in enumerate(self.argv):
            if word.startswith(flag + "="):
                return word[len(flag) + 1 :]
            if word == flag and place + 1 < len(self.argv):
                return self.argv[place + 1]
        return None

    # Messages.

    def initialized(self, request: Mapping[str, Any], **fields: Any) -> Wire:
        """The answer to an ``initialize`` request."""
        if self.style == "new":
            ours = {"claude_code_version": self.version, "current_permission_mode": self.mode}
            fields = {**ours, **fields}
        body = builders.initialize_response(self.style, **fields)
        return builders.control_response(request["request_id"], body)

    # The parts of a turn.

    @property
    def ours(self) -> Wire:
        """What every message of this conversation has."""
        return {"session_id": self.session_id}

    def repetition(self, user: Mapping[str, Any]) -> list[Wire]:
        """The question again, if this CLI repeats it: old ones leave out slash commands."""
        left_out = self.style == "old" and last_text_of(user).startswith("/")
        return [] if left_out or not self.replays else [builders.replay(user, **self.ours)]

    def state(self, state: str) -> list[Wire]:
        """The state of the session, if the client wants to know."""
        return [builders.session_state(state, **self.ours)] if self.session_states else []

    def progress(self, users: Iterable[Mapping[str, Any]], *states: str) -> list[Wire]:
        """How far this CLI is with user messages, if it is new."""
        return [
            builders.lifecycle(uuid, state, **self.ours)
            for uuid in self.uuids(users)
            for state in states
            if uuid
        ]

    def uuids(self, users: Iterable[Mapping[str, Any]]) -> list[str | None]:
        """The ids by which a new CLI speaks of user messages."""
        return [user.get("uuid") for user in users] if self.style == "new" else []

    def beginning(self, user: Mapping[str, Any], announced: bool = False) -> list[Wire]:
        """What comes before Claude says anything; *announced*: that it is queued was said."""
        states = ["started"] if announced else ["queued", "started"]
        return [*self.state("running"), *self.progress([user], *states), self.init()]

    def init(self) -> Wire:
        """The message that begins a turn."""
        tools = {"tools": [*builders.TOOLS, "StructuredOutput"]} if self.form is not None else {}
        more: Wire = {"model": self.model, "permissionMode": self.mode, "cwd": self.cwd, **tools}
        is_new = self.style == "new"
        more["capabilities"] = list(builders.CAPABILITIES) if is_new else builders.ABSENT
        return builders.init(self.session_id, self.version, **more)

    def next_message_id(self) -> str:
        """The id of a new message of Claude."""
        self._messages_begun += 1
        self.message_id = f"msg_{self._messages_begun:020d}"
        return self.message_id

    def spoken(self, text: str, pieces: Sequence[str] | None = None) -> list[Wire]:
        """A message of Claude, with a message id that is new."""
        identity = self.next_message_id()
        if not self.partial:
            return [builders.assistant(text, identity, model=self.model, **self.ours)]
        cut = words_of(text) if pieces is None else pieces
        messages = builders.stream_of(cut, identity, complete=True, **self.ours)
        for message in messages:
            if "message" in message:
                message["message"]["model"] = self.model
        return messages

    def ending(self, users: Sequence[Mapping[str, Any]], text: str, **fields: Any) -> list[Wire]:
        """The result and what follows it."""
        if not builders.RESULT_FIELDS.issuperset(fields):
            check_fields(fields)
        result = builders.result(text, self.uuids(users), **{**self.ours, **fields})
        return [result, *self.progress(users, "completed"), *self.state("idle")]

    def interruption(
        self, users: Sequence[Mapping[str, Any]], text: str, **fields: Any
    ) -> list[Wire]:
        """What comes after the answer to an interrupt."""
        note = fields.pop("note", "[Request interrupted by user]")
        said: list[Wire] = []
        rest: list[Wire] = []
        if text and self.style == "new":
            said = [builders.assistant(text, self.message_id, aborted=True, **self.ours)]
            about: Wire = {"message_id": self.message_id, **self.ours}
            rest = [builders.block_stop(**about), builders.message_delta(None, **about)]
            rest.append(builders.message_stop(**about))
        return [
            *said,
            builders.user([builders.text(note)], **self.ours),
            *(rest if self.partial else []),
            builders.interrupted_result(self.uuids(users), self.style, **self.ours, **fields),
            *self.progress(users, "cancelled"),
            *self.state("idle"),
        ]

    # What a carrier provides.

    def receive(self, patience: float | None = None) -> Wire | None:
        """
        The client's next message; None if *patience* seconds brought none.

        Raises EndOfInput when the client has ended its side, and AssertionError for a
        line that is no JSON object.
        """
        raise NotImplementedError

    def print_raw(self, data: bytes) -> None:
        """Print bytes as they are: half a line, two lines, garbage."""
        raise NotImplementedError

    def print_error(self, line: str) -> None:
        """Print a line on stderr."""
        raise NotImplementedError

    def exit(self, code: int = 0) -> NoReturn:
        """End here, with this exit code."""
        raise NotImplementedError

    def kill_itself(self) -> NoReturn:
        """End as if somebody had killed it: no last word, no clean-up."""
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Let time pass without hearing or saying anything."""
        time.sleep(seconds)

    # Saying.

    def say(self, *messages: Mapping[str, Any], **fields: Any) -> None:
        """Print messages, in one write; *fields* are one more."""
        if fields:
            messages = (*messages, fields)
        for message in messages:
            if not isinstance(message, dict):
                raise TypeError(
                    f"say() takes messages, as the builders make them, not {message!r}. A list "
                    "of them needs a * before it; for words of Claude use answer() or speak()."
                )
        self.print_raw(encoded(messages))

    def flood_error(self, lines: int, text: str = "something happened, again") -> None:
        """Print many lines on stderr, in one go."""
        self.print_error("\n".join([f"{number}: {text}" for number in range(lines)]))

    # Hearing.

    def expect(self, type: str | None = None, patience: float | None = None, **keys: Any) -> Wire:
        """
        Wait for the client's next message, check *keys*, return it whole.

        A key is looked for in the message, then in its ``request``, ``response`` (and
        the ``response`` in that) or ``message``; ``text`` is the text of a user
        message. The value ``...`` takes anything, as long as the key is there.
        """
        wanted = {"type": type, **keys} if type is not None else keys
        waited = self.patience if patience is None else patience
        try:
            message = self.receive(waited)
        except EndOfInput:
            raise ExpectedInVain(
                f"waited for {wanted}, but the client has ended its side"
            ) from None
        if message is None:
            raise AssertionError(f"waited {waited} s for {wanted}, but the client sent nothing")
        check(message, wanted)
        return message

    def questions(self) -> Iterator[Wire]:
        """The client's questions, as long as it asks: for a script that answers all of them."""
        while True:
            try:
                message = self.receive()
            except EndOfInput:
                return
            if message is not None:
                check(message, {"type": "user"})
                yield message

    def expect_reply(self, request: Mapping[str, Any], patience: float | None = None) -> Wire:
        """Wait for the client's answer to *request*, which must be its next message: the body."""
        identity = request["request_id"]
        reply = self.expect("control_response", patience, request_id=identity, subtype="success")
        body: Wire = reply["response"].get("response") or {}
        return body

    def expect_end(self, patience: float | None = None) -> None:
        """Wait for the client to end its side; anything else it says is an error."""
        waited = self.patience if patience is None else patience
        try:
            message = self.receive(waited)
        except EndOfInput:
            return
        what = f"the client sent {message}" if message else f"{waited} s went by"
        raise AssertionError(f"waited for the client to end its side, but {what}")

    # Requests, both ways.

    def accept(self, **fields: Any) -> Wire:
        """Answer the client's ``initialize``; *fields* are added to the answer. The request."""
        request = self.expect("control_request", subtype="initialize")
        self.say(self.initialized(request, **fields))
        return request

    def reply(self, request: Mapping[str, Any], **body: Any) -> None:
        """Answer a request of the client."""
        self.say(builders.control_response(request["request_id"], body))

    def refuse(self, request: Mapping[str, Any], error: str, code: str | None = None) -> None:
        """Refuse a request of the client."""
        self.say(builders.control_error(request["request_id"], error, code))

    def ask_permission(self, tool: str, input: Mapping[str, Any], **fields: Any) -> Wire:
        """Ask whether a tool may be used; the request, for :meth:`expect_reply`."""
        return self.ask(builders.can_use_tool(tool, input, **fields))

    def call_hook(
        self, callback_id: str, event: str, input: Mapping[str, Any] | None = None, **fields: Any
    ) -> Wire:
        """Call a hook; the request, for :meth:`expect_reply`."""
        return self.ask(builders.hook_callback(callback_id, event, input, **fields))

    def call_server(self, server: str, message: Mapping[str, Any]) -> Wire:
        """Speak to an MCP server inside the client; the request, for :meth:`expect_reply`."""
        return self.ask(builders.mcp_message(server, message))

    def ask(self, request: Wire) -> Wire:
        """Print a request of ours and return it."""
        self.say(request)
        return request

    def cancel(self, request: Mapping[str, Any]) -> None:
        """Withdraw a request of ours."""
        self.say(builders.control_cancel(request["request_id"]))

    # Whole turns.

    def answer(
        self,
        text: str = "",
        prompt: str | None = None,
        *,
        to: Mapping[str, Any] | None = None,
        pieces: Sequence[str] | None = None,
        announced: bool = False,
        **fields: Any,
    ) -> Wire:
        """
        Wait for a question and play a whole turn for it.

        Args:
            text: What Claude says.
            prompt: What the question must be, if that matters.
            to: The question, if it was received already.
            pieces: How the text is cut when it is streamed; by words, by default.
            announced: Whether the client knows already that the question is queued.
            fields: Fields of the result, such as ``total_cost_usd``, ``structured_output``.

        Returns:
            The question, as the client sent it.

        """
        if to is None:
            to = self.expect("user") if prompt is None else self.expect("user", text=prompt)
        if pieces is not None:
            text = "".join(pieces)
        spoken = self.spoken(text, pieces)
        # Old CLIs repeat the question after the first pieces have been streamed.
        early = self.style == "new" or not self.partial
        place = 0 if early else min(3, len(spoken))
        self.say(
            *self.beginning(to, announced),
            *spoken[:place],
            *self.repetition(to),
            *spoken[place:],
            *self.ending([to], text, **fields),
        )
        return dict(to)

    def begin_turn(self, user: Mapping[str, Any], announced: bool = False) -> None:
        """Print how a turn begins: it is on the question, its settings, the question again."""
        self.say(*self.beginning(user, announced), *self.repetition(user))

    def speak(self, text: str, pieces: Sequence[str] | None = None) -> None:
        """Print a message of Claude, streamed if the client wants that."""
        self.say(*self.spoken(text, pieces))

    def end_turn(self, user: Mapping[str, Any], text: str = "", **fields: Any) -> None:
        """Print how a turn ends: the result and what follows it."""
        self.say(*self.ending([user], text, **fields))

    def end_interrupted(self, user: Mapping[str, Any], text: str = "", **fields: Any) -> None:
        """Print how an interrupted turn ends; *text* is what Claude had said by then."""
        self.say(*self.interruption([user], text, **fields))


def encoded(messages: Iterable[Mapping[str, Any]]) -> bytes:
    """*messages* as lines."""
    return "".join([encode(message) + "\n" for message in messages]).encode("ascii")


def check_fields(fields: Iterable[str]) -> None:
    """TypeError for what is nearly the name of a field of a result; other names may be new."""
    import difflib

    for name in fields:
        known = builders.RESULT_FIELDS
        close = [] if name in known else difflib.get_close_matches(name, known, 1, 0.7)
        if close:
            raise TypeError(f"a result has no field {name!r}. Did you mean {close[0]!r}?")


def check(message: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """AssertionError unless *message* has these keys, with these values."""
    for key, value in wanted.items():
        found = look_up(message, key)
        if found is MISSING or (value is not ... and found != value):
            shown = "nothing" if found is MISSING else repr(found)
            hint = HINTS.get(str(look_up(message, "subtype")), "")
            raise AssertionError(
                f"expected {key}={value!r}, found {shown}; the client sent {message}{hint}"
            )


def look_up(message: Mapping[str, Any], key: str) -> Any:
    """The value of *key*, wherever in *message* it is; MISSING if nowhere."""
    for place in PLACES:
        part: Any = message
        for step in place:
            part = part.get(step) if isinstance(part, dict) else None
        if isinstance(part, dict) and key in part:
            return part[key]
    return text_of(message) if key == "text" else MISSING


def text_of(user: Mapping[str, Any]) -> str:
    """The text of a user message: its blocks of text, one per line."""
    body = user.get("message")
    content: str | list[Any] | None = body.get("content") if isinstance(body, dict) else ""
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in content or () if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def last_text_of(user: Mapping[str, Any]) -> str:
    """The text in which a CLI looks for a command: its last block, if that is one."""
    content = (user.get("message") or {}).get("content")
    last = content[-1] if isinstance(content, list) and content else {"text": content}
    text = last.get("text") if isinstance(last, dict) else None
    return text if isinstance(text, str) else ""


def words_of(text: str) -> list[str]:
    """*text* cut after each space."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []
