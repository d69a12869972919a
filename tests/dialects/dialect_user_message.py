"""
A backend that speaks ``dialect="user-message"``, exactly: for ``StandIn`` and ``ScriptedCli``.

::

    Client(cli=StandIn(dialect_user_message.speak).command, dialect="user-message")
    Client(transport=ScriptedCli(dialect_user_message.speak), dialect="user-message")

It is not greeted, introduces itself once at its start, takes ``user_message`` and the
requests ``compact`` and ``cancel``, which have no id and get no reply, and asks nobody
for permission. What it does follows from the prompt:

================ ==========================================================================
``tool COMMAND`` runs COMMAND; its answer is in a second message
``wait``         begins to answer and goes on until it is cancelled or told more
``fail``         ends the turn with an error
``die``          begins to answer and is gone
anything else    is echoed, in pieces
================ ==========================================================================
"""

# Loaded by its path in a process of its own, so it names its package in full.
from __future__ import annotations

from dialects.dialect_callback import described
from dialects.dialect_rules import TEXT_OR_BLOCKS, StrictBackend

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from claude_sync.testing.cli_side import CliSide

    Wire = Dict[str, Any]

__all__ = ["UserMessageBackend", "speak"]

MODEL = "claude-sonnet-4-5-20250929"

QUESTION = {"type": "user_message", "content": TEXT_OR_BLOCKS}
COMPACT = {
    "type": "control_request",
    "request": {"subtype": "compact", "custom_instructions?": str},
}
CANCEL = {"type": "control_request", "request": {"subtype": "cancel"}}

WORDS = ("-p", "--verbose", "--include-partial-messages", "--replay-user-messages")
PAIRS = (("--output-format", "stream-json"), ("--input-format", "stream-json"))
CONVERSATION = ("--resume", "--fork-session")


class UserMessageBackend(StrictBackend):
    """See the module."""

    def __init__(self, cli: CliSide) -> None:
        super().__init__(cli)
        self.turns = 0
        self.messages = 0

    def run(self) -> None:
        """Serve until the input ends."""
        self.check_command_line()
        self.say(
            type="system",
            subtype="init",
            tools=["Bash"],
            model=MODEL,
            cwd=self.cli.cwd,
            mcp_servers=[],
        )
        while True:
            message = self.check(self.next_message(), QUESTION, COMPACT, CANCEL)
            if message["type"] == "user_message":
                self.take_question(message["content"])
            elif message["request"]["subtype"] == "compact":
                self.compact(message["request"].get("custom_instructions", "everything"))
            # A cancel that crossed the end of its turn has nothing to stop.

    def check_command_line(self) -> None:
        """These words, two of them only if they are wanted, and no others."""
        words = list(self.cli.argv)
        for flag, value in PAIRS:
            if self.cli.option(flag) != value:
                self.complain(f"a command line without {flag} {value}")
            words.remove(flag)
            words.remove(value)
        for word in ("-p", "--verbose", "--replay-user-messages"):
            if word not in words:
                self.complain(f"a command line without {word}")
        others = [
            word
            for word in words
            if word not in WORDS and word.partition("=")[0] not in CONVERSATION
        ]
        if others:
            self.complain(f"{others} on the command line")

    # Turns.

    def take_question(self, content: Any) -> None:
        """A whole turn."""
        self.turns += 1
        prompt = content if isinstance(content, str) else described(content)
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self.say(type="user", message={"role": "user", "content": blocks})
        word, _, rest = prompt.partition(" ")
        if word == "tool":
            self.use_tool(rest)
        elif word == "wait":
            self.wait()
        elif word == "fail":
            self.fail("Rate limit exceeded")
        elif word == "die":
            self.begin_message()
            self.cli.exit(3)
        else:
            self.speak(f"echo: {prompt}")

    def compact(self, what: str) -> None:
        """Shorten the conversation; a turn like any other."""
        self.turns += 1
        self.speak(f"compacted: {what}")

    def wait(self) -> None:
        """Begin to answer; go on until cancelled, or until something is added."""
        self.begin_message()
        self.stream(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
        self.say_delta("Well, ")
        message = self.check(self.next_message(), QUESTION, CANCEL)
        if message["type"] == "control_request":
            self.fail("Request cancelled")
            return
        added = str(message["content"])
        self.say_delta(added)
        self.end_message("Well, " + added)
        self.succeed()

    def use_tool(self, command: str) -> None:
        """Use a tool without asking, and tell of it in a message of its own."""
        use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": command}}
        self.begin_message()
        start = {**use, "input": ""}
        self.stream(type="content_block_start", index=0, content_block=start)
        self.stream(
            type="content_block_delta",
            index=0,
            delta={"type": "input_json_delta", "partial_json": '{"command":'},
        )
        self.stream(type="content_block_stop", index=0)
        self.close_message([use])
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
        self.say(type="user", message={"role": "user", "content": [result]})
        self.speak(f"ran {command}")

    def speak(self, text: str) -> None:
        """Say *text* in pieces, and end the turn."""
        self.begin_message()
        self.stream(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
        for start in range(0, len(text), 4):
            self.say_delta(text[start : start + 4])
        self.end_message(text)
        self.succeed()

    # Saying.

    def say(self, **message: Any) -> None:
        """Print a message of this session."""
        self.cli.say({**message, "session_id": self.cli.session_id})

    def stream(self, **event: Any) -> None:
        """Print an event of the stream, if the client wants these."""
        if self.cli.partial:
            self.cli.say(type="stream_event", event=event)

    def begin_message(self) -> None:
        """Print how a message of Claude begins."""
        self.messages += 1
        identity = {"id": f"msg_{self.messages}", "type": "message", "role": "assistant"}
        self.stream(type="message_start", message={**identity, "model": MODEL})

    def say_delta(self, text: str) -> None:
        """Print a piece of text."""
        self.stream(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text})

    def end_message(self, text: str) -> None:
        """Print the end of a message that is one text."""
        self.stream(type="content_block_stop", index=0)
        self.close_message([{"type": "text", "text": text}])

    def close_message(self, content: List[Wire]) -> None:
        """Print the end of a stream, and the whole message after it."""
        usage = {"output_tokens": 1}
        self.stream(type="message_delta", delta={"stop_reason": "end_turn"}, usage=usage)
        self.stream(type="message_stop")
        self.say(
            type="assistant",
            message={
                "id": f"msg_{self.messages}",
                "type": "message",
                "role": "assistant",
                "content": content,
                "model": MODEL,
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        )

    def succeed(self) -> None:
        """Print the result of a turn; it has no text."""
        self.say(
            type="result",
            subtype="success",
            cost_usd=0.01,
            total_cost_usd=0.01 * self.turns,
            duration_ms=5,
            duration_api_ms=4,
            is_error=False,
            num_turns=1,
            usage={"input_tokens": 3, "output_tokens": 4},
        )

    def fail(self, error: str) -> None:
        """Print the result of a turn that failed."""
        self.say(type="result", subtype="error", error=error, is_error=True)


def speak(cli: CliSide) -> None:
    """The script."""
    UserMessageBackend(cli).run()
