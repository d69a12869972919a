"""
Threads that ask, each with a CLI of its own: one conversation at a time.

::

    submit(job) -> [queue] -> a free thread -> job(seat) -> asked -> /clear before the next one,
                                                                     or another CLI

``claude_sync.Pool`` and ``claude_sync.map`` are built on :class:`Crew`.

* A thread has no more than one CLI, so there are never more CLIs than threads, those included
  that are just starting or ending. Jobs are taken in the order in which they came.
* A fresh conversation is an old process after ``/clear``, but only where that is proven: the
  CLI lists the command, nothing but text came of the question, and the id of the conversation
  has changed afterwards. What a tool leaves behind (the folder of a shell, a task in the
  background) no command removes, nor what another command has set. Everything else is a new
  process.
* ``/clear`` is sent when the next question comes, and not before: it begins a conversation that
  is saved, and would stay the newest of its folder with nothing in it.
* Unlike those of ``ThreadPoolExecutor`` the threads do not hold up the end of the program.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent import futures
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

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

__all__ = ["Crew", "Deadline", "PoolClosed", "Question", "Seat"]

# So many questions does one process answer; then a new one takes its place.
MOST_TURNS = 100
# How long /clear may take; a CLI that needs longer is replaced.
TIDY_TIME = 20.0
# How long a CLI that is replaced gets to save its transcript.
REPLACE_TIME = 10.0
# Of the time for closing, this much is kept for joining threads.
JOINING_TIME = 1.0
# How long the end of a crew may take; and the end of the interpreter, for each crew.
CLOSING_TIME, EXIT_TIME = 10.0, 5.0
# A timeout has to be more than nothing.
SHORTEST = 0.001
# By this tool the CLI fills in the form of typed answers, which does nothing else.
FORM_TOOL = "StructuredOutput"

T = TypeVar("T")

# Open crews, so that the end of the interpreter finds them.
LIVE: weakref.WeakSet[Crew] = weakref.WeakSet()


class PoolClosed(ClientClosed):
    """The pool is closed, or was closed while somebody waited."""

    def __str__(self) -> str:
        return sentence(self.what) + " Make a new Pool."


class Deadline(waiting.Deadline):
    """One timeout, spread over several steps, that errors can name. None never ends."""

    def __init__(self, timeout: float | None) -> None:
        super().__init__(timeout)
        self.timeout = timeout

    def error(self) -> AskTimeout:
        """The time is up, and nothing was asked."""
        what = "no client of the pool was ready"
        return AskTimeout(self.timeout or 0.0, sent=False, what=what)


class Question(Future[T], Generic[T]):
    """
    What a thread of a crew is going to do; of :meth:`Pool.submit` the result is the Answer.

    It is a ``concurrent.futures.Future``.

    Attributes:
        prompt: What was asked.
        turn: What a client makes of it, once it is asked.

    """

    def __init__(self, prompt: Any) -> None:
        super().__init__()
        self.prompt = prompt
        self.turn: Any = None
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
        if self.turn is not None:
            self.turn.cancel()
        return False

    def run(self, ask: Callable[[], Any]) -> None:
        """Have *ask* find the answer, on this thread, unless it was cancelled."""
        if self.set_running_or_notify_cancel():
            try:
                self.set_result(ask())
            except BaseException as error:  # handed to whoever waits for it
                self.set_exception(error)

    def runs_as(self, turn: Any) -> None:
        """It is asked now."""
        self.turn = turn
        if self._was_cancelled:
            turn.cancel()

    def wait(self, deadline: Deadline) -> T:
        """The answer, for the one who asked: it is withdrawn when the time is up, or by Ctrl-C."""
        try:
            while not self.done():
                if deadline.is_over() and super().cancel():  # one that runs sees to it itself
                    raise deadline.error()
                with contextlib.suppress(futures.TimeoutError):
                    # In slices, so that Ctrl-C works everywhere.
                    super().exception(waiting.SLICE if deadline.is_over() else deadline.slice())
            return super().result()
        except BaseException:
            self.cancel()
            raise


class Seat:
    """
    A thread of a crew, and its CLI.

    Attributes:
        client: None before the first question, and while the CLI is replaced.
        turns: How many questions it was asked.
        is_used: Whether something was asked since the conversation began.
        is_spoiled: Whether something may be left that ``/clear`` does not remove. True until a
            job says otherwise.
        released: Set when the client, which is lent, comes back, or the crew is closed.
        question: What the thread does now.
        tools, refusals: How many tools it has used, and how often it tried again by itself;
            where somebody counts them.

    """

    def __init__(self) -> None:
        self.client: Client[Any] | None = None
        self.turns = 0
        self.is_used = self.is_spoiled = False
        self.released: threading.Event | None = None
        self.question: Question[Any] = Question(None)
        self.tools = self.refusals = 0

    def is_cleared(self, deadline: Deadline) -> bool:
        """Begin another conversation in the same process; whether that is proven."""
        assert self.client is not None
        before = self.client.session_id
        try:
            timeout = deadline.within(TIDY_TIME) or SHORTEST
            self.client.ask("/clear", timeout=timeout, verbatim=False)
        except ClaudeError as error:
            logger.info("a CLI of the pool is replaced: %s", error)
            return False
        self.is_used = False
        return self.client.session_id not in (None, before)

    def can_be_cleared(self) -> bool:
        """Whether the CLI says that it knows how to begin a new conversation."""
        assert self.client is not None
        commands = self.client.info.commands or ()
        return any(isinstance(each, dict) and each.get("name") == "clear" for each in commands)


class Crew:
    """
    Threads with a CLI each, made when they are needed.

    Args:
        make: Makes a client, which is not started yet, for a seat.
        size: How many threads, and CLIs, there may be.
        name: For the threads.
        most_turns: After so many questions a CLI is replaced; None: never.
        ahead: Whether all CLIs are started at once; otherwise when they are needed.
        idle_time: After so many seconds without a question a CLI is ended.

    """

    def __init__(
        self,
        make: Callable[[Seat], Client[Any]],
        size: int,
        name: str,
        *,
        most_turns: int | None = MOST_TURNS,
        ahead: bool = False,
        idle_time: float | None = None,
    ) -> None:
        self._make = make
        self.size = size
        self._name = name
        self._most_turns = most_turns
        self._ahead = ahead
        self._idle_time = idle_time
        self._process_id = os.getpid()
        self._jobs: SimpleQueue[tuple[Question[Any], Callable[[Seat], Any]] | None] = SimpleQueue()
        # Guards everything below.
        self._lock = threading.Lock()
        self._seats: dict[Seat, threading.Thread] = {}
        # How many threads wait, less the jobs that wait for one.
        self._free = 0
        self._spent = 0.0
        self.is_closed = False

    # What pools and batches call.

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
        for client in self.clients:
            try:
                client.wait_idle(0)  # refused there, and nowhere else
            except ClientClosed:
                continue
            except UsageError:
                raise CalledFromHandler(method) from None
            except ClaudeError:
                continue

    def open(self) -> None:
        """Begin to start the CLIs, if that is to be done ahead. Twice is harmless."""
        self.check()
        LIVE.add(self)
        with self._lock:
            while self._ahead and not self.is_closed and len(self._seats) < self.size:
                self._add_thread_locked()

    def submit(self, job: Callable[[Seat], T], prompt: Any = "") -> Question[T]:
        """Have a thread run *job*; also when the crew is closed meanwhile."""
        self.open()
        question: Question[T] = Question(prompt)
        with self._lock:
            if self.is_closed:
                raise PoolClosed("the pool is closed")
            self._free -= 1
            if self._free < 0 and len(self._seats) < self.size:
                self._add_thread_locked()
            self._jobs.put((question, job))
        return question

    def fresh(self, seat: Seat, deadline: Deadline) -> Client[Any]:
        """
        A client that has no conversation yet; for the job that runs on that seat.

        Raises:
            AskTimeout: It was not ready in time.
            ClientClosed: The crew was closed.
            ClaudeError: The CLI cannot be started.

        """
        if deadline.is_over():
            raise deadline.error()
        if seat.client is not None and not self._is_ready(seat, deadline):
            self._end(seat)
        client = self._client_of(seat)
        try:
            left = deadline.left()
            client.start(None if left is None else left or SHORTEST)
        except ClientClosed:
            raise PoolClosed("the pool was closed while a client was waited for") from None
        except ClaudeError as error:
            if isinstance(error, CliDidNotStart) and deadline.left() == 0:
                # It goes on starting, for the next question.
                raise deadline.error() from None
            self._end(seat)
            raise
        seat.turns += 1
        seat.is_used = seat.is_spoiled = True
        return client

    def ask(
        self, seat: Seat, asking: Mapping[str, Any], deadline: Deadline, settle_time: float = 0.0
    ) -> Answer:
        """
        Ask the client of the seat, whose conversation is fresh.

        A timeout takes as long as it says: the end of the turn is waited for only so long as
        *settle_time* says. What a question leaves in the process decides whether that is used
        again. ``/clear`` does not undo what a tool has done, nor a command, as ``/model``.
        """
        assert seat.client is not None
        question, is_clean = seat.question, False
        answer: Answer | None = None
        try:
            question.runs_as(seat.client.submit(**asking))
            answer = question.turn.result(deadline.left())
            assert answer is not None
            is_clean = True
            return answer
        except TurnError as error:
            answer, is_clean = error.answer, not isinstance(error, TurnInterrupted)
            raise
        except AskTimeout as error:
            question.turn.cancel()
            with contextlib.suppress(Exception):
                question.turn.exception(settle_time)
            if error.idle or deadline.timeout is None:
                raise
            said = Answer(question.turn.text) if question.turn.text else None
            raise AskTimeout(deadline.timeout, error.sent, said) from None
        finally:
            tools = () if answer is None else answer.tool_uses
            is_command = not asking["verbatim"] and may_be_command(asking["prompt"])
            used = any(use.name != FORM_TOOL for use, _ in tools)
            seat.is_spoiled = answer is None or not is_clean or used or is_command

    @property
    def is_open(self) -> bool:
        """Whether it was used, so that there is something to close."""
        return bool(self._seats)

    @property
    def clients(self) -> list[Client[Any]]:
        """All clients that there are."""
        with self._lock:
            return [seat.client for seat in self._seats if seat.client is not None]

    @property
    def cost_usd(self) -> float:
        """What all clients, past and present, have cost."""
        with self._lock:
            clients = [seat.client for seat in self._seats if seat.client is not None]
            return self._spent + sum(client.cost_usd for client in clients)

    def close(self, timeout: float = CLOSING_TIME) -> None:
        """
        End all clients at the same time, within *timeout* seconds. Twice is harmless.

        In a handler this returns at once, as a client's does, and goes on in the background:
        the turn of that handler cannot end before.
        """
        if os.getpid() != self._process_id:
            return
        deadline, waits = Deadline(timeout), True
        try:
            self.refuse_in_handler("close")
        except UsageError:
            waits = False
        with self._lock:
            self.is_closed = True
            seats = dict(self._seats)
        LIVE.discard(self)
        clients = self.clients
        for client in clients:
            client.close(max(0.1, timeout - JOINING_TIME), wait=False)
        for seat in seats:
            if seat.released is not None:
                seat.released.set()
            # After the jobs that wait, which find that the crew is closed.
            self._jobs.put(None)
        for client in clients if waits else ():
            client.close(deadline.left() or 0.0)
        for thread in seats.values() if waits else ():
            if thread is not threading.current_thread():
                thread.join(deadline.within(JOINING_TIME))

    # How.

    def _add_thread_locked(self) -> None:
        seat = Seat()
        name = f"{self._name}-{len(self._seats) + 1}"
        thread = threading.Thread(target=self._work, args=(seat,), name=name, daemon=True)
        self._seats[seat] = thread
        self._free += 1
        thread.start()

    def _work(self, seat: Seat) -> None:
        try:
            self._start_ahead(seat)
            while True:
                if not self._do_next(seat):
                    return
                self._tidy(seat)
                with self._lock:
                    self._free += 1
        finally:
            self._end(seat)
            with self._lock:
                del self._seats[seat]

    def _do_next(self, seat: Seat) -> bool:
        """Run the next job; False at the end."""
        while True:
            try:
                item = waiting.take_from(self._jobs, self._idle_time)
                break
            except Empty:
                self._end(seat)
        if item is None:
            return False
        seat.question, job = item
        seat.question.run(lambda: job(seat))
        seat.question = Question(None)
        if seat.released is not None:
            seat.released.wait()
            seat.released = None
        return True

    def _tidy(self, seat: Seat) -> None:
        """Keep the CLI for the next question, or end it; the caller has its answer already."""
        if seat.client is None or not seat.is_used:
            return
        is_worn = self._most_turns is not None and seat.turns >= self._most_turns
        if seat.is_spoiled or is_worn or not seat.can_be_cleared():
            self._end(seat)
            self._start_ahead(seat)

    def _is_ready(self, seat: Seat, deadline: Deadline) -> bool:
        assert seat.client is not None
        if not seat.is_used:
            return seat.client.state in ("new", "open", "starting", "idle")
        return seat.client.state == "idle" and seat.is_cleared(deadline)

    def _client_of(self, seat: Seat) -> Client[Any]:
        client = seat.client or self._make(seat)
        with self._lock:
            if self.is_closed:
                raise PoolClosed("the pool was closed while a client was waited for")
            seat.client = client
        return client

    def _start_ahead(self, seat: Seat) -> None:
        """Start a CLI for whoever comes, if that is wanted."""
        if not self._ahead or self.is_closed:
            return
        try:
            self._client_of(seat).start()
        except Exception as error:  # whatever a transport or an option raises
            if not self.is_closed:
                logger.warning("a CLI of the pool could not be started: %s", error)
            self._end(seat)

    def _end(self, seat: Seat) -> None:
        """It is no more; what it has cost is."""
        client = seat.client
        if client is None:
            return
        client.close(REPLACE_TIME)
        with self._lock:
            self._spent += client.cost_usd
            seat.client = None
        seat.turns = 0
        seat.is_used = seat.is_spoiled = False


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
            "a transport can be used only once, and a pool needs one for each client. Pass a "
            "function that makes transports."
        )


def check_count(name: str, value: Any) -> None:
    """Refuse what is no whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} is a whole number above 0, not {value!r}.")


def in_background(function: Callable[[], object]) -> None:
    """Run *function* on another thread: the garbage collector calls this, whatever is locked."""
    threading.Thread(target=function, name="pool-end", daemon=True).start()


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for crew in list(LIVE):
        crew.close(EXIT_TIME)


atexit.register(close_all)
