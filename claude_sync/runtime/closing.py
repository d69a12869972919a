"""
Close a client: politely, in order, within its time; and whatever was forgotten.

::

    no new work -> a running turn is interrupted -> end of input -> grace
    -> terminate -> kill -> threads joined

Decisions taken here and nowhere else:

* Closing twice is harmless; the second caller waits for the first.
* A handler that closes its own client must not wait for itself: then, and with
  ``wait=False``, a thread of its own does it.
* Whoever still waits for a turn fails with ClientClosed, even if a handler that
  never returns keeps the dispatcher from saying so.
* The end of the interpreter closes what is open. A forked child lets go of it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from typing import TYPE_CHECKING, List, Optional, Set

from ..engine.turn import Turn
from ..errors import ClaudeError, ClientClosed
from ..log import logger
from ..messages.events import Closed
from ..support.waiting import Deadline

if TYPE_CHECKING:
    from ..protocol.exchange import Sent
    from .connection import Connection
    from .engine import Engine
    from .lifecycle import Lifecycle

__all__ = ["LIVE", "Closer"]

# Of the time for closing, this much is kept for joining the threads.
# For something of the program's that still runs on a thread of ours.
LENT_TIME = 0.5
JOINING_TIME = 1.0
# How long the interrupt of a running turn may take to be written.
INTERRUPT_TIME = 0.5
# How long the turn may then take to end, and how long the processes of a tool in it. Old
# CLIs end those after the turn, and leave them running if their input ends before.
TURN_END_TIME = 1.0
TOOL_END_TIME = 0.5
# How long the end of the interpreter may be held up by each client.
EXIT_TIME = 5.0

# Engines that are open, so that the end of the interpreter, or a fork, finds them.
LIVE: Set[Engine] = set()


class Closer:
    """The end of one client."""

    def __init__(self, engine: Engine, lifecycle: Lifecycle) -> None:
        self._engine = engine
        self._lifecycle = lifecycle
        self._told = False
        self._reason = "closed by the program"
        # Set when nothing of the client is left; later callers of close() wait for it.
        self._done = threading.Event()

    def close(self, timeout: float, wait: bool, reason: str = "closed by the program") -> None:
        """Close, once; see ``Client.close``."""
        engine, lifecycle = self._engine, self._lifecycle
        if engine.is_inherited():
            # The parent's to close; and a thread that does not exist here may hold a lock.
            return
        wait = wait and not engine.dispatcher.is_dispatching() and not self._is_own_thread()
        with engine.lock:
            first = not lifecycle.closing
            lifecycle.closing = True
        if not first:
            if wait:
                self._done.wait(timeout)
            return
        try:
            self._reason = reason
            engine.changes.tell()
            if wait:
                self._close(timeout, may_deliver=True)
            else:
                self._close_in_background(timeout)
        except BaseException:
            # Ctrl-C: the caller goes on, and what is left is ended without more patience.
            if lifecycle.connection is not None:
                lifecycle.connection.transport.kill()
            self._close_in_background(EXIT_TIME)
            raise

    def finish(self) -> None:
        """Fail every waiter, then call on_close: the last thing that is delivered. Once."""
        engine, lifecycle = self._engine, self._lifecycle
        with engine.lock:
            turns = list(engine.open_turns)
            engine.open_turns.clear()
        for turn in turns:
            turn._fail(ClientClosed("the client was closed during this call"))
        if not lifecycle.over.is_set():
            self.tell(self._reason)
            lifecycle.over.set()
            engine.changes.tell()

    def tell(self, reason: str) -> None:
        """Call the on_close handlers, once, where handlers run."""
        engine, connection = self._engine, self._lifecycle.connection
        if self._told:
            return
        self._told = True
        closed = Closed(reason, connection.transport.exit_code if connection else None)
        registry = engine.registry()
        if not engine.dispatcher.is_dispatching():
            # Not the thread for it. Without a dispatcher, process_events() may still come.
            engine.inbox.put([closed])
        elif registry is not None:
            for handler in registry.of["close"]:
                engine.dispatcher.call(handler, closed)

    def _close_in_background(self, timeout: float) -> None:
        thread = threading.Thread(
            target=self._close,
            args=(timeout,),
            kwargs={"may_deliver": False},
            name=f"{self._engine.name}-closer",
            daemon=True,  # the end of the program must not wait for it
        )
        try:
            thread.start()
        except RuntimeError:  # the interpreter is shutting down
            self._close(timeout, may_deliver=False)

    def _close(self, timeout: float, *, may_deliver: bool) -> None:
        with self._engine.naming:
            self._close_named(timeout, may_deliver)

    def _close_named(self, timeout: float, may_deliver: bool) -> None:
        engine, lifecycle = self._engine, self._lifecycle
        deadline = Deadline(timeout)
        # Whoever is just starting the CLI comes first: it will be closed too.
        in_time = lifecycle.spawning.acquire(timeout=deadline.left() or 0.0)
        with engine.lock:
            connection = lifecycle.connection
        if in_time:
            lifecycle.spawning.release()
        elif connection is not None:
            connection.transport.kill()  # it is being ended already, and too slowly
        lifecycle.fail_queued(ClientClosed("the client was closed before this was sent"))
        engine.inbox.release()
        engine.dispatcher.release()
        if connection is not None and not connection.ended:
            self._interrupt(connection, deadline)
        else:
            # No end of a stream will tell the dispatcher that this is the end.
            engine.inbox.put([self.finish])
        if connection is not None:
            left = deadline.left()
            assert left is not None
            connection.shut_down(max(0.1, left - JOINING_TIME))
        if engine.delivery.by_waiters and may_deliver:
            while not lifecycle.over.is_set() and not deadline.is_over():
                engine.delivery.process(deadline.slice())
        self._join(deadline)
        self.finish()
        engine.dispatcher.failures.sum_up()
        LIVE.discard(engine)
        if lifecycle.recorder is not None:
            lifecycle.recorder.close()
        self._done.set()

    def _interrupt(self, connection: Connection, deadline: Deadline) -> None:
        """A CLI whose input ends would run its turn, and the tools in it, to the end."""
        with self._engine.lock:
            entry = connection.exchange.running()
            if entry is None and not connection.exchange.foreign_turn:
                return
            if entry is not None and isinstance(entry.owner, Turn):
                # The program closes, it does not interrupt: that is what the waiter is told.
                entry.owner._interrupted = entry.interrupted = True
                closed = ClientClosed("the client was closed during this call")
                entry.owner._stopping = entry.owner._stopping or closed
            ends_tools_late = not connection.exchange.tells_lifecycle and has_open_tool(entry)
        written = threading.Event()

        def interrupt() -> None:
            with contextlib.suppress(ClaudeError):
                connection.interrupt(cancel_queued=False)
            written.set()

        # Not here: the pipe may be full, and closing has a limit.
        self._engine.responders.run(interrupt)
        written.wait(INTERRUPT_TIME)
        left = deadline.left()
        assert left is not None
        changes, portion = self._engine.changes, left / 4
        changes.wait_for(
            lambda: connection.ended or not self._is_working(connection),
            Deadline(min(TURN_END_TIME, portion)),
        )
        if ends_tools_late:
            changes.wait_for(lambda: connection.ended, Deadline(min(TOOL_END_TIME, portion)))

    def _is_working(self, connection: Connection) -> bool:
        with self._engine.lock:
            return connection.exchange.running() is not None or connection.exchange.foreign_turn

    def _join(self, deadline: Deadline) -> None:
        engine = self._engine
        # First whoever reads: the end of what it reads withdraws requests, which others
        # have to be told of.
        readers = self._reading_threads()
        self._join_each(readers, deadline, "what the CLI has started is still being ended")
        engine.responders.stop()
        engine.timers.stop()
        others = [thread for thread in self._own_threads() if thread not in readers]
        self._join_each(others, deadline, "a handler on it has not returned")

    def _join_each(self, threads: List[threading.Thread], deadline: Deadline, why: str) -> None:
        # What the program runs there may never return: a person at a prompt, a long tool.
        lent = self._engine.responders.lent()
        for thread in threads:
            if thread is threading.current_thread() or thread.ident is None:
                continue
            thread.join(deadline.within(LENT_TIME if thread in lent else None))
            if thread.is_alive():
                logger.warning("the thread %s did not end in time: %s", thread.name, why)

    def _reading_threads(self) -> List[threading.Thread]:
        with self._engine.lock:
            return list(self._lifecycle.threads)

    def _own_threads(self) -> List[threading.Thread]:
        engine, lifecycle = self._engine, self._lifecycle
        threads = self._reading_threads()
        connection = lifecycle.connection
        further = [
            lifecycle.dispatcher_thread,
            connection.outgoing.thread if connection is not None else None,
            engine.timers.thread(),
            *engine.responders.threads(),
        ]
        return threads + [thread for thread in further if thread is not None]

    def _is_own_thread(self) -> bool:
        return threading.current_thread() in self._own_threads()


def has_open_tool(entry: Optional[Sent]) -> bool:
    """Whether a tool of this turn has been called and has not returned, as far as delivered."""
    turn = entry.owner if entry is not None else None
    return isinstance(turn, Turn) and len(turn._tool_uses) > len(turn._tool_results)


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for engine in list(LIVE):
        if not engine.is_inherited():
            engine.lifecycle.closer.close(EXIT_TIME, wait=True, reason="the program ended")


def forget_all() -> None:
    """In a forked child: let go of the parent's pipes. Takes no lock."""
    for engine in list(LIVE):
        connection = engine.lifecycle.connection
        if connection is not None:
            connection.transport.abandon()
    LIVE.clear()


atexit.register(close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
