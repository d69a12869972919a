"""
Asked: the session's record of a question in flight, and what was collected for its answer.

The program holds the :class:`~claude_sync.engine.turn.Turn`; this is what the library writes.
The session writes the upper part, under its lock; whoever delivers writes the collected part,
one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..messages.answer import Answer, remember
from ..messages.stream_text import Piece, Text, Thinking, kept_text
from ..protocol.exchange import QUESTION, Sent
from ..protocol.outcomes import INTERRUPTED_TEXT, command_output
from .inbox import Buffered
from .marks import Marks

if TYPE_CHECKING:
    from ..messages.base import Result
    from ..messages.blocks import ToolResult, ToolUse
    from ..messages.usage import Charge
    from ..schema import Form
    from .timers import Timer
    from .turn import Turn

__all__ = ["Asked", "Collected"]

# How the CLI reminds a model that has to give data and does not.
INSISTS = "MUST call the StructuredOutput tool"


class Collected:
    """What belongs to one try of a turn, as far as it was delivered."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.texts: list[str] = []
        # Where in it each block begins.
        self.begins: list[int] = []
        self.thinking: list[str] = []
        self.tool_uses: dict[str, ToolUse] = {}
        self.tool_results: dict[str, ToolResult] = {}
        self.last_text = ""
        self.assistant_error: str | None = None
        self.command_output: str | None = None
        # How often the CLI insisted on data.
        self.insisted = 0

    def owns(self, parent_tool_use_id: str | None) -> bool:
        """Whether a message below that tool use belongs here, and not to an older agent."""
        return parent_tool_use_id is None or parent_tool_use_id in self.tool_uses

    def add_piece(self, piece: Piece) -> None:
        """A piece of the main conversation. Its text is kept, not itself: that is smaller."""
        texts = self.thinking if isinstance(piece, Thinking) else self.texts
        if piece._end == 1 and texts is self.texts:
            self.begins.append(len(texts))
        texts.append(kept_text(piece))

    def add(self, message: Any, *, wants_form: bool) -> None:
        """A complete message, and what an answer needs of it."""
        from ..messages.base import Assistant, User  # not at the top: they take long to import

        if not self.owns(message.parent_tool_use_id):
            return
        self.messages.append(message)
        if isinstance(message, Assistant):
            if message.error:
                self.assistant_error = message.error
            if message.parent_tool_use_id is None and message.text:
                self.last_text = message.text
        elif isinstance(message, User) and message.parent_tool_use_id is None:
            text = message.text
            if wants_form and INSISTS in text:
                self.insisted += 1
            output = command_output(text) if text.startswith("<local-command") else None
            if output is not None:
                self.command_output = output

    @property
    def text(self) -> str:
        """The text so far; a blank line stands between messages."""
        texts = list(self.texts)
        begins = sorted({0, *self.begins})
        ends = [*begins[1:], len(texts)]
        blocks = ["".join(texts[begin:end]) for begin, end in zip(begins, ends)]
        return "\n\n".join(filter(None, blocks))


class Asked:
    """
    A question in flight, or a context.

    Attributes:
        turn: The future that the program holds; None once it is done.
        message: The user message.
        sent: Its state on the wire.
        data, older: Its line, and that for CLIs that know no verbatim messages, if it differs.
        form, schema: The form of its answer.
        stopping: Why it is being stopped: raised instead of TurnInterrupted when it ends.
        interrupted: The CLI was asked to stop it.
        was_cancelled: By its own ``cancel()``, which is promised to raise.
        was_lost: Its line could not be written: the CLI had died.
        tries, form_tries: How often it was asked again, and how often for another form.
        not_before: When it may be asked again.
        answer: The answer, once the result has come.
        tried_answer: That of the try before.
        callers: How many threads wait for it, under ``post="caller"``.

    """

    sent = Sent("")  # until it is queued
    data = b""
    older = b""
    form: Form | None = None
    schema: Mapping[str, Any] | None = None
    stopping: Exception | None = None
    interrupted = False
    was_cancelled = False
    was_lost = False
    was_sent_twice = False
    tries = 0
    form_tries = 0
    # Stopped because its reminders of the form had no end.
    off_form = False
    not_before = 0.0
    answer: Answer[Any] | None = None
    tried_answer: Answer[Any] | None = None
    callers = 0
    handler_error: BaseException | None = None
    # The results and the cost of the tries before, and what each result added.
    earlier: tuple[Mapping[str, Any], ...] = ()
    spent_before = 0.0
    first_uuid: str | None = None
    charges: tuple[Charge, ...] = ()

    def __init__(
        self,
        turn: Turn[Any],
        message: Mapping[str, Any],
        *,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        raise_on_error: bool = True,
        buffered: bool = False,
    ) -> None:
        # Until it is done; then nothing of ours keeps it alive.
        self.turn: Turn[Any] | None = turn
        self.message = message
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.raise_on_error = raise_on_error
        self.timers: list[Timer] = []
        # For programs that iterate; with text_only, other events need not be kept.
        self.buffer = Buffered() if buffered else None
        self.text_only = False
        self.marks = Marks(turn.prompt)
        self.collected = Collected()

    @property
    def is_question(self) -> bool:
        """Whether an answer is wanted: not of a context."""
        return self.sent.kind == QUESTION

    @property
    def has_form(self) -> bool:
        """Whether the form of its answer matters: commands and context have no such answer."""
        return self.form is not None or (self.is_question and not self.sent.is_command)

    @property
    def was_tried(self) -> bool:
        """Whether it was asked before."""
        return bool(self.tries or self.form_tries)

    @property
    def was_sent(self) -> bool:
        """Whether it was sent before, to a CLI that may not have read it."""
        return self.was_tried or self.was_sent_twice

    @property
    def wants_raw(self) -> bool:
        """Whether the program may iterate over every raw event."""
        return self.buffer is not None and not self.text_only

    def is_over(self) -> bool:
        """Whether the turn is done."""
        turn = self.turn
        return turn is None or turn.is_over()

    def succeed(self, answer: Answer[Any]) -> None:
        """Complete the turn with its answer, unless it is done."""
        self._end(lambda turn: turn.succeed(answer))

    def fail(self, error: BaseException) -> None:
        """Fail the turn, unless it is done."""
        self._end(lambda turn: turn.fail(error))

    def withdraw(self) -> None:
        """The turn was cancelled before anything was sent."""
        self._end(lambda turn: turn.withdraw())

    def _end(self, end: Callable[[Turn[Any]], None]) -> None:
        turn = self.turn
        if turn is not None:
            end(turn)
            self.turn = None

    def lose(self) -> None:
        """Its line could not be written."""
        self.was_lost = True

    def stop_timers(self) -> None:
        """Its deadlines do not matter any more."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()

    # What is delivered.

    def collect(self, message: Any) -> None:
        """Keep a complete message."""
        self.collected.add(message, wants_form=self.form is not None)
        is_user = message.raw.get("type") == "user" and message.parent_tool_use_id is None
        if is_user and message.text.startswith(INTERRUPTED_TEXT):
            self.interrupted = True

    def forget(self) -> None:
        """What was collected belongs to another turn after all."""
        self.marks.forget()
        self.collected = Collected()

    def buffer_event(self, event: Any) -> None:
        """Keep an event for a program that iterates."""
        if self.buffer is not None and not (self.text_only and not isinstance(event, Text)):
            self.buffer.put(event)
            if self.turn is not None:
                self.turn.look_again()

    def begin_again(self, raw: Mapping[str, Any] | None) -> None:
        """It is asked once more. What was said does not count; what was done and paid does."""
        self.tried_answer = self.answer
        if self.answer is not None:
            self.spent_before = self.answer.cost_usd
        self.first_uuid = self.first_uuid or self.sent.uuid
        if raw is not None:
            self.earlier = (*self.earlier, raw)
        before, self.collected = self.collected, Collected()
        self.collected.messages = before.messages
        self.collected.tool_uses = before.tool_uses
        self.collected.tool_results = before.tool_results
        self.answer = None
        self.off_form = self.interrupted = False

    # Its answer.

    def make_answer(
        self,
        raw: Mapping[str, Any] | None,
        cost_usd: float,
        total: float,
        session_id: str | None,
        result: Result | None = None,
    ) -> Answer[Any]:
        """The answer: complete with the *raw* result, as far as it got without one."""
        collected = self.collected
        text = raw.get("result") if raw is not None else None
        if not text or not isinstance(text, str):
            # Slash commands of old CLIs; interrupted turns; results without a text.
            incomplete = collected.text if raw is None else collected.last_text
            text = collected.command_output or incomplete or collected.text
        answer: Answer[Any] = Answer(text)
        answer.cost_usd = cost_usd + (self.spent_before if self.earlier else 0.0)
        answer.total_cost_usd = total
        answer.session_id = session_id
        answer.user_message_id = self.first_uuid or self.sent.uuid
        if collected.tool_uses:
            answer.tool_uses = tuple(
                (use, collected.tool_results.get(use_id))
                for use_id, use in list(collected.tool_uses.items())
            )
        if collected.thinking:
            answer.thinking = "".join(collected.thinking)
        remember(
            answer,
            raw,
            result,
            earlier=self.earlier,
            before=tuple(collected.messages),
            charges=self.charges,
            marks=self.marks.with_cost(answer.cost_usd, is_complete=raw is not None),
        )
        if raw is not None:
            if self.form is None:
                answer.data = cast(Any, raw.get("structured_output"))
            told = raw.get("session_id")
            if told and isinstance(told, str):
                answer.session_id = told
        return answer

    def charge(
        self, raw: Mapping[str, Any], charge: Charge, session_id: str | None, result: Result | None
    ) -> None:
        """The result has come: make the answer, with what this and earlier tries cost."""
        self.charges = (*self.charges, charge)
        self.answer = self.make_answer(raw, charge.usd, charge.total_usd, session_id, result)
