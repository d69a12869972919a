"""
Threads that do the work of a batch, and what comes of work, wherever it was done.

::

    prompts -> fill -> [workers] -> settle -> checkpoint -> items -> program

A :class:`Crew` is used as any ``concurrent.futures.Executor`` is. Its threads do not hold up
the end of the program, as those of the standard library do.
"""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from typing import Any, Callable

from ..errors import TurnInterrupted
from ..runtime.endings import reason_of
from ..runtime.responders import Responders
from ..runtime.timers import Timers
from ..support.waiting import Deadline
from .items import Outcome

__all__ = ["Crew", "end_timers", "first_line", "outcome_of"]

# It ends at once, unless the machine is very busy.
JOINING_TIME = 1.0


class Crew:
    """Threads of a batch; as many as there are tasks at once."""

    def __init__(self, name: str) -> None:
        self._responders = Responders(name)

    def submit(self, function: Callable[..., Outcome], *arguments: Any) -> Future[Outcome]:
        """Run it on a thread; as executors do."""
        future: Future[Outcome] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # handed to whoever waits for it
                future.set_exception(error)

        self._responders.run(run)
        return future

    def close(self, timeout: float) -> None:
        """End the threads."""
        deadline = Deadline(timeout)
        for thread in self._responders.stop():
            if thread is not threading.current_thread():
                thread.join(deadline.left())


def end_timers(timers: Timers) -> None:
    """End a timer thread, from any thread; it may be that one."""
    thread = timers.stop()
    if thread is not None and thread is not threading.current_thread():
        thread.join(JOINING_TIME)


def outcome_of(future: Future[Outcome]) -> Outcome:
    """What came of an attempt, or of the worker that should have made it."""
    try:
        return future.result(0)
    except CancelledError:
        error: BaseException = TurnInterrupted("the batch was cancelled before this was asked")
        return Outcome(error=error, was_sent=False)
    except BaseException as problem:  # the worker has died; or it cannot send what it has
        return Outcome(error=problem)


def first_line(error: BaseException) -> str:
    """What happened, in one line without secrets."""
    from ..support.redact import redact_text

    reason = reason_of(error) if isinstance(error, Exception) else str(error)
    return redact_text(reason).partition("\n")[0]
