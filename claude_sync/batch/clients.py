"""
Clients that are ready, lent one conversation at a time.

::

    take() -> [a client with a fresh conversation] -> asked -> give_back()
                   ^                                              |
                   +------ /clear, if nothing else was left ------+---> closed, a new one starts

``claude_sync.Pool`` and ``claude_sync.map`` are built on :class:`Clients`.

* Never more than ``size`` processes exist, those included that are just starting or ending.
* A fresh conversation is an old process after ``/clear``, but only where that is proven: the
  CLI lists the command, nothing but text came of the question, and the id of the conversation
  has changed afterwards. What a tool leaves behind (the folder of a shell, a task in the
  background) no command removes, nor what another command has set. Everything else is a new
  process, started ahead.
* ``/clear`` is sent by the thread that asks next, and not before: it begins a conversation
  that is saved, and would stay the newest of its folder with nothing in it.
* Whoever asks first is served first. A client that comes back wakes the one thread that gets
  it, however many wait.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from ..client import Client
from ..errors import (
    AskTimeout,
    CalledFromHandler,
    ClaudeError,
    CliDidNotStart,
    ClientClosed,
    TurnError,
    TurnInterrupted,
    UsageError,
    sentence,
)
from ..log import logger
from ..messages.answer import Answer
from ..options import CONVERSATION, Options
from ..prompts import may_be_command
from ..support import waiting

if TYPE_CHECKING:
    from ..engine.turn import Turn

__all__ = [
    "LIVE",
    "MOST_TURNS",
    "Clients",
    "Deadline",
    "Member",
    "PoolClosed",
    "Workers",
    "can_be_used_again",
    "check_count",
    "refuse_conversations",
    "result_of",
    "used_tools",
]

# So many questions does one process answer; then a new one takes its place.
MOST_TURNS = 100
# How long /clear may take; a CLI that needs longer is replaced.
TIDY_TIME = 20.0
# How long a CLI that is replaced gets to save its transcript.
REPLACE_TIME = 10.0
# Of the time for closing, this much is kept for joining threads.
JOINING_TIME = 1.0
# How long the end of a pool that nobody closed may take.
FORGOTTEN_TIME = 10.0
# How long the end of the interpreter may be held up by each pool.
EXIT_TIME = 5.0
# Dollars. What is less than this comes of adding up.
SMALLEST = 1e-9
# No wait is longer in one go, so that Ctrl-C works everywhere.
SLICE = 0.5
# A timeout has to be more than nothing.
SHORTEST = 0.001
# By this tool the CLI fills in the form of typed answers, which does nothing else.
FORM_TOOL = "StructuredOutput"

# Open pools, so that the end of the interpreter finds them.
LIVE: set[Clients] = set()


class PoolClosed(ClientClosed):
    """The pool is closed, or was closed while somebody waited."""

    def __str__(self) -> str:
        return sentence(self.what) + " Make a new Pool."


class Deadline(waiting.Deadline):
    """One timeout, spread over several steps, that errors can name. None never ends."""

    def __init__(self, timeout: float | None) -> None:
        super().__init__(timeout)
        self.timeout = timeout


class Workers:
    """
    Threads that run tasks; made when they are needed, never more than *most*.

    Unlike those of ``ThreadPoolExecutor`` they do not hold up the end of the program.
    """

    def __init__(self, name: str, most: int | None = None) -> None:
        self._name = name
        self._most = most
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        # Guards what follows.
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        # How many threads wait, less the tasks that wait for one.
        self._free = 0
        self._is_closed = False

    def run(self, task: Callable[[], object]) -> None:
        """Run *task* on a thread; on this one if they are closed: nobody else would."""
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._free -= 1
                if self._free < 0 and (self._most is None or len(self._threads) < self._most):
                    self._add_thread_locked()
                self._tasks.put(task)
        if is_closed:
            task()

    def ready(self) -> None:
        """Have a thread at least, so that :meth:`run_from_collector` is heard."""
        with self._lock:
            if not self._threads and not self._is_closed:
                self._add_thread_locked()

    def run_from_collector(self, task: Callable[[], object]) -> None:
        """As :meth:`run`, but takes no lock: this thread may hold any."""
        self._tasks.put(task)

    def close(self, timeout: float | None) -> None:
        """Run what was given to them, and end."""
        deadline = Deadline(timeout)
        with self._lock:
            self._is_closed = True
            threads = list(self._threads)
        for _ in threads:
            self._tasks.put(None)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(deadline.left())

    def _add_thread_locked(self) -> None:
        self._free += 1
        name = f"{self._name}-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            try:
                task()
            except Exception:
                logger.exception("a task of %s failed", self._name)
            del task
            with self._lock:
                self._free += 1


class Member:
    """
    A client of a pool.

    Attributes:
        turns: How many questions it was lent for.
        was_used: Whether something was asked since its conversation began.
        counted: What of its cost somebody has taken into account.
        tools: How many tools it has used, where somebody counts them.
        refusals: How often its CLI tried again by itself, likewise.

    """

    __slots__ = ("_client", "counted", "refusals", "tools", "turns", "was_used")

    def __init__(self) -> None:
        self._client: Client | None = None
        self.turns = 0
        self.was_used = False
        self.counted = 0.0
        self.tools = 0
        self.refusals = 0

    @property
    def client(self) -> Client:
        """The client, which is there before anybody gets the member."""
        assert self._client is not None
        return self._client

    @property
    def cost_usd(self) -> float:
        """What it has cost."""
        return 0.0 if self._client is None else self._client.cost_usd

    def can_be_cleared(self) -> bool:
        """Whether the CLI says that it knows how to begin a new conversation."""
        commands = self.client.info.commands or ()
        return any(isinstance(each, dict) and each.get("name") == "clear" for each in commands)


class Clients:
    """
    Clients that are lent, one conversation at a time.

    Args:
        make: Makes a client, which is not started yet; it gets the member.
        size: How many CLIs there may be.
        name: For the threads.
        most_turns: After so many questions a CLI is replaced; None: never.
        ahead: Whether all of them are started at once; otherwise when they are needed.
        askers: How many threads there may be for asking, if not *size*.
        late: Called with what was spent when nobody had asked: an agent reports back after
            the answer.

    """

    def __init__(
        self,
        make: Callable[[Member], Client],
        size: int,
        name: str,
        *,
        most_turns: int | None = MOST_TURNS,
        ahead: bool = True,
        askers: int | None = None,
        late: Callable[[float], None] | None = None,
    ) -> None:
        self._make = make
        self.size = size
        self._most_turns = most_turns
        self._ahead = ahead
        self._late = late
        self._process_id = os.getpid()
        # Threads that ask, and those that start and end CLIs.
        self.askers = Workers(name, askers or size)
        self._helpers = Workers(f"{name}-helper")
        # Guards everything below.
        self._lock = threading.Lock()
        self._members: set[Member] = set()
        self._idle: deque[Member] = deque()
        self._lent: set[Member] = set()
        self._starting = 0
        self._waiting: deque[Future[Member]] = deque()
        # The last start ahead has failed. / The last client that came back cannot be used again.
        self._is_failing = self._is_used_once = False
        self._spent = 0.0
        self.is_closed = False

    # What pools and batches call.

    def open(self) -> None:
        """Begin to start clients, if that is to be done ahead. Twice is harmless."""
        self.check()
        if self not in LIVE:
            LIVE.add(self)
            self._helpers.ready()
        self._serve()

    def check(self) -> None:
        """Refuse to work for a pool that is closed, or another process's."""
        if os.getpid() != self._process_id:
            raise UsageError(
                "this pool belongs to the process that made it, and not to its forked child. "
                "Make a Pool in the child."
            )
        if self.is_closed:
            raise PoolClosed("the pool is closed")

    def refuse_in_handler(self, method: str) -> None:
        """Refuse to wait on a thread that the handlers of a client need."""
        with self._lock:
            clients = [each._client for each in self._members if each._client is not None]
        for client in clients:
            try:
                client.wait_idle(0)  # refused there, and nowhere else
            except CalledFromHandler:
                raise CalledFromHandler(method) from None
            except ClientClosed:
                continue
            except UsageError:
                raise UsageError(
                    f"{method}() would freeze this thread, which runs the handlers (it is the "
                    "user interface's, probably). Call submit() and act in on_result."
                ) from None
            except ClaudeError:
                continue

    def take(self, deadline: Deadline) -> Member:
        """
        Wait for a client that has no conversation yet.

        Raises:
            AskTimeout: None was there in time.
            ClientClosed: The pool was closed.
            ClaudeError: The CLI cannot be started.

        """
        self.open()
        comes_back = False
        while True:
            member = self._next(deadline, comes_back)
            if member is None:
                break
            try:
                if member._client is None:
                    is_ready = self._start(member, deadline)
                else:
                    is_ready = member.client.state == "idle" and tidy(member, deadline)
            except BaseException:
                self._discard(member)
                raise
            if is_ready:
                return member
            if member in self._lent:  # it has died, or did not forget
                self._discard(member)
            if deadline.left() == 0:
                break
            comes_back = True
        assert deadline.timeout is not None
        raise AskTimeout(deadline.timeout, sent=False, what="no client of the pool was ready")

    def give_back(self, member: Member, *, reusable: bool) -> None:
        """Take a client back; it is tidied when it is wanted, or replaced."""
        member.turns += 1
        is_worn = self._most_turns is not None and member.turns >= self._most_turns
        is_fine = reusable and not is_worn
        if is_fine:
            is_fine = member.client.state == "idle" and member.can_be_cleared()
        with self._lock:
            self._is_used_once = not is_fine
            if is_fine and not self.is_closed:
                member.was_used = True
                self._lent.discard(member)
                self._idle.append(member)
        if is_fine:
            self._serve()
        else:
            self._discard(member)

    def put_back(self, member: Member) -> None:
        """Take a client back that was not used after all."""
        with self._lock:
            self._lent.discard(member)
            self._idle.appendleft(member)
        self._serve()

    @property
    def cost_usd(self) -> float:
        """What all clients, past and present, have cost."""
        with self._lock:
            return self._spent + sum(each.cost_usd for each in self._members)

    def settle(self, member: Member) -> float:
        """What a client has cost since this was last asked; each cent is told once."""
        with self._lock:
            return self._settle_locked(member)

    def _settle_locked(self, member: Member) -> float:
        new = member.cost_usd - member.counted
        member.counted += new
        return new

    def tell_late(self, amount: float) -> None:
        """Something was spent that is the cost of no question."""
        if amount > SMALLEST and self._late is not None:
            self._late(amount)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many CLIs there are; how many of them are ready, and lent."""
        with self._lock:
            return len(self._members), len(self._idle), len(self._lent)

    def close(self, timeout: float) -> None:
        """
        End all clients at the same time, within *timeout* seconds. Twice is harmless.

        In a handler this returns at once, as a client's does, and goes on in the background:
        the turn of that handler cannot end before.
        """
        if os.getpid() != self._process_id:
            return
        is_in_handler = False
        try:
            self.refuse_in_handler("close")
        except UsageError:
            is_in_handler = True
        with self._lock:
            self.is_closed = True
            waiting = list(self._waiting)
            self._waiting.clear()
            self._idle.clear()
        LIVE.discard(self)
        for ticket in waiting:
            ticket.set_exception(PoolClosed("the pool was closed while a client was waited for"))
        if is_in_handler:
            self._helpers.run_from_collector(lambda: self._close_all(timeout))
        else:
            self._close_all(timeout)

    def close_from_collector(self) -> None:
        """Close in the background. Takes no lock: this thread may hold any."""
        self._helpers.run_from_collector(lambda: self.close(FORGOTTEN_TIME))

    def _close_all(self, timeout: float) -> None:
        deadline = Deadline(timeout)
        with self._lock:
            members = list(self._members)
        clients = [each._client for each in members if each._client is not None]
        for client in clients:
            client.close(max(0.1, timeout - JOINING_TIME), wait=False)
        for client in clients:
            client.close(deadline.left() or 0.0)
        for member in members:
            self._forget(member)
        for workers in (self.askers, self._helpers):
            workers.close(deadline.within(JOINING_TIME))

    # How.

    def _next(self, deadline: Deadline, comes_back: bool) -> Member | None:
        """Wait in line for a client, which may have to be started or tidied; None: too long."""
        ticket: Future[Member] = Future()
        with self._lock:
            if self.is_closed:
                raise PoolClosed("the pool is closed")
            (self._waiting.appendleft if comes_back else self._waiting.append)(ticket)
        try:
            self._serve()
            while True:
                try:
                    return ticket.result(deadline.within(SLICE))
                except futures.TimeoutError:
                    if deadline.left() == 0:
                        return self._withdraw(ticket)
        except KeyboardInterrupt:
            member = self._withdraw(ticket)
            if member is not None:
                self._discard(member)
            raise

    def _withdraw(self, ticket: Future[Member]) -> Member | None:
        """Leave the line; but maybe it has just been served."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                return None
        return ticket.result(0)

    def _serve(self) -> None:
        """Hand what is free to whoever waits, one each, and start what is missing."""
        ahead = []
        with self._lock:
            if self.is_closed:
                return
            while self._waiting and (self._idle or len(self._members) < self.size):
                if self._idle:
                    member = self._idle.popleft()
                else:
                    member = Member()
                    self._members.add(member)
                self._lent.add(member)
                self._waiting.popleft().set_result(member)
            for _ in range(self._missing_locked()):
                ahead.append(Member())
            self._members.update(ahead)
            self._starting += len(ahead)
        for member in ahead:
            self._helpers.run(lambda member=member: self._start_ahead(member))  # type: ignore[misc]

    def _missing_locked(self) -> int:
        """How many clients to start before somebody asks."""
        room = self.size - len(self._members)
        if self._is_failing:
            return 0
        if not self._ahead:
            # Each that is lent now will be missing when it comes back.
            wanted = len(self._lent) if self._is_used_once else 0
            room = min(room, wanted - len(self._idle) - self._starting)
        return max(0, room)

    def _start(self, member: Member, deadline: Deadline) -> bool:
        """Start a client; False if the time is up, and that goes on in the background."""
        client = self._make(member)
        with self._lock:
            if self.is_closed:
                raise PoolClosed("the pool was closed while a client was waited for")
            member._client = client
        try:
            left = deadline.left()
            client.start(None if left is None else left or SHORTEST)
        except CliDidNotStart:
            if deadline.left() != 0:
                raise
            with self._lock:
                self._lent.discard(member)
                self._starting += 1
            self._helpers.run(lambda: self._start_ahead(member))
            return False
        except ClientClosed:
            raise PoolClosed("the pool was closed while a client was waited for") from None
        with self._lock:
            self._is_failing = False
        return True

    def _start_ahead(self, member: Member) -> None:
        """Start a client for whoever comes; on a thread of the helpers."""
        error: Exception | None = None
        try:
            if member._client is None:
                self._start(member, Deadline(None))
            else:
                member.client.start()
        except Exception as problem:  # whatever a transport or an option raises
            error = problem
        with self._lock:
            self._starting -= 1
            self._is_failing = error is not None
            if error is None and not self.is_closed:
                self._idle.appendleft(member)  # before those that have to be tidied
        if error is None:
            self._serve()
        elif not self.is_closed:
            logger.warning("a CLI of the pool could not be started: %s", error)
            self._discard(member)

    def _discard(self, member: Member) -> None:
        """End a client, in the background; another one may take its place then."""
        with self._lock:
            self._lent.discard(member)
            if self.is_closed:
                return  # whoever closed the pool ends it
        self._helpers.run(lambda: self._end(member))

    def _end(self, member: Member) -> None:
        if member._client is not None:
            member._client.close(REPLACE_TIME)
        self._forget(member)
        self._serve()

    def _forget(self, member: Member) -> None:
        """It is no more; what it has cost is."""
        late = 0.0
        with self._lock:
            if member in self._members:
                self._members.discard(member)
                self._spent += member.cost_usd
                late = self._settle_locked(member)
        self.tell_late(late)


def tidy(member: Member, deadline: Deadline) -> bool:
    """Begin another conversation in the same process, if one was begun; whether it is proven."""
    if not member.was_used:
        return True
    client, before = member.client, member.client.session_id
    try:
        client.ask("/clear", timeout=deadline.within(TIDY_TIME) or SHORTEST, verbatim=False)
    except ClaudeError as error:
        logger.info("a CLI of the pool is replaced: %s", error)
        return False
    member.was_used = False
    return client.session_id not in (None, before) and client.state == "idle"


def can_be_used_again(error: BaseException | None, answer: Answer | None, prompt: Any) -> bool:
    """
    Whether nothing is left in the process of a question that ``/clear`` does not remove.

    A tool may have left something behind; and a command, as ``/model``, holds for whoever
    comes next: prompts may be anybody's. *prompt* is None if it cannot be a command.
    """
    if isinstance(error, TurnInterrupted) or answer is None or used_tools(answer):
        return False
    if error is not None and not isinstance(error, TurnError):
        return False
    return prompt is None or not may_be_command(prompt)


def used_tools(answer: Answer) -> bool:
    """Whether tools were used; to fill in a form does nothing."""
    return any(use.name != FORM_TOOL for use, _ in answer.tool_uses)


def refuse_conversations(options: Options) -> None:
    """Every conversation of a pool begins anew, and every client is a process of its own."""
    for name in CONVERSATION:
        if getattr(options, name):
            raise UsageError(
                f"{name}= is for one conversation, and a pool begins a new one for each question. "
                "Leave it out, or use a Client."
            )
    if options.transport is not None and not callable(options.transport):
        raise UsageError(
            "a transport lives once, and a pool needs one for each client. Pass a function that "
            "makes transports."
        )


def check_count(name: str, value: Any) -> None:
    """Refuse what is no whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} is a whole number above 0, not {value!r}.")


def result_of(turn: Turn[Any], deadline: Deadline) -> Answer:
    """The answer, if it comes in time; its end is not waited for otherwise."""
    try:
        return turn.result(deadline.left())
    except AskTimeout as error:
        if error.idle or deadline.timeout is None:
            raise
        answer = Answer(turn.text) if turn.text else None
        raise AskTimeout(deadline.timeout, error.sent, answer) from None


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for clients in list(LIVE):
        clients.close(EXIT_TIME)


def forget_all() -> None:
    """In a forked child: the pools are the parent's. Takes no lock."""
    LIVE.clear()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
