"""
Everything this library raises, as one tree; each error says what to do next.

::

    ClaudeError
    ├── CliNotFound (also FileNotFoundError)   no ``claude`` executable anywhere
    ├── CliFailed                              the process went wrong: exit_code, stderr_tail, argv
    │   ├── CliDidNotStart                     it never answered the greeting
    │   └── CliExited                          it ended during a turn or a request
    ├── TurnError                              the turn ended badly: .answer, .result
    │   ├── NotLoggedIn
    │   ├── RateLimited
    │   ├── Overloaded
    │   ├── ApiError                           .status
    │   ├── MaxTurnsReached
    │   ├── BudgetExceeded
    │   ├── PromptTooLong
    │   ├── ReturnsError
    │   ├── TurnInterrupted
    │   └── ExecutionError
    ├── ControlError                           the CLI refused a request: .code
    ├── ControlTimeout (also TimeoutError)     the CLI did not answer a request
    ├── UnsupportedByCli                       the CLI that runs is too old for this
    ├── AskTimeout (also TimeoutError)         .sent, .answer; the session stays usable
    ├── WireError                              the CLI broke the protocol
    └── UsageError                             the program broke the rules of this library
        ├── CalledFromHandler
        ├── ClientClosed
        └── AlreadyAnswered

Rules of this file: data lives in attributes and the text is built from them;
``super().__init__`` receives every argument, so that errors pickle; the last
sentence of each text is advice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

from .error_texts import advice_for, describe_exit, quoted_lines, sentence, withdrawn_unsent

if TYPE_CHECKING:
    from .answers import Answer

__all__ = [
    "AlreadyAnswered",
    "ApiError",
    "AskTimeout",
    "BudgetExceeded",
    "CalledFromHandler",
    "ClaudeError",
    "CliDidNotStart",
    "CliExited",
    "CliFailed",
    "CliNotFound",
    "ClientClosed",
    "ControlError",
    "ControlTimeout",
    "ExecutionError",
    "MaxTurnsReached",
    "NotLoggedIn",
    "Overloaded",
    "PromptTooLong",
    "RateLimited",
    "ReturnsError",
    "TurnError",
    "TurnInterrupted",
    "UnsupportedByCli",
    "UsageError",
    "WireError",
]


class ClaudeError(Exception):
    """The base of every error of this library."""


# What the process did.


class CliNotFound(ClaudeError, FileNotFoundError):
    """
    No ``claude`` executable was found.

    Attributes:
        searched: The places looked at, in order.

    """

    def __init__(self, searched: Sequence[str]) -> None:
        super().__init__(searched)
        self.searched = tuple(searched)

    def __str__(self) -> str:
        places = "\n".join("  - " + place for place in self.searched)
        return (
            "the 'claude' command was not found. Looked at:\n"
            f"{places}\n"
            "Install it (npm install -g @anthropic-ai/claude-code, or, from Python 3.10 on, "
            "pip install 'claude-sync[cli]'), or say where it is with cli=... or the "
            "environment variable CLAUDE_CODE_PATH."
        )


class CliFailed(ClaudeError):
    """
    The CLI process went wrong.

    Attributes:
        reason: What happened, in one clause.
        exit_code: Its exit code; negative for a signal, None while unknown.
        stderr_tail: The last lines it wrote to stderr, secrets removed.
        argv: The command that was run, secrets removed.

    """

    advice = "Run 'claude-sync doctor' to check the installation."

    def __init__(
        self,
        reason: str,
        exit_code: Optional[int] = None,
        stderr_tail: Sequence[str] = (),
        argv: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, exit_code, tuple(stderr_tail), tuple(argv))
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = tuple(stderr_tail)
        self.argv = tuple(argv)

    def __str__(self) -> str:
        text = self.reason
        if self.exit_code is not None:
            text += f" ({describe_exit(self.exit_code)})"
        text += "."
        lines = quoted_lines(line for line in self.stderr_tail if line not in self.reason)
        advice = advice_for((self.reason, *self.stderr_tail)) or self.advice
        return (
            f"{text} Its last words on stderr:\n{lines}\n{advice}" if lines else f"{text} {advice}"
        )


class CliDidNotStart(CliFailed):
    """The CLI never became ready: it exited, or stayed silent, before the first question."""


class CliExited(CliFailed):
    """The CLI ended while a turn or a request was waiting for it."""

    advice = (
        "The next question starts it again and resumes the conversation, "
        "unless the client was made with on_crash='raise'."
    )


# How a turn ended.


class TurnError(ClaudeError):
    """
    A turn ended without the answer that was asked for.

    Attributes:
        reason: What the CLI said, or what happened, in one clause.
        answer: What there was of an answer, or None.
        result: The CLI's result message, or None.

    """

    advice = "The session stays usable; see .answer for what there was."

    def __init__(
        self, reason: str, answer: Optional[Answer] = None, result: Optional[Any] = None
    ) -> None:
        super().__init__(reason, answer, result)
        self.reason = reason
        self.answer = answer
        self.result = result

    def __str__(self) -> str:
        return sentence(self.reason) + " " + self.advice


class NotLoggedIn(TurnError):
    """The CLI has no valid credentials."""

    advice = (
        "Run 'claude' once in a terminal and log in with /login ('claude-sync doctor' tells "
        "where it is), or set ANTHROPIC_API_KEY in the environment or in env={...}."
    )


class RateLimited(TurnError):
    """The account's limit is used up for now."""

    advice = "Wait until the limit resets (on_rate_limit tells when), or use another model."


class Overloaded(TurnError):
    """The service had no capacity."""

    advice = "Try again in a minute, or use another model."


class ApiError(TurnError):
    """
    The Messages API refused the request or could not be reached.

    Attributes:
        status: The HTTP status, or None where there was no reply at all.

    """

    def __init__(
        self,
        reason: str,
        answer: Optional[Answer] = None,
        result: Optional[Any] = None,
        status: Optional[int] = None,
    ) -> None:
        super().__init__(reason, answer, result)
        # Replaces what the base class stored: pickling repeats exactly these.
        self.args = (reason, answer, result, status)
        self.status = status

    def __str__(self) -> str:
        if self.status is None:
            advice = "Check the network connection, a proxy, and ANTHROPIC_BASE_URL."
        elif self.status == 404:
            advice = "Check the model's name, model=...; client.info.models lists some."
        elif self.status in (401, 403):
            advice = NotLoggedIn.advice
        elif self.status >= 500:
            advice = "The service failed; try again in a minute."
        else:
            advice = "Check what was sent: model, attachments and options."
        return sentence(self.reason) + " " + advice


class MaxTurnsReached(TurnError):
    """The turn needed more steps than max_turns allows."""

    advice = "Raise max_turns, or ask again to let it go on from where it stopped."


class BudgetExceeded(TurnError):
    """The budget of the process (max_budget_usd) or of the client (budget_usd) is used up."""

    advice = "Raise max_budget_usd or budget_usd, or open a new client."


class PromptTooLong(TurnError):
    """The conversation no longer fits the model's context window."""

    advice = "Ask '/compact' to shorten the conversation, send less, or open a new client."


class ReturnsError(TurnError):
    """
    The answer did not have the form that ``returns=`` asked for.

    Attributes:
        problems: What was wrong, one text for each thing, with its place.

    """

    advice = (
        "See .answer for what came; describe the wanted form in the prompt as well, make "
        "fields optional that may be missing, or raise returns_retries."
    )

    def __init__(
        self,
        reason: str,
        answer: Optional[Answer] = None,
        result: Optional[Any] = None,
        problems: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, answer, result)
        self.args = (reason, answer, result, tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        reason = self.reason if self.problems else sentence(self.reason)
        return f"{reason}:\n{lines}\n{self.advice}" if lines else f"{reason} {self.advice}"


class TurnInterrupted(TurnError):
    """The turn was interrupted: by interrupt(), cancel(), a deny(interrupt=True) or close()."""

    advice = "The session stays usable; .answer holds the text that was there."


class ExecutionError(TurnError):
    """The turn failed inside the CLI for a reason this library has no name for."""


# Requests to the CLI.


class ControlError(ClaudeError):
    """
    The CLI refused a control request.

    Attributes:
        subtype: The request.
        text: What the CLI said.
        code: Its error code, or None: old CLIs give none.

    """

    def __init__(self, subtype: str, text: str, code: Optional[str] = None) -> None:
        super().__init__(subtype, text, code)
        self.subtype = subtype
        self.text = text
        self.code = code

    def __str__(self) -> str:
        code = f" [{self.code}]" if self.code else ""
        return (
            f"the CLI refused the request {self.subtype!r}{code}: {sentence(self.text)} "
            "Check the values that were passed, and that this CLI version knows the request."
        )


class ControlTimeout(ClaudeError, TimeoutError):
    """
    The CLI did not answer a control request in time.

    Attributes:
        subtype: The request.
        timeout: How long was waited, in seconds.

    """

    def __init__(self, subtype: str, timeout: float) -> None:
        super().__init__(subtype, timeout)
        self.subtype = subtype
        self.timeout = timeout

    def __str__(self) -> str:
        return (
            f"the CLI did not answer the request {self.subtype!r} within {self.timeout:g} s. "
            "CLIs before 2.1.40 never answer requests they do not know: update the CLI, "
            "or pass a longer timeout= if it is only slow."
        )


class UnsupportedByCli(ClaudeError):
    """
    The CLI that runs does not have what was asked for.

    Attributes:
        feature: What was asked for.
        cli_version: The version found, or None where the CLI does not tell.

    """

    def __init__(self, feature: str, cli_version: Optional[str] = None) -> None:
        super().__init__(feature, cli_version)
        self.feature = feature
        self.cli_version = cli_version

    def __str__(self) -> str:
        version = self.cli_version or "of an unknown, old version"
        return (
            f"the CLI {version} does not support {self.feature}. Update it "
            "(claude update, or pip install -U 'claude-sync[cli]')."
        )


# Time, wire, usage.


NO_ANSWER = "no complete answer"


class AskTimeout(ClaudeError, TimeoutError):
    """
    A question took longer than its timeout. The session stays usable.

    Attributes:
        timeout: The limit that was hit, in seconds.
        sent: Whether the question had reached the CLI; False: it was withdrawn unsent.
        answer: What there was of an answer, or None.
        idle: True when it was ``idle_timeout``, the limit on silence, that was hit.
        what: What was waited for.

    """

    def __init__(
        self,
        timeout: float,
        sent: bool = True,
        answer: Optional[Answer] = None,
        idle: bool = False,
        what: str = NO_ANSWER,
    ) -> None:
        super().__init__(timeout, sent, answer, idle, what)
        self.timeout = timeout
        self.sent = sent
        self.answer = answer
        self.idle = idle
        self.what = what

    def __str__(self) -> str:
        if self.idle:
            return (
                f"the CLI was silent for {self.timeout:g} s and the turn was interrupted. "
                "Raise idle_timeout, or ask again: the session stays usable."
            )
        if not self.sent:
            return withdrawn_unsent(None if self.what == NO_ANSWER else self.what, self.timeout)
        return (
            f"{self.what} within {self.timeout:g} s. Raise timeout, or ask again: "
            "the session stays usable, and .answer holds what there was."
        )


class WireError(ClaudeError):
    """
    The CLI sent something that breaks the protocol.

    Attributes:
        reason: What was wrong, in one clause.

    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            sentence(self.reason) + " Make a recording with Client(record='wire.jsonl') and "
            "report it together with the output of 'claude-sync doctor'."
        )


class UsageError(ClaudeError):
    """The program used this library in a way that cannot work; the text says what to do."""


class CalledFromHandler(UsageError):
    """
    A method that waits for a turn was called from a handler, which would deadlock.

    Attributes:
        method: The method.

    """

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.method = method

    def __str__(self) -> str:
        return (
            f"{self.method}() cannot be called from a handler: it waits for messages that "
            "this very thread delivers. Call submit() instead, which returns at once, and "
            "act in on_result or in the turn's add_done_callback()."
        )


class ClientClosed(UsageError):
    """The client is closed, or was closed while somebody waited."""

    def __init__(self, what: str = "the client is closed") -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return sentence(self.what) + " Open a new Client; resume=... continues the conversation."


class AlreadyAnswered(UsageError):
    """
    A request was answered a second time.

    Attributes:
        decision: The first answer, which stands.

    """

    def __init__(self, decision: object) -> None:
        super().__init__(decision)
        self.decision = decision

    def __str__(self) -> str:
        return (
            f"this request was already answered with {self.decision!r}. "
            "Answer each request once; return claude_sync.LATER if a button answers it."
        )
