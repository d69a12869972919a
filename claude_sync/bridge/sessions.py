"""
The sessions of the backend, of two kinds: the CLI's own lines, or the words of the document.

::

    front end -> server -> [raw session] -> filter -> CLI
    front end -> server -> [session] -> client -> CLI

What the CLI of a raw session says is not parsed: a chunk of its lines becomes a chunk of
envelopes. ``session.ended`` comes after all that it said.

In a session of the document, a client speaks with the CLI, and what the CLI says goes out as it
comes. Permissions and hooks are callbacks: requests that go out and whose answers come back, some
time, or never. Each is opened before its ``callback.request`` is sent, and closed once: by its
answer, by the time that is up, or because the CLI no longer waits.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ..client import Client
from ..engine.launch.command import build_launch
from ..engine.launch.process import ProcessTransport
from ..errors import ClaudeError, ClientClosed, TurnError, UsageError
from ..hooks import hook_output
from ..options import Options
from ..permissions.request import LATER, PermissionAnswer, updates
from ..protocol.codec import LineSplitter, decode, encode
from ..support.checks import did_you_mean
from ..support.text import camel_case
from .envelopes import Envelope, Refused, line_prefix
from .settings import Filter, Plan, Policy, check_prompt, check_updates
from .threads import Child, Lane

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from ..engine.launch.transport import Transport
    from ..engine.turn import Turn
    from .server import Server

Payload = Mapping[str, Any]
Give = Callable[[], object]

# The client answers for a hook that takes too long; later than this backend does.
ALLOWANCE = 30.0
DENIED_IN_TIME = "Permission request timed out"
# What of a request for permission a front end is told, where the CLI says it.
MORE_OF_A_PERMISSION = (
    *("blocked_path", "tool_use_id", "decision_reason", "title", "description", "agent_id"),
)


class Room:
    """
    How much of what a session says may be on its way; ``Output`` guards it.

    Attributes:
        credit: For so many bytes the front end has room.
        waiting: So many bytes are not written yet.
        is_closed: Nobody waits for room any more.

    """

    def __init__(self, credit: float = float("inf")) -> None:
        self.credit = credit
        self.waiting = 0
        self.is_closed = False


class Session:
    """
    What both kinds have. The server calls it from the thread that reads, and never waits.

    Attributes:
        id: The backend's own id of it.
        lane: What it does one after the other; also its start.
        room: How much of what it says may wait.
        server: The backend.
        is_ending: Whether it is being closed; the server's.

    """

    def __init__(self, server: Server, plan: Plan, credit: float) -> None:
        self.id = str(uuid4())
        self.name = f"bridge-{self.id[:8]}"
        self.lane = Lane(f"{self.name}-tasks")
        self.room = Room(credit)
        self.is_ending = False
        self.server = server
        self._plan = plan

    def send(self, kind: str, payload: Payload, id: str | None = None) -> None:
        """Say something to the front end, which waits for it."""
        self.server.send(Envelope(kind, payload, id, self.id))


def start_cli(options: Options) -> tuple[Transport, Launch]:
    """A CLI that is to run, and how it is started."""
    launch = build_launch(options)
    return ProcessTransport(), launch


class RawSession(Session):
    """A CLI whose lines go both ways as they are."""

    def __init__(self, server: Server, plan: Plan) -> None:
        super().__init__(server, plan, plan.credit)
        self._options = Options(**plan.settings)
        is_free = server.policy.trusted and not server.policy.folders
        self._filter = None if is_free else Filter(server.policy, plan.cwd)
        self._prefix = line_prefix(self.id)
        self._is_greeted = False
        self._child: Child | None = None
        # A line that has not ended yet.
        self._begun: list[bytes] = []
        self._errors = LineSplitter()

    def start(self, id: str | None) -> None:
        """Start the CLI, and tell that the session is there; on the lane."""
        self.server.policy.check_again(self._plan.settings)
        if self.is_ending:
            raise UsageError("the session is being closed.")
        transport, self._launch = start_cli(self._options)
        told = (self._said, self._said_error, self._ended)
        try:
            self._child = Child(transport, self._launch, self.name, *told)
        except BaseException:
            self._launch.remove_temporary_files()
            raise
        created = {"sdk_session_id": None, "raw": True, "pid": transport.pid}
        self.send("session.created", created, id)
        self._child.begin()

    def close(self, timeout: float) -> None:
        """End it for good, within *timeout* seconds; waits for that."""
        self.server.output.close_room(self.room)
        self.lane.finish()  # what is being started can be ended then
        if self._child is not None:
            self._child.close(timeout)
            self._launch.remove_temporary_files()

    def follow(self, request: Envelope) -> None:
        """Do what the front end wants."""
        if request.type == "session.line":
            self.pass_on(encode(request.payload)[:-1])
        elif request.type == "session.credit":
            count = request.payload.get("bytes")
            if type(count) is not int or count < 0:
                raise request.invalid(f"bytes must be a number of bytes, not {count!r}.")
            self.server.output.add_credit(self.room, count)
        elif request.type == "session.end_input":
            assert self._child is not None
            self._child.end_input()
        else:
            raise request.invalid("this session is raw. Send it session.line.")

    def pass_on(self, line: bytes) -> None:
        """``session.line``: for the CLI, as far as it is allowed."""
        if self._filter is not None:
            passed, answer = self._filter.check(line)
            if answer is not None:
                self.server.output.put(self._prefix + encode(answer)[:-1] + b"}\n")
            if passed is None:
                return
            line = encode(passed)[:-1]
        if not self._is_greeted:
            line = self._with_settings(line)
        assert self._child is not None
        self._child.send(line + b"\n")

    def _with_settings(self, line: bytes) -> bytes:
        """A line; the greeting with the settings that the CLI takes there and not as flags."""
        message = decode(line) or {}
        request = message.get("request")
        if not isinstance(request, dict) or request.get("subtype") != "initialize":
            return line
        self._is_greeted = True
        return encode({**message, "request": {**self._launch.initialize, **request}})[:-1]

    def _said(self, chunk: bytes) -> None:
        """Pass on what it prints, whole lines at a time."""
        lines, newline, rest = chunk.rpartition(b"\n")
        if self.room.is_closed:
            return  # nobody wants it any more
        if newline:
            lines = b"".join([*self._begun, lines])
            self._begun = []
            told = self._prefix + lines.replace(b"\n", b"}\n" + self._prefix) + b"}\n"
            self.server.output.put_in_time(told, self.room, len(lines) + 1)
        self._begun.append(rest)

    def _said_error(self, chunk: bytes) -> None:
        for line in self._errors.feed(chunk) if chunk else self._errors.end():
            text = {"line": line.decode("utf-8", "surrogateescape")}
            told = Envelope("session.stderr", text, None, self.id).line
            self.server.output.put_in_time(told, self.room, 0)

    def _ended(self, exit_code: int | None) -> None:
        if any(self._begun):
            self._said(b"\n")  # a last line that has no end gets one
        self.send("session.ended", {"exit_code": exit_code})


class Callback:
    """
    Something the front end has to answer.

    Args:
        session: Whose it is.
        payload: What the ``callback.request`` says.
        read: Gives, for the payload of an answer, what passes the answer on; UsageError if it
            is none.
        expire: Answers for the front end, which has not, in time.

    """

    def __init__(
        self,
        session: DocumentedSession,
        payload: dict[str, Any],
        read: Callable[[Payload], Give],
        expire: Give,
    ) -> None:
        self.id = str(uuid4())
        self.session = session
        self.payload = payload
        self.read = read
        self._expire = expire
        self._seconds = session.server.policy.callback_timeout
        self._timer = threading.Timer(self._seconds, self._time_is_up)
        self._timer.daemon = True

    def open(self) -> None:
        """Ask the front end; its time runs from now on."""
        self.session.server.callbacks[self.id] = self
        self._timer.start()
        self.session.send("callback.request", self.payload, self.id)

    def close(self) -> bool:
        """It is over: True for the first who says so."""
        self._timer.cancel()
        return self.session.server.callbacks.pop(self.id, None) is not None

    def _time_is_up(self) -> None:
        if self.close():
            self._expire()
            what = self.payload["callback_type"]
            text = f"no answer to this callback ({what}) came within {self._seconds:g} s."
            self.session.server.error("CALLBACK_TIMEOUT", text, self.id, self.session.id)


class DocumentedSession(Session):
    """A client, and what is told of it in the words of the document."""

    def __init__(self, server: Server, plan: Plan) -> None:
        super().__init__(server, plan, float("inf"))
        settings = dict(plan.settings)
        if not (settings.get("resume") or settings.get("continue_conversation")):
            settings.setdefault("session_id", str(uuid4()))
        self._client = Client(
            **settings,
            name=self.name,
            hooks=self._hooks(),
            on_message=self._said,
            on_stream_event=self._said,
            on_permission=self._asked,
        )
        # Set when the front end knows of the session, or never will.
        self._is_known = threading.Event()

    def start(self, id: str | None) -> None:
        """Start the CLI, tell that the session is there, ask the first question."""
        self.server.policy.check_again(self._plan.settings)
        self._client.start()
        self.send("session.created", {"sdk_session_id": self._client.session_id}, id)
        self._is_known.set()
        if self._plan.prompt is not None:
            self._guarded(id, self._submit, self._plan.prompt)

    def close(self, timeout: float) -> None:
        """End it for good, within *timeout* seconds; waits for that."""
        self.server.output.close_room(self.room)
        self._is_known.set()
        try:
            self._client.close(timeout)
        finally:
            for callback in list(self.server.callbacks.values()):
                if callback.session is self:
                    callback.close()
            self.lane.finish()

    def follow(self, request: Envelope) -> None:
        """Do what the front end wants, in the order in which it wants it."""
        if request.type == "session.send":
            message = request.payload.get("message")
            check_prompt(request, "message", message)
            self._in_order(request.id, self._submit, message)
        elif request.type == "session.interrupt":
            self._in_order(request.id, self._interrupt)
        elif request.type == "query.call":
            query = bound_query(self._client, request, self.server.policy)
            self._in_order(request.id, self._call, query)
        else:
            raise request.invalid('the session was not created with "raw": true.')

    def answer(self, callback: Callback, request: Envelope) -> None:
        """``callback.response``."""
        try:
            give = callback.read(request.payload)
        except UsageError as error:
            raise request.invalid(str(error)) from None
        if not callback.close():
            raise Refused("CALLBACK_NOT_FOUND", "the time for this answer is up.")
        give()

    def _submit(self, id: str | None, prompt: Any) -> None:
        self.server.policy.check_again(self._plan.settings)  # it may have to start the CLI
        turn = self._client.submit(prompt)
        turn.add_done_callback(lambda _: self._turn_ended(id, turn))

    def _turn_ended(self, id: str | None, turn: Turn[Any]) -> None:
        """Tell of an end that the CLI has not told of."""
        error = None if turn.cancelled() else turn.exception(0)
        told = isinstance(error, TurnError) and error.result is not None
        if error is not None and not told and not isinstance(error, ClientClosed):
            self._error("SDK_ERROR", error, id)

    def _interrupt(self, id: str | None) -> None:
        self._client.interrupt()
        self.send("session.interrupted", {}, id)

    def _call(self, id: str | None, query: Callable[[], Any]) -> None:
        try:
            self.server.policy.check_again(self._plan.settings)
            result = {"success": True, "result": query()}
        except ClientClosed:
            raise
        except UsageError as error:  # it was never sent
            self._error("QUERY_METHOD_FAILED", error, id)
            return
        except ClaudeError as error:
            result = {"success": False, "error": str(error), "details": details_of(error)}
        self.send("query.result", result, id)

    def _in_order(self, id: str | None, task: Callable[..., object], *args: Any) -> None:
        self.lane.run(lambda: self._guarded(id, task, *args))

    def _guarded(self, id: str | None, task: Callable[..., object], *args: Any) -> None:
        """Do *task*, and tell the front end of its failure."""
        try:
            task(id, *args)
        except ClientClosed:
            text = f"the session {self.id} has ended. Create another one."
            self.server.error("SESSION_NOT_FOUND", text, id, self.id)
        except Exception as error:
            self._error("SDK_ERROR", error, id)

    def _error(self, code: str, error: BaseException, id: str | None) -> None:
        self.server.error(code, str(error), id, self.id, details_of(error))

    # What the CLI says, and asks.

    def _said(self, message: Any) -> None:
        # What a CLI says before it answers the greeting is about no session yet.
        self._is_known.wait()
        line = Envelope("sdk.message", message.raw, None, self.id).line
        self.server.output.put_in_time(line, self.room, len(line))

    def _asked(self, request: Any) -> PermissionAnswer:
        payload: dict[str, Any] = {
            "callback_type": "can_use_tool",
            "tool_name": request.tool,
            "tool_input": request.raw_input,
            "suggestions": list(request.suggestions),
        }
        for name in MORE_OF_A_PERMISSION:
            if request.raw.get(name) is not None:
                payload[name] = request.raw[name]

        def read(answer: Payload) -> Give:
            give = self._permission(request, answer)
            # Writing may have to wait for the CLI to read.
            return lambda: self._in_order(callback.id, lambda _: give())

        callback = Callback(self, payload, read, lambda: request.deny(DENIED_IN_TIME))
        callback.open()
        request.on_cancel(callback.close)
        return LATER

    def _permission(self, request: Any, answer: Payload) -> Give:
        """What gives the answer to a request for permission."""
        behavior = answer.get("behavior")
        if behavior == "deny":
            message = answer.get("message")
            if message is not None and not isinstance(message, str):
                raise UsageError("message must be a string, the reason that Claude reads.")
            words = {} if message is None else {"message": message}
            return lambda: request.deny(**words, interrupt=answer.get("interrupt") is True)
        if behavior != "allow":
            raise UsageError(f"behavior must be 'allow' or 'deny', not {behavior!r}.")
        changed = answer.get("updated_input")
        if changed is not None and not isinstance(changed, dict):
            raise UsageError("updated_input must be the tool's whole input, an object.")
        if changed is None:
            # As it came: what was approved is what runs. Questions need answers in it.
            changed = dict(request.raw_input)
        rules = updates(self._checked(answer.get("updated_permissions") or []))
        # Later, when the callback is closed, nobody would be left to give another answer.
        encode({"updated_input": changed, "updated_permissions": rules})
        return lambda: request.allow(changed, permissions=rules)

    def _hooks(self) -> dict[str, list[dict[str, Any]]]:
        """The hooks of the front end as the client takes them."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for event, matcher in self._plan.hooks:
            limit = self.server.policy.callback_timeout + ALLOWANCE
            group = {"matcher": matcher, "hooks": [self._hook(event)], "timeout": limit}
            groups.setdefault(event, []).append(group)
        return groups

    def _hook(self, name: str) -> Callable[[Any], Any]:
        def front_end_hook(event: Any) -> Any:
            payload = {"callback_type": "hook", "hook_event": name, "hook_input": event.raw}
            if event.tool_use_id is not None:
                payload["tool_use_id"] = event.tool_use_id
            answers: list[dict[str, Any]] = []

            def read(payload: Payload) -> Give:
                answer = self._hook_answer(name, payload)

                def give() -> None:
                    answers.append(answer)
                    event.cancelled.set()  # what the thread of this hook waits for

                return give

            callback = Callback(self, payload, read, event.cancelled.set)
            callback.open()
            event.cancelled.wait()
            callback.close()
            return answers[0] if answers else {}

        return front_end_hook

    def _hook_answer(self, event: str, payload: Payload) -> dict[str, Any]:
        """The answer to a hook, as the CLI has it."""
        answer = in_camel_case(payload)
        specific = answer.get("hookSpecificOutput")
        if isinstance(specific, dict):
            specific = answer["hookSpecificOutput"] = in_camel_case(specific)
            if isinstance(specific.get("decision"), dict):
                specific["decision"] = in_camel_case(specific["decision"])
        checked = hook_output(event, answer)
        # A hook about permissions can change the rules as well as who is asked.
        decision = (checked.get("hookSpecificOutput") or {}).get("decision")
        if isinstance(decision, dict) and decision.get("updatedPermissions") is not None:
            decision["updatedPermissions"] = self._checked(decision["updatedPermissions"])
        return checked

    def _checked(self, permissions: Any) -> list[Mapping[str, Any]]:
        return check_updates(permissions, self.server.policy, self._plan.cwd)


# query.call: the eight methods of the document.


def rewind(client: Client, user_message_id: Any, options: Any = None) -> Any:
    """The files as they were."""
    options = options if isinstance(options, dict) else {}
    dry_run = options.get("dryRun", options.get("dry_run", False))
    return client.rewind_files(user_message_id, dry_run)


QUERIES: dict[str, Callable[..., Any]] = {
    "supportedModels": lambda client: client.supported_models(),
    "supportedCommands": lambda client: client.supported_commands(),
    "mcpServerStatus": lambda client: client.mcp_status().servers,
    "accountInfo": lambda client: client.account_info(),
    "setModel": lambda client, model=None: client.set_model(model),
    "setPermissionMode": lambda client, mode: client.set_permission_mode(mode),
    "setMaxThinkingTokens": lambda client, tokens=None: client.set_max_thinking_tokens(tokens),
    "rewindFiles": rewind,
}


def bound_query(client: Client, request: Envelope, policy: Policy) -> Callable[[], Any]:
    """
    What calls the method that a ``query.call`` names; those that set something return nothing.

    Raises:
        Refused: There is no such method, or it cannot be called so.

    """
    name, args = request.payload.get("method"), request.payload.get("args")
    if not isinstance(name, str) or name not in QUERIES:
        text = f"there is no method {name!r}.{did_you_mean(name, QUERIES)}"
        raise Refused("QUERY_METHOD_FAILED", f"{text} There are {', '.join(QUERIES)}.")
    try:
        if not isinstance(args, (list, type(None))):
            raise TypeError("args must be a list.")
        bound = inspect.signature(QUERIES[name]).bind(client, *(args or ()))
        if name == "setPermissionMode":
            policy.check_mode(bound.arguments["mode"])
    except (TypeError, UsageError) as error:
        text = f"{name} cannot be called so: {error}"
        raise Refused("QUERY_METHOD_FAILED", text) from None
    if name.startswith("set"):
        return lambda: QUERIES[name](*bound.args) and None
    return lambda: plain(QUERIES[name](*bound.args))


def plain(value: Any) -> Any:
    """A reply as JSON: the CLI's own words where there are some."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.raw if hasattr(value, "raw") else value


def in_camel_case(fields: Payload) -> dict[str, Any]:
    """The fields that are set, with names as the CLI has them."""
    return {camel_case(name): value for name, value in fields.items() if value is not None}


def details_of(error: BaseException) -> dict[str, Any]:
    """What a program may want to know of an error."""
    details: dict[str, Any] = {"error": type(error).__name__}
    for name in ("exit_code", "stderr_tail", "code", "text"):
        value = getattr(error, name, None)
        if value or (name == "exit_code" and value is not None):
            details[name] = list(value) if isinstance(value, tuple) else value
    return details
