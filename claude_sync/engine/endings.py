"""
What the end of a turn means: an answer, an error, or another try.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

Every handler of the turn has run when this is called. Decisions taken here and nowhere else:

* A turn is asked again under the same future: whoever waits for it sees one answer, whose cost
  is that of all tries.
* An answer of the wrong form is asked for once more in the same conversation, with what was
  wrong about it. An overload, a used-up limit and a crash are met by the same question
  (``retries=``), but never after a tool was used.
* What was stopped on purpose is never asked again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import (
    AskTimeout,
    ExecutionError,
    NotLoggedIn,
    RateLimited,
    ReturnsError,
    TurnInterrupted,
    WireError,
)
from ..log import logger
from ..messages.answer import Answer
from ..prompts import user_message
from ..protocol.exchange import CONTRADICTED
from ..protocol.outcomes import Failure, failure_of
from .connection import FORM_TOOL

if TYPE_CHECKING:
    from ..messages.base import Result
    from ..messages.usage import Charge
    from ..protocol.exchange import Sent
    from .asked import Asked
    from .session import Session

__all__ = ["Endings"]

NO_MORE = 1_000_000
SHIFTED = (
    "the CLI began an earlier question only now, so an earlier answer belonged to another question"
)


class Endings:
    """How the turns of one session end."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # The last word of the CLI on limits, as it came.
        self.limit: Mapping[str, Any] | None = None

    def answer_so_far(self, asked: Asked) -> Answer[Any]:
        """What there is of an answer."""
        session = self._session
        return asked.answer or asked.make_answer(
            asked.sent.result, 0.0, session.cost_usd, session.session_id
        )

    def charge(
        self, asked: Asked, raw: Mapping[str, Any], charge: Charge, result: Result | None
    ) -> None:
        """The result is here. A timeout while its handlers run can still give the answer out."""
        asked.charge(raw, charge, self._session.session_id, result)

    def ended(self, entry: Sent, raw: Mapping[str, Any]) -> None:
        """Every handler of the turn has run: complete it, and send the next question."""
        session, asked = self._session, entry.owner
        if asked is None or asked.sent is not entry:
            # Nobody's; or, after Ctrl-C in here, delivered twice and asked again already.
            session.finished(entry)
            session.pump()
            return
        answer = asked.answer
        assert answer is not None
        failure = failure_of(
            raw, interrupted=asked.interrupted, assistant_error=asked.collected.assistant_error
        )
        problems: list[str] = []
        if asked.form is not None:
            failure = self._read_data(asked, raw, failure, problems)
        if failure is not None and self._asked_again(asked, failure, raw, problems):
            session.pump()
            return
        session.finished(entry)
        answer.is_error = failure is not None
        if asked.handler_error is not None and session.options.raise_handler_errors:
            asked.fail(asked.handler_error)
        elif failure is None:
            asked.succeed(answer)
        elif failure.error_class is TurnInterrupted and asked.stopping is not None:
            asked.fail(with_answer(asked.stopping, answer))
        elif asked.raise_on_error or asked.was_cancelled:
            asked.fail(self._error(failure, answer, problems))
        else:
            asked.succeed(answer)
        session.pump()

    def withdrawn(self, entry: Sent) -> None:
        """The CLI dropped a question, or forgot its result."""
        asked: Asked | None = entry.owner
        self._session.finished(entry)
        if asked is not None:
            answer = self.answer_so_far(asked)
            if entry.reason == CONTRADICTED:
                asked.fail(WireError(SHIFTED))
            elif asked.stopping is not None:
                asked.fail(with_answer(asked.stopping, answer))
            elif asked.interrupted:
                asked.fail(TurnInterrupted("the turn was interrupted before it began", answer))
            else:
                asked.fail(ExecutionError("the CLI ended the turn without a result", answer))
        self._session.pump()

    def failed(self, asked: Asked, error: Exception, may_try_again: bool = False) -> bool:
        """The CLI died in mid-turn, or the turn is given up; True if it is asked again."""
        with self._session.lock:
            self._session.open.discard(asked)
        answer = self.answer_so_far(asked)
        if asked.stopping is not None:
            error = with_answer(asked.stopping, answer)
        elif asked.interrupted:
            error = TurnInterrupted("the turn was interrupted, and the CLI ended", answer)
        elif may_try_again and self._tried_again(asked, type(error), reason_of(error)):
            return True
        asked.fail(error)
        return False

    def could_not_deliver(self, item: Any, error: Exception) -> None:
        """A bug of ours: it is logged, and whoever waits for this very item has an end."""
        logger.error("could not deliver %r", item, exc_info=error)
        entry = getattr(item, "completes", None)
        if entry is None:
            return
        asked: Asked | None = entry.owner
        self._session.finished(entry)
        if asked is not None:
            asked.fail(error)
        self._session.pump()

    # The form of the answer.

    def _read_data(
        self, asked: Asked, raw: Mapping[str, Any], failure: Failure | None, problems: list[str]
    ) -> Failure | None:
        """Read the data that ``returns=`` asked for; what is wrong with it is a failure."""
        from ..schema import Mismatch

        answer, form = asked.answer, asked.form
        assert answer is not None and form is not None
        if asked.off_form:
            # It was stopped because it would never have ended.
            problems.append("no data came: the model answered in plain text, again and again")
            return Failure(ReturnsError, "the CLI found no end asking for data")
        if failure is not None:
            if failure.error_class is ReturnsError:
                problems.append(failure.reason)
            return failure
        connection = self._session.connection
        is_own = connection is not None and connection.exchange.question is asked.sent
        if connection is not None and is_own and not connection.took_form:
            asked.form_tries = NO_MORE  # it would be the same every time
            problems.append("the CLI does not accept the JSON Schema of returns=: make it plainer")
            return Failure(ReturnsError, f"the CLI did not ask the model for {form.name}")
        data = raw.get("structured_output")
        try:
            if data is None:
                raise Mismatch(((), "no data came: the model answered in plain text"))
            answer.data = form.read(data)
        except Mismatch as mismatch:
            problems.extend(mismatch.problems)
            return Failure(ReturnsError, f"the answer is not {form.name}")
        except Exception as error:  # a class of the program's may raise anything
            logger.exception("the answer could not be read as %s", form.name)
            problems.append(f"{type(error).__name__}: {error}")
            return Failure(ReturnsError, f"the answer could not be read as {form.name}")
        return None

    def _error(self, failure: Failure, answer: Answer[Any], problems: list[str]) -> Exception:
        from ..support.redact import redact_text

        failure.reason = redact_text(failure.reason)
        if failure.error_class is ReturnsError:
            return ReturnsError(failure.reason, answer, answer.result, tuple(problems))
        error = failure.error(answer, answer.result)
        if isinstance(error, NotLoggedIn):
            error.cli = self._program()
        elif isinstance(error, RateLimited):
            from ..protocol.outcomes import reset_of

            error.resets_at = reset_of(self.limit, failure.reason)
        return error

    def _program(self) -> str | None:
        """The command that starts the CLI, without its flags; None if it is not a process."""
        import shlex

        connection = self._session.connection
        if connection is None:
            return None
        argv = list(connection.transport.argv)
        flag = connection.dialect.flags[0]
        return shlex.join(argv[: argv.index(flag)]) if flag in argv else None

    # Another try.

    def _asked_again(
        self, asked: Asked, failure: Failure, raw: Mapping[str, Any], problems: list[str]
    ) -> bool:
        """Ask the question again, or for another form of its answer; False: it is over."""
        if failure.error_class is ReturnsError:
            return self._asked_for_form(asked, raw, problems)
        return self._tried_again(asked, failure.error_class, failure.reason, raw)

    def _asked_for_form(self, asked: Asked, raw: Mapping[str, Any], problems: list[str]) -> bool:
        form = asked.form
        if form is None or asked.form_tries >= self._session.options.returns_retries:
            return False
        if asked.was_cancelled or asked.stopping is not None:
            return False
        asked.form_tries += 1
        logger.warning(
            "retrying, because the answer has the wrong form: %s", "; ".join(problems[:3])
        )
        # Verbatim: it quotes the model, which must not make the CLI read files.
        prompt = form.retry_prompt(problems, raw.get("structured_output"))
        return self._session.ask_again(asked, user_message(prompt, verbatim=True), 0.0, raw)

    def _tried_again(
        self,
        asked: Asked,
        error_class: type[BaseException],
        reason: str,
        raw: Mapping[str, Any] | None = None,
    ) -> bool:
        options = self._session.options
        if asked.tries >= options.retries or not asked.is_question:
            return False
        # Only here: most programs never come to this.
        import random

        from ..protocol.outcomes import is_worth_another_try, reset_of, wait_before
        from ..support.redact import redact_text

        if not is_worth_another_try(error_class) or asked.was_cancelled or asked.interrupted:
            return False
        if not options.retry_effects and has_effects(asked):
            logger.warning("not retried, because tools were used; retry_effects=True allows it")
            return False
        asked.tries += 1
        reset = reset_of(self.limit, reason)
        until_reset = None if reset is None else reset - time.time()
        wait = wait_before(asked.tries, error_class, until_reset, random.random())
        logger.warning(
            "retrying in %.1f s (%d of %d): %s",
            wait,
            asked.tries,
            options.retries,
            redact_text(reason).splitlines()[0] if reason else error_class.__name__,
        )
        return self._session.ask_again(asked, asked.message, wait, raw)


def has_effects(asked: Asked) -> bool:
    """Whether tools were used; to fill in a form does nothing."""
    return any(use.name != FORM_TOOL for use in asked.collected.tool_uses.values())


def reason_of(error: Exception) -> str:
    """What happened, without the advice."""
    return str(getattr(error, "reason", error))


def with_answer(error: Exception, answer: Any) -> Exception:
    """*error* with what there was of an answer."""
    if isinstance(error, AskTimeout):
        return AskTimeout(error.timeout, error.sent, answer, error.idle, error.what)
    return error
