"""
What the end of a turn means: an answer, an error, or another try.

::

    process -> lines -> messages -> dispatch -> handlers -> [turn]

Every handler of the turn has run when this is called. Decisions taken here and
nowhere else:

* A turn is asked again under the same future: whoever waits for it sees one answer,
  whose cost is that of all tries.
* An answer of the wrong form is asked for once more in the same conversation, with
  what was wrong about it; an overload, a used-up limit and a crash are met by the
  same question (``retries=``), but never after a tool was used.
* What was stopped on purpose is never asked again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, List, Mapping, Optional, Type

from ..engine.turn import Turn
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
    from ..protocol.exchange import Sent
    from .engine import Engine

__all__ = ["Endings"]

NO_MORE = 1_000_000
SHIFTED = "the CLI began an earlier question only now, so an answer before this was somebody else's"


class Endings:
    """How the turns of one engine end."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The last word of the CLI on limits, as it came.
        self.limit: Optional[Mapping[str, Any]] = None

    def ended(self, entry: Sent, raw: Mapping[str, Any]) -> None:
        """Every handler of the turn has run: complete it, and send the next question."""
        engine, turn = self._engine, entry.owner
        if not isinstance(turn, Turn) or turn._entry is not entry:
            # Nobody's; or, after Ctrl-C in here, delivered twice and asked again already.
            engine.finished(entry)
            engine.send_next()
            return
        answer = turn._answer
        assert answer is not None
        failure = failure_of(
            raw, interrupted=turn._interrupted, assistant_error=turn._assistant_error
        )
        problems: List[str] = []
        if turn._form is not None:
            failure = self._read_data(turn, raw, failure, problems)
        if failure is not None and self._asked_again(turn, failure, raw, problems):
            engine.send_next()
            return
        engine.finished(entry)
        answer.is_error = failure is not None
        if turn._handler_error is not None and engine.options.raise_handler_errors:
            turn._fail(turn._handler_error)
        elif failure is None:
            turn._succeed(answer)
        elif failure.error_class is TurnInterrupted and turn._stopping is not None:
            turn._fail(with_answer(turn._stopping, answer))
        elif turn.raise_on_error or turn._was_cancelled:
            turn._fail(self._error(failure, answer, problems))
        else:
            turn._succeed(answer)
        engine.send_next()

    def withdrawn(self, entry: Sent) -> None:
        """The CLI dropped a question, or forgot its result."""
        turn = entry.owner
        self._engine.finished(entry)
        if isinstance(turn, Turn):
            answer = turn._make_answer(None, 0.0, self._engine.cost_usd)
            if entry.reason == CONTRADICTED:
                turn._fail(WireError(SHIFTED))
            elif turn._stopping is not None:
                turn._fail(with_answer(turn._stopping, answer))
            elif turn._interrupted:
                turn._fail(TurnInterrupted("the turn was interrupted before it began", answer))
            else:
                turn._fail(ExecutionError("the CLI ended the turn without a result", answer))
        self._engine.send_next()

    def failed(self, turn: Turn, error: Exception, may_try_again: bool = False) -> bool:
        """The CLI died in mid-turn, or the turn is given up; True if it is asked again."""
        with self._engine.lock:
            self._engine.open_turns.discard(turn)
        answer = turn._answer or turn._make_answer(None, 0.0, self._engine.cost_usd)
        if turn._stopping is not None:
            error = with_answer(turn._stopping, answer)
        elif turn._interrupted:
            error = TurnInterrupted("the turn was interrupted, and the CLI ended", answer)
        elif may_try_again and self._tried_again(turn, type(error), reason_of(error)):
            return True
        turn._fail(error)
        return False

    def could_not_deliver(self, item: Any, error: Exception) -> None:
        """A bug of ours: it is logged, and whoever waits for this very item has an end."""
        logger.error("could not deliver %r", item, exc_info=error)
        entry = getattr(item, "completes", None)
        if entry is None:
            return
        turn = entry.owner
        self._engine.finished(entry)
        if isinstance(turn, Turn):
            turn._fail(error)
        self._engine.send_next()

    # The form of the answer.

    def _read_data(
        self, turn: Turn, raw: Mapping[str, Any], failure: Optional[Failure], problems: List[str]
    ) -> Optional[Failure]:
        """Read the data that ``returns=`` asked for; what is wrong with it is a failure."""
        from ..schema import Mismatch

        answer, form = turn._answer, turn._form
        assert answer is not None and form is not None
        if turn._off_form:
            # It was stopped because it would never have ended.
            problems.append("no data came: the model answered in plain text, again and again")
            return Failure(ReturnsError, "the CLI found no end asking for data")
        if failure is not None:
            if failure.error_class is ReturnsError:
                problems.append(failure.reason)
            return failure
        connection = self._engine.lifecycle.connection
        is_own = connection is not None and connection.exchange.question is turn._entry
        if connection is not None and is_own and not connection.took_form:
            turn._form_tries = NO_MORE  # it would be the same every time
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

    def _error(self, failure: Failure, answer: Answer, problems: List[str]) -> Exception:
        from ..support.redact import redact_text

        failure.reason = redact_text(failure.reason)
        if failure.error_class is ReturnsError:
            return ReturnsError(failure.reason, answer, answer.result, tuple(problems))
        error = failure.error(answer, answer.result)
        if isinstance(error, NotLoggedIn):
            error.cli = self._program()
        elif isinstance(error, RateLimited):
            from ..protocol.tries import reset_of

            error.resets_at = reset_of(self.limit, failure.reason)
        return error

    def _program(self) -> Optional[str]:
        """The command that starts the CLI, without its flags; None if it is not a process."""
        import shlex

        connection = self._engine.lifecycle.connection
        if connection is None:
            return None
        argv = list(connection.transport.argv)
        flag = connection.dialect.flags[0]
        return shlex.join(argv[: argv.index(flag)]) if flag in argv else None

    # Another try.

    def _asked_again(
        self, turn: Turn, failure: Failure, raw: Mapping[str, Any], problems: List[str]
    ) -> bool:
        """Ask the question again, or for another form of its answer; False: it is over."""
        if failure.error_class is ReturnsError:
            return self._asked_for_form(turn, raw, problems)
        return self._tried_again(turn, failure.error_class, failure.reason, raw)

    def _asked_for_form(self, turn: Turn, raw: Mapping[str, Any], problems: List[str]) -> bool:
        form = turn._form
        if form is None or turn._form_tries >= self._engine.options.returns_retries:
            return False
        if turn._was_cancelled or turn._stopping is not None:
            return False
        turn._form_tries += 1
        logger.warning(
            "retrying, because the answer has the wrong form: %s", "; ".join(problems[:3])
        )
        # Verbatim: it quotes the model, which must not make the CLI read files.
        prompt = form.retry_prompt(problems, raw.get("structured_output"))
        message = user_message(prompt, verbatim=True)
        return self._engine.ask_again(turn, message, 0.0, raw)

    def _tried_again(
        self,
        turn: Turn,
        error_class: Type[BaseException],
        reason: str,
        raw: Optional[Mapping[str, Any]] = None,
    ) -> bool:
        options = self._engine.options
        if turn._tries >= options.retries or turn._message is None:
            return False
        # Only here: most programs never come to this.
        import random

        from ..protocol.tries import is_worth_another_try, reset_of, wait_before
        from ..support.redact import redact_text

        if not is_worth_another_try(error_class) or turn._was_cancelled or turn._interrupted:
            return False
        if not options.retry_effects and has_effects(turn):
            logger.warning("not retried, because tools were used; retry_effects=True allows it")
            return False
        turn._tries += 1
        reset = reset_of(self.limit, reason)
        until_reset = None if reset is None else reset - time.time()
        wait = wait_before(turn._tries, error_class, until_reset, random.random())
        logger.warning(
            "retrying in %.1f s (%d of %d): %s",
            wait,
            turn._tries,
            options.retries,
            redact_text(reason).splitlines()[0] if reason else error_class.__name__,
        )
        return self._engine.ask_again(turn, turn._message, wait, raw)


def has_effects(turn: Turn) -> bool:
    """Whether tools were used; to fill in a form does nothing."""
    return any(use.name != FORM_TOOL for use in turn._tool_uses.values())


def reason_of(error: Exception) -> str:
    """What happened, without the advice."""
    return str(getattr(error, "reason", error))


def with_answer(error: Exception, answer: Any) -> Exception:
    """*error* with what there was of an answer."""
    if isinstance(error, AskTimeout):
        return AskTimeout(error.timeout, error.sent, answer, error.idle)
    return error
