"""How a turn ended, from everything that CLIs old and new say about it."""

from __future__ import annotations

import pytest

from claude_sync import errors
from claude_sync.protocol.outcomes import command_output, failure_of


def ended(subtype="success", **fields):
    """A result."""
    return {"type": "result", "subtype": subtype, **fields}


@pytest.mark.parametrize(
    "raw",
    [
        ended(is_error=False, result="4"),
        ended(result="4"),
        ended(terminal_reason="completed", result=""),
        {"type": "result", "result": "4"},
    ],
)
def test_an_answer_is_no_failure(raw):
    """A success is a success, with or without the fields around it."""
    assert failure_of(raw) is None


@pytest.mark.parametrize(
    ("raw", "error_class"),
    [
        (ended("error_max_turns", is_error=True, errors=["too many"]), errors.MaxTurnsReached),
        (ended(is_error=True, terminal_reason="max_turns"), errors.MaxTurnsReached),
        # Some CLIs say that this is no error.
        (ended("error_max_budget_usd", is_error=False), errors.BudgetExceeded),
        (ended(is_error=True, terminal_reason="budget_exhausted"), errors.BudgetExceeded),
        (ended("error_max_structured_output_retries"), errors.ReturnsError),
        (ended(is_error=True, terminal_reason="prompt_too_long"), errors.PromptTooLong),
        (ended(is_error=True, result="Prompt is too long"), errors.PromptTooLong),
        (ended("error_during_execution", terminal_reason="aborted_tools"), errors.TurnInterrupted),
        (ended("error_during_execution", is_error=True, errors=["boom"]), errors.ExecutionError),
        (ended("error_during_execution", is_error=False), errors.ExecutionError),
        (ended("error", is_error=True, error="Rate limit exceeded"), errors.RateLimited),
        (ended(is_error=True, result="Invalid API key · Please run /login"), errors.NotLoggedIn),
        (ended(is_error=True, result="API Error: 401 no"), errors.NotLoggedIn),
        (ended(is_error=True, result="x", api_error_status=403), errors.NotLoggedIn),
        (ended(is_error=True, result="x", api_error_status=429), errors.RateLimited),
        (ended(is_error=True, result="Claude AI usage limit reached|17"), errors.RateLimited),
        (ended(is_error=True, result="API Error: 529 {}"), errors.Overloaded),
        (ended(is_error=True, result="API Error: Repeated Overloaded"), errors.Overloaded),
        (ended(is_error=True, result="API Error: 404 {}"), errors.ApiError),
        (ended(is_error=True, result="API Error: Connection error."), errors.ApiError),
        (ended(is_error=True, result="hm", terminal_reason="api_error"), errors.ApiError),
        (ended(is_error=True, result="something else"), errors.ExecutionError),
        (ended(is_error=True, result="x", api_error_status=True), errors.ExecutionError),
    ],
)
def test_each_ending_has_its_error(raw, error_class):
    """Whatever field tells it, the cause decides the class."""
    assert failure_of(raw).error_class is error_class


@pytest.mark.parametrize(
    ("said", "error_class", "status"),
    [
        ("authentication_failed", errors.NotLoggedIn, None),
        ("rate_limit", errors.RateLimited, None),
        ("overloaded", errors.Overloaded, None),
        ("model_not_found", errors.ApiError, 404),
        ("billing_error", errors.ApiError, None),
        ("server_error", errors.ApiError, None),
        ("unknown", errors.ExecutionError, None),
    ],
)
def test_the_assistant_message_tells_the_cause(said, error_class, status):
    """New CLIs name it in the message before the result."""
    failure = failure_of(ended(is_error=True, result="no"), assistant_error=said)
    assert failure.error_class is error_class
    if error_class is errors.ApiError:
        assert failure.status == status


def test_an_overload_that_is_called_a_server_error_is_an_overload():
    """The status says more than the name that some CLIs give it."""
    failure = failure_of(
        ended(is_error=True, result="no", api_error_status=529), assistant_error="server_error"
    )
    assert failure.error_class is errors.Overloaded


def test_an_interrupted_turn_is_one_however_it_is_marked():
    """Old CLIs do not mark it as an error at all; that we interrupted it decides."""
    raw = ended("error_during_execution", is_error=False, errors=[])
    assert failure_of(raw, interrupted=True).error_class is errors.TurnInterrupted


def test_an_interrupt_that_came_too_late_spoils_nothing():
    """A turn that succeeded all the same has an answer."""
    assert failure_of(ended(result="4"), interrupted=True) is None


def test_an_interrupt_in_another_dialect():
    """There every failure is an "error"; the reason is known because we interrupted."""
    raw = ended("error", is_error=True, error="Request cancelled")
    assert failure_of(raw, interrupted=True).error_class is errors.TurnInterrupted
    assert failure_of(raw).error_class is errors.ExecutionError


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (ended("error_max_turns", errors=["a", 3, "b"], result="c"), "a; b"),
        (ended("error_max_turns", errors=[], result=" c "), "c"),
        (ended("error_max_turns", errors="junk", error="d"), "d"),
        (ended("error_max_turns", result=3), "the turn ended with 'error_max_turns'"),
    ],
)
def test_the_reason_is_what_the_cli_said(raw, reason):
    """Errors first, then the text, then at least the subtype."""
    assert failure_of(raw).reason == reason


def test_the_error_carries_what_there_was():
    """The answer, the result and the status are attributes of the error."""
    error = failure_of(ended(is_error=True, result="API Error: 500 x")).error("answer", "result")
    assert (error.answer, error.result, error.status) == ("answer", "result", 500)
    error = failure_of(ended("error_max_turns")).error("answer", "result")
    assert (type(error), error.answer, error.result) == (errors.MaxTurnsReached, "answer", "result")


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("<local-command-stdout>Total: 3\n</local-command-stdout>", "Total: 3"),
        ("<local-command-stderr>no</local-command-stderr>", "no"),
        (
            "<local-command-stdout>a</local-command-stdout>"
            "<local-command-stdout>b</local-command-stdout>",
            "a\nb",
        ),
        ("hello", None),
    ],
)
def test_the_output_of_a_slash_command(text, output):
    """Old CLIs wrap it into a user message."""
    assert command_output(text) == output
