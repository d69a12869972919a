"""
Who asks: one attempt at one prompt, on threads, processes or machines.

::

    Job -> [threads of ours | an executor | Dask | Ray] -> attempt() -> Outcome

Threads of the batch call :func:`attempt` with its clients. Other executors get
:func:`attempt_in_worker`, which is importable and whose arguments and results pickle; in their
processes it keeps one set of clients for all attempts, and lets go of it when nobody needs it
any more. Whether to try again is not decided here: one attempt is one conversation, and the
:class:`Outcome` tells what it has cost, whatever came of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, CancelledError, Future
from concurrent.futures.process import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from ..client import Client
from ..errors import AskTimeout, ClaudeError, TurnInterrupted, UsageError
from ..log import logger
from ..messages.answer import Answer
from ..messages.system import ApiRetry
from ..options import Options
from .clients import FORM_TOOL, Clients, Deadline, Member, can_be_used_again, result_of
from .items import Job, Outcome

if TYPE_CHECKING:
    from ..engine.turn import Turn

__all__ = ["Settings", "attempt", "attempt_in_worker", "backend_for", "clients_for"]

# How long a process keeps CLIs that nobody uses.
IDLE_TIME = 60.0
# A process that ends has no time for more.
EXIT_TIME = 5.0
# So many CLIs more than workers, if each answers once: the next one starts meanwhile.
SPARE = 4
# How long a worker elsewhere waits for the end, and the cost, of what took too long.
SETTLE_TIME = 5.0
# How long Dask's scheduler may be out of reach.
LOST_AFTER = 5.0
# Two sums of the same small figures.
SAME = 1e-9
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
        key: The same for the same settings: by it a process knows its clients again.

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


def clients_for(
    settings: Settings,
    handlers: Mapping[str, Any] | None = None,
    refused: Callable[[], None] | None = None,
    late: Callable[[float], None] | None = None,
) -> Clients:
    """
    The clients of a batch: CLIs are started when they are needed, and a little ahead of that.

    *refused* is called when the service makes a CLI wait.
    """

    def make(member: Member) -> Client[Any]:
        client: Client[Any] = Client(settings.options, **(handlers or {}))

        def hear(message: Any) -> None:
            if isinstance(message, ApiRetry) and message.error_status in REFUSALS:
                if refused is None:
                    member.refusals += 1
                else:
                    refused()

        def count(use: Any) -> None:
            member.tools += use.name != FORM_TOOL

        client.on_system(hear)
        client.on_tool_use(count)
        return client

    workers = settings.workers
    name = f"batch-{settings.key[:6]}"
    size = workers + min(workers, SPARE)
    return Clients(make, size, name, ahead=False, askers=workers, late=late)


def attempt(clients: Clients, settings: Settings, job: Job, settle_time: float = 0.0) -> Outcome:
    """Ask once, in a conversation of its own. Raises nothing that is about the prompt."""
    begun = time.monotonic()
    try:
        member = clients.take(Deadline(None))
    except ClaudeError as error:
        return Outcome(error=error, seconds=time.monotonic() - begun, was_sent=False)
    clients.tell_late(clients.settle(member))  # not the cost of this prompt
    begun, spent = time.monotonic(), 0.0
    tools, refusals = member.tools, member.refusals
    turn: Turn[Any] | None = None
    answer: Answer | None = None
    failure: Exception | None = None
    reusable = False
    try:
        turn = member.client.submit(
            job.prompt, attach=job.attach, idle_timeout=settings.idle_timeout
        )
        answer = result_of(turn, Deadline(settings.timeout))
    except Exception as error:  # whatever is wrong with the prompt
        failure = error
        if turn is not None and isinstance(error, AskTimeout):
            turn.cancel()
            with contextlib.suppress(Exception):
                turn.exception(settle_time)
    except BaseException:
        if turn is not None:
            turn.cancel()
        raise
    finally:
        spent = clients.settle(member)
        effects = member.tools > tools
        if turn is not None and not effects:
            prompt = None if settings.options.verbatim else job.prompt
            told = answer if failure is None else getattr(failure, "answer", None)
            reusable = can_be_used_again(failure, told, prompt)
        clients.give_back(member, reusable=reusable and not effects)
    return Outcome(
        answer,
        failure,
        cost_usd=cost_of(answer, spent),
        seconds=time.monotonic() - begun,
        effects=effects,
        was_sent=turn is not None,
        refusals=member.refusals - refusals,
    )


def cost_of(answer: Answer | None, difference: float) -> float:
    """What an attempt has cost: what the client has, which knows of failures, too."""
    if answer is not None and abs(answer.cost_usd - difference) < SAME:
        return answer.cost_usd
    return max(0.0, difference)


# In processes of executors.


class Shared:
    """Clients that all attempts of this process use; the lock of the module guards it."""

    def __init__(self, settings: Settings) -> None:
        self.clients = clients_for(settings)
        self.users = 0
        self.timer: threading.Timer | None = None


SHARED: dict[str, Shared] = {}
LOCK = threading.Lock()


def attempt_in_worker(settings: Settings, job: Job) -> Outcome:
    """As :func:`attempt`, with the clients of this process."""
    shared = borrow(settings)
    try:
        outcome = attempt(shared.clients, settings, job, SETTLE_TIME)
    finally:
        release(settings.key, shared)
    if outcome.answer is not None and settings.options.returns is not None:
        # An object of the program's class: made again, by that class, where it is wanted.
        outcome.answer.data = None
    return dataclasses.replace(outcome, error=portable(outcome.error))


def borrow(settings: Settings) -> Shared:
    """The clients for these settings; others that nobody uses are closed."""
    with LOCK:
        unused = [key for key, each in SHARED.items() if not each.users and key != settings.key]
        forgotten = [SHARED.pop(key) for key in unused]
        shared = SHARED.get(settings.key)
        if shared is None:
            shared = SHARED[settings.key] = Shared(settings)
            close_with_process()
        shared.users += 1
        for each in (*forgotten, shared):
            if each.timer is not None:
                each.timer.cancel()
    for each in forgotten:
        each.clients.close(EXIT_TIME)
    return shared


def release(key: str, shared: Shared) -> None:
    """It is not used any more; soon, if it still is not, it is closed."""

    def close_if_unused() -> None:
        with LOCK:
            if shared.users or SHARED.get(key) is not shared:
                return
            del SHARED[key]
        shared.clients.close(EXIT_TIME)

    with LOCK:
        shared.users -= 1
        if not shared.users:
            shared.timer = threading.Timer(IDLE_TIME, close_if_unused)
            shared.timer.daemon = True
            shared.timer.start()


def close_shared() -> None:
    """End the CLIs of this process."""
    with LOCK:
        left = list(SHARED.values())
        SHARED.clear()
    for each in left:
        if each.timer is not None:
            each.timer.cancel()
        each.clients.close(EXIT_TIME)


def close_with_process() -> None:
    """Processes of multiprocessing end without the exit handlers that others have."""
    if multiprocessing.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, close_shared, exitpriority=10)


def forget_shared() -> None:
    """In a forked child: the clients, and the lock, are the parent's."""
    global LOCK
    LOCK = threading.Lock()
    SHARED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_shared)


def portable(error: BaseException | None) -> BaseException | None:
    """The error, or another one that tells the same and can be sent."""
    if error is None:
        return None
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return ClaudeError(f"{type(error).__name__}: {error}")


# Where attempts are made.


class Threads:
    """Threads of this process."""

    def __init__(self, clients: Clients, settings: Settings) -> None:
        self._clients = clients
        self._settings = settings

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        future: Future[Outcome] = Future()
        self._clients.askers.run(lambda: self._work(future, job))
        return future

    def _work(self, future: Future[Outcome], job: Job) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(attempt(self._clients, self._settings, job))
        except BaseException as error:  # handed to whoever waits for it
            future.set_exception(error)

    def check(self) -> None:
        """Threads do not get lost."""

    def close(self) -> None:
        """The batch closes the clients."""


class Executors(Threads):
    """Any executor of ``concurrent.futures``."""

    def __init__(self, executor: Any, settings: Settings) -> None:
        self._executor = executor
        self._settings = settings

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        future: Future[Outcome] = self._executor.submit(attempt_in_worker, self._settings, job)
        return future


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
        settings = {
            name: getattr(before, f"_{name}", None)
            for name in ("max_workers", "mp_context", "initializer", "max_tasks_per_child")
        }
        if settings["max_tasks_per_child"] is None:  # 3.10 does not know it
            del settings["max_tasks_per_child"]
        self.close()
        logger.warning("a process of the batch has died, and its executor is replaced")
        self._executor = ProcessPoolExecutor(initargs=before._initargs, **settings)
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
                "Dask's scheduler is gone, and what was being answered with it. Start a cluster, "
                "and run the same call with checkpoint=: what was finished is not asked again."
            )


class Ray(Executors):
    """A cluster of Ray's; a prompt is a task."""

    def __init__(self, ray: Any, settings: Settings) -> None:
        # The batch counts attempts, so Ray must not make any by itself.
        self._function = ray.remote(max_retries=0)(attempt_in_worker)
        self._settings = settings

    def submit(self, job: Job) -> Future[Outcome]:
        """Have an attempt made."""
        future: Future[Outcome] = self._function.remote(self._settings, job).future()
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
            "executor is a concurrent.futures.Executor, a client of Dask's, or the module ray, "
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
