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
person in front of an application. What a class declares is its data: it is passed to the
constructor, is an attribute, and survives pickling and copying.
"""

from __future__ import annotations

import copyreg
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    from .messages.answer import Answer
else:

    def dataclass_transform():
        """For type checkers: the annotations of a class are the arguments of its constructor."""
        return lambda error_class: error_class


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


@dataclass_transform()
class ClaudeError(Exception):
    """
    The base of every error of this library.

    A subclass declares its data as annotated attributes, in the order of its arguments; those
    without a default are required.

    Attributes:
        client: The name of the client that raised it, or None.

    """

    # The names of the data.
    _data: Any = ()

    # What happened ("{0.timeout}" is the error's own data), what to do, and the word for people.
    _problem = ""
    _advice = ""
    _user_message = "Something went wrong."

    def __init_subclass__(cls) -> None:
        cls._data = (*cls._data, *cls.__annotations__)

    def __init__(self, *args: Any, **data: Any) -> None:
        self.client: str | None = None
        given = {**dict(zip(self._data, args)), **data}
        required = {name for name in self._data if not hasattr(type(self), name)}
        if not required <= given.keys() <= {*self._data}:
            raise TypeError(f"{type(self).__name__} takes {', '.join(self._data) or 'a text'}")
        kept = {name: self._kept(name, value) for name, value in given.items()}
        vars(self).update(kept)
        super().__init__(*(kept.values() if self._data else args))

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    def _kept(self, _name: str, value: Any) -> Any:
        """A value as the error keeps it."""
        return tuple(value) if isinstance(value, list) else value

    @property
    def problem(self) -> str:
        """What happened, without advice."""
        given = str(self.args[0]) if self.args else ""
        return sentence(self._problem.format(self) or given)

    @property
    def advice(self) -> str:
        """What a programmer can do about it."""
        return self._advice

    @property
    def user_message(self) -> str:
        """One short sentence for the person in front of an application."""
        return self._user_message

    # What else is known, which may be long.
    _details = ""

    def __str__(self) -> str:
        return error_text(self, self.advice)


# The CLI process.


class CliNotFound(ClaudeError, FileNotFoundError):
    """
    No ``claude`` executable was found.

    Attributes:
        searched: The places looked at, in order.

    """

    searched: Sequence[str]

    _advice = (
        f"Install it ({INSTALL}), or name its path with cli=... or the environment variable "
        "CLAUDE_CODE_PATH."
    )
    _user_message = "Claude is not installed."

    _problem = "the 'claude' command was not found."

    @property
    def _details(self) -> str:  # type: ignore[override]
        return listed("Looked at:", "-", tuple(dict.fromkeys(self.searched)))


# What the CLI writes to stderr when it refuses to start, or what stands in for it when it ends:
# the option concerned, and advice.
REFUSALS = {
    "the backend of the bridge has ended": (
        None,
        "Make a new Bridge, and new clients with resume=client.session_id.",
    ),
    "fake_cli has no script": (None, "Decorate a function with @fake_cli.play."),
    "the script has ended": (
        None,
        "Add cli.answer(...) to it, or let it loop over cli.questions().",
    ),
    "the script failed:": (None, "Change the script, or what the client says."),
    "No conversation found": (
        "resume",
        "Check resume=...: conversations belong to the folder (cwd=...) they were held in.",
    ),
    "--resume requires": (
        "resume",
        "Pass the id of a conversation as resume=...: answer.session_id or client.session_id.",
    ),
    "No message found with message.uuid": (
        "resume_at",
        "Pass the uuid of a message of that conversation as resume_at=...",
    ),
    "unknown option": (
        None,
        f"The CLI does not know one of the options. Update it ({UPDATE}), or leave it out.",
    ),
    "Invalid value": (None, "Check the values of the options."),
    "is already in use": (
        "session_id",
        "A session_id can begin only one conversation. Pass resume=... to continue it.",
    ),
}


class CliFailed(ClaudeError):
    """
    The CLI process failed.

    Attributes:
        reason: What happened, in one clause.
        exit_code: Its exit code; negative for a signal, None while unknown.
        stderr_tail: The last lines it wrote to stderr, secrets removed.
        argv: The command that was run, secrets removed.

    """

    reason: str
    exit_code: int | None = None
    stderr_tail: Sequence[str] = ()
    argv: Sequence[str] = ()

    _advice = "Run 'claude-sync doctor' to check the installation."
    _user_message = "Claude does not work."

    def _refusal(self) -> tuple[str | None, str]:
        """The option that the CLI refused, and the advice, by what the CLI wrote."""
        text = "\n".join((self.reason, *self.stderr_tail))
        return next((REFUSALS[words] for words in REFUSALS if words in text), (None, self._advice))

    @property
    def option(self) -> str | None:
        """The option that the CLI refused, or None."""
        return self._refusal()[0]

    @property
    def problem(self) -> str:
        """What happened, with the last lines of stderr."""
        exit_code = "" if self.exit_code is None else f" ({describe_exit(self.exit_code)})"
        lines = [line for line in self.stderr_tail if line not in self.reason]
        if not lines:
            return f"{self.reason}{exit_code}."
        title = f"{self.reason}{exit_code}. The end of its stderr:"
        return listed(title, "|", lines[-STDERR_LINES_SHOWN:])

    @property
    def advice(self) -> str:
        """What a programmer can do; by what the CLI wrote, if that is known."""
        return self._refusal()[1]


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

    reason: str
    answer: Answer | None = None
    result: Any = None

    _advice = "The session stays usable, and .answer holds what arrived."
    _user_message = "Claude could not finish the answer."


class NotLoggedIn(TurnError):
    """
    The CLI has no valid credentials.

    Attributes:
        cli: The path of the CLI, or None if it is unknown.

    """

    cli: str | None = None

    _user_message = "Claude is not signed in."

    @property
    def advice(self) -> str:
        """How to log in."""
        command = self.cli or "claude ('claude-sync doctor' prints its path)"
        return (
            f"Run {command} in a terminal and log in with /login, or set ANTHROPIC_API_KEY "
            "in the environment."
        )


class RateLimited(TurnError):
    """
    The account's usage limit is reached.

    Attributes:
        resets_at: When the limit resets, in seconds since 1970; None if the CLI does not say.

    """

    resets_at: float | None = None

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

    status: int | None = None

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

    problems: Sequence[str] = ()

    _advice = (
        "See .answer for what arrived. Describe the form in the prompt as well, make fields "
        "optional that may be missing, or raise returns_retries."
    )
    _user_message = "Claude's answer has the wrong form."

    @property
    def problem(self) -> str:
        """What happened, with the list of problems."""
        if not self.problems:
            return sentence(self.reason)
        return listed(f"{self.reason}:", "-", self.problems)


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

    subtype: str
    text: str
    code: str | None = None

    _advice = "Check the values, and that this version of the CLI knows the request."
    _user_message = "Claude could not do that."

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

    subtype: str
    timeout: float

    _problem = "the CLI did not answer the request {0.subtype!r} within {0.timeout:g} s"
    _advice = (
        "Pass a longer timeout=, or update the CLI: before 2.1.40 it never answers requests that "
        "it does not know."
    )
    _user_message = "Claude did not respond in time."


class UnsupportedByCli(ClaudeError):
    """
    This version of the CLI cannot do it.

    Attributes:
        feature: What it cannot do.
        cli_version: Its version, or None if it does not say.

    """

    feature: str
    cli_version: str | None = None

    _advice = f"Update it ({UPDATE})."
    _user_message = "This needs a newer version of Claude Code."

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

    timeout: float
    sent: bool = True
    answer: Answer | None = None
    idle: bool = False
    what: str = NO_ANSWER

    _user_message = "Claude took too long."
    # False where the client is closed by now.
    _goes_on = True

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
        if not self._goes_on:
            return f"Raise {'idle_timeout' if self.idle else 'timeout'}."
        if self.idle:
            return "Raise idle_timeout, or ask again: the session stays usable."
        if self.sent:
            return f"Raise timeout, or ask again. {TurnError._advice}"
        if self.what == NO_ANSWER:
            return "Raise timeout, or open a second client to ask in parallel."
        return "Raise timeout, or check how the CLI starts with 'claude-sync doctor'."


class WireError(ClaudeError):
    """
    The CLI sent something that breaks the protocol.

    Attributes:
        reason: What was wrong, in one clause.

    """

    reason: str

    _advice = (
        "Make a recording with Client(record='wire.jsonl') and report it together with the output "
        "of 'claude-sync doctor'."
    )
    _user_message = "Claude sent something that this application does not understand."


class UsageError(ClaudeError):
    """
    The program used this library in a way that cannot work; the text says what to do.

    Attributes:
        option: The option or argument with the wrong name or value, or None.
        value: The value; of objects other than texts and numbers a short repr, so that the error
            can be pickled. None if it may hold a secret.
        nearest: The right name or value that was probably meant, or None.

    """

    text: object = ""
    option: str | None = None
    value: object = None
    nearest: str | None = None

    _user_message = "This application made a mistake."

    def _kept(self, name: str, value: Any) -> Any:
        plain = value is None or isinstance(value, (str, int, float, bool))
        return value if plain or name != "value" else reprlib.repr(value)


class CalledFromHandler(UsageError):
    """
    A method that waits for a turn was called in a handler, which would deadlock.

    Attributes:
        method: The method.

    """

    _problem = (
        "{0.method}() cannot be called in a handler: it waits for messages that this very thread "
        "delivers"
    )
    _advice = (
        "Call submit() instead, which returns at once, and act in on_result or in the turn's "
        "add_done_callback()."
    )

    def __init__(self, method: str) -> None:
        super().__init__(method)
        self.method = method


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

    _problem = "this request was already answered with {0.decision!r}"
    _advice = "Answer each request once; return claude_sync.LATER if a button answers it."
    _user_message = "This was already answered."

    def __init__(self, decision: object) -> None:
        super().__init__(decision)
        self.decision = decision


# Texts.


def error_text(error: ClaudeError, advice: str) -> str:
    """The text of an error: advice follows a problem of several lines on its own line."""
    between = "\n" if "\n" in error.problem else " "
    text = between.join(filter(None, (error.problem, advice)))
    return "\n".join(filter(None, (text, error._details)))


def sentence(text: str) -> str:
    """*text* with one full stop at its end."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) or not text else text + "."


def listed(title: str, sign: str, texts: Sequence[str]) -> str:
    """A list with a title: each text on a line, after a sign."""
    return "\n".join([title, *(f"  {sign} {text}" for text in texts)])


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
