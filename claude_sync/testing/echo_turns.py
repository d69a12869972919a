"""
The turns of the offline CLI: what it answers, and what a prompt can make it do.

It answers ``echo:`` and the prompt, streamed by words. Prompts can hold directives::

    [[sleep 2]]             wait before the answer; an interrupt ends the wait
    [[pace 0.1]]            wait between two pieces of the answer
    [[tool NAME {...}]]     ask for permission to use a tool, and tell what came of it
    [[background 2]]        let an agent report back, unasked, after the answer (new style)
    [[deltas 1000]]         answer with so many pieces of text, as fast as possible
    [[size 1000000]]        answer with one message of so many bytes
    [[empty]]               answer with nothing but a result

A tool ``mcp__SERVER__NAME`` of a server inside the client is really called; any
other tool is only talked about.
"""

from __future__ import annotations

import json
import re
import time

from . import builders
from .cli_side import encoded, last_text_of, text_of, words_of

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .offline import Echo

    Wire = dict[str, Any]
    Schema = dict[str, Any]
    Directive = tuple[str, Any]

__all__ = ["EchoTurn", "Interrupted", "described", "directives_of", "example_of"]

DIRECTIVE = re.compile(
    r"\[\[(?:(sleep|pace|background|deltas|size) (\d+(?:\.\d+)?)\]\]|(empty)\]\]|tool (\S+) )"
)
COMMANDS = {"cost": "Total cost: ${cost:.4f}", "compact": "Compacted ", "clear": ""}
# Pieces that are built once and written together: a few reads of the client.
PIECES_AT_ONCE = 250
# Made-up data. Tried one after the other where a pattern is given.
TEXTS = ("echo", "1", "1.50", "2026-03-01", "ECHO", "echo@example.org")

# Optional parts that hold themselves would never end.
DEEPEST = 8
# What the description of a text says of it: "Format: date."
FORMAT = re.compile(r"\bFormat: ([\w-]+)")
SAMPLES = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T14:30:00Z",
    "decimal": "1.50",
    "time": "14:30:00",
    "uuid": "7d444840-9dc0-41d1-b245-5ffdce74fad2",
}


class Interrupted(Exception):
    """The client has ended the turn."""

    note = "[Request interrupted by user]"


class ToolInterrupted(Interrupted):
    """The client has ended the turn while a tool waited for permission."""

    note = "[Request interrupted by user for tool use]"


class EchoTurn:
    """One turn of the offline CLI."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._cli = echo.cli
        self._said = ""
        self._denials: list[Wire] = []
        self._tools_used = 0

    @property
    def _session(self) -> Wire:
        return {"session_id": self._cli.session_id}

    def play(self, user: Wire) -> None:
        """Answer *user*."""
        cli = self._cli
        prompt = text_of(user)
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
                announced = self._echo.was_announced(user)
                cli.answer("echo: " + described(user), to=user, announced=announced, **self._paid())
        except Interrupted as interruption:
            fields = {"note": interruption.note, **self._money()}
            cli.say(*cli.interruption(self._echo.turn, self._said, **fields))

    def report_back(self, task: str) -> None:
        """A turn that nobody asked for: a background agent tells how it ended."""
        cli, common = self._cli, self._session
        text = f"echo: the background task {task} has ended"
        origin = {"kind": "task-notification", "producer": "session-task", "runId": task}
        alive = [other for _, other in self._echo.background]
        result = builders.result(text, origin=origin, **common, **self._money(paid=True))
        cli.say(
            builders.task_updated(task, **common),
            builders.task_notification(task, **common),
            builders.background_tasks_changed(alive, **common),
            *self._state("running"),
            cli.init(),
            *cli.spoken(text),
            result,
            *([] if alive else self._state("idle")),
        )

    def _state(self, state: str) -> list[Wire]:
        """The state of the session, if the client wants to know."""
        if not self._cli.session_states:
            return []
        return [builders.session_state(state, **self._session)]

    def _money(self, paid: bool = False) -> Wire:
        """What the session claims to have cost so far, this turn included if it is *paid*."""
        if paid:
            self._echo.cost += self._cli.settings.get("cost", 0.0)
        return {"total_cost_usd": self._echo.cost}

    def _paid(self) -> Wire:
        """The same, and what a model would have filled in, if the client wants data."""
        if self._cli.form is None:
            return self._money(paid=True)
        return {**self._money(paid=True), "structured_output": example_of(self._cli.form)}

    # The answer.

    def _obey(self, user: Wire, directives: Sequence[Directive]) -> None:
        """Answer *user* as the directives in its prompt say."""
        cli, told = self._cli, dict(directives)
        if "empty" in told:
            uuids = [user.get("uuid")] if cli.style == "new" else []
            cli.say(builders.result("", uuids, **self._session, **self._money()))
            return
        cli.begin_turn(user, self._echo.was_announced(user))
        texts = []
        for name, value in directives:
            if name == "sleep":
                self._echo.wait(value)
            elif name == "tool":
                texts += [self._use_tool(*value), *self._take_in_waiting()]
            elif name == "background" and cli.style == "new":
                self._start_background(value)
        if "deltas" in told:
            text = self._stream_quickly(int(told["deltas"]))
        elif "size" in told:
            text = "x" * int(told["size"])
            cli.say(builders.assistant(text, cli.next_message_id(), **self._session))
        else:
            text = "\n".join(texts) or "echo: " + described(user)
            self._speak(text, told.get("pace") or cli.settings.get("pace") or 0)
        fields = {"permission_denials": self._denials, **self._paid()}
        messages = cli.ending(self._echo.turn, text, **fields)
        if self._echo.background:
            # It is not idle as long as an agent works.
            messages = [each for each in messages if each.get("state") != "idle"]
        cli.say(*messages)

    def _speak(self, text: str, pace: float) -> None:
        """Say *text*; with a *pace*, piece by piece."""
        cli, words = self._cli, words_of(text)
        if not pace or not cli.partial:
            self._echo.wait(pace)
            cli.speak(text)
            return
        start, block, *deltas, complete, stop, delta, end = cli.spoken(text, words)
        cli.say(start, block)
        for word, message in zip(words, deltas):
            self._echo.wait(pace)
            self._said += word
            cli.say(message)
        self._echo.hear_while_busy()
        cli.say(complete, stop, delta, end)
        self._said = ""

    def _stream_quickly(self, count: int) -> str:
        """Say *count* pieces of text of five characters; what was said."""
        cli = self._cli
        pieces = [f"{number:04d} " for number in range(min(count, PIECES_AT_ONCE))]
        text = ("".join(pieces) * (count // PIECES_AT_ONCE + 1))[: 5 * count]
        start, block, *deltas, complete, stop, delta, end = builders.stream_of(
            pieces, cli.next_message_id(), complete=True, **self._session
        )
        complete["message"]["content"][0]["text"] = text
        if not cli.partial:
            cli.say(complete)
            return text
        cli.say(start, block)
        lines = [encoded([message]) for message in deltas]
        for number in range(0, count, PIECES_AT_ONCE):
            cli.print_raw(b"".join(lines[: count - number]))
            self._said = text[: 5 * (number + PIECES_AT_ONCE)]
            self._echo.hear_while_busy()
        cli.say(complete, stop, delta, end)
        self._said = ""
        return text

    # Tools.

    def _use_tool(self, name: str, input: Wire) -> str:
        """A round with a tool: call, permission, outcome; the outcome in words."""
        cli = self._cli
        self._tools_used += 1
        identity = f"toolu_{cli.next_message_id()[-12:]}{self._tools_used:02d}"
        block = builders.tool_use(name, input, identity)
        cli.say(builders.assistant(block, cli.message_id, model=cli.model, **self._session))
        try:
            decision = self._decision(name, input, identity)
            denied = decision.get("behavior") != "allow"
            if denied:
                output = str(decision.get("message") or "denied")
                denial = {"tool_name": name, "tool_use_id": identity, "tool_input": input}
                self._denials.append(denial)
            else:
                output, denied = self._outcome(name, decision.get("updatedInput") or input)
        except Interrupted:
            output = "The user doesn't want to proceed with this tool use."
            self._say_result(identity, output, True)
            raise ToolInterrupted from None
        self._say_result(identity, output, denied)
        if denied and decision.get("interrupt"):
            raise ToolInterrupted
        return f"{name}: {output}"

    def _say_result(self, identity: str, output: str, is_error: bool) -> None:
        result = builders.tool_result(identity, output, is_error)
        self._cli.say(builders.user(result, **self._session))

    def _decision(self, name: str, input: Wire, identity: str) -> Wire:
        """What the client says about using a tool."""
        cli, echo = self._cli, self._echo
        refusal = echo.refusal_of_hooks(name, input, identity)
        if refusal is not None:
            return {"behavior": "deny", "message": refusal}
        allowed = (cli.option("--allowedTools") or "").split(",")
        if cli.mode == "bypassPermissions" or name in allowed:
            return {"behavior": "allow"}
        cli.say(*self._state("requires_action"))
        echo.asking = cli.ask_permission(name, input, tool_use_id=identity)
        try:
            reply = echo.reply_to(echo.asking)
        finally:
            echo.asking = None
        cli.say(*self._state("running"))
        if reply is None:
            return {"behavior": "deny", "message": "Tool permission stream closed"}
        decision = reply.get("response")
        if isinstance(decision, dict):
            return decision
        return {"behavior": "deny", "message": str(reply.get("error"))}

    def _outcome(self, name: str, input: Wire) -> tuple[str, bool]:
        """What a tool that may be used gives, and whether that is an error."""
        _, server, tool = (*name.split("__", 2), "", "")[:3]
        if not name.startswith("mcp__") or server not in self._echo.servers:
            return f"offline, so not run: {json.dumps(input)}", False
        arguments = {"name": tool, "arguments": input}
        answer = self._echo.call_server(server, "tools/call", arguments)
        if "error" in answer:
            return str(answer["error"].get("message")), True
        given = answer.get("result") or {}
        parts = [str(part.get("text", part.get("type"))) for part in given.get("content") or ()]
        return "\n".join(parts), bool(given.get("isError"))

    def _take_in_waiting(self) -> list[str]:
        """What arrived in the meantime joins the turn at a tool round; it is echoed, too."""
        cli, echo = self._cli, self._echo
        echo.hear_while_busy()
        texts = []
        while echo.waiting:
            user = echo.waiting.popleft()
            if cli.style == "new" and user.get("uuid"):
                cli.say(builders.lifecycle(user["uuid"], "started", **self._session))
            cli.say(*cli.repetition(user))
            echo.turn.append(user)
            texts.append("echo: " + described(user))
        return texts

    # The rest.

    def _start_background(self, seconds: float) -> None:
        """Tell of an agent that works in the background, and remember to report back."""
        echo = self._echo
        task = f"task{builders.new_uuid()[-8:]}"
        echo.background.append((time.monotonic() + seconds, task))
        echo.background.sort()
        alive = [each for _, each in echo.background]
        self._cli.say(
            builders.background_tasks_changed(alive, **self._session),
            builders.task_started(task, **self._session),
        )

    def _run_command(self, user: Wire, command: str) -> None:
        """Do what a slash command does; the result of a new CLI has its output."""
        cli = self._cli
        output = COMMANDS[command].format(cost=self._echo.cost)
        cli.say(*cli.beginning(user, self._echo.was_announced(user)))
        if command == "compact":
            metadata = {"compact_metadata": {"trigger": "manual", "pre_tokens": 19}}
            cli.say(builders.system("compact_boundary", **metadata, **self._session))
        if cli.style == "old" or command == "compact":
            text = f"<local-command-stdout>{output}</local-command-stdout>"
            cli.say(builders.user(text, isReplay=True, **self._session))
            output = ""
        cli.say(*cli.repetition(user))
        if command == "clear":
            cli.session_id = builders.new_uuid()
        about = {"local_command": command} if cli.style == "new" else {}
        cli.end_turn(user, output, num_turns=0, **about, **self._money())


def directives_of(prompt: str) -> list[Directive]:
    """The directives in *prompt*, in their order; what is not well formed is only text."""
    found: list[Directive] = []
    place = 0
    while (match := DIRECTIVE.search(prompt, place)) is not None:
        place = match.end()
        name, number, empty, tool = match.groups()
        if tool is None:
            found.append((name or empty, float(number or 0)))
            continue
        try:
            input, place = json.JSONDecoder().raw_decode(prompt, place)
        except ValueError:
            continue
        if isinstance(input, dict) and prompt.startswith("]]", place):
            found.append(("tool", (tool, input)))
    return found


def described(user: Mapping[str, Any]) -> str:
    """The text of a user message, and what is attached to it."""
    body = user.get("message")
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(content, list):
        return str(content)
    return "\n".join(described_block(block) for block in content if isinstance(block, dict))


def described_block(block: Mapping[str, Any]) -> str:
    """One block of a user message, in words."""
    if block.get("type") == "text":
        return str(block.get("text"))
    source = block.get("source")
    if not isinstance(source, dict):
        return f"[{block.get('type')}]"
    data = str(source.get("data", ""))
    size = f"{len(data)} characters"
    if source.get("type") == "base64":
        size = f"{len(data) * 3 // 4 - data[-2:].count('=')} bytes"
    kind = source.get("media_type") or source.get("type")
    return f"[{block.get('title') or block.get('type')}: {kind}, {size}]"


# What the offline CLI gives where a model would fill in a form.


def example_of(schema: Schema) -> Any:
    """A small value that has the form of a JSON Schema, as far as that can be guessed."""
    return example(schema, schema, 0)


def example(schema: Any, root: Schema, depth: int) -> Any:
    """The same for a part of *root*."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None
    if "$ref" in schema:
        return example(referred(schema["$ref"], root), root, depth + 1)
    for fixed in ("const", "default"):
        if fixed in schema:
            return schema[fixed]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return example(schema[choice][0], root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = kind[0] if kind else None
    if kind == "object" or "properties" in schema:
        return an_object(schema, root, depth)
    if kind == "array":
        count = max(1, schema.get("minItems", 1))
        return [example(schema.get("items", {}), root, depth + 1) for _ in range(count)]
    return a_scalar(schema, kind)


def an_object(schema: Schema, root: Schema, depth: int) -> Schema:
    """An object with what it must have; near the top, with all it can have."""
    required = schema.get("required", ())
    return {
        name: example(part, root, depth + 1)
        for name, part in schema.get("properties", {}).items()
        if name in required or depth == 0
    }


def a_scalar(schema: Schema, kind: object) -> Any:
    """A text, a number, a truth value, or nothing."""
    if kind == "integer":
        return max(1, int(schema.get("minimum", 1)))
    if kind == "number":
        return max(1.5, schema.get("minimum", 1.5))
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    described = FORMAT.search(str(schema.get("description", "")))
    sample = SAMPLES.get(described.group(1)) if described else None
    for text in (*filter(None, [sample]), *TEXTS):
        if matches(schema.get("pattern"), text):
            return text.ljust(int(schema.get("minLength", 0)), ".")
    return TEXTS[0]


def matches(pattern: object, text: str) -> bool:
    """Whether *text* will do; a pattern that Python does not understand is not looked at."""
    try:
        return not isinstance(pattern, str) or re.search(pattern, text) is not None
    except re.error:
        return True


def referred(reference: object, root: Schema) -> Any:
    """What ``#/$defs/Name`` stands for."""
    place: Any = root
    for name in str(reference).split("/")[1:]:
        place = place.get(name) if isinstance(place, dict) else None
    return place
