"""
A session behind a bridge, as a transport: to the client it is a CLI.

::

    client -> [transport] -> backend -> its CLI
    client <- [transport] <- backend <- its CLI

A backend of this library carries the CLI's own lines. Any other one is spoken to in the words of
the document:

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

An example of how a transport is written, too: ``start`` joins what exists already,
``write`` never waits, ``read`` waits until there is something or the end, and every
end (closed, killed, the session's, the backend's) is an end of what can be read.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..engine.control import ROWS
from ..engine.launch.transport import Transport
from ..errors import UsageError
from ..log import logger
from ..options import SETTINGS, Options
from ..options.fields import agents_on_the_wire
from ..protocol.codec import decode
from ..protocol.control import error_reply, success_reply
from ..protocol.exchange import uuids_of_result
from ..support.redact import redact_text
from ..support.text import snake_case
from ..support.waiting import Deadline, wait_for
from .envelopes import PAYLOAD_BEGINS, Envelope, json_line, line_prefix, raw_line

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from .client import Backend

Wire = Mapping[str, Any]

KILLED = -9
# How much of the time for closing the backend has for its CLI.
SHARE = 0.75
# How long the rest of a CLI may take that has ended, or does not listen.
CLEARING_TIME = 1.0
# So many bytes of the CLI may wait here; then the backend reads it no further.
CREDIT = 4 * 1024 * 1024
# The errors of a CLI that was there and has ended by itself: its own words say why.
NOT_STARTED = ("CliExited", "CliDidNotStart")
NOT_RAW = "the backend of this bridge knows no raw sessions"
ADVICE = ". Speak to a backend of another make with Bridge(command, extensions=False)"

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
    "the backend of this bridge has no message for {}. Use a backend of claude_sync, and "
    "Bridge(extensions=True), or do without it"
)


class SessionTransport(Transport):
    """
    A session of a backend of this library: lines of the CLI as they are, both ways.

    It lives once. The session is made when the client greets its CLI.

    Args:
        backend: Returns the backend, started; raises if there is none any more.

    """

    def __init__(self, backend: Callable[[], Backend]) -> None:
        self._find_backend = backend
        self._payload: dict[str, Any] = {}
        self._output: SimpleQueue[bytes] = SimpleQueue()
        self._errors: SimpleQueue[bytes] = SimpleQueue()
        # Bytes that were read, and that the backend does not know of yet. The reader's alone.
        self._taken = 0
        # Guards what is below; orders what is sent. Notified of every change.
        self._changed = threading.Condition(threading.Lock())
        self._backend: Backend | None = None
        # What the ids of our envelopes begin with, and how many there were.
        self._ids = ""
        self._count = 0
        # The id of the greeting.
        self._greeting = ""
        # The id of ``session.create``, until it is answered; then that of the session.
        self._creating: str | None = None
        self._session_id: str | None = None
        # Lines of the client, while the session is being made; the greeting is the first one.
        self._held = b""
        # What stands before each line, once it can be sent.
        self._prefix = b""
        self._input_ends = False
        self._is_unwanted = False
        self._is_over = False
        self._pid: int | None = None
        self._exit_code: int | None = None

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Join the backend."""
        assert launch.options is not None
        self._payload = self._payload_of(launch.options)
        self._backend = self._find_backend()
        self._ids = self._backend.join(self)

    def write(self, data: bytes) -> None:
        """Send whole lines; the first one is the greeting."""
        with self._changed:
            if self._is_over:
                raise BrokenPipeError("the session has ended")
            if self._session_id is not None:
                self._write_locked(data)
                return
            if not self._greeting:
                greeting = decode(data.partition(b"\n")[0]) or {}
                self._greeting = str(greeting.get("request_id"))
                self._create_locked(greeting.get("request") or {})
            self._held += data

    def read(self) -> bytes:
        """What the CLI has printed; the backend is told that there is room for more."""
        data = self._output.get()
        self._taken += len(data)
        if self._taken >= CREDIT // 2:
            with self._changed:
                if self._prefix and self._session_id is not None:
                    self._send_locked("session.credit", {"bytes": self._taken})
            self._taken = 0
        return data

    def read_error(self) -> bytes:
        """What there is to say to people."""
        return self._errors.get()

    def end_input(self) -> None:
        """Tell the CLI that nothing more comes."""
        with self._changed:
            self._input_ends = True
            if self._prefix and self._session_id is not None:
                self._send_locked("session.end_input", {})

    def close(self, timeout: float) -> None:
        """Have the session killed, which is polite; wait for that, and then no longer."""
        with self._changed:
            # The rest is for the way there and back.
            self._kill_locked(SHARE * timeout)
            # Also of a session that is over: of its CLI something may be left.
            wait_for(self._changed, self._is_gone, Deadline(timeout))
            self._end_locked((), self._exit_code)

    def kill(self) -> None:
        """Have the session killed, and do not wait for it."""
        with self._changed:
            self._kill_locked(0.0)
            self._end_locked((), KILLED)

    def free(self) -> None:
        """Let go of everything."""
        if self._backend is not None:
            self._backend.leave(self)

    def abandon(self) -> None:
        """In a forked child: the pipes are the parent's."""
        if self._backend is not None:
            self._backend.process.abandon()

    def wait(self, timeout: float) -> int | None:
        """Wait for the end; the exit code of the CLI, if the backend tells it."""
        with self._changed:
            wait_for(self._changed, lambda: self._is_over, Deadline(timeout))
            return self._exit_code

    @property
    def pid(self) -> int | None:
        """The process id of the CLI, on the machine of the backend, if that tells it."""
        return self._pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of the CLI, or of the backend that died."""
        return self._exit_code

    @property
    def argv(self) -> Sequence[str]:
        """The command of the backend."""
        return self._backend.process.argv if self._backend is not None else ()

    # The backend's side. On the thread that reads for all sessions: nothing waits here.

    def receive_lines(self, lines: list[bytes]) -> None:
        """Take lines of the CLI."""
        self._output.put(b"\n".join(lines) + b"\n")

    def receive(self, envelope: Wire) -> None:
        """Take an envelope for this session."""
        kind, id, payload = envelope.get("type"), envelope.get("id"), envelope.get("payload")
        payload = payload if isinstance(payload, dict) else {}
        with self._changed:
            if kind == "session.created":
                if self._creating is not None and id == self._creating:
                    self._created_locked(str(envelope.get("session_id")), payload)
            elif kind == "session.killed":
                self._session_id = None
                told = () if self._is_unwanted else ("the backend ended the session",)
                self._end_locked(told, 0)
            elif kind == "error":
                self._failed_locked(id, payload)
            else:
                self._hear_locked(str(kind), str(id), payload)
            self._changed.notify_all()

    def backend_ended(self, last_words: Sequence[str], exit_code: int | None) -> None:
        """The process is gone, and this session with it."""
        with self._changed:
            self._session_id = self._creating = None
            self._end_locked(last_words, exit_code)
            self._changed.notify_all()

    # What another backend is told, and tells, in another way.

    def _payload_of(self, options: Options) -> dict[str, Any]:
        """What ``session.create`` says of the settings."""
        return {**raw_payload(options), "raw": True, "credit": CREDIT}

    def _create_locked(self, greeting: Wire) -> None:  # noqa: ARG002
        """Have the session made that a greeting of the client begins."""
        self._creating = self._send_locked("session.create", self._payload)

    def _begin_locked(self, payload: Wire) -> None:
        """The session is there: say what was held back."""
        session_id = self._session_id or ""
        prefix = line_prefix(session_id if session_id.isascii() else "")
        # The id is part of what stands before each line, whose length is known.
        if payload.get("raw") is not True or len(prefix) != PAYLOAD_BEGINS or not raw_line(prefix):
            self._refuse_greeting_locked(NOT_RAW, "INVALID_MESSAGE")
            return
        self._prefix = prefix
        self._write_locked(self._held)
        if self._input_ends:
            self._send_locked("session.end_input", {})

    def _write_locked(self, data: bytes) -> None:
        """Send lines of the client."""
        if self._backend is not None and self._prefix:
            between = b"}\n" + self._prefix
            self._backend.send(self._prefix + data[:-1].replace(b"\n", between) + b"}\n")

    def _hear_locked(self, kind: str, id: str, payload: Wire) -> None:  # noqa: ARG002
        """An envelope for this session."""
        if kind == "session.stderr":
            self._tell_people(str(payload.get("line")))
        elif kind == "session.ended":
            exit_code = payload.get("exit_code")
            self._end_locked((), exit_code if isinstance(exit_code, int) else None)
            self._kill_locked(CLEARING_TIME)

    def _refused_locked(self, id: str, code: Any, text: str, payload: Wire) -> None:  # noqa: ARG002
        """An error that ends nothing."""
        logger.warning("the backend of the bridge says: %s", text)

    # Inside.

    def _is_gone(self) -> bool:
        """Whether the backend has no session to be killed, nor will have."""
        return self._session_id is None and self._creating is None

    def _created_locked(self, session_id: str, payload: Wire) -> None:
        assert self._backend is not None
        self._creating, self._session_id = None, session_id
        pid = payload.get("pid")
        self._pid = pid if isinstance(pid, int) else None
        self._backend.name_session(session_id, self)
        if self._is_unwanted:
            # It was no longer wanted before it was there.
            self._send_locked("session.kill", {})
        else:
            self._begin_locked(payload)

    def _failed_locked(self, id: Any, payload: Wire) -> None:
        code = payload.get("code")
        text = redact_text(str(payload.get("message") or code))
        details = payload.get("details")
        details = details if isinstance(details, dict) else {}
        if code == "SESSION_NOT_FOUND":
            self._session_id = None
            self._fail_locked(text, details)
        elif self._creating is None or id != self._creating:
            self._refused_locked(str(id), code, text, payload)
        else:
            self._creating = None
            if details.get("error") in NOT_STARTED:
                self._fail_locked(text, details)
            else:
                self._refuse_greeting_locked(text, str(code))

    def _fail_locked(self, text: str, details: Wire) -> None:
        tail, exit_code = details.get("stderr_tail"), details.get("exit_code")
        # A backend that tells them has the rest of its text from them.
        lines = [redact_text(str(line)) for line in tail] if isinstance(tail, list) else [text]
        self._end_locked(lines, exit_code if isinstance(exit_code, int) else None)
        # Some backends keep a session whose CLI is dead, or as good as dead.
        self._kill_locked(CLEARING_TIME)

    def _refuse_greeting_locked(self, text: str, code: str | None = None) -> None:
        advice = ADVICE if code == "INVALID_MESSAGE" else ""
        self._say(error_reply(self._greeting, text + advice, code))

    def _say(self, message: Wire) -> None:
        """Let the client read *message*."""
        if not self._is_over:
            self._output.put(json_line(message))

    def _send_locked(self, kind: str, payload: Wire, id: str | None = None) -> str:
        """Say something to the backend; its id."""
        assert self._backend is not None
        self._count += 1
        id = id or f"{self._ids}{self._count}"
        self._backend.send(Envelope(kind, payload, id, self._session_id).line)
        return id

    def _kill_locked(self, timeout: float) -> None:
        """Have the session killed; at once if it exists, else when it does."""
        if not self._is_unwanted:
            self._is_unwanted = True
            if self._session_id is not None:
                payload = {"timeout": timeout} if self._prefix else {}
                self._send_locked("session.kill", payload)

    def _end_locked(self, told: Sequence[str], exit_code: int | None) -> None:
        if not self._is_over:
            self._is_over = True
            self._exit_code = exit_code
            for text in told:
                self._tell_people(text)
            self._errors.put(b"")
            self._output.put(b"")
            self._changed.notify_all()

    def _tell_people(self, text: str) -> None:
        told = "".join(f"{line}\n" for line in text.splitlines())
        if told:
            self._errors.put(told.encode("utf-8", "surrogateescape"))


class DocumentedTransport(SessionTransport):
    """A session of a backend of another make, in the words of the document."""

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


def raw_payload(options: Options) -> dict[str, Any]:
    """The payload of ``session.create`` for a backend of this library."""
    if options.dialect != "cli":
        raise UsageError(
            f"dialect={options.dialect!r} has no effect over a bridge: the backend talks to the "
            "CLI. Leave it out."
        )
    given: dict[str, Any] = {"include_partial_messages": options.include_partial_messages}
    for name, setting in SETTINGS.items():
        value = getattr(options, name)
        if setting.kept == "cli" and value != setting.default:
            given[name] = plain(agents_on_the_wire(value) if name == "agents" else value)
    if "returns" in given:
        # A type, which only this side understands, was made a schema before.
        form = given.pop("returns")
        schema = form if isinstance(form, dict) else {}
        given["output_format"] = {"type": "json_schema", "schema": schema}
    cwd = "" if options.cwd is None else os.fspath(options.cwd)
    return {"prompt": "", "cwd": cwd, "options": given}


def plain(value: Any) -> Any:
    """Tuples as lists, and paths as texts, at whatever depth."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


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
