"""
Start the CLI, greet it, notice its end, start it again.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

Decisions taken here and nowhere else:

* Spawning and greeting are two steps: the process starts when the client is opened, the
  greeting goes out at first use, because hooks and tools may be added until then and a second
  greeting ends some CLIs.
* Nothing waits for the greeting but ``start()`` and control methods: questions stay queued.
* A CLI that dies fails what was sent to it and nothing else. With ``on_crash="resume"`` the
  next question starts it again with ``--resume``; three deaths without an answer are enough.
* The form of answers (``returns=``) is fixed when a CLI starts. A question that needs another
  waits until the session is idle; then the process is ended politely, so that it saves the
  conversation, and a new one resumes it. It is kept until a question needs another form.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
from .closing import LIVE
from .connection import ENDING, GREETING, READY, SPAWNED, BeingReplaced, Connection
from .launch.transport import Transport

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from .asked import Asked
    from .recording.recorder import Recorder
    from .session import Session

__all__ = ["Starter"]

CRASHES_ENOUGH = 3
# How a CLI ends that does not take the form of answers it was started with: no crash.
FORM_ERRORS = (UnsupportedByCli, UsageError)
# How long a resumed CLI may take to tell what it has cost before; then it costs from here on.
BASELINE_PATIENCE = 5.0
# The whole ladder from polite to firm.
ENDING_TIME = 7.0
NOT_FOUND = "No conversation found"


class Starter:
    """The lives of one session's CLI. ``session.lock`` guards the attributes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.spawning = threading.Lock()  # held while a process is started
        self.crashes = 0
        # Why the CLI will not be started again; raised to whoever asks.
        self.gave_up: Exception | None = None
        # What the program changed on the running CLI, to be repeated after a restart.
        self.model: str | None = None
        self.permission_mode: str | None = None
        self.recorder: Recorder | None = None
        self.is_replacing = False
        # What the CLI is, or will be, started with: the form of the question that is next.
        self._schema = session.own_schema
        # The CLI knows no forms at all.
        self._knows_no_forms: UnsupportedByCli | None = None
        self._was_ready = False
        self._lost_conversation = False
        self._transport_used = False

    # Starting.

    def open(self) -> Connection:
        """Spawn the CLI if it does not run."""
        session = self._session
        with self.spawning:
            with session.lock:
                connection = session.connection
                if session.closing:
                    raise ClientClosed()
                if self.gave_up is not None:
                    raise copy.copy(self.gave_up)
                if connection is not None and not connection.has_ended:
                    return connection
                if connection is not None and self._is_crash(connection):
                    # Its end may not have been delivered yet.
                    raise copy.copy(connection.error) or CliExited("the CLI has ended")
            # One without a conversation is started as if for the first time.
            connection = self._spawn(self._was_ready and session.conversed)
            if session.closing:
                # Whoever closes may have had no time to wait for this start: it is ours to end.
                connection.transport.kill()
                LIVE.discard(session)
                if self.recorder is not None:
                    self.recorder.close()
                raise ClientClosed()
            return connection

    def _is_crash(self, connection: Connection) -> bool:
        """Whether its end is one after which ``on_crash="raise"`` starts no other."""
        excused = isinstance(connection.error, FORM_ERRORS) or connection.was_retired
        return self._session.options.on_crash == "raise" and not excused

    def ensure_begun(self) -> Connection | None:
        """Spawn the CLI and greet it, unless that is done; None while it is being replaced."""
        session = self._session
        connection = session.connection
        if connection is not None and connection.state in (READY, GREETING):
            connection.outbox.flush()  # in case Ctrl-C came between posting and writing
            return connection  # nearly always
        if connection is not None and connection.state == ENDING:
            return None
        connection = self.open()
        with session.lock:
            if connection.state != SPAWNED:
                return connection
            form = self._choose_form() if connection.schema is None else None
            said = {**connection.launch.initialize, **session.requests.greeting()}
            if form is not None:
                said["jsonSchema"] = dict(form)
            self._greet(connection, said)
            connection.greeted_with = form
        connection.outbox.flush()
        session.requests.warn_if_never_asked()
        return connection

    def _greet(self, connection: Connection, said: Mapping[str, Any]) -> None:
        """Post the greeting; under the lock, so of several threads that ask first, one greets."""
        session = self._session
        make_greeting = session.dialect.greeting
        if make_greeting is None:
            refuse_settings(session.dialect.name, list(said))
            connection.state = GREETING
            session.tasks.run(lambda: self._now_ready(connection))
            return
        has_prompt = any(word.startswith("--system-prompt") for word in connection.launch.argv)
        connection.post_request(
            "initialize",
            make_greeting(said, has_prompt),
            # It must not write on the reader.
            lambda reply: session.tasks.run(lambda: self._greeted(connection, reply)),
        )
        connection.state = GREETING
        timeout = session.options.start_timeout
        if timeout is not None:
            session.timers.after(timeout, lambda: self._start_is_late(connection, timeout))

    def is_greeting(self, connection: Connection) -> bool:
        """Whether the greeting is on its way, or was answered a moment ago."""
        return connection.state == GREETING

    def ensure_ready(self, method: str, timeout: float | None = None) -> Connection:
        """Wait until the CLI has answered the greeting."""
        session, deadline = self._session, Deadline(timeout)
        while True:
            connection = self.ensure_begun()
            if connection is not None and self._wait_for_greeting(connection, deadline):
                return connection
            if session.closing:
                raise ClientClosed()
            if connection is None:  # it is being replaced
                self._wait_for_end(deadline)
            elif connection.has_ended and self._is_missing(connection):
                self._note_lost(connection)
            elif connection.error is not None and not connection.was_retired:
                raise copy.copy(connection.error)
            if deadline.is_over():
                raise CliDidNotStart(f"{method}() waited {timeout:g} s for the CLI to be ready")

    def _wait_for_greeting(self, connection: Connection, deadline: Deadline) -> bool:
        """Wait until the greeting is answered; whether the CLI is ready then."""
        session = self._session
        session.changes.wait_for(lambda: connection.state != GREETING or session.closing, deadline)
        return connection.is_ready

    def _wait_for_end(self, deadline: Deadline) -> None:
        """Wait until a CLI that is ended on purpose has ended: then the next can be started."""
        session, ending = self._session, self._session.connection
        session.changes.wait_for(
            lambda: ending is None or ending.state != ENDING or session.closing, deadline
        )

    def _spawn(self, again: bool) -> Connection:
        """Start the CLI, *again*: to go on with the conversation. ``spawning`` is held."""
        # What only a start needs is imported at a start: many import us and never ask.
        from .launch.command import build_launch

        session, options = self._session, self._session.options
        resume = session.session_id if again else None
        if self._lost_conversation and resume is None:
            options = options.replace(**CONVERSATION)
        with session.lock:
            schema = self._choose_form()
        session.process_id = os.getpid()
        limit = options.max_budget_usd
        left = None if limit is None else max(0.0, limit - session.meter.total_usd)
        # Without an id nothing has happened yet: then the options say it again.
        launch = build_launch(
            options,
            resume=resume,
            model=self.model,
            permission_mode=self.permission_mode,
            budget_left=left if self._was_ready else None,
            own_tools=session.requests.own_tools(),
            json_schema=schema,
        )
        connection: Connection | None = None
        try:
            if options.record is not None and self.recorder is None:
                from .recording.recorder import Recorder

                self.recorder = Recorder(options.record)
            connection = Connection(session, self._make_transport(), launch, self.recorder)
            connection.schema = schema
            connection.resumes = resume
            with session.lock:
                session.meter.new_process()
            connection.start()
            session.timers.start()
            LIVE.add(session)
            session.delivery.start()
            # Last: from here on it counts, whatever interrupts what follows.
            session.connection_replaced(connection)
        except BaseException:
            if connection is not None and connection is not session.connection:
                connection.give_up_start()
            launch.remove_temporary_files()
            if self.recorder is not None and session.connection is None:
                # Nobody closes a client that could not be opened.
                self.recorder.close()
                self.recorder = None
            raise
        on_purpose, self.is_replacing = self.is_replacing, False
        if on_purpose:
            logger.debug("restarted the CLI for another returns=")
        elif again:
            logger.warning("restarted the CLI%s", f" to resume {resume}" if resume else "")
        return connection

    def _make_transport(self) -> Transport:
        given = self._session.options.transport
        if given is None:
            from .launch.process import ProcessTransport

            return ProcessTransport()
        if isinstance(given, Transport):
            if self._transport_used:
                last = self._session.connection
                raise (last.error if last is not None else None) or CliDidNotStart(
                    "the transport has ended, and a transport can be used only once. Pass a "
                    "function that makes one to be able to start again"
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

    def _start_is_late(self, connection: Connection, timeout: float) -> None:
        if not connection.was_ready:
            connection.kill(f"it did not answer initialize within start_timeout={timeout:g} s")

    # From the greeting until it is ready. On a thread of its own: this writes, and waits.

    def _greeted(self, connection: Connection, reply: Reply) -> None:
        session = self._session
        if reply.error is not None:
            connection.refusal = reply.error
            connection.kill("it refused initialize")
            return
        connection.greeting = reply.body
        session.inbox.put(session.requests.open_at_start(connection, reply))
        version = reply.body.get("claude_code_version")
        if isinstance(version, str):
            connection.named_version(version)
            # Old ones do not look at it, and say nothing.
            connection.schema = connection.schema or connection.greeted_with
        try:
            if session.controls is not None:
                session.controls.repeat(connection)
            options = session.options
            goes_on = connection.resumes or options.resume or options.continue_conversation
            if goes_on and session.dialect.begins_turns and connection.cli_version is not None:
                self._ask_baseline(connection)
        except (ClaudeError, BeingReplaced):
            return  # it has ended, which is noticed elsewhere
        self._now_ready(connection)

    def _ask_baseline(self, connection: Connection) -> None:
        """New CLIs count on from the saved total: ask where it stands."""
        from .connection import reply_of

        session = self._session
        asked = connection.request("get_usage", {"skip_behaviors": True})
        try:
            told = reply_of(connection, asked, "get_usage", BASELINE_PATIENCE)
        except TimeoutError:
            with session.lock:
                session.meter.new_process(None)
            return
        with session.lock:
            session.meter.resumed(told.body, own=connection.resumes is not None)

    def _now_ready(self, connection: Connection) -> None:
        session = self._session
        with session.lock:
            if connection.state != GREETING:
                return
            connection.state = READY
            connection.was_ready = self._was_ready = True
        logger.debug("ready, CLI %s", connection.cli_version or "of an unknown version")
        session.changes.tell()
        session.pump()

    # The form of answers.

    def _choose_form(self) -> Mapping[str, Any] | None:
        """What to start the CLI with: the form that the next question wants; under the lock."""
        for asked in self._session.queue:
            if asked.has_form:
                self._schema = asked.schema
                break
        return self._schema

    def replace(self, connection: Connection) -> None:
        """
        End a CLI whose answers have another form than the next question wants.

        Under the lock; only once nothing is in the way. Its end starts the next one.
        """
        if connection.awaits_replies or not connection.exchange.is_idle():
            return
        connection.state = ENDING
        connection.was_retired = self.is_replacing = True
        self._session.tasks.run(lambda: connection.shut_down(ENDING_TIME))

    def check_form(self, asked: Asked) -> None:
        """Refuse a question whose form this CLI cannot have, before it is queued."""
        if self._knows_no_forms is not None:
            refused = self._knows_no_forms
            raise UnsupportedByCli(refused.feature, refused.cli_version)
        options, own_schema = self._session.options, self._session.own_schema
        dialect = self._session.dialect.name
        if dialect == "user-message" or (dialect != "cli" and asked.schema != own_schema):
            raise UsageError(
                f"dialect={dialect!r} has no words for the form of one answer. Leave returns= "
                "out, or use dialect='cli', which is what real CLIs speak."
            )
        if isinstance(options.transport, Transport) and asked.schema != own_schema:
            raise UsageError(
                "this client's transport can be used only once, so the CLI cannot be started "
                "again for answers of another form. Make the client with Client(returns=...), or "
                "pass a function that makes transports."
            )

    def _form_refused(self, connection: Connection, error: Exception) -> None:
        """The CLI does not start with that form: whoever wants it is told, others go on."""
        session = self._session
        with session.lock:
            self._schema = None
            if isinstance(error, UnsupportedByCli):
                self._knows_no_forms = error
            refused = [
                asked
                for asked in session.queue
                if asked.schema is not None
                and (asked.schema == connection.schema or self._knows_no_forms is not None)
            ]
            for asked in refused:
                session.queue.remove(asked)
                session.open.discard(asked)
        for asked in refused:
            asked.fail(copy.copy(error))  # each its own: raising adds to the traceback

    # Its end.

    def ended(self, connection: Connection) -> None:
        """The CLI is gone and every message of it was delivered. Where handlers run."""
        session, error = self._session, connection.error
        assert error is not None
        with session.lock:
            entry = connection.exchange.question
            asked = entry.owner if entry is not None else None
            connection.exchange.on_end()
            if entry is not None:
                connection.exchange.finish(entry)
            missing = self._is_missing(connection)
            if not (session.closing or missing or connection.was_retired):
                self.crashes += 1
            # Looked at before anybody is told: whoever asks after that starts it again himself.
            queued = bool(session.queue)
        session.changes.tell()
        if session.closing:
            session.closer.finish()
            return
        if connection.was_retired:
            session.pump()
            return
        if asked is not None:
            resume = session.options.on_crash == "resume"
            again = resume and session.send_unread(asked)
            again = again or session.endings.failed(asked, error, may_try_again=resume)
            queued = queued or again
        with self.spawning:  # it may have ended while it was being started
            current = session.connection
        if current is not connection:
            # Somebody was quicker, and the queue is the next one's, and so is its end; or this
            # one was given up while it was started.
            if current is not None and current.is_ready:
                session.pump()
            return
        if missing:
            self._note_lost(connection)
        elif isinstance(error, FORM_ERRORS):
            self._form_refused(connection, error)
        elif self._is_final(connection):
            self.gave_up = error if session.options.on_crash == "raise" else None
            session.fail_queued(error)
            if self.gave_up is not None:
                session.closer.tell(str(error))
            return
        else:
            logger.warning("%s", getattr(error, "summary", str(error).splitlines()[0]))
        if queued:
            session.pump()

    def _is_missing(self, connection: Connection) -> bool:
        """Whether it ended because it does not know the conversation it was to resume."""
        if connection.resumes is None or connection.was_ready:
            return False
        said = [connection.refusal or "", *connection.stderr_tail]
        return any(NOT_FOUND in text for text in said)

    def _note_lost(self, connection: Connection) -> None:
        """The next start begins a new conversation. Once, whoever notices first."""
        session = self._session
        with session.lock:
            if session.session_id != connection.resumes:
                return
            self._lost_conversation = True
            session.session_id = None
            session.conversed = False
        logger.warning("the CLI has no conversation %s; starting a new one", connection.resumes)

    def _is_final(self, connection: Connection) -> bool:
        """Whether it makes no sense to start it once more for what is queued."""
        options = self._session.options
        if options.on_crash == "raise" or self.crashes >= CRASHES_ENOUGH:
            return True
        if isinstance(options.transport, Transport):
            return True
        # One that never got ready fails the same way again, unless it had been fine before.
        return not connection.was_ready and connection.resumes is None
