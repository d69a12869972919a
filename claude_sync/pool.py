"""
Pool: several CLIs that are ready, for many conversations at the same time.

::

    pool.ask() -> [a client that is free] -> answer

A pool gives each question, or each ``with pool.client()``, a conversation of its own. What
starts, lends, tidies and replaces the clients is ``runtime/pooling.py``; this is what a
program sees of it.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import deque
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional

from .answers import Answer, Turn
from .client import Client, handlers_among, seconds
from .errors import (
    AskTimeout,
    BudgetExceeded,
    TurnError,
    TurnInterrupted,
    UsageError,
)
from .options import Options, options_from
from .prompts import Prompt, may_be_command, read_once
from .runtime.endings import has_effects
from .runtime.pooling import Keeper, Member
from .runtime.transport import Transport
from .runtime.waiting import Deadline

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import ClientKeywords

__all__ = ["Pool", "Question"]

# So many questions does one process answer; then a new one takes its place.
MOST_TURNS = 100

# What makes no sense for conversations that all begin anew.
NOT_FOR_POOLS = (
    *("resume", "continue_conversation", "fork_session", "session_id"),
    *("resume_at", "resume_drops_turn"),
)
NUMBERS = itertools.count(1)


class Question(Future[Answer]):
    """
    A question that a pool is going to answer; its result is the :class:`Answer`.

    It is a ``concurrent.futures.Future``. Made by :meth:`Pool.submit`.

    Attributes:
        prompt: What was asked.

    """

    def __init__(self, prompt: Any) -> None:
        super().__init__()
        self.prompt = prompt
        self._turn: Optional[Turn] = None
        self._was_cancelled = False

    def cancel(self) -> bool:
        """
        Stop it. Still waiting: withdrawn, True. Running: interrupted, False, and
        ``result()`` raises TurnInterrupted. Finished: nothing happens, False.
        """
        if super().cancel():
            return True
        # Whoever comes second, this or the turn, sees the other.
        self._was_cancelled = True
        turn = self._turn
        if turn is not None:
            turn.cancel()
        return False

    def _runs_as(self, turn: Turn) -> None:
        self._turn = turn
        if self._was_cancelled:
            turn.cancel()


class Pool:
    """
    Clients that are ready to answer, for many conversations at once::

        with claude_sync.Pool(size=4, model="haiku") as pool:
            print(pool.ask("What is 2+2?"))
            turns = [pool.submit(f"Capital of {country}?") for country in countries]
            with pool.client() as client:
                client.ask("My name is Ada.")
                client.ask("What is my name?")

    Each question is a conversation of its own, and so is each ``with pool.client()``. Any
    thread may call any method.

    Args:
        size: How many CLIs there are, at most.
        options: The settings of every client; and by name, handlers included.
        max_turns_per_client: After so many questions a CLI is replaced; None: never.
        overrides: Settings by name. ``budget_usd`` is that of the whole pool, clients that are
            lent included.

    """

    def __init__(
        self,
        size: int = 4,
        options: Optional[Options] = None,
        *,
        max_turns_per_client: Optional[int] = MOST_TURNS,
        **overrides: Unpack[ClientKeywords],
    ) -> None:
        check_count("size", size)
        if max_turns_per_client is not None:
            check_count("max_turns_per_client", max_turns_per_client)
        self._size = size
        self._begin(options, {**overrides}, max_turns_per_client, ahead=True)

    def _begin(
        self,
        options: Optional[Options],
        overrides: Dict[str, Any],
        most_turns: Optional[int],
        ahead: bool,
        prepare: Optional[Callable[[Client], None]] = None,
    ) -> None:
        handlers = handlers_among(overrides)
        settings = options_from(options, overrides)
        refuse_conversations(settings)
        self._options = settings
        self._budget = settings.budget_usd
        name = settings.name or f"pool-{next(NUMBERS)}"
        make = maker(settings, handlers, name, prepare)
        self._keeper = Keeper(make, self._size, most_turns, ahead, name)
        self._queue: Deque[Callable[[], None]] = deque()
        self._runners: List[object] = []
        self._finalizer = weakref.finalize(self, close_forgotten, self._keeper, name)
        # At the end of the interpreter the keeper is closed by its own exit handler.
        self._finalizer.atexit = False

    # Life.

    def __enter__(self) -> Pool:
        self._keeper.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to start the CLIs, without waiting; otherwise the first question does that."""
        self._keeper.open()

    def close(self, timeout: float = 10.0) -> None:
        """
        End all CLIs, within *timeout* seconds. Twice is harmless.

        Running turns are interrupted, and whoever waits gets ClientClosed. In a handler this
        returns at once, and goes on in the background.
        """
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
            raise UsageError(f"timeout is a number of seconds, not {timeout!r}.")
        self._finalizer.detach()
        self._keeper.close(min(timeout, 3600.0))

    # Asking.

    def ask(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
    ) -> Answer:
        """
        Ask in a conversation of its own, and wait for the answer.

        Takes what :meth:`Client.ask` takes. *timeout* includes the time until a client is
        free; a question that was not sent by then is withdrawn.
        """
        self._keeper.refuse_in_handler("pool.ask")
        asking = question_settings(prompt, attach, idle_timeout, returns, raise_on_error)
        return self._ask(asking, Deadline(seconds("timeout", timeout)), timeout)

    def submit(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
    ) -> Question:
        """Ask without waiting; as :meth:`ask` otherwise. ``.result()`` is the answer."""
        self._keeper.check()
        asking = question_settings(prompt, attach, idle_timeout, returns, raise_on_error)
        deadline = Deadline(seconds("timeout", timeout))
        question = Question(prompt)

        def answer() -> None:
            if not question.set_running_or_notify_cancel():
                return
            try:
                question.set_result(self._ask(asking, deadline, timeout, question._runs_as))
            except BaseException as error:  # handed to whoever waits for it
                question.set_exception(error)

        self._queue.append(answer)
        if len(self._runners) < self._size:
            self._runners.append(None)
            self._keeper.run(self._answer_queued)
        if self._keeper.is_closed:
            self._answer_queued()  # closed meanwhile: nobody else will tell them
        return question

    @contextmanager
    def client(self, timeout: Optional[float] = None) -> Iterator[Client]:
        """
        A client for one conversation, yours until the end of the block.

        It is closed then, with everything that was changed about it: handlers, model, mode.
        *timeout* is for how long to wait for one; then AskTimeout.
        """
        self._keeper.refuse_in_handler("pool.client")
        self._check_budget()
        member = self._take(Deadline(seconds("timeout", timeout)), timeout)
        try:
            yield member.client
        finally:
            self._keeper.give_back(member, reusable=False)

    # What is known.

    @property
    def size(self) -> int:
        """How many CLIs there are, at most."""
        return self._size

    @property
    def options(self) -> Options:
        """The settings of every client."""
        return self._options

    @property
    def cost_usd(self) -> float:
        """What the pool has cost, as the CLIs report it."""
        return self._keeper.cost_usd

    @property
    def state(self) -> str:
        """``open`` or ``closed``."""
        return "closed" if self._keeper.is_closed else "open"

    def __repr__(self) -> str:
        keeper = self._keeper
        ready, lent = keeper.count("idle", "used"), keeper.count("lent")
        return f"<Pool {self.state} size={self._size} ready={ready} lent={lent}>"

    # How.

    def _answer_queued(self) -> None:
        """On a thread of the pool: answer what was submitted, until nothing is left."""
        while True:
            try:
                answer = self._queue.popleft()
            except IndexError:
                if self._runners:
                    self._runners.pop()
                # One that came between the two lines above has seen too many runners.
                if not self._queue or len(self._runners) >= self._size:
                    return
                self._runners.append(None)
                continue
            answer()

    def _ask(
        self,
        asking: Mapping[str, Any],
        deadline: Deadline,
        timeout: Optional[float],
        started: Optional[Callable[[Turn], None]] = None,
    ) -> Answer:
        self._check_budget()
        member = self._take(deadline, timeout)
        return self._ask_member(member, asking, deadline, timeout, started)

    def _ask_member(
        self,
        member: Member,
        asking: Mapping[str, Any],
        deadline: Deadline,
        timeout: Optional[float],
        started: Optional[Callable[[Turn], None]] = None,
    ) -> Answer:
        reusable = False
        try:
            left = deadline.left()
            turn = member.client.submit(**asking, timeout=None if left is None else left or 1e-3)
            try:
                if started is not None:
                    started(turn)
                answer = turn.result()
                reusable = can_be_used_again(turn)
                return answer
            except TurnError as error:
                reusable = can_be_used_again(turn, error)
                raise
            except AskTimeout as error:
                if timeout is None or error.idle:
                    raise
                # In terms of what the caller has said.
                raise AskTimeout(timeout, error.sent, error.answer) from None
            except KeyboardInterrupt:
                turn.cancel()
                raise
        finally:
            self._keeper.give_back(member, reusable=reusable)

    def _take(self, deadline: Deadline, timeout: Optional[float]) -> Member:
        member = self._keeper.take(deadline)
        if member is None:
            assert timeout is not None
            raise AskTimeout(timeout, sent=False)
        try:
            self._check_budget()  # others have spent something while this one waited
        except BudgetExceeded:
            self._keeper.put_back(member)
            raise
        return member

    def _check_budget(self) -> None:
        if self._budget is not None and self.cost_usd >= self._budget:
            raise BudgetExceeded(
                f"the pool has cost {self.cost_usd:.4f} USD, and budget_usd={self._budget:g}"
            )


def can_be_used_again(turn: Turn, error: Optional[BaseException] = None) -> bool:
    """
    Whether nothing is left in the process of a question that ``/clear`` does not remove.

    A tool may have left something behind; and a command, as ``/model``, holds for whoever
    comes next: the prompts of a batch may be anybody's.
    """
    if has_effects(turn) or may_be_command(turn.prompt) or isinstance(error, TurnInterrupted):
        return False
    return error is None or isinstance(error, TurnError)


def maker(
    options: Options,
    handlers: Mapping[str, Any],
    name: str,
    prepare: Optional[Callable[[Client], None]],
) -> Callable[[], Client]:
    """A function that makes the clients of a pool; it does not know the pool."""
    numbers = itertools.count(1)

    def make() -> Client:
        client = Client(options.replace(name=f"{name}-{next(numbers)}"), **handlers)
        if prepare is not None:
            prepare(client)
        return client

    return make


def question_settings(
    prompt: Any, attach: Any, idle_timeout: Optional[float], returns: Any, raise_on_error: bool
) -> Dict[str, Any]:
    """What a client is asked with; checked, and read, before a client is waited for."""
    prompt, attach = read_once(prompt, attach)
    seconds("idle_timeout", idle_timeout)
    return {
        "prompt": prompt,
        "attach": attach,
        "idle_timeout": idle_timeout,
        "returns": returns,
        "raise_on_error": raise_on_error,
    }


def refuse_conversations(options: Options) -> None:
    """Every conversation of a pool begins anew, and every client is a process of its own."""
    for name in NOT_FOR_POOLS:
        if getattr(options, name):
            raise UsageError(
                f"{name}= is for one conversation, and a pool begins a new one for each question. "
                "Leave it out, or use a Client."
            )
    if isinstance(options.transport, Transport):
        raise UsageError(
            "a transport lives once, and a pool needs one for each client. Pass a function that "
            "makes transports."
        )


def check_count(name: str, value: Any) -> None:
    """Refuse what is no number above zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} is a whole number above 0, not {value!r}.")


def close_forgotten(keeper: Keeper, name: str) -> None:
    """
    A pool was dropped without close(): close it in the background, and warn.

    The garbage collector calls this, on any thread, whatever locks that thread holds. So it
    takes none, and leaves the closing to the timer thread.
    """
    if keeper.is_closed or not keeper.was_opened:
        return
    keeper.timers.run_soon(lambda: keeper.close(10.0))
    warnings.warn(
        f"{name} was not closed. Use 'with Pool(...) as pool:' or call pool.close().",
        ResourceWarning,
        stacklevel=2,
    )
