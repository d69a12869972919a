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
from .cli_side import encoded
from .cli_style import last_text_of, text_of, words_of

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Sequence, Tuple

    from .offline import Echo

    Wire = Dict[str, Any]
    Directive = Tuple[str, Any]

__all__ = ["EchoTurn", "Interrupted", "described", "directives_of"]

DIRECTIVE = re.compile(
    r"\[\[(?:(sleep|pace|background|deltas|size) (\d+(?:\.\d+)?)\]\]|(empty)\]\]|tool (\S+) )"
)
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
# Pieces that are built once and written together: a few reads of the client.
PIECES_AT_ONCE = 250


class Interrupted(Exception):
    """The client has ended the turn."""

    note = "[Request interrupted by user]"


class ToolInterrupted(Interrupted):
    """The client has ended the turn while a tool waited for permission."""

    note = INTERRUPTED_TOOL


class EchoTurn:
    """One turn of the offline CLI."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._cli = echo.cli
        self._said = ""
        self._denials: List[Wire] = []
        self._tools_used = 0

    def play(self, user: Wire) -> None:
        """Answer *user*."""
        prompt = text_of(user)
        is_new = self._cli.style == "new"
        is_verbatim = is_new and user.get("client_composed") is True
        last = "" if is_verbatim else last_text_of(user)
        command = last[1:].split(" ")[0] if last.startswith("/") else ""
        try:
            if user.get("shouldQuery") is False and is_new:
                self._cli.end_turn(user, "", **self._money())
            elif command in COMMANDS:
                self._run_command(user, command)
            elif "[[" in prompt or self._cli.settings.get("pace"):
                self._obey(user, directives_of(prompt))
            else:
                # Quick: most turns of a benchmark are this one write.
                announced = self._echo.was_announced(user)
                text = "echo: " + described(user)
                fields = {**self._money(paid=True), **self._data()}
                self._cli.answer(text, to=user, announced=announced, **fields)
        except Interrupted as interruption:
            fields = {"note": interruption.note, **self._money()}
            self._cli.say(*self._cli.interruption(self._echo.turn, self._said, **fields))

    def report_back(self, task: str) -> None:
        """A turn that nobody asked for: a background agent tells how it ended."""
        cli, common = self._cli, {"session_id": self._cli.session_id}
        text = f"echo: the background task {task} has ended"
        origin = {"kind": "task-notification", "producer": "session-task", "runId": task}
        result = builders.result(text, origin=origin, **common, **self._money(paid=True))
        states = []
        if cli.session_states:
            states = [builders.session_state("running", **common)]
        cli.say(
            builders.task_updated(task, **common),
            builders.task_notification(task, **common),
            builders.background_tasks_changed(
                [other for _, other in self._echo.background], **common
            ),
            *states,
            cli.init(),
            *cli.spoken(text),
            result,
            *self._idle(),
        )

    # The answer.

    def _obey(self, user: Wire, directives: Sequence[Directive]) -> None:
        """Answer *user* as the directives in its prompt say."""
        cli, told = self._cli, dict(directives)
        if "empty" in told:
            uuids = [user.get("uuid")] if cli.style == "new" else []
            fields = {"session_id": cli.session_id, **self._money()}
            cli.say(builders.result("", uuids, **fields))
            return
        cli.begin_turn(user, self._echo.was_announced(user))
        texts = []
        for name, value in directives:
            if name == "sleep":
                self._echo.wait(value)
            elif name == "tool":
                texts.append(self._use_tool(*value))
                texts += self._take_in_waiting()
            elif name == "background" and cli.style == "new":
                self._start_background(value)
        if "deltas" in told:
            text = self._stream_quickly(int(told["deltas"]))
        elif "size" in told:
            text = "x" * int(told["size"])
            cli.say(builders.assistant(text, cli.next_message_id(), session_id=cli.session_id))
        else:
            text = "\n".join(texts) or "echo: " + described(user)
            self._speak(text, told.get("pace") or cli.settings.get("pace") or 0)
        self._end(text)

    def _end(self, text: str, **fields: Any) -> None:
        paid = {**self._money(paid=True), **self._data()}
        fields = {"permission_denials": self._denials, **paid, **fields}
        messages = self._cli.ending(self._echo.turn, text, **fields)
        if self._echo.background:
            # It is not idle as long as an agent works.
            messages = [each for each in messages if each.get("state") != "idle"]
        self._cli.say(*messages)

    def _speak(self, text: str, pace: float) -> None:
        """Say *text*; with a *pace*, piece by piece."""
        cli = self._cli
        if not pace or not cli.partial:
            if pace:
                self._echo.wait(pace)
            cli.speak(text)
            return
        start, *middle, complete, stop, delta, end = cli.spoken(text, words_of(text))
        cli.say(start, middle[0])
        for message in middle[1:]:
            self._echo.wait(pace)
            self._said += message["event"]["delta"]["text"]
            cli.say(message)
        self._echo.hear_while_busy()
        cli.say(complete, stop, delta, end)
        self._said = ""

    def _stream_quickly(self, count: int) -> str:
        """Say *count* pieces of text of five characters; what was said."""
        cli = self._cli
        identity = cli.next_message_id()
        pieces = [f"{number:04d} " for number in range(min(count, PIECES_AT_ONCE))]
        text = ("".join(pieces) * (count // PIECES_AT_ONCE + 1))[: 5 * count]
        common: Wire = {"message_id": identity, "session_id": cli.session_id}
        start, block, *deltas, complete, stop, delta, end = builders.stream_of(
            pieces, complete=True, **common
        )
        complete["message"]["content"][0]["text"] = text
        if cli.partial:
            cli.say(start, block)
            lines = [encoded([message]) for message in deltas]
            portion = b"".join(lines)
            for _ in range(count // PIECES_AT_ONCE):
                cli.print_raw(portion)
                self._said = text[: len(self._said) + 5 * PIECES_AT_ONCE]
                self._echo.hear_while_busy()
            cli.print_raw(b"".join(lines[: count % PIECES_AT_ONCE]))
            cli.say(complete, stop, delta, end)
        else:
            cli.say(complete)
        self._said = ""
        return text

    # Tools.

    def _use_tool(self, name: str, input: Wire) -> str:
        """A round with a tool: call, permission, outcome; the outcome in words."""
        cli = self._cli
        self._tools_used += 1
        identity = f"toolu_{cli.next_message_id()[-12:]}{self._tools_used:02d}"
        common: Wire = {"session_id": cli.session_id}
        block = builders.tool_use(name, input, identity)
        cli.say(builders.assistant(block, cli.message_id, model=cli.model, **common))
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
            cli.say(builders.user(builders.tool_result(identity, output, True), **common))
            raise ToolInterrupted from None
        cli.say(builders.user(builders.tool_result(identity, output, denied), **common))
        if denied and decision.get("interrupt"):
            raise ToolInterrupted
        return f"{name}: {output}"

    def _decision(self, name: str, input: Wire, identity: str) -> Wire:
        """What the client says about using a tool."""
        cli, echo = self._cli, self._echo
        refusal = echo.refusal_of_hooks(name, input, identity)
        if refusal is not None:
            return {"behavior": "deny", "message": refusal}
        if cli.mode == "bypassPermissions" or name in (cli.option("--allowedTools") or "").split(
            ","
        ):
            return {"behavior": "allow", "updatedInput": input}
        common: Wire = {"session_id": cli.session_id}
        if cli.session_states:
            cli.say(builders.session_state("requires_action", **common))
        echo.asking = cli.ask_permission(name, input, tool_use_id=identity)
        try:
            reply = echo.reply_to(echo.asking)
        finally:
            echo.asking = None
        if cli.session_states:
            cli.say(builders.session_state("running", **common))
        if reply is None:
            return {"behavior": "deny", "message": "Tool permission stream closed"}
        decision = reply.get("response")
        if isinstance(decision, dict):
            return decision
        return {"behavior": "deny", "message": str(reply.get("error"))}

    def _outcome(self, name: str, input: Wire) -> Tuple[str, bool]:
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

    def _take_in_waiting(self) -> List[str]:
        """What arrived in the meantime joins the turn at a tool round; it is echoed, too."""
        cli, echo = self._cli, self._echo
        echo.hear_while_busy()
        texts = []
        while echo.waiting:
            user = echo.waiting.popleft()
            started = []
            if cli.style == "new" and user.get("uuid"):
                started = [builders.lifecycle(user["uuid"], "started", session_id=cli.session_id)]
            cli.say(*started, *cli.repetition(user))
            echo.turn.append(user)
            texts.append("echo: " + described(user))
        return texts

    # The rest.

    def _start_background(self, seconds: float) -> None:
        """Tell of an agent that works in the background, and remember to report back."""
        echo, common = self._echo, {"session_id": self._cli.session_id}
        task = f"task{builders.new_uuid()[-8:]}"
        echo.background.append((time.monotonic() + seconds, task))
        echo.background.sort()
        alive = [each for _, each in echo.background]
        self._cli.say(
            builders.background_tasks_changed(alive, **common),
            builders.task_started(task, **common),
        )

    def _run_command(self, user: Wire, command: str) -> None:
        """Do what a slash command does; the result of a new CLI has its output."""
        cli, common = self._cli, {"session_id": self._cli.session_id}
        output = COMMANDS[command].format(cost=self._echo.cost)
        messages = [*cli.beginning(user, self._echo.was_announced(user))]
        if command == "compact":
            metadata = {"compact_metadata": {"trigger": "manual", "pre_tokens": 19}}
            messages.append(builders.system("compact_boundary", **metadata, **common))
        if cli.style == "old" or command == "compact":
            text = f"<local-command-stdout>{output}</local-command-stdout>"
            messages.append(builders.user(text, isReplay=True, **common))
            output = ""
        messages += cli.repetition(user)
        fields: Wire = {"num_turns": 0, **self._money()}
        if cli.style == "new":
            fields["local_command"] = command
        if command == "clear":
            cli.session_id = fields["session_id"] = builders.new_uuid()
        cli.say(*messages, *cli.ending([user], output, **fields))

    def _money(self, paid: bool = False) -> Wire:
        """What the session claims to have cost so far, this turn included if it is *paid*."""
        if paid:
            self._echo.cost += self._cli.settings.get("cost", 0.0)
        return {"total_cost_usd": self._echo.cost}

    def _data(self) -> Wire:
        """What a model would have filled in, if the client wants data."""
        if self._cli.form is None:
            return {}
        from .example_data import example_of

        return {"structured_output": example_of(self._cli.form)}

    def _idle(self) -> List[Wire]:
        """The word that nothing runs, if that is so and the client wants to know."""
        if not self._cli.session_states or self._echo.background:
            return []
        return [builders.session_state("idle", session_id=self._cli.session_id)]


COMMANDS = {"cost": "Total cost: ${cost:.4f}", "compact": "Compacted ", "clear": ""}


def directives_of(prompt: str) -> List[Directive]:
    """The directives in *prompt*, in their order; what is not well formed is only text."""
    found: List[Directive] = []
    place = 0
    while True:
        match = DIRECTIVE.search(prompt, place)
        if match is None:
            return found
        place = match.end()
        name, number, empty, tool = match.groups()
        if name:
            found.append((name, float(number)))
        elif empty:
            found.append((empty, None))
        else:
            try:
                input, place = json.JSONDecoder().raw_decode(prompt, place)
            except ValueError:
                continue
            if isinstance(input, dict) and prompt.startswith("]]", place):
                found.append(("tool", (tool, input)))


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
    kind = source.get("media_type") or source.get("type")
    if source.get("type") == "base64":
        size = f"{len(data) * 3 // 4 - data[-2:].count('=')} bytes"
    else:
        size = f"{len(data)} characters"
    title = block.get("title")
    return f"[{title}: {kind}, {size}]" if title else f"[{block.get('type')}: {kind}, {size}]"
