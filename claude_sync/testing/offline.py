"""
The built-in script: a CLI that needs no account, because it only echoes.

::

    stdin -> [hear] -> requests: answered at once, by the table CONTROLS
                    -> questions: one turn after the other

``--offline`` runs on it, and benchmarks measure the client with it. It says on stderr that
no model is involved. What it does about requests, and about messages that arrive in
mid-turn, is what the newest CLI does.

It answers ``echo:`` and the prompt, streamed by words. Prompts can hold directives::

    [[sleep 2]]             wait before the answer; an interrupt ends the wait
    [[pace 0.1]]            wait between two pieces of the answer
    [[tool NAME {...}]]     ask for permission to use a tool, and say what came of it
    [[background 2]]        let an agent report back, unasked, after the answer (new style)
    [[deltas 1000]]         answer with so many pieces of text, as fast as possible
    [[size 1000000]]        answer with one message of so many bytes
    [[empty]]               answer with nothing but a result

A tool of the client itself, NAME or ``mcp__SERVER__NAME``, is really called; any other
tool is only talked about.
"""

from __future__ import annotations

import collections
import itertools
import json
import re
import time

from . import builders
from .cli_side import CliSide, EndOfInput, encoded, last_text_of, text_of, words_of

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Wire = dict[str, Any]

__all__ = ["NOTICE", "Echo", "echo"]

NOTICE = "offline stand-in: no model is involved, answers are echoes"
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
FREE = {"id": "free_space", "name": "Free space", "tokens": 200_000, "kind": "free"}
EMPTY_CONTEXT = {"categories": [FREE], "totalTokens": 0, "maxTokens": 200_000, "percentage": 0}
DIRECTIVE = re.compile(
    r"\[\[(?:(sleep|pace|background|deltas|size) (\d+(?:\.\d+)?)\]\]|(empty)\]\]"
    r"|tool (\S+?)(?: |(?=\]\])))"
)
HOW_TO_USE_A_TOOL = (
    'After the name there must be a JSON object and ]], as in [[tool Bash {"command": "ls"}]]'
)
COMMANDS = {"cost": "Total cost: ${cost:.4f}", "compact": "Compacted ", "clear": ""}
# Pieces that are built once and written together: a few reads of the client.
PIECES_AT_ONCE = 250


def echo(cli: CliSide) -> None:
    """Be the offline CLI, until the client ends its side."""
    cli.print_error(NOTICE)
    Echo(cli).run()


class Refused(Exception):
    """A request that cannot be granted: the text, and its code."""


class Interrupted(Exception):
    """The client has ended the turn; the text is what the CLI notes about it."""

    def __init__(self, what: str = "") -> None:
        super().__init__(f"[Request interrupted by user{what}]")


class Echo:
    """
    The offline CLI: hears, serves requests, and plays one turn after the other.

    Attributes:
        cli: What carries its words.
        waiting: User messages whose turn has not begun.
        turn: The user messages that the running turn answers; empty between turns.
        asking: The permission request that waits for the client, or None.
        cost: What the turns so far claim to have cost.
        background: When each background task reports back, and its id.

    """

    def __init__(self, cli: CliSide) -> None:
        self.cli = cli
        self.waiting: collections.deque[Wire] = collections.deque()
        self.turn: list[Wire] = []
        self.asking: Wire | None = None
        self.cost = 0.0
        self.background: list[tuple[float, str]] = []
        # The client's own servers; those that it added, and those that are switched off.
        self.servers: list[str] = []
        self.added: list[str] = []
        self.disabled: set[str] = set()
        self.settings: Wire = {}
        self._hooks: Wire = {}
        self._announced: set[Any] = set()
        self._replies: dict[str, Wire] = {}
        self._interrupted = False
        self._ended = False
        # What the running turn has streamed, and not completed; its denials; its tools.
        self._said = ""
        self._denials: list[Wire] = []
        self._tools_used = 0

    def run(self) -> None:
        """Hear and answer, until the input ends and every question has its answer."""
        while True:
            if self.waiting:
                self._play(self.waiting.popleft())
            elif self._ended:
                return
            elif not self.background:
                self.hear(None)
            elif (left := self.background[0][0] - time.monotonic()) > 0:
                self.hear(left)
            else:
                self._report_back(self.background.pop(0)[1])

    # Hearing.

    def hear(self, patience: float | None) -> bool:
        """Take in one message; whether one came."""
        try:
            message = self.cli.receive(patience)
        except EndOfInput:
            self._ended = True
            return False
        if message is None:
            return False
        kind = message.get("type")
        if kind == "user":
            self.take_question(message)
        elif kind == "control_request":
            self._serve(message)
        elif kind == "control_response":
            response = message.get("response")
            if isinstance(response, dict):
                self._replies[str(response.get("request_id"))] = response
            if self.cli.replays and self.cli.style == "new":
                self.cli.say(message)  # a side effect of replaying user messages
        return True

    def take_question(self, user: Wire) -> None:
        """Keep *user* until its turn; say that it is queued if that may take a while."""
        self.waiting.append(user)
        if self.turn:
            self._announced.add(user.get("uuid"))
            self.cli.say(*self.cli.progress([user], "queued"))

    def _wait(self, seconds: float) -> None:
        """Take in what comes in so many seconds; raise Interrupted if the turn is to end."""
        deadline = time.monotonic() + seconds
        while not self._ended:
            came = self.hear(max(0.0, deadline - time.monotonic()))
            if self._interrupted:
                raise Interrupted
            if not came and time.monotonic() >= deadline:
                return
        if (left := deadline - time.monotonic()) > 0:
            self.cli.pause(left)  # as real CLIs do, it finishes what it has begun

    def _reply_to(self, request: Wire) -> Wire | None:
        """Wait for the client's reply to a request of ours; None if its side has ended."""
        identity = request["request_id"]
        while identity not in self._replies:
            if self._ended:
                return None
            self.hear(None)
            if self._interrupted:
                raise Interrupted
        return self._replies.pop(identity)

    # Serving.

    def _serve(self, request: Wire) -> None:
        """Answer a request of the client."""
        body = request.get("request")
        body = body if isinstance(body, dict) else {}
        subtype = body.get("subtype")
        if subtype == "initialize":
            self._initialize(request, body)
        elif subtype == "interrupt":
            self._interrupt(request, body)
        elif subtype in CONTROLS and "request_id" in request:
            try:
                self.cli.reply(request, **CONTROLS[subtype](self, body))
            except Refused as refused:
                self.cli.refuse(request, *refused.args)
            else:
                if subtype == "set_permission_mode":
                    self.cli.say(
                        builders.status(None, permissionMode=self.cli.mode, **self.cli.ours)
                    )
        else:
            text = f"Unsupported control request subtype: {subtype}"
            self.cli.refuse({"request_id": request.get("request_id")}, text, "unsupported_request")

    def _initialize(self, request: Wire, body: Wire) -> None:
        """Begin; the client's own servers are spoken to before it is answered."""
        self.servers = [str(name) for name in body.get("sdkMcpServers") or ()]
        self._hooks = body.get("hooks") or {}
        if isinstance(body.get("jsonSchema"), dict):
            self.cli.form = body["jsonSchema"]
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        us = {"name": "stand-in", "version": self.cli.version}
        for server in self.servers:
            self._call_server(server, "initialize", {**hello, "clientInfo": us})
        self.cli.say(self.cli.initialized(request))

    def _interrupt(self, request: Wire, body: Wire) -> None:
        """End the running turn; with ``cancel_queued`` drop what waits, too."""
        if self.asking is not None:
            self.cli.cancel(self.asking)
        waiting = list(self.waiting)
        uuids = [user.get("uuid") for user in waiting]
        if body.get("cancel_queued"):
            self.waiting.clear()
            self.cli.reply(request, still_queued=[], cancelled=uuids)
            self.cli.say(*self.cli.progress(waiting, "cancelled"))
        else:
            self.cli.reply(request, still_queued=uuids)
        self._interrupted = bool(self.turn)

    def _call_server(self, server: str, method: str, params: Wire) -> Wire:
        """Call an MCP server inside the client; its answer, empty if there is none."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self._reply_to(self.cli.call_server(server, message)) or {}
        answer = (reply.get("response") or {}).get("mcp_response")
        return answer if isinstance(answer, dict) else {}

    # Turns.

    def _play(self, user: Wire) -> None:
        """Play the turn of *user*."""
        cli, prompt = self.cli, text_of(user)
        self.turn, self._interrupted, self._said, self._denials = [user], False, "", []
        is_new = cli.style == "new"
        last = "" if is_new and user.get("client_composed") is True else last_text_of(user)
        command = last[1:].split(" ")[0] if last.startswith("/") else ""
        try:
            if user.get("shouldQuery") is False and is_new:
                cli.end_turn(user, "", **self._money())
            elif command in COMMANDS:
                self._run_command(user, command)
            elif "[[" in prompt or cli.settings.get("pace"):
                self._obey(user, directives_of(prompt))
            else:
                # Quick: most turns of a benchmark are this one write.
                announced = user.get("uuid") in self._announced
                cli.answer("echo: " + described(user), to=user, announced=announced, **self._paid())
        except Interrupted as interruption:
            fields = {"note": str(interruption), **self._money()}
            cli.say(*cli.interruption(self.turn, self._said, **fields))
        finally:
            self.turn = []

    def _obey(self, user: Wire, directives: Sequence[tuple[str, Any]]) -> None:
        """Answer *user* as the directives in its prompt say."""
        cli, given = self.cli, dict(directives)
        if "empty" in given:
            cli.say(builders.result("", cli.uuids([user]), **cli.ours, **self._money()))
            return
        cli.begin_turn(user, user.get("uuid") in self._announced)
        texts = []
        for name, value in directives:
            if name == "sleep":
                self._wait(value)
            elif name == "tool":
                texts += [self._use_tool(*value), *self._take_in_waiting()]
            elif name == "unreadable":
                texts.append(f"the stand-in cannot read {value}. {HOW_TO_USE_A_TOOL}")
            elif name == "background" and cli.style == "new":
                self._start_background(value)
        if "deltas" in given:
            count = int(given["deltas"])
            pieces = [f"{number:04d} " for number in range(min(count, PIECES_AT_ONCE))]
            text = ("".join(pieces) * (count // PIECES_AT_ONCE + 1))[: 5 * count]
            self._stream(text, pieces, count)
        elif "size" in given:
            text = "x" * int(given["size"])
            cli.say(builders.assistant(text, cli.next_message_id(), **self.cli.ours))
        else:
            text = "\n".join(texts) or "echo: " + described(user)
            pieces = words_of(text)
            pace = given.get("pace") or cli.settings.get("pace") or 0.0
            self._stream(text, pieces, len(pieces), pace)
        messages = cli.ending(self.turn, text, permission_denials=self._denials, **self._paid())
        # It is not idle as long as an agent works.
        cli.say(*(m for m in messages if not (self.background and m.get("state") == "idle")))

    def _stream(self, text: str, pieces: Sequence[str], count: int, pace: float = 0.0) -> None:
        """Say *text*, which is *count* times a piece: *pieces*, again and again."""
        cli = self.cli
        if not cli.partial:
            self._wait(pace)
            cli.speak(text)
            return
        start, block, *deltas, complete, stop, delta, end = cli.spoken("".join(pieces), pieces)
        complete["message"]["content"][0]["text"] = text
        cli.say(start, block)
        again = itertools.cycle(zip(pieces, [encoded([message]) for message in deltas]))
        at_once = 1 if pace else PIECES_AT_ONCE
        for place in range(0, count, at_once):
            self._wait(pace)
            portion = list(itertools.islice(again, min(at_once, count - place)))
            cli.print_raw(b"".join([line for _, line in portion]))
            self._said += "".join([piece for piece, _ in portion])
        cli.say(complete, stop, delta, end)
        self._said = ""

    def _take_in_waiting(self) -> list[str]:
        """What arrived in the meantime joins the turn at a tool round; it is echoed, too."""
        self._wait(0)
        texts = []
        while self.waiting:
            user = self.waiting.popleft()
            self.cli.say(*self.cli.progress([user], "started"), *self.cli.repetition(user))
            self.turn.append(user)
            texts.append("echo: " + described(user))
        return texts

    def _run_command(self, user: Wire, command: str) -> None:
        """Do what a slash command does; the result of a new CLI has its output."""
        cli = self.cli
        output = COMMANDS[command].format(cost=self.cost)
        cli.say(*cli.beginning(user, user.get("uuid") in self._announced))
        if command == "compact":
            metadata = {"compact_metadata": {"trigger": "manual", "pre_tokens": 19}}
            cli.say(builders.system("compact_boundary", **metadata, **self.cli.ours))
        if cli.style == "old" or command == "compact":
            text = f"<local-command-stdout>{output}</local-command-stdout>"
            cli.say(builders.user(text, isReplay=True, **self.cli.ours))
            output = ""
        cli.say(*cli.repetition(user))
        if command == "clear":
            cli.session_id = builders.new_uuid()
        about = {"local_command": command} if cli.style == "new" else {}
        cli.end_turn(user, output, num_turns=0, **about, **self._money())

    def _money(self) -> Wire:
        """What the session claims to have cost so far."""
        return {"total_cost_usd": self.cost}

    def _paid(self) -> Wire:
        """The same with this turn, and what a model would have filled in."""
        self.cost += self.cli.settings.get("cost", 0.0)
        form = self.cli.form
        return {
            **self._money(),
            **({} if form is None else {"structured_output": example_of(form)}),
        }

    # Agents in the background.

    def _start_background(self, seconds: float) -> None:
        """Start an agent that works in the background, and remember to report back."""
        task = f"task{builders.new_uuid()[-8:]}"
        self.background.append((time.monotonic() + seconds, task))
        self.background.sort()
        alive = [each for _, each in self.background]
        self.cli.say(
            builders.background_tasks_changed(alive, **self.cli.ours),
            builders.task_started(task, **self.cli.ours),
        )

    def _report_back(self, task: str) -> None:
        """A turn that nobody asked for: a background agent says how it ended."""
        cli, ours = self.cli, self.cli.ours
        text = f"echo: the background task {task} has ended"
        origin = {"kind": "task-notification", "producer": "session-task", "runId": task}
        alive = [other for _, other in self.background]
        cli.say(
            builders.task_updated(task, **ours),
            builders.task_notification(task, **ours),
            builders.background_tasks_changed(alive, **ours),
            *self.cli.state("running"),
            cli.init(),
            *cli.spoken(text),
            builders.result(text, origin=origin, **ours, **self._paid()),
            *([] if alive else self.cli.state("idle")),
        )

    # Tools.

    def _use_tool(self, name: str, input: Wire) -> str:
        """A round with a tool: call, permission, outcome; the outcome in words."""
        cli = self.cli
        name, is_known = self._resolved(name)
        self._tools_used += 1
        identity = f"toolu_{cli.next_message_id()[-12:]}{self._tools_used:02d}"
        block = builders.tool_use(name, input, identity)
        cli.say(builders.assistant(block, cli.message_id, model=cli.model, **self.cli.ours))
        interrupted, decision = False, {}
        try:
            decision = self._decision(name, input, identity) if is_known else {}
            is_error = decision.get("behavior") != "allow"
            if not is_known:  # as the CLI says it, which asks nobody
                output = f"No such tool available: {name}"
            elif is_error:
                output = str(decision.get("message") or "denied")
                denial = {"tool_name": name, "tool_use_id": identity, "tool_input": input}
                self._denials.append(denial)
            else:
                output, is_error = self._outcome(name, decision.get("updatedInput") or input)
            interrupted = is_error and bool(decision.get("interrupt"))
        except Interrupted:
            interrupted, is_error = True, True
            output = "The user doesn't want to proceed with this tool use."
        result = builders.tool_result(identity, output, is_error)
        cli.say(builders.user(result, **self.cli.ours))
        if interrupted:
            raise Interrupted(" for tool use")
        return f"{name}: {output}"

    def _resolved(self, name: str) -> tuple[str, bool]:
        """The whole name of a tool; False for a tool that a server of the client lacks."""
        for server in self.servers:
            listed = self._call_server(server, "tools/list", {}).get("result") or {}
            tools = [f"mcp__{server}__{tool.get('name')}" for tool in listed.get("tools") or ()]
            whole = name if name.startswith("mcp__") else f"mcp__{server}__{name}"
            if whole in tools:
                return whole, True
        own = tuple(f"mcp__{server}__" for server in self.servers)
        return name, not name.startswith(own)

    def _decision(self, name: str, input: Wire, identity: str) -> Wire:
        """What the client says about using a tool."""
        cli = self.cli
        refusal = self._refusal_of_hooks(name, input, identity)
        if refusal is not None:
            return {"behavior": "deny", "message": refusal}
        allowed = (cli.option("--allowedTools") or "").split(",")
        if cli.mode == "bypassPermissions" or name in allowed:
            return {"behavior": "allow"}
        cli.say(*self.cli.state("requires_action"))
        self.asking = cli.ask_permission(name, input, tool_use_id=identity)
        try:
            reply = self._reply_to(self.asking)
        finally:
            self.asking = None
        cli.say(*self.cli.state("running"))
        if reply is None:
            return {"behavior": "deny", "message": "Tool permission stream closed"}
        decision = reply.get("response")
        if isinstance(decision, dict):
            return decision
        return {"behavior": "deny", "message": str(reply.get("error"))}

    def _refusal_of_hooks(self, name: str, input: Wire, identity: str) -> str | None:
        """Ask the client's PreToolUse hooks about a tool; why one of them refuses, or None."""
        about = {"tool_name": name, "tool_input": input, "cwd": self.cli.cwd}
        callbacks = [
            callback
            for hook in self._hooks.get("PreToolUse") or ()
            # A pattern in the real CLI; to list names is enough here.
            if name in (hook.get("matcher") or name).split("|")
            for callback in hook.get("hookCallbackIds") or ()
        ]
        for callback in callbacks:
            request = self.cli.call_hook(callback, "PreToolUse", about, tool_use_id=identity)
            reply = self._reply_to(request) or {}
            output = (reply.get("response") or {}).get("hookSpecificOutput") or {}
            if output.get("permissionDecision") == "deny":
                return str(output.get("permissionDecisionReason"))
        return None

    def _outcome(self, name: str, input: Wire) -> tuple[str, bool]:
        """What a tool that may be used gives, and whether that is an error."""
        _, server, tool = (*name.split("__", 2), "", "")[:3]
        if not name.startswith("mcp__") or server not in self.servers:
            return f"offline, so not run: {json.dumps(input)}", False
        answer = self._call_server(server, "tools/call", {"name": tool, "arguments": input})
        if "error" in answer:
            return str(answer["error"].get("message")), True
        given = answer.get("result") or {}
        parts = [str(part.get("text", part.get("type"))) for part in given.get("content") or ()]
        return "\n".join(parts), bool(given.get("isError"))

    # What there is a control request for. Nothing stands behind most of it: it remembers what it
    # was sent, and says so. Numbers are made up where there is nothing to count.

    def _set_mode(self, body: Wire) -> Wire:
        mode = str(body.get("mode"))
        if mode not in MODES:
            text = f"Cannot set permission mode: must be one of {', '.join(MODES)}"
            raise Refused(text, "invalid_mode")
        self.cli.mode = mode
        return {"mode": mode}

    def _set_model(self, body: Wire) -> Wire:
        self.cli.model = str(body.get("model") or builders.MODEL)
        return {"model": self.cli.model}

    def _get_settings(self, _: Wire) -> Wire:
        sources = [{"source": "flagSettings", "settings": self.settings}] if self.settings else []
        applied = {"model": self.cli.model, "effort": self.settings.get("effortLevel")}
        return {"effective": self.settings, "sources": sources, "applied": applied}

    def _apply_settings(self, body: Wire) -> Wire:
        merged = {**self.settings, **(body.get("settings") or {})}  # null takes one back
        self.settings = {key: value for key, value in merged.items() if value is not None}
        return {}

    def _mcp_status(self, _: Wire) -> Wire:
        status = {True: "disabled", False: "connected"}
        names = [*self.servers, *self.added]
        return {"mcpServers": [{"name": n, "status": status[n in self.disabled]} for n in names]}

    def _set_servers(self, body: Wire) -> Wire:
        before, self.added = self.added, list(body.get("servers") or {})
        added = [name for name in self.added if name not in before]
        removed = [name for name in before if name not in self.added]
        return {"added": added, "removed": removed, "errors": {}}

    def _reconnect(self, body: Wire) -> Wire:
        if body.get("serverName") not in (*self.servers, *self.added):
            raise Refused(f"Server not found: {body.get('serverName')}")
        return {}

    def _toggle(self, body: Wire) -> Wire:
        done = self._reconnect(body)
        change = self.disabled.discard if body.get("enabled") else self.disabled.add
        change(body["serverName"])
        return done

    def _stop_task(self, body: Wire) -> Wire:
        self.background = [each for each in self.background if each[1] != body.get("task_id")]
        return {}


CONTROLS: dict[Any, Callable[[Echo, Wire], Wire]] = {
    "set_model": Echo._set_model,
    "set_permission_mode": Echo._set_mode,
    "get_settings": Echo._get_settings,
    "apply_flag_settings": Echo._apply_settings,
    "mcp_status": Echo._mcp_status,
    "mcp_set_servers": Echo._set_servers,
    "mcp_reconnect": Echo._reconnect,
    "mcp_toggle": Echo._toggle,
    "stop_task": Echo._stop_task,
    "side_question": lambda _, body: {"response": f"echo: {body.get('question')}"},
    "get_usage": lambda echo, _: {"session": {"total_cost_usd": echo.cost, "model_usage": {}}},
    "get_context_usage": lambda echo, _: {**EMPTY_CONTEXT, "model": echo.cli.model},
    "rewind_files": lambda *_: {"canRewind": True, "filesChanged": []},
    "set_max_thinking_tokens": lambda *_: {},
    "background_tasks": lambda *_: {},
    "rename_session": lambda *_: {},
}


# Reading questions.


def directives_of(prompt: str) -> list[tuple[str, Any]]:
    """The directives in *prompt*, in their order; a tool that cannot be read is ``unreadable``."""
    found: list[tuple[str, Any]] = []
    place = 0
    while (match := DIRECTIVE.search(prompt, place)) is not None:
        place = match.end()
        name, number, empty, tool = match.groups()
        if tool is None:
            found.append((name or empty, float(number or 0)))
            continue
        try:
            input, end = json.JSONDecoder().raw_decode(prompt, place)
        except ValueError:
            input, end = None, place
        if isinstance(input, dict) and prompt.startswith("]]", end):
            found.append(("tool", (tool, input)))
            place = end
        else:
            line = prompt[match.start() :].partition("\n")[0]
            found.append(("unreadable", "".join(line.partition("]]")[:2])))
    return found


def described(user: Mapping[str, Any]) -> str:
    """The text of a user message, and what is attached to it."""
    content = (user.get("message") or {}).get("content")
    if not isinstance(content, list):
        return str(content)
    return "\n".join(described_block(block) for block in content if isinstance(block, dict))


def described_block(block: Mapping[str, Any]) -> str:
    """One block of a user message, in words."""
    if block.get("type") == "text":
        return str(block.get("text"))
    source = block.get("source") or {}
    data = str(source.get("data", ""))
    size = f"{len(data)} characters"
    if source.get("type") == "base64":
        size = f"{len(data) * 3 // 4 - data[-2:].count('=')} bytes"
    kind = source.get("media_type") or source.get("type")
    return f"[{block.get('title') or block.get('type')}: {kind}, {size}]"


# What the offline CLI gives where a model would fill in a form.

# Optional parts that hold themselves would never end.
DEEPEST = 8
# What the description of a text says of it: "Format: date."
FORMAT = re.compile(r"\bFormat: ([\w-]+)")
SAMPLES = {
    "text": "echo",
    "number": "1",
    "name": "ECHO",
    "address": "echo@example.org",
    "date": "2026-03-01",
    "date-time": "2026-03-01T14:30:00Z",
    "decimal": "1.50",
    "time": "14:30:00",
    "uuid": "7d444840-9dc0-41d1-b245-5ffdce74fad2",
}


def example_of(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """A small value that has the form of a JSON Schema, as far as that can be guessed."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None

    def inside(part: Any) -> Any:
        return example_of(part, root, depth + 1)

    if "$ref" in schema:  # such as #/$defs/Name
        part = root
        for name in str(schema["$ref"]).split("/")[1:]:
            part = part.get(name) if isinstance(part, dict) else None
        return inside(part)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return inside(schema[choice][0])
    kind = schema.get("type")
    kind = next(iter(kind), None) if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        # What it must have; near the top, all it can have.
        needed = schema.get("required", ())
        parts = schema.get("properties", {}).items()
        return {name: inside(part) for name, part in parts if name in needed or depth == 0}
    if kind == "array":
        return [inside(schema.get("items", {})) for _ in range(max(1, schema.get("minItems", 1)))]
    least = schema.get("minimum", 1)
    scalars = {"integer": max(1, least), "number": max(1.5, least), "boolean": True, "null": None}
    return scalars[kind] if kind in scalars else example_text(schema)


def example_text(schema: Mapping[str, Any]) -> str:
    """A text that has the format or the pattern that the schema names."""
    found = FORMAT.search(str(schema.get("description", "")))
    sample = SAMPLES.get(found.group(1) if found else "", SAMPLES["text"])
    try:
        fits = re.compile(str(schema.get("pattern", ""))).search
        sample = next(filter(fits, (sample, *SAMPLES.values())), sample)
    except re.error:  # a pattern that only JavaScript understands
        pass
    return sample.ljust(int(schema.get("minLength", 0)), ".")
