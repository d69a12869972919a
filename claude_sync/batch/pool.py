"""
Pool: several CLIs that are ready, for many conversations at the same time.

::

    pool.ask() -> [a client that is free] -> answer

A pool gives each question, or each ``with pool.client()``, a conversation of its own. What
lends the clients is ``clients.py``; this is what a program sees of it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, overload

from ..client import HANDLERS, LONGEST_CLOSE, Client, handlers_among
from ..errors import AskTimeout, BudgetExceeded, TurnError
from ..messages.answer import Answer
from ..options import Options, SignatureWithOptions, names_of, options_from
from ..prompts import Prompt, read_once
from ..support.checks import check_keywords, check_seconds, check_timeout, suggests_arguments
from ..support.waiting import SLICE
from .crew import (
    MOST_TURNS,
    Crew,
    Deadline,
    Seat,
    check_count,
    in_background,
    leaves_nothing,
    refuse_conversations,
    result_of,
)

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar, Unpack

    from ..client.keywords import ClientKeywords, QuestionKeywords

    # What the answers' data are.
    D = TypeVar("D", default=Any)
    T = TypeVar("T")
else:
    from typing import TypeVar

    D = TypeVar("D")

__all__ = ["Pool", "Question"]

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
        self._turn: Any = None
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

    def result(self, timeout: float | None = None) -> Answer[D]:
        """Wait for the answer; raise what went wrong, or TimeoutError after *timeout* seconds."""
        return super().result(check_timeout("timeout", timeout, zero=True))

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait as :meth:`result` does; return the error instead of raising it."""
        return super().exception(check_timeout("timeout", timeout, zero=True))

    def run(self, ask: Callable[[], Any]) -> bool:
        """Have *ask* find the answer, on this thread, unless it was cancelled; whether it has."""
        if not self.set_running_or_notify_cancel():
            return False
        try:
            self.set_result(ask())
        except BaseException as error:  # handed to whoever waits for it
            self.set_exception(error)
            return False
        return True

    def runs_as(self, turn: Any) -> None:
        """It is asked now."""
        self._turn = turn
        if self._was_cancelled:
            turn.cancel()

    def wait(self, deadline: Deadline) -> Answer[D]:
        """The answer, for the one who asked: it is withdrawn when the time is up, or by Ctrl-C."""
        try:
            while not self.done():
                if deadline.is_over() and self.cancel():
                    what = "no client of the pool was ready"
                    raise AskTimeout(deadline.timeout or 0.0, sent=False, what=what)
                with contextlib.suppress(futures.TimeoutError):
                    # In slices, so that Ctrl-C works everywhere.
                    super().exception(SLICE if deadline.is_over() else deadline.slice())
            return super().result()
        except BaseException:
            self.cancel()
            raise


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
        options: Options | None = None,
        *,
        max_turns_per_client: int | None = ...,
        returns: type[T],
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Pool[None],
        size: int = 4,
        options: None = None,
        *,
        max_turns_per_client: int | None = ...,
        returns: None = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Pool[Any],
        size: int = 4,
        options: Options | None = None,
        *,
        max_turns_per_client: int | None = ...,
        returns: Any = None,
        **overrides: Unpack[ClientKeywords],
    ) -> None: ...

    def __init__(
        self,
        size: int = 4,
        options: Options | None = None,
        *,
        max_turns_per_client: int | None = MOST_TURNS,
        **overrides: Any,
    ) -> None:
        own = ("size", "max_turns_per_client")
        check_keywords("Pool()", overrides, own, names_of(Options))
        check_count("size", size)
        if max_turns_per_client is not None:
            check_count("max_turns_per_client", max_turns_per_client)
        settings = {**overrides}
        handlers = handlers_among(settings)
        # Prompts of a pool are mostly made of data. Clients that are lent are as any other.
        self._verbatim = settings.get("verbatim", True)
        self._options = options_from(options, settings)
        refuse_conversations(self._options)
        name = self._options.name or f"pool-{next(NUMBERS)}"
        make = maker(self._options, handlers, name)
        self._crew = Crew(make, size, name, most_turns=max_turns_per_client, ahead=True)
        self._finalizer = weakref.finalize(self, close_forgotten, self._crew, name)
        # At the end of the interpreter the clients are closed by an exit handler.
        self._finalizer.atexit = False

    # Life.

    def __enter__(self) -> Self:
        self._crew.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to start the CLIs, without waiting; otherwise the first question does that."""
        self._crew.open()

    def close(self, timeout: float = 10.0) -> None:
        """
        End all CLIs, within *timeout* seconds. Twice is harmless.

        Running turns are interrupted, and whoever waits gets ClientClosed. In a handler this
        returns at once, and goes on in the background.
        """
        timeout = check_seconds("timeout", timeout, zero=True)
        self._finalizer.detach()
        self._crew.close(min(timeout, LONGEST_CLOSE))

    # Asking.

    @overload
    def ask(
        self, prompt: Prompt, *, returns: type[T], **asking: Unpack[QuestionKeywords]
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
        timeout: float | None = None,
        idle_timeout: float | None = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: bool | None = None,
    ) -> Answer[Any]:
        """
        Ask in a conversation of its own, and wait for the answer.

        Takes what :meth:`Client.ask` takes. *timeout* includes the time until a client is
        free; a question that was not sent by then is withdrawn.
        """
        self._crew.refuse_in_handler("pool.ask")
        asking = self._asking(prompt, attach, data, idle_timeout, returns, raise_on_error, verbatim)
        deadline = Deadline(check_timeout("timeout", timeout))
        return self._submit(asking, deadline).wait(deadline)

    @overload
    def submit(
        self, prompt: Prompt, *, returns: type[T], **asking: Unpack[QuestionKeywords]
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
        timeout: float | None = None,
        idle_timeout: float | None = None,
        returns: Any = None,
        raise_on_error: bool = True,
        verbatim: bool | None = None,
    ) -> Question[Any]:
        """Ask without waiting; as :meth:`ask` otherwise. ``.result()`` is the answer."""
        self._crew.check()
        asking = self._asking(prompt, attach, data, idle_timeout, returns, raise_on_error, verbatim)
        return self._submit(asking, Deadline(check_timeout("timeout", timeout)))

    @contextmanager
    def client(self, timeout: float | None = None) -> Iterator[Client[D]]:
        """
        A client for one conversation, yours until the end of the block.

        It is closed then, with everything that was changed about it: handlers, model, mode.
        *timeout* is for how long to wait for one; then AskTimeout.
        """
        self._crew.refuse_in_handler("pool.client")
        deadline = Deadline(check_timeout("timeout", timeout))
        lent: Question[Any] = Question("")
        released = threading.Event()

        def lend(seat: Seat) -> None:
            seat.released = released
            if lent.run(lambda: self._fresh(seat, deadline)):
                released.wait()

        self._crew.submit(lend)
        try:
            client: Any = lent.wait(deadline)
            yield watched(client, self._check_budget)
        finally:
            released.set()

    # What is known.

    @property
    def size(self) -> int:
        """How many CLIs there are, at most."""
        return self._crew.size

    @property
    def options(self) -> Options:
        """The settings of every client."""
        return self._options

    @property
    def cost_usd(self) -> float:
        """What the pool has cost, as the CLIs report it."""
        return self._crew.cost_usd

    @property
    def state(self) -> str:
        """``open`` or ``closed``."""
        return "closed" if self._crew.is_closed else "open"

    def __repr__(self) -> str:
        return f"<Pool {self.state} size={self.size} clients={len(self._crew.clients)}>"

    # How.

    def _asking(
        self,
        prompt: Any,
        attach: Any,
        data: Any,
        idle_timeout: float | None,
        returns: Any,
        raise_on_error: bool,
        verbatim: bool | None,
    ) -> dict[str, Any]:
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

    def _submit(self, asking: Mapping[str, Any], deadline: Deadline) -> Question[Any]:
        self._crew.check()
        question: Question[Any] = Question(asking["prompt"])

        def ask(seat: Seat) -> None:
            question.run(lambda: self._ask(seat, question, asking, deadline))

        self._crew.submit(ask)
        return question

    def _ask(
        self, seat: Seat, question: Question[Any], asking: Mapping[str, Any], deadline: Deadline
    ) -> Answer:
        client, turn = self._fresh(seat, deadline), None
        error, answer = None, None
        prompt = None if asking["verbatim"] else asking["prompt"]
        try:
            turn = client.submit(**asking)
            question.runs_as(turn)
            answer = result_of(turn, deadline)
            return answer
        except TurnError as failure:
            error, answer = failure, failure.answer
            raise
        except AskTimeout:
            if turn is not None:
                turn.cancel()
            raise
        finally:
            seat.is_spoiled = not leaves_nothing(error, answer, prompt)

    def _fresh(self, seat: Seat, deadline: Deadline) -> Client[Any]:
        self._check_budget()  # others may have spent something since it was asked for
        return self._crew.fresh(seat, deadline)

    def _check_budget(self) -> None:
        budget = self._options.budget_usd
        if budget is not None and self.cost_usd >= budget:
            raise BudgetExceeded(
                f"the pool has cost {self.cost_usd:.4f} USD of its budget of {budget:g}"
            )


def maker(
    options: Options, handlers: Mapping[str, Any], name: str
) -> Callable[[Seat], Client[Any]]:
    """A function that makes the clients of a pool; it does not know the pool."""
    numbers = itertools.count(1)

    def make(_: Seat) -> Client[Any]:
        # The budget is that of all of them.
        return Client(options.replace(name=f"{name}-{next(numbers)}", budget_usd=None), **handlers)

    return make


def watched(client: Client[Any], check: Callable[[], None]) -> Client[Any]:
    """Have *client* look at the pool's budget before each question."""

    def checked(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(*arguments: Any, **keywords: Any) -> Any:
            check()
            return method(*arguments, **keywords)

        return call

    for name in ("ask", "submit", "stream"):
        setattr(client, name, checked(getattr(client, name)))
    return client


def close_forgotten(crew: Crew, name: str) -> None:
    """A pool was dropped without close(): close it in the background, and warn."""
    if crew.is_closed or not crew.is_open:
        return
    in_background(crew.close)
    warnings.warn(
        f"{name} was not closed. Use 'with Pool(...) as pool:' or call pool.close().",
        ResourceWarning,
        stacklevel=2,
    )
