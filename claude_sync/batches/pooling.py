"""
Keep a number of CLIs ready, lend them out one at a time, and take them back.

::

    starting -> [idle] -> lent -> [used] -> tidied with /clear -> [idle]
                            |                     |
                            +---------------------+--> leaving, and another one starts

Every thread and every wait of ``claude_sync.Pool`` is here. Decisions taken here and
nowhere else:

* Never more than ``size`` processes exist, those included that are just starting or ending.
* A fresh conversation is an old process after ``/clear``, but only where that is proven: the
  CLI lists the command, nothing but text came of the question, and the id of the
  conversation has changed afterwards. Old CLIs do not know the command, and what a tool
  leaves behind (the folder of a shell, a task in the background) no command removes, nor
  what another command has set. Everything else is a new process, started ahead.
* Nothing is tidied before somebody waits for it: ``/clear`` begins a conversation that is
  saved, and would stay the newest of its folder, with nothing in it. Who asks now and then
  waits 30 to 80 ms longer for that; where many ask it costs nothing.
* A start that fails is told to whoever waits longest. While nobody waits it is not repeated.
* Whoever asks first is served first.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Callable, Deque, List, Optional, Set

from ..errors import ClaudeError, ClientClosed, UsageError, sentence
from ..log import logger
from ..runtime.responders import Responders
from ..runtime.timers import Timers
from ..support.waiting import Deadline, wait_for
from .members import IDLE, LEAVING, LENT, STARTING, TIDYING, USED, Member

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["Keeper", "Member", "PoolClosed"]

# How long /clear may take; a CLI that needs longer is replaced.
TIDY_TIME = 20.0
# How long a CLI that is replaced gets to save its transcript.
REPLACE_TIME = 10.0
# Of the time for closing, this much is kept for joining the threads.
JOINING_TIME = 1.0
# How long the end of the interpreter may be held up by each pool.
EXIT_TIME = 5.0
# Dollars. What is less than this comes of adding up.
SMALLEST = 1e-9

# Pools that are open, so that the end of the interpreter finds them.
LIVE: Set[Keeper] = set()


class PoolClosed(ClientClosed):
    """The pool is closed, or was closed while somebody waited."""

    def __str__(self) -> str:
        return sentence(self.what) + " Make a new Pool."


class Keeper:
    """
    The clients of one pool.

    Args:
        make: Makes a client, which is not started yet.
        size: How many CLIs there may be.
        most_turns: After so many questions a CLI is replaced; None: never.
        ahead: Whether all of them are started at once; otherwise when they are needed.
        name: For the threads.

    """

    def __init__(
        self,
        make: Callable[[], Client],
        size: int,
        most_turns: Optional[int],
        ahead: bool,
        name: str,
    ) -> None:
        self._make = make
        self._size = size
        self._most_turns = most_turns
        self._ahead = ahead
        self._process_id = os.getpid()
        # Guards everything below; told of every change.
        self._changed = threading.Condition(threading.Lock())
        self._members: Set[Member] = set()
        self._idle: Deque[Member] = deque()
        # Who waits for a client, in order; and what went wrong, for whom it may concern.
        self._waiting: Deque[object] = deque()
        self._failures: Deque[Exception] = deque()
        # The last start has failed. / The last client that came back cannot be used again.
        self._failing = False
        self._used_once = False
        self._spent = 0.0
        self._closed = False
        self._over = threading.Event()
        # Whether there may be something to close.
        self.was_opened = False
        # Told what was spent when nobody asked: an agent reports back after the answer.
        self.late: Optional[Callable[[float], None]] = None
        self._crew = Responders(name)
        self.timers = Timers(name)

    # What the pool calls.

    def open(self) -> None:
        """Begin to start clients, if that is to be done ahead. Twice is harmless."""
        self.check()
        if not self.was_opened:
            self.was_opened = True
            LIVE.add(self)
        self.timers.start()
        self._start_what_is_missing()

    def check(self) -> None:
        """Refuse to work for a pool that is closed, or another process's."""
        if os.getpid() != self._process_id:
            raise UsageError(
                "this pool belongs to the process that made it, and not to its forked child. "
                "Make a Pool in the child."
            )
        if self._closed:
            raise PoolClosed("the pool is closed")

    def refuse_in_handler(self, method: str) -> None:
        """Refuse to wait on a thread that the handlers of a client need."""
        for client in self._clients():
            client._engine.delivery.refuse_in_handler(method)

    def _is_called_from_handler(self) -> bool:
        return any(client._engine.dispatcher.is_dispatching() for client in self._clients())

    def _clients(self) -> List[Client]:
        with self._changed:
            return [each._client for each in self._members if each._client is not None]

    def take(self, deadline: Deadline) -> Optional[Member]:
        """
        Wait for a client that has no conversation yet; None: the time is up.

        Raises:
            ClientClosed: The pool was closed.
            ClaudeError: The CLI cannot be started.

        """
        self.open()
        add = self._waiting.append
        while True:
            member = self._take_any(deadline, add)
            if member is None or member.client.state == "idle":
                self._start_what_is_missing()  # the next one, while this one works
                return member
            # It died while nobody looked. Whoever was the first stays so.
            self.give_back(member, reusable=False)
            add = self._waiting.appendleft

    def _take_any(self, deadline: Deadline, add: Callable[[object], None]) -> Optional[Member]:
        ticket = object()
        with self._changed:
            add(ticket)
        try:
            self._start_what_is_missing()
            with self._changed:
                wait_for(self._changed, lambda: self._is_turn_of_locked(ticket), deadline)
                try:
                    return self._serve_locked(ticket)
                finally:
                    # At the same moment: nothing is started for one who was served.
                    self._waiting.remove(ticket)
        finally:
            with self._changed:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
                # What was meant for this one concerns nobody who comes later.
                while len(self._failures) > len(self._waiting):
                    self._failures.pop()
                self._changed.notify_all()  # another one is the first now

    def give_back(self, member: Member, *, reusable: bool) -> None:
        """Take a client back; it is tidied when it is wanted, or replaced in the background."""
        tidy = reusable and not self._is_worn(member)
        with self._changed:
            if self._closed:
                return
            member.state = USED if tidy else LEAVING
            self._used_once = not tidy
        if not tidy:
            self._crew.run(lambda: self._replace(member))
        self._start_what_is_missing()

    def put_back(self, member: Member) -> None:
        """Take a client back that was not used after all."""
        member.turns -= 1
        self._ready(member)

    def run(self, task: Callable[[], None]) -> None:
        """Run *task* on a thread of the pool."""
        self._crew.run(task)

    @property
    def cost_usd(self) -> float:
        """What all clients, past and present, have cost."""
        with self._changed:
            return self._spent + sum(each.cost_usd for each in self._members)

    def settle(self, member: Member) -> float:
        """What a client has cost since this was last asked; each cent is told once."""
        with self._changed:
            return self._settle_locked(member)

    def _settle_locked(self, member: Member) -> float:
        new = member.cost_usd - member.counted
        member.counted += new
        return new

    def tell_late(self, amount: float) -> None:
        """Something was spent that is the cost of no question."""
        if amount > SMALLEST and self.late is not None:
            self.late(amount)

    def count(self, *states: str) -> int:
        """How many CLIs are in one of these states; without any, how many there are."""
        with self._changed:
            return sum(not states or each.state in states for each in self._members)

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    def close(self, timeout: float) -> None:
        """
        End all clients at the same time, within *timeout* seconds. Twice is harmless.

        In a handler this returns at once, as a client's does, and goes on in the background:
        the turn of that handler cannot end before.
        """
        if os.getpid() != self._process_id:
            return
        deadline = Deadline(timeout)
        is_waiting = not self._is_called_from_handler()
        with self._changed:
            first, self._closed = not self._closed, True
            members = list(self._members)
            self._idle.clear()
            self._changed.notify_all()
        if first and is_waiting:
            self._close_all(members, timeout, deadline)
        elif first:
            self.timers.run_soon(lambda: self._close_all(members, timeout, deadline))
        elif is_waiting:
            self._over.wait(timeout)

    def _close_all(self, members: List[Member], timeout: float, deadline: Deadline) -> None:
        LIVE.discard(self)
        clients = [each._client for each in members if each._client is not None]
        for client in clients:
            client.close(max(0.1, timeout - JOINING_TIME), wait=False)
        for client in clients:
            client.close(deadline.left() or 0.0)
        for member in members:
            self._forget(member)
        self._join(deadline)
        self._over.set()

    # Serving.

    def _is_turn_of_locked(self, ticket: object) -> bool:
        if self._closed:
            return True
        return self._waiting[0] is ticket and bool(self._idle or self._failures)

    def _serve_locked(self, ticket: object) -> Optional[Member]:
        if self._closed:
            raise PoolClosed("the pool was closed while a client was waited for")
        if not self._is_turn_of_locked(ticket):
            return None
        if not self._idle:
            raise self._failures.popleft()
        member = self._idle.popleft()
        member.state = LENT
        member.turns += 1
        return member

    def _is_worn(self, member: Member) -> bool:
        """Whether a client is to be replaced, although all went well."""
        worn = self._most_turns is not None and member.turns >= self._most_turns
        return worn or member.client.state != "idle" or not member.can_be_cleared()

    # Starting and ending, on threads of the pool.

    def _start_what_is_missing(self) -> None:
        with self._changed:
            if self._closed:
                return
            used = self._used_locked()  # first: what they become need not be started
            for member in used:
                member.state = TIDYING
            members = [Member() for _ in range(self._missing_locked())]
            self._members.update(members)
        for member in used:
            self._crew.run(lambda member=member: self._tidy(member))  # type: ignore[misc]
        for member in members:
            self._crew.run(lambda member=member: self._start(member))  # type: ignore[misc]

    def _used_locked(self) -> List[Member]:
        """The clients to tidy now: for those who wait, and for whom none is ready."""
        ready = sum(each.state in (IDLE, TIDYING) for each in self._members)
        used = [each for each in self._members if each.state == USED]
        return used[: max(0, len(self._waiting) - ready)]

    def _missing_locked(self) -> int:
        """How many clients to start now."""
        room = self._size - len(self._members)
        if self._ahead and not self._failing:
            return room
        states = [each.state for each in self._members]
        coming = sum(state in (STARTING, IDLE, USED, TIDYING) for state in states)
        # To some it is about to be told that nobody comes.
        wanted = len(self._waiting) - len(self._failures)
        if self._used_once and not self._failing:
            # Each that is lent now will be missing when it comes back.
            wanted += states.count(LENT)
        return max(0, min(room, wanted - coming))

    def _start(self, member: Member) -> None:
        try:
            client = self._make()
            # The budget is that of all of them.
            client._engine.spent_together = lambda: self.cost_usd
            with self._changed:
                if self._closed:
                    return
                member._client = client
            client.start()
        except Exception as error:  # whatever a transport or an option raises
            self._could_not_start(member, error)
            return
        with self._changed:
            self._failing = False
            self._failures.clear()
        self._ready(member)

    def _could_not_start(self, member: Member, error: Exception) -> None:
        self._end(member)
        with self._changed:
            if self._closed:
                return
            self._failing = True
            is_told = len(self._waiting) > len(self._failures)
            if is_told:
                self._failures.append(error)
                self._changed.notify_all()
        if is_told:
            self._start_what_is_missing()  # for those who wait behind the one that is told
        else:
            logger.warning("a CLI of the pool could not be started: %s", error)

    def _ready(self, member: Member) -> None:
        with self._changed:
            if self._closed:
                return
            member.state = IDLE
            # Those that were used before come first: they have begun a conversation.
            (self._idle.appendleft if member.turns else self._idle.append)(member)
            self._changed.notify_all()
        self._start_what_is_missing()

    def _tidy(self, member: Member) -> None:
        """Begin another conversation in the same process; replace it if that is not certain."""
        client = member.client
        before, is_new = client.session_id, False
        try:
            if client.state == "idle":  # one that died meanwhile would be started again
                client.ask("/clear", timeout=TIDY_TIME, verbatim=False)
                is_new = client.session_id not in (None, before) and client.state == "idle"
        except ClaudeError as error:
            logger.info("a CLI of the pool is replaced: %s", error)
        (self._ready if is_new else self._replace)(member)

    def _replace(self, member: Member) -> None:
        with self._changed:
            member.state = LEAVING
        self._start_what_is_missing()  # another one may be there to be tidied
        self._end(member)
        self._start_what_is_missing()

    def _end(self, member: Member) -> None:
        if member._client is not None:
            member._client.close(REPLACE_TIME)
        self._forget(member)

    def _forget(self, member: Member) -> None:
        """It is no more; what it has cost is."""
        late = 0.0
        with self._changed:
            if member in self._members:
                self._members.discard(member)
                self._spent += member.cost_usd
                late = self._settle_locked(member)
                self._changed.notify_all()
        self.tell_late(late)

    def _join(self, deadline: Deadline) -> None:
        timer = self.timers.stop()
        threads: List[threading.Thread] = [*self._crew.stop(), *([timer] if timer else [])]
        for thread in threads:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(deadline.left())


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for keeper in list(LIVE):
        keeper.close(EXIT_TIME)


def forget_all() -> None:
    """In a forked child: the pools are the parent's. Takes no lock."""
    LIVE.clear()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
