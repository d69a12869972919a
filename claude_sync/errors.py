"""
Everything this library raises, as one tree; each error says what to do next.

::

    ClaudeError                                .client, .problem, .advice, .user_message
    ├── CliNotFound (also FileNotFoundError)   no ``claude`` executable: .searched
    ├── CliFailed                              the process failed: .exit_code, .stderr_tail, .argv
    │   ├── CliDidNotStart                     it did not become ready
    │   └── CliExited                          it ended during a turn or a request
    ├── TurnError                              the turn failed: .reason, .answer, .result
    │   ├── NotLoggedIn                        .cli
    │   ├── RateLimited                        .resets_at
    │   ├── Overloaded
    │   ├── ApiError                           .status
    │   ├── MaxTurnsReached
    │   ├── BudgetExceeded
    │   ├── PromptTooLong
    │   ├── ReturnsError                       .problems
    │   ├── TurnInterrupted
    │   └── ExecutionError
    ├── ControlError                           the CLI refused a control request: .code
    ├── ControlTimeout (also TimeoutError)     the CLI did not answer a control request
    ├── UnsupportedByCli                       this version of the CLI cannot do it
    ├── AskTimeout (also TimeoutError)         .sent, .answer; the session stays usable
    ├── WireError                              the CLI broke the protocol
    └── UsageError                             the program made a mistake: .option, .value, .nearest
        ├── CalledFromHandler                  .method
        ├── ClientClosed
        └── AlreadyAnswered                    .decision

``str(error)`` is for programmers: the problem, then the advice. ``error.user_message`` is for the
person in front of an application. Data is in attributes, and every error can be pickled and
copied with it.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, Iterable, Sequence

if TYPE_CHECKING:
    from .messages.answer import Answer

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

INSTALL = "npm install -g @anthropic-ai/claude-code, or pip install claude-agent-sdk"
UPDATE = "claude update, or pip install -U claude-agent-sdk"

# The last lines of stderr that an error's text quotes: enough for the end of a traceback.
STDERR_LINES_SHOWN = 12


class ClaudeError(Exception):
    """
    The base of every error of this library.

    Attributes:
        client: The name of the client that raised it, or None.

    """

    client: str | None = None

    _advice = ""
    _user_message = "Something went wrong."

    @property
    def problem(self) -> str:
        """What happened, without advice."""
        return sentence(str(self.args[0])) if self.args else ""

    @property
    def advice(self) -> str:
        """What a programmer can do about it."""
        return self._advice

    @property
    def user_message(self) -> str:
        """One short sentence for the person in front of an application."""
        return self._user_message

    def __str__(self) -> str:
        return error_text(self.problem, self.advice)


# The CLI process.


class CliNotFound(ClaudeError, FileNotFoundError):
    """
    No ``claude`` executable was found.

    Attributes:
        searched: The places looked at, in order.

    """

    _advice = (
        f"Install it ({INSTALL}), or name its path with cli=... or the environment variable "
        "CLAUDE_CODE_PATH."
    )
    _user_message = "Claude is not installed."

    def __init__(self, searched: Sequence[str]) -> None:
        super().__init__(searched)
        self.searched = tuple(searched)

    @property
    def problem(self) -> str:
        """What happened, with the places looked at."""
        return "\n".join(
            ["the 'claude' command was not found. Looked at:", *listed(self.searched)],
        )


# What the CLI writes to stderr when it refuses to start: the option concerned, and advice.
REFUSALS = (
    (
        "the backend of the bridge has ended",
        None,
        "Make a new Bridge, and new clients with resume=client.session_id.",
    ),
    (
        "No conversation found",
        "resume",
        "Check resume=...: conversations belong to the folder (cwd=...) they were held in.",
    ),
    (
        "--resume requires",
        "resume",
        "Pass the id of a conversation as resume=...: answer.session_id or client.session_id.",
    ),
    (
        "unknown option",
        None,
        f"The CLI does not know one of the options. Update it ({UPDATE}), or leave it out.",
    ),
    ("Invalid value", None, "Check the values of the options."),
    (
        "is already in use",
        "session_id",
        "A session_id can begin only one conversation. Pass resume=... to continue it.",
    ),
)


class CliFailed(ClaudeError):
    """
    The CLI process failed.

    Attributes:
        reason: What happened, in one clause.
        exit_code: Its exit code; negative for a signal, None while unknown.
        stderr_tail: The last lines it wrote to stderr, secrets removed.
        argv: The command that was run, secrets removed.
        option: The option that the CLI refused, or None.

    """

    _advice = "Run 'claude-sync doctor' to check the installation."
    _user_message = "Claude does not work."

    def __init__(
        self,
        reason: str,
        exit_code: int | None = None,
        stderr_tail: Sequence[str] = (),
        argv: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, exit_code, tuple(stderr_tail), tuple(argv))
        self.reason = reason
        self.exit_code = exit_code
        self.stderr_tail = tuple(stderr_tail)
        self.argv = tuple(argv)
        said = "\n".join((reason, *self.stderr_tail))
        found = [(option, advice) for words, option, advice in REFUSALS if words in said]
        self.option, self._refusal = found[0] if found else (None, "")

    @property
    def summary(self) -> str:
        """What happened, in one sentence."""
        exit_code = "" if self.exit_code is None else f" ({describe_exit(self.exit_code)})"
        return f"{self.reason}{exit_code}."

    @property
    def problem(self) -> str:
        """What happened, with the last lines of stderr."""
        lines = [line for line in self.stderr_tail if line not in self.reason]
        if not lines:
            return self.summary
        return "\n".join([f"{self.summary} The end of its stderr:", *quoted(lines)])

    @property
    def advice(self) -> str:
        """What a programmer can do; by what the CLI wrote, if that is known."""
        return self._refusal or self._advice


class CliDidNotStart(CliFailed):
    """The CLI never became ready: it exited, or stayed silent, before the first question."""

    _user_message = "Claude could not be started."


class CliExited(CliFailed):
    """The CLI ended during a turn or a request."""

    _advice = (
        "The next question starts it again and resumes the conversation, "
        "unless the client has on_crash='raise'."
    )
    _user_message = "Claude stopped unexpectedly."


# The end of a turn.


class TurnError(ClaudeError):
    """
    A turn ended without the answer that was asked for.

    Attributes:
        reason: What the CLI said, or what happened, in one clause.
        answer: The answer so far, or None.
        result: The CLI's result message, or None.

    """

    _advice = "The session stays usable, and .answer holds what arrived."
    _user_message = "Claude could not finish the answer."

    def __init__(
        self, reason: str, answer: Answer | None = None, result: Any | None = None
    ) -> None:
        super().__init__(reason, answer, result)
        self.reason = reason
        self.answer = answer
        self.result = result


class NotLoggedIn(TurnError):
    """
    The CLI has no valid credentials.

    Attributes:
        cli: The path of the CLI, or None if it is unknown.

    """

    _user_message = "Claude is not signed in."

    def __init__(
        self,
        reason: str,
        answer: Answer | None = None,
        result: Any | None = None,
        cli: str | None = None,
    ) -> None:
        super().__init__(reason, answer, result)
        self.cli = cli

    @property
    def advice(self) -> str:
        """How to log in."""
        command = self.cli or "claude"
        more = "" if self.cli else " ('claude-sync doctor' prints its path)"
        return (
            f"Run {command}{more} in a terminal and log in with /login, or set ANTHROPIC_API_KEY "
            "in the environment."
        )


class RateLimited(TurnError):
    """
    The account's usage limit is reached.

    Attributes:
        resets_at: When the limit resets, in seconds since 1970; None if the CLI does not say.

    """

    def __init__(
        self,
        reason: str,
        answer: Answer | None = None,
        result: Any | None = None,
        resets_at: float | None = None,
    ) -> None:
        super().__init__(reason, answer, result)
        self.resets_at = resets_at

    @property
    def advice(self) -> str:
        """How long to wait."""
        until = f" at {local_time(self.resets_at)}" if self.resets_at is not None else ""
        return f"Wait until the limit resets{until}, or use another model."

    @property
    def user_message(self) -> str:
        """With the time at which the limit resets, in local time."""
        if self.resets_at is None:
            return "The usage limit is reached. Try again later."
        return f"The usage limit is reached until {local_time(self.resets_at)}."


class Overloaded(TurnError):
    """The service had no capacity."""

    _advice = "Try again in a minute, or use another model."
    _user_message = "Claude is busy. Try again in a minute."


class ApiError(TurnError):
    """
    The Messages API refused the request or could not be reached.

    Attributes:
        status: The HTTP status, or None if there was no reply.

    """

    def __init__(
        self,
        reason: str,
        answer: Answer | None = None,
        result: Any | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(reason, answer, result)
        self.status = status

    def _texts(self) -> tuple[str, str]:
        """The advice for programmers, and the sentence for people."""
        if self.status is None:
            return (
                "Check the network connection, the proxy and ANTHROPIC_BASE_URL.",
                "Claude cannot be reached. Check the network connection.",
            )
        if self.status == 404:
            return (
                "Check the model's name, model=...; client.info.models lists some.",
                "This model is not available.",
            )
        if self.status in (401, 403):
            return NotLoggedIn(self.reason).advice, NotLoggedIn._user_message
        if self.status >= 500:
            return "The service failed. Try again in a minute.", Overloaded._user_message
        return (
            "Check what was sent: model, attachments and options.",
            "Claude could not read the request.",
        )

    @property
    def advice(self) -> str:
        """What a programmer can do, by the status."""
        return self._texts()[0]

    @property
    def user_message(self) -> str:
        """One short sentence, by the status."""
        return self._texts()[1]


class MaxTurnsReached(TurnError):
    """The turn needed more steps than max_turns allows."""

    _advice = "Raise max_turns, or ask again to continue from where it stopped."
    _user_message = "The task took too many steps."


class BudgetExceeded(TurnError):
    """The budget of the process (max_budget_usd) or of the client (budget_usd) is spent."""

    _advice = "Raise max_budget_usd or budget_usd, or open a new client."
    _user_message = "The budget is spent."


class PromptTooLong(TurnError):
    """The conversation no longer fits the model's context window."""

    _advice = "Ask '/compact' to shorten the conversation, send less, or open a new client."
    _user_message = "The conversation is too long."


class ReturnsError(TurnError):
    """
    The answer does not match ``returns=``.

    Attributes:
        problems: What was wrong, one text for each thing, with its place.

    """

    _advice = (
        "See .answer for what arrived. Describe the form in the prompt as well, make fields "
        "optional that may be missing, or raise returns_retries."
    )
    _user_message = "Claude's answer has the wrong form."

    def __init__(
        self,
        reason: str,
        answer: Answer | None = None,
        result: Any | None = None,
        problems: Sequence[str] = (),
    ) -> None:
        super().__init__(reason, answer, result)
        self.problems = tuple(problems)

    @property
    def problem(self) -> str:
        """What happened, with the list of problems."""
        if not self.problems:
            return sentence(self.reason)
        return "\n".join([f"{self.reason}:", *listed(self.problems)])


class TurnInterrupted(TurnError):
    """The turn was interrupted: by interrupt(), cancel(), a deny(interrupt=True) or close()."""

    _advice = "The session stays usable, and .answer holds the text so far."
    _user_message = "Stopped."


class ExecutionError(TurnError):
    """The turn failed inside the CLI for a reason this library has no class for."""


# Control requests.


class ControlError(ClaudeError):
    """
    The CLI refused a control request.

    Attributes:
        subtype: The request.
        text: What the CLI said.
        code: Its error code, or None: old CLIs give none.

    """

    _advice = "Check the values, and that this version of the CLI knows the request."
    _user_message = "Claude could not do that."

    def __init__(self, subtype: str, text: str, code: str | None = None) -> None:
        super().__init__(subtype, text, code)
        self.subtype = subtype
        self.text = text
        self.code = code

    @property
    def problem(self) -> str:
        """What the CLI said."""
        code = f" [{self.code}]" if self.code else ""
        return f"the CLI refused the request {self.subtype!r}{code}: {sentence(self.text)}"


class ControlTimeout(ClaudeError, TimeoutError):
    """
    The CLI did not answer a control request in time.

    Attributes:
        subtype: The request.
        timeout: The limit, in seconds.

    """

    _advice = (
        "Pass a longer timeout=, or update the CLI: before 2.1.40 it never answers requests that "
        "it does not know."
    )
    _user_message = "Claude did not respond in time."

    def __init__(self, subtype: str, timeout: float) -> None:
        super().__init__(subtype, timeout)
        self.subtype = subtype
        self.timeout = timeout

    @property
    def problem(self) -> str:
        """What was not answered, and for how long."""
        return f"the CLI did not answer the request {self.subtype!r} within {self.timeout:g} s."


class UnsupportedByCli(ClaudeError):
    """
    This version of the CLI cannot do it.

    Attributes:
        feature: What it cannot do.
        cli_version: Its version, or None if it does not say.

    """

    _advice = f"Update it ({UPDATE})."
    _user_message = "This needs a newer version of Claude Code."

    def __init__(self, feature: str, cli_version: str | None = None) -> None:
        super().__init__(feature, cli_version)
        self.feature = feature
        self.cli_version = cli_version

    @property
    def problem(self) -> str:
        """Which version, and what it cannot do."""
        version = self.cli_version or "of an unknown, old version"
        return f"the CLI {version} does not support {self.feature}."


# Time, wire, usage.


NO_ANSWER = "no complete answer"


class AskTimeout(ClaudeError, TimeoutError):
    """
    A question took longer than its timeout. The session stays usable.

    Attributes:
        timeout: The limit that was reached, in seconds.
        sent: Whether the question had reached the CLI; False: it was withdrawn unsent.
        answer: The answer so far, or None.
        idle: True if it was ``idle_timeout``, the limit on silence.
        what: What did not happen in time.

    """

    _user_message = "Claude took too long."

    def __init__(
        self,
        timeout: float,
        sent: bool = True,
        answer: Answer | None = None,
        idle: bool = False,
        what: str = NO_ANSWER,
    ) -> None:
        super().__init__(timeout, sent, answer, idle, what)
        self.timeout = timeout
        self.sent = sent
        self.answer = answer
        self.idle = idle
        self.what = what

    @property
    def problem(self) -> str:
        """What did not happen, and in which time."""
        if self.idle:
            return f"the CLI was silent for {self.timeout:g} s, and the turn was interrupted."
        if self.sent:
            return f"{self.what} within {self.timeout:g} s."
        what = "the question was still queued" if self.what == NO_ANSWER else self.what
        return f"{what} after {self.timeout:g} s, and the question was withdrawn unsent."

    @property
    def advice(self) -> str:
        """Which limit to raise."""
        if self.idle:
            return "Raise idle_timeout, or ask again: the session stays usable."
        if self.sent:
            return (
                "Raise timeout, or ask again: the session stays usable, and .answer holds what "
                "arrived."
            )
        if self.what == NO_ANSWER:
            return "Raise timeout, or open a second client to ask in parallel."
        return "Raise timeout, or check how the CLI starts with 'claude-sync doctor'."


class WireError(ClaudeError):
    """
    The CLI sent something that breaks the protocol.

    Attributes:
        reason: What was wrong, in one clause.

    """

    _advice = (
        "Make a recording with Client(record='wire.jsonl') and report it together with the output "
        "of 'claude-sync doctor'."
    )
    _user_message = "Claude sent something that this application does not understand."

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UsageError(ClaudeError):
    """
    The program used this library in a way that cannot work; the text says what to do.

    Attributes:
        option: The option or argument with the wrong name or value, or None.
        value: The value; of objects other than texts and numbers a short repr, so that the error
            can be pickled. None if it may hold a secret.
        nearest: The right name or value that was probably meant, or None.

    """

    _user_message = "This application made a mistake."

    def __init__(
        self,
        *args: object,
        option: str | None = None,
        value: object = None,
        nearest: str | None = None,
    ) -> None:
        super().__init__(*args)
        plain = value is None or isinstance(value, (str, int, float, bool))
        self.option = option
        self.value = value if plain else reprlib.repr(value)
        self.nearest = nearest


class CalledFromHandler(UsageError):
    """
    A method that waits for a turn was called in a handler, which would deadlock.

    Attributes:
        method: The method.

    """

    _advice = (
        "Call submit() instead, which returns at once, and act in on_result or in the turn's "
        "add_done_callback()."
    )

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.method = method

    @property
    def problem(self) -> str:
        """What was called, and why that cannot work."""
        return (
            f"{self.method}() cannot be called in a handler: it waits for messages that this very "
            "thread delivers."
        )


class ClientClosed(UsageError):
    """The client is closed, or was closed during a call."""

    _advice = "Open a new Client; resume=... continues the conversation."
    _user_message = "The conversation is closed."

    def __init__(self, what: str = "the client is closed") -> None:
        super().__init__(what)
        self.what = what


class AlreadyAnswered(UsageError):
    """
    A request was answered a second time.

    Attributes:
        decision: The first answer, which stands.

    """

    _advice = "Answer each request once; return claude_sync.LATER if a button answers it."
    _user_message = "This was already answered."

    def __init__(self, decision: object) -> None:
        super().__init__(decision)
        self.decision = decision

    @property
    def problem(self) -> str:
        """What the first answer was."""
        return f"this request was already answered with {self.decision!r}."


# Texts.


def error_text(problem: str, advice: str) -> str:
    """The text of an error: advice follows a problem of several lines on its own line."""
    between = "\n" if "\n" in problem else " "
    return between.join(filter(None, (problem, advice)))


def sentence(text: str) -> str:
    """*text* with one full stop at its end."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) else text + "."


def listed(texts: Iterable[str]) -> list[str]:
    """Each text as an item of a list."""
    return [f"  - {text}" for text in texts]


def quoted(lines: Sequence[str]) -> list[str]:
    """The last of *lines*, marked as a quotation."""
    return [f"  | {line}" for line in lines[-STDERR_LINES_SHOWN:]]


def describe_exit(code: int) -> str:
    """An exit code in words: signals by name."""
    if code >= 0:
        return f"exit code {code}"
    import signal

    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def local_time(seconds: float) -> str:
    """A moment in local time; with the date if it is not within a day."""
    import time

    try:
        moment = time.localtime(seconds)
    except (OverflowError, ValueError, OSError):  # beyond what the system's clock can say
        return "an unknown time"
    same_day = 0 <= seconds - time.time() < 24 * 3600
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d %H:%M", moment)
