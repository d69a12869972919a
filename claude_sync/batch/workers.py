"""
Who asks: one attempt at one prompt, on threads, processes or machines.

::

    Job -> [threads of ours | an executor | Dask | Ray] -> attempt() -> Outcome

Threads of the batch call :func:`attempt`. Other executors get :func:`attempt_in_worker`, which is
importable and whose arguments and results pickle; in their processes it keeps one crew for all
attempts, whose CLIs end when nobody needs them any more. Whether to try again is not decided
here: one attempt is one conversation, and the :class:`Outcome` tells what it has cost, whatever
came of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures.process import ProcessPoolExecutor
from typing import Any

from ..client import Client
from ..errors import ClaudeError, TurnInterrupted, UsageError
from ..log import logger
from ..messages.system import ApiRetry
from ..options import Options
from .crew import EXIT_TIME, FORM_TOOL, Crew, Deadline, Seat
from .items import Job, Outcome

__all__ = ["Executors", "Settings", "Threads", "backend_for", "check_executor", "crew_for"]

# After so many seconds without a prompt a process that is not ours ends its CLIs.
IDLE_TIME = 60.0
# How long a worker elsewhere waits for the end, and the cost, of what took too long.
SETTLE_TIME = 5.0
# How long Dask's scheduler may be out of reach.
LOST_AFTER = 5.0
# What the service says to the CLI when it has no room; None: it said nothing.
REFUSALS = (None, 408, 429, 500, 502, 503, 504, 529)
# What executors say of a worker that has died; their packages may not be installed.
LOST = ("KilledWorker", "WorkerCrashedError", "NodeDiedError", "OutOfMemoryError")


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    How all prompts of a batch are asked.

    Attributes:
        options: Of every client.
        workers: How many may be asked at once.
        timeout, idle_timeout: Of each attempt.
        key: The same for the same settings: by it a process knows its crew again.

    """

    options: Options
    workers: int
    timeout: float | None = None
    idle_timeout: float | None = None
    key: str = ""

    def __repr__(self) -> str:
        # Executors log what they were given, and options may hold keys.
        return f"<Settings {self.key}>"

    def with_key(self) -> Settings:
        """These settings, with a key."""
        try:
            told = pickle.dumps((self.options, self.workers))
        except Exception:  # executors may have better means to send it
            told = os.urandom(16)
        return dataclasses.replace(self, key=hashlib.sha256(told).hexdigest()[:16])


def crew_for(
    settings: Settings,
    handlers: Mapping[str, Any] | None = None,
    refused: Callable[[], None] | None = None,
    idle_time: float | None = None,
) -> Crew:
    """The threads and CLIs of a batch. *refused*: the service makes a CLI wait."""

    def make(seat: Seat) -> Client[Any]:
        client: Client[Any] = Client(settings.options, **(handlers or {}))

        def hear(message: Any) -> None:
            if isinstance(message, ApiRetry) and message.error_status in REFUSALS:
                seat.refusals += 1
                if refused is not None:
                    refused()

        def count(use: Any) -> None:
            seat.tools += use.name != FORM_TOOL

        client.on_system(hear)
        client.on_tool_use(count)
        return client

    name = f"batch-{settings.key[:6]}"
    return Crew(make, settings.workers, name, idle_time=idle_time)


def attempt(
    crew: Crew, seat: Seat, settings: Settings, job: Job, settle_time: float = 0.0
) -> Outcome:
    """Ask once, in a conversation of its own. Raises nothing that is about the prompt."""
    begun = time.monotonic()
    try:
        client = crew.fresh(seat, Deadline(None))
    except ClaudeError as error:
        return Outcome(error=error, seconds=time.monotonic() - begun, was_sent=False)
    begun, spent = time.monotonic(), client.cost_usd
    tools, refusals = seat.tools, seat.refusals
    answer, failure = None, None
    asking = {
        "prompt": job.prompt,
        "attach": job.attach,
        "idle_timeout": settings.idle_timeout,
        "verbatim": settings.options.verbatim,
    }
    try:
        answer = crew.ask(seat, asking, Deadline(settings.timeout), settle_time)
    except Exception as error:  # whatever is wrong with the prompt
        failure = error
    effects = seat.tools > tools
    return Outcome(
        answer,
        failure,
        cost_usd=max(0.0, client.cost_usd - spent) if answer is None else answer.cost_usd,
        seconds=time.monotonic() - begun,
        effects=effects,
        was_sent=seat.question.turn is not None,
        refusals=seat.refusals - refusals,
    )


# In processes of executors.

# By process, as a forked child has its parent's, and by the key of the settings.
SHARED: dict[tuple[int, str], Crew] = {}


def attempt_in_worker(settings: Settings, job: Job) -> Outcome:
    """As :func:`attempt`, with the crew of this process."""
    place = (os.getpid(), settings.key)
    if place not in SHARED:
        SHARED.setdefault(place, crew_for(settings, idle_time=IDLE_TIME))
        if multiprocessing.parent_process() is not None:
            # Processes of multiprocessing end without the exit handlers that others have.
            from multiprocessing.util import Finalize

            Finalize(None, close_shared, exitpriority=10)
    outcome = Threads(SHARED[place], settings, SETTLE_TIME).submit(job).result()
    if outcome.answer is not None and settings.options.returns is not None:
        # An object of the program's class: made again, by that class, where it is wanted.
        outcome.answer.data = None
    return dataclasses.replace(outcome, error=portable(outcome.error))


def close_shared() -> None:
    """End the CLIs of this process."""
    while SHARED:
        SHARED.popitem()[1].close(EXIT_TIME)


def portable(error: BaseException | None) -> BaseException | None:
    """The error, or another one that tells the same and can be sent."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return ClaudeError(f"{type(error).__name__}: {error}")


# Where attempts are made.


class Executors:
    """Any executor of ``concurrent.futures``."""

    # Whether the batch hears at once when the service makes a CLI wait; else the outcome tells.
    hears_refusals = False

    def __init__(self, executor: Any, settings: Settings) -> None:
        self._executor = executor
        self._settings = settings

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        future: Future[Outcome] = self._executor.submit(attempt_in_worker, self._settings, job)
        return future

    @property
    def cost_usd(self) -> float:
        """What its CLIs have cost, where that is known: also what no prompt asked for."""
        return 0.0

    def check(self) -> None:
        """Raise, if the workers are gone."""

    def close(self) -> None:
        """End what belongs to the batch."""


class Threads(Executors):
    """Threads of this process."""

    hears_refusals = True

    def __init__(self, crew: Crew, settings: Settings, settle_time: float = 0.0) -> None:
        super().__init__(None, settings)
        self._crew = crew
        self._settle_time = settle_time

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        return self._crew.submit(
            lambda seat: attempt(self._crew, seat, self._settings, job, self._settle_time)
        )

    @property
    def cost_usd(self) -> float:
        """What its CLIs have cost."""
        return self._crew.cost_usd

    def close(self) -> None:
        """End what belongs to the batch."""
        self._crew.close()


class Processes(Executors):
    """
    Processes of the standard library, of which one may die.

    The executor is of no use then; another one like it takes its place.
    """

    _is_ours = False

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        try:
            return super().submit(job)
        except BrokenExecutor:
            self._replace()
            return super().submit(job)

    def _replace(self) -> None:
        before = self._executor
        names = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
        settings: dict[str, Any] = {name: getattr(before, f"_{name}", None) for name in names}
        if settings["max_tasks_per_child"] is None:  # 3.10 does not know it
            del settings["max_tasks_per_child"]
        self.close()
        logger.warning("a process of the batch has died, and its executor is replaced")
        self._executor = ProcessPoolExecutor(**settings)
        self._is_ours = True

    def close(self) -> None:
        """End the executor, if it is one of ours."""
        if self._is_ours:
            self._executor.shutdown(wait=False, cancel_futures=True)


class Dask(Executors):
    """A cluster of Dask's."""

    def __init__(self, client: Any, settings: Settings) -> None:
        super().__init__(client.get_executor(pure=False), settings)
        self._client = client
        self._lost_since: float | None = None

    def check(self) -> None:
        """Notice that the scheduler is gone: what was sent to it never comes back."""
        if self._client.status == "running":
            self._lost_since = None
            return
        now = time.monotonic()
        self._lost_since = self._lost_since or now
        if now - self._lost_since >= LOST_AFTER:
            raise ClaudeError(
                "the Dask scheduler is gone, and with it the questions that were being answered. "
                "Start a cluster, and run the same call with checkpoint=: finished questions are "
                "not asked again."
            )


class Ray(Executors):
    """A cluster of Ray's; a prompt is a task."""

    def __init__(self, ray: Any, settings: Settings) -> None:
        # The batch counts attempts, so Ray must not make any by itself.
        super().__init__(ray.remote(max_retries=0)(attempt_in_worker), settings)

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        future: Future[Outcome] = self._executor.remote(self._settings, job).future()
        return future


def backend_for(executor: Any, settings: Settings) -> Executors:
    """What has *executor* ask."""
    if isinstance(executor, ProcessPoolExecutor):
        return Processes(executor, settings)
    if getattr(executor, "__name__", None) == "ray":
        return Ray(executor, settings)
    if type(executor).__module__.partition(".")[0] == "distributed":
        return Dask(getattr(executor, "_client", executor), settings)
    return Executors(executor, settings)


def check_executor(executor: Any) -> None:
    """Refuse what cannot ask."""
    is_ray = getattr(executor, "__name__", None) == "ray" and hasattr(executor, "remote")
    if not is_ray and not callable(getattr(executor, "submit", None)):
        raise UsageError(
            "executor is a concurrent.futures.Executor, a Dask client, or the module ray, "
            f"not {type(executor).__name__}."
        )


def is_lost(error: BaseException) -> bool:
    """Whether a worker has died with what it was doing."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ in LOST


def outcome_of(future: Future[Outcome]) -> Outcome:
    """What came of an attempt, or of the worker that should have made it."""
    try:
        return future.result(0)
    except CancelledError:
        error: BaseException = TurnInterrupted("the batch was cancelled before this was asked")
        return Outcome(error=error, was_sent=False)
    except BaseException as problem:  # the worker has died; or it cannot send what it has
        return Outcome(error=problem)
