"""
The built-in script: a CLI that needs no account, because it only echoes.

::

    stdin -> [hear] -> requests answered at once; questions wait for their turn
                    -> a turn: see echo_turns

It is what ``--offline`` runs on, and what benchmarks measure the client with. It
says on stderr that no model is involved. What it does about requests and about
messages that arrive in mid-turn is what the real CLI does.
"""

from __future__ import annotations

import collections
import os
import time

from . import builders
from .cli_side import CliSide, EndOfInput
from .echo_controls import EchoControls
from .echo_turns import EchoTurn, Interrupted

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Deque, Dict, List, Mapping, Optional, Set, Tuple

    Wire = Dict[str, Any]

__all__ = ["NOTICE", "Echo", "echo"]

NOTICE = "offline stand-in: no model is involved, answers are echoes"
MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")


def echo(cli: CliSide) -> None:
    """Be the offline CLI, until the client ends its side."""
    cli.print_error(NOTICE)
    Echo(cli).run()


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
        self.waiting: Deque[Wire] = collections.deque()
        self.turn: List[Wire] = []
        self.asking: Optional[Wire] = None
        self.cost = 0.0
        self.background: List[Tuple[float, str]] = []
        self.servers: List[str] = []
        self.hooks: Wire = {}
        self.controls = EchoControls(self)
        self._announced: Set[Any] = set()
        self._replies: Dict[str, Wire] = {}
        self._interrupted = False
        self._initialized = False
        self._ended = False

    def run(self) -> None:
        """Hear and answer, until the input ends and every question has its answer."""
        while True:
            if self.waiting:
                self.begin(self.waiting.popleft())
            elif self._ended:
                return
            elif self.background:
                due, task = self.background[0]
                left = due - time.monotonic()
                if left <= 0:
                    del self.background[0]
                    EchoTurn(self).report_back(task)
                else:
                    self.hear(left)
            else:
                self.hear(None)

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

    def hear(self, patience: Optional[float]) -> bool:
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
            self.take_reply(message)
        elif kind == "user_message" and self.cli.style == "old":
            self.cli.print_error("Error: Expected message type 'user' or 'control'")
            self.cli.exit(1)
        return True

    def hear_while_busy(self) -> None:
        """Take in what has arrived; raise Interrupted if the turn is to end."""
        while not self._ended and self.hear(0):
            pass
        self.check()

    def wait(self, seconds: float) -> None:
        """Let time pass in a turn; it ends early only by an interrupt."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if self._ended:  # as real CLIs do, it finishes what it has begun
                self.cli.pause(left)
                return
            self.hear(left)
            self.check()

    def check(self) -> None:
        """Raise Interrupted if the client has asked for it."""
        if self._interrupted:
            raise Interrupted

    def reply_to(self, request: Wire) -> Optional[Wire]:
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

    def take_reply(self, message: Wire) -> None:
        """Keep a reply for whoever waits for it."""
        response = message.get("response")
        if isinstance(response, dict):
            self._replies[str(response.get("request_id"))] = response
        if self.cli.replays and self.cli.style == "new":
            self.cli.say(message)  # a side effect of replaying user messages

    # Serving.

    def serve(self, request: Wire) -> None:
        """Answer a request of the client."""
        body = request.get("request")
        subtype = body.get("subtype") if isinstance(body, dict) else None
        homes = (self.controls, self) if self.cli.style == "new" else (self,)
        serve = next((s for s in (getattr(h, f"serve_{subtype}", None) for h in homes) if s), None)
        if serve is not None and "request_id" in request:
            serve(request, body)
        elif self.cli.style == "new":
            text = f"Unsupported control request subtype: {subtype}"
            self.cli.refuse({"request_id": request.get("request_id")}, text, "unsupported_request")

    def serve_initialize(self, request: Wire, body: Wire) -> None:
        """Begin; a new CLI speaks to the client's own servers before it answers."""
        if self._initialized and self.cli.style == "old":
            self.cli.refuse(request, "Already initialized")
            return
        self._initialized = True
        self.servers = [str(name) for name in body.get("sdkMcpServers") or ()]
        self.hooks = body.get("hooks") or {}
        if self.cli.style == "new" and isinstance(body.get("jsonSchema"), dict):
            self.cli.form = body["jsonSchema"]
        for server in self.servers:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
            hello["clientInfo"] = {"name": "stand-in", "version": self.cli.version}
            self.call_server(server, "initialize", hello)
        self.cli.say(self.cli.initialized(request))

    def call_server(self, server: str, method: str, params: Wire) -> Wire:
        """Call an MCP server inside the client; its answer, empty if there is none."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = self.reply_to(self.cli.call_server(server, message)) or {}
        answer = (reply.get("response") or {}).get("mcp_response")
        return answer if isinstance(answer, dict) else {}

    def refusal_of_hooks(self, name: str, input: Wire, identity: str) -> Optional[str]:
        """Ask the client's PreToolUse hooks about a tool; why one of them refuses, or None."""
        for hook in self.hooks.get("PreToolUse") or ():
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

    def serve_interrupt(self, request: Wire, body: Wire) -> None:
        """End the running turn; with ``cancel_queued`` drop what waits, too."""
        if self.asking is not None:
            self.cli.cancel(self.asking)
        receipt: Wire = {"still_queued": [user.get("uuid") for user in self.waiting]}
        if body.get("cancel_queued"):
            receipt = {"still_queued": [], "cancelled": receipt["still_queued"]}
            self.waiting.clear()
        old = self.cli.style == "old"
        self.cli.say(
            builders.control_response(request["request_id"], None if old else receipt),
            *(
                builders.lifecycle(uuid, "cancelled", session_id=self.cli.session_id)
                for uuid in receipt.get("cancelled", ())
            ),
        )
        self._interrupted = bool(self.turn)

    def serve_set_model(self, request: Wire, body: Wire) -> None:
        """Be another model from now on."""
        self.cli.model = str(body.get("model") or builders.MODEL)
        self.acknowledge(request, model=self.cli.model)

    def serve_set_permission_mode(self, request: Wire, body: Wire) -> None:
        """Change the mode; old CLIs take any word for one, and answer twice."""
        mode = str(body.get("mode"))
        if self.cli.style == "old":
            self.cli.mode = mode
            self.cli.reply(request, mode=mode)
            self.acknowledge(request)
        elif mode in MODES:
            self.cli.mode = mode
            self.cli.reply(request, mode=mode)
            fields = {"permissionMode": mode, "session_id": self.cli.session_id}
            self.cli.say(builders.status(None, **fields))
        else:
            text = f"Cannot set permission mode: must be one of {', '.join(MODES)}"
            self.cli.refuse(request, text, "invalid_mode")

    def serve_set_max_thinking_tokens(self, request: Wire, _: Wire) -> None:
        """Accept it; nothing thinks here."""
        self.acknowledge(request)

    def serve_mcp_status(self, request: Wire, _: Wire) -> None:
        """Tell of the servers: those inside the client."""
        servers = [{"name": name, "status": "connected"} for name in self.servers]
        self.cli.reply(request, mcpServers=servers)

    def acknowledge(self, request: Wire, **body: Any) -> None:
        """Accept a request; only new CLIs have something to say about it."""
        told = body if body and self.cli.style == "new" else None
        self.cli.say(builders.control_response(request["request_id"], told))
