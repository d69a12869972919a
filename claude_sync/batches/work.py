"""
What a worker does: one attempt at one prompt, wherever it is asked to.

Threads of the batch call :func:`attempt` with its pool. Other executors get
:func:`attempt_in_worker`, which is importable and whose arguments and results pickle; in their
processes it keeps one pool for all attempts, and lets go of it when nobody needs it any more.

Whether to try again is not decided here: one attempt is one conversation, and the
:class:`Outcome` tells what it has cost, whatever came of it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import os
import pickle
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from ..client import Client
from ..engine.turn import Turn
from ..errors import ClaudeError, RateLimited
from ..log import logger
from ..messages.answer import Answer
from ..options import Options
from ..pool import MOST_TURNS, Pool, can_be_used_again
from ..protocol.tries import reset_of
from ..runtime.endings import has_effects, reason_of
from ..support.waiting import Deadline
from .items import Outcome, Task
from .pooling import Member

__all__ = ["Settings", "attempt", "attempt_in_worker", "make_pool"]

# How long a process keeps CLIs that nobody uses.
IDLE_TIME = 60.0
# A process that ends has no time for more.
EXIT_TIME = 5.0
# Two sums of the same small figures.
SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class Settings:
    """
    How all prompts of a batch are asked.

    Attributes:
        options: Of every client.
        workers: How many may be asked at once.
        timeout, idle_timeout: Of each attempt.
        key: The same for the same settings: by it a process knows its pool again.

    """

    options: Options
    workers: int
    timeout: Optional[float] = None
    idle_timeout: Optional[float] = None
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


def make_pool(
    settings: Settings,
    handlers: Optional[Dict[str, Any]] = None,
    told_to_wait: Optional[Callable[[float], None]] = None,
    late: Optional[Callable[[float], None]] = None,
) -> Pool:
    """The pool of a batch: CLIs are started when they are needed, and a little ahead of that."""
    pool = Pool.__new__(Pool)
    # Where each CLI answers once, the next one is started while the last one works.
    pool._size = 2 * settings.workers
    prepare = None if told_to_wait is None else listener(told_to_wait)
    pool._begin(settings.options, dict(handlers or {}), MOST_TURNS, ahead=False, prepare=prepare)
    pool._keeper.late = late
    return pool


def listener(told_to_wait: Callable[[float], None]) -> Callable[[Client], None]:
    """What has clients tell when the service makes them wait."""

    def hear(message: Any) -> None:
        from ..messages.system import ApiRetry

        if isinstance(message, ApiRetry) and message.error_status in (None, 429, 503, 529):
            told_to_wait((message.retry_delay_ms or 0.0) / 1000.0)

    def prepare(client: Client) -> None:
        client.on_system(hear)

    return prepare


def attempt(pool: Pool, settings: Settings, task: Task) -> Outcome:
    """Ask once, in a conversation of its own. Raises nothing that is about the prompt."""
    begun = time.monotonic()
    try:
        member = pool._keeper.take(Deadline(None))
    except ClaudeError as error:
        return Outcome(error=error, seconds=time.monotonic() - begun, was_sent=False)
    assert member is not None  # without a deadline somebody has to come
    return ask_member(pool, settings, task, member)


def ask_member(pool: Pool, settings: Settings, task: Task, member: Member) -> Outcome:
    """Ask a client, and give it back."""
    client, keeper = member.client, pool._keeper
    keeper.tell_late(keeper.settle(member))  # not the cost of this question
    begun, spent = time.monotonic(), 0.0
    turn: Optional[Turn] = None
    answer: Optional[Answer] = None
    error: Optional[BaseException] = None
    reusable = False
    try:
        turn = client.submit(
            task.prompt,
            attach=task.attach,
            timeout=settings.timeout,
            idle_timeout=settings.idle_timeout,
        )
        error = turn.exception()
        answer = turn.result() if error is None else None
        reusable = can_be_used_again(turn, error)
    except Exception as problem:  # whatever is wrong with the prompt
        error = problem
    except BaseException:
        if turn is not None:
            turn.cancel()
        raise
    finally:
        spent = keeper.settle(member)
        keeper.give_back(member, reusable=reusable)
    return Outcome(
        answer,
        error,
        cost_usd=cost_of(answer, spent),
        seconds=time.monotonic() - begun,
        effects=turn is not None and has_effects(turn),
        was_sent=turn is not None,
        until=until_of(client, error),
    )


def cost_of(answer: Optional[Answer], difference: float) -> float:
    """What an attempt has cost: what the client has, which knows of failures, too."""
    if answer is not None and abs(answer.cost_usd - difference) < SAME:
        return answer.cost_usd
    return max(0.0, difference)


def until_of(client: Client, error: Optional[BaseException]) -> Optional[float]:
    """When the limit that was hit is reset, where the CLI has told."""
    if not isinstance(error, RateLimited):
        return None
    return reset_of(client._engine.endings.limit, reason_of(error))


# In processes of executors.


class SharedPool:
    """A pool that all attempts of this process use; the lock of the module guards it."""

    def __init__(self, settings: Settings) -> None:
        self.pool = make_pool(settings)
        self.users = 0
        self.used = 0  # how often; to see whether anybody came meanwhile


SHARED: Dict[str, SharedPool] = {}
LOCK = threading.Lock()


def attempt_in_worker(settings: Settings, task: Task) -> Outcome:
    """As :func:`attempt`, with the pool of this process."""
    shared = borrow(settings)
    try:
        outcome = attempt(shared.pool, settings, task)
    finally:
        release(settings.key, shared)
    if outcome.answer is not None and settings.options.returns is not None:
        # An object of the program's class: made again, by that class, where it is wanted.
        outcome.answer.data = None
    return dataclasses.replace(outcome, error=portable(outcome.error))


def borrow(settings: Settings) -> SharedPool:
    """The pool for these settings; others that nobody uses are closed."""
    with LOCK:
        forgotten: List[SharedPool] = []
        for key in [key for key, each in SHARED.items() if not each.users]:
            if key != settings.key:
                forgotten.append(SHARED.pop(key))
        shared = SHARED.get(settings.key)
        if shared is None:
            shared = SHARED[settings.key] = SharedPool(settings)
            close_with_process()
        shared.users += 1
        shared.used += 1
    for each in forgotten:
        each.pool.close(EXIT_TIME)
    return shared


def release(key: str, shared: SharedPool) -> None:
    """It is not used any more; soon, if it still is not, it is closed."""
    with LOCK:
        shared.users -= 1
        used = shared.used
    keeper = shared.pool._keeper

    def close_if_unused() -> None:
        with LOCK:
            # One that began before, and takes long, comes here by itself when it is done.
            if shared.users or shared.used != used or SHARED.get(key) is not shared:
                return
            del SHARED[key]
        logger.debug("the pool %s is not used any more", key)
        keeper.run(lambda: shared.pool.close(EXIT_TIME))

    keeper.timers.after(IDLE_TIME, close_if_unused)


def close_shared() -> None:
    """End the CLIs of this process."""
    with LOCK:
        pools = [each.pool for each in SHARED.values()]
        SHARED.clear()
    for pool in pools:
        pool.close(EXIT_TIME)


def close_with_process() -> None:
    """Processes of multiprocessing end without the exit handlers that others have."""
    if multiprocessing.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, close_shared, exitpriority=10)


def forget_shared() -> None:
    """In a forked child: the pools, and the lock, are the parent's."""
    global LOCK
    LOCK = threading.Lock()
    SHARED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_shared)


def portable(error: Optional[BaseException]) -> Optional[BaseException]:
    """The error, or another one that tells the same and can be sent."""
    if error is None:
        return None
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return ClaudeError(f"{type(error).__name__}: {error}")
