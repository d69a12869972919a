"""
Pool: several CLIs that are ready, for many conversations at the same time.

::

    pool.ask() -> [a client that is free] -> answer

A pool gives each question, or each ``with pool.client()``, a conversation of its own. What
lends the clients is ``clients.py``; this is what a program sees of it.
"""

from __future__ import annotations

import functools
import itertools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, overload

from ..client import HANDLERS, LONGEST_CLOSE, Client, handlers_among
from ..errors import BudgetExceeded
from ..messages.answer import Answer
from ..options import Options, SignatureWithOptions, names_of, options_from
from ..prompts import Prompt, read_once
from ..support.checks import check_keywords, check_seconds, check_timeout, unknown_argument
from .crew import (
    MOST_TURNS,
    Crew,
    Deadline,
    Question,
    Seat,
    check_count,
    in_background,
    refuse_conversations,
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

__all__ = ["Pool"]

NUMBERS = itertools.count(1)
# What a question takes beside its prompt.
ASKING = tuple(signature(Client.submit).parameters)[2:]


class Pool(Generic[D]):
    """
    Clients that are ready to answer, for many conversations at once::

        with claude_sync.Pool(size=4, model="haiku") as pool:
            print(pool.ask("What is 2+2?"))
            turns = [pool.submit(f"Capital of {country}?") for country in countries]
            with pool.client() as client:
                client.ask("My name is Ada.")
                client.ask("What is my name?")

    Each question has its own conversation, and so has each ``with pool.client()``. Any thread may
    call any method.

    Args:
        size: How many CLIs there are, at most.
        options: The settings of every client; and by name, handlers included.
        max_turns_per_client: Replace a CLI after this many questions; None: never.
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

        Running turns are interrupted, and waiting calls raise ClientClosed. In a handler, this
        returns at once and continues in the background.
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

    def ask(self, prompt: Prompt, **asking: Any) -> Answer[Any]:
        """
        Ask in a conversation of its own, and wait for the answer.

        Takes what :meth:`Client.submit` takes. *timeout* includes the time until a client is
        free; a question that was not sent by then is withdrawn.
        """
        self._crew.refuse_in_handler("pool.ask")
        question, deadline = self._question("ask()", prompt, asking)
        answer: Answer[Any] = question.wait(deadline)
        return answer

    @overload
    def submit(
        self, prompt: Prompt, *, returns: type[T], **asking: Unpack[QuestionKeywords]
    ) -> Question[Answer[T]]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: None = None, **asking: Unpack[QuestionKeywords]
    ) -> Question[Answer[D]]: ...

    @overload
    def submit(
        self, prompt: Prompt, *, returns: Any, **asking: Unpack[QuestionKeywords]
    ) -> Question[Answer[Any]]: ...

    def submit(self, prompt: Prompt, **asking: Any) -> Question[Answer[Any]]:
        """Ask without waiting; as :meth:`ask` otherwise. ``.result()`` is the answer."""
        return self._question("submit()", prompt, asking)[0]

    @contextmanager
    def client(self, timeout: float | None = None) -> Iterator[Client[D]]:
        """
        A client for one conversation, yours until the end of the block.

        It is closed then, with everything that was changed about it: handlers, model, mode.
        *timeout* is for how long to wait for one; then AskTimeout.
        """
        self._crew.refuse_in_handler("pool.client")
        deadline = Deadline(check_timeout("timeout", timeout))
        released = threading.Event()

        def lend(seat: Seat) -> Client[Any]:
            seat.released = released
            return self._fresh(seat, deadline)

        try:
            client: Any = self._crew.submit(lend).wait(deadline)
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

    def _question(
        self, method: str, prompt: Prompt, asking: dict[str, Any]
    ) -> tuple[Question[Any], Deadline]:
        """Have a thread ask; what is wrong is refused before that."""
        for name in asking:
            if name not in ASKING:
                raise unknown_argument(method, name, ASKING)
        self._crew.check()
        deadline = Deadline(check_timeout("timeout", asking.pop("timeout", None)))
        check_timeout("idle_timeout", asking.get("idle_timeout"))
        if asking.get("verbatim") is None:
            asking["verbatim"] = self._verbatim
        prompt, attach = read_once(prompt, asking.pop("attach", ()), asking.pop("data", ()))
        asking.update(prompt=prompt, attach=attach)

        def ask(seat: Seat) -> Answer[Any]:
            self._fresh(seat, deadline)
            return self._crew.ask(seat, asking, deadline)

        return self._crew.submit(ask, prompt), deadline

    def _fresh(self, seat: Seat, deadline: Deadline) -> Client[Any]:
        self._check_budget()  # others may have spent something since it was asked for
        return self._crew.fresh(seat, deadline)

    def _check_budget(self) -> None:
        budget = self._options.budget_usd
        if budget is not None and self.cost_usd >= budget:
            raise BudgetExceeded(
                f"the pool has cost {self.cost_usd:.4f} USD of its budget of {budget:g}"
            )


for _method in (Pool.ask, Pool.submit):
    _method.__signature__ = signature(Client.submit)  # type: ignore[union-attr]


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
