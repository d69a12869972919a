"""
Start the CLI, notice its end, start it again.

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

import contextlib
import copy
import threading
from functools import partial
from typing import TYPE_CHECKING, Callable, List, Optional

from ..engine.launch.transport import Transport
from ..engine.turn import Turn
from ..errors import (
    ClaudeError,
    CliDidNotStart,
    ClientClosed,
    CliExited,
    UnsupportedByCli,
    UsageError,
)
from ..log import logger
from ..options import CONVERSATION
from ..protocol.dialects import refuse_settings
from ..support.waiting import Deadline
from .closing import LIVE, Closer
from .connection import Connection
from .conversations import conversation_is_missing
from .delivery import DispatcherThread

if TYPE_CHECKING:
    from ..engine.control import Controls
    from ..engine.recording.recorder import Recorder
    from ..protocol.control import Reply
    from .engine import Engine

__all__ = ["Lifecycle"]

CRASHES_ENOUGH = 3
# How a CLI ends that does not take the form of answers it was started with: no crash.
FORM_ERRORS = (UnsupportedByCli, UsageError)
# How long a resumed CLI may take to tell what it has cost before; then it costs from here on.
BASELINE_PATIENCE = 5.0


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
        self.spawning = threading.Lock()  # held while a process is started
        self.dispatcher_thread: Optional[DispatcherThread] = None
        self.threads: List[threading.Thread] = []
        self.recorder: Optional[Recorder] = None
        self._transport_used = False
        # What the program changed on the running CLI, to be repeated after a restart.
        self.model: Optional[str] = None
        self.permission_mode: Optional[str] = None
        self.controls: Optional[Controls] = None
        self.warned_of_version = False
        self._was_ready = False
        self._lost_conversation = False
        # Told of a CLI that ended by itself while no question was with it; must not wait.
        self.idle_end: Optional[Callable[[Exception], None]] = None
        self.closer = Closer(engine, self)

    # Starting.

    def open(self) -> Connection:
        """Spawn the CLI if it does not run."""
        engine = self._engine
        with self.spawning:
            with engine.lock:
                connection = self.connection
                if self.closing:
                    raise ClientClosed()
                if self.gave_up is not None:
                    raise copy.copy(self.gave_up)
                if connection is not None and not connection.ended:
                    return connection
                refused = connection is not None and isinstance(connection.error, FORM_ERRORS)
                if connection is not None and engine.options.on_crash == "raise" and not refused:
                    # Its end may not have been delivered yet.
                    raise connection.error or CliExited("the CLI has ended")
            # One without a conversation is started as if for the first time.
            return self.spawn(self._was_ready and engine.conversed)

    def ensure_begun(self) -> Connection:
        """Spawn the CLI and send the greeting, unless that is done."""
        connection = self.connection
        if connection is not None and connection.ready and not connection.ended:
            return connection  # nearly always
        connection = self.open()
        if connection.begun:
            return connection

        def claim() -> bool:
            # When it is about to be written: of several threads that ask first, one greets.
            mine, connection.begun = not connection.begun, True
            if mine:
                connection.greeted_with = form
            return mine

        make_greeting = self._engine.dialect.greeting
        form = self._engine.restarter.form_to_greet_with(connection)
        said = {**connection.launch.initialize, **self._engine.serving.greeting()}
        if form is not None:
            said["jsonSchema"] = dict(form)
        if make_greeting is None:
            refuse_settings(self._engine.dialect.name, list(said))
            self._begin_ungreeted(connection)
            return connection
        has_prompt = any(word.startswith("--system-prompt") for word in connection.launch.argv)
        greeting = make_greeting(said, has_prompt)
        timeout = self._engine.options.start_timeout
        if timeout is not None:
            self._engine.timers.after(timeout, lambda: self._start_is_late(connection, timeout))

        def greet() -> None:
            # If it is gone already, its end is on the way to the dispatcher, which decides
            # what becomes of the queue.
            with contextlib.suppress(ClaudeError):
                connection.request(
                    "initialize",
                    greeting,
                    lambda reply: self._greeted(connection, reply),
                    only_if=claim,
                )

        # On another thread, which Ctrl-C does not reach: it must be done once and whole.
        self._engine.responders.run(greet)
        connection.is_starting = True
        return connection

    def _begin_ungreeted(self, connection: Connection) -> None:
        """Where there is no greeting, a process that runs is ready."""
        with self._engine.lock:
            mine, connection.begun = not connection.begun, True
        if mine:
            connection.is_starting = True
            self._now_ready(connection)

    def ensure_ready(self, method: str, timeout: Optional[float] = None) -> Connection:
        """Wait until the CLI has answered the greeting."""
        engine = self._engine
        connection = self.ensure_begun()
        deadline = Deadline(timeout)
        while connection.retiring and not self.closing and not deadline.is_over():
            engine.changes.wait_for(partial(self._is_replaced, connection), deadline)
            connection = self.ensure_begun()
        engine.changes.wait_for(
            lambda: connection.ready or connection.ended or self.closing, deadline
        )
        if connection.ready:
            return connection
        if connection.ended and self._is_missing(connection) and not self.closing:
            self._note_lost(connection)
            return self.ensure_ready(method, deadline.left())
        if connection.error is not None:
            raise connection.error
        if self.closing:
            raise ClientClosed()
        raise CliDidNotStart(f"{method}() waited {timeout:g} s for the CLI to be ready")

    def _is_replaced(self, connection: Connection) -> bool:
        """Whether a connection that is being ended on purpose has a successor, or fails to."""
        return not connection.retiring or self.connection is not connection or self.closing

    def spawn(self, again: bool, on_purpose: bool = False) -> Connection:
        """Start the CLI, *again*: to go on with the conversation. ``spawning`` is held."""
        # What only a start needs is imported at a start: many import us and never ask.
        from ..engine.launch.command import build_launch

        engine = self._engine
        options = engine.options
        resume = engine.session_id if again else None
        if self._lost_conversation and resume is None:
            options = options.replace(**CONVERSATION)
        with engine.lock:
            schema = engine.restarter.choose()
        # Without an id nothing has happened yet: then the options say it again.
        launch = build_launch(
            options,
            resume=resume,
            model=self.model,
            permission_mode=self.permission_mode,
            budget_left=self._budget_left() if self._was_ready else None,
            own_tools=engine.serving.own_tools(),
            json_schema=schema,
        )
        connection: Optional[Connection] = None
        try:
            if options.record is not None and self.recorder is None:
                from ..engine.recording.recorder import Recorder

                self.recorder = Recorder(options.record)
            connection = Connection(engine, self._make_transport(), launch, self.recorder)
            connection.schema = schema
            connection.resumes = resume
            with engine.lock:
                engine.meter.new_process()
            connection.start()
            engine.timers.start()
            with engine.lock:
                self.threads = [thread for thread in self.threads if thread.is_alive()]
                self.threads += [connection.reader_thread, connection.stderr_thread]
                self.connection = connection
        except BaseException:
            if connection is not None and connection is not self.connection:
                connection.give_up_start()
            launch.remove_temporary_files()
            if self.recorder is not None and self.connection is None:
                # Nobody closes a client that could not be opened.
                self.recorder.close()
                self.recorder = None
            raise
        LIVE.add(engine)
        if self.dispatcher_thread is None and not engine.delivery.by_waiters:
            self.dispatcher_thread = DispatcherThread(engine, engine.name)
            self.dispatcher_thread.start()
        if on_purpose:
            logger.debug("restarted the CLI for another returns=")
        elif again:
            logger.warning("restarted the CLI%s", f" to resume {resume}" if resume else "")
        return connection

    def _make_transport(self) -> Transport:
        given = self._engine.options.transport
        if given is None:
            from ..engine.launch.process import ProcessTransport

            return ProcessTransport()
        if isinstance(given, Transport):
            if self._transport_used:
                raise self._last_error() or CliDidNotStart(
                    "the transport has ended, and a transport lives once. Pass a function that "
                    "makes one to be able to start again"
                )
            self._transport_used = True
            return given
        made = given() if callable(given) else given
        if not isinstance(made, Transport):
            raise UsageError(
                "transport= takes a claude_sync.Transport, or a function that makes one; "
                f"not {made!r}."
            )
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
        connection.deliver(self._engine.serving.greeted(connection, reply), 0)
        version = reply.body.get("claude_code_version")
        if isinstance(version, str):
            connection.named_version(version)
            # Old ones do not look at it, and say nothing.
            connection.schema = connection.schema or connection.greeted_with
        options = self._engine.options
        goes_on = bool(connection.resumes or options.resume or options.continue_conversation)
        tells_costs = self._engine.dialect.begins_turns and connection.cli_version is not None
        # New CLIs count on from the saved total: ask where it stands.
        then = self._ask_baseline if goes_on and tells_costs else self._now_ready
        if self.controls is not None:
            then = partial(self.controls.repeat, then)
        self._engine.responders.run(lambda: then(connection))

    def _ask_baseline(self, connection: Connection) -> None:
        def told(reply: Reply) -> None:
            if connection.ready:
                return
            with self._engine.lock:
                self._engine.meter.resumed(reply.body, own=connection.resumes is not None)
            self._now_ready(connection)

        def unknown() -> None:
            if not connection.ready and not connection.ended:
                with self._engine.lock:
                    self._engine.meter.new_process(None)
                self._now_ready(connection)

        self._engine.timers.after(BASELINE_PATIENCE, unknown)
        # If the CLI has ended meanwhile, that is noticed elsewhere.
        with contextlib.suppress(ClaudeError):
            connection.request("get_usage", {"skip_behaviors": True}, told)

    def _now_ready(self, connection: Connection) -> None:
        engine = self._engine
        connection.ready = self._was_ready = True
        logger.debug("ready, CLI %s", connection.cli_version or "of an unknown version")
        engine.changes.tell()
        engine.responders.run(engine.send_next)

    # What is known about it.

    @property
    def cli_version(self) -> Optional[str]:
        """The version of the CLI that runs, as far as it tells."""
        return self.connection.cli_version if self.connection is not None else None

    @property
    def state(self) -> str:
        """The client's state in one word."""
        if self._engine.is_inherited():
            return "inherited"
        if self.closing:
            return "closed" if self.over.is_set() else "closing"
        connection = self.connection
        if connection is None:
            return "new"
        if connection.ended:
            return "starting" if connection.retiring else "crashed"
        if not connection.ready:
            return "starting" if connection.is_starting else "open"
        with self._engine.lock:
            busy = connection.exchange.question is not None or connection.exchange.foreign_turn
        return "busy" if busy else "idle"

    # Its end.

    def connection_ended(self, connection: Connection) -> None:
        """The CLI is gone and every message of it was delivered. On the dispatching thread."""
        engine = self._engine
        error = connection.error
        assert error is not None
        with engine.lock:
            entry = connection.exchange.question
            owner = entry.owner if entry is not None else None
            connection.exchange.on_end()
            if entry is not None:
                connection.exchange.finish(entry)
            closing = self.closing
            missing = self._is_missing(connection)
            if not closing and not missing and not connection.retiring:
                self.crashes += 1
            # Looked at before anybody is told: whoever asks after that starts it again himself.
            queued = bool(engine.queue)
        engine.changes.tell()
        if closing:
            self.closer.finish()
            return
        if connection.retiring:
            return  # the next one is on its way
        if isinstance(owner, Turn):
            resume = engine.options.on_crash == "resume"
            again = resume and engine.send_unread(owner)
            again = again or engine.endings.failed(owner, error, resume)
            queued = queued or again
        elif connection.ready and self.idle_end is not None:
            self.idle_end(error)
        with self.spawning:  # it may have ended while it was being started
            superseded = connection is not self.connection
        if superseded:
            engine.send_next()  # somebody was quicker, and the queue is the next one's
            return
        if missing:
            self._note_lost(connection)
        elif isinstance(error, FORM_ERRORS):
            engine.restarter.form_refused(connection, error)
        elif self._is_final(connection):
            self.gave_up = error if engine.options.on_crash == "raise" else None
            self.fail_queued(error)
            if self.gave_up is not None:
                self.closer.tell(str(error))
            return
        else:
            logger.warning("%s", getattr(error, "summary", str(error).splitlines()[0]))
        if queued and engine.queue:
            try:
                self.ensure_begun()
            except Exception as failure:
                self.fail_queued(failure)

    def _is_missing(self, connection: Connection) -> bool:
        """Whether it ended because it does not know the conversation it was to resume."""
        return connection.resumes is not None and conversation_is_missing(connection)

    def _note_lost(self, connection: Connection) -> None:
        """The next start begins a new conversation. Once, whoever notices first."""
        engine = self._engine
        with engine.lock:
            if engine.session_id != connection.resumes:
                return
            self._lost_conversation = True
            engine.session_id = None
            engine.conversed = False
        logger.warning("the CLI has no conversation %s; starting a new one", connection.resumes)

    def _is_final(self, connection: Connection) -> bool:
        """Whether it makes no sense to start it once more for what is queued."""
        if self._engine.options.on_crash == "raise" or self.crashes >= CRASHES_ENOUGH:
            return True
        if isinstance(self._engine.options.transport, Transport):
            return True
        # One that never got ready fails the same way again, unless it had been fine before.
        return not connection.ready and connection.resumes is None

    def fail_queued(self, error: Exception) -> None:
        """Fail every question that was not sent."""
        engine = self._engine
        with engine.lock:
            self.crashes = 0
            queued = list(engine.queue)
            engine.queue.clear()
            engine.open_turns.difference_update(queued)
        for turn in queued:
            turn._fail(copy.copy(error))  # each its own: raising adds to the traceback
