"""
Tell from a result how the turn ended: with an answer, or with which error.

::

    process -> lines -> messages -> turns -> [outcomes] -> answer

Real CLIs say it in many ways. API and login failures come as
``subtype: "success"`` with ``is_error: true``; an exhausted budget may come
with ``is_error: false``; an interrupted turn is an ``error_during_execution``
that old CLIs do not mark as an error at all. New CLIs add ``terminal_reason``
and ``api_error_status``; old ones only have the text. All of it is weighed
here, and nowhere else.

And whether a question that failed may be asked again, and how soon. Asking again costs money and
may repeat what a tool did. So only three kinds of failure count, all of which say nothing about
the question itself: the service had no capacity, the account's limit was used up, the CLI died.
The clock and the dice are the caller's.
"""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Type

from ..errors import (
    ApiError,
    BudgetExceeded,
    CliExited,
    ExecutionError,
    MaxTurnsReached,
    NotLoggedIn,
    Overloaded,
    PromptTooLong,
    RateLimited,
    ReturnsError,
    TurnError,
    TurnInterrupted,
)

__all__ = [
    "INTERRUPTED_TEXT",
    "Failure",
    "command_output",
    "failure_of",
    "is_worth_another_try",
    "reset_of",
    "wait_before",
]

# How a turn ends that was stopped; the second in other dialects only.
STOPPED_SUBTYPES = ("error_during_execution", "error")

# The CLI writes this into the conversation, on every version.
INTERRUPTED_TEXT = "[Request interrupted by user"

BY_SUBTYPE = {
    "error_max_turns": MaxTurnsReached,
    "error_max_budget_usd": BudgetExceeded,
    "error_max_structured_output_retries": ReturnsError,
}
BY_TERMINAL_REASON = {
    "max_turns": MaxTurnsReached,
    "budget_exhausted": BudgetExceeded,
    "structured_output_retry_exhausted": ReturnsError,
    "prompt_too_long": PromptTooLong,
    "blocking_limit": PromptTooLong,
    "aborted_streaming": TurnInterrupted,
    "aborted_tools": TurnInterrupted,
}
BY_ASSISTANT_ERROR = {
    "authentication_failed": NotLoggedIn,
    "oauth_org_not_allowed": NotLoggedIn,
    "account_on_hold": NotLoggedIn,
    "verification_required": NotLoggedIn,
    "cloud_credential_error": NotLoggedIn,
    "rate_limit": RateLimited,
    "overloaded": Overloaded,
    "billing_error": ApiError,
    "invalid_request": ApiError,
    "model_not_found": ApiError,
    "server_error": ApiError,
}
# Not for "server_error": that is also said where no server replied at all.
STATUS_OF_ASSISTANT_ERROR = {"model_not_found": 404, "invalid_request": 400}
BY_STATUS = {401: NotLoggedIn, 403: NotLoggedIn, 429: RateLimited, 529: Overloaded}

# What old CLIs, which tell no status, put into the text.
STATUS_IN_TEXT = re.compile(r"API Error: (?:Request rejected \()?(\d{3})\b")
LOGIN_IN_TEXT = re.compile(r"/login\b|Invalid API key|Not logged in", re.IGNORECASE)

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
# After the moment at which a limit is said to be reset: clocks differ.
RESET_MARGIN = 1.0

# "Claude AI usage limit reached|1760000000", as older CLIs put it.
RESET_IN_TEXT = re.compile(r"limit reached\|(\d{10})(\d{3})?\b")
LIMIT_IN_TEXT = re.compile(r"usage limit reached|rate[ _]limit", re.IGNORECASE)
OVERLOADED_IN_TEXT = re.compile(r"overloaded", re.IGNORECASE)
TOO_LONG_IN_TEXT = re.compile(r"prompt is too long|input length and .* exceed", re.IGNORECASE)
# Without a status it never reached the service.
UNREACHABLE_IN_TEXT = re.compile(
    r"API Error|Connection error|ECONNREFUSED|ConnectionRefused|Unable to connect|fetch failed",
    re.IGNORECASE,
)
COMMAND_OUTPUT = re.compile(
    r"<local-command-(?:stdout|stderr)>(.*?)</local-command-(?:stdout|stderr)>", re.DOTALL
)


class Failure:
    """How a turn failed: the class of the error, its reason, and the HTTP status if any."""

    __slots__ = ("error_class", "reason", "status")

    def __init__(
        self, error_class: Type[TurnError], reason: str, status: Optional[int] = None
    ) -> None:
        self.error_class = error_class
        self.reason = reason
        self.status = status

    def error(self, answer: Any, result: Any) -> TurnError:
        """The error to raise."""
        if self.error_class is ApiError:
            return ApiError(self.reason, answer, result, self.status)
        return self.error_class(self.reason, answer, result)


def failure_of(
    raw: Mapping[str, Any],
    *,
    interrupted: bool = False,
    assistant_error: Optional[str] = None,
) -> Optional[Failure]:
    """
    How the turn of this result failed, or None if it did not.

    *interrupted*: an interrupt of ours was acknowledged, or the conversation
    says so. *assistant_error*: the ``error`` of the turn's last assistant message.
    """
    subtype, terminal_reason = raw.get("subtype"), raw.get("terminal_reason")
    if terminal_reason in (None, "completed") and subtype == "success" and not raw.get("is_error"):
        return None  # nearly always
    reason = reason_of(raw)
    error_class = BY_SUBTYPE.get(str(subtype)) or BY_TERMINAL_REASON.get(str(terminal_reason))
    if error_class is TurnInterrupted or (interrupted and subtype in STOPPED_SUBTYPES):
        # The CLI's own diagnostics say nothing to a person here.
        return Failure(TurnInterrupted, "the turn was interrupted")
    if error_class is not None:
        return Failure(error_class, reason)
    if not raw.get("is_error") and subtype in ("success", None):
        return None
    return api_failure(raw, reason, assistant_error) or Failure(ExecutionError, reason)


def api_failure(
    raw: Mapping[str, Any], reason: str, assistant_error: Optional[str]
) -> Optional[Failure]:
    """The failure, if the Messages API or the login was its cause."""
    status = status_of(raw, reason)
    if TOO_LONG_IN_TEXT.search(reason):
        return Failure(PromptTooLong, reason)
    if assistant_error in BY_ASSISTANT_ERROR:
        status = status or STATUS_OF_ASSISTANT_ERROR.get(assistant_error)
        error_class = BY_ASSISTANT_ERROR[assistant_error]
        if assistant_error == "server_error" and status is not None:
            # 2.1.325 says so of an overload too.
            error_class = BY_STATUS.get(status, ApiError)
        return Failure(error_class, reason, status)
    if LOGIN_IN_TEXT.search(reason):
        return Failure(NotLoggedIn, reason)
    if status is not None:
        return Failure(BY_STATUS.get(status, ApiError), reason, status)
    if LIMIT_IN_TEXT.search(reason):
        return Failure(RateLimited, reason)
    if OVERLOADED_IN_TEXT.search(reason):
        return Failure(Overloaded, reason)
    if UNREACHABLE_IN_TEXT.search(reason) or raw.get("terminal_reason") == "api_error":
        return Failure(ApiError, reason)
    return None


def status_of(raw: Mapping[str, Any], reason: str) -> Optional[int]:
    """The HTTP status, from the field for it or from the text."""
    status = raw.get("api_error_status")
    if isinstance(status, int) and not isinstance(status, bool):
        return status
    found = STATUS_IN_TEXT.search(reason)
    return int(found.group(1)) if found else None


def reason_of(raw: Mapping[str, Any]) -> str:
    """What the CLI said about the end of the turn, in one line or a few."""
    errors = raw.get("errors")
    texts = [text for text in errors if isinstance(text, str)] if isinstance(errors, list) else []
    for text in ("; ".join(texts), raw.get("result"), raw.get("error")):
        if isinstance(text, str) and text.strip():
            return text.strip()
    return f"the turn ended with {raw.get('subtype')!r}"


def command_output(text: str) -> Optional[str]:
    """The output of a slash command, which old CLIs wrap into a user message; else None."""
    found = COMMAND_OUTPUT.findall(text)
    return "\n".join(found).strip() if found else None


def is_worth_another_try(error_class: Type[BaseException]) -> bool:
    """Whether the same question may well succeed a little later."""
    return issubclass(error_class, (Overloaded, RateLimited, CliExited))


def wait_before(
    number: int, error_class: Type[BaseException], until_reset: Optional[float], dice: float
) -> float:
    """
    How many seconds to wait before try *number* (1 is the first repetition).

    A limit is waited for until it is reset, where the CLI says when that is
    (*until_reset*, in seconds). Otherwise each wait is twice as long as the one before.
    *dice*, from 0 to 1, makes it up to half as long again, so that many clients that
    failed together do not all come back together.
    """
    if issubclass(error_class, RateLimited) and until_reset is not None and until_reset > 0.0:
        return until_reset + RESET_MARGIN
    if issubclass(error_class, CliExited):
        return 0.0 if number <= 1 else doubled(number - 1, dice)
    return doubled(number, dice)


def doubled(number: int, dice: float) -> float:
    """The wait that doubles from try to try."""
    exponent = min(number - 1, 16)
    return float(min(LONGEST_WAIT, FIRST_WAIT * 2**exponent)) * (1.0 + dice / 2)


def reset_of(limit: Optional[Mapping[str, Any]], reason: str) -> Optional[float]:
    """
    When the limit is reset, in seconds since 1970; None where the CLI does not say.

    *limit* is the ``rate_limit_info`` of the last message about limits; *reason* is the
    text of the failed turn, which is where old CLIs say it.
    """
    if limit is not None and limit.get("status") == "rejected":
        told = limit.get("resetsAt")
        if isinstance(told, (int, float)) and not isinstance(told, bool) and 0 < told < 1e11:
            return float(told)
    found = RESET_IN_TEXT.search(reason)
    return float(found.group(1)) if found else None
