"""
Close a client: politely, in order, within its time; and whatever was forgotten.

::

    no new work -> a running turn is interrupted -> end of input -> grace
    -> terminate -> kill -> threads joined

Decisions taken here and nowhere else:

* Closing twice is harmless; the second caller waits for the first.
* A handler that closes its own client must not wait for itself: then, and with ``wait=False``,
  a thread of its own does it.
* Whoever still waits for a turn fails with ClientClosed, even if a handler that never returns
  keeps the dispatcher from saying so.
* The end of the interpreter closes what is open. A forked child lets go of it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import TYPE_CHECKING

from ..errors import ClaudeError, ClientClosed
from ..log import logger
from ..messages.events import Closed
from ..support.waiting import Deadline
from .connection import BeingReplaced

if TYPE_CHECKING:
    from .asked import Asked
    from .connection import Connection
    from .session import Session

__all__ = ["LIVE", "Closer"]

# Of the time for closing, this much is kept for joining the threads.
JOINING_TIME = 1.0
# For something of the program's that still runs on a thread of ours.
LENT_TIME = 0.5
# How long the turn may take to end after its interrupt, and how long the processes of a tool in
# it. Old CLIs end those after the turn, and leave them running if their input ends before.
INTERRUPT_TIME = 0.5
TURN_END_TIME = 1.0
TOOL_END_TIME = 0.5
# How long the end of the interpreter may be held up by each client.
EXIT_TIME = 5.0

# Sessions that are open, so that the end of the interpreter, or a fork, finds them.
LIVE: set[Session] = set()


class Closer:
    """The end of one client."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.closing = False
        self._reason = "closed by the program"
        self._told = False
        # Set when the last thing was delivered; and when nothing of the client is left.
        self._over = threading.Event()
        self._done = threading.Event()

    def is_over(self) -> bool:
        """Whether nothing more is delivered."""
        return self._over.is_set()

    def close(self, timeout: float, wait: bool, reason: str = "closed by the program") -> None:
        """Close, once; see ``Client.close``."""
        session = self._session
        if session.is_inherited():
            # The parent's to close; and a thread that does not exist here may hold a lock.
            return
        wait = wait and not session.dispatch.is_dispatching() and not self._is_own_thread()
        with session.lock:
            first = not self.closing
            self.closing = True
        if not first:
            if wait:
                self._done.wait(timeout)
            return
        try:
            self._reason = reason
            session.changes.tell()
            if wait:
                self._close(timeout, may_deliver=True)
            else:
                self._close_in_background(timeout)
        except BaseException:
            # Ctrl-C: the caller goes on, and what is left is ended without more patience.
            if session.connection is not None:
                session.connection.transport.kill()
            self._close_in_background(EXIT_TIME)
            raise

    def finish(self) -> None:
        """Fail every waiter, then call on_close: the last thing that is delivered. Once."""
        session = self._session
        with session.lock:
            left = list(session.open)
            session.open.clear()
        for asked in left:
            asked.fail(ClientClosed("the client was closed during this call"))
        if not self._over.is_set():
            self.tell(self._reason)
            self._over.set()
            session.changes.tell()

    def tell(self, reason: str) -> None:
        """Call the on_close handlers, once, where handlers run."""
        session = self._session
        if self._told:
            return
        self._told = True
        connection = session.connection
        closed = Closed(reason, connection.transport.exit_code if connection else None)
        if session.dispatch.is_dispatching():
            session.dispatch.close(closed)
        else:
            # Not the thread for it. Without a dispatcher, process_events() may still come.
            session.inbox.put([closed])

    def _close_in_background(self, timeout: float) -> None:
        # Daemon: the end of the program must not wait for it.
        thread = threading.Thread(
            target=self._close,
            args=(timeout,),
            kwargs={"may_deliver": False},
            name=f"{self._session.name}-closer",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down
            self._close(timeout, may_deliver=False)

    def _close(self, timeout: float, *, may_deliver: bool) -> None:
        session, deadline = self._session, Deadline(timeout)
        with session.naming:
            connection = self._last_connection(deadline)
            session.fail_queued(ClientClosed("the client was closed before this was sent"))
            session.inbox.release()
            session.dispatch.release()
            if connection is not None and not connection.has_ended:
                self._interrupt(connection, deadline)
            else:
                # No end of a stream will tell the dispatcher that this is the end.
                session.inbox.put([self.finish])
            if connection is not None:
                left = deadline.left()
                assert left is not None
                connection.shut_down(max(0.1, left - JOINING_TIME))
            if session.delivery.by_waiters and may_deliver:
                while not self.is_over() and not deadline.is_over():
                    session.delivery.process(deadline.slice())
            self._join(deadline, tells=timeout > 0)
            self.finish()
            session.dispatch.failures.sum_up()
            LIVE.discard(session)
            if session.starter.recorder is not None:
                session.starter.recorder.close()
            self._done.set()

    def _last_connection(self, deadline: Deadline) -> Connection | None:
        """The CLI to end. Whoever is just starting one comes first: it is closed, too."""
        session = self._session
        in_time = session.starter.spawning.acquire(timeout=deadline.left() or 0.0)
        connection = session.connection
        if in_time:
            session.starter.spawning.release()
        elif connection is not None:
            connection.transport.kill()
        return connection

    def _interrupt(self, connection: Connection, deadline: Deadline) -> None:
        """A CLI whose input ends would run its turn, and the tools in it, to the end."""
        session, exchange = self._session, connection.exchange
        with session.lock:
            entry = exchange.running()
            if entry is None and not exchange.foreign_turn:
                return
            asked: Asked | None = entry.owner if entry is not None else None
            if asked is not None:
                # The program closes, it does not interrupt: that is what the waiter is told.
                asked.interrupted = asked.sent.interrupted = True
                closed = ClientClosed("the client was closed during this call")
                asked.stopping = asked.stopping or closed
            ends_tools_late = not exchange.tells_lifecycle and has_open_tool(asked)
            with contextlib.suppress(ClaudeError, BeingReplaced):
                connection.post_interrupt(cancel_queued=False)
        connection.written()
        left = deadline.left()
        assert left is not None

        def has_ended() -> bool:
            with session.lock:
                return connection.has_ended or not (exchange.running() or exchange.foreign_turn)

        session.changes.wait_for(has_ended, Deadline(min(TURN_END_TIME, left / 4)))
        if ends_tools_late:
            patience = Deadline(min(TOOL_END_TIME, left / 4))
            session.changes.wait_for(lambda: connection.has_ended, patience)

    # Its threads.

    def _join(self, deadline: Deadline, tells: bool) -> None:
        session = self._session
        # First whoever reads: the end of what it reads withdraws requests, which others
        # have to be told of.
        readers = [thread for each in session.connections for thread in each.threads()]
        late = self._join_each(readers, deadline)
        why = dict.fromkeys(late, "processes that the CLI started are still being ended")
        session.tasks.stop()
        session.timers.stop()
        others = [thread for thread in self._own_threads() if thread not in readers]
        why |= dict.fromkeys(self._join_each(others, deadline), "a handler on it has not returned")
        # Who gives it no time knows that it goes on.
        for thread, reason in why.items() if tells else ():
            logger.warning("the thread %s did not end in time: %s", thread.name, reason)

    def _join_each(
        self, threads: list[threading.Thread], deadline: Deadline
    ) -> list[threading.Thread]:
        """Wait for threads to end; those that did not."""
        late = []
        # What the program runs there may never return: a person at a prompt, a long tool.
        lent = self._session.tasks.lent()
        for thread in threads:
            if thread is threading.current_thread() or thread.ident is None:
                continue
            thread.join(deadline.within(LENT_TIME if thread in lent else None))
            if thread.is_alive():
                late.append(thread)
        return late

    def _own_threads(self) -> list[threading.Thread]:
        session = self._session
        threads = [thread for each in session.connections for thread in each.threads()]
        further = [session.delivery.thread, session.timers.thread(), *session.tasks.threads()]
        return threads + [thread for thread in further if thread is not None]

    def _is_own_thread(self) -> bool:
        return threading.current_thread() in self._own_threads()


def has_open_tool(asked: Asked | None) -> bool:
    """Whether a tool of this turn has been called and has not returned, as far as delivered."""
    if asked is None:
        return False
    return len(asked.collected.tool_uses) > len(asked.collected.tool_results)


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for session in list(LIVE):
        if not session.is_inherited():
            session.closer.close(EXIT_TIME, wait=True, reason="the program ended")


def forget_all() -> None:
    """In a forked child: let go of the parent's pipes. Takes no lock."""
    for session in list(LIVE):
        if session.connection is not None:
            session.connection.transport.abandon()
    LIVE.clear()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
