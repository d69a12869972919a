"""
A backend that speaks ``dialect="callback"``, exactly: for ``StandIn`` and ``ScriptedCli``.

::

    Client(cli=StandIn(dialect_callback.speak).command, dialect="callback")
    Client(transport=ScriptedCli(dialect_callback.speak), dialect="callback")

It is greeted with four fields, takes bare user messages, and asks for permission by
``callback.request``. What it does follows from the prompt:

================ ==========================================================================
``tool COMMAND`` asks whether it may run COMMAND; its answer tells what came of that
``stubborn CMD`` asks whether it may run CMD, and then goes on until it is interrupted
``question``     asks the person to choose; its answer is the choice
``wait``         begins to answer and goes on until it is interrupted
``fail``         reports an error and ends the turn with one
``die``          begins to answer and is gone
anything else    is echoed, in pieces
================ ==========================================================================
"""

# Loaded by its path in a process of its own, so it names its package in full.
from __future__ import annotations

from dialects.dialect_rules import TEXT_OR_BLOCKS, StrictBackend

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from claude_sync.testing.cli_side import CliSide

    Wire = Dict[str, Any]

__all__ = ["CallbackBackend", "speak"]

MODEL = "claude-sonnet-4-5-20250929"

GREETING = {
    "type": "control_request",
    "request_id": str,
    "request": {
        "subtype": "initialize",
        "system_prompt?": {"type": "preset", "preset": "claude_code", "append?": str},
        "mcp_servers": dict,
        "agents": dict,
        "hooks": dict,
    },
}
QUESTION = {
    "type": "user",
    "message": {"role": "user", "content": TEXT_OR_BLOCKS},
    "parent_tool_use_id?": None,
}
REQUESTS = [
    {"type": "control_request", "request_id": str, "request": request}
    for request in (
        {"subtype": "interrupt"},
        {"subtype": "set_model", "model": str},
        {
            "subtype": "set_permission_mode",
            "mode": ("default", "acceptEdits", "bypassPermissions", "plan"),
        },
    )
]
ALLOW = {"behavior": "allow", "updated_input": dict, "updated_permissions?": [dict]}
DENY = {"behavior": "deny", "message": str}

QUESTIONS = {
    "questions": [
        {
            "question": "How should I format the output?",
            "header": "Format",
            "options": [
                {"label": "Summary", "description": "Brief overview"},
                {"label": "Detailed", "description": "Full explanation"},
            ],
            "multiSelect": False,
        }
    ]
}


class Interrupted(Exception):
    """The client wants the turn to end."""


class CallbackBackend(StrictBackend):
    """See the module."""

    def __init__(self, cli: CliSide) -> None:
        super().__init__(cli)
        self.turns = 0
        self.asked = 0
        self.model = MODEL
        self.mode = "default"

    def run(self) -> None:
        """Serve until the input ends."""
        self.check_command_line()
        self.greet()
        while True:
            message = self.check(self.next_message(), QUESTION, *REQUESTS)
            if message["type"] == "user":
                self.take_question(message["message"]["content"])
            else:
                self.take_request(message)

    def check_command_line(self) -> None:
        """Three settings are always there; whatever else is an additional option."""
        for flag, value in (
            ("--output-format", "stream-json"),
            ("--input-format", "stream-json"),
            ("--permission-prompt-tool", "stdio"),
        ):
            if self.cli.option(flag) != value:
                self.complain(f"a command line without {flag} {value}")

    def greet(self) -> None:
        """The first message is the greeting, and no later one is."""
        request = self.check(self.next_message(), GREETING)
        self.reply(
            request,
            commands=[{"name": "compact", "description": "", "argumentHint": ""}],
            output_style="default",
            available_output_styles=["default"],
            models=[{"value": "default", "displayName": "Default", "description": ""}],
            account={"email": "user@example.com"},
        )

    def reply(self, request: Wire, **body: Any) -> None:
        """Answer a request of the client."""
        response: Wire = {"subtype": "success", "request_id": request["request_id"]}
        if body:
            response["response"] = body
        self.cli.say(type="control_response", response=response)

    def take_request(self, message: Wire) -> str:
        """Serve a request; the name of it."""
        request = message["request"]
        self.model = request.get("model", self.model)
        self.mode = request.get("mode", self.mode)
        self.reply(message)
        name: str = request["subtype"]
        return name

    def listen(self) -> Optional[Wire]:
        """The client's next answer to a callback; Interrupted if it wants no more."""
        message = self.next_message()
        if message.get("type") == "callback.response":
            return message
        self.check(message, *REQUESTS)
        if self.take_request(message) == "interrupt":
            raise Interrupted
        return None

    # Turns.

    def take_question(self, content: Any) -> None:
        """A whole turn."""
        self.turns += 1
        if self.turns == 1:
            self.say_init()
        prompt = content if isinstance(content, str) else described(content)
        word, _, rest = prompt.partition(" ")
        try:
            if word == "tool":
                self.finish(self.run_tool("Bash", {"command": rest}))
            elif word == "question":
                self.finish(self.run_tool("AskUserQuestion", QUESTIONS))
            elif word in ("wait", "stubborn"):
                self.stream("Well, ")
                if word == "stubborn":
                    self.run_tool("Bash", {"command": rest})
                while True:
                    self.listen()
            elif word == "fail":
                self.fail()
            elif word == "die":
                self.stream("Well, ")
                self.cli.exit(3)
            else:
                self.speak(f"echo: {prompt} ({self.model}, {self.mode})")
        except Interrupted:
            self.end("error", is_error=True, result="Interrupted")

    def say_init(self) -> None:
        """Comes once, after the first question."""
        self.say(
            type="system",
            subtype="init",
            cwd=self.cli.cwd,
            tools=["Bash"],
            mcp_servers=[],
            model=self.model,
            permissionMode=self.mode,
        )

    def run_tool(self, tool: str, given: Wire) -> str:
        """Ask for permission to use a tool; what came of it."""
        use = f"toolu_{self.turns}"
        self.say_assistant([{"type": "tool_use", "id": use, "name": tool, "input": given}])
        answer = self.ask(tool, given, use)
        allowed = answer["behavior"] == "allow"
        text = str(answer["updated_input"]) if allowed else answer["message"]
        block = {"type": "tool_result", "tool_use_id": use, "content": text}
        self.say(
            type="user",
            message={"role": "user", "content": [{**block, "is_error": not allowed}]},
            parent_tool_use_id=None,
        )
        if not allowed:
            return f"denied: {text}"
        if tool == "AskUserQuestion":
            return ", ".join(answer["updated_input"]["answers"].values())
        rules = sum(len(each["rules"]) for each in answer.get("updated_permissions", []))
        return f"ran {answer['updated_input']['command']}, {rules} rules"

    def ask(self, tool: str, given: Wire, use: str) -> Wire:
        """Ask for permission and wait for the answer, which must be in kind."""
        self.asked += 1
        identity = f"cb-{self.asked}"
        rule = {"toolName": tool, "ruleContent": "git *"}
        suggestion = {"type": "addRules", "rules": [rule], "behavior": "allow"}
        self.say(
            type="callback.request",
            id=identity,
            payload={
                "callback_type": "can_use_tool",
                "tool_name": tool,
                "tool_input": given,
                "tool_use_id": use,
                "blocked_path": "/tmp/test",
                "suggestions": [{**suggestion, "destination": "session"}],
            },
        )
        answer = None
        while answer is None:
            answer = self.listen()
        self.check(
            answer,
            {
                "type": "callback.response",
                "id": identity,
                "session_id": self.cli.session_id,
                "payload": (ALLOW, DENY),
            },
        )
        payload: Wire = answer["payload"]
        return payload

    # Saying.

    def say(self, **message: Any) -> None:
        """Print a message of this session."""
        self.cli.say({**message, "session_id": self.cli.session_id})

    def stream(self, text: str) -> None:
        """Print a piece of text: a delta, and nothing around it."""
        self.cli.say(
            type="stream_event",
            event_type="content_block_delta",
            event={
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": text},
            },
        )

    def say_assistant(self, content: List[Wire]) -> None:
        """Print a message of Claude."""
        self.say(
            type="assistant",
            message={
                "model": self.model,
                "id": f"msg_{self.turns}",
                "type": "message",
                "role": "assistant",
                "content": content,
                "stop_reason": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
            parent_tool_use_id=None,
        )

    def speak(self, text: str) -> None:
        """Say *text*, in pieces first, and end the turn with it."""
        for start in range(0, len(text), 4):
            self.stream(text[start : start + 4])
        self.finish(text)

    def finish(self, text: str) -> None:
        """Say *text* and end the turn."""
        self.say_assistant([{"type": "text", "text": text}])
        self.end(
            "success",
            is_error=False,
            duration_ms=5,
            num_turns=1,
            result=text,
            total_cost_usd=0.01 * self.turns,
            usage={"input_tokens": 3, "output_tokens": 4},
            permission_denials=[],
        )

    def fail(self) -> None:
        """Report an error, and end the turn with it."""
        error = {"type": "overloaded_error", "message": "Service is temporarily overloaded"}
        self.cli.say(type="error", error=error)
        self.end("error", is_error=True, result="An error occurred", errors=["Connection timeout"])

    def end(self, subtype: str, **fields: Any) -> None:
        """Print the result."""
        self.say(type="result", subtype=subtype, **fields)


def described(blocks: List[Wire]) -> str:
    """A list of content blocks in words."""
    return " + ".join(str(block.get("text", block["type"])) for block in blocks)


def speak(cli: CliSide) -> None:
    """The script."""
    CallbackBackend(cli).run()
