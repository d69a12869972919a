"""
The built-in script: a CLI that needs no account, because it only echoes.

::

    stdin -> [hear] -> requests answered at once; questions wait for their turn
                    -> a turn: see echo_turns

It is what ``--offline`` runs on, and what benchmarks measure the client with. It
says on stderr that no model is involved. What it does about requests and about
messages that arrive in mid-turn is what the newest CLI does.
"""

from __future__ import annotations

import collections
import os
import time

from . import builders
from .cli_side import CliSide, EndOfInput
from .echo_turns import EchoTurn, Interrupted

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Wire = dict[str, Any]
    Control = Callable[["Echo", Wire], Wire]

__all__ = ["NOTICE", "Echo", "echo"]

NOTICE = "offline stand-in: no model is involved, answers are echoes"
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
WINDOW = 200_000


def echo(cli: CliSide) -> None:
    """Be the offline CLI, until the client ends its side."""
    cli.print_error(NOTICE)
    Echo(cli).run()


class Refused(Exception):
    """A request that cannot be granted: the text, and its code."""


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

    def run(self) -> None:
        """Hear and answer, until the input ends and every question has its answer."""
        while True:
            if self.waiting:
                self.begin(self.waiting.popleft())
            elif self._ended:
                return
            elif self.background and self.background[0][0] <= time.monotonic():
                EchoTurn(self).report_back(self.background.pop(0)[1])
            else:
                left = self.background[0][0] - time.monotonic() if self.background else None
                self.hear(None if left is None else max(0.0, left))

    def begin(self, user: Wire) -> None:
        """Play the turn of *user*."""
        self.turn = [user]
        self._interrupted = False
        try:
            EchoTurn(self).play(user)
        finally:
            self.turn = []

    def was_announced(self, user: Mapping[str, Any]) -> bool:
        """Whether the client was told already that *user* is queued."""
        return user.get("uuid") in self._announced

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
            self.serve(message)
        elif kind == "control_response":
            response = message.get("response")
            if isinstance(response, dict):
                self._replies[str(response.get("request_id"))] = response
            if self.cli.replays and self.cli.style == "new":
                self.cli.say(message)  # a side effect of replaying user messages
        return True

    def hear_while_busy(self) -> None:
        """Take in what has arrived; raise Interrupted if the turn is to end."""
        while not self._ended and self.hear(0):
            pass
        self.check()

    def wait(self, seconds: float) -> None:
        """Let time pass in a turn; it ends early only by an interrupt."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._ended:  # as real CLIs do, it finishes what it has begun
                self.cli.pause(left)
                return
            self.hear(left)
            self.check()

    def check(self) -> None:
        """Raise Interrupted if the client has asked for it."""
        if self._interrupted:
            raise Interrupted

    def reply_to(self, request: Wire) -> Wire | None:
        """Wait for the client's reply to a request of ours; None if its side has ended."""
        identity = request["request_id"]
        while identity not in self._replies:
            if self._ended:
                return None
            self.hear(None)
            self.check()
        return self._replies.pop(identity)

    def take_question(self, user: Wire) -> None:
        """Keep *user* until its turn; tell that it is queued if that may take a while."""
        self.waiting.append(user)
        uuid = user.get("uuid")
        if self.turn and uuid and self.cli.style == "new":
            self._announced.add(uuid)
            self.cli.say(builders.lifecycle(uuid, "queued", session_id=self.cli.session_id))

    # Serving.

    def serve(self, request: Wire) -> None:
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
                    about = {"session_id": self.cli.session_id, "permissionMode": self.cli.mode}
                    self.cli.say(builders.status(None, **about))
        else:
            text = f"Unsupported control request subtype: {subtype}"
            self.cli.refuse({"request_id": request.get("request_id")}, text, "unsupported_request")

    def _initialize(self, request: Wire, body: Wire) -> None:
        """Begin; the client's own servers are spoken to before it is answered."""
        self.servers = [str(name) for name in body.get("sdkMcpServers") or ()]
        self._hooks = body.get("hooks") or {}
        if isinstance(body.get("jsonSchema"), dict):
            self.cli.form = body["jsonSchema"]
        for server in self.servers:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
            hello["clientInfo"] = {"name": "stand-in", "version": self.cli.version}
            self.call_server(server, "initialize", hello)
        self.cli.say(self.cli.initialized(request))

    def _interrupt(self, request: Wire, body: Wire) -> None:
        """End the running turn; with ``cancel_queued`` drop what waits, too."""
        if self.asking is not None:
            self.cli.cancel(self.asking)
        receipt: Wire = {"still_queued": [user.get("uuid") for user in self.waiting]}
        if body.get("cancel_queued"):
            receipt = {"still_queued": [], "cancelled": receipt["still_queued"]}
            self.waiting.clear()
        self.cli.reply(request, **receipt)
        for uuid in receipt.get("cancelled", ()):
            self.cli.say(builders.lifecycle(uuid, "cancelled", session_id=self.cli.session_id))
        self._interrupted = bool(self.turn)

    def call_server(self, server: str, method: str, params: Wire) -> Wire:
        """Call an MCP server inside the client; its answer, empty if there is none."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self.reply_to(self.cli.call_server(server, message)) or {}
        answer = (reply.get("response") or {}).get("mcp_response")
        return answer if isinstance(answer, dict) else {}

    def refusal_of_hooks(self, name: str, input: Wire, identity: str) -> str | None:
        """Ask the client's PreToolUse hooks about a tool; why one of them refuses, or None."""
        for hook in self._hooks.get("PreToolUse") or ():
            # A pattern in the real CLI; to list names is enough here.
            if name not in (hook.get("matcher") or name).split("|"):
                continue
            about = {"tool_name": name, "tool_input": input, "cwd": os.getcwd()}
            for callback in hook.get("hookCallbackIds") or ():
                request = self.cli.call_hook(callback, "PreToolUse", about, tool_use_id=identity)
                reply = self.reply_to(request) or {}
                told = (reply.get("response") or {}).get("hookSpecificOutput") or {}
                if told.get("permissionDecision") == "deny":
                    return str(told.get("permissionDecisionReason"))
        return None

    # What there is a control request for. Nothing stands behind most of it: it remembers what it
    # was told, and says so. Numbers are made up where there is nothing to count.

    def _set_model(self, body: Wire) -> Wire:
        self.cli.model = str(body.get("model") or builders.MODEL)
        return {"model": self.cli.model}

    def _set_mode(self, body: Wire) -> Wire:
        mode = str(body.get("mode"))
        if mode not in MODES:
            text = f"Cannot set permission mode: must be one of {', '.join(MODES)}"
            raise Refused(text, "invalid_mode")
        self.cli.mode = mode
        return {"mode": mode}

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
        told = [{"name": name, "status": status[name in self.disabled]} for name in names]
        return {"mcpServers": told}

    def _set_servers(self, body: Wire) -> Wire:
        wanted = list(body.get("servers") or {})
        added = [name for name in wanted if name not in self.added]
        removed = [name for name in self.added if name not in wanted]
        self.added = wanted
        return {"added": added, "removed": removed, "errors": {}}

    def _reconnect(self, body: Wire) -> Wire:
        if body.get("serverName") not in (*self.servers, *self.added):
            raise Refused(f"Server not found: {body.get('serverName')}")
        return {}

    def _toggle(self, body: Wire) -> Wire:
        self._reconnect(body)
        change = self.disabled.discard if body.get("enabled") else self.disabled.add
        change(body["serverName"])
        return {}

    def _context_usage(self, _: Wire) -> Wire:
        free = {"id": "free_space", "name": "Free space", "tokens": WINDOW, "kind": "free"}
        sizes = {"totalTokens": 0, "maxTokens": WINDOW, "percentage": 0}
        return {"categories": [free], "model": self.cli.model, **sizes}

    def _usage(self, _: Wire) -> Wire:
        session = {"total_cost_usd": self.cost, "model_usage": {}}
        return {"session": session, "subscription_type": None, "rate_limits": None}

    def _rewind(self, body: Wire) -> Wire:
        changes: Wire = {"filesChanged": [], "insertions": 0, "deletions": 0}
        return {"canRewind": True, **(changes if body.get("dry_run") else {})}

    def _stop_task(self, body: Wire) -> Wire:
        self.background = [each for each in self.background if each[1] != body.get("task_id")]
        return {}

    def _side_question(self, body: Wire) -> Wire:
        return {"response": f"echo: {body.get('question')}", "synthetic": False}

    def _accept(self, _: Wire) -> Wire:
        return {}


CONTROLS: dict[Any, Control] = {
    "set_model": Echo._set_model,
    "set_permission_mode": Echo._set_mode,
    "set_max_thinking_tokens": Echo._accept,
    "get_settings": Echo._get_settings,
    "apply_flag_settings": Echo._apply_settings,
    "mcp_status": Echo._mcp_status,
    "mcp_set_servers": Echo._set_servers,
    "mcp_reconnect": Echo._reconnect,
    "mcp_toggle": Echo._toggle,
    "get_context_usage": Echo._context_usage,
    "get_usage": Echo._usage,
    "rewind_files": Echo._rewind,
    "stop_task": Echo._stop_task,
    "background_tasks": Echo._accept,
    "side_question": Echo._side_question,
    "rename_session": Echo._accept,
}
