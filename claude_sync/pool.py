"""
Pool: several CLIs that are ready, for many conversations at the same time.

::

    pool.ask() -> [a client that is free] -> answer

A pool gives each question, or each ``with pool.client()``, a conversation of its own. What
starts, lends, tidies and replaces the clients is ``batches/pooling.py``; this is what a
program sees of it.
"""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import deque
from concurrent.futures import Future
from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Deque,
    Dict,
    Generic,
    Iterator,
    List,
    Mapping,
    Optional,
    Type,
    overload,
)

from .batches.pooling import Keeper, Member
from .client import HANDLERS, Client, handlers_among
from .engine.launch.transport import Transport
from .engine.turn import Turn
from .errors import (
    AskTimeout,
    BudgetExceeded,
    TurnError,
    TurnInterrupted,
    UsageError,
)
from .messages.answer import Answer
from .options import CONVERSATION, Options, SignatureWithOptions, names_of, options_from
from .prompts import Prompt, may_be_command, read_once
from .runtime.endings import has_effects
from .support.checks import check_keywords, check_seconds, check_timeout, suggests_arguments
from .support.waiting import Deadline

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar, Unpack

    from .keywords import ClientKeywords, QuestionKeywords

    # What the answers' data are.
    D = TypeVar("D", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    D = TypeVar("D")

__all__ = ["Pool", "Question"]

# So many questions does one process answer; then a new one takes its place.
MOST_TURNS = 100

NUMBERS = itertools.count(1)


class Question(Future[Answer[D]], Generic[D]):
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

    def result(self, timeout: Optional[float] = None) -> Answer[D]:
        """Wait for the answer; raise what went wrong, or TimeoutError after *timeout* seconds."""
        return super().result(check_timeout("timeout", timeout, zero=True))

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Wait as :meth:`result` does; return the error instead of raising it."""
        return super().exception(check_timeout("timeout", timeout, zero=True))

    def _runs_as(self, turn: Turn) -> None:
        self._turn = turn
        if self._was_cancelled:
            turn.cancel()


class Pool(Generic[D]):
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
            lent included. Prompts of ``ask()`` and ``submit()`` are sent as they are;
            ``verbatim=False`` has the CLI read ``@path`` and run ``/commands`` in them.

    """

    __signature__ = SignatureWithOptions(HANDLERS)

    @overload
    def __init__(
        self: Pool[T],
        size: int = 4,
        options: Optional[Options] = None,
        *,
        max_turns_per_client: Optional[int] = ...,
        returns: Type[T],
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Pool[None],
        size: int = 4,
        options: None = None,
        *,
        max_turns_per_client: Optional[int] = ...,
        returns: None = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Pool[Any],
        size: int = 4,
        options: Optional[Options] = None,
        *,
        max_turns_per_client: Optional[int] = ...,
        returns: Any = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    def __init__(
        self,
        size: int = 4,
        options: Optional[Options] = None,
        *,
        max_turns_per_client: Optional[int] = MOST_TURNS,
        **overrides: Any,
    ) -> None:
        own = ("size", "max_turns_per_client")
        check_keywords("Pool()", overrides, own, names_of(Options))
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
        # Prompts of a pool are mostly made of data. Clients that are lent are as any other.
        self._verbatim = overrides.get("verbatim", True)
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

    def __enter__(self) -> Self:
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
        timeout = check_seconds("timeout", timeout, zero=True)
        self._finalizer.detach()
        self._keeper.close(min(timeout, 3600.0))

    # Asking.

    @overload
    def ask(
        self, prompt: Prompt, *, returns: Type[T], **asking: Unpack[QuestionKeywords]
    ) -> Answer[T]: ...

    @overload
    def ask(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[QuestionKeywords]
    ) -> Answer[D]: ...

    @overload
    def ask(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[QuestionKeywords]
    ) -> Answer[Any]: ...

    @suggests_arguments
    def ask(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        data: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: Optional[bool] = None,
    ) -> Answer[Any]:
        """
        Ask in a conversation of its own, and wait for the answer.

        Takes what :meth:`Client.ask` takes. *timeout* includes the time until a client is
        free; a question that was not sent by then is withdrawn.
        """
        self._keeper.refuse_in_handler("pool.ask")
        asking = self._asking(prompt, attach, data, idle_timeout, returns, raise_on_error, verbatim)
        return self._ask(asking, Deadline(check_timeout("timeout", timeout)), timeout)

    @overload
    def submit(
        self, prompt: Prompt, *, returns: Type[T], **asking: Unpack[QuestionKeywords]
    ) -> Question[T]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[QuestionKeywords]
    ) -> Question[D]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[QuestionKeywords]
    ) -> Question[Any]: ...

    @suggests_arguments
    def submit(
        self,
        prompt: Prompt,
        *,
        attach: Any = (),
        data: Any = (),
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: Optional[bool] = None,
    ) -> Question[Any]:
        """Ask without waiting; as :meth:`ask` otherwise. ``.result()`` is the answer."""
        self._keeper.check()
        asking = self._asking(prompt, attach, data, idle_timeout, returns, raise_on_error, verbatim)
        deadline = Deadline(check_timeout("timeout", timeout))
        question: Question[Any] = Question(prompt)

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
    def client(self, timeout: Optional[float] = None) -> Iterator[Client[D]]:
        """
        A client for one conversation, yours until the end of the block.

        It is closed then, with everything that was changed about it: handlers, model, mode.
        *timeout* is for how long to wait for one; then AskTimeout.
        """
        self._keeper.refuse_in_handler("pool.client")
        self._check_budget()
        member = self._take(Deadline(check_timeout("timeout", timeout)), timeout)
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

    def _asking(
        self,
        prompt: Any,
        attach: Any,
        data: Any,
        idle_timeout: Optional[float],
        returns: Any,
        raise_on_error: bool,
        verbatim: Optional[bool],
    ) -> Dict[str, Any]:
        """What a client is asked with; checked, and read, before a client is waited for."""
        prompt, attach = read_once(prompt, attach, data)
        return {
            "prompt": prompt,
            "attach": attach,
            "idle_timeout": check_timeout("idle_timeout", idle_timeout),
            "returns": returns,
            "raise_on_error": raise_on_error,
            "verbatim": self._verbatim if verbatim is None else verbatim,
        }

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
                raise AskTimeout(timeout, error.sent, error.answer, what=error.what) from None
            except KeyboardInterrupt:
                turn.cancel()
                raise
        finally:
            self._keeper.give_back(member, reusable=reusable)

    def _take(self, deadline: Deadline, timeout: Optional[float]) -> Member:
        member = self._keeper.take(deadline)
        if member is None:
            assert timeout is not None
            raise AskTimeout(timeout, sent=False, what="no client of the pool was ready")
        try:
            self._check_budget()  # others have spent something while this one waited
        except BudgetExceeded:
            self._keeper.put_back(member)
            raise
        return member

    def _check_budget(self) -> None:
        if self._budget is not None and self.cost_usd >= self._budget:
            raise BudgetExceeded(
                f"the pool has cost {self.cost_usd:.4f} USD of its budget of {self._budget:g}"
            )


def can_be_used_again(turn: Turn, error: Optional[BaseException] = None) -> bool:
    """
    Whether nothing is left in the process of a question that ``/clear`` does not remove.

    A tool may have left something behind; and a command, as ``/model``, holds for whoever
    comes next: the prompts of a batch may be anybody's.
    """
    is_command = not turn._is_verbatim and may_be_command(turn.prompt)
    if has_effects(turn) or is_command or isinstance(error, TurnInterrupted):
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


def refuse_conversations(options: Options) -> None:
    """Every conversation of a pool begins anew, and every client is a process of its own."""
    for name in CONVERSATION:  # each of its conversations begins anew
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
