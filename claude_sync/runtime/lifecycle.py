"""
Start the CLI, notice its end, start it again, close it.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

Decisions taken here and nowhere else:

* Spawning and greeting are two steps: the process starts when the client is
  opened, the greeting goes out at first use, because hooks and tools may be
  added until then and a second greeting ends some CLIs.
* Nothing waits for the greeting but ``start()``: questions stay queued until its
  reply is here.
* A CLI that dies fails what was sent to it and nothing else. With
  ``on_crash="resume"`` the next question, or one that is queued already, starts
  it again with ``--resume``; three deaths without an answer are enough.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, List, Optional, Set, Tuple

from ..answers import Turn
from ..errors import CliDidNotStart, ClientClosed
from ..events import Closed, Info
from ..log import logger
from .command import build_launch
from .connection import Connection
from .dispatcher import DispatcherThread
from .process import ProcessTransport
from .recorder import Recorder
from .transport import Transport
from .waiting import Deadline, wait_for

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from .engine import Engine

__all__ = ["Lifecycle"]

CRASHES_ENOUGH = 3
# Of the time for closing, this much is kept for joining the threads.
JOINING_TIME = 1.0

# Engines that are open, so that the end of the interpreter, or a fork, finds them.
LIVE: Set[Engine] = set()


class Lifecycle:
    """The lives of one client's CLI. ``engine.lock`` guards the attributes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.connection: Optional[Connection] = None
        self.crashes = 0
        # A CLI that will not be started again; raised to whoever asks.
        self.gave_up: Optional[Exception] = None
        self.closing = False
        self.over = threading.Event()
        self._spawning = threading.Lock()  # held while a process is started
        self._dispatcher_thread: Optional[DispatcherThread] = None
        self._threads: List[threading.Thread] = []
        self._recorder: Optional[Recorder] = None
        self._transport_used = False
        # What the program changed on the running CLI, to be repeated after a restart.
        self.model: Optional[str] = None
        self.permission_mode: Optional[str] = None
        self._resuming: Optional[str] = None
        self._lost_conversation = False
        self._last_exit_code: Optional[int] = None
        self._close_reason = "closed by the program"

    # Starting.

    def open(self) -> Connection:
        """Spawn the CLI if it does not run."""
        engine = self._engine
        with self._spawning:
            with engine.lock:
                connection = self.connection
                if self.closing:
                    raise ClientClosed()
                if self.gave_up is not None:
                    raise self.gave_up
                if connection is not None and not connection.ended:
                    return connection
                again = connection is not None
            return self._spawn(again)

    def ensure_begun(self) -> Connection:
        """Spawn the CLI and send the greeting, unless that is done."""
        connection = self.open()
        with self._engine.lock:
            if connection.begun:
                return connection
            connection.begun = True
        timeout = self._engine.options.start_timeout
        if timeout is not None:
            self._engine.timers.after(timeout, lambda: self._start_is_late(connection, timeout))
        connection.request(
            "initialize",
            connection.launch.initialize,
            lambda reply: self._greeted(connection, reply),
        )
        return connection

    def ensure_ready(self, method: str, timeout: Optional[float] = None) -> Connection:
        """Wait until the CLI has answered the greeting."""
        engine = self._engine
        connection = self.ensure_begun()
        deadline = Deadline(timeout)
        with engine.changed:
            wait_for(
                engine.changed,
                lambda: connection.ready or connection.ended or self.closing,
                deadline,
            )
        if connection.ready:
            return connection
        if connection.error is not None:
            raise connection.error
        if self.closing:
            raise ClientClosed()
        raise CliDidNotStart(f"{method}() waited {timeout:g} s for the CLI to be ready")

    def _spawn(self, again: bool) -> Connection:
        engine = self._engine
        options = engine.options
        resume = engine.session_id if again and not self._lost_conversation else None
        launch = build_launch(
            options if not (again and resume is None) else without_conversation(options),
            resume=resume,
            model=self.model if again else None,
            permission_mode=self.permission_mode if again else None,
            budget_left=self._budget_left() if again else None,
        )
        self._resuming = resume
        try:
            if options.record is not None and self._recorder is None:
                self._recorder = Recorder(options.record)
            connection = Connection(engine, self._make_transport(), launch, self._recorder)
            with engine.lock:
                engine.meter.new_process()
            connection.start()
        except BaseException:
            launch.remove_temporary_files()
            raise
        with engine.lock:
            self.connection = connection
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._threads += [connection.reader_thread, connection.stderr_thread]
        LIVE.add(engine)
        if self._dispatcher_thread is None and not engine.pumps:
            self._dispatcher_thread = DispatcherThread(engine, engine.name)
            self._dispatcher_thread.start()
        if again:
            logger.warning(
                "= the CLI was started again%s", f" and resumes {resume}" if resume else ""
            )
        return connection

    def _make_transport(self) -> Transport:
        given = self._engine.options.transport
        if given is None:
            return ProcessTransport()
        if isinstance(given, Transport):
            if self._transport_used:
                raise self._last_error() or CliDidNotStart(
                    "the transport has ended, and a transport lives once. Pass a function that "
                    "makes one to be able to start again"
                )
            self._transport_used = True
            return given
        made = given()
        assert isinstance(made, Transport)
        return made

    def _budget_left(self) -> Optional[float]:
        limit = self._engine.options.max_budget_usd
        return None if limit is None else max(0.0, limit - self._engine.meter.total_usd)

    def _last_error(self) -> Optional[Exception]:
        return self.connection.error if self.connection is not None else None

    def _start_is_late(self, connection: Connection, timeout: float) -> None:
        if not connection.ready:
            connection.kill(f"it did not answer the greeting within start_timeout={timeout:g} s")

    def _greeted(self, connection: Connection, reply: Reply) -> None:
        """The greeting is answered. On the reader thread: must not write."""
        if reply.error is not None:
            connection.refusal = reply.error
            connection.kill("it refused the greeting")
            return
        connection.greeting = reply.body
        version = reply.body.get("claude_code_version")
        if isinstance(version, str):
            connection.cli_version = version
        options = self._engine.options
        goes_on = bool(self._resuming or options.resume or options.continue_conversation)
        if goes_on and connection.cli_version is not None:
            # New CLIs count on from the saved total: ask where it stands.
            self._engine.responders.run(lambda: self._ask_baseline(connection))
        else:
            self._now_ready(connection)

    def _ask_baseline(self, connection: Connection) -> None:
        def told(reply: Reply) -> None:
            session = reply.body.get("session")
            total = session.get("total_cost_usd") if isinstance(session, dict) else None
            with self._engine.lock:
                if isinstance(total, (int, float)):
                    self._engine.meter.new_process(float(total))
            self._now_ready(connection)

        connection.request("get_usage", {"skip_behaviors": True}, told)

    def _now_ready(self, connection: Connection) -> None:
        engine = self._engine
        connection.ready = True
        logger.debug("= %s is ready, CLI %s", engine.name, connection.cli_version or "(old)")
        with engine.changed:
            engine.changed.notify_all()
        engine.responders.run(engine.send_next)

    # What is known about it.

    @property
    def cli_version(self) -> Optional[str]:
        """The version of the CLI that runs, as far as it tells."""
        return self.connection.cli_version if self.connection is not None else None

    @property
    def state(self) -> str:
        """The client's state in one word."""
        if self.closing:
            return "closed" if self.over.is_set() else "closing"
        connection = self.connection
        if connection is None:
            return "new"
        if connection.ended:
            return "crashed"
        if not connection.ready:
            return "starting" if connection.begun else "open"
        with self._engine.lock:
            busy = connection.ledger.in_flight is not None or connection.ledger.foreign_turn
        return "busy" if busy else "idle"

    def info(self) -> Info:
        """What the CLI told so far."""
        connection = self.connection
        if connection is None:
            return Info()
        told = connection.greeting
        return Info(
            commands=as_tuple(told.get("commands")),
            models=as_tuple(told.get("models")),
            account=told.get("account"),
            agents=as_tuple(told.get("agents")),
            output_style=told.get("output_style"),
            available_output_styles=as_tuple(told.get("available_output_styles")),
            cli_version=connection.cli_version,
            capabilities=as_tuple(connection.capabilities),
            raw=told,
        )

    # Its end.

    def connection_ended(self, connection: Connection) -> None:
        """The CLI is gone and every message of it was delivered. On the dispatching thread."""
        engine = self._engine
        error = connection.error
        assert error is not None
        with engine.lock:
            self._last_exit_code = connection.transport.exit_code
            entry = connection.ledger.in_flight
            connection.ledger.in_flight = None
            closing = self.closing
            missing = self._resuming is not None and conversation_is_missing(connection)
            if not closing and not missing:
                self.crashes += 1
            queued = list(engine.queue)
        with engine.changed:
            engine.changed.notify_all()
        if closing:
            self.finish()
            return
        if entry is not None and isinstance(entry.owner, Turn):
            engine.turn_failed(entry.owner, error)
        if missing:
            logger.warning("! the CLI knows no conversation %s: a new one begins", self._resuming)
            self._lost_conversation = True
            engine.session_id = None
        elif self._is_final(connection):
            self.gave_up = error if engine.options.on_crash == "raise" else None
            self._fail_queued(queued, error)
            if self.gave_up is not None:
                self._deliver_closed(str(error))
            return
        else:
            logger.warning("! %s", str(error).splitlines()[0])
        if queued:
            try:
                self.ensure_begun()
            except Exception as failure:
                self._fail_queued(queued, failure)

    def _is_final(self, connection: Connection) -> bool:
        """Whether it makes no sense to start it once more for what is queued."""
        if self._engine.options.on_crash == "raise" or self.crashes >= CRASHES_ENOUGH:
            return True
        if isinstance(self._engine.options.transport, Transport):
            return True
        # One that never got ready fails the same way again, unless it had been fine before.
        return not connection.ready and self._resuming is None

    def _fail_queued(self, queued: List[Turn], error: Exception) -> None:
        engine = self._engine
        self.crashes = 0
        for turn in queued:
            with engine.lock:
                if turn not in engine.queue:
                    continue
                engine.queue.remove(turn)
                engine.open_turns.discard(turn)
            turn._fail(error)

    def _deliver_closed(self, reason: str) -> None:
        self._engine.inbox.put([Closed(reason, self._last_exit_code)])

    # Closing.

    def close(self, timeout: float, wait: bool, reason: str = "closed by the program") -> None:
        """Close, once; see ``Client.close``."""
        engine = self._engine
        in_handler = engine.dispatcher.is_dispatching() or self._is_own_thread()
        with engine.lock:
            first = not self.closing
            self.closing = True
        wait = wait and not in_handler
        if not first:
            if wait:
                self.over.wait(timeout)
            return
        with engine.changed:
            engine.changed.notify_all()
        if wait:
            self._close(timeout, reason, may_dispatch=True)
            return
        closer = threading.Thread(
            target=self._close,
            args=(timeout, reason),
            kwargs={"may_dispatch": False},
            name=f"{engine.name}-closer",
            daemon=True,  # the end of the program must not wait for it
        )
        try:
            closer.start()
        except RuntimeError:  # the interpreter is shutting down
            self._close(timeout, reason, may_dispatch=False)

    def _close(self, timeout: float, reason: str, *, may_dispatch: bool) -> None:
        engine = self._engine
        deadline = Deadline(timeout)
        with self._spawning, engine.lock:
            connection = self.connection
            queued = list(engine.queue)
        self._fail_queued(queued, ClientClosed("the client was closed before this was sent"))
        engine.inbox.release()
        engine.dispatcher.release()
        self._close_reason = reason
        if connection is not None and not connection.ended:
            self._interrupt_for_closing(connection)
            left = deadline.left()
            assert left is not None
            connection.shut_down(max(0.1, left - JOINING_TIME))
        else:
            # Nobody else will tell the dispatcher that this is the end.
            engine.inbox.put([self.finish])
        if engine.pumps:
            self._drain(deadline, may_dispatch)
        self._join(deadline)
        self.finish()
        LIVE.discard(engine)
        if self._recorder is not None:
            self._recorder.close()

    def finish(self) -> None:
        """Fail every waiter and call on_close; the last thing that is delivered. Once."""
        engine = self._engine
        with engine.lock:
            turns = list(engine.open_turns)
            engine.open_turns.clear()
            first = not self.over.is_set()
            connection = self.connection
        for turn in turns:
            turn._fail(ClientClosed("the client was closed while this was waited for"))
        if not first:
            return
        code = connection.transport.exit_code if connection is not None else None
        registry = engine.registry()
        if registry is not None and (engine.dispatcher.is_dispatching() or not self._has_thread()):
            for handler in registry.of["close"]:
                engine.dispatcher.call(handler, Closed(self._close_reason, code))
        self.over.set()
        with engine.changed:
            engine.changed.notify_all()

    def _has_thread(self) -> bool:
        return self._dispatcher_thread is not None and self._dispatcher_thread.is_alive()

    def _interrupt_for_closing(self, connection: Connection) -> None:
        """A CLI whose input ends would run its turn, and the tools in it, to the end."""
        with self._engine.lock:
            if connection.ledger.running() is None and not connection.ledger.foreign_turn:
                return
        done = threading.Event()

        def interrupt() -> None:
            try:
                connection.request("interrupt", {})
            finally:
                done.set()

        # Not here: the pipe may be full, and closing has a limit.
        self._engine.responders.run(interrupt)
        done.wait(0.5)

    def _drain(self, deadline: Deadline, may_dispatch: bool) -> None:
        """Without a dispatcher thread, deliver what is left, if this thread may."""
        while may_dispatch and not self.over.is_set() and not deadline.is_over():
            self._engine.pump(deadline.slice())

    def _join(self, deadline: Deadline) -> None:
        engine = self._engine
        with engine.lock:
            threads = list(self._threads)
        if self._dispatcher_thread is not None:
            threads.append(self._dispatcher_thread)
        threads += engine.responders.stop()
        timer_thread = engine.timers.stop()
        if timer_thread is not None:
            threads.append(timer_thread)
        for thread in threads:
            if thread is threading.current_thread() or thread.ident is None:
                continue
            thread.join(deadline.left())
            if thread.is_alive():
                logger.warning(
                    "! the thread %s did not end in time; a handler on it has not returned",
                    thread.name,
                )

    def _is_own_thread(self) -> bool:
        return threading.current_thread().name.startswith(self._engine.name + "-")


def conversation_is_missing(connection: Connection) -> bool:
    """Whether the CLI ended because it does not know the conversation to resume."""
    if connection.ready:
        return False
    said = [connection.refusal or "", *connection.stderr_tail]
    return any("No conversation found" in text for text in said)


def without_conversation(options: Any) -> Any:
    """The same options for a conversation that begins anew."""
    return options.replace(
        resume=None,
        continue_conversation=False,
        fork_session=False,
        session_id=None,
        resume_at=None,
        resume_drops_turn=None,
    )


def as_tuple(value: Any) -> Optional[Tuple[Any, ...]]:
    """A list of the wire as a tuple; None stays None."""
    return tuple(value) if isinstance(value, (list, tuple)) else None


def close_all() -> None:
    """The interpreter ends: close what the program left open, politely but quickly."""
    for engine in list(LIVE):
        if engine.process_id == os.getpid():
            engine.lifecycle.close(5.0, wait=True, reason="the program ended")


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
